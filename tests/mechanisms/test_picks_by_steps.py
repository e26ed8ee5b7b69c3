"""One of many values is picked by steps of distance: with the very law of looking at each value."""

from __future__ import annotations

import contextlib
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from dpsql.mechanisms.quantiles.one import Exponential, Quantile, TooFar
from dpsql.mechanisms.sampling.exponential import exp_bounds, least_first, pick
from dpsql.releases.rank_columns import RankColumns
from tests.mechanisms.test_quantile import by_definition, choice, ranks_of, spelt_out


def columns(ranks: list[tuple[int, int, int, int]], total: int) -> RankColumns:
    values, weights, below = (np.array([rank[n] for rank in ranks], dtype=np.int64) for n in range(3))
    return RankColumns(values, weights, below, ranks[0][3] if ranks else total)


@pytest.mark.parametrize("window", [3, 8, 50, 1 << 20])
def test_stretches_bound_the_distances_of_the_definition(window: int) -> None:
    random, seen = Random(window), 0
    for _ in range(300):
        fractions = random.choice([[Fraction(1, 2)], [Fraction(0)], [Fraction(1)], [Fraction(1, 10), Fraction(9, 10)]])
        one = choice(fractions, random.choice([5, 40, 300]), window)
        rows = [random.randint(0, one.high) for _ in range(random.choice([1, 7, 60]))]
        epsilon = Fraction(random.choice([1, 4, 30]), random.choice([1, 3]))
        with contextlib.suppress(TooFar):
            whole = Quantile(one, random.choice(fractions), Exponential(epsilon, concentrated=True))
            for quantile in (whole, *(() if whole.is_extreme else whole.ends())):
                ranks = ranks_of(rows, one)
                law, wanted = quantile.stepwise(columns(ranks, 0)), by_definition(quantile, rows)
                found = {value: law.near.at(value) for value in range(one.high + 1)}
                assert found | {None: law.nobody[1]} == wanted == spelt_out(quantile, ranks)
                starts = [*law.near.starts(), one.high + 1]
                assert starts[0] == 0
                assert sum(next_ - first for first, next_ in pairwise(starts)) == one.high + 1
                for first, next_ in pairwise(starts):
                    least = min(found[first], found[next_ - 1])
                    assert all(found[value] >= least for value in range(first, next_))
                nearest = min(wanted.values())
                assert law.nearest() == next(value for value, far in found.items() if far == nearest)
                seen += 1
    assert seen > 20


def expected(masses: list[int], distances: list[int], rate: Fraction) -> list[float]:
    weights = [mass * float(exp_bounds(rate * far, 40)[0]) for mass, far in zip(masses, distances, strict=True)]
    return [weight / sum(weights) for weight in weights]


def surprise(counts: Counter[int], law: list[float], draws: int) -> float:
    """The chance of so large a chi-square."""
    from scipy.stats import chi2

    statistic = sum((counts[n] - draws * p) ** 2 / (draws * p) for n, p in enumerate(law) if draws * p >= 1)
    return float(chi2.sf(statistic, sum(draws * p >= 1 for p in law) - 1))


def test_draws_have_the_exact_law_and_that_of_looking_at_each() -> None:
    draws, rate = 40_000, Fraction(1, 7)
    distances = [0, 1, 3, 4, 9, 12, 30, 0, 2]
    law = expected([1] * 9, distances, rate)
    # Three stretches, of which the least is given, or a bound below it.
    stretches, least = [(0, 1, 2, 3), (4, 5, 6), (7, 8)], [0, 8, 0]

    def candidate(place: int, which: int) -> tuple[int, int]:
        return stretches[place][which], distances[stretches[place][which]]

    found = Counter(least_first([4, 3, 2], least, candidate, rate) for _ in range(draws))
    each = Counter(pick([1] * 9, distances, rate)[0] for _ in range(draws))
    assert surprise(found, law, draws) > 1e-9
    assert surprise(each, law, draws) > 1e-9
    assert surprise(found, expected([1] * 9, distances, rate * Fraction(3, 2)), draws) < 1e-9


def test_a_candidate_nearer_than_its_stretch_is_never_answered() -> None:
    with pytest.raises(AssertionError, match="nearer"):
        least_first([1], [3], lambda place, which: (which, 2), Fraction(1))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1, 50)])
def test_a_median_of_many_values_has_the_law_of_its_distances(epsilon: Fraction) -> None:
    """Also where many values lie between two cuts."""
    random = Random(3)
    one = choice([Fraction(1, 2)], 3_000, row=2)
    rows = [random.randint(200, 2_900) for _ in range(900)]
    quantile = Quantile(one, Fraction(1, 2), Exponential(epsilon, concentrated=True))
    ranks, draws = ranks_of(rows, one), 5_000
    law = quantile.stepwise(columns(ranks, 0))
    near = quantile.stretches(ranks)
    places = [start for start, _, _ in near if start is not None]
    masses = [quantile.roundness.mass(start, count) for start, count, _ in near if start is not None]
    wanted = expected([*masses, law.nobody[0]], [far for _, _, far in near], quantile.rate)
    found = Counter(
        len(places) if value is None else int(np.searchsorted(places, value, "right")) - 1
        for value in (law.draw() for _ in range(draws))
    )
    pooled, probable = Counter[int](), [0.0] * 60
    for place, chance in enumerate(wanted):
        probable[place * 60 // len(wanted)] += chance
    for place, number in found.items():
        pooled[place * 60 // len(wanted)] += number
    assert surprise(pooled, probable, draws) > 1e-9
