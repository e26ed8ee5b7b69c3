"""Values that an aggregate picks from one person's rows: MIN, MAX, BOOL_OR and PERCENTILE_DISC keep what is declared.

``MIN(placed)`` of one person is the ``placed`` of one of the person's rows. So its values are those of the column, by
the owner's declaration as much as for a plain column, and a month of it is a key with declared values:
``SELECT month, COUNT(*) FROM (SELECT customer_id, DATE_TRUNC('month', MIN(placed)) AS month … ) GROUP BY 1``.

Theorem: where an aggregate is one of its argument's values or NULL, and reads at least one row, some row of its group
has exactly its value: the row it was picked from, or, if it is NULL, any row. All conditions that hold on every row
hold on that one. So the column is its argument, and the conditions hold, over *variables of its own*, those of that
row. The rows of two such columns may differ, and so do their variables. With FILTER there may be no such row, and the
column is also NULL; then no condition is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.columns import BEHIND, Origin, Path, Variable, named, variable_behind, within
from rewriter.declared import Interval
from rewriter.expressions import Value
from rewriter.release import Aggregate


@dataclass(frozen=True, slots=True)
class PickedValue:
    """What is behind the column of an aggregate, None where nothing is known; and ``filters`` that hold of it."""

    behind: Origin | None = None
    filters: tuple[Value, ...] = ()


def picked_value(
    aggregate: Aggregate, name: str, filters: Sequence[Value], interval: Interval | None, *, alone: bool
) -> PickedValue:
    """The argument of an aggregate over the variables of the row that it was picked from, called after ``name``.

    ``filters`` hold on every row, and the aggregate's value lies in the ``interval``. ``alone``: no GROUP BY, so
    that the aggregate may read no row at all.
    """
    argument = aggregate.argument
    if argument is None or not aggregate.kind.own_value or argument.randomized is not None or argument.type.nested:
        return PickedValue()
    optional = alone or aggregate.condition is not None
    if not _is_of_rows(argument.sql) or (optional and variable_behind(argument.sql) is None):
        return PickedValue()
    own_row = _of_own_row(argument.sql, name, optional=optional)
    behind = Origin(own_row)
    if optional:
        if isinstance(column := BEHIND.of(own_row), Variable):
            BEHIND.on(own_row, within(column, interval))
        return PickedValue(behind)
    own = (replace(one, sql=_of_own_row(one.sql, name)) for one in _about(argument.sql, filters))
    return PickedValue(behind, tuple(own))


def _about(sql: exp.Expr, filters: Sequence[Value]) -> Iterator[Value]:
    """The conditions that say something of an expression: those that read one of its variables, or are tied to it."""
    reads, left = set(_variables(sql, ())), [(one, set(_variables(one.sql, ()))) for one in filters]
    while near := [pair for pair in left if pair[1] & reads]:
        left = [pair for pair in left if not pair[1] & reads]
        for condition, variables in near:
            reads |= variables
            yield condition


def _is_of_rows(sql: exp.Expr) -> bool:
    """Whether an expression is one over declared columns alone, through subqueries."""
    behind = BEHIND.of(sql)
    if isinstance(behind, Variable):
        return True
    if isinstance(behind, Origin):
        return _is_of_rows(behind.sql)
    if behind is not None or isinstance(sql, exp.Column | exp.Query | exp.AggFunc | exp.Window):
        return False
    return all(_is_of_rows(child) for child in sql.iter_expressions())


def _variables(sql: exp.Expr, path: Path) -> Iterator[Variable]:
    behind = BEHIND.of(sql)
    if isinstance(behind, Variable):
        yield named(behind, path)
    elif isinstance(behind, Origin):
        yield from _variables(behind.sql, (*path, sql.text("table")))
    else:
        for child in sql.iter_expressions():
            yield from _variables(child, path)


def _of_own_row(sql: exp.Expr, name: str, *, optional: bool = False) -> exp.Expr:
    """A copy of an expression over variables of its own. The copy is only read, and never part of an engine's SQL.

    ``optional``: the expression is a column, and may be NULL where the column is not.
    """
    copy = sql.copy()
    for node in list(copy.walk()):
        behind = BEHIND.of(node)
        if isinstance(behind, Variable):
            own = replace(behind, alias=f"{behind.alias}{name}", optional=behind.optional or optional, picked=True)
            BEHIND.on(node, own)
        elif isinstance(behind, Origin):
            BEHIND.on(node, Origin(_of_own_row(behind.sql, name, optional=optional)))
    return copy
