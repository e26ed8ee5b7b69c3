"""Dates and timestamps. Every one inside an expression lies in the years 1 to 9999, or is NULL.

A ``timestamptz`` has fields, days and months by the clocks of the session's zone, or of the zone that is named.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import (
    DATE,
    DOUBLE,
    INTEGER,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UTC,
    Interval,
    Kind,
    Scalar,
    decimal,
    measure,
    zone_at,
)
from rewriter.dialects import (
    Dialect,
    Fact,
    Period,
    duplicate,
    field_of,
    is_in_order,
    is_of_clock,
    most_texts,
    number,
    pattern_of,
    print_of,
    reaching,
    refuse,
    start_of,
    text,
    when,
    wrap,
)
from rewriter.expressions import arithmetic, elapsed, number_texts, time_of_day
from rewriter.expressions.ages import age_part, number_of_month
from rewriter.expressions.build import (
    Context,
    derive,
    in_calendar,
    integer_domain,
    is_literal,
    is_null,
    is_unknown,
    limits_of,
    literal,
    scalar_of,
    settled,
)
from rewriter.expressions.casts import coerce, widen
from rewriter.expressions.interval_length import DAY
from rewriter.expressions.literals import fixed_zone, span_of
from rewriter.expressions.local_time import CUT, moment_of, to_instant, to_local
from rewriter.expressions.shown_times import (
    BEGUN,
    SHOWN,
    UNITS,
    BegunPeriod,
    ShownTime,
    field_shown,
    month_shown,
    printed,
)
from rewriter.expressions.value import EPOCH, LINEAR, NUMERAL, Length, LinearTime, Span, TextSize, Value
from rewriter.refused import NO_FUNCTION

CALENDAR_DAYS = 3_652_058
"""From 0001-01-01 to 9999-12-31."""


def temporal(node: object, context: Context, what: str) -> Value:
    """A date or timestamp operand; a quoted literal is a timestamp."""
    return _temporal(context.finite(node), context, what)


def _temporal(value: Value, context: Context, what: str) -> Value:
    if is_unknown(value) or is_null(value):
        return widen(value, TIMESTAMP, context.dialect)
    if not value.type.temporal:
        raise refuse(f"{what} needs a date or timestamp, not {value.type}", "cast it, as in x::date", NO_FUNCTION)
    return value


def _through(interval: Interval | None, function: Callable[[datetime.datetime], Fraction | None]) -> Interval | None:
    """The image of a declared range under a non-decreasing function of time; None when it leaves the calendar."""
    if interval is None:
        return None
    ends = [moment_of(interval.low), moment_of(interval.high)]
    images = [function(end) if end is not None else None for end in ends]
    low, high = images
    return Interval(low, high) if low is not None and high is not None else None


def local_time(value: Value, context: Context) -> Value:
    """Of an instant, what the clocks of the session's zone show."""
    if value.type.kind is not Kind.TIMESTAMPTZ:
        return value
    return to_local(value, context.dialect.zone, context.dialect)


# -- arithmetic ----------------------------------------------------------------------------------------------------


def involves_time(left: Value, right: Value) -> bool:
    return any(value.type.temporal or value.type.kind in (Kind.INTERVAL, Kind.TIME) for value in (left, right))


def plus(left: Value, right: Value, context: Context) -> Value:
    """date + integer, date or timestamp + interval, date + time, time + interval."""
    if left.type.kind is right.type.kind is Kind.INTERVAL:
        return elapsed.added(left, right, 1, context)
    if (of_day := time_of_day.plus(left, right, context)) is not None:
        return of_day
    if not left.type.temporal:
        left, right = right, left
    return _shift(left, right, 1, context)


def minus(left: Value, right: Value, context: Context) -> Value:
    """date - date is a number of days; date - integer, date or timestamp - interval."""
    if is_unknown(right) and left.type.temporal:
        right = widen(right, left.type, context.dialect)
    if is_unknown(left) and right.type.temporal:
        left = widen(left, right.type, context.dialect)
    if (of_day := time_of_day.minus(left, right, context)) is not None:
        return of_day
    if left.type == right.type == DATE:
        interval = left.interval - right.interval if left.interval and right.interval else None
        sql = context.dialect.days_between(wrap(left.sql), wrap(right.sql))
        limits = (-CALENDAR_DAYS, CALENDAR_DAYS)
        domain = integer_domain(interval)
        apart = derive(sql, INTEGER, left, right, interval=interval, limits=limits, domain=domain)
        return elapsed.in_one_time(apart, left, right, 1)
    if left.type.temporal and right.type.temporal:
        return elapsed.difference(left, right, context)
    if left.type.kind is right.type.kind is Kind.INTERVAL:
        return elapsed.added(left, right, -1, context)
    return _shift(left, right, -1, context)


