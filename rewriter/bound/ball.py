"""How people are clipped: a ball for each vector, and one factor that scales all vectors of a unit into their balls.

**One factor.** All vectors over the same rows (counts, sums, means, moments, with whatever conditions) are multiplied
by one number: the least of C/‖x‖ over the vectors that leave their balls. So a person who has too much counts with
less, in the same direction, and every quotient of measured numbers keeps its value: means, shares, correlations, a sum
over a count. Each vector keeps the sensitivity of its own ball: a vector that is scaled by more than its own ball asks
for only moves less. The people of COUNT(DISTINCT unit) have a factor of their own, since a person of many rows is one
person all the same, and distinct values have none: people are credited with some of them
(:mod:`rewriter.bound.credited_values`).

**Scaled, never bent.** Before it is scaled, a cell is cut only at 2¹⁰ times the radius, so that squares are integers of
127 bits for any unit with fewer than 2³¹ groups; direction is lost only beyond that. Where the squares of long cells
would not fit, the norm is computed from cells rounded up to a coarser lattice: it is never too small.

**By rows where that is possible.** Counts, means and moments, which every row moves by the same amount, are clipped by
the number of rows, with the factor N/‖n‖. Under L2 the norm of a mean's two sums depends on where in the range the rows
lie, and people in its middle would count with more rows than others; by their rows all count alike, and alike in every
statement.

Why scaling is sound in floating point: the factor is computed with a relative error below 2⁻⁵⁰ and made smaller by
2⁻⁴⁰; truncation then only shortens. Squares are summed as integers, so no order of rows can change a factor. Why a
finer lattice: truncation takes half a step of every person who is scaled, and adds up. Cells are counted in 2⁻³⁰ of
the radius, so that ten million such people take 0.005 of what one person may add.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, DOUBLE, HUGEINT, ContributionBound, Norm, Sensitivity, least
from rewriter.dialects import Dialect, double, number
from rewriter.measure import Addend, Vector
from rewriter.plan import Block, Statistic
from rewriter.refused import Refused
from rewriter.relations import unbounded_rows
from rewriter.release import Query

_REFINE_BITS = 30
_SERIES_BITS = 38
"""Bits of the lattice of a radius; of what is measured in place of a series, the longest column of its strategy too,
but 12 at the least. Noise is at most 2⁵⁰ wide, so that a person may be hidden for two millionths of ε."""
_LEAST_SERIES_BITS = 12
_BEYOND_BITS = 10
_NORM_BITS = 46
_MOST_STEPS = 1 << 48
SHRINK = 1 - 2.0**-40


@dataclass(frozen=True, slots=True)
class Ball:
    """The ball that one vector is scaled into, in steps: ``radius_squared`` of the chosen norm, exactly.

    ``scaled``: by a factor, else it is one cell in the only group of its unit, and clipped. ``single``: the vector is
    one number of one group, whose norms are all the same. ``counter`` is the column with the unit's numbers of rows,
    for a vector that is clipped by them, and ``most_rows`` the norm of these numbers up to which nothing is clipped,
    squared for L2. ``counter`` is "" where the vector's own norm is computed.
    """

    vector: Vector
    norm: Norm
    radius_squared: int
    refinement: int
    scaled: bool
    single: bool
    counter: str = ""
    most_rows: int = 0

    @property
    def cell_bound(self) -> int:
        """The most that one cell has after scaling, in refined steps."""
        return math.isqrt(self.radius_squared * self.refinement * self.refinement)

    @property
    def sensitivity(self) -> Sensitivity:
        most = self.cell_bound
        if self.single or self.norm is Norm.L1:
            return Sensitivity(l1=most, l2_squared=most * most)
        return Sensitivity(l1=None, l2_squared=self.radius_squared * self.refinement * self.refinement)

    def block(self) -> Block:
        """The statistics of the vector, and how far one unit moves them."""
        statistics = tuple(
            Statistic(cell.name, cell.granularity / self.refinement, self.cell_bound, cell.text)
            for cell in self.vector.cells
        )
        return measured(statistics, self.sensitivity, self.vector)

    @property
    def beyond(self) -> int:
        """The value at which a cell is cut: its bound, or far above it where a factor scales the cell."""
        radius = math.isqrt(self.radius_squared)
        return radius << _BEYOND_BITS if self.scaled else radius

    @property
    def _counts(self) -> bool:
        """Whether its cell is what people's rows are counted by, and is not cut."""
        return self.scaled and self.counter == self.vector.cells[0].name

    def clamped(self, column: exp.Expr, dialect: Dialect) -> exp.Expr:
        """A cell as a BIGINT: after this no square and no sum of squares can overflow."""
        if self.vector.distinct:
            return case([(exp.GT(this=column, expression=number(0)), number(1))], number(0))
        if self._counts:
            return column
        most = self.beyond
        tests: list[tuple[exp.Expr, exp.Expr]] = [(exp.GT(this=column, expression=number(most)), number(most))]
        if self.vector.signed:
            tests.append((exp.LT(this=column.copy(), expression=number(-most)), number(-most)))
        return dialect.cast(case(tests, column.copy()), BIGINT)

    @property
    def _coarse_bits(self) -> int:
        """How many bits of a cell its norm does without."""
        computed = self.norm is Norm.L2 and not self.counter
        return max(0, self.beyond.bit_length() - _NORM_BITS) if computed else 0

    @property
    def most(self) -> int:
        """The limit of a unit's size: C for L1, C² for L2."""
        if self.counter:
            return self.most_rows
        if self.norm is Norm.L1:
            return math.isqrt(self.radius_squared)
        return self.radius_squared >> 2 * self._coarse_bits

    def size(self, table: str, dialect: Dialect) -> exp.Expr:
        """A unit's norm within one group: Σ|c| or Σc² over the cells of a vector, or of its number of rows."""
        if self.counter:
            rows = exp.column(self.counter, table)
            return rows if self.norm is Norm.L1 else exp.Mul(this=dialect.cast(rows, HUGEINT), expression=rows.copy())
        terms = [self._term(exp.column(cell.name, table), dialect) for cell in self.vector.cells]
        result = terms[0]
        for term in terms[1:]:
            result = exp.Add(this=result, expression=term)
        return result

    def _term(self, column: exp.Expr, dialect: Dialect) -> exp.Expr:
        sized: exp.Expr = exp.Abs(this=column) if self.vector.signed else column
        largest = 1 if self.vector.distinct else self.beyond
        if self.norm is Norm.L1:
            return dialect.cast(sized, HUGEINT) if largest * len(self.vector.cells) >= 1 << 62 else sized
        if coarse := (1 << self._coarse_bits) - 1:
            raised = exp.Paren(this=exp.Add(this=sized, expression=number(coarse)))
            sized, largest = dialect.integer_divide(raised, number(coarse + 1)), (largest >> self._coarse_bits) + 1
        elif self.vector.signed:
            sized = column
        wide = largest**2 * len(self.vector.cells) >= 1 << 62
        left = dialect.cast(sized, HUGEINT) if wide else sized
        return exp.Mul(this=left, expression=sized.copy())

    def outside(self, size: exp.Expr) -> exp.Expr:
        return exp.GT(this=size, expression=number(self.most))

    def shortening(self, size: exp.Expr, dialect: Dialect) -> exp.Expr:
        """C/norm, a little less, where a unit's vector is outside of the ball; else NULL."""
        if self.counter:
            radius = float(self.most_rows) if self.norm is Norm.L1 else math.sqrt(self.most_rows)
        else:
            radius = math.sqrt(self.radius_squared) / (1 << self._coarse_bits)
        double_size = dialect.cast(size.copy(), DOUBLE)
        divisor = double_size if self.norm is Norm.L1 else exp.Sqrt(this=double_size)
        factor = exp.Paren(this=exp.Div(this=double(radius * SHRINK), expression=divisor))
        return case([(self.outside(size), factor)], exp.Null())

    def scaled_cell(self, column: exp.Expr, factor: exp.Expr, dialect: Dialect) -> exp.Expr:
        """A cell on the finer lattice, scaled by ``factor``, which is NULL for a unit that is inside of all balls."""
        refined: exp.Expr = column
        product: exp.Expr = exp.Mul(this=dialect.cast(column.copy(), DOUBLE), expression=factor.copy())
        if self.refinement > 1:
            # No more than 2⁵⁸: what is cut at 2¹⁰ radii, of which one has 2³¹ steps, or 2⁴⁸ and is not refined.
            inside = dialect.call("least", column, number(math.isqrt(self.radius_squared))) if self._counts else column
            refined = exp.Mul(this=inside, expression=number(self.refinement))
            product = exp.Mul(this=product, expression=double(float(self.refinement)))
        is_outside = exp.Not(this=exp.Is(this=factor, expression=exp.Null()))
        return case([(is_outside, dialect.truncate(product))], refined)


