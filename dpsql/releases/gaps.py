"""Where the line of a chart breaks: at groups that are not shown, or have no number."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from itertools import pairwise

_MISSING = 1.5
"""Months and quarters are uneven by less, and two steps of any grid are more."""


def unbroken(times: Sequence[float]) -> list[range]:
    """The places of rising times, apart where a step of their grid is missing; all together where they are on none.

    >>> unbroken([1, 2, 3, 6, 7]), unbroken([31, 59, 90, 120, 212]), unbroken([0, 1, 20, 100])
    ([range(0, 3), range(3, 5)], [range(0, 4), range(4, 5)], [range(0, 4)])
    """
    steps = [later - earlier for earlier, later in pairwise(times)]
    least = min((step for step in steps if step > 0), default=0.0)
    breaks = [at + 1 for at, step in enumerate(steps) if step > _MISSING * least]
    if 2 * len(breaks) > len(steps):
        breaks = []
    return [range(first, last) for first, last in pairwise([0, *breaks, len(times)])]


def as_days(value: object) -> float | None:
    """A day, or a time, as a number of days; None for all else."""
    if isinstance(value, datetime.datetime):
        return value.toordinal() + (value.hour * 60 + value.minute) / 1440
    return float(value.toordinal()) if isinstance(value, datetime.date) else None
