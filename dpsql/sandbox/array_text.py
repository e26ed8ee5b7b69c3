"""Arrays as PostgreSQL writes them: an answer has no arrays, but their texts, which a client can cast."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[^\s{}\",\\]+")


def array_text(value: object) -> str | None:
    """The text of a list of values.

    >>> array_text([1, None, 2.0, True, "a b", "x", "NULL"])
    '{1,NULL,2,t,"a b",x,"NULL"}'
    """
    if value is None:
        return None
    return _item(value)


def _item(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "{" + ",".join(map(_item, value)) + "}"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    text = str(value)
    if isinstance(value, datetime.datetime) and value.tzinfo is None and value.microsecond:
        text = text.rstrip("0")
    if _PLAIN.fullmatch(text) is not None and text.upper() != "NULL":
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'
