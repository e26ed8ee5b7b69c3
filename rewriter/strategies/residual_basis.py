"""Counts by subsets of attributes, measured together: how much noise each measured table has, and how all are combined.

Guarantee: estimates are unbiased and linear in what was measured, the variance of every cell is exact, and estimated
tables agree exactly: the sum of a table over an attribute is the table without it, integer for integer. The total
weighted variance is not above that of the same tables measured apart at their best shares, in whole parts of 2⁻¹⁶.

A table over all combinations of attributes splits into orthogonal *components*, one for each subset T of the
attributes: what is particular to the combinations of T and follows from no smaller subset. A *marginal* S, the counts
by the attributes of S, is the sum of the components within S. With P the product over an empty set or a set of
attributes of sizes n, a component that is known with variance s(T), scaled like a marginal's noise, adds

    s(T) · P{(n - 1)/n : T} · P{1/n² : S without T}

to the variance of each cell of S, and costs P{(n - 1)/n : T} / s(T) of the sum of squares that one person moves, over
variance, which is 2ρ. So the optimum has a closed form (Xiao, He, Zhang, Kifer 2023, ResidualPlanner; Theorems 2 to 4).
It is the optimum of all linear strategies with Gaussian noise (the matrix mechanism).

Components have real coefficients; noise stands on integers. So marginals themselves are measured, each with its own
independent integer noise: a measured S of variance v(S) tells each T within it with s = v(S) · P{n : S without T}, and
information 1/s adds up over all measured S. Which noise is best is a convex problem over the shares of the price (an
A-optimal design); its optimum is worse than that of the components by what is paid for components that nobody needs.

>>> pairs = tuple(AskedMarginal((i, j), 1.0) for i in range(3) for j in range(i))
>>> sizes = (4, 3, 2)
>>> round(components(sizes, pairs).total, 2), round(best(sizes, pairs).total, 2), apart(pairs)
(6.07, 6.28, 9.0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import inf, lcm, prod, sqrt

from rewriter.declared import Norm

Attributes = tuple[int, ...]
"""A subset of attributes, by their places, in order."""

Sizes = Sequence[int]
"""How many values each attribute has."""

PARTS = 1 << 16
"""Shares of a price are whole parts of this."""

WEIGHTS = 1 << 16
"""MeasuredMarginal tables are combined with weights that are whole parts of this."""

_ROUNDS = 400


@dataclass(frozen=True, slots=True)
class AskedMarginal:
    """A marginal that is asked for, and the weight that the variance of each of its cells has. Where sums of its cells
    are asked for, ``adds`` is what a unit of variance of each component adds to them (:func:`adds_to_sums`)."""

    attributes: Attributes
    weight: float
    adds: Mapping[Attributes, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(sorted(set(self.attributes))))


@dataclass(frozen=True, slots=True)
class Components:
    """The optimal variance of each component, for a sum of squares over variance (2ρ) of 1; ``total`` is weighted."""

    variances: Mapping[Attributes, float]
    total: float


@dataclass(frozen=True, slots=True)
class Shares:
    """Which marginals are measured, and at which part of the price; the parts add up to 1. ``total`` is the weighted
    variance, for a price that gives a single count variance 1."""

    parts: Mapping[Attributes, Fraction]
    total: float


def within(attributes: Attributes) -> list[Attributes]:
    """All subsets, the empty one first.

    >>> within((0, 2))
    [(), (0,), (2,), (0, 2)]
    """
    return [part for size in range(len(attributes) + 1) for part in combinations(attributes, size)]


def closure(asked: Sequence[Attributes]) -> list[Attributes]:
    """All subsets of what is asked, smaller ones first."""
    found = {part for one in asked for part in within(one)}
    return sorted(found, key=lambda one: (len(one), one))


def _adds(sizes: Sizes | Sequence[Fraction], attributes: Attributes, part: Attributes) -> Fraction:
    """What a unit of variance of a component adds to that of each cell of a marginal."""
    inside = prod(sizes[one] - 1 for one in part)
    return Fraction(inside, prod(sizes[one] for one in part) * prod(sizes[i] ** 2 for i in attributes if i not in part))


def adds_to_sums(sizes: Sizes, attributes: Attributes, sums: Sequence[Sequence[int]]) -> dict[Attributes, float]:
    """What a unit of variance of each component adds to that of sums of different cells of a marginal, by the places of
    the cells of each: the mean over all sums.

    >>> adds_to_sums((2,), (0,), [[0], [1]]) == {part: float(_adds((2,), (0,), part)) for part in ((), (0,))}
    True
    >>> adds_to_sums((2,), (0,), [[0, 1]])  # all cells: what differs between them adds nothing
    {(): 1.0, (0,): 0.0}
    """
    found = dict.fromkeys(within(attributes), 0.0)
    many = prod(sizes[i] for i in attributes)
    for cells in sums:
        chosen = set(cells)
        marginal = Marginal(attributes, tuple(int(place in chosen) for place in range(many)))
        for part in found:
            found[part] += float(_of_sum(sizes, marginal, part)) / len(sums)
    return found


def _of_sum(sizes: Sizes, chosen: Marginal, part: Attributes) -> Fraction:
    """What a unit of variance of a component adds to the sum of the chosen cells, which have 1."""
    found = residual(sizes, summed(sizes, chosen, part))
    # The projection has r/(inside · outside) in each of ``outside`` cells; a unit of s(T) is 1/outside there.
    return Fraction(sum(number * number for number in found), prod(sizes[i] for i in chosen.attributes) ** 2)


def _costs(sizes: Sizes, part: Attributes) -> Fraction:
    return Fraction(prod(sizes[one] - 1 for one in part), prod(sizes[one] for one in part))


def cell_variance(
    sizes: Sizes | Sequence[Fraction], attributes: Attributes, variances: Mapping[Attributes, float]
) -> float:
    """The variance of each cell of a marginal, from the variances of the components within it. Of attributes that are
    nested in others, sizes are means."""
    adding = ((_adds(sizes, attributes, part), part) for part in within(attributes))
    return sum(float(adds) * variances[part] for adds, part in adding if adds)


def _wanted(sizes: Sizes, asked: Sequence[AskedMarginal]) -> dict[Attributes, float]:
    """How much the variance of each component weighs in the total."""
    found = dict.fromkeys(closure([one.attributes for one in asked]), 0.0)
    for one in asked:
        for part in within(one.attributes):
            adds = _adds(sizes, one.attributes, part) if one.adds is None else one.adds[part]
            found[part] += one.weight * float(adds)
    return found


def components(sizes: Sizes, asked: Sequence[AskedMarginal]) -> Components:
    """The optimum of all linear strategies with Gaussian noise, for 2ρ = 1.

    An attribute of one value has no component of its own: it costs nothing and adds nothing.

    >>> components((2,), (AskedMarginal((0,), 1.0),)).total  # a histogram is best measured as it is
    1.0
    """
    weighs, cost = (
        _wanted(sizes, asked),
        {part: float(_costs(sizes, part)) for part in closure([one.attributes for one in asked])},
    )
    root = sum(sqrt(weight * cost[part]) for part, weight in weighs.items())
    variances = {
        part: sqrt(cost[part] / weight) * root if weight and cost[part] else (0.0 if not cost[part] else inf)
        for part, weight in weighs.items()
    }
    return Components(variances, root**2)


def apart(asked: Sequence[AskedMarginal], norm: Norm = Norm.L2) -> float:
    """The weighted variance of the marginals measured apart, at their best shares of a price that gives a single count
    variance 1: Σ a/w for Σ w = 1 under L2, Σ a/e² for Σ e = 1 under L1."""
    power = 3 if norm is Norm.L1 else 2
    found: float = sum(one.weight ** (1 / power) for one in asked) ** power
    return found


def information(sizes: Sizes, part: Attributes, measured: Mapping[Attributes, float]) -> float:
    """What measured marginals, each with so much 1/variance, tell of a component together."""
    return sum(
        known / prod(sizes[i] for i in attributes if i not in part)
        for attributes, known in measured.items()
        if set(part) <= set(attributes)
    )


def best(
    sizes: Sizes, asked: Sequence[AskedMarginal], norm: Norm = Norm.L2, candidates: Sequence[Attributes] | None = None
) -> Shares:
    """The shares of the price at which marginals are measured; of the ``candidates``, which have all that is asked
    among them or within them, or of all subsets of what is asked.

    Under L2 by the multiplicative algorithm for A-optimal designs, which never gets worse from round to round (Yu
    2010); under L1 by the same steps, of which the best is taken. It starts from the best shares apart, where the
    candidates hold all that is asked, and so is never worse than these.
    """
    chosen = sorted(
        set(closure([one.attributes for one in asked]) if candidates is None else candidates),
        key=lambda one: (len(one), one),
    )
    weighs = _wanted(sizes, asked)
    tells = [
        {at: _tells(sizes, one, part) for at, part in enumerate(weighs) if set(part) <= set(one)} for one in chosen
    ]
    power = 3 if norm is Norm.L1 else 2
    own: dict[Attributes, float] = {}
    for one in asked:
        own[one.attributes] = own.get(one.attributes, 0.0) + one.weight
    apart_ = _normed([own.get(one, 0.0) ** (1 / power) for one in chosen])
    even = _normed([1.0] * len(chosen))
    starts = [apart_] if set(own) <= set(chosen) else []
    # What begins at 0 stays there: another start has something of everything.
    starts.append(_normed([a + 0.2 * b for a, b in zip(apart_, even, strict=True)]))
    found = min((_improved(start, tells, list(weighs.values()), norm) for start in starts), key=lambda one: one[0])
    tidied = [_tidied(found[1], least) for least in (0.002, 0.0)]
    rounded = [*(whole_parts(one) for one in tidied), *(whole_parts(start) for start in starts)]
    totals = [_total([part / PARTS for part in one], tells, list(weighs.values()), norm) for one in rounded]
    place = totals.index(min(totals))
    parts = {one: Fraction(part, PARTS) for one, part in zip(chosen, rounded[place], strict=True) if part}
    return Shares(parts, totals[place])


Tells = Sequence[Mapping[int, float]]
"""For each marginal, the components within it, by number, and what it tells of each."""


def _tells(sizes: Sizes, attributes: Attributes, part: Attributes) -> float:
    """Of a component within a marginal: its information, as a part of the marginal's."""
    return 1 / prod(sizes[i] for i in attributes if i not in part)


