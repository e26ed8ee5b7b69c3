"""Names of statistics: two share a name only when the coarser one is the sum of the finer one, for all data.

Strictly: both are over the same rows of the same people, and add up the same values on the same lattice. And a unit's
contribution to a group is, integer for integer, the sum of its contributions to the finer groups within it. That is so

- where a unit has one row: nothing is clipped after the row's own value;
- where all keys are constant per unit: a unit has one group, finer or coarser, and there its vector is clipped alike;
- otherwise only where the keys that vary within a unit are the same ones, in any order; beside them, those that are
  constant per unit only say which of the units have what they have. Clipping a person's year is not the sum of
  clipping their months, so an answer of one is never made of the other, however near they are.

Groupings of the same rows that are shown together are clipped alike (:mod:`rewriter.planner.alike`). There totals are
the sums of their parts, up to less than a step of a very fine lattice. ``Plan.sums`` is the name that such groupings
share, and inference makes their tables agree. Groupings that a workload measures as one vector
(:mod:`rewriter.planner.joint_rows`) share the names of their statistics as well, on the same terms: they are marginals
of one table, up to less than such a step for each person who is clipped.

A name depends on the text and the policy alone.

Which ends of ranges that follow the clock a release depends on: those beyond which its rows may lie.

A range ``[2024-01-01, now]`` lists other groups tomorrow: a person is clipped over more of them, and the groups of
yesterday are not all that a coarser one of tomorrow adds up. So a release of one end is no part of one of another.

Guarantee: where every row is at or before the end by a condition of the statement, neither the groups nor the clipping
depend on where the end is, today or later: groups are listed from the range and the conditions together, and no end
cuts what the conditions leave. So the days that are over are the same releases whenever they were measured.

What is told here depends on the rows alone, and not on the keys or the aggregates: two releases that are compared have
the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from sqlglot import exp

from rewriter.bound import deciding
from rewriter.canonical_form import canonical_form, identity_of
from rewriter.columns import Facts, catalog_name
from rewriter.declared import Scalar, Type, measure
from rewriter.dialects import Dialect
from rewriter.expressions import Value
from rewriter.measure import Cell, Vector, Workload
from rewriter.plan import Block, Plan, celled_family
from rewriter.planner.canonical_sql import canonical
from rewriter.release import Query


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """The rows and aggregates that a release asks for, as a name, and the keys of each of its groupings."""

    asked: str
    keys: tuple[tuple[str, ...], ...]


def measured_by(query: Query) -> MeasuredRows:
    """What a release measures: releases of one name differ in their keys alone."""
    arguments = [_trees(one.argument, one.condition, one.second, *one.row) for one in query.aggregates]
    keys = [[key.value.sql for key in grouping.keys] for grouping in query.groupings]
    every = [tree for trees in (*arguments, *keys) for tree in trees]
    rows, spelt = canonical([query.rows, query.unit], every)
    texts = iter(spelt)
    aggregates = [
        f"{one.kind.node.__name__} {one.distinct} {one.fraction} {one.regression or ''}"
        + "\n".join(islice(texts, len(trees)))
        for one, trees in zip(query.aggregates, arguments, strict=True)
    ]
    return MeasuredRows("\n\n".join((rows, *aggregates)), tuple(tuple(islice(texts, len(trees))) for trees in keys))


def _trees(*values: Value | None) -> list[exp.Expr]:
    return [exp.Null() if value is None else value.sql for value in values]


@dataclass(frozen=True, slots=True)
class Alike:
    """The sums over a unit's rows that clip it in all groupings, each with the most that is kept of it.

    ``adds_up``: nothing else clips units in this grouping, whatever the data.
    """

    limits: tuple[tuple[tuple[Cell, ...], int], ...]
    adds_up: bool


def key_families(query: Query, dialect: Dialect) -> tuple[str, ...]:
    """The families of the keys of a query."""
    values = [key.value for key in query.keys]
    rows, texts = _named_rows(query, [value.sql for value in values], dialect)
    return tuple(_family_of(rows, value.type, text) for value, text in zip(values, texts, strict=True))


def _named_rows(query: Query, trees: Sequence[exp.Expr], dialect: Dialect) -> tuple[str, list[str]]:
    """The rows of a query as one text, with the ends of moving ranges that they may lie beyond, and each tree over
    them."""
    of_rows = [dialect.spelt(query.rows), dialect.spelt(query.unit)]
    rows, texts = canonical(of_rows, [dialect.spelt(tree) for tree in trees])
    ends = ends_in_reach(query)
    return f"{rows}\n{canonical_form(ends)}" if ends else rows, texts


def _family_of(rows: str, type_: Type, text: str) -> str:
    return identity_of((rows, str(type_), text))


def with_families(
    plan: Plan, query: Query, work: Workload, dialect: Dialect, *, one_group: bool, alike: Alike | None = None
) -> Plan:
    """The plan with the families of its keys and statistics. Its blocks are the workload's vectors, in order.

    ``one_group`` is the fact that no unit has rows in two groups of the key set. ``alike`` has the sums that clip
    units, where these are the same in other groupings.
    """
    tests = [sql for _, sql in work.columns]
    rows, texts = _named_rows(query, [*(key.value.sql for key in query.keys), *tests], dialect)
    width = len(query.keys)
    _, asked = _named_rows(query, [(key.declared or key).value.sql for key in query.keys], dialect)
    keys = tuple(
        replace(column, family=_family_of(rows, column.type, text))
        for column, text in zip(plan.keys, asked, strict=True)
    )
    keys = tuple(
        replace(column, family=celled_family(column.family, _family_of(rows, column.type, text)))
        if column.celled
        else column
        for column, text in zip(keys, texts[:width], strict=True)
    )
    columns = dict(zip((name for name, _ in work.columns), texts[width:], strict=True))
    for one in work.derived:
        columns[one.name] = canonical_form((one.how, *(columns[name] for name in one.of)))
    cells = [[_cell(cell, columns) for cell in vector.cells] for vector in work.vectors]
    if query.bound.unique:
        groups: tuple[object, ...] = ("row",)
    elif all(key.value.constant for key in query.keys):
        groups = ("unit",)
    else:
        varying = (column.family for column, key in zip(keys, query.keys, strict=True) if not key.value.constant)
        groups = ("groups", one_group, *sorted(varying))
    measured = list(zip(plan.blocks, work.vectors, cells, strict=bool(plan.blocks)))
    balls = [_ball(block, vector, texts_of) for block, vector, texts_of in measured]
    decisive = deciding([vector for _, vector, _ in measured])
    factors = {
        distinct: sorted(
            canonical_form(ball)
            for ball, vector in zip(balls, work.vectors, strict=bool(balls))
            if vector in decisive and vector.distinct is distinct and vector.credit is None
        )
        for distinct in (False, True)
    }
    named = groups
    if alike is None:
        by = (*groups, *(() if query.bound.unique else factors[False]))
    else:
        limits = sorted((sorted(_cell(cell, columns) for cell in sums), most) for sums, most in alike.limits)
        by = ("alike", *limits, *(() if alike.adds_up else groups))
        named = ("joined", *limits) if query.joined else (*groups, "alike", *limits)
    blocks = tuple(
        _named(block, vector, f"{plan.dialect}\n{rows}", texts_of, named, (*ball, *factors[vector.distinct]))
        for (block, vector, texts_of), ball in zip(measured, balls, strict=True)
    )
    return replace(plan, keys=keys, blocks=blocks, sums=identity_of(by))


def _ball(block: Block, vector: Vector, cells: Sequence[str]) -> tuple[object, ...]:
    """A vector and the ball that holds it."""
    steps = tuple((statistic.granularity, statistic.bound) for statistic in block.statistics)
    return (steps, block.sensitivity, vector.distinct, vector.signed, *cells)


def _named(
    block: Block,
    vector: Vector,
    rows: str,
    cells: Sequence[str],
    groups: tuple[object, ...],
    clipped: tuple[object, ...],
) -> Block:
    """The block, with a family name for each statistic. Where more than a row is clipped, a unit's contribution depends
    on its whole vector, on the vector's ball, and on all balls that decide the unit's factor: ``clipped`` holds these.

    Statistics of running sums and of distinct values get no name: the first are no numbers of a group, and the second
    do not add up.
    """
    if block.prefix is not None or any(addend.distinct for cell in vector.cells for addend in cell.addends):
        return block
    shared = identity_of((rows, groups, *(() if groups == ("row",) else clipped)))
    statistics = tuple(
        replace(statistic, family=identity_of((shared, cell, statistic.granularity)))
        for statistic, cell in zip(block.statistics, cells, strict=True)
    )
    return replace(block, statistics=statistics)


def _cell(cell: Cell, columns: Mapping[str, str]) -> str:
    """The addends of a cell as text, whatever our own names for its columns."""
    addends = [
        (
            one.weight,
            *(None if name is None else columns[name] for name in (one.summed, one.counted, one.test)),
            one.atom,
            *(columns[name] for name in one.distinct),
            *(("person",) if one.person else ()),
        )
        for one in cell.addends
    ]
    return canonical_form(sorted(map(canonical_form, addends)))


def ends_in_reach(query: Query) -> Sequence[tuple[str, str, Scalar]]:
    """The ends of a query that its conditions do not keep all rows from."""
    if not query.ends:
        return ()
    limits = Facts.of(query.filters).limits
    read = [catalog_name(table) for table in query.rows.find_all(exp.Table)]

    def kept_from(table: str, column: str, end: Scalar) -> bool:
        within = sum(
            one.high is not None and one.high <= measure(end)
            for variable, one in limits.items()
            if (variable.table.name, variable.column.name) == (table, column)
        )
        # A table that is read twice has two columns of the name, each with limits of its own.
        return 0 < read.count(table) == within

    return tuple(one for one in query.ends if not kept_from(*one))
