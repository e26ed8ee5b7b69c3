"""WITH queries that nothing reads: releases under them are not bought."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from rewriter.release import RESERVED


def without_unread(tree: exp.Query) -> exp.Query:
    """The outer SELECT without WITH queries over releases that nothing reads: they are not bought. Changes ``tree``."""
    pruned = True
    while pruned:
        pruned = False
        read = Counter(table.name.lower() for table in tree.find_all(exp.Table))
        for cte in list(tree.find_all(exp.CTE)):
            released = any(table.name.startswith(RESERVED) for table in cte.find_all(exp.Table))
            if released and not read[cte.alias.lower()] and (with_ := cte.parent) is not None:
                cte.pop()
                pruned = True
                if not with_.expressions:
                    with_.pop()
    return tree
