"""Files of statements, as commands take them."""

from __future__ import annotations

from pathlib import Path

from dpsql.errors import DataError
from rewriter.front_door import pieces


def statements_of(file: Path) -> list[str]:
    """The statements of a file, with ``;`` between them. Raises :class:`DataError` where it is not UTF-8 text."""
    try:
        return [piece for _, piece, _ in pieces(file.read_text(encoding="utf-8-sig"))]
    except UnicodeDecodeError:
        raise DataError(f"{file} is not UTF-8 text", sqlstate="22021") from None
