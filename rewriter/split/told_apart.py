"""By which columns the rows of a query differ, whatever the data: read from the form of the query alone.

A fact that lowers noise: people who are joined with at most one row of an earlier answer are not clipped for it. So it
is claimed here alone, and :func:`rewriter.split.earlier_answers.EarlierAnswers.relation` holds it against the rows that
were released before they reach an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlglot import exp

from rewriter.expressions import makes_rows
from rewriter.statement import folded, from_items, grouped_item, has_aggregate, output_name, unaliased, walk


@dataclass(frozen=True, slots=True)
class _Reading:
    """A query that FROM names, whether its columns are ``renamed`` there, and the WITH queries ``around`` it."""

    query: exp.Expr
    renamed: bool
    around: Mapping[str, _Reading]


def told_apart(query: exp.Expr, around: Mapping[str, _Reading] = MappingProxyType({})) -> frozenset[int] | None:
    """The columns by which the rows of a query differ, whatever the data; none of them where it has at most one row.

    Theorem: an aggregation without GROUP BY has one row, and one with GROUP BY has one row for each combination of its
    keys, which are all among the columns. A projection of one such query alone keeps its rows. HAVING, LIMIT and
    DISTINCT only remove rows. A function that makes rows in a select list, a second item in FROM and a set operation
    repeat rows, so that nothing is claimed of them. ``around`` are the WITH queries in reach.

    >>> import sqlglot
    >>> texts = ("SELECT AVG(x) FROM t", "SELECT a, AVG(x) FROM t GROUP BY a", "SELECT AVG(x) FROM t GROUP BY a")
    >>> [told_apart(sqlglot.parse_one(text)) for text in texts]
    [frozenset(), frozenset({0}), None]
    >>> one = "SELECT n FROM (SELECT COUNT(*) AS n FROM t) AS x"
    >>> texts = (one, f"{one}, t", "SELECT COUNT(*), GENERATE_SERIES(1, 9) FROM t")
    >>> [told_apart(sqlglot.parse_one(text)) for text in texts]
    [frozenset(), None, None]
    """
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return None
    reach = dict(around)
    for cte in query.args["with_"].expressions if query.args.get("with_") else ():
        reach[cte.alias.lower()] = _Reading(cte.this, bool(cte.args["alias"].columns), dict(reach))
    if any(makes_rows(node) for item in query.expressions for node in walk(item)):
        return None
    group = query.args.get("group")
    if group is None:
        alone = any(map(has_aggregate, query.expressions))
        return frozenset() if alone else _kept(query, reach)
    if any(value for part, value in group.args.items() if part != "expressions"):
        return None
    items = [unaliased(item) for item in query.expressions]
    keys = [grouped_item(key, query) for key in group.expressions]
    return frozenset(map(items.index, keys)) if all(key in items for key in keys) else None


def _kept(select: exp.Select, reach: Mapping[str, _Reading]) -> frozenset[int] | None:
    """The columns that tell the rows of a projection apart: those of the one query that it reads, where it has them."""
    read = [_reading(item, reach) for item in from_items(select)]
    if len(read) != 1 or read[0] is None or select.args.get("laterals"):
        return None
    inner = read[0].query
    told = told_apart(inner, read[0].around)
    if not told:
        return told
    inner = inner.unnest()
    if read[0].renamed or not isinstance(inner, exp.Select):
        return None
    names = [output_name(item) for item in inner.expressions]
    plain = [unaliased(item) for item in select.expressions]
    shown = {folded(item): place for place, item in enumerate(plain) if isinstance(item, exp.Column)}
    found = frozenset(shown[names[at]] for at in told if names.count(names[at]) == 1 and names[at] in shown)
    return found if len(found) == len(told) else None


def _reading(item: exp.Expr, reach: Mapping[str, _Reading]) -> _Reading | None:
    """The query that an item of FROM is, alone."""
    if isinstance(item, exp.Subquery) and not any(item.args.get(name) for name in ("joins", "pivots", "sample")):
        alias = item.args.get("alias")
        return _Reading(item.this, alias is not None and bool(alias.columns), reach)
    if isinstance(item, exp.Table) and not item.db and not any(item.args.get(name) for name in ("joins", "pivots")):
        found = reach.get(item.name.lower())
        alias = item.args.get("alias")
        if found is not None and alias is not None and alias.columns:
            return replace(found, renamed=True)
        return found
    return None
