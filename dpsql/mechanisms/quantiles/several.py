"""Several quantiles of one column at once, by one exponential mechanism over all vectors of them.

**Positions.** In a group, let B and E be the weights below a value and at it, n that of all rows. Each value of the
public lattice is divided into R public parts; part u of a value is at the position B + E·(2u+1)/2R. One more row of
weight s moves the position of every part by something from 0 to s, and that grows from part to part: 0 below the row,
s above it.

**Distance.** First a noisy weight n̂ of the group is released, by discrete Laplace noise. With the targets t₁ ≤ … ≤
t_m, t_j = q_j·n̂, and a vector v₁ ≤ … ≤ v_m of parts at the positions p₁ ≤ … ≤ p_m, the distance of the vector is
D(v) = Σ |(p_j - p_{j-1}) - (t_j - t_{j-1})| for j = 1 … m+1, where p₀ = t₀ = 0, p_{m+1} = n, t_{m+1} = n̂. A row
moves the positions by growing amounts between 0 and s, so the gaps between them by s in all: D moves by at most s, up
or down. (The score of Gillenwater, Joseph, Kulesza 2021, which moves by 2(1 - w)·s, w the least gap: its targets
follow n. These follow n̂, and one row is in one gap.) D is capped at a public number, which moves it no further.

**Claim.** Picking v with probability ∝ exp(-ε·D(v)/2S) has the range ε·s/S: it is ε·s/S-DP and (ε·s/S)²/8-zCDP, pair
by pair of neighbours, however many quantiles there are. n̂ has noise of the scale S/ε₁: ε₁·s/S-DP, and
(ε₁·s/S)²/2-zCDP. A unit with weights in many groups costs what it does for one quantile
(:mod:`dpsql.mechanisms.quantiles.one`).

**Nobody.** Where n̂ is small, all is NULL: that follows from n̂.

Why parts: where many rows have one value, a target can be anywhere among them. Why the engine may be silent about
values that are far from all targets: let x_j = p_j - t_j and e = n̂ - n. Then D ≥ |x_j| + |x_j + e| ≥ |p_j - q_j·n|.
So where D is below a cap that is not above the choice's window, all values are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.quantiles.one import NOBODY, Exponential, TooFar, unit_weight
from dpsql.mechanisms.sampling import Chain, Positions, Sampler, TooWide, float_at_least
from dpsql.releases import Rank
from rewriter.plan import Choice

COUNT = Fraction(1, 6)
"""The ε of the noisy weight against that of the pick."""

_RARE = 20 * math.log(2)
_TOLERABLE = math.log(1000)
_NOMINAL, _LARGE = 1_000, 10_000_000
"""The rows of a group, where they have to be guessed before it is measured: usual, and at most."""
_CROSSED = 2
"""So many neighbouring targets may be closer than their noise is wide; with more, a group has too few people."""
_TOGETHER = 4
"""So many may fall together into a wide stretch of values that nobody has: where t targets do, their order is that of
t! as likely ones, and a vector is proposed so many times."""


@dataclass(frozen=True, slots=True)
class LatticePart:
    """One of the parts of a lattice value."""

    value: int
    part: int

    def __lt__(self, other: LatticePart) -> bool:
        return (self.value, self.part) < (other.value, other.part)


@dataclass(frozen=True, slots=True)
class Joint:
    """Picks all of some fractions, none of them 0 or 1, least first. Raises :class:`TooFar`."""

    choice: Choice
    fractions: tuple[Fraction, ...]
    mechanism: Exponential

    def __post_init__(self) -> None:
        if list(self.fractions) != sorted({*self.fractions}) or not all(0 < q < 1 for q in self.fractions):
            raise ValueError("fractions between 0 and 1, least first")
        try:
            needed = self._needed(_TOLERABLE, 3, _NOMINAL * self.choice.row)
        except TooWide:
            needed = math.inf
        if needed > self.choice.window:
            raise TooFar("the price is too low for so many quantiles")

    @property
    def unit(self) -> int:
        """The most that one unit weighs."""
        return unit_weight(self.choice.sensitivity, self.mechanism)

    @property
    def rate(self) -> Fraction:
        """The exponent of one step of weight."""
        return self.mechanism.epsilon / (2 * self.unit)

    @property
    def count_scale(self) -> Fraction:
        """The scale of the noise of a group's weight."""
        return Fraction(float_at_least(self.unit / (self.mechanism.epsilon * COUNT)))

    @property
    def values(self) -> int:
        """How many lattice values there are."""
        return self.choice.high - self.choice.low + 1

    @property
    def fewest(self) -> int:
        """The noisy weight below which a group has nobody: an empty one is above it once in 257 times."""
        return math.ceil(math.log((NOBODY + 1) / 2) * self.count_scale)

    @property
    def rows(self) -> float:
        """How many rows the answer's ranks may be away from the targets, with a probability of 95 % at least."""
        return (
            (self._needed(math.log(20), 3, _LARGE * self.choice.row) + 3 * float(self.count_scale))
            / 2
            / self.choice.row
        )

    def rank_variance(self, fraction: Fraction) -> float:
        """The variance of a quantile's rank, in rows: the noises of the gaps below it and above it add up to what the
        weight of the group is off."""
        below = self.fractions.index(fraction) + 1
        above = len(self.fractions) + 1 - below
        return 2 * below * above / (below + above) / float(self.rate * self.choice.row) ** 2

    def _needed(self, rarity: float, errors: float, total: int) -> float:
        """The distance beyond which vectors are so rare, where the noise of the weight is so many times its scale,
        and few values have all of the weight, so that few of their parts are near."""
        size = len(self.fractions)
        many = size * (math.log(self.values) + math.log1p(max(total, 0) * float(self.rate))) - math.lgamma(size + 1)
        return (many + rarity) / float(self.rate) + errors * float(self.count_scale)

    def is_few(self, total: int) -> bool:
        """Whether a noisy weight is too small for these fractions."""
        gaps = [float(b - a) * total for a, b in zip(self.fractions, self.fractions[1:], strict=False)]
        rate = float(self.rate)
        falling = math.log(self.values * self._parts(total)) / 2
        together = sum(rate * gap < falling for gap in gaps)
        crossed = sum(math.exp(-rate * gap) for gap in gaps if gap > 0)
        return total < self.fewest or together > _TOGETHER or crossed > _CROSSED

    def _parts(self, total: int) -> int:
        """R: a power of two, so that parts of a value that everybody has are closer than a row's exponent."""
        return 1 << max(0, math.ceil(4 * max(total, 0) * self.rate)).bit_length()

    def pick(self, ranks: Sequence[Rank], sampler: Sampler) -> tuple[int, tuple[LatticePart, ...] | None]:
        """The noisy weight of the group, and a part for each fraction; None for nobody.

        Both are releasable; ``ranks`` are not.
        """
        total = (ranks[0][3] if ranks else 0) + Laplace(self.count_scale).sample(sampler, 1)[0]
        found = sampler.draw(self.chain(ranks, total))
        return total, None if found is None else tuple(LatticePart(*one) for one in found)

    def chain(self, ranks: Sequence[Rank], total: int) -> Chain:
        """The candidates to pick from, around the targets that follow from a noisy weight."""
        parts = self._parts(total)
        scale = 2 * parts * math.lcm(*(q.denominator for q in self.fractions))
        cap = min(math.ceil(self._needed(_RARE, 5, total)), self.choice.window)
        positions = Positions(ranks, self.choice.low, self.choice.high, parts, scale)
        return Chain(
            few=self.is_few(total),
            rate=self.rate / scale,
            cap=cap * scale,
            end=scale * (positions.weight - total),
            targets=tuple(int(q * scale) * total for q in self.fractions),
            positions=positions,
        )
