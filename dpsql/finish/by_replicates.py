"""Error bars by replicates: the outer SELECT over released tables with more noise, where no exact rule is known.

Guarantee: post-processing. It asks the sandbox, reads no data and costs no budget; the same question over the same
released numbers has the same interval. The number of replicates follows from the number of cells, never from the clock.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

import numpy as np

from dpsql.engines import Cancellation
from dpsql.errors import Error
from dpsql.finish.propagate import Ends
from dpsql.finish.replicates import FEWEST, replicate_ends
from dpsql.releases import IntegerColumn, NoisyTable, ReleasedColumn, ReleasedTable, ValueColumn, concatenated
from dpsql.sandbox import NEGATIVE_LIMIT, Sandbox
from rewriter.debiased import Debiased
from rewriter.declared import INTEGER, Scalar
from rewriter.front_door import REPLICATE, REPLICATES, Family, Question
from rewriter.plan import Output, Plan

MOST = 199
"""Replicates of a small table: the error of an end is a tenth of the interval's width."""

MOST_EFFORT = 50_000
"""Of all replicates together; and rows of all their answers."""

TOO_MUCH = 5_000
"""Effort of one replicate from which on nothing is tried."""

ONE_BY_ONE = 39
"""Replicates where the database cannot answer all of them at once."""

Tables = Mapping[str, ReleasedTable]
Row = tuple[Scalar | None, ...]
Key = tuple[Row, int]


def effort(tables: Sequence[NoisyTable], plans: Sequence[Plan], families: Sequence[Family]) -> int:
    """The work to infer one replicate, in cells of a table that stands alone.

    Measurements that are made to agree take about ten times as much, and forty times where their keys cross.
    """
    total = 0
    for family in families:
        places = [place for place in family.measurements if plans[place].blocks]
        cells = sum(len(tables[place].keys) * sum(map(_cost, plans[place].outputs)) for place in places)
        keys = sorted((set(one) for one in family.keys), key=len)
        crossing = any(not less <= more for less, more in pairwise(keys))
        decoded = any(block.prefix is not None for place in places for block in plans[place].blocks)
        total += cells * (40 if crossing else 10 if len(places) > 1 else 3 if decoded else 1)
    return total


def _cost(output: Output) -> int:
    """The cells that an output is worth: one of reports is computed of all reports."""
    estimator = output.estimator
    return 1 + sum(len(part.reports) for part in estimator.parts) // 4 if isinstance(estimator, Debiased) else 1


def how_many(work: int, rows: int) -> int:
    """Replicates, for the effort of one and the rows of its answer; 0 where it would be too much.

    >>> how_many(6, 2), how_many(300, 10), how_many(3000, 10), how_many(9000, 10)
    (199, 159, 39, 0)
    """
    if max(work, rows) > TOO_MUCH:
        return 0
    most = max(FEWEST, min(MOST, MOST_EFFORT // max(work, rows, 1)))
    return most - (most + 1) % 40


def tried_ends(
    question: Question,
    rows: Sequence[Row],
    released: Tables,
    work: int,
    replicates: Callable[[int], Sequence[Tables]],
    sandbox: Sandbox,
    cancellation: Cancellation,
) -> dict[int, tuple[Ends | None, ...]]:
    """The interval of each wanted column in each row; ``released`` is what the rows were computed from.

    ``work`` is the effort of one replicate.
    """
    count = how_many(work, len(rows))
    if not count or not question.wanted:
        return {}
    keys = _keys(rows, question.keys)
    drawn = replicates(count)
    answers = None
    if len({key for key, _ in keys}) == len(keys):
        answers = _all_at_once(question, rows, released, drawn, sandbox, cancellation)
    if answers is None:
        answers = [_alone(question, tables, sandbox, cancellation) for tables in drawn[:ONE_BY_ONE]]
    found = [dict(zip(_keys(answer, question.keys), answer, strict=True)) for answer in answers]
    ends = {at: _ends(rows, at, keys, found) for at in question.wanted}
    most = dict(question.most)
    limits = {at: (0.0 if at in question.nonnegative else -math.inf, most.get(at, math.inf)) for at in ends}
    return {at: tuple(_within(pair, *limits[at]) for pair in one) for at, one in ends.items()}


def _within(ends: Ends | None, least: float, most: float) -> Ends | None:
    return None if ends is None else (min(max(ends[0], least), most), min(max(ends[1], least), most))


def _ends(rows: Sequence[Row], at: int, keys: Sequence[Key], found: Sequence[Mapping[Key, Row]]) -> list[Ends | None]:
    ends: list[Ends | None] = []
    for row, key in zip(rows, keys, strict=True):
        values = [replicate[key][at] for replicate in found if key in replicate]
        numbers = np.array([float(value) for value in values if isinstance(value, int | float | Decimal)])
        value = row[at]
        ends.append(replicate_ends(float(value), numbers) if isinstance(value, int | float | Decimal) else None)
    return ends


def _keys(rows: Sequence[Row], places: Sequence[int]) -> list[Key]:
    """The identity of each row: its unmeasured columns, and its number among the rows that have the same."""
    seen: Counter[Row] = Counter()
    keys: list[Key] = []
    for row in rows:
        key = tuple(row[place] for place in places)
        keys.append((key, seen[key]))
        seen[key] += 1
    return keys


def _alone(question: Question, tables: Tables, sandbox: Sandbox, cancellation: Cancellation) -> list[Row]:
    """The answer of one replicate: no row where LIMIT or OFFSET is negative in it, though it is not as released."""
    try:
        return list(sandbox.answer(question.sql, tables, cancellation, question.zone).rows)
    except Error as raised:
        if raised.sqlstate != NEGATIVE_LIMIT:
            raise
        return []


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
        every = {**stacked, REPLICATES: ReleasedTable((numbers,))}
        answered = sandbox.answer(question.all_at_once, every, cancellation, question.zone).rows
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
        ReleasedColumn(column.name, column.type, concatenated([table.columns[at].column for table in tables]))
        for at, column in enumerate(tables[0].columns)
    )
    numbers = np.repeat(np.arange(len(tables), dtype=np.int64), [table.rows for table in tables])
    column = ReleasedColumn(REPLICATE, INTEGER, ValueColumn.of_integers(IntegerColumn(numbers), INTEGER))
    return ReleasedTable((*columns, column))