@dataclass(frozen=True, slots=True)
class Factor:
    """The least that brings a unit's vectors into these balls, as column ``name``; NULL where they are inside."""

    name: str
    balls: tuple[Ball, ...]

    def sql(self, dialect: Dialect, *, one_group: bool) -> exp.Expr:
        """Of a unit's rows by group; of the only one, where it has one."""
        found = [ball.shortening(self._size(ball, dialect, one_group), dialect) for ball in self.balls]
        return found[0] if len(found) == 1 else dialect.call("least", *found)

    def outside(self, dialect: Dialect, *, one_group: bool) -> list[exp.Expr]:
        """The conditions of which one holds where the factor is not NULL."""
        return [ball.outside(self._size(ball, dialect, one_group)) for ball in self.balls]

    @staticmethod
    def _size(ball: Ball, dialect: Dialect, one_group: bool) -> exp.Expr:
        within = ball.size("clamped", dialect)
        return within if one_group else dialect.sum(within, HUGEINT)


def factors(balls: Sequence[Ball], limits: tuple[Ball, ...] | None = None) -> tuple[Factor | None, ...]:
    """The factor of each ball: one for all vectors of rows, one for all of people; None for what is clipped.

    That of rows is the least that brings them into the ``limits``, where these are other balls.
    """
    decisive = deciding([ball.vector for ball in balls])
    rows, people = (
        tuple(ball for ball in balls if ball.vector in decisive and ball.vector.distinct is distinct)
        for distinct in (False, True)
    )
    of_rows, of_people = Factor("rows_factor", rows if limits is None else limits), Factor("people_factor", people)
    return tuple((of_people if ball.vector.distinct else of_rows) if ball.scaled else None for ball in balls)


