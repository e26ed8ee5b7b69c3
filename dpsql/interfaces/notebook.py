"""IPython and Jupyter: ``%load_ext dpsql``, ``%dpsql POLICY [ANALYST]`` once, and ``%%dpsql`` over each question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsql.errors import DataError

if TYPE_CHECKING:
    from dpsql.interfaces.python import Connection, Cursor
    from dpsql.reply import Explanation

EXPLAIN = "--explain"


class NotebookMagic:
    """The magic of one notebook, with its connection."""

    def __init__(self) -> None:
        self._connection: Connection | None = None

    def __call__(self, line: str, cell: str | None = None) -> Cursor | Explanation | None:
        """``%dpsql POLICY [ANALYST]`` connects; ``%%dpsql [NAME]`` answers a cell, and keeps the cursor as NAME;
        ``%%dpsql --explain [NAME]`` tells its price and expected error for nothing, and keeps that as NAME."""
        if cell is None:
            self._opened(line.split())
            return None
        if self._connection is None:
            raise DataError("no policy is open", sqlstate="08003", hint="%dpsql POLICY [ANALYST]")
        words = line.split()
        names = [word for word in words if word != EXPLAIN]
        if len(names) > 1 or not all(name.isidentifier() for name in names):
            # Before anything is bought: --explian would be a name otherwise, and the cell would be paid for.
            raise DataError(f"{line.strip()!r} is no name", sqlstate="22023", hint="%%dpsql [--explain] [NAME]")
        asked = self._connection.explain if EXPLAIN in words else self._connection.execute
        found = asked(cell.strip().rstrip(";"))
        for name in names:
            from IPython import get_ipython

            get_ipython().user_ns[name] = found
        return found

    def _opened(self, words: list[str]) -> None:
        from dpsql.interfaces.python import connect

        if not 1 <= len(words) <= 2:
            raise DataError("a policy is missing", sqlstate="22023", hint="%dpsql POLICY [ANALYST]")
        if self._connection is not None:
            self._connection.close()
        self._connection = connect(words[0], *words[1:])


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext dpsql`` calls."""
    shell.register_magic_function(NotebookMagic(), "line_cell", "dpsql")
