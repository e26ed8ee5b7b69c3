"""Answers that were finished before: the same statement over the same released tables has the same rows.

Guarantee: an entry is found only by the very objects that it was made from, and holds released numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.finish.propagate import Intervals
from dpsql.memory import Memories, Memory
from dpsql.prepare import Prepared
from dpsql.releases import ColumnarRows, NoisyTable
from rewriter.declared import Kind, Type


@dataclass(frozen=True, slots=True)
class Finished:
    """Columns, rows, and the ends of each cell's interval, by column: None for a column that has none.

    ``notes`` say of which values PostgreSQL has none.
    """

    columns: Sequence[tuple[str, Type]]
    rows: ColumnarRows
    bars: Sequence[Intervals | Sequence[tuple[str, str] | None] | None] = ()
    notes: tuple[str, ...] = ()


def undefined_notes(rows: ColumnarRows, *, undefined: bool) -> tuple[str, ...]:
    """What to say where an answer goes on and PostgreSQL stops with an error."""
    notes = []
    if undefined:
        notes.append(
            "a value that has no result (out of range, no such cast) is NULL, and in no sum: PostgreSQL stops there"
        )
    doubles = [column for column in rows.columns if column.type.kind is Kind.DOUBLE]
    if not all(np.isfinite(column.floats[column.known]).all() for column in doubles):
        notes.append("a number beyond DOUBLE PRECISION is Infinity or NaN; PostgreSQL stops there")
    return tuple(notes)


MAX_CELLS = 2_000_000
"""Of all answers that are kept."""
_CHARACTER = 4
"""Cells that take as much memory as a character of an answer's statement, which is kept with it."""


class FinishedAnswers:
    """The latest answers, by identity. Thread-safe."""

    def __init__(self, memories: Memories, cells: int = MAX_CELLS) -> None:
        self._kept: Memory[tuple[Hashable, ...], _Kept] = memories.memory("finished answers", cells, _cells)

    def get(
        self, prepared: Prepared, tables: Sequence[NoisyTable], how: Hashable, finish: Callable[[], Finished]
    ) -> Finished:
        """The answer of ``prepared`` over ``tables``, from memory or from ``finish``, which works as ``how`` says."""
        key = (id(prepared), how, *map(id, tables))
        return self._kept.get(key, lambda: _Kept(prepared, tables, finish())).finished


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer with what its key is made of: no other object can have its identity meanwhile."""

    prepared: Prepared
    tables: Sequence[NoisyTable]
    finished: Finished


def _cells(kept: _Kept) -> int:
    finished = kept.finished
    columns = len(finished.columns) + sum(bar is not None for bar in finished.bars)
    return _CHARACTER * kept.prepared.characters + columns * (len(finished.rows) + 1)
