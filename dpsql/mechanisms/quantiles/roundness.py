"""A public measure on a lattice under which round values weigh more, since that is where people's values often lie.

Rents come in hundreds and wages in thousands, though their columns have cents. Where 99 of 100 values of the lattice
are nobody's, an exponential mechanism over equal candidates prefers the empty ones between two rents to the rent
itself. So each value weighs the sum of the units that it is a multiple of: 1, 10, 100, … or a second, a minute, an
hour, a day. Each unit has as much weight in all as any other, and which values are whose is not looked at: a fixed base
measure changes neither the range of the mechanism nor its loss (McSherry, Talwar 2007 §3 have it as μ).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

_OF_A_DAY = (60, 3600, 86_400)


@dataclass(frozen=True, slots=True)
class Roundness:
    """``units`` are counted in steps of the lattice; the first is 1, each divides the next.

    >>> cents = Roundness.of(Fraction(1, 100), 1_000_000)
    >>> cents.units
    (1, 10, 100, 1000, 10000, 100000, 1000000)
    >>> cents.mass(149_901, 99), cents.mass(150_000, 1)
    (189, 11111)
    """

    units: tuple[int, ...]

    @classmethod
    @functools.lru_cache(maxsize=256)
    def of(cls, granularity: Fraction, size: int) -> Roundness:
        """That of a lattice of so many steps; of seconds, where it is one of times."""
        if granularity == Fraction(1, 86_400):
            return cls((1, *(unit for unit in _OF_A_DAY if unit <= size)))
        return cls((1, *_tens(granularity, size)))

    def mass(self, first: int, count: int) -> int:
        """The total weight of ``count`` values from ``first`` on."""
        return sum(unit * self._multiples(unit, first, count) for unit in self.units)

    def at(self, first: int, count: int, place: int) -> int:
        """The value that has the place among them: as many places as it weighs."""
        for unit in self.units:
            weight = unit * self._multiples(unit, first, count)
            if place < weight:
                return (-(-first // unit) + place // unit) * unit
            place -= weight
        raise ValueError("there is no such place")

    @staticmethod
    def _multiples(unit: int, first: int, count: int) -> int:
        return (first + count - 1) // unit - (first - 1) // unit


PLAIN = Roundness((1,))
"""Under which all values weigh the same."""


def _tens(granularity: Fraction, size: int) -> Iterator[int]:
    ten = Fraction(1, 10**18)
    while ten <= granularity * size:
        steps = ten / granularity
        if steps.denominator == 1 and 1 < steps <= size:
            yield steps.numerator
        ten *= 10
