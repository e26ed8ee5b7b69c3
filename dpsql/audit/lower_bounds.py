"""Lower bounds on ε from outcomes of people who were there by the toss of a coin, at a stated confidence.

**Pure ε.** Each target person is in the data or not by an independent fair coin, and whoever sees all answers guesses
some of the coins. Given the answers and the other coins, each posterior is at most e^ε/(1+e^ε), so that the number of
right guesses among r is dominated by a binomial of r and that chance, *however the answers of the targets depend on
each other* (Steinke, Nasr, Jagielski 2023, Theorem 2.1). Clopper and Pearson's lower end for the chance, p, gives
ε ≥ ln(p/(1-p)).

**(ε, δ).** P(E | there) ≤ e^ε · P(E | not there) + δ, and the same the other way round. Both chances are bounded by
Clopper and Pearson, each at half of the error: ε ≥ ln((p - δ)/q). Here the samples have to be independent given the
coins, which is why scenarios of ρ and δ have groups whose noise and inference have nothing in common.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from dpsql.accounting import RDP, PrivacyLoss, smallest_epsilon

DELTAS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
"""Where a claim of ρ may be tested: it is one of (ε, δ) for every δ, and which is tested is chosen beforehand."""

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def lower_chance(hits: Counts, trials: Counts, error: float) -> Floats:
    """Clopper and Pearson's one-sided lower end; 0 where nothing was hit.

    >>> float(lower_chance(np.array([80]), np.array([100]), 0.001)[0].round(3))
    0.654
    """
    hits, trials = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    with np.errstate(all="ignore"):
        found = betaincinv(hits, trials - hits + 1, error)
    return np.where(hits > 0, found, 0.0)


def upper_chance(hits: Counts, trials: Counts, error: float) -> Floats:
    """The upper end: what is not the lower end of the misses."""
    return 1.0 - lower_chance(np.asarray(trials) - np.asarray(hits), trials, error)


def guessed(right: Counts, guesses: Counts, error: float) -> Floats:
    """The lower bound on a pure ε from so many right guesses.

    >>> float(guessed(np.array([900]), np.array([1000]), 0.001)[0].round(2))
    1.88
    """
    chance = lower_chance(right, guesses, error)
    with np.errstate(all="ignore"):
        return np.maximum(np.log(chance / (1.0 - chance)), 0.0)


def told_apart(hits: Counts, trials: int, others: Counts, other_trials: int, delta: float, error: float) -> Floats:
    """The lower bound on ε at δ from how often an event happens in either world."""
    likely = lower_chance(hits, np.full_like(hits, trials), error / 2) - delta
    rare = upper_chance(others, np.full_like(others, other_trials), error / 2)
    with np.errstate(all="ignore"):
        return np.where(likely > rare, np.log(np.maximum(likely, 1e-300) / np.maximum(rare, 1e-300)), 0.0)


def most_shown(epsilon: float, delta: float, there: int, away: int, error: float) -> float:
    """What answers that give away all of (ε, δ) show where so many are asked with the person and without: of no other
    answers that keep it can more be expected. It is near ε only where there are many.

    Such answers are told by δ outright, else by a coin that is right e^ε times as often as wrong (Kairouz, Oh,
    Viswanath 2015: every mechanism that is (ε, δ)-private can be made of them).

    >>> [round(most_shown(1.0, 0.0, many, many, 0.001), 2) for many in (35, 200, 5_000)]
    [0.16, 0.65, 0.93]
    """
    if not epsilon or math.isinf(epsilon):
        return 0.0
    right = 1 / (1 + math.exp(-min(epsilon, 500.0)))
    likely, rare = delta + (1 - delta) * right, (1 - delta) * (1 - right)
    if not delta:
        total = there + away
        return float(guessed(np.array([round(right * total)]), np.array([total]), error)[0])
    hits, others = np.array([round(likely * there)]), np.array([round(rare * away)])
    return float(told_apart(hits, there, others, away, delta, error)[0])


@dataclass(frozen=True, slots=True)
class ChargedLoss:
    """What the ledger was charged for one world: ε, ρ or a curve, and the δ of what was selected."""

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    curve: tuple[Fraction, ...] = ()

    def since(self, before: ChargedLoss, answers: int) -> ChargedLoss:
        """What each of so many answers was charged."""
        rest = PrivacyLoss(self.epsilon, self.rho, self.delta, self.curve) - PrivacyLoss(
            before.epsilon, before.rho, before.delta, before.curve
        )
        each = rest / answers
        return ChargedLoss(each.epsilon, each.rho, each.delta, each.curve)

    @property
    def pure(self) -> bool:
        return not self.rho and not self.delta and not self.curve

    def at(self, extra: float) -> tuple[float, float]:
        """The (ε, δ) that is promised, where ``extra`` more of δ is given for ρ."""
        if self.curve:
            found = RDP.alone(PrivacyLoss(delta=self.delta, curve=self.curve), self.delta + Fraction(extra))
            return float("inf") if found is None else float(found[0]), float(self.delta) + extra
        if not self.rho:
            return float(self.epsilon), float(self.delta)
        epsilon = self.epsilon + smallest_epsilon(self.rho, Fraction(extra))
        return float(epsilon), float(self.delta) + extra

    @property
    def all(self) -> tuple[tuple[float, float], ...]:
        """Every (ε, δ) that may be tested."""
        return tuple(self.at(extra) for extra in DELTAS) if self.rho or self.curve else (self.at(0.0),)

    def __str__(self) -> str:
        if self.pure:
            return f"ε {float(self.epsilon):.3g}"
        parts = [f"ε {float(self.epsilon):.3g}"] if self.epsilon else []
        parts += [f"ρ {float(self.rho):.3g}"] if self.rho else []
        parts += ["a curve of Rényi divergences"] if self.curve else []
        parts += [f"δ {float(self.delta):.2g}"] if self.delta else []
        return ", ".join(parts)


def gap(right: float, claimed: float) -> str:
    """How much of a claim was shown, for a table."""
    return "" if not claimed or math.isinf(right) else f"{right / claimed:.0%}"
