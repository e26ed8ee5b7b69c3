"""The parts of a statement's WITH as views of the session; those that several parts read are computed once.

Spark computes a part of WITH anew for each reader of it, and does not find what it has kept where the text that reads
it, or the kept part itself, has a WITH. So all parts become views as soon as one of them has two readers. The text is
taken apart at its own parentheses, and no word of it is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from rewriter.dialects import SPARK, tokens_of


@dataclass(frozen=True, slots=True)
class Staged:
    """A view of the session, and the SQL of its rows. ``kept``: it has several readers."""

    name: str
    sql: str
    kept: bool


@dataclass(frozen=True, slots=True)
class StagedSQL:
    """Views to be made in this order, and the statement over them."""

    views: tuple[Staged, ...]
    sql: str


def staged(sql: str) -> StagedSQL:
    """A statement with its views.

    >>> for view in staged("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT * FROM b JOIN b AS c").views:
    ...     print(view)
    Staged(name='a', sql='SELECT 1 AS x', kept=False)
    Staged(name='b', sql='SELECT x FROM a', kept=True)
    """
    tokens = tokens_of(sql, SPARK.name)
    if not tokens or tokens[0].token_type is not TokenType.WITH:
        return StagedSQL((), sql)
    parts = list(_parts(tokens))
    views = tuple(
        Staged(
            part.name,
            sql[tokens[part.begin].start + 1 : tokens[part.end].start],
            _readers(part.name, tokens[part.end :]) > 1,
        )
        for part in parts
    )
    if not any(view.kept for view in views):
        return StagedSQL((), sql)
    return StagedSQL(views, sql[tokens[parts[-1].end].end + 1 :].strip())


@dataclass(frozen=True, slots=True)
class _Part:
    """``name AS (…)``: the places of its parentheses among the tokens."""

    name: str
    begin: int
    end: int


def _parts(tokens: Sequence[Token]) -> Iterator[_Part]:
    place = 1
    while True:
        name, begin = tokens[place].text, place + 2
        end = _closing(tokens, begin)
        yield _Part(name, begin, end)
        if tokens[end + 1].token_type is not TokenType.COMMA:
            return
        place = end + 2


def _closing(tokens: Sequence[Token], place: int) -> int:
    depth = 0
    for here in range(place, len(tokens)):
        kind = tokens[here].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return here
    raise ValueError("a part of WITH has no end")


def _readers(name: str, tokens: Sequence[Token]) -> int:
    """How often a name stands where it can be a table's. Before a dot it is a column's, as after IS DISTINCT FROM."""
    sources = (TokenType.FROM, TokenType.JOIN, TokenType.COMMA)
    return sum(
        one.token_type in sources
        and other.text == name
        and other.token_type is not TokenType.STRING
        and after.token_type is not TokenType.DOT
        for one, other, after in zip(tokens, tokens[1:], [*tokens[2:], tokens[-1]], strict=False)
    )
