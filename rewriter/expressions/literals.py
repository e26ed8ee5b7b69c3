"""Literals of a query, read at compile time: a text that is no number or no date is refused before any row is read."""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import (
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    NULL,
    TEXT,
    TIMESTAMP,
    UTC,
    Kind,
    Scalar,
    Type,
    decimal,
    fixed,
    instant,
    zone_at,
)
from rewriter.dialects import Dialect, refuse, text
from rewriter.expressions.build import Context, integer_type, literal
from rewriter.expressions.clock_word import CLOCK_WORD
from rewriter.expressions.value import Span, Value
from rewriter.refused import NOT_ANSWERED, TYPE_MISMATCH

TRUE_WORDS = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
FALSE_WORDS = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")
_INVALID_TEXT, _INVALID_DATE, _OUT_OF_RANGE, _OUT_OF_TIME = "22P02", "22007", "22003", "22008"

_YEAR = r"(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d\d\d)"
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
INTEGER_TEXT = r"^\s*([+-]?\d+)\s*$"
NUMBER_TEXT = r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*$"
DATE_TEXT = rf"^\s*({_YEAR}-\d{{1,2}}-\d{{1,2}})(?:[ T]{_CLOCK})?\s*$"
TIMESTAMP_TEXT = rf"^\s*({_YEAR}-\d{{1,2}}-\d{{1,2}}(?:[ T]{_CLOCK})?)\s*$"
"""What a cast of text to these types reads; the first group is what is read. Anything else is NULL."""


def number_literal(node: exp.Expr, context: Context) -> Value:
    """A number or a quoted text. Integers take the smallest type, exponents make doubles."""
    if node.args.get("is_string"):
        return text_literal(node, context)
    spelt: str = node.this
    if not re.fullmatch(r"\d+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?", spelt, re.ASCII):
        raise refuse(f"{spelt} is not a number", "write digits, like 12 or 1.5", "42601")
    if "e" in spelt.lower():
        return _wide_literal(Decimal(spelt), context.dialect)
    if spelt.isdigit() and (kind := integer_type((int(spelt), int(spelt)))) is not None:
        return literal(int(spelt), kind, context.dialect)
    value = Decimal(spelt)
    return decimal_literal(value, context.dialect)


def decimal_literal(value: Decimal, dialect: Dialect) -> Value:
    scale = _scale_of(value)
    whole = max(1, value.adjusted() + 1)
    if whole + scale > 38:
        return _wide_literal(value, dialect)
    return literal(value, decimal(whole + scale, scale), dialect)


def _wide_literal(value: Decimal, dialect: Dialect) -> Value:
    return replace(literal(_double(str(value)), DOUBLE, dialect), halves_away=True, decimals=_scale_of(value))


def _scale_of(value: Decimal) -> int:
    return max(0, -int(value.as_tuple().exponent))


def text_literal(node: exp.Expr, context: Context) -> Value:
    """A quoted text, of whatever quotes: its type follows from its surroundings."""
    if "\x00" in node.this:
        raise refuse("a text cannot hold the character NUL", "leave it out", "22021")
    spelt = text(node.this)
    if (word := CLOCK_WORD.of(node)) is not None:
        CLOCK_WORD.on(spelt, word)
    return literal(node.this, TEXT, context.dialect, spelt)


def boolean_literal(node: exp.Expr, context: Context) -> Value:
    return literal(bool(node.this), BOOLEAN, context.dialect)


def null_literal(_: exp.Expr, context: Context) -> Value:
    return literal(None, NULL, context.dialect)


def _double(spelt: str) -> float:
    value = float(spelt)
    if not math.isfinite(value):
        raise refuse(f"{spelt} is out of range for type double precision", "use a smaller number", _OUT_OF_RANGE)
    return value


def parse_text(spelt: str, type_: Type, zone: str = UTC) -> Scalar:
    """The value of a quoted literal in a type, as PostgreSQL reads it; refuses what it would not read.

    ``zone`` is where clocks show a ``timestamptz`` that names no place; the instant is a plain timestamp of UTC.

    >>> from rewriter.declared.types import DATE, TIMESTAMP
    >>> parse_text("2024-12-31 +00", DATE), parse_text("2025-01-01T00:30:00.000Z", TIMESTAMP)
    (datetime.date(2024, 12, 31), datetime.datetime(2025, 1, 1, 0, 30))
    """
    if type_.kind is Kind.TIMESTAMPTZ:
        return _instant(spelt, zone)
    reader = _READERS.get(type_.kind)
    if reader is None:
        raise refuse(f"a quoted text cannot be {type_.one} here", "write the value without quotes", TYPE_MISMATCH)
    return reader(spelt, type_)


