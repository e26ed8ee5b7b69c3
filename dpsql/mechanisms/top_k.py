"""The k groups with the most, or the least, of a statistic: picked one after another, and only then measured.

**Mechanism.** k times, one of the groups that are left is picked: with a probability ∝ exp(rate · statistic) where ρ is
counted, by permute-and-flip (:mod:`dpsql.mechanisms.sampling.permute_and_flip`) where ε is. The first is, as a whole,
the one-shot top-k of Durfee, Rogers 2019: Gumbel noise of scale 1/rate on every statistic, and the k largest in their
order.

**Claim.** Let one unit move the statistic of each group by between 0 and Δ (``Top.reach``; where it may go down too, Δ
is the width of that interval), in however many groups. The logarithm of a pick's probability is rate · statistic less
the logarithm of a sum, which moves by between 0 and rate·Δ as well, and by the same for all groups: the log-ratios of
two neighbours lie in an interval of width rate·Δ. That is bounded range (Durfee, Rogers 2019), hence (rate·Δ)²/8-zCDP
(Cesar, Rogers 2021). The k picks are adaptive, and their losses add up: k(rate·Δ)²/8. Of permute-and-flip each pick is
rate·Δ-DP, and all are k·rate·Δ-DP. ∎

How many groups a person is in plays no part. A person in all of 1,000 groups moves every statistic, but none of them
gains on another by more than Δ. Measuring all groups would pay for each of the 1,000.

**What is missed.** A pick is below the best one left by more than ln(d/β)/rate with a probability of at most β, among d
groups: with β = 5 %/k at each pick, no group that is left out exceeds one that is shown by more than ln(20·d·k)/rate,
95 times in 100.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.picking import Picking
from dpsql.mechanisms.sampling import ExponentialPick, PermuteAndFlip, Sampler
from rewriter.plan import Top

PICKS = "picks"
"""The name of the picks among the noises of a release; no statistic has it."""

_PRECISION = 1 << 60
_SHARES = 64


@dataclass(frozen=True, slots=True)
class TopK:
    """Picks ``top.count`` groups with the exponent ``rate`` for one step. ``concentrated``: it costs ρ, else ε.

    >>> top = Top("n", "a0", count=10, descending=True, reach=2, text="count(*)")
    >>> TopK.of_rho(top, Fraction(1, 20)).rate, TopK.of_rho(top, Fraction(1, 20)).loss.rho
    (Fraction(1, 10), Fraction(1, 20))
    >>> TopK.of_epsilon(top, Fraction(1, 10)).rate
    Fraction(1, 200)
    """

    top: Top
    rate: Fraction
    concentrated: bool

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.top.reach < 1 or self.top.count < 1:
            raise ValueError("a pick has a price above 0")

    @classmethod
    def of_rho(cls, top: Top, rho: Fraction) -> TopK:
        """The greatest rate, but for rounding down, that costs at most ρ."""
        return cls(top, root_at_most(8 * rho / top.count) / max(top.reach, 1), concentrated=True)

    @classmethod
    def of_epsilon(cls, top: Top, epsilon: Fraction) -> TopK:
        return cls(top, epsilon / (top.count * top.reach), concentrated=False)

    @classmethod
    def affordable(cls, top: Top, loss: PrivacyLoss) -> TopK:
        return cls.of_rho(top, loss.rho) if loss.rho else cls.of_epsilon(top, loss.epsilon)

    @property
    def loss(self) -> PrivacyLoss:
        each = self.rate * self.top.reach
        if self.concentrated:
            return PrivacyLoss(rho=self.top.count * each * each / 8)
        return PrivacyLoss(epsilon=self.top.count * each)

    @property
    def noise(self) -> Picking:
        return Picking(1 / self.rate)

    def missed(self, cells: int) -> float:
        """How many steps a group that is not shown may be beyond one that is, among ``cells`` groups; 95 %."""
        return math.log(20 * cells * self.top.count) / float(self.rate)

    def picked(self, exact: Sequence[int], sampler: Sampler) -> list[int]:
        """The places of the groups, in the order in which they were picked. Releasable; ``exact`` is not."""
        sign = 1 if self.top.descending else -1
        if self.concentrated:
            return self._exponential([sign * number for number in exact], sampler)
        left = dict(enumerate(exact))
        found: list[int] = []
        for _ in range(min(self.top.count, len(exact))):
            places = list(left)
            best = max(sign * number for number in left.values())
            at = sampler.draw(PermuteAndFlip([best - sign * left[place] for place in places], self.rate))
            found.append(places[at])
            del left[places[at]]
        return found

    def _exponential(self, scores: Sequence[int], sampler: Sampler) -> list[int]:
        """Groups of the same score are picked as one, and then one of them."""
        alike: dict[int, list[int]] = {}
        for place, score in enumerate(scores):
            alike.setdefault(score, []).append(place)
        best = max(scores, default=0)
        found: list[int] = []
        for _ in range(min(self.top.count, len(scores))):
            known = sorted(alike, reverse=True)
            counts = [len(alike[score]) for score in known]
            at, which = sampler.draw(ExponentialPick(counts, [best - score for score in known], self.rate))
            found.append(alike[known[at]].pop(which))
            if not alike[known[at]]:
                del alike[known[at]]
        return found


def part_of_picks(top: Top, cells: int, shown: float, *, concentrated: bool) -> Fraction:
    """The part of a price that goes to the picks: it minimises the sum of their error and the error of the numbers
    shown.

    ``shown`` is the half-width of a shown number, in steps, if the whole price is paid for the numbers, at ρ or ε of 1.
    Both errors fall with the root of their ρ, or with their ε. The part follows from public facts alone.

    >>> part_of_picks(Top("n", "a0", 10, True, 1, ""), 1000, 4.4, concentrated=True)
    Fraction(11, 16)
    """
    wide = math.log(20 * cells * top.count) * top.reach
    wide *= math.sqrt(top.count / 8) if concentrated else top.count
    ratio = (shown / wide) ** (2 / 3 if concentrated else 1 / 2)
    return Fraction(min(max(round(_SHARES / (1 + ratio)), 1), _SHARES - 1), _SHARES)


def root_at_most(square: Fraction) -> Fraction:
    """A square root, rounded down; that of a square is exact.

    >>> root_at_most(Fraction(1, 25)), float(root_at_most(Fraction(2)))
    (Fraction(1, 5), 1.4142135623730951)
    """
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if Fraction(top, bottom) ** 2 == square:
        return Fraction(top, bottom)
    return Fraction(math.isqrt(square.numerator * _PRECISION**2 // square.denominator), _PRECISION)
