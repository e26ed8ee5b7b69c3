"""Marginals of which one attribute is measured by several divisions of its values: sums of neighbours have less noise.

Guarantee: as of :mod:`rewriter.strategies.residual_basis`. Estimates are unbiased and linear in what was measured,
variances are exact, and estimated tables agree exactly. A *division* puts every value of the attribute into one block,
so a table by blocks is a grouping as any other is: it has the sensitivity of that grouping, and nothing is added here.

``minutes < 10``, ``< 20``, … are sums of neighbouring intervals. Each interval measured alone adds up to many noises.
Two intervals of one block are measured with the same noise. Tables by different divisions, each with its own share of
the price, have for the intervals i and j the information of the probability that a random table has them in one
block: with blocks of all lengths that is near the optimum for sums of neighbours, the square root of their matrix.

The components over the other attributes are orthogonal. Each is now a vector over the values of the divided attribute,
and the information about it is a matrix, X(T) = Σ w · B over the tables that tell of it, for the 0-1 matrix B of equal
blocks. The total is Σ tr(V(T) X(T)⁻¹), with V(T) of what is asked. It is least at shares that the multiplicative
algorithm for A-optimal designs finds (Yu 2010). The division that lowers it most has the largest Σ of a matrix over
its blocks: over neighbours by dynamic programming, and then blocks are joined while that gains.

>>> asked = [AskedOfDivided((0,), 1.0, ((0, 1, 2, 3), (0, 1, 2), (0, 1), (0,)))]
>>> found = divided_shares((4,), 0, range(4), asked, {(0,): Fraction(1)}, Norm.L2, [(0,)])
>>> undivided = {((0,), None): Fraction(1)}
>>> round(total_of((4,), 0, asked, undivided, Norm.L2), 2), round(found.total, 2)
(2.5, 1.72)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import lcm, prod

import numpy as np
import numpy.typing as npt

from rewriter.declared import Norm
from rewriter.front_door import Attributes, Marginal, MeasuredMarginal, closure, whole_parts, within

FloatArray = npt.NDArray[np.float64]
Integers = npt.NDArray[np.object_]
"""Python's integers: exact at any size."""

Division = tuple[int, ...]
"""The block of each value of the divided attribute; blocks are numbered from 0 on."""

Table = tuple[Attributes, Division | None]
"""The attributes of a table, and the division of the divided one where that is not measured value by value."""

PARTS = WEIGHTS = 1 << 16
"""Shares of a price, and weights of estimates, are whole parts of this."""

MOST_TABLES = 16
"""So many tables by blocks are measured at most: each is one more grouping of the rows."""

_DIGITS = 4
"""Shares are found by iteration, and differ between machines beyond so many digits of a part."""
_FEW = 0.006
"""Tables with a smaller share are not measured."""
_LEAST = {Norm.L2: 1 / 4096, Norm.L1: 1 / 64}
"""The share of a table by all values, at least: it makes all estimates unbiased."""
_ROUNDS, _PRICED, _GAIN = 300, 16, 1.001
_STILL = 1e-7
"""Iteration ends where a step changes the total by no more than this part."""
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class AskedOfDivided:
    """A marginal that is asked for, or sums of its cells, by their places, and the weight of the mean variance."""

    attributes: Attributes
    weight: float
    sums: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class DividedShares:
    """The share of the price of each table. ``total`` is the weighted variance."""

    parts: Mapping[Table, Fraction]
    total: float


@dataclass(frozen=True, slots=True)
class DividedMeasured:
    """A measured marginal, and the division by which it has the divided attribute, if by any."""

    marginal: MeasuredMarginal
    division: Division | None = None


def normal(blocks: Sequence[int]) -> Division:
    """The same division, its blocks numbered in the order of their first values.

    >>> normal([7, 3, 7, 0])
    (0, 1, 0, 2)
    """
    known: dict[int, int] = {}
    return tuple(known.setdefault(one, len(known)) for one in blocks)


def _plain(attributes: Attributes, at: int) -> Attributes:
    return tuple(one for one in attributes if one != at)


