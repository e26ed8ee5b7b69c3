"""Strategies for running sums: integers that are measured in place of the groups, so that sums have little noise.

``SUM(COUNT(*)) OVER (ORDER BY day)`` over n days that are measured one by one adds up to n noises. A strategy measures
``B·x`` for the exact integers x of the ordered groups and an integer matrix B, and the running sums are solved from
that. How far one unit moves B·x follows from B: for a unit with Σ|x| ≤ C, by at most C times the longest column of B in
either norm.

Windows that move, ``SUM(COUNT(*)) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)``, are sums of ``width``
neighbours. The same strategies serve them: the square root of their matrix, and a tree of two levels.

Why integers: then the sensitivity is exact. A matrix that was rounded to integers is another matrix. The sums are
solved from the rounded one, so nothing is biased.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rewriter.declared import Sensitivity

LONGEST = 4096
"""The most steps of a series that is measured with :class:`Toeplitz`, whose solution takes a square of them."""

_WIDEST_NODE = 64
_ROOT_BITS = 9
_WEIGHT_BITS = 5


@dataclass(frozen=True, slots=True)
class Toeplitz:
    """The square root of the matrix of prefixes, or of sums of ``width`` neighbours, its columns made equally long.

    Row i measures ``Σ_{j ≤ i} root[i-j] · weight[j] · x[j]``, where root[k] is 2⁹·C(2k, k)/4ᵏ, rounded (Fichtenberger,
    Henzinger, Upadhyay 2023; columns normalised as in Henzinger, Upadhyay 2025). With the noise of Gaussian scale σ for
    the longest column, a prefix has a variance of O(log² n)·σ²; the days one by one have O(n)·σ². The generating
    function of prefixes is 1/(1-z), that of windows (1-zʷ)/(1-z): root[k] are the coefficients of its square root, and
    a sum of w neighbours has a variance of O(log² w)·σ² in place of w·σ².

    >>> Toeplitz(3).root, Toeplitz(3).weight, Toeplitz(3).measured([1, 0, 2])
    ((512, 256, 192), (32, 33, 37), [16384, 8192, 44032])
    >>> Toeplitz(5, width=3).root
    (512, 256, 192, -96, 12)
    """

    steps: int
    width: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= LONGEST:
            raise ValueError("a series has at least one step and no more than can be solved")
        if self.width is not None and self.width < 1:
            raise ValueError("a window has at least one row")

    @property
    def root(self) -> tuple[int, ...]:
        return _root(self.steps, self.width)

    @property
    def weight(self) -> tuple[int, ...]:
        """The factor of step j: longer series have longer columns at their beginning."""
        return _weights(self.steps, self.width)

    @property
    def l1(self) -> int:
        """The largest L1 norm of a column."""
        return _longest(self.steps, self.width)[0]

    @property
    def l2_squared(self) -> int:
        """The largest squared L2 norm of a column."""
        return _longest(self.steps, self.width)[1]

    @property
    def variance(self) -> float:
        """The predicted variance of a sum, on average over the steps, for noise of variance 1; a little too large.

        That of the matrix without weights, which only make it smaller.
        """
        squares = accumulate(ratio * ratio for ratio in _ratios(self.steps, self.width))
        return sum(squares) / self.steps / self.unit**2

    @property
    def groups(self) -> float:
        """How many groups a sum has, on average over the steps."""
        return _groups(self.steps, self.width)

    @property
    def unit(self) -> int:
        """How far one step of a group moves the first integer that it is in: the size of a step."""
        return self.root[0] * self.weight[0]

    def size(self, steps: int) -> int:
        """How many integers are measured of a series of so many steps."""
        return steps

    def measured(self, series: Sequence[int]) -> list[int]:
        """B·x, exactly. ``series`` has at most ``steps`` groups, in order."""
        if len(series) > self.steps:
            raise ValueError("the series is longer than was planned")
        weighted = [x * weight for x, weight in zip(series, self.weight, strict=False)]
        return convolved(weighted, self.root[: len(series)])


@dataclass(frozen=True, slots=True)
class Tree:
    """The groups, and the sums of ``branching`` neighbours, of as many of these, and so on, ``levels`` times in all.

    A group is in one sum of every level, so ``levels`` is what the L1 norm grows by; least squares makes a prefix of a
    few nodes of each level (Hay, Rastogi, Miklau, Suciu 2010; Qardaji, Yang, Li 2013 on the branching). For sums of
    ``width`` neighbours two levels do.

    >>> Tree(5, branching=2, levels=2).measured([1, 0, 2, 4, 9])
    [1, 0, 2, 4, 9, 1, 6, 9]
    """

    steps: int
    branching: int
    levels: int
    width: int | None = None

    def __post_init__(self) -> None:
        if self.steps < 1 or self.branching < 2 or self.levels < 1:
            raise ValueError("a tree has groups, and nodes with at least two of them")
        if self.width is not None and self.levels != 2:
            raise ValueError("windows are sums of nodes of two levels")

    @property
    def groups(self) -> float:
        """How many groups a sum has, on average over the steps."""
        return _groups(self.steps, self.width)

    @property
    def l1(self) -> int:
        """The largest L1 norm of a column."""
        return self.levels

    @property
    def l2_squared(self) -> int:
        """The largest squared L2 norm of a column."""
        return self.levels

    @property
    def unit(self) -> int:
        """How far one step of a group moves the first integer that it is in."""
        return 1

    @property
    def variance(self) -> float:
        """The variance of a sum, on average over the steps, for noise of variance 1, as if every node had all its
        children.

        A prefix takes k whole children and a share f of the next one on each level; with the parent known, what is
        left of their noise has the variance v·(k + f² - (k + f)²/branching).
        """
        if self.width is not None:
            return _mean_window(self.width, self.branching)
        wide = float(self.branching)
        total, own, leaves = 0.0, 1.0, 1
        for _ in range(self.levels - 1):
            total += own * ((wide - 1) / 2 + _mean_square(leaves, leaves))
            total -= own * _mean_square(leaves * self.branching, leaves) / wide
            own, leaves = wide * own / (1 + wide * own), leaves * self.branching
        top = -(-self.steps // leaves)
        return total + own * ((top - 1) / 2 + _mean_square(leaves, leaves))

    def sizes(self, steps: int) -> list[int]:
        """How many nodes each level of a series has, the groups first."""
        return [-(-steps // self.branching**level) for level in range(self.levels)]

    def size(self, steps: int) -> int:
        """How many integers are measured of a series of so many steps."""
        return sum(self.sizes(steps))

    def measured(self, series: Sequence[int]) -> list[int]:
        """The groups and all sums, level after level. ``series`` has at most ``steps`` groups, in order."""
        if len(series) > self.steps:
            raise ValueError("the series is longer than was planned")
        level, found = list(series), list(series)
        for _ in range(self.levels - 1):
            level = [sum(level[begin : begin + self.branching]) for begin in range(0, len(level), self.branching)]
            found += level
        return found


def _mean_square(count: int, unit: int) -> float:
    """The mean of (j/unit)² for j from 1 to ``count``."""
    return (count + 1) * (2 * count + 1) / (6 * unit * unit)


def _mean_window(width: int, branching: int) -> float:
    """The variance of ``width`` neighbours, on average over where they begin in a node: k of its b children have
    k - k²/(b + 1) where the node is measured too."""
    total = 0.0
    for begin in range(branching):
        end = begin + width
        for node in range(0, end, branching):
            children = min(end, node + branching) - max(begin, node)
            total += children - children**2 / (branching + 1)
    return total / branching


def _groups(steps: int, width: int | None) -> float:
    """The mean of min(j, width) for j from 1 to ``steps``."""
    wide = steps if width is None else min(width, steps)
    return (wide * (wide + 1) / 2 + (steps - wide) * wide) / steps


PrefixStrategy = Toeplitz | Tree


@functools.lru_cache(maxsize=256)
def best_tree(steps: int, *, squared: bool, width: int | None = None) -> Tree | None:
    """The tree with the least variance of a sum at a price; None where there are too few steps for one.

    ``squared``: noise goes with the L2 norm and not with the L1 norm. ``width`` is that of a window that moves.

    >>> best_tree(30, squared=False), best_tree(365, squared=False)
    (Tree(steps=30, branching=10, levels=2, width=None), Tree(steps=365, branching=10, levels=3, width=None))
    """
    found = [
        Tree(steps, branching, levels, width)
        for branching in range(2, min(steps, width or steps, _WIDEST_NODE) + 1)
        for levels in (range(2, 18) if width is None else (2,))
        if branching ** (levels - 1) < steps
    ]
    return min(found, key=lambda tree: tree.variance * (tree.l2_squared if squared else tree.l1**2), default=None)


@functools.lru_cache(maxsize=64)
def _root(steps: int, width: int | None) -> tuple[int, ...]:
    # To nine digits first: what differs between machines in the last bits shall not be rounded apart.
    return tuple(round(round(ratio * (1 << _ROOT_BITS), 9)) for ratio in _ratios(steps, width))


@functools.lru_cache(maxsize=64)
def _ratios(steps: int, width: int | None) -> list[float]:
    """C(2k, k)/4ᵏ, the coefficients of (1-z)^(-1/2); for windows, those of (1-zʷ)^(1/2) · (1-z)^(-1/2)."""
    found = list(accumulate(range(1, steps), lambda ratio, k: ratio * (2 * k - 1) / (2 * k), initial=1.0))
    if width is None:
        return found
    banded, share = [0.0] * steps, 1.0
    for times, begin in enumerate(range(0, steps, width)):
        share *= (times - 1.5) / times if times else 1.0
        for place in range(begin, steps):
            banded[place] += share * found[place - begin]
    return banded


@functools.lru_cache(maxsize=64)
def _weights(steps: int, width: int | None) -> tuple[int, ...]:
    """The longest column over column j, in 2⁻⁵, rounded down."""
    lengths = list(accumulate(root * root for root in _root(steps, width)))[::-1]
    return tuple(math.isqrt((lengths[0] << 2 * _WEIGHT_BITS) // length) for length in lengths)


@functools.lru_cache(maxsize=64)
def _longest(steps: int, width: int | None) -> tuple[int, int]:
    """The largest L1 norm and the largest squared L2 norm of a column."""
    root, weights = _root(steps, width), _weights(steps, width)
    sums = list(accumulate(map(abs, root)))[::-1]
    squares = list(accumulate(entry * entry for entry in root))[::-1]
    return (
        max(weight * length for weight, length in zip(weights, sums, strict=True)),
        max(weight * weight * length for weight, length in zip(weights, squares, strict=True)),
    )


def convolved(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """``Σ_{j ≤ i} one[j] · other[i-j]`` for each i, exactly, at any size.

    Both are written side by side into one large integer each (Kronecker), and Python multiplies those quickly.

    >>> convolved([1, -2, 3], [5, 1, 0]), convolved([1, -2, 3], [5, -1, 0])
    ([5, -9, 13], [5, -11, 17])
    """
    count = len(one)
    if not count:
        return []
    if min(other) < 0:
        above, below = ([max(sign * y, 0) for y in other] for sign in (1, -1))
        return [more - less for more, less in zip(convolved(one, above), convolved(one, below), strict=True)]
    lift = max(0, -min(one))
    most = max(max(one) + lift, 1) * sum(other)
    width = most.bit_length() // 8 + 1
    left = int.from_bytes(b"".join((x + lift).to_bytes(width, "little") for x in one), "little")
    right = int.from_bytes(b"".join(y.to_bytes(width, "little") for y in other), "little")
    product = (left * right).to_bytes(2 * count * width, "little")
    found = [int.from_bytes(product[place * width : (place + 1) * width], "little") for place in range(count)]
    return [value - lift * more for value, more in zip(found, accumulate(other), strict=True)]


@dataclass(frozen=True, slots=True)
class Prefix:
    """How the series of a release are measured. The groups come in the order of their keys.

    A series has the groups that differ in the keys at the places ``order`` alone, in the order of the keys, or from the
    last one where ``descending``. No series has more groups than the strategy has steps.
    """

    strategy: PrefixStrategy
    order: tuple[int, ...]
    descending: bool

    def series(self, keys: Sequence[tuple[object, ...]]) -> tuple[tuple[int, ...], ...]:
        """The places of the groups of each series, in its order.

        >>> Prefix(Toeplitz(2), (1,), descending=True).series([("f", 1), ("f", 2), ("m", 1)])
        ((1, 0), (2,))
        """
        found: dict[tuple[object, ...], list[int]] = {}
        for place, key in enumerate(keys):
            other = tuple(value for number, value in enumerate(key) if number not in self.order)
            found.setdefault(other, []).append(place)
        return tuple(tuple(reversed(places) if self.descending else places) for places in found.values())

    def size(self, keys: Sequence[tuple[object, ...]]) -> int:
        """How many integers are measured of one statistic."""
        return sum(self.strategy.size(len(places)) for places in self.series(keys))

    def measured(self, column: Sequence[int], keys: Sequence[tuple[object, ...]]) -> list[int]:
        """A statistic's integers, by group, as the integers that are measured in their place: series after series."""
        return [
            integer
            for places in self.series(keys)
            for integer in self.strategy.measured([column[place] for place in places])
        ]

    def sensitivity(self, l1: int) -> Sensitivity:
        """The sensitivity of the measured integers, where one unit's integers have at most this L1 norm over all
        series.

        A matrix moves by no more than the sum of its columns, each as often as the unit moves its group.
        """
        return Sensitivity(l1 * self.strategy.l1, l1 * l1 * self.strategy.l2_squared)

    @property
    def relative(self) -> float:
        """The variance of a sum, on average, over that of as much noise on the groups one by one."""
        return self.strategy.variance / self.strategy.groups
