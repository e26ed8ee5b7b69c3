"""Several values of the same rows, measured as one vector: a pair for one value, a difference for each of the others.

K pairs hold the number of rows K times. Once is enough: the pair of one value holds it, and every other value needs
only the difference s = Σ(2t-1), with t = (x-L) / (U-L). Of n rows, Σt is (n + s) / 2 and Σ(1-t) is (n - s) / 2. A row
moves s by 1 at most, as it moves a pair. But half of s has a quarter of the variance of s, so a mean in the middle of
its range has half the variance that a pair of the same size gives. No mean has more, as long as the variance of the
number of rows is at most three times that of s. A value that may be missing has one more cell, for its m rows without a
value: a row is in that cell or in s, and n - m takes the place of n.

*Sizes.* Let a row add at most P to the pair and v to a difference. The total variance of the outputs is A/P² + Σ C/v²,
times (P + Σv)² under L1 and P² + Σv² under L2. So the best P and v are as the third roots of A and C under L1, and as
their fourth roots under L2.

*Never worse.* One vector is measured only where no output is farther off than with separate pairs at their best shares
of the price, wherever in its range a mean lies. The vector takes the shares of these pairs together: other measurements
lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

from rewriter.declared import Norm
from rewriter.measure.pair_cells import Nulls, Rows, Shared, Wanted, fits
from rewriter.measure.row_weights import MIDDLE, ROWS, VALUES, WEIGHTS, Reading, Weights
from rewriter.measure.vectors import Builder
from rewriter.strategies import WORTH, weight

_EVEN = 1 / 64
"""How near whole factors are to the sizes that are best: what is off by this costs a thousandth."""

_LARGEST = 24
"""The largest weight of the rows, or of the difference."""

_LARGER = (1.0, 1.04, 1.08, 1.12, 0.92)
_AS_FAR = 1.01
"""A variance that is larger by a hundredth counts as the same."""


def shared(wanted: Mapping[Rows, Wanted], builder: Builder, norm: Norm) -> Shared | None:
    """The largest of the sets of pairs over the same rows that is better as one vector, in its best form."""
    for places in _sets(wanted):
        base = max(places, key=lambda place: (wanted[place].knows_all, wanted[place].variance))
        others = tuple(place for place in places if place != base)
        pairs = tuple(wanted[place] for place in (base, *others))
        trials = [_Trial(pairs, nulls, weights, norm) for nulls, weights in _forms(pairs, norm)]
        found = [
            (trial.variance(factors), Shared(base, trial.nulls, trial.weights, others, factors, trial.weight))
            for trial in trials
            for factors in trial.candidates()
            if trial.is_better(factors) and fits(trial.reach(factors), builder)
        ]
        if found:
            return min(found, key=lambda one: one[0])[1]
    return None


def _forms(pairs: Sequence[Wanted], norm: Norm) -> Iterator[tuple[Nulls, Weights | None]]:
    """The ways to count rows without a value by which the pair of the first and the cell beside it hold every row; and
    in a workload, the weights that are best for all under L2."""
    base = pairs[0]
    nulls = Nulls.CELL if base.nullable else base.nulls
    yield nulls, None
    if norm is Norm.L2 and base.nullable:
        yield nulls, WEIGHTS
    if norm is Norm.L2 and base.asked_by and not base.nullable:
        rows = sum(
            times * one.rows**2 for pair in pairs for one, times in zip(pair.readings, pair.asked_by, strict=True)
        )
        own = sum(times * one.rest(nullable=False) for one, times in zip(base.readings, base.asked_by, strict=True))
        proportion = (rows / own) ** (1 / 4) if own else float(_LARGEST)
        large = _LARGEST / max(proportion, 1.0)
        yield nulls, Weights(max(1, round(proportion * large)), max(1, round(large)))


def _sets(wanted: Mapping[Rows, Wanted]) -> Iterator[list[Rows]]:
    """Sets of values to measure together: all; without sums that need no pair; without values that may be missing."""
    tried: list[list[Rows]] = []
    for offered in (True, False):
        for nullable in (True, False):
            places = [
                place
                for place, one in wanted.items()
                if (offered or not one.offered) and (nullable or not one.nullable)
            ]
            if len(places) > 1 and places not in tried:
                tried.append(places)
                yield places


@dataclass(frozen=True, slots=True)
class _Trial:
    """Pairs of the same rows, against the pair of the first, with ``nulls`` and ``weights``, and differences of the
    others."""

    pairs: tuple[Wanted, ...]
    nulls: Nulls
    weights: Weights | None
    norm: Norm

    @property
    def base(self) -> Wanted:
        return replace(self.pairs[0], nulls=self.nulls, weights=self.weights)

    @property
    def others(self) -> tuple[Wanted, ...]:
        return self.pairs[1:]

    @property
    def _shares(self) -> list[Fraction]:
        """The shares of a price that pairs apart have."""
        return [weight(one.variance, self.norm) for one in self.pairs]

    @property
    def weight(self) -> Fraction:
        return sum(self._shares, Fraction(0))

    @property
    def _units(self) -> list[float]:
        """The most that a row adds to each, by a factor of 1."""
        l1, squared = self.base.row
        return [float(l1) if self.norm is Norm.L1 else sqrt(squared), *(float(one.steps[2]) for one in self.others)]

    def reach(self, factors: Sequence[int]) -> int:
        """The most steps that a row adds, whatever the norm."""
        widths = [self.base.row[0], *(one.steps[2] for one in self.others)]
        return sum(width * factor for width, factor in zip(widths, factors, strict=True))

    def candidates(self) -> Iterator[tuple[int, ...]]:
        """Factors for the sizes of least total variance, for pairs that are somewhat larger, and for those of apart."""
        read = sum(reading.in_pair(self.weights) for reading in self.base.readings)
        read += sum(self._rows * reading.rows**2 for one in self.others for reading in one.readings)
        own = [sum(reading.rest(nullable=one.nullable) for reading in one.readings) for one in self.others]
        first, *others = self._sizes([read, *own])
        for larger in _LARGER:
            yield self._whole([larger * first, *others])
        yield self._whole(self._sizes([one.variance for one in self.pairs]))

    def _sizes(self, variances: Sequence[float]) -> list[float]:
        return [float(one ** (1 / (3 if self.norm is Norm.L1 else 4))) for one in variances]

    def _whole(self, sizes: Sequence[float]) -> tuple[int, ...]:
        """Whole numbers that bring the units nearly to the proportions of ``sizes``."""
        exact = [size / unit for size, unit in zip(sizes, self._units, strict=True)]
        exact = [one / min(exact) for one in exact]
        while any(abs(round(one) - one) > _EVEN * one for one in exact):
            exact = [2 * one for one in exact]
        return tuple(map(round, exact))

    def is_better(self, factors: Sequence[int]) -> bool:
        """Whether no output is farther off than apart, and all together are nearer."""
        apart = list(self._apart())
        joint = list(self._joint(factors))
        never_worse = all(now <= _AS_FAR * before for now, before in zip(joint, apart, strict=True))
        return never_worse and sum(joint) < WORTH * sum(apart)

    def variance(self, factors: Sequence[int]) -> float:
        return sum(self._joint(factors))

    def _apart(self) -> Iterator[float]:
        """The variance of every reading with a pair of each."""
        power = 2 if self.norm is Norm.L1 else 1
        for one, share in zip(self.pairs, self._shares, strict=True):
            for reading in _ends_and_middle(one):
                yield (1.0 if one.offered else reading.in_pair(None)) * float(self.weight / share) ** power

    def _joint(self, factors: Sequence[int]) -> Iterator[float]:
        """The variance of every reading in one vector."""
        first, *sizes = (unit * factor for unit, factor in zip(self._units, factors, strict=True))
        norm = (first + sum(sizes)) ** 2 if self.norm is Norm.L1 else first**2 + sum(size * size for size in sizes)
        for reading in _ends_and_middle(self.base):
            yield norm * reading.in_pair(self.weights) / first**2
        for one, size in zip(self.others, sizes, strict=True):
            for reading in _ends_and_middle(one):
                own = reading.rest(nullable=one.nullable) / size**2
                yield norm * (self._rows * reading.rows**2 / first**2 + own)

    @property
    def _rows(self) -> float:
        """The variance of the number of rows, read off the base."""
        return (ROWS if self.nulls is Nulls.CELL else VALUES).in_pair(self.weights)


def _ends_and_middle(one: Wanted) -> list[Reading]:
    """Its readings. Between an end of the range and the middle, the variance of a mean is between theirs."""
    return [*one.readings, *([MIDDLE] if one.aggregate.kind.averages else [])]
