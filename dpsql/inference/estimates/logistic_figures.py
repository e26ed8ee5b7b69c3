"""Logistic regressions from the sums that were released step by step: coefficients, odds, chances, and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.logistic_descent import (
    AVERAGED,
    Descent,
    GroupSums,
    is_told,
    noise_along,
    numbers_at,
    spread_of_mean,
    way,
)
from dpsql.inference.estimates.moment_figures import normal_point
from dpsql.inference.estimates.noisy_moments import SecondMoments
from dpsql.inference.estimates.regression_figures import FORETOLD, usual_spread
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.intervals import variance
from dpsql.inference.numeric import FloatArray
from dpsql.releases import Noise, NoisyTable, ReleasedColumn
from rewriter.plan import Output, Plan, Points, Terms
from rewriter.regression import LogisticRegression, RegressionField

_REMEMBERED = 256
_ways: dict[object, Descent] = {}
_LARGEST_ODDS = 700.0
_LEAST_ROWS = 3
"""The rows of a group that is answered, in standard deviations of their noise."""


def points_after(plan: Plan, step: int, noisy: NoisyTable) -> Points:
    """The numbers that the SQL of a step of a plan reads in each group, from what was released before it."""
    found: dict[str, list[int]] = {}
    for one in (output.estimator for output in plan.outputs):
        if isinstance(one, LogisticRegression) and step < len(one.points) and one.points[step][0] not in found:
            ways = [_way(one, noisy, group, step) for group in range(len(noisy.keys))]
            numbers = [numbers_at(of.places[step], one.most) for of in ways]
            found |= {name: [some[at] for some in numbers] for at, name in enumerate(one.points[step])}
    return found


@dataclass(frozen=True, slots=True)
class LogisticEstimate(Estimate[LogisticRegression]):
    """A number of a logistic regression. What is expected of it is that of a group whose regressors have a
    :func:`usual_spread` around the middle of their ranges, half of them true."""

    foretold = FORETOLD

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        noisy, one = groups.noisy, self.estimator
        least, most = one.possible
        found = []
        for group in range(len(noisy.keys)):
            rows = noisy.statistics[one.cells[0][0]][group] * float(one.cells[0][1])
            known = rows >= max(1.0, _LEAST_ROWS * math.sqrt(float(_spreads(one.cells[:1], noisy.noise)[0])))
            value, low, high = _figure(one, _way(one, noisy, group, len(one.gradients)), noisy) if known else _NONE
            found.append((value, max(low, least), min(high, most)) if math.isfinite(value) else _NONE)
        values = tuple(None if math.isnan(value) else value for value, _, _ in found)
        reaches = tuple((0.0, 0.0) if math.isnan(value) else (value - low, high - value) for value, low, high in found)
        return ReleasedColumn(output.name, output.type, values, tuple(map(max, reaches)), reaches)

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float | None:
        one = self.estimator
        if one.part.field in (RegressionField.STANDARD_ERROR, RegressionField.CONDITION):
            return None
        turned, back = turning(one)
        usual = turned @ self._usual(rows) @ turned.T
        along = noise_along(math.sqrt(float(_spreads(one.curvature, noise).max())) / 4, turned)
        own = turned @ np.diag(_spreads(one.gradients[-1], noise)) @ turned.T
        error = spread_of_mean(np.asarray(np.linalg.inv(usual), dtype=np.float64), own, along)
        if error is None or not is_told(float(np.linalg.eigvalsh(usual)[0]), along):
            return None
        return self._width(_deviation(_direction(one, back), error), noise)

    def _usual(self, rows: int) -> FloatArray:
        """The curvature of so many rows."""
        return np.diag([1.0, *[usual_spread(*ends) ** 2 for ends in self.estimator.ranges[:-1]]]) * rows / 4

    def error_unit(self, picking: Mapping[str, Noise], noise: Noises, rows: int) -> float:
        """Without what noise does to the curvature."""
        one = self.estimator
        if one.part.field in (RegressionField.STANDARD_ERROR, RegressionField.CONDITION):
            return 0.0
        turned, back = turning(one)
        inverse = np.linalg.inv(turned @ self._usual(rows) @ turned.T)
        own = turned @ np.diag(_spreads(one.gradients[-1], noise)) @ turned.T
        return self._width(_deviation(_direction(one, back), inverse @ own @ inverse / AVERAGED), noise)

    def _width(self, deviation: float, noise: Noises) -> float:
        """A chance moves a quarter as far as its log odds, at most."""
        width = _normal(self.estimator, noise) * deviation
        return width / 4 if self.estimator.part.field is RegressionField.PREDICTION else width


_NONE = (math.nan, math.nan, math.nan)


def turning(one: LogisticRegression) -> tuple[FloatArray, FloatArray]:
    """The parameters of a regression as sums over 1 and every u; and what its coefficients are of the parameters.

    With an intercept, parameters are those of 1 and of every u; without one, of each regressor over its largest size.
    """
    lows, highs = np.array([[float(low), float(high)] for low, high in one.ranges[:-1]]).T
    middles, halves = (lows + highs) / 2, (highs - lows) / 2
    size, place = len(middles), one.part.intercept
    if place is None:
        scales = np.abs(middles) + halves
        return np.c_[middles / scales, np.diag(halves / scales)], np.diag(1 / scales)
    back = np.zeros((size + 1, size + 1))
    back[0, 0], back[0, 1:] = 1.0, -middles / halves
    back[1:, 1:] = np.diag(1 / halves)
    order = [*range(1, size + 1)]
    order.insert(place, 0)
    return np.eye(size + 1), back[order]


def _spreads(terms: Terms, noise: Noises) -> FloatArray:
    """The variance of the noise of each cell."""
    return np.array([variance(noise[name]) * float(step) ** 2 for name, step in terms])


def _normal(one: LogisticRegression, noise: Noises) -> float:
    """The 95 % point of a sum of the noises of three gradients and their cells, of which a few weigh most."""
    excess = noise[one.gradients[-1][0][0]].excess
    return float(normal_point(np.array([excess / AVERAGED]))[0])


def _sums(terms: Terms, noisy: NoisyTable, group: int) -> FloatArray:
    return np.array([float(noisy.statistics[name][group]) * float(step) for name, step in terms])


def _way(one: LogisticRegression, noisy: NoisyTable, group: int, steps: int) -> Descent:
    """The way of a group up to a step, remembered: every number of a regression asks for it."""
    own = replace(one, part=replace(one.part, field=RegressionField.COEFFICIENT, place=0, point=()))
    known: Iterable[Terms] = (one.cells, *one.gradients[:steps], *([one.curvature] if steps > one.bent else []))
    names = [name for terms in known for name, _ in terms]
    key = own, steps, tuple((noisy.statistics[name][group], noisy.noise[name].square) for name in names)
    found = _ways.get(key)
    if found is None:
        released = _released(one, noisy, group, steps)
        found = way(released, turning(one)[0], one.most, one.bent)
        if len(_ways) >= _REMEMBERED:
            _ways.clear()
        _ways[key] = found
    return found


def _released(one: LogisticRegression, noisy: NoisyTable, group: int, steps: int) -> GroupSums:
    noise = noisy.noise
    spreads = _spreads(one.cells, noise)
    moments = SecondMoments.of(len(one.ranges), _sums(one.cells, noisy, group)[:, None], spreads[:, None], 0.0)
    curvature, wide = None, 0.0
    if steps > one.bent:
        curvature = _matrix(_sums(one.curvature, noisy, group)) / 4
        wide = math.sqrt(float(_spreads(one.curvature, noise).max())) / 4
    return GroupSums(
        moments.matrix[0],
        tuple(_sums(terms, noisy, group) for terms in one.gradients[:steps]),
        curvature,
        math.sqrt(float(moments.entries.max())),
        np.sqrt(_spreads(one.gradients[0], noise)) if steps else np.zeros(len(one.points[0])),
        wide,
    )


def _matrix(cells: Sequence[float] | FloatArray) -> FloatArray:
    """The symmetric matrix over 1 and every u of products in their order.

    >>> _matrix([1.0, 2.0, 3.0]).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    size = (math.isqrt(8 * len(cells) + 1) - 1) // 2
    found = np.zeros((size, size))
    found[0] = cells[:size]
    above = np.triu_indices(size - 1)
    found[above[0] + 1, above[1] + 1] = cells[size:]
    return np.asarray(np.triu(found) + np.triu(found, 1).T)


