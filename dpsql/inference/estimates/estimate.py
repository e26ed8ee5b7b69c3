"""The privacy's half of an estimator: values, intervals and expected errors, one class for each kind of column."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dpsql.inference.estimates.parts import Column
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.numeric import FloatArray
from dpsql.mechanisms.quantiles import Pick
from dpsql.releases import Additive, Noise, NoisyTable, ReleasedColumn
from rewriter.plan import Estimator, Output, Plan

E = TypeVar("E", bound=Estimator)
Noises = Mapping[str, Additive]
Picks = Mapping[str, Pick]
"""How values are picked, by the names of their choices."""


@dataclass(frozen=True, slots=True)
class Groups:
    """What a release's outputs are finished from.

    ``parts`` are finished parts; None to leave measurements as they are. ``sides`` has, by the name of a mean or a
    moment, the statistics that it is made of, in steps, where other measurements joined in, and ``shrunk`` is what the
    standard deviations of the cells are multiplied by then.
    """

    noisy: NoisyTable
    plan: Plan
    parts: Sequence[Column] | None
    sides: Mapping[str, tuple[FloatArray, ...]]
    shrunk: FloatArray | None


@dataclass(frozen=True, slots=True)
class Estimate(ABC, Generic[E]):
    """One kind of column. ``assumed`` says of its expected error what a nominal group holds, where nothing tells how
    its values are spread; ``word`` is what it is, and ``foretold`` says of what the expected error of a regression is,
    in the place of that."""

    estimator: E
    assumed = ""
    word = "mean"
    foretold = ""

    @abstractmethod
    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        """The values of every group, and how far the true ones may be."""

    @abstractmethod
    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float | None:
        """The 95 % half-width to expect; of a mean, the most it may be in a group of so many rows. A mode has none.
        ``spread``: how the values of its column lie, where that is known."""

    def nominal_size(self, plan: Plan, rows: int) -> float:
        """How large a value is in a group of so many people, by public facts."""
        return 1.0

    def found_errors(self, column: ReleasedColumn) -> list[float]:
        """The half-widths of released values that depend on the data; none where the noise alone decides them."""
        return [width for width in column.margins or () if width is not None and math.isfinite(width)]

    def error_unit(self, picking: Mapping[str, Noise], noise: Noises, rows: int) -> float:
        """What found errors are measured in: the error of a group of so many rows, or how far a choice is
        off; 0 where there are none."""
        return self.expected_half_width(noise, {}, rows) or 0.0
