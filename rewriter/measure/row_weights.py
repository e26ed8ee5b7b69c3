"""How much a row adds to the number of rows, and how much to the difference that tells its value.

A pair Σt, Σ(1-t) tells the same as the number of rows n = Σ1 and the difference s = Σ(2t-1), each with the same noise
of its own. Other proportions are better where the number of rows is asked for, too. Let a row add p to n and at most v
to s, with p² + v² = 1. For noise of variance 1 in both, n has the variance 1/p², and Σt = (n + s)/2 the variance
(1/p² + 1/v²)/4. An output ``above``·Σt + ``below``·Σ(1-t) has the weight (above + below)/2 of n and (above - below)/2
of s. With A the sum of the squared weights of n over all outputs, and C that of the squared weights of s, the total
variance A/p² + C/v² is least for p² : v² = √A : √C, and then (√A + √C)². A count and a sum over a range from 0 have
A = 5/4 and C = 1/4: a total of (3 + √5)/2 = 2.618, and of 3 as a pair.

No linear strategy is better for these two. One that knows them with the information M moves by (1, t) M (1, t) for a
row of share t; that is at most 1 for t = 0 and for t = 1, and of all M for which it is, n and s with these proportions
have the least trace of M⁻¹.

Under L1 a pair costs no more than one number. Noise for n beside it would be paid for at once, and tells little of it
that the pair does not: a pair stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt

_LARGEST = 24
"""Whole weights up to this come within a hundredth of all proportions from 1/24 to 24."""
_AS_FAR = 1.05
"""A mean is at most so many times as far off as alone, wherever in its range it is."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The number of rows and a difference under L2, in the place of a pair: a row with the share t of the range adds
    ``rows`` to the first cell and ``difference``·(2t-1) to the second. Where rows without a value have a cell, such a
    row adds ``empty`` to the first and ``missing`` to the third.

    Guarantee: no row moves the cells by more than √``l2_squared`` in L2, since |2t-1| is at most 1.
    """

    rows: int
    difference: int
    empty: int = 0
    missing: int = 0

    @property
    def counts_nulls(self) -> bool:
        """Whether rows without a value have a cell."""
        return self.missing > 0

    @property
    def l1(self) -> int:
        return max(self.rows + self.difference, self.empty + self.missing)

    @property
    def l2_squared(self) -> int:
        return max(self.rows**2 + self.difference**2, self.empty**2 + self.missing**2)


WEIGHTS = Weights(rows=16, difference=15, empty=9, missing=20)
"""Those of a mean and COUNT(*) over NULLs. The mean is at most 1.05 times as far off as alone, wherever in its range it
is, and the count 1.453 times. Not much better is possible: no weights that do as much for every mean bring the count
below 1.437 times."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An output as ``above``·Σt + ``below``·Σ(1-t) + ``missing``·(rows without a value), t = (x-L) / (U-L).

    In units in which its variance is 1 where it is measured alone. A mean near the low end of its range is as far off
    as Σt is, which is the farthest; in the middle, as :data:`MIDDLE` is.
    """

    above: float
    below: float
    missing: float = 0.0

    @property
    def rows(self) -> float:
        """Its weight of the number of rows, where it is read off that, Σ(2t-1) and the rows without a value."""
        return (self.above + self.below) / 2

    def rest(self, *, nullable: bool) -> float:
        """The variance that it has of Σ(2t-1) and of the rows without a value, where each has a variance of 1."""
        return ((self.above - self.below) / 2) ** 2 + ((self.missing - self.rows) ** 2 if nullable else 0.0)

    def in_pair(self, weights: Weights | None) -> float:
        """Its variance, read off a pair alone, or off the rows and the difference that have these weights."""
        if weights is None:
            return self.above**2 + self.below**2 + self.missing**2
        one, rows = weights, self.rows / weights.rows
        difference = (self.above - self.below) / 2 / one.difference
        missing = (self.missing - rows * one.empty) / one.missing if one.counts_nulls else 0.0
        return one.l2_squared * (rows**2 + difference**2 + missing**2)


MEAN = Reading(1.0, 0.0)
MIDDLE = Reading(0.5, -0.5)
VALUES = Reading(1.0, 1.0)
"""The rows with a value."""
ROWS = Reading(1.0, 1.0, 1.0)
"""All rows, where those without a value are in a cell."""


@lru_cache(maxsize=256)
def best_weights(
    readings: tuple[Reading, ...], asked_by: tuple[int, ...], *, mean: bool, nulls: bool
) -> Weights | None:
    """The weights by which outputs are nearest together, each counted as often as it is asked for; None where a pair is
    as good. ``mean``: one of them is a mean, which is at most 1.05 times as far off as alone. ``nulls``: rows without a
    value have a cell.

    >>> total = Reading(1.0, 0.0)
    >>> found = best_weights((total, VALUES), (1, 1), mean=False, nulls=False)
    >>> found, round(sum(one.in_pair(found) for one in (total, VALUES)), 3)
    (Weights(rows=24, difference=16, empty=0, missing=0), 2.618)
    >>> best_weights((MEAN,), (1,), mean=True, nulls=False) is None
    True
    """
    limits = [(one, one.in_pair(None) * _AS_FAR**2) for one in (MEAN, MIDDLE) if mean]

    def total(weights: Weights | None) -> float:
        return sum(times * one.in_pair(weights) for one, times in zip(readings, asked_by, strict=True))

    near = (one for one in _every(nulls=nulls) if all(end.in_pair(one) <= most for end, most in limits))
    found = min(near, key=total, default=None)
    return found if found is not None and total(found) < total(None) else None


def _every(*, nulls: bool) -> Iterator[Weights]:
    """The weights that are tried. A row without a value moves its cells nearly as far as one with a value."""
    for rows in range(1, _LARGEST + 1):
        for difference in range(1, _LARGEST + 1):
            if max(rows, difference) < _LARGEST:
                continue
            for empty in range(_LARGEST) if nulls else (0,):
                missing = isqrt(max(0, rows**2 + difference**2 - empty**2)) if nulls else 0
                if missing or not nulls:
                    yield Weights(rows, difference, empty, missing)
