"""The way of a logistic regression: where its next gradient is asked for, and where it ends.

Guarantee: post-processing. Everything here is a function of released integers, of the noise that hid them and of public
ranges; the same integers give the same way, so that a release that is read again ends where it ended.

The first place follows from second moments, as if regressors were normal: then slopes are those of least squares times
one number, which two equations in one dimension give. The next two gradients are multiplied by the inverse of the
curvature that normal regressors would have there (the second moments, bent by Stein's identity). The others by that of
the curvature that was measured, with AdaSSP's ridge (Wang 2018) where noise leaves its smallest eigenvalue open. These
are Newton's steps from a place that is near: their mean has the noise of all their gradients together, and what one of
them errs is left over in the next times R, the error of the measured curvature beside the curvature (Polyak, Juditsky
1992, of averages of noisy Newton steps).

Half-widths are those of the mean's noise, H⁻¹N/√3, and of what the noise E of the released curvature H adds. A step
from a place that is off by e ends off by H⁻¹(N + Ee), so that the mean of three ends is off by H⁻¹N/√3 + H⁻¹Ee, e the
mean error of the three places before, of which as much noise is taken to be in as in the ends. With s the deviation
of an entry of E, d'H⁻¹Ee has at most the variance 2s²·|H⁻¹d|²·|e|². Added over all directions, |e|² is tr(V)/(1 - R²)
on average, V the covariance of H⁻¹N/√3 and R² = 2s²·Σλ⁻² over the eigenvalues of H. Half-widths are not known where H
was given a ridge or R is 1 or more, nor where the last step was longer than noise explains.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.inference.numeric import FloatArray
from rewriter.regression import LARGEST_POINT, POINT_BITS

AVERAGED = 3
"""The last steps, whose ends are averaged: at least one more has the measured curvature."""
_STEEPEST = 6.0
"""The standard deviation of log-odds that is believed of the start, at most; a step has no more than 1."""
_TOO_FAR = 5.0
"""The length of a last step, in standard deviations of what noise makes of it, that noise does not explain."""
_TOLD = 2.45
"""A curvature is told from noise where it is so many times the deviation of the noise along one direction."""
_LEAST_RATE = 1e-3
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class GroupSums:
    """What was released of one group: second moments over 1, every u and 2y - 1; the gradients so far; the curvature,
    where it is there. Each with the standard deviation of its noise, of matrices the largest."""

    moments: FloatArray
    gradients: tuple[FloatArray, ...]
    curvature: FloatArray | None
    of_moments: float
    of_gradients: FloatArray
    of_curvature: float


@dataclass(frozen=True)
class Descent:
    """The ``places`` where gradients are asked for, as coefficients of 1 and of every u, and the ``end``.

    ``bent`` is the curvature at the end, and ``spread`` the covariance of the end's noise: both of the parameters, of
    which coefficients of 1 and of every u are ``turned`` ones. Without a ``spread`` there are no half-widths.
    """

    places: tuple[FloatArray, ...]
    end: FloatArray
    bent: FloatArray
    spread: FloatArray | None
    turned: FloatArray
    ridged: bool


def way(released: GroupSums, turned: FloatArray, most: Sequence[int], bent: int) -> Descent:
    """The way as far as the gradients go. ``turned`` has a row for each parameter: what it is a coefficient of, as a
    sum over 1 and every u; ``bent`` is the number of the gradient beside which the curvature is measured."""
    normal = _Normal.of(released)
    at = _start(released, normal, turned)
    places, ends = [rounded(at @ turned, most)], []
    inverse: FloatArray = np.zeros((len(turned), len(turned)))
    curvature, ridged, along, last = inverse, False, 0.0, math.inf
    noise = turned @ np.diag(released.of_gradients**2) @ turned.T
    for number, gradient in enumerate(released.gradients):
        if number == bent and released.curvature is not None:
            along = noise_along(released.of_curvature, turned)
            curvature, added, _ = _ridged(turned @ released.curvature @ turned.T, _TOLD * along)
            ridged, inverse = added > 0, np.asarray(np.linalg.inv(curvature))
        if number < bent:
            guessed, _, _ = _ridged(
                turned @ normal.curvature(places[-1]) @ turned.T, curvature_noise(released.of_moments, turned) / 16
            )
            inverse = np.asarray(np.linalg.inv(guessed))
        step = inverse @ (turned @ gradient)
        own = np.sqrt(np.maximum(np.diag(inverse @ noise @ inverse), 1e-300))
        last = float(np.max(np.abs(step) / own)) / math.sqrt(2)
        length = math.sqrt(max(float(step @ turned @ normal.second @ turned.T @ step), 0.0))
        here = _parameters(places[-1], turned)
        ends.append(here + step / max(length, 1.0))
        places.append(rounded(ends[-1] @ turned, most))
    spread = spread_of_mean(inverse, noise, along)
    known = spread is not None and not ridged and last < _TOO_FAR
    return Descent(
        tuple(places),
        np.mean(ends[-AVERAGED:], axis=0) if ends else at,
        curvature,
        spread if known else None,
        turned,
        ridged,
    )


def numbers_at(place: FloatArray, most: Sequence[int]) -> list[int]:
    """The numbers that stand for a place in SQL: of 1, and of each step of a variable."""
    steps = np.array([1, *most], dtype=np.float64)
    limits = [LARGEST_POINT // step for step in (1, *most)]
    found = np.rint(place / steps * 2.0**POINT_BITS)
    return [max(-limit, min(limit, int(one))) for one, limit in zip(found, limits, strict=True)]


def rounded(place: FloatArray, most: Sequence[int]) -> FloatArray:
    """A place as SQL has it.

    >>> rounded(np.array([0.5, 1000.0]), [4]).tolist()
    [0.5, 128.0]
    """
    found = np.where(np.isfinite(place), place, 0.0)
    return np.asarray(np.array(numbers_at(found, most)) * np.array([1.0, *most]) / 2.0**POINT_BITS)


def _parameters(place: FloatArray, turned: FloatArray) -> FloatArray:
    """The parameters whose coefficients of 1 and of every u these are, as near as it goes."""
    return np.asarray(np.linalg.lstsq(turned.T, place, rcond=None)[0])


def curvature_noise(noise: float, turned: FloatArray) -> float:
    """The largest eigenvalue that noise of a matrix may have, of the parameters."""
    return (2 * math.sqrt(turned.shape[1]) + 2) * noise * _widest(turned)


def noise_along(noise: float, turned: FloatArray) -> float:
    """The largest deviation of v'Ev, E the noise of a matrix of the parameters, v of length 1."""
    return math.sqrt(2) * noise * _widest(turned)