def _shift(moment: Value, by: Value, sign: int, context: Context) -> Value:
    if is_null(by):
        by = widen(by, INTEGER, context.dialect)
    if moment.type == DATE and by.type.kind is Kind.INTEGER:
        return _shift_days(moment, by, sign, context)
    if moment.type.temporal and by.times == "months":
        return _shift_months(moment, by, sign, context)
    if moment.type.temporal and by.type.kind is Kind.INTERVAL and by.span is None:
        return elapsed.shifted(moment, by, sign, context)
    if moment.type.temporal and by.type.kind is Kind.INTERVAL:
        return _shift_span(moment, by, sign, context)
    raise refuse(
        f"there is no {moment.type} {'+' if sign > 0 else '-'} {by.type}",
        "add whole days or an interval, as in day + 7 or day + INTERVAL '1 month'",
        "42883",
    )


def _shift_days(moment: Value, by: Value, sign: int, context: Context) -> Value:
    low, high = limits_of(by)
    days = by.sql
    small = low >= -CALENDAR_DAYS and high <= CALENDAR_DAYS
    if not small:
        inside = exp.Between(this=wrap(duplicate(days)), low=number(-CALENDAR_DAYS), high=number(CALENDAR_DAYS))
        days = when(inside, days)
    as_integer = context.dialect.try_cast(days, INTEGER, by.type)
    if sign < 0:
        as_integer = exp.Paren(this=exp.Neg(this=as_integer))
    interval = None
    if moment.interval and by.interval:
        interval = moment.interval + by.interval if sign > 0 else moment.interval - by.interval
    sql = context.dialect.add_days(wrap(moment.sql), as_integer)
    found = settled(derive(sql, DATE, moment, by, interval=interval), context.dialect, moment, by)
    return _later(found, moment, Fraction(sign * low) if low == high else None, context)


def _shift_span(moment: Value, by: Value, sign: int, context: Context) -> Value:
    months, days, micros = span_of(by)
    span = (sign * months, sign * days, sign * micros)
    if moment.type.kind is Kind.TIMESTAMPTZ:
        return _shift_instant(moment, span, context)
    found = _shifted(moment, span, context)
    return _later(found, moment, None if span[0] else Fraction(span[1]) + Fraction(span[2], DAY), context)


def _later(value: Value, moment: Value, days: Fraction | None, context: Context) -> Value:
    """A shifted time within the calendar, so many ``days`` later than it was, where that is one number."""
    if is_literal(value):
        return value
    found = in_calendar(value, context.dialect)
    if days is not None and found.interval is not None:
        LINEAR.on(found.sql, LinearTime(moment.sql, 1, days))
    return found


def _shift_instant(moment: Value, span: Span, context: Context) -> Value:
    """Months and days go by the calendar of the session's zone, hours do not."""
    months, days, micros = span
    dialect, zone = context.dialect, context.dialect.zone
    if months or days:
        there = _shifted(to_local(moment, zone, dialect, guarded=False), (months, days, 0), context)
        moment = to_instant(there, zone, dialect, guarded=False)
    later = _shifted(replace(moment, type=TIMESTAMP), (0, 0, micros), context) if micros else moment
    if is_literal(later):
        return literal(scalar_of(later), TIMESTAMPTZ, dialect)
    return in_calendar(replace(later, type=TIMESTAMPTZ), dialect)


