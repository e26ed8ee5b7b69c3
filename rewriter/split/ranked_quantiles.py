"""Percentiles spelled by ranks: ``MIN(CASE WHEN n < 0.25 * total THEN 9999 ELSE x END)`` over numbered rows.

Where ``n`` is ``ROW_NUMBER() OVER (ORDER BY x)`` and ``total`` counts the same rows, that is the first value of which
so large a share of the rows are no greater: ``PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x)``. A number that each row
of many people has among all of them moves with everybody; a percentile is picked.

Guarantee: the meaning is the same for rows that have an ``x``. Rows without one are ranked by their number and not by a
percentile, and a notice says so. Anything else that is done with such numbers is left as it is, and refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from rewriter.statement import folded, is_grouped, output_name, unaliased, unparenthesised, walk

NOTE = "percentiles that are spelled by ranks are those of the rows that have a value"
_INNER = frozenset({"expressions", "from_", "joins", "where", "group", "having"})
_OUTER = frozenset({"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_"})


def plain_ranks(tree: exp.Query) -> tuple[exp.Query, tuple[str, ...]]:
    """``tree`` with such percentiles as PERCENTILE_DISC, and the notice about them.

    >>> import sqlglot
    >>> inner = "SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS n, COUNT(*) OVER () AS m FROM t"
    >>> sql = f"SELECT MIN(CASE WHEN n < 0.5 * m THEN 999 ELSE x END) AS half FROM ({inner}) AS r"
    >>> print(plain_ranks(sqlglot.parse_one(sql, read="postgres"))[0].sql("postgres"))
    SELECT LEAST(PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x), 999) AS half FROM (SELECT x FROM t) AS "r"
    """
    if tree.find(exp.RowNumber) is None or tree.find(exp.Min) is None:
        return tree, ()
    copy: exp.Query = tree.copy()
    root = exp.Subquery(this=copy)
    changed = False
    for select in list(root.find_all(exp.Select)):
        if (found := _plain(select, root)) is not None:
            select.replace(found)
            changed = True
    result: exp.Query = root.this
    return (result.pop(), (NOTE,)) if changed else (tree, ())


@dataclass(frozen=True, slots=True)
class _Share:
    """A call that is a percentile: of the ``value`` of which ``rank`` is the number, so large a ``share`` of ``total``
    rows, and the number that stands for the rows before."""

    call: exp.Expr
    rank: str
    total: exp.Column
    share: str
    value: exp.Column
    most: exp.Expr


def _plain(select: exp.Select, root: exp.Expr) -> exp.Select | None:
    """The SELECT with its percentiles by ranks as such; None where it has none, or does something else with ranks."""
    if {name for name, value in select.args.items() if value} - _OUTER or not is_grouped(select):
        return None
    shares = [share for item in select.expressions for node in walk(item) if (share := _share(node)) is not None]
    if not shares:
        return None
    copy: exp.Select = select.copy()
    for item in list(copy.expressions):
        if not isinstance(item, exp.Alias):
            item.replace(exp.alias_(item.copy(), output_name(item), quoted=True, copy=False))
    shares = [share for item in copy.expressions for node in walk(item) if (share := _share(node)) is not None]
    query, rows, alias = _rows_of(copy, root)
    if query is None or rows is None:
        return None
    outputs = {output_name(item): unaliased(item) for item in rows.expressions}
    ranks = {share.rank for share in shares}
    keys = _keys(copy, alias)
    if len(ranks) != 1 or keys is None or any(not _is_rank(share, outputs, keys, rows) for share in shares):
        return None
    totals = {(folded_table(share.total), folded(share.total)) for share in shares}
    if len(totals) != 1:
        return None
    (table, total), (rank,) = next(iter(totals)), ranks
    dropped = {rank}
    if table in ("", alias) and total in outputs:
        if not _counts_all(outputs[total], rows, keys, outputs):
            return None
        dropped.add(total)
    elif not _without_join(copy, table, total, alias, keys, rows, root):
        return None
    for share in shares:
        disc = exp.WithinGroup(
            this=exp.PercentileDisc(this=exp.Literal.number(share.share)),
            expression=exp.Order(expressions=[exp.Ordered(this=share.value.copy())]),
        )
        share.call.replace(exp.Least(this=disc, expressions=[share.most.copy()]))
    if any(folded(column) in dropped for part in _parts(copy) for column in part.find_all(exp.Column)):
        return None
    kept = [item.copy() for item in rows.expressions if output_name(item) not in dropped]
    inner: exp.Select = rows.copy()
    inner.set("expressions", kept)
    copy.args["from_"].set(
        "this", exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    )
    return copy


def folded_table(column: exp.Column) -> str:
    return column.table.lower()


def _share(node: exp.Expr) -> _Share | None:
    """``MIN(CASE WHEN n < 0.25 * total THEN 9999 ELSE x END)``."""
    case = unparenthesised(node.this) if isinstance(node, exp.Min) else None
    if not isinstance(case, exp.Case) or case.this is not None or len(case.args["ifs"]) != 1:
        return None
    branch, value = case.args["ifs"][0], case.args.get("default")
    test, most = unparenthesised(branch.this), branch.args.get("true")
    if not isinstance(test, exp.LT) or not isinstance(test.this, exp.Column) or not isinstance(value, exp.Column):
        return None
    product = unparenthesised(test.expression)
    sides = [unparenthesised(product.this), unparenthesised(product.expression)] if isinstance(product, exp.Mul) else []
    share = next((side for side in sides if isinstance(side, exp.Literal) and _is_share(side)), None)
    total = next((side for side in sides if isinstance(side, exp.Column)), None)
    if share is None or total is None or most is None or most.find(exp.Column, exp.AggFunc, exp.Query) is not None:
        return None
    return _Share(node, folded(test.this), total, share.name, value, most)


def _is_share(node: exp.Literal) -> bool:
    try:
        return not node.is_string and 0 < Decimal(node.name) < 1
    except InvalidOperation:
        return False


def _rows_of(select: exp.Select, root: exp.Expr) -> tuple[exp.Expr | None, exp.Select | None, str]:
    """The item of FROM, the query of its rows, and the name that it goes by: a subquery, or a WITH query."""
    from_ = select.args.get("from_")
    item = None if from_ is None else from_.this
    alias = "" if item is None else item.alias_or_name.lower()
    query = _query(item, root)
    if query is None or {name for name, value in query.args.items() if value} - _INNER:
        return None, None, alias
    return item, query, alias


def _query(item: exp.Expr | None, root: exp.Expr) -> exp.Select | None:
    """The SELECT that a subquery is, or that the one WITH query of its name is."""
    if isinstance(item, exp.Subquery):
        return item.this if isinstance(item.this, exp.Select) else None
    if not isinstance(item, exp.Table) or item.db:
        return None
    found = [cte for cte in root.find_all(exp.CTE) if cte.alias.lower() == item.name.lower()]
    if len(found) != 1 or found[0].args["alias"].args.get("columns"):
        return None
    return found[0].this if isinstance(found[0].this, exp.Select) else None


def _keys(select: exp.Select, alias: str) -> list[str] | None:
    """The columns of the rows that a SELECT groups by; None where it groups by something else."""
    group = select.args.get("group")
    found: list[str] = []
    for node in group.expressions if group is not None else ():
        key: exp.Expr = unparenthesised(node)
        if isinstance(key, exp.Literal) and key.is_int and 1 <= int(key.name) <= len(select.expressions):
            key = unparenthesised(unaliased(select.expressions[int(key.name) - 1]))
        if not isinstance(key, exp.Column) or folded_table(key) not in ("", alias):
            return None
        found.append(folded(key))
    return found


def _is_rank(share: _Share, outputs: dict[str, exp.Expr], keys: Sequence[str], rows: exp.Select) -> bool:
    """Whether a column numbers the rows of each group in the order of the value."""
    window, value = outputs.get(share.rank), outputs.get(folded(share.value))
    if not isinstance(window, exp.Window) or not isinstance(window.this, exp.RowNumber) or value is None:
        return False
    order = window.args.get("order")
    if order is None or len(order.expressions) != 1 or order.expressions[0].args.get("desc"):
        return False
    if window.args.get("spec") or window.args.get("alias"):
        return False
    return _same(order.expressions[0].this, value) and _partitions(window, keys, outputs)


def _partitions(window: exp.Window, keys: Sequence[str], outputs: dict[str, exp.Expr]) -> bool:
    """Whether a window's partitions are the groups by the keys."""
    by = window.args.get("partition_by") or []
    wanted = [outputs.get(key) for key in keys]
    return len(by) == len(wanted) and all(any(one is not None and _same(part, one) for one in wanted) for part in by)


