"""Whether a row has a match: EXISTS, ``= ANY``, ``> ALL`` and joins of distinct keys, as IN.

Theorems, of conditions that WHERE or HAVING asks, where NULL is as good as false: ``EXISTS (SELECT … FROM v WHERE v.k
= p.k AND q)`` is ``p.k IN (SELECT v.k FROM v WHERE q)``, where q reads nothing of p. ``(SELECT COUNT(*) …) > 0`` is
EXISTS, and ``(SELECT MAX(v.c) FROM v WHERE q) > 40`` is ``EXISTS (… WHERE q AND v.c > 40)``: the largest is larger if
one is. ``x > ANY (SELECT v.c …)`` is ``x > (SELECT MIN(v.c) …)`` for the same reason. ``x > ALL (SELECT v.c …)`` is
``NOT EXISTS (… WHERE NOT COALESCE(x > v.c, FALSE))``, whatever the operator, NULLs and no rows included. ``x IN (SELECT
v.c FROM v WHERE v.k = p.k)`` is ``EXISTS (… AND x = v.c)``, and ``x NOT IN`` is ``x <> ALL``. ``IN (SELECT
x.k FROM (body) x)`` is ``IN (body)``, and a value is in a list however often it is listed. An inner join of rows
whose key is unique, of which nothing but this key is read, keeps or drops each row: it is an IN, and the key is the
column that it equals. A body with HAVING is not moved: its groups come first.

Beside rows of public tables an EXISTS over people may stand anywhere, in NOT and in the select list: there it is
``COALESCE(r.k IN (SELECT v.k FROM v WHERE v.k IS NOT NULL AND q), FALSE)``, which is never NULL either.

Aggregates and lists of distinct values are put so where their key may be a person's alone: of other keys, the groups
are released, and rows are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.dialects import MIRRORED
from rewriter.query.lateral_subqueries import correlated, reads_outside
from rewriter.query.merged_subqueries import body_of, put, read_columns
from rewriter.query.spread_joins import set_where
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


def as_membership(select: exp.Select, catalog: Catalog) -> bool:
    """Rewrite one condition of a SELECT, in place; whether there was one."""
    persons = catalog.keys_of_people
    for test in (branch for one in _asked(select) for branch in _alternatives(one)):
        if (replaced := _of_correlated(test) or _of_any(test) or _of_all(test, catalog)) is not None:
            test.replace(replaced)
            return True
    for test in _asked(select):
        if isinstance(test, exp.Exists) and (found := _of_exists(test)) is not None:
            test.replace(found)
            return True
        if isinstance(test, exp.EQ) and isinstance(test.expression, exp.Any):
            query = test.expression.this
            if isinstance(query, exp.Subquery):
                test.replace(exp.In(this=test.this, query=query))
                return True
        if (replaced := _of_aggregate(test, persons)) is not None:
            test.replace(replaced)
            return True
        if isinstance(test, exp.In) and isinstance(query := test.args.get("query"), exp.Subquery):
            inner = _unwrapped(query.this)
            if inner is not None:
                query.set("this", inner)
                return True
            if _list_plainly(query.this, persons):
                return True
    return False


_PLAIN = frozenset({"expressions", "from_", "joins", "where"})
_ENDS: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.Min, exp.GTE: exp.Min, exp.LT: exp.Max, exp.LTE: exp.Max}


def _of_any(test: exp.Expr) -> exp.Expr | None:
    """``x > ANY (SELECT y …)`` as ``x > (SELECT MIN(y) …)``: x is above some value if it is above the least."""
    end, one = _ENDS.get(type(test)), _rows_among(test, exp.Any)
    if end is None or one is None:
        return None
    one.set("expressions", [end(this=unaliased(one.expressions[0]))])
    return type(test)(this=test.this, expression=exp.Subquery(this=one))


def _of_all(test: exp.Expr, catalog: Catalog) -> exp.Expr | None:
    """``x > ALL (SELECT y …)`` as ``NOT EXISTS``: no row is there of which the comparison is not TRUE."""
    rows = _rows_among(test, exp.All)
    if rows is None or has_aggregate(test.this):
        return None
    if not reads_outside(rows, rows) and not all(_is_public(table, catalog) for table in rows.find_all(exp.Table)):
        return None  # Those of all people have no row that is compared with each.
    met = type(test)(this=test.this.copy(), expression=unaliased(rows.expressions[0]).copy())
    rows.where(exp.Not(this=exp.Coalesce(this=exp.Paren(this=met), expressions=[exp.false()])), copy=False)
    return exp.Not(this=exp.Exists(this=rows))


def _of_correlated(test: exp.Expr) -> exp.Expr | None:
    """``x IN (SELECT y …)``, of rows that are the outer row's own, as EXISTS; NOT IN as ``<> ALL``."""
    inner = unparenthesised(test.this) if isinstance(test, exp.Not) else test
    among = inner.args.get("query") if isinstance(inner, exp.In) else None
    if isinstance(inner, exp.EQ) and isinstance(inner.expression, exp.Any):
        among = inner.expression.this
    if not isinstance(among, exp.Subquery) or has_aggregate(inner.this) or inner.this.find(exp.Query):
        return None
    kind: type[exp.Expr] = exp.EQ if inner is test else exp.NEQ
    compared = kind(this=inner.this.copy(), expression=exp.All(this=among.copy()))
    rows = _rows_among(compared, exp.All)
    if rows is None or not reads_outside(rows, rows):
        return None
    if kind is exp.NEQ:
        return compared
    met = exp.EQ(this=inner.this.copy(), expression=unaliased(rows.expressions[0]).copy())
    return exp.Exists(this=rows.where(met, copy=False))


