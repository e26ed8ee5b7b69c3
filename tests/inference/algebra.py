"""Least squares by textbook algebra, cubic and obvious: what inference is compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Matrix = NDArray[np.float64]


def dense(aggregates: list[Matrix], values: list[Floats], variances: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Estimates and variances by textbook algebra: what is known is a constraint, what is not measured is left out."""
    rows, y, v = np.vstack(aggregates), np.concatenate(values), np.concatenate(variances)
    known, measured = v == 0, np.isfinite(v) & (v > 0)
    particular = np.linalg.pinv(rows[known]) @ y[known] if known.any() else np.zeros(rows.shape[1])
    free = null_space(rows[known])
    design = rows[measured] @ free / np.sqrt(v[measured])[:, None]
    design[np.abs(design) < 1e-9] = 0.0  # what is known determines it: nothing is left to estimate
    inverse = np.linalg.pinv(design)
    target = (y[measured] - rows[measured] @ particular) / np.sqrt(v[measured])
    leaves = particular + free @ (inverse @ target)
    covariance = free @ inverse @ inverse.T @ free.T
    undetermined = free @ null_space(design)
    estimates, spreads = [], []
    for aggregate in aggregates:
        estimates.append(aggregate @ leaves)
        open_ended = np.abs(aggregate @ undetermined).sum(axis=1) > 1e-7
        spreads.append(np.where(open_ended, np.inf, np.einsum("ij,jk,ik->i", aggregate, covariance, aggregate)))
    return estimates, spreads


def null_space(rows: Matrix) -> Matrix:
    _, singular, right = np.linalg.svd(np.vstack([rows, np.zeros((1, rows.shape[1]))]))
    return right[int((singular > 1e-9).sum()) :].T


def tree_matrices(parents: list[NDArray[np.int64]], sizes: list[int]) -> list[Matrix]:
    """For each level, which leaves a node is the sum of."""
    below = np.eye(sizes[-1])
    matrices = [below]
    for level in range(len(sizes) - 1, 0, -1):
        above = np.zeros((sizes[level - 1], sizes[-1]))
        np.add.at(above, parents[level], below)
        below = above
        matrices.insert(0, above)
    return matrices
