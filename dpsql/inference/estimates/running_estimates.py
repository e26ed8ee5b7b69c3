"""Groups from the integers that a prefix strategy measured: post-processing of released numbers.

Running sums are estimated first and the groups are their differences, so that adding the groups up again gives exactly
the running sums that were estimated. Where a statistic cannot be negative, running sums never fall: isotonic
regression (Barlow et al. 1972; Hay, Rastogi, Miklau, Suciu 2010), and no group is negative.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpsql.inference.intervals import Z, half_width, variance
from dpsql.inference.numeric import FloatArray, IntArray, monotone, quotient, tree
from dpsql.releases import Additive, IntegerColumn, NoisyTable
from rewriter.front_door import Prefix, PrefixStrategy, Toeplitz, Tree, running_outputs, runs_along
from rewriter.plan import Block, Plan
from rewriter.release import Along, Frame


@dataclass(frozen=True, slots=True)
class Decoded:
    """A noisy table of groups. Its noise is what a group has on average; ``factors`` are by what each one's is larger.

    ``factors`` None: the noise of all groups is the same, and independent. Otherwise it is neither, and whoever adds up
    groups finds the variance in :func:`prefix_variances`, or by adding noise to the measurements themselves.
    """

    table: NoisyTable
    factors: FloatArray | None


def decoded(noisy: NoisyTable, plan: Plan, *, consistent: bool = True) -> Decoded:
    """The groups of a table whose plan measures running sums. Without prefix strategies, the table as it is.

    Unbiased, but for rounding, where not ``consistent``. Groups are whole multiples of what their part is rounded to.
    """
    statistics, noise = dict(noisy.statistics), dict(noisy.noise)
    factors = [np.ones(len(noisy.keys))] if any(block.prefix is None for block in plan.blocks) else []
    for block in plan.blocks:
        if block.prefix is None:
            continue
        for statistic in block.statistics:
            name = statistic.name
            statistics[name] = _groups(
                noisy.statistics[name], block.prefix, noisy.keys, _Rounding.of(name, plan, consistent)
            )
            variances = group_variances(block.prefix, noisy.keys, noisy.noise[name])
            mean = float(variances.mean()) if noisy.keys else 0.0
            noise[name] = _of_variance(noisy.noise[name], mean) if mean else noisy.noise[name]
            factors.append(np.sqrt(variances / mean) if mean else np.ones(len(noisy.keys)))
    if all(block.prefix is None for block in plan.blocks):
        return Decoded(noisy, None)
    return Decoded(replace(noisy, statistics=statistics, noise=noise), np.max(factors, axis=0))


def prefix_variances(
    prefix: Prefix, keys: Sequence[tuple[object, ...]], noise: Additive, frame: Frame | None = None
) -> FloatArray:
    """The variance of the running sum that ends with each group, in squared steps of the statistic.

    Or of the sum over the ``frame`` around it. In the order of ``keys``; of the unbiased estimates. Running sums of
    different statistics are independent.
    """
    return _by_group(prefix, keys, lambda size: _summed(prefix.strategy, size, frame)) * variance(noise)


@dataclass(frozen=True, slots=True)
class RunningNoise:
    """The noise of sums of neighbouring groups that are the differences of running sums, along one series of ``size``
    groups or over ``each`` such series together: a :class:`~dpsql.inference.shown_groups.BlockNoise`.

    A sum of draws of one law is no likelier far out than one draw of the same variance, so the reach of a block is that
    of one draw, with a step for the lattice. ``rounding`` is the variance that rounding adds to each sum.
    """

    prefix: Prefix
    noise: Additive
    size: int
    weight: Fraction = Fraction(1)
    rounding: float = 0.0
    each: int = 1

    def reaches(self, starts: IntArray, length: int, alpha: float) -> FloatArray:
        spreads = np.sqrt(self._variances(length)[self._ends(starts, length)])
        widest = float(spreads.max(initial=0.0))
        if not widest:
            return np.zeros(len(starts))
        one = _of_variance(self.noise, widest**2)
        return np.asarray((half_width(((one, Fraction(1)),), alpha) + 1) * spreads / widest)

    def spread(self, start: int, length: int) -> float:
        if not length:
            return 0.0
        (place,) = self._ends(np.array([start], dtype=np.int64), length)
        return math.sqrt(self._variances(length)[place])

    def _ends(self, starts: IntArray, length: int) -> IntArray:
        """The row of the series at which each block ends."""
        return self.size - 1 - starts if self.prefix.descending else starts + length - 1

    def _variances(self, length: int) -> FloatArray:
        """Of the sum of so many rows of the series up to each."""
        own = _summed(self.prefix.strategy, self.size, Frame(length - 1, 0))
        return self.each * (float(self.weight) ** 2 * variance(self.noise) * own + self.rounding)


def group_variances(prefix: Prefix, keys: Sequence[tuple[object, ...]], noise: Additive) -> FloatArray:
    """The variance of each group alone, in squared steps of the statistic, in the order of ``keys``."""
    return _by_group(prefix, keys, lambda size: _alone(prefix.strategy, size)) * variance(noise)


def group_noise(blocks: Sequence[Block], noise: Mapping[str, Additive], factor: float = 1.0) -> Mapping[str, Additive]:
    """The noise of each statistic, of a group where a prefix strategy measures it: what is expected before reading.
    ``factor`` is what agreement with other measurements leaves of its standard deviation."""
    found = dict(noise)
    if factor < 1:
        found = {name: _of_variance(one, factor**2 * variance(one)) for name, one in noise.items()}
    for block in blocks:
        if block.prefix is not None:
            strategy = block.prefix.strategy
            mean = float(_alone(strategy, strategy.steps).mean())
            for statistic in block.statistics:
                one = noise[statistic.name]
                found[statistic.name] = _of_variance(one, mean * variance(one))
    return found


def running_margins(plan: Plan, noise: Mapping[str, Additive], window: Along | None = None) -> Mapping[str, float]:
    """The 95 % half-width to expect of a running sum, on average over its steps, by the output that is added up.

    Without a ``window``, of the sums that the release is measured for, and of those outputs alone.
    """
    spread: dict[str, float] = {}
    for block in plan.blocks:
        mean = _mean_variance(block, plan, window)
        if mean is not None:
            spread |= {one.name: mean * variance(noise[one.name]) for one in block.statistics}
    return {
        output: Z * sum(float(weight) ** 2 * spread[name] for name, weight in estimator.terms) ** 0.5
        for output, estimator in running_outputs(plan, window).items()
        if all(name in spread for name, _ in estimator.terms)
    }


def _mean_variance(block: Block, plan: Plan, window: Along | None) -> float | None:
    """The variance of a sum, on average over its steps, for noise of variance 1; None where it is not known."""
    if block.prefix is not None:
        strategy = block.prefix.strategy
        frame = _own_frame(strategy) if window is None else window.frame
        counts = _counts(strategy.steps, frame) if window is not None and window.mean else 1.0
        return float((_summed(strategy, strategy.steps, frame) / np.square(counts)).mean())
    if window is None or plan.selection is not None:
        return None
    if plan.cells is not None and len(window.order) == len(plan.keys):
        counts = _counts(plan.cells, window.frame)
    elif window.frame is not None:
        counts = np.array([float(window.frame.width)])
    else:
        return None
    return float((1 / counts if window.mean else counts).mean())


def _own_frame(strategy: PrefixStrategy) -> Frame | None:
    """The window that a strategy is made for."""
    return None if strategy.width is None else Frame(strategy.width - 1, 0)


@dataclass(frozen=True, slots=True)
class RunningEstimate:
    """The unbiased estimates of sums over the windows of groups, and their 95 % half-widths, in the order of groups."""

    values: FloatArray
    widths: FloatArray


def window_sums(noisy: NoisyTable, plan: Plan, window: Along) -> Mapping[str, RunningEstimate]:
    """What was measured of the sum over the window of each group, by the output that is added up.

    Why not the sums of the shown groups: no shown group is below 0 and running sums never fall, so groups beside empty
    ones are moved, all of a window to one side. Of windows that the measured groups step into, bars around the shown
    sums held 81 to 91 in 100.
    """
    groups = decoded(noisy, plan, consistent=False).table.statistics
    along = Prefix(_ALONE, window.order, window.descending)
    series = along.series(noisy.keys)
    widths = running_half_widths(noisy, plan, window)
    counts = _rows_of(window, noisy.keys) if window.mean else np.ones(len(noisy.keys))
    found: dict[str, RunningEstimate] = {}
    for output, estimator in running_outputs(plan, window).items():
        total = np.zeros(len(noisy.keys))
        for name, weight in estimator.terms:
            total += float(weight) * IntegerColumn.of(groups[name]).floats
        values = np.zeros(len(total))
        for places in map(list, series):
            before = np.concatenate([[0.0], np.cumsum(total[places])])
            first, last = _ends(len(places), window.frame)
            values[places] = before[last + 1] - before[first]
        found[output] = RunningEstimate(values / counts, np.asarray(widths[output]))
    return found


def running_half_widths(noisy: NoisyTable, plan: Plan, window: Along | None = None) -> Mapping[str, tuple[float, ...]]:
    """The 95 % half-width of the running sum that ends with each group, by the output that is added up.

    Of the unbiased estimates, and so of those that are made monotone at most. A running sum is rounded, and so are the
    two that a window is the difference of.
    """
    spread: dict[str, FloatArray] = {}
    rounding: dict[str, FloatArray] = {}
    counts = np.ones(len(noisy.keys)) if window is None else _rows_of(window, noisy.keys)
    for block in plan.blocks:
        for one in block.statistics:
            step = _Rounding.of(one.name, plan, False).step
            if block.prefix is not None and runs_along(block.prefix, window):
                frame = _own_frame(block.prefix.strategy) if window is None else window.frame
                spread[one.name] = prefix_variances(block.prefix, noisy.keys, noisy.noise[one.name], frame)
                rounding[one.name] = np.full(len(noisy.keys), step**2 / 12 * (1 if frame is None else 2))
            elif block.prefix is None and window is not None:
                spread[one.name] = counts * variance(noisy.noise[one.name])
                rounding[one.name] = np.zeros(len(noisy.keys))
    found: dict[str, tuple[float, ...]] = {}
    for output, estimator in running_outputs(plan, window).items():
        total = np.zeros(len(noisy.keys))
        for name, weight in estimator.terms:
            total += float(weight) ** 2 * (spread[name] + rounding[name])
        if estimator.integer and any(weight.denominator != 1 for _, weight in estimator.terms):
            total += counts / 12
        divided = counts if window is not None and window.mean else 1.0
        found[output] = tuple((Z * np.sqrt(total) / divided).tolist())
    return found


def _rows_of(window: Along, keys: Sequence[tuple[object, ...]]) -> FloatArray:
    """How many groups each group's window has."""
    prefix = Prefix(_ALONE, window.order, window.descending)
    return _by_group(prefix, keys, lambda size: _counts(size, window.frame))


