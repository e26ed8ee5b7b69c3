"""How many of the groups between the ends have rows: what COUNT and AVG over noisy groups are made of.

Guarantee: a function of released counts and of the public law of their noise.

Why not the number of groups that are shown: empty ones among them make a mean too low. Why not those that are large:
in groups as small as their noise most are missed, and the mean of the others is too high. Why not a quotient of two
bought numbers: that of groups is small where groups are few, and its noise is not; for 12 months, 4 of them with 62
people, the quotient is off by 167 %. The estimate is a bound from below of the share that is no noise, by how many
groups lie beyond points of the noise's tail (Meinshausen, Rice 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsql.inference.intervals import Terms, chances_above, half_width, spread
from dpsql.inference.numeric import BoolArray, FloatArray
from dpsql.inference.shown_groups.speaking import chance_of_each

_POINTS = np.arange(8) / 2
"""Of the tail, in standard deviations of the noise."""
_CLEAR = 3.0
"""From so many standard deviations of noise on that a group has in the mean, the tail tells groups from empty ones."""
_FULL = 0.6
"""From this part of all groups on, the tail's bound leaves all of them possible."""

_SAFE = 0.01
"""How often the fewest groups that may have rows are too many."""

_KNOWN = 0.15
"""The part of all groups that a measured number may be off by, to stand for an estimate."""


@dataclass(frozen=True, slots=True)
class EstimatedGroups:
    """``number`` groups have rows, at least ``least``. Of the groups that are kept, at most ``kept`` have rows;
    with those that were left out before, at most ``most``."""

    number: int
    least: int
    kept: int
    most: int


@dataclass(frozen=True, slots=True)
class MeasuredNumber:
    """The number of groups that have rows as it was measured, off by a draw of Σ weight · noise."""

    value: float
    terms: Terms


def counted_groups(
    counts: FloatArray,
    kept: BoolArray,
    terms: Terms,
    measured: MeasuredNumber | None = None,
    *,
    independent: bool = True,
) -> EstimatedGroups:
    """How many of the groups have rows, of those that are ``kept``. ``counts`` are noisy and not moved to 0; each is
    off by a draw of Σ weight · noise. Of the groups left out, as many may have rows as their sum may hold, if these are
    as large as the others in the mean. What was ``measured`` of the number stands where groups are not clear of the
    noise, if it is known to a part of them, and narrows its ends. Where noises are not ``independent``, no more groups
    than those beyond all noise are taken as sure.

    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Gaussian
    >>> counts = np.array([65.0, 58, -3, 62, 5, 60, -2])
    >>> counted_groups(counts, np.arange(7) < 6, ((Gaussian(Fraction(4)), Fraction(1)),))
    EstimatedGroups(number=4, least=4, kept=6, most=6)
    """
    inside, outside = counts[kept], counts[~kept]
    size = len(inside)
    if not size:
        return EstimatedGroups(0, 0, 0, len(outside))
    deviation = spread(terms)
    sure = half_width(terms, 2 * chance_of_each(size))
    least = int((inside > sure).sum())
    points = np.floor(_POINTS * deviation)
    beyond = (inside > points[:, np.newaxis]).sum(axis=1)
    chances = chances_above(terms, points + 0.5)
    bounds = (beyond - size * chances - np.sqrt(size * chances * (1 - chances))) / (1 - chances)
    bound = float(np.clip(bounds.max(), max(least, 1), size))
    if independent:
        least = max(least, *(_least_number(int(n), size, float(q)) for n, q in zip(beyond, chances, strict=True)))
    total = float(inside.sum())
    is_clear = total / bound >= _CLEAR * deviation
    number = size if not is_clear and bound >= _FULL * size else round(bound)
    most_kept = size
    if measured is not None and (width := half_width(measured.terms)) <= _KNOWN * size:
        low, high = math.floor(measured.value - width), math.ceil(measured.value + width)
        number = number if is_clear else round(measured.value)
        least, most_kept = min(max(least, low), size), max(min(size, high), least, 1)
        number = min(number, most_kept)
    number, more = max(number, least), 0
    if len(outside):
        most = max(float(outside.sum()), 0.0) + half_width(terms, times=len(outside))
        more = len(outside) if most * number >= total * len(outside) else int(most * number / total)
    return EstimatedGroups(number, max(least, 1), most_kept, most_kept + more)


def _least_number(beyond: int, size: int, chance: float) -> int:
    """The fewest of ``size`` groups that have rows, where so many are ``beyond`` a point that noise alone is with a
    ``chance``. Fewer are the truth in :data:`_SAFE` of all answers, over all points together: the others would have to
    reach the point by chance, as a binomial number does (Chernoff 1952).

    >>> _least_number(307, 365, 0.16), _least_number(60, 365, 0.16), _least_number(5, 5, 0.0)
    (280, 0, 5)
    """
    enough = math.log(len(_POINTS) / _SAFE)
    low, high = 0, beyond
    while low < high:
        number = (low + high) // 2
        if _surprise(beyond - number, size - number, chance) > enough:
            low = number + 1
        else:
            high = number
    return low


def _surprise(reached: int, of: int, chance: float) -> float:
    """At most exp(-this) is the chance that so many of independent draws reach what one does with a ``chance``."""
    share = reached / of if of else 0.0
    if share <= chance:
        return 0.0
    if not chance:
        return math.inf
    rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return of * (share * math.log(share / chance) + rest)


def ends_of_mean(total: float, width: float, groups: EstimatedGroups) -> tuple[float, float]:
    """The ends of ``total`` ± ``width``, of the groups that are kept, over the number of them that have rows, whichever
    it is.

    >>> [round(end) for end in ends_of_mean(240.0, 24.0, EstimatedGroups(4, 4, 6, 7))]
    [36, 66]
    """
    low, high = total - width, total + width
    return low / (groups.kept if low > 0 else groups.least), high / (groups.least if high > 0 else groups.kept)