def _alternatives(test: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that OR and AND connect: where NULL of them is as good as false, NULL of each is."""
    node = unparenthesised(test)
    if isinstance(node, exp.And | exp.Or):
        yield from (found for side in (node.this, node.expression) for found in _alternatives(side))
    else:
        yield node


def _rows_among(test: exp.Expr, word: type[exp.Expr]) -> exp.Select | None:
    """A copy of the plain rows of one value that ANY or ALL compares with; None of other rows."""
    among = test.args.get("expression")
    if type(among) is not word:
        return None
    rows = unparenthesised(among.this)
    body = rows.this if isinstance(rows, exp.Subquery) else rows
    if not isinstance(body, exp.Select) or {name for name, part in body.args.items() if part} - _PLAIN:
        return None
    if len(body.expressions) != 1 or body.expressions[0].is_star or has_aggregate(body.expressions[0]):
        return None
    return body.copy()


def exists_beside_public_rows(select: exp.Select, catalog: Catalog) -> bool:
    """Rewrite each EXISTS over people in a SELECT over public tables alone, in place; whether there was one."""
    if select.args.get("from_") is None or not all(_is_public(item, catalog) for item in from_items(select)):
        return False
    changed = False
    for test in [one for one in select.find_all(exp.Exists) if one.parent_select is select]:
        body = test.this.this if isinstance(test.this, exp.Subquery) else test.this
        of_people = any(not _is_public(item, catalog) for one in body.find_all(exp.Select) for item in from_items(one))
        if not of_people or (found := _of_exists(test)) is None:
            continue
        inner: exp.Select = found.args["query"].this
        present = exp.Not(this=exp.Is(this=inner.expressions[0].copy(), expression=exp.Null()))
        inner.where(present, copy=False)
        test.replace(exp.Coalesce(this=exp.Paren(this=found), expressions=[exp.false()]))
        changed = True
    return changed


def _is_public(item: exp.Expr, catalog: Catalog) -> bool:
    if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
        return False
    table = catalog.find(item.this.name, bool(item.this.quoted), item.db)
    return table is not None and table.public


def _asked(select: exp.Select) -> Iterator[exp.Expr]:
    for part in ("where", "having"):
        if (clause := select.args.get(part)) is not None:
            yield from conjuncts(clause.this)


_EXISTS = frozenset({"expressions", "from_", "joins", "where"})


def _of_exists(node: exp.Exists) -> exp.In | None:
    body = node.this.this if isinstance(node.this, exp.Subquery) else node.this
    if not isinstance(body, exp.Select) or any(value for part, value in body.args.items() if part not in _EXISTS):
        return None
    where = body.args.get("where")
    if where is None or any(has_aggregate(one) for one in body.expressions):
        return None
    tests = list(conjuncts(where.this))
    outside = [test for test in tests if reads_outside(body, test)]
    pair = correlated(body, outside[0]) if len(outside) == 1 else None
    if pair is None or any(reads_outside(body, join) for join in body.args.get("joins") or ()):
        return None
    if reads_outside(body, body.args["from_"]):
        return None
    inner: exp.Select = body.copy()
    inner.set("expressions", [pair[0].copy()])
    set_where(inner, [test.copy() for test in tests if test is not outside[0]])
    return exp.In(this=pair[1].copy(), query=exp.Subquery(this=inner))


def _of_aggregate(test: exp.Expr, persons: Set[str]) -> exp.In | None:
    """The IN of a condition that an aggregate of a person's rows meets if one of the rows does."""
    test = unparenthesised(test)
    if not isinstance(test, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.NEQ):
        return None
    one, other = unparenthesised(test.this), unparenthesised(test.expression)
    kind: type[exp.Expr] = type(test)
    if isinstance(other, exp.Subquery):
        one, other, kind = other, one, MIRRORED.get(kind, kind)
    body = one.this if isinstance(one, exp.Subquery) else None
    if not isinstance(body, exp.Select) or len(body.expressions) != 1 or not isinstance(other, exp.Literal):
        return None
    call = unparenthesised(unaliased(body.expressions[0]))
    wanted: exp.Expr | None
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Star):
        if not other.is_int or (kind, int(other.name)) not in ((exp.GT, 0), (exp.GTE, 1), (exp.NEQ, 0)):
            return None
        wanted = None
    elif isinstance(call, exp.Max | exp.Min) and not call.expressions and not has_aggregate(call.this):
        if kind not in ((exp.GT, exp.GTE) if isinstance(call, exp.Max) else (exp.LT, exp.LTE)):
            return None
        wanted = kind(this=call.this.copy(), expression=other.copy())
    else:
        return None
    rows: exp.Select = body.copy()
    rows.set("expressions", [exp.Literal.number(1)])
    where = rows.args.get("where")
    set_where(rows, [*(() if where is None else conjuncts(where.this)), *(() if wanted is None else (wanted,))])
    found = _of_exists(exp.Exists(this=rows))
    return found if found is not None and _is_key_of_person(found.args["query"].this.expressions[0], persons) else None


