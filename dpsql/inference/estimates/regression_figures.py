"""Linear regressions from noisy second moments: coefficients, standard errors, r² and condition number, and intervals.

Post-processing: it sees released numbers and public facts only. All is computed of centred variables in [-1, 1].

**Lifting.** Along the direction v of an eigenvalue λ of the released centred matrix S, noise moves λ by v'Nv, with a
known 95 % half-width w. An eigenvalue is told from noise where it is above τ = w·(1¼ + √(2(m - 1))/z), z = 1.96, with m
the number of eigenvalues that are not: of m directions that hold noise alone, the largest eigenvalue is about √(2(m -
1)) standard deviations (Wigner 1955). Eigenvalues below τ are lifted to it: along their directions slopes shrink
towards 0, along all others they stay, and are unbiased to first order. A larger τ makes bars wide and slopes no better
where regressors lean on each other: the bias of a slope that is shrunk is unknown, and its bar has to hold the most
that it may be.

**Intervals.** With N the noise of the matrix of all second moments, T the centring and r the true residual as a
combination of the variables, the normal equations of released numbers miss by TNr. So slopes err by exactly S⁻¹TNr,
with the released S. The true r is the released one plus T'd, d the errors of the slopes. For a combination of slopes
whose error is e = q'Nr, the other errors are taken to follow it, d = g·e, with g the regression of d on e by the
covariance of S⁻¹TNr. Then e² ≤ z²·Var(q'N(r + e·T'g)) is a quadratic inequality in e, whose solutions are the interval
(Fieller 1954). Without the second term bars are too short on one side where noise is a large part of an eigenvalue, and
too long on the other.

**Hidden directions.** Along a lifted direction slopes also err by 1 - λ/τ of their true part b. Of b·λ = v'S·slopes
both sides are known up to noise, which bounds b. And coefficients that differ by d from least squares leave d'Sd more
unexplained than it: by Cauchy and Schwarz, p'd is at most √(p'S⁻¹p) times the root of what the released coefficients
leave unexplained, whatever the truth is. The smaller bound counts. Below, λ has no bound that follows from the noise,
and slopes along it have none above: λ is taken to be no smaller than :data:`_LEAST` of its noise, by trial and not by
proof; where noise hides the variance of a regressor by itself, no smaller than that of a spread of :data:`_NARROW`,
since a declared range says nothing of how narrow a column is. A direction that noise hides makes intervals wide. They
hold more often than 95 times in 100, unless regressors lean on each other and the true slope along such a direction
is several times what its noise can tell. Other data, with any slope along it, would have led to the same numbers
about as likely. For r², what is hidden can only explain more, and no more than is left.

**r².** With ε = TNr, what released coefficients leave unexplained is r'(M + N)r - ε'S⁻¹ε, M without noise: slopes fit
noise, too, and the mean of ε'S⁻¹ε is added. Where λ was lifted to τ, (2 - λ/τ)/τ stands for 1/λ in S⁻¹: so much do
shrunk slopes explain. r² itself counts (λ/τ)² of the mean along such a direction, and is the nearest number that is
believed: all of the mean would often take away what the direction explains, none of it shows noise as an r². A share
is believed where the sum of both noises, less that mean, is within its 95 % points: those of a Gaussian's skewed
alike, since near 0 the squares are all there is (a linearisation is much too short or long there). The true residual
follows the share that is tried: slopes are the released ones, scaled to explain it, or lie along the axes of their
noise, as far as the released ones are of noise.

**Standard errors.** That of a coefficient is the root of RSS/(n - k) times the entry of (XᵀX)⁻¹, which is one over
r'Mr, r what is left of the coefficient's regressor by the others: a quotient of two sums of squares, both about the
mean of their noise as RSS is for r². A condition number is a quotient of two eigenvalues, which err by v'Nv to first
order. Both have the interval of a quotient (Fieller 1954), and none where a direction is hidden. Where one is only just
told, its eigenvalue is likelier to be too high than too low, since it would not be told otherwise: errors reach as far
as that of a number that is shown since it is above τ. Nothing of this is about the sampling of people: ``std_err``
tells of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.noisy_moments import SecondMoments, second_moments
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.intervals import Z, distances_above
from dpsql.inference.numeric import FloatArray
from dpsql.mechanisms import Gaussian
from dpsql.releases import Noise, ReleasedColumn
from rewriter.plan import Output, Plan
from rewriter.regression import PrincipalComponent, Regression, RegressionField

_USUAL_SPREAD = 0.25
"""What is assumed of a variable before anything of it is released: a standard deviation of a quarter of half the range.
Nobody declares a range that values just fill, but for flags and shares."""
FORETOLD = (
    "The error of a regression is that of an earlier answer, else of a group of {rows:,} rows of which 19 in 20 lie in"
    " the middle half of each range, or all over it where it is [0, 1]. It falls with the number of rows, and with the"
    " square of how widely a regressor is spread within its range; where that is too little for the noise, little or"
    " nothing is told."
)

_TOLD = 1.25
"""An eigenvalue that is so many times the 95 % half-width of its noise is told from it, if it is the only one."""
_LEAST = 0.3
"""No eigenvalue is taken to be smaller than this part of the 95 % half-width of its noise, where noise lets every
regressor's own variance be told."""
_NARROW = 0.01
"""Where it hides one, along no direction regressors are taken to have a smaller standard deviation than this, in halves
of their ranges: a column may fill any part of its declared range."""

