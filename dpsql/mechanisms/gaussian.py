"""The discrete Gaussian mechanism."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.sampling import WIDEST, Sampler, TooWide, check_scale
from dpsql.releases import Noise
from rewriter.declared import Sensitivity


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Hides a vector of integers under noise P(x) ∝ exp(-x²/2σ²), drawn afresh for each of them.

    Zero-concentrated differential privacy with ρ = l2² / 2σ² (Canonne, Kamath, Steinke 2020, Theorem 4), for
    vectors too.

    >>> Gaussian(Fraction(30)).loss(Sensitivity(l1=None, l2_squared=9)).rho
    Fraction(1, 200)
    """

    sigma: Fraction

    def __post_init__(self) -> None:
        check_scale(self.sigma)

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def calibrated(cls, sensitivity: Sensitivity, rho: Fraction) -> Gaussian:
        """The least noise that costs at most ``rho``. What nobody can move is hidden as if it moved by one step.

        >>> Gaussian.calibrated(Sensitivity(l1=None, l2_squared=4), Fraction(1, 50))
        Gaussian(sigma=Fraction(10, 1))
        """
        if rho <= 0:
            raise TooWide("nothing hides for nothing")
        return cls(Fraction(sqrt_at_least(max(sensitivity.l2_squared, 1) / (2 * rho))))

    @classmethod
    def affordable(cls, sensitivity: Sensitivity, loss: PrivacyLoss) -> Gaussian | None:
        """The least noise that costs at most ρ; None where nothing of it is paid."""
        return cls.calibrated(sensitivity, loss.rho) if loss.rho else None

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return PrivacyLoss(rho=sensitivity.l2_squared / (2 * self.sigma**2))

    @property
    def variance(self) -> float:
        """In squared steps; a little below σ² where σ is small, for the integers between are missing.

        >>> Gaussian(Fraction(30)).variance, Gaussian(Fraction(1, 4)).variance
        (900.0, 0.000670...)
        """
        return _variance(float(self.sigma))

    @property
    def noise(self) -> Noise:
        return Noise("gaussian", self.sigma)

    def sample(self, sampler: Sampler, count: int) -> list[int]:
        return sampler.gaussian(self.sigma, count)


@functools.lru_cache(maxsize=1024)
def _variance(sigma: float) -> float:
    if sigma > 8:  # the difference is of order exp(-2π²σ²)
        return sigma * sigma
    weights = {x: math.exp(-0.5 * (x / sigma) ** 2) for x in range(-100, 101)}
    return sum(x * x * weight for x, weight in weights.items()) / sum(weights.values())


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
