"""How long a release over a table whose rows change stands: periods of a length, one after the other.

A release is of the period in which it was asked for, and is given again within it. So it is never older than a period,
and a period costs at most one purchase of it, however often it is asked.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Refresh:
    """Periods of a ``length``, that begin so long ``after`` those of the calendar, by the clocks of a zone.

    Where clocks are put back by an hour, a period that is shorter comes twice: what was asked in it first stands.

    >>> nightly = Refresh(datetime.timedelta(days=1), datetime.timedelta(hours=2), "Europe/Berlin")
    >>> early, late = (datetime.datetime(2026, 11, 23, hour, 30, tzinfo=datetime.UTC) for hour in (0, 1))
    >>> nightly.number(late) - nightly.number(early), str(nightly.begin(late))
    (1, '2026-11-23 01:00:00+00:00')
    >>> print(nightly)
    1 day at 02:00
    """

    length: datetime.timedelta
    after: datetime.timedelta = datetime.timedelta()
    zone: str = "UTC"

    def number(self, instant: datetime.datetime) -> int:
        """Which period an instant is in."""
        local = instant.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)
        return (local - self.after - datetime.datetime.min) // self.length

    def begin(self, instant: datetime.datetime) -> datetime.datetime:
        """When the period around an instant began, in UTC."""
        return self._begin(self.number(instant))

    def end(self, instant: datetime.datetime) -> datetime.datetime:
        """When the next one begins, in UTC."""
        return self._begin(self.number(instant) + 1)

    def _begin(self, number: int) -> datetime.datetime:
        local = datetime.datetime.min + self.after + number * self.length
        return local.replace(tzinfo=ZoneInfo(self.zone)).astimezone(datetime.UTC)

    def shown(self, instant: datetime.datetime) -> str:
        """An instant by the clocks of the zone."""
        return f"{instant.astimezone(ZoneInfo(self.zone)):%Y-%m-%d %H:%M} {self.zone}"

    def __str__(self) -> str:
        seconds = int(self.length.total_seconds())
        unit, one = next((unit, one) for unit, one in LENGTHS.items() if seconds % one == 0)
        many = seconds // one
        return f"{many} {unit}{'' if many == 1 else 's'}" + (f" at {self._at}" if self.after else "")

    @property
    def _at(self) -> str:
        return f"{datetime.datetime.min + self.after:%H:%M}"


LENGTHS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60}
"""The units of a length, in seconds, the longest first."""
