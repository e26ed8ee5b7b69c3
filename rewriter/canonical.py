"""One spelling for queries that read the same rows, so that releases which differ in their keys alone are found."""

from __future__ import annotations

import re

from sqlglot import exp

_OURS = re.compile(r"t\d+")


def canonical(*trees: exp.Expr) -> str:
    """The trees as one text in which our own aliases t1, t2, … are numbered as they appear.

    A name of the analyst's or the database's is quoted, so it is never taken for one of ours.

    >>> one, other = exp.column("x", "t1"), exp.column("x", "t7")
    >>> canonical(one) == canonical(other), canonical(one, one) == canonical(one, other)
    (True, False)
    """
    names: dict[str, str] = {}
    texts = []
    for tree in trees:
        copy = tree.copy()
        for identifier in copy.find_all(exp.Identifier):
            name = str(identifier.this)
            if not identifier.args.get("quoted") and _OURS.fullmatch(name):
                identifier.set("this", names.setdefault(name, f"t{len(names) + 1}"))
        texts.append(copy.sql(dialect="duckdb", comments=False))
    return "\n".join(texts)
