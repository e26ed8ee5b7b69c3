"""The nearest numbers that are possible: none negative, parts that add up to their whole, steps that do not go down.

Every function here moves estimates by no more than it must, in the metric of their variances. It is applied after
`least_squares`, never before: numbers that were clamped first and added up afterwards are biased.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy

from dpsql.inference.numeric.arrays import (
    FloatArray,
    IntArray,
    checked_parents,
    measurements,
    total,
)
from dpsql.inference.numeric.groupings import Grouping, checked_groupings
from dpsql.inference.numeric.interior import interior
from dpsql.inference.numeric.nonnegative import nonnegative
from dpsql.inference.numeric.sparse import System, start

MANY = 500
"""Measured cells; with more, finest cells are found from inside of the possible ones, not by guesses of which are 0."""

WIDEST = 1e9
"""Variances of one family are taken to be no farther apart than this: what is known moves a billionth part."""


def simplex(values: FloatArray, total: float, weights: FloatArray | None = None) -> FloatArray:
    """The non-negative vector x with Σx = total that is nearest: least Σ weights·(x - values)².

    A non-negative vector that has the sum already stays as it is.

    >>> simplex([5.0, 1.0, -2.0], 4.0).tolist(), simplex([2.0, 2.0], 4.0).tolist()
    ([4.0, 0.0, 0.0], [2.0, 2.0])
    """
    number = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(number).all() and np.isfinite(total)):
        raise ValueError("only finite numbers can be projected")
    if total < 0 or (total > 0 and not number.size):
        raise ValueError(f"{number.size} non-negative numbers cannot add up to {total}")
    weight = np.ones_like(number) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != number.shape or not (weight >= 0).all():
        raise ValueError("weights are as many as values, and none is negative")
    with np.errstate(divide="ignore"):
        variance = 1 / weight
    return simplices(np.zeros(number.size, dtype=np.int64), number, variance, np.array([float(total)]))


def top_down(
    parents: Sequence[IntArray],
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray | float],
) -> list[FloatArray]:
    """A tree without negative numbers, in which the children of every node still add up to it.

    From the roots down, each moved to 0 if it is below: the children of a node become the nearest non-negative numbers
    whose sum it is. Levels are those of :func:`dpsql.inference.numeric.least_squares.tree`, and so are values and
    variances.

    >>> [level.tolist() for level in top_down([[], [0, 0]], [[3.0], [5.0, -2.0]], [[1.0], [1.0, 1.0]])]
    [[3.0], [3.0, 0.0]]
    """
    numbers = [np.asarray(level, dtype=np.float64) for level in values]
    _, spreads = measurements([np.zeros_like(level) for level in numbers], variances)
    places = checked_parents(parents, [level.size for level in numbers])
    possible = [np.maximum(numbers[0], 0.0)]
    for place, number, spread in zip(places[1:], numbers[1:], spreads[1:], strict=True):
        possible.append(simplices(place, number, spread, possible[-1]))
    return possible


def nonnegative_lattice(
    groupings: Sequence[IntArray],
    sizes: Sequence[int],
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray | float],
    total: float | None = None,
) -> FloatArray:
    """The non-negative finest cells nearest to all measurements: least Σ (cell's sum - value)² / variance.

    Their sum is ``total``, where one is given. Groupings, values and variances are those of
    :func:`dpsql.inference.numeric.least_squares.lattice`; sums of the result are consistent over all groupings. To a
    millionth of the noise, or a thousandth where more than ``MANY`` were measured; where several are as near, one of
    them, and the same each time.

    >>> nonnegative_lattice([[0, 0], [0, 1]], [1, 2], [[3.0], [4.0, -2.0]], [1.0, 1.0]).round(3).tolist()
    [3.5, 0.0]
    """
    measured = checked_groupings(groupings, sizes, values, variances)
    if total is not None:
        if not (np.isfinite(total) and total >= 0) or (total > 0 and not measured[0].cells.size):
            raise ValueError(f"{measured[0].cells.size} non-negative numbers cannot add up to {total}")
        everything = np.zeros(measured[0].cells.size, dtype=np.int64)
        measured.append(Grouping(everything, np.array([float(total)]), np.zeros(1)))
    if not measured[0].cells.size:
        return np.zeros(0)
    system, first = System(measured), start(measured)
    finest = system.solve(system.least_squares, first)
    if finest.min() < 0:
        scaled = interior(system, first / system.unit) if system.target.size > MANY else None
        finest = _by_guesses(system, finest) if scaled is None else scaled * system.unit
    return finest if total is None else simplex(finest, float(total), system.unit**-2)


def _by_guesses(system: System, finest: FloatArray) -> FloatArray:
    return np.maximum(system.solve(partial(nonnegative, system), np.maximum(finest, 0.0)), 0.0)


def simplices(families: IntArray, values: FloatArray, variances: FloatArray, wholes: FloatArray) -> FloatArray:
    """For every family at once, the nearest non-negative numbers that add up to its whole.

    They are max(0, value - τ·variance) for the root τ of a sum that is convex and falls in τ: Newton's method comes
    from below and never passes it (Michelot 1986); each step drops the members that became negative. Families do not
    mix in any sum, so that a large one costs a small one no digits.
    """
    size = wholes.size
    spread = _bounded(families, variances, size)
    stay, settled = wholes[families] > 0, np.zeros_like(values)
    while True:
        inside = stay
        room = total(families, np.where(inside, spread, 0.0), size)
        excess = total(families, np.where(inside, values, 0.0), size) - wholes
        some = np.where(room > 0, room, 1.0)
        moved = values - np.where(room > 0, excess / some, 0.0)[families] * spread
        stay = inside & (moved > 0)
        # Where the whole is lost in the rounding of its parts, they share it.
        lost = inside & (total(families, stay.astype(np.float64), size) == 0)[families]
        settled = np.where(lost, (wholes / some)[families] * spread, settled)
        if np.array_equal(stay, inside):
            return np.where(stay, moved, settled)


def _bounded(families: IntArray, variances: FloatArray, size: int) -> FloatArray:
    """Variances relative to the largest finite one of the family; those that are inf, or 0, within ``WIDEST`` of it."""
    finite = np.isfinite(variances)
    largest = np.zeros(size)
    np.maximum.at(largest, families[finite], variances[finite])
    unit = np.where(largest > 0, largest, 1.0)[families]
    relative = np.where(finite, variances / unit, WIDEST)
    return np.asarray(np.maximum(relative, 1 / WIDEST))


def monotone(
    values: FloatArray, weights: FloatArray | None = None, low: float | None = None, high: float | None = None
) -> FloatArray:
    """The numbers nearest to ``values`` of which none is below the one before it, all of them in [low, high].

    Isotonic regression: least Σ weights·(x - values)² (Barlow et al. 1972). Moving its result into the range gives the
    nearest that is monotone and in the range.

    >>> monotone([1.0, 4.0, 2.0, -1.0, 9.0], low=0.0, high=8.0).round(2).tolist()
    [1.0, 1.67, 1.67, 1.67, 8.0]
    """
    number = np.asarray(values, dtype=np.float64)
    if low is not None and high is not None and low > high:
        raise ValueError(f"nothing is in [{low}, {high}]")
    if weights is not None and not (np.isfinite(weights).all() and (np.asarray(weights) > 0).all()):
        raise ValueError("weights are positive and finite")
    if number.size:
        number = np.asarray(scipy.optimize.isotonic_regression(number, weights=weights).x, dtype=np.float64)
    return np.clip(number, low, high) if low is not None or high is not None else number
