"""Which groups may be named: those whose noisy weight reaches a threshold.

A key exists in a database when its exact weight is at least one step. Keys without weight (those that only
units with more than ``max_groups`` groups have, or nobody) are never named, whatever the noise.

**Claim.** With noise that is ρ-zCDP (or ε-DP) for the vector of weights, and τ such that the keys that one unit has
alone all stay below τ with probability at least 1-δ, naming the keys whose noisy weight reaches τ is
δ-approximate ρ-zCDP, or (ε, δ)-DP, with the whole δ, whatever is then measured on the named keys and paid for.

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
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from dpsql.accounting import MOST_DELTA, PrivacyLoss
from dpsql.mechanisms.gaussian import Gaussian
from dpsql.mechanisms.laplace import Laplace
from rewriter.plan import Selection

SMALLEST = -700.0
"""The logarithm of a chance that a float still holds with all its digits."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Names a key when its exact weight is at least 1 and its noisy weight at least ``steps``.

    ``steps`` is always enough for ``delta``, which is a part of the price: it is computed here and nowhere else.

    >>> Threshold(Selection("weight", Fraction(1), 1), Laplace(Fraction(1)), Fraction(1, 10**6)).steps
    15
    """

    selection: Selection
    mechanism: Laplace | Gaussian
    delta: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.delta <= MOST_DELTA:
            raise ValueError(f"not a delta for key selection: {self.delta}")
        if isinstance(self.mechanism, Laplace) and self.selection.max_groups != 1:
            raise ValueError("with Laplace noise a unit has one group")

    @property
    def steps(self) -> int:
        if isinstance(self.mechanism, Laplace):
            return _whole(self.selection) + laplace_distance(float(self.mechanism.scale), math.log(self.delta))
        return gaussian_threshold(_whole(self.selection), self.selection.max_groups, self.mechanism.sigma, self.delta)

    @property
    def units(self) -> float:
        """The threshold as a number of people, each of whom has one group."""
        return float(self.steps * self.selection.granularity)

    @property
    def loss(self) -> PrivacyLoss:
        return self.mechanism.loss(self.selection.sensitivity) + PrivacyLoss(delta=self.delta)

    def named(self, exact: Sequence[int], noise: Sequence[int]) -> list[int]:
        """The positions of the keys that may be named. Its answer is releasable; ``exact`` is not.

        >>> rule = Threshold(Selection("weight", Fraction(1), 1), Laplace(Fraction(1)), Fraction(1, 10**6))
        >>> rule.named(exact=(0, 1, 14, 15), noise=(99, 13, 1, 0))
        [2, 3]
        """
        steps = self.steps
        return [place for place, (x, n) in enumerate(zip(exact, noise, strict=True)) if x >= 1 and x + n >= steps]


def laplace_distance(scale: float, log_delta: float) -> int:
    """The least m ≥ 1 with P(N ≥ m) = q^m/(1+q) ≤ δ for discrete Laplace noise N, where q = exp(-1/scale).

    >>> laplace_distance(1.0, math.log(1e-6)), laplace_distance(10.0, math.log(1e-6))
    (14, 132)
    """
    return max(1, _ceil(scale * (-log_delta - math.log1p(math.exp(-1 / scale)))))


def gaussian_distance(sigma: float, log_delta: float) -> int:
    """An m with P(N ≥ m) ≤ δ for discrete Gaussian noise N; within one step of the least.

    P(N ≥ m) ≤ P(Normal(0, σ²) ≥ m - 1/2) where m - 1/2 ≥ σ: the density is convex beyond σ, so its value at each
    integer is at most its integral around it, and the discrete normalisation Σexp(-x²/2σ²) is at least √(2π)σ, by
    Poisson summation (Canonne, Kamath, Steinke 2020, Fact 18). That is half a step better than their Proposition 25.

    >>> gaussian_distance(10.0, math.log(1e-6))
    49
    """
    return _ceil(0.5 + sigma * max(1.0, normal_distance(log_delta)))


def normal_distance(log_delta: float) -> float:
    """The z with P(Normal(0, 1) ≥ z) = δ, to fifteen digits (Wichura 1988, AS 241); where floats end, P ≤ exp(-z²/2).

    >>> round(normal_distance(math.log(0.025)), 9), normal_distance(-20000.0)
    (1.959963985, 200.0)
    """
    if log_delta < SMALLEST:
        return math.sqrt(-2 * log_delta)
    return -NormalDist().inv_cdf(math.exp(log_delta))


@functools.lru_cache(maxsize=1024)
def gaussian_threshold(whole: int, max_groups: int, sigma: Fraction, delta: Fraction) -> int:
    """A τ ≥ w_t + m_t for every number of groups t ≤ max_groups, where a unit's weight in steps is w_t = ⌊whole/√t⌋.

    Weights fall with t and distances grow, so a range of t is covered by the weight of its first and the distance of
    its last. The ranges are single numbers to begin with and grow by 1 in 64, which costs τ next to nothing.

    >>> gaussian_threshold(1024, 1, Fraction(10240), Fraction(1, 10**6)) / 1024  # 1 + 10 z
    48.53...
    """
    best, first = 0, 1
    while first <= max_groups:
        last = min(max_groups, first + first // 64)
        weight = math.isqrt(whole * whole // first)
        best = max(best, weight + gaussian_distance(float(sigma), _log_each(delta, last)))
        first = last + 1
    return best


def _log_each(delta: Fraction, count: int) -> float:
    """log(1 - (1-δ)^(1/count)): how rarely each of ``count`` independent events may happen if one or more may at δ."""
    return math.log(-math.expm1(math.log1p(-float(delta)) / count))


def _whole(selection: Selection) -> int:
    """The weight of a unit with one group, in steps."""
    steps = 1 / selection.granularity
    if steps.denominator != 1:
        raise ValueError("the granularity of weights is one over an integer")
    return steps.numerator


def _ceil(distance: float) -> int:
    """Rounded up, with more room than the errors of the floats that made it."""
    return math.ceil(distance * (1 + 1e-11) + 1e-9)
