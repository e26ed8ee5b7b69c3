"""AGE(a, b): whole years and months by the calendar, as birthdays count them, and the days and hours beyond them.

PostgreSQL subtracts field by field and borrows, so that a month is complete when its day and time of day are reached;
what is beyond the last month is counted in the month of the earlier time. The age of an earlier time is that of the
later one, negative. Ages are compared as intervals are: a month has 30 days.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, INTEGER, TIMESTAMP, TIMESTAMPTZ, Interval, Kind, decimal
from rewriter.dialects import duplicate, field_of, number, refuse, start_of, wrap
from rewriter.expressions import arithmetic, elapsed
from rewriter.expressions.build import Context, derive, integer_domain, is_null, is_unknown, literal
from rewriter.expressions.casts import widen
from rewriter.expressions.interval_length import DAY
from rewriter.expressions.local_time import moment_of, to_local
from rewriter.expressions.value import Value

_MOST = 12 * 10_000


def age_part(unit: str, node: exp.Expr, context: Context) -> Value | None:
    """A field of AGE(later, earlier); None of anything else."""
    if type(node) is not exp.Anonymous or str(node.this).upper() != "AGE":
        return None
    if len(node.expressions) != 2:
        raise refuse("AGE takes two times", "write AGE(DATE '2024-12-31', born)", "42883")
    later, earlier = (_local(one, context) for one in node.expressions)
    if unit not in ("year", "month"):
        return _beyond_months(unit, later, earlier, context)
    months = _months(later, earlier, context)
    twelve = literal(12, INTEGER, context.dialect)
    part = arithmetic.integer_quotient if unit == "year" else arithmetic.modulo
    found = part(months, twelve, context)
    sql = context.dialect.cast(found.sql, decimal(5, 0))
    return derive(sql, decimal(5, 0), found, interval=found.interval, domain=integer_domain(found.interval))


def age(node: exp.Expr, context: Context) -> Value:
    """AGE(later, earlier), to be compared: it has a length, and is no span of the calendar to add."""
    if len(node.expressions) != 2:
        raise refuse("AGE takes two times", "write AGE(DATE '2024-12-31', born)", "42883")
    later, earlier = (_local(one, context) for one in node.expressions)
    days = arithmetic.multiply(
        widen(_months(later, earlier, context), BIGINT, context.dialect),
        literal(30 * DAY, BIGINT, context.dialect), context,
    )  # fmt: skip
    length = arithmetic.add(days, _rest(later, earlier, context), context)
    return replace(elapsed.as_interval(length, context), times="age")


def _beyond_months(unit: str, later: Value, earlier: Value, context: Context) -> Value:
    """A field of what is beyond the last month."""
    rest = _rest(later, earlier, context)
    if unit == "epoch":
        raise refuse("EXTRACT(EPOCH FROM AGE(…)) is not answered", "write EXTRACT(EPOCH FROM a - b)")
    return elapsed.part(unit, replace(elapsed.as_interval(rest, context), times="apart"), context)


def _rest(later: Value, earlier: Value, context: Context) -> Value:
    """Microseconds beyond the last whole month: fewer than the days of the earlier time's month."""
    ends = [widen(one, TIMESTAMP, context.dialect) for one in (later, earlier)]
    a, b = (wrap(one.sql) for one in ends)
    within_a, within_b = (_within(one, context) for one in ends)
    between = exp.Paren(this=exp.Sub(this=within_a, expression=within_b))
    ahead = exp.GTE(this=duplicate(a), expression=duplicate(b))
    short = exp.and_(ahead, exp.LT(this=duplicate(within_a), expression=duplicate(within_b)), copy=False)
    behind = exp.LT(this=duplicate(a), expression=duplicate(b))
    long = exp.and_(behind, exp.GT(this=duplicate(within_a), expression=duplicate(within_b)), copy=False)
    whole = (_length_of_month(b, context), exp.Neg(this=_length_of_month(a, context)))
    ifs = [exp.If(this=test, true=length) for test, length in zip((short, long), whole, strict=True)]
    sql = exp.Paren(this=exp.Add(this=between, expression=exp.Case(ifs=ifs, default=number(0))))
    ends_of = Interval(Fraction(-31 * DAY), Fraction(31 * DAY))
    return derive(sql, BIGINT, later, earlier, interval=ends_of, limits=(-62 * DAY, 62 * DAY))