def _by_values(numbers: Integers, attributes: Attributes, at: int, part: Attributes) -> Integers:
    """A row for each value of the divided attribute (one row, where it is no attribute of the table): the component of
    the other attributes ``part``, times the product of its sizes."""
    axes = list(attributes)
    found = numbers
    if at in axes:
        found = np.moveaxis(found, axes.index(at), 0)
        axes.remove(at)
    else:
        found = found[np.newaxis]
    gone = tuple(place for place, one in enumerate(axes, start=1) if one not in part)
    found = found.sum(axis=gone) if gone else found
    for axis in range(1, len(part) + 1):
        found = found * found.shape[axis] - found.sum(axis=axis, keepdims=True)
    return found.reshape(found.shape[0], -1)


def _adds(sizes: Sequence[int], attributes: Attributes, part: Attributes) -> float:
    inside = prod((sizes[one] - 1) / sizes[one] for one in part)
    return inside / prod(sizes[one] ** 2 for one in attributes if one not in part)


# -- shares --------------------------------------------------------------------------------------------------------


class _Design:
    """The total of what is asked, as a function of the shares of tables."""

    def __init__(self, sizes: Sequence[int], at: int, asked: Sequence[AskedOfDivided], norm: Norm) -> None:
        self._sizes, self._at, self._norm, self.values = sizes, at, norm, sizes[at]
        plain = {_plain(one.attributes, at) for one in asked}
        self._parts = closure(sorted(plain))
        weighs = {part: np.zeros((self.values, self.values)) for part in self._parts}
        for one in asked:
            others = _plain(one.attributes, at)
            for part in within(others):
                weighs[part] += one.weight * self._of_asked(one, others, part)
        self._weighs = np.stack([weighs[part] for part in self._parts])

    def _of_asked(self, one: AskedOfDivided, others: Attributes, part: Attributes) -> FloatArray:
        divided = self._at in one.attributes
        same = np.eye(self.values) / self.values if divided else np.ones((self.values, self.values))
        if one.sums is None:
            return same * _adds(self._sizes, others, part)
        shape = [self._sizes[i] for i in one.attributes]
        found = np.zeros((self.values, self.values))
        for cells in one.sums:
            chosen = np.zeros(prod(shape), dtype=np.int64)
            chosen[list(cells)] = 1
            cube = chosen.reshape(shape).astype(object)
            rows = _by_values(cube, one.attributes, self._at, part).astype(np.float64)
            rows = rows if divided else np.repeat(rows, self.values, axis=0)
            found += rows @ rows.T
        most: int = prod(self._sizes[i] for i in others) ** 2 * len(one.sums)
        mean: FloatArray = found / most
        return mean

    def tells(self, attributes: Attributes) -> FloatArray:
        """Of each component within a marginal the information, as a part of the marginal's."""
        others = set(_plain(attributes, self._at))
        return np.array(
            [
                1 / prod(self._sizes[i] for i in others.difference(part)) if others.issuperset(part) else 0.0
                for part in self._parts
            ]
        )

    def blocks(self, attributes: Attributes, division: Division | None) -> FloatArray:
        """Which two values have the same block: 1, and 0 of others."""
        if self._at not in attributes:
            return np.ones((self.values, self.values))
        labels = np.arange(self.values) if division is None else np.array(division)
        same: FloatArray = (labels[:, np.newaxis] == labels[np.newaxis]).astype(np.float64)
        return same

    def slopes(self, shares: FloatArray, tells: FloatArray, blocks: FloatArray) -> tuple[float, FloatArray]:
        """The total, and by how much it falls with information about each pair of values, for each component."""
        scale = shares**2 if self._norm is Norm.L1 else shares
        known = np.tensordot((scale[:, np.newaxis] * tells).T, blocks, axes=1)
        inverse = np.linalg.inv(known + _TINY * np.eye(self.values))
        return float(np.sum(self._weighs * inverse)), inverse @ self._weighs @ inverse


def total_of(
    sizes: Sequence[int],
    at: int,
    asked: Sequence[AskedOfDivided],
    parts: Mapping[Table, Fraction],
    norm: Norm,
) -> float:
    """The weighted variance of what is asked, where these tables are measured at these shares."""
    design = _Design(sizes, at, asked, norm)
    tells, blocks = _matrices(design, [*parts])
    return design.slopes(np.array([float(part) for part in parts.values()]), tells, blocks)[0]


def _matrices(design: _Design, tables: Sequence[Table]) -> tuple[FloatArray, FloatArray]:
    return np.stack([design.tells(one) for one, _ in tables]), np.stack([design.blocks(*one) for one in tables])


