"""When the rows of a period no longer change: by the clock and the owner's word alone, never by the data."""

from __future__ import annotations

import datetime
import functools
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from dpsql.refresh import Refresh


@dataclass(frozen=True, slots=True)
class Closing:
    """Periods close so long ``after`` their end, by the clocks of a zone, and with the next refresh, if there is one.

    Until then the release that was bought while the period was open stands, and is not bought a second time.

    >>> closing = Closing(datetime.timedelta(days=2), "Europe/Berlin")
    >>> end, late = datetime.datetime(2026, 11, 21), datetime.datetime(2026, 11, 22, 23, tzinfo=datetime.UTC)
    >>> closing.is_closed(end, late - datetime.timedelta(minutes=1)), closing.is_closed(end, late), str(closing)
    (False, True, '2 days')
    >>> nightly = Closing(closing.after, closing.zone, Refresh(datetime.timedelta(days=1), datetime.timedelta(hours=2)))
    >>> nightly.is_closed(end, late), nightly.is_closed(end, late + datetime.timedelta(hours=3))
    (False, True)
    """

    after: datetime.timedelta
    zone: str = "UTC"
    refresh: Refresh | None = None
    """When releases of the table are bought anew; None where they are not."""

    def is_closed(self, end: datetime.datetime, now: datetime.datetime, zone: str | None = None) -> bool:
        """Whether a period that ended at a local time is closed; ``zone`` is where, if not here."""
        ended = _ended(end, zone or self.zone)
        try:
            until = now if self.refresh is None else self.refresh.begin(now)
            return ended is not None and ended + self.after <= until
        except OverflowError:
            return False

    def __str__(self) -> str:
        hours, rest = divmod(self.after, datetime.timedelta(hours=1))
        if rest:
            return str(self.after)
        many, unit = (hours, "hour") if hours % 24 else (hours // 24, "day")
        return f"{many} {unit}{'' if many == 1 else 's'}"


@functools.lru_cache(4096)
def _ended(end: datetime.datetime, zone: str) -> datetime.datetime | None:
    """The instant at which a period ended at a local time; None where it is beyond all dates. Where clocks are put
    back, the later of two instants: rows may come until then."""
    place = ZoneInfo(zone)
    try:
        return max(end.replace(tzinfo=place, fold=fold).astimezone(datetime.UTC) for fold in (0, 1))
    except OverflowError:
        return None
