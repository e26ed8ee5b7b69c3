"""Units of the calendar: the hours, days, weeks, months, quarters and years of a zone, one after the other without a
gap."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from zoneinfo import ZoneInfo

_Local = datetime.datetime


def _midnight(local: _Local) -> _Local:
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


def _month(local: _Local, first: int) -> _Local:
    return _midnight(local).replace(month=first, day=1)


_BEGINS: Mapping[str, Callable[[_Local], _Local]] = MappingProxyType(
    {
        "hour": lambda local: local.replace(minute=0, second=0, microsecond=0),
        "day": _midnight,
        "week": lambda local: _midnight(local) - datetime.timedelta(days=local.weekday()),
        "month": lambda local: _month(local, local.month),
        "quarter": lambda local: _month(local, (local.month - 1) // 3 * 3 + 1),
        "year": lambda local: _month(local, 1),
    }
)
_LONGEST = {"hour": 1 / 24, "day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
"""In days: from the beginning of a period, so much later is the next one."""

UNITS = tuple(_BEGINS)


@dataclass(frozen=True, slots=True)
class CalendarUnit:
    """The periods of one length in one zone, such as months: every instant is in exactly one. Weeks begin on Mondays.

    >>> month = CalendarUnit("month", "Europe/Berlin")
    >>> late = datetime.datetime(2026, 11, 30, 23, 30, tzinfo=datetime.UTC)
    >>> str(month.begin(late)), str(month.end(late))
    ('2026-11-30 23:00:00+00:00', '2026-12-31 23:00:00+00:00')
    """

    unit: str
    zone: str = "UTC"

    def begin(self, instant: datetime.datetime) -> datetime.datetime:
        """When the period around an instant began, in UTC: never after it, and never earlier for a later instant."""
        zone = ZoneInfo(self.zone)
        try:
            local = instant.astimezone(zone).replace(tzinfo=None, fold=0)
            return _BEGINS[self.unit](local).replace(tzinfo=zone).astimezone(datetime.UTC)
        except OverflowError:  # at the ends of the calendar there is one period
            return datetime.datetime.min.replace(tzinfo=datetime.UTC)

    def end(self, instant: datetime.datetime) -> datetime.datetime:
        """When the next one begins, in UTC."""
        zone = ZoneInfo(self.zone)
        try:
            local = _BEGINS[self.unit](instant.astimezone(zone).replace(tzinfo=None, fold=0))
            after = _BEGINS[self.unit](local + datetime.timedelta(days=_LONGEST[self.unit]))
            return after.replace(tzinfo=zone).astimezone(datetime.UTC)
        except OverflowError:
            return datetime.datetime.max.replace(tzinfo=datetime.UTC)

    def shown(self, instant: datetime.datetime) -> str:
        """An instant by the clocks of the zone.

        >>> CalendarUnit("month", "Europe/Berlin").shown(datetime.datetime(2026, 11, 30, 23, tzinfo=datetime.UTC))
        '2026-12-01 00:00 Europe/Berlin'
        """
        try:
            return f"{instant.astimezone(ZoneInfo(self.zone)):%Y-%m-%d %H:%M} {self.zone}"
        except OverflowError:
            return "no day that a calendar has"

    def __str__(self) -> str:
        return self.unit
