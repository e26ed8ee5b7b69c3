"""Items of FROM that have one row, beside rows of tables: a value, written where it is read.

Theorem: an aggregate without GROUP BY has one row. So ``FROM v CROSS JOIN (SELECT AVG(c) AS a FROM w) m`` has each row
of ``v`` once, and ``m.a`` of it is ``(SELECT AVG(c) FROM w)``. The value is the same in all rows, so GROUP BY needs no
such key beside another one, and in a group, which has a row, MAX and MIN of it are the value itself.

Only one column of an item is moved: of several, each would be a query of its own, and they are released together where
they stand in FROM. What an aggregate reads stays, too.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.query.lateral_subqueries import has_one_row, reads_outside
from rewriter.query.merged_subqueries import body_of, put, read_columns
from rewriter.query.spread_joins import set_where
from rewriter.statement import conjuncts, folded, from_items, output_name, unaliased, unparenthesised

_PLACES = (exp.Group, exp.Order, exp.Distinct, exp.Window, exp.AggFunc)


def without_one_row(select: exp.Select) -> bool:
    """Put the value of one such item where it is read, in place; whether there was one."""
    joins: list[exp.Join] = select.args.get("joins") or []
    items = from_items(select)
    if not any(isinstance(item, exp.Table) for item in items) or any(join.side for join in joins):
        return False
    for item in items:
        body = None if isinstance(item, exp.Lateral) else body_of(item)
        if body is None or not has_one_row(body) or reads_outside(body, body):
            continue
        values = {output_name(one): unaliased(one) for one in body.expressions}
        columns = read_columns(select, item)
        names = {folded(column) for column in columns}
        if len(names) != 1 or not names <= set(values) or not _drop_keys(select, columns):
            continue
        for call in _extremes(select, columns):
            call.replace(call.this)
        for column in read_columns(select, item):
            one: exp.Select = body.copy()
            one.set("expressions", [values[folded(column)].copy()])
            one.set("order", None)
            put(column, exp.Subquery(this=one))
        _leave_out(select, item)
        return True
    return False


def _extremes(select: exp.Select, columns: list[exp.Column]) -> list[exp.Expr]:
    """Those MAX and MIN of one of the columns that are of a group."""
    group = select.args.get("group")
    if group is None or any(value for part, value in group.args.items() if part != "expressions"):
        return []
    if not all(isinstance(unparenthesised(key), exp.Column) for key in group.expressions):
        return []
    calls = [column.parent for column in columns if isinstance(column.parent, exp.Max | exp.Min)]
    return [
        call
        for call in calls
        if not call.expressions
        and not isinstance(call.parent, exp.Filter)
        and call.find_ancestor(*_PLACES, exp.Select) is select
    ]


def _drop_keys(select: exp.Select, columns: list[exp.Column]) -> bool:
    """Take the columns out of GROUP BY; False, and nothing is changed, where one stands in a place that needs it."""
    group = select.args.get("group")
    keys: list[exp.Expr] = [] if group is None else group.expressions
    kept = [key for key in keys if not any(unparenthesised(key) is column for column in columns)]
    others = [column for column in columns if not any(unparenthesised(key) is column for key in keys)]
    extremes = set(map(id, _extremes(select, columns)))
    others = [column for column in others if id(column.parent) not in extremes]
    if any(column.find_ancestor(*_PLACES, exp.Select) is not select for column in others):
        return False
    if group is not None and len(kept) < len(keys):
        sets = any(value for part, value in group.args.items() if part != "expressions")
        if not kept or sets or any(isinstance(key, exp.Literal) for key in kept):
            return False
        group.set("expressions", kept)
    return True


def _leave_out(select: exp.Select, item: exp.Expr) -> None:
    joins: list[exp.Join] = select.args["joins"]
    tests = [join.args["on"] for join in joins if join.this is item and join.args.get("on") is not None]
    if (where := select.args.get("where")) is not None:
        tests.append(where.this)
    if select.args["from_"].this is item:
        select.args["from_"].set("this", joins[0].this)
        joins = joins[1:]
    select.set("joins", [join for join in joins if join.this is not item])
    set_where(select, [test for one in tests for test in conjuncts(one)])
