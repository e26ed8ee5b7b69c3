"""Times made of numbers: MAKE_TIMESTAMP(2024, 12, 31, 23, 59, 59.5)."""

from __future__ import annotations

import datetime
import math

from sqlglot import exp

from rewriter.declared import INTEGER, TEXT, TIMESTAMP, Interval, Kind, decimal
from rewriter.dialects import duplicate, number, refuse, text, when, wrap
from rewriter.expressions.build import Context, derive, finite, is_null
from rewriter.expressions.casts import convert_to, widen
from rewriter.expressions.value import Value
from rewriter.refused import NO_FUNCTION

_PARTS = ("year", "month", "day", "hour", "min", "sec")


def make_timestamp(node: exp.Expr, context: Context) -> Value:
    """MAKE_TIMESTAMP(year, month, day, hour, minute, second): NULL where there is no such time.

    Its parts are put together to a text, which is read as one: what is no time is NULL there.
    """
    if any(node.args.get(part) is None for part in _PARTS):
        raise refuse("MAKE_TIMESTAMP takes six numbers", "write MAKE_TIMESTAMP(2024, 12, 31, 23, 59, 59.5)", "42883")
    *whole, second = (context.finite(node.args[part]) for part in _PARTS)
    for value in whole:
        if value.type.kind is not Kind.INTEGER and not is_null(value):
            raise refuse("MAKE_TIMESTAMP takes integers, and seconds", "cast them, as in x::integer", NO_FUNCTION)
    if not second.type.numeric and not is_null(second):
        raise refuse("MAKE_TIMESTAMP takes integers, and seconds", "cast them, as in x::integer", NO_FUNCTION)
    year, month, day, hour, minute = (widen(v, INTEGER, context.dialect) if is_null(v) else v for v in whole)
    seconds = _seconds(second, context)
    inside = exp.and_(_between(year, 1, 9999), _between(minute, 0, 59), copy=False)
    spelt = _padded(year, 4, context)
    for mark, part in zip("-- ", (month, day, hour), strict=True):
        spelt = _joined(spelt, mark, context.dialect.cast(part.sql, TEXT))
    spelt = _joined(_joined(spelt, ":", _padded(minute, 2, context)), ":", seconds)
    sql = context.dialect.parse(when(inside, spelt), _TEXT, TIMESTAMP)
    interval = None
    if year.interval is not None:
        low, high = max(math.floor(year.interval.low), 1), min(math.ceil(year.interval.high), 9999)
        if low <= high:
            last = datetime.datetime(high, 12, 31, 23, 59, 59, 999_999)
            interval = Interval.of(datetime.datetime(low, 1, 1), last)
    return derive(sql, TIMESTAMP, *whole, second, interval=interval, nullable=True)


_TEXT = r"^(\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{2}:\d{2}[.]\d{6})$"


def _between(value: Value, low: int, high: int) -> exp.Expr:
    return exp.Between(this=wrap(duplicate(value.sql)), low=number(low), high=number(high))


def _padded(value: Value, digits: int, context: Context) -> exp.Expr:
    return context.dialect.call("lpad", context.dialect.cast(value.sql, TEXT), number(digits), text("0"))


def _joined(spelt: exp.Expr, mark: str, part: exp.Expr) -> exp.Expr:
    return exp.DPipe(this=exp.DPipe(this=spelt, expression=text(mark)), expression=part)


def _seconds(value: Value, context: Context) -> exp.Expr:
    """Seconds as a text, with six digits behind the point; NULL where they are 60 or more, or negative."""
    exact = decimal(8, 6)
    if is_null(value):
        value = widen(value, INTEGER, context.dialect)
    held = finite(convert_to(value, exact, context.dialect), context.dialect)
    inside = exp.and_(
        exp.GTE(this=wrap(duplicate(held.sql)), expression=number(0)),
        exp.LT(this=wrap(duplicate(held.sql)), expression=number(60)),
        copy=False,
    )
    shown = context.dialect.call("lpad", context.dialect.cast(held.sql, TEXT), number(9), text("0"))
    return when(inside, shown)
