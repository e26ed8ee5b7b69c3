"""The length of an interval in microseconds, as PostgreSQL compares intervals: a month has 30 days, a day 24 hours."""

from __future__ import annotations

from dataclasses import replace

from rewriter.declared import BIGINT, Kind
from rewriter.dialects import Dialect, refuse
from rewriter.expressions.build import is_null, is_unknown, literal, scalar_of
from rewriter.expressions.literals import interval_value
from rewriter.expressions.value import Span, Value

DAY = 86_400_000_000
"""Microseconds."""

MONTH = 30 * DAY
"""That of an interval, in microseconds."""


def whole(span: Span) -> int:
    """The microseconds of a constant interval.

    >>> whole((1, -30, 5))
    5
    """
    months, days, micros = span
    return (months * 30 + days) * DAY + micros


def microseconds(value: Value, dialect: Dialect) -> Value:
    """An interval as a BIGINT: a constant one, the text of one, or one that rows decide."""
    if is_null(value):
        return literal(None, BIGINT, dialect)
    if is_unknown(value):
        value = interval_value(str(scalar_of(value)), dialect)
    if value.type.kind is not Kind.INTERVAL:
        raise refuse(f"interval and {value.type} do not go together", "write EXTRACT(EPOCH FROM a - b)", "42883")
    if value.span is not None:
        return literal(whole(value.span), BIGINT, dialect)
    return replace(value, type=BIGINT, times=None)
