"""Answers that were finished before: the same statement over the same released tables has the same rows.

Guarantee: an entry is found only by the very objects that it was made from, and holds released numbers alone.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from dpsql.finish.propagate import Ends
from dpsql.prepare import Prepared
from dpsql.releases import NoisyTable
from rewriter.declared import Scalar, Type


@dataclass(frozen=True, slots=True)
class Finished:
    """Columns, rows, and the ends of each cell's interval, by column: None for a column that has none.

    ``notes`` say of which values PostgreSQL has none.
    """

    columns: Sequence[tuple[str, Type]]
    rows: Sequence[tuple[Scalar | None, ...]]
    bars: Sequence[Sequence[Ends | tuple[str, str] | None] | None] = ()
    notes: tuple[str, ...] = ()


def undefined_notes(rows: Sequence[tuple[Scalar | None, ...]], *, undefined: bool) -> tuple[str, ...]:
    """What to say where an answer goes on and PostgreSQL stops with an error."""
    notes = []
    if undefined:
        notes.append(
            "a value that has no result (out of range, no such cast) is NULL, and in no sum: PostgreSQL stops there"
        )
    if any(isinstance(value, float) and not math.isfinite(value) for row in rows for value in row):
        notes.append("a number beyond DOUBLE PRECISION is Infinity or NaN; PostgreSQL stops there")
    return tuple(notes)


MAX_CELLS = 2_000_000
"""Of all answers that are kept."""


class FinishedAnswers:
    """The latest answers, by identity. Thread-safe."""

    def __init__(self, cells: int = MAX_CELLS) -> None:
        self._most = cells
        self._cells = 0
        self._lock = threading.Lock()
        # What a key is made of is kept in its entry: no other object can have its identity meanwhile.
        self._kept: OrderedDict[Hashable, tuple[Prepared, Sequence[NoisyTable], Finished, int]] = OrderedDict()

    def get(
        self, prepared: Prepared, tables: Sequence[NoisyTable], how: Hashable, finish: Callable[[], Finished]
    ) -> Finished:
        """The answer of ``prepared`` over ``tables``, from memory or from ``finish``, which works as ``how`` says."""
        key = (id(prepared), how, *map(id, tables))
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return found[2]
        finished = finish()
        size = (len(finished.columns) + sum(bar is not None for bar in finished.bars)) * (len(finished.rows) + 1)
        if size > self._most // 10:
            return finished
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (prepared, tables, finished, size)
                self._cells += size
            while self._cells > self._most:
                _, (_, _, _, old) = self._kept.popitem(last=False)
                self._cells -= old
        return finished
