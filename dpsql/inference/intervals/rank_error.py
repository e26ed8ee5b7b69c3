"""How far quantiles that were picked together are off in rank, from public numbers alone.

Where the values of people lie evenly, the ranks of a joint pick (:mod:`dpsql.mechanisms.quantiles.several`) are off by
a random walk: each of its steps is Laplace noise, and at its end it is where the noisy weight of the group says, whose
own error is Laplace noise too. All lengths are in units of the scale of a step.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEP = 0.125
_CUT = 0.95
COUNT_SCALE = 3.0
"""The scale of the weight's error: half of a pick's ε against a sixth of it."""


@functools.lru_cache(maxsize=8192)
def reach(place: int, size: int, fraction: float, away: float, scale: float) -> float:
    """By what an end is multiplied to be that of a 95 % interval, for quantile number ``place`` of ``size``.

    The end is as far away as ``away`` is, with Laplace noise of the scale ``scale``. The least c with
    P(|X| > c·(away + L)) ≤ 5 % for X the error of the quantile.

    >>> round(reach(4, 9, 0.5, 1e6, 1.0) * 1e6, 1), round(reach(4, 9, 0.5, 48.0, 6.0), 2)
    (4.4, 0.1)
    """
    law = walk(place, size, fraction)
    half = len(law) // 2
    upto = np.cumsum(law[half:] + law[half::-1]) - law[half]
    distances = (np.arange(half + 1) + 0.5) * _STEP
    noise = np.linspace(-12, 12, 481) * scale
    mass = np.exp(-np.abs(noise) / scale)
    mass /= mass.sum()
    ends = np.maximum(away + noise, 0.0)
    low, high = 0.0, 64.0
    for _ in range(40):
        middle = (low + high) / 2
        inside = float((mass * np.interp(middle * ends, distances, upto)).sum())
        low, high = (middle, high) if inside < _CUT else (low, middle)
    return high


@functools.lru_cache(maxsize=512)
def walk(place: int, size: int, fraction: float) -> Floats:
    """The density of the error of quantile number ``place`` of ``size``, on steps of 1/8 around 0.

    Beyond its target by x, it is x - fraction·z away from the true quantile, where the walk ends at z.
    """
    span = 12 + 4 * math.sqrt(size + 1)
    half = int(span / _STEP)
    grid = np.arange(-half, half + 1) * _STEP
    step = np.exp(-np.abs(grid))
    step /= step.sum()
    before, after, whole = (_times(step, count) for count in (place + 1, size - place, size + 1))
    error = np.exp(-np.abs(grid) / COUNT_SCALE)
    # For every end of the walk, the errors on the way to it: before(x) · after(end - x) / whole(end).
    found = np.zeros_like(grid)
    for at in range(-half, half + 1):
        places = np.arange(max(-half, at - half), min(half, at + half) + 1)
        moved = np.clip(places - round(fraction * at) + half, 0, 2 * half)
        weight = error[at + half] / whole[at + half]
        found += np.bincount(moved, weight * before[places + half] * after[at - places + half], len(grid))
    return np.asarray(found / found.sum())


def _times(step: Floats, count: int) -> Floats:
    """The density of the sum of so many steps."""
    found = step
    for _ in range(count - 1):
        found = np.convolve(found, step, mode="same")
    return found
