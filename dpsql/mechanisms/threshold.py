"""Which groups may be named: those whose noisy weight reaches a threshold.

A key exists in a database when its exact weight is at least one step. Keys without weight (those that only
units with more than ``max_groups`` groups have, or nobody) are never named, whatever the noise.

**Claim.** Let the noise be ρ-zCDP (or ε-DP) for the vector of weights. Let τ be such that the keys of one unit alone
all stay below τ with probability at least 1-δ. Then naming the keys whose noisy weight reaches τ is δ-approximate
ρ-zCDP, or (ε, δ)-DP, with the whole δ. Further measurements on the named keys are paid for by themselves.

**Proof.** Let D' be D and one unit more, K the keys that exist in D, O the keys that exist in D' only; the new unit
alone has the keys O. Let M_K be the same mechanism run on the keys K only. Then M(D) = M_K(D), and M_K(D)
and M_K(D') are as close as the noise makes them, since leaving out coordinates only shortens the unit's vector.
Let E be the event that some key of O reaches τ on D'. E depends only on the noise of O, which is independent of the
noise of K; where E does not happen, M(D') has the law of M_K(D'). So M(D') conditioned on not-E and M(D) are close,
both ways, and P(E) ≤ δ: that is the definition of δ-approximate zCDP (Bun, Steinke 2016, Definition 8.1).
For (ε, δ): P(M(D') ∈ S) ≤ P(E) + P(M_K(D') ∈ S) ≤ δ + exp(ε) P(M(D) ∈ S); and for S within the answers on K,
exp(ε) P(M(D') ∈ S) = exp(ε) (1-P(E)) P(M_K(D') ∈ S) ≥ (1-δ) P(M(D) ∈ S) ≥ P(M(D) ∈ S) - δ. ∎

**How large τ is.** A unit in t groups adds w_t ≤ 1/√t to each, so P(E) ≤ 1 - (1 - P(N ≥ τ - w_t))^t, and τ is the
largest of w_t + m_t over t ≤ max_groups, where m_t is a distance that noise N reaches with probability at most
1-(1-δ)^(1/t) (Gopi, Gulhane, Kulkarni, Shen, Shenfeld, Yekhanin 2020, there with continuous noise and δ/2).

**Where one person moves n units** (rows that several people share), some may come and others go. Let K be the keys that
exist in both D and D', and E, E' the events that a key of D' alone reaches τ on D', or one of D alone on D. Where they
do not happen, M(D) and M(D') have the laws of M_K(D) and M_K(D'), which the noise makes close. So it is δ-approximate
zCDP where P(E) and P(E') are at most δ. For (ε, δ): P(M(D') ∈ S) ≤ P(E) + exp(ε) P(M_K(D) ∈ S), and P(M_K(D) ∈ S) ≤
P(M(D) ∈ S) / (1-P(E')), since the noise of other keys is independent; with p = exp(ε) P(M(D) ∈ S), which says something
up to 1 alone, that is at most p + P(E) + P(E') / (1-P(E')): no more than p + δ where both are at most δ/3. The norm of
all n units' weights together is at most n, so the t-th largest is at most n/√t; where τ ≥ n/√t + m_t for every t up to
n · max_groups, with distances m_t that are reached with probability at most (δ/3) · 6/(π²t²), a union bound over the
keys gives P(E) ≤ δ/3, since Σ 1/t² ≤ π²/6.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.accounting import MOST_DELTA, PrivacyLoss
from dpsql.mechanisms.mechanism import Mechanism
from dpsql.releases import IntegerColumn
from rewriter.plan import Selection


@dataclass(frozen=True, slots=True)
class Threshold:
    """Names a key when its exact weight is at least 1 and its noisy weight at least ``steps``.

    ``steps`` is always enough for ``delta``, which is a part of the price: it is computed here and nowhere else.

    >>> from dpsql.mechanisms import Laplace
    >>> Threshold(Selection("weight", Fraction(1), 1), Laplace(Fraction(1)), Fraction(1, 10**6)).steps
    15
    """

    selection: Selection
    mechanism: Mechanism
    delta: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.delta <= MOST_DELTA:
            raise ValueError(f"not a delta for key selection: {self.delta}")
        self.mechanism.loss(self.selection.sensitivity)  # Raises where a unit has more groups than this noise hides.

    @property
    def steps(self) -> int:
        whole, groups = _whole(self.selection), self.selection.max_groups
        return threshold_steps(self.mechanism, whole, groups, self.delta, self.selection.units)

    @property
    def units(self) -> float:
        """The threshold as a number of people, each of whom has one group."""
        return float(self.steps * self.selection.granularity)

    @property
    def loss(self) -> PrivacyLoss:
        return self.mechanism.loss(self.selection.sensitivity) + PrivacyLoss(delta=self.delta)

    def named(self, exact: IntegerColumn, noise: IntegerColumn) -> NDArray[np.int64]:
        """The positions of the keys that may be named. Its answer is releasable; ``exact`` is not.

        >>> from dpsql.mechanisms import Laplace
        >>> rule = Threshold(Selection("weight", Fraction(1), 1), Laplace(Fraction(1)), Fraction(1, 10**6))
        >>> rule.named(exact=IntegerColumn.of([0, 1, 14, 15]), noise=IntegerColumn.of([99, 13, 1, 0])).tolist()
        [2, 3]
        """
        noisy = exact.plus(noise)
        return np.flatnonzero((exact.array >= 1) & (noisy.array >= self.steps))


@functools.lru_cache(maxsize=1024)
def threshold_steps(mechanism: Mechanism, whole: int, max_groups: int, delta: Fraction, units: int = 1) -> int:
    """A τ ≥ w_t + m_t for every number of groups t that ``units`` units have, where the t-th largest of their weights
    in steps is at most w_t = ⌊units · whole/√t⌋.

    Weights fall with t and distances grow, so a range of t is covered by the weight of its first and the distance of
    its last. The ranges are single numbers to begin with and grow by 1 in 64, which costs τ next to nothing.

    >>> from dpsql.mechanisms import Gaussian
    >>> threshold_steps(Gaussian(Fraction(10240)), 1024, 1, Fraction(1, 10**6)) / 1024  # 1 + 10 z
    48.53...
    >>> threshold_steps(Gaussian(Fraction(10)), 1, 1, Fraction(1, 10**6), units=30)  # 30 + 10 z, of δ/5
    82
    """
    best, first = 0, 1
    while first <= max_groups * units:
        last = min(max_groups * units, first + first // 64)
        weight = math.isqrt((units * whole) ** 2 // first)
        log = _log_each(delta, last) if units == 1 else _log_of_several(delta, last)
        best = max(best, weight + mechanism.distance(log))
        first = last + 1
    return best


def _log_of_several(delta: Fraction, place: int) -> float:
    """log((δ/3) · 6/(π²t²)): how rarely the t-th of a row of events may happen if one or more may at δ/3."""
    return math.log(float(delta) * 2) - 2 * math.log(math.pi * place)


def _log_each(delta: Fraction, count: int) -> float:
    """log(1 - (1-δ)^(1/count)): how rarely each of ``count`` independent events may happen if one or more may at δ."""
    return math.log(-math.expm1(math.log1p(-float(delta)) / count))


def _whole(selection: Selection) -> int:
    """The weight of a unit with one group, in steps."""
    steps = 1 / selection.granularity
    if steps.denominator != 1:
        raise ValueError("the granularity of weights is one over an integer")
    return steps.numerator
