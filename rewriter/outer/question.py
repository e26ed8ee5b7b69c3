"""The outer SELECT, as it is run over replicates of the released tables."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.declared import UTC


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every replicate: as it is, and of all at once. Rows are matched by the columns at ``keys``.

    ``wanted`` are the columns that nothing is known of, of which the ``nonnegative`` are never below 0, and those of
    ``most`` never above a number.
    """

    sql: str
    all_at_once: str
    keys: tuple[int, ...]
    wanted: tuple[int, ...]
    nonnegative: frozenset[int] = frozenset()
    most: tuple[tuple[int, float], ...] = ()
    zone: str = UTC
