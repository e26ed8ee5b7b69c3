"""Spans of the calendar in which a person's rows are bounded: ``max_rows: 10 per month``.

A table that grows has no honest bound for all time, and one for a month. A statement whose conditions let it touch k
months reads at most k times as many rows of a person. Nothing of this is trusted: people are clipped to the product.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from fractions import Fraction

_DAYS = datetime.date.max.toordinal()

SPANS = ("hour", "day", "week", "month", "quarter", "year")


@dataclass(frozen=True, slots=True)
class Spans:
    """The spans of a ``unit`` that the times of a column lie in: from ``low`` to ``high``, in days since the year 1.

    ``alias`` is ours of the table that the column is of; "" for the table as it is declared.

    >>> days = [Fraction(datetime.date(2026, *day).toordinal()) for day in ((1, 1), (12, 31), (3, 20), (4, 18))]
    >>> year = Spans("at", "month", days[0], days[1])
    >>> year.count, year.touched(days[2], days[3]), year.touched(None, days[2]), year.touched(days[3], days[2])
    (12, 2, 3, 1)
    """

    column: str
    unit: str
    low: Fraction
    high: Fraction
    alias: str = ""

    @property
    def count(self) -> int:
        return self.touched(None, None)

    def touched(self, low: Fraction | None, high: Fraction | None) -> int:
        """How many spans have a time between two ends; at least one."""
        first = self.low if low is None else max(low, self.low)
        last = self.high if high is None else min(high, self.high)
        return max(1, _number(last, self.unit) - _number(first, self.unit) + 1)


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
