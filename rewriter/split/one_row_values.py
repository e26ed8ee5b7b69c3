"""Subqueries for one value that compute with aggregates, as expressions over subqueries for one aggregate each.

Theorems: ``(SELECT e)`` without FROM is ``e``. An aggregate without GROUP BY has one row, whatever the rows are, so
that ``(SELECT f(COUNT(*), SUM(x)) FROM t WHERE q)`` is ``f`` of ``(SELECT COUNT(*) FROM t WHERE q)`` and ``(SELECT
SUM(x) FROM t WHERE q)``; other columns in ``f`` are those of the row outside.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.relations import Inside
from rewriter.statement import has_aggregate, unaliased, walk

_OF_ROWS = frozenset({"expressions", "from_", "joins", "where"})
_WORN = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Window, exp.Order)
"""Nodes around an aggregate, or in it, that say more of how it aggregates."""
_LARGEST = 10_000
"""Syntax nodes that a subquery becomes, at most: its FROM and WHERE stand once for each aggregate."""
_SETS = (exp.Explode, exp.Unnest, exp.GenerateSeries, exp.Window)


def apart(node: exp.Subquery) -> exp.Expr | None:
    """The expression that a subquery for one value is; None where it is none of these.

    >>> import sqlglot
    >>> for sql in ("(SELECT (SELECT r.x))", "(SELECT COUNT(*) + r.x FROM t WHERE t.k = r.k)", "(SELECT t.x FROM t)"):
    ...     found = apart(sqlglot.parse_one(sql))
    ...     print(found and found.sql())
    (r.x)
    ((SELECT COUNT(*) FROM t WHERE t.k = r.k) + r.x)
    None
    """
    query = node.this
    if not isinstance(query, exp.Select) or node.args.get("alias") or len(query.expressions) != 1:
        return None
    item = unaliased(query.expressions[0])
    parts = {name for name, value in query.args.items() if value}
    if item.is_star or isinstance(item, exp.AggFunc) or any(isinstance(part, _SETS) for part in walk(item)):
        return None
    if parts == {"expressions"}:
        if has_aggregate(item):
            return None
        inner = apart(item) if isinstance(item, exp.Subquery) else None
        return inner or exp.Paren(this=item.copy())
    if parts - _OF_ROWS or not has_aggregate(item) or item.find(*_WORN) is not None:
        return None
    value = exp.Paren(this=item.copy())
    aggregates = list(_outermost(value))
    if len(aggregates) * sum(1 for _ in query.walk()) > _LARGEST:
        return None
    found = {id(column) for one in aggregates for column in one.find_all(exp.Column)}
    inside = Inside(query)
    if any(column in inside and id(column) not in found for column in value.find_all(exp.Column)):
        return None
    for one in aggregates:
        single = query.copy()
        single.set("expressions", [one.copy()])
        one.replace(exp.Subquery(this=single))
    return value


def _outermost(node: exp.Expr) -> Iterator[exp.AggFunc]:
    """The aggregates of an expression that stand in no other one."""
    for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query | exp.AggFunc)):
        if isinstance(part, exp.AggFunc):
            yield part
