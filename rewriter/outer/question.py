"""The outer SELECT, as it is run over replicates of the released tables."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.declared import UTC


@dataclass(frozen=True, slots=True)
class Question:
    """The SELECT for one replicate, and for all replicates at once. Rows are matched by the columns at ``keys``.

    ``wanted`` are the columns without an exact rule. Those in ``nonnegative`` are never below 0, and those in ``most``
    never above a number.
    """

    sql: str
    all_at_once: str
    keys: tuple[int, ...]
    wanted: tuple[int, ...]
    nonnegative: frozenset[int] = frozenset()
    most: tuple[tuple[int, float], ...] = ()
    zone: str = UTC