def deciding(vectors: Sequence[Vector]) -> list[Vector]:
    """The vectors that decide the factor of a unit: one of those that are clipped by the same rows in the same norm.

    If one is clipped by all rows, a unit inside of its ball is inside of the others too: their radii are for as many
    rows.
    """
    found: dict[object, Vector] = {}
    whole = {vector.prefix is None for vector in vectors if vector.rows == ALL_ROWS}
    for vector in vectors:
        by_norm = vector.prefix is None
        if vector.distinct or vector.rows == ALL_ROWS or by_norm not in whole or vector.most_rows is not None:
            found.setdefault(vector if vector.rows is None else (vector.rows, by_norm), vector)
    return list(found.values())


ALL_ROWS = Addend(1)


def counters(vectors: Sequence[Vector]) -> dict[Addend, str]:
    """The columns with the numbers of rows that clip vectors: cells, where these numbers are measured, or others."""
    counts = [v for v in vectors if v.rows is not None and len(v.cells) == 1 and v.cells[0].addends == (v.rows,)]
    cells = {v.rows: v.cells[0].name for v in counts if v.rows is not None}
    others = dict.fromkeys(v.rows for v in vectors if v.rows is not None and v.rows not in cells)
    return cells | {rows: f"n{place}" for place, rows in enumerate(others)}


