"""Constants in other words, made plain: what BI tools compute of literals is a literal.

``TO_TIMESTAMP('2025-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')`` is ``CAST('2025-01-01 00:00:00' AS TIMESTAMP)``, and
``(SELECT TIMESTAMP '2025-01-01')`` is what it selects.

Guarantee: nothing but constants is computed; where a text does not follow its format, it stays for a refusal.
"""

from __future__ import annotations

import datetime

from sqlglot import exp

from rewriter.statement.time_formats import python_format

_FOLDED = (exp.StrToDate, exp.StrToTime, exp.Subquery)


def plain_constants(tree: exp.Query) -> exp.Query:
    """``tree`` with such constants as literals; select items that are nothing else keep their names by staying.

    >>> import sqlglot
    >>> text = "SELECT x FROM t WHERE d < to_date('2025-02-01', 'YYYY-MM-DD') AND e > to_timestamp('2025', 'YYYY')"
    >>> plain_constants(sqlglot.parse_one(text, read="postgres")).sql("postgres").partition("WHERE ")[2]
    "d < CAST('2025-02-01' AS DATE) AND e > CAST('2025-01-01 00:00:00' AS TIMESTAMPTZ)"
    """
    if not any(_folded(node) is not None for node in tree.find_all(*_FOLDED)):
        return tree
    copy: exp.Query = tree.copy()
    for node in list(copy.find_all(*_FOLDED)):
        folded = _folded(node)
        if folded is not None and not (isinstance(node.parent, exp.Select) and node.arg_key == "expressions"):
            node.replace(folded)
    return copy


def _folded(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.StrToDate | exp.StrToTime):
        return _formatted(node)
    return _selected(node)


def _formatted(node: exp.Expr) -> exp.Expr | None:
    text, pattern = node.this, node.args.get("format")
    if not (isinstance(text, exp.Literal) and text.is_string and isinstance(pattern, exp.Literal)):
        return None
    try:
        found = datetime.datetime.strptime(text.name, python_format(pattern.name))
    except ValueError:
        return None
    if isinstance(node, exp.StrToDate):
        return exp.cast(exp.Literal.string(found.date().isoformat()), "date")
    return _timestamp(found)


def _selected(node: exp.Expr) -> exp.Expr | None:
    """``(SELECT constant)`` without anything else, where a value is wanted and not rows."""
    select = node.this
    if not isinstance(node.parent, exp.Binary | exp.Between | exp.Paren):
        return None
    while isinstance(select, exp.Subquery) and not select.args.get("alias"):
        select = select.this
    if node.args.get("alias") or not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return None
    if any(value for part, value in select.args.items() if part != "expressions"):
        return None
    item = select.expressions[0].unalias()
    while isinstance(item, exp.Cast):
        item = item.this
    return exp.Paren(this=select.expressions[0].unalias().copy()) if isinstance(item, exp.Literal) else None


def _timestamp(value: datetime.datetime) -> exp.Expr:
    """TO_TIMESTAMP gives an instant in PostgreSQL: what the clocks of the session's zone show then is the text."""
    return exp.cast(exp.Literal.string(value.isoformat(" ")), "timestamptz")
