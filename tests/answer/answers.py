"""What a query that is asked first would release, without asking it: columns and types, and rows that a test chooses."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random

from sqlglot import exp

from dpsql.prepare.earlier import answered_columns
from dpsql.prepare.prepared import prepare
from dpsql.sandbox import Sandbox
from rewriter.declared.catalog import Catalog
from rewriter.declared.earlier_answer import AnsweredColumn, EarlierAnswer
from rewriter.declared.types import Kind, Scalar
from rewriter.dialects.dialect import Dialect
from rewriter.program import rewrite
from rewriter.refused import NeedsAnswer
from rewriter.split.splitter import split

_MOST = 5


@lru_cache(maxsize=1)
def _sandbox() -> Sandbox:
    return Sandbox.open()


def unknown_answer(query: exp.Query, known: Catalog, dialect: Dialect) -> EarlierAnswer:
    """One row of which nothing is known."""
    described = prepare(rewrite(query.copy(), known, dialect), query.sql(), _sandbox(), query.copy)
    return EarlierAnswer(answered_columns(described), (), _MOST).unknown


def with_answers(
    tree: exp.Query, known: Catalog, dialect: Dialect, answer: Callable[[EarlierAnswer], EarlierAnswer], **how: bool
) -> tuple[Catalog, list[exp.Query]]:
    """The catalog that knows all answers that a query needs, and the queries that they are of, in their order."""
    queries: list[exp.Query] = []
    while True:
        try:
            split(tree.copy(), known, dialect, **how)  # type: ignore[arg-type]
        except NeedsAnswer as needed:
            queries.append(needed.query)
            known = known.with_answer(needed.text, answer(unknown_answer(needed.query, known, dialect)))
        else:
            return known, queries


def drawn(random: Random, unknown: EarlierAnswer) -> EarlierAnswer:
    """A few rows: of one group each, as the first column says."""
    size = random.choice([0, 1, 1, _MOST])
    rows = tuple(tuple(_drawn(random, column, place) for column in unknown.columns) for place in range(size))
    one_row = all(column.noisy for column in unknown.columns)
    return EarlierAnswer(unknown.columns, rows[:1] if one_row else rows, unknown.most)


def _drawn(random: Random, column: AnsweredColumn, place: int) -> Scalar | None:
    if column.noisy and random.random() < 0.1:
        return None
    numbers = {Kind.INTEGER: place + random.choice([0, 0, 7]) * column.noisy, Kind.DOUBLE: random.uniform(-9, 99)}
    if column.type.kind in numbers:
        return numbers[column.type.kind]
    return "abcdefgh"[place] if column.type.kind is Kind.TEXT else None
