"""Permute-and-flip: the pick of the best of many candidates that pure differential privacy does best with.

**Mechanism** (McKenna, Sheldon 2020). The candidates stand in a random order, and each in turn is taken with the
probability exp(-rate · distance), where the distance is how far its score is below the best one. The best is taken
for certain when it is reached, so one is taken. Never a larger expected error than the exponential mechanism at the
same ε, and up to half of it.

**Claim.** It has the law of adding exponential noise of mean 1/rate to all scores and taking the largest (Ding, Kifer,
Saghaian, Steinke, Wang, Xiao, Zhang 2021). Let one unit raise every score by between 0 and Δ. Given the noise of the
others, candidate r wins when its noise is above a bound that moves by at most Δ, either way; and the chance that
exponential noise is above a bound changes by a factor of at most exp(rate·Δ) then. So a pick is rate·Δ-DP; where scores
move by between -Δ and Δ, twice that.

Why not for ρ: it is only known to be ε-DP, which costs about ε²/2 (:mod:`dpsql.accounting.concentration`), and the
exponential mechanism with the same exponent ε²/8. At the same ρ the latter has twice the exponent.
"""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.mechanisms.sampling.exponential import exp_bounds, is_below
from dpsql.mechanisms.sampling.law import Law

_DOUBT = 1e-9
"""Far more than a float's exp can be wrong by."""


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(Law[int]):
    """The place of one of many candidates at distances of which one is 0, none negative."""

    distances: Sequence[int]
    rate: Fraction

    def draw(self) -> int:
        return permute_and_flip(self.distances, self.rate)

    def nearest(self) -> int:
        return min(range(len(self.distances)), key=self.distances.__getitem__)


def permute_and_flip(distances: Sequence[int], rate: Fraction) -> int:
    """The place that is taken. One of the distances, none of which is negative, is 0.

    >>> permute_and_flip([10**9, 0, 10**8], Fraction(1))
    1
    """
    order = list(range(len(distances)))
    for turn in range(len(order)):
        swapped = turn + secrets.randbelow(len(order) - turn)
        order[turn], order[swapped] = order[swapped], order[turn]
        if flip(rate * distances[order[turn]]):
            return order[turn]
    raise ValueError("no distance is 0")


def flip(exponent: Fraction) -> bool:
    """True with probability exp(-exponent), exactly: a uniform number is drawn as far as it takes to compare it.

    >>> flip(Fraction(0)), flip(Fraction(10**6))
    (True, False)
    """
    if not exponent:
        return True
    drawn = secrets.randbits(64)
    near = math.exp(-float(exponent)) if exponent < 700 else 0.0
    if abs(drawn / 2.0**64 - near) > _DOUBT:
        return drawn / 2.0**64 < near
    return is_below(functools.partial(exp_bounds, exponent), drawn, 64)
