"""How well made-up rows answer: their counts and means beside the released ones, with error bars.

Guarantee: everything is computed from released counts and made-up rows; the truth is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpsql.synthetic.attributes import Attribute
from dpsql.synthetic.marginals import ReleasedCounts, best


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts by some columns. ``margin`` is the 95 % error of a released count; 95 % of the counts
    of made-up rows, scaled to as many rows as were measured, are within ``off`` of the released ones."""

    names: tuple[str, ...]
    groups: int
    margin: float
    off: float


@dataclass(frozen=True, slots=True)
class MeanCompared:
    """The mean of a column by the released counts of its cells, each at its middle, and by made-up rows in the same
    cells; ``margin`` is the 95 % error of the first for noise, ``width`` is half of the widest cell."""

    name: str
    released: float
    margin: float
    width: float
    made_up: float


def compared(
    attributes: Sequence[Attribute],
    cliques: Sequence[Sequence[str]],
    measured: Sequence[ReleasedCounts],
    cells: Mapping[str, np.ndarray],
) -> list[Comparison]:
    """The released counts by each of the ``cliques``, beside made-up rows."""
    sizes = {one.name: one.cells for one in attributes}
    return [_compared(best(measured, names), sizes, cells) for names in cliques]


def _compared(one: ReleasedCounts, sizes: Mapping[str, int], cells: Mapping[str, np.ndarray]) -> Comparison:
    made = np.zeros(tuple(sizes[name] for name in one.names))
    np.add.at(made, tuple(cells[name] for name in one.names), 1)
    made *= max(float(one.numbers.sum()), 0.0) / made.sum()
    off = float(np.quantile(np.abs(made - one.numbers), 0.95, method="higher"))
    return Comparison(one.names, one.numbers.size, one.margin, off)


def means(
    attributes: Sequence[Attribute], measured: Sequence[ReleasedCounts], cells: Mapping[str, np.ndarray]
) -> Iterator[MeanCompared]:
    """The mean of each column of numbers."""
    for one in attributes:
        middles = one.middles
        if middles is None:
            continue
        many = len(middles)
        released = best(measured, (one.name,))
        at, counts = np.asarray(middles), released.numbers[:many]
        total, made = float(counts.sum()), cells[one.name][cells[one.name] < many]
        if total <= 0 or not len(made):
            continue
        mean = float(counts @ at) / total
        margin = float(np.linalg.norm(at - mean)) * released.margin / total
        ends = [float(edge) for edge in one.edges]
        width = max((high - low for low, high in pairwise(ends)), default=0.0) / 2
        yield MeanCompared(one.name, mean, margin, width, float(at[made].mean()))
