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
from scipy.linalg import toeplitz
from scipy.signal import lfilter

from dpsql.inference.arrays import FloatArray
from dpsql.inference.intervals import variance
from dpsql.inference.projection import monotone
from dpsql.table import Noise, NoisyTable
from rewriter.plan import Block, Plan
from rewriter.prefix import Prefix, Toeplitz


@dataclass(frozen=True, slots=True)
class Decoded:
    """A noisy table of groups, and the variance of each group, in squared steps, for the statistics that it decoded.

    Their noise in the table is Gaussian, of the average variance; between groups it is not independent.
    """

    table: NoisyTable
    variances: Mapping[str, FloatArray]


def decoded(noisy: NoisyTable, plan: Plan, *, consistent: bool = True) -> Decoded:
    """The groups of a table whose plan measures running sums. Without prefix strategies, the table as it is.

    Unbiased, but for rounding, where not ``consistent``. Groups are whole multiples of what their part is rounded to.
    """
    statistics, noise, variances = dict(noisy.statistics), dict(noisy.noise), {}
    for block in plan.blocks:
        if block.prefix is None:
            continue
        for statistic in block.statistics:
            name = statistic.name
            rounding = _Rounding.of(name, plan, consistent)
            statistics[name] = _groups(noisy.statistics[name], block.prefix, noisy.keys, rounding)
            variances[name] = group_variances(block.prefix, noisy.keys, noisy.noise[name])
            spread = float(np.sqrt(variances[name].mean())) if noisy.keys else 0.0
            noise[name] = Noise("gaussian", Fraction(spread))
    return Decoded(NoisyTable(noisy.keys, statistics, noise), variances) if variances else Decoded(noisy, {})


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
                spread = (mean * variance(noise[statistic.name])) ** 0.5
                found[statistic.name] = Noise("gaussian", Fraction(spread))
    return found


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


def _prefixes(strategy: Toeplitz, measured: FloatArray, size: int) -> FloatArray:
    """The unbiased running sums: B·x solved for x, and added up."""
    weighted = lfilter([1.0], np.array(strategy.root[:size], dtype=np.float64), measured)
    return np.asarray(np.cumsum(weighted / np.array(strategy.weight[:size], dtype=np.float64)))


@functools.lru_cache(maxsize=32)
def _variances(strategy: Toeplitz, size: int) -> tuple[FloatArray, FloatArray]:
    """Of running sums and of groups, for noise of variance 1."""
    impulse = np.zeros(size)
    impulse[:1] = 1.0
    inverse = np.tril(toeplitz(lfilter([1.0], np.array(strategy.root[:size], dtype=np.float64), impulse)))
    inverse /= np.array(strategy.weight[:size], dtype=np.float64)[:, None]
    groups = np.square(inverse).sum(axis=1)
    return np.square(np.cumsum(inverse, axis=0)).sum(axis=1), groups


def _by_group(prefix: Prefix, keys: Sequence[tuple[object, ...]], of_size: Callable[[int], FloatArray]) -> FloatArray:
    found = np.zeros(len(keys))
    for places in prefix.series(keys):
        found[list(places)] = of_size(len(places))
    return found
