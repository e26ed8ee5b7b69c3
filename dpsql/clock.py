"""The proxy's clock: what ``now()`` means. It moves in ticks, so that what is refreshed stays the same statement."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo


def _utc() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that stands still for a ``tick``; ticks begin where a day begins in its zone."""

    tick: datetime.timedelta = datetime.timedelta(minutes=1)
    zone: str = "UTC"
    read: Callable[[], datetime.datetime] = field(default=_utc, repr=False)

    def now(self) -> datetime.datetime:
        """The beginning of the present tick, in UTC.

        >>> late = datetime.datetime(2026, 11, 22, 23, 59, 59, tzinfo=datetime.UTC)
        >>> days = Clock(datetime.timedelta(days=1), "Asia/Tokyo", lambda: late)
        >>> str(days.now()), str(Clock(read=lambda: late).now())
        ('2026-11-22 15:00:00+00:00', '2026-11-22 23:59:00+00:00')
        """
        return self.tick_of(self.read())

    def tick_of(self, moment: datetime.datetime) -> datetime.datetime:
        """The beginning of the tick that a moment is in, in UTC."""
        there = moment.astimezone(ZoneInfo(self.zone))
        local = there.replace(tzinfo=None)
        began = local - (local - datetime.datetime.min) % self.tick
        return began.replace(tzinfo=there.tzinfo, fold=there.fold).astimezone(datetime.UTC)