def _same(one: exp.Expr, other: exp.Expr) -> bool:
    return _bare(unparenthesised(one)) == _bare(unparenthesised(other))


def _bare(node: exp.Expr) -> exp.Expr:
    """An expression with its columns by their names alone, where that is all that it is."""
    return exp.column(folded(node)) if isinstance(node, exp.Column) else node


def _counts_all(node: exp.Expr, rows: exp.Select, keys: Sequence[str], outputs: dict[str, exp.Expr]) -> bool:
    """Whether an expression counts the rows of a query: ``COUNT(*) OVER ()`` by the same keys, or the count in a
    subquery of the same FROM, where nothing but a person's key is grouped by."""
    if isinstance(node, exp.Window):
        counts = isinstance(node.this, exp.Count) and _counts_rows(node.this)
        return counts and not node.args.get("order") and _partitions(node, keys, outputs)
    select = unparenthesised(node.this) if isinstance(node, exp.Subquery) else None
    if not isinstance(select, exp.Select) or keys or len(select.expressions) != 1:
        return False
    count = unaliased(select.expressions[0])
    parts = {name for name, value in select.args.items() if value}
    if not isinstance(count, exp.Count) or parts - {"expressions", "from_", "where"}:
        return False
    if any(select.args.get(part) != rows.args.get(part) for part in ("from_", "where")) or rows.args.get("joins"):
        return False
    group = rows.args.get("group")
    if rows.args.get("having"):
        return False
    if group is None:
        return _counts_rows(count) and not is_grouped(rows)
    of = count.this.expressions if isinstance(count.this, exp.Distinct) else []
    return len(of) == len(group.expressions) == 1 and _same(of[0], group.expressions[0])


