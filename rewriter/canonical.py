"""One spelling for queries that read the same rows, so that releases which differ in their keys alone are found."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    return "\n".join([_spelt(tree, names) for tree in trees])


def canonical_beside(rows: Sequence[exp.Expr], trees: Sequence[exp.Expr]) -> tuple[str, list[str]]:
    """The rows as one text, and each tree over them as a text that no other tree changes.

    >>> inner = [exp.column("x", "t9"), exp.column("y", "t2")]
    >>> canonical_beside([exp.column("a", "t2")], inner)
    ('t1.a', ['t2.x', 't1.y'])
    """
    names: dict[str, str] = {}
    texts = [_spelt(tree, names) for tree in rows]
    return "\n".join(texts), [_spelt(tree, dict(names)) for tree in trees]


def _spelt(tree: exp.Expr, names: dict[str, str]) -> str:
    """The tree's text; ``names`` are the numbers given so far, and it adds its own."""
    copy = tree.copy()
    for identifier in copy.find_all(exp.Identifier):
        name = str(identifier.this)
        if not identifier.args.get("quoted") and _OURS.fullmatch(name):
            identifier.set("this", names.setdefault(name, f"t{len(names) + 1}"))
    return str(copy.sql(dialect="duckdb", comments=False))
