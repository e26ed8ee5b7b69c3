"""The cells of means, and of the sums and counts beside them: a pair, and differences of the same rows beside it.

:mod:`rewriter.measure.mean_pairs` decides which of them are measured, and which outputs are read off them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from fractions import Fraction
from math import sqrt

from sqlglot import exp

from rewriter.declared import Interval, Norm
from rewriter.expressions import both, present
from rewriter.measure.atoms import numbered
from rewriter.measure.conditions import Signature, signatures
from rewriter.measure.row_weights import ROWS, VALUES, Reading, Weights, best_weights
from rewriter.measure.summand import bounded, is_integer, note_clipping, show, steps_of, unit_of
from rewriter.measure.vectors import Addend, Builder, Cell, Vector
from rewriter.plan import Estimator, Linear, Ratio, Terms
from rewriter.release import Aggregate
from rewriter.strategies import weight

Found = tuple[Estimator, tuple[int, ...]]
"""How an output is finished, and the parts that it is the sum of."""

ONE = Fraction(1)
HALF = Fraction(1, 2)

_MOST_BITS = 46
"""Bits of what one person may add to a vector whose cells have other units than their values."""


class Nulls(Enum):
    """How rows without a value count: not at all, in a cell of their own, or as rows with the value 0."""

    NOTHING = auto()
    CELL = auto()
    ZERO = auto()


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an aggregate: the texts of its condition and of its argument, which is "" where it counts all."""

    condition: str
    argument: str


@dataclass(slots=True)
class Wanted:
    """A pair in the making: the aggregate that it is for, and ``readings``: the outputs that are read off it.

    ``alone``: one of them must be a cell of its own. ``offered``: it is of a sum alone, which needs no pair. With
    ``weights``, the rows and the difference are measured in the place of the pair. ``asked_by``: how many statements of
    a workload ask for each of the readings; none where it is no workload.
    """

    aggregate: Aggregate
    interval: Interval
    granularity: Fraction
    nulls: Nulls
    readings: list[Reading]
    alone: bool = False
    offered: bool = False
    weights: Weights | None = None
    asked_by: list[int] = field(default_factory=list)

    @property
    def steps(self) -> tuple[int, int, int]:
        """The ends of the range and its width."""
        low, high = (int(end / self.granularity) for end in (self.interval.low, self.interval.high))
        return low, high, high - low

    @property
    def nullable(self) -> bool:
        """Whether rows are not in its pair, for they have no value."""
        return self.nulls is not Nulls.ZERO and self.aggregate.value.nullable

    @property
    def knows_all(self) -> bool:
        """Whether every row of its condition is in its pair, or in the cell beside that."""
        return self.nulls is Nulls.CELL or not self.nullable

    @property
    def rows(self) -> Reading:
        """Every row of its condition, read off it."""
        return ROWS if self.nulls is Nulls.CELL else VALUES

    @property
    def variance(self) -> float:
        """The total of its outputs, measured apart from all others. Weights leave it the share that a pair has, so that
        a mean is no farther off by its share than by the weights."""
        return sum(1.0 if self.offered else one.in_pair(None) for one in self.readings)

    @property
    def lattice(self) -> tuple[exp.Expr, Interval, Fraction]:
        return self.aggregate.value.sql, self.interval, self.granularity

    def of_sum(self, widened: float) -> Reading:
        """U·a + L·b, where a sum alone has the variance of the larger end; ``widened``: that many times too much."""
        low, high = (float(end / self.interval.magnitude) for end in (self.interval.low, self.interval.high))
        return Reading(high * sqrt(widened), low * sqrt(widened))

    @property
    def best_weights(self) -> Weights | None:
        """Those of a workload; None where a pair is as good, or it is no workload."""
        if not self.asked_by:
            return None
        nulls = self.nulls is Nulls.CELL and self.nullable
        mean = self.aggregate.kind.averages
        return best_weights(tuple(self.readings), tuple(self.asked_by), mean=mean, nulls=nulls)

    @property
    def row(self) -> tuple[int, int]:
        """The most that a row adds to its pair: in L1, and squared in L2."""
        width = self.steps[2]
        if self.weights is not None:
            return self.weights.l1 * width, self.weights.l2_squared * width * width
        return width, width * width


@dataclass(frozen=True, slots=True)
class Pair:
    """Σt, Σ(1-t) and the number of rows without a value, as terms over the cells, with t = (x-L) / (U-L)."""

    above: Terms
    below: Terms
    missing: Terms
    interval: Interval
    granularity: Fraction

    @property
    def ratio(self) -> Ratio:
        return Ratio(self.above, self.below, self.interval.low, self.interval.high)

    @property
    def rows(self) -> Terms:
        """Every row that it knows of."""
        return _added((ONE, self.above), (ONE, self.below), (ONE, self.missing))

    def count(self, builder: Builder, *, every: bool) -> Found:
        """The rows with a value, or ``every`` row that the pair knows of."""
        terms = self.rows if every else _added((ONE, self.above), (ONE, self.below))
        rows = Linear(terms, integer=True, minimum=0)
        return rows, (builder.part(rows, ONE),)

    def total(self, aggregate: Aggregate, builder: Builder) -> Found:
        """Σx = U·Σt + L·Σ(1-t)."""
        terms = _added((self.interval.high, self.above), (self.interval.low, self.below))
        total = Linear(terms, integer=is_integer(aggregate))
        least = 0 if self.interval.low >= 0 else None
        return total, (builder.part(replace(total, minimum=least), unit_of(aggregate, self.granularity)),)


