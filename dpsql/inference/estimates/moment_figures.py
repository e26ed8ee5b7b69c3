"""Variances, covariances and regressions, from Bernstein sums: values and 95 % intervals.

Values are exact functions of the noisy integers, moved into what is possible: a variance is not below 0, and not above
what a mean in the range allows; a covariance is not above what the variances allow. NULL is what SQL's is: where there
is nobody (or one, for a sample), as far as the noisy number of rows tells, and where a variance that is divided by
is not above 0.

Why intervals by test inversion: every figure is a quotient A/D of quadratic functions of the sums (a correlation, of a
quadratic one and a root of such), and A - θD is at the true θ the noise of A - θD alone: unbiased, once the squares of
noise are taken off A and D, and of a variance that follows from the gradients. A θ is believed where that is within the
95 % half-width (Fieller 1954). A mere linearisation of A/D says too little of it where there are few rows.

**Two rays.** Where D is not told from 0, all θ are believed, or all but those between two roots: no bounded interval
can hold an unbounded θ as often as it says (Gleser and Hwang 1987). But D is above 0: (A, D) lies on the ray D·(θ, 1),
and not only on the line through it. So say that θ is not believed, either, where the point of the line that is nearest
to the noisy pair, in the metric of the noise, has D ≤ 0, and the pair is further from 0 than a pair of Gaussians is 95
times in 100. A true θ is refused 5 times in 100 still: if that point has D > 0, by its distance from the line, whose
law is the same wherever the point is; otherwise by that from 0, of which the part along the line is no longer than that
of a pair of noises tends to be. Of two rays, one remains.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.intervals import Z, variance
from dpsql.inference.numeric import FloatArray
from dpsql.releases import Additive, ReleasedColumn
from rewriter.plan import Axis, Figure, Moment, Output, Plan

Numbers = NDArray[np.object_]
"""Exact integers, or doubles."""

LAPLACE_PAIR = 4.11300328 / 2
LAPLACE_ALONE = math.log(20) / math.sqrt(2)
"""The 97.5 % points of a sum of two Laplace noises and of one, in standard deviations."""
PLANE = -2 * math.log(0.05) / Z**2
"""The square of how far from 0 a pair of Gaussians lies 95 times in 100, over that of one."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Of every group: the number of rows n, p = 2Σt, q = 2Σs, xx = 4Σt², xy = 4Σts, yy = 4Σs², of t and s in [0, 1].

    Sums of a degree that was not measured are None.
    """

    n: Numbers
    p: Numbers
    q: Numbers
    xx: Numbers | None
    xy: Numbers
    yy: Numbers | None


@functools.lru_cache(maxsize=64)
def _coefficients(x: int, y: int) -> tuple[tuple[int, ...], ...]:
    """For every cell its part in p, q, xx, xy and yy, for degrees of x and y."""
    found = []
    for i in range(x + 1):
        for j in range(y + 1):
            p, q = 2 * i // max(x, 1), 2 * j // max(y, 1)
            found.append((1, p, q, 4 * (i == 2), p * q, 4 * (j == 2)))
    return tuple(found)


def _sums(cells: Sequence[Numbers], moment: Moment) -> Sums:
    x, y = moment.x.degree, moment.y.degree
    parts = zip(*_coefficients(x, y), strict=True)
    n, p, q, xx, xy, yy = (
        sum((factor * cell for factor, cell in zip(part, cells, strict=True) if factor), 0 * cells[0]) for part in parts
    )
    return Sums(n, p, q, xx if x == 2 else None, xy, yy if y == 2 else None)


def _known(numbers: Numbers | None) -> Numbers:
    if numbers is None:
        raise AssertionError("a figure is made of what was measured")
    return numbers


# Values


def moment_values(moment: Moment, cells: Sequence[Sequence[int]]) -> list[float | None]:
    """The figure of every group, from the integers of each cell.

    >>> from rewriter.plan import Axis
    >>> x, y = Axis(Fraction(0), Fraction(10), 2), Axis(Fraction(0), Fraction(1), 0)
    >>> deviation = Moment(Figure.DEVIATION_POP, x, y, tuple((name, Fraction(1, 4)) for name in "abc"))
    >>> moment_values(deviation, [[4, 2, 1, 0], [0, 4, 20, 0], [4, 2, 1, 1]])
    [5.0, 0.0, 0.0, None]
    """
    weights = [weight for _, weight in moment.cells]
    unit = Fraction(1, math.lcm(*(weight.denominator for weight in weights)))
    columns = [
        np.array([n * int(weight / unit) for n in column], dtype=object)
        for weight, column in zip(weights, cells, strict=True)
    ]
    if not len(columns[0]):
        return []
    sums = _sums(columns, moment)
    one = int(1 / unit)
    value = _VALUES[moment.figure]
    found: list[float | None] = []
    least = 2 * one if moment.figure in _SAMPLES else one
    parts = [part.tolist() if part is not None else [0] * len(columns[0]) for part in _as_tuple(sums)]
    for n, p, q, xx, xy, yy in zip(*parts, strict=True):
        # As many as there seem to be, rounded: half of a row is one.
        known = 2 * n >= 2 * least - one
        found.append(value(moment, _Group(n, p, q, xx, xy, yy, one)) if known else None)
    return found


def _as_tuple(sums: Sums) -> tuple[Numbers | None, ...]:
    return sums.n, sums.p, sums.q, sums.xx, sums.xy, sums.yy


@dataclass(frozen=True, slots=True)
class _Group:
    """The sums of one group, as integers in units of which a row has ``one``."""

    n: int
    p: int
    q: int
    xx: int
    xy: int
    yy: int
    one: int

    def spread(self, moment: Moment, which: str) -> int:
        """4·n²·variance of x or of y in units, inside of what is possible; not known of a y of degree 1."""
        first, second = (self.p, self.xx) if which == "x" else (self.q, self.yy)
        most = self.most(which)
        degree = moment.x.degree if which == "x" else moment.y.degree
        return min(max(self.n * second - first * first, 0), most) if degree == 2 else most

    def most(self, which: str) -> int:
        """The largest spread that values with this mean can have: all of them at the ends of the range."""
        first = min(max(self.p if which == "x" else self.q, 0), 2 * self.n)
        return first * (2 * self.n - first)

    def product(self, moment: Moment) -> int:
        """4·n²·covariance in units, inside of what is possible."""
        limit = math.isqrt(self.spread(moment, "x") * self.spread(moment, "y"))
        return min(max(self.n * self.xy - self.p * self.q, -limit), limit)


def _widths(moment: Moment) -> tuple[Fraction, Fraction]:
    return moment.x.high - moment.x.low, moment.y.high - moment.y.low


def _mean(moment: Moment, g: _Group) -> float:
    share = Fraction(min(max(g.p, 0), 2 * g.n), 2 * g.n)
    return float(moment.x.low + (moment.x.high - moment.x.low) * share)


def _second(moment: Moment, g: _Group, number: int, width: Fraction) -> float:
    """A number of 4·n² units over its number of rows: all, all but one, or 1 for a sum."""
    if moment.figure in _SUMS:
        return float(Fraction(number, 4 * g.n * g.one) * width)
    below = g.n - g.one if moment.figure in _SAMPLES else g.n
    return float(Fraction(number, 4 * g.n * below) * width)


def _spread(moment: Moment, g: _Group) -> float:
    found = _second(moment, g, g.spread(moment, "x"), _widths(moment)[0] ** 2)
    return math.sqrt(found) if moment.figure in _ROOTS else found


def _covariance(moment: Moment, g: _Group) -> float:
    x, y = _widths(moment)
    return _second(moment, g, g.product(moment), x * y)


def _correlation(moment: Moment, g: _Group) -> float | None:
    x, y = g.spread(moment, "x"), g.spread(moment, "y")
    is_share = moment.figure is Figure.DETERMINATION
    if not x or not y:
        return 1.0 if x and is_share else None
    found = max(-1.0, min(1.0, g.product(moment) / math.sqrt(x) / math.sqrt(y)))
    return found * found if is_share else found


def _slope(moment: Moment, g: _Group) -> float | None:
    x = g.spread(moment, "x")
    widths = _widths(moment)
    if not x:
        return None
    slope = Fraction(g.product(moment), x) * widths[1] / widths[0]
    if moment.figure is Figure.SLOPE:
        return float(slope)
    mean_x, mean_y = (
        axis.low + width * Fraction(min(max(total, 0), 2 * g.n), 2 * g.n)
        for axis, width, total in zip((moment.x, moment.y), widths, (g.p, g.q), strict=True)
    )
    return float(mean_y - slope * mean_x)


_SAMPLES = frozenset({Figure.VARIANCE_SAMP, Figure.DEVIATION_SAMP, Figure.COVARIANCE_SAMP})
_ROOTS = frozenset({Figure.DEVIATION_POP, Figure.DEVIATION_SAMP})
_SUMS = frozenset({Figure.SQUARES, Figure.PRODUCTS})
_COVARIANCES = frozenset({Figure.COVARIANCE_POP, Figure.COVARIANCE_SAMP, Figure.PRODUCTS})
_VALUES = {
    **dict.fromkeys(Figure, _spread),
    **dict.fromkeys(_COVARIANCES, _covariance),
    Figure.MEAN: _mean,
    Figure.CORRELATION: _correlation,
    Figure.DETERMINATION: _correlation,
    Figure.SLOPE: _slope,
    Figure.INTERCEPT: _slope,
}


# Intervals


def moment_ends(
    moment: Moment, cells: Sequence[Sequence[int]], noises: Sequence[Additive], shrunk: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """The 95 % interval of the figure in every group; infinite where nothing is known.

    ``noises`` are those of the cells; ``shrunk`` is what their standard deviations are multiplied by, group by group.
    """
    weights = [float(weight) for _, weight in moment.cells]
    rows = np.array([np.array(c, dtype=np.float64) * w for c, w in zip(cells, weights, strict=True)])
    spreads = np.array([variance(noise) * w * w for noise, w in zip(noises, weights, strict=True)])[:, None]
    spreads = spreads * np.ones_like(rows) if shrunk is None else spreads * np.asarray(shrunk[: rows.shape[1]]) ** 2
    heavy = min(noise.excess for noise in noises)
    return _ends(moment, rows, spreads, heavy)


def _ends(moment: Moment, rows: FloatArray, spreads: FloatArray, heavy: float) -> tuple[FloatArray, FloatArray]:
    figure, (x, y) = moment.figure, (float(width) for width in _widths(moment))
    c = np.array(_coefficients(moment.x.degree, moment.y.degree), dtype=np.float64).T[:, :, None]
    n, p, q, xx, xy, yy = (np.asarray((part * rows).sum(axis=0)) for part in c)
    one, cp, cq, cxx, cxy, cyy = c
    inverted = functools.partial(_inverted, spreads=spreads, heavy=heavy)
    # Quadratic forms without the squares of noise in them, and their gradients.
    axx, gxx = n * xx - p * p - (spreads * (cxx - cp * cp)).sum(axis=0), n * cxx + xx * one - 2 * p * cp
    if figure is Figure.MEAN:
        low, high = inverted(p, 2 * n, cp + 0 * rows, 2 * one + 0 * rows, possible=(0, 1))
        return _scaled(low, high, x, float(moment.x.low))
    square = (spreads * one).sum(axis=0)
    if figure in _SUMS:
        below, gbelow, most = 4 * n, 4 * one + 0 * rows, math.inf
    elif figure in _SAMPLES:
        # Of two rows, one at either end, the most there is.
        below, gbelow, most = 4 * (n * n - square - n), 4 * (2 * n * one - one), 1 / 2
    else:
        below, gbelow, most = 4 * (n * n - square), 8 * n * one, 1 / 4
    if figure.degrees == (2, 0):
        low, high = inverted(axx, below, gxx, gbelow, possible=(0, most))
        low, high = _scaled(low, high, x * x)
        return (np.sqrt(low), np.sqrt(high)) if figure in _ROOTS else (low, high)
    axy, gxy = n * xy - p * q - (spreads * (cxy - cp * cq)).sum(axis=0), n * cxy + xy * one - p * cq - q * cp
    if figure in _COVARIANCES:
        return _scaled(*inverted(axy, below, gxy, gbelow, possible=(-most, most)), x * y)
    if figure is Figure.SLOPE:
        return _scaled(*inverted(axy, axx, gxy, gxx), y / x)
    if figure is Figure.INTERCEPT:
        start = float(moment.x.low) / x
        above = (q * xx - p * xy - (spreads * (cq * cxx - cp * cxy)).sum(axis=0)) / 2 - start * axy
        gabove = (q * cxx + xx * cq - p * cxy - xy * cp) / 2 - start * gxy
        return _scaled(*inverted(above, axx, gabove, gxx), y, float(moment.y.low))
    ayy, gyy = n * yy - q * q - (spreads * (cyy - cq * cq)).sum(axis=0), n * cyy + yy * one - 2 * q * cq
    known = (axx > 0) & (ayy > 0)
    root = np.sqrt(np.where(known, axx, 1.0) * np.where(known, ayy, 1.0))
    groot = (gxx * ayy + gyy * axx) / (2 * root)
    low, high = inverted(axy, np.where(known, root, 0.0), gxy, groot, possible=(-1, 1))
    if figure is Figure.CORRELATION:
        return low, high
    squares = low * low, high * high
    return np.where(low * high <= 0, 0.0, np.minimum(*squares)), np.maximum(*squares)


def _scaled(low: FloatArray, high: FloatArray, width: float, start: float = 0.0) -> tuple[FloatArray, FloatArray]:
    return start + low * width, start + high * width


def _inverted(
    above: FloatArray,
    below: FloatArray,
    up: FloatArray,
    down: FloatArray,
    spreads: FloatArray,
    heavy: float,
    possible: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[FloatArray, FloatArray]:
    """Where ``above - θ·below`` is within its half-width, from the first to the last such θ that is ``possible``.

    That is between the roots of a quadratic in θ, or beyond them where ``below`` is not told from 0; then what lies
    beyond one of them may be impossible, or take a divisor below 0 (see *Two rays*). Where nothing that is believed is
    possible, it goes as far inwards from the nearest θ that is.
    """
    vaa, vad, vdd = ((spreads * one * other).sum(axis=0) for one, other in ((up, up), (up, down), (down, down)))
    middle = np.where(below > 0, above / np.where(below > 0, below, 1.0), 0.0)
    slope = up - middle * down
    parts = spreads * slope * slope
    total = parts.sum(axis=0)
    kurtosis = heavy * (parts * parts).sum(axis=0) / np.where(total > 0, total * total, 1.0)
    z2 = normal_point(kurtosis) ** 2
    a = below * below - z2 * vdd
    b = above * below - z2 * vad
    c = above * above - z2 * vaa
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    safe = np.where(a != 0, a, 1.0)
    first, last = (b - root) / safe, (b + root) / safe
    between = (a > 0) & (below > 0)
    rays = (a < 0) & (below > 0) & (root > 0)
    first, last = np.where(rays, last, first), np.where(rays, first, last)
    least, most = possible
    far = above * above * vdd - 2 * above * below * vad + below * below * vaa > PLANE * z2 * (vaa * vdd - vad * vad)
    rising = above * vdd > below * vad
    right = rays & ((first < least) | (far & rising))
    left = rays & ((last > most) | (far & ~rising))
    low = np.where(between, first, np.where(right & ~left, last, -np.inf))
    high = np.where(between, last, np.where(left & ~right, first, np.inf))
    half = (high - low) / 2
    with np.errstate(invalid="ignore"):  # Nothing lies beyond an end that is not there.
        low, high = np.where(low >= most, most - half, low), np.where(high <= least, least + half, high)
    return np.clip(low, least, most), np.clip(high, least, most)


def normal_point(kurtosis: FloatArray) -> FloatArray:
    """The 97.5 % point, in standard deviations, of a sum of Laplace noises with this excess kurtosis, 0 to 3.

    A parabola through that of a Gaussian, of two equal Laplace noises (3/2), and of one (3).
    """
    u = kurtosis / 3
    bend = 2 * (LAPLACE_ALONE + Z - 2 * LAPLACE_PAIR)
    return np.asarray(Z + u * (LAPLACE_ALONE - Z - bend) + u * u * bend)


# Columns


@dataclass(frozen=True, slots=True)
class MomentEstimate(Estimate[Moment]):
    """A figure of moments. What is expected of it is that of a group whose rows lie evenly over the ranges."""

    assumed = ", spread evenly over the ranges (it is larger where values vary less)"

    @property
    def word(self) -> str:  # type: ignore[override]
        """Of a figure of two variables, a correlation stands for all."""
        figure = self.estimator.figure
        return "mean" if figure is Figure.MEAN else "spread" if figure.degrees == (2, 0) else "correlation"

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        estimator, noisy = self.estimator, groups.noisy
        cells: list[Sequence[int]] = [noisy.statistics[name] for name in estimator.statistics]
        if (joined := groups.sides.get(output.name)) is not None:
            cells = [[round(number) for number in side[: len(noisy.keys)].tolist()] for side in joined]
        found = moment_values(estimator, cells)
        low, high = moment_ends(estimator, cells, self._noises(noisy.noise), groups.shrunk)
        reaches = tuple(
            (0.0, 0.0) if value is None else (max(value - down, 0.0), max(up - value, 0.0))
            for value, down, up in zip(found, low.tolist(), high.tolist(), strict=True)
        )
        return ReleasedColumn(output.name, output.type, tuple(found), tuple(map(max, reaches)), reaches)

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float:
        cells = self._cells(rows, spread)
        value = moment_values(self.estimator, cells)[0]
        low, high = moment_ends(self.estimator, cells, self._noises(noise))
        middle = value if value is not None else 0.0
        return max(float(high[0]) - middle, middle - float(low[0]))

    def nominal_size(self, plan: Plan, rows: int) -> float:
        return abs(moment_values(self.estimator, self._cells(rows, None))[0] or 0.0) or 1.0

    def _cells(self, rows: int, spread: Spread | None) -> list[list[int]]:
        """The cells of one group of so many rows: x lies as is known, or evenly over its range; y evenly."""
        one = self.estimator
        x = _mean_polynomials(one.x.degree, *_moments(one.x, spread))
        y = _mean_polynomials(one.y.degree, *_moments(one.y, None))
        parts = (a * b for a in x for b in y)
        return [[round(rows * part / float(weight))] for part, (_, weight) in zip(parts, one.cells, strict=True)]

    def _noises(self, noise: Noises) -> list[Additive]:
        return [noise[name] for name in self.estimator.statistics]


def _moments(axis: Axis, spread: Spread | None) -> tuple[float, float]:
    """The means of t and t² on an axis."""
    low, high = float(axis.low), float(axis.high)
    return (Spread.even(low, high) if spread is None else spread).moments(low, high)


def _mean_polynomials(degree: int, mean: float, square: float) -> tuple[float, ...]:
    """What the Bernstein polynomials of a degree are on average, from the means of t and t²."""
    if degree == 2:
        return 1 - 2 * mean + square, 2 * (mean - square), square
    return (1 - mean, mean) if degree == 1 else (1.0,)
