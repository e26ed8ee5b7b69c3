"""The sums that a logistic regression is computed from: second moments, and then gradients, one after another.

Guarantee: whatever numbers a step is asked at, and whatever a row holds, the row adds integers to the cells of a
gradient whose L2 norm is at most √q units and whose L1 norm is at most q units, for q - 1 regressors; and to those of a
curvature, at most √(q(q+1)/2) and q(q+1)/2. A person's rows are scaled to as many as the bound allows, last, as those
of any vector are (:mod:`rewriter.bound.ball`), so the norms of a person are those of a row times that bound.

**Sensitivity.** With u as in :mod:`rewriter.measure.second_moments`, |u| ≤ 1 for each regressor. y and the chance p lie
in [0, 1], so |y - p| ≤ 1 and the gradient (y - p)·(1, u₁, …) has a squared norm of at most 1 + Σu² ≤ q: the clipping
norm follows from the number of regressors and the bound of rows, before anything is read. w = 4p(1 - p) is in [0, 1],
so each of the q(q+1)/2 products w·u·v is in [-1, 1].

All of it holds of the integers that are added up, whatever ``EXP`` an engine has: y counts in whole steps of [0, R], p
is rounded to one of them and cut to [0, R], and w to [0, W]; u is an integer of [-most, most]. So the last digit of a
double changes which integer a row adds, and never how large it may be.

Steps. The gradient at 0 and the curvature there follow from second moments (p = ½ everywhere), so the first of all
reads needs no coefficients. Then come :data:`STEPS` gradients, each at the coefficients that were released before, and
beside the third of them the curvature: near the end of the way, where it hardly changes any more. The last three are
averaged, so that what they cost buys accuracy as one gradient at three times the price would: their number costs
nothing, and neither ε nor the number of people would have it smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

from sqlglot import exp

from rewriter.columns import narrowed
from rewriter.declared import BIGINT, DOUBLE, Norm
from rewriter.dialects import Dialect, double, number
from rewriter.expressions import Value, present
from rewriter.measure.moments import every
from rewriter.measure.pair_cells import Found
from rewriter.measure.second_moments import CentredVariable, measured_moments, unit_bits
from rewriter.measure.vectors import Addend, Builder, Cell, Vector
from rewriter.plan import Terms
from rewriter.refused import Refused
from rewriter.regression import POINT_BITS, LogisticRegression, RegressionField, RegressionPart
from rewriter.release import Aggregate
from rewriter.strategies import weight

STEPS = 6
BENT = 2
"""How many gradients are measured, and beside which of them the curvature, from 0 on."""

_MOST_BITS = 14
_LEAST_WEIGHT_BITS = 8
"""Bits of the steps of a regressor and of a residual, at most; and of 4p(1 - p), where there is room."""

_FARTHEST = 30
"""Chances are computed of log-odds in [-30, 30]: beyond, they are 0 and 1 to thirteen digits."""

_NOTES = (
    f"a logistic regression takes {STEPS} steps, which are paid for together before the first; each reads a gradient at"
    " the coefficients that were released before it",
    "its numbers have no interval where noise may be as large as the curvature that they follow from",
)
_STANDARD_ERROR = (
    "std_err is the standard error of the people in the data as a sample; what noise adds is not in it but in the"
    " intervals: SET dpsql.intervals = on"
)


def logistic_regressions(asked: Mapping[int, Aggregate], builder: Builder, norm: Norm) -> dict[int, Found]:
    """The numbers of logistic regressions: those of the same variables over the same rows have the same steps."""
    found: dict[int, Found] = {}
    known: dict[tuple[str, ...], _Measured] = {}
    for place, aggregate in asked.items():
        values = (*aggregate.row, aggregate.value)
        test = every([aggregate.condition, *map(present, values)])
        key = ("" if test is None else builder.spelt(test.sql), *(builder.spelt(one.sql) for one in values))
        if key not in known:
            _check_chance(aggregate, test, builder)
            names = (*aggregate.wording.arguments[1:], aggregate.wording.arguments[0])
            known[key] = _measured(values, names, test, builder, norm)
        if not isinstance(part := aggregate.regression, RegressionPart):
            raise AssertionError("a regression says what is asked of it")
        one = known[key]
        ranges = tuple((variable.low, variable.high) for variable in one.variables)
        most = tuple(variable.most for variable in one.variables[:-1])
        steps = (one.gradients, one.curvature, BENT, one.points, most)
        found[place] = LogisticRegression(part, ranges, one.cells, *steps), ()
        notes = (*_NOTES, *([_STANDARD_ERROR] if part.field is RegressionField.STANDARD_ERROR else []))
        builder.notes += [note for note in notes if note not in builder.notes]
    return found


def _check_chance(aggregate: Aggregate, test: Value | None, builder: Builder) -> None:
    """Refuse a y that may be anything but a number from 0 to 1."""
    known = narrowed(aggregate.value, [*builder.filters, *([] if test is None else [test])])
    if known is None or known.low < 0 or known.high > 1:
        y = aggregate.wording.arguments[0]
        raise Refused(
            f"LOGREGR explains what is true or false, and {y} is a number",
            hint=f"write a condition: LOGREGR({y} > 10, ARRAY[1, x]), say; or the owner can declare {y} from 0 to 1",
        )


@dataclass(frozen=True, slots=True)
class _Measured:
    """The cells of a regression, in steps; its variables, the last of which is explained."""

    variables: list[CentredVariable]
    cells: Terms
    gradients: tuple[Terms, ...]
    curvature: Terms
    points: tuple[tuple[str, ...], ...]


def _measured(
    values: Sequence[Value], names: Sequence[str], test: Value | None, builder: Builder, norm: Norm
) -> _Measured:
    size = len(values)
    products = size * (size + 1) // 2
    bits = unit_bits(builder, products + 1)
    most_bits = max(1, min((bits - _LEAST_WEIGHT_BITS - 1) // 2, _MOST_BITS))
    variables, cells = measured_moments(values, names, test, builder, norm, most_bits)
    where = builder.condition(test)
    points = tuple(builder.points(size) for _ in range(STEPS))
    share = weight(float(size + 1), norm)
    regressors = list(zip(names[:-1], variables[:-1], strict=True))
    alone: list[_Product] = [(), *((one,) for one in regressors)]
    fine = unit_bits(builder, size)
    gradients: list[Terms] = []
    curvature: Terms = ()
    for step, at in enumerate(points):
        odds = _log_odds(at, variables[:-1], builder)
        residual = _residual(odds, variables[-1], min(_MOST_BITS, fine - most_bits - 1), builder)
        found = _cells("(y - p)", residual, alone, fine, where, builder)
        builder.measure_later(step, _vector(found, fine, share, where, size))
        gradients.append(_terms(found))
        if step == BENT:
            bend = _bend(odds, max(1, min(10, bits - 2 * most_bits - 1)), builder)
            found = _cells(
                "4p(1 - p)", bend, [*alone, *combinations_with_replacement(regressors, 2)], bits, where, builder
            )
            builder.measure_later(step, _vector(found, bits, 2 * share, where, products))
            curvature = _terms(found)
    return _Measured(variables, cells, tuple(gradients), curvature, points)


@dataclass(frozen=True, slots=True)
class _Factor:
    """A row column of integers from -``most`` to ``most``."""

    column: str
    most: int


_Product = tuple[tuple[str, CentredVariable], ...]
"""Regressors by their names."""


def _cells(
    text: str, factor: _Factor, products: Sequence[_Product], bits: int, where: str | None, builder: Builder
) -> tuple[Cell, ...]:
    """A cell for each product of the factor with variables, in units of 2^``bits``."""
    found = []
    for product in products:
        most, column = factor.most, factor.column
        for _, variable in product:
            most *= variable.most
            sql = exp.Mul(this=exp.column(column), expression=exp.column(variable.steps))
            column = builder.derive(f"{column} × {variable.steps}", sql, (column, variable.steps))
        times = (1 << bits) // most
        what = " · ".join([text, *(f"u of {name}" for name, _ in product)])
        addend = Addend(times, summed=column, test=where)
        found.append(Cell(builder.cell(), f"Σ {what}", Fraction(1, times * most), (addend,)))
    return tuple(found)


def _terms(cells: Sequence[Cell]) -> Terms:
    return tuple((cell.name, cell.granularity) for cell in cells)


def _vector(cells: tuple[Cell, ...], bits: int, share: Fraction, where: str | None, largest: int) -> Vector:
    """``largest``: the most that the squares of a row's cells add up to, and their sizes, in units of 2^``bits``."""
    rows = Addend(1, test=where)
    return Vector(cells, largest << bits, largest << 2 * bits, signed=True, weight=share, rows=rows)


