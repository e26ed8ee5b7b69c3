"""The ball that holds what one unit adds: how far its vector may reach, and the SQL that shortens one beyond it.

Why scaling is sound in floating point: the factor is computed with a relative error below 2⁻⁵⁰ and made smaller by
2⁻⁴⁰; truncation then only shortens. Squares are summed as integers, so no order of rows can change a factor. Why a
finer lattice: truncating a scaled count of 0.9 to 0 would lose it, so scaled cells are counted in 2⁻ʳ of a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.cells import Vector
from rewriter.contribution import ContributionBound, Norm
from rewriter.dialects import Dialect, call, double, number
from rewriter.errors import Refused
from rewriter.plan import Block, Statistic
from rewriter.query import Query
from rewriter.sensitivity import Sensitivity
from rewriter.types import BIGINT, DOUBLE, HUGEINT
from rewriter.unbounded import unbounded_rows

_REFINE_BITS = 12
_MOST_STEPS = 1 << 48
SHRINK = 1 - 2.0**-40


@dataclass(frozen=True, slots=True)
class Ball:
    """The ball that one vector is scaled into, in steps: ``radius_squared`` of the chosen norm, exactly."""

    vector: Vector
    norm: Norm
    radius_squared: int
    refinement: int
    scaled: bool

    @property
    def cell_bound(self) -> int:
        return math.isqrt(self.radius_squared)

    @property
    def sensitivity(self) -> Sensitivity:
        steps = self.refinement
        if not self.scaled or self.norm is Norm.L1:
            radius = self.cell_bound
            return Sensitivity(l1=radius * steps, l2_squared=radius * radius * steps * steps)
        return Sensitivity(l1=None, l2_squared=self.radius_squared * steps * steps)

    @property
    def most(self) -> int:
        """What a unit's size is compared with: C for L1, C² for L2."""
        return self.cell_bound if self.norm is Norm.L1 else self.radius_squared

    def block(self) -> Block:
        """What is measured of the vector, and how far one unit moves it."""
        statistics = tuple(
            Statistic(cell.name, cell.granularity / self.refinement, self.cell_bound * self.refinement, cell.text)
            for cell in self.vector.cells
        )
        return measured(statistics, self.sensitivity, self.vector)

    def clamped(self, column: exp.Expr, dialect: Dialect) -> exp.Expr:
        """A cell within its own bound, as a BIGINT: after this no square and no sum of squares can overflow."""
        if self.vector.distinct:
            return case([(exp.GT(this=column, expression=number(0)), number(1))], number(0))
        most = self.cell_bound
        tests: list[tuple[exp.Expr, exp.Expr]] = [(exp.GT(this=column, expression=number(most)), number(most))]
        if self.vector.signed:
            tests.append((exp.LT(this=column.copy(), expression=number(-most)), number(-most)))
        return dialect.cast(case(tests, column.copy()), BIGINT)

    def size(self, table: str, dialect: Dialect) -> exp.Expr:
        """A unit's norm within one group: Σ|c| or Σc² over the cells of a vector."""
        result: exp.Expr | None = None
        wide = self.cell_bound**2 * len(self.vector.cells) >= 1 << 62
        for cell in self.vector.cells:
            column: exp.Expr = exp.column(cell.name, table)
            if self.norm is Norm.L1:
                term: exp.Expr = exp.Abs(this=column) if self.vector.signed else column
            else:
                left = dialect.cast(column, HUGEINT) if wide else column
                term = exp.Mul(this=left, expression=column.copy())
            result = term if result is None else exp.Add(this=result, expression=term)
        if result is None:
            raise AssertionError("a vector has cells")
        return result

    def shortening(self, size: exp.Expr, dialect: Dialect) -> exp.Expr:
        """C·2ʳ/norm, a little less, where a unit's vector is outside of the ball; else NULL."""
        radius = math.sqrt(self.radius_squared) * self.refinement * SHRINK
        double_size = dialect.cast(size.copy(), DOUBLE)
        divisor = double_size if self.norm is Norm.L1 else exp.Sqrt(this=double_size)
        factor = exp.Paren(this=exp.Div(this=double(radius), expression=divisor))
        return case([(self.outside(size), factor)], exp.Null())

    def outside(self, size: exp.Expr) -> exp.Expr:
        return exp.GT(this=size, expression=number(self.most))

    def scaled_cell(self, column: exp.Expr, factor: exp.Expr, dialect: Dialect) -> exp.Expr:
        """A cell on the finer lattice: shortened by ``factor``, which is NULL for a unit that is inside of its ball."""
        refined: exp.Expr = column if self.refinement == 1 else exp.Mul(this=column, expression=number(self.refinement))
        is_outside = exp.Not(this=exp.Is(this=factor, expression=exp.Null()))
        shortened = truncated(dialect, exp.Mul(this=dialect.cast(column.copy(), DOUBLE), expression=factor.copy()))
        return case([(is_outside, shortened)], refined)


def measured(statistics: tuple[Statistic, ...], sensitivity: Sensitivity, vector: Vector) -> Block:
    """The block with the sensitivity of what is measured. For a prefix strategy the vector is clipped in L1."""
    prefix = vector.prefix
    if prefix is None:
        return Block(statistics, sensitivity, weight=vector.weight)
    if sensitivity.l1 is None:
        raise AssertionError("a prefix strategy needs a bound on the L1 norm")
    return Block(statistics, prefix.sensitivity(sensitivity.l1), prefix, vector.weight)


def ball_of(vector: Vector, norm: Norm, contribution: ContributionBound, one_group: bool, query: Query) -> Ball:
    """How far one unit's vector may reach."""
    norm = Norm.L1 if vector.prefix is not None else norm
    reach = reach_squared(vector, norm, contribution)
    if reach is None:
        raise unbounded_rows(contribution, query, otherwise="; COUNT(DISTINCT key) may do")
    if math.isqrt(reach) > _MOST_STEPS:
        raise Refused(
            "one person can move this too far to be added up exactly", hint="declare a narrower range, or fewer rows"
        )
    scaled = not one_group or len(vector.cells) > 1
    bits = max(0, _REFINE_BITS - (math.isqrt(reach).bit_length() - 1)) if scaled else 0
    return Ball(vector, norm, reach, 1 << bits, scaled)


def reach_squared(vector: Vector, norm: Norm, contribution: ContributionBound) -> int | None:
    """The square of the norm of one unit's vector, at most: the rows' bound times the most that one row adds."""
    if contribution.unique:
        return vector.row_l1**2 if norm is Norm.L1 else vector.row_l2_squared
    if vector.distinct:
        groups = contribution.most_groups
        return None if groups is None else max(groups * groups if norm is Norm.L1 else groups, 1)
    if norm is Norm.L1:
        return None if contribution.l1 is None else max((contribution.l1 * vector.row_l1) ** 2, 1)
    squared = contribution.l2_squared
    return None if squared is None else max(squared * vector.row_l2_squared, 1)


def truncated(dialect: Dialect, sql: exp.Expr) -> exp.Expr:
    """A double, rounded toward zero."""
    return dialect.cast(call("trunc", sql), BIGINT)


def case(tests: Sequence[tuple[exp.Expr, exp.Expr]], default: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=test, true=then) for test, then in tests], default=default)
