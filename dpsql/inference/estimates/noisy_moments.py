"""Second moments of groups, and the law of the noise in each: what linear regressions and principal components see.

Post-processing: it sees released numbers and public facts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsql.inference.estimates.estimate import Noises
from dpsql.inference.estimates.moment_figures import normal_point
from dpsql.inference.intervals import variance
from dpsql.inference.numeric import FloatArray
from rewriter.regression import PrincipalComponent, Regression


@dataclass(frozen=True, slots=True)
class SecondMoments:
    """The second moments of every group, and the variance of the noise in each: ``rows``, and a matrix over the
    constant 1 and all variables, of which the last is explained."""

    matrix: FloatArray
    count: FloatArray
    single: FloatArray
    square: FloatArray
    pair: FloatArray
    excess: float

    @classmethod
    def of(cls, size: int, sums: FloatArray, spreads: FloatArray, excess: float) -> SecondMoments:
        """``sums`` and ``spreads`` have a row for each cell of a :class:`Regression` of so many variables."""
        groups = sums.shape[1]
        matrix = np.zeros((groups, size + 1, size + 1))
        pair = np.zeros((groups, size + 1, size + 1))
        rows, one, square = sums[0], sums[1 : size + 1], sums[size + 1 : 2 * size + 1]
        matrix[:, 0, 0] = rows
        matrix[:, 0, 1:] = matrix[:, 1:, 0] = one.T
        inner = np.arange(1, size + 1)
        matrix[:, inner, inner] = (rows[None, :] - square).T
        above = np.triu_indices(size, 1)
        for at, (i, j) in enumerate(zip(*above, strict=True), 2 * size + 1):
            matrix[:, i + 1, j + 1] = matrix[:, j + 1, i + 1] = sums[at]
            pair[:, i + 1, j + 1] = pair[:, j + 1, i + 1] = spreads[at]
        return cls(
            matrix,
            spreads[0],
            spreads[1 : size + 1].T,
            spreads[size + 1 : 2 * size + 1].T,
            pair,
            excess,
        )

    @property
    def rows(self) -> FloatArray:
        return np.asarray(self.matrix[:, 0, 0])

    def taken(self, known: NDArray[np.bool_]) -> SecondMoments:
        """Those of some groups."""
        parts = {name: getattr(self, name)[known] for name in ("matrix", "count", "single", "square", "pair")}
        return replace(self, **parts)

    @property
    def entries(self) -> FloatArray:
        """The variance of each entry of the matrix."""
        found = self.pair.copy()
        found[:, 0, 1:] = found[:, 1:, 0] = self.single
        inner = np.arange(1, found.shape[1])
        found[:, inner, inner] = self.square + self.count[:, None]
        found[:, 0, 0] = self.count
        return found

    def forms(self, left: FloatArray, right: FloatArray) -> tuple[FloatArray, ...]:
        """What each noise is multiplied by in left'·N·right: of the count, of single ones, squares and pairs."""
        product = left * right
        both = left[:, :, None] * right[:, None, :]
        both = both + np.swapaxes(both, 1, 2)
        return (
            product.sum(axis=1),
            np.asarray(both[:, 0, 1:]),
            -product[:, 1:],
            np.triu(both[:, 1:, 1:], 1).reshape(len(product), -1),
        )

    @property
    def spreads(self) -> FloatArray:
        """The variance of each noise, in the order of :meth:`forms`."""
        pairs = np.triu(self.pair[:, 1:, 1:], 1).reshape(len(self.pair), -1)
        return np.concatenate([self.count[:, None], self.single, self.square, pairs], axis=1)

    def weighted(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """What each of :attr:`spreads`' noises is multiplied by in left'·N·right."""
        forms = self.forms(left, right)
        return np.concatenate([forms[0][:, None], *forms[1:]], axis=1)

    def together(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """The covariance of Nx and Ny, a matrix."""
        entries = self.entries
        crossed = entries + 0.0
        inner = np.arange(entries.shape[1])
        crossed[:, inner, inner] = 0.0
        found = crossed * other[:, :, None] * one[:, None, :]
        found += self.count[:, None, None] * one[:, :, None] * other[:, None, :]
        found[:, inner, inner] = np.einsum("gij,gj->gi", entries, one * other)
        return np.asarray(found)

    def own(self, axes: FloatArray) -> FloatArray:
        """The variance of v'Nv, of many v in every group."""
        squares, entries = axes * axes, 2 * self.entries
        inner = np.arange(1, entries.shape[1])
        entries[:, inner, inner] = self.square
        entries[:, 0, 0] = 0.0
        return np.asarray(((squares @ entries) * squares).sum(axis=2) + self.count[:, None] * squares.sum(axis=2) ** 2)

    def half_width(self, forms: Sequence[FloatArray]) -> FloatArray:
        """The 95 % half-width of a sum of noises."""
        weights = np.concatenate([forms[0][:, None], *forms[1:]], axis=1)
        return np.asarray(self.point(weights) * np.sqrt((self.spreads * weights * weights).sum(axis=1)))

    def point(self, weights: FloatArray) -> FloatArray:
        """The 97.5 % point, in standard deviations, of a sum of noises that are multiplied by these weights."""
        parts = self.spreads * weights * weights
        total = parts.sum(axis=1)
        return normal_point(self.excess * (parts * parts).sum(axis=1) / np.where(total > 0, total * total, 1.0))


def second_moments(
    estimator: Regression | PrincipalComponent, steps: Sequence[FloatArray], noise: Noises, shrunk: FloatArray | None
) -> SecondMoments:
    """The second moments that integers of cells, in steps, stand for."""
    weights = np.array([float(weight) for _, weight in estimator.cells])[:, None]
    noises = [noise[name] for name, _ in estimator.cells]
    sums = np.array(steps) * weights
    spreads = np.array([variance(one) for one in noises])[:, None] * weights**2 * np.ones_like(sums)
    if shrunk is not None:
        spreads = spreads * shrunk**2
    return SecondMoments.of(len(estimator.ranges), sums, spreads, min(one.excess for one in noises))
