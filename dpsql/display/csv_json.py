"""Answers for machines: CSV for spreadsheets, JSON with everything an answer says about itself."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING

from dpsql.releases import UNKNOWN
from rewriter.declared import Scalar

if TYPE_CHECKING:
    from dpsql.reply import Answer, Margin


def as_csv(answer: Answer) -> str:
    """A header and the rows, as PostgreSQL's COPY writes CSV: NULL is an empty field, the empty text is ``""``."""
    lines = [[named.name for named in answer.columns], *answer.rows]
    return "".join(",".join(map(field, line)) + "\n" for line in lines)


def field(value: Scalar | None) -> str:
    """One field of a CSV line.

    >>> field(None), field(""), field("a, b"), field(1.5), field(True)
    ('', '""', '"a, b"', '1.5', 'true')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    text = str(value)
    if text and not any(mark in text for mark in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def as_json(answer: Answer) -> str:
    """:func:`answer_data` as one line."""
    return json.dumps(answer_data(answer), ensure_ascii=False, allow_nan=False) + "\n"


def answer_data(answer: Answer) -> dict[str, object]:
    """An answer as JSON has it: columns, rows, the 95 % margin of each cell (``"?"`` where none is known of a measured
    number, null where none is needed), what was paid and what is left.

    Rows are lists, since two columns may have one name. Decimals become numbers, dates ISO 8601 text.
    """
    left = answer.remaining
    paid = {part: float(getattr(answer.price, part)) for part in ("epsilon", "rho", "delta")}
    return {
        "columns": [{"name": named.name, "type": str(named.type)} for named in answer.columns],
        "rows": [list(map(plain, row)) for row in answer.rows],
        "margins": [list(map(_margin, row)) for row in answer.every_margin],
        "paid": {
            "epsilon": float(answer.epsilon),
            "loss": paid,
        },
        "left": {"epsilon": plain(left.left_epsilon), "statements": left.statements_left},
        "notices": list(answer.notices),
    }


def _margin(margin: Margin) -> object:
    if isinstance(margin, tuple):
        return list(map(_margin, margin))
    if margin is None or math.isnan(margin):
        return None
    return margin if math.isfinite(margin) else UNKNOWN


def plain(value: Scalar | None) -> bool | int | float | str | None:
    """A value as JSON has it.

    >>> plain(Decimal("1.50")), plain(datetime.date(2025, 3, 1)), plain(float("nan"))
    (1.5, '2025-03-01', None)
    """
    if isinstance(value, Decimal | float):
        return float(value) if math.isfinite(value) else None
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value
