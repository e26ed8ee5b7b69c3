"""Interval arithmetic on exact rationals: how the range of an expression follows from declared ranges.

An interval says where values *should* lie. It sets clipping bounds and key sets; it is never
trusted to prevent an error or to bound a sensitivity, because rows may break what was declared.
Dates and timestamps are measured in days: ``date.toordinal()`` plus the fraction of the day.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from rewriter.declared.types import Scalar


def measure(value: Scalar) -> Fraction:
    """A literal as an exact number; dates and timestamps in days, a time of day as its part of one.

    >>> measure(datetime.datetime(1, 1, 1, 12))
    Fraction(3, 2)
    """
    if isinstance(value, datetime.datetime):
        return value.toordinal() + measure(value.time())
    if isinstance(value, datetime.time):
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        return Fraction(micros, 86_400_000_000)
    if isinstance(value, datetime.date):
        return Fraction(value.toordinal())
    if isinstance(value, bool | int | float | Decimal):
        return Fraction(value)
    raise TypeError(f"{value!r} is not on a number line")


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed, finite interval [low, high].

    >>> Interval.of(-2, 3) * Interval.of(1, 4)
    Interval(low=Fraction(-8, 1), high=Fraction(12, 1))
    >>> Interval.of(0, 1) - Interval.of(0, 1)
    Interval(low=Fraction(-1, 1), high=Fraction(1, 1))
    """

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"empty interval: {self.low} > {self.high}")

    @classmethod
    def of(cls, low: Scalar, high: Scalar) -> Interval:
        return cls(measure(low), measure(high))

    @property
    def width(self) -> Fraction:
        return self.high - self.low

    @property
    def magnitude(self) -> Fraction:
        """The greatest absolute value."""
        return max(abs(self.low), abs(self.high))

    def __contains__(self, value: Scalar | Fraction) -> bool:
        number = value if isinstance(value, Fraction) else measure(value)
        return self.low <= number <= self.high

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        return self._corners(other, lambda a, b: a * b)

    def divide(self, other: Interval) -> Interval | None:
        """The quotient, or None where the divisor can be zero."""
        if Fraction(0) in other:
            return None
        return self._corners(other, lambda a, b: a / b)

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def monotone(self, function: Callable[[Fraction], Fraction]) -> Interval:
        """The image under a non-decreasing function."""
        return Interval(function(self.low), function(self.high))

    def outward(self, step: Fraction) -> Interval:
        """The smallest interval around this one whose ends are multiples of ``step``.

        >>> Interval.of(Decimal("0.3"), Decimal("1.2")).outward(Fraction(1, 2))
        Interval(low=Fraction(0, 1), high=Fraction(3, 2))
        """
        return Interval(math.floor(self.low / step) * step, math.ceil(self.high / step) * step)

    def _corners(self, other: Interval, operation: Callable[[Fraction, Fraction], Fraction]) -> Interval:
        corners = [operation(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners), max(corners))
