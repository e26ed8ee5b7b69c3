"""Quantiles by the exponential mechanism, on a public lattice of values.

**Distance.** In a group let B, E and n be the weights below v, at v, and of all rows; the target is t = q·n. How far v
is from being a q-quantile is d(v) = max(B - t, t - B - E, 0). One unit adds weights of at most s to the group:
then B - t moves by no more than max(q, 1-q)·s, and so do t - B - E and d (Smith 2011; score of OpenDP's and many
others' quantiles, with the distance to the whole of a value's rows, so that a value with many rows is one candidate).
The k-th row from an end is aimed at by a public number of rows: t = min(c, n), or max(n - c, 0). A unit moves n by
s, so t by some τ from 0 to s, and B by some b from 0 to s: B - t moves by b - τ, and d by at most s.
MIN and MAX aim at t = min(k, n/2) from their end, with k a public number of rows: as far inside that the empty
part of the range, all of which is at distance k, hardly ever wins. There d moves by at most s.
One more candidate is NULL, at the distance M·n with M = max(q, 1-q), or 1 for ends and rows counted from them: where
there is nobody, it wins.
Every distance is capped at a public number, which moves it no further.

**Claim.** Picking v with probability ∝ μ(v)·exp(-ε·d(v)/(2·M·S)), for a public measure μ
(:mod:`dpsql.mechanisms.quantiles.roundness`), has the range ε·s/S: the log-ratio of the probabilities that two
neighbours give to v lies in an interval of that width, whatever v. So it is ε·s/S-DP, and (ε·s/S)²/8-zCDP (Dong,
Durfee, Rogers 2020; Cesar, Rogers 2021), pair by pair of neighbours.

**Groups.** A unit with weights s₁, s₂, … in its groups costs Σ ε·s_g/S where ε is counted, at most ε for weights of
L1 norm at most S; and Σ (ε·s_g/S)²/8 where ρ is counted, at most ε²/8 for weights of L2 norm at most S. The
bounded query sees to these norms, as it does for counts.

**Ends.** Beside a quantile two more values are picked at a half of its ε, at the targets t - a and t + a, moved into
0 … n: they are the ends of its interval (:mod:`dpsql.inference.estimates.picked_quantiles`), as far away as picks
hardly ever are from their targets. One unit moves their distances within the same ranges as those of the quantile.

**Together.** The quantiles of a column move together: a row of weight s that is to the left of the q-quantile spreads
the distances by (1-q+M)·s, any other by (q+M)·s, of the 2·M·s that are paid; and a row is to the left of all quantiles
above some place and of no other. So the sum over the fractions is largest for one of these places, and that largest sum
is paid (:func:`together`), for rows by the triangle inequality, in either norm. MIN, MAX and counted rows each spread
their distances by at most 2·s, all that is paid for one: their costs add up.

Why a cap: a value farther than the cap is as unlikely as one at it, about 2⁻²⁰ for all of them together, so the engine
need not tell of them. Candidates between two neighbouring values have the same distance and are picked as one.

Why a smaller window may be read: the cap and the probabilities are those of the choice's own window. Every value whose
distance is below the cap is within :attr:`Quantile.sees` of the target, and all others have the cap for their distance,
known or not. So each candidate has the very distance that it has among all values.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.picking import Picking
from dpsql.mechanisms.quantiles.roundness import PLAIN, Roundness
from dpsql.mechanisms.quantiles.steps import Nearness, StepwisePick
from dpsql.mechanisms.sampling import ExponentialPick, Sampler
from dpsql.releases import Rank, RankColumns
from rewriter.declared import Sensitivity
from rewriter.plan import Choice, aim_of

NOBODY = 256
"""How many candidates NULL stands for, for each lattice value: in an empty group, 256 of 257 times it is NULL."""

END = Fraction(1, 2)
"""The ε of an end against that of its quantile."""

APART = 6
"""How many rows the targets of ends are away from that of the quantile, times 1 - exp(-r) for the exponent r of a row:
where rows lie at random, the quantile's error falls off like that (E exp(-rN) for a Poisson number N of rows)."""