def divided_shares(
    sizes: Sequence[int],
    at: int,
    order: Sequence[int],
    asked: Sequence[AskedOfDivided],
    start: Mapping[Attributes, Fraction],
    norm: Norm,
    candidates: Sequence[Attributes],
) -> DividedShares:
    """The shares of tables by the ``candidates``, of which those with the attribute ``at`` may be divided; ``order``
    are its values in their order. Never worse than the shares of the ``start``, which divides nothing."""
    design = _Design(sizes, at, asked, norm)
    same: dict[Table, Fraction] = {(one, None): part for one, part in start.items()}
    before = DividedShares(same, total_of(sizes, at, asked, same, norm))
    with_it = [one for one in candidates if at in one]
    widest = [one for one in with_it if not any(set(one) < set(other) for other in with_it)]
    tables: list[Table] = [(one, None) for one in candidates]
    shares = np.array([float(start.get(one, 0)) + 0.2 / len(candidates) for one in candidates])
    for number in range(_PRICED):
        tables, shares, total, slopes = _improved(design, tables, shares / shares.sum(), widest, norm, final=False)
        if number == _PRICED - 1 or len(tables) >= len(candidates) + MOST_TABLES:
            break
        best = _best_divisions(design, with_it, slopes, order, total if norm is Norm.L2 else 0.0)
        fresh = [one for one in best if one not in tables]
        if not fresh:
            break
        tables += fresh
        shares = np.append(0.9 * shares, np.full(len(fresh), 0.1 / len(fresh)))
    tables, shares, _, _ = _improved(design, tables, shares, widest, norm, final=True)
    whole = whole_parts(shares.tolist(), _DIGITS)
    parts = {one: Fraction(part, PARTS) for one, part in zip(tables, whole, strict=True) if part}
    after = DividedShares(parts, total_of(sizes, at, asked, parts, norm))
    return min(before, after, key=lambda one: one.total)


def _improved(
    design: _Design, tables: list[Table], shares: FloatArray, widest: Sequence[Attributes], norm: Norm, *, final: bool
) -> tuple[list[Table], FloatArray, float, FloatArray]:
    """The tables that are worth their share, their best shares, the total, and its slopes."""
    least = np.array([_LEAST[norm] * (division is None and one in widest) for one, division in tables])
    for few in (_TINY, _FEW, _FEW) if final else (_FEW / 8,):
        shares = np.maximum(shares, least)
        shares = shares / shares.sum()
        tells, blocks = _matrices(design, tables)
        total = np.inf
        for _ in range(_ROUNDS):
            now, slopes = design.slopes(shares, tells, blocks)
            # Under L1 the total may rise for a step.
            if (abs(total - now) if norm is Norm.L1 else total - now) < _STILL * total:
                break
            total = now
            falls = np.sum(tells * np.tensordot(blocks, slopes, axes=((1, 2), (1, 2))), axis=1)
            gains = np.maximum(falls, 0)
            power = shares * np.cbrt(shares * gains) if norm is Norm.L1 else shares * np.sqrt(gains)
            shares = np.maximum(power / power.sum(), least)
            shares = shares / shares.sum()
        kept = [place for place, share in enumerate(shares) if share >= few or least[place]]
        tables, shares, least = [tables[place] for place in kept], shares[kept], least[kept]
    tells, blocks = _matrices(design, tables)
    shares = shares / shares.sum()
    return tables, shares, *design.slopes(shares, tells, blocks)


def _best_divisions(
    design: _Design, with_it: Sequence[Attributes], slopes: FloatArray, order: Sequence[int], least: float
) -> list[Table]:
    """Of each marginal the division that lowers the total most, where it lowers it at all."""
    found: list[Table] = []
    for one in with_it:
        falls = np.tensordot(design.tells(one), slopes, axes=1)
        division = _best_division(falls, order)
        gain = float(np.sum(falls * design.blocks(one, division)))
        if len(set(division)) < design.values and gain > _GAIN * least:
            found.append((one, division))
    return found