def _log_odds(points: Sequence[str], regressors: Sequence[CentredVariable], builder: Builder) -> str:
    """The row column with the log-odds at a point, as a double in [-30, 30]: a sum of integers, which is exact."""
    first, *rest = points
    total: exp.Expr = exp.column(first)
    for name, one in zip(rest, regressors, strict=True):
        term = exp.Mul(this=exp.column(name), expression=exp.column(one.steps))
        total = exp.Add(this=total, expression=term)
    dialect, most = builder.dialect, _FARTHEST << POINT_BITS
    summed = builder.derive(f"at {first}", dialect.cast(exp.Paren(this=total), BIGINT), _of(regressors))
    column = exp.column(summed)
    inside = exp.Case(
        ifs=[
            exp.If(this=exp.GT(this=column, expression=number(most)), true=number(most)),
            exp.If(this=exp.LT(this=column.copy(), expression=number(-most)), true=number(-most)),
        ],
        default=column.copy(),
    )
    scaled = exp.Mul(this=dialect.cast(inside, DOUBLE), expression=double(2.0**-POINT_BITS))
    return builder.derive("log-odds", scaled, (summed,))


def _of(regressors: Sequence[CentredVariable]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.steps for one in regressors))


def _residual(odds: str, y: CentredVariable, bits: int, builder: Builder) -> _Factor:
    """R·(y - p), between -R and R: R·y is whole, and p is rounded to one of 0, 1, …, R."""
    times = max(1, (1 << bits) // (2 * y.most))
    most = 2 * y.most * times
    dialect = builder.dialect
    inverse = exp.Paren(this=exp.Add(this=double(1.0), expression=_exp(exp.Neg(this=exp.column(odds)), dialect)))
    chance = _rounded(exp.Div(this=double(float(most)), expression=inverse), most, dialect)
    # 2y - 1 in steps of its own, from -most to most.
    shifted = exp.Paren(this=exp.Add(this=exp.column(y.steps), expression=number(y.most)))
    scaled = exp.Mul(this=shifted, expression=number(times))
    sql = exp.Paren(this=exp.Sub(this=scaled, expression=chance))
    return _Factor(builder.derive(f"residual of {most}", sql, (odds, y.steps)), most)


def _bend(odds: str, bits: int, builder: Builder) -> _Factor:
    """W·4p(1 - p), between 0 and W."""
    most, dialect = 1 << bits, builder.dialect
    above, below = exp.column(odds), exp.Neg(this=exp.column(odds))
    both = exp.Add(this=_exp(above, dialect), expression=_exp(below, dialect))
    inverse = exp.Paren(this=exp.Add(this=double(2.0), expression=both))
    sql = _rounded(exp.Div(this=double(4.0 * most), expression=inverse), most, dialect)
    return _Factor(builder.derive(f"weight of {most}", sql, (odds,)), most)


def _exp(node: exp.Expr, dialect: Dialect) -> exp.Expr:
    return dialect.call("exp", node)


def _rounded(node: exp.Expr, most: int, dialect: Dialect) -> exp.Expr:
    """The nearest whole number of a double that is not below 0, and ``most`` at the most, whatever an engine makes of
    its last digits."""
    steps = dialect.truncate(exp.Add(this=node, expression=double(0.5)))
    return dialect.call("least", dialect.call("greatest", steps, number(0)), number(most))
