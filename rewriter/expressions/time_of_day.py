"""Times of day: ``x::time``, what is added to them and subtracted, and what is read of them.

A time of day is a TIME of the engine, from 00:00 on and before 24:00; the engine computes with it as with microseconds
since midnight, and days that are added are lost, as PostgreSQL loses them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, DATE, TIME, TIMESTAMP, Interval, Kind
from rewriter.dialects import text, wrap
from rewriter.expressions import arithmetic, elapsed
from rewriter.expressions.build import Context, derive, is_unknown, literal
from rewriter.expressions.casts import widen
from rewriter.expressions.interval_length import DAY
from rewriter.expressions.interval_length import microseconds as length_of
from rewriter.expressions.value import Value

_LAST = DAY - 1


def microseconds(value: Value, context: Context) -> Value:
    """Since midnight, as a BIGINT."""
    amount = context.dialect.epoch_microseconds(wrap(value.sql))
    return derive(amount, BIGINT, value, interval=Interval(Fraction(0), Fraction(_LAST)), limits=(0, _LAST))


def on_a_day(value: Value, context: Context) -> Value:
    """The timestamp of a time of day on some day."""
    day = context.dialect.cast(text("1970-01-01"), DATE)
    return derive(exp.Paren(this=exp.Add(this=day, expression=wrap(value.sql))), TIMESTAMP, value)


def plus(left: Value, right: Value, context: Context) -> Value | None:
    """date + time, time + date and time + interval; None of anything else."""
    if right.type == TIME and (left.type == DATE or left.type.kind is Kind.INTERVAL):
        left, right = right, left
    if left.type != TIME:
        return None
    if right.type == DATE:
        day = elapsed.since_1970(widen(right, TIMESTAMP, context.dialect), context)
        return elapsed.at_microsecond(arithmetic.add(day, microseconds(left, context), context), context)
    return _moved(left, right, 1, context) if right.type.kind is Kind.INTERVAL else None


def minus(left: Value, right: Value, context: Context) -> Value | None:
    """time - time, an interval, and time - interval; None of anything else."""
    if left.type == TIME and is_unknown(right):
        right = widen(right, TIME, context.dialect)
    if right.type == TIME and is_unknown(left):
        left = widen(left, TIME, context.dialect)
    if left.type == right.type == TIME:
        between = arithmetic.subtract(microseconds(left, context), microseconds(right, context), context)
        return elapsed.as_interval(between, context)
    return _moved(left, right, -1, context) if left.type == TIME and right.type.kind is Kind.INTERVAL else None


def _moved(value: Value, by: Value, sign: int, context: Context) -> Value:
    """A time of day so much later or earlier: what is beyond midnight is of the next day or of the one before."""
    if by.span is not None:
        by = replace(by, span=(0, 0, by.span[2]))
    whole = literal(DAY, BIGINT, context.dialect)
    rest = arithmetic.modulo(length_of(by, context.dialect), whole, context)
    combine = arithmetic.add if sign > 0 else arithmetic.subtract
    moved = combine(arithmetic.add(microseconds(value, context), whole, context), rest, context)
    there = elapsed.at_microsecond(arithmetic.modulo(moved, whole, context), context)
    return derive(context.dialect.cast(there.sql, TIME), TIME, value, by, nullable=there.nullable)
