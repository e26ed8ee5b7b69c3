"""The local days and hours of a declared range of instants, listed as the instants at which they begin."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from rewriter.declared import TIMESTAMP, Scalar, grid, local
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.nodes import text
from rewriter.dialects.time_step import Period, TimeStep

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


def zoned_days(bounds: tuple[Scalar, Scalar], step: TimeStep) -> ZonedDays | None:
    """The periods of a range; None where there are none by the clocks of a zone.

    >>> ends = datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2, 23)
    >>> zoned_days(ends, TimeStep(Period.DAY).by("Asia/Tokyo")).size
    3
    """
    low, high = bounds
    if not isinstance(low, datetime.datetime) or not isinstance(high, datetime.datetime):
        return None
    if step.period == Period.DAY and step.zone is not None:
        first, last = local(low, step.zone), local(high, step.zone)
        if first is None or last is None:
            return None
        return ZonedDays(first.replace(hour=0, minute=0, second=0, microsecond=0), last, _DAY, step.zone)
    return _hours(low, high, step.zones)


def _hours(low: datetime.datetime, high: datetime.datetime, zones: Iterable[str]) -> ZonedDays | None:
    widths = [grid(low, high, zone) for zone in zones]
    if None in widths:
        return None
    width = datetime.timedelta(seconds=min(found for found in widths if found is not None))
    since = (low - datetime.datetime.min) % width
    return ZonedDays(low - since, high, width)
