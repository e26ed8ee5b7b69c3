"""From instants to local times and back. A ``timestamptz`` is a plain timestamp of UTC in every engine's SQL.

Both ways, the first and last hours of the calendar have no other side in it: they are NULL there.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import (
    INTEGER,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UTC,
    Interval,
    Type,
    clocks,
    instant,
    instants,
    is_steady,
    local,
    measure,
)
from rewriter.dialects import Dialect, Fact, Period, duplicate, number, refuse, text, when, wrap
from rewriter.expressions.build import derive, is_literal, literal, scalar_of
from rewriter.expressions.value import Value

ZONE: Fact[str] = Fact("zone")
"""The name of the zone that a node gives the local time of."""
INSTANT: Fact[exp.Expr] = Fact("instant")
"""The instant whose local time a node gives."""
CUT: Fact[Period] = Fact("cut")
"""The periods that a node cuts instants to."""

_Map = Callable[[datetime.datetime, str], datetime.datetime | None]
_SLACK = Fraction(1, 24)
_MICROSECOND = Fraction(1, 86_400_000_000)


def to_local(value: Value, zone: str, dialect: Dialect, *, guarded: bool = True) -> Value:
    """The time that clocks in ``zone`` show at an instant.

    Not ``guarded``, it may lie a day outside of the calendar, for what is computed of it and guarded then.
    """
    return _moved(value, zone, dialect, local, instants(zone) if guarded else None, TIMESTAMP)


def to_instant(value: Value, zone: str, dialect: Dialect, *, guarded: bool = True) -> Value:
    """The instant at which clocks in ``zone`` show a timestamp."""
    return _moved(value, zone, dialect, instant, clocks(zone) if guarded else None, TIMESTAMPTZ)


def as_local_literal(value: Value, zone: str, dialect: Dialect) -> Value | None:
    """A literal instant as the local time that is compared with in its place; None where a clock is set near it."""
    scalar = scalar_of(value)
    if scalar is None:
        return literal(None, TIMESTAMP, dialect)
    moment = local(scalar, zone) if isinstance(scalar, datetime.datetime) else None
    if not isinstance(scalar, datetime.datetime) or moment is None or not is_steady(scalar, zone):
        return None
    return literal(moment, TIMESTAMP, dialect)


def _moved(
    value: Value,
    zone: str,
    dialect: Dialect,
    move: _Map,
    ends: tuple[datetime.datetime, datetime.datetime] | None,
    type_: Type,
) -> Value:
    if is_literal(value):
        scalar = scalar_of(value)
        found = move(scalar, zone) if isinstance(scalar, datetime.datetime) else None
        if scalar is not None and found is None:
            raise refuse("this time lies outside of the years 1 to 9999 there", "write a later or earlier one", "22008")
        return literal(found, type_, dialect)
    if zone == UTC:
        return derive(value.sql, type_, value, interval=value.interval)
    places = [zone, UTC] if type_ == TIMESTAMPTZ else [UTC, zone]
    sql = wrap(value.sql)
    for place in places:
        sql = dialect.in_zone(sql, place)
    if ends is not None:
        low, high = (dialect.cast(text(end.isoformat(sep=" ")), TIMESTAMP) for end in ends)
        sql = when(exp.Between(this=wrap(duplicate(value.sql)), low=low, high=high), sql)
    interval = _image(value.interval, zone, move)
    if type_ == TIMESTAMP:
        INSTANT.on(ZONE.on(sql, zone), value.sql)
    return derive(sql, type_, value, interval=interval, nullable=value.nullable or interval is None)


def offset_text(there: exp.Expr, value: exp.Expr, zone: str, dialect: Dialect) -> exp.Expr:
    """How far a local time is from UTC, as PostgreSQL prints it: ``+02``, ``-03:30``."""
    if zone == UTC:
        return text("+00")
    seconds = dialect.cast(dialect.seconds_between(wrap(there), wrap(value)), INTEGER)
    size = dialect.call("abs", duplicate(seconds))

    def two(number_: exp.Expr) -> exp.Expr:
        return dialect.call("lpad", dialect.cast(number_, TEXT), number(2), text("0"))

    def part(of: int, unit: int) -> exp.Expr:
        rest = exp.Paren(this=dialect.modulo(duplicate(size), number(of)))
        shown = exp.DPipe(this=text(":"), expression=two(dialect.integer_divide(duplicate(rest), number(unit))))
        return when(exp.NEQ(this=rest, expression=number(0)), shown, text(""))

    sign = when(exp.LT(this=wrap(seconds), expression=number(0)), text("-"), text("+"))
    found = exp.DPipe(this=sign, expression=two(dialect.integer_divide(duplicate(size), number(3600))))
    for of, unit in ((3600, 60), (60, 1)):
        found = exp.DPipe(this=found, expression=part(of, unit))
    return found


def _image(interval: Interval | None, zone: str, move: _Map) -> Interval | None:
    if interval is None:
        return None
    found = []
    for end, outward in ((interval.low, -_SLACK), (interval.high, _SLACK)):
        there = move(moment, zone) if (moment := moment_of(end)) is not None else None
        if moment is None or there is None:
            return None
        found.append(measure(there) + (0 if is_steady(moment, zone) else outward))
    return Interval(found[0], found[1])


def moment_of(days: Fraction) -> datetime.datetime | None:
    """A point of an interval as a timestamp, rounded down to microseconds; None outside of the calendar."""
    try:
        return datetime.datetime.min + datetime.timedelta(microseconds=(days - 1) // _MICROSECOND)
    except OverflowError:
        return None