def _is_key_of_person(item: exp.Expr, persons: Set[str]) -> bool:
    column = unparenthesised(unaliased(item))
    return isinstance(column, exp.Column) and column.name.lower() in persons


def _list_plainly(query: exp.Expr, persons: Set[str]) -> bool:
    """Leave DISTINCT, or GROUP BY without an aggregate, out of a list of a person's key; whether there was one."""
    known = {"expressions", "from_", "joins", "where", "group", "distinct"}
    if not isinstance(query, exp.Select) or any(value for part, value in query.args.items() if part not in known):
        return False
    if _unique_key(query) is None or not _is_key_of_person(query.expressions[0], persons):
        return False
    query.set("group", None)
    query.set("distinct", None)
    return True


def _unwrapped(query: exp.Expr) -> exp.Select | None:
    """The query behind ``SELECT x.k FROM (…) x``, where k is its only column."""
    if not isinstance(query, exp.Select):
        return None
    if any(value for part, value in query.args.items() if part not in ("expressions", "from_")):
        return None
    items = from_items(query)
    body = body_of(items[0]) if len(items) == 1 and isinstance(items[0], exp.Subquery) else None
    if body is None or len(query.expressions) != 1 or len(body.expressions) != 1:
        return None
    column = unaliased(query.expressions[0])
    if not isinstance(column, exp.Column) or column.text("table") != items[0].alias:
        return None
    return body


def semijoin(select: exp.Select) -> bool:
    """Rewrite one join of distinct keys as IN, in place; whether there was one."""
    joins: list[exp.Join] = select.args.get("joins") or []
    if any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        return False
    for place, item in enumerate(from_items(select)):
        side = joins[place - 1].side if place else joins[0].side if joins else "none"
        body = None if side or isinstance(item, exp.Lateral) else body_of(item)
        if body is None or (place == 0 and isinstance(joins[0].this, exp.Lateral)):
            continue
        key = _unique_key(body)
        found = None if key is None else _equated(select, item, key)
        if key is None or found is None or any(folded(one) != key for one in read_columns(select, item)):
            continue
        _move(select, place, item, body, *found)
        return True
    return False


def _unique_key(body: exp.Select) -> str | None:
    """The only output by which the rows of a query differ, if it is its only one."""
    if len(body.expressions) != 1 or body.args.get("having") or body.args.get("with_"):
        return None
    value, group = unaliased(body.expressions[0]), body.args.get("group")
    distinct = body.args.get("distinct")
    if distinct is not None and group is None:
        return None if distinct.args.get("on") else output_name(body.expressions[0])
    if group is None or any(v for part, v in group.args.items() if part != "expressions"):
        return None
    keys = [unparenthesised(one) for one in group.expressions]
    is_item = len(keys) == 1 and (keys[0] == unparenthesised(value) or keys[0] == exp.Literal.number(1))
    return output_name(body.expressions[0]) if is_item else None


def _equated(select: exp.Select, item: exp.Expr, key: str) -> tuple[exp.Expr, exp.Expr] | None:
    """The equality of the key with a column of another item, and that column."""
    others = {one.alias for one in from_items(select)} - {item.alias}
    where = select.args.get("where")
    tests = [test for join in select.args.get("joins") or () if not join.side and join.args.get("on") is not None
             for test in conjuncts(join.args["on"])]  # fmt: skip
    for test in (*tests, *(() if where is None else conjuncts(where.this))):
        if not is_equality(test):
            continue
        equal = unparenthesised(test)
        sides = [unparenthesised(equal.this), unparenthesised(equal.expression)]
        for own, other in (sides, sides[::-1]):
            if own.text("table") == item.alias and folded(own) == key and other.text("table") in others:
                return test, other
    return None


def _move(select: exp.Select, place: int, item: exp.Expr, body: exp.Select, test: exp.Expr, other: exp.Expr) -> None:
    joins: list[exp.Join] = select.args["joins"]
    asked: list[exp.Expr] = []
    for join in joins:
        if not join.side and join.args.get("on") is not None:
            asked += (one for one in conjuncts(join.args["on"]) if one is not test)
            join.set("on", None)
            join.set("kind", "CROSS")
    if (where := select.args.get("where")) is not None:
        asked += (one for one in conjuncts(where.this) if one is not test)
    member = exp.In(this=other.copy(), query=exp.Subquery(this=body.copy()))
    if place == 0:
        select.args["from_"].set("this", joins[0].this.copy())
        joins = joins[1:]
    else:
        joins = [join for join in joins if join.this is not item]
    select.set("joins", joins)
    set_where(select, [*asked, member])
    for column in read_columns(select, item):
        put(column, other.copy())
