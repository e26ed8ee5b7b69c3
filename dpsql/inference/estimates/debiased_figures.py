"""Counts, sums and means by what people truly have, from noisy sums over what they reported: values, and their errors.

The error of a value has two parts: the noise that hides people from analysts, whose law is public, and the randomness
of people's own reports, whose variance is estimated from the same noisy sums (:class:`rewriter.debiased.Debiased`). The
estimate is widened by its own standard deviation, and moved into the range that the law leaves whatever the truth is.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.moment_figures import normal_point
from dpsql.inference.estimates.rounding import quotients
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.intervals import variance
from dpsql.inference.numeric import FloatArray
from dpsql.releases import IntegerColumn, ReleasedColumn, ReportDraws, ValueColumn
from rewriter.debiased import Debiased, DebiasedFigure, DebiasedPart
from rewriter.plan import Output, Plan, Terms

_FINE = 1 << 20
"""Estimates are finished in steps of 1/_FINE."""

Sums = Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True)
class Side:
    """Σt, or Σ(1 - t), of one part, in doubles: a row for each report and a column for each statistic. ``end`` is the
    value of a row for which t, or 1 - t, is 1."""

    end: float
    least: float
    most: float
    weights: FloatArray
    spread: FloatArray
    everyone: FloatArray
    matrix: FloatArray
    names: tuple[str, ...]
    reports: tuple[Terms, ...]

    def numbers(self, sums: Sums) -> FloatArray:
        """By report and group."""
        return np.asarray(self.matrix @ np.stack([sums[name] for name in self.names]))

    def noise(self, weights: FloatArray, noises: Noises) -> float:
        """The variance that noise has in a weighted sum of reports."""
        spread = np.array([variance(noises[name]) for name in self.names])
        return float(((weights @ self.matrix) ** 2 * spread).sum())

    def varied(self, numbers: FloatArray, noises: Noises) -> FloatArray:
        """The variance that reports have in each group's weighted sum: as estimated, with the estimate's own error, and
        within what is possible of so many rows."""
        if not self.most:
            return np.zeros(numbers.shape[1])
        rows = np.maximum(self.everyone @ numbers, 0.0) + np.sqrt(self.noise(self.everyone, noises))
        found = self.spread @ numbers + np.sqrt(self.noise(self.spread, noises))
        return np.asarray(np.clip(found, self.least * rows, self.most * rows))

    def together(
        self, values: FloatArray, weights: FloatArray, numbers: FloatArray, uniform: float, noises: Noises
    ) -> FloatArray:
        """The variance that reports have in each group's sum over several parts, each with a value by group and a
        weight by report, over the ``numbers`` of all reports: as estimated, with the estimate's own error.

        A report is drawn evenly with the probability ``uniform`` at least, so that the variance of a person's weight is
        ``uniform`` times that of an even report, or more (law of total variance).
        """
        whole = values.T @ weights  # By group and report.
        spread = whole**2 - (values**2).T @ weights
        rows = np.maximum(self.everyone @ numbers, 0.0) + np.sqrt(self.noise(self.everyone, noises))
        own = np.sqrt([self.noise(one, noises) for one in spread])
        return np.asarray(np.maximum((spread * numbers.T).sum(axis=1) + own, uniform * whole.var(axis=1) * rows))

    def drawn(self, numbers: FloatArray, varied: FloatArray, draws: ReportDraws) -> FloatArray:
        """How far the reports of a replicate move each group's weighted sum.

        As if each report were drawn from the shares of all, so that those of different values move against each other
        and all together not at all; then by as much as they vary.
        """
        present = np.maximum(numbers, 0.0)
        own = np.sqrt(present) * np.stack([draws(one, numbers.shape[1]) for one in self.reports])
        total = np.where((all_ := present.sum(axis=0)) > 0, all_, 1.0)
        own = own - present / total * own.sum(axis=0)
        mean = self.weights @ present / total
        pooled = np.maximum((self.weights**2) @ present - mean**2 * total, 0.0)
        scale = np.sqrt(varied / np.where(pooled > 0, pooled, 1.0)) * (pooled > 0)
        return np.asarray(self.weights @ own * scale)


@functools.lru_cache(maxsize=2048)
def _sides(part: DebiasedPart) -> tuple[Side, ...]:
    found = []
    numbers = (np.array([float(getattr(one, of)) for one in part.reports]) for of in ("weight", "spread", "everyone"))
    weights, spread, everyone = numbers
    for end, reports in ((part.high, [o.above for o in part.reports]), (part.low, [o.below for o in part.reports])):
        names = tuple(dict.fromkeys(name for terms in reports for name, _ in terms))
        if not names:
            continue
        matrix = np.zeros((len(reports), len(names)))
        for row, terms in enumerate(reports):
            for name, weight in terms:
                matrix[row, names.index(name)] += float(weight)
        own = float(end), float(part.least), float(part.most)
        found.append(Side(*own, weights, spread, everyone, matrix, names, tuple(reports)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class DebiasedNumbers:
    """The values of every group; NaN where there is nobody. ``noise`` and ``reports`` are the variances that the noise
    and the randomness of reports have in them, and ``kurtosis`` says how heavy the tails of their sum are."""

    values: FloatArray
    noise: FloatArray
    reports: FloatArray
    kurtosis: FloatArray

    @property
    def half_widths(self) -> FloatArray:
        return np.asarray(normal_point(self.kurtosis) * np.sqrt(self.noise + self.reports))


def debiased_numbers(
    estimator: Debiased, sums: Sums, noises: Noises, shrunk: FloatArray | None = None, draws: ReportDraws | None = None
) -> DebiasedNumbers:
    """The numbers of every group, of measured sums in steps; with ``draws``, those of a replicate."""
    size = len(next(iter(sums.values())))
    sides = [side for part in estimator.parts for side in _sides(part)]
    numbers = [side.numbers(sums) for side in sides]
    varied = [side.varied(one, noises) for side, one in zip(sides, numbers, strict=True)]
    found = [side.weights @ one for side, one in zip(sides, numbers, strict=True)]
    if draws is not None:
        moves = (side.drawn(one, how, draws) for side, one, how in zip(sides, numbers, varied, strict=True))
        found = [one + np.sqrt(estimator.rows) * move for one, move in zip(found, moves, strict=True)]
    total = sum((side.end * one for side, one in zip(sides, found, strict=True)), np.zeros(size))
    by, centre, known = np.ones(size), np.zeros(size), np.ones(size, dtype=bool)
    if estimator.figure is DebiasedFigure.MEAN:
        rows = sum(found, np.zeros(size))
        known = rows > 0.5
        by = np.where(known, rows, 1.0)
        total = centre = np.clip(np.where(known, total / by, 0.0), *estimator.possible)
    weights: dict[str, FloatArray] = {}
    reports = np.zeros(size)
    for side in sides:
        value = side.end - centre
        for name, weight in zip(side.names, side.weights @ side.matrix, strict=True):
            weights[name] = weights.get(name, np.zeros(size)) + value * float(weight)
    of = iter(zip(sides, numbers, varied, strict=True))
    own = [[next(of) for _ in _sides(part)] for part in estimator.parts]
    for places in estimator.clusters:
        if len(places) == 1:
            reports = reports + sum((side.end - centre) ** 2 * how for side, _, how in own[places[0]])
        else:
            ((first, counts, _),) = own[places[0]]
            values = np.stack([own[at][0][0].end - centre for at in places])
            by_report = np.stack([own[at][0][0].weights for at in places])
            uniform = estimator.parts[places[0]].uniform
            reports = reports + first.together(values, by_report, counts, float(uniform or 0), noises)
    factor = np.ones(size) if shrunk is None else shrunk[:size] ** 2
    pieces = [(factor * (one / by) ** 2 * variance(noises[name]), noises[name].excess) for name, one in weights.items()]
    noise = sum((one for one, _ in pieces), np.zeros(size))
    whole = noise + (reports := estimator.rows * reports / by**2)
    fourth = sum((excess * one**2 for one, excess in pieces), np.zeros(size))
    kurtosis = np.clip(fourth / np.where(whole > 0, whole**2, 1.0), 0.0, 3.0)
    return DebiasedNumbers(np.where(known, total, np.nan), noise, reports, kurtosis)


@dataclass(frozen=True, slots=True)
class DebiasedEstimate(Estimate[Debiased]):
    """A number by what people truly have. What is expected of it is that of a group whose reports are spread evenly."""

    assumed = ", with as many reports of each value"

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        noisy, estimator, size = groups.noisy, self.estimator, len(groups.noisy.keys)
        names = estimator.statistics
        if not names:
            nobody = self._typed(np.zeros(size), output)
            return ReleasedColumn(output.name, output.type, nobody, (0.0,) * size, ((0.0, 0.0),) * size)
        steps = groups.sides.get(output.name) or [noisy.statistics[name] for name in names]
        sums = {name: np.asarray(one, dtype=np.float64)[:size] for name, one in zip(names, steps, strict=True)}
        shrunk = None if groups.shrunk is None else np.asarray(groups.shrunk, dtype=np.float64)
        found = debiased_numbers(estimator, sums, noisy.noise, shrunk, noisy.reports)
        values = found.values
        if groups.parts is not None and estimator.minimum is not None:
            values = np.maximum(values, estimator.minimum)
        known = ~np.isnan(values)
        widths = found.half_widths + (0.5 if estimator.integer else 0.0)
        least, most = estimator.possible
        # What is moved to an end of its range may be as far off on the other side as it was measured beyond it.
        beyond = np.abs(values - found.values)
        down, up = np.minimum(widths + beyond, values - least), np.minimum(widths + beyond, most - values)
        reaches = tuple(zip(np.where(known, down, 0.0).tolist(), np.where(known, up, 0.0).tolist(), strict=True))
        return ReleasedColumn(output.name, output.type, self._typed(values, output), tuple(map(max, reaches)), reaches)

    def _typed(self, values: FloatArray, output: Output) -> ValueColumn:
        known = ~np.isnan(values)
        unit = 1 if self.estimator.integer else _FINE
        steps = IntegerColumn.nearest_to(np.rint(np.where(known, values, 0.0) * unit))
        column = quotients(output.type)(steps, unit)
        return column if known.all() else column.where(known)

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float:
        sides = [side for part in self.estimator.parts for side in _sides(part)]
        even: dict[str, FloatArray] = {}
        for side in sides:
            # Of so many rows, each side has its share, and each report its.
            share = np.full(len(side.reports), rows / len(sides) / max(len(side.reports), 1))
            steps = np.linalg.lstsq(side.matrix, share, rcond=None)[0]
            even |= {name: np.array([one]) for name, one in zip(side.names, steps.tolist(), strict=True)}
        return float(debiased_numbers(self.estimator, even, noise).half_widths[0]) if even else 0.0

    def nominal_size(self, plan: Plan, rows: int) -> float:
        size = max((max(abs(float(part.low)), abs(float(part.high))) for part in self.estimator.parts), default=1.0)
        if self.estimator.figure is DebiasedFigure.COUNT:
            return rows * size
        return size / 2 * (rows if self.estimator.figure is DebiasedFigure.SUM else 1)

    def found_errors(self, column: ReleasedColumn) -> list[float]:
        return [width for width in column.margins or () if width is not None]
