"""Intervals of rows that were chosen by their own noisy numbers: the first ten, those above a limit.

Chosen rows are likelier to be overstated: of the first 5 of 64 equal groups, 95 % intervals hold 73 %. Where R of m
rows are shown because of their measured numbers, intervals of the level 1 - 0.05·R/m hold 95 % of the shown rows, in
the mean, whatever the rule was (Benjamini, Yekutieli 2005, theorem 1: the false coverage-statement rate). So each
interval is made that much wider. Post-processing: it reads what is shown, and the statement's text.
"""

from __future__ import annotations

import numpy as np

from dpsql.accounting import Accounting
from dpsql.finish.propagate import Intervals
from dpsql.inference.numeric import FloatArray

NOTE = (
    "the rows shown were chosen by their noisy numbers, which favours numbers that are too high or too low. Error bars"
    " are widened for that: they hold for 95 % of the rows shown"
)
_MISSED = 0.05


def stretch(shown: int, among: int, accounting: Accounting) -> float:
    """The factor by which intervals of so many chosen rows are longer than 95 % intervals of single rows.

    >>> from dpsql.accounting import PURE, ZCDP
    >>> round(stretch(5, 64, ZCDP), 2), round(stretch(5, 64, PURE), 2), stretch(64, 64, PURE)
    (1.47, 1.85, 1.0)
    """
    if not 0 < shown < among:
        return 1.0
    missed = _MISSED * shown / among
    return accounting.tail(missed) / accounting.tail(_MISSED)


def stretched(numbers: FloatArray, ends: Intervals, by: float) -> Intervals:
    """Ends as many times as far from their numbers."""
    known = ~np.isnan(numbers)
    low = numbers - by * np.maximum(numbers - ends.low, 0.0)
    high = numbers + by * np.maximum(ends.high - numbers, 0.0)
    return Intervals(np.where(known, low, ends.low), np.where(known, high, ends.high))
