"""Which groups are shown, simulated: no people are lost, no shown number is too high, and bars hold what is shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.inference.estimates import RunningNoise
from dpsql.inference.estimates.running_estimates import _groups, _Rounding
from dpsql.inference.intervals import chances_above, distances_above, half_width, spread
from dpsql.inference.shown_groups import SURE, Independent, TrimmedEnds, blocks_of, distances_below, trimmed_ends
from dpsql.mechanisms import Gaussian, Laplace
from dpsql.releases import Additive
from rewriter.front_door import Prefix, PrefixStrategy, Toeplitz, Tree

Counts = NDArray[np.float64]
AS_IT_IS = _Rounding(1, rising=False)


@dataclass(frozen=True)
class Shown:
    """What answers over the same truth showed: the part of the people lost, and of shown groups the mean error in
    standard deviations and the part that is within its bar. ``whole``: how often all people were shown."""

    lost: float
    error: float
    within: float
    ends_within: float
    whole: float


def asked(truth: Counts, noise: Additive, runs: int, seed: int = 7) -> Shown:
    rng = np.random.default_rng(seed)
    terms = ((noise, Fraction(1)),)
    width, spread = half_width(terms), half_width(terms) / 1.96
    lost, errors, within, ends_within, whole = 0.0, [], [], [], 0
    for _ in range(runs):
        noisy = truth + noise.replicas(len(truth), rng)
        ends = trimmed_ends(noisy, Independent(terms))
        shown = slice(ends.first, ends.last + 1)
        lost += 1 - truth[shown].sum() / truth.sum()
        whole += truth[shown].sum() == truth.sum()
        errors.append(noisy[shown] - truth[shown])
        below = np.full(len(truth), float(width))
        deciding = np.zeros(len(truth), dtype=bool)
        below = np.maximum(below, distances_below(ends, np.arange(len(truth)), terms))
        for block in ends.blocks:
            deciding[block.first : block.last + 1] = True
        held = (truth >= noisy - below) & (truth <= np.maximum(noisy, 0) + width)
        within.append(held[shown])
        ends_within.append(held[deciding])
    every, at_ends = np.concatenate(within), np.concatenate(ends_within)
    return Shown(
        lost / runs,
        float(np.concatenate(errors).mean()) / spread,
        float(every.mean()),
        float(at_ends.mean()) if len(at_ends) else 1.0,
        whole / runs,
    )


def middle_third(size: int, each: int) -> Counts:
    truth = np.zeros(size)
    truth[size // 3 : size - size // 3] = each
    return truth


SIGMA = Gaussian(Fraction(4))
LOST = [
    (12, 20, SIGMA, 0.03, 400),
    (31, 20, SIGMA, 0.035, 400),
    (365, 5, SIGMA, 0.08, 200),
    (365, 20, SIGMA, 0.01, 200),
    (2_406, 5, SIGMA, 0.015, 60),
    (2_406, 62, SIGMA, 0.0005, 60),
    (100_000, 1, SIGMA, 0.02, 6),
    (100_000, 5, SIGMA, 0.001, 6),
    (31, 20, Laplace(Fraction(4)), 0.05, 400),
    (2_406, 20, Laplace(Fraction(4)), 0.003, 60),
]


@pytest.mark.parametrize(("size", "each", "noise", "most", "runs"), LOST)
def test_data_in_the_middle_are_shown_without_bias(
    size: int, each: int, noise: Additive, most: float, runs: int
) -> None:
    found = asked(middle_third(size, each), noise, runs)
    assert found.lost <= most
    assert abs(found.error) <= 0.1
    assert found.within >= 0.93
    assert found.ends_within >= 0.9


@pytest.mark.spread
@pytest.mark.parametrize("each", [0, 1, 5, 20, 100])
@pytest.mark.parametrize("scale", [1, 4, 20])
@pytest.mark.parametrize("size", [12, 31, 365])
@pytest.mark.parametrize("law", [Gaussian, Laplace])
def test_bars_hold_what_is_shown(law: type[Additive], size: int, scale: int, each: int) -> None:
    noise = law(Fraction(scale))
    for truth in (np.full(size, float(each)), middle_third(size, each)):
        if truth.any():
            found = asked(truth, noise, 100)
            assert found.within >= 0.93, found
            deviation = 1 / np.sqrt(100 * (truth > 0).sum())
            assert abs(found.error) <= 0.1 + 3 * deviation, found


@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize("truth", [(15, 114, 5), (5, 114, 15), (2, 2, 300), (300, 3, 3), (90, 4, 0, 4)])
def test_bars_hold_a_small_group_at_an_end_where_it_is_shown(law: type[Additive], truth: tuple[int, ...]) -> None:
    """It is shown where its own number is high: a plain bar of the last 5 of (15, 114, 5) holds a third of the time."""
    noise, counts = law(Fraction(11, 2)), np.array(truth, dtype=np.float64)
    terms, rng, runs = ((noise, Fraction(1)),), np.random.default_rng(5), 3_000
    width, shown, held = float(half_width(terms)), np.zeros(len(truth)), np.zeros(len(truth))
    for noisy in counts + noise.replicas(len(truth) * runs, rng).reshape(runs, -1):
        ends = trimmed_ends(noisy, Independent(terms))
        below = np.maximum(width, distances_below(ends, np.arange(len(truth)), terms))
        inside = slice(ends.first, ends.last + 1)
        shown[inside] += 1
        held[inside] += ((counts >= noisy - below) & (counts <= np.maximum(noisy, 0) + width))[inside]
    assert (shown < runs).any(), "an end that is not always shown is what is tried"
    assert (shown > 60).all()
    assert (held >= 0.92 * shown - 3 * np.sqrt(0.07 * shown)).all(), held / shown


def test_groups_that_all_have_people_are_all_shown() -> None:
    """365 days of 20 people each at ε = 0.1: the law by which each day spoke for itself showed 8 of them."""
    found = asked(np.full(365, 20.0), Gaussian(Fraction(10)), 200)
    assert found.lost <= 0.01
    assert abs(found.error) <= 0.01


def test_one_spike_does_not_hide_the_rest() -> None:
    """Small groups around one that is large: their end could hold as much as what would be shown."""
    truth = np.full(365, 5.0)
    truth[180] = 62.0
    assert asked(truth, Gaussian(Fraction(10)), 100).lost <= 0.1


def test_groups_as_small_as_their_noise_are_not_cut_for_the_few_that_are_lucky() -> None:
    assert asked(np.full(12, 5.0), SIGMA, 400).lost <= 0.08, "without the guard of ends, a fifth"


def test_nothing_inside_is_left_out() -> None:
    truth = np.zeros(365)
    truth[::10] = 62.0
    found = asked(truth, SIGMA, 100)
    assert found.lost == 0


def test_where_all_groups_are_empty_a_block_speaks_once_in_a_hundred_times() -> None:
    rng, runs = np.random.default_rng(3), 3_000
    for noise in (Gaussian(Fraction(4)), Laplace(Fraction(4)), Gaussian(Fraction(1, 2))):
        terms = ((noise, Fraction(1)),)
        spoke = 0
        for _ in range(runs):
            noisy = noise.replicas(31, rng).astype(np.float64)
            number = sum(count for _, _, count in blocks_of(31))
            spoke += any(
                np.convolve(noisy, np.ones(length), "valid")[::step].max()
                > half_width(terms, 2 * SURE / number, length)
                for length, step, _ in blocks_of(31)
            )
        assert spoke / runs <= SURE + 4 * np.sqrt(SURE / runs)


def test_over_empty_groups_ends_are_cut_once_in_a_hundred_times() -> None:
    rng, runs = np.random.default_rng(4), 3_000
    noise = Gaussian(Fraction(4))
    found = [
        trimmed_ends(noise.replicas(365, rng).astype(np.float64), Independent(((noise, Fraction(1)),)))
        for _ in range(runs)
    ]
    assert sum(one.left_out > 0 for one in found) / runs <= SURE + 4 * np.sqrt(SURE / runs)


def test_both_ends_are_treated_alike() -> None:
    rng = np.random.default_rng(5)
    truth = middle_third(64, 30)
    terms = ((SIGMA, Fraction(1)),)
    for _ in range(50):
        noisy = truth + SIGMA.replicas(64, rng)
        one, mirrored = trimmed_ends(noisy, Independent(terms)), trimmed_ends(noisy[::-1].copy(), Independent(terms))
        assert abs(one.first - (63 - mirrored.last)) <= 1
        assert abs(one.last - (63 - mirrored.first)) <= 1


def test_without_noise_the_ends_are_those_of_the_data() -> None:
    ends = trimmed_ends(np.array([0.0, 0, 1, 0, 2, 0]), Independent(((Gaussian(Fraction(0)), Fraction(1)),)))
    assert (ends.first, ends.last, ends.left_out, ends.total) == (2, 4, 3, 0.0)
    nothing = trimmed_ends(np.zeros(5), Independent(((Gaussian(Fraction(0)), Fraction(1)),)))
    assert nothing == TrimmedEnds(0, 4, 0, 0.0, 0.0)


@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize("each", [2, 5])
def test_groups_of_several_keys_at_the_ends_are_within_their_bars(law: type[Additive], each: int) -> None:
    """Ten days are live of thirty, and a day is shown by the sum of all groups of it."""
    noise, rng, size = law(Fraction(4)), np.random.default_rng(11), 30
    terms = ((noise, Fraction(1)),)
    width = half_width(terms)
    places = np.repeat(np.arange(size), each)
    truth = np.where((places >= 10) & (places < 20), 25 / each, 0.0)
    missed, plain, seen = 0, 0, 0
    for _ in range(2_000):
        noisy = truth + noise.replicas(len(truth), rng)
        ends = trimmed_ends(np.bincount(places, noisy), Independent(terms, each))
        below = distances_below(ends, places, terms)
        deciding = below > 0
        seen += int(deciding.sum())
        missed += int((truth < noisy - np.maximum(below, width))[deciding].sum())
        plain += int((truth < noisy - width)[deciding].sum())
    assert missed / seen <= 0.025 + 4 * np.sqrt(0.025 / seen)
    assert plain - missed > 4 * np.sqrt(plain - missed), "the usual bar holds them as well"


@pytest.mark.parametrize("law", [Gaussian, Laplace])
def test_a_number_that_passed_a_threshold_is_within_its_conditional_bar(law: type[Additive]) -> None:
    noise = law(Fraction(20))
    terms = ((noise, Fraction(1)),)
    rng = np.random.default_rng(1)
    for truth in (0, 20, 60, 120):
        noisy = truth + noise.replicas(50_000, rng)
        passed = noisy[noisy > 60].astype(np.float64)
        low = passed - distances_above(terms, passed - 60)
        missed = float((truth < low).mean())
        assert missed <= 0.025 + 4 * np.sqrt(0.025 / len(passed)) + 0.002


@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize("others", [0, 1, 5])
def test_a_conditional_bar_is_the_least_that_holds(law: type[Additive], others: int) -> None:
    terms = tuple((law(Fraction(20 + other)), Fraction(1 + other, 2)) for other in range(1 + others))
    excess = np.linspace(0.0, 12.0, 3_001) * spread(terms)
    distances = distances_above(terms, excess)
    told = np.isfinite(distances)
    assert told.any()
    assert not told.all()
    assert (np.diff(distances[told]) <= 0).all()
    near, passed = chances_above(terms, distances[told]), chances_above(terms, (distances - excess)[told])
    assert (near <= 0.025 * passed * (1 + 1e-9)).all()
    closer = 0.99 * distances[told]
    assert (chances_above(terms, closer) > 0.025 * chances_above(terms, closer - excess[told])).all()


STRATEGIES = [
    Toeplitz(48),
    Toeplitz(48, width=7),
    Tree(48, branching=7, levels=2),
    Tree(48, branching=4, levels=3),
    Tree(48, branching=6, levels=2, width=7),
]


@pytest.mark.spread
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_blocks_of_running_sums_have_the_variance_that_is_told(strategy: PrefixStrategy, descending: bool) -> None:
    """Of a deep tree it is an upper bound; else the very one."""
    noise, rng, runs = Gaussian(Fraction(50 * strategy.unit)), np.random.default_rng(8), 1_500
    prefix = Prefix(strategy, (0,), descending)
    keys = [(place,) for place in range(48)]
    groups = np.array(
        [_groups(noise.replicas(prefix.size(keys), rng).tolist(), prefix, keys, AS_IT_IS) for _ in range(runs)]
    )
    told = RunningNoise(prefix, noise, 48, rounding=2 / 12)
    for start, length in ((0, 1), (5, 1), (47, 1), (0, 48), (3, 16), (30, 18), (0, 20), (41, 4)):
        seen, expected = groups[:, start : start + length].sum(axis=1).std(), told.spread(start, length)
        assert seen <= 1.07 * expected
        if isinstance(strategy, Toeplitz) or strategy.levels == 2:
            assert seen >= 0.93 * expected
        reach = told.reaches(np.array([start]), length, 0.05)[0]
        assert np.mean(np.abs(groups[:, start : start + length].sum(axis=1)) > reach) <= 0.07
    assert told.spread(7, 0) == 0.0


@pytest.mark.spread
@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_over_empty_groups_running_sums_are_cut_once_in_a_hundred_times(
    strategy: PrefixStrategy, law: type[Gaussian | Laplace]
) -> None:
    noise, rng, runs = law(Fraction(4 * strategy.unit)), np.random.default_rng(9), 1_500
    prefix = Prefix(strategy, (0,), descending=False)
    keys = [(place,) for place in range(48)]
    told = RunningNoise(prefix, noise, 48, rounding=2 / 12)
    found = [
        trimmed_ends(
            np.array(_groups(noise.replicas(prefix.size(keys), rng).tolist(), prefix, keys, AS_IT_IS), float), told
        )
        for _ in range(runs)
    ]
    assert sum(one.left_out > 0 for one in found) / runs <= SURE + 4 * np.sqrt(SURE / runs)
