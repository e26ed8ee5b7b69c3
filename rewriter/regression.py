"""Regressions: what of them is asked for, and how it follows from the sums that are measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Self

from rewriter.plan import Estimator, Terms


class RegressionField(StrEnum):
    """A field of a regression, by the name that SQL has for it. Coefficients, their standard errors and odds ratios are
    a number for each regressor; a prediction is made at a point."""

    COEFFICIENT = "coef"
    STANDARD_ERROR = "std_err"
    DETERMINATION = "r2"
    CONDITION = "condition_no"
    ODDS = "odds_ratios"
    PREDICTION = "predict"


@dataclass(frozen=True, slots=True)
class RegressionPart:
    """One number of a regression, ``logistic`` or linear: number ``place`` of a ``field``, from 0 on. ``intercept`` is
    the place of the constant 1 among the regressors, if it is one of them; the others are in their order. A prediction
    is made at a ``point``, which has a number for each regressor."""

    field: RegressionField
    place: int
    intercept: int | None
    point: tuple[Fraction, ...] = ()
    logistic: bool = False


class ComponentField(StrEnum):
    """A field of a principal component: a loading for each number, the variance along it, and its share of all."""

    LOADING = "loadings"
    VARIANCE = "variance"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class ComponentPart:
    """One number of a principal component: number ``place`` of a ``field``, from 0 on; components count from 1 on, the
    one along which numbers vary most."""

    field: ComponentField
    place: int
    component: int


@dataclass(frozen=True, slots=True)
class SecondMomentFigure(Estimator):
    """A number that follows from the second moments of the ``ranges``' variables.

    With u = (2x - low - high) / (high - low), in [-1, 1] for each variable, ``cells`` are, in this order, the weighted
    integers of n = Σ1; of Σu for each variable; of Σ(1 - u²) for each variable; of Σu·v for each pair of variables,
    the first of them first.
    """

    part: RegressionPart | ComponentPart
    ranges: tuple[tuple[Fraction, Fraction], ...]
    cells: Terms

    def __post_init__(self) -> None:
        size = len(self.ranges)
        if len(self.cells) != 1 + 2 * size + size * (size - 1) // 2:
            raise ValueError("every second moment is measured once")

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.cells)

    def finer(self, refinement: Mapping[str, int]) -> Self:
        return replace(self, cells=tuple((name, weight / refinement[name]) for name, weight in self.cells))


@dataclass(frozen=True, slots=True)
class Regression(SecondMomentFigure):
    """A number of the regression of the last of ``ranges``' variables on the others, by least squares."""

    part: RegressionPart

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


@dataclass(frozen=True, slots=True)
class PrincipalComponent(SecondMomentFigure):
    """A number of a principal component of the ``ranges``' variables, in their own units: the eigenvectors of their
    sample covariances."""

    part: ComponentPart

    @property
    def nonnegative(self) -> bool:
        return self.part.field is not ComponentField.LOADING

    @property
    def possible(self) -> tuple[float, float]:
        if self.part.field is ComponentField.VARIANCE:
            return 0.0, math.inf
        return (0.0 if self.nonnegative else -1.0), 1.0

    @property
    def squared(self) -> tuple[Fraction, ...]:
        return tuple((high - low) ** 2 for low, high in self.ranges)


POINT_BITS = 32
"""A coefficient of a step of a variable, where a gradient is measured, is a multiple of 2⁻³²."""
LARGEST_POINT = 1 << 39
"""The most that such a coefficient times all steps of its variable may be, in these multiples: 128."""


@dataclass(frozen=True, slots=True)
class LogisticRegression(Estimator):
    """A number of the regression of the last of ``ranges``' variables, from 0 to 1, on the others, by most likelihood.

    ``cells`` are those of a :class:`Regression` of the same variables. Then come steps: with u as there, p the chance
    that the step's coefficients give to a row, and r = y - p, each of ``gradients`` has the weighted integers of Σr and
    of Σr·u for each regressor. ``curvature`` has, at the place ``bent`` of the steps, those of Σw for w = 4p(1 - p), of
    Σw·u for each regressor, and of Σw·u·v for each pair of regressors, one that is twice the same too.

    ``points`` names, for each step, the numbers that its SQL has in the place of coefficients: that of 1, and that of
    each regressor, of which the coefficient of u is so many times the number as the variable has ``most`` steps.
    """

    part: RegressionPart
    ranges: tuple[tuple[Fraction, Fraction], ...]
    cells: Terms
    gradients: tuple[Terms, ...]
    curvature: Terms
    bent: int
    points: tuple[tuple[str, ...], ...]
    most: tuple[int, ...]

    def __post_init__(self) -> None:
        size = len(self.ranges)
        if len(self.cells) != 1 + 2 * size + size * (size - 1) // 2 or len(self.curvature) != size * (size + 1) // 2:
            raise ValueError("every second moment is measured once")
        if len(self.gradients) != len(self.points) or {len(one) for one in (*self.gradients, *self.points)} != {size}:
            raise ValueError("a gradient has a number for the constant and for each regressor")

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(name for terms in (self.cells, *self.gradients, self.curvature) for name, _ in terms)

    @property
    def is_quotient(self) -> bool:
        """Other measurements of the same rows change nothing: steps were made from its own."""
        return False

    @property
    def nonnegative(self) -> bool:
        return self.part.field is not RegressionField.COEFFICIENT

    @property
    def possible(self) -> tuple[float, float]:
        least = -math.inf if self.part.field is RegressionField.COEFFICIENT else 0.0
        return least, 1.0 if self.part.field is RegressionField.PREDICTION else math.inf

    @property
    def squared(self) -> tuple[Fraction, ...]:
        widths = [(high - low) ** 2 for low, high in self.ranges]
        return (*widths, *(max(abs(low), abs(high)) ** 2 or Fraction(1) for low, high in self.ranges))

    def finer(self, refinement: Mapping[str, int]) -> LogisticRegression:
        def of(terms: Terms) -> Terms:
            return tuple((name, weight / refinement.get(name, 1)) for name, weight in terms)

        return replace(
            self, cells=of(self.cells), gradients=tuple(map(of, self.gradients)), curvature=of(self.curvature)
        )