def _normed(shares: Sequence[float]) -> list[float]:
    whole = sum(shares)
    return [one / whole for one in shares] if whole else [1 / len(shares)] * len(shares)


def _known(shares: Sequence[float], tells: Tells, norm: Norm, components: int) -> list[float]:
    """1/variance of each component."""
    known = [0.0] * components
    for share, row in zip(shares, tells, strict=True):
        scale = share**2 if norm is Norm.L1 else share
        for at, part in row.items():
            known[at] += scale * part
    return known


def _total(shares: Sequence[float], tells: Tells, weighs: Sequence[float], norm: Norm) -> float:
    known = _known(shares, tells, norm, len(weighs))
    return sum((weight / one if one else inf) for weight, one in zip(weighs, known, strict=True) if weight)


def _improved(shares: list[float], tells: Tells, weighs: Sequence[float], norm: Norm) -> tuple[float, list[float]]:
    best_ = (_total(shares, tells, weighs, norm), shares)
    if best_[0] == inf:
        return best_
    for _ in range(_ROUNDS):
        known = _known(shares, tells, norm, len(weighs))
        slopes = [weight / one**2 if weight else 0.0 for weight, one in zip(weighs, known, strict=True)]
        gains = [sum(slopes[at] * part for at, part in row.items()) for row in tells]
        if norm is Norm.L1:
            shares = _normed([e * (e * gain) ** (1 / 3) for e, gain in zip(shares, gains, strict=True)])
        else:
            shares = _normed([w * sqrt(gain) for w, gain in zip(shares, gains, strict=True)])
        total = _total(shares, tells, weighs, norm)
        if total >= best_[0] * (1 - 1e-9):
            if norm is Norm.L2:
                break
            continue
        best_ = (total, shares)
    return best_


