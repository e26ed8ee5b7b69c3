"""By what step times have to be listed so that every value that is computed of them is there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

_DAY = 86_400_000_000


@dataclass(frozen=True)
class Period:
    """A length of time that is listed; ``value`` is how many a day has, a divisor of its microseconds.

    >>> Period.within(900_000_000), Period.within(7 * 86_400_000_000, 3_600_000_000) == Period.HOUR
    (Period(value=96), True)
    """

    value: int
    DAY: ClassVar[Period]
    HOUR: ClassVar[Period]
    MINUTE: ClassVar[Period]
    SECOND: ClassVar[Period]

    @property
    def microseconds(self) -> int:
        return _DAY // self.value

    @classmethod
    def within(cls, *microseconds: int) -> Period:
        """The longest period of which so many microseconds after midnight are all multiples."""
        return cls(_DAY // math.gcd(_DAY, *microseconds))

    @property
    def is_local(self) -> bool:
        """Whether it is listed by the clocks of a zone, too."""
        return self.value in (1, 24)


Period.DAY, Period.HOUR, Period.MINUTE, Period.SECOND = map(Period, (1, 24, 1440, 86_400))


@dataclass(frozen=True, slots=True)
class TimeStep:
    """One time of every ``period``, as they begin by the clocks of ``zones``; by UTC where there is none.

    >>> TimeStep(Period.DAY).by("Asia/Tokyo")
    TimeStep(period=Period(value=1), zones=frozenset({'Asia/Tokyo'}))
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
        """A step that lists the periods of both; None where none does: only days and hours are listed by local clocks.

        >>> day, hour, minute = map(TimeStep, (Period.DAY, Period.HOUR, Period.MINUTE))
        >>> day.beside(hour) == hour, minute.by("Asia/Tokyo").beside(None), minute.beside(hour.by("Asia/Tokyo"))
        (True, None, None)
        """
        both = (self,) if known is None else (self, known)
        if any(step.zones for step in both) and not all(step.period.is_local for step in both):
            return None
        if known is None or known == self:
            return self
        if not (self.zones or known.zones):
            return TimeStep(Period(math.lcm(self.period.value, known.period.value)))
        hourly = known.period == Period.HOUR and self.zones <= known.zones
        return known if hourly else TimeStep(Period.HOUR, self.zones | known.zones)
