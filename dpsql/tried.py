"""Error bars by trying: the outer SELECT over replicates of what was released, where nothing exact is known.

Guarantee: post-processing. It asks the sandbox, reads no data and costs no budget; the same question over the same
released numbers has the same interval. How much is tried follows from the number of cells, never from the clock.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from dpsql.engines.deadlines import Cancellation
from dpsql.errors import Error
from dpsql.inference.propagate import Ends
from dpsql.inference.replicates import FEWEST, replicate_ends
from dpsql.sandbox import Sandbox
from dpsql.table import ReleasedColumn, ReleasedTable
from rewriter.replicated import REPLICATE, REPLICATES
from rewriter.types import INTEGER, Scalar

MOST = 399
"""Replicates of a small table: the error of an end is a tenth of the interval's width."""

MOST_CELLS = 50_000
"""Released cells of all replicates together, and rows of all their answers."""

ONE_BY_ONE = 39
"""Replicates where the database cannot answer all of them at once."""

Tables = Mapping[str, ReleasedTable]
Row = tuple[Scalar | None, ...]
Key = tuple[Row, int]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every replicate: as it is, and of all at once. Rows are matched by the columns at ``keys``."""

    sql: str
    all_at_once: str
    keys: tuple[int, ...]
    wanted: tuple[int, ...]


def how_many(cells: int, rows: int) -> int:
    """Replicates for so many released cells and answered rows; 0 where there would be too few to say anything.

    >>> how_many(6, 2), how_many(300, 10), how_many(5000, 10)
    (399, 159, 0)
    """
    most = min(MOST, MOST_CELLS // max(cells, rows, 1))
    count = most - (most + 1) % 40
    return count if count >= FEWEST else 0


def tried_ends(
    question: Question,
    rows: Sequence[Row],
    released: Tables,
    replicates: Callable[[int], Sequence[Tables]],
    sandbox: Sandbox,
    cancellation: Cancellation,
) -> dict[int, tuple[Ends | None, ...]]:
    """The interval of each wanted column in each row; ``released`` is what the rows were computed from."""
    cells = sum(table.rows * sum(column.margins is not None for column in table.columns) for table in released.values())
    count = how_many(cells, len(rows))
    if not count or not question.wanted:
        return {}
    keys = _keys(rows, question.keys)
    drawn = replicates(count)
    answers = None
    if len({key for key, _ in keys}) == len(keys):
        answers = _all_at_once(question, rows, released, drawn, sandbox, cancellation)
    if answers is None:
        answers = [list(sandbox.run(question.sql, tables, cancellation)[1]) for tables in drawn[:ONE_BY_ONE]]
    found = [dict(zip(_keys(answer, question.keys), answer, strict=True)) for answer in answers]
    return {at: tuple(_ends(rows, at, keys, found)) for at in question.wanted}


def _ends(rows: Sequence[Row], at: int, keys: Sequence[Key], found: Sequence[Mapping[Key, Row]]) -> list[Ends | None]:
    ends: list[Ends | None] = []
    for row, key in zip(rows, keys, strict=True):
        values = [replicate[key][at] for replicate in found if key in replicate]
        numbers = np.array([float(value) for value in values if isinstance(value, int | float | Decimal)])
        value = row[at]
        ends.append(replicate_ends(float(value), numbers) if isinstance(value, int | float | Decimal) else None)
    return ends


def _keys(rows: Sequence[Row], places: Sequence[int]) -> list[Key]:
    """What a row is known by: its unmeasured columns, and which one of those it is that have the same."""
    seen: Counter[Row] = Counter()
    keys: list[Key] = []
    for row in rows:
        key = tuple(row[place] for place in places)
        keys.append((key, seen[key]))
        seen[key] += 1
    return keys


def _all_at_once(
    question: Question,
    rows: Sequence[Row],
    released: Tables,
    drawn: Sequence[Tables],
    sandbox: Sandbox,
    cancellation: Cancellation,
) -> list[list[Row]] | None:
    """The answers of all replicates; None where the database cannot do it, or does not answer the same alone."""
    stacked = {name: _stacked([released[name], *(tables[name] for tables in drawn)]) for name in released}
    numbers = ReleasedColumn(REPLICATE, INTEGER, tuple(range(len(drawn) + 1)))
    try:
        _, answered = sandbox.run(
            question.all_at_once, {**stacked, REPLICATES: ReleasedTable((numbers,))}, cancellation
        )
    except Error:
        if cancellation.cancelled:
            raise
        return None
    answers: list[list[Row]] = [[] for _ in range(len(drawn) + 1)]
    for number, *row in answered:
        answers[int(number)].append(tuple(row))  # type: ignore[arg-type]
    # The first replicate is what was released: it has to come to the answer that is shown.
    return answers[1:] if _same(answers[0], rows, question.keys) else None


def _same(some: Sequence[Row], others: Sequence[Row], places: Sequence[int]) -> bool:
    """Whether rows are the same in any order, but for the last digits of floating point."""
    left, right = (dict(zip(_keys(rows, places), rows, strict=True)) for rows in (some, others))
    return left.keys() == right.keys() and all(
        all(_equal(one, other) for one, other in zip(row, right[key], strict=True)) for key, row in left.items()
    )


def _equal(one: Scalar | None, other: Scalar | None) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other


def _stacked(tables: Sequence[ReleasedTable]) -> ReleasedTable:
    """Tables of the same columns, one after the other, with the number of each."""
    columns = tuple(
        ReleasedColumn(column.name, column.type, tuple(v for table in tables for v in table.columns[at].values))
        for at, column in enumerate(tables[0].columns)
    )
    numbers = tuple(number for number, table in enumerate(tables) for _ in range(table.rows))
    return ReleasedTable((*columns, ReleasedColumn(REPLICATE, INTEGER, numbers)))
