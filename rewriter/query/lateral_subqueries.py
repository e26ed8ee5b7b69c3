"""LATERAL subqueries as values, as joins of numbered rows, or as subqueries that are none.

Theorems: an aggregate without GROUP BY has one row, so that ``p, LATERAL (SELECT SUM(v.c) AS s FROM v WHERE v.p =
p.id) x`` has one row for each of ``p``, and ``x.s`` is a subquery for one value. The first row of ``v WHERE v.p = p.id
ORDER BY v.d LIMIT 1`` is the row of ``v`` that is numbered 1 among those of the same ``v.p``. A subquery for one value
that is such a first row is the column of a LEFT JOIN of it, NULL where there is none. A LATERAL subquery that reads no
item before it is a plain subquery.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence, Set
from itertools import chain, islice

from sqlglot import exp

from rewriter.query.distinct_names import Labels
from rewriter.query.merged_subqueries import body_of, put, read_columns
from rewriter.query.spread_joins import all_of, set_where
from rewriter.statement import (
    conjuncts,
    folded,
    from_items,
    has_aggregate,
    is_equality,
    output_name,
    unaliased,
    unparenthesised,
)


def without_lateral(select: exp.Select, labels: Labels) -> bool:
    """Rewrite one LATERAL subquery of a SELECT, in place; whether there was one."""
    for join in select.args.get("joins") or ():
        item = join.this
        body = body_of(item) if isinstance(item, exp.Lateral) else None
        if body is None or join.side.upper() in ("RIGHT", "FULL"):
            continue
        if not reads_outside(body, body):
            subquery = item.this
            subquery.set("alias", item.args["alias"].copy())
            item.replace(subquery)
            return True
        on = None if join.args.get("on") is None else unparenthesised(join.args["on"])
        if join.side and not (isinstance(on, exp.Boolean) and on.this):
            continue
        if has_one_row(body):
            if _as_values(select, join, body):
                return True
        elif (numbered := _numbered(item, body, labels)) is not None:
            subquery, tests = numbered
            item.replace(subquery)
            join.set("kind", None)
            join.set("on", all_of([*([] if on is None or join.side else conjuncts(on)), *tests]))
            return True
    return False


def join_first_rows(select: exp.Select, labels: Labels) -> bool:
    """Rewrite one subquery for the value of a first row as a LEFT JOIN, in place; whether there was one."""
    items = {item.alias for item in from_items(select)}
    if any(join.side.upper() in ("RIGHT", "FULL") for join in select.args.get("joins") or ()):
        return False
    parts = [*select.expressions, select.args.get("where"), select.args.get("group")]
    for node in [node for part in parts if part is not None for node in part.find_all(exp.Subquery)]:
        body = node.this
        if node.parent_select is not select or isinstance(node.parent, exp.In | exp.Exists | exp.Any | exp.All):
            continue
        if not isinstance(body, exp.Select) or len(body.expressions) != 1 or not _reads_only(body, items):
            continue
        own = f"first#{len(labels)}"
        if (numbered := _numbered(exp.Subquery(this=body, alias=_table(own)), body, labels)) is None:
            continue
        labels[own] = exp.Identifier(this="first", quoted=False)
        subquery, tests = numbered
        node.replace(_column(output_name(body.expressions[0]), own))
        select.append("joins", exp.Join(this=subquery, side="LEFT", on=all_of(tests)))
        return True
    return False


def _reads_only(body: exp.Select, items: Set[str]) -> bool:
    """Whether all that a query reads outside of itself are columns of these ``items``."""
    known = items | _names_within(body)
    return all(column.table in known for column in body.find_all(exp.Column) if column.table)


def reads_outside(query: exp.Expr, part: exp.Expr) -> bool:
    """Whether a part of a query reads columns of items that the query does not have itself."""
    own = _names_within(query)
    return any(column.table and column.table not in own for column in part.find_all(exp.Column))


def _names_within(query: exp.Expr) -> set[str]:
    """The names of all items of FROM in a query, however deep."""
    return {item.alias_or_name for select in query.find_all(exp.Select) for item in from_items(select)}


def has_one_row(body: exp.Select) -> bool:
    parts = ("group", "having", "qualify", "limit", "offset", "distinct", "with_", "windows")
    return not any(body.args.get(part) for part in parts) and all(has_aggregate(one) for one in body.expressions)


def _as_values(select: exp.Select, join: exp.Join, body: exp.Select) -> bool:
    """Put each column's subquery where it is read."""
    values = {output_name(one): unaliased(one) for one in body.expressions}
    columns = read_columns(select, join.this)
    if any(folded(column) not in values for column in columns):
        return False
    for column in columns:
        one: exp.Select = body.copy()
        one.set("expressions", [values[folded(column)].copy()])
        one.set("order", None)
        put(column, exp.Subquery(this=one))
    on = join.args.get("on")
    select.set("joins", [other for other in select.args["joins"] if other is not join])
    if on is not None and not join.side:
        where = select.args.get("where")
        set_where(select, [*conjuncts(on), *(() if where is None else conjuncts(where.this))])
    return True


