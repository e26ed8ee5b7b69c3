"""The exact laws of the two noises, written down a second time, for tests to compare with."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2

Floats = NDArray[np.float64]


def masses(kind: str, scale: float, reach: int) -> Floats:
    """P(X = x) for x = -reach..reach."""
    x = np.arange(-reach, reach + 1, dtype=float)
    weights = np.exp(-np.abs(x) / scale) if kind == "laplace" else np.exp(-0.5 * (x / scale) ** 2)
    return weights / weights.sum()


def laplace_tail(scale: float, m: int) -> mpmath.mpf:
    """P(X ≥ m), m ≥ 1, to fifty digits."""
    with mpmath.workdps(50):
        q = mpmath.exp(-1 / mpmath.mpf(scale))
        return q**m / (1 + q)


def log_gaussian_tail(sigma: float, m: int) -> float:
    """log P(X ≥ m), summed term by term, however far out."""
    x = np.arange(m, m + int(60 * sigma) + 60, dtype=float)
    tail = np.exp(-0.5 * (x - m) * (x + m) / sigma**2).sum()
    whole = np.exp(-0.5 * (np.arange(-int(40 * sigma) - 40, int(40 * sigma) + 41) / sigma) ** 2).sum()
    return float(np.log(tail) - 0.5 * (m / sigma) ** 2 - np.log(whole))


def chi_square(draws: list[int], kind: str, scale: float) -> float:
    """The p-value of the hypothesis that ``draws`` have the law, over bins that should hold 50 draws or more."""
    reach = int(45 * scale) + 60
    mass = masses(kind, scale, reach)
    wanted = max(50, len(draws) / 200)
    edges, expected, total = [], [], 0.0
    for place, more in enumerate(mass * len(draws)):
        total += more
        if total >= wanted:
            edges.append(place - reach)
            expected.append(total)
            total = 0.0
    expected[-1] += total
    counts = np.bincount(np.searchsorted(edges[:-1], draws), minlength=len(expected))
    statistic = ((counts - np.array(expected)) ** 2 / np.array(expected)).sum()
    return float(chi2.sf(statistic, len(expected) - 1))


def agreement(found: Mapping[Hashable, int], law: Mapping[Hashable, float], draws: int) -> float:
    """A p-value of the hypothesis that ``found`` counts draws from ``law``: below p at most once in 1/p times, exactly.

    Every count is binomial, however few it is expected to be (a χ² is no such thing there); the least of the k exact
    chances of a count as far off on its side, times 2k, is what is answered.
    """
    assert set(found) <= set(law), "what is impossible was drawn"
    whole = sum(law.values())
    least = min(
        min(binom.cdf(found.get(one, 0), draws, weight / whole), binom.sf(found.get(one, 0) - 1, draws, weight / whole))
        for one, weight in law.items()
    )
    return float(min(1.0, 2 * len(law) * least))


def draw(rng: np.random.Generator, kind: str, scale: float, count: int) -> NDArray[np.int64]:
    """Fast draws, for simulations only."""
    if kind == "laplace":
        p = -np.expm1(-1 / scale)
        return rng.geometric(p, count) - rng.geometric(p, count)
    reach = int(12 * scale) + 12
    return rng.choice(np.arange(-reach, reach + 1), count, p=masses(kind, scale, reach))
