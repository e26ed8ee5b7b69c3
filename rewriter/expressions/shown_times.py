"""Texts and numbers that show a time: which times show a given one.

A *period* is a year, quarter, month, week, day, hour, minute or second of the calendar. Theorem: a pattern whose fields
tell a period (:func:`rewriter.dialects.period_told`) prints one text for all times of a period of the years 1 to 9999,
and another one for each other period. So the times that show a text are one period, or there are none. Where, beside
that, each field has one width and a longer unit stands before a shorter one, texts sort as their periods do.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.declared import UTC
from rewriter.dialects import Fact, FormatField, fields, letters_of, period_told
from rewriter.expressions.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class ShownTime:
    """A time as it is shown by ``pattern``, one of :mod:`rewriter.dialects.time_format`: ``moment``, a date or a
    timestamp. Not ``whole``, more characters follow in every row. Of a number, as many ``zeros`` follow."""

    pattern: str
    moment: exp.Expr
    is_date: bool
    whole: bool = True
    zeros: int = 0

    @property
    def digits(self) -> int | None:
        """How many digits it is, and nothing else; None of other texts."""
        letters = sum(1 for one in fields(self.pattern) if one.letter in _NUMBERS)
        is_digits = self.whole and letters == sum(1 for _ in fields(self.pattern))
        return width_of(self.pattern) if is_digits else None

    def cut(self, size: int) -> ShownTime | None:
        """The first ``size`` characters; None where they end within a field, or the widths of fields differ."""
        if size >= (width := width_of(self.pattern) or size + 1):
            return self if self.whole else replace(self, whole=True) if size == width else None
        pattern = beginning(self.pattern, size)
        return None if pattern is None else replace(self, pattern=pattern, whole=True)


@dataclass(frozen=True, slots=True, eq=False)
class BegunPeriod:
    """The begin of the ``unit`` around ``moment``, a date or a timestamp; by the clocks of a ``zone``, where it is an
    instant."""

    unit: str
    moment: exp.Expr
    is_date: bool
    zone: str = UTC


SHOWN: Fact[ShownTime] = Fact("shown time")
"""Of a text, the time that it shows; of a number, the time whose digits it has."""
BEGUN: Fact[BegunPeriod] = Fact("begun period")
"""Of a time that another one is cut to."""
UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
"""From the shortest to the longest; a week is in no month."""


def day_of(moment: exp.Expr) -> BegunPeriod:
    """The day of a timestamp; of the begin of a day, or of a longer period, the begin of the same."""
    begun = BEGUN.of(moment)
    is_same = begun is not None and UNITS.index(begun.unit) >= UNITS.index("day")
    return begun if begun is not None and is_same else BegunPeriod("day", moment, is_date=False)


def month_shown(year: ShownTime | None, month: ShownTime | None) -> BegunPeriod | None:
    """The month of a time whose year and month two numbers are."""
    if year is None or month is None or year.zeros or month.zeros or year.moment != month.moment:
        return None
    return BegunPeriod("month", year.moment, year.is_date) if (year.pattern, month.pattern) == ("%Y", "%m") else None


def shifted(number: exp.Expr, factor: int) -> ShownTime | None:
    """The time that a number shows once it is multiplied by 10, 100, 1000 …: the digits, and zeros."""
    shown, zeros = SHOWN.of(number), len(str(factor)) - 1
    return None if shown is None or shown.zeros or factor != 10**zeros else replace(shown, zeros=zeros)


def joined(high: exp.Expr, low: exp.Expr) -> ShownTime | None:
    """The time that a sum of two numbers shows: ``100 * year + month``."""
    one, other = SHOWN.of(high), SHOWN.of(low)
    if (
        one is None
        or other is None
        or other.zeros
        or not one.zeros
        or one.zeros != other.digits
        or one.moment != other.moment
    ):
        return None
    return replace(one, pattern=one.pattern + other.pattern, zeros=0)


def still_shown_in(found: Value, value: Value, size: int) -> Value:
    """The first ``size`` characters of a text, with the time that they show."""
    shown = SHOWN.of(value.sql)
    if shown is not None and (cut := shown.cut(size)) is not None:
        SHOWN.on(found.sql, cut)
    return found


_WIDTHS = {
    "Y": 4, "G": 4, "y": 2, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "V": 2, "j": 3, "q": 1, "b": 3, "a": 3,
}  # fmt: skip
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS: Mapping[str, Callable[[datetime.datetime], int]] = {
    "Y": lambda moment: moment.year,
    "y": lambda moment: moment.year % 100,
    "G": lambda moment: moment.isocalendar()[0],
    "V": lambda moment: moment.isocalendar()[1],
    "q": lambda moment: (moment.month + 2) // 3,
    "m": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "j": lambda moment: moment.timetuple().tm_yday,
    "H": lambda moment: moment.hour,
    "M": lambda moment: moment.minute,
    "S": lambda moment: moment.second,
}
_WORDS: Mapping[str, Callable[[datetime.datetime], str]] = {
    "B": lambda moment: _MONTHS[moment.month - 1],
    "b": lambda moment: _MONTHS[moment.month - 1][:3],
    "A": lambda moment: _DAYS[moment.weekday()],
    "a": lambda moment: _DAYS[moment.weekday()][:3],
}


def printed(pattern: str, moment: datetime.datetime) -> str | None:
    """A time of the years 1 to 9999 as PostgreSQL prints it; None of a pattern with other fields.

    >>> printed("%9B %Y, %-d", datetime.datetime(26, 4, 3)), printed("%p", datetime.datetime(26, 4, 3))
    ('April     0026, 3', None)
    """
    found: list[str] = []
    for field in fields(pattern):
        if (number := _NUMBERS.get(field.letter)) is not None:
            width = 0 if "-" in field.flags else _WIDTHS[field.letter]
            found.append(f"{number(moment):0{width}d}")
        elif (word := _WORDS.get(field.letter)) is not None:
            spelt = word(moment).ljust(9 if "9" in field.flags else 0)
            found.append(spelt.upper() if "^" in field.flags else spelt.lower() if "_" in field.flags else spelt)
        elif field.letter:
            return None
        else:
            found.append(field.text)
    return "".join(found)


_FIELDS = {"year": "Y", "quarter": "q", "month": "m", "week": "V", "day": "d", "doy": "j", "hour": "H", "minute": "M"}


def field_shown(unit: str, moment: datetime.datetime) -> int | None:
    """The number that EXTRACT has of a time; None of other units.

    >>> field_shown("dow", datetime.datetime(2026, 11, 29)), field_shown("week", datetime.datetime(2026, 11, 29))
    (0, 48)
    """
    if unit in ("dow", "isodow"):
        return moment.isoweekday() % 7 if unit == "dow" else moment.isoweekday()
    return _NUMBERS[_FIELDS[unit]](moment) if unit in _FIELDS else None


def period_shown(pattern: str, spelt: str) -> tuple[datetime.datetime, datetime.datetime | None] | None:
    """The begin and the end of the period whose times are shown as ``spelt``, without an end where the calendar ends
    with it; None where there is none, or a pattern does not tell periods.

    >>> [str(one) for one in period_shown("%m/%Y", "04/2026")]
    ['2026-04-01 00:00:00', '2026-05-01 00:00:00']
    >>> period_shown("%m/%Y", "4/2026"), period_shown("%m/%y", "04/26"), period_shown("%Y-%m-%d", "2026-02-29")
    (None, None, None)
    """
    unit, letters = period_told(letters_of(pattern)), [one.letter for one in fields(pattern) if one.letter]
    if unit is None or len(letters) > len(set(letters)):
        return None
    parts = map(_expression, fields(pattern))
    match = re.fullmatch("".join(parts), spelt, re.ASCII | re.DOTALL)
    if match is None:
        return None
    begin = _begin(match.groupdict())
    # What is read must print as it was written: so a field that is said twice, or padded, is what it was.
    if begin is None or printed(pattern, begin) != spelt:
        return None
    return begin, after(unit, begin)


def _expression(field: FormatField) -> str:
    if not field.letter:
        return re.escape(field.text)
    if field.letter not in _NUMBERS:
        return f"(?P<{field.letter}>[A-Za-z]+ *)"
    return f"(?P<{field.letter}>[0-9]{'+' if field.flags else f'{{{_WIDTHS[field.letter]}}}'})"


def _begin(read: Mapping[str, str]) -> datetime.datetime | None:
    """The first time with these fields."""
    numbers = {letter: int(spelt) for letter, spelt in read.items() if letter in _NUMBERS}
    names = [read[letter].strip().title() for letter in "bB" if letter in read]
    month = next((place for place, one in enumerate(_MONTHS, 1) if names and names[0] in (one, one[:3])), None)
    try:
        if "Y" not in numbers:
            return datetime.datetime.combine(
                datetime.date.fromisocalendar(numbers["G"], numbers["V"], 1), datetime.time()
            )
        begin = datetime.datetime(
            numbers["Y"], numbers.get("m", month or 3 * numbers.get("q", 1) - 2), numbers.get("d", 1),
            numbers.get("H", 0), numbers.get("M", 0), numbers.get("S", 0),
        )  # fmt: skip
        return begin + datetime.timedelta(days=numbers.get("j", 1) - 1)
    except (ValueError, OverflowError):
        return None


def after(unit: str, begin: datetime.datetime) -> datetime.datetime | None:
    """The begin of the next period; None where the calendar ends before it.

    >>> str(after("quarter", datetime.datetime(2025, 10, 1))), after("year", datetime.datetime(9999, 1, 1))
    ('2026-01-01 00:00:00', None)
    """
    try:
        if unit in ("week", "day", "hour", "minute", "second"):
            return begin + datetime.timedelta(**{f"{unit}s": 1})
        months = begin.year * 12 + begin.month - 1 + {"month": 1, "quarter": 3, "year": 12}[unit]
        return begin.replace(year=months // 12, month=months % 12 + 1)
    except (ValueError, OverflowError):
        return None


def width_of(pattern: str) -> int | None:
    """How many characters a pattern prints of every time; None where that differs.

    >>> width_of("%Y-%m"), width_of("%-m/%Y")
    (7, None)
    """
    if any(field.letter and (field.flags or field.letter not in _WIDTHS) for field in fields(pattern)):
        return None
    return sum(_WIDTHS[field.letter] if field.letter else len(field.text) for field in fields(pattern))


def beginning(pattern: str, size: int) -> str | None:
    """The pattern of the first ``size`` characters; None where they end within a field, or widths differ.

    >>> beginning("%Y-%m-%d", 7), beginning("%Y-%m-%d", 8), beginning("%Y-%m-%d", 9)
    ('%Y-%m', '%Y-%m-', None)
    """
    if width_of(pattern) is None:
        return None
    kept: list[str] = []
    for field in fields(pattern):
        if size <= 0:
            break
        if field.letter:
            kept.append(f"%{field.flags}{field.letter}")
            size -= _WIDTHS[field.letter]
        else:
            kept.append(field.text[:size].replace("%", "%%"))
            size -= len(field.text[:size])
    return "".join(kept) if size == 0 and letters_of("".join(kept)) else None
