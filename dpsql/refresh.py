"""How long a release over a table whose rows change stands: periods of a length, one after the other.

A release is of the period in which it was asked for, and is given again within it. So it is never older than a period,
and a period costs at most one purchase of it, however often it is asked.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Refresh:
    """Periods of a ``length``, that begin so long ``after`` those of the calendar, by the clocks of a zone.

    Where clocks are put back, a day begins once, when they show its begin first; an hour that they show twice is two
    periods, and so are all lengths that divide it. Where they skip the begin of a period, it begins with the skip.

    >>> nightly = Refresh(datetime.timedelta(days=1), datetime.timedelta(hours=2), "Europe/Berlin")
    >>> early, late = (datetime.datetime(2026, 11, 23, hour, 30, tzinfo=datetime.UTC) for hour in (0, 1))
    >>> int(nightly.name(late)) - int(nightly.name(early)), str(nightly.begin(late))
    (1, '2026-11-23 01:00:00+00:00')
    >>> print(nightly)
    1 day at 02:00
    """

    length: datetime.timedelta
    after: datetime.timedelta = datetime.timedelta()
    zone: str = "UTC"

    @classmethod
    def parsed(cls, text: str) -> Refresh | None:
        """A number of minutes, hours, days or weeks, and when days begin; None for any other text.

        >>> print(Refresh.parsed("1 day at 02:00"), Refresh.parsed("30 minutes"), Refresh.parsed("1 hour at 02:00"))
        1 day at 02:00 30 minutes None
        """
        found = _LENGTH.fullmatch(text.strip().lower())
        seconds = 0 if found is None else int(found[1]) * LENGTHS[found[2]]
        if found is None or not seconds or (found[3] and seconds % LENGTHS["day"]):
            return None
        after = datetime.timedelta(hours=int(found[3] or 0), minutes=int(found[4] or 0))
        return cls(datetime.timedelta(seconds=seconds), after)

    def name(self, instant: datetime.datetime) -> str:
        """Which period an instant is in: no two have one name."""
        number, again, _ = self._period(instant)
        return f"{number} again" if again else str(number)

    def begin(self, instant: datetime.datetime) -> datetime.datetime:
        """When the period around an instant began, in UTC: never after it, and never earlier for a later instant."""
        return self._period(instant)[2]

    def end(self, instant: datetime.datetime) -> datetime.datetime:
        """When the next one begins, in UTC."""
        return min(begin for _, _, begin in self._around(instant) if begin > instant)

    @lru_cache(4096)  # noqa: B019  a refresh is a few fields of a policy, and lives as long
    def _period(self, instant: datetime.datetime) -> tuple[int, bool, datetime.datetime]:
        """The latest that has begun: its number, whether clocks show it for the second time, and when it began."""
        return max((one for one in self._around(instant) if one[2] <= instant), key=lambda one: one[2])

    def _around(self, instant: datetime.datetime) -> Iterator[tuple[int, bool, datetime.datetime]]:
        """The periods that begin not long before and after an instant, and those that are around it."""
        zone, near = ZoneInfo(self.zone), [instant + _MOST_MOVED * side for side in (-1, 0, 1)]
        local = [one.astimezone(zone).replace(tzinfo=None) for one in near]
        first, here, last = ((one - self.after - datetime.datetime.min) // self.length for one in local)
        even = local[2] - local[0] == 2 * _MOST_MOVED
        for number in (here, here + 1) if even else range(first, last + 2):
            began = datetime.datetime.min + self.after + number * self.length
            yield number, False, _first_shown(began, zone)
            again = [began.replace(tzinfo=zone, fold=fold).astimezone(datetime.UTC) for fold in (0, 1)]
            if again[0] < again[1] and not (again[1] - again[0]) % self.length:
                yield number, True, again[1]

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


_MOST_MOVED = datetime.timedelta(hours=3)
"""By how much clocks are put on or back at once: two hours, in Antarctica."""


def _first_shown(local: datetime.datetime, zone: ZoneInfo) -> datetime.datetime:
    """The first instant at which clocks show so much or more.

    >>> str(_first_shown(datetime.datetime(2026, 3, 29, 2, 30), ZoneInfo("Europe/Berlin")))
    '2026-03-29 01:00:00+00:00'
    """
    found, other = (local.replace(tzinfo=zone, fold=fold).astimezone(datetime.UTC) for fold in (0, 1))
    if other >= found:
        return found
    # Clocks never show it. They are put on at a whole second between the two.
    low, high = int(other.timestamp()), int(found.timestamp()) + 1
    while high - low > 1:
        middle = (low + high) // 2
        there = datetime.datetime.fromtimestamp(middle, zone).replace(tzinfo=None)
        low, high = (low, middle) if there >= local else (middle, high)
    return datetime.datetime.fromtimestamp(high, datetime.UTC)


LENGTHS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60}
"""The units of a length, in seconds, the longest first."""
_LENGTH = re.compile(r"([0-9]{1,5})\s*(minute|hour|day|week)s?(?:\s+at\s+([01][0-9]|2[0-3]):([0-5][0-9]))?")