def _tidied(shares: Sequence[float], least: float) -> list[float]:
    return _normed([one if one >= least else 0.0 for one in shares])


def whole_parts(shares: Sequence[float], digits: int = 6) -> list[int]:
    """Whole parts that add up to ``PARTS``. What differs between machines beyond so many ``digits`` of a part is not
    rounded apart.

    >>> whole_parts([1 / 3, 2 / 3])
    [21845, 43691]
    """
    exact = [round(one * PARTS, digits) for one in shares]
    found = [int(one) for one in exact]
    order = sorted(range(len(found)), key=lambda at: (found[at] - exact[at], at))
    for at in order[: PARTS - sum(found)]:
        found[at] += 1
    return found


# -- tables --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Marginal:
    """A marginal: integers, one for each combination of the values of its attributes, the last attribute fastest."""

    attributes: Attributes
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MeasuredMarginal:
    """A measured marginal and the exact variance of the independent noise in each of its cells, in whole counts.

    Its numbers are in steps of 1/``steps``. Where not all components were measured, it tells of the ``parts`` alone.
    """

    table: Marginal
    variance: Fraction
    steps: int = 1
    parts: frozenset[Attributes] | None = None

    def tells(self, part: Attributes) -> bool:
        """Whether a component follows from it."""
        return set(part) <= set(self.table.attributes) if self.parts is None else part in self.parts


