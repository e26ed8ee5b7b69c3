"""The cells of means, and of the sums and counts beside them: pairs, and several values of the same rows in one vector.

Which of them are measured, and what is read off them, is decided in :mod:`rewriter.pairs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates import both
from rewriter.atoms import numbered
from rewriter.cells import Addend, Builder, Cell, Vector
from rewriter.conditions import Signature, signatures
from rewriter.contribution import Norm
from rewriter.interval import Interval
from rewriter.moments import present
from rewriter.plan import Estimator, Linear, Ratio, Terms
from rewriter.query import Aggregate
from rewriter.strategies import weight
from rewriter.summed import argument_of, bounded, inner, is_integer, note_clipping, show, steps_of, unit_of

Found = tuple[Estimator, tuple[int, ...]]
"""How an output is finished, and the parts that it is the sum of."""

ONE = Fraction(1)

IN_PAIR, IN_CELL, OF = 9, 29, 32
"""What a row without a value adds to either side of a pair and to the third cell, where one with a value adds 32 steps:
2·9² + 29² ≤ 32²."""

_MOST_BITS = 46
_EVEN = 1 << 10
"""Bits of what one person may add to a vector whose cells have other units than their values; and how even the cells
of several values are made: to one part in so many."""


class Nulls(Enum):
    """What rows without a value add: nothing, a cell of their own, one and a part of the pair, or what a row with the
    value 0 adds."""

    NOTHING = auto()
    CELL = auto()
    WEIGHED = auto()
    ZERO = auto()


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an aggregate: the texts of its condition and of its argument, which is "" where it counts all."""

    condition: str
    argument: str


@dataclass(slots=True)
class Wanted:
    """A pair in the making: the aggregate that it is for, and ``variances``: of each output that is read off it, over
    what the output has when it is measured alone. ``alone``: one of them must be a cell of its own."""

    aggregate: Aggregate
    interval: Interval
    granularity: Fraction
    nulls: Nulls
    variances: list[float]
    alone: bool = False

    @property
    def steps(self) -> tuple[int, int, int]:
        """The ends of the range and its width."""
        low, high = (int(end / self.granularity) for end in (self.interval.low, self.interval.high))
        return low, high, high - low

    @property
    def has_all(self) -> bool:
        """Whether every row of its condition is in its pair."""
        missing = argument_of(self.aggregate).nullable
        return self.nulls is Nulls.ZERO or (self.nulls is Nulls.NOTHING and not missing)

    @property
    def lattice(self) -> tuple[exp.Expr, Interval, Fraction]:
        return argument_of(self.aggregate).sql, self.interval, self.granularity

    @property
    def of_sum(self) -> float:
        """U·a + L·b has the variance of U² + L², where a sum alone has that of the larger."""
        low, high = self.interval.low, self.interval.high
        return float((low * low + high * high) / self.interval.magnitude**2)


@dataclass(frozen=True, slots=True)
class Pair:
    """What Σt, Σ(1-t) and the number of rows without a value are of the cells, t = (x-L) / (U-L)."""

    above: Terms
    below: Terms
    missing: Terms
    interval: Interval
    granularity: Fraction

    @property
    def ratio(self) -> Ratio:
        return Ratio(self.above, self.below, self.interval.low, self.interval.high)

    def count(self, builder: Builder, *, every: bool) -> Found:
        """The rows with a value, or ``every`` row that the pair knows of."""
        known = [self.above, self.below, *([self.missing] if every else [])]
        rows = Linear(_added(*((ONE, terms) for terms in known)), integer=True, minimum=0)
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
    """Whether what one person adds is within what is added up exactly, where a row adds so many steps."""
    return row * max(1, builder.rows) < 1 << _MOST_BITS


def variance_together(every: Sequence[Wanted], norm: Norm) -> float:
    """The total variance of what is read off pairs, where all are one vector."""
    reach = 1 + len(every)
    factor = reach**2 if norm is Norm.L1 else reach
    return factor / 2 * sum(sum(one.variances) for one in every)


