"""The shape of a SELECT: whether it groups, and its nodes without those of subqueries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from rewriter.statement.refused_parts import only


def is_grouped(select: exp.Select) -> bool:
    """Whether a SELECT aggregates: it has GROUP BY, HAVING, DISTINCT, or an aggregate that is not a window's.

    DISTINCT ON alone does not: it keeps rows.
    """
    distinct = select.args.get("distinct")
    if select.args.get("group") or select.args.get("having") or (distinct is not None and not distinct.args.get("on")):
        return True
    return any(has_aggregate(item) for item in select.expressions)


def has_aggregate(node: exp.Expr) -> bool:
    return any(isinstance(found, exp.AggFunc) and not is_window_function(found) for found in walk(node))


def is_window_function(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls) and parent.this is node:
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is node


def walk(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, not those inside of its subqueries."""
    for found in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if not isinstance(found, exp.Query):
            yield found


def star_of(item: exp.Expr) -> tuple[bool, str | None]:
    """Whether a select item is ``*`` or ``table.*``, and the table."""
    if isinstance(item, exp.Star):
        only(item, frozenset(), "SELECT *", "name the columns")
        return True, None
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        only(item.this, frozenset(), "SELECT *", "name the columns")
        return True, item.table
    return False, None


def children_of(node: exp.Expr) -> Iterable[exp.Expr]:
    return list(node.iter_expressions())


def is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Filter | exp.WithinGroup):
        return is_aggregate(node.this)
    return isinstance(node, exp.AggFunc)