def _added(*sums: tuple[Fraction, Terms]) -> Terms:
    """A sum of sums, each with its factor."""
    found: dict[str, Fraction] = {}
    for factor, terms in sums:
        for name, one in terms:
            found[name] = found.get(name, Fraction(0)) + factor * one
    return tuple((name, one) for name, one in found.items() if one)


def fits(row: int, builder: Builder) -> bool:
    """Whether one person's total is small enough to be added up exactly, where a row adds so many steps."""
    return row * max(1, builder.rows) < 1 << _MOST_BITS


# -- one vector of the same rows -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shared:
    """Values of the same rows that are one vector: the pair of ``base``, with ``nulls`` and ``weights``, and
    differences of ``others``.

    The cells of each are multiplied by its factor, ``factors`` having that of the base first. ``weight`` is the share
    of the price.
    """

    base: Rows
    nulls: Nulls
    weights: Weights | None
    others: tuple[Rows, ...]
    factors: tuple[int, ...]
    weight: Fraction


def in_one(shared: Shared, wanted: Mapping[Rows, Wanted], builder: Builder) -> dict[Rows, Pair]:
    """The pairs of values of the same rows: that of the base, and Σ(2t-1) of each other, and its rows without a value.

    A row is in the pair of the base or in the cell beside that, and of each other value in one of its cells.
    """
    base, first = replace(wanted[shared.base], nulls=shared.nulls, weights=shared.weights), shared.factors[0]
    cells = list(_cells(base, builder, None, 0, first))
    pairs = {shared.base: _pair(cells, base, first)}
    rows = pairs[shared.base].rows
    l1, l2_squared = base.row[0] * first, base.row[1] * first**2
    for place, factor in zip(shared.others, shared.factors[1:], strict=True):
        one = wanted[place]
        own = _difference(one, factor, builder)
        pairs[place] = _of_difference(own, one, factor, rows)
        l1, l2_squared = l1 + one.steps[2] * factor, l2_squared + (one.steps[2] * factor) ** 2
        cells += own
    for one in (wanted[place] for place in pairs):
        note_clipping(one.aggregate, _declared(one, builder), builder)
    every = Addend(1, test=builder.condition(base.aggregate.condition))
    builder.vectors.append(Vector(tuple(cells), l1, l2_squared, signed=True, weight=shared.weight, rows=every))
    return pairs


def _difference(one: Wanted, factor: int, builder: Builder) -> list[Cell]:
    """Σ(2x-L-U), and the rows without a value, each by as much as a row at an end of the range."""
    test = builder.condition(one.aggregate.condition)
    value = steps_of(one.aggregate, _declared(one, builder), one.granularity, builder)
    counted = None if one.nulls is Nulls.ZERO else value
    cells = [_centred(one, value, counted, test, factor, builder)]
    if one.nullable:
        lacking = f"{show(one.interval.width)} of each row without {one.aggregate.wording.inner}"
        without = _without(value, test, factor * one.steps[2])
        cells.append(Cell(builder.cell(), lacking, one.granularity / factor, without))
    return cells


def _centred(one: Wanted, value: str, counted: str | None, test: str | None, factor: int, builder: Builder) -> Cell:
    low, high, _ = one.steps
    middle = (Addend(-factor * (low + high), counted=counted, test=test),) if low + high else ()
    ends = one.interval.low + one.interval.high
    text = f"Σ(2·{one.aggregate.wording.inner} - {show(ends)})"
    return Cell(builder.cell(), text, one.granularity / factor, (Addend(2 * factor, summed=value, test=test), *middle))


def _without(value: str, test: str | None, steps: int) -> tuple[Addend, ...]:
    """So many steps of each row that has no value."""
    return Addend(steps, test=test), Addend(-steps, counted=value, test=test)


def _of_difference(cells: Sequence[Cell], one: Wanted, factor: int, rows: Terms) -> Pair:
    """Σt = (n - m + s) / 2 and Σ(1-t) = (n - m - s) / 2, of n rows of which m have no value."""
    unit = Fraction(1, factor * one.steps[2])
    difference: Terms = ((cells[0].name, unit),)
    missing: Terms = tuple((cell.name, unit) for cell in cells[1:])
    above, below = (_added((HALF, rows), (-HALF, missing), (sign * HALF, difference)) for sign in (1, -1))
    return Pair(above, below, missing, one.interval, one.granularity)


# -- pairs apart ---------------------------------------------------------------------------------------------------