def _integer(spelt: str, type_: Type) -> Scalar:
    found = re.match(INTEGER_TEXT, spelt, re.ASCII)
    if found is None:
        raise refuse(f"{spelt!r} is not an integer", "write digits, like 12", _INVALID_TEXT)
    value = int(found.group(1)) if len(found.group(1)) < 50 else 1 << 200
    low, high = type_.limits
    if not low <= value <= high:
        raise refuse(f"{spelt!r} is out of range for type {type_}", "cast to a wider type", _OUT_OF_RANGE)
    return value


def _decimal(spelt: str, _: Type) -> Scalar:
    found = re.match(NUMBER_TEXT, spelt, re.ASCII)
    if found is None:
        raise refuse(f"{spelt!r} is not a number", "write digits, like 12.5", _INVALID_TEXT)
    return Decimal(found.group(1))


def _float(spelt: str, _: Type) -> Scalar:
    found = re.match(NUMBER_TEXT, spelt, re.ASCII)
    if found is None:
        raise refuse(f"{spelt!r} is not a finite number", "write digits, like 12.5", _INVALID_TEXT)
    return _double(found.group(1))


def _boolean(spelt: str, _: Type) -> Scalar:
    word = spelt.strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise refuse(f"{spelt!r} is not a boolean", "write TRUE or FALSE", _INVALID_TEXT)


def _text(spelt: str, _: Type) -> Scalar:
    return spelt


_ZONE = re.compile(r"\s*(?:[Zz]|(?<=[\d ])[+-]\d{1,2}(?::?\d{2})?)\s*$", re.ASCII)


def _timed(pattern: str, spelt: str) -> re.Match[str] | None:
    """A zone at the end is left out, as PostgreSQL does for types that have none: drivers write '2024-12-31 +00'."""
    return re.match(pattern, spelt, re.ASCII) or re.match(pattern, _ZONE.sub("", spelt), re.ASCII)


_NAMED_MONTHS = ("%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%B %d, %Y", "%B %d %Y", "%d-%B-%Y")
_OTHER_DATES = (*_NAMED_MONTHS, "%Y/%m/%d", "%Y.%m.%d", "%m/%d/%Y", "%Y%m%d", "%Y-%b-%d")


def _other_date(spelt: str) -> str:
    """A text that begins with a date in another of PostgreSQL's forms, with that date as 2024-12-31.

    >>> _other_date("01-jan-2011"), _other_date("1/31/2024 10:00"), _other_date("31.1.2024")
    ('2011-01-01', '2024-01-31 10:00', '31.1.2024')
    """
    day, between, clock = spelt.strip(), "", ""
    if (found := re.match(r"(.*\S)([ T])(\d{1,2}:\d\d.*)$", day, re.DOTALL)) is not None:
        day, between, clock = found.groups()
    for form in _OTHER_DATES if day.isascii() and len(day) >= 8 else ():
        try:
            return datetime.datetime.strptime(day, form).date().isoformat() + between + clock
        except ValueError:
            continue
    return spelt


def _date(spelt: str, _: Type) -> Scalar:
    found = _timed(DATE_TEXT, spelt) or _timed(DATE_TEXT, _other_date(spelt))
    if found is not None:
        year, month, day = (int(part) for part in found.group(1).split("-"))
        try:
            return datetime.date(year, month, day)
        except ValueError:
            pass
    raise refuse(f"{spelt!r} is not a date", "write it as '2024-12-31'", _INVALID_DATE)


def _timestamp(spelt: str, _: Type) -> Scalar:
    if spelt.strip().lower() == "epoch":
        return datetime.datetime(1970, 1, 1)
    found = _timed(TIMESTAMP_TEXT, spelt) or _timed(TIMESTAMP_TEXT, _other_date(spelt))
    if found is not None:
        day, _sep, clock = found.group(1).replace("T", " ").partition(" ")
        year, month, date = (int(part) for part in day.split("-"))
        hour, minute, second = [*(clock or "0:0").split(":"), "0"][:3]
        whole, _sep, fraction = second.partition(".")
        try:
            return datetime.datetime(year, month, date, int(hour), int(minute), int(whole), int(fraction.ljust(6, "0")))
        except ValueError:
            pass
    raise refuse(f"{spelt!r} is not a timestamp", "write it as '2024-12-31 23:59:59'", _INVALID_DATE)


_PLACE = re.compile(
    r"^(?P<clock>.*?\d)\s*(?:(?P<utc>[Zz])|(?P<hours>[+-]\d{1,2})(?::?(?P<minutes>[0-5]\d))?|\s(?P<name>[A-Za-z][\w/+-]*))\s*$",
    re.ASCII,
)
_DAY_ALONE = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}\s*", re.ASCII)


