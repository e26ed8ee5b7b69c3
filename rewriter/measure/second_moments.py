"""The second moments of several numbers of the same rows, which a linear regression is computed from.

Guarantee: one row adds integers to the cells of one vector whose norms are at most ``row_l1`` and √``row_l2_squared``,
whatever the row holds.

With u = (2x - low - high) / (high - low), in [-1, 1] for each of the m variables, the cells are the sums of 1, of every
u, of c·(1 - u²) for every u, and of u·v for every pair. They are centred, so that a row in the middle of its ranges
adds little, and that a coefficient does not lean on the noise of the middle.

**Sensitivity.** With s = u², the square of a row's L2 norm is 1 + Σs + c²Σ(1-s)² + Σ s·t over pairs. It is convex in
each s, so it is largest where every s is 0 or 1; with j ones it is 1 + j + c²(m-j) + j(j-1)/2, convex in j, so largest
at j = 0, where it is 1 + c²m, or at j = m, where it is 1 + m(m+1)/2. With c² ≤ (m+1)/2 it is at most the second: the
squares cost nothing, and are counted c times as finely. With r = |u|, the L1 norm is 1 + Σr + cΣ(1-r²) + Σ r·q over
pairs. At c = ½ its derivative for each r is 1 - r + Σq ≥ 0, so it is largest at r = 1: 1 + m(m+1)/2.

Against XᵀX, Xᵀy and the smallest eigenvalue at a third of the price each (AdaSSP, Wang 2018), predictions are 1.2 to
1.4 times as accurate (``python -m tests.bench regressions``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from sqlglot import exp

from rewriter.columns import narrowed
from rewriter.declared import Interval, Norm
from rewriter.dialects import number
from rewriter.expressions import Value, clip_of, clipped_steps, present
from rewriter.measure.moments import addend_of, every, steps_lattice
from rewriter.measure.pair_cells import Found
from rewriter.measure.summand import clipping_note, note_once
from rewriter.measure.vectors import Addend, Builder, Cell, Vector
from rewriter.plan import Terms
from rewriter.regression import Regression, RegressionField
from rewriter.release import Aggregate
from rewriter.strategies import weight

_PERSON_BITS = 40
"""Bits of all that one person may add. Noise is at most 2⁵⁰ wide, so that a person may be hidden for a thousandth of
ε."""
_MOST_BITS = 14
_SPARE_BITS = 6
"""Bits of the steps of one variable; and those by which the unit of a row is finer than the steps of two."""

_STANDARD_ERROR = (
    "std_err is the standard error of the people in the data as a sample, as MADlib's; what noise adds is not in it"
    " but in the intervals: SET dpsql.intervals = on"
)


@dataclass(frozen=True, slots=True)
class CentredVariable:
    """``steps`` is the row column with u in steps, from -``most`` to ``most``."""

    low: Fraction
    high: Fraction
    steps: str
    most: int


def regressions(asked: Mapping[int, Aggregate], builder: Builder, norm: Norm) -> dict[int, Found]:
    """The numbers of regressions: those of the same variables over the same rows are made of one vector."""
    found: dict[int, Found] = {}
    vectors: dict[tuple[str, ...], tuple[list[CentredVariable], Terms]] = {}
    for place, aggregate in asked.items():
        values = (*aggregate.row, aggregate.value)
        test = every([aggregate.condition, *map(present, values)])
        key = ("" if test is None else builder.spelt(test.sql), *(builder.spelt(one.sql) for one in values))
        if key not in vectors:
            names = (*aggregate.wording.arguments[1:], aggregate.wording.arguments[0])
            vectors[key] = measured_moments(values, names, test, builder, norm)
        if (part := aggregate.regression) is None:
            raise AssertionError("a regression says what is asked of it")
        variables, cells = vectors[key]
        found[place] = Regression(part, tuple((one.low, one.high) for one in variables), cells), ()
        if part.field is RegressionField.STANDARD_ERROR and _STANDARD_ERROR not in builder.notes:
            builder.notes.append(_STANDARD_ERROR)
    return found


def measured_moments(
    values: Sequence[Value],
    names: Sequence[str],
    test: Value | None,
    builder: Builder,
    norm: Norm,
    most_bits: int = _MOST_BITS,
) -> tuple[list[CentredVariable], Terms]:
    """The cells of one vector of the second moments of ``values``, of which the last is explained: each in at most
    2^``most_bits`` steps."""
    size = len(values)
    largest = 1 + size * (size + 1) // 2
    bits = unit_bits(builder, largest)
    unit = 1 << bits
    variables = [_variable(value, test, builder, min((bits - _SPARE_BITS) // 2, most_bits)) for value in values]
    square = _finer_squares(size, norm)
    where = builder.condition(test)
    rows = Addend(unit, test=where)
    cells = [Cell(builder.cell(), "Σ 1", Fraction(1, unit), (rows,))]
    for name, one in zip(names, variables, strict=True):
        cells.append(_cell(f"Σ u of {name}", (one,), unit // one.most, builder, where))
    for name, one in zip(names, variables, strict=True):
        most = one.most * one.most
        times = int(square * unit) // most
        whole, less = Addend(times * most, test=where), addend_of(builder, (one.steps, one.steps), -times, where)
        cells.append(Cell(builder.cell(), f"Σ (1 - u²) of {name}", Fraction(1, times * most), (whole, less)))
    for (name, one), (other_name, other) in combinations(zip(names, variables, strict=True), 2):
        times = unit // (one.most * other.most)
        cells.append(_cell(f"Σ u of {name} · u of {other_name}", (one, other), times, builder, where))
    builder.vectors.append(
        Vector(
            tuple(cells),
            unit * largest if norm is Norm.L1 else unit * (largest + size * math.ceil(square)),
            unit * unit * largest,
            signed=True,
            weight=weight(float(size + 1), norm),
            rows=Addend(1, test=where),
        )
    )
    for name, value, one in zip(names, values, variables, strict=True):
        note_once(clipping_note(name, value, Interval(one.low, one.high)), builder)
    return variables, tuple((cell.name, cell.granularity) for cell in cells)


def _cell(text: str, of: tuple[CentredVariable, ...], times: int, builder: Builder, where: str | None) -> Cell:
    most = math.prod(one.most for one in of)
    addend = addend_of(builder, tuple(one.steps for one in of), times, where)
    return Cell(builder.cell(), text, Fraction(1, times * most), (addend,))


def unit_bits(builder: Builder, largest: int) -> int:
    """The bits of the unit of a row whose norm may be as large, so that all that a person adds has 40."""
    return max(_PERSON_BITS - builder.rows.bit_length() - largest.bit_length(), 2 + _SPARE_BITS)


def _finer_squares(size: int, norm: Norm) -> Fraction:
    """How much more finely than 1 the sums of 1 - u² are counted.

    >>> [str(_finer_squares(size, Norm.L2)) for size in (2, 7)], _finer_squares(7, Norm.L1)
    (['39/32', '2'], Fraction(1, 2))
    """
    if norm is Norm.L1:
        return Fraction(1, 2)
    return Fraction(math.isqrt(32 * 32 * (size + 1) // 2), 32)


def _variable(value: Value, test: Value | None, builder: Builder, bits: int) -> CentredVariable:
    declared = narrowed(value, [*builder.filters, *([] if test is None else [test])])
    if declared is None:
        raise AssertionError("a variable without a range was refused")
    interval, granularity = steps_lattice(value, declared, bits)
    low, most = int(interval.low / granularity), int(interval.width / granularity)
    clip = clip_of(declared, interval, granularity)
    column = builder.column("v", clipped_steps(value, clip, granularity, builder.dialect))
    doubled = exp.Mul(this=number(2), expression=exp.column(column))
    steps = exp.Paren(this=exp.Sub(this=doubled, expression=number(2 * low + most)))
    return CentredVariable(
        interval.low, interval.high, builder.derive(f"2x - {2 * low + most}", steps, (column,)), most
    )
