"""Linear regressions: what of them is asked for, and how it follows from the second moments that are measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from rewriter.plan import Estimator, Terms


class RegressionField(StrEnum):
    """A field of a regression, by the name that SQL has for it. The first two have a number for each regressor; the
    last is what it predicts at a point."""

    COEFFICIENT = "coef"
    STANDARD_ERROR = "std_err"
    DETERMINATION = "r2"
    CONDITION = "condition_no"
    PREDICTION = "predict"


@dataclass(frozen=True, slots=True)
class RegressionPart:
    """One number of a regression: number ``place`` of a ``field``, from 0 on. ``intercept`` is the place of the
    constant 1 among the regressors, if it is one of them; the others are in their order. A prediction is made at a
    ``point``, which has a number for each regressor."""

    field: RegressionField
    place: int
    intercept: int | None
    point: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class Regression(Estimator):
    """A number of the regression of the last of ``ranges``' variables on the others, by least squares.

    With u = (2x - low - high) / (high - low), in [-1, 1] for each variable, ``cells`` are, in this order, the weighted
    integers of n = Σ1; of Σu for each variable; of Σ(1 - u²) for each variable; of Σu·v for each pair of variables,
    the first of them first.
    """

    part: RegressionPart
    ranges: tuple[tuple[Fraction, Fraction], ...]
    cells: Terms

    def __post_init__(self) -> None:
        size = len(self.ranges)
        if len(self.cells) != 1 + 2 * size + size * (size - 1) // 2:
            raise ValueError("every second moment is measured once")

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.cells)

    @property
    def nonnegative(self) -> bool:
        return not self._signed

    @property
    def _signed(self) -> bool:
        return self.part.field in (RegressionField.COEFFICIENT, RegressionField.PREDICTION)

    @property
    def possible(self) -> tuple[float, float]:
        least = -math.inf if self._signed else 0.0
        return least, 1.0 if self.part.field is RegressionField.DETERMINATION else math.inf

    @property
    def squared(self) -> tuple[Fraction, ...]:
        """Products of two ranges are squared again by their errors."""
        widths = [(high - low) ** 2 for low, high in self.ranges]
        return (*widths, *(max(abs(low), abs(high)) ** 2 or Fraction(1) for low, high in self.ranges))

    def finer(self, refinement: Mapping[str, int]) -> Regression:
        return replace(self, cells=tuple((name, weight / refinement[name]) for name, weight in self.cells))
