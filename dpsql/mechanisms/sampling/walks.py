"""Proposals for :mod:`dpsql.mechanisms.sampling.chain`: walks over cells, each with a probability that is known
exactly.

Let x_j be how far a candidate of place j is beyond its target, and let cells be intervals of x of one width. In
cells, the distance of a vector is that of a walk from 0 over x₁, x₂, … to an end, its steps shortened by less than a
cell. How much all walks weigh that lead to a cell is computed forward, in floats; then a walk is drawn backwards,
each step from a table of integers made of them, and in each of its cells a candidate, uniformly.

No cell has the probability 0 in a table, so every vector can be proposed. Those that are not in order are given up.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpsql.mechanisms.sampling.positions import Integers, Near

Candidate = tuple[int, int]
"""A value and the number of one of its parts."""

Floats = npt.NDArray[np.float64]

_WIDTH = 0.1
"""The exponent of a cell's width."""
_TABLE = 1 << 40
_ROOM = Fraction(1_000_001, 1_000_000)
"""What errors of floats stay below by far: sums of positive numbers, some thousand of them."""


@dataclass(frozen=True, slots=True)
class PlaceCandidates:
    """The candidates of one place, in cells of a width around the target, the first of them ``-reach``."""

    near: Near
    ends: Integers
    width: int
    reach: int
    parts: int
    cap: int

    @classmethod
    def of(cls, near: Near, width: int, parts: int, cap: int) -> PlaceCandidates:
        return cls(near, near.base + 2 * parts * near.half, width, -(-cap // width), parts, cap)

    def counts(self) -> Floats:
        """How many candidates each cell has."""
        near, width = self.near, self.width
        if not len(near.first):
            return np.zeros(2 * self.reach)
        low = np.maximum(near.base, 1 - self.cap) // width
        high = np.minimum(self.ends, self.cap - 1) // width
        sizes = np.maximum(high - low + 1, 0).astype(np.int64)
        which = np.repeat(np.arange(len(sizes)), sizes)
        cells = low[which] + (np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes))
        found = self._within(cells, which)
        return np.asarray(
            np.bincount((cells + self.reach).astype(np.int64), found.astype(np.float64), 2 * self.reach), np.float64
        )

    def _within(self, cells: Integers, which: Integers) -> Integers:
        """How many candidates of a stretch a cell has, for pairs of both."""
        return (self._below(cells + 1, which) - self._below(cells, which)) * self.near.values[which]

    def _below(self, cells: Integers, which: Integers) -> Integers:
        """How many parts of each value are below the start of a cell."""
        start = np.minimum(np.maximum(cells * self.width, 1 - self.cap), self.cap)
        return self.near.below(start, self.parts, which)

    def drawn(self, cell: int) -> tuple[Candidate, int] | None:
        """A candidate of a cell, and how many there are; None where there is none."""
        some = np.arange(
            np.searchsorted(self.ends, max(cell * self.width, 1 - self.cap)),
            np.searchsorted(self.near.base, min((cell + 1) * self.width, self.cap)),
        )
        here = np.full(len(some), cell)
        counts: list[int] = self._within(here, some).tolist()
        count = sum(counts)
        place = secrets.randbelow(count) if count else 0
        for which, size in enumerate(counts):
            if place < size:
                start = int(self._below(here[:1], some[which : which + 1])[0])
                values = int(self.near.values[some[which]])
                more, rest = divmod(place, size // values)
                return (int(self.near.first[some[which]]) + more, start + rest), count
            place -= size
        return None


@dataclass(frozen=True, slots=True)
class Walks:
    """Walks over cells, and what they weigh: ``most`` is at least the sum over all vectors, if floats are right.

    ``weights[j]`` are the floats of the walks that lead to each cell of place j; ``powers`` what a step weighs.
    """

    places: Sequence[PlaceCandidates]
    weights: Sequence[Floats]
    powers: Floats
    end: int
    most: Fraction

    @classmethod
    def of(cls, near: Sequence[Near], parts: int, rate: Fraction, cap: int, end: int) -> Walks:
        width = max(int(Fraction(min(_WIDTH, 1 / (len(near) + 1))) / rate), 1)
        reach = -(-cap // width)
        powers = np.exp(-float(rate * width) * np.maximum(np.arange(4 * reach + 2) - 1, 0))
        places = [PlaceCandidates.of(one, width, parts, cap) for one in near]
        away = np.arange(-reach, reach)
        weights = [places[0].counts() * powers[np.abs(away)]]
        shift = 0
        for place in places[1:]:
            weights[-1], more = _scaled(weights[-1])
            shift += more
            weights.append(place.counts() * _spread(weights[-1], powers))
        last = weights[-1] * powers[np.abs(away - end // width)]
        most = Fraction(float(last.sum())) * Fraction(2) ** shift * _ROOM
        return cls(places, weights, powers, end // width, most)

    def propose(self) -> tuple[tuple[Candidate, ...], Fraction] | None:
        """A vector in order and the probability of it; None is a walk that is given up."""
        chosen: list[Candidate] = []
        above, below, at = 1, 1, self.end
        for place, weights in zip(self.places[::-1], self.weights[::-1], strict=True):
            likely = weights * self.powers[np.abs(np.arange(-place.reach, place.reach) - at)]
            table = np.floor(likely * (_TABLE / likely.max())).astype(np.int64) + 1
            upto = np.cumsum(table)
            which = int(np.searchsorted(upto, secrets.randbelow(int(upto[-1])), side="right"))
            at = which - place.reach
            drawn = place.drawn(at)
            if drawn is None or (chosen and drawn[0] > chosen[-1]):
                return None
            chosen.append(drawn[0])
            above *= int(table[which])
            below *= int(upto[-1]) * drawn[1]
        return tuple(chosen[::-1]), Fraction(above, below)


def _scaled(weights: Floats) -> tuple[Floats, int]:
    """Divided by a power of two, so that the largest is about 1."""
    exponent = int(np.frexp(weights.max())[1])
    return np.ldexp(weights, -exponent), exponent


def _spread(weights: Floats, powers: Floats) -> Floats:
    """The weights of walks after one more step: each cell's, times the power of its distance.

    ``powers`` of no cell and of one are 1, so what comes from each side is one cell ahead.
    """
    found = weights.copy()
    found[1:] += _summed(weights, powers)[:-1]
    found[:-1] += _summed(weights[::-1], powers)[::-1][1:]
    return found


def _summed(weights: Floats, powers: Floats) -> Floats:
    """At each place, the sum of what is before it and at it, times the power of the distance."""
    found, far = weights.copy(), 1
    while far < len(found) and powers[far + 1] > 0:
        ahead = powers[far + 1] * found[:-far]
        found[far:] += ahead
        far *= 2
    return found
