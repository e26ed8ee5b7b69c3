"""Groups chosen by an aggregate over people, as dashboards ask for their largest ones.

``FROM visit JOIN (SELECT reason AS r, COUNT(*) … GROUP BY reason ORDER BY 2 DESC LIMIT 5) AS top ON reason = r`` joins
rows of people with released numbers. Where the query groups by ``reason``, the join keeps or drops whole groups, and
that is what ``HAVING reason IN (SELECT r FROM (…) AS top)`` does, above the noise.

Guarantee: the meaning is the same. A join that could repeat rows, or that reads more than keys, is left as it is, and
refused. Whether the compared expression is a grouping key is checked where HAVING is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from sqlglot import exp

from rewriter.split.chosen_groups import needs_totals, over_chosen
from rewriter.statement import (
    conjuncts,
    folded,
    grouped_item,
    is_grouped,
    null_safe,
    output_name,
    unparenthesised,
)


def joins_as_having(select: exp.Select, queries: Mapping[int, exp.Query], answers: Set[int]) -> exp.Select | None:
    """``select`` with its joins to aggregates over people moved to HAVING, or None where one cannot be moved.

    ``queries`` has the queries of FROM, by the item's identity; those in ``answers`` aggregate over people.
    """
    joins = list(select.args.get("joins") or ())
    from_ = select.args.get("from_")
    if not is_grouped(select) or from_ is None or id(from_.this) in answers:
        return None
    kept: list[exp.Expr] = []
    tests: list[exp.Expr] = []
    for join in joins:
        if id(join.this) not in answers:
            kept.append(join.copy())
            continue
        test = _membership(join, queries[id(join.this)])
        if test is None:
            return None
        tests.append(test)
    if not tests:
        return None
    moved = select.copy()
    moved.set("joins", kept)
    return over_chosen(moved, tests) if needs_totals(moved, tests) else _and_having(moved, tests)


def conditions_as_having(select: exp.Select, is_answer: Callable[[exp.Expr], bool]) -> exp.Select:
    """``select`` with ``key IN (SELECT key … aggregates over people)`` moved from WHERE to HAVING, or above all groups
    where the groups that were chosen are to be added up (:mod:`rewriter.split.chosen_groups`)."""
    where = select.args.get("where")
    if where is None or where.find(exp.In) is None:
        return select
    parts = list(conjuncts(where.this))
    moved = [part for part in parts if (query := _queried(part)) is not None and is_answer(query)]
    if not moved:
        return select
    copy: exp.Select = select.copy()
    rest = [part.copy() for part in parts if not any(part is other for other in moved)]
    copy.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    tests = [part.copy() for part in moved]
    if needs_totals(copy, tests):
        return over_chosen(copy, tests) or select
    return _and_having(copy, tests)


def _queried(node: exp.Expr) -> exp.Expr | None:
    while isinstance(node, exp.Not | exp.Paren):
        node = node.this
    return node.args.get("query") if isinstance(node, exp.In) else None


def _and_having(select: exp.Select, tests: list[exp.Expr]) -> exp.Select:
    having = select.args.get("having")
    before = [] if having is None else [exp.Paren(this=having.this.copy())]
    select.set("having", exp.Having(this=exp.and_(*before, *tests, copy=False)))
    return select


def _membership(join: exp.Join, written: exp.Query) -> exp.Expr | None:
    """The join as a condition on keys: ``key IN (SELECT column FROM …)``."""
    item = join.this
    if join.side or join.method or join.kind.upper() not in ("", "INNER") or join.args.get("on") is None:
        return None
    pairs: list[tuple[exp.Expr, exp.Column]] = []
    null_safe = False
    for test in conjuncts(join.args["on"]):
        pair, safe = equated(test, item.alias_or_name)
        if pair is None:
            return None
        null_safe = null_safe or safe
        pairs.append(pair)
    joined = {folded(column) for _, column in pairs}
    if not is_unique(written, joined) or (null_safe and len(pairs) > 1):
        return None
    outside = [one.copy() for one, _ in pairs]
    inside = [column.copy() for _, column in pairs]
    left = outside[0] if len(pairs) == 1 else exp.Tuple(expressions=outside)
    test = exp.In(this=left, query=exp.Subquery(this=_chosen(inside, item)))
    if not null_safe:
        return test
    missing = _chosen([exp.Literal.number(1)], item)
    missing.set("where", exp.Where(this=exp.Is(this=inside[0].copy(), expression=exp.Null())))
    none = exp.And(this=exp.Is(this=outside[0].copy(), expression=exp.Null()), expression=exp.Exists(this=missing))
    return exp.Paren(this=exp.or_(test, none, copy=False))


def _chosen(columns: Sequence[exp.Expr], item: exp.Expr) -> exp.Select:
    return exp.Select(expressions=list(columns)).from_(item.copy(), copy=False)


def equated(test: exp.Expr, alias: str) -> tuple[tuple[exp.Expr, exp.Column] | None, bool]:
    """The two sides of an equality, the one of people first, and whether NULL equals NULL in it."""
    found = null_safe(test)
    equal = unparenthesised(test) if found is None else found
    if found is None and not isinstance(equal, exp.EQ):
        return None, False
    sides = [unparenthesised(equal.this), unparenthesised(equal.args["expression"])]
    for other, inside in (sides, sides[::-1]):
        if not isinstance(inside, exp.Column) or not _is_of(inside, alias):
            continue
        if not any(_is_of(column, alias) for column in other.find_all(exp.Column)):
            return (other, inside), found is not None
    return None, False


def _is_of(column: exp.Column, alias: str) -> bool:
    return column.table.lower() == alias.lower()


def is_unique(query: exp.Expr, columns: set[str]) -> bool:
    """Whether a query has at most one row for each combination of ``columns``: each of its keys is one of them."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return False
    outputs = {output_name(item): item.unalias() for item in query.expressions}
    group = query.args.get("group")
    if group is None:
        return query.args.get("distinct") is not None and set(outputs) <= columns
    if any(value for part, value in group.args.items() if part != "expressions"):
        return False
    shown = [outputs[name] for name in columns if name in outputs]
    return all(grouped_item(key, query) in shown for key in group.expressions)