def _counts(size: int, frame: Frame | None) -> FloatArray:
    """How many rows the frame of each row has.

    >>> _counts(4, None).tolist(), _counts(4, Frame(1, 1)).tolist()
    ([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 3.0, 2.0])
    """
    first, last = _ends(size, frame)
    return np.asarray(last - first + 1, dtype=np.float64)


def _ends(size: int, frame: Frame | None) -> tuple[IntArray, IntArray]:
    """The first and the last row of the frame of each row."""
    rows = np.arange(size, dtype=np.int64)
    if frame is None:
        return np.zeros(size, dtype=np.int64), rows
    before, after = min(frame.before, size), min(frame.after, size)
    return np.maximum(rows - before, 0), np.minimum(rows + after, size - 1)


_ALONE = Toeplitz(1)


def _of_variance(noise: Additive, spread: float) -> Additive:
    """Noise of the same kind and of another variance: most of a group's comes from one draw."""
    return replace(noise, scale=Fraction(float(noise.square_of_scale(Fraction(spread))) ** 0.5))


@dataclass(frozen=True, slots=True)
class _Rounding:
    """Running sums are multiples of ``step``; where ``rising``, none is below the one before it or below 0."""

    step: int
    rising: bool

    @classmethod
    def of(cls, name: str, plan: Plan, consistent: bool) -> _Rounding:
        for part in plan.parts:
            if [term for term, _ in part.estimator.terms] == [name]:
                weight = part.estimator.terms[0][1]
                rising = consistent and part.estimator.minimum is not None and weight > 0
                return cls(max(1, int(part.unit / abs(weight))), rising)
        return cls(1, False)


