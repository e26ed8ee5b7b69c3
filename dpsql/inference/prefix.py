"""Groups from the integers that a prefix strategy measured: post-processing of released numbers.

Running sums are estimated first and the groups are their differences, so that adding the groups up again gives exactly
the running sums that were estimated. Where a statistic cannot be negative, running sums never fall: isotonic
regression (Barlow et al. 1972; Hay, Rastogi, Miklau, Suciu 2010), and no group is negative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.signal import lfilter

from dpsql.inference.arrays import FloatArray
from dpsql.inference.intervals import Z, variance
from dpsql.inference.least_squares import tree
from dpsql.inference.projection import monotone
from dpsql.table import Noise, NoisyTable
from rewriter.plan import Block, Linear, Plan
from rewriter.prefix import Prefix, Strategy, Tree


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
            noise[name] = _of_variance(noisy.noise[name], mean)
            factors.append(np.sqrt(variances / mean) if mean else np.ones(len(noisy.keys)))
    if all(block.prefix is None for block in plan.blocks):
        return Decoded(noisy, None)
    return Decoded(NoisyTable(noisy.keys, statistics, noise, noisy.chosen), np.max(factors, axis=0))


def prefix_variances(prefix: Prefix, keys: Sequence[tuple[object, ...]], noise: Noise) -> FloatArray:
    """The variance of the running sum that ends with each group, in squared steps of the statistic.

    In the order of ``keys``; of the unbiased estimates. Running sums of different statistics are independent.
    """
    return _by_group(prefix, keys, lambda size: _variances(prefix.strategy, size)[0]) * variance(noise)


def group_variances(prefix: Prefix, keys: Sequence[tuple[object, ...]], noise: Noise) -> FloatArray:
    """The variance of each group alone, in squared steps of the statistic, in the order of ``keys``."""
    return _by_group(prefix, keys, lambda size: _variances(prefix.strategy, size)[1]) * variance(noise)


def group_noise(blocks: Sequence[Block], noise: Mapping[str, Noise]) -> Mapping[str, Noise]:
    """The noise of each statistic, of a group where a prefix strategy measures it: what is expected before reading."""
    found = dict(noise)
    for block in blocks:
        if block.prefix is not None:
            strategy = block.prefix.strategy
            mean = float(_variances(strategy, strategy.steps)[1].mean())
            for statistic in block.statistics:
                one = noise[statistic.name]
                found[statistic.name] = _of_variance(one, mean * variance(one))
    return found


def running_margins(plan: Plan, noise: Mapping[str, Noise]) -> Mapping[str, float]:
    """The 95 % half-width to expect of a running sum, on average over its steps, by the output that is added up.

    Of those outputs alone whose statistics are all measured for it.
    """
    spread: dict[str, float] = {}
    for block in plan.blocks:
        if block.prefix is not None:
            mean = float(_variances(block.prefix.strategy, block.prefix.strategy.steps)[0].mean())
            spread |= {one.name: mean * variance(noise[one.name]) for one in block.statistics}
    return {
        output: Z * sum(float(weight) ** 2 * spread[name] for name, weight in estimator.terms) ** 0.5
        for output, estimator in running_outputs(plan).items()
    }


def running_outputs(plan: Plan) -> Mapping[str, Linear]:
    """Outputs all of whose statistics are measured for their running sums, by name."""
    names = {one.name for block in plan.blocks if block.prefix is not None for one in block.statistics}
    return {
        output.name: output.estimator
        for output in plan.outputs
        if isinstance(output.estimator, Linear) and names.issuperset(name for name, _ in output.estimator.terms)
    }


def running_half_widths(noisy: NoisyTable, plan: Plan) -> Mapping[str, tuple[float, ...]]:
    """The 95 % half-width of the running sum that ends with each group, by the output that is added up.

    Of the unbiased estimates, and so of those that are made monotone at most. A running sum is rounded.
    """
    spread: dict[str, FloatArray] = {}
    steps: dict[str, float] = {}
    for block in plan.blocks:
        if block.prefix is None:
            continue
        for one in block.statistics:
            spread[one.name] = prefix_variances(block.prefix, noisy.keys, noisy.noise[one.name])
            steps[one.name] = _Rounding.of(one.name, plan, False).step
    found: dict[str, tuple[float, ...]] = {}
    for output, estimator in running_outputs(plan).items():
        total = np.zeros(len(noisy.keys))
        for name, weight in estimator.terms:
            total += float(weight) ** 2 * (spread[name] + steps[name] ** 2 / 12)
        found[output] = tuple((Z * np.sqrt(total)).tolist())
    return found


def _of_variance(noise: Noise, spread: float) -> Noise:
    """Noise of the same kind and of another variance: most of a group's comes from one draw."""
    return Noise(noise.kind, Fraction((spread / 2 if noise.kind == "laplace" else spread) ** 0.5))


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


def _prefixes(strategy: Strategy, measured: FloatArray, size: int) -> FloatArray:
    """The unbiased running sums: B·x solved for x, in the least squares where it says more than that, and added up."""
    if isinstance(strategy, Tree):
        return np.asarray(np.cumsum(_leaves(strategy, measured, size)[0]))
    weighted = lfilter([1.0], np.array(strategy.root[:size], dtype=np.float64), measured)
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
def _variances(strategy: Strategy, size: int) -> tuple[FloatArray, FloatArray]:
    """Of running sums and of groups, for noise of variance 1."""
    if isinstance(strategy, Tree):
        return _tree_variances(strategy, size), _leaves(strategy, np.zeros(strategy.size(size)), size)[1]
    root, weight = (np.array(entries[:size], dtype=np.float64) for entries in (strategy.root, strategy.weight))
    inverse = lfilter([1.0], root, np.eye(1, size)[0]) if size else root
    groups = np.cumsum(np.square(inverse)) / np.square(weight)
    sums = np.zeros(size)
    for noise in range(size):
        sums[noise:] += np.square(np.cumsum(inverse[: size - noise] / weight[noise:]))
    return sums, groups


def _tree_variances(strategy: Tree, size: int) -> FloatArray:
    """Of running sums, up the tree: a child takes of what its parent differs by in proportion to its variance.

    Of each prefix, ``share`` is the part of the node that it ends in which moves with that node's estimate.
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
