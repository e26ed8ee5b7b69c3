"""Means, and the sums and counts beside them: pairs of sums over the same rows.

With x in [L, U], one row adds x-L to the sum a and U-x to the sum b: U-L in L1, and no more in L2. The mean follows
from a and b. So do Σx, as (U·a + L·b)/(U-L), and the number of rows, as (a + b)/(U-L): neither is paid for beside a
mean. Compared with separate vectors, each at a share of the price:

- *a mean and COUNT(x)*, or COUNT(*) where x is never NULL: the mean is as accurate as alone, and the count has twice
  the variance that it has alone. With half of the price for each, both would have twice their variance under zCDP, and
  four times under ε.
- *a mean and COUNT(*)* over NULLs: the NULLs are a third cell of the same vector, since a row is in that cell or in the
  pair. The mean is as accurate as alone, the count has three times the variance. Under L2 a row without a value also
  counts 9/16 in the number of rows, whose noise is smaller then: the count has 2.11 times the variance, and the mean is
  no more than 1.05 times as far off as alone (:data:`rewriter.measure.row_weights.WEIGHTS`).
- *a sum and COUNT(*)*: a pair over the range and 0. NULL counts as 0, since its row adds nothing to the sum. The sum is
  as good as alone where 0 is an end of the range, the count has twice the variance.
- *several values of the same rows*: the pair of one holds the number of rows for all
(:mod:`rewriter.measure.mean_pairs`).
- *in a workload* under L2, the number of rows and the difference take the place of a pair, by the weights that are best
for all of its statements together (:mod:`rewriter.measure.row_weights`).

No sensitivity rests on which rows are NULL: every row is in one of these forms, and each form has the same norm.

Several values of the same rows, measured as one vector: a pair for one value, a difference for each of the others.

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
from math import inf, sqrt

from rewriter.declared import Interval, Norm
from rewriter.measure.moments import counts_rows
from rewriter.measure.pair_cells import (
    Found,
    Nulls,
    Pair,
    Rows,
    Shared,
    Wanted,
    fits,
    in_one,
    measured,
)
from rewriter.measure.row_weights import MEAN, MIDDLE, ROWS, VALUES, WEIGHTS, Reading, Weights
from rewriter.measure.summand import bounded, most_rows_of
from rewriter.measure.vectors import Builder
from rewriter.release import Aggregate, MeasuredBy
from rewriter.strategies import WORTH, weight


def paired(
    asked: Mapping[int, Aggregate],
    builder: Builder,
    norm: Norm,
    alone: frozenset[int],
    asked_by: Mapping[int, int],
) -> dict[int, Found]:
    """The means of a SELECT, and what is read off their pairs or off the pair of a sum and a count.

    ``alone`` are the numbers of aggregates that need cells of their own. ``asked_by``: how many statements of a
    workload ask for each.
    """
    planned = _Planned(asked, builder, norm, alone, asked_by)
    pairs: dict[Rows, Pair] = {}
    for one in planned.shared:
        pairs |= in_one(one, planned.wanted, builder)
    pairs |= measured({rows: one for rows, one in planned.wanted.items() if rows not in pairs}, builder, norm)
    return {number: planned.found(number, pairs[rows]) for number, rows in planned.places.items()}


class _Planned:
    """Which pairs are measured, and which of them an aggregate, by its number, is read off."""

    def __init__(
        self,
        asked: Mapping[int, Aggregate],
        builder: Builder,
        norm: Norm,
        alone: frozenset[int],
        asked_by: Mapping[int, int],
    ) -> None:
        self._norm = norm
        self._asked_by = asked_by
        self._asked = asked
        self._builder = builder
        self._alone = alone
        self._rows = {number: _rows(one, builder) for number, one in asked.items()}
        self._counts = [n for n, one in asked.items() if counts_rows(one) and n not in alone]
        self.wanted: dict[Rows, Wanted] = {}
        self.places: dict[int, Rows] = {}
        self._means()
        self._counts_of_pairs()
        self._sums_of_means()
        self._sums_and_counts()
        self._offer_sums()
        self.shared = self._of_same_rows()
        self._weigh()

    def found(self, number: int, pair: Pair) -> Found:
        one = self._asked[number]
        if one.kind.averages:
            return pair.ratio, ()
        if one.kind.sums:
            return pair.total(one, self._builder)
        return pair.count(self._builder, every=not self._rows[number].argument)

    def _of(self, measured_by: MeasuredBy) -> list[int]:
        return [number for number, one in self._asked.items() if one.kind.measured_by is measured_by]

    def _means(self) -> None:
        for number in self._of(MeasuredBy.MEAN):
            place = self.places[number] = self._rows[number]
            if place not in self.wanted:
                one = self._asked[number]
                _, interval, granularity = bounded(one, self._builder.filters)
                wanted = Wanted(one, interval, granularity, Nulls.NOTHING, [MEAN])
                self.wanted[place] = replace(wanted, asked_by=self._times(number))

    def _sums_of_means(self) -> None:
        for number in self._of(MeasuredBy.SUM):
            place = self._rows[number]
            if place not in self.wanted or (number in self._alone and self.wanted[place].interval.low):
                continue
            pair, widened = self.wanted[place], self._widened(number)
            if widened < inf and pair.of_sum(widened).in_pair(None) <= self._apart(pair.variance):
                self._read(number, place, pair.of_sum(widened))

    def _counts_of_pairs(self) -> None:
        """Counts of the rows of a mean; of all rows, where a value is never missing, or NULLs have a cell."""
        for number in self._counts:
            rows = self._rows[number]
            if rows.argument:
                if rows in self.wanted:
                    self._read(number, rows, VALUES)
                continue
            same = [place for place in self.wanted if place.condition == rows.condition]
            full = [place for place in same if self.wanted[place].knows_all]
            able = full or [place for place in same if self._is_one_condition(self.wanted[place])]
            if able:
                if not full:
                    self.wanted[able[0]].nulls = Nulls.CELL
                self._read(number, able[0], self.wanted[able[0]].rows)

    def _sums_and_counts(self) -> None:
        """The first sum of each value under one condition alone, with a count of the same rows."""
        for number in self._of(MeasuredBy.SUM):
            if number in self.places or not self._is_one_sum(number):
                continue
            rows = self._rows[number]
            every = [n for n in self._counts if n not in self.places and self._rows[n] == Rows(rows.condition, "")]
            present_ = [n for n in self._counts if n not in self.places and self._rows[n] == rows]
            one = self._asked[number]
            pair = self._with_zero(number)
            widened = self._widened(number)
            if not (every or present_) or (number in self._alone and pair.interval.low) or widened == inf:
                continue
            if present_:
                pair.nulls = Nulls.CELL if every and one.value.nullable else Nulls.NOTHING
            total = pair.of_sum(widened)
            if total.in_pair(None) + 2 > self._apart(1.0) + 1:
                continue
            self.wanted[rows] = pair
            self._read(number, rows, total)
            for count in every:
                self._read(count, rows, pair.rows)
            for count in present_:
                self._read(count, rows, VALUES)

    def _widened(self, number: int) -> float:
        """The variance of a sum by the number of rows, over the one that the owner's word about totals leaves to it."""
        one = self._asked[number]
        rows = most_rows_of(one, bounded(one, self._builder.filters)[1], self._builder)
        return (
            1.0 if rows is None else max(1.0, self._builder.rows / float(rows)) ** 2 if self._builder.rows > 1 else inf
        )

    def _apart(self, variance: float) -> float:
        """The variance that a separate vector for one more output adds to the total, at the best shares."""
        power = 3 if self._norm is Norm.L1 else 2
        return float((variance ** (1 / power) + 1) ** power) - variance

    def _read(self, number: int, place: Rows, reading: Reading) -> None:
        self.places[number] = place
        self.wanted[place].readings.append(reading)
        self.wanted[place].asked_by += self._times(number)
        self.wanted[place].alone |= number in self._alone

    def _times(self, number: int) -> list[int]:
        return [self._asked_by[number]] if number in self._asked_by else []

    def _weigh(self) -> None:
        """Where a mean and COUNT(*) are all that is read off a pair with a cell for NULLs, under L2; in a workload, by
        whatever is read."""
        if self._norm is Norm.L1 or self._builder.apart:
            return
        taken = {place for one in self.shared for place in (one.base, *one.others)}
        for place, one in self.wanted.items():
            if place in taken:
                continue
            if one.asked_by and not one.alone and self._is_one_condition(one):
                best = one.best_weights
                one.weights = best if best is not None and fits(best.l1 * one.steps[2], self._builder) else None
                continue
            readers = [self._asked[number] for number, read in self.places.items() if read == place]
            simple = all(of.kind.averages or (counts_rows(of) and of.argument is None) for of in readers)
            if one.nulls is Nulls.CELL and simple and fits(WEIGHTS.l1 * one.steps[2], self._builder):
                one.weights = WEIGHTS

    def _of_same_rows(self) -> list[Shared]:
        """The pairs that are better measured as one vector; what is offered and not in one of them is left out."""
        conditions = () if self._builder.apart else dict.fromkeys(place.condition for place in self.wanted)
        able = [{p: one for p, one in self._able().items() if p.condition == condition} for condition in conditions]
        found = [one for wanted in able if (one := shared(wanted, self._builder, self._norm)) is not None]
        taken = {place for one in found for place in (one.base, *one.others)}
        self.wanted = {place: one for place, one in self.wanted.items() if place in taken or not one.offered}
        self.places = {number: place for number, place in self.places.items() if place in self.wanted}
        return found

    def _able(self) -> dict[Rows, Wanted]:
        """The pairs that may be part of one vector."""
        return {place: one for place, one in self.wanted.items() if not one.alone and self._is_one_condition(one)}

    def _offer_sums(self) -> None:
        """Sums that would be measured alone are offered as pairs where there are several others of their rows.

        Else they stay alone: a later statement can use again what was measured of one sum.
        """
        conditions = [place.condition for place in self.wanted]
        several = {condition for condition in conditions if conditions.count(condition) > 1}
        for number in self._of(MeasuredBy.SUM):
            rows, widened = self._rows[number], self._widened(number)
            alone = number in self.places or not self._is_one_sum(number) or widened == inf
            if alone or rows in self.wanted or rows.condition not in several:
                continue
            pair = self._with_zero(number)
            if all(pair.lattice != other.lattice for other in self.wanted.values()):
                pair.offered = True
                self.wanted[rows] = pair
                self._read(number, rows, pair.of_sum(widened))

    def _with_zero(self, number: int) -> Wanted:
        """The pair of a sum, in which rows without a value are rows with the value 0."""
        _, interval, granularity = bounded(self._asked[number], self._builder.filters)
        interval = Interval(min(interval.low, Fraction(0)), max(interval.high, Fraction(0)))
        return Wanted(self._asked[number], interval, granularity, Nulls.ZERO, [])

    def _is_one_condition(self, wanted: Wanted) -> bool:
        """Whether it is no part of a vector of means under several conditions."""
        return sum(other.lattice == wanted.lattice for other in self.wanted.values()) == 1

    def _is_one_sum(self, number: int) -> bool:
        """Whether the value is summed under one condition only: sums under several are a family."""
        text = self._rows[number].argument
        sums = [rows for other, rows in self._rows.items() if self._asked[other].kind.sums]
        return sum(rows.argument == text for rows in dict.fromkeys(sums)) == 1


def _rows(aggregate: Aggregate, builder: Builder) -> Rows:
    condition, argument = (
        builder.spelt(None if value is None else value.sql) for value in (aggregate.condition, aggregate.argument)
    )
    return Rows(condition, argument)


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
