"""What a query that is asked first would release, without asking it: columns and types, and rows that a test chooses."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random

import pyarrow as pa
from sqlglot import exp

from dpsql.prepare.earlier import answered_columns
from dpsql.prepare.prepared import prepare
from dpsql.releases import arrow_type
from dpsql.sandbox import Sandbox
from rewriter.declared.catalog import Catalog
from rewriter.declared.earlier_answer import AnsweredColumn, EarlierAnswer
from rewriter.declared.types import Kind, Scalar, Type
from rewriter.dialects.dialect import Dialect
from rewriter.program import rewrite
from rewriter.refused import NeedsAnswer
from rewriter.split.earlier_answers import MoreRowsThanClaimed
from rewriter.split.splitter import split

_MOST = 5


_Columns = tuple[tuple[str, Type], ...]


@lru_cache(maxsize=1)
def _sandbox(public: tuple[tuple[str, _Columns], ...]) -> Sandbox:
    """Public tables without rows: what a query would release is described, and not asked."""
    found = Sandbox.open()
    for name, columns in public:
        fields = [(column, arrow_type(kind)) for column, kind in columns]
        found.load_public(name, pa.schema(fields).empty_table())
    return found


def _public(known: Catalog) -> tuple[tuple[str, _Columns], ...]:
    tables = (table for table in known.tables.values() if table.public)
    return tuple((one.name, tuple((name, column.type) for name, column in one.columns.items())) for one in tables)


def unknown_answer(query: exp.Query, known: Catalog, dialect: Dialect) -> EarlierAnswer:
    """One row of which nothing is known."""
    described = prepare(rewrite(query.copy(), known, dialect), query.sql(), _sandbox(_public(known)), query.copy)
    return EarlierAnswer(answered_columns(described), (), _MOST).unknown


def with_answers(
    tree: exp.Query,
    known: Catalog,
    dialect: Dialect,
    answer: Callable[[EarlierAnswer, int], EarlierAnswer],
    **how: bool,
) -> tuple[Catalog, list[exp.Query]]:
    """The catalog that knows all answers that a query needs, and the queries that they are of, in their order.

    ``answer`` is asked again, with one number more, where its rows were not let to the engine.
    """
    queries: list[exp.Query] = []
    before, tried = known, 0
    while True:
        try:
            split(tree.copy(), known, dialect, **how)  # type: ignore[arg-type]
        except NeedsAnswer as needed:
            queries.append(needed.query)
            before, last, tried = known, needed, 0
        except MoreRowsThanClaimed:
            tried += 1
        else:
            return known, queries
        known = before.with_answer(last.text, answer(unknown_answer(last.query, before, dialect), tried))


def drawn(random: Random, unknown: EarlierAnswer, tried: int = 0) -> EarlierAnswer:
    """A few rows: at first whatever the query is, more of them than its form allows and some twice; then one of each
    group, as the first column says; and at last one row."""
    size = random.choice([0, 1, 1, 2, _MOST, 3 * _MOST] if tried == 0 else [0, 1, 1, _MOST] if tried == 1 else [0, 1])
    places = [random.randrange(8) if tried == 0 else place for place in range(size)]
    rows = tuple(tuple(_drawn(random, column, place) for column in unknown.columns) for place in places)
    return EarlierAnswer(unknown.columns, rows, unknown.groups)


def _drawn(random: Random, column: AnsweredColumn, place: int) -> Scalar | None:
    if column.noisy and random.random() < 0.1:
        return None
    numbers = {Kind.INTEGER: place + random.choice([0, 0, 7]) * column.noisy, Kind.DOUBLE: random.uniform(-9, 99)}
    if column.type.kind in numbers:
        return numbers[column.type.kind]
    return "abcdefgh"[place] if column.type.kind is Kind.TEXT else None
