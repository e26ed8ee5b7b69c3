"""Which of very many groups without an order have people: as many as can be told with few false ones among them.

Where a list is longer than an answer may be, the answer is a choice by noisy numbers. Among the groups chosen, 2 % have
nobody, in the mean, however many have (Benjamini, Hochberg 1995). A threshold that no empty group of a long list passes
shows half as many.
"""

from __future__ import annotations

import numpy as np

from dpsql.inference.intervals import Terms, chances_above
from dpsql.inference.numeric import BoolArray, FloatArray

FALSE = 0.02
"""The part of the groups chosen that nobody is in, in the mean."""


def discovered(counts: FloatArray, terms: Terms, each: int = 1) -> tuple[BoolArray, float]:
    """The groups chosen, and the least noisy count of them. Each count is off by ``each`` independent draws of
    Σ weight · noise.

    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Gaussian
    >>> counts = np.array([50.0, 3, -4, 12, 0, 33, 1, 2, -2, -1])
    >>> chosen, least = discovered(counts, ((Gaussian(Fraction(4)), Fraction(1)),))
    >>> chosen.nonzero()[0].tolist(), least
    ([0, 3, 5], 12.0)
    """
    falling = np.sort(counts)[::-1]
    chances = chances_above(terms, falling - 0.5, each)
    passing = np.flatnonzero(chances <= FALSE * np.arange(1, len(counts) + 1) / max(len(counts), 1))
    if not len(passing):
        return np.zeros(len(counts), dtype=np.bool_), float("inf")
    least = float(falling[passing[-1]])
    return counts >= least, least