def _counts_rows(count: exp.Count) -> bool:
    return isinstance(count.this, exp.Star | exp.Literal)


def _without_join(
    select: exp.Select, table: str, total: str, alias: str, keys: Sequence[str], rows: exp.Select, root: exp.Expr
) -> bool:
    """Takes away the join with the counts of the groups, ``(SELECT key, COUNT(*) AS total FROM … GROUP BY key)``, of
    the same rows; leaves of it that a key is not NULL. False where the join is something else."""
    joins = list(select.args.get("joins") or ())
    if len(joins) != 1 or len(keys) != 1 or joins[0].side or joins[0].args.get("on") is None:
        return False
    join = joins[0]
    query = _query(join.this, root)
    on = unparenthesised(join.args["on"])
    name = join.this.alias_or_name.lower()
    if query is None or table not in ("", name) or not isinstance(on, exp.EQ):
        return False
    outputs = {output_name(item): unaliased(item) for item in query.expressions}
    sides = {(folded_table(side), folded(side)) for side in (on.this, on.expression) if isinstance(side, exp.Column)}
    group = query.args.get("group")
    if {name for name, value in query.args.items() if value} - {"expressions", "from_", "group"}:
        return False
    count = outputs.get(total)
    if group is None or len(group.expressions) != 1 or not isinstance(count, exp.Count) or not _counts_rows(count):
        return False
    key = keys[0]
    known = outputs.get(key) is not None and _same(group.expressions[0], outputs[key])
    if sides != {(alias, key), (name, key)} or not known:
        return False
    if query.args["from_"].this != rows.args["from_"].this or rows.args.get("joins") or rows.args.get("where"):
        return False
    if is_grouped(rows):
        return False
    select.set("joins", [])
    present = exp.Not(this=exp.Is(this=exp.column(key, alias, quoted=True), expression=exp.Null()))
    select.where(present, copy=False)
    return True


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    yield from select.expressions
    for name in ("where", "group", "having", "order", "joins"):
        part = select.args.get(name)
        yield from part if isinstance(part, list) else [part] if part is not None else []