_NORMAL = ((Gaussian(Fraction(16)), Fraction(1, 16)),)
_UNTOLD = 1e3
"""A lower end that is so many times as far as usual tells nothing."""
_STEPS = 16
_SETTLED = 1e-3
"""The end of an interval is found to within this part of its distance."""
_MANY = 1 << 30
_SINGULAR = 1e-12
"""A matrix whose smallest eigenvalue is below this part of the number of rows is singular: doubles say no more."""


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Least squares in every group: ``slopes`` of centred variables, the ``inverse`` of their matrix, the residual and
    what is explained as combinations of the constant and all variables. ``shrunk`` has a column for each direction of
    the matrix: how far slopes may be off along it, since its eigenvalue was ``lifted`` by so much to ``ends``. ``most``
    has one, too: how far they may be off along it whatever the noise was; all together no further than one of them.
    ``directions`` are the directions as combinations, a row for each, and ``found`` their eigenvalues, which may be
    ``stretch`` times as far as usual below what was released, since they are above τ."""

    slopes: FloatArray
    inverse: FloatArray
    centring: FloatArray
    residual: FloatArray
    explained: FloatArray
    shrunk: FloatArray
    most: FloatArray
    directions: FloatArray
    found: FloatArray
    ends: FloatArray
    lifted: NDArray[np.bool_]
    solved: NDArray[np.bool_]
    stretch: FloatArray


@dataclass(frozen=True, slots=True)
class RegressionNumbers:
    """A number of a regression in every group, and how far below and above it the 95 % interval reaches."""

    values: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def symmetric(cls, values: FloatArray, widths: FloatArray) -> RegressionNumbers:
        """The interval reaches as far to both sides."""
        return cls(values, widths, widths)

    @property
    def widths(self) -> FloatArray:
        """How far the number may be off to either side."""
        return np.asarray(np.maximum(self.below, self.above))


def regression_numbers(regression: Regression, cells: SecondMoments) -> RegressionNumbers:
    """The values of every group: NaN where there is none, and infinite half-widths where they are not known."""
    known = np.asarray(cells.rows >= 0.5)
    groups = len(cells.rows)
    values, below, above = np.full(groups, np.nan), np.full(groups, np.inf), np.full(groups, np.inf)
    if known.any():
        own = cells.taken(known)
        fit = _least_squares(regression, own)
        found = _NUMBERS[regression.part.field](regression, own, fit)
        usable = fit.solved & np.isfinite(found.values)
        values[known] = np.where(usable, found.values, np.nan)
        for reach, one in ((below, found.below), (above, found.above)):
            reach[known] = np.where(usable & np.isfinite(one), one, np.inf)
    return RegressionNumbers(values, below, above)


def _middles(regression: Regression) -> tuple[FloatArray, FloatArray]:
    """The middle of every range, and half of its width."""
    lows = np.array([float(low) for low, _ in regression.ranges])
    highs = np.array([float(high) for _, high in regression.ranges])
    return (lows + highs) / 2, (highs - lows) / 2


def _scales(regression: Regression) -> FloatArray:
    """What each variable is divided by: half of its range, or without an intercept its largest value."""
    middles, halves = _middles(regression)
    return halves if regression.part.intercept is not None else np.abs(middles) + halves


def _combinations(regression: Regression, cells: SecondMoments) -> FloatArray:
    """Each variable, centred by its mean or from 0 on, as a combination of the constant and all others in [-1, 1]."""
    groups, size = len(cells.rows), len(regression.ranges)
    found = np.zeros((groups, size, size + 1))
    if regression.part.intercept is not None:
        found[:, np.arange(size), np.arange(1, size + 1)] = 1.0
        found[:, :, 0] = -np.clip(cells.matrix[:, 0, 1:] / cells.rows[:, None], -1, 1)
        return found
    middles, halves = _middles(regression)
    scales = _scales(regression)
    found[:, np.arange(size), np.arange(1, size + 1)] = halves / scales
    found[:, :, 0] = middles / scales
    return found


def _least_squares(regression: Regression, cells: SecondMoments) -> LeastSquares:
    every = _combinations(regression, cells)
    centring, explained = every[:, :-1], every[:, -1]
    size = centring.shape[1]
    if not size:
        empty, none = np.zeros((len(every), 0)), np.zeros(len(every), dtype=bool)
        square = np.zeros((len(every), 0, 0))
        return LeastSquares(
            empty,
            square,
            centring,
            explained,
            explained,
            square,
            square,
            centring,
            empty,
            empty,
            none,
            ~none,
            1.0 + none,
        )
    matrix = centring @ cells.matrix @ np.swapaxes(centring, 1, 2)
    right = np.einsum("gij,gjk,gk->gi", centring, cells.matrix, explained)
    found, axes = np.linalg.eigh(matrix)
    directions = np.moveaxis(np.swapaxes(axes, 1, 2) @ centring, 1, 0)
    own = np.stack([cells.half_width(cells.forms(one, one)) for one in directions], axis=1)
    told = _told(found, own)
    ends = np.maximum(found, told)
    solved = ends.min(axis=1) > _SINGULAR * cells.rows
    ends = np.where(solved[:, None], ends, cells.rows[:, None])
    inverse = (axes / ends[:, None, :]) @ np.swapaxes(axes, 1, 2)
    slopes = np.einsum("gij,gj->gi", inverse, right)
    residual = explained - np.einsum("gij,gi->gj", centring, slopes)
    alone = np.stack([cells.half_width(cells.forms(one, one)) for one in np.moveaxis(centring, 1, 0)], axis=1)
    narrow = (np.diagonal(matrix, axis1=1, axis2=2) < _TOLD * alone).any(axis=1, keepdims=True)
    floor = np.where(narrow, _NARROW**2 * cells.rows[:, None], _LEAST * own)
    least = np.maximum(found - told + (_TOLD - 1) * own, np.maximum(floor, _SINGULAR * cells.rows[:, None]))
    other = np.stack([cells.half_width(cells.forms(one, residual)) for one in directions], axis=1)
    part = np.abs(np.einsum("gij,gi->gj", axes, right)) + other
    unexplained = np.maximum(np.einsum("gi,gij,gj->g", residual, cells.matrix, residual), 0.0)
    most = np.sqrt((unexplained + cells.half_width(cells.forms(residual, residual)))[:, None] / least)
    lost = np.minimum((1 - found / ends) * part / least, most)
    lifted = np.asarray((found < ends).any(axis=1))
    shrunk, most = axes * lost[:, None, :], axes * most[:, None, :]
    rows = np.moveaxis(directions, 0, 1)
    stretch = np.asarray(_stretch(((found - told) / own * Z).min(axis=1)))
    return LeastSquares(
        slopes, inverse, centring, residual, explained, shrunk, most, rows, found, ends, lifted, solved, stretch
    )


def _stretch(above: FloatArray) -> FloatArray:
    """How many times as far as usual the lower end of a Gaussian number is, since it is ``above`` the threshold that
    showed it by so many standard deviations."""
    return np.asarray(np.minimum(distances_above(_NORMAL, above) / Z, _UNTOLD))


def _told(found: FloatArray, own: FloatArray) -> FloatArray:
    """From where on an eigenvalue along each direction is told from noise of this half-width: see *Lifting*."""
    hidden = np.full(len(found), found.shape[1])
    for _ in range(found.shape[1]):
        least = own * (_TOLD + np.sqrt(2 * (hidden - 1)) / Z)[:, None]
        hidden = np.clip((found < least).sum(axis=1), 1, hidden)
    return np.asarray(own * (_TOLD + np.sqrt(2 * (hidden - 1)) / Z)[:, None])


def usual_spread(low: Fraction, high: Fraction) -> float:
    """The standard deviation that is assumed of a variable, in halves of its range.

    >>> usual_spread(Fraction(40), Fraction(220)), round(usual_spread(Fraction(0), Fraction(1)), 3)
    (0.25, 0.577)
    """
    return 1 / math.sqrt(3) if low == 0 and high == 1 else _USUAL_SPREAD


def _offsets(regression: Regression, cells: SecondMoments) -> FloatArray:
    return _combinations(regression, cells)[:, :, 0]


@dataclass(frozen=True, slots=True)
class Coefficients:
    """All coefficients, each a sum of slopes: ``weights`` has a row for each of them. The ``rest`` of the combination q
    in whose direction q'Nr it errs is the part that is not of slopes: the mean of what is explained."""

    values: FloatArray
    weights: FloatArray
    rest: FloatArray


