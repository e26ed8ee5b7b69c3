"""Subqueries in FROM that only choose rows and compute columns, put into the SELECT that reads them.

Theorem: each row of ``(SELECT e AS c FROM a WHERE p) x`` is a row of ``a`` of which ``p`` is true, and ``x.c`` is ``e``
of it. So ``x`` may be ``a`` itself, where ``p`` is asked beside the other conditions, and ``e`` stands for ``x.c``. On
the side of a LEFT JOIN that may be missing, ``p`` is a condition of the join, and ``e`` has to be NULL for a missing
row: a column. The same holds of a LATERAL subquery, which reads columns of items before it; and of a subquery without
FROM, which has one row.

WITH queries that are read once, put where they are read.

Theorem: a WITH query without RECURSIVE is a subquery under a name. One that is read twice stays: its rows are computed
once, and whoever measures them measures them once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from rewriter.expressions import called, makes_rows
from rewriter.query.distinct_names import Labels
from rewriter.query.spread_joins import all_of, set_where
from rewriter.statement import (
    conjuncts,
    folded,
    from_items,
    has_aggregate,
    output_name,
    unaliased,
    unparenthesised,
    written,
)

MOST_COPIES = 150
"""Syntax nodes that one column of a subquery may become, wherever it is read."""

_LONG = 10
"""Syntax nodes of an expression; messages say the name of a longer one."""


def merge(select: exp.Select, labels: Labels) -> bool:
    """Merge one subquery of FROM, in place; whether there was one. What it reads alone is called as it was itself."""
    joins = select.args.get("joins") or []
    if any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        return False
    for place, item in enumerate(from_items(select)):
        body = body_of(item)
        if body is None or not _is_projection(body):
            continue
        join = None if place == 0 else joins[place - 1]
        outputs = {output_name(one): unaliased(one) for one in body.expressions}
        if _fits(select, item, body, join, outputs):
            inner = from_items(body)
            if len(inner) == 1:
                labels[inner[0].alias] = labels[item.alias]
            _put_in(select, item, body, join, outputs)
            return True
    return False


def body_of(item: exp.Expr) -> exp.Select | None:
    """The SELECT in an item of FROM, whose columns have one name each."""
    inner = item.this if isinstance(item, exp.Lateral) else item
    if not isinstance(inner, exp.Subquery) or not isinstance(inner.this, exp.Select):
        return None
    alias = item.args.get("alias")
    names = [output_name(one) for one in inner.this.expressions]
    return inner.this if len(set(names)) == len(names) and not (alias and alias.args.get("columns")) else None


def _is_projection(body: exp.Select) -> bool:
    if any(value for name, value in body.args.items() if name not in ("expressions", "from_", "joins", "where")):
        return False
    if any(has_aggregate(one) or one.find(exp.Window) is not None for one in body.expressions):
        return False
    joins = body.args.get("joins") or ()
    if any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        return False
    return not any(is_volatile(part) for part in body.expressions)


_VOLATILE = (exp.Rand, exp.Randn, exp.Uuid, exp.Anonymous, exp.Unnest, exp.ExplodingGenerateSeries)


def is_volatile(node: exp.Expr) -> bool:
    """Whether an expression may have another value each time, makes rows, or is a function that is not known."""
    return node.find(*_VOLATILE) is not None or any(map(makes_rows, node.walk()))


def _fits(
    select: exp.Select, item: exp.Expr, body: exp.Select, join: exp.Join | None, outputs: dict[str, exp.Expr]
) -> bool:
    inner = from_items(body)
    if not inner and join is None:
        return False
    if {one.alias for one in inner} & {one.alias for one in from_items(select)}:
        return False
    if join is not None and join.side:
        plain = all(isinstance(one, exp.Column) for one in outputs.values())
        if len(inner) != 1 or not plain or isinstance(inner[0], exp.Lateral):
            return False
    reads: dict[str, list[exp.Column]] = {}
    for column in read_columns(select, item):
        reads.setdefault(folded(column), []).append(column)
    for name, columns in reads.items():
        if name not in outputs:
            return False
        value = unparenthesised(outputs[name])
        if isinstance(value, exp.Column):
            continue
        if value.find(exp.Column) is None and any(_is_key(column) for column in columns):
            return False
        size = sum(1 for _ in value.walk())
        if size * len(columns) > MOST_COPIES or (value.find(exp.Query) is not None and len(columns) > 1):
            return False
        if value.find(exp.Query) is not None and any(_is_key(column) for column in columns):
            return False
    return True


def read_columns(select: exp.Select, item: exp.Expr) -> list[exp.Column]:
    """The columns of an item of FROM, wherever in its SELECT they are read."""
    name = item.alias
    return [column for column in select.find_all(exp.Column) if column.text("table") == name]


def _is_key(column: exp.Column) -> bool:
    """Whether GROUP BY, ORDER BY or DISTINCT ON would read a constant in its place as a position."""
    return column.find_ancestor(exp.Group, exp.Order, exp.Distinct, exp.Select) is not column.find_ancestor(exp.Select)


def _put_in(
    select: exp.Select, item: exp.Expr, body: exp.Select, join: exp.Join | None, outputs: dict[str, exp.Expr]
) -> None:
    for column in read_columns(select, item):
        value = outputs[folded(column)].copy()
        is_long = sum(1 for _ in value.walk()) > _LONG
        put(column, called(value, written(column)) if is_long else value)
    own = [] if (where := body.args.get("where")) is None else list(conjuncts(where.this))
    first = [one.copy() for one in from_items(body)[:1]]
    more = [one.copy() for one in body.args.get("joins") or ()]
    if join is None:
        select.args["from_"].set("this", first[0])
        select.set("joins", [*more, *(select.args.get("joins") or ())])
    elif join.side:
        join.set("on", all_of([*conjuncts(join.args["on"]), *own]))
        join.set("this", first[0])
        return
    else:
        test = join.args.get("on")
        own = [*(() if test is None else conjuncts(test)), *own]
        joins: list[exp.Join] = []
        for one in select.args["joins"]:
            if one is join:
                joins += [exp.Join(this=part, kind="CROSS") for part in first]
                joins += more
            else:
                joins.append(one)
        select.set("joins", joins)
    asked = [] if (where := select.args.get("where")) is None else list(conjuncts(where.this))
    set_where(select, [*asked, *own])


_WHOLE = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.Case, exp.Paren, exp.Subquery)
_AROUND = (exp.Select, exp.Alias, exp.Group, exp.Tuple, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Paren)


def put(column: exp.Column, value: exp.Expr) -> None:
    """Put a value in the place of a column: in parentheses where an operator is around, and under the column's name."""
    parent = column.parent
    if isinstance(parent, exp.Select) and column.arg_key == "expressions":
        if not (isinstance(value, exp.Column) and folded(value) == folded(column)):
            value = exp.Alias(this=value, alias=exp.to_identifier(folded(column), quoted=True))
    elif not isinstance(value, _WHOLE) and parent is not None and not isinstance(parent, _AROUND):
        value = value if _is_call(value) or _is_call(parent) else exp.Paren(this=value)
    column.replace(value)