def _instant(spelt: str, zone: str) -> Scalar:
    """A time with or without a place, in UTC.

    >>> _instant("2026-07-01", "Europe/Berlin"), _instant("2026-07-01 12:00-07:30", "Europe/Berlin")
    (datetime.datetime(2026, 6, 30, 22, 0), datetime.datetime(2026, 7, 1, 19, 30))
    """
    found = None if _DAY_ALONE.fullmatch(spelt) else _PLACE.match(spelt)
    east = datetime.timedelta(0)
    if found is not None:
        spelt, zone = found["clock"], UTC
        if found["name"]:
            place = zone_at(found["name"])
            if place is None:
                raise refuse(f"{found['name']!r} is not a time zone", "write it as 'Europe/Berlin'", _INVALID_DATE)
            zone = place
        elif found["hours"]:
            sign = found["hours"][0]
            east = datetime.timedelta(hours=int(found["hours"]), minutes=int(sign + (found["minutes"] or "0")))
    moment = _timestamp(spelt, TIMESTAMP)
    there = instant(moment, zone) if isinstance(moment, datetime.datetime) else None
    try:
        if there is not None:
            return there - east
    except OverflowError:
        pass
    raise refuse(f"{spelt!r} lies outside of the years 1 to 9999 in UTC", "write another time", _OUT_OF_TIME)


_TIME_TEXT = re.compile(r"\s*(?:\d{4}-\d{1,2}-\d{1,2}[ T])?T?(" + _CLOCK + r")\s*([AaPp][Mm])?\s*", re.ASCII)


def _time(spelt: str, _: Type) -> Scalar:
    """A time of day; a date before it and a zone behind it are left out, as PostgreSQL does.

    >>> from rewriter.declared.types import TIME
    >>> str(_time("9:30 PM", TIME)), str(_time("2024-12-31 08:00:00.5+02", TIME))
    ('21:30:00', '08:00:00.500000')
    """
    found = _TIME_TEXT.fullmatch(spelt) or _TIME_TEXT.fullmatch(_ZONE.sub("", spelt))
    if found is not None:
        hour, minute, second = [*found[1].split(":"), "0"][:3]
        whole, _sep, fraction = second.partition(".")
        half = (found[2] or "").lower()
        if not half or 1 <= int(hour) <= 12:
            hours = int(hour) if not half else int(hour) % 12 + 12 * (half == "pm")
            return datetime.time(hours, int(minute), int(whole), int(fraction.ljust(6, "0")))
    raise refuse(f"{spelt!r} is not a time of day", "write it as '23:59:59'", _INVALID_DATE)


_READERS = {
    Kind.TIME: _time,
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.DOUBLE: _float,
    Kind.BOOLEAN: _boolean,
    Kind.TEXT: _text,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
}

# -- intervals -----------------------------------------------------------------------------------------------------

_UNITS: dict[str, tuple[int, int, int]] = {
    "year": (12, 0, 0),
    "y": (12, 0, 0),
    "quarter": (3, 0, 0),
    "mon": (1, 0, 0),
    "month": (1, 0, 0),
    "week": (0, 7, 0),
    "w": (0, 7, 0),
    "day": (0, 1, 0),
    "d": (0, 1, 0),
    "hour": (0, 0, 3_600_000_000),
    "hr": (0, 0, 3_600_000_000),
    "h": (0, 0, 3_600_000_000),
    "minute": (0, 0, 60_000_000),
    "min": (0, 0, 60_000_000),
    "m": (0, 0, 60_000_000),
    "second": (0, 0, 1_000_000),
    "sec": (0, 0, 1_000_000),
    "s": (0, 0, 1_000_000),
    "millisecond": (0, 0, 1_000),
    "microsecond": (0, 0, 1),
}
_HINT = "write it as INTERVAL '3 months' or INTERVAL '1 day 2 hours'"


def interval_literal(node: exp.Expr, context: Context) -> Value:
    """INTERVAL '…' with whole units: years to microseconds."""
    amount, unit = node.this, node.args.get("unit")
    if not isinstance(amount, exp.Literal) or not amount.args.get("is_string"):
        raise refuse("an interval must be a quoted literal", _HINT)
    spelt = amount.this
    if unit is not None:
        if not isinstance(unit, exp.Var):
            raise refuse("INTERVAL with a range of units is not answered", _HINT)
        spelt = f"{spelt} {unit.name}"
    return interval_value(spelt, context.dialect)


def interval_value(spelt: str, dialect: Dialect) -> Value:
    """The interval that a text means. Its length is limited so that adding it to a date cannot overflow.

    >>> from rewriter.dialects import DUCKDB
    >>> interval_value("1 year -2 days 01:30:00", DUCKDB).sql.sql("duckdb")
    "CAST('12 months -2 days 5400000000 microseconds' AS INTERVAL)"
    """
    return interval_of(_span(spelt), dialect)


