"""How far noise carries an answer: half-widths of 95 % intervals, from public numbers alone.

An interval is for the *clipped* quantity: what bounding took away from the data is not in it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.memory import by_identity
from dpsql.releases import Additive, IntegerColumn

ALPHA = 0.05
Z = 1.959963984540054
"""The standard normal's 97.5 % point."""

ONE_SIDED_Z = 1.6448536269514722
"""The standard normal's 95 % point."""

ONE_SIDED = 2 * ALPHA
"""The α of a half-width that noise goes beyond, on one side, with probability ``ALPHA``."""

FINE = 1 << 10
"""Points of a lattice per standard deviation of the noise: the error of a half-width is below one in a thousand."""

SMOOTH = 20
"""From this scale on, the steps of a discrete Gaussian do not show."""

LEAST = 1e-6
"""The least variance of a noise, in squared steps."""

Terms = tuple[tuple[Additive, Fraction], ...]
Floats = NDArray[np.float64]


@functools.lru_cache(maxsize=4096)
def half_width(terms: Terms, alpha: float = ALPHA, times: int = 1) -> float:
    """The least w with P(|Σ weight · noise| > w) ≤ α (5 %), for independent noises on their lattices.

    Where a standard deviation spans many lattice steps, the lattice is taken coarser than it is. ``times``: each noise
    is drawn so often, and all draws are added up.

    >>> from dpsql.mechanisms import Gaussian, Laplace
    >>> coin = Laplace(Fraction(10))
    >>> half_width(((coin, Fraction(1)),)), half_width(((coin, Fraction(1)), (coin, Fraction(-1))))
    (30.0, 41.0)
    >>> half_width(((coin, Fraction(1)),), times=2)
    41.0
    >>> round(half_width(((Gaussian(Fraction(1000)), Fraction(1, 2)),)))
    980
    """
    terms = tuple((noise, abs(weight)) for noise, weight in terms if weight)
    if not terms:
        return 0.0
    if len(terms) == times == 1 and (alone := terms[0][0].half_width(alpha)) is not None:
        return alone * float(terms[0][1])
    terms = tuple((noise, weight) for noise, weight in terms if noise.scale >= noise.silent)
    if not terms:
        return 0.0
    deviation = spread(terms, times)
    step = _common_step([weight for _, weight in terms])
    if deviation <= float(step) * FINE:
        lattice = [(noise, int(weight / step)) for noise, weight in terms]
        return float(step) * _quantile(lattice, deviation / float(step), alpha, times)
    law = common_law([noise for noise, _ in terms])
    if law is not None and law.stable and all(noise.scale > SMOOTH for noise, _ in terms):
        return law.beyond(alpha) * deviation
    return _coarse_half_width(terms, deviation, alpha, times)


@by_identity(1024)
def spread(terms: Terms, times: int = 1) -> float:
    """The standard deviation of Σ weight · noise, where each noise is drawn so often."""
    return math.sqrt(times * sum(float(weight) ** 2 * variance(noise) for noise, weight in terms))


def _coarse_half_width(terms: Terms, spread: float, alpha: float, times: int) -> float:
    """On a lattice of ``FINE`` points per standard deviation, with every weight moved to it and every spread kept.

    Noises whose steps show, and are wider than those of this lattice, stay on it where they are.
    """
    unit = spread / FINE
    rough = [
        weight for noise, weight in terms if noise.scale <= SMOOTH and weight * max(noise.scale, Fraction(1)) > unit
    ]
    if rough and (step := float(_common_step(rough))) > unit:
        unit = step / math.ceil(step / unit)
    lattice = []
    for noise, weight in terms:
        multiple = max(1, round(float(weight) / unit))
        lattice.append((replace(noise, scale=Fraction(float(noise.scale * weight) / (multiple * unit))), multiple))
    return unit * (_quantile(lattice, spread / unit, alpha, times) + 1)


def common_law(noises: Sequence[Additive]) -> type[Additive] | None:
    """The law of noises that have one."""
    laws = {type(noise) for noise in noises}
    return laws.pop() if len(laws) == 1 else None


