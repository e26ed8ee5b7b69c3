"""Least squares over any groupings of the finest cells, by sparse matrices.

What is known exactly (variance 0) is a constraint. It enters with a large weight, and what is left of the violation is
added to the target until nothing is left: the method of multipliers (Hestenes 1969), or Bregman iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy

from dpsql.inference.numeric.arrays import BoolArray, FloatArray
from dpsql.inference.numeric.groupings import Grouping, nested

FIRM = 100.0
"""The weight of what is known, over the largest weight of what is measured."""

ROUNDS = 12
"""Of multipliers; each leaves at most one part in ``FIRM`` of the violation."""

PRECISE = 1e-9
"""What is left of a gradient, in units of the noise."""

ROUNDED = 64 * float(np.finfo(np.float64).eps)
"""The same where numbers are large in units of the noise, as a part of the largest."""

ASTRAY = 1e3
"""How much a gradient may grow on the way to nothing."""

COARSE = 1200
"""Coarse cells, at most, that are solved for directly in each step."""

RIDGE = 1e-10
"""What is added to a curvature, as a part of it."""

STEPS = 2000
"""Of conjugate gradients, at most."""

RESTARTS = 4
"""Of conjugate gradients, at most: what they take to be left drifts from what is, where coarse cells depend."""

NEGLIGIBLE = 1e-10
"""What a violation, or an eigenvalue, is nothing at, in units of the noise."""


class System:
    """``design @ scaled`` is what was measured, in standard deviations; ``finest = scaled * unit``.

    Units are the standard deviations that finest cells would have if the others were known: the normal equations have
    ones on their diagonal. What no measurement touches has unit 1.
    """

    __slots__ = ("coarse", "design", "known", "rows", "target", "transposed", "unit", "weights")

    def __init__(self, groupings: Sequence[Grouping]) -> None:
        values = np.concatenate([g.values for g in groupings])
        variances = np.concatenate([g.variances for g in groupings])
        measured = np.isfinite(variances)
        rows = scipy.sparse.vstack([matrix(g) for g in groupings], format="csr")
        self.rows = scipy.sparse.csr_array(rows[np.flatnonzero(measured)])
        self.known = variances[measured] == 0
        self.weights = _weights(variances[measured])
        information = self.rows.T @ self.weights**2
        self.unit = 1 / np.sqrt(np.where(information > 0, information, 1.0))
        self.design = scipy.sparse.csr_array(
            scipy.sparse.diags_array(self.weights) @ self.rows @ scipy.sparse.diags_array(self.unit)
        )
        self.transposed = scipy.sparse.csr_array(self.design.T)
        self.coarse = scipy.sparse.csr_array(
            scipy.sparse.vstack(_coarse(groupings), format="csr") @ scipy.sparse.diags_array(self.unit)
        )
        self.target = values[measured] * self.weights

    def solve(self, step: Callable[[FloatArray, FloatArray], FloatArray], start: FloatArray) -> FloatArray:
        """Finest cells: ``step`` moves a scaled solution nearer to a target, again where what is known is violated."""
        solution, target = start / self.unit, self.target.copy()
        for _ in range(ROUNDS):
            solution = step(solution, target)
            violation = np.where(self.known, self.target - self.design @ solution, 0.0)
            if not self.known.any() or np.abs(violation).max() <= NEGLIGIBLE * max(1.0, np.abs(self.target).max()):
                break
            target = target + violation
        return np.asarray(solution * self.unit)

    def least_squares(self, start: FloatArray, target: FloatArray) -> FloatArray:
        """The scaled solution of least squared distance to the target, from a start: by conjugate gradients."""
        everywhere = np.ones(start.size, dtype=np.bool_)
        solution = start
        precise = max(PRECISE, ROUNDED * float(np.abs(target).max(initial=0.0)))
        for _ in range(RESTARTS):
            gradient = self.transposed @ (target - self.design @ solution)
            if np.abs(gradient).max(initial=0.0) <= precise:
                break
            solution = solution + self.descend(gradient, everywhere, PRECISE)
        return solution

    def descend(self, gradient: FloatArray, free: BoolArray, precision: float) -> FloatArray:
        """The step d with ``design.T @ design @ d = gradient`` where ``free``, and 0 elsewhere.

        Conjugate gradients, until no part of the gradient is above ``precision`` in units of the noise. Coarse cells,
        which bend the most, are solved for directly in each step (A-DEF2 of Tang, Nabben, Vuik and Erlangga 2009).
        """
        # What doubles make of a gradient is no nearer than this, and steps towards less lead astray. The numbers may be
        # far larger: where they nearly agree, what is left is known to its own digits.
        precision = max(precision, ROUNDED * float(np.abs(gradient).max(initial=0.0)))
        solve = self._coarse_solver(free)
        rest = np.where(free, gradient, 0.0)
        most = ASTRAY * max(float(np.abs(rest).max(initial=0.0)), precision)
        found = solve(rest)
        rest = rest - self._bend(found, free)
        direction, length = np.zeros_like(rest), 1.0
        for _ in range(min(STEPS, 10 * rest.size)):  # in exact arithmetic, as many steps as cells are enough
            if not precision < np.abs(rest).max(initial=0.0) < most:
                break
            ahead = rest + solve(rest - self._bend(rest, free))
            length, before = float(rest @ ahead), length
            direction = ahead + (length / before) * direction
            bent = self._bend(direction, free)
            energy = float(direction @ bent)
            if energy <= 0 or length <= 0:
                break
            found = found + (length / energy) * direction
            rest = rest - (length / energy) * bent
        return found if np.isfinite(found).all() else np.zeros_like(found)

    def _bend(self, step: FloatArray, free: BoolArray) -> FloatArray:
        return np.where(free, self.transposed @ (self.design @ step), 0.0)

    def _coarse_solver(self, free: BoolArray) -> Callable[[FloatArray], FloatArray]:
        """The best step among those that move all free finest cells of a coarse cell in proportion to their units."""
        spread = scipy.sparse.csr_array(self.coarse @ scipy.sparse.diags_array(free.astype(np.float64)))
        bent = scipy.sparse.csr_array(self.design @ spread.T)
        curvature = (bent.T @ bent).toarray()
        # Groupings that add up to the same leave a direction open; whichever is taken, the step is the same.
        curvature[np.diag_indices_from(curvature)] *= 1 + RIDGE
        curvature[np.diag_indices_from(curvature)] += np.finfo(np.float64).tiny
        factor = scipy.linalg.cho_factor(curvature, lower=True, overwrite_a=True)
        back = scipy.sparse.csr_array(spread.T)
        return lambda gradient: np.asarray(back @ scipy.linalg.cho_solve(factor, spread @ gradient))


def _coarse(groupings: Sequence[Grouping]) -> list[scipy.sparse.csr_array]:
    """Rows of the coarsest measured groupings, as many as a dense matrix may have."""
    chosen, room = [scipy.sparse.csr_array((1, groupings[0].cells.size))], COARSE
    for grouping in sorted(groupings, key=lambda g: g.size):
        room -= grouping.size
        if room < 0 or 4 * grouping.size > grouping.cells.size:
            break
        if np.isfinite(grouping.variances).any():
            chosen.append(matrix(grouping))
    return chosen


def matrix(grouping: Grouping) -> scipy.sparse.csr_array:
    """A row for each cell, with ones where its finest cells are."""
    inside = np.flatnonzero(grouping.cells >= 0)
    shape = (grouping.size, grouping.cells.size)
    return scipy.sparse.csr_array((np.ones(inside.size), (grouping.cells[inside], inside)), shape=shape)


def _weights(variances: FloatArray) -> FloatArray:
    known = variances == 0
    weights = 1 / np.sqrt(np.where(known, 1.0, variances))
    firm = FIRM**0.5 * (weights[~known].max() if not known.all() else 1.0)
    return np.where(known, firm, weights)


def start(groupings: Sequence[Grouping]) -> FloatArray:
    """Finest cells to begin with: what the finest measured grouping says, spread evenly."""
    finest = max(groupings, key=lambda g: int(np.isfinite(g.variances).sum()))
    padded = np.append(finest.values / np.maximum(finest.counts, 1), 0.0)
    return np.asarray(padded[finest.cells])


def dense_variances(system: System, groupings: Sequence[Grouping]) -> list[FloatArray]:
    """Posterior variances of every cell, by the whole covariance matrix: cubic in the finest cells."""
    information = (system.transposed @ system.design).toarray()
    covariance, open_ended = _inverse(information)
    if system.known.any():
        known = system.design[np.flatnonzero(system.known)].toarray()
        moved = covariance @ known.T
        covariance = covariance - moved @ np.linalg.pinv(known @ moved, rcond=1e-9, hermitian=True) @ moved.T
    spreads = []
    for grouping in groupings:
        rows = scipy.sparse.csr_array(matrix(grouping) @ scipy.sparse.diags_array(system.unit))
        spread = np.asarray(rows.multiply(rows @ covariance).sum(axis=1)).ravel()
        spread = np.where(spread > NEGLIGIBLE * _largest(rows), spread, 0.0)
        spreads.append(np.where(np.abs(rows @ open_ended).sum(axis=1) > 1e-6 * _largest(rows) ** 0.5, np.inf, spread))
    return spreads


def _largest(rows: scipy.sparse.csr_array) -> FloatArray:
    """For each row, the variance if all finest cells had that of their unit."""
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def _inverse(information: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The inverse, and a basis of what there is no information on."""
    size = information.shape[0]
    try:
        factor = scipy.linalg.cho_factor(information, lower=True)
        if factor[0].diagonal().min() > 1e-5:
            return scipy.linalg.cho_solve(factor, np.eye(size)), np.zeros((size, 0))
    except np.linalg.LinAlgError:
        pass
    values, vectors = scipy.linalg.eigh(information)
    informed = values > NEGLIGIBLE * max(values[-1], 1.0)
    basis = vectors[:, informed]
    return (basis / values[informed]) @ basis.T, vectors[:, ~informed]


def variance_bounds(groupings: Sequence[Grouping]) -> list[FloatArray]:
    """Upper bounds of posterior variances: the variance of the cell, or of a sum of finer cells that makes it up."""
    bounds = []
    for coarse in groupings:
        bound = np.where(coarse.counts > 0, coarse.variances, 0.0)
        for fine in groupings:
            found = nested(fine, coarse)
            if fine is coarse or found is None:
                continue
            parents, more = found
            some = parents >= 0
            sums = np.bincount(parents[some], weights=fine.variances[some], minlength=coarse.size)
            bound = np.where(more, bound, np.minimum(bound, sums))
        bounds.append(bound)
    return bounds
