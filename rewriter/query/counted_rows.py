"""Counts of values that are never NULL as counts of rows, and conditions that are TRUE as none.

Theorem: COUNT(e) counts the rows in which ``e`` is not NULL. It is COUNT(*) if ``e`` is a constant other than NULL, or
a column that the database keeps from being NULL, of an item of FROM that no outer join leaves without a row. A row for
which TRUE is asked is kept.

A count of a value of which sums or means stand beside it stays: it is a part of what these measure. Counts that HAVING
alone asks stay as they were written: they say which groups there are, and the share of the price
that a release has hangs on how many numbers it is read for. Reports of people (a randomized column) are counted as they
were asked: a count of them is corrected. And a column that its SELECT asks to be NULL, or not to be, is left: the count
of one that has to be NULL is known to be 0.

Values that are never NULL: a condition or the database says so, or they are computed of such values.

Theorem: a group has at least one row, so MIN, MAX, SUM and AVG of a value that is never NULL are not NULL in a group of
GROUP BY, and a COUNT never is.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog, Column
from rewriter.query.merged_subqueries import body_of
from rewriter.query.spread_joins import set_where
from rewriter.statement import conjuncts, folded, from_items, output_name, unaliased, unparenthesised, walk


def count_rows(select: exp.Select, catalog: Catalog) -> None:
    """Rewrite such counts and conditions of a SELECT, in place. Its names are bound."""
    where = select.args.get("where")
    if where is not None and isinstance(test := unparenthesised(where.this), exp.Boolean) and test.this:
        select.set("where", None)
    elif where is not None:
        tests = list(conjuncts(where.this))
        kept = [test for test in tests if not (isinstance(test, exp.Boolean) and test.this)]
        if len(kept) < len(tests):
            set_where(select, kept)
    for count in [node for item in select.expressions for node in walk(item) if isinstance(node, exp.Count)]:
        if not count.expressions and _is_never_null(count.this, select, catalog) and not _is_summed(count.this, select):
            count.set("this", exp.Star())


def _is_summed(node: exp.Expr | None, select: exp.Select) -> bool:
    """Whether another aggregate of the SELECT is of the same column."""
    value = None if node is None else unparenthesised(node)
    if not isinstance(value, exp.Column):
        return False
    beside = (one for item in select.expressions for one in walk(item) if isinstance(one, exp.AggFunc))
    return any(unparenthesised(one.this) == value for one in beside if not isinstance(one, exp.Count) and one.this)


def _is_never_null(node: exp.Expr | None, select: exp.Select, catalog: Catalog) -> bool:
    value = None if node is None else unparenthesised(node)
    if isinstance(value, exp.Literal | exp.Boolean):
        return True
    if not isinstance(value, exp.Column):
        return False
    if any(unparenthesised(test.this) == value for test in select.find_all(exp.Is)):
        return False
    column = declared_column(value, select, catalog)
    return column is not None and not column.nullable and column.randomized is None


def item_in_every_row(column: exp.Column, select: exp.Select) -> exp.Expr | None:
    """The item of FROM that a column is of, where it has a row in every row of FROM."""
    joins: list[exp.Join] = select.args.get("joins") or []
    if any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        return None
    for place, item in enumerate(from_items(select)):
        if item.alias_or_name == column.text("table"):
            return None if place and joins[place - 1].side else item
    return None


def declared_column(column: exp.Column, select: exp.Select, catalog: Catalog) -> Column | None:
    """The declared column of a table that has a row in every row of FROM."""
    item = item_in_every_row(column, select)
    if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
        return None
    table = catalog.find(item.this.name, bool(item.this.quoted), item.db)
    columns = () if table is None else table.columns.values()
    return next((one for one in columns if one.name.lower() == folded(column).lower()), None)


_NULL_OF_NULL = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.Extract, exp.TimestampTrunc, exp.DateTrunc, exp.Lower)
"""What is NULL only of a NULL, but for what an engine would raise an error of."""
_STRICT = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_OF_A_GROUP = (exp.Sum, exp.Avg, exp.Min, exp.Max)


def is_never_null(select: exp.Select, key: exp.Expr, catalog: Catalog) -> bool:
    """Whether a value of a row that a SELECT reads is never NULL. Names are bound."""
    column = unparenthesised(key)
    if isinstance(column, _NULL_OF_NULL):
        return all(is_never_null(select, one, catalog) for one in column.iter_expressions())
    if isinstance(column, exp.Literal | exp.Var | exp.DataType):
        return True
    if isinstance(column, exp.Column):
        known = declared_column(column, select, catalog)
        if (known is not None and not known.nullable) or _of_subquery(select, column, catalog):
            return True
    where = select.args.get("where")
    tests = [] if where is None else [unparenthesised(one) for one in conjuncts(where.this)]
    return any(unparenthesised(one.this) == column for one in tests if _is_false_of_null(one))


def _of_subquery(select: exp.Select, column: exp.Column, catalog: Catalog) -> bool:
    """Whether a column is that of a subquery, which has a row in every row of FROM, and is never NULL there."""
    item = item_in_every_row(column, select)
    body = None if item is None else body_of(item)
    if body is None:
        return False
    found = [unaliased(one) for one in body.expressions if output_name(one) == folded(column)]
    if len(found) != 1:
        return False
    value, group = unparenthesised(found[0]), body.args.get("group")
    if group is not None and any(part for name, part in group.args.items() if name != "expressions"):
        # Keys of ROLLUP are NULL in totals.
        return False
    if isinstance(value, exp.Count):
        return True
    if isinstance(value, _OF_A_GROUP):
        return group is not None and is_never_null(body, value.this, catalog)
    return is_never_null(body, value, catalog)


def _is_false_of_null(test: exp.Expr) -> bool:
    return isinstance(test, _STRICT) or (isinstance(test, exp.Is) and bool(test.args.get("negate")))