def variance(noise: Additive) -> float:
    """The variance of one draw, in squared steps; for the Gaussian that of the continuous one, which is never smaller.

    It is never below ``LEAST``. Least squares weighs numbers by it, and noise that is 0 throughout a lifetime makes a
    number no better than noise that is 0 in ten thousand answers.

    >>> from dpsql.mechanisms import Gaussian, Laplace
    >>> variance(Laplace(Fraction(1, 50))) == variance(Gaussian(Fraction(1, 10**6))) == LEAST
    True
    """
    return max(noise.spread, LEAST) if noise.scale else 0.0


def _common_step(weights: Sequence[Fraction]) -> Fraction:
    """The coarsest lattice that holds every weight."""
    denominator = math.lcm(*(weight.denominator for weight in weights))
    return Fraction(math.gcd(*(int(weight * denominator) for weight in weights)), denominator)


def _quantile(terms: Sequence[tuple[Additive, int]], spread: float, alpha: float, times: int) -> int:
    """The least integer w with P(|Σ multiple · noise| > w) ≤ α, for noises on the integers with their multiples.

    The characteristic function of a sum on the integers is a product, and its values at N points give the whole
    distribution, wrapped around N: at forty standard deviations nothing comes back.
    """
    size = 1 << max(6, math.ceil(math.log2(40 * spread + 2 * max(multiple for _, multiple in terms))))
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size
    transform = np.ones_like(angles)
    for noise, multiple in terms:
        transform *= noise.characteristic(np.remainder(multiple * angles + np.pi, 2 * np.pi) - np.pi)
    mass = np.fft.irfft(transform**times, size)
    inside = mass[0] + np.concatenate(([0.0], 2 * np.cumsum(mass[1 : size // 2])))
    return int(np.searchsorted(inside, 1 - alpha - 1e-12))


def mean_reaches(
    above: Sequence[int], below: Sequence[int], noises: tuple[Additive, Additive]
) -> tuple[Floats, Floats]:
    """How far below and above the share a/(a+b) the true one may be, for noisy a and b: 1 is to know nothing.

    Test inversion (Fieller 1954): a share p is believed where ``(1-p)a - pb``, which is pure noise at the true p, lies
    within its 95 % half-width. Neither a nor b is truly negative, so they are not taken to be.

    >>> from dpsql.mechanisms import Gaussian
    >>> noise = Gaussian(Fraction(10))
    >>> [end.round(4).tolist() for end in mean_reaches([1000], [0], (noise, noise))]
    [[0.0192], [0.0]]
    """
    a, b = (IntegerColumn.of(side).floats for side in (above, below))
    known = a + b > 0
    a, b = np.maximum(a, 0.0), np.maximum(b, 0.0)
    total = np.where(known, a + b, 1.0)
    share = np.where(known, a / total, 0.5)
    # Downwards is upwards with a and b exchanged, and both are done at once.
    x, y = (np.full(share.shape, _alone(noise)) for noise in noises)
    both = (np.concatenate(pair) for pair in ((share, 1 - share), (total, total), (x, y), (y, x)))
    law = common_law(noises)
    pieces = None if law is None else _pieces(law)
    up, down = (_round_reach(*both) if pieces is None else _piecewise_reach(pieces, *both)).reshape(2, -1)
    return np.where(known, down, 1.0), np.where(known, up, 1.0)


def count_ends(values: Floats, width: Floats | float, one_sided: Floats | float) -> tuple[Floats, Floats]:
    """The 95 % intervals of numbers that are not negative, from their half-width and their one-sided one.

    Why it is not ``value ± width`` cut at 0: for a number below ``width`` the upper end never falls short, so that cut
    would hold it 97.5 % of the time. All of the 5 % is spent on the lower end there: a number up to ``width`` is left
    out when noise is above ``one_sided``, a larger one when noise is beyond ``width`` on either side.

    >>> low, high = count_ends(np.array([0, 25, 55, 60, 100]), 30, 23)
    >>> list(zip(low.tolist(), high.tolist()))
    [(0, 30), (2, 55), (30, 85), (30, 90), (70, 130)]
    """
    one_sided = np.minimum(one_sided, width)
    low = np.where(values <= width + one_sided, values - one_sided, np.maximum(width, values - width))
    return np.maximum(0, low), np.maximum(values, 0) + width


def widest_mean_half_width(total: float, noises: tuple[Additive, Additive]) -> float:
    """The farthest end of :func:`mean_reaches` where a + b is ``total``, whatever the share.

    >>> from dpsql.mechanisms import Gaussian
    >>> noise = Gaussian(Fraction(10))
    >>> round(widest_mean_half_width(1000.0, (noise, noise)), 4)
    0.0196
    """
    return min(1.0, max(_alone(noise) for noise in noises) / total) if total > 0 else 1.0


def _alone(noise: Additive) -> float:
    """The 95 % half-width of one noise, as if it were continuous."""
    return float(noise.scale) * noise.beyond(ALPHA)


# The way from a share s = a/total up to the farthest share s + d that is believed: there the line ``d·total`` meets
# w(s + d), the half-width of ``(1-p)X - pY`` at p = s + d. Quantiles of symmetric log-concave noise are norms (Bobkov
# 2010), hence w is convex, and grows with |1-p| and |p|: once the line is above, it stays above. Where it does not meet
# w before p = 1, everything up to 1 is believed. Below, x and y are the half-widths of X and Y alone.


def _round_reach(share: Floats, total: Floats, x: Floats, y: Floats) -> Floats:
    """With w = hypot((1-p)x, py), as for Gaussian noise: the first d > 0 with (d·total)² = w², a quadratic in d.

    Of two noises with different laws, w is taken for this.
    """
    square = ((1 - share) * x) ** 2 + (share * y) ** 2  # w² at s + d is this + 2·slope·d + (x² + y²)d²
    slope = share * y**2 - (1 - share) * x**2
    lead = (total - np.hypot(x, y)) * (total + np.hypot(x, y))
    root = np.sqrt(np.maximum(slope**2 + square * lead, 0.0))
    # Of two spellings of the solution, the one that adds numbers of the same sign.
    up = slope > 0
    above, below = np.where(up, slope + root, square), np.where(up, lead, root - slope)
    meets = (slope**2 + square * lead >= 0) & (below > 0)
    distance = np.where(meets, above / np.where(meets, below, 1.0), 1.0)
    return np.asarray(np.minimum(distance, 1 - share))


Pieces = tuple[Floats, Floats, Floats]
"""The knots between straight pieces of a half-width, and the two slopes of each piece."""


def _piecewise_reach(pieces: Pieces, share: Floats, total: Floats, x: Floats, y: Floats) -> Floats:
    """For a pair whose w is a table: straight pieces, ``left·(1-p)x + right·py``, the first d with d·total = w.

    Newton's method: w is above each of its pieces, so the line meets a piece no later than w, and the piece there is
    the next to try, never one further down, until it is the same again.
    """
    knots, left, right = pieces
    distance, piece = np.zeros_like(share), np.full(share.shape, -1)
    for _ in range(len(knots)):
        p = share + distance
        right_part = p * y
        last, piece = piece, np.maximum(piece, np.searchsorted(knots, right_part / ((1 - p) * x + right_part)))
        if np.array_equal(piece, last):
            break
        rise = total - (right[piece] * y - left[piece] * x)
        level = left[piece] * (1 - share) * x + right[piece] * share * y
        meets = rise > 0
        distance = np.where(meets, np.minimum(level / np.where(meets, rise, 1.0), 1 - share), 1 - share)
    return distance


@functools.cache
def _pieces(law: type[Additive]) -> Pieces | None:
    """The half-width of uX + vY, for continuous X, Y of half-width 1, as pieces ``left·u + right·v``; None for a law
    whose half-width is a root of squares.

    A piece ends at the knot of its number, a value of v/(u + v). There are a thousand for u > v, and as many for u < v.
    """
    table = law.pair_half_widths()
    if table is None:
        return None
    ratios, widths = table
    inner = np.diff(widths) / np.diff(ratios)
    outer = widths[:-1] - inner * ratios[:-1]
    knots = np.concatenate((ratios[1:] / (1 + ratios[1:]), 1 / (1 + ratios[-2:0:-1])))
    left, right = np.concatenate((outer, inner[::-1])), np.concatenate((inner, outer[::-1]))
    return knots, left / law.beyond(ALPHA), right / law.beyond(ALPHA)