def interval_of(span: Span, dialect: Dialect) -> Value:
    """The interval of so many months, days and microseconds."""
    months, days, micros = span
    if abs(months) > 120_000 or abs(days) > 3_660_000 or abs(micros) > 3_660_000 * 86_400_000_000:
        raise refuse("the interval is longer than 10,000 years", "use a shorter one", "22008")
    node = dialect.interval(months, days, micros)
    return Value(node, INTERVAL, interval=None, nullable=False, constant=True, domain=None, span=span)


def fixed_zone(spelt: str) -> str | None:
    """The zone that an interval means: whole hours, as ``+02:00`` or ``-3 hours``.

    >>> fixed_zone("+02:00"), fixed_zone("-3 hours"), fixed_zone("+05:30")
    ('Etc/GMT-2', 'Etc/GMT+3', None)
    """
    months, days, micros = _span(spelt)
    hours, rest = divmod(micros, 3_600_000_000)
    return None if months or days or rest else fixed(hours)


def _span(spelt: str) -> Span:
    """The months, days and microseconds that a text means; a last number without a unit is seconds, as in PostgreSQL.

    >>> _span("1 day 5"), _span("0"), _span("-1.5")
    ((0, 1, 5000000), (0, 0, 0), (0, 0, -1500000))
    """
    span = [0, 0, 0]
    rest = _without_iso(spelt.strip().lower())
    if not rest:
        raise refuse("the interval is empty", _HINT, _INVALID_DATE)
    while rest:
        clock = re.match(r"([+-]?)\s*(\d{1,7}):([0-5]?\d)(?::([0-5]?\d)(?:\.(\d{1,6}))?)?$", rest, re.ASCII)
        if clock:
            sign, hours, minutes, seconds, fraction = clock.groups("0")
            total = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
            micros = total * 1_000_000 + int(fraction.ljust(6, "0"))
            span[2] += -micros if sign == "-" else micros
            break
        part = re.match(r"([+-]?\s*\d{1,18}(?:\.\d{1,9})?)\s*([a-z]+|$)(?:\s+|$)", rest, re.ASCII)
        name = (part.group(2) or "second") if part else ""
        unit = _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))
        if part is None or unit is None:
            raise refuse(f"{spelt!r} is not an interval of whole units", _HINT, _INVALID_DATE)
        for index, size in enumerate(_sized(Fraction("".join(part.group(1).split())), unit)):
            span[index] += size
        rest = rest[part.end() :]
    return span[0], span[1], span[2]


def _sized(count: Fraction, unit: tuple[int, int, int]) -> Span:
    """So many units: a part of a month is days of thirty, a part of a day is hours, as PostgreSQL has them."""
    months, month = divmod(count * unit[0], 1) if count >= 0 else _toward_zero(count * unit[0])
    if unit[0] == 12:
        months, month = Fraction(round(count * 12)), Fraction(0)
    days, day = _toward_zero(count * unit[1] + month * 30)
    return int(months), int(days), round(count * unit[2] + day * 86_400_000_000)


def _toward_zero(value: Fraction) -> tuple[Fraction, Fraction]:
    whole = Fraction(math.trunc(value))
    return whole, value - whole


_ISO = re.compile(r"p(?=.)((?:[-+]?\d+(?:\.\d+)?[ymwd])*)(?:t((?:[-+]?\d+(?:\.\d+)?[hms])+))?", re.ASCII)
_ISO_UNITS = {"y": "year", "m": "month", "w": "week", "d": "day"}
_ISO_CLOCK = {"h": "hour", "m": "minute", "s": "second"}


def _without_iso(spelt: str) -> str:
    """An interval of ISO 8601 in words.

    >>> _without_iso("p1y2m3dt4h"), _without_iso("pt90s"), _without_iso("3 days")
    ('1 year 2 month 3 day 4 hour', '90 second', '3 days')
    """
    if (found := _ISO.fullmatch(spelt)) is None:
        return spelt
    parts = [
        f"{part[:-1]} {units[part[-1]]}"
        for text_, units in ((found[1], _ISO_UNITS), (found[2] or "", _ISO_CLOCK))
        for part in re.findall(r"[^a-z]+[a-z]", text_)
    ]
    return " ".join(parts)


def span_of(value: Value) -> Span:
    if value.span is None:
        raise TypeError("a value of type INTERVAL is a literal")
    return value.span


def whole_literal(value: Value, what: str, low: int, high: int) -> int:
    """A literal integer argument within bounds, or a refusal."""
    scalar = None if value.literal is None else value.literal.scalar
    if value.type.kind is not Kind.INTEGER or not isinstance(scalar, int) or not low <= scalar <= high:
        raise refuse(f"{what} must be a literal integer", f"write a number from {low} to {high}", NOT_ANSWERED)
    return scalar