def _length_of_month(moment: exp.Expr, context: Context) -> exp.Expr:
    """Microseconds of the month around a timestamp."""
    start = start_of("month", duplicate(moment))
    following = context.dialect.shift(duplicate(start), (1, 0, 0))
    ends = (context.dialect.epoch_microseconds(exp.Paren(this=following)), context.dialect.epoch_microseconds(start))
    return exp.Paren(this=exp.Sub(this=ends[0], expression=ends[1]))


def _local(node: exp.Expr, context: Context) -> Value:
    """A time as clocks of the session's zone show it."""
    value = context.finite(node)
    if is_unknown(value) or is_null(value):
        value = widen(value, TIMESTAMP, context.dialect)
    if not value.type.temporal:
        raise refuse(f"AGE needs a date or timestamp, not {value.type}", "cast it, as in x::date", "42883")
    if value.type.kind is Kind.TIMESTAMPTZ:
        return to_local(widen(value, TIMESTAMPTZ, context.dialect), context.dialect.zone, context.dialect)
    return value


def _months(later: Value, earlier: Value, context: Context) -> Value:
    """Months from one time to another, toward zero."""
    a, b = (wrap(value.sql) for value in (later, earlier))
    counted = exp.Paren(this=exp.Sub(this=number_of_month(a, context), expression=number_of_month(b, context)))
    within_a, within_b = (_within(value, context) for value in (later, earlier))
    ahead = exp.GTE(this=duplicate(a), expression=duplicate(b))
    short = exp.and_(ahead, exp.LT(this=within_a, expression=within_b), copy=False)
    behind = exp.LT(this=duplicate(a), expression=duplicate(b))
    long = exp.and_(behind, exp.GT(this=duplicate(within_a), expression=duplicate(within_b)), copy=False)
    borrowed = exp.Case(ifs=[exp.If(this=short, true=number(-1)), exp.If(this=long, true=number(1))], default=number(0))
    sql = exp.Paren(this=exp.Add(this=counted, expression=borrowed))
    interval = None
    if later.interval is not None and earlier.interval is not None:
        ends = [moment_of(one) for one in (later.interval.low, earlier.interval.high)]
        last = [moment_of(one) for one in (later.interval.high, earlier.interval.low)]
        if None not in (*ends, *last):
            interval = Interval(Fraction(months_between(*ends)), Fraction(months_between(*last)))  # type: ignore[arg-type]
    cast = context.dialect.cast(sql, INTEGER)
    domain = integer_domain(interval)
    return derive(cast, INTEGER, later, earlier, interval=interval, limits=(-_MOST, _MOST), domain=domain)


def number_of_month(moment: exp.Expr, context: Context) -> exp.Expr:
    """Months since year 0, where January is 1: an INTEGER."""

    def field(unit: str) -> exp.Expr:
        return context.dialect.cast(field_of(unit, duplicate(moment)), INTEGER)

    years = exp.Mul(this=field("year"), expression=number(12))
    return exp.Paren(this=exp.Add(this=years, expression=field("month")))


def _within(value: Value, context: Context) -> exp.Expr:
    """How far into its month a time is: days, or microseconds."""
    if value.type.kind is Kind.DATE:
        day = context.dialect.cast(field_of("day", duplicate(value.sql)), BIGINT)
        whole = exp.Mul(this=exp.Paren(this=exp.Sub(this=day, expression=number(1))), expression=number(86_400_000_000))
        return exp.Paren(this=whole)
    since = context.dialect.epoch_microseconds(wrap(duplicate(value.sql)))
    start = context.dialect.epoch_microseconds(start_of("month", duplicate(value.sql)))
    return exp.Paren(this=exp.Sub(this=since, expression=start))


def months_between(later: datetime.datetime, earlier: datetime.datetime) -> int:
    """Whole months from one time to another, toward zero.

    >>> months_between(datetime.datetime(2024, 3, 30), datetime.datetime(2024, 1, 31))
    1
    >>> months_between(datetime.datetime(2024, 1, 31), datetime.datetime(2024, 3, 30))
    -1
    """
    if later < earlier:
        return -months_between(earlier, later)
    counted = (later.year - earlier.year) * 12 + later.month - earlier.month
    within = [one - one.replace(day=1, hour=0, minute=0, second=0, microsecond=0) for one in (later, earlier)]
    return math.trunc(counted - (within[0] < within[1]))