def _numbered(item: exp.Expr, body: exp.Select, labels: Labels) -> tuple[exp.Subquery, list[exp.Expr]] | None:
    """The first row of each key as a subquery over numbered rows, and how it is joined."""
    known = ("expressions", "from_", "joins", "where", "order", "limit")
    if any(value for part, value in body.args.items() if part not in known) or not body.args.get("order"):
        return None
    where = body.args.get("where")
    if where is None or not _is_one(body.args.get("limit")) or any(has_aggregate(one) for one in body.expressions):
        return None
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    kept: list[exp.Expr] = []
    for test in conjuncts(where.this):
        if not reads_outside(body, test):
            kept.append(test)
            continue
        pair = correlated(body, test)
        if pair is None:
            return None
        pairs.append(pair)
    rest = body.copy()
    rest.set("where", None)
    if not pairs or reads_outside(body, rest):
        return None
    outputs = [(output_name(one), unaliased(one)) for one in body.expressions]
    keys = _new_names("key", len(pairs), {name for name, _ in outputs})
    rest.set("order", None)
    rest.set("limit", None)
    set_where(rest, [test.copy() for test in kept])
    inner = [value for value, _ in pairs]
    outside = numbered_first(
        rest, [*outputs, *zip(keys, inner, strict=True)], inner, by_expressions(body.args["order"], outputs), labels
    )
    tests: list[exp.Expr] = [
        exp.EQ(this=outer.copy(), expression=_column(key, item.alias))
        for key, (_, outer) in zip(keys, pairs, strict=True)
    ]
    return exp.Subquery(this=outside, alias=_table(item.alias)), tests


def numbered_first(
    body: exp.Select,
    outputs: Sequence[tuple[str, exp.Expr]],
    keys: Sequence[exp.Expr],
    order: exp.Order,
    labels: Labels,
) -> exp.Select:
    """The ``outputs`` of that row of a ``body`` that an ``order`` puts first, for each value of its ``keys``.

    A subquery numbers the rows, under a name of its own in the ``labels``; the SELECT above it keeps number 1."""
    number = _new_names("number", 1, {name for name, _ in outputs})[0]
    rank = exp.Window(this=exp.RowNumber(), partition_by=[key.copy() for key in keys], order=order.copy(), over="OVER")
    inside = body.copy()
    inside.set("expressions", [_alias(value.copy(), name) for name, value in [*outputs, (number, rank)]])
    own = f"numbered#{len(labels)}"
    labels[own] = exp.Identifier(this="numbered", quoted=False)
    outside = exp.Select(expressions=[_alias(_column(name, own), name) for name, _ in outputs])
    outside.set("from_", exp.From(this=exp.Subquery(this=inside, alias=_table(own))))
    outside.set("where", exp.Where(this=exp.EQ(this=_column(number, own), expression=exp.Literal.number(1))))
    return outside


def correlated(body: exp.Select, test: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """The two columns that an equality compares, that of the query's own FROM first; None of any other condition."""
    if not is_equality(test):
        return None
    test = unparenthesised(test)
    own = {item.alias for item in from_items(body)}
    sides = [unparenthesised(test.this), unparenthesised(test.expression)]
    inside = [side.text("table") in own for side in sides]
    if inside == [True, False]:
        return sides[0], sides[1]
    return (sides[1], sides[0]) if inside == [False, True] else None


def _is_one(limit: exp.Expr | None) -> bool:
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            return False
        count = limit.args.get("count")
        return count is None or (isinstance(count, exp.Literal) and count.name == "1")
    count = None if limit is None else limit.args.get("expression")
    return isinstance(count, exp.Literal) and count.name == "1"


def by_expressions(order: exp.Order, outputs: Iterable[tuple[str, exp.Expr]]) -> exp.Order:
    """ORDER BY with expressions in the place of outputs."""
    found, copy = list(outputs), order.copy()
    for one in copy.expressions:
        key = unparenthesised(one.this)
        if isinstance(key, exp.Literal) and key.is_int:
            one.set("this", found[int(key.name) - 1][1].copy())
        elif isinstance(key, exp.Column) and not key.table:
            one.set("this", dict(found)[folded(key)].copy())
    return copy


def _new_names(name: str, count: int, taken: Set[str]) -> list[str]:
    """So many names that are not taken: the name itself, and the name with a number."""
    found = (one for one in chain((name,), (f"{name}_{number}" for number in itertools.count(2))) if one not in taken)
    return list(islice(found, count))


def _alias(value: exp.Expr, name: str) -> exp.Alias:
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _column(name: str, table: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))


def _table(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))
