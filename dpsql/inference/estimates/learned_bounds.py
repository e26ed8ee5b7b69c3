"""From noisy histograms to bounds. Post-processing: the numbers were released, and what is chosen here is as public.

Why never the greatest value: it is one person's. A bin counts only where its noisy count is larger than noise alone
makes any of them, but for one time in ten thousand. Up to there, and a little further, the bound is what balances two
errors: clipping into τ takes from a total what goes beyond, and the noise of a total grows with τ (Amin, Kulesza,
Muñoz Medina, Vassilvitskii 2019, "Bounding user contributions").

Why a little further: under ε-noise a tail of 50 people in the next bin is not seen, and costs a total of 5,000 people
four times the error that it could have (simulated: log-normal, ε = 1, a fifth of it for the bound). In two bins beyond
the last that is seen, what exceeds two standard deviations counts; a bound that is too large costs a factor 4 at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpsql.releases import Additive, NoisyTable
from rewriter.declared import Learned, Missing
from rewriter.front_door import SMALLER

BETA = 1e-4
"""How often noise alone lets one of a histogram's empty bins count."""
_FURTHER = 2
_UNSURE = 2.0
_TYPICAL = 0.75
"""Where in its bin, which begins at half of its end, a person is taken to be."""


def threshold(noise: Additive, bins: int) -> float:
    """What noise alone exceeds in none of ``bins`` bins, with probability 1 - β: ln(bins/2β)·b for Laplace noise.

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
    least = threshold(noise, len(exponents))
    seen = [place for place, count in enumerate(counts) if count > least]
    if not seen:
        return None
    unsure = _UNSURE * math.sqrt(noise.square)
    beyond = people = 0.0
    best, best_error = exponents[seen[-1]], math.inf
    for place in range(min(seen[-1] + _FURTHER, len(exponents) - 1), -1, -1):
        bound = 2.0 ** exponents[place]
        error = math.hypot(max(0.0, beyond - people * bound), relative * bound)
        if error < best_error:
            best, best_error = exponents[place], error
        count = counts[place] if place <= seen[-1] else max(0.0, counts[place] - unsure)
        people += count
        beyond += count * _TYPICAL * bound
    return best


def learned(missing: Missing, tables: Sequence[NoisyTable], exponents: range, relative: float) -> Learned:
    """The bound that histograms give: one of rows or of totals, or those of greatest and of least values.

    Where nobody is seen, it is 1 row, the largest single value as a total, or the range from 0 to 1.
    """
    ends = [_end(table, exponents, relative) for table in tables]
    if missing.total:
        return Learned(missing, Fraction(0), ends[0] or Fraction(2) ** (exponents.start + SMALLER))
    if not missing.column:
        return Learned(missing, Fraction(0), ends[0] or Fraction(1))
    high, low = (end or Fraction(0) for end in ends)
    return Learned(missing, -low, high if high or low else Fraction(1))


def _end(table: NoisyTable, exponents: range, relative: float) -> Fraction | None:
    (name,) = table.noise
    exponent = clip(table.statistics[name], exponents, table.noise[name], relative)
    return None if exponent is None else Fraction(2) ** exponent
