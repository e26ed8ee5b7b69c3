"""By what step times have to be listed so that every value that is computed of them is there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Period(Enum):
    """The lengths of time that are listed, from the longest to the shortest; the value is how many a day has."""

    DAY = 1
    HOUR = 24
    MINUTE = 1440
    SECOND = 86_400

    @property
    def microseconds(self) -> int:
        return 86_400_000_000 // self.value


@dataclass(frozen=True, slots=True)
class TimeStep:
    """One time of every ``period``, as they begin by the clocks of ``zones``; by UTC where there is none.

    >>> TimeStep(Period.DAY).by("Asia/Tokyo")
    TimeStep(period=<Period.DAY: 1>, zones=frozenset({'Asia/Tokyo'}))
    """

    period: Period
    zones: frozenset[str] = frozenset()

    @property
    def zone(self) -> str | None:
        """The only zone; None where there are none, or several."""
        return next(iter(self.zones)) if len(self.zones) == 1 else None

    def by(self, zone: str) -> TimeStep:
        """Periods of the same length, by the clocks of one zone."""
        return TimeStep(self.period, frozenset({zone}))

    def beside(self, known: TimeStep | None) -> TimeStep | None:
        """A step that lists the periods of both; None where none does: minutes and seconds are listed by UTC alone.

        >>> day, hour, minute = map(TimeStep, (Period.DAY, Period.HOUR, Period.MINUTE))
        >>> day.beside(hour) == hour, minute.by("Asia/Tokyo").beside(None), minute.beside(hour.by("Asia/Tokyo"))
        (True, None, None)
        """
        both = (self,) if known is None else (self, known)
        if any(step.zones for step in both) and any(step.period in (Period.MINUTE, Period.SECOND) for step in both):
            return None
        if known is None or known == self:
            return self
        if not (self.zones or known.zones):
            return max(self, known, key=lambda step: step.period.value)
        hourly = known.period is Period.HOUR and self.zones <= known.zones
        return known if hourly else TimeStep(Period.HOUR, self.zones | known.zones)
