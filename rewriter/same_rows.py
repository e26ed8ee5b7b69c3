"""Which values of the same rows are measured as one vector: the pair of one value, and differences of the others.

K pairs hold the number of rows K times. The pair of one value holds it once, and of another value s = Σ(2t-1) is enough
then, t = (x-L) / (U-L): of n rows, Σt is (n + s) / 2 and Σ(1-t) is (n - s) / 2. A row moves s by 1 at most, as it moves
a pair; but half of s has a quarter of the variance of s, so that a mean in the middle of its range has half the
variance that a pair of the same size gives, and no mean has more where the number of rows has no more than three times
the variance of s. What may be missing has a cell of its own for its m rows without a value, of which a row is in one or
in s, and n - m in the place of n.

*Sizes.* With P and v the most that a row adds to the pair and to a difference, all that is read has the total variance
A/P² + Σ C/v², times (P + Σv)² under L1 and P² + Σv² under L2, so that the best P and v are as the third and the fourth
roots of A and C.

*Never worse.* One vector is measured only where no output is farther off than with pairs apart, at their best shares of
a price, wherever in its range a mean is. It takes the shares of the pairs together: what is beside it loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.cells import Builder
from rewriter.contribution import Norm
from rewriter.pair_cells import MIDDLE, Reading, Rows, Shared, Wanted, fits
from rewriter.strategies import WORTH, weight

_EVEN = 1 / 64
"""How near whole factors are to the sizes that are best: what is off by this costs a thousandth."""


def shared(wanted: Mapping[Rows, Wanted], builder: Builder, norm: Norm) -> Shared | None:
    """The largest of these sets of pairs over the same rows that is better as one vector, in its best sizes."""
    for places in _sets(wanted):
        base = max((place for place in places if wanted[place].knows_all), key=lambda place: wanted[place].variance)
        others = tuple(place for place in places if place != base)
        trial = _Trial(wanted[base], tuple(wanted[place] for place in others), norm)
        for sizes in (trial.best, trial.as_apart):
            factors = _whole(sizes, trial.units)
            if trial.is_better(factors) and fits(trial.reach(factors), builder):
                return Shared(base, others, factors, sum(trial.weights, Fraction(0)))
    return None


def _sets(wanted: Mapping[Rows, Wanted]) -> Iterator[list[Rows]]:
    """All of them; without sums that need no pair; without values that may be missing."""
    tried: list[list[Rows]] = []
    for offered in (True, False):
        for nullable in (True, False):
            places = [
                place
                for place, one in wanted.items()
                if (offered or not one.offered) and (nullable or not one.nullable)
            ]
            able = len(places) > 1 and any(wanted[place].knows_all for place in places)
            if able and places not in tried:
                tried.append(places)
                yield places


def _whole(sizes: Sequence[float], units: Sequence[float]) -> tuple[int, ...]:
    """By what whole numbers ``units`` are multiplied to be nearly as ``sizes``."""
    exact = [size / unit for size, unit in zip(sizes, units, strict=True)]
    exact = [one / min(exact) for one in exact]
    while any(abs(round(one) - one) > _EVEN * one for one in exact):
        exact = [2 * one for one in exact]
    return tuple(map(round, exact))


@dataclass(frozen=True, slots=True)
class _Trial:
    """A pair and differences of the same rows, against a pair of each."""

    base: Wanted
    others: tuple[Wanted, ...]
    norm: Norm

    @property
    def _all(self) -> tuple[Wanted, ...]:
        return (self.base, *self.others)

    @property
    def _power(self) -> int:
        return 3 if self.norm is Norm.L1 else 2

    @property
    def weights(self) -> list[Fraction]:
        """The shares of a price that pairs apart have."""
        return [weight(one.variance, self.norm) for one in self._all]

    @property
    def units(self) -> list[float]:
        """What a row adds to each at most, by a factor of 1."""
        first = self.base.row[0] if self.norm is Norm.L1 else self.base.row[1] ** 0.5
        return [float(first), *(float(one.steps[2]) for one in self.others)]

    def reach(self, factors: Sequence[int]) -> int:
        """The most steps that a row adds, whatever the norm."""
        widths = [self.base.row[0], *(one.steps[2] for one in self.others)]
        return sum(width * factor for width, factor in zip(widths, factors, strict=True))

    @property
    def best(self) -> list[float]:
        rows = self.base.rows.in_pair(self.base.nulls)
        read = sum(reading.in_pair(self.base.nulls) for reading in self.base.readings)
        read += sum(rows * reading.rows**2 for one in self.others for reading in one.readings)
        own = [sum(reading.rest(nullable=one.nullable) for reading in one.readings) for one in self.others]
        return self._sizes([read, *own])

    @property
    def as_apart(self) -> list[float]:
        return self._sizes([one.variance for one in self._all])

    def _sizes(self, variances: Sequence[float]) -> list[float]:
        return [float(one ** (1 / (3 if self.norm is Norm.L1 else 4))) for one in variances]

    def is_better(self, factors: Sequence[int]) -> bool:
        """Whether no output is farther off than apart, and all together are nearer."""
        sizes = [unit * factor for unit, factor in zip(self.units, factors, strict=True)]
        squared = sum(sizes) ** 2 if self.norm is Norm.L1 else sum(size * size for size in sizes)
        shares = [float(one) for one in self.weights]
        now, apart = 0.0, 0.0
        for one, size, share in zip(self._all, sizes, shares, strict=True):
            for reading in one.readings:
                alone = self._apart(one, reading) * (sum(shares) / share) ** (self._power - 1)
                joint = squared * self._joint(one, reading, size, sizes[0])
                if WORTH * joint > alone:
                    return False
                now, apart = now + joint, apart + alone
            if one.aggregate.function is exp.Avg and not self._holds_in_middle(one, size, squared, sum(shares) / share):
                return False
        return now < WORTH * apart

    def _holds_in_middle(self, one: Wanted, size: float, squared: float, times: float) -> bool:
        joint = squared * self._joint(one, MIDDLE, size, size)
        return WORTH * joint <= MIDDLE.in_pair(one.nulls) * times ** (self._power - 1)

    @staticmethod
    def _apart(one: Wanted, reading: Reading) -> float:
        return 1.0 if one.offered else reading.in_pair(one.nulls)

    def _joint(self, one: Wanted, reading: Reading, size: float, first: float) -> float:
        """Its variance for noise of one step, where the pair of the base has the size ``first``."""
        if one is self.base:
            return reading.in_pair(one.nulls) / size**2
        rows = self.base.rows.in_pair(self.base.nulls)
        return rows * reading.rows**2 / first**2 + reading.rest(nullable=one.nullable) / size**2
