"""Joins of a table along a foreign key that the database enforces, left out where nothing but its key is read.

Theorem: where ``v.k`` is never NULL and refers to ``p.id``, and the database keeps it so, each row of ``v`` has one row
of ``p``: the inner join on ``p.id = v.k`` has the rows of ``v``, and ``p.id`` is ``v.k`` of them. The same holds of a
column of a subquery that is ``v.k`` of some row of ``v``: of chosen rows, or of groups by it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.declared import Catalog, Table
from rewriter.query.merged_subqueries import body_of, put, read_columns
from rewriter.query.spread_joins import set_where
from rewriter.statement import conjuncts, folded, from_items, is_equality, output_name, unaliased, unparenthesised


def leave_out_join(select: exp.Select, catalog: Catalog) -> bool:
    """Leave one such join out, in place; whether there was one."""
    joins: list[exp.Join] = select.args.get("joins") or []
    items = from_items(select)
    if not joins or any(join.side.upper() in ("RIGHT", "FULL") or isinstance(join.this, exp.Lateral) for join in joins):
        return False
    for place, item in enumerate(items):
        table = _table(item, catalog)
        if table is None or (joins[place - 1].side if place else joins[0].side):
            continue
        names = {folded(column) for column in read_columns(select, item)}
        if len(names) != 1:
            continue
        key = names.pop()
        for test in _tests(select):
            other = _equated(test, item)
            if other is not None and _refers(other, select, table, key, catalog):
                _leave_out(select, place, item, test, other)
                return True
    return False


def _table(item: exp.Expr, catalog: Catalog) -> Table | None:
    name = item.this if isinstance(item, exp.Table) else None
    return catalog.find(name.name, bool(name.quoted), item.text("db")) if isinstance(name, exp.Identifier) else None


def _tests(select: exp.Select) -> Iterator[exp.Expr]:
    """The conditions of inner joins and of WHERE."""
    for join in select.args.get("joins") or ():
        if not join.side and join.args.get("on") is not None:
            yield from conjuncts(join.args["on"])
    if (where := select.args.get("where")) is not None:
        yield from conjuncts(where.this)


def _equated(test: exp.Expr, item: exp.Expr) -> exp.Column | None:
    """The column of another item that a condition says a column of this one to equal."""
    if not is_equality(test):
        return None
    equal = unparenthesised(test)
    sides = [unparenthesised(equal.this), unparenthesised(equal.expression)]
    own = [side.text("table") == item.alias_or_name for side in sides]
    if sum(own) != 1:
        return None
    other = sides[own.index(False)]
    return other if isinstance(other, exp.Column) and other.table else None


def _refers(column: exp.Column, select: exp.Select, parent: Table, key: str, catalog: Catalog) -> bool:
    """Whether a column of an item of FROM has a value of the parent's key in every row."""
    joins: list[exp.Join] = select.args.get("joins") or []
    if any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        return False
    for place, item in enumerate(from_items(select)):
        if item.alias_or_name != column.text("table"):
            continue
        if place and joins[place - 1].side:
            return False
        if isinstance(item, exp.Table):
            table = _table(item, catalog)
            return table is not None and _is_foreign_key(table, folded(column), parent, key)
        body = None if isinstance(item, exp.Lateral) else body_of(item)
        group = None if body is None else body.args.get("group")
        if body is None or (group is not None and _has_sets(group)):
            return False
        value = next((unaliased(one) for one in body.expressions if output_name(one) == folded(column)), None)
        value = None if value is None else unparenthesised(value)
        return isinstance(value, exp.Column) and _refers(value, body, parent, key, catalog)
    return False


def _has_sets(group: exp.Expr) -> bool:
    return any(value for part, value in group.args.items() if part != "expressions") or any(
        not isinstance(unparenthesised(one), exp.Column) for one in group.expressions
    )


def _is_foreign_key(table: Table, name: str, parent: Table, key: str) -> bool:
    hop = table.path[0] if table.path else None
    if hop is None or not hop.enforced or hop.also or hop.column.lower() != name or table.repeats_unit is not None:
        return False
    column, other = table.columns[hop.column], parent.columns.get(hop.parent_column)
    if other is None or hop.parent != parent.name or hop.parent_column.lower() != key:
        return False
    return not column.nullable and column.type == other.type


def _leave_out(select: exp.Select, place: int, item: exp.Expr, test: exp.Expr, other: exp.Column) -> None:
    joins: list[exp.Join] = select.args["joins"]
    tests = [one for one in _tests(select) if one is not test]
    for join in joins:
        if not join.side:
            join.set("on", None)
            join.set("kind", "CROSS")
    if place == 0:
        select.args["from_"].set("this", joins[0].this.copy())
        joins = joins[1:]
    else:
        joins = [join for join in joins if join.this is not item]
    select.set("joins", joins)
    set_where(select, tests)
    for column in read_columns(select, item):
        put(column, other.copy())
