"""Principal components from noisy second moments: loadings, variances and their shares, and how far off they are.

Post-processing: it sees released numbers and public facts only.

With N the noise of the matrix of all second moments and T what centres and scales it, covariances err by TNT'/(n-1) to
first order, and no eigenvalue errs by more than the norm of that, about τ = (2√k + 2)·σ for σ the largest standard
deviation of its entries (Weyl). Where an eigenvalue is further than :data:`_CLEAR`·τ from all others, first order
tells: with unit eigenvectors v, λⱼ errs by vⱼ'TNT'vⱼ/(n-1), and vⱼ by Σ vᵢ·(vᵢ'TNT'vⱼ)/((n-1)(λⱼ - λᵢ)). Second order
is added as a bound. Elsewhere the direction is not told: loadings have no half-width, and a variance that of τ.

**Sign.** The largest loading is positive. Where noise could make a loading of the other sign the largest, loadings have
no half-width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.noisy_moments import SecondMoments
from dpsql.inference.estimates.regression_figures import RegressionNumbers, number_column
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.numeric import FloatArray
from dpsql.releases import ReleasedColumn
from rewriter.plan import Output
from rewriter.regression import ComponentField, PrincipalComponent

_CLEAR = 3.0
_FEWEST = 1.5
"""Rows of a group whose variance is told."""


def component_numbers(one: PrincipalComponent, cells: SecondMoments) -> RegressionNumbers:
    """The values of every group: NaN where there is none, and infinite half-widths where they are not known."""
    known = np.asarray(cells.rows >= _FEWEST)
    values, widths = np.full(len(known), np.nan), np.full(len(known), np.inf)
    if known.any():
        found = _numbers(one, cells.taken(known))
        values[known] = found.values
        widths[known] = np.where(np.isfinite(found.widths), found.widths, np.inf)
    return RegressionNumbers.symmetric(values, widths)


def _numbers(one: PrincipalComponent, cells: SecondMoments) -> RegressionNumbers:
    size, at = len(one.ranges), one.part.component - 1
    halves = np.array([float(high - low) / 2 for low, high in one.ranges])
    free = cells.rows - 1
    centring = np.zeros((len(free), size, size + 1))
    centring[:, np.arange(size), np.arange(1, size + 1)] = halves
    centring[:, :, 0] = -np.clip(cells.matrix[:, 0, 1:] / cells.rows[:, None], -1, 1) * halves
    centring /= np.sqrt(free)[:, None, None]
    squares = centring**2
    entries = squares @ cells.entries @ np.swapaxes(squares, 1, 2)
    bound = 2 * (math.sqrt(size) + 1) * np.sqrt(entries.max(axis=(1, 2)))
    found, axes = np.linalg.eigh(centring @ cells.matrix @ np.swapaxes(centring, 1, 2))
    found, axes = found[:, ::-1], axes[:, :, ::-1]
    directions = np.swapaxes(axes, 1, 2) @ centring
    own, others = directions[:, at], [place for place in range(size) if place != at]
    gaps = found[:, [at]] - found[:, others]
    clear = (np.abs(gaps) > _CLEAR * bound[:, None]).all(axis=1)
    gaps = np.where(clear[:, None], gaps, 1.0)
    beside = np.stack([cells.half_width(cells.forms(directions[:, place], own)) for place in others], axis=1)
    second = (beside**2 / np.abs(gaps)).sum(axis=1)
    if one.part.field is ComponentField.LOADING:
        return _loadings(one.part.place, cells, axes, directions, at, gaps, beside, clear)
    value, forms = found[:, at], list(cells.forms(own, own))
    if one.part.field is ComponentField.VARIANCE:
        forms[0] = forms[0] - value / free
        of_rows = np.abs(value) / free * cells.half_width([np.ones_like(value), *(0 * form for form in forms[1:])])
        width = np.where(clear, cells.half_width(forms) + second, bound + of_rows)
        return RegressionNumbers.symmetric(np.maximum(value, 0.0), width)
    total = found.sum(axis=1)
    safe = np.where(total > 0, total, np.nan)
    share = value / safe
    every = [cells.forms(directions[:, place], directions[:, place]) for place in range(size)]
    for kind in range(len(forms)):
        less = sum(form[kind] for form in every) * (share if forms[kind].ndim == 1 else share[:, None])
        forms[kind] = (forms[kind] - less) / (safe if forms[kind].ndim == 1 else safe[:, None])
    told = np.where(clear, cells.half_width(forms) + second / safe, bound * (1 + size * np.abs(share)) / safe)
    return RegressionNumbers.symmetric(np.clip(share, 0, 1), np.where(total > _CLEAR * size * bound, told, np.inf))


def _loadings(
    place: int,
    cells: SecondMoments,
    axes: FloatArray,
    directions: FloatArray,
    at: int,
    gaps: FloatArray,
    beside: FloatArray,
    clear: NDArray[np.bool_],
) -> RegressionNumbers:
    """A loading of the component ``at``, with the sign that makes the largest of them positive."""
    size = axes.shape[1]
    others = [one for one in range(size) if one != at]
    turned = (beside / np.abs(gaps)) ** 2
    widths = np.empty((len(axes), size))
    for one in range(size):
        turn = np.einsum("gi,gij->gj", axes[:, one, others] / gaps, directions[:, others])
        first = cells.half_width(cells.forms(turn, directions[:, at]))
        widths[:, one] = first + np.abs(axes[:, one, at]) * turned.sum(axis=1) / 2
    values = axes[:, :, at]
    largest = np.abs(values).argmax(axis=1)
    top = np.take_along_axis(values, largest[:, None], axis=1)
    values = values * np.where(top < 0, -1.0, 1.0)
    least = np.take_along_axis(np.abs(values) - widths, largest[:, None], axis=1)
    turns = ((values < 0) & (np.abs(values) + widths >= least)).any(axis=1) | (least[:, 0] <= 0)
    return RegressionNumbers.symmetric(values[:, place], np.where(clear & ~turns, widths[:, place], np.inf))


@dataclass(frozen=True, slots=True)
class ComponentEstimate(Estimate[PrincipalComponent]):
    """A number of a principal component. Nothing is foretold of it: how far apart variances are is not known before."""

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        return number_column(self.estimator, output, groups, lambda cells: component_numbers(self.estimator, cells))

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float | None:
        return None
