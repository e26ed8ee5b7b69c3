"""Intervals of quotients of two noisy numbers, by test inversion (Fieller 1954), for any mixture of noises."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from dpsql.inference.intervals.widths import ALPHA, Floats, variance
from dpsql.releases import Additive

Joint = tuple[tuple[Additive, Fraction, Fraction], ...]
"""Independent noises, each with its weight above and its weight below the line."""

ANGLES = 129
"""Directions at which half-widths are worked out; between them, what is taken is within one in ten thousand."""

POINTS = 1 << 12
REACH = 20.0
"""The lattice of one direction's law: points, and standard deviations on either side."""


def quotient_ends(above: Floats, below: Floats, joint: Joint) -> tuple[Floats, Floats]:
    """The 95 % interval of each quotient of what ``above`` and ``below`` measure; infinite ends where nothing is known.

    A quotient q is believed where ``above - q·below`` lies within the half-width w(q) that it has at the true q, where
    it is pure noise: ``w(q)`` is the half-width of ``Σ (weight above - q · weight below) · noise``. Quantiles of
    symmetric log-concave noise are norms (Bobkov 2010), hence w is convex and grows with no more than the half-width of
    what is below: where ``below`` is larger than that, the believed quotients are one interval, else they have no end.

    >>> from dpsql.mechanisms import Gaussian
    >>> noise = Gaussian(Fraction(10))
    >>> joint = ((noise, Fraction(100), Fraction(0)), (noise, Fraction(0), Fraction(1)))
    >>> low, high = quotient_ends(np.array([50_000.0, 500.0]), np.array([1000.0, 10.0]), joint)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([47.83, -inf], [52.21, inf])
    """
    scale_above, scale_below = _spreads(joint)
    angles, widths = _half_widths(joint)
    a, b = above / (scale_above or 1.0), below / (scale_below or 1.0)
    turned = np.where(b < 0, -1.0, 1.0)
    a, b = a * turned, b * turned
    known = b > widths[-1]
    middle = np.arctan2(a, np.where(known, b, 1.0))
    ends = []
    for side in (-1.0, 1.0):
        inside, outside = middle.copy(), np.full_like(middle, side * np.pi / 2)
        for _ in range(60):
            angle = (inside + outside) / 2
            gap = side * (b * np.sin(angle) - a * np.cos(angle))
            believed = gap <= np.interp(angle, angles, widths)
            inside, outside = np.where(believed, angle, inside), np.where(believed, outside, angle)
        found = np.tan(outside) * ((scale_above or 1.0) / (scale_below or 1.0))
        ends.append(np.where(known, found, side * np.inf))
    return ends[0], ends[1]


def _spreads(joint: Joint) -> tuple[float, float]:
    above = sum(float(up) ** 2 * variance(noise) for noise, up, _ in joint)
    below = sum(float(down) ** 2 * variance(noise) for noise, _, down in joint)
    return math.sqrt(above), math.sqrt(below)


@functools.lru_cache(maxsize=256)
def _half_widths(joint: Joint) -> tuple[Floats, Floats]:
    """Angles from -π/2 to π/2, and the half-width of ``cos·above - sin·below``, each side in standard deviations.

    The law of a direction comes from its characteristic function, a product, as in
    :mod:`dpsql.inference.intervals.widths`, with continuous noise.
    """
    angles = np.linspace(-np.pi / 2, np.pi / 2, ANGLES)
    scales = [spread or 1.0 for spread in _spreads(joint)]
    loud = [part for part in joint if part[0].scale >= part[0].silent]
    weights = np.array(
        [
            (np.cos(angles) * float(up) / scales[0] - np.sin(angles) * float(down) / scales[1])
            * math.sqrt(variance(noise))
            for noise, up, down in loud
        ]
    ).reshape(len(loud), ANGLES)
    spreads = np.sqrt((weights**2).sum(axis=0))
    if not loud:
        return angles, spreads
    parts = weights / np.where(spreads > 0, spreads, 1.0)
    times = np.pi / REACH * np.arange(POINTS // 2 + 1)
    transform = np.ones((ANGLES, len(times)))
    for (noise, _, _), part in zip(loud, parts, strict=True):
        squares = np.outer(part**2, times**2) / 2
        transform *= noise.continuous_characteristic(squares)
    mass = np.fft.irfft(transform, POINTS, axis=1)[:, : POINTS // 2]
    # Mass within a lattice point's half step on either side of it.
    inside = mass[:, :1] + 2 * np.concatenate([np.zeros((ANGLES, 1)), np.cumsum(mass[:, 1:], axis=1)], axis=1)
    step = 2 * REACH / POINTS
    quantiles = [np.interp(1 - ALPHA, row, (np.arange(len(row)) + 0.5) * step) for row in inside]
    return angles, np.array(quantiles) * spreads
