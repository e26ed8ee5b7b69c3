"""WITH queries that nothing reads: releases under them are not bought."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp


def drop_unread_queries(tree: exp.Expr, may_go: Callable[[exp.CTE], bool] = lambda _: True) -> None:
    """Take away, in place, WITH queries that nothing reads, of those that ``may_go``; and what they alone read.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT 2 AS y")
    >>> drop_unread_queries(tree)
    >>> tree.sql()
    'SELECT 2 AS y'
    """
    while True:
        read = {table.name.lower() for table in tree.find_all(exp.Table)}
        unread = [cte for cte in tree.find_all(exp.CTE) if cte.alias.lower() not in read and may_go(cte)]
        if not unread:
            return
        for cte in unread:
            with_ = cte.parent
            cte.pop()
            if with_ is not None and not with_.expressions:
                with_.pop()
