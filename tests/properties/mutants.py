"""Planted bugs: each is a mistake that a system like this one has made, put into the rewriter for the length of a test.

A neighbour test that lets one of them live proves nothing about the others that nobody thought of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from sqlglot import exp

from rewriter.bound import ball
from rewriter.bound import bounded_sql as bound
from rewriter.bound.ball import Ball
from rewriter.columns.source import BEHIND, Variable
from rewriter.declared import contribution
from rewriter.declared.contribution import ONE, Norm
from rewriter.declared.interval import Interval
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import BIGINT, DOUBLE, SMALLINT
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.duckdb import DuckDB
from rewriter.dialects.nodes import number
from rewriter.expressions import value_lattice as clipping
from rewriter.expressions.value import Value
from rewriter.measure import mean_pairs as pairs
from rewriter.measure import overlapping_counts as family
from rewriter.measure import summand as summed
from rewriter.measure.vectors import Addend, Cell, Vector
from rewriter.per_person import person_rows as per_person
from rewriter.plan import Block
from rewriter.planner import plan_release as planner
from rewriter.relations import ownership as privacy_unit
from rewriter.strategies.conditional_sums import Strategy
from rewriter.strategies.prefix_strategies import Prefix

Plant = Callable[[pytest.MonkeyPatch], None]
PLANTS: dict[str, Plant] = {}


SEEN: dict[str, int] = {
    "upper bound claimed where the lower is larger": 2,
    "codes by order of appearance": 5,
    "atoms not told apart": 7,
    "overlapping conditions claimed as one": 18,
    "means believed disjoint": 13,
    "one atom weighs twice": 1,
    "largest atom left out of a sensitivity": 1,
    "clamp before a multiplication": 30,
    "running sums of units clipped in l2": 221,
    "bound on one key and group by another": 245,
    "fan out of a parent forgotten": 22,
    "one row per unit believed": 22,
    "suspects counted too late": 20,
    "rows of two tables numbered alike": 136,
    "running sums declared as their groups": 221,
}
"""A world at or before that in which a bug was seen first, where that is a late one: a hunt that is in a hurry begins there."""


def plant(function: Plant) -> Plant:
    """Register a bug under the name of its function, in words."""
    PLANTS[function.__name__.replace("_", " ")] = function
    return function


# What one row may add.


@plant
def value_not_clamped(patch: pytest.MonkeyPatch) -> None:
    def steps(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
        exact = dialect.to_steps(value.sql.copy(), value.type, granularity)
        return dialect.try_cast(exact.this if isinstance(exact, exp.Cast) else exact, BIGINT)

    patch.setattr(summed, "clipped_steps", steps)


@plant
def clamp_before_a_multiplication(patch: pytest.MonkeyPatch) -> None:
    honest = clipping.clipped_steps

    def steps(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
        clipped = honest(value, interval, granularity, dialect)
        if value.sql.find(exp.Mul) is None:
            return clipped
        return exp.Paren(this=exp.Mul(this=exp.Paren(this=clipped), expression=number(2)))

    patch.setattr(summed, "clipped_steps", steps)


@plant
def upper_bound_claimed_where_the_lower_is_larger(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Interval, "magnitude", property(lambda interval: max(abs(interval.high), Fraction(1))))


@plant
def sum_of_doubles(patch: pytest.MonkeyPatch) -> None:
    honest = clipping.clipped_steps

    def steps(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
        return dialect.cast(honest(value, interval, granularity, dialect), DOUBLE)

    patch.setattr(summed, "clipped_steps", steps)


@plant
def bounds_from_data(patch: pytest.MonkeyPatch) -> None:
    """Values above the mean of their column are clipped to it."""
    honest = clipping.clipped_steps

    def steps(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
        found = BEHIND.of(value.sql)
        clipped = honest(value, interval, granularity, dialect)
        if not isinstance(found, Variable) or found.column.type.numeric is False:
            return clipped
        column = exp.column(exp.to_identifier(found.name, quoted=True))
        mean = exp.select(exp.Avg(this=column)).from_(exp.to_identifier(found.table.name, quoted=True))
        above = exp.GT(this=dialect.cast(value.sql.copy(), DOUBLE), expression=exp.Subquery(this=mean))
        return exp.Case(ifs=[exp.If(this=above, true=number(int(interval.low / granularity)))], default=clipped)

    patch.setattr(summed, "clipped_steps", steps)


@plant
def codes_by_order_of_appearance(patch: pytest.MonkeyPatch) -> None:
    """Values are replaced by their rank among all values, clipped into the range."""
    honest = clipping.clipped_steps

    def steps(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=value.sql.copy())])
        rank = exp.Window(this=exp.Anonymous(this="dense_rank"), order=order)
        coded = replace(value, sql=dialect.cast(rank, BIGINT), type=BIGINT)
        return honest(coded, interval, granularity, dialect)

    patch.setattr(summed, "clipped_steps", steps)


@plant
def atoms_not_told_apart(patch: pytest.MonkeyPatch) -> None:
    honest = bound._filter
    patch.setattr(
        bound, "_filter", lambda node, addend, dialect: node if addend.atom else honest(node, addend, dialect)
    )


@plant
def one_atom_weighs_twice(patch: pytest.MonkeyPatch) -> None:
    honest = bound._addend

    def addend(one: Addend, dialect: Dialect) -> exp.Expr:
        return honest(replace(one, weight=2 * one.weight) if one.atom == 0 and one.weight > 1 else one, dialect)

    patch.setattr(bound, "_addend", addend)


@plant
def largest_atom_left_out_of_a_sensitivity(patch: pytest.MonkeyPatch) -> None:
    def sizes(strategy: Strategy) -> list[int]:
        found = sorted({sum(cell * cell for cell in column) for column in zip(*strategy.cells, strict=True)})
        return found[:-1] or found

    patch.setattr(Strategy, "l2_squared", property(lambda strategy: max(sizes(strategy))))
    patch.setattr(Strategy, "l1", property(lambda strategy: math.isqrt(max(sizes(strategy)))))


@plant
def overlapping_conditions_claimed_as_one(patch: pytest.MonkeyPatch) -> None:
    honest = family._Measurement._add

    def add(
        self: family._Measurement, cells: Sequence[Cell], l1: int, l2_squared: int, share: Fraction, **how: Any
    ) -> None:
        apart = l1 == l2_squared == len(cells)
        honest(self, cells, 1 if apart else l1, 1 if apart else l2_squared, share, **how)

    patch.setattr(family._Measurement, "_add", add)


@plant
def means_believed_disjoint(patch: pytest.MonkeyPatch) -> None:
    """Of overlapping conditions, each mean counts its own rows; one sensitivity is claimed for all of them."""
    honest = pairs.measured

    def measured(wanted: Any, builder: Any, norm: Norm) -> Any:
        before = len(builder.vectors)
        found = honest(wanted, builder, norm)
        own = builder.vectors[before:]
        if own:
            every = tuple(cell for vector in own for cell in vector.cells)
            builder.vectors[before:] = [replace(own[0], cells=every)]
        return found

    patch.setattr(pairs, "measured", measured)


# What one unit may add.


@plant
def one_row_claimed_and_three_allowed(patch: pytest.MonkeyPatch) -> None:
    honest = Ball.block

    def block(ball: Ball) -> Block:
        made = honest(ball)
        declared = made.sensitivity
        l1 = None if declared.l1 is None else declared.l1 // 3
        return Block(made.statistics, Sensitivity(l1, declared.l2_squared // 9))

    patch.setattr(Ball, "block", block)


@plant
def no_row_limit(patch: pytest.MonkeyPatch) -> None:
    def clamped(keys: list[str], balls: Sequence[Ball], counted: Sequence[str], dialect: Dialect) -> exp.Select:
        cells = [*(cell.name for ball in balls for cell in ball.vector.cells), *counted]
        columns = [exp.alias_(dialect.cast(exp.column(name), BIGINT), name) for name in cells]
        return exp.Select(expressions=[exp.column("u"), *map(exp.column, keys), *columns]).from_("partial")

    patch.setattr(bound, "_clamped", clamped)


@plant
def no_group_limit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ball, "most", 10**18)


@plant
def limit_per_group_and_not_per_unit(patch: pytest.MonkeyPatch) -> None:
    honest = bound._summed
    patch.setattr(
        bound,
        "_summed",
        lambda keys, balls, of_balls, selection, one_group, dialect: honest(
            keys, balls, of_balls, selection, True, dialect
        ),
    )


@plant
def weight_ignores_the_number_of_groups(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bound, "_weight", lambda selection, *rest: number(int(1 / selection.granularity)))


@plant
def distinct_rows_claimed_as_one(patch: pytest.MonkeyPatch) -> None:
    honest = bound._clamped

    def clamped(keys: list[str], balls: Sequence[Ball], counted: Sequence[str], dialect: Dialect) -> exp.Select:
        select = honest(keys, balls, counted, dialect)
        distinct = {cell.name for ball in balls if ball.vector.distinct for cell in ball.vector.cells}
        for item in list(select.expressions):
            if item.alias in distinct:
                item.replace(exp.alias_(dialect.cast(exp.column(item.alias), BIGINT), item.alias))
        return select

    patch.setattr(bound, "_clamped", clamped)


@plant
def bound_on_one_key_and_group_by_another(patch: pytest.MonkeyPatch) -> None:
    """A person's groups by another key are believed to be one row per person."""
    patch.setattr(per_person, "ContributionBound", lambda *args, **kwargs: ONE)


