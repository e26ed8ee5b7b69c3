"""PostgreSQL's meaning in DuckDB's words, where sqlglot passes a form through that means something else there.

Each construct has its own spelling. Nothing here decides what may run: :mod:`rewriter.outer.checks` did.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.outer.allow_list import CONSTRUCTS
from rewriter.outer.construct import Columns, Spelling, Trait
from rewriter.outer.found_types import read_clock_words, summed_types


def spelled(tree: exp.Query, columns: Columns) -> exp.Query:
    """A copy that DuckDB understands as PostgreSQL understands ``tree``."""
    copy: exp.Query = tree.copy()
    read_clock_words(copy, columns)
    nodes = list(copy.walk())
    for node in nodes:
        if isinstance(node, exp.Identifier) and not node.args.get("quoted"):
            node.set("this", node.name.lower())
    sums = [node for node in nodes if CONSTRUCTS.has(node, Trait.SUM)]
    spelling = Spelling(columns, CONSTRUCTS, summed_types(copy, sums, columns))
    for node in reversed(nodes):
        new = CONSTRUCTS.of(node).spelling(node, spelling)
        if new is not node:
            node.replace(new)
    return copy
