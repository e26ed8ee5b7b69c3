"""Intervals that rows decide: differences of times, and multiples of constant intervals, as whole microseconds.

An interval here is what PostgreSQL compares and extracts of it: a month is 30 days, a day 24 hours. Its ``sql`` is a
BIGINT, its declared range in microseconds, too; a difference of times has no months.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, DOUBLE, INTERVAL, TIMESTAMP, TIMESTAMPTZ, UTC, Interval, Kind, decimal
from rewriter.dialects import duplicate, number, refuse, when, wrap
from rewriter.expressions import arithmetic
from rewriter.expressions.build import Context, derive, integer_domain, is_literal, limits_of, literal, scalar_of
from rewriter.expressions.casts import convert_to, widen
from rewriter.expressions.interval_length import DAY, MONTH, microseconds
from rewriter.expressions.local_time import to_instant, to_local
from rewriter.expressions.value import LINEAR, LinearTime, Value

_BEFORE_1970 = 719_163
CALENDAR = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The first and the last microsecond of the years 1 to 9999, from 1970 on."""


def as_interval(value: Value, context: Context) -> Value:
    """A number of microseconds as an interval; NULL beyond 64 bits."""
    found = convert_to(value, BIGINT, context.dialect)
    if found.literal is not None and isinstance(scalar_of(found), int):
        found = replace(found, literal=None)
    return replace(found, type=INTERVAL, unit=False)


def since_1970(value: Value, context: Context) -> Value:
    """A timestamp as microseconds since 1970; an instant by UTC."""
    interval = None
    if value.interval is not None:
        interval = Interval(*((end - _BEFORE_1970) * DAY for end in (value.interval.low, value.interval.high)))
    sql = context.dialect.epoch_microseconds(wrap(value.sql))
    return derive(sql, BIGINT, value, interval=interval, limits=CALENDAR)


def at_microsecond(value: Value, context: Context) -> Value:
    """The timestamp so many microseconds after 1970: NULL outside of the calendar."""
    whole_number = convert_to(value, BIGINT, context.dialect)
    low, high = limits_of(whole_number)
    interval = None
    if whole_number.interval is not None:
        ends = (whole_number.interval.low, whole_number.interval.high)
        interval = Interval(*(end / DAY + _BEFORE_1970 for end in ends))
    sql = context.dialect.moment_after_epoch(whole_number.sql)
    nullable = value.nullable
    if low < CALENDAR[0] or high > CALENDAR[1]:
        within = exp.Between(this=wrap(duplicate(whole_number.sql)), low=number(CALENDAR[0]), high=number(CALENDAR[1]))
        sql = when(within, sql)
        nullable = nullable or interval is None
    return derive(sql, TIMESTAMP, value, interval=interval, nullable=nullable)


def difference(later: Value, earlier: Value, context: Context) -> Value:
    """a - b of timestamps."""
    common = TIMESTAMPTZ if Kind.TIMESTAMPTZ in (later.type.kind, earlier.type.kind) else TIMESTAMP
    later, earlier = (widen(side, common, context.dialect) for side in (later, earlier))
    apart = arithmetic.subtract(since_1970(later, context), since_1970(earlier, context), context)
    return replace(in_one_time(as_interval(apart, context), later, earlier, DAY), times="apart")


def in_one_time(value: Value, later: Value, earlier: Value, unit: int) -> Value:
    """A difference of times, of which one may be a literal, in ``unit`` for each day."""
    for known, moment, factor in ((later, earlier, -unit), (earlier, later, unit)):
        if is_literal(known) and known.interval is not None and not is_literal(moment):
            LINEAR.on(value.sql, LinearTime(moment.sql, factor, -factor * known.interval.low))
    return value


def added(one: Value, other: Value, sign: int, context: Context) -> Value:
    """A sum or a difference of intervals."""
    _no_ages(one, other)
    if any(value.span is not None and value.span[0] for value in (one, other)):
        raise refuse("months have no fixed length", "add them to a date first, or write days")
    combine = arithmetic.add if sign > 0 else arithmetic.subtract
    return as_interval(
        combine(microseconds(one, context.dialect), microseconds(other, context.dialect), context), context
    )


def scaled(length: Value, by: Value, context: Context, *, divides: bool = False) -> Value:
    """An interval times a number, or over one."""
    _no_ages(length)
    if length.span is not None and length.span[0]:
        return _months(length, by, context, divides=divides)
    combine = arithmetic.divide if divides else arithmetic.multiply
    amount = microseconds(length, context.dialect)
    if divides:
        amount = widen(amount, DOUBLE, context.dialect)
    found = as_interval(combine(*arithmetic.numbers(amount, by, context, "/" if divides else "*"), context), context)
    days_alone = length.span is not None and not length.span[2]
    clock_alone = length.span is not None and not length.span[1]
    return replace(found, times="days" if days_alone else "clock" if clock_alone else None)


