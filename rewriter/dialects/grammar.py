"""The text of a whole tree, in one of sqlglot's grammars."""

from __future__ import annotations

import functools

import sqlglot
from sqlglot import exp


def plain_text(tree: exp.Expr, grammar: str) -> str:
    """The text of a tree without facts, which its generator may change.

    >>> plain_text(exp.column("x", quoted=True), "duckdb")
    '"x"'
    """
    return _grammar(grammar).generate(tree, copy=False, comments=False)


@functools.cache
def _grammar(name: str) -> sqlglot.Dialect:
    return sqlglot.Dialect.get_or_raise(name)
