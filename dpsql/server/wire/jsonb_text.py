"""Documents as PostgreSQL prints a ``jsonb``: names in its order, once each, and numbers in full."""

from __future__ import annotations

import json
from decimal import Decimal

_Value = dict[str, "_Value"] | list["_Value"] | str | bool | Decimal | None


def jsonb_text(document: str) -> str:
    """The text of a ``jsonb`` that was read from ``document``; what is no document stays as it is.

    >>> jsonb_text('{"bb":1e2, "a":[true,null,"é"], "a":-0.50, "c":NaN}')
    '{"a": -0.50, "c": "NaN", "bb": 100}'
    """
    try:
        found: _Value = json.loads(document, parse_float=Decimal, parse_int=Decimal, parse_constant=str)
        return _printed(found)
    except (ValueError, RecursionError):
        return document


def _printed(value: _Value) -> str:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (len(name.encode("utf-8", "replace")), name.encode("utf-8", "replace")))
        return "{" + ", ".join(f"{_printed(name)}: {_printed(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_printed, value)) + "]"
    if isinstance(value, Decimal):
        return format(value if value else abs(value), "f")
    return json.dumps(value, ensure_ascii=False)
