"""The Rényi filter: its curves against exact laws and an independent library, and the adversaries that it must stop."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, rdp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpsql.accounting import RDP, ZCDP, Accountant
from dpsql.accounting.curves import as_curve, line, pure, steepest, subsampled
from dpsql.accounting.loss import ORDERS, PrivacyLoss
from dpsql.accounting.rdp import conversion
from dpsql.mechanisms import AboveThreshold

MILLIONTH = Fraction(1, 10**6)
NOTHING = PrivacyLoss()
PRICES = st.fractions(Fraction(1, 1000), 4, max_denominator=1000)


def accountant(epsilon: Fraction | int, selection: Fraction | None = None) -> Accountant:
    return Accountant(RDP, Fraction(epsilon), MILLIONTH, selection)


Logs = NDArray[np.float64]


def divergence(p: Logs, q: Logs, order: float) -> float:
    """Of two laws, given by their logarithms."""
    return float(np.logaddexp.reduce(order * p + (1 - order) * q) / (order - 1))


def normed(weights: Logs) -> Logs:
    return weights - np.logaddexp.reduce(weights)


# --- curves ---


@pytest.mark.parametrize("sigma", [0.7, 3.0])
@pytest.mark.parametrize("moved", [1, 2])
def test_a_line_is_the_discrete_gaussians(sigma: float, moved: int) -> None:
    """At whole orders exactly; at others a lattice has a little less."""
    support = np.arange(-400, 401)
    p, q = normed(-0.5 * (support / sigma) ** 2), normed(-0.5 * ((support - moved) / sigma) ** 2)
    for order, allowed in zip(ORDERS[:6], line(Fraction(moved**2) / (2 * Fraction(sigma) ** 2)), strict=False):
        found = divergence(q, p, float(order))
        assert found <= float(allowed) * (1 + 1e-9)
        assert order.denominator > 1 or found == pytest.approx(float(allowed), rel=1e-9)


@pytest.mark.parametrize("scale", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("moved", [1, 3])
def test_pure_curves_cover_laplace_noise_and_are_exact_for_one_step(scale: float, moved: int) -> None:
    support = np.arange(-2000, 2001)
    p, q = normed(-np.abs(support) / scale), normed(-np.abs(support - moved) / scale)
    for order, allowed in zip(ORDERS[:12], pure(Fraction(moved) / Fraction(scale)), strict=False):
        found = divergence(q, p, float(order))
        assert found <= float(allowed) * (1 + 1e-9)
        assert moved > 1 or found == pytest.approx(float(allowed), rel=1e-9)


@given(PRICES)
def test_pure_curves_are_below_every_bound_of_the_textbook(epsilon: Fraction) -> None:
    curve = pure(epsilon)
    assert all(part <= epsilon and part <= order * epsilon**2 / 2 for order, part in zip(ORDERS, curve, strict=True))
    assert [*curve] == sorted(curve)


@pytest.mark.parametrize("rate", ["1/1000", "1/50", "1/3", "1"])
@pytest.mark.parametrize("sigma", ["3/4", "2", "20"])
def test_subsampled_gaussians_agree_with_dp_accounting(rate: str, sigma: str) -> None:
    """At whole orders, of which theirs are exact sums, too; their series between them lose all digits, or are infinite."""
    orders = [float(order) for order in ORDERS]
    theirs = rdp.RdpAccountant(orders)
    theirs.compose(PoissonSampledDpEvent(float(Fraction(rate)), GaussianDpEvent(float(Fraction(sigma)))))
    ours = subsampled(Fraction(rate), 1 / (2 * Fraction(sigma) ** 2))
    for order, mine, other in zip(ORDERS, ours, theirs._rdp, strict=True):
        assert order.denominator > 1 or float(mine) == pytest.approx(other, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_subsampled_discrete_gaussians_are_covered_both_ways(rate: float) -> None:
    """One person more, who is in it by a coin: on a lattice, in both directions."""
    sigma, support = 1.5, np.arange(-300, 301)
    without, moved = normed(-0.5 * (support / sigma) ** 2), normed(-0.5 * ((support - 1) / sigma) ** 2)
    mixed = np.logaddexp(math.log(rate) + moved, math.log(1 - rate) + without)
    for order, allowed in zip(ORDERS[:10], subsampled(Fraction(rate), 1 / (2 * Fraction(sigma) ** 2)), strict=False):
        for p, q in ((mixed, without), (without, mixed)):
            assert divergence(p, q, float(order)) <= float(allowed) * (1 + 1e-9)
        exact = divergence(mixed, without, float(order))
        assert order.denominator > 1 or exact == pytest.approx(float(allowed), rel=1e-6)


# --- the filter ---


@given(st.fractions(Fraction(1, 10), 20, max_denominator=50), st.integers(4, 12))
def test_the_failures_of_all_orders_add_up_to_what_was_declared(epsilon: Fraction, digits: int) -> None:
    """δ(α) = c(α) exp((α-1)(B(α)-ε)), summed, with what is set apart: the union that the proof needs."""
    delta = Fraction(1, 10**digits)
    limit = RDP.limit(epsilon, delta, None)
    failures = [
        math.exp((float(order) - 1) * (float(budget - epsilon)) + (float(order) - 1) * math.log(float(order) - 1))
        / float(order) ** float(order)
        for order, budget in zip(ORDERS, limit.curve, strict=True)
        if budget and order < 60
    ]
    assert sum(failures) + float(limit.delta) <= float(delta) * (1 + 1e-9)
    if len(failures) > 2:
        # None is wasted where an order has a budget at all.
        assert max(failures) >= float(delta) * 0.01


@pytest.mark.parametrize("delta", ["1/1000000", "1/1000000000"])
@pytest.mark.parametrize("epsilon", ["1/2", "1", "10"])
def test_alone_agrees_with_dp_accounting(epsilon: str, delta: str) -> None:
    price = RDP.price(Fraction(epsilon), Fraction(0))
    theirs, _ = rdp.compute_epsilon(
        [float(o) for o in ORDERS], [float(part) for part in price.curve], float(Fraction(delta))
    )
    promise = RDP.alone(price, Fraction(delta))
    assert promise is not None
    assert float(promise[0]) == pytest.approx(theirs, rel=1e-6)


def test_an_analyst_who_picks_orders_by_luck_stays_within_delta() -> None:
    """First Gaussian noise; then, by its loss, one of two mechanisms that fill the budget at another order each.

    What fits is asked of the filter itself; the losses are those of the Gaussian and of a rare certain disclosure,
    which is the dearest there is for its budget at one order. Each order with all of δ would admit more than δ.
    """
    for whole in (accountant(1), accountant(8)):
        epsilon, spent = float(whole.epsilon), whole.price(whole.epsilon / 8, Fraction(0))
        rho, chance = float(whole.epsilon / 8) ** 2 / 2, np.random.default_rng(7)
        losses = chance.normal(rho, math.sqrt(2 * rho), 400_001)
        left = whole.limit.left_after(spent)
        failed = np.zeros_like(losses)
        for order, rest in zip(ORDERS, left.curve, strict=True):
            a = float(order)
            # A mechanism of two answers: loss ε - L + 2 with the chance that its budget at this order buys.
            loss = np.maximum(epsilon - losses + 2, 0.01)
            bought = np.minimum(np.exp((a - 1) * (float(rest) - loss)) * (rest > 0), 1) * -np.expm1(-2)
            failed = np.maximum(failed, bought)
        assert float(failed.mean()) + float(whole.limit.delta) <= float(whole.delta)


def test_any_order_that_is_left_admits_and_none_admits_nothing() -> None:
    whole = accountant(1)
    steep = PrivacyLoss(curve=tuple(order * order / 100_000 for order in ORDERS))
    flat = whole.accounting.price_of_pure(Fraction(1, 3), Fraction(2, 3))
    for more in (steep, flat, whole.price(Fraction(1, 10), Fraction(0))):
        spent, count, left = NOTHING, 0, whole.statements_left(NOTHING, more)
        while count <= left and whole.fits(spent, more):
            spent, count = spent + more, count + 1
        assert count == left > 0
        assert any(gone <= most for gone, most in zip(spent.curve, whole.limit.curve, strict=True))
        over = (spent + more).curve
        assert all(gone > most for gone, most in zip(over, whole.limit.curve, strict=True))
        assert whole.epsilon_of(spent) <= 1 < whole.epsilon_of(spent + more)
    assert not whole.fits(NOTHING, PrivacyLoss(delta=whole.limit.delta * 2))
    assert not whole.fits(NOTHING, PrivacyLoss(curve=whole.limit.curve, delta=whole.limit.delta * 2))


def test_losses_of_other_kinds_are_not_added() -> None:
    whole = accountant(1)
    for other in (PrivacyLoss(rho=Fraction(1, 200)), PrivacyLoss(epsilon=Fraction(1, 10))):
        with pytest.raises(ValueError, match="not of the kind"):
            whole.fits(NOTHING, other)
    with pytest.raises(ValueError, match="one divergence for each order"):
        PrivacyLoss(curve=(Fraction(1), Fraction(2)))


def test_a_day_of_gaussian_noise_is_nearly_that_of_zcdp_and_watches_cost_less() -> None:
    renyi, concentrated = accountant(10), Accountant(ZCDP, Fraction(10), MILLIONTH)
    price = Fraction(1, 10)
    many = [one.statements_left(NOTHING, one.price(price, Fraction(0))) for one in (renyi, concentrated)]
    assert 0.9 * many[1] < many[0] <= many[1]
    watches = [
        one.statements_left(NOTHING, AboveThreshold.price(one.accounting, Fraction(1), one_way=False))
        for one in (renyi, concentrated)
    ]
    assert watches[0] > 2 * watches[1]


def test_a_watch_costs_at_most_its_curve() -> None:
    mechanism = AboveThreshold.of(3, Fraction(1, 2))
    either, one_way = (AboveThreshold.price(RDP, Fraction(1, 2), one_way=one_way) for one_way in (False, True))
    assert as_curve(mechanism.loss(3, one_way=False)).fits_within(either)
    assert either.fits_within(RDP.price(Fraction(1, 2), Fraction(0)))
    assert one_way.fits_within(either)
    assert one_way.fits_within(PrivacyLoss(curve=line(Fraction(1, 32))))
    assert one_way.curve[-1] < Fraction(3, 8), "at high orders it is the pure loss that decides"


def test_noise_costs_no_more_at_any_order_than_its_share() -> None:
    """What is left of a price after a watch is a bent curve: noise fits under it at every order."""
    for share in (pure(Fraction(1, 3)), subsampled(Fraction(1, 10), Fraction(1, 8)), line(Fraction(1, 50))):
        whole = PrivacyLoss(curve=share)
        (found,) = RDP.allowances(whole)
        assert all(spent <= most for spent, most in zip(found.charge.curve, share, strict=True))
        assert all(spent <= most for spent, most in zip(line(found.loss.rho), share, strict=True))
        above = line(steepest(share))
        assert all(spent <= most for spent, most in zip(share, above, strict=True))


def test_conversion_is_the_published_one() -> None:
    for order in ORDERS:
        a = float(order)
        published = (math.log(1e6) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
        assert float(conversion(order, MILLIONTH)) == pytest.approx(published, rel=1e-9)
