"""Whether there is a row of people, as mappers of objects ask: ``SELECT 1 FROM patient … LIMIT 1``, and EXISTS.

Guarantee: a noisy count says it, BOOL_OR(TRUE) of the same rows (:mod:`rewriter.aggregates.booleans_as_counts`). What
is shown is a constant of the statement, and no row of a person.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.statement import is_grouped

_OF_ROWS = (exp.Column, exp.Star, exp.AggFunc, exp.Window, exp.Query)
"""What a select list has that is computed of rows, or of others."""


def any_row(query: exp.Expr) -> exp.Select:
    """A SELECT of one row and one column, TRUE where ``query`` surely has a row.

    >>> import sqlglot
    >>> any_row(sqlglot.parse_one("SELECT a, 1 FROM t WHERE b ORDER BY a")).sql("postgres")
    'SELECT BOOL_OR(TRUE) AS found FROM t WHERE b'
    >>> any_row(sqlglot.parse_one("SELECT DISTINCT a FROM t")).sql("postgres")
    'SELECT BOOL_OR(TRUE) AS found FROM (SELECT DISTINCT a FROM t) AS asked'
    """
    found = exp.alias_(exp.LogicalOr(this=exp.true()), "found")
    if isinstance(query, exp.Select) and not is_grouped(query) and not _has(query, "distinct", "qualify", "limit"):
        select = query.copy()
        select.set("expressions", [found])
        select.set("order", None)
        return select
    alias = exp.TableAlias(this=exp.to_identifier("asked"))
    return exp.Select(expressions=[found]).from_(exp.Subquery(this=query.copy(), alias=alias), copy=False)


def with_any_row(tree: exp.Query) -> exp.Select | None:
    """``tree`` as its select list over :func:`any_row`, where it is a list of constants with LIMIT 1; None for others.

    >>> import sqlglot
    >>> with_any_row(sqlglot.parse_one("SELECT 1 AS a FROM t WHERE b LIMIT 1")).sql("postgres")
    'SELECT 1 AS a FROM (SELECT BOOL_OR(TRUE) AS found FROM t WHERE b) AS asked WHERE asked.found'
    >>> with_any_row(sqlglot.parse_one("SELECT 1 FROM t LIMIT 5"))
    """
    if not isinstance(tree, exp.Select) or is_grouped(tree) or _has(tree, "distinct", "qualify"):
        return None
    offset = tree.args.get("offset")
    if _number(tree.args.get("limit")) != 1 or (offset is not None and _number(offset) != 0):
        return None
    if any(item.find(*_OF_ROWS) is not None for item in tree.expressions):
        return None
    rows = tree.copy()
    for part in ("limit", "offset", "with_"):
        rows.set(part, None)
    alias = exp.TableAlias(this=exp.to_identifier("asked"))
    select = exp.Select(expressions=[item.copy() for item in tree.expressions])
    select.from_(exp.Subquery(this=any_row(rows), alias=alias), copy=False)
    select.set("where", exp.Where(this=exp.column("found", "asked")))
    if (with_ := tree.args.get("with_")) is not None:
        select.set("with_", with_.copy())
    return select


def _has(select: exp.Select, *parts: str) -> bool:
    return any(select.args.get(part) for part in parts)


def _number(limit: exp.Expr | None) -> int | None:
    """The number of a LIMIT, a FETCH or an OFFSET; None where there is none, or an expression."""
    count = None if limit is None else limit.args.get("count" if isinstance(limit, exp.Fetch) else "expression")
    return int(count.name) if isinstance(count, exp.Literal) and count.name.isdecimal() else None
