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
from dpsql.inference.shown_groups.speaking import ONE_SIDED, SURE, may_go


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
    """``size`` groups from ``first`` on, by which an end was cut: their sum is ``excess`` above the threshold."""

    first: int
    size: int
    excess: float

    @property
    def last(self) -> int:
        return self.first + self.size - 1


@dataclass(frozen=True, slots=True)
class TrimmedEnds:
    """The groups from ``first`` to ``last`` are shown. What is ``left_out`` has the sum ``total``, with the standard
    deviation ``spread``. ``blocks`` are those that decided an end that was cut."""

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
    left, right = _deciding(counts, noise)
    first, last = 0, len(counts) - 1
    deciding = []
    if left is not None and right is not None:
        shown = counts[left.first : right.last + 1]
        surely = float(shown.sum()) - ONE_SIDED * noise.spread(left.first, len(shown))
        before, after = left.first, len(counts) - 1 - right.last
        if before and may_go(float(counts[:before].sum()), noise.spread(0, before), surely):
            first = left.first
            deciding.append(left)
        if after and may_go(float(counts[right.last + 1 :].sum()), noise.spread(right.last + 1, after), surely):
            last = right.last
            deciding.append(right)
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


def _deciding(counts: FloatArray, noise: BlockNoise) -> tuple[DecidingBlock | None, DecidingBlock | None]:
    """Of the blocks that speak, the one that ends first and the one that starts last; the shortest of several."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    number = sum(count for _, _, count in blocks_of(len(counts)))
    left: DecidingBlock | None = None
    right: DecidingBlock | None = None
    for length, step, count in blocks_of(len(counts)):
        starts = np.arange(count, dtype=np.int64) * step
        excess = sums[starts + length] - sums[starts] - noise.reaches(starts, length, 2 * SURE / number)
        speaking = np.flatnonzero(excess > 0)
        if not len(speaking):
            continue
        early, late = (DecidingBlock(int(starts[at]), length, float(excess[at])) for at in speaking[[0, -1]])
        # Lengths grow: only a strictly better end replaces that of a shorter block.
        left = early if left is None or early.last < left.last else left
        right = late if right is None or late.first > right.first else right
    return left, right
