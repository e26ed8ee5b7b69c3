"""The second moments of several numbers of the same rows, which a linear regression is computed from.

Guarantee: one row adds integers to the cells of one vector whose norms are at most ``row_l1`` and √``row_l2_squared``,
whatever the row holds.

With u = (2x - low - high) / (high - low), in [-1, 1] for each of k regressors and of y, the cells are the sums of 1,
of every u, of c·(1 - u²) for every u, and of u·v for every pair; those of y and of its pairs are counted q times as
finely. They are centred, so that a row in the middle of its ranges adds little, and that a coefficient does not lean
on the noise of the middle.

**Sensitivity.** With s = u² of regressors and t of y, the square of a row's L2 norm is 1 + Σs + q²t(1 + Σs) + Σ s·s'
over pairs + c²Σ(1-s)² + c²(1-t)². It is convex in s and in t, so largest where each is 0 or 1; and it is convex in
the number j of regressors with s = 1, so largest at j = 0 or j = k. Of the four corners, j = k with t = 1 has 1 +
k(k+1)/2 + q²(k+1). With c² = k/2 + q² the corner j = 0 with t = 0 has as much, 1 + c²(k+1), and for q ≥ 1 the other
two have no more: the squares cost nothing.

With r = |u| of regressors and t = |u| of y, the L1 norm is 1 + Σr + qt(1 + Σr) + Σ r·r' + cΣ(1-r²) + c(1-t²). At c = ½
its derivatives, 1 - r + Σr' + qt for r and q - t + qΣr for t, are not negative, so it is largest where all are 1:
1 + k(k+1)/2 + q(k+1). The square of the L2 norm is at most the one above, with this q: c² is no more than there.

**Products with y.** A coefficient errs by the noise of its product with y, and by that of k products of regressors
times their slopes. With a price for all, the sum of these variances is least at q⁴ = (k-1)/(2B) in L2 and at q³ =
(k-1)/(2B) in L1, for the sum B of the squares of the slopes of u. B = ¼ is assumed: ranges of y are wide, and what
explains it shares it out. q is never below 1, and depends on k alone. Of principal components no number is explained
by the others: q is 1, and all above holds.

Against XᵀX, Xᵀy and the smallest eigenvalue at a third of the price each (AdaSSP, Wang 2018), predictions are 1.4 to
1.9 times as accurate (``python -m tests.bench regressions``).
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
from rewriter.regression import ComponentPart, PrincipalComponent, Regression, RegressionField
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
        of_component = isinstance(aggregate.regression, ComponentPart)
        key = ("alike" if of_component else "explained", *key)
        if key not in vectors:
            names = (*aggregate.wording.arguments[1:], aggregate.wording.arguments[0])
            vectors[key] = measured_moments(values, names, test, builder, norm, alike=of_component)
        if (part := aggregate.regression) is None:
            raise AssertionError("a regression says what is asked of it")
        variables, cells = vectors[key]
        ranges = tuple((one.low, one.high) for one in variables)
        if isinstance(part, ComponentPart):
            found[place] = PrincipalComponent(part, ranges, cells), ()
            continue
        found[place] = Regression(part, ranges, cells), ()
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
    *,
    alike: bool = False,
) -> tuple[list[CentredVariable], Terms]:
    """The cells of one vector of the second moments of ``values``, of which the last is explained unless all are
    ``alike``: each in at most 2^``most_bits`` steps."""
    regressors = len(values) - 1
    finer = Fraction(1) if alike else _finer_products(regressors, norm)
    square = _finer_squares(regressors, finer, norm)
    sizes, squares = _corner(regressors, finer), _corner(regressors, finer * finer)
    bits = unit_bits(builder, math.ceil(sizes if norm is Norm.L1 else squares))
    unit = 1 << bits
    variables = [_variable(value, test, builder, min((bits - _SPARE_BITS) // 2, most_bits)) for value in values]
    where = builder.condition(test)
    rows = Addend(unit, test=where)
    named = list(zip(names, variables, strict=True))
    fineness = [int(unit * (finer if place == regressors else 1)) for place in range(len(named))]
    cells = [Cell(builder.cell(), "Σ 1", Fraction(1, unit), (rows,))]
    for (name, one), fine in zip(named, fineness, strict=True):
        cells.append(_cell(f"Σ u of {name}", (one,), fine // one.most, builder, where))
    for name, one in named:
        most = one.most * one.most
        times = int(square * unit) // most
        whole, less = Addend(times * most, test=where), addend_of(builder, (one.steps, one.steps), -times, where)
        cells.append(Cell(builder.cell(), f"Σ (1 - u²) of {name}", Fraction(1, times * most), (whole, less)))
    for ((name, one), _), ((other_name, other), fine) in combinations(zip(named, fineness, strict=True), 2):
        times = fine // (one.most * other.most)
        cells.append(_cell(f"Σ u of {name} · u of {other_name}", (one, other), times, builder, where))
    builder.vectors.append(
        Vector(
            tuple(cells),
            math.ceil(unit * (sizes if norm is Norm.L1 else sizes + len(values) * square)),
            math.ceil(unit * unit * squares),
            signed=True,
            weight=weight(float(len(values) + 1), norm),
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


def _corner(regressors: int, products: Fraction) -> Fraction:
    """What a row at the ends of all its ranges adds, where each cell of y adds ``products`` and all others 1."""
    return 1 + Fraction(regressors * (regressors + 1), 2) + products * (regressors + 1)


def _finer_products(regressors: int, norm: Norm) -> Fraction:
    """How much more finely than 1 the cells of y are counted: 1 at least, in sixteenths.

    >>> [str(_finer_products(size, Norm.L2)) for size in (1, 3, 9)], str(_finer_products(10, Norm.L1))
    (['1', '11/8', '2'], '41/16')
    """
    power = 3 if norm is Norm.L1 else 4
    most = 2 * (regressors - 1) * 16**power
    finer = 16
    while (finer + 1) ** power <= most:
        finer += 1
    return Fraction(finer, 16)


def _finer_squares(regressors: int, finer: Fraction, norm: Norm) -> Fraction:
    """How much more finely than 1 the sums of 1 - u² are counted.

    >>> [str(_finer_squares(size, Fraction(1), Norm.L2)) for size in (1, 6)], _finer_squares(6, Fraction(2), Norm.L1)
    (['39/32', '2'], Fraction(1, 2))
    """
    if norm is Norm.L1:
        return Fraction(1, 2)
    return Fraction(math.isqrt(math.floor(32 * 32 * (Fraction(regressors, 2) + finer * finer))), 32)


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
