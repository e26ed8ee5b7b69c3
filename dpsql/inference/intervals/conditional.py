"""Lower ends of numbers that are shown because they passed a threshold.

A number that is shown only where its noise helped it above a threshold is likelier to be too high. Its interval is
one for the law of the noise *given* that the threshold was passed (Weinstein, Fithian, Benjamini 2013).
"""

from __future__ import annotations

import functools
import math

import numpy as np

from dpsql.inference.intervals.widths import ALPHA, Floats, Terms, spread, variance

_POINTS = 1 << 12
_REACH = 16.0
"""The lattice of the law: points, and standard deviations on either side."""
_FARTHEST = 7.0
"""Standard deviations up to which a lower end is sought: beyond it, a double has no digits of the tail."""
_ENDS, _NEAREST = 1 << 9, 1e-9
"""Lower ends that are found at once, at distances whose parts beyond the usual one grow from this part of the farthest
by the same factor."""


def chances_above(terms: Terms, numbers: Floats, times: int = 1) -> Floats:
    """P(Σ weight · noise ≥ number), each noise drawn ``times`` times and added up.

    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Gaussian
    >>> chances_above(((Gaussian(Fraction(10)), Fraction(1)),), np.array([-0.5, 19.6])).round(3).tolist()
    [0.52, 0.025]
    """
    points, tails = _tails(terms, times)
    return np.asarray(np.exp(np.interp(numbers, points, tails)))


def distances_above(terms: Terms, excess: Floats) -> Floats:
    """How far below a number y its lower end n is, by how far y is above the threshold t = y - excess that showed it.

    The end is the n with P(noise ≥ y - n) = 2.5 % · P(noise ≥ t - n), and never above the usual one. Far above the
    threshold it is the usual one; at the threshold it is infinite, since then nothing is known from below.

    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Gaussian
    >>> terms = ((Gaussian(Fraction(10)), Fraction(1)),)
    >>> distances_above(terms, np.array([0.0, 10.0, 20.0, 60.0])).round(1).tolist()
    [inf, 39.3, 23.7, 19.6]
    """
    if not spread(terms):
        return np.zeros_like(excess)
    return np.asarray(np.interp(excess, *_ends_above(terms), left=math.inf))


@functools.lru_cache(maxsize=256)
def _ends_above(terms: Terms) -> tuple[Floats, Floats]:
    """Numbers above a threshold, and how far below them their lower ends are: the equation of
    :func:`distances_above`, solved for the excess of each distance.

    Ends come closer as numbers rise, and more slowly the higher these are: what lies on the line between two of them is
    no closer than it should be.
    """
    points, tails = _tails(terms, 1)
    usual = float(np.interp(-math.log(ALPHA / 2), -tails, points))
    beyond = np.geomspace(_NEAREST, 1.0, _ENDS) * (_FARTHEST * spread(terms) - usual)
    distances = usual + np.concatenate([[0.0], beyond])
    chances = np.interp(distances, points, tails) - math.log(ALPHA / 2)
    excess = distances - np.interp(-chances, -tails, points)
    # The tails of some laws fall by the same factor throughout, and then the excess of all distances is one.
    return np.maximum.accumulate(excess[::-1]), distances[::-1]


@functools.lru_cache(maxsize=256)
def _tails(terms: Terms, times: int) -> tuple[Floats, Floats]:
    """Points, and log P(Σ weight · noise ≥ point), of the continuous law with the same variances."""
    deviation = spread(terms) * math.sqrt(times) or 1.0
    angles = np.pi / _REACH * np.arange(_POINTS // 2 + 1)
    transform = np.ones_like(angles)
    for noise, weight in terms:
        transform *= (
            noise.continuous_characteristic((float(weight) / deviation * angles) ** 2 * variance(noise) / 2) ** times
        )
    mass = np.roll(np.fft.irfft(transform, _POINTS), _POINTS // 2)
    step = 2 * _REACH / _POINTS
    above = np.cumsum(np.maximum(mass, 0.0)[::-1])[::-1]
    # Half of the mass of a point lies on either side of it.
    points = np.asarray((np.arange(_POINTS) - _POINTS // 2 - 0.5) * (step * deviation), dtype=np.float64)
    return points, np.log(np.maximum(above / above[0], 1e-15))
