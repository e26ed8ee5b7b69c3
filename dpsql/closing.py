"""When the rows of a period no longer change: by the clock and the owner's word alone, never by the data."""

from __future__ import annotations

import datetime
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
        place = ZoneInfo(zone or self.zone)
        try:
            # Where clocks are put back, the later of two instants: rows may come until then.
            ended = max(end.replace(tzinfo=place, fold=fold).astimezone(datetime.UTC) for fold in (0, 1))
            return ended + self.after <= (now if self.refresh is None else self.refresh.begin(now))
        except OverflowError:
            return False

    def __str__(self) -> str:
        hours, rest = divmod(self.after, datetime.timedelta(hours=1))
        if rest:
            return str(self.after)
        many, unit = (hours, "hour") if hours % 24 else (hours // 24, "day")
        return f"{many} {unit}{'' if many == 1 else 's'}"
