"""The weights of rows and of their values in one vector: the norm that is claimed, and the least total variance."""

from __future__ import annotations

from itertools import product
from math import sqrt
from random import Random

import numpy as np
import pytest

from rewriter.measure.row_weights import MEAN, MIDDLE, ROWS, VALUES, Reading, Weights, best_weights


def drawn(random: Random) -> tuple[tuple[Reading, ...], tuple[int, ...], bool, bool]:
    mean, nulls = random.random() < 0.5, random.random() < 0.3
    sums = [Reading(1.0, random.choice([0.0, -1.0, -0.25, 0.9]), 0.0) for _ in range(random.randint(0, 2))]
    counts = random.sample([VALUES, ROWS if nulls else VALUES], random.randint(0, 2))
    readings = (*((MEAN,) if mean else ()), *sums, *counts) or (VALUES,)
    return readings, tuple(random.randint(1, 9) for _ in readings), mean, nulls


def total(weights: Weights | None, readings: tuple[Reading, ...], asked_by: tuple[int, ...]) -> float:
    return sum(times * one.in_pair(weights) for one, times in zip(readings, asked_by, strict=True))


def test_no_row_moves_its_cells_by_more_than_is_claimed() -> None:
    random = Random(1)
    for readings, asked_by, mean, nulls in (drawn(random) for _ in range(40)):
        found = best_weights(readings, asked_by, mean=mean, nulls=nulls)
        if found is None:
            continue
        rows = [(found.rows, found.difference * (2 * share / 20 - 1), 0.0) for share in range(21)]
        rows += [(found.empty, 0, found.missing)] if nulls else []
        assert max(sum(cell * cell for cell in row) for row in rows) <= found.l2_squared
        assert max(sum(map(abs, row)) for row in rows) <= found.l1


def test_no_workload_is_farther_off_than_with_a_pair_and_no_mean_by_more_than_a_twentieth() -> None:
    random, better = Random(2), 0
    for readings, asked_by, mean, nulls in (drawn(random) for _ in range(60)):
        found = best_weights(readings, asked_by, mean=mean, nulls=nulls)
        if found is None:
            continue
        better += 1
        assert total(found, readings, asked_by) < total(None, readings, asked_by)
        if mean:
            for end in (MEAN, MIDDLE):
                assert sqrt(end.in_pair(found) / end.in_pair(None)) <= 1.05
    assert better > 20


@pytest.mark.parametrize("many", [(1, 1), (5, 1), (1, 4)])
def test_a_count_and_a_total_have_the_least_variance_of_all_linear_strategies(many: tuple[int, int]) -> None:
    """Against a search over the information M about (rows, Σt) that a row (1, t) moves by no more than 1."""
    count, summed = many
    found = best_weights((VALUES, Reading(1.0, 0.0)), many, mean=False, nulls=False)
    assert found is not None
    least = np.inf
    for first, slope in product(np.linspace(0.05, 1, 96), np.linspace(-2.5, 0, 251)):
        # The end t = 1 is moved by 1, and so is as much known of Σt as can be.
        second = 1 - first - 2 * slope
        if first * second > slope * slope:
            determinant = first * second - slope * slope
            least = min(least, (count * second + summed * first) / determinant)
    assert total(found, (VALUES, Reading(1.0, 0.0)), many) <= 1.01 * least
