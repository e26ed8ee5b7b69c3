"""Which ends of ranges that follow the clock a release depends on: those beyond which its rows may lie.

A range ``[2024-01-01, now]`` lists other groups tomorrow: a person is clipped over more of them, and the groups of
yesterday are not all that a coarser one of tomorrow adds up. So a release of one end is no part of one of another.

Guarantee: where every row is at or before the end by a condition of the statement, neither the groups nor the clipping
depend on where the end is, today or later: groups are listed from the range and the conditions together, and no end
cuts what the conditions leave. So the days that are over are the same releases whenever they were measured.

What is told here depends on the rows alone, and not on the keys or the aggregates: two releases that are compared have
the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.columns import Facts, catalog_name
from rewriter.declared import Scalar, measure
from rewriter.release import Query


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
