"""Bounds learned from noisy histograms. Post-processing: the histograms are released, so the bounds are public, too.

Why never the greatest value: it is one person's. A bin counts only where its noisy count is larger than noise alone
makes any of them, but for one time in ten thousand. Up to there, and a little further, the bound balances two errors:
clipping into τ takes from a total all that exceeds τ, and the noise of a total grows with τ (Amin, Kulesza, Muñoz
Medina, Vassilvitskii 2019, "Bounding user contributions").

Why a little further: under ε-noise a tail of 50 people in the next bin is not seen, and costs a total of 5,000 people
four times the error that it could have (simulated: log-normal, ε = 1, a fifth of it for the bound). In two bins beyond
the last that is seen, what exceeds two standard deviations counts; a bound that is too large costs a factor 4 at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from dpsql.releases import Additive, NoisyTable
from rewriter.declared import Learned, Missing
from rewriter.front_door import SMALLER

BETA = 1e-4
"""How often noise alone lets one of a histogram's empty bins count."""
_FURTHER = 2
_UNSURE = 2.0
_APART = 0.1
"""How far the values of rows that are cut are from the others', in halves of the range: simulated over 54 settings, the
error of a mean is 1.4 times that of the best bound, and at most 2.3 times."""
_TYPICAL = 0.75
"""Where in its bin, which begins at half of its end, a person is taken to be."""


def threshold(noise: Additive, bins: int) -> float:
    """The number that noise alone exceeds in none of ``bins`` bins, with probability 1 - β: ln(bins/2β)·b for Laplace
    noise.

    >>> from dpsql.mechanisms import Gaussian, Laplace
    >>> round(threshold(Laplace(Fraction(1)), 21), 2), round(threshold(Gaussian(Fraction(1)), 21), 2)
    (11.56, 4.43)
    """
    return float(noise.scale) * noise.beyond(2 * BETA / bins)


def clip(counts: Sequence[int], exponents: range, noise: Additive, relative: float) -> int | None:
    """The exponent of the bound 2^e with the least error of a total over all people; None where no bin counts.

    ``counts[i]`` is the noisy number of people of size 2^(e-1) to 2^e, e the i-th exponent. ``relative`` is the
    standard deviation of a total that one person moves by 1.

    >>> from dpsql.mechanisms import Laplace
    >>> clip([0, 0, 900, 8, 0], range(5), Laplace(Fraction(1)), 10.0)
    2
    """
    found = _foretold(counts, exponents, noise)
    return min(found, key=lambda one: (one.error(relative), -one.exponent)).exponent if found else None


def clip_of_means(
    counts: Sequence[int], exponents: range, noise: Additive, relative: float, groups: int = 1
) -> int | None:
    """The exponent of the bound 2^e of rows with the least error of a mean, in each of so many groups.

    A total lacks all that is cut. A mean lacks it only where the rows that are cut have other values than the others:
    their share of all rows times how far apart their values are, which is taken for a tenth of half of the range. Its
    noise is that of a sum of 2^e over the number of rows that are left. So its bound is mostly a smaller one.

    >>> from dpsql.mechanisms import Laplace
    >>> many = [0, 0, 9000, 600, 300, 150]
    >>> [law(many, range(6), Laplace(Fraction(1)), 10.0) for law in (clip, clip_of_means)]
    [5, 4]
    """
    found = _foretold(counts, exponents, noise)
    return min(found, key=lambda one: (one.error_of_mean(relative * groups), -one.exponent)).exponent if found else None


@dataclass(frozen=True, slots=True)
class _Foretold:
    """Of a bound 2^``exponent``: what of a ``total`` exceeds it, as far as a histogram tells."""

    exponent: int
    excess: float
    total: float

    def error(self, relative: float) -> float:
        """Of a total, ``relative`` being its standard deviation if one person moves it by 1."""
        return math.hypot(self.excess, relative * 2.0**self.exponent)

    def error_of_mean(self, relative: float) -> float:
        """Of a mean, as a part of half of its range."""
        cut = self.excess / self.total
        return math.hypot(_APART * cut, relative * 2.0**self.exponent / (self.total - self.excess))


def _foretold(counts: Sequence[int], exponents: range, noise: Additive) -> list[_Foretold]:
    """What is foretold of each bound that may be taken; nothing where no bin counts."""
    least = threshold(noise, len(exponents))
    seen = [place for place, count in enumerate(counts) if count > least]
    if not seen:
        return []
    unsure = _UNSURE * math.sqrt(noise.square)
    last = min(seen[-1] + _FURTHER, len(exponents) - 1)
    people = [
        float(count) if place <= seen[-1] else max(0.0, count - unsure)
        for place, count in enumerate(counts[: last + 1])
    ]
    sizes = [_TYPICAL * 2.0 ** exponents[place] for place in range(last + 1)]
    total = sum(one * size for one, size in zip(people, sizes, strict=True))
    excess = [0.0] * len(sizes)
    for place, exponent in enumerate(exponents[: last + 1]):
        beyond = zip(people[place + 1 :], sizes[place + 1 :], strict=True)
        excess[place] = max(0.0, sum(one * (size - 2.0**exponent) for one, size in beyond))
    return [
        _Foretold(exponent, beyond, total)
        for exponent, beyond in zip(exponents[: last + 1], excess, strict=True)
        if total > beyond
    ]


def learned(
    missing: Missing, tables: Sequence[NoisyTable], exponents: range, relative: float, means_of: int = 0
) -> Learned:
    """The bound that histograms give: one of rows or of totals, or those of greatest and of least values. Where
    ``means_of`` so many groups are all that is asked for, the bound of rows is theirs.

    Where nobody is seen, it is 1 row, the largest single value as a total, or the range from 0 to 1.
    """
    law = partial(clip_of_means, groups=means_of) if means_of and not missing.column else clip
    ends = [_end(table, exponents, relative, law) for table in tables]
    if missing.total:
        return Learned(missing, Fraction(0), ends[0] or Fraction(2) ** (exponents.start + SMALLER))
    if not missing.column:
        return Learned(missing, Fraction(0), ends[0] or Fraction(1))
    high, low = (end or Fraction(0) for end in ends)
    return Learned(missing, -low, high if high or low else Fraction(1))


def _end(table: NoisyTable, exponents: range, relative: float, law: Callable[..., int | None]) -> Fraction | None:
    (name,) = table.noise
    exponent = law(table.statistics[name], exponents, table.noise[name], relative)
    return None if exponent is None else Fraction(2) ** exponent
