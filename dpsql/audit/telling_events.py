"""Which outcomes tell a person's presence: chosen on a part of the samples, to be tested on the others.

Nothing is known here of mechanisms. Scores are learned from outcomes as they came over the wire, numbers, NULLs and
rows that are missing: each number itself, what is seldom or often with the person (a histogram of likelihood ratios,
of each number and of all together), and a logistic regression over all numbers, also cut at the middles of both worlds,
which is the likelihood ratio of Laplace noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsql.audit.lower_bounds import ChargedLoss, Floats, guessed, told_apart

_THRESHOLDS = 60
_BINS = 24
_CHOICE_ERROR = 0.0001
"""A choice is by a bound that holds, not by luck: a small event has to be convincing."""

Bits = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Samples:
    """One row for each target: its numbers, what kind of thing each is (0 number, 1 NULL, 2 no row), and its coin."""

    names: tuple[str, ...]
    values: Floats
    kinds: NDArray[np.int8]
    bits: Bits

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, chosen: NDArray[np.int64] | slice) -> Samples:
        return Samples(self.names, self.values[chosen], self.kinds[chosen], self.bits[chosen])


@dataclass(frozen=True, slots=True)
class Score:
    """A number for each target: the larger, the likelier the person is there."""

    name: str
    of: Callable[[Samples], Floats]


@dataclass(frozen=True, slots=True)
class TellingEvent:
    """``score`` at ``high`` or above: somebody is taken to be there; at ``low`` or below: not to be. NaN never is.

    ``at`` is the (ε, δ) that is tested with it, ``present`` whose chance is to be the larger one where δ is not 0.
    """

    score: Score
    high: float
    low: float
    at: tuple[float, float]
    present: bool = True

    def __str__(self) -> str:
        sides = [f"≥ {self.high:.6g}"] if np.isfinite(self.high) else []
        sides += [f"≤ {self.low:.6g}"] if np.isfinite(self.low) else []
        return f"{self.score.name} {' or '.join(sides)}"

    def bound(self, samples: Samples, error: float) -> float:
        """The lower bound on ε that these samples show."""
        score = self.score.of(samples)
        above, below = score >= self.high, score <= self.low
        if not self.at[1]:
            right = (above & samples.bits).sum() + (below & ~samples.bits).sum()
            return float(guessed(np.array([right]), np.array([above.sum() + below.sum()]), error)[0])
        inside = above if np.isfinite(self.high) else below
        there, away = inside[samples.bits], inside[~samples.bits]
        one, other = (there, away) if self.present else (away, there)
        return float(
            told_apart(np.array([one.sum()]), len(one), np.array([other.sum()]), len(other), self.at[1], error)[0]
        )


def choose(samples: Samples, claim: ChargedLoss) -> TellingEvent:
    """The event that shows most. What is learned is tried on the half that it was not learned from."""
    halves = [np.flatnonzero(np.arange(len(samples)) % 2 == part) for part in (0, 1)]
    found = list(scores(samples))
    tried = [np.full(len(samples), np.nan) for _ in found]
    for learn, other in (halves, halves[::-1]):
        for place, score in enumerate(scores(samples, samples[learn])):
            tried[place][other] = score.of(samples[other])
    choose_one = _choose_pure if claim.pure else _choose_approximate
    chosen = [choose_one(score, values, samples.bits, claim) for score, values in zip(found, tried, strict=True)]
    return max(chosen, key=lambda one: one[0])[1]


def _choose_pure(score: Score, values: Floats, bits: Bits, claim: ChargedLoss) -> tuple[float, TellingEvent]:
    ends = _ends(values)
    above, below = values[:, None] >= ends[None, :], values[:, None] <= ends[None, :]
    up, down = above.sum(0), below.sum(0)
    right_up, right_down = (above & bits[:, None]).sum(0), (below & ~bits[:, None]).sum(0)
    # Row 0 and column 0: never taken to be there, or not to be.
    pad = np.zeros(1, dtype=np.int64)
    up, down, right_up, right_down = (np.concatenate([pad, one]) for one in (up, down, right_up, right_down))
    highs, lows = np.concatenate([[np.inf], ends]), np.concatenate([[-np.inf], ends])
    bounds = guessed(right_up[:, None] + right_down[None, :], up[:, None] + down[None, :], _CHOICE_ERROR)
    bounds = np.where(lows[None, :] < highs[:, None], bounds, -1.0)
    at, by = np.unravel_index(int(np.argmax(bounds)), bounds.shape)
    return float(bounds[at, by]), TellingEvent(score, float(highs[at]), float(lows[by]), claim.at(0.0))


def _choose_approximate(score: Score, values: Floats, bits: Bits, claim: ChargedLoss) -> tuple[float, TellingEvent]:
    """What exceeds its own claim by most, or falls short of it by least."""
    ends = _ends(values)
    best: tuple[float, TellingEvent] | None = None
    for above in (True, False):
        inside = values[:, None] >= ends[None, :] if above else values[:, None] <= ends[None, :]
        there, away = inside[bits], inside[~bits]
        one, other = (there, away) if above else (away, there)
        for epsilon, delta in claim.all:
            bounds = told_apart(one.sum(0), len(one), other.sum(0), len(other), delta, _CHOICE_ERROR)
            place = int(np.argmax(bounds))
            margin = float(bounds[place]) - epsilon
            if best is None or margin > best[0]:
                high, low = (float(ends[place]), -np.inf) if above else (np.inf, float(ends[place]))
                best = margin, TellingEvent(score, high, low, (epsilon, delta), above)
    if best is None:
        raise AssertionError("there are two sides")
    return best


def _ends(values: Floats) -> Floats:
    """Where a score may be cut: every value where there are few, else quantiles."""
    known = np.unique(values[np.isfinite(values)])
    if not len(known):
        return np.array([np.inf])
    if len(known) <= _THRESHOLDS:
        return known
    return np.unique(np.quantile(known, np.linspace(0, 1, _THRESHOLDS)))


def scores(samples: Samples, learn: Samples | None = None) -> Iterator[Score]:
    """Everything that may tell of ``samples``, learned from some of them or all."""
    known, samples = samples, samples if learn is None else learn
    for place, name in enumerate(samples.names):
        yield Score(name, _value_of(place, 1.0))
        yield Score(f"-({name})", _value_of(place, -1.0))
        for kind, what in ((1, "is NULL"), (2, "has no row")):
            if (known.kinds[:, place] == kind).any():
                yield Score(f"{name} {what}", _kind_of(place, kind, 1.0))
                yield Score(f"not: {name} {what}", _kind_of(place, kind, -1.0))
    tables = [_ratios(samples, place) for place in range(len(samples.names))]
    for name, table in zip(samples.names, tables, strict=True):
        yield Score(f"likelihood of {name}", table)
    if len(tables) > 1:
        yield Score("likelihood of all", _sum_of(tables))
    yield Score("regression over all", _regression(samples))


def _value_of(place: int, sign: float) -> Callable[[Samples], Floats]:
    return lambda samples: np.where(samples.kinds[:, place] == 0, sign * samples.values[:, place], np.nan)


def _kind_of(place: int, kind: int, sign: float) -> Callable[[Samples], Floats]:
    return lambda samples: sign * (samples.kinds[:, place] == kind)


def _sum_of(parts: Sequence[Callable[[Samples], Floats]]) -> Callable[[Samples], Floats]:
    return lambda samples: np.sum([part(samples) for part in parts], axis=0)


def _ratios(samples: Samples, place: int) -> Callable[[Samples], Floats]:
    """The logarithm of how much more often a number, a NULL or a missing row comes with the person."""
    known = samples.values[samples.kinds[:, place] == 0, place]
    different = np.unique(known)
    many = len(different) > _BINS
    edges = (
        np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]))
        if many
        else (different[1:] + different[:-1]) / 2
    )
    size = len(edges) + 3

    def binned(some: Samples) -> NDArray[np.int64]:
        kinds = some.kinds[:, place]
        return np.where(kinds == 0, np.searchsorted(edges, some.values[:, place], "right"), len(edges) + kinds)

    bins = binned(samples)
    there = np.bincount(bins[samples.bits], minlength=size) + 0.5
    away = np.bincount(bins[~samples.bits], minlength=size) + 0.5
    table = np.log(there / there.sum()) - np.log(away / away.sum())
    return lambda some: table[binned(some)]


def _regression(samples: Samples) -> Callable[[Samples], Floats]:
    """Ridge logistic regression by a few of Newton's steps."""
    ends = np.array([_middles(samples, place) for place in range(len(samples.names))])
    low, high = ends.min(1), ends.max(1)

    def raw(some: Samples) -> Floats:
        here = some.kinds == 0
        values = np.where(here, some.values, low)
        missing = [some.kinds == kind for kind in (1, 2)]
        return np.hstack([values, np.clip(values, low, high), *missing]).astype(np.float64)

    first = raw(samples)
    centre, spread = first.mean(0), first.std(0)
    spread = np.where(spread > 0, spread, 1.0)

    def design(some: Samples) -> Floats:
        scaled = np.clip((raw(some) - centre) / spread, -8.0, 8.0)
        return np.hstack([np.ones((len(some), 1)), scaled])

    matrix, wanted = design(samples), samples.bits.astype(np.float64)
    weights = np.zeros(matrix.shape[1])
    for _ in range(8):
        chance = 1.0 / (1.0 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        slope = matrix.T @ (wanted - chance) - weights
        curve = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + np.eye(len(weights))
        weights = weights + np.linalg.solve(curve, slope)
    return lambda some: design(some) @ weights


def _middles(samples: Samples, place: int) -> tuple[float, float]:
    """The medians in both worlds."""
    here = samples.kinds[:, place] == 0
    found = [samples.values[here & (samples.bits == bit), place] for bit in (True, False)]
    one, other = (float(np.median(some)) if len(some) else 0.0 for some in found)
    return one, other
