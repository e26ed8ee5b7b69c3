"""Measurements of the same finest cells in several groupings: which cell of each grouping a finest cell falls into."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.inference.numeric.arrays import BoolArray, FloatArray, IntArray, measurements


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A grouping of finest cells and what was measured of each of its cells; -1 is a finest cell that is in none."""

    cells: IntArray
    values: FloatArray
    variances: FloatArray

    @property
    def size(self) -> int:
        return self.values.size

    @property
    def counts(self) -> IntArray:
        """The finest cells in each cell."""
        return np.bincount(self.cells + 1, minlength=self.size + 1)[1:]

    def sums(self, finest: FloatArray) -> FloatArray:
        """The values of the cells, if the finest cells are these."""
        sums = np.bincount(self.cells + 1, weights=finest, minlength=self.size + 1)
        return np.asarray(sums[1:], dtype=np.float64)


def checked_groupings(
    groupings: Sequence[IntArray],
    sizes: Sequence[int],
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray | float],
) -> list[Grouping]:
    """One for each grouping, all of the same finest cells; ValueError where they are not."""
    numbers, spreads = measurements(values, variances)
    if not len(groupings) == len(sizes) == len(numbers) or not groupings:
        raise ValueError(f"{len(groupings)} groupings, {len(sizes)} sizes, {len(numbers)} vectors of values")
    checked = []
    for grouping, size, number, spread in zip(groupings, sizes, numbers, spreads, strict=True):
        cells = np.asarray(grouping, dtype=np.int64)
        if cells.ndim != 1 or cells.size != len(groupings[0]) or number.shape != (size,):
            raise ValueError(f"{cells.shape} finest cells in {size} cells, with {number.shape} values")
        if cells.size and not -1 <= cells.min() <= cells.max() < size:
            raise ValueError(f"a cell outside of -1..{size - 1}")
        checked.append(Grouping(cells, number, spread))
    return checked


def bare(cells: IntArray, size: int) -> Grouping:
    """Of which nothing was measured."""
    return Grouping(np.asarray(cells, dtype=np.int64), np.zeros(size), np.full(size, np.inf))


def nested(fine: Grouping, coarse: Grouping) -> tuple[IntArray, BoolArray] | None:
    """The cell of ``coarse`` that holds each cell of ``fine``, and whether it holds more than these; None if one
    of ``fine`` is not in exactly one. An empty cell is said to be in none, -1.
    """
    parents = np.full(fine.size, -1, dtype=np.int64)
    inside = fine.cells >= 0
    parents[fine.cells[inside]] = coarse.cells[inside]
    if not np.array_equal(parents[fine.cells[inside]], coarse.cells[inside]) or (coarse.cells[inside] < 0).any():
        return None
    more = np.zeros(coarse.size, dtype=np.bool_)
    more[coarse.cells[~inside & (coarse.cells >= 0)]] = True
    return parents, more


@dataclass(frozen=True, slots=True, eq=False)
class Refinements:
    """Groupings of which each refines the one before: ``order`` lists their places, from the coarsest."""

    order: tuple[int, ...]
    parents: tuple[IntArray, ...]
    slack: tuple[BoolArray, ...]


def chain(groupings: Sequence[Grouping]) -> Refinements | None:
    """The levels of a tree, if the groupings are one. Cells without finest cells become known children of the first."""
    order = sorted(range(len(groupings)), key=lambda place: int((groupings[place].counts > 0).sum()))
    parents, slack = [np.zeros(0, dtype=np.int64)], []
    for above, below in itertools.pairwise(order):
        found = nested(groupings[below], groupings[above])
        if found is None:
            return None
        parents.append(np.maximum(found[0], 0))
        slack.append(found[1])
    return Refinements(tuple(order), tuple(parents), tuple(slack))