@dataclass(frozen=True, slots=True)
class EstimatedMarginal:
    """An estimated marginal, in steps of 1/``scale``, and the exact variance of each cell, in whole counts.

    ``components`` have the variances of the components within it. ``own_scale`` is a divisor of the scale that is as
    fine as these numbers are.
    """

    table: Marginal
    scale: int
    variance: Fraction
    components: Mapping[Attributes, Fraction]
    own_scale: int


def combined(
    sizes: Sizes, measured: Sequence[MeasuredMarginal], wanted: Sequence[Attributes]
) -> list[EstimatedMarginal]:
    """The estimates of marginals within measured ones: of least variance but for the rounding of weights.

    All are made of the same estimated components, which are integers that add up to 0 along each attribute: so any two
    of them agree, to the last digit. ``scale`` is the same for all.

    >>> tables = (Marginal((0,), (3, 6)), Marginal((), (12,)))
    >>> found = combined((2,), [MeasuredMarginal(one, Fraction(1)) for one in tables], [(0,), ()])
    >>> [([round(n / one.scale, 2) for n in one.table.numbers], round(float(one.variance), 2)) for one in found]
    [([4.0, 7.0], 0.67), ([11.0], 0.67)]
    """
    every = sorted({i for one in measured for i in one.table.attributes})
    finer = lcm(*(one.steps for one in measured))
    scale = WEIGHTS * finer * prod(sizes[i] for i in every)
    known: dict[Attributes, tuple[list[int], Fraction]] = {}

    def component(part: Attributes) -> tuple[list[int], Fraction]:
        if part not in known:
            known[part] = _component(sizes, measured, part, finer)
        return known[part]

    return [_estimated(sizes, one, {part: component(part) for part in within(one)}, scale, finer) for one in wanted]


