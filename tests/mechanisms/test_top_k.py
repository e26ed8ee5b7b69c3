"""Picks have exactly the law that their price is derived from, and no neighbour can tell more from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import pytest
from scipy import stats

from dpsql.accounting import ACCOUNTINGS, APPROX, PURE, RDP, ZCDP, Accounting
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import Calibration, calibrate
from dpsql.mechanisms.sampling.permute_and_flip import flip, permute_and_flip
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.mechanisms.top_k import TopK
from dpsql.perturb import perturb
from dpsql.releases.tables import ExactTable
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import BIGINT
from rewriter.plan import Block, KeyColumn, Linear, Output, Plan, Statistic, Top
from tests.doubles import NoNoise
from tests.mechanisms.laws import agreement

DRAWS = 20_000


def top(count: int, reach: int = 1, *, descending: bool = True) -> Top:
    return Top("n", "a0", count, descending, reach, "count(*)", descending)


def exponential_law(scores: Sequence[float], rate: float) -> list[float]:
    weights = [math.exp(rate * (score - max(scores))) for score in scores]
    return [weight / sum(weights) for weight in weights]


def peeled_law(scores: Sequence[float], rate: float, count: int) -> dict[tuple[int, ...], float]:
    """The probability of every ordered choice, one pick after another."""
    law = {}
    for order in permutations(range(len(scores)), count):
        chance, left = 1.0, list(range(len(scores)))
        for place in order:
            chance *= exponential_law([scores[one] for one in left], rate)[left.index(place)]
            left.remove(place)
        law[order] = chance
    return law


def flip_law(distances: Sequence[float], rate: float) -> list[float]:
    """Permute-and-flip, by going through all orders."""
    law, orders = [0.0] * len(distances), list(permutations(range(len(distances))))
    for order in orders:
        reached = 1 / len(orders)
        for place in order:
            taken = math.exp(-rate * distances[place])
            law[place] += reached * taken
            reached *= 1 - taken
    return law


def assert_follows(found: Counter[object], law: dict[object, float], draws: int) -> None:
    """Fails by chance once in a billion runs."""
    assert agreement(found, law, draws) > 1e-9


def test_picks_by_rho_are_exponential_mechanisms_peeled() -> None:
    scores, sampler = (7, 3, 3, 9), ExactSampler()
    mechanism = TopK(top(2), Fraction(1, 4), concentrated=True)
    found = Counter[object](tuple(mechanism.picked(scores, sampler)) for _ in range(DRAWS))
    assert_follows(found, dict(peeled_law(scores, 0.25, 2)), DRAWS)


def test_the_least_are_picked_by_the_same_law() -> None:
    scores, sampler = (7, 3, 3, 9), ExactSampler()
    mechanism = TopK(top(2, descending=False), Fraction(1, 4), concentrated=True)
    found = Counter[object](tuple(mechanism.picked(scores, sampler)) for _ in range(DRAWS))
    assert_follows(found, dict(peeled_law([-score for score in scores], 0.25, 2)), DRAWS)


def test_picks_by_epsilon_are_permute_and_flip() -> None:
    distances = (0, 2, 5, 0, 9)
    found = Counter[object](permute_and_flip(distances, Fraction(1, 5)) for _ in range(DRAWS))
    assert_follows(found, dict(enumerate(flip_law(distances, 0.2))), DRAWS)


@pytest.mark.parametrize("exponent", [Fraction(1, 1000), Fraction(1), Fraction(37, 10)])
def test_a_flip_has_its_probability(exponent: Fraction) -> None:
    hits = sum(flip(exponent) for _ in range(DRAWS))
    assert stats.binomtest(hits, DRAWS, math.exp(-float(exponent))).pvalue > 1e-9


def neighbours(scores: Sequence[int], reach: int) -> Iterator[tuple[int, ...]]:
    """One unit more, in any of the groups with as much as it can or nothing."""
    for mask in range(1 << len(scores)):
        yield tuple(score + reach * (mask >> place & 1) for place, score in enumerate(scores))


@pytest.mark.parametrize("reach", [1, 3])
def test_permute_and_flip_costs_what_it_says_of_monotone_scores(reach: int) -> None:
    """Exactly: the largest log-ratio over all neighbours is rate · reach, and is attained in the limit."""
    rate, most = 0.3, 0.0
    for scores in ((0, 0, 0), (5, 4, 0), (20, 0, 0), (3, 3, 2)):
        here = flip_law([max(scores) - score for score in scores], rate)
        for moved in neighbours(scores, reach):
            there = flip_law([max(moved) - score for score in moved], rate)
            most = max(most, *(abs(math.log(one / other)) for one, other in zip(here, there, strict=True)))
    assert 0.9 * rate * reach < most <= rate * reach + 1e-12


@pytest.mark.parametrize("reach", [1, 3])
def test_a_pick_by_rho_has_the_range_that_it_says(reach: int) -> None:
    rate, most = 0.3, 0.0
    for scores in ((0, 0, 0), (5, 4, 0), (20, 0, 0), (3, 3, 2)):
        here = exponential_law(scores, rate)
        for moved in neighbours(scores, reach):
            there = exponential_law(moved, rate)
            ratios = [math.log(one / other) for one, other in zip(here, there, strict=True)]
            most = max(most, max(ratios) - min(ratios))
            divergence = math.log(sum(one * one / other for one, other in zip(here, there, strict=True)))
            assert divergence <= 2 * (rate * reach) ** 2 / 8 + 1e-12, "zCDP at α = 2"
    assert 0.9 * rate * reach < most <= rate * reach + 1e-12


def planned(count: int, groups: int, one_unit: int, top_reach: int) -> Plan:
    sensitivity = Sensitivity(l1=one_unit * count, l2_squared=one_unit**2 * count)
    block = Block((Statistic("n", Fraction(1), one_unit, "count(*)"),), sensitivity)
    output = Output("a0", BIGINT, Linear((("n", Fraction(1)),), integer=True, minimum=0), "count(*)")
    key = KeyColumn("k0", BIGINT, "g")
    return Plan("SELECT …", "duckdb", (key,), (block,), (output,), None, groups, top=top(count, top_reach))


PRICES = {
    ZCDP: PrivacyLoss(rho=Fraction(1, 200)),
    PURE: PrivacyLoss(epsilon=Fraction(1, 10)),
    APPROX: PrivacyLoss(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6)),
    RDP: RDP.price(Fraction(1, 10), Fraction(0)),
}


def calibrated(accounting: Accounting, count: int = 10) -> Calibration:
    return calibrate(planned(count, 1000, 2, 2), accounting, PRICES[accounting])


@pytest.mark.parametrize("accounting", list(ACCOUNTINGS.values()))
@pytest.mark.parametrize("count", [1, 3, 10, 999])
def test_picks_and_numbers_together_cost_no_more_than_the_price(accounting: Accounting, count: int) -> None:
    found, price = calibrated(accounting, count), PRICES[accounting]
    assert found.peeled is not None
    assert found.loss.fits_within(price)
    # The formula once more, from the other side.
    each = found.peeled.mechanism.rate * 2
    share = found.peeled.share
    if found.peeled.mechanism.concentrated and share.rho:
        assert share.rho * Fraction(999, 1000) < count * each**2 / 8 <= share.rho
    elif not found.peeled.mechanism.concentrated:
        assert count * each == share.epsilon


def test_only_the_groups_that_were_picked_are_in_the_table() -> None:
    exact = ExactTable(tuple((place,) for place in range(1000)), {"n": tuple(range(1000))})
    noisy = perturb(exact, calibrated(ZCDP), NoNoise())
    assert noisy.keys == tuple((place,) for place in range(990, 1000))
    assert noisy.statistics["n"] == tuple(range(990, 1000))


@pytest.mark.quick
def test_what_is_missed_is_within_its_bound_as_often_as_it_says() -> None:
    exact, sampler = [0] * 900 + list(range(0, 2000, 20)), ExactSampler()
    mechanism = TopK(top(5), Fraction(1, 10), concentrated=True)
    beyond = 0
    for _ in range(400):
        found = mechanism.picked(exact, sampler)
        left = max(number for place, number in enumerate(exact) if place not in set(found))
        beyond += left - min(exact[place] for place in found) > mechanism.missed(1000)
    assert beyond <= 0.05 * 400
