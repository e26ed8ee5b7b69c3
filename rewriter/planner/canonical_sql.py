"""One spelling for queries over the same rows, by which releases are recognised that differ in their keys alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from rewriter.dialects import without_facts

_OURS = re.compile(r"t\d+")


def canonical(rows: Sequence[exp.Expr], trees: Sequence[exp.Expr]) -> tuple[str, list[str]]:
    """The rows as one text, and each tree over them as a text that no other tree changes.

    Our own aliases t1, t2, … are numbered as they appear; a name of the analyst's or the database's is quoted, so it is
    never taken for one of ours.

    >>> inner = [exp.column("x", "t9"), exp.column("y", "t2")]
    >>> canonical([exp.column("a", "t2")], inner)
    ('t1.a', ['t2.x', 't1.y'])
    """
    names: dict[str, str] = {}
    texts = [_spelt(tree, names) for tree in rows]
    return "\n".join(texts), [_spelt(tree, dict(names)) for tree in trees]


def _spelt(tree: exp.Expr, names: dict[str, str]) -> str:
    """The tree's text; ``names`` are the numbers given so far, and it adds its own. The tree is left as it was."""
    copy = without_facts(tree.copy())
    for identifier in copy.find_all(exp.Identifier):
        name = str(identifier.this)
        if not identifier.args.get("quoted") and _OURS.fullmatch(name):
            identifier.args["this"] = names.setdefault(name, f"t{len(names) + 1}")
    return str(copy.sql(dialect="duckdb", comments=False, copy=False))