def _shift_months(moment: Value, by: Value, sign: int, context: Context) -> Value:
    """So many months as a row says, by the calendar of the session's zone; NULL outside of the calendar."""
    dialect, zoned = context.dialect, moment.type.kind is Kind.TIMESTAMPTZ
    there = to_local(moment, dialect.zone, dialect, guarded=False) if zoned else moment
    base = widen(there, TIMESTAMP, dialect)
    months = elapsed.months_of(by, context)
    if sign < 0:
        months = arithmetic.subtract(literal(0, INTEGER, dialect), months, context)
    count = wrap(dialect.cast(months.sql, INTEGER))
    place = exp.Paren(this=exp.Add(this=number_of_month(base.sql, context), expression=duplicate(count)))
    inside = exp.Between(this=place, low=number(12 + 1), high=number(12 * 9999 + 12))
    interval = None
    if moment.interval is not None and months.interval is not None:
        ends = [moment_of(end) for end in (moment.interval.low, moment.interval.high)]
        counts = [int(count) for count in (months.interval.low, months.interval.high)]
        reached = [end and _moved(end, (count, 0, 0)) for end, count in zip(ends, counts, strict=True)]
        interval = Interval(*reached) if None not in reached else None  # type: ignore[arg-type]
    sql = when(inside, dialect.add_months(wrap(base.sql), count))
    found = derive(sql, TIMESTAMP, moment, by, interval=interval, nullable=True)
    return to_instant(found, dialect.zone, dialect) if zoned else found


def _shifted(moment: Value, span: Span, context: Context) -> Value:
    """It may lie outside of the calendar."""
    interval = _through(moment.interval, lambda end: _moved(end, span))
    base = widen(moment, TIMESTAMP, context.dialect)
    sql = context.dialect.shift(wrap(base.sql), span)
    return settled(derive(sql, TIMESTAMP, moment, interval=interval, nullable=True), context.dialect, moment)


def _moved(moment: datetime.datetime, span: Span) -> Fraction | None:
    """A timestamp plus months (the day cut to the month's length), days and microseconds."""
    months = moment.year * 12 + moment.month - 1 + span[0]
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        return None
    first = datetime.datetime(year, month + 1, 1)
    length = 31 if month == 11 else (datetime.datetime(year, month + 2, 1) - first).days
    try:
        there = moment.replace(year=year, month=month + 1, day=min(moment.day, length))
        there += datetime.timedelta(days=span[1], microseconds=span[2])
    except (ValueError, OverflowError):
        return None
    return measure(there)


# -- date_trunc ----------------------------------------------------------------------------------------------------


