"""Means, and the sums and counts beside them: pairs of sums over the same rows.

With x in [L, U], one row adds x-L to the one and U-x to the other: U-L in L1, and no more in L2. A mean is their
quotient, and the pair holds more than that: Σx is U·a + L·b and the number of rows a + b, over U-L, so that neither is
paid for beside a mean. Against a vector of its own for each, at a share of the price:

- *a mean and COUNT(x)*, or COUNT(*) of what is never NULL: the mean as if it was alone, the count at twice the variance
  that it has alone, where halves of the price give twice that to both under zCDP, and four times that under ε.
- *a mean and COUNT(*)* over NULLs: they are a third cell of the same vector, since a row is in it or in the pair. The
  mean as if it was alone, the count at three times the variance.
- *a sum and COUNT(*)*: a pair over the range and 0, where NULL counts as 0, for its row adds nothing to the sum. The
  sum is as good as alone where 0 is an end of the range, the count has twice the variance.

No sensitivity rests on which rows are NULL: every row is in one of these forms, and each form has the same norm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from fractions import Fraction
from math import inf

from sqlglot import exp

from rewriter.declared import Interval, Norm
from rewriter.expressions import both, present
from rewriter.measure.atoms import numbered
from rewriter.measure.conditions import Signature, signatures
from rewriter.measure.moments import counts_rows
from rewriter.measure.summand import (
    argument_of,
    bounded,
    inner,
    is_integer,
    most_rows_of,
    note_clipping,
    show,
    steps_of,
    unit_of,
)
from rewriter.measure.vectors import Addend, Builder, Cell, Vector
from rewriter.plan import Estimator, Linear, Ratio
from rewriter.release import Aggregate
from rewriter.strategies import weight

Found = tuple[Estimator, tuple[int, ...]]
"""How an output is finished, and the parts that it is the sum of."""

ONE = Fraction(1)


class Nulls(Enum):
    """What rows without a value add: nothing, a cell of their own, or what a row with the value 0 adds."""

    NOTHING = auto()
    CELL = auto()
    ZERO = auto()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of an aggregate: the texts of its condition and of its argument, which is "" where it counts all."""

    condition: str
    argument: str


