"""Counts and sums: the values and the half-widths of weighted sums of noisy integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.parts import measured, values
from dpsql.inference.estimates.rounding import quotients
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.intervals import ALPHA, Terms, half_width
from dpsql.inference.numeric import FloatArray
from dpsql.memory import by_identity
from dpsql.releases import IntegerColumn, Noise, NoisyTable, ReleasedColumn, ValueColumn
from rewriter.plan import Linear, Output, Plan


@by_identity(1024)
def terms_of(estimator: Linear, noise: Noises) -> Terms:
    """The noises that a weighted sum is off by, each once with its weight."""
    weights: dict[str, Fraction] = {}
    for name, weight in estimator.terms:
        weights[name] = weights.get(name, Fraction(0)) + weight
    return tuple((noise[name], weight) for name, weight in weights.items())


@by_identity(1024)
def sum_half_width(estimator: Linear, noise: Noises, alpha: float = ALPHA) -> float:
    """Of every cell alike. Where weights are not integers, rounding to an integer adds a half at most."""
    terms = terms_of(estimator, noise)
    width = half_width(terms, alpha)
    rounded = estimator.integer and any(weight.denominator != 1 for _, weight in terms)
    return width + 0.5 if rounded else width


@dataclass(frozen=True, slots=True)
class SumEstimate(Estimate[Linear]):
    """A weighted sum of statistics: its half-width follows from the noise alone."""

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        noisy, parts = groups.noisy, groups.parts
        if output.parts and parts is not None:
            found = values(output, groups.plan, [IntegerColumn.of(part)[: len(noisy.keys)] for part in parts])
        else:
            found = self._values(noisy, output, bounded=parts is not None)
        # What is no sum of parts has nothing to agree with.
        margins = self._margins(noisy, groups.shrunk if output.parts else None)
        # What agrees with other measurements is around what these say together, not around its own.
        alone = groups.shrunk is None
        return ReleasedColumn(
            output.name, output.type, found, margins, estimates=self._estimates(noisy) if alone else None
        )

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float:
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

    def _margins(self, noisy: NoisyTable, shrunk: FloatArray | None) -> ValueColumn:
        margin = sum_half_width(self.estimator, noisy.noise)
        if shrunk is None:
            return ValueColumn.of_floats(np.full(len(noisy.keys), margin))
        return ValueColumn.of_floats(margin * shrunk[: len(noisy.keys)])

    def _estimates(self, noisy: NoisyTable) -> ValueColumn | None:
        """Whole numbers of measurements that are not, before they were rounded."""
        estimator = self.estimator
        if not estimator.integer or all(weight.denominator == 1 for _, weight in estimator.terms):
            return None
        totals, denominator = measured(noisy, estimator)
        least = -np.inf if estimator.minimum is None else float(estimator.minimum)
        most = np.inf if estimator.maximum is None else float(estimator.maximum)
        return ValueColumn.of_floats(np.clip(totals.floats / denominator, least, most))

    def _values(self, noisy: NoisyTable, output: Output, *, bounded: bool) -> ValueColumn:
        estimator = self.estimator
        totals, denominator = measured(noisy, estimator)
        if estimator.integer:
            totals, denominator = totals.quotients(denominator), 1
        if bounded:
            ends = (None if end is None else end * denominator for end in (estimator.minimum, estimator.maximum))
            totals = totals.clipped(*ends)
        return quotients(output.type)(totals, denominator)
