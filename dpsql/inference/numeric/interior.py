"""Least squares over many non-negative finest cells, by a primal-dual interior-point method (Mehrotra 1992).

Why: with thousands of cells whose sums overlap, guesses of the set of zeros go round in circles, and many cells may be
traded for others at no cost. Here the number of steps hardly depends on either. Each step solves for as many numbers as
there are independent measurements, which are far fewer than cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from dpsql.inference.numeric.arrays import FloatArray
from dpsql.inference.numeric.sparse import System

STEPS = 60
"""At most; some 15 are usual."""

GAP = 5e-7
"""How far half the squared distance may be above the least: no sum is farther off than a thousandth of its noise."""

MISSING = 1e-3
"""How far sums may be from those that the slopes are of, in units of the noise."""

INSIDE = 0.995
"""The part of the way to the nearest bound that a step goes at most."""

DEPENDENT = 1e-9
"""What is left of a row beside the others, as a part of the largest, that counts as nothing."""

RIDGE = 1e-12
"""What is added to each number on the diagonal of equations that rounding makes indefinite, as a part of it."""

MOST = 4000
"""The most measured cells that are compared, each with each."""


@dataclass(frozen=True, slots=True, eq=False)
class _Independent:
    """Measurements of which none follows from others: ``rows`` times the solution, with noise of this covariance."""

    rows: scipy.sparse.csr_array
    target: FloatArray
    covariance: FloatArray


def interior(system: System, start: FloatArray) -> FloatArray | None:
    """The scaled non-negative vector of least squared distance to the system's target, within ``GAP``.

    What is known exactly holds to rounding. Of several vectors that are as near, one with few zeros is taken. None
    where there are too many measurements, or no solution was found.
    """
    if not 0 < system.target.size <= MOST:
        return None
    try:
        return _solve(_independent(system), start)
    except np.linalg.LinAlgError:
        return None


def _independent(system: System) -> _Independent:
    """The same information in fewer measurements: a total whose parts are measured makes these more accurate."""
    measured, known = np.flatnonzero(~system.known), np.flatnonzero(system.known)
    design = system.design[measured]
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf((design @ design.T).toarray(), tol=DEPENDENT, lower=1)
    order = pivots - 1
    chosen = np.tril(factor[:, :rank])
    # Every measured row is a combination of the first ``rank`` in this order.
    combined = scipy.linalg.solve_triangular(chosen[:rank], chosen.T, lower=True, trans="T").T
    covariance = scipy.linalg.cho_solve(scipy.linalg.cho_factor(combined.T @ combined), np.eye(rank))
    target = covariance @ (combined.T @ system.target[measured[order]])
    rows = scipy.sparse.vstack([design[order[:rank]], system.design[known]], format="csr")
    whole = np.zeros((rank + known.size, rank + known.size))
    whole[:rank, :rank] = covariance
    return _Independent(scipy.sparse.csr_array(rows), np.append(target, system.target[known]), whole)


@dataclass(frozen=True, slots=True, eq=False)
class _Newton:
    """The linear equations of one step, solved once: from a solution, its slack (the slope of the distance, positive as
    well), what measurements are ``missing`` and how ``uneven`` slopes are."""

    rows: scipy.sparse.csr_array
    solution: FloatArray
    slack: FloatArray
    missing: FloatArray
    uneven: FloatArray
    factor: tuple[FloatArray, bool]

    def step(self, products: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of the solution, the weights and the slack, so that solution * slack grows by these products."""
        first = (products + self.solution * self.uneven) / self.slack
        weights = scipy.linalg.cho_solve(self.factor, self.missing - self.rows @ first)
        pulled = self.rows.T @ weights
        return first + self.solution / self.slack * pulled, weights, -self.uneven - pulled


def _solve(measured: _Independent, start: FloatArray) -> FloatArray | None:
    """Newton steps towards ``solution * slack = 0``, each aimed a little inside so that the next can be long."""
    rows, back = measured.rows, scipy.sparse.csr_array(measured.rows.T)
    solution, slack, weights = np.maximum(start, 1.0), np.ones_like(start), np.zeros_like(measured.target)
    for _ in range(STEPS):
        missing = measured.target - rows @ solution - measured.covariance @ weights
        gap = float(solution @ slack)
        if gap <= GAP and np.abs(missing).max() <= MISSING:
            return np.asarray(solution)
        spread = (rows @ scipy.sparse.diags_array(solution / slack) @ back).toarray() + measured.covariance
        newton = _Newton(rows, solution, slack, missing, slack + back @ weights, _factor(spread))
        ahead, _, steeper = newton.step(-solution * slack)
        reached = (solution + _room(solution, ahead) * ahead) @ (slack + _room(slack, steeper) * steeper)
        centre = (float(reached) / gap) ** 3 * gap / solution.size
        ahead, turned, steeper = newton.step(centre - solution * slack - ahead * steeper)
        length = INSIDE * min(_room(solution, ahead), _room(slack, steeper))
        solution, weights, slack = solution + length * ahead, weights + length * turned, slack + length * steeper
    return None


def _factor(spread: FloatArray) -> tuple[FloatArray, bool]:
    """The Cholesky factor of a step's equations, with a ``RIDGE`` where rounding leaves them indefinite.

    Near the solution, parts that are not held at 0 outweigh the others beyond a double's digits. A ridge makes the step
    inexact; the next one is aimed at whatever measurements it missed.
    """
    try:
        factor, lower = scipy.linalg.cho_factor(spread, lower=True)
    except np.linalg.LinAlgError:
        factor, lower = scipy.linalg.cho_factor(spread + RIDGE * np.diag(np.diag(spread)), lower=True)
    return np.asarray(factor), bool(lower)


def _room(positive: FloatArray, step: FloatArray) -> float:
    """How much of a step may be taken until something is 0."""
    return float(np.min(-positive[step < 0] / step[step < 0], initial=1.0))
