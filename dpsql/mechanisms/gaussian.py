"""The discrete Gaussian mechanism."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.mechanism import Mechanism, rounded_up
from dpsql.mechanisms.sampling import WIDEST, TooWide, gaussian_draws
from dpsql.releases import IntegerColumn
from rewriter.declared import Sensitivity

Floats = NDArray[np.float64]

_SMALLEST = -700.0
"""The logarithm of a chance that a float still holds with all its digits."""
_SMOOTH = 20
"""From this scale on, the steps do not show in replicas."""


@dataclass(frozen=True, slots=True)
class Gaussian(Mechanism):
    """Hides a vector of integers under noise P(x) ∝ exp(-x²/2σ²), σ its scale, drawn afresh for each of them.

    Zero-concentrated differential privacy with ρ = l2² / 2σ² (Canonne, Kamath, Steinke 2020, Theorem 4), for
    vectors too.

    >>> Gaussian(Fraction(30)).loss(Sensitivity(l1=None, l2_squared=9)).rho
    Fraction(1, 200)
    """

    name = "gaussian"
    symbol = "σ"
    silent = 0.225
    excess = 0.0
    stable = True

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def calibrated(cls, sensitivity: Sensitivity, rho: Fraction) -> Gaussian:
        """The least noise that costs at most ``rho``. What nobody can move is hidden as if it moved by one step.

        >>> Gaussian.calibrated(Sensitivity(l1=None, l2_squared=4), Fraction(1, 50))
        Gaussian(scale=Fraction(10, 1))
        """
        if rho <= 0:
            raise TooWide("nothing hides for nothing")
        return cls(Fraction(sqrt_at_least(max(sensitivity.l2_squared, 1) / (2 * rho))))

    @classmethod
    def affordable(cls, sensitivity: Sensitivity, loss: PrivacyLoss) -> Gaussian | None:
        return cls.calibrated(sensitivity, loss.rho) if loss.rho else None

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return PrivacyLoss(rho=sensitivity.l2_squared / (2 * self.scale**2))

    def draws(self, count: int) -> IntegerColumn:
        return IntegerColumn.of(gaussian_draws(self.scale, count))

    def distance(self, log_chance: float) -> int:
        """An m with P(N ≥ m) ≤ δ for discrete Gaussian noise N; within one step of the least.

        P(N ≥ m) ≤ P(Normal(0, σ²) ≥ m - 1/2) where m - 1/2 ≥ σ: the density is convex beyond σ, so its value at each
        integer is at most its integral around it, and the discrete normalisation Σexp(-x²/2σ²) is at least √(2π)σ, by
        Poisson summation (Canonne, Kamath, Steinke 2020, Fact 18). That is half a step better than their Proposition
        25.

        >>> Gaussian(Fraction(10)).distance(math.log(1e-6))
        49
        """
        return rounded_up(0.5 + float(self.scale) * max(1.0, normal_distance(log_chance)))

    @property
    def variance(self) -> float:
        """In squared steps; a little below σ² where σ is small, for the integers between are missing.

        >>> Gaussian(Fraction(30)).variance, Gaussian(Fraction(1, 4)).variance
        (900.0, 0.000670...)
        """
        return _variance(float(self.scale))

    # How far it is off

    @property
    def square(self) -> Fraction:
        return self.scale**2

    @classmethod
    def square_of_scale(cls, square: Fraction) -> Fraction:
        return square

    @property
    def spread(self) -> float:
        """The continuous law's, which is never smaller."""
        scale = float(self.scale)
        return scale * scale

    @classmethod
    def beyond(cls, chance: float) -> float:
        return NormalDist().inv_cdf(1 - chance / 2)

    def half_width(self, alpha: float) -> None:
        return None

    def characteristic(self, angles: Floats) -> Floats:
        """A theta function, summed where it converges fast."""
        scale = float(self.scale)
        if scale > 1:
            bells = sum(np.exp(-0.5 * (scale * (angles + turn)) ** 2) for turn in (-2 * np.pi, 0.0, 2 * np.pi))
            return np.asarray(bells / (1 + 2 * math.exp(-2 * (math.pi * scale) ** 2)))
        masses = [math.exp(-0.5 * (x / scale) ** 2) for x in range(1, 10)]
        waves = sum(2 * mass * np.cos(angles * x) for x, mass in enumerate(masses, 1))
        return np.asarray((1 + waves) / (1 + 2 * sum(masses)))

    @classmethod
    def continuous_characteristic(cls, squares: Floats) -> Floats:
        return np.asarray(np.exp(-squares))

    @classmethod
    def pair_half_widths(cls) -> None:
        return None

    def replicas(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        scale = float(self.scale)
        if scale > _SMOOTH:
            return np.rint(rng.normal(0, scale, count)).astype(np.int64)
        support = np.arange(-math.ceil(9 * scale) - 1, math.ceil(9 * scale) + 2)
        mass = np.exp(-0.5 * (support / scale) ** 2)
        return np.asarray(support[np.searchsorted(np.cumsum(mass) / mass.sum(), rng.random(count))], dtype=np.int64)


@functools.lru_cache(maxsize=1024)
def _variance(sigma: float) -> float:
    if sigma > 8:  # the difference is of order exp(-2π²σ²)
        return sigma * sigma
    weights = {x: math.exp(-0.5 * (x / sigma) ** 2) for x in range(-100, 101)}
    return sum(x * x * weight for x, weight in weights.items()) / sum(weights.values())


def normal_distance(log_delta: float) -> float:
    """The z with P(Normal(0, 1) ≥ z) = δ, to fifteen digits (Wichura 1988, AS 241); where floats end, P ≤ exp(-z²/2).

    >>> round(normal_distance(math.log(0.025)), 9), normal_distance(-20000.0)
    (1.959963985, 200.0)
    """
    if log_delta < _SMALLEST:
        return math.sqrt(-2 * log_delta)
    return -NormalDist().inv_cdf(math.exp(log_delta))


def sqrt_at_least(number: Fraction) -> float:
    """The least float whose exact square is not below ``number``.

    >>> sqrt_at_least(Fraction(9)), Fraction(sqrt_at_least(Fraction(2))) ** 2 >= 2
    (3.0, True)
    """
    if number >= WIDEST * WIDEST:
        raise TooWide("noise is too wide for 64-bit integers")
    root = math.sqrt(number)
    while Fraction(root) ** 2 < number:
        root = math.nextafter(root, math.inf)
    below = math.nextafter(root, 0)
    while Fraction(below) ** 2 >= number:
        root, below = below, math.nextafter(below, 0)
    return root
