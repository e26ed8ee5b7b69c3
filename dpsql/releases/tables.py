"""The three tables of a release, one type per stage: exact (secret), noisy, released.

``engine.run`` alone makes an :class:`ExactTable`, ``perturb`` alone turns it into a :class:`NoisyTable`,
and everything after works on the latter, so a type error is what a leak looks like here. Every column is a sequence;
those of large tables are an :class:`IntegerColumn` or a :class:`ValueColumn`, and their keys :class:`ColumnarRows`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpsql.releases.noise import Additive, Noise
from dpsql.releases.value_column import ValueColumn
from rewriter.declared import Scalar, Type

Key = tuple[Scalar | None, ...]

Rank = tuple[int, int, int, int]
"""A lattice value, the weight at it, the weight below it, the weight of the whole group."""


ReportDraws = Callable[[object, int], NDArray[np.float64]]
"""Of what people reported, by what names it, standard normal numbers for so many groups: always the same ones."""


@dataclass(frozen=True, slots=True, repr=False)
class ExactTable:
    """Secret: the engine's exact integers, a row per group, in the order of the keys.

    ``statistics`` maps the name of each statistic (and of the selection weight) to one integer per key, in a column
    whose width follows from what the plan declares.
    ``ranks`` has, for each choice, the ranks of the values of each group in which there are any, lowest value first.
    It has no representation, so that no log or traceback shows it.
    """

    keys: Sequence[Key]
    statistics: Mapping[str, Sequence[int]]
    ranks: Mapping[str, Mapping[Key, Sequence[Rank]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "ExactTable(secret)"


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """Releasable: the groups that may be named, and their noisy integers with the noise of each statistic.

    ``chosen`` are the lattice values that were picked for each choice: a column for each fraction, then two for each of
    them, of values below and above it. None where there are too few people, or nothing was picked. ``picking`` says how
    far each choice is off, and the picks of groups. ``reports``, of a replicate, draws what
    people reported once more. ``periods``, of a series, number the period that each group was measured in: a period
    that is kept is shown as it was, so what is shown of it may follow from no other. ``noises`` are those of each
    period, of which ``noise`` has the widest.
    """

    keys: Sequence[Key]
    statistics: Mapping[str, Sequence[int]]
    noise: Mapping[str, Additive]
    chosen: Mapping[str, tuple[tuple[int | None, ...], ...]] = field(default_factory=dict)
    picking: Mapping[str, Noise] = field(default_factory=dict)
    reports: ReportDraws | None = field(default=None, compare=False)
    periods: Sequence[int] | None = None
    noises: Sequence[Mapping[str, Additive]] = ()

    def beside(self, later: NoisyTable) -> NoisyTable:
        """With what was measured of the same groups later."""
        if not self.noise and not self.keys:
            return later
        if list(self.keys) != list(later.keys):
            raise AssertionError("the groups of a step are those of the first")
        return replace(self, statistics={**self.statistics, **later.statistics}, noise={**self.noise, **later.noise})


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """One finished column: a value per group, and the half-width of its 95 % interval (None: a key, or not known).

    ``reaches``, of a mean: how far below and above the value the interval goes. ``estimates``, of sums: what they were,
    unbiased, before those that agree with others were moved to where none is below 0, or others were made whole.
    """

    name: str
    type: Type
    values: Sequence[Scalar | None]
    margins: Sequence[float] | None = None
    reaches: Sequence[tuple[float, float]] | None = None
    estimates: Sequence[float] | None = None

    @property
    def column(self) -> ValueColumn:
        return ValueColumn.of(self.type, self.values)


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """A table as the outer SELECT sees it: key columns first, then outputs, rows sorted by key.

    ``shrunk``: by what the standard deviation of a row's noise is multiplied, where other measurements joined in.
    """

    columns: tuple[ReleasedColumn, ...]
    shrunk: Sequence[float] | None = None

    @property
    def rows(self) -> int:
        return len(self.columns[0].values) if self.columns else 0