def even(every: Sequence[Wanted]) -> tuple[int, list[int]]:
    """What a row adds at most to any cell, and by what the values are multiplied so that all nearly come to that."""
    widths = [one.steps[2] for one in every]
    unit = max(widths)
    while any(width * (unit // width) * _EVEN < unit * (_EVEN - 1) for width in widths):
        unit *= 2
    return unit, [unit // width for width in widths]


def in_one(places: Sequence[Rows], wanted: Mapping[Rows, Wanted], builder: Builder, norm: Norm) -> dict[Rows, Pair]:
    """The pairs of values of the same rows, none of which is missing: the number of rows, and Σ(2t-1) of each."""
    every = [wanted[rows] for rows in places]
    unit, factors = even(every)
    test = builder.condition(every[0].aggregate.condition)
    rows = Cell(builder.cell(), "rows", Fraction(1, unit), (Addend(unit, test=test),))
    cells, pairs = [rows], {}
    for place, one, factor in zip(places, every, factors, strict=True):
        low, high, width = one.steps
        value = steps_of(one.aggregate, _declared(one, builder), one.granularity, builder)
        middle = (Addend(-factor * (low + high), test=test),) if low + high else ()
        text = f"Σ(2·{inner(one.aggregate)} - {show(one.interval.low + one.interval.high)})"
        addends = (Addend(2 * factor, summed=value, test=test), *middle)
        cell = Cell(builder.cell(), text, one.granularity / factor, addends)
        half, share = Fraction(1, 2 * unit), Fraction(1, 2 * factor * width)
        above, below = (((rows.name, half), (cell.name, sign * share)) for sign in (1, -1))
        pairs[place] = Pair(above, below, (), one.interval, one.granularity)
        cells.append(cell)
        note_clipping(one.aggregate, _declared(one, builder), builder)
    most = [unit, *(factor * one.steps[2] for factor, one in zip(factors, every, strict=True))]
    share = weight(variance_together(every, norm), norm)
    squared = sum(one * one for one in most)
    vector = Vector(tuple(cells), sum(most), squared, signed=True, weight=share, rows=Addend(1, test=test))
    builder.vectors.append(vector)
    return pairs


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
        width = same[0].steps[2]
        if column is not None:
            share = weight(sum(sum(one.variances) for one in same), norm)
            every = tuple(cell for own in cells for cell in own)
            builder.vectors.append(Vector(every, width, width * width, weight=share))
        else:
            builder.vectors += [
                Vector(
                    own,
                    _unit(one) if one.nulls is not Nulls.WEIGHED else (2 * IN_PAIR + IN_CELL) * width,
                    _unit(one) ** 2,
                    weight=weight(sum(one.variances), norm),
                    rows=_counted(one, builder),
                )
                for own, one in zip(cells, same, strict=True)
            ]
        note_clipping(same[0].aggregate, _declared(same[0], builder), builder)
    return pairs


def _unit(wanted: Wanted) -> int:
    """What a row with a value adds to its pair, in steps of the cells."""
    return wanted.steps[2] * (OF if wanted.nulls is Nulls.WEIGHED else 1)


def _pair(cells: Sequence[Cell], wanted: Wanted) -> Pair:
    """What is read off the two cells of a pair, and that of NULLs."""
    unit, names = Fraction(1, _unit(wanted)), [cell.name for cell in cells]
    sides: list[Terms] = [((name, unit),) for name in names[:2]]
    missing: Terms = tuple((name, unit) for name in names[2:])
    if wanted.nulls is Nulls.WEIGHED:
        missing = ((names[2], Fraction(1, IN_CELL * wanted.steps[2])),)
        sides = [_added((ONE, side), (-Fraction(IN_PAIR, OF), missing)) for side in sides]
    return Pair(sides[0], sides[1], missing, wanted.interval, wanted.granularity)


def _declared(wanted: Wanted, builder: Builder) -> Interval:
    return bounded(wanted.aggregate, builder.filters)[1]


def _counted(wanted: Wanted, builder: Builder) -> Addend:
    """What counts the rows that a pair is of."""
    one = wanted.aggregate
    test = both(one.condition, present(one.argument)) if wanted.nulls is Nulls.NOTHING else one.condition
    return Addend(1, test=builder.condition(test))


def _own_numbers(known: Sequence[Signature]) -> dict[Signature, int | None]:
    """Of conditions of which at most one holds, the number of the one that does."""
    return {signature: signature.bit_length() - 1 if signature else None for signature in known}


def _cells(wanted: Wanted, builder: Builder, atoms: str | None, atom: int) -> tuple[Cell, ...]:
    one, interval, granularity = wanted.aggregate, wanted.interval, wanted.granularity
    low, high, width = wanted.steps
    times, own = (OF, IN_CELL) if wanted.nulls is Nulls.WEIGHED else (1, 1)
    value = steps_of(one, _declared(wanted, builder), granularity, builder)
    test = builder.condition(one.condition) if atoms is None else atoms
    place = None if atoms is None else atom
    text = inner(one)
    rows = "" if atoms is None else f" of {one.text}"
    counted = None if wanted.nulls is Nulls.ZERO else value

    def addends(sign: int, count: int) -> tuple[Addend, ...]:
        summed = Addend(sign * times, summed=value, test=test, atom=place)
        return (summed, Addend(count * times, counted=counted, test=test, atom=place)) if count else (summed,)

    def without(steps: int) -> tuple[Addend, ...]:
        return Addend(steps, test=test), Addend(-steps, counted=value, test=test)

    part: tuple[Addend, ...] = ()
    if wanted.nulls is Nulls.WEIGHED:
        part = without(IN_PAIR * width)
        rows = f" + {show(interval.width * IN_PAIR / OF)} of each row without {text}"
    cells = [
        Cell(builder.cell(), f"Σ({text} - {show(interval.low)}){rows}", granularity / times, addends(1, -low) + part),
        Cell(builder.cell(), f"Σ({show(interval.high)} - {text}){rows}", granularity / times, addends(-1, high) + part),
    ]
    if wanted.nulls in (Nulls.CELL, Nulls.WEIGHED):
        lacking = f"{show(interval.width)} of each row without {text}"
        cells.append(Cell(builder.cell(), lacking, granularity / own, without(own * width)))
    return tuple(cells)
