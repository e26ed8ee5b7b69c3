"""The discrete Laplace mechanism."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.sampling import Sampler, check_scale, float_at_least
from dpsql.releases import Noise
from rewriter.declared import Sensitivity


@dataclass(frozen=True, slots=True)
class Laplace:
    """Hides a vector of integers under noise P(x) ∝ exp(-|x|/scale), drawn afresh for each of them.

    Pure differential privacy with ε = l1 / scale, exactly: on integers the bound is met with equality
    (Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020).

    >>> Laplace(Fraction(30)).loss(Sensitivity(l1=3, l2_squared=9)).epsilon
    Fraction(1, 10)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        check_scale(self.scale)

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
        """The least noise that costs at most ε; None where nothing of it is paid, or no L1 norm is bounded."""
        return cls.calibrated(sensitivity, loss.epsilon) if loss.epsilon and sensitivity.l1 is not None else None

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        if sensitivity.l1 is None:
            raise ValueError("Laplace noise needs a bound on the L1 norm")
        return PrivacyLoss(epsilon=sensitivity.l1 / self.scale)

    @property
    def variance(self) -> float:
        """2q/(1-q)² with q = exp(-1/scale), in squared steps.

        >>> round(Laplace(Fraction(1000)).variance)
        2000000
        """
        return 0.5 / math.sinh(0.5 / float(self.scale)) ** 2 if self.scale > Fraction(1, 100) else 0.0

    @property
    def noise(self) -> Noise:
        return Noise("laplace", self.scale)

    def sample(self, sampler: Sampler, count: int) -> list[int]:
        return sampler.laplace(self.scale, count)