def _direction(one: LogisticRegression, back: FloatArray) -> FloatArray:
    """What of the parameters a number is of: the sum of the coefficients at a point, or one of them."""
    point = [float(value) for value in one.part.point]
    return np.asarray(np.array(point) @ back if point else back[one.part.place])


def _deviation(direction: FloatArray, spread: FloatArray) -> float:
    """That of a number whose parameters have such a matrix of variances; rounding may leave less than none.

    >>> _deviation(np.array([1.0, -1.0]), np.array([[1.0, 1.0], [1.0, 1.0 - 1e-16]]))
    0.0
    """
    return math.sqrt(max(float(direction @ spread @ direction), 0.0))


def _figure(one: LogisticRegression, found: Descent, noisy: NoisyTable) -> tuple[float, float, float]:
    """A number, and the ends of its interval."""
    _, back = turning(one)
    field, direction = one.part.field, _direction(one, back)
    if field is RegressionField.STANDARD_ERROR:
        inverse = np.linalg.inv(found.bent)
        value = math.nan if found.ridged else _deviation(direction, np.asarray(inverse, dtype=np.float64))
        return value, -math.inf, math.inf
    if field is RegressionField.CONDITION:
        forth = np.linalg.inv(back)
        ends = np.linalg.eigvalsh(forth.T @ found.bent @ forth)
        return math.nan if found.ridged or ends[0] <= 0 else float(ends[-1] / ends[0]), -math.inf, math.inf
    value = float(direction @ found.end)
    width = math.inf if found.spread is None else _normal(one, noisy.noise) * _deviation(direction, found.spread)
    ends_of = (value, value - width, value + width)
    if field is RegressionField.ODDS:
        low, middle, high = (_power(end) for end in (ends_of[1], value, ends_of[2]))
        return middle, low, high if math.isfinite(width) else math.inf
    if field is RegressionField.PREDICTION:
        if not math.isfinite(width):
            return 1 / (1 + _power(-value)), -math.inf, math.inf
        return tuple(1 / (1 + _power(-end)) for end in ends_of)  # type: ignore[return-value]
    return ends_of


def _power(odds: float) -> float:
    return math.exp(max(-_LARGEST_ODDS, min(_LARGEST_ODDS, odds)))