def _best_division(falls: FloatArray, order: Sequence[int]) -> Division:
    """Blocks of neighbours with the largest sum of all pairs within blocks, then joined while that gains."""
    many = len(order)
    sums = np.zeros((many + 1, many + 1))
    sums[1:, 1:] = np.cumsum(np.cumsum(falls[np.ix_(order, order)], axis=0), axis=1)
    best, begins = [0.0], [0]
    for end in range(1, many + 1):
        totals = [best[i] + sums[end, end] - sums[i, end] - sums[end, i] + sums[i, i] for i in range(end)]
        begins.append(int(np.argmax(totals)))
        best.append(totals[begins[-1]])
    blocks: list[list[int]] = []
    end = many
    while end:
        blocks.append([order[place] for place in range(begins[end], end)])
        end = begins[end]
    while len(blocks) > 1:
        pairs = {
            (i, j): float(falls[np.ix_(blocks[i], blocks[j])].sum()) for i, j in combinations(range(len(blocks)), 2)
        }
        i, j = max(pairs, key=lambda pair: pairs[pair])
        if pairs[i, j] <= 0:
            break
        blocks[i] += blocks.pop(j)
    labels = [0] * many
    for number, block in enumerate(blocks):
        for value in block:
            labels[value] = number
    return normal(labels)


# -- estimates -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Component:
    """A component by the values of the divided attribute, in steps of 1/(``WEIGHTS`` · the product of its sizes), and
    the exact covariance of its values: whole ``numerators`` over a ``denominator``. ``values`` is 1 where nothing but
    the sum over all values is known."""

    numbers: Integers
    numerators: Integers
    denominator: int

    @property
    def summed(self) -> _Component:
        numbers, numerators = self.numbers.sum(axis=0, keepdims=True), self.numerators.sum(keepdims=True)
        return _Component(numbers, numerators, self.denominator)


