"""What an outer SELECT computes from its text alone: whether that has a result is known before anything is released.

PostgreSQL stops at ``CAST('a' AS INTEGER)`` and ``LIMIT 'a'`` whatever the rows are. A database that is asked without
rows computes neither, so that such constants are tried by themselves.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewriter.declared import BIGINT
from rewriter.dialects import DUCKDB, plain_text
from rewriter.outer.null_for_errors import may_fail

_VARIES = (exp.Column, exp.Query, exp.AggFunc, exp.Window, exp.Star, exp.Lambda, exp.Parameter, exp.Placeholder)
_INNER = (exp.WindowSpec, exp.Escape, exp.Interval, exp.Lambda)
"""Their parts stand for more than a value, and are tried with them."""


def constants_sql(sql: str) -> str | None:
    """A SELECT of the constants of an outer SELECT, each the largest of its kind; None where there are none that fail.

    >>> constants_sql("SELECT a0 + CAST('a' AS INT), a0 * 2 FROM r LIMIT '5'")
    "SELECT CAST('a' AS INT), CAST('5' AS BIGINT)"
    >>> constants_sql("SELECT CASE WHEN a0 > 1 THEN LN(1 - 2) END FROM r LIMIT 5")
    'SELECT LN(1 - 2), CAST(5 AS BIGINT)'
    """
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return None
    found: dict[str, exp.Expr] = {}
    waiting: list[exp.Expr] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Limit | exp.Offset) and not isinstance(value := node.expression, exp.Var):
            if _is_constant(value):
                counted = DUCKDB.cast(value.copy(), BIGINT)
                found.setdefault(plain_text(counted, "duckdb"), counted)
                continue
        elif may_fail(node) and _is_constant(node):
            found.setdefault(plain_text(node, "duckdb"), node.copy())
            continue
        elif isinstance(node, _INNER):
            continue
        waiting += reversed(list(node.iter_expressions()))
    return plain_text(exp.select(*found.values()), "duckdb") if found else None


def _is_constant(node: exp.Expr) -> bool:
    return not any(isinstance(part, _VARIES) for part in node.walk())
