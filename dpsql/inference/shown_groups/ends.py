"""The ends of an ordered list of groups: from where to where the data go, as far as noisy counts tell.

Guarantee: a function of released counts and of the public law of their noise. No group between the ends is left out,
and an end is cut by evidence of whole blocks of neighbouring groups, never by the noise of one group. Over groups that
are all empty, a block speaks once in 100 times.

Why blocks: a sum from an end inwards carries the noise of all empty groups before the data, and loses most of the data
where groups are small. A single group speaks only where it is large. Why a guard: where groups are as small as their
noise, the few blocks that speak are the lucky ones, and what they leave out may be more than what they show. And an end
is a block as well: one that speaks itself is not cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpsql.inference.intervals import Terms, distances_above, half_width, spread
from dpsql.inference.numeric import FloatArray, IntArray
from dpsql.inference.shown_groups.speaking import ONE_SIDED, SURE, kept_by


class BlockNoise(Protocol):
    """How far the noise moves the sum of neighbouring groups."""

    def reaches(self, starts: IntArray, length: int, alpha: float) -> FloatArray:
        """The w with P(|noise| > w) ≤ α, for each block of ``length`` groups from a place of ``starts`` on."""
        ...

    def spread(self, start: int, length: int) -> float:
        """The standard deviation of the noise of a block; 0 of none."""
        ...


@dataclass(frozen=True, slots=True)
class Independent:
    """Each group is off by ``each`` independent draws of Σ weight · noise."""

    terms: Terms
    each: int = 1

    def reaches(self, starts: IntArray, length: int, alpha: float) -> FloatArray:
        return np.full(len(starts), half_width(self.terms, alpha, length * self.each))

    def spread(self, start: int, length: int) -> float:
        return spread(self.terms, length * self.each)


@dataclass(frozen=True, slots=True)
class DecidingBlock:
    """``size`` groups from ``first`` on, by which an end was cut, or kept: their sum is ``excess`` above what would
    have left them out."""

    first: int
    size: int
    excess: float

    @property
    def last(self) -> int:
        return self.first + self.size - 1


@dataclass(frozen=True, slots=True)
class TrimmedEnds:
    """The groups from ``first`` to ``last`` are shown. What is ``left_out`` has the sum ``total``, with the standard
    deviation ``spread``. ``blocks`` are those that decided an end."""

    first: int
    last: int
    left_out: int
    total: float
    spread: float
    blocks: tuple[DecidingBlock, ...] = ()


def blocks_of(size: int) -> Iterator[tuple[int, int, int]]:
    """The blocks of so many groups: lengths 1, 2, 4, …, each with the distance of its starts and the number of them.

    >>> [sum(count for _, _, count in blocks_of(size)) for size in (12, 31, 365, 2_406, 100_000)]
    [37, 121, 1765, 11950, 499882]
    """
    length = 1
    while length <= size:
        step = max(1, length // 8)
        yield length, step, (size - length) // step + 1
        length *= 2


def trimmed_ends(counts: FloatArray, noise: BlockNoise) -> TrimmedEnds:
    """The ends of groups in their order. ``counts`` are noisy and not moved to 0.

    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Gaussian
    >>> noise = Independent(((Gaussian(Fraction(4)), Fraction(1)),))
    >>> ends = trimmed_ends(np.array([1.0, -3, 62, 58, 0, 71, 2]), noise)
    >>> ends.first, ends.last, ends.left_out, ends.total, round(ends.spread, 1)
    (2, 5, 3, 0.0, 6.9)
    """
    size = len(counts)
    left, right = _speaking(counts, noise)
    first, last = 0, size - 1
    deciding: list[DecidingBlock] = []

    def surely(start: int, stop: int) -> float:
        return float(counts[start:stop].sum()) - ONE_SIDED * noise.spread(start, stop - start)

    def kept(start: int, stop: int, shown: float) -> float:
        return kept_by(float(counts[start:stop].sum()), noise.spread(start, stop - start), shown)

    if (inside := left.inside) is not None and inside.first and right.block is not None:
        excess = kept(0, inside.first, surely(inside.first, right.block.last + 1))
        if left.touching or excess > 0:
            deciding.append(DecidingBlock(0, left.reach(inside.first), left.excess(excess)))
        else:
            deciding.append(inside)
            first = inside.first
    if (inside := right.inside) is not None and inside.last < last and left.block is not None:
        excess = kept(inside.last + 1, size, surely(left.block.first, inside.last + 1))
        if right.touching or excess > 0:
            own = right.reach(last - inside.last)
            deciding.append(DecidingBlock(size - own, own, right.excess(excess)))
        else:
            deciding.append(inside)
            last = inside.last
    before, after = first, len(counts) - 1 - last
    total = float(counts[:first].sum() + counts[last + 1 :].sum())
    # The noises of the two ends are taken for independent: those of running sums hardly go together so far apart.
    error = math.hypot(noise.spread(0, before), noise.spread(last + 1, after))
    return TrimmedEnds(first, last, before + after, total, error, tuple(dict.fromkeys(deciding)))


def distances_below(ends: TrimmedEnds, places: IntArray, terms: Terms) -> FloatArray:
    """How far below its number the lower end of each group lies at least: of groups that decided an end, since the sum
    of a block passed a threshold. ``places`` are those of the groups along the key: by other keys, several have one.

    Why by the excess of the whole block: given all other groups of it, a group's own number passed what was left of the
    threshold, by as much.
    """
    found = np.zeros(len(places))
    if not ends.blocks:
        return found
    distances = distances_above(terms, np.array([block.excess for block in ends.blocks]))
    for block, distance in zip(ends.blocks, distances.tolist(), strict=True):
        own = (places >= block.first) & (places <= block.last)
        found[own] = np.maximum(found[own], distance)
    return found


@dataclass(frozen=True, slots=True)
class _Side:
    """The blocks that speak and say where an end is: those ``touching`` the end of the list, by their lengths, and of
    the others the one ``inside`` that is next to it, the shortest of several."""

    touching: tuple[DecidingBlock, ...]
    inside: DecidingBlock | None

    @property
    def block(self) -> DecidingBlock | None:
        """The block that decides."""
        return self.touching[0] if self.touching else self.inside

    def reach(self, size: int) -> int:
        """Of an end of so many groups that is kept: how many of them have a part in that by their own numbers."""
        return self.touching[0].size if self.touching else size

    def excess(self, kept: float) -> float:
        """How far an end is above what would have left it out, by whichever of the rules that keep it."""
        return max([kept, *(block.excess for block in self.touching)])


def _speaking(counts: FloatArray, noise: BlockNoise) -> tuple[_Side, _Side]:
    """Of the blocks that speak, those that end first and those that start last."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    number = sum(count for _, _, count in blocks_of(len(counts)))
    end = len(counts) - 1
    touching: tuple[list[DecidingBlock], list[DecidingBlock]] = ([], [])
    left: DecidingBlock | None = None
    right: DecidingBlock | None = None
    for length, step, count in blocks_of(len(counts)):
        starts = np.arange(count, dtype=np.int64) * step
        excess = sums[starts + length] - sums[starts] - noise.reaches(starts, length, 2 * SURE / number)
        speaking = [
            DecidingBlock(int(starts[at]), length, float(excess[at])) for at in _outer(np.flatnonzero(excess > 0))
        ]
        # Lengths grow: only a strictly better end replaces that of a shorter block.
        for block in speaking:
            if block.first == 0:
                touching[0].append(block)
            elif left is None or block.last < left.last:
                left = block
            if block.last == end:
                touching[1].append(block)
            elif right is None or block.first > right.first:
                right = block
    # A block that touches decides only where it ends before, or starts after, the one inside.
    return (
        _Side(tuple(one for one in touching[0] if left is None or one.last < left.last), left),
        _Side(tuple(one for one in touching[1] if right is None or one.first > right.first), right),
    )


def _outer(places: IntArray) -> list[int]:
    """The first two and the last two: one of two may touch an end."""
    return list(dict.fromkeys([*places[:2].tolist(), *places[-2:].tolist()]))