def _coefficients(regression: Regression, cells: SecondMoments, fit: LeastSquares) -> Coefficients:
    part, scales = regression.part, _scales(regression)
    middles, _ = _middles(regression)
    by = scales[-1] / scales[:-1]
    slopes = fit.slopes * by
    weights = np.broadcast_to(np.diag(by), (len(slopes), len(by), len(by)))
    rest = np.zeros((len(slopes), len(by), fit.residual.shape[1]))
    if part.intercept is None:
        return Coefficients(slopes, weights, rest)
    # The mean of what is explained, less what the others explain at their means.
    means = middles + scales * -_offsets(regression, cells)
    value = means[:, -1] - (slopes * means[:, :-1]).sum(axis=1)
    first = np.zeros_like(fit.residual)
    first[:, 0] = scales[-1] / cells.rows
    inserted = ((slopes, value), (weights, -means[:, :-1] * by), (rest, first))
    return Coefficients(*(np.insert(whole, part.intercept, one, axis=1) for whole, one in inserted))


def _coefficient(regression: Regression, cells: SecondMoments, fit: LeastSquares) -> RegressionNumbers:
    found = _coefficients(regression, cells, fit)
    return _combined(np.eye(found.values.shape[1])[regression.part.place], found, cells, fit)


def _prediction(regression: Regression, cells: SecondMoments, fit: LeastSquares) -> RegressionNumbers:
    """What is explained at a point: its coefficients err together."""
    point = np.array([float(one) for one in regression.part.point])
    return _combined(point, _coefficients(regression, cells, fit), cells, fit)


