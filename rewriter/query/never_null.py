"""Values that are never NULL: a condition or the database says so, or they are computed of such values.

Theorem: a group has at least one row, so MIN, MAX, SUM and AVG of a value that is never NULL are not NULL in a group of
GROUP BY, and a COUNT never is.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.counted_rows import declared_column, item_in_every_row
from rewriter.query.merged_subqueries import body_of
from rewriter.statement import conjuncts, folded, output_name, unaliased, unparenthesised

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
