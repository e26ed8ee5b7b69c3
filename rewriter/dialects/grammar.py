"""The text of a whole tree, in one of sqlglot's grammars."""

from __future__ import annotations

import functools

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.tokenizer_core import Token


def plain_text(tree: exp.Expr, grammar: str) -> str:
    """The text of a tree without facts, which its generator may change. Nothing is said of what another grammar would
    read in another way: a tree is written for the engine that reads it.

    >>> plain_text(exp.column("x", quoted=True), "duckdb")
    '"x"'
    """
    return _grammar(grammar).generate(tree, copy=False, comments=False, unsupported_level=ErrorLevel.IGNORE)


def tokens_of(text: str, grammar: str) -> list[Token]:
    """The words of a text of ours, with their places in it.

    >>> [token.text for token in tokens_of("SELECT 1", "duckdb")]
    ['SELECT', '1']
    """
    return sqlglot.tokenize(text, read=grammar)


@functools.cache
def _grammar(name: str) -> sqlglot.Dialect:
    return sqlglot.Dialect.get_or_raise(name)