@dataclass(slots=True)
class _Wanted:
    """A pair in the making: the aggregate that it is for, and ``variances``: of each output that is read off it, over
    what the output has when it is measured alone."""

    aggregate: Aggregate
    interval: Interval
    granularity: Fraction
    nulls: Nulls
    variances: list[float]

    @property
    def lattice(self) -> tuple[exp.Expr, Interval, Fraction]:
        return argument_of(self.aggregate).sql, self.interval, self.granularity

    @property
    def of_sum(self) -> float:
        """U·a + L·b has the variance of U² + L², where a sum alone has that of the larger."""
        low, high = self.interval.low, self.interval.high
        return float((low * low + high * high) / self.interval.magnitude**2)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The cells ``above`` Σ(x-L) and ``below`` Σ(U-x), in steps of ``granularity``, and of NULLs, at U-L each."""

    above: str
    below: str
    missing: str | None
    interval: Interval
    granularity: Fraction

    @property
    def ratio(self) -> Ratio:
        return Ratio(self.above, self.below, self.interval.low, self.interval.high)

    def count(self, builder: Builder, *, every: bool) -> Found:
        """The rows with a value, or ``every`` row that the pair knows of."""
        names = [self.above, self.below, *([self.missing] if every and self.missing is not None else [])]
        one = self.granularity / self.interval.width
        rows = Linear(tuple((name, one) for name in names), integer=True, minimum=0)
        return rows, (builder.part(rows, ONE),)

    def total(self, aggregate: Aggregate, builder: Builder) -> Found:
        """Σx = Σ(x-L) + L·n, and n = (Σ(x-L) + Σ(U-x)) / (U-L)."""
        share = self.interval.low * self.granularity / self.interval.width
        weights = ((self.above, self.granularity + share), (self.below, share))
        total = Linear(tuple((name, one) for name, one in weights if one), integer=is_integer(aggregate))
        least = 0 if self.interval.low >= 0 else None
        return total, (builder.part(replace(total, minimum=least), unit_of(aggregate, self.granularity)),)


def paired(asked: Mapping[int, Aggregate], builder: Builder, norm: Norm, alone: frozenset[int]) -> dict[int, Found]:
    """The means of a SELECT, and what is read off their pairs or off the pair of a sum and a count.

    ``alone`` are the numbers of aggregates that need cells of their own.
    """
    planned = _Planned(asked, builder, norm, alone)
    pairs = _measured(planned.wanted, builder, norm)
    return {number: planned.found(number, pairs[rows]) for number, rows in planned.places.items()}


class _Planned:
    """Which pairs are measured, and which of them an aggregate, by its number, is read off."""

    def __init__(self, asked: Mapping[int, Aggregate], builder: Builder, norm: Norm, alone: frozenset[int]) -> None:
        self._norm = norm
        self._asked = asked
        self._builder = builder
        self._alone = alone
        self._rows = {number: _rows(one, builder) for number, one in asked.items()}
        self._counts = [n for n, one in asked.items() if counts_rows(one) and n not in alone]
        self.wanted: dict[_Rows, _Wanted] = {}
        self.places: dict[int, _Rows] = {}
        self._means()
        self._counts_of_pairs()
        self._sums_of_means()
        self._sums_and_counts()

    def found(self, number: int, pair: _Pair) -> Found:
        one = self._asked[number]
        if one.function is exp.Avg:
            return pair.ratio, ()
        if one.function is exp.Sum:
            return pair.total(one, self._builder)
        return pair.count(self._builder, every=not self._rows[number].argument)

    def _of(self, function: type[exp.Expr]) -> list[int]:
        return [number for number, one in self._asked.items() if one.function is function]

    def _means(self) -> None:
        for number in self._of(exp.Avg):
            place = self.places[number] = self._rows[number]
            if place not in self.wanted:
                one = self._asked[number]
                _, interval, granularity = bounded(one, self._builder.filters)
                self.wanted[place] = _Wanted(one, interval, granularity, Nulls.NOTHING, [1.0])

    def _sums_of_means(self) -> None:
        for number in self._of(exp.Sum):
            place = self._rows[number]
            if place not in self.wanted or (number in self._alone and self.wanted[place].interval.low):
                continue
            pair = self.wanted[place]
            variance = pair.of_sum * self._widened(number)
            if variance <= self._apart(pair.variances):
                self._read(number, place, variance)

    def _counts_of_pairs(self) -> None:
        """Counts of the rows of a mean; of all rows, where a value is never missing, or NULLs have a cell."""
        for number in self._counts:
            rows = self._rows[number]
            if rows.argument:
                if rows in self.wanted:
                    self._read(number, rows, 2.0)
                continue
            same = [place for place in self.wanted if place.condition == rows.condition]
            full = [place for place in same if self._knows_all(self.wanted[place])]
            able = full or [place for place in same if self._is_one_condition(self.wanted[place])]
            if able:
                if not full:
                    self.wanted[able[0]].nulls = Nulls.CELL
                self._read(number, able[0], 3.0 if self.wanted[able[0]].nulls is Nulls.CELL else 2.0)

    def _sums_and_counts(self) -> None:
        """The first sum of each value under one condition alone, with a count of the same rows."""
        for number in self._of(exp.Sum):
            if number in self.places or not self._is_one_sum(number):
                continue
            rows = self._rows[number]
            every = [n for n in self._counts if n not in self.places and self._rows[n] == _Rows(rows.condition, "")]
            present_ = [n for n in self._counts if n not in self.places and self._rows[n] == rows]
            one = self._asked[number]
            argument, interval, granularity = bounded(one, self._builder.filters)
            interval = Interval(min(interval.low, Fraction(0)), max(interval.high, Fraction(0)))
            if not (every or present_) or (number in self._alone and interval.low):
                continue
            nulls = (Nulls.CELL if every and argument.nullable else Nulls.NOTHING) if present_ else Nulls.ZERO
            pair = _Wanted(one, interval, granularity, nulls, [])
            variance = pair.of_sum * self._widened(number)
            if variance + 2 > self._apart([1.0]) + 1:
                continue
            self.wanted[rows] = pair
            self._read(number, rows, variance)
            for count in every:
                self._read(count, rows, 3.0 if nulls is Nulls.CELL else 2.0)
            for count in present_:
                self._read(count, rows, 2.0)

    def _widened(self, number: int) -> float:
        """The variance of a sum by the number of rows, over the one that the owner's word about totals leaves to it."""
        one = self._asked[number]
        rows = most_rows_of(one, bounded(one, self._builder.filters)[1], self._builder)
        return (
            1.0 if rows is None else max(1.0, self._builder.rows / float(rows)) ** 2 if self._builder.rows > 1 else inf
        )

    def _apart(self, variances: Sequence[float]) -> float:
        """What a vector of its own for one more output adds to the variances of all, where shares are the best."""
        power = 3 if self._norm is Norm.L1 else 2
        return float((sum(variances) ** (1 / power) + 1) ** power) - sum(variances)

    def _read(self, number: int, place: _Rows, variance: float) -> None:
        self.places[number] = place
        self.wanted[place].variances.append(variance)

    @staticmethod
    def _knows_all(wanted: _Wanted) -> bool:
        return wanted.nulls is not Nulls.NOTHING or not argument_of(wanted.aggregate).nullable

    def _is_one_condition(self, wanted: _Wanted) -> bool:
        """Whether it is no part of a vector of means under several conditions."""
        return sum(other.lattice == wanted.lattice for other in self.wanted.values()) == 1

    def _is_one_sum(self, number: int) -> bool:
        """Whether the value is summed under one condition only: sums under several are a family."""
        text = self._rows[number].argument
        sums = [rows for other, rows in self._rows.items() if self._asked[other].function is exp.Sum]
        return sum(rows.argument == text for rows in dict.fromkeys(sums)) == 1