@plant
def bounds_before_a_join(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(privacy_unit, "_row_bound", lambda sources, private, *rest: private[0].bound)


@plant
def rounded_away_from_zero(patch: pytest.MonkeyPatch) -> None:
    def rounded(self: Dialect, sql: exp.Expr) -> exp.Expr:
        outward = exp.Case(
            ifs=[exp.If(this=exp.GT(this=sql.copy(), expression=number(0)), true=exp.Ceil(this=sql.copy()))],
            default=exp.Floor(this=sql),
        )
        return self.cast(outward, BIGINT)

    patch.setattr(Dialect, "truncate", rounded)


@plant
def groups_believed_constant(patch: pytest.MonkeyPatch) -> None:
    honest = planner.bound
    patch.setattr(planner, "bound", lambda *args, one_group, **how: honest(*args, one_group=True, **how))


@plant
def running_sums_declared_as_their_groups(patch: pytest.MonkeyPatch) -> None:
    def declared(prefix: Prefix, l1: int) -> Sensitivity:
        steps = l1 * prefix.strategy.unit
        return Sensitivity(steps, steps * steps)

    patch.setattr(Prefix, "sensitivity", declared)


@plant
def running_sums_of_units_clipped_in_l2(patch: pytest.MonkeyPatch) -> None:
    """The longest column bounds what a vector of that L1 norm moves, and not one of that L2 norm."""
    honest = ball._ball_of

    def larger(vector: Vector, norm: Norm, *rest: Any) -> Ball:
        return replace(honest(replace(vector, prefix=None), norm, *rest), vector=vector)

    def measured(statistics: Any, sensitivity: Sensitivity, vector: Vector) -> Block:
        if vector.prefix is None:
            return Block(statistics, sensitivity, weight=vector.weight)
        return Block(statistics, vector.prefix.sensitivity(math.isqrt(sensitivity.l2_squared)), vector.prefix)

    patch.setattr(ball, "_ball_of", larger)
    patch.setattr(ball, "measured", measured)


# Which rows and which groups.


@plant
def limit_before_aggregation(patch: pytest.MonkeyPatch) -> None:
    honest = bound._rows
    patch.setattr(bound, "_rows", lambda *arguments: honest(*arguments).limit(7))


@plant
def rows_of_nobody_escape(patch: pytest.MonkeyPatch) -> None:
    from rewriter.relations import from_where as block

    honest = block.own
    patch.setattr(block, "own", lambda *args: replace(honest(*args), semi_join=None, nullable=False))


@plant
def keys_from_data(patch: pytest.MonkeyPatch) -> None:
    honest = bound._with_keys

    def with_keys(final, ctes, counts, keys, names, selection, public, dialect):  # type: ignore[no-untyped-def]
        return honest(final, ctes, counts, keys, names, selection, None if final is not None else public, dialect)

    patch.setattr(bound, "_with_keys", with_keys)


@plant
def having_before_noise(patch: pytest.MonkeyPatch) -> None:
    honest = bound._with_keys

    def with_keys(final, ctes, counts, keys, names, selection, public, dialect):  # type: ignore[no-untyped-def]
        if final is not None and keys:
            final.set("having", exp.Having(this=exp.GT(this=exp.Count(this=exp.Star()), expression=number(2))))
        return honest(final, ctes, counts, keys, names, selection, public, dialect)

    patch.setattr(bound, "_with_keys", with_keys)


@plant
def narrow_cast_overflows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ball, "BIGINT", SMALLINT)


@plant
def fan_out_of_a_parent_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(privacy_unit, "_meets_once", lambda *args: True)


@plant
def one_row_per_unit_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(contribution.ContributionBound, "times", lambda bound, *rest: bound)


@plant
def suspects_counted_too_late(patch: pytest.MonkeyPatch) -> None:
    honest = bound._suspects
    patch.setattr(bound, "_suspects", lambda query, limit: honest(query, 3 * limit))


@plant
def rows_of_two_tables_numbered_alike(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DuckDB, "row_identity", lambda self, alias, place, tables: exp.column("rowid", alias))
