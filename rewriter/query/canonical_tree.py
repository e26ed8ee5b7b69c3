"""The canonical tree of a statement: equal questions in one spelling, for whoever splits them.

It stands in front of all checks: what it makes is read, refused, bounded and charged as if it had been written so. A
mistake here may cost a right answer, and never the promise.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.bound_names import bind
from rewriter.statement import plain_names


def canonical(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """``tree``, bound. It is the caller's own copy; a statement without a rule is returned as it is."""
    tree = plain_names(tree, None, catalog.schemas)
    bind(tree, catalog)
    return tree
