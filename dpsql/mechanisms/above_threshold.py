"""Whether a number has come above a threshold: asked again and again, for one price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import Accounting, PrivacyLoss
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.sampling import Sampler
from rewriter.declared import Sensitivity


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """The sparse vector technique (Dwork, Roth 2014, Algorithm 1 and Theorem 3.23) on integers.

    One noisy threshold t = T + N(b₁) is drawn. Each time, an integer f of sensitivity Δ is compared with it: the answer
    is TRUE where f + N(b₂) ≥ t, with N(b₂) drawn afresh, else FALSE. All FALSE answers and the first TRUE are together
    ε-differentially private for ε = Δ/b₁ + 2Δ/b₂, however many they are, whenever they are asked, and whatever was
    asked meanwhile. Nothing may be answered with t after the first TRUE, and t is never shown.

    Where one person more moves every f up, or none, it loses less: ε' = Δ/b₁ + Δ/b₂, and all log-ratios of two
    neighbours lie in an interval of width ε, not 2ε.

    Proof. Fix the draws for all answers before the k-th, which is TRUE; g is the largest of f + N before it. The
    answers are these where g < t ≤ f_k + N_k. Between two neighbours g moves by at most Δ and f_k by at most Δ. Moving
    t with g (by an integer of at most Δ) and N_k with both (by an integer of at most 2Δ) makes the event the same one,
    and each discrete Laplace law P(x) ∝ exp(-|x|/b) changes by at most exp(Δ/b₁) and exp(2Δ/b₂). Where no answer is
    TRUE, the first factor is all. The f may depend on what was answered before, as rows that come later do.
    Let now one person more make each f larger, by 0 to Δ. The event becomes no more likely than if f_k alone were
    larger, by Δ: a factor of at most exp(Δ/b₂), and none where no answer is TRUE. It becomes no less likely than if g
    alone were larger, by Δ: moving t by Δ and N_k with it undoes that, a factor of at least exp(-Δ/b₁ - Δ/b₂). From one
    end to the other it is Δ/b₁ + 2Δ/b₂. The same for f that become smaller, as where TRUE is to be below a number: now
    f_k alone is smaller, a factor of at least exp(-Δ/b₂), or g alone, one of at most exp(Δ/b₁ + Δ/b₂).

    In a window of a budget that renews, a threshold of its own is drawn: given all that was answered before the window,
    the answers of the window are then ε-differentially private. With an older threshold they are not, as the answers
    before tell of it: both factors would come once for these and once for those.

    >>> watch = AboveThreshold.of(3, Fraction(1, 10))
    >>> watch.threshold.scale, watch.query.scale, watch.loss(3, one_way=False).epsilon <= Fraction(1, 10)
    (Fraction(60, 1), Fraction(120, 1), True)
    >>> from dpsql.accounting import ZCDP
    >>> [AboveThreshold.price(ZCDP, Fraction(1, 10), one_way=one_way).rho for one_way in (True, False)][0]
    Fraction(1, 800)
    """

    threshold: Laplace
    query: Laplace

    @classmethod
    def of(cls, sensitivity: int, epsilon: Fraction) -> AboveThreshold:
        """The least noise for a price, half of it for the threshold."""
        once, twice = (Sensitivity(times * sensitivity, (times * sensitivity) ** 2) for times in (1, 2))
        return cls(Laplace.calibrated(once, epsilon / 2), Laplace.calibrated(twice, epsilon / 2))

    @classmethod
    def price(cls, accounting: Accounting, epsilon: Fraction, *, one_way: bool) -> PrivacyLoss:
        """What all answers cost for this ε. ``one_way``: one person more moves no number down, or none up."""
        lost, width = (epsilon / 2 + epsilon / 4, epsilon) if one_way else (epsilon, 2 * epsilon)
        return accounting.price_of_pure(lost, width)

    def loss(self, sensitivity: int, *, one_way: bool) -> PrivacyLoss:
        """As ε, exactly."""
        sides = 1 if one_way else 2
        return PrivacyLoss(epsilon=sensitivity / self.threshold.scale + sides * sensitivity / self.query.scale)

    def noisy(self, threshold: int, sampler: Sampler) -> int:
        """Secret: the threshold that all answers are compared with, until the first TRUE."""
        return threshold + self.threshold.sample(sampler, 1)[0]

    def above(self, integer: int, noisy: int, sampler: Sampler) -> bool:
        """One answer. The noise is drawn before the integer is looked at."""
        noise = self.query.sample(sampler, 1)[0]
        return integer + noise >= noisy

    def half_width(self, alpha: float) -> int:
        """From so far below or above the threshold, an answer is wrong with at most this chance."""
        return sum(law.half_width(alpha / 2) for law in (self.threshold, self.query))
