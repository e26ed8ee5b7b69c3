"""The discrete Laplace mechanism."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.mechanism import Mechanism, rounded_up
from dpsql.mechanisms.sampling import float_at_least, laplace_draws
from dpsql.releases import IntegerColumn
from rewriter.declared import Sensitivity

Floats = NDArray[np.float64]

_LEAST = 0.01
"""Below this scale, the variance is 0 for a float."""
_SMOOTH = 1e6
"""From this scale on, the steps do not show in replicas."""
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Laplace(Mechanism):
    """Hides a vector of integers under noise P(x) ∝ exp(-|x|/scale), drawn afresh for each of them.

    Pure differential privacy with ε = l1 / scale, exactly: on integers the bound is met with equality
    (Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020).

    >>> Laplace(Fraction(30)).loss(Sensitivity(l1=3, l2_squared=9)).epsilon
    Fraction(1, 10)
    """

    name = "laplace"
    symbol = "b"
    silent = 0.1
    excess = 3.0
    stable = False

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def calibrated(cls, sensitivity: Sensitivity, epsilon: Fraction) -> Laplace:
        """The least noise that costs at most ``epsilon``. What nobody can move is hidden as if it moved by one step.

        >>> Laplace.calibrated(Sensitivity(l1=2, l2_squared=4), Fraction(1, 4))
        Laplace(scale=Fraction(8, 1))
        """
        if sensitivity.l1 is None:
            raise ValueError("Laplace noise needs a bound on the L1 norm")
        return cls(Fraction(float_at_least(max(sensitivity.l1, 1) / epsilon)))

    @classmethod
    def affordable(cls, sensitivity: Sensitivity, loss: PrivacyLoss) -> Laplace | None:
        return cls.calibrated(sensitivity, loss.epsilon) if loss.epsilon and sensitivity.l1 is not None else None

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        if sensitivity.l1 is None:
            raise ValueError("Laplace noise needs a bound on the L1 norm")
        return PrivacyLoss(epsilon=sensitivity.l1 / self.scale)

    def draws(self, count: int) -> IntegerColumn:
        return IntegerColumn.of(laplace_draws(self.scale, count))

    def distance(self, log_chance: float) -> int:
        """The least m ≥ 1 with P(N ≥ m) = q^m/(1+q) ≤ δ for discrete Laplace noise N, where q = exp(-1/scale).

        >>> Laplace(Fraction(1)).distance(math.log(1e-6)), Laplace(Fraction(10)).distance(math.log(1e-6))
        (14, 132)
        """
        scale = float(self.scale)
        return max(1, rounded_up(scale * (-log_chance - math.log1p(math.exp(-1 / scale)))))

    @property
    def variance(self) -> float:
        """2q/(1-q)² with q = exp(-1/scale), in squared steps.

        >>> round(Laplace(Fraction(1000)).variance)
        2000000
        """
        return 0.5 / math.sinh(0.5 / float(self.scale)) ** 2 if self.scale > _LEAST else 0.0

    # How far it is off

    @property
    def square(self) -> Fraction:
        return 2 * self.scale**2

    @classmethod
    def square_of_scale(cls, square: Fraction) -> Fraction:
        return square / 2

    @property
    def spread(self) -> float:
        return self.variance

    @classmethod
    def beyond(cls, chance: float) -> float:
        return -math.log(chance)

    def half_width(self, alpha: float) -> int:
        """The least w with P(|X| > w) = 2q^{w+1}/(1+q) ≤ α for discrete Laplace X, where q = exp(-1/scale).

        >>> [Laplace(Fraction(scale)).half_width(0.05) for scale in ("10", "0.1", "0")]
        [30, 0, 0]
        """
        scale = float(self.scale)
        if scale < self.silent:
            return 0
        return max(0, math.ceil(scale * (math.log(2 / alpha) - math.log1p(math.exp(-1 / scale))) - 1))

    def characteristic(self, angles: Floats) -> Floats:
        """1/(1 + Var·(1 - cos θ))."""
        return np.asarray(1 / (1 + self.variance * (1 - np.cos(angles))))

    @classmethod
    def continuous_characteristic(cls, squares: Floats) -> Floats:
        return 1 / (1 + squares)

    @classmethod
    @functools.cache
    def pair_half_widths(cls) -> tuple[Floats, Floats]:
        """P(|X + rY| > w) = (exp(-w) - r² exp(-w/r)) / (1 - r²), by partial fractions of 1/((1+t²)(1+r²t²))."""
        ratios = np.linspace(0, 0.999, 1000)
        low, high = np.zeros_like(ratios), np.full_like(ratios, 20.0)
        for _ in range(60):
            w = (low + high) / 2
            inner = np.where(ratios > 0, ratios**2 * np.exp(-w / np.where(ratios > 0, ratios, 1.0)), 0.0)
            outside = (np.exp(-w) - inner) / (1 - ratios**2)
            low, high = np.where(outside > _ALPHA, w, low), np.where(outside > _ALPHA, high, w)
        return np.append(ratios, 1.0), np.append(high, 4.11300328)  # r = 1: the root of exp(-w)(1 + w/2) = α

    def replicas(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        scale = float(self.scale)
        if scale > _SMOOTH:
            return np.rint(rng.laplace(0, scale, count)).astype(np.int64)
        chance = -math.expm1(-1 / scale)
        return np.asarray(rng.geometric(chance, count) - rng.geometric(chance, count), dtype=np.int64)
