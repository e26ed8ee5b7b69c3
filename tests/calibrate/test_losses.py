"""What a calibration costs is never more than its price, by exact fractions and by other people's formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting import ACCOUNTINGS, APPROX, PURE, ZCDP, Accounting
from dpsql.accounting.conversion import largest_rho
from dpsql.accounting.loss import PrivacyLoss
from dpsql.accounting.payment import covers
from dpsql.calibrate.calibration import CalibratedBlock, Calibration, calibrate
from dpsql.errors import DataError, InternalError, NotSupportedError
from dpsql.mechanisms.gaussian import Gaussian, sqrt_at_least
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.sampling.sampler import float_at_least
from rewriter.declared.sensitivity import Sensitivity
from rewriter.plan import Block, Selection, Statistic
from tests.calibrate.plans import block, plan

MICRO = Fraction(1, 10**6)
epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6)
deltas = st.fractions(min_value=Fraction(1, 10**15), max_value=Fraction(1, 100))
norms = st.integers(0, 2**34)


@st.composite
def sensitivities(draw: st.DrawFn, l1: bool = False) -> Sensitivity:
    norm = draw(norms)
    bounded = l1 or draw(st.booleans())
    return Sensitivity(norm if bounded else None, draw(st.integers(0, norm * norm)))


def selections() -> st.SearchStrategy[Selection | None]:
    return st.none() | st.builds(
        Selection, st.just("w"), st.sampled_from([Fraction(1), Fraction(1, 1024)]), st.integers(1, 2**20)
    )


def blocks_of(all_sensitivities: list[Sensitivity]) -> list[Block]:
    return [
        Block((Statistic(f"s{number}", Fraction(1), 1, ""),), sensitivity)
        for number, sensitivity in enumerate(all_sensitivities)
    ]


def derived(calibration: Calibration) -> PrivacyLoss:
    losses = [one.mechanism.loss(one.block.sensitivity) for one in calibration.measured]
    return sum(losses + ([calibration.selected.threshold.loss] if calibration.selected else []), start=PrivacyLoss())


def within(loss: PrivacyLoss, price: PrivacyLoss) -> bool:
    return loss.epsilon <= price.epsilon and loss.rho <= price.rho and loss.delta <= price.delta


@settings(deadline=None)
@given(st.lists(sensitivities(), min_size=1, max_size=4), selections(), epsilons, deltas)
def test_zcdp_derived_again_is_within_the_charge_and_the_charge_within_the_price(
    all_sensitivities: list[Sensitivity], selection: Selection | None, epsilon: Fraction, delta: Fraction
) -> None:
    price = PrivacyLoss(rho=epsilon**2 / 2, delta=delta)
    calibration = calibrate(plan(*blocks_of(all_sensitivities), selection=selection), ZCDP, price)
    assert within(derived(calibration), calibration.loss)
    assert within(calibration.loss, price)
    assert calibration.loss.rho == price.rho
    assert calibration.loss.delta == (delta if selection else 0)
    assert derived(calibration).rho >= price.rho * Fraction(999999, 10**6) or any(
        s.l2_squared == 0 for s in all_sensitivities
    )


@settings(deadline=None)
@given(st.lists(sensitivities(l1=True), min_size=1, max_size=4), epsilons)
def test_pure_derived_again_is_within_the_charge_and_nothing_is_wasted(
    all_sensitivities: list[Sensitivity], epsilon: Fraction
) -> None:
    price = PrivacyLoss(epsilon=epsilon)
    calibration = calibrate(plan(*blocks_of(all_sensitivities)), PURE, price)
    assert within(derived(calibration), calibration.loss)
    assert calibration.loss == price
    assert derived(calibration).epsilon >= epsilon * Fraction(999999, 10**6) or any(
        s.l1 == 0 for s in all_sensitivities
    )


@pytest.mark.quick
@settings(deadline=None)
@given(st.lists(sensitivities(), min_size=1, max_size=4), selections(), epsilons, deltas)
def test_approx_derived_again_is_within_the_charge_and_the_charge_within_the_price(
    all_sensitivities: list[Sensitivity], selection: Selection | None, epsilon: Fraction, delta: Fraction
) -> None:
    price = PrivacyLoss(epsilon=epsilon, delta=delta)
    calibration = calibrate(plan(*blocks_of(all_sensitivities), selection=selection), APPROX, price)
    assert within(calibration.loss, price)
    assert calibration.loss.epsilon == epsilon
    for one in calibration.measured:
        assert covers(one.share, one.loss)
        assert isinstance(one.mechanism, Gaussian) or one.share.delta == 0
    assert calibration.selected is None or covers(calibration.selected.share, calibration.selected.threshold.loss)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_a_gaussian_bought_with_epsilon_and_delta_keeps_both_by_the_privacy_loss_distribution(
    epsilon: Fraction,
) -> None:
    price = PrivacyLoss(epsilon=epsilon, delta=MICRO)
    wide = block("s", l1=None, l2_squared=100)
    sigma = calibrate(plan(wide), APPROX, price).measured[0].mechanism.scale
    distribution = pld.privacy_loss_distribution.from_discrete_gaussian_mechanism(float(sigma), sensitivity=10)
    assert distribution.get_delta_for_epsilon(float(epsilon)) <= 1e-6
    narrow = pld.privacy_loss_distribution.from_discrete_gaussian_mechanism(float(sigma) * 0.9, sensitivity=10)
    assert narrow.get_delta_for_epsilon(float(epsilon)) > 1e-6  # and it is not much wider than it need be


def test_approx_takes_the_mechanism_with_the_smaller_variance() -> None:
    price = PrivacyLoss(epsilon=Fraction(1), delta=MICRO)
    one, many = block("a", l1=10, l2_squared=100), block("b", l1=1000, l2_squared=1000)
    calibration = calibrate(plan(one, many), APPROX, price)
    assert [type(measured.mechanism) for measured in calibration.measured] == [Laplace, Gaussian]
    assert calibration.loss.delta == MICRO / 2


@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=2**49))
def test_scales_round_up_and_only_to_the_next_float(number: Fraction) -> None:
    rounded = float_at_least(number)
    assert Fraction(math.nextafter(rounded, 0)) < number <= Fraction(rounded)
    root = sqrt_at_least(number)
    assert Fraction(math.nextafter(root, 0)) ** 2 < number <= Fraction(root) ** 2


@settings(deadline=None)
@given(epsilons, deltas, st.integers(1, 50))
def test_equal_shares_add_up_exactly(epsilon: Fraction, delta: Fraction, count: int) -> None:
    price = PrivacyLoss(epsilon=epsilon, delta=delta)
    assert sum([price / count] * count, start=PrivacyLoss()) == price


@pytest.mark.parametrize("accounting", list(ACCOUNTINGS.values()))
def test_what_nobody_can_move_is_noised_all_the_same(accounting: Accounting) -> None:
    price = accounting.price(MICRO, MICRO if accounting.takes_delta else Fraction(0))
    still = block("s", l1=0, l2_squared=0)
    assert calibrate(plan(still), accounting, price).noise["s"].scale > 100


def test_a_measurement_cannot_be_built_for_less_than_it_costs() -> None:
    measured = calibrate(plan(block("s")), PURE, PrivacyLoss(epsilon=Fraction(1))).measured[0]
    with pytest.raises(ValueError, match="not covered"):
        replace(measured, mechanism=Laplace(measured.mechanism.scale / 2))
    with pytest.raises(ValueError, match="not covered"):
        replace(measured, share=PrivacyLoss(epsilon=Fraction(999999, 10**6)))
    with pytest.raises(ValueError, match="not covered"):
        CalibratedBlock(block("s", l1=2), measured.mechanism, measured.share)


def test_a_calibration_measures_every_block_and_selects_as_planned() -> None:
    whole = calibrate(plan(block("a"), block("b")), PURE, PrivacyLoss(epsilon=Fraction(1)))
    with pytest.raises(ValueError, match="every block"):
        replace(whole, measured=whole.measured[:1])
    with pytest.raises(ValueError, match="as the plan says"):
        replace(whole, plan=replace(whole.plan, selection=Selection("w", Fraction(1), 1)))


@pytest.mark.parametrize(
    ("accounting", "price"),
    [
        (PURE, PrivacyLoss(epsilon=Fraction(1))),
        (APPROX, PrivacyLoss(epsilon=Fraction(1))),
        (ZCDP, PrivacyLoss(rho=Fraction(1))),
    ],
)
def test_groups_are_not_selected_without_delta(accounting: Accounting, price: PrivacyLoss) -> None:
    with pytest.raises(NotSupportedError, match="region has no key set") as refused:
        calibrate(plan(block("n"), selection=Selection("w", Fraction(1), 1)), accounting, price)
    assert "declare values for region" in refused.value.hint


def test_an_unbounded_norm_is_never_released() -> None:
    with pytest.raises(InternalError, match="not bounded"):
        calibrate(plan(block("n", l1=None)), PURE, PrivacyLoss(epsilon=Fraction(1)))


@pytest.mark.parametrize("accounting", list(ACCOUNTINGS.values()))
def test_nothing_is_free(accounting: Accounting) -> None:
    with pytest.raises(DataError, match="above 0"):
        calibrate(plan(block("n")), accounting, PrivacyLoss(delta=MICRO))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**15), Fraction(1, 10**60), Fraction(1, 10**400)])
@pytest.mark.parametrize("accounting", list(ACCOUNTINGS.values()))
def test_a_price_too_small_for_64_bits_is_refused_with_a_hint(accounting: Accounting, epsilon: Fraction) -> None:
    price = accounting.price(epsilon, MICRO if accounting.takes_delta else Fraction(0))
    with pytest.raises(DataError, match="64 bits") as refused:
        calibrate(plan(block("n", l1=100)), accounting, price)
    assert "larger dpsql.epsilon" in refused.value.hint


def test_one_ledger_is_not_paid_in_the_coin_of_another() -> None:
    with pytest.raises(InternalError, match="not paid like this"):
        calibrate(plan(block("n")), ZCDP, PrivacyLoss(epsilon=Fraction(1)))
    with pytest.raises(InternalError, match="not paid like this"):
        calibrate(plan(block("n")), PURE, PrivacyLoss(rho=Fraction(1)))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(10)])
def test_a_price_in_epsilon_covers_a_loss_in_rho_by_the_conversion_alone(epsilon: Fraction) -> None:
    """The guard behind every calibration under approx: what it lets through keeps ε and δ."""
    delta = Fraction(1, 10**6)
    most = largest_rho(epsilon, delta)
    price = PrivacyLoss(epsilon=epsilon, delta=delta)
    assert covers(price, PrivacyLoss(rho=most))
    assert not covers(price, PrivacyLoss(rho=most * Fraction(1001, 1000)))
    assert not covers(PrivacyLoss(epsilon=epsilon), PrivacyLoss(rho=most))
    assert not covers(price, PrivacyLoss(rho=most, delta=delta / 2))
    assert not covers(price, PrivacyLoss(rho=most, epsilon=epsilon / 2))
    assert not covers(PrivacyLoss(rho=most), PrivacyLoss(rho=most, delta=delta))