def _combined(point: FloatArray, found: Coefficients, cells: SecondMoments, fit: LeastSquares) -> RegressionNumbers:
    """The sum of the coefficients times the numbers of a point."""
    weights = np.einsum("j,gji->gi", point, found.weights)
    rest = np.einsum("j,gji->gi", point, found.rest)
    row = np.einsum("gi,gij,gjk->gk", weights, fit.inverse, fit.centring) + rest
    shrunk, most = (np.square(np.einsum("gi,gij->gj", weights, of)).sum(axis=1) for of in (fit.shrunk, fit.most))
    farthest = np.sqrt(most) + cells.half_width(cells.forms(rest, fit.residual))
    below, above = (
        np.fmin(np.sqrt(reach**2 + shrunk), farthest) if fit.slopes.shape[1] else reach
        for reach in _errors(row, cells, fit)
    )
    return RegressionNumbers(found.values @ point, below, above)


def _errors(row: FloatArray, cells: SecondMoments, fit: LeastSquares) -> tuple[FloatArray, FloatArray]:
    """How far the truth may be below and above, q'Nr being the error, q a row and r the true residual: see *Intervals*.
    NaN where that has no end."""
    own = cells.half_width(cells.forms(row, fit.residual))
    spreads, together = cells.spreads, cells.weighted(row, fit.residual)
    total = (spreads * together * together).sum(axis=1)
    safe = np.where(total > 0, total, 1.0)
    each = np.moveaxis(fit.inverse @ fit.centring, 1, 0)
    moved = [(spreads * together * cells.weighted(one, fit.residual)).sum(axis=1) / safe for one in each]
    along = np.zeros_like(fit.residual) + sum(one[:, None] * fit.centring[:, place] for place, one in enumerate(moved))
    other, point = cells.weighted(row, along), own**2 / safe
    cross, square = point * (spreads * together * other).sum(axis=1), point * (spreads * other * other).sum(axis=1)
    rest = np.where(square < 1, 1 - square, np.nan)
    root = np.sqrt(cross**2 + own**2 * rest)
    return (root + cross) / rest, (root - cross) / rest


def _left_over(cells: SecondMoments, fit: LeastSquares) -> FloatArray:
    """The sum of squared residuals, not below 0."""
    return np.asarray(np.maximum(np.einsum("gi,gij,gj->g", fit.residual, cells.matrix, fit.residual), 0.0))


@dataclass(frozen=True, slots=True)
class _Square:
    """A sum of squares, about the mean of its noise: ``weights`` are what each noise is multiplied by to first order,
    ``fitted`` the variance of what was fitted to noise."""

    values: FloatArray
    weights: FloatArray
    fitted: FloatArray

    def times(self, cells: SecondMoments, rows: FloatArray) -> _Square:
        """Times a number of rows that errs as their count does."""
        weights = self.weights * rows[:, None]
        weights[:, 0] += self.values
        return _Square(self.values * rows, weights, self.fitted * rows * rows)


