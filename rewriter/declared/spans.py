"""Spans of the calendar in which a person's rows are bounded: ``max_rows: 10 per month``.

A table that grows has no honest bound for all time, and one for a month. A statement whose conditions let it touch k
months reads at most k times as many rows of a person. Nothing of this is trusted: people are clipped to the product.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

_DAYS = datetime.date.max.toordinal()

SPANS = ("hour", "day", "week", "month", "quarter", "year")


@dataclass(frozen=True, slots=True)
class Spans:
    """The spans of a ``unit`` that the times of a column lie in: from ``low`` to ``high``, in days since the year 1.

    ``alias`` is ours of the table that the column is of; "" for the table as it is declared. ``more`` are other units
    in whose spans rows are bounded as well, each with its bound as a part of that of ``unit``; what the least of all
    bounds leaves counts, in spans of ``unit``.

    >>> days = [Fraction(datetime.date(2026, *day).toordinal()) for day in ((1, 1), (12, 31), (3, 20), (4, 18))]
    >>> year = Spans("at", "month", days[0], days[1])
    >>> year.count, year.touched(days[2], days[3]), year.touched(None, days[2]), year.touched(days[3], days[2])
    (12, 2, 3, 1)
    >>> both = Spans("at", "month", days[0], days[1], more=(("day", Fraction(1, 5)),))
    >>> both.touched(days[2], days[3]), both.touched(days[2], days[2] + 2), both.touched_in("day"), both.count
    (2, Fraction(3, 5), Fraction(1, 5), 12)
    """

    column: str
    unit: str
    low: Fraction
    high: Fraction
    alias: str = ""
    more: tuple[tuple[str, Fraction], ...] = ()

    @property
    def count(self) -> int | Fraction:
        return self.touched(None, None)

    def touched(self, low: Fraction | None, high: Fraction | None) -> int | Fraction:
        """How many spans have a time between two ends; at least one."""
        first = self.low if low is None else max(low, self.low)
        last = self.high if high is None else min(high, self.high)
        return self._least(lambda unit: max(1, _number(last, unit) - _number(first, unit) + 1))

    def touched_in(self, period: str) -> int | Fraction:
        """How many spans a period of the calendar touches at most, whichever it is."""
        return self._least(lambda unit: touched_by_one(period, unit))

    def _least(self, touched: Callable[[str], int]) -> int | Fraction:
        found: int | Fraction = touched(self.unit)
        for unit, part in self.more:
            found = min(found, part * touched(unit))
        return found


def day_beside(spans: Spans, each: int) -> int | None:
    """A bound of each day that is worth declaring beside ``each`` rows of a longer span: twice what a day has of the
    span, and one more. None where rows of days are bounded already, or the span has no more.

    >>> month = Spans("at", "month", Fraction(1), Fraction(366))
    >>> day_beside(month, 10), day_beside(month, 2), day_beside(Spans("at", "day", Fraction(1), Fraction(9)), 10)
    (2, None, None)
    """
    bounded = {spans.unit, *(unit for unit, _ in spans.more)}
    most = math.ceil(Fraction(2 * each, touched_by_one(spans.unit, "day"))) + 1
    return None if most >= each or not bounded.isdisjoint(("hour", "day")) else most


def touched_by_one(period: str, span: str) -> int:
    """How many spans a period of the calendar touches at most, whichever period it is.

    >>> touched_by_one("day", "month"), touched_by_one("month", "day"), touched_by_one("week", "month")
    (1, 31, 2)
    >>> touched_by_one("year", "quarter"), touched_by_one("month", "week"), touched_by_one("month", "month")
    (4, 6, 1)
    """
    if period == "week" or span == "week":
        if period == span or _DAYS_OF[period] <= 1:
            return 1
        if span == "week":
            return -(-(_DAYS_OF[period] + 6) // 7)
        if _DAYS_OF[span] > 1:
            return 2
    if SPANS.index(period) <= SPANS.index(span):
        return 1
    if span in ("hour", "day"):
        return _DAYS_OF[period] * (24 if span == "hour" else 1)
    return _MONTHS_OF[period] // _MONTHS_OF[span]


_DAYS_OF = {"hour": 1, "day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
"""Of the longest one."""
_MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}


def _number(time: Fraction, unit: str) -> int:
    """The number of the span that a time is in. Weeks begin on Mondays, as the first day of the calendar was one."""
    if unit == "hour":
        return math.floor(time * 24)
    day = min(max(math.floor(time), 1), _DAYS)
    if unit == "day":
        return day
    if unit == "week":
        return (day - 1) // 7
    date = datetime.date.fromordinal(day)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    return (date.year * 12 + date.month - 1) // months