def _months(length: Value, by: Value, context: Context, *, divides: bool) -> Value:
    """So many months or years as rows say, and nothing else beside."""
    months, days, micros = length.span or (0, 0, 0)
    if divides or days or micros or by.type.kind is not Kind.INTEGER:
        raise refuse("months are multiplied by whole numbers alone", "write n * INTERVAL '1 month', or days")
    many = arithmetic.multiply(by, literal(months * MONTH, BIGINT, context.dialect), context)
    return replace(as_interval(many, context), times="months")


def months_of(value: Value, context: Context) -> Value:
    """How many months an interval has that is made of months alone."""
    return arithmetic.integer_quotient(
        microseconds(value, context.dialect), literal(MONTH, BIGINT, context.dialect), context
    )


def shifted(moment: Value, by: Value, sign: int, context: Context) -> Value:
    """A time plus an interval of microseconds. Days of an instant go by the calendar of the session's zone."""
    _no_ages(by)
    dialect, zone = context.dialect, context.dialect.zone
    zoned = moment.type.kind is Kind.TIMESTAMPTZ
    if zoned and zone != UTC and by.times in (None, "apart"):
        raise refuse(
            "an interval that rows decide is added to local times alone",
            "write (x AT TIME ZONE 'Europe/Berlin') + …",
        )
    local = zoned and zone != UTC and by.times == "days"
    there = to_local(moment, zone, dialect, guarded=False) if local else moment
    combine = arithmetic.add if sign > 0 else arithmetic.subtract
    base = since_1970(widen(replace(there, type=TIMESTAMP) if zoned else there, TIMESTAMP, dialect), context)
    found = at_microsecond(combine(base, microseconds(by, context.dialect), context), context)
    if local:
        return to_instant(found, zone, dialect)
    return replace(found, type=TIMESTAMPTZ) if zoned else found


def _no_ages(*values: Value) -> None:
    if any(value.times == "age" for value in values):
        raise refuse("AGE(a, b) is compared, and no interval to compute with", "write a - b")
    if any(value.times == "months" for value in values):
        raise refuse("months have no fixed length", "add them to a date first, or write days")


_FOREVER = 1 << 62
"""Microseconds that no interval has: one of hours alone has no days."""
_LENGTHS = {"day": (1, DAY), "hour": (24, 3_600_000_000), "minute": (60, 60_000_000)}
"""How many of a field there are in the next larger one, and its microseconds."""


def part(unit: str, value: Value, context: Context) -> Value:
    """EXTRACT(unit FROM interval), of one without months."""
    _no_ages(value)
    amount = microseconds(value, context.dialect)
    if unit == "epoch":
        return arithmetic.divide(
            widen(amount, DOUBLE, context.dialect), literal(1_000_000.0, DOUBLE, context.dialect), context
        )
    if unit == "second":
        rest = arithmetic.modulo(amount, literal(60_000_000, BIGINT, context.dialect), context)
        exact = context.dialect.cast(rest.sql, decimal(8, 0))
        seconds = exp.Mul(this=exact, expression=context.dialect.cast(number("0.000001"), decimal(6, 6)))
        ends = rest.interval and Interval(rest.interval.low / 1_000_000, rest.interval.high / 1_000_000)
        return derive(seconds, decimal(14, 6), rest, interval=ends)
    if unit in ("year", "month", "decade", "century", "millennium"):
        nothing = exp.Mul(this=wrap(amount.sql), expression=number(0))
        zero = Interval(Fraction(0), Fraction(0))
        return derive(context.dialect.cast(nothing, decimal(5, 0)), decimal(5, 0), amount, interval=zero)
    if unit not in _LENGTHS:
        raise refuse(f"EXTRACT({unit.upper()}) of an interval is not answered", "extract DAY, HOUR, MINUTE or EPOCH")
    most, length = _LENGTHS[unit]
    if unit != "minute" and value.span is None and value.times is None:
        # PostgreSQL keeps 1 day and 25 hours apart from 2 days and 1 hour.
        raise refuse(
            f"EXTRACT({unit.upper()}) of a computed interval is not answered",
            "write EXTRACT(EPOCH FROM a - b) / 86400 for days, or extract from a - b itself",
        )
    if unit == "day" and value.times == "clock":
        length = _FOREVER
    elif unit != "day" and not (unit == "hour" and value.times == "clock"):
        amount = arithmetic.modulo(amount, literal(most * length, BIGINT, context.dialect), context)
    found = arithmetic.integer_quotient(amount, literal(length, BIGINT, context.dialect), context)
    type_ = decimal(9, 0)
    sql = context.dialect.cast(found.sql, type_)
    return derive(sql, type_, found, interval=found.interval, domain=integer_domain(found.interval))