def floor_to(unit: str, moment: datetime.datetime) -> datetime.datetime:
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return start - datetime.timedelta(days=start.weekday())
    if unit == "month":
        return start.replace(day=1)
    if unit == "quarter":
        return start.replace(day=1, month=(start.month - 1) // 3 * 3 + 1)
    if unit in ("year", "decade"):
        year = start.year if unit == "year" else max(start.year // 10 * 10, 1)
        return start.replace(day=1, month=1, year=year)
    if unit == "day":
        return start
    kept = {"hour": 0, "minute": 1, "second": 2, "millisecond": 3, "milliseconds": 3}.get(unit, 4)
    if kept == 3:
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    fields = dict(list({"minute": 0, "second": 0, "microsecond": 0}.items())[kept:])
    return moment.replace(**fields)  # type: ignore[arg-type]


_TRUNCATIONS = [
    "microsecond",
    "microseconds",
    "millisecond",
    "milliseconds",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "decade",
]


def date_trunc(node: exp.Expr, context: Context) -> Value:
    unit = _unit(node.args.get("unit"))
    if unit not in _TRUNCATIONS:
        raise refuse(f"DATE_TRUNC to {unit} is not answered", "units: " + ", ".join(_TRUNCATIONS[4:]), "22023")
    value = context.finite(node.this)
    if value.type == TIME:
        raise refuse("DATE_TRUNC of a time of day is an interval", "write DATE_TRUNC('hour', x)::time")
    value = _temporal(value, context, "DATE_TRUNC")
    place = node.args.get("zone")
    if value.type.kind is Kind.TIMESTAMPTZ:
        return _trunc_instant(unit, value, _zone(place) if place is not None else context.dialect.zone, context)
    if place is not None:
        raise refuse("DATE_TRUNC takes a time zone of a timestamptz only", "leave the zone out", "42883")
    return _trunc(unit, value, context)


def _trunc_instant(unit: str, value: Value, zone: str, context: Context) -> Value:
    """When the local period began; an hour that a clock shows twice begins twice."""
    dialect, there = context.dialect, to_local(value, zone, context.dialect, guarded=False)
    begun = _trunc(unit, there, context)
    if zone == UTC:
        found = replace(begun, type=TIMESTAMPTZ)
        return literal(scalar_of(begun), TIMESTAMPTZ, dialect) if is_literal(begun) else found
    if _TRUNCATIONS.index(unit) >= _TRUNCATIONS.index("day"):
        found = to_instant(begun, zone, dialect, guarded=False)
        if is_literal(found):
            return found
        found = _within(found, dialect)
        if (period := BEGUN.of(begun.sql)) is not None:
            BEGUN.on(found.sql, replace(period, zone=zone))
        return found
    since = exp.Paren(this=exp.Sub(this=wrap(duplicate(there.sql)), expression=wrap(begun.sql)))
    sql = exp.Sub(this=wrap(duplicate(value.sql)), expression=since)
    if unit == "hour":
        CUT.on(sql, Period.HOUR)
    interval = value.interval and Interval(value.interval.low - Fraction(1, 24), value.interval.high)
    return _within(derive(sql, TIMESTAMPTZ, value, there, interval=interval), dialect)


def _within(value: Value, dialect: Dialect) -> Value:
    """In the calendar; of what is declared to lie there, nothing is lost."""
    return replace(in_calendar(value, dialect), nullable=value.nullable or value.interval is None)


def _trunc(unit: str, value: Value, context: Context) -> Value:
    interval = _through(value.interval, lambda end: measure(floor_to(unit, end)))
    start = start_of(unit, value.sql)
    if unit in UNITS:
        BEGUN.on(start, BegunPeriod(unit, value.sql, value.type == DATE))
    truncated = settled(derive(start, TIMESTAMP, value, interval=interval), context.dialect, value)
    if is_literal(truncated):
        return truncated
    # years 1 to 9 belong to a decade that begins in year 0
    return in_calendar(truncated, context.dialect) if unit == "decade" else truncated


def _unit(node: object) -> str:
    name = node.name if isinstance(node, exp.Var | exp.Literal) else ""
    return name.lower()


# -- extract -------------------------------------------------------------------------------------------------------


def _iso_year(moment: datetime.datetime) -> Fraction:
    return Fraction(moment.isocalendar()[0])


_GROWING: dict[str, Callable[[datetime.datetime], Fraction | None]] = {
    "year": lambda moment: Fraction(moment.year),
    "isoyear": _iso_year,
    "decade": lambda moment: Fraction(moment.year // 10),
    "century": lambda moment: Fraction((moment.year + 99) // 100),
    "millennium": lambda moment: Fraction((moment.year + 999) // 1000),
}
_CYCLIC = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dow": (0, 6),
    "isodow": (1, 7),
    "doy": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
}
_DIGITS = {"year": "%Y", "month": "%m", "day": "%d"}
_OF_CLOCK = ("hour", "minute", "second")
_PLURALS = {f"{unit}s": unit for unit in ("year", "month", "week", "day", "hour", "minute", "second", "decade")}


def _zone(node: object) -> str:
    """A literal zone, by name or as INTERVAL '+2 hours'."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Cast) and node.to.this in (exp.DType.TEXT, exp.DType.VARCHAR):
        node = node.this
    found = None
    if isinstance(node, exp.Literal) and node.is_string:
        found = zone_at(node.name)
    elif isinstance(node, exp.Interval):
        unit = node.args.get("unit")
        found = fixed_zone(f"{node.this.name} {unit.name}" if isinstance(unit, exp.Var) else node.this.name)
    else:
        raise refuse("a time zone is a literal", "write AT TIME ZONE 'Europe/Berlin'")
    if found is None:
        hint = "write a name like 'Europe/Berlin', or whole hours: AT TIME ZONE INTERVAL '2 hours'"
        raise refuse("there is no such time zone", hint, "22023")
    return found


def at_time_zone(node: exp.Expr, context: Context) -> Value:
    """x AT TIME ZONE 'zone': the local time there of an instant, the instant of a local time there."""
    return _at_zone(context.finite(node.this), _zone(node.args.get("zone")), context)


def timezone(node: exp.Expr, context: Context) -> Value:
    """TIMEZONE('zone', x) is x AT TIME ZONE 'zone'."""
    arguments = node.expressions
    if len(arguments) != 2:
        raise refuse("TIMEZONE takes a zone and a time", "write x AT TIME ZONE 'Europe/Berlin'", "42883")
    return _at_zone(context.finite(arguments[1]), _zone(arguments[0]), context)


def _at_zone(value: Value, zone: str, context: Context) -> Value:
    if is_unknown(value) or is_null(value) or value.type == DATE:
        value = widen(value, TIMESTAMPTZ, context.dialect)
    if not value.type.temporal:
        raise refuse(f"AT TIME ZONE needs a timestamp, not {value.type}", "cast it, as in x::timestamp", NO_FUNCTION)
    convert = to_local if value.type.kind is Kind.TIMESTAMPTZ else to_instant
    return convert(value, zone, context.dialect)


def extract(node: exp.Expr, context: Context) -> Value:
    """EXTRACT(unit FROM x) is NUMERIC, whose halves are rounded away from zero; DATE_PART is a double, rounded to even.

    A date has no hour, but DATE_PART reads it as a timestamp.
    """
    found = _part(node, context)
    if OF_TIMESTAMP.is_on(node):
        return replace(widen(found, DOUBLE, context.dialect), halves_away=False)
    return replace(found, halves_away=found.type == DOUBLE)


def _part(node: exp.Expr, context: Context) -> Value:
    """A field of a time: a decimal without fraction; seconds have six digits, EPOCH is computed in doubles."""
    unit = _unit(node.this)
    unit = _PLURALS.get(unit, unit)
    inner = node.args["expression"]
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Sub):
        difference = _difference(unit, inner, context)
        if difference is not None:
            return difference
    if (age := age_part(unit, inner, context)) is not None:
        return age
    value = context.finite(inner)
    if value.type == TIME:
        return _of_day(unit, value, context)
    if value.type.kind is Kind.INTERVAL:
        return elapsed.part(unit, value, context)
    value = _temporal(value, context, "EXTRACT")
    if value.type == DATE and unit in _OF_CLOCK:
        if OF_TIMESTAMP.is_on(node):
            return _field(unit, widen(value, TIMESTAMP, context.dialect), context)
        raise refuse(f"a date has no {unit}", "extract year, month, week, day, dow or epoch", "0A000")
    if unit == "epoch":
        return _epoch(value, context)
    return _field(unit, local_time(value, context), context)


def _of_day(unit: str, value: Value, context: Context) -> Value:
    """A field of a time of day."""
    if unit == "epoch":
        micros = time_of_day.microseconds(value, context)
        million = literal(1_000_000.0, DOUBLE, context.dialect)
        return arithmetic.divide(widen(micros, DOUBLE, context.dialect), million, context)
    if unit not in _OF_CLOCK:
        raise refuse(f"a time of day has no {unit}", "extract HOUR, MINUTE, SECOND or EPOCH", "0A000")
    return _field(unit, time_of_day.on_a_day(value, context), context)


def _field(unit: str, value: Value, context: Context) -> Value:
    if unit == "second":
        micros = context.dialect.cast(field_of("microsecond", value.sql), decimal(8, 0))
        seconds = exp.Mul(this=micros, expression=context.dialect.cast(number("0.000001"), decimal(6, 6)))
        return derive(seconds, decimal(14, 6), value, interval=Interval(Fraction(0), Fraction(59_999_999, 1_000_000)))
    if unit in _GROWING:
        interval = _through(value.interval, _GROWING[unit]) or Interval(Fraction(0), Fraction(10_000))
    elif unit in _CYCLIC:
        low, high = _CYCLIC[unit]
        interval = Interval(Fraction(low), Fraction(high))
    else:
        hint = "units: " + ", ".join([*_GROWING, *_CYCLIC, "second", "epoch"])
        raise refuse(f"EXTRACT({unit.upper()}) is not answered", hint, "22023")
    if is_literal(value) and interval.low == interval.high:
        return literal(Decimal(int(interval.low)), decimal(5, 0), context.dialect)
    if (
        is_literal(value)
        and (moment := _moment_of(value)) is not None
        and (known := field_shown(unit, moment)) is not None
    ):
        return literal(Decimal(known), decimal(5, 0), context.dialect)
    sql = context.dialect.cast(field_of(unit, value.sql), decimal(5, 0))
    if (pattern := _DIGITS.get(unit)) is not None:
        SHOWN.on(sql, ShownTime(pattern, value.sql, value.type == DATE))
    return derive(sql, decimal(5, 0), value, interval=interval, domain=integer_domain(interval))


def _epoch(value: Value, context: Context) -> Value:
    interval = value.interval
    if interval is not None:
        interval = Interval(*((end - 719_163) * 86_400 for end in (interval.low, interval.high)))
    found = derive(context.dialect.epoch(value.sql), DOUBLE, value, interval=interval, magnitude=_EPOCHS)
    if value.type.kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        EPOCH.on(found.sql, LinearTime(duplicate(value.sql), 86_400, Fraction(-719_163 * 86_400)))
    return found


_EPOCHS = reaching((-20, 38))
"""Seconds from one time in the calendar to another are 0, or between a microsecond and 2**38 of them."""


def _difference(unit: str, node: exp.Expr, context: Context) -> Value | None:
    """EXTRACT(EPOCH FROM a - b) of timestamps; None when it is no difference of timestamps."""
    left, right = context.finite(node.this), context.finite(node.args["expression"])
    if is_unknown(left) and right.type.temporal:
        left = widen(left, right.type, context.dialect)
    if is_unknown(right) and left.type.temporal:
        right = widen(right, left.type, context.dialect)
    if not (left.type.temporal and right.type.temporal) or left.type == right.type == DATE:
        return None
    if unit != "epoch":
        return elapsed.part(unit, elapsed.difference(left, right, context), context)
    interval = left.interval - right.interval if left.interval and right.interval else None
    if interval is not None:
        interval = Interval(interval.low * 86_400, interval.high * 86_400)
    common = TIMESTAMPTZ if Kind.TIMESTAMPTZ in (left.type.kind, right.type.kind) else TIMESTAMP
    one, other = (wrap(widen(side, common, context.dialect).sql) for side in (left, right))
    seconds = context.dialect.seconds_between(one, other)
    return derive(seconds, DOUBLE, left, right, interval=interval, magnitude=_EPOCHS)


# -- making and printing -------------------------------------------------------------------------------------------


def _date(*parts: Scalar | None) -> datetime.date | None:
    try:
        return datetime.date(*parts)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def make_date(node: exp.Expr, context: Context) -> Value:
    """MAKE_DATE(year, month, day): NULL where there is no such date."""
    arguments = node.expressions
    if len(arguments) != 3:
        raise refuse("MAKE_DATE takes three integers", "write MAKE_DATE(2024, 12, 31)", "42883")
    values = [context.finite(argument) for argument in arguments]
    for value in values:
        if value.type.kind is not Kind.INTEGER and not is_null(value):
            raise refuse("MAKE_DATE takes three integers", "cast them, as in x::integer", NO_FUNCTION)
    if all(map(is_literal, values)):
        return literal(_date(*map(scalar_of, values)), DATE, context.dialect)
    year, month, day = (coerce_integer(value, context) for value in values)
    inside = exp.Between(this=wrap(duplicate(year.sql)), low=number(1), high=number(9999))
    parts: list[exp.Expr] = [
        context.dialect.call("lpad", context.dialect.cast(year.sql, TEXT), number(4), text("0")),
        context.dialect.cast(month.sql, TEXT),
        context.dialect.cast(day.sql, TEXT),
    ]
    spelt: exp.Expr = parts[0]
    for part in parts[1:]:
        spelt = exp.DPipe(this=exp.DPipe(this=spelt, expression=text("-")), expression=part)
    sql = context.dialect.try_cast(when(inside, spelt), DATE, TEXT)
    interval = None
    if year.interval is not None:
        low, high = max(math.floor(year.interval.low), 1), min(math.ceil(year.interval.high), 9999)
        if low <= high:
            interval = Interval.of(datetime.date(low, 1, 1), datetime.date(high, 12, 31))
    shown = [SHOWN.of(one.sql) for one in values[:2]]
    if is_literal(values[2]) and scalar_of(values[2]) == 1 and (begun := month_shown(*shown)) is not None:
        BEGUN.on(sql, begun)
    return derive(sql, DATE, *values, interval=interval, nullable=True)


def coerce_integer(value: Value, context: Context) -> Value:
    return coerce(value, INTEGER, context) if is_null(value) else value


SHORTEST = {
    "hour": Fraction(1, 24), "day": Fraction(1), "week": Fraction(7), "month": Fraction(28), "quarter": Fraction(90),
    "year": Fraction(365), "decade": Fraction(3652), "century": Fraction(36524), "millennium": Fraction(365242),
}  # fmt: skip
"""The least number of days between two beginnings of a unit."""
CYCLES = {
    "hour": 1,
    "minute": 1,
    "dow": 7,
    "isodow": 7,
    "day": 62,
    "month": 366,
    "quarter": 366,
    "week": 3000,
    "doy": 3000,
}
"""Days after which every value of a part of a time has been there."""
OF_TIMESTAMP: Fact[bool] = Fact("of a timestamp")
"""Of an EXTRACT whose text is DATE_PART: it is a double, and PostgreSQL casts a date to a timestamp for it."""
TEXTS: Fact[int] = Fact("texts")
"""How many texts TO_CHAR prints, at most, of times that keep to their declared range."""
SORTED: Fact[bool] = Fact("sorted")
"""Whether texts sort as the times do that they are printed of."""
_SORTED_YEARS = Interval.of(datetime.date(1, 1, 2), datetime.date(9999, 12, 30))


_NUMERALS = {
    "YYYY": "%Y", "YYYYMM": "%Y%m", "YYYYMMDD": "%Y%m%d", "YYYYMMDDHH24": "%Y%m%d%H", "YYYYMMDDHH24MI": "%Y%m%d%H%M",
    "YYYYMMDDHH24MISS": "%Y%m%d%H%M%S",
}  # fmt: skip
"""Formats that print digits alone, the longest unit first: a number that never falls while time goes on."""


def _numeral(spelt: str, interval: Interval) -> Interval | None:
    """Where the number lies that a format prints of times of an interval; None of other formats.

    >>> _numeral("YYYYMM", Interval.of(datetime.date(987, 6, 5), datetime.date(2026, 11, 23)))
    Interval(low=Fraction(98706, 1), high=Fraction(202611, 1))
    """
    if (pattern := _NUMERALS.get(spelt)) is None:
        return None
    return _through(interval, lambda moment: Fraction(int(f"{moment.year}" + moment.strftime(pattern[2:]))))


def _moment_of(value: Value) -> datetime.datetime | None:
    """The time that a literal is."""
    return None if value.interval is None else moment_of(value.interval.low)


def to_char(node: exp.Expr, context: Context) -> Value:
    """TO_CHAR(x, format) of a time."""
    written = node.args.get("format")
    spelt = written.this if isinstance(written, exp.Literal) and written.is_string else ""
    value = context.finite(node.this)
    if value.type.numeric:
        return number_texts.printed(value, spelt, context)
    pattern = pattern_of(spelt)
    if value.type == TIME:
        if pattern is None or not is_of_clock(pattern):
            raise refuse("this format of a time of day is not answered", "write TO_CHAR(x::time, 'HH24:MI:SS')")
        value = time_of_day.on_a_day(value, context)
    value = local_time(_temporal(value, context, "TO_CHAR"), context)
    if pattern is None:
        raise refuse(
            "this format of TO_CHAR is not answered", """write TO_CHAR(day, 'YYYY-MM'), 'Dy', 'Mon' or 'IYYY-"W"IW'"""
        )
    moment = _moment_of(value) if is_literal(value) else None
    if moment is not None and (found := printed(pattern, moment)) is not None:
        return literal(found, TEXT, context.dialect)
    sql = SHOWN.on(print_of(pattern, value.sql), ShownTime(pattern, value.sql, value.type == DATE))
    if value.interval is not None:
        TEXTS.on(sql, most_texts(pattern, value.interval.width))
        if is_in_order(pattern) and value.interval.low in _SORTED_YEARS and value.interval.high in _SORTED_YEARS:
            SORTED.on(sql, True)
        if (numeral := _numeral(spelt.upper(), value.interval)) is not None:
            NUMERAL.on(sql, numeral)
    most = Length(plus=9 * len(written.this) + 2, checked=True) if written is not None else Length()
    return derive(sql, TEXT, value, size=TextSize(length=most))
