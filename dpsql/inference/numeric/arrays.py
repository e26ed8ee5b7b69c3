"""The arrays that inference computes with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def total(groups: IntArray, numbers: FloatArray, size: int) -> FloatArray:
    """For each of ``size`` groups, the sum of the numbers that are in it."""
    return np.asarray(np.bincount(groups, weights=numbers, minlength=size), dtype=np.float64)


def checked_parents(parents: Sequence[IntArray], sizes: Sequence[int]) -> list[IntArray]:
    """Parents as index arrays, one for each level; ValueError where a level names no place in the one above it."""
    if len(parents) != len(sizes) or not sizes:
        raise ValueError(f"{len(parents)} levels of parents for {len(sizes)} levels of numbers")
    checked = [np.asarray(level, dtype=np.int64) for level in parents]
    if checked[0].size:
        raise ValueError("the coarsest level has no parents")
    for above, below, level in zip(sizes, sizes[1:], checked[1:], strict=False):
        if level.shape != (below,):
            raise ValueError(f"{level.shape} parents for {below} nodes")
        if below and not 0 <= level.min() <= level.max() < above:
            raise ValueError(f"a parent outside of 0..{above - 1}")
    return checked


def measurements(
    values: Sequence[FloatArray], variances: Sequence[FloatArray | float]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Vectors of values and of their variances; 0 where the variance is infinite, which is: not measured.

    >>> measurements([[1.0, float("nan")]], [[4.0, float("inf")]])
    ([array([1., 0.])], [array([ 4., inf])])
    """
    if len(values) != len(variances):
        raise ValueError(f"{len(values)} vectors of values, {len(variances)} of variances")
    numbers, spreads = [], []
    for value, variance in zip(values, variances, strict=True):
        number = np.asarray(value, dtype=np.float64)
        if number.ndim != 1:
            raise ValueError(f"values are vectors, not of shape {number.shape}")
        spread = np.broadcast_to(np.asarray(variance, dtype=np.float64), number.shape)
        if not (spread >= 0).all():
            raise ValueError("a variance is never negative")
        number = np.where(np.isinf(spread), 0.0, number)
        if not np.isfinite(number).all():
            raise ValueError("a measured value is finite")
        numbers.append(number)
        spreads.append(spread)
    return numbers, spreads


def checked_slack(slack: Sequence[BoolArray] | None, sizes: Sequence[int]) -> list[BoolArray]:
    """For each level, whether each node has more than its children; without ``slack``, none has."""
    if slack is None:
        return [np.zeros(size, dtype=np.bool_) for size in sizes]
    given = [np.asarray(level, dtype=np.bool_) for level in slack]
    while len(given) < len(sizes):
        given.append(np.zeros(sizes[len(given)], dtype=np.bool_))
    if any(level.shape != (size,) for level, size in zip(given, sizes, strict=True)):
        raise ValueError("slack is one mark for each node of a level")
    return given
