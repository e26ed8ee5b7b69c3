"""Least squares over any groupings of the finest cells, by sparse matrices.

What is known exactly (variance 0) is a constraint. It enters with a large weight, and what is left of the violation is
added to the target until nothing is left: the method of multipliers (Hestenes 1969), or Bregman iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.linalg import lsmr

from dpsql.inference.arrays import FloatArray
from dpsql.inference.groupings import Grouping, nested

FIRM = 100.0
"""The weight of what is known, over the largest weight of what is measured."""

ROUNDS = 12
"""Of multipliers; each leaves at most one part in ``FIRM`` of the violation."""

NEGLIGIBLE = 1e-10
"""What a violation, or an eigenvalue, is nothing at, in units of the noise."""


class System:
    """``design @ scaled`` is what was measured, in standard deviations; ``finest = scaled * unit``.

    Units are the standard deviations that finest cells would have if the others were known: the normal equations have
    ones on their diagonal. What no measurement touches has unit 1.
    """

    __slots__ = ("design", "known", "rows", "target", "transposed", "unit", "weights")

    def __init__(self, groupings: Sequence[Grouping]) -> None:
        values = np.concatenate([g.values for g in groupings])
        variances = np.concatenate([g.variances for g in groupings])
        measured = np.isfinite(variances)
        rows = vstack([matrix(g) for g in groupings], format="csr")
        self.rows = csr_array(rows[np.flatnonzero(measured)])
        self.known = variances[measured] == 0
        self.weights = _weights(variances[measured])
        information = self.rows.T @ self.weights**2
        self.unit = 1 / np.sqrt(np.where(information > 0, information, 1.0))
        self.design = csr_array(diags_array(self.weights) @ self.rows @ diags_array(self.unit))
        self.transposed = csr_array(self.design.T)
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
        """The scaled solution of least squared distance to the target; of several, the one nearest to the start."""
        if not self.rows.shape[0]:
            return start
        rest = target - self.design @ start
        return np.asarray(start + lsmr(self.design, rest, atol=1e-12, btol=1e-12, conlim=0, maxiter=5000)[0])


def matrix(grouping: Grouping) -> csr_array:
    """A row for each cell, with ones where its finest cells are."""
    inside = np.flatnonzero(grouping.cells >= 0)
    shape = (grouping.size, grouping.cells.size)
    return csr_array((np.ones(inside.size), (grouping.cells[inside], inside)), shape=shape)


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
        rows = csr_array(matrix(grouping) @ diags_array(system.unit))
        spread = np.asarray(rows.multiply(rows @ covariance).sum(axis=1)).ravel()
        spread = np.where(spread > NEGLIGIBLE * _largest(rows), spread, 0.0)
        spreads.append(np.where(np.abs(rows @ open_ended).sum(axis=1) > 1e-6 * _largest(rows) ** 0.5, np.inf, spread))
    return spreads


def _largest(rows: csr_array) -> FloatArray:
    """For each row, the variance if all finest cells had that of their unit."""
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def _inverse(information: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The inverse, and a basis of what there is no information on."""
    size = information.shape[0]
    try:
        factor = cho_factor(information, lower=True)
        if factor[0].diagonal().min() > 1e-5:
            return cho_solve(factor, np.eye(size)), np.zeros((size, 0))
    except np.linalg.LinAlgError:
        pass
    values, vectors = eigh(information)
    informed = values > NEGLIGIBLE * max(values[-1], 1.0)
    basis = vectors[:, informed]
    return (basis / values[informed]) @ basis.T, vectors[:, ~informed]


def variance_bounds(groupings: Sequence[Grouping]) -> list[FloatArray]:
    """What posterior variances do not exceed: the variance of the cell, or of a sum of finer cells that makes it up."""
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
