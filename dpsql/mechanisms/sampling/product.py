"""Exact sampling of several choices at once, whose distances add up to a cap.

Guarantee: of ``tables``, one place of each is answered, with probability exactly ∝ exp(-rate · min(D, cap)) for D the
sum of the distances there. Floats propose and integers decide, as in :mod:`dpsql.mechanisms.sampling.chain`.
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

_TABLE = 1 << 40
_ROOM = Fraction(1_000_001, 1_000_000)
_DIGITS = 50


@dataclass(frozen=True, slots=True)
class Product(Law[tuple[int, ...]]):
    """``tables`` hold the distance of each place of each choice; secret."""

    tables: tuple[Sequence[int], ...]
    rate: Fraction
    cap: int

    def draw(self) -> tuple[int, ...]:
        """
        >>> Product(([10**9, 0], [0, 10**9, 10**9]), Fraction(1), 10**10).draw()
        (1, 0)
        """
        rate, proposals = float(self.rate), []
        within = _ROOM
        for table in self.tables:
            weights = np.exp(-rate * np.array([float(one) for one in table]))
            within *= Fraction(float(weights.sum())) + Fraction(len(table), _TABLE)
            upto = np.cumsum(np.floor(weights * _TABLE).astype(np.int64) + 1)
            proposals.append((upto, np.diff(upto, prepend=0)))
        many = math.prod(len(table) for table in self.tables)
        beyond = many * exp_bounds(self.rate * self.cap, _DIGITS)[1]
        share = within / (within + beyond)
        while True:
            if secrets.randbelow(share.denominator) >= share.numerator:
                places = tuple(secrets.randbelow(len(table)) for table in self.tables)
                if self.distance(places) >= self.cap and happens(many / beyond, self.rate * self.cap):
                    return places
                continue
            drawn = [
                int(np.searchsorted(upto, secrets.randbelow(int(upto[-1])), side="right")) for upto, _ in proposals
            ]
            chance = Fraction(
                math.prod(int(sizes[place]) for (_, sizes), place in zip(proposals, drawn, strict=True)),
                math.prod(int(upto[-1]) for upto, _ in proposals),
            )
            distance = self.distance(drawn)
            if distance < self.cap and happens(1 / (within * chance), self.rate * distance):
                return tuple(drawn)

    def distance(self, places: Sequence[int]) -> int:
        return sum(table[place] for table, place in zip(self.tables, places, strict=True))

    def nearest(self) -> tuple[int, ...]:
        return tuple(min(range(len(table)), key=table.__getitem__) for table in self.tables)