@dataclass(frozen=True)
class DividedEstimate:
    """An estimated marginal, in steps of 1/``scale``; the variance of each sum of its cells follows exactly.

    ``variance`` is the largest of a cell. ``own_scale`` is a divisor of the scale that is as fine as the numbers are.
    """

    table: Marginal
    scale: int
    own_scale: int
    _sizes: tuple[int, ...]
    _at: int
    _components: Mapping[Attributes, _Component]

    def sum_variance(self, cells: Sequence[int]) -> Fraction:
        """The exact variance of a sum of different cells, by their places."""
        attributes = self.table.attributes
        shape = [self._sizes[i] for i in attributes]
        chosen = np.zeros(prod(shape), dtype=np.int64)
        chosen[list(cells)] = 1
        cube = chosen.reshape(shape).astype(object)
        found = Fraction(0)
        for part, one in self._components.items():
            rows = _by_values(cube, attributes, self._at, part)
            found += Fraction(int(np.sum(one.numerators * rows.dot(rows.T))), one.denominator)
        return found / prod(self._sizes[i] for i in _plain(attributes, self._at)) ** 2

    @cached_property
    def variances(self) -> tuple[Fraction, ...]:
        """Of a cell with each value of the divided attribute; one, where that is none of the table's."""
        shape = [self._sizes[i] for i in self.table.attributes]
        if self._at not in self.table.attributes:
            return (self.sum_variance([0]),)
        step = prod(shape[self.table.attributes.index(self._at) + 1 :])
        return tuple(self.sum_variance([value * step]) for value in range(self._sizes[self._at]))

    @property
    def variance(self) -> Fraction:
        return max(self.variances)

    def cell_variance(self, place: int) -> Fraction:
        shape = [self._sizes[i] for i in self.table.attributes]
        if self._at not in self.table.attributes:
            return self.variances[0]
        step = prod(shape[self.table.attributes.index(self._at) + 1 :])
        return self.variances[place // step % self._sizes[self._at]]

    @cached_property
    def largest_variance(self) -> Fraction:
        """The most that a weighted sum of cells has of variance over the sum of squared weights, rounded up."""
        others = _plain(self.table.attributes, self._at)
        largest = Fraction(0)
        for part, one in self._components.items():
            if all(self._sizes[i] > 1 for i in part):
                scale = max(int(max(np.diag(one.numerators))), 1)
                ratios = np.array([[float(Fraction(int(x), scale)) for x in row] for row in one.numerators])
                most = Fraction(float(np.linalg.eigvalsh(ratios)[-1]) * (1 + 1e-9)) * scale / one.denominator
                largest = max(largest, most / prod(self._sizes[i] for i in others if i not in part))
        return largest


def divided_estimate(
    sizes: Sequence[int], at: int, measured: Sequence[DividedMeasured], wanted: Attributes
) -> DividedEstimate:
    """The estimate of a marginal, of least variance but for the rounding of weights.

    Each component is that of the most accurate table by all values, and weighs by how much the sums of its blocks
    differ from those of the other tables: unbiased, whatever the weights. Raises ValueError where it does not follow.
    """
    others = _plain(wanted, at)
    known = {part: _component(sizes, at, measured, part) for part in within(others)}
    if at not in wanted:
        known = {part: one.summed for part, one in known.items()}
    many = sizes[at] if at in wanted else 1
    if any(len(one.numbers) != many for one in known.values()):
        raise ValueError("this follows from no measured table")
    shape = (many, *(sizes[i] for i in others))
    numbers = np.zeros(shape, dtype=object)
    for part, one in known.items():
        own = (many, *(sizes[i] if i in part else 1 for i in others))
        numbers = numbers + one.numbers.reshape(own)
    if at in wanted:
        numbers = np.moveaxis(numbers, 0, wanted.index(at))
    every = {i for one in measured for i in _plain(one.marginal.table.attributes, at)}
    own_scale, scale = (WEIGHTS * prod(sizes[i] for i in some) for some in (others, every))
    factor = scale // own_scale
    table = Marginal(wanted, tuple(int(one) * factor for one in numbers.reshape(-1)))
    return DividedEstimate(table, scale, own_scale, tuple(sizes), at, known)


def _component(sizes: Sequence[int], at: int, measured: Sequence[DividedMeasured], part: Attributes) -> _Component:
    many = sizes[at]
    sources: list[tuple[npt.NDArray[np.int64], Fraction, Integers]] = []
    for one in measured:
        table, attributes = one.marginal.table, one.marginal.table.attributes
        others = _plain(attributes, at)
        if not set(part) <= set(others):
            continue
        blocks = np.zeros(many, dtype=np.int64)
        if at in attributes:
            blocks = np.arange(many) if one.division is None else np.array(one.division)
        shape = [int(blocks.max()) + 1 if i == at else sizes[i] for i in attributes]
        numbers = _by_values(np.array(table.numbers, dtype=object).reshape(shape), attributes, at, part)
        sources.append((blocks, one.marginal.variance * prod(sizes[i] for i in others if i not in part), numbers))
    if not sources:
        raise ValueError("this follows from no measured table")
    widest = max(len(numbers) for _, _, numbers in sources)
    if widest not in (1, many):
        raise ValueError("this follows from no measured table")
    if widest == 1:
        sources = [(np.zeros(1, dtype=np.int64), variance, numbers) for _, variance, numbers in sources]
    full = [place for place, (_, _, numbers) in enumerate(sources) if len(numbers) == widest]
    base = min(full, key=lambda place: sources[place][1])
    return _corrected(sources, base, widest)


def _corrected(
    sources: Sequence[tuple[npt.NDArray[np.int64], Fraction, Integers]], base: int, values: int
) -> _Component:
    """A source by all values, with what the others tell of sums of its numbers."""
    least = sources[base][1]
    matrices = [(blocks[np.newaxis] == np.arange(len(numbers))[:, np.newaxis]) for blocks, _, numbers in sources]
    ratios = [float(least / variance) if variance else 1 / _TINY for _, variance, _ in sources]
    known = sum(ratio * (one.T.astype(np.float64) @ one) for ratio, one in zip(ratios, matrices, strict=True))
    inverse = np.linalg.inv(known)
    own = WEIGHTS * np.eye(values, dtype=np.int64)
    weights: list[npt.NDArray[np.int64]] = []
    for place, (ratio, one) in enumerate(zip(ratios, matrices, strict=True)):
        exact = ratio * (inverse @ one.T) * WEIGHTS * (place != base and bool(least))
        weights.append(np.rint(np.round(exact, 4)).astype(np.int64))
        own = own - weights[-1] @ one
    weights[base] = own
    denominator = lcm(*(variance.denominator for _, variance, _ in sources))
    numbers = np.zeros((values, sources[base][2].shape[1]), dtype=object)
    numerators = np.zeros((values, values), dtype=object)
    for weight, (_, variance, measured) in zip(weights, sources, strict=True):
        numbers = numbers + weight.astype(object).dot(measured)
        numerators = numerators + (weight @ weight.T).astype(object) * int(variance * denominator)
    return _Component(numbers, numerators, denominator * WEIGHTS**2)