def _component(
    sizes: Sizes, measured: Sequence[MeasuredMarginal], part: Attributes, finer: int
) -> tuple[list[int], Fraction]:
    """A component, in steps of 1/(``WEIGHTS`` · ``finer`` · the product of its sizes), and its variance."""
    sources = [one for one in measured if one.tells(part)]
    if not sources:
        raise ValueError("this follows from no measured table")
    variances = [one.variance * prod(sizes[i] for i in one.table.attributes if i not in part) for one in sources]
    weights = _weights(variances)
    total = [0] * prod(sizes[i] for i in part)
    for weight, one in zip(weights, sources, strict=True):
        for place, number in enumerate(residual(sizes, summed(sizes, one.table, part))):
            total[place] += weight * (finer // one.steps) * number
    variance = sum(
        (Fraction(weight * weight, WEIGHTS**2) * one for weight, one in zip(weights, variances, strict=True)),
        Fraction(0),
    )
    return total, variance


def _weights(variances: Sequence[Fraction]) -> list[int]:
    """Whole parts of ``WEIGHTS`` in proportion to inverse variances."""
    if any(not one for one in variances):
        sure = next(at for at, one in enumerate(variances) if not one)
        return [WEIGHTS * (at == sure) for at in range(len(variances))]
    told = [1 / one for one in variances]
    whole = sum(told)
    found = [int(one * WEIGHTS / whole) for one in told]
    found[found.index(max(found))] += WEIGHTS - sum(found)
    return found


def summed(sizes: Sizes, table: Marginal, part: Attributes) -> Marginal:
    """The marginal of fewer attributes."""
    numbers, left = table.numbers, list(table.attributes)
    for one in table.attributes:
        if one not in part:
            at = left.index(one)
            after = prod(sizes[i] for i in left[at + 1 :])
            size = sizes[one]
            numbers = tuple(
                sum(numbers[(outer * size + value) * after + inner] for value in range(size))
                for outer in range(len(numbers) // (size * after))
                for inner in range(after)
            )
            left.remove(one)
    return Marginal(tuple(left), tuple(numbers))


def residual(sizes: Sizes, table: Marginal) -> list[int]:
    """What follows from no smaller subset, times the product of the sizes: n·x less the sum, along each attribute."""
    numbers = list(table.numbers)
    after = 1
    for one in reversed(table.attributes):
        size = sizes[one]
        step = size * after
        for start in range(0, len(numbers), step):
            for inner in range(start, start + after):
                places = range(inner, inner + step, after)
                whole = sum(numbers[place] for place in places)
                for place in places:
                    numbers[place] = size * numbers[place] - whole
        after = step
    return numbers


def _estimated(
    sizes: Sizes, wanted: Attributes, parts: Mapping[Attributes, tuple[list[int], Fraction]], scale: int, finer: int
) -> EstimatedMarginal:
    shape = [sizes[i] for i in wanted]
    numbers = [0] * prod(shape)
    own = WEIGHTS * finer * prod(shape)
    variance = Fraction(0)
    for part, (component, known) in parts.items():
        variance += _adds(sizes, wanted, part) * known
        steps = steps_within(sizes, wanted, part)
        for place in range(len(numbers)):
            numbers[place] += component[sum((place // by % size) * step for by, size, step in steps)]
    factor = scale // own
    table = Marginal(wanted, tuple(number * factor for number in numbers))
    return EstimatedMarginal(table, scale, variance, {part: known for part, (_, known) in parts.items()}, own)


def sum_variance(sizes: Sizes, estimated: EstimatedMarginal, cells: Sequence[int]) -> Fraction:
    """The exact variance of a sum of different cells of an estimated marginal, by their places.

    >>> tables = (Marginal((0,), (3, 6)), Marginal((), (12,)))
    >>> measured = [MeasuredMarginal(one, Fraction(1)) for one in tables]
    >>> one, whole = combined((2,), measured, [(0,), ()])
    >>> sum_variance((2,), one, [0]) == one.variance, sum_variance((2,), one, [0, 1]) == whole.variance
    (True, True)
    """
    numbers = [0] * len(estimated.table.numbers)
    for place in cells:
        numbers[place] = 1
    attributes = estimated.table.attributes
    chosen = Marginal(attributes, tuple(numbers))
    return sum((known * _of_sum(sizes, chosen, part) for part, known in estimated.components.items()), Fraction(0))


def largest_variance(sizes: Sizes, estimated: EstimatedMarginal) -> Fraction:
    """The most that any weighted sum of cells has of variance, over the sum of squared weights: the largest eigenvalue
    of the cells' covariance. Cells of one marginal depend on each other: a difference of two can have more than both.
    """
    return max(
        known / prod(sizes[i] for i in estimated.table.attributes if i not in part)
        for part, known in estimated.components.items()
        if _costs(sizes, part)
    )


def steps_within(sizes: Sizes, wanted: Attributes, part: Attributes) -> list[tuple[int, int, int]]:
    """For each attribute of ``part``: how to read its value off a place in ``wanted``, and its step in ``part``."""
    found = []
    for one in part:
        by = prod(sizes[i] for i in wanted[wanted.index(one) + 1 :])
        found.append((by, sizes[one], prod(sizes[i] for i in part[part.index(one) + 1 :])))
    return found
