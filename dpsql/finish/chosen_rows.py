"""Intervals of rows that were chosen by their own noisy numbers: the first ten, those above a limit.

Chosen rows are likelier to be overstated: of the first 5 of 64 equal groups, 95 % intervals hold 73 %. Where R of m
rows are shown by what was measured of them, intervals of the level 1 - 0.05·R/m hold 95 % of the rows that are shown,
in the mean, whatever the rule was (Benjamini, Yekutieli 2005, theorem 1: the false coverage-statement rate). So each
interval is made that much wider. Post-processing: it reads what is shown, and the statement's text.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpsql.accounting import Accounting
from dpsql.finish.propagate import Ends, as_number

NOTE = (
    "the rows were chosen by their noisy numbers, which makes these likelier to be too high or too low: their error"
    " bars are wider, so that 95 % of the rows shown are within them"
)
_MISSED = 0.05

Cell = Ends | tuple[str, str] | None


def stretch(shown: int, among: int, accounting: Accounting) -> float:
    """By what the intervals of so many rows among others are longer than 95 % intervals of single rows.

    >>> from dpsql.accounting import PURE, ZCDP
    >>> round(stretch(5, 64, ZCDP), 2), round(stretch(5, 64, PURE), 2), stretch(64, 64, PURE)
    (1.47, 1.85, 1.0)
    """
    if not 0 < shown < among:
        return 1.0
    missed = _MISSED * shown / among
    return accounting.tail(missed) / accounting.tail(_MISSED)


def stretched(values: Sequence[object], ends: Sequence[Cell], by: float) -> tuple[Cell, ...]:
    """Ends as many times as far from their values; what cannot be negative stays so. Arrays keep theirs."""
    found: list[Cell] = []
    for value, pair in zip(values, ends, strict=True):
        number = as_number(value)
        if pair is None or number is None or not all(isinstance(end, int | float) for end in pair):
            found.append(pair)
            continue
        low, high = float(pair[0]), float(pair[1])
        wider = number - by * max(number - low, 0.0)
        found.append((max(wider, 0.0) if low >= 0 else wider, number + by * max(high - number, 0.0)))
    return tuple(found)
