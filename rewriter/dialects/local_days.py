"""The local days and hours of a declared range of instants, listed as the instants at which they begin.

A step is a word of :mod:`rewriter.keys.key_sets`, DAY or HOUR, and after it the zones by whose clocks periods begin.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.declared import TIMESTAMP, Scalar, grid, local
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.nodes import text

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ZonedDays:
    """``size`` times from ``first``, ``step`` apart: by the clocks of ``zone``, or of UTC where there is none."""

    first: datetime.datetime
    last: datetime.datetime
    step: datetime.timedelta
    zone: str | None = None

    @property
    def size(self) -> int:
        return (self.last - self.first) // self.step + 1

    def query(self, dialect: Dialect) -> exp.Query:
        """A column ``x`` of instants."""
        ends = [dialect.cast(text(end.isoformat(sep=" ")), TIMESTAMP) for end in (self.first, self.last)]
        microseconds = self.step // datetime.timedelta(microseconds=1)
        span = dialect.interval(0, 1, 0) if self.step == _DAY else dialect.interval(0, 0, microseconds)
        begins = dialect.cast(exp.column("n", "g"), TIMESTAMP)
        for place in () if self.zone is None else (self.zone, "UTC"):
            begins = dialect.in_zone(begins, place)
        return exp.select(exp.alias_(begins, "x")).from_(dialect.series(ends[0], ends[1], span))


def zoned_days(bounds: tuple[Scalar, Scalar], step: str) -> ZonedDays | None:
    """The periods of a range; None where there are none by the clocks of a zone.

    >>> zoned_days((datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2, 23)), "DAY Asia/Tokyo").size
    3
    """
    low, high = bounds
    unit, *zones = step.split()
    if not isinstance(low, datetime.datetime) or not isinstance(high, datetime.datetime):
        return None
    if unit == "DAY" and len(zones) == 1:
        first, last = local(low, zones[0]), local(high, zones[0])
        if first is None or last is None:
            return None
        return ZonedDays(first.replace(hour=0, minute=0, second=0, microsecond=0), last, _DAY, zones[0])
    return _hours(low, high, zones)


def _hours(low: datetime.datetime, high: datetime.datetime, zones: Sequence[str]) -> ZonedDays | None:
    widths = [grid(low, high, zone) for zone in zones]
    if None in widths:
        return None
    width = datetime.timedelta(seconds=min(found for found in widths if found is not None))
    since = (low - datetime.datetime.min) % width
    return ZonedDays(low - since, high, width)


def finer(one: str, other: str) -> str:
    """A step that lists the beginnings of both.

    >>> finer("DAY Asia/Tokyo", "DAY Asia/Tokyo"), finer("DAY Asia/Tokyo", "HOUR"), finer("DAY", "HOUR")
    ('DAY Asia/Tokyo', 'HOUR Asia/Tokyo', 'HOUR')
    """
    if one == other:
        return one
    return " ".join(["HOUR", *sorted({*one.split()[1:], *other.split()[1:]})])


def lists(known: str, step: str) -> bool:
    """Whether what is listed by a step has the beginnings of another.

    >>> lists("HOUR", "DAY"), lists("DAY", "HOUR"), lists("DAY Asia/Tokyo", "DAY")
    (True, False, False)
    """
    hourly = known.startswith("HOUR") and set(step.split()[1:]) <= set(known.split()[1:])
    return known == step or hourly