_RARE = 20 * math.log(2)
_TOLERABLE = math.log(1000)
_PRECISION = 1 << 40
_INSIDE = 5
"""MIN and MAX are picked beyond all data with a probability of about exp(-5), where most of the range is there."""


Cost = tuple[Fraction, Fraction]
"""How many times as much as one pick several picks cost, in ε and in ρ."""


class TooFar(ValueError):
    """At this price, likely values are farther from the quantile than the engine tells of."""


@dataclass(frozen=True, slots=True)
class Exponential:
    """Picks with probability ∝ exp(-epsilon · distance / twice the most that a unit of full weight moves it).

    ``concentrated``: what it costs is counted as ρ = ε²/8, for weights of L2 norm 1; else as ε, for those of L1 norm 1.

    >>> Exponential(Fraction(1, 5), concentrated=True).loss
    PrivacyLoss(epsilon=Fraction(0, 1), rho=Fraction(1, 200), delta=Fraction(0, 1), curve=())
    """

    epsilon: Fraction
    concentrated: bool

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise ValueError("a pick has a price above 0")

    @classmethod
    def of_rho(cls, rho: Fraction) -> Exponential:
        """The greatest ε, but for rounding down, with ε²/8 ≤ ρ.

        >>> Exponential.of_rho(Fraction(1, 200)).epsilon
        Fraction(1, 5)
        """
        square = 8 * rho
        scaled = math.isqrt(square.numerator * _PRECISION**2 // square.denominator)
        exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        return cls(exact if exact * exact == square else Fraction(scaled, _PRECISION), concentrated=True)

    @classmethod
    def affordable(cls, sensitivity: Sensitivity, loss: PrivacyLoss, cost: Cost) -> Exponential | None:
        """The greatest ε, where all picks cost so many times what one does; None where no L1 norm is bounded."""
        linear, squared = cost
        if loss.rho:
            return cls.of_rho(loss.rho / squared)
        return None if sensitivity.l1 is None else cls(loss.epsilon / linear, concentrated=False)

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss(rho=self.epsilon**2 / 8) if self.concentrated else PrivacyLoss(epsilon=self.epsilon)

    def loss_of(self, cost: Cost) -> PrivacyLoss:
        """The privacy loss of picks that together cost ``cost`` times as much as one pick."""
        linear, squared = cost
        return PrivacyLoss(self.loss.epsilon * linear, self.loss.rho * squared)

    @property
    def noise(self) -> Picking:
        return Picking(1 / self.epsilon)


@dataclass(frozen=True, slots=True)
class Quantile:
    """One fraction of a choice, to be picked by a mechanism. ``scale`` is what distances are multiplied by to be
    integers, ``rate`` the exponent of one step of them, ``shift`` how far from the quantile it aims, scaled.
    Raises :class:`TooFar`."""

    choice: Choice
    fraction: Fraction
    mechanism: Exponential
    shift: int = 0

    def __post_init__(self) -> None:
        if self._cap(_TOLERABLE) > self._most_cap:
            raise TooFar("the price is too low for this quantile")

    @property
    def is_extreme(self) -> bool:
        return self.fraction in (0, 1)

    @property
    def scale(self) -> int:
        return 2 if self.is_extreme else self.fraction.denominator

    @property
    def aim(self) -> tuple[Fraction, Fraction]:
        """The share of the rows, and the number of rows more, that are to be below."""
        return aim_of(self.fraction)

    @property
    def reach(self) -> int:
        """How far a unit of weight 1 moves a scaled distance: at least M times the scale."""
        share, _ = self.aim
        return 2 if self.is_extreme else int(self.scale * max(share, 1 - share))

    def ends(self) -> tuple[Quantile, Quantile]:
        """The quantiles that aim below and above this one. Raises :class:`TooFar`."""
        mechanism = Exponential(self.mechanism.epsilon * END, self.mechanism.concentrated)
        row = self.scale * self.choice.row
        shift = math.ceil(APART * row / -math.expm1(-float(self.rate * row)))
        return replace(self, mechanism=mechanism, shift=-shift), replace(self, mechanism=mechanism, shift=shift)

    @property
    def rate(self) -> Fraction:
        return self.mechanism.epsilon / (2 * self.reach * unit_weight(self.choice.sensitivity, self.mechanism))

    @property
    def candidates(self) -> int:
        """The total weight of all lattice values and NULL."""
        return self._values * (1 + NOBODY)

    @property
    def roundness(self) -> Roundness:
        """The weights of lattice values relative to each other; for MIN and MAX all are alike."""
        if self.is_extreme:
            return PLAIN
        return Roundness.of(self.choice.granularity, self.choice.high - self.choice.low)

    @property
    def _values(self) -> int:
        return self.roundness.mass(self.choice.low, self.choice.high - self.choice.low + 1)

    @property
    def inside(self) -> int:
        """For MIN and MAX, how far inside they aim, as a scaled weight."""
        return math.ceil((math.log(self.candidates / NOBODY) + _INSIDE) / self.rate) if self.is_extreme else 0

    @property
    def inside_rows(self) -> int:
        """The same in rows of people."""
        return math.ceil(self.inside / self.scale / self.choice.row)

    @property
    def cap(self) -> int:
        """The scaled distance beyond which all candidates are alike."""
        return min(self._cap(_RARE), self._most_cap)

    @property
    def sees(self) -> int:
        """The window within which all values are whose distance is below the cap."""
        return -(-(self.cap + self.inside + abs(self.shift)) // self.scale)

    @property
    def rows(self) -> float:
        """How many rows the answer's rank may be away from the target, with a probability of 95 % at least."""
        distance = math.log(self.candidates / 0.05) / float(self.rate)
        return distance / self.scale / self.choice.row

    @property
    def rank_variance(self) -> float:
        """The variance of the answer's rank, in rows: of noise whose exponent is that of its distance."""
        return 2 / float(self.rate * self.scale * self.choice.row) ** 2

    @property
    def usual_rows(self) -> float:
        """How many rows the answer's rank is away, 95 times in 100, where values lie evenly.

        As a row has the exponent r, errors fall off like E exp(-rN) for a Poisson number N of rows. MIN and MAX are as
        far from the ends as they aim.
        """
        if self.is_extreme:
            return float(self.inside_rows)
        return math.log(20) / -math.expm1(-float(self.rate * self.scale * self.choice.row))

    def _cap(self, rarity: float) -> int:
        return math.ceil((math.log(self.candidates) + rarity) / self.rate)

    @property
    def _most_cap(self) -> int:
        return self.choice.window * self.scale - self.inside - abs(self.shift)

    def pick(self, ranks: Sequence[Rank], sampler: Sampler) -> int | None:
        """A lattice value, or None for nobody. The answer is releasable; ``ranks`` are not."""
        if isinstance(ranks, RankColumns):
            return sampler.draw(self.stepwise(ranks))
        stretches, roundness = self.stretches(ranks), self.roundness
        masses = [count if first is None else roundness.mass(first, count) for first, count, _ in stretches]
        place, which = sampler.draw(ExponentialPick(masses, [distance for _, _, distance in stretches], self.rate))
        first, count, _ = stretches[place]
        return None if first is None else roundness.at(first, count, which)

    def stepwise(self, ranks: RankColumns) -> StepwisePick:
        """The same law, for many values."""
        choice, total = self.choice, ranks.total
        near = Nearness(ranks, choice.low, choice.high, self._target(total), self.scale, self.cap)
        nobody = self._values * NOBODY, min(self.reach * total, self.cap)
        return StepwisePick(near, self.roundness, nobody, self.rate)

    def stretches(self, ranks: Sequence[Rank]) -> list[tuple[int | None, int, int]]:
        """All candidates, as (first value, how many, their scaled distance); NULL last.

        Distances fall up to the quantile and grow from there, so those at the cap are at both ends. ``ranks`` may lack
        values whose distance is not below the choice's window; where one is missing, its neighbours between it and the
        next known value are beyond the cap, as it is.
        """
        total = ranks[0][3] if ranks else 0
        target, scale, cap = self._target(total), self.scale, self.cap
        start = bisect_left(ranks, True, key=lambda rank: target - scale * (rank[1] + rank[2]) < cap)
        end = bisect_left(ranks, True, key=lambda rank: scale * rank[2] - target >= cap)
        found: list[tuple[int | None, int, int]] = []
        next_, upto = self.choice.low, ranks[start - 1][1] + ranks[start - 1][2] if start else 0
        for value, weight, below, _ in ranks[start:end]:
            if value > next_:
                apart = abs(scale * below - target) if below == upto else cap
                found.append((next_, value - next_, min(apart, cap)))
            upto = below + weight
            found.append((value, 1, min(max(scale * below - target, target - scale * upto, 0), cap)))
            next_ = value + 1
        if next_ <= self.choice.high:
            apart = abs(scale * upto - target) if upto == total else cap
            found.append((next_, self.choice.high - next_ + 1, min(apart, cap)))
        found.append((None, self._values * NOBODY, min(self.reach * total, cap)))
        return found

    def _target(self, total: int) -> int:
        """The weight that is to be below the quantile, scaled."""
        if not self.is_extreme:
            share, rows = self.aim
            target = int(self.scale * (share * total + rows * self.choice.row))
            return min(max(target + self.shift, 0), self.scale * total)
        near = min(self.inside, total)
        return near if self.fraction == 0 else 2 * total - near


def together(fractions: Sequence[Fraction], *, ends: bool) -> Cost:
    """The joint cost of quantiles of one column, in ε and in ρ of one of them: never more than their number.

    >>> [float(cost) for cost in together([Fraction(1, 2)], ends=False)]
    [1.0, 1.0]
    >>> [round(float(cost), 2) for cost in together([Fraction(n, 10) for n in range(1, 10)], ends=False)]
    [7.73, 6.9]
    """
    ordered = sorted(fractions)
    costs = [[_spread(q, left=place >= at) for place, q in enumerate(ordered)] for at in range(len(ordered) + 1)]
    more = [(1 + 2 * END, 1 + 2 * END**2) if ends and q not in (0, 1) else (Fraction(1), Fraction(1)) for q in ordered]
    linear = max(sum((cost * one for cost, (one, _) in zip(row, more, strict=True)), Fraction(0)) for row in costs)
    squared = max(sum((cost**2 * two for cost, (_, two) in zip(row, more, strict=True)), Fraction(0)) for row in costs)
    return linear, squared


def _spread(q: Fraction, *, left: bool) -> Fraction:
    """How far a row spreads a quantile's distances, of the most that any row does."""
    if not 0 < q < 1:
        return Fraction(1)
    most = max(q, 1 - q)
    return ((1 - q if left else q) + most) / (2 * most)


def unit_weight(sensitivity: Sensitivity, mechanism: Exponential) -> int:
    """The most that one unit weighs in all groups, in the norm that the mechanism's loss adds up in; rounded up.

    >>> unit_weight(Sensitivity(l1=None, l2_squared=10), Exponential(Fraction(1), concentrated=True))
    4
    """
    if mechanism.concentrated:
        return math.isqrt(sensitivity.l2_squared - 1) + 1
    if sensitivity.l1 is None:
        raise ValueError("ε is counted where weights are bounded in the L1 norm")
    return sensitivity.l1
