"""Which bounds an expression lacks: the columns of people without a range, and tables without ``max_rows``, behind it.

The bounds that are found are a superset of the needed ones: in ``CASE WHEN a > 0 THEN b END`` the range of ``a`` does
not matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.columns import BEHIND, Computed, Origin, Variable
from rewriter.declared import ContributionBound, Missing
from rewriter.refused import Unbounded
from rewriter.release import Aggregate, Query


def missing_ranges(node: exp.Expr) -> frozenset[Missing]:
    """The bounds without which the range of an expression is not known."""
    return _found(node, learned=False)


def learned_ranges(node: exp.Expr) -> bool:
    """Whether the range of an expression may follow from a bound that was learned."""
    return any(lacks or (column is not None and column.column.learned is not None) for column, lacks in _leaves(node))


def range_lacks(node: exp.Expr) -> frozenset[Missing]:
    """The bounds, learned or missing, that the range of an expression follows from."""
    return _found(node, learned=True)


def lacks_of(aggregate: Aggregate, bound: ContributionBound) -> frozenset[Missing]:
    """The bounds, learned or missing, that the range of a per-person aggregate follows from."""
    argument = frozenset() if aggregate.argument is None else range_lacks(aggregate.argument.sql)
    if aggregate.kind.counts:
        return frozenset(Missing(table) for table in bound.undeclared)
    if aggregate.kind.sums:
        return argument | frozenset(Missing(table) for table in bound.undeclared)
    return argument


def tables_of(query: Query) -> str:
    names = [table.name for table in query.rows.find_all(exp.Table)]
    return ", ".join(dict.fromkeys(names)) or "the table"


def unbounded_rows(bound: ContributionBound, query: Query, *, otherwise: str = "") -> Unbounded:
    """The refusal of what one person could add to with any number of rows; ``otherwise`` is what else may do."""
    missing = frozenset(Missing(table) for table in bound.undeclared)
    tables = ", ".join(sorted(bound.undeclared)) or tables_of(query)
    return Unbounded(
        "nothing bounds how many rows one person adds to this",
        hint=f"the owner can declare max_rows for {tables} in the policy{otherwise}",
        missing=missing,
        certain=missing,
    )


def _found(node: exp.Expr, *, learned: bool) -> frozenset[Missing]:
    found: set[Missing] = set()
    for column, lacks in _leaves(node):
        found |= lacks
        if column is not None and (column.column.interval is None or (learned and column.column.learned is not None)):
            found.add(Missing(column.table.name, column.column.name))
    return frozenset(found)


def _leaves(node: exp.Expr, followed: set[int] | None = None) -> Iterator[tuple[Variable | None, frozenset[Missing]]]:
    """The numeric columns of tables of people that an expression reads, through subqueries; and what lacks there.

    An origin is followed once: many columns of a subquery may have the same, and so on at each level below.
    """
    followed = set() if followed is None else followed
    for part in node.walk():
        behind = BEHIND.of(part)
        if isinstance(behind, Variable) and not behind.table.public and behind.column.type.numeric:
            yield behind, frozenset()
        elif isinstance(behind, Origin) and id(behind.sql) not in followed:
            followed.add(id(behind.sql))
            yield from _leaves(behind.sql, followed)
        elif isinstance(behind, Computed):
            yield None, behind.lacks