def _is_call(node: exp.Expr) -> bool:
    """Whether a node is a function with its arguments in parentheses; some operators are functions to the parser."""
    return isinstance(node, exp.Func) and not isinstance(node, exp.Binary | exp.Connector | exp.Unary)


def inline_with(tree: exp.Query) -> None:
    """Put WITH queries that are read once into FROM, in place. Items of FROM have names of their own."""
    all_defined = Counter(folded(cte.args["alias"].this) for cte in tree.find_all(exp.CTE))
    for with_ in list(tree.find_all(exp.With)):
        query = with_.parent
        if query is None:
            continue
        for place in range(len(with_.expressions) - 1, -1, -1):
            cte = with_.expressions[place]
            name = folded(cte.args["alias"].this)
            before = {folded(one.args["alias"].this) for one in with_.expressions[:place]}
            readers = [table for table in _tables(query) if _named(table) == name]
            if all_defined[name] > 1 or len(readers) != 1 or cte.args["alias"].args.get("columns"):
                continue
            if any(all_defined[one] > (1 if one in before else 0) for one in map(_named, _tables(cte.this))):
                # Where it is read, the name may mean another query.
                continue
            if not isinstance(cte.this, exp.Select | exp.SetOperation):
                continue
            reader, body = readers[0], cte.this
            alias = exp.TableAlias(this=exp.Identifier(this=reader.alias, quoted=True))
            with_.set("expressions", [one for one in with_.expressions if one is not cte])
            reader.replace(exp.Subquery(this=body, alias=alias))
        if not with_.expressions:
            query.set("with_", None)


def _tables(node: exp.Expr) -> Iterator[exp.Table]:
    return (table for table in node.find_all(exp.Table) if isinstance(table.this, exp.Identifier) and not table.db)


def _named(table: exp.Table) -> str:
    return folded(table.this)