def _groups(
    measured: Sequence[int], prefix: Prefix, keys: Sequence[tuple[object, ...]], how: _Rounding
) -> tuple[int, ...]:
    groups = [0] * len(keys)
    begin = 0
    for places in prefix.series(keys):
        end = begin + prefix.strategy.size(len(places))
        sums = _prefixes(prefix.strategy, np.array([float(n) for n in measured[begin:end]]), len(places))
        begin = end
        if how.rising:
            sums = monotone(sums, low=0.0)
        before = 0
        for place, total in zip(places, np.rint(sums / how.step).tolist(), strict=True):
            groups[place] = (int(total) - before) * how.step
            before = int(total)
    return tuple(groups)


def _prefixes(strategy: PrefixStrategy, measured: FloatArray, size: int) -> FloatArray:
    """The unbiased running sums: B·x solved for x, in the least squares where it says more than that, and added up."""
    if isinstance(strategy, Tree):
        return np.asarray(np.cumsum(_leaves(strategy, measured, size)[0]))
    weighted = quotient(measured, np.array(strategy.root[:size], dtype=np.float64))
    return np.asarray(np.cumsum(weighted / np.array(strategy.weight[:size], dtype=np.float64)))


def _leaves(strategy: Tree, measured: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """The groups of a tree by least squares, and their variances for noise of variance 1."""
    sizes = strategy.sizes(size)
    ends = np.cumsum(sizes)
    values = [measured[end - count : end] for end, count in zip(ends, sizes, strict=True)][::-1]
    parents = [np.zeros(0, dtype=np.int64), *(np.arange(count) // strategy.branching for count in sizes[-2::-1])]
    estimates, variances = tree(parents, values, [1.0] * len(values))
    return estimates[-1], variances[-1]


@functools.lru_cache(maxsize=32)
def _summed(strategy: PrefixStrategy, size: int, frame: Frame | None) -> FloatArray:
    """The variance of the sum over the frame of each row, or of the running sum, for noise of variance 1."""
    if isinstance(strategy, Tree):
        return _tree_variances(strategy, size) if frame is None else _tree_windows(strategy, size, frame)
    first, last = _ends(size, frame)
    inverse, weight = _inverse(strategy, size)
    sums, running = np.zeros(size), np.zeros(size + 1)
    for noise in range(size):
        running[: noise + 1] = 0.0
        running[noise + 1 :] = np.cumsum(inverse[: size - noise] / weight[noise:])
        sums += np.square(running[last + 1] - running[first])
    return sums


@functools.lru_cache(maxsize=32)
def _alone(strategy: PrefixStrategy, size: int) -> FloatArray:
    """The variance of each group, for noise of variance 1."""
    if isinstance(strategy, Tree):
        return _leaves(strategy, np.zeros(strategy.size(size)), size)[1]
    inverse, weight = _inverse(strategy, size)
    return np.asarray(np.cumsum(np.square(inverse)) / np.square(weight))


def _inverse(strategy: Toeplitz, size: int) -> tuple[FloatArray, FloatArray]:
    """What a group is made of: noise of steps further back, and what each step is divided by."""
    root, weight = (np.array(entries[:size], dtype=np.float64) for entries in (strategy.root, strategy.weight))
    return quotient(np.eye(1, size)[0], root), weight


def _tree_windows(strategy: Tree, size: int, frame: Frame) -> FloatArray:
    """The variances of sums over frames, in a tree of two levels: k of a node's c children have k - k²/(c + 1)
    together.

    The covariance of children whose sum is measured too is 1 - 1/(c + 1) on the diagonal and -1/(c + 1) elsewhere
    (Sherman, Morrison 1950); that of a deeper tree is no larger, since more is measured.
    """
    first, last = _ends(size, frame)
    wide = strategy.branching
    left, right = first // wide, last // wide
    children = np.minimum(wide, size - np.arange(-(-size // wide)) * wide)
    whole = np.concatenate([[0.0], np.cumsum(children / (children + 1.0))])
    inside = np.where(left == right, last - first + 1, np.minimum((left + 1) * wide, size) - first)
    tail = np.where(left == right, 0, last - right * wide + 1)
    parts = inside - inside**2 / (children[left] + 1.0) + tail - tail**2 / (children[right] + 1.0)
    return np.asarray(parts + np.maximum(whole[right] - whole[np.minimum(left + 1, right)], 0.0))


def _tree_variances(strategy: Tree, size: int) -> FloatArray:
    """The variances of running sums over a tree: each child takes a part of its parent's correction, in proportion to
    its own variance.

    A prefix ends within a node: ``share`` is the part of that node's estimate by which the prefix moves.
    """
    place, share, total = np.arange(size), np.ones(size), np.zeros(size)
    own = np.ones(size)
    for _ in range(strategy.levels - 1):
        parent = np.arange(len(own)) // strategy.branching
        family = np.bincount(parent, own)
        before = np.cumsum(own) - own
        before -= before[:: strategy.branching][parent]
        spread = family[parent[place]]
        total += before[place] + share**2 * own[place]
        share = (before[place] + share * own[place]) / spread
        total -= share**2 * spread
        own, place = family / (1 + family), parent[place]
    return np.asarray(total + (np.cumsum(own) - own)[place] + share**2 * own[place])


def _by_group(prefix: Prefix, keys: Sequence[tuple[object, ...]], of_size: Callable[[int], FloatArray]) -> FloatArray:
    found = np.zeros(len(keys))
    for places in prefix.series(keys):
        found[list(places)] = of_size(len(places))
    return found