def measured(wanted: Mapping[Rows, Wanted], builder: Builder, norm: Norm) -> dict[Rows, Pair]:
    """The pairs. Those of one value over rows that cannot be the same are one vector, others one each."""
    pairs: dict[Rows, Pair] = {}
    together: dict[tuple[exp.Expr, Interval, Fraction], list[Rows]] = {}
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
            pairs[rows] = _pair(own, one)
        if column is not None:
            share = weight(sum(one.variance for one in same), norm)
            every = tuple(cell for own in cells for cell in own)
            builder.vectors.append(Vector(every, *same[0].row, weight=share))
        else:
            builder.vectors += [
                Vector(
                    own,
                    *one.row,
                    signed=one.weights is not None,
                    weight=weight(one.variance, norm),
                    rows=_counted(one, builder),
                )
                for own, one in zip(cells, same, strict=True)
            ]
        note_clipping(same[0].aggregate, _declared(same[0], builder), builder)
    return pairs


def _pair(cells: Sequence[Cell], wanted: Wanted, factor: int = 1) -> Pair:
    """A pair, with its two sums and its number of NULLs as terms over the measured cells."""
    unit, names = Fraction(1, wanted.steps[2] * factor), [cell.name for cell in cells]
    if wanted.weights is None:
        sides: list[Terms] = [((name, unit),) for name in names[:2]]
        missing: Terms = tuple((name, unit) for name in names[2:])
        return Pair(sides[0], sides[1], missing, wanted.interval, wanted.granularity)
    weights = wanted.weights
    rows, difference = ((names[0], unit / weights.rows),), ((names[1], unit / weights.difference),)
    lacking: Terms = tuple((name, unit / weights.missing) for name in names[2:])
    # The first cell has a part of every row without a value.
    values = _added((ONE, rows), (-Fraction(weights.empty, weights.rows), lacking))
    above, below = (_added((HALF, values), (sign * HALF, difference)) for sign in (1, -1))
    return Pair(above, below, lacking, wanted.interval, wanted.granularity)


def _declared(wanted: Wanted, builder: Builder) -> Interval:
    return bounded(wanted.aggregate, builder.filters)[1]


def _counted(wanted: Wanted, builder: Builder) -> Addend:
    """The addend that counts the rows of a pair."""
    one = wanted.aggregate
    test = both(one.condition, present(one.argument)) if wanted.nulls is Nulls.NOTHING else one.condition
    return Addend(1, test=builder.condition(test))


def _own_numbers(known: Sequence[Signature]) -> dict[Signature, int | None]:
    """The number of the condition that holds, for conditions of which at most one does."""
    return {signature: signature.bit_length() - 1 if signature else None for signature in known}


def _cells(wanted: Wanted, builder: Builder, atoms: str | None, atom: int, factor: int = 1) -> tuple[Cell, ...]:
    one, interval, granularity = wanted.aggregate, wanted.interval, wanted.granularity
    low, high, width = wanted.steps
    value = steps_of(one, _declared(wanted, builder), granularity, builder)
    test = builder.condition(one.condition) if atoms is None else atoms
    if wanted.weights is not None:
        return _weighed(wanted, wanted.weights, value, test, factor, builder)
    place = None if atoms is None else atom
    text = one.wording.inner
    rows = "" if atoms is None else f" of {one.text}"
    counted = None if wanted.nulls is Nulls.ZERO else value

    def addends(sign: int, count: int) -> tuple[Addend, ...]:
        summed = Addend(sign * factor, summed=value, test=test, atom=place)
        return (summed, Addend(count * factor, counted=counted, test=test, atom=place)) if count else (summed,)

    step = granularity / factor
    cells = [
        Cell(builder.cell(), f"Σ({text} - {show(interval.low)}){rows}", step, addends(1, -low)),
        Cell(builder.cell(), f"Σ({show(interval.high)} - {text}){rows}", step, addends(-1, high)),
    ]
    if wanted.nulls is Nulls.CELL:
        missing = _without(value, test, width * factor)
        cells.append(Cell(builder.cell(), f"{show(interval.width)} of each row without {text}", step, missing))
    return tuple(cells)


def _weighed(
    wanted: Wanted, weights: Weights, value: str, test: str | None, factor: int, builder: Builder
) -> tuple[Cell, ...]:
    """The rows, of which those without a value count less, or not at all; Σ(2x-L-U); and, where they have a cell, the
    rows without a value."""
    text, row = wanted.aggregate.wording.inner, wanted.steps[2] * factor
    full = weights.rows * row
    name, counted = builder.cell(), None if wanted.nulls is Nulls.ZERO else value
    difference = _centred(wanted, value, counted, test, weights.difference * factor, builder)
    if wanted.nulls is not Nulls.CELL:
        values = counted if wanted.nullable else None
        rows = Addend(full, counted=values, test=test)
        said = "rows" if values is None else f"rows with {text}"
        return Cell(name, said, Fraction(1, full), (rows,)), difference
    empty, missing = weights.empty * row, weights.missing * row
    every = Addend(empty, test=test), Addend(full - empty, counted=value, test=test)
    less = f"rows, each without {text} as {weights.empty}/{weights.rows}"
    without = _without(value, test, missing)
    return (
        Cell(name, less, Fraction(1, full), every),
        difference,
        Cell(builder.cell(), f"rows without {text}", Fraction(1, missing), without),
    )