def measured(statistics: tuple[Statistic, ...], sensitivity: Sensitivity, vector: Vector) -> Block:
    """The block of statistics with their sensitivity. For a prefix strategy the vector is clipped in L1."""
    prefix = vector.prefix
    if prefix is None:
        return Block(statistics, sensitivity, weight=vector.weight, rises=not vector.signed)
    if sensitivity.l1 is None:
        raise AssertionError("a prefix strategy needs a bound on the L1 norm")
    return Block(statistics, prefix.sensitivity(sensitivity.l1), prefix, vector.weight)


def balls_of(
    vectors: Sequence[Vector],
    norm: Norm,
    contribution: ContributionBound,
    one_group: bool,
    query: Query,
    *,
    alike: bool = False,
) -> list[Ball]:
    """How far one unit's vectors may reach. ``alike``: a vector with negative cells is scaled by the number of rows,
    and not clipped cell by cell. In a query that is ``joined`` with others every vector of rows is scaled, on the same
    lattice, so that it has the steps of the others."""
    alone = sum(not vector.distinct for vector in vectors) == 1
    columns = counters(vectors)
    found = []
    for vector in vectors:
        clipped = vector.distinct or (alone and not (alike and vector.signed))
        alone_there = one_group and (vector.distinct or not query.joined)
        ball = _ball_of(vector, norm, contribution, alone_there, query, clipped)
        rows = contribution.l1 if ball.norm is Norm.L1 else contribution.l2_squared
        if ball.scaled and vector.rows is not None and rows is not None:
            ball = replace(ball, counter=columns[vector.rows], most_rows=rows)
        found.append(ball)
    return found


def _ball_of(
    vector: Vector, norm: Norm, contribution: ContributionBound, one_group: bool, query: Query, alone: bool
) -> Ball:
    """``alone``: no other vector has to be scaled with it."""
    norm = Norm.L1 if vector.prefix is not None else norm
    reach = reach_squared(vector, norm, contribution)
    if reach is None:
        raise unbounded_rows(contribution, query, otherwise="; COUNT(DISTINCT key) may do")
    radius = math.isqrt(reach)
    if radius > _MOST_STEPS:
        raise Refused(
            "one person can move this too far to be added up exactly",
            hint="declare a narrower range, or fewer rows; how many people there are is COUNT(DISTINCT their key)",
        )
    single = one_group and len(vector.cells) == 1
    scaled = not (single and alone)
    bits = max(0, _lattice_bits(vector) - (radius.bit_length() - 1)) if scaled else 0
    return Ball(vector, norm, reach, 1 << bits, scaled, single)


def _lattice_bits(vector: Vector) -> int:
    """The bits of a radius on the finer lattice."""
    if vector.prefix is None:
        return _REFINE_BITS
    return max(_LEAST_SERIES_BITS, min(_REFINE_BITS, _SERIES_BITS - vector.prefix.strategy.l1.bit_length()))


def reach_squared(vector: Vector, norm: Norm, contribution: ContributionBound) -> int | None:
    """The square of the norm of one unit's vector, at most: the rows' bound times the most that one row adds.

    ``most_rows`` of the vector bound it in both norms, whatever is known of rows, and so does ``most_in_group`` where
    the number of groups is known.
    """
    if vector.most_in_group is not None:
        within = least([contribution.rows_per_group, vector.most_in_group])
        contribution = replace(contribution, rows_per_group=within)
    if contribution.unique:
        return vector.row_l1**2 if norm is Norm.L1 else vector.row_l2_squared
    if vector.distinct:
        groups = contribution.most_groups
        return None if groups is None else max(groups * groups if norm is Norm.L1 else groups, 1)
    most = vector.most_rows
    if norm is Norm.L1:
        rows = _least(contribution.l1, most)
        return None if rows is None else max(int(rows * vector.row_l1) ** 2, 1)
    squared = _least(contribution.l2_squared, None if most is None else most * most)
    return None if squared is None else max(int(squared * vector.row_l2_squared), 1)


def _least(rows: int | None, most: Fraction | None) -> int | Fraction | None:
    known: list[int | Fraction] = [one for one in (rows, most) if one is not None]
    return min(known, default=None)


def case(tests: Sequence[tuple[exp.Expr, exp.Expr]], default: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=test, true=then) for test, then in tests], default=default)
