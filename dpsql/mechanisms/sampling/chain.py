"""Exact sampling of vectors of candidates, where the exponent of a vector is a sum over its neighbours.

Guarantee: a vector v of parts, in order, is answered with probability exactly ∝ exp(-rate · min(D(v), cap)) for the
distance D of :mod:`dpsql.mechanisms.quantiles.several`, a rational rate and integer positions, from a cryptographic
source.

How: floats propose, integers decide. Vectors below the cap are proposed by walks over cells
(:mod:`dpsql.mechanisms.sampling.walks`), v with a probability P(v) that is a known rational number, and accepted with
the probability exp(-rate·D(v)) / (M·P(v)), by an exact comparison
(:func:`dpsql.mechanisms.sampling.exponential.happens`), where M is about the sum over all vectors. That each accepted
v has a probability ∝ exp(-rate·D(v)) follows for every M and P, as long as this quotient is at most 1, which is looked
at whenever it is used. All else that floats decide is how many proposals it takes.

Vectors at the cap are proposed uniformly from all there are, and are accepted where their distance is at least the
cap, or not known, which is the same.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpsql.mechanisms.sampling.exponential import exp_bounds, happens
from dpsql.mechanisms.sampling.law import Law
from dpsql.mechanisms.sampling.positions import Near, Positions
from dpsql.mechanisms.sampling.walks import Candidate, Walks

_DIGITS = 50


@dataclass(frozen=True, slots=True)
class Chain(Law[tuple[Candidate, ...] | None]):
    """The distribution of a vector. Secret, but for ``few`` and ``targets``, the rate and the cap.

    What all positions are measured against ends at ``end``. ``few``: there is nobody to draw from.
    """

    few: bool
    rate: Fraction
    cap: int
    end: int
    targets: tuple[int, ...]
    positions: Positions

    def distance(self, vector: Sequence[Candidate]) -> int:
        """D of a vector in order, at most the cap."""
        last, total = 0, 0
        for (value, part), target in zip(vector, self.targets, strict=True):
            position = self.positions.at(value, part)
            if position is None:
                return self.cap
            total += abs(position - target - last)
            last = position - target
        return min(total + abs(self.end - last), self.cap)

    def draw(self) -> tuple[Candidate, ...] | None:
        """A vector; None where there are too few people."""
        if self.few:
            return None
        near = self._near()
        walks = None
        if abs(self.end) < self.cap and all(len(one.first) for one in near):
            walks = Walks.of(near, self.positions.parts, self.rate, self.cap, self.end)
        within = Fraction(0) if walks is None else walks.most
        many = math.comb(self.positions.candidates + len(self.targets) - 1, len(self.targets))
        beyond = many * exp_bounds(self.rate * self.cap, _DIGITS)[1]
        share = within / (within + beyond)
        while True:
            if walks is None or secrets.randbelow(share.denominator) >= share.numerator:
                vector = self._uniform()
                if self.distance(vector) >= self.cap and happens(many / beyond, self.rate * self.cap):
                    return vector
            elif (proposed := walks.propose()) is not None:
                vector, probability = proposed
                distance = self.distance(vector)
                if distance < self.cap and happens(1 / (within * probability), self.rate * distance):
                    return vector

    def nearest(self) -> tuple[Candidate, ...] | None:
        """The values at the targets: what is drawn where a row's exponent is infinite."""
        found = []
        for one in self._near():
            held = np.flatnonzero(one.half)
            if not len(held):
                return None
            apart = np.maximum(np.maximum(one.base, -one.base - 2 * self.positions.parts * one.half), 0)
            found.append((int(one.first[held[np.argmin(apart[held])]]), 0))
        return tuple(found)

    def _near(self) -> list[Near]:
        return [self.positions.near(target, self.cap) for target in self.targets]

    def _uniform(self) -> tuple[Candidate, ...]:
        """One of all vectors in order: as many different numbers, and then each less by how many are below it."""
        size = len(self.targets)
        numbers: set[int] = set()
        while len(numbers) < size:
            numbers.add(secrets.randbelow(self.positions.candidates + size - 1))
        places = [number - below for below, number in enumerate(sorted(numbers))]
        low, parts = self.positions.low, self.positions.parts
        return tuple((low + place // parts, place % parts) for place in places)
