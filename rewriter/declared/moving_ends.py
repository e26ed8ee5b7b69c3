"""Ranges whose end follows the clock, ``range: [2024-01-01, now]``, and the grain of literal instants.

Guarantee: what is declared at an instant follows from the policy and that instant alone. It stays the same for a whole
grain of the column, or for a day where it has none, so that a statement that is asked again has the same plan.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction

from rewriter.declared.time_zones import UTC, instant, local
from rewriter.declared.types import Kind, Scalar, Type

_MICROSECONDS = 86_400_000_000
_LEAST = datetime.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Grain:
    """Steps of so many ``seconds``, that begin with the days of a zone; a divisor or a multiple of a day.

    >>> hour, noon = Grain(3600), datetime.datetime(2026, 11, 23, 12, 1)
    >>> str(hour.before(noon, zoned=False)), str(hour.after(noon, zoned=False))
    ('2026-11-23 12:00:00', '2026-11-23 13:00:00')
    """

    seconds: int
    zone: str = UTC

    @property
    def _step(self) -> datetime.timedelta:
        return datetime.timedelta(seconds=self.seconds)

    def before(self, moment: datetime.datetime, *, zoned: bool) -> datetime.datetime | None:
        """The last step's beginning that is not after a moment: an instant of UTC where it is ``zoned``, else what
        clocks show. None outside of the calendar.
        """
        if zoned:
            here = local(moment, self.zone)
            found = None if here is None else instant(self._begin(here), self.zone)
            # Where clocks are put back, a time that is shown twice may begin later than it is shown first.
            return None if found is None else min(found, moment)
        return self._begin(moment)

    def after(self, moment: datetime.datetime, *, zoned: bool) -> datetime.datetime | None:
        """The first step's beginning that is not before a moment."""
        begun = self.before(moment, zoned=zoned)
        return begun if begun is None or begun == moment else self.next(moment, zoned=zoned)

    def next(self, moment: datetime.datetime, *, zoned: bool) -> datetime.datetime | None:
        """The first step's beginning that is after a moment."""
        here = local(moment, self.zone) if zoned else moment
        try:
            there = None if here is None else self._begin(here) + self._step
        except OverflowError:
            return None
        if there is None or not zoned:
            return there
        found = instant(there, self.zone)
        return None if found is None else max(found, moment)

    def _begin(self, moment: datetime.datetime) -> datetime.datetime:
        return moment - (moment - datetime.datetime.min) % self._step


def end_at(type_: Type, low: Scalar, ahead: Fraction, grain: Grain, present: datetime.datetime) -> Scalar:
    """The last value of a range whose end is ``ahead`` days after the present, at an instant (in UTC).

    Of dates it is the day that it is by the clocks of the grain's zone; of times, the last moment of the present step
    of the grain, so that no part of it lies outside. It is never before the low end.

    >>> from rewriter.declared.types import DATE, TIMESTAMP
    >>> late, first = datetime.datetime(2026, 11, 23, 23, 30), datetime.datetime(2024, 1, 1)
    >>> str(end_at(DATE, first.date(), Fraction(0), Grain(86_400, "Asia/Tokyo"), late))
    '2026-11-24'
    >>> str(end_at(TIMESTAMP, first, Fraction(1), Grain(3_600), late))
    '2026-11-24 23:59:59.999999'
    """
    zoned = type_.kind is Kind.TIMESTAMPTZ
    try:
        here = (present if zoned else local(present, grain.zone)) or datetime.datetime.max
        there = here + datetime.timedelta(microseconds=int(ahead * _MICROSECONDS))
    except OverflowError:
        there = datetime.datetime.max
    if type_.kind is Kind.DATE:
        return max(low, there.date())
    following = grain.next(there, zoned=zoned)
    return max(low, datetime.datetime.max if following is None else following - _LEAST)