def _rows(aggregate: Aggregate, builder: Builder) -> _Rows:
    condition, argument = (
        builder.spelt(None if value is None else value.sql) for value in (aggregate.condition, aggregate.argument)
    )
    return _Rows(condition, argument)


def _measured(wanted: Mapping[_Rows, _Wanted], builder: Builder, norm: Norm) -> dict[_Rows, _Pair]:
    """The pairs. Those of one value over rows that cannot be the same are one vector, others one each."""
    pairs: dict[_Rows, _Pair] = {}
    together: dict[tuple[exp.Expr, Interval, Fraction], list[_Rows]] = {}
    for rows, one in wanted.items():
        together.setdefault(one.lattice, []).append(rows)
    for places in together.values():
        same = [wanted[rows] for rows in places]
        clauses = [one.aggregate.condition for one in same]
        known = signatures(clauses, builder.filters) if len(same) > 1 else None
        disjoint = bool(known) and all(signature & (signature - 1) == 0 for signature in known or ())
        column = builder.column("g", numbered(clauses, _own_numbers(known))) if known is not None and disjoint else None
        cells = [_cells(one, builder, column, place) for place, one in enumerate(same)]
        for rows, own, one in zip(places, cells, same, strict=True):
            missing = own[2].name if len(own) > 2 else None
            pairs[rows] = _Pair(own[0].name, own[1].name, missing, one.interval, one.granularity)
        width = int(same[0].interval.width / same[0].granularity)
        if column is not None:
            share = weight(sum(sum(one.variances) for one in same), norm)
            every = tuple(cell for own in cells for cell in own)
            builder.vectors.append(Vector(every, width, width * width, weight=share))
        else:
            builder.vectors += [
                Vector(own, width, width * width, weight=weight(sum(one.variances), norm), rows=_counted(one, builder))
                for own, one in zip(cells, same, strict=True)
            ]
        note_clipping(same[0].aggregate, _declared(same[0], builder), builder)
    return pairs


def _declared(wanted: _Wanted, builder: Builder) -> Interval:
    return bounded(wanted.aggregate, builder.filters)[1]


def _counted(wanted: _Wanted, builder: Builder) -> Addend:
    """What counts the rows that a pair is of."""
    one = wanted.aggregate
    test = both(one.condition, present(one.argument)) if wanted.nulls is Nulls.NOTHING else one.condition
    return Addend(1, test=builder.condition(test))


def _own_numbers(known: Sequence[Signature]) -> dict[Signature, int | None]:
    """Of conditions of which at most one holds, the number of the one that does."""
    return {signature: signature.bit_length() - 1 if signature else None for signature in known}


def _cells(wanted: _Wanted, builder: Builder, atoms: str | None, atom: int) -> tuple[Cell, ...]:
    one, interval, granularity = wanted.aggregate, wanted.interval, wanted.granularity
    low, high, width = (int(end / granularity) for end in (interval.low, interval.high, interval.width))
    value = steps_of(one, _declared(wanted, builder), granularity, builder)
    test = builder.condition(one.condition) if atoms is None else atoms
    place = None if atoms is None else atom
    text = inner(one)
    rows = "" if atoms is None else f" of {one.text}"
    counted = None if wanted.nulls is Nulls.ZERO else value

    def addends(sign: int, count: int) -> tuple[Addend, ...]:
        summed = Addend(sign, summed=value, test=test, atom=place)
        return (summed, Addend(count, counted=counted, test=test, atom=place)) if count else (summed,)

    cells = [
        Cell(builder.cell(), f"Σ({text} - {show(interval.low)}){rows}", granularity, addends(1, -low)),
        Cell(builder.cell(), f"Σ({show(interval.high)} - {text}){rows}", granularity, addends(-1, high)),
    ]
    if wanted.nulls is Nulls.CELL:
        missing = (Addend(width, test=test), Addend(-width, counted=value, test=test))
        cells.append(Cell(builder.cell(), f"{show(interval.width)} of each row without {text}", granularity, missing))
    return tuple(cells)
