"""Picking one of very many values of one group, by their distances in steps.

**Law.** Candidate c is answered with probability exactly ∝ μ(c)·exp(-rate·d(c)): that of
:class:`dpsql.mechanisms.sampling.ExponentialPick` over all values and gaps between them, which it is tested against.

**How.** Distances fall along the lattice up to the quantile and grow from there, and at most a cap counts. So a few
hundred values cut the lattice into stretches within which distances differ by one step at most, and the least of a
stretch is at one of its ends. A stretch of mass m whose least distance is d weighs m·(W + 64), where
W ≤ 2¹²⁸·exp(-rate·d) < W + 64. One uniform integer below the sum of these is a stretch, a place in its mass and an
offset o in W + 64. The place is a candidate c of the stretch, uniform in μ. It is accepted where o + V <
2¹²⁸·exp(-rate·d(c)) for a uniform V in [0, 1), which is decided exactly (:mod:`dpsql.mechanisms.sampling.exponential`).

**Proof.** d(c) ≥ d, so 2¹²⁸·exp(-rate·d(c)) < W + 64: o + V is uniform in [0, W + 64), and a place is accepted with
the probability 2¹²⁸·exp(-rate·d(c))/(W + 64). It was drawn with one ∝ (W + 64). The product is ∝ exp(-rate·d(c)) with
the same factor for all places, and c has μ(c) of them. Where the cuts are has no part in it: only that d is not above
the distance of any candidate of its stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dpsql.mechanisms.quantiles.roundness import Roundness
from dpsql.mechanisms.sampling import Law, least_first
from dpsql.releases import RankColumns

_STEPS = 64
"""In a stretch of so many to the cap, more than half of what is drawn is accepted: the cap is about 40 exponents."""
_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Nearness:
    """How far each lattice value from ``low`` to ``high`` is from a ``target``, in ``scale`` of weight. Secret.

    ``ranks`` may lack values beyond the ``cap``; a value between two of which others are missing is at the cap.
    """

    ranks: RankColumns
    low: int
    high: int
    target: int
    scale: int
    cap: int

    def at(self, value: int) -> int:
        """The distance of a value: never above the cap."""
        ranks = self.ranks
        place = int(ranks.values.searchsorted(value))
        if place < len(ranks) and ranks.values[place] == value:
            _, weight, below, _ = ranks[place]
            return min(max(self.scale * below - self.target, self.target - self.scale * (below + weight), 0), self.cap)
        before = int(ranks.below[place - 1] + ranks.weights[place - 1]) if place else 0
        after = int(ranks.below[place]) if place < len(ranks) else ranks.total
        return min(abs(self.scale * before - self.target), self.cap) if before == after else self.cap

    @property
    def nearest(self) -> int:
        """The least value at the distance 0."""
        return self._reaching([-(-self.target // self.scale)])[0] if self.target > 0 else self.low

    def starts(self) -> list[int]:
        """The values at which stretches begin, least first: the distance 0 is in one stretch alone."""
        steps = [*range(0, self.cap, max(-(-self.cap // _STEPS), 1)), self.cap - 1]
        before = self._reaching([-((far - self.target) // self.scale) for far in steps if far < self.target])
        after = self._reaching([(self.target + far) // self.scale + 1 for far in steps])
        found = {self.low, self.nearest, *before, *(value + 1 for value in after)}
        return sorted(value for value in found if self.low <= value <= self.high)

    def _reaching(self, weights: Sequence[int]) -> list[int]:
        """For each weight, the least known value up to which there is so much; one beyond all, where there is not."""
        upto = self.ranks.below + self.ranks.weights
        places = upto.searchsorted(np.array([min(weight, _MOST) for weight in weights], dtype=np.int64))
        return [*map(int, np.append(self.ranks.values, self.high + 1)[places])]


@dataclass(frozen=True, slots=True)
class StepwisePick(Law[int | None]):
    """A lattice value, ∝ its mass times exp(-rate · distance); or None, with the mass and distance of ``nobody``."""

    near: Nearness
    roundness: Roundness
    nobody: tuple[int, int]
    rate: Fraction

    def draw(self) -> int | None:
        near, starts = self.near, self.near.starts()
        pieces = [(first, next_ - first) for first, next_ in pairwise([*starts, near.high + 1])]
        masses = [self.roundness.mass(first, count) for first, count in pieces]
        least = [min(near.at(first), near.at(first + count - 1)) for first, count in pieces]
        mass, distance = self.nobody

        def candidate(place: int, which: int) -> tuple[int | None, int]:
            if place == len(pieces):
                return None, distance
            value = self.roundness.at(*pieces[place], which)
            return value, near.at(value)

        return least_first([*masses, mass], [*least, distance], candidate, self.rate)

    def nearest(self) -> int | None:
        """The least value at no distance; None where there is nobody, and all are as near."""
        return self.near.nearest if self.near.ranks.total else None
