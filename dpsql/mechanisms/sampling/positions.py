"""Where the values of a column lie among the rows of a group, exactly.

Each value of the lattice is divided into parts, as many as is public. Part u of a value that has the weight E, with
the weight B below it, is at B + E·(2u+1)/2R for R parts. All positions are integers in units of 1/scale of a step of
weight, where the scale is a public multiple of 2R.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsql.releases import Rank

Integers = npt.NDArray[np.int64]
"""Of Python's own where 64 bits are too few."""


@dataclass(frozen=True, slots=True)
class Near:
    """The values less than a cap away from a target, in order: stretch i has ``values[i]`` of them, from ``first[i]``.

    Part u of each value of stretch i is ``base[i] + half[i] · (2u + 1)`` beyond the target; half is 0 where no row is.
    """

    first: Integers
    values: Integers
    base: Integers
    half: Integers

    @classmethod
    def of(cls, stretches: Sequence[tuple[int, int, int, int]], largest: int) -> Near:
        """Of (first, values, base, half); ``largest`` bounds every number that is computed from them."""
        kind: type = np.int64 if largest < 1 << 62 else object
        return cls(*np.array(stretches, dtype=kind).reshape(-1, 4).T)

    def below(self, beyond: Integers, parts: int, some: Integers) -> Integers:
        """How many parts of each value of some stretches are less than that beyond the target."""
        base, half = self.base[some], self.half[some]
        part = -((base + half - beyond) // np.maximum(2 * half, 1))
        return np.asarray(np.where(half > 0, np.minimum(np.maximum(part, 0), parts), np.where(base < beyond, parts, 0)))


@dataclass(frozen=True, slots=True)
class Positions:
    """Those of the lattice ``low`` … ``high``. Secret. ``ranks`` may lack values; their positions are not known."""

    ranks: Sequence[Rank]
    low: int
    high: int
    parts: int
    scale: int

    @property
    def weight(self) -> int:
        """That of the group."""
        return self.ranks[0][3] if self.ranks else 0

    @property
    def candidates(self) -> int:
        """How many parts of values there are."""
        return (self.high - self.low + 1) * self.parts

    @property
    def _half(self) -> int:
        return self.scale // (2 * self.parts)

    def at(self, value: int, part: int) -> int | None:
        """Where a part of a value is; None where that is not known."""
        found = self._around(value)
        return None if found is None else self.scale * found[0] + self._half * found[1] * (2 * part + 1)

    def edge(self, value: int, *, up: bool) -> int | None:
        """The position where a value's rows begin, or end; None where that is not known."""
        found = self._around(value)
        return None if found is None else self.scale * (found[0] + (found[1] if up else 0))

    def _around(self, value: int) -> tuple[int, int] | None:
        """The weight below a value, and at it."""
        place = bisect_left(self.ranks, value, key=lambda rank: rank[0])
        if place < len(self.ranks) and self.ranks[place][0] == value:
            return self.ranks[place][2], self.ranks[place][1]
        upto = self.ranks[place - 1][1] + self.ranks[place - 1][2] if place else 0
        below = self.ranks[place][2] if place < len(self.ranks) else self.weight
        return (upto, 0) if upto == below else None

    def near(self, target: int, cap: int) -> Near:
        """The values less than the cap away from a target, where their positions are known."""
        half, scale, ranks = self._half, self.scale, self.ranks
        start = bisect_left(ranks, target - cap, key=lambda rank: scale * (rank[1] + rank[2]))
        end = bisect_left(ranks, target + cap, key=lambda rank: scale * rank[2])
        # What is before the first and after the last one, too: values between are at the end of one and at the other.
        found: list[tuple[int, int, int, int]] = []
        next_, upto = (self.low, 0) if not start else (ranks[start - 1][0] + 1, sum(ranks[start - 1][1:3]))
        for value, weight, below, _ in ranks[start:end]:
            if value > next_ and below == upto:
                found.append((next_, value - next_, scale * below - target, 0))
            found.append((value, 1, scale * below - target, half * weight))
            next_, upto = value + 1, below + weight
        follows = ranks[end] if end < len(ranks) else (self.high + 1, 0, self.weight, self.weight)
        if follows[0] > next_ and follows[2] == upto:
            found.append((next_, follows[0] - next_, scale * upto - target, 0))
        largest = max((abs(base) + 2 * self.parts * each for _, _, base, each in found), default=0)
        return Near.of(found, 4 * max(largest, cap, self.high * self.parts, -self.low))
