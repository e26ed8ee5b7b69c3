"""How far ``max_rows`` bends the mean of a column. Post-processing: of released profiles and public facts.

A person with more than ``max_rows`` rows has too little weight in a mean of all rows. If the rows that are missing are
a part c of all, the mean is off by c times its distance from the mean of those rows (:class:`MeansProfile`). It is told
from below, with its sign, and only where both can be told from noise: c by :class:`.told_profile.RowsProfile`, the
distance by the intervals of two means.

What is not known: rows are taken to have the mean of those people's own means. Where values hang on how many rows
people have among those with more rows too, the true bend is another one; mostly a larger one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsql.inference.estimates.mean_share import Share
from dpsql.inference.estimates.told_profile import RowsProfile
from dpsql.releases import NoisyTable
from rewriter.front_door import MeansPlan
from rewriter.plan import Ratio

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class MeansProfile:
    """The released means of a column, as 95 % intervals: of people with at most ``max_rows`` rows, and with more."""

    table: str
    column: str
    max_rows: int
    fewer: Ends
    more: Ends

    @classmethod
    def of(cls, plans: MeansPlan, noisy: NoisyTable) -> MeansProfile:
        """The profile that a released table is."""
        estimator = plans.means.outputs[0].estimator
        if not isinstance(estimator, Ratio):
            raise AssertionError("a mean is a share of two sums")
        share = Share.of(estimator)
        above, below = share.sides(noisy.statistics, len(noisy.keys))
        down, up = share.reaches(above, below, noisy.noise)
        a, b = (np.maximum(side.floats, 0.0) for side in (above, below))
        found = np.where(a + b > 0, a / np.maximum(a + b, 1.0), 0.5)
        low, width = float(estimator.low), float(estimator.high - estimator.low)
        ends = dict(zip((key for (key,) in noisy.keys), zip(found - down, found + up, strict=True), strict=True))
        fewer, more = ((low + width * ends[place][0], low + width * ends[place][1]) for place in (0, 1))
        return cls(plans.table, plans.column, plans.max_rows, fewer, more)

    def bend(self, rows: RowsProfile) -> float | None:
        """By how much at least a mean of all rows is too high, or with a minus too low; None where it cannot be told.

        >>> from fractions import Fraction
        >>> from dpsql.mechanisms import Gaussian
        >>> noise, wide = Gaussian(Fraction(20)), Gaussian(Fraction(120))
        >>> rows = RowsProfile("visit", 2, [15000, 12000, 2000, 900, 100], noise, 7000, wide)
        >>> known = MeansProfile("visit", "cost", 2, fewer=(99.0, 101.0), more=(148.0, 152.0))
        >>> round(known.bend(rows), 1)
        -5.3
        """
        share, part = rows.rows_beyond, rows.kept_of_fewer
        gap = max(self.fewer[0] - self.more[1], 0.0) or min(self.fewer[1] - self.more[0], 0.0)
        if share is None or share.low <= 0 or part <= 0 or not gap:
            return None
        return share.low * part * gap

    def notice(self, rows: RowsProfile) -> str:
        """For those who ask for the mean; "" where nothing can be told."""
        bend = self.bend(rows)
        if bend is None:
            return ""
        side, values = ("low", "larger") if bend < 0 else ("high", "smaller")
        return (
            f"by the profile of {self.table}.{self.column}, its mean over all rows is at least {_floor(abs(bend))} too"
            f" {side}: people with more than {self.max_rows} rows have {values} values, and count with less"
        )


def _floor(number: float) -> str:
    """Two digits, rounded down.

    >>> _floor(0.0456), _floor(4.89), _floor(1234.5)
    ('0.045', '4.8', '1,200')
    """
    exponent = math.floor(math.log10(number))
    step = 10.0 ** (exponent - 1)
    return f"{math.floor(number / step + 1e-9) * step:,.{max(0, 1 - exponent)}f}"
