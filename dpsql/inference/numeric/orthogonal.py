"""Least squares in closed form where groupings are balanced and cross each other evenly, as in a full CUBE.

Why it is worth a file: the answer is exact at any size, variances too, in a few passes over the finest cells. The
groupings of a full cross product form an orthogonal block structure (Speed and Bailey 1982): projections onto them
commute, so that the normal equations are diagonal between the *strata* that they have in common. The marginals of a
cube, with one variance each (McKenna, Miklau, Hay and Machanavajjhala 2018), are an instance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from dpsql.inference.numeric.arrays import BoolArray, FloatArray
from dpsql.inference.numeric.groupings import Grouping, bare, nested

MOST = 64
"""Strata to look for; a cube of six dimensions has as many."""


def orthogonal(groupings: Sequence[Grouping]) -> tuple[list[FloatArray], list[FloatArray]] | None:
    """Estimates and posterior variances of every grouping; None where this is no orthogonal block structure.

    The groupings must each have one variance, above 0, and cells of one size; every finest cell must be in one.
    """
    if not groupings[0].cells.size or not all(map(_balanced, groupings)):
        return None
    strata = _closure(groupings)
    if strata is None:
        return None
    coarser = np.array([[nested(fine, coarse) is not None for coarse in strata] for fine in strata])
    weights = _weights(groupings, strata)
    estimate = _estimate(groupings, strata, coarser, weights)
    dimensions = _dimensions(strata, coarser)
    posterior = [_posterior(grouping, strata, weights, dimensions) for grouping in groupings]
    return [g.sums(estimate) for g in groupings], [
        np.full(g.size, p) for g, p in zip(groupings, posterior, strict=True)
    ]


def _balanced(grouping: Grouping) -> bool:
    counts, spread = grouping.counts, grouping.variances
    return bool(counts.min() == counts.max() > 0 and spread[0] > 0 and (spread == spread[0]).all()) and bool(
        (grouping.cells >= 0).all()
    )


def _closure(groupings: Sequence[Grouping]) -> list[Grouping] | None:
    """Groupings and what they have in common, from the coarsest; None where two of them do not cross evenly."""
    strata: list[Grouping] = []
    waiting = list(groupings)
    while waiting:
        new = waiting.pop()
        if any(_same(new, old) for old in strata):
            continue
        for old in strata:
            common = _common(new, old)
            if common is None or len(strata) >= MOST:
                return None
            waiting.append(common)
        strata.append(new)
    return sorted(strata, key=lambda stratum: stratum.size)


def _same(one: Grouping, other: Grouping) -> bool:
    return one.size == other.size and nested(one, other) is not None


def _common(one: Grouping, other: Grouping) -> Grouping | None:
    """The finest grouping that both refine, if within each of its cells all their cells meet alike, else None."""
    if nested(one, other) is not None:
        return other
    if nested(other, one) is not None:
        return one
    met, counts = np.unique(one.cells * other.size + other.cells, return_counts=True)
    here, there = np.divmod(met, other.size)
    size = one.size + other.size
    links = scipy.sparse.coo_array((np.ones(met.size), (here, one.size + there)), shape=(size, size))
    number, labels = scipy.sparse.csgraph.connected_components(links, directed=False)
    evenly = met.size * number == one.size * other.size and (counts == counts[0]).all()
    common = bare(labels[one.cells], number)
    return common if evenly and _balanced_cells(common) else None


def _balanced_cells(grouping: Grouping) -> bool:
    return bool(grouping.counts.min() == grouping.counts.max())


def _weights(groupings: Sequence[Grouping], strata: Sequence[Grouping]) -> list[float]:
    """The information on each stratum: that of all groupings that refine it."""
    information = [(g.cells.size / g.size) / float(g.variances[0]) for g in groupings]
    return [
        sum(amount for g, amount in zip(groupings, information, strict=True) if nested(g, stratum) is not None)
        for stratum in strata
    ]


def _estimate(
    groupings: Sequence[Grouping], strata: Sequence[Grouping], coarser: BoolArray, weights: Sequence[float]
) -> FloatArray:
    """The finest cells: what each stratum adds to the coarser ones, over its information."""
    measured = [g for g in groupings if np.isfinite(g.variances[0])]
    start = np.zeros(groupings[0].cells.size)
    if measured:  # only small numbers are left to be averaged, and no digits are lost
        finest = max(measured, key=lambda g: g.size)
        start = (finest.values * (finest.size / start.size))[finest.cells]
    pull = np.zeros_like(start)
    for g in measured:
        pull += ((g.values - g.sums(start)) / g.variances)[g.cells]
    own: list[FloatArray] = []
    correction = np.zeros_like(start)
    for place, (stratum, weight) in enumerate(zip(strata, weights, strict=True)):
        part = stratum.sums(pull) * (stratum.size / start.size)
        first = np.zeros(stratum.size, dtype=np.int64)
        first[stratum.cells] = np.arange(start.size)
        for other in np.flatnonzero(coarser[place, :place]).tolist():
            part -= own[other][strata[other].cells[first]]
        own.append(part)
        if weight > 0:
            correction += (part / weight)[stratum.cells]
    return start + correction


def _dimensions(strata: Sequence[Grouping], coarser: BoolArray) -> list[int]:
    """Of what each stratum adds to the coarser ones."""
    dimensions: list[int] = []
    for place, stratum in enumerate(strata):
        dimensions.append(
            stratum.size - sum(dimensions[other] for other in np.flatnonzero(coarser[place, :place]).tolist())
        )
    return dimensions


def _posterior(
    grouping: Grouping, strata: Sequence[Grouping], weights: Sequence[float], dimensions: Sequence[int]
) -> float:
    """Of one of its cells, all of which are alike: the trace over the cells."""
    below = 0.0
    for stratum, weight, dimension in zip(strata, weights, dimensions, strict=True):
        if dimension and nested(grouping, stratum) is not None:
            below += dimension / weight if weight > 0 else np.inf
    return below * (grouping.cells.size / grouping.size) / grouping.size
