"""The most common of a public list of values.

**Score.** The weight that the rows of a group have at the value. One unit adds weights of at most s to the group, so
every score moves by between 0 and s: scores only grow with people. One more candidate is NULL, with the score of a
public number of rows: where there is nobody, or hardly anybody, it wins.

**Claim.** Where ε is counted, permute-and-flip with the exponent ε/S of one step
(:mod:`dpsql.mechanisms.sampling.permute_and_flip`) is ε·s/S-DP. Where ρ is counted, the exponential mechanism with the
exponent ε/S has the range ε·s/S, and costs (ε·s/S)²/8. No factor of two, since scores are monotone. A unit with
weights s₁, s₂, … in its groups costs Σ ε·s_g/S, at most ε for weights of L1 norm at most S; or Σ (ε·s_g/S)²/8, at most
ε²/8 for weights of L2 norm at most S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.mechanisms.quantiles.one import NOBODY, Exponential, unit_weight
from dpsql.mechanisms.sampling import ExponentialPick, PermuteAndFlip, Sampler
from dpsql.releases import Rank
from rewriter.plan import Choice


@dataclass(frozen=True, slots=True)
class Commonest:
    """Picks the mode of a choice's candidates by a mechanism."""

    choice: Choice
    mechanism: Exponential

    @property
    def rate(self) -> Fraction:
        """The exponent of one step of weight."""
        return self.mechanism.epsilon / unit_weight(self.choice.sensitivity, self.mechanism)

    @property
    def way(self) -> str:
        return "the exponential mechanism" if self.mechanism.concentrated else "permute-and-flip"

    @property
    def nobody(self) -> int:
        """The score of NULL: of an empty group it is about 256 times as likely as all values together."""
        return math.ceil(math.log(NOBODY * len(self.choice.candidates)) / self.rate)

    @property
    def rows(self) -> float:
        """How many rows more another value may have, 95 times in 100 at least; and how few NULL may stand for."""
        steps = math.log(20 * (len(self.choice.candidates) + 1)) / float(self.rate)
        return max(steps, float(self.nobody)) / self.choice.row

    def pick(self, ranks: Sequence[Rank], sampler: Sampler) -> int | None:
        """The place of a candidate, or None for nobody. The answer is releasable; ``ranks`` are not."""
        distances = self.distances(ranks)
        if self.mechanism.concentrated:
            place, _ = sampler.draw(ExponentialPick([1] * len(distances), distances, self.rate))
        else:
            place = sampler.draw(PermuteAndFlip(distances, self.rate))
        return place if place < len(self.choice.candidates) else None

    def distances(self, ranks: Sequence[Rank]) -> list[int]:
        """How far each candidate's score is below the best one, NULL's last."""
        scores = [0] * len(self.choice.candidates)
        for place, weight, _, _ in ranks:
            scores[place] = weight
        scores.append(self.nobody)
        best = max(scores)
        return [best - score for score in scores]
