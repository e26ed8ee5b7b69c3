"""The candidate with the highest score, of scores that one person moves up or down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.sampling import ExponentialPick, Sampler
from dpsql.mechanisms.top_k import root_at_most


@dataclass(frozen=True, slots=True)
class HighestScore:
    """The exponential mechanism: candidate i is picked with a probability ∝ exp(rate · score_i), exactly.

    One person moves each integer score by ``sensitivity`` at most, up or down. The log-ratios of two neighbours lie in
    an interval of width ε = 2 · rate · sensitivity, so a pick is ε²/8-zCDP (Cesar, Rogers 2021).

    >>> HighestScore.of_rho(3, Fraction(1, 200))
    HighestScore(sensitivity=3, rate=Fraction(1, 30))
    >>> HighestScore.of_rho(3, Fraction(1, 200)).loss.rho
    Fraction(1, 200)
    """

    sensitivity: int
    rate: Fraction

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.sensitivity < 1:
            raise ValueError("a pick has a price above 0")

    @classmethod
    def of_rho(cls, sensitivity: int, rho: Fraction) -> HighestScore:
        """The greatest rate, but for rounding down, that costs at most ρ."""
        return cls(sensitivity, root_at_most(2 * rho) / sensitivity)

    @property
    def loss(self) -> PrivacyLoss:
        width = 2 * self.rate * self.sensitivity
        return PrivacyLoss(rho=width * width / 8)

    def pick(self, scores: Sequence[int], sampler: Sampler) -> int:
        """The place of a candidate. Releasable; ``scores`` are not."""
        best = max(scores)
        place, _ = sampler.draw(ExponentialPick([1] * len(scores), [best - score for score in scores], self.rate))
        return place
