"""How much too high small numbers are on average, because none below 0 is shown. Post-processing of released numbers.

What was measured is unbiased. So what all numbers of a column were moved by is an unbiased estimate of the bias of
their sum, whatever the true numbers are: E[Σ max(0, y)] - n = E[Σ (max(0, y) - y)]. Numbers that were made to agree
with others are moved up and down, and are not too high together: of those nothing is asked here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpsql.finish.propagate import Sources, unbiased
from dpsql.releases import ColumnarRows
from rewriter.front_door import Affine, Measured

_TOLD = 0.05
"""A bias above this part of what is shown is told."""
_NUMBERS = 10
"""The bias of fewer numbers is not told from the noise of one of them."""


def cut_off_notes(
    names: Sequence[str], measured: Sequence[Measured], rows: ColumnarRows, sources: Sources
) -> tuple[str, ...]:
    """What to say of each column of sums, by its name in the answer."""
    notes = []
    for name, column, values in zip(names, measured, rows.columns, strict=False):
        form = column.form
        if len(rows) < _NUMBERS or not isinstance(form, Affine) or len(form.terms) != 1 or sources.has_totals(form):
            continue
        (((slot, output), _),) = form.terms
        if sources.agree(slot, output):
            continue
        after = np.where(values.known, values.floats, math.nan)
        if not (np.abs(after - float(form.constant)) <= float(form.slack)).any():
            continue
        before = unbiased(form, sources)
        both = np.isfinite(before) & np.isfinite(after)
        number, total = int(both.sum()), float((after - before)[both].sum())
        if number < _NUMBERS or abs(total) <= _TOLD * float(np.abs(after[both]).sum()):
            continue
        word = "high" if total > 0 else "low"
        each, together = (_two_digits(abs(one)) for one in (total / number, total))
        notes.append(
            f"no sum below 0 is shown: the {number:,} numbers of {name} are on average {each} too {word}, and together"
            f" {together}. SET dpsql.consistent = off shows them as they were measured"
        )
    return tuple(notes)


def _two_digits(number: float) -> str:
    """
    >>> [_two_digits(one) for one in (1_872.4, 18.7, 5.17, .0312)]
    ['1,900', '19', '5.2', '0.031']
    """
    places = 1 - math.floor(math.log10(number))
    return f"{round(number, places):,.{max(places, 0)}f}"
