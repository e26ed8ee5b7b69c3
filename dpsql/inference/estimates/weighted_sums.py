"""Counts and sums: the values and the half-widths of weighted sums of noisy integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.parts import measured, values
from dpsql.inference.estimates.rounding import nearest, quotients
from dpsql.inference.intervals import ALPHA, half_width
from dpsql.inference.numeric import FloatArray
from dpsql.releases import Noise, NoisyTable, ReleasedColumn
from rewriter.declared import Scalar
from rewriter.plan import Linear, Output, Plan


def sum_half_width(estimator: Linear, noise: Noises, alpha: float = ALPHA) -> float:
    """Of every cell alike. Where weights are not integers, rounding to an integer adds a half at most."""
    weights: dict[str, Fraction] = {}
    for name, weight in estimator.terms:
        weights[name] = weights.get(name, Fraction(0)) + weight
    width = half_width(tuple((noise[name], weight) for name, weight in weights.items()), alpha)
    rounded = estimator.integer and any(weight.denominator != 1 for weight in weights.values())
    return width + 0.5 if rounded else width


@dataclass(frozen=True, slots=True)
class SumEstimate(Estimate[Linear]):
    """A weighted sum of statistics: its half-width follows from the noise alone."""

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        noisy, parts = groups.noisy, groups.parts
        if output.parts and parts is not None:
            found = values(output, groups.plan, parts)[: len(noisy.keys)]
        else:
            found = self._values(noisy, output, bounded=parts is not None)
        # What is no sum of parts has nothing to agree with.
        margins = self._margins(noisy, groups.shrunk if output.parts else None)
        return ReleasedColumn(output.name, output.type, found, margins)

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int) -> float:
        return sum_half_width(self.estimator, noise)

    def nominal_size(self, plan: Plan, rows: int) -> float:
        """A count is taken for all rows; a sum for half of the most that so many people may add."""
        if self.estimator.integer and self.estimator.minimum == 0:
            return float(rows)
        bounds = {statistic.name: statistic.bound for statistic in plan.statistics}
        return rows * float(sum(abs(weight) * bounds[name] for name, weight in self.estimator.terms)) / 2

    def found_errors(self, column: ReleasedColumn) -> list[float]:
        return []

    def error_unit(self, picking: Mapping[str, Noise], noise: Noises, rows: int) -> float:
        return 0.0

    def _margins(self, noisy: NoisyTable, shrunk: FloatArray | None) -> tuple[float, ...]:
        margin = sum_half_width(self.estimator, noisy.noise)
        if shrunk is None:
            return (margin,) * len(noisy.keys)
        return tuple(margin * factor for factor in shrunk[: len(noisy.keys)].tolist())

    def _values(self, noisy: NoisyTable, output: Output, *, bounded: bool) -> tuple[Scalar | None, ...]:
        estimator = self.estimator
        totals, denominator = measured(noisy, estimator, Fraction(1))
        if estimator.integer:
            totals, denominator = [nearest(total, denominator) for total in totals], 1
        if estimator.minimum is not None and bounded:
            least = estimator.minimum * denominator
            totals = [max(total, least) for total in totals]
        if estimator.maximum is not None and bounded:
            most = estimator.maximum * denominator
            totals = [min(total, most) for total in totals]
        value = quotients(output.type)
        return tuple(value(total, denominator) for total in totals)
