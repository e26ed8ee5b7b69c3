"""The best linear unbiased estimates of numbers of which some are sums of others, from measurements with noise.

Generalised least squares with the true variances (Aitken 1935); for trees the two passes of Hay, Rastogi, Miklau and
Suciu 2010, for any variances. Estimates add up: every total is the sum of its parts, up to the rounding of doubles.
No estimate is moved into a range here: what is clamped before it is added up is biased (`projection`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpsql.inference.numeric.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    checked_parents,
    checked_slack,
    measurements,
    total,
)
from dpsql.inference.numeric.groupings import Grouping, Refinements, chain, checked_groupings
from dpsql.inference.numeric.orthogonal import orthogonal
from dpsql.inference.numeric.sparse import System, dense_variances, start, variance_bounds

FAR = 60.0
"""Standard deviations that no noise reaches in any lifetime: Laplace noise is farther off with probability e⁻⁸⁴."""

DENSE = 1000
"""Finest cells up to which posterior variances are computed from the whole covariance matrix."""


def tree(
    parents: Sequence[IntArray],
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray | float],
    slack: Sequence[BoolArray] | None = None,
) -> tuple[list[FloatArray], list[FloatArray]]:
    """The unbiased linear estimates of least variance, and these variances, where nodes are sums of their children.

    Levels go from the coarsest to the leaves; ``parents[level][i]`` is the place in the level above of the parent of
    node i, and ``parents[0]`` is empty. The noises are independent. A variance of inf says that a node is not measured,
    and 0 that it is known. A node above the leaves that has no children is the sum of nothing: 0, and known.

    ``slack[level][i]`` says that node i has more than its children here, namely groups that are not shown: then the
    children say nothing of it, nor it of them. What nothing determines has the variance inf, and values that add up.

    >>> estimates, spreads = tree([[], [0, 0]], [[12.0], [5.0, 4.0]], [[1.0], [1.0, 1.0]])
    >>> [level.round(2).tolist() for level in estimates], [level.round(2).tolist() for level in spreads]
    ([[11.0], [6.0, 5.0]], [[0.67], [0.67, 0.67]])
    """
    own, noise = measurements(values, variances)
    sizes = [level.size for level in own]
    places = checked_parents(parents, sizes)
    hidden = checked_slack(slack, sizes)
    families: list[_Family] = []
    up, spread = own[-1], noise[-1]
    for level in range(len(own) - 2, -1, -1):
        families.append(_Family(places[level + 1], up, spread, hidden[level]))
        up, spread = _combine(own[level], noise[level], families[-1].sum, families[-1].spread)
    estimates, posterior = [up], [spread]
    for family in reversed(families):
        up, spread = family.share(up, spread)
        estimates.append(up)
        posterior.append(spread)
    return estimates, posterior


def lattice(
    groupings: Sequence[IntArray],
    sizes: Sequence[int],
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray | float],
) -> tuple[list[FloatArray], list[FloatArray]]:
    """The unbiased linear estimates of least variance for every grouping, and variances, where groupings cross.

    ``groupings[s][i]`` is the cell of grouping s, of ``sizes[s]``, that the finest cell i falls into. Finest cells need
    not be measured. A cell of -1 says that i is in no cell of s: rows that the others count and s does not show. The
    noises are independent; a variance of inf says that a cell is not measured, and 0 that it is known. A cell that no
    finest cell falls into is 0. Where nothing determines a cell, its variance is inf and its value only adds up.

    The variances are those of the estimates where groupings are a chain (it is a `tree`), where they cross evenly with
    one variance each, and up to ``DENSE`` finest cells. Else they are upper bounds: what the cell was measured with, or
    a sum of finer cells.

    >>> rows, columns = [0, 0, 1, 1], [0, 1, 0, 1]
    >>> estimates, spreads = lattice([rows, columns], [2, 2], [[10.0, 20.0], [16.0, 18.0]], [1.0, 1.0])
    >>> [level.round(2).tolist() for level in estimates], [level.round(2).tolist() for level in spreads]
    ([[11.0, 21.0], [15.0, 17.0]], [[0.75, 0.75], [0.75, 0.75]])
    """
    measured = checked_groupings(groupings, sizes, values, variances)
    if not measured[0].cells.size:
        return [np.zeros(g.size) for g in measured], [np.zeros(g.size) for g in measured]
    line = chain(measured)
    if line is not None:
        return _along(line, measured)
    closed = orthogonal(measured)
    if closed is not None:
        return closed
    system = System(measured)
    finest = system.solve(system.least_squares, start(measured))
    small = finest.size <= DENSE
    return [g.sums(finest) for g in measured], dense_variances(system, measured) if small else variance_bounds(measured)


class Unsolved(ArithmeticError):
    """The estimates are so far from the measurements that no noise can explain it: doubles do not suffice for them."""


def check_reach(
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray],
    found: Sequence[FloatArray],
    *,
    room: float = 0.0,
) -> None:
    """Raise :class:`Unsolved` where a number is farther from its measurement than the noise reaches, and ``room``.

    >>> check_reach([np.array([5.0])], [np.array([1e-6])], [np.array([5.001])])
    >>> check_reach([np.array([5.0])], [np.array([1e-6])], [np.array([6.0])])
    Traceback (most recent call last):
    dpsql.inference.numeric.least_squares.Unsolved
    """
    for measured, variance, number in zip(values, variances, found, strict=True):
        told = np.isfinite(variance)
        far = FAR * np.sqrt(variance[told]) + room + 1e-6 * (1 + np.abs(measured[told]))
        if not (np.abs(number[told] - measured[told]) <= far).all():
            raise Unsolved


def _along(line: Refinements, groupings: Sequence[Grouping]) -> tuple[list[FloatArray], list[FloatArray]]:
    """By a tree. Cells that nothing falls into are known to be 0."""
    levels = [groupings[place] for place in line.order]
    values = [np.where(level.counts > 0, level.values, 0.0) for level in levels]
    variances = [np.where(level.counts > 0, level.variances, 0.0) for level in levels]
    estimates, spreads = tree(line.parents, values, variances, line.slack)
    back = np.argsort(line.order)
    return [estimates[place] for place in back], [spreads[place] for place in back]


class _Family:
    """Nodes of one level by their parents: what was learned below them, before anything from above."""

    __slots__ = ("finite", "hidden", "parents", "spread", "sum", "unknown", "values", "variances")

    def __init__(self, parents: IntArray, values: FloatArray, variances: FloatArray, hidden: BoolArray) -> None:
        self.parents, self.values, self.variances, self.hidden = parents, values, variances, hidden
        open_ended = np.isinf(variances)
        self.sum = total(parents, values, hidden.size)
        self.finite = total(parents, np.where(open_ended, 0.0, variances), hidden.size)
        self.unknown = total(parents, open_ended.astype(np.float64), hidden.size)
        self.spread = np.where((self.unknown > 0) | hidden, np.inf, self.finite)

    def share(self, estimates: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimates and variances of the children, when those of the parents are final.

        Given the parent, a child is independent of all that is not below the parent. What the parent differs by from
        the sum of its children goes to them in proportion to their variances.
        """
        gain = self._gains()
        inherited = variances[self.parents]
        with np.errstate(invalid="ignore"):
            kept = self.variances * (1 - gain) + np.where(gain > 0, gain**2 * inherited, 0.0)
        only = np.isinf(self.variances) & (gain == 1.0)
        rest = np.where(only, self.finite[self.parents] + inherited, np.inf)
        spread = np.where(np.isinf(self.variances), rest, kept)
        return self.values + gain * (estimates - self.sum)[self.parents], np.maximum(spread, 0.0)

    def _gains(self) -> FloatArray:
        """The child's part of what its parent differs by; alike where all children are known, or several are not."""
        unknown, finite = self.unknown[self.parents], self.finite[self.parents]
        siblings = total(self.parents, np.ones_like(self.values), self.hidden.size)[self.parents]
        among_known = np.where(finite > 0, self.variances / np.where(finite > 0, finite, 1.0), 1 / siblings)
        among_unknown = np.isinf(self.variances) / np.maximum(unknown, 1.0)
        gain = np.where(unknown > 0, among_unknown, among_known)
        return np.where(self.hidden[self.parents], 0.0, gain)


def _combine(
    value: FloatArray, variance: FloatArray, other: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Two independent estimates by inverse variance; of two that are known, the first."""
    weight = _weight(variance, spread)
    combined = other + weight * (value - other)
    with np.errstate(invalid="ignore"):
        return combined, np.where(np.isinf(variance), spread, weight * variance)


def _weight(variance: FloatArray, spread: FloatArray) -> FloatArray:
    """Of the first of two estimates."""
    known = (variance == 0) | (np.isinf(spread) & np.isfinite(variance))
    decided = known | np.isinf(variance)
    weight = np.where(decided, 0.0, spread) / np.where(decided, 1.0, variance + spread)
    return np.where(known, 1.0, weight)