def _residual_square(row: FloatArray, axes: FloatArray, part: FloatArray, cells: SecondMoments) -> _Square:
    """The square of a combination that is left of a variable by those along the ``axes``, which explain noise, too:
    ``part`` of the mean of that is believed along each."""
    together = axes @ cells.together(row, row) @ np.swapaxes(axes, 1, 2)
    each = np.diagonal(together, axis1=1, axis2=2)
    left = np.einsum("gi,gij,gj->g", row, cells.matrix, row) + (part * each).sum(axis=1)
    return _Square(left, cells.weighted(row, row), 2 * np.trace(together @ together, axis1=1, axis2=2))


def _quotient(
    above: _Square, below: _Square, cells: SecondMoments, stretch: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Between which numbers a quotient of two sums of squares lies (Fieller 1954); infinite where that has no end."""
    spreads, point = cells.spreads, (cells.point(above.weights) * stretch) ** 2
    first = point * ((spreads * above.weights**2).sum(axis=1) + above.fitted)
    both = point * (spreads * above.weights * below.weights).sum(axis=1)
    second = point * ((spreads * below.weights**2).sum(axis=1) + below.fitted)
    square = below.values**2 - second
    ends = (below.values > 0) & (square > 0)
    safe, middle = np.where(ends, square, 1.0), above.values * below.values - both
    root = np.sqrt(np.maximum(middle**2 - square * (above.values**2 - first), 0.0))
    low = np.where(ends, np.maximum((middle - root) / safe, 0.0), 0.0)
    return low, np.where(ends, np.maximum((middle + root) / safe, 0.0), np.inf)


def _between(values: FloatArray, low: FloatArray, high: FloatArray, told: NDArray[np.bool_]) -> RegressionNumbers:
    """Numbers within their intervals; where noise hides a direction nothing is told."""
    inside = np.clip(values, low, high)
    return RegressionNumbers(
        np.where(told, inside, values),
        np.where(told, inside - low, np.inf),
        np.where(told, high - inside, np.inf),
    )


def _standard_error(regression: Regression, cells: SecondMoments, fit: LeastSquares) -> RegressionNumbers:
    """√(s²(XᵀX)⁻¹), s² by the degrees of freedom: see *Standard errors*."""
    part = regression.part
    found = _coefficients(regression, cells, fit)
    weights, rest = found.weights[:, part.place], found.rest[:, part.place]
    freedom = cells.rows - found.values.shape[1]
    freedom = np.where(freedom > 0, freedom, np.nan)
    share = np.einsum("gi,gij,gj->g", weights, fit.inverse, weights)
    share = share + np.einsum("gi,gij,gj->g", rest, cells.matrix, rest)
    row = np.einsum("gi,gij,gjk->gk", weights, fit.inverse, fit.centring) + rest
    axes = fit.directions / np.sqrt(fit.ends)[:, :, None]
    believed = np.clip(fit.found / fit.ends, 0, 1) ** 2
    others = np.zeros_like(axes)
    if part.place != part.intercept:
        along = np.einsum("gij,gjk,gk->gi", axes, cells.matrix, row)
        size = (along * along).sum(axis=1)
        along /= np.sqrt(np.where(size > 0, size, 1.0))[:, None]
        others = axes - along[:, :, None] * np.einsum("gi,gik->gk", along, axes)[:, None]
    above = _residual_square(fit.residual, axes, believed, cells)
    above = replace(above, values=np.maximum(above.values, 0.0))
    below = _residual_square(row / share[:, None], others, believed, cells).times(cells, freedom)
    low, high = _quotient(above, below, cells, fit.stretch)
    told = ~fit.lifted
    square = above.values / np.where(told, below.values, freedom / share)
    return _between(np.sqrt(np.maximum(square, 0.0)), np.sqrt(low), np.sqrt(high), told)


def _determination(regression: Regression, cells: SecondMoments, fit: LeastSquares) -> RegressionNumbers:
    """1 - RSS/TSS, of what is explained about its mean: see *r²*."""
    centre = np.zeros_like(fit.residual)
    _, halves = _middles(regression)
    centre[:, -1] = halves[-1] / _scales(regression)[-1]
    centre[:, 0] = -np.clip(cells.matrix[:, 0, -1] / cells.rows, -1, 1) * centre[:, -1]
    total = np.einsum("gi,gij,gj->g", centre, cells.matrix, centre)
    safe = np.where(total > _SINGULAR * cells.rows, total, np.nan)
    noise = _UnexplainedNoise.of(cells, fit, centre, safe)
    share = _left_over(cells, fit) / safe
    start = np.clip(share + noise.mean / safe, 0, 1)

    def missed_by(one: FloatArray, bounded: NDArray[np.bool_]) -> FloatArray:
        """How many standard deviations a share is outside of what is believed; below 0 where it is inside."""
        mean, deviation, skewness = noise.at(one)
        seen = share + mean / safe
        off = (one - np.where(bounded, np.clip(seen, 0, 1), np.maximum(seen, 0))) * safe / deviation
        return np.asarray(np.maximum(off - _skewed(noise.point, skewness), _skewed(-noise.point, skewness) - off))

    bounded = np.asarray(missed_by(start, np.zeros(len(start), dtype=bool)) > 0)
    least, most = _farthest(lambda one: missed_by(one, bounded), start)
    missed = ((fit.shrunk**2).sum(axis=1) * fit.ends).sum(axis=1) / safe
    # Least squares explain no less than other coefficients, and no more than all.
    least = np.maximum(least - missed, 0)
    left = np.clip(share + noise.told_mean / safe, least, most)
    return RegressionNumbers(1 - left, most - left, left - least)


@dataclass(frozen=True, slots=True)
class _UnexplainedNoise:
    """The law of the noise of what is left unexplained, r'Nr - ε'S⁻¹ε, for every share that may be: see *r²*.

    ``mean``, ``variance`` and ``third`` cumulant are those of ε'S⁻¹ε at the released residual; r² counts the part
    ``told_mean`` of the mean. Slopes that explain more or less are the released ones times a scale: the mean changes
    with the scale by a parabola, ``curve``. ``linear`` is the covariance of the four noises that r'Nr is a sum of, and
    ``linear_third`` the sum of products of their covariances with ε. Slopes of noise lie along its axes: ``along`` is
    the variance of ε along them, ``across`` sums the squares of its covariances with all axes, and ``own`` is the
    variance of the axes' squares. ``told`` is the part of slopes that is not noise."""

    total: FloatArray
    whole: FloatArray
    explains: FloatArray
    point: FloatArray
    mean: FloatArray
    told_mean: FloatArray
    variance: FloatArray
    third: FloatArray
    curve: tuple[FloatArray, ...]
    linear: FloatArray
    linear_third: FloatArray
    along: FloatArray
    across: FloatArray
    own: FloatArray
    told: FloatArray

    @classmethod
    def of(cls, cells: SecondMoments, fit: LeastSquares, centre: FloatArray, total: FloatArray) -> _UnexplainedNoise:
        """``total`` is what there is to explain, ``centre`` the combination whose square it is."""
        part = fit.found / fit.ends
        axes = fit.directions * np.sqrt((2 - part) / fit.ends)[:, :, None]
        turned = np.swapaxes(axes, 1, 2)
        fitted = fit.explained - fit.residual
        together = axes @ cells.together(fit.residual, fit.residual) @ turned
        square = together @ together
        each = np.diagonal(together, axis1=1, axis2=2)
        mean = each.sum(axis=1)
        safe = np.where(mean > 0, mean, 1.0)
        shares = each / safe[:, None]
        own = cells.own(axes)
        sizes = [
            ((axes @ cells.together(*pair)) * axes).sum(axis=(1, 2)) / safe
            for pair in ((fit.explained, fit.explained), (fit.explained, fitted), (fitted, fitted))
        ]
        pairs = ((fit.explained, fit.explained), (fitted, fit.explained), (fitted, fitted), (centre, centre))
        forms = np.stack([cells.weighted(one, other) for one, other in pairs], axis=1)
        against = np.stack(
            [(axes @ (cells.together(fit.residual, other) @ one[:, :, None]))[:, :, 0] for one, other in pairs],
            axis=1,
        )
        whole, explains = (
            np.einsum("gi,gij,gj->g", one, cells.matrix, fit.explained) for one in (fit.explained, fitted)
        )
        return cls(
            total,
            whole,
            explains,
            cells.point(forms[:, 0]),
            mean,
            (np.clip(part, 0, 1) ** 2 * each).sum(axis=1),
            2 * np.trace(square, axis1=1, axis2=2),
            8 * np.trace(square @ together, axis1=1, axis2=2),
            (sizes[0], -2 * sizes[1], sizes[2]),
            (forms * cells.spreads[:, None]) @ np.swapaxes(forms, 1, 2),
            against @ np.swapaxes(against, 1, 2),
            (shares * each).sum(axis=1),
            (shares * np.diagonal(square, axis1=1, axis2=2)).sum(axis=1),
            (shares * own).sum(axis=1),
            explains / np.where(explains + mean > 0, explains + mean, 1.0),
        )

    def at(self, left: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The mean of what noise takes from a share that is left unexplained, its standard deviation and skewness."""
        explains = np.maximum(self.whole - left * self.total, 0.0)
        scale = np.sqrt(explains / np.where(self.explains > 0, self.explains, 1.0))
        by = np.stack([np.ones_like(left), -2 * scale, scale * scale, -left], axis=-1)
        flat, bent, steep = self.curve
        more = np.where(self.explains > 0, np.maximum(flat + scale * bent + scale * scale * steep, 0.0), 1.0)
        linear, third = (
            np.maximum(((by[..., None, :] @ of)[..., 0, :] * by).sum(axis=-1), 0.0)
            for of in (self.linear, self.linear_third)
        )
        noise = (1 - left) ** 2 * self.linear[:, 3, 3] + 4 * explains * self.along + explains * explains * self.own
        spread = self.told * linear + (1 - self.told) * noise + more * more * self.variance
        third = self.told * 6 * more * third + (1 - self.told) * 24 * explains * self.across
        deviation = np.sqrt(np.where(spread > 0, spread, 1.0))
        return (
            more * self.mean,
            deviation,
            (third + more * more * more * self.third) / (deviation * deviation * deviation),
        )


def _skewed(point: FloatArray, skewness: FloatArray) -> FloatArray:
    """The point, in standard deviations, of a number with a skewness above 0 where a Gaussian has this one: that of a
    χ² with as much (Pearson 1959), by Wilson and Hilferty."""
    root = np.maximum(skewness, 1e-3) / 6
    base = np.maximum(1 - root * root + point * root, 0)
    return np.asarray((base * base * base - 1) / (3 * root))


def _farthest(outside: Callable[[FloatArray], FloatArray], start: FloatArray) -> FloatArray:
    """How far down to 0 and up to 1 from a start a share is believed: the first that is not, to within
    :data:`_SETTLED` of the width, by regula falsi (Illinois). ``outside`` is above 0 where a share is not believed."""
    far = np.stack([np.zeros_like(start), np.ones_like(start)])
    near = np.stack([start, start])
    inside, beyond = outside(near), outside(far)
    sought, last = beyond > 0, np.zeros(near.shape)
    for _ in range(_STEPS):
        sought &= np.abs(far - near) > _SETTLED * np.abs(far - start)
        if not sought.any():
            break
        chord = (inside <= 0) & (beyond > inside)
        part = np.where(chord, -inside / np.where(chord, beyond - inside, 1.0), 0.5)
        middle = near + part * (far - near)
        found = outside(middle)
        nearer, farther = sought & (found <= 0), sought & ~(found <= 0)
        # A value that stays twice counts half, so that both ends of the bracket move.
        inside = np.where(nearer, found, np.where(farther & (last < 0), inside / 2, inside))
        beyond = np.where(farther, found, np.where(nearer & (last > 0), beyond / 2, beyond))
        near, far = np.where(nearer, middle, near), np.where(farther, middle, far)
        last = np.where(nearer, 1.0, -1.0)
    return far


def _condition(regression: Regression, cells: SecondMoments, fit: LeastSquares) -> RegressionNumbers:
    """The quotient of the largest and the smallest eigenvalue of XᵀX; not known where noise made it indefinite, or
    hides a direction."""
    middles, halves = _middles(regression)
    size = len(middles) - 1
    raw = np.zeros((size + (regression.part.intercept is not None), size + 2))
    raw[np.arange(size), np.arange(1, size + 1)] = halves[:-1]
    raw[:size, 0] = middles[:-1]
    if regression.part.intercept is not None:
        raw[size, 0] = 1.0
    ends, axes = np.linalg.eigh(raw @ cells.matrix @ raw.T)
    rows = np.moveaxis(np.swapaxes(axes, 1, 2) @ raw, 1, 0)
    sound = (ends[:, 0] > 0) & ~fit.lifted
    # Noise turns the direction of the smallest eigenvalue towards the others, which makes it smaller.
    turned = np.zeros((len(rows) - 1, len(ends)))
    for place, row in enumerate(rows[1:], 1):
        across = cells.weighted(rows[0], row)
        gap = ends[:, place] - ends[:, 0]
        turned[place - 1] = (cells.spreads * across * across).sum(axis=1) / np.where(gap > 0, gap, np.inf)
    largest = _Square(ends[:, -1], cells.weighted(rows[-1], rows[-1]), np.zeros(len(ends)))
    least = _Square(
        ends[:, 0] + turned.sum(axis=0), cells.weighted(rows[0], rows[0]), 2 * (turned * turned).sum(axis=0)
    )
    low, high = _quotient(largest, least, cells, fit.stretch)
    values = np.where(sound, largest.values / np.where(sound, least.values, 1.0), np.nan)
    return _between(values, np.maximum(low, 1.0), np.maximum(high, 1.0), sound)


_NUMBERS = {
    RegressionField.COEFFICIENT: _coefficient,
    RegressionField.STANDARD_ERROR: _standard_error,
    RegressionField.DETERMINATION: _determination,
    RegressionField.CONDITION: _condition,
    RegressionField.PREDICTION: _prediction,
}


def number_column(
    estimator: Regression | PrincipalComponent,
    output: Output,
    groups: Groups,
    numbers: Callable[[SecondMoments], RegressionNumbers],
) -> ReleasedColumn:
    """A number of every group, and how far it may be off within what is possible."""
    noisy, size = groups.noisy, len(groups.noisy.keys)
    steps = groups.sides.get(output.name) or [noisy.statistics[name] for name, _ in estimator.cells]
    sums = [np.asarray(one, dtype=np.float64)[:size] for one in steps]
    shrunk = None if groups.shrunk is None else np.asarray(groups.shrunk, dtype=np.float64)[:size]
    found = numbers(second_moments(estimator, sums, noisy.noise, shrunk))
    least, most = estimator.possible
    values = tuple(None if math.isnan(one) else one for one in found.values.tolist())
    reaches = tuple(
        (0.0, 0.0) if value is None else (min(below, value - least), min(above, most - value))
        for value, below, above in zip(values, found.below.tolist(), found.above.tolist(), strict=True)
    )
    return ReleasedColumn(output.name, output.type, values, tuple(map(max, reaches)), reaches)


@dataclass(frozen=True, slots=True)
class RegressionEstimate(Estimate[Regression]):
    """A number of a regression. What is expected of it is that of a group whose variables have a :func:`usual_spread`
    around the middle of their ranges."""

    foretold = FORETOLD

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        return number_column(self.estimator, output, groups, lambda cells: regression_numbers(self.estimator, cells))

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float | None:
        if self.estimator.part.field in (RegressionField.STANDARD_ERROR, RegressionField.CONDITION):
            return None
        width = self._nominal_width(noise, rows)
        return width if math.isfinite(width) else None

    def nominal_size(self, plan: Plan, rows: int) -> float:
        part, scales = self.estimator.part, _scales(self.estimator)
        if part.field is RegressionField.PREDICTION or part.place == part.intercept:
            return float(scales[-1])
        if part.field is not RegressionField.COEFFICIENT:
            return 1.0
        at = part.place - (part.intercept is not None and part.place > part.intercept)
        return float(scales[-1] / scales[at])

    def error_unit(self, picking: Mapping[str, Noise], noise: Noises, rows: int) -> float:
        """To first order, which has an end whatever the noise is: that of many more rows is so many times less."""
        if self.estimator.part.field in (RegressionField.STANDARD_ERROR, RegressionField.CONDITION):
            return 0.0
        return self._nominal_width(noise, rows * _MANY) * _MANY

    def _nominal_width(self, noise: Noises, rows: int) -> float:
        return float(regression_numbers(self.estimator, self.moments(self._usual(rows), noise, None)).widths[0])

    def _usual(self, rows: int) -> list[FloatArray]:
        """The cells of one group of so many rows with the usual spread, in steps. For r², one variable has a
        correlation of ½ with what is explained: of nothing the noise of r² is a square, and unlike any other."""
        spreads = [usual_spread(*ends) for ends in self.estimator.ranges]
        size = len(spreads)
        pairs = [0.0] * (size * (size - 1) // 2)
        if self.estimator.part.field is RegressionField.DETERMINATION and pairs:
            pairs[-1] = rows * spreads[-1] * spreads[-2] / 2
        sums = [float(rows), *[0.0] * size, *[rows * (1 - spread**2) for spread in spreads], *pairs]
        return [np.array([one / float(by)]) for one, (_, by) in zip(sums, self.estimator.cells, strict=True)]

    def moments(self, steps: Sequence[FloatArray], noise: Noises, shrunk: FloatArray | None) -> SecondMoments:
        return second_moments(self.estimator, steps, noise, shrunk)