def spread_of_mean(inverse: FloatArray, noise: FloatArray, along: float) -> FloatArray | None:
    """The covariance of the mean end's error: that of its gradients' noise, and what noise of the curvature adds, whose
    deviation ``along`` one direction is known; None where it is not told from noise."""
    own = inverse @ noise @ inverse / AVERAGED
    again = along**2 * inverse @ inverse
    error = float(np.trace(again))
    return own + again * float(np.trace(own)) / (1 - error) if error < 1 else None


def is_told(least: float, along: float) -> bool:
    """Whether the smallest eigenvalue of a curvature stands out from noise."""
    return least >= _TOLD * along


def _widest(turned: FloatArray) -> float:
    """The most that noise is multiplied by on the way to the parameters."""
    return max(1.0, float(np.linalg.eigvalsh(turned @ turned.T)[-1]))


def _ridged(matrix: FloatArray, tau: float) -> tuple[FloatArray, float, float]:
    """The matrix with what lifts its smallest eigenvalue to ``tau``, what was added, and that eigenvalue."""
    least = float(np.linalg.eigvalsh(matrix)[0])
    added = max(0.0, max(tau, 1e-9) - least)
    return matrix + added * np.eye(len(matrix)), added, least


def _chance(odds: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


@dataclass(frozen=True)
class _Normal:
    """Regressors as if they were normal: their number, means and covariance, and the second moments per row."""

    rows: float
    means: FloatArray
    spread: FloatArray
    second: FloatArray

    @classmethod
    def of(cls, released: GroupSums) -> _Normal:
        size = len(released.moments) - 1
        rows = max(float(released.moments[0, 0]), 1.0)
        means = np.clip(released.moments[0, 1:size] / rows, -1, 1)
        tau = (2 * math.sqrt(size) + 2) * released.of_moments / rows
        spread, _, _ = _ridged(released.moments[1:size, 1:size] / rows - np.outer(means, means), tau)
        centre = np.eye(size)
        centre[1:, 0] = means
        middle = np.zeros((size, size))
        middle[0, 0], middle[1:, 1:] = 1.0, spread
        return cls(rows, means, spread, centre @ middle @ centre.T)

    def curvature(self, place: FloatArray) -> FloatArray:
        """Σ p(1 - p)zzᵀ at a place, z over 1 and every u: by Stein's identity, E f(η)xxᵀ = E f·S + E f″·Sββ'S."""
        turned = self.spread @ place[1:]
        square = max(float(place[1:] @ turned), 0.0)
        width = math.sqrt(square)
        chance = _chance(place[0] + float(place[1:] @ self.means) + width * _NODES)
        rates = chance * (1 - chance)
        level, slope, bend = float(_WEIGHTS @ rates), 0.0, 0.0
        if width > 1e-6:
            slope = float(_WEIGHTS @ (rates * _NODES)) / width
            bend = float(_WEIGHTS @ (rates * (_NODES**2 - 1))) / square
        size = len(place)
        inner = np.zeros((size, size))
        inner[0, 0] = level
        inner[0, 1:] = inner[1:, 0] = slope * turned
        inner[1:, 1:] = level * self.spread + bend * np.outer(turned, turned)
        centre = np.eye(size)
        centre[1:, 0] = self.means
        return np.asarray(self.rows * centre @ inner @ centre.T)


def _start(released: GroupSums, normal: _Normal, turned: FloatArray) -> FloatArray:
    """Parameters to begin with. ``right`` is Σ(y - ½) of 1 and of every u."""
    size = len(normal.means) + 1
    right = released.moments[:size, size] / 2
    if len(turned) < size:
        matrix, _, _ = _ridged(
            turned @ released.moments[:size, :size] @ turned.T / 4, curvature_noise(released.of_moments, turned)
        )
        found = np.linalg.solve(matrix, turned @ right)
        width = math.sqrt(max(float(found @ turned @ normal.second @ turned.T @ found), 0.0))
        return np.asarray(found / max(width / 2, 1.0))
    least = min(0.5 / math.sqrt(normal.rows), 0.25)
    share = float(np.clip(right[0] / normal.rows + 0.5, least, 1 - least))
    together = right[1:] / normal.rows - normal.means * (share - 0.5)
    slopes = np.linalg.solve(normal.spread, together)
    width = math.sqrt(max(float(slopes @ normal.spread @ slopes), 0.0))
    middle, spread = _level(share, width)
    slopes = slopes * (spread / width if width else 0.0)
    return _parameters(np.array([middle - float(slopes @ normal.means), *slopes]), turned)


@functools.lru_cache(maxsize=256)
def _level(share: float, width: float) -> tuple[float, float]:
    """The mean and the standard deviation of normal log-odds whose chances have this mean and, with the regressors
    that make them, a covariance as if their slopes were ``width`` over E p(1 - p).

    >>> [round(one, 2) for one in _level(0.5, 0.2)]
    [0.0, 0.95]
    """
    middle, rate = math.log(share / (1 - share)), share * (1 - share)
    spread = 0.0
    for _ in range(100):
        spread = min(width / rate, _STEEPEST)
        chance = _chance(middle + spread * _NODES)
        now = max(float(_WEIGHTS @ (chance * (1 - chance))), _LEAST_RATE)
        middle += min(1.0, max(-1.0, (share - float(_WEIGHTS @ chance)) / now))
        rate = (rate + now) / 2
    return middle, spread
