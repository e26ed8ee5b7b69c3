"""The filter: its published figures, an independent library, and the adversaries that it must stop."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import rdp
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from dpsql.accounting import ACCOUNTINGS, APPROX, PURE, ZCDP, Accountant, Accounting
from dpsql.accounting.conversion import largest_rho, smallest_epsilon
from dpsql.accounting.loss import PrivacyLoss

MILLIONTH = Fraction(1, 10**6)
NOTHING = PrivacyLoss()
EPSILONS = st.fractions(Fraction(1, 1000), 50, max_denominator=10**6)
DELTAS = st.integers(2, 40).map(lambda n: Fraction(1, 2**n))


def zcdp(epsilon: Fraction | int, delta: Fraction = MILLIONTH, selection: Fraction | None = None) -> Accountant:
    return Accountant(ZCDP, Fraction(epsilon), delta, selection)


def gaussian_delta(epsilon: float, rho: float) -> float:
    """The exact δ of a Gaussian mechanism (Balle, Wang 2018)."""
    mu = math.sqrt(2 * rho)
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu)))


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [(1, 1e-6, 0.02436), (3, 1e-6, 0.1851), (5, 1e-6, 0.4631), (10, 1e-6, 1.539), (1, 1e-9, 0.01497)],
)
def test_published_conversions(epsilon: int, delta: float, rho: float) -> None:
    found = largest_rho(Fraction(epsilon), Fraction(repr(delta)))
    assert float(f"{float(found):.4g}") == rho
    assert smallest_epsilon(found, Fraction(repr(delta))) <= epsilon * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("epsilon", "each", "pure", "gaussian"),
    [(1, Fraction(1, 10), 10, 9), (1, Fraction(1, 100), 100, 974), (10, Fraction(1, 10), 100, 615)],
)
def test_published_numbers_of_counts(epsilon: int, each: Fraction, pure: int, gaussian: int) -> None:
    """A Gaussian with the variance 2/ε² of a COUNT's Laplace noise costs ρ = ε²/4; with all of δ for the conversion."""
    basic = Accountant(PURE, Fraction(epsilon), Fraction(0))
    assert basic.statements_left(NOTHING, basic.price(each, Fraction(0))) == pure
    concentrated = zcdp(epsilon, selection=Fraction(0))
    assert concentrated.statements_left(NOTHING, PrivacyLoss(rho=each**2 / 4)) == gaussian


def test_ten_thousand_databases() -> None:
    """Seed 003: 10,000 databases at ε = 1/801 lose at most e¹ with probability 1 - e⁻³² (advanced composition)."""
    n, each = 10_000, Fraction(1, 801)
    delta = Fraction(math.exp(-32))
    advanced = math.sqrt(2 * n * 32) * each + n * float(each) * math.expm1(each)
    assert 1 < advanced < 1.02
    lifetime = zcdp(1, delta, selection=Fraction(0))
    spent = PrivacyLoss(rho=n * each**2 / 2)
    assert lifetime.fits(NOTHING, spent), "the tight conversion proves the claim that the bound above just misses"
    assert lifetime.epsilon_of(spent) < 1 < 1.02


@pytest.mark.quick
@given(EPSILONS, DELTAS)
def test_conversion_is_sound_for_the_gaussian_and_tight(epsilon: Fraction, delta: Fraction) -> None:
    rho = largest_rho(epsilon, delta)
    assert gaussian_delta(float(epsilon), float(rho)) <= float(delta)
    orders = 1 + np.exp(np.linspace(-8, 25, 4000))
    by_order = (epsilon + np.log(orders / (orders - 1)) + (math.log(delta) + np.log(orders)) / (orders - 1)) / orders
    assert float(rho) == pytest.approx(by_order.max(), rel=1e-4)
    assert float(rho) >= by_order.max() * (1 - 1e-9), "a coarse grid is not better than the search"


@given(EPSILONS, DELTAS)
def test_conversions_are_inverse_up_to_their_rounding(epsilon: Fraction, delta: Fraction) -> None:
    rho = largest_rho(epsilon, delta)
    back = smallest_epsilon(rho, delta)
    assert float(back) == pytest.approx(float(epsilon), rel=1e-8)
    assert largest_rho(back, delta) >= rho * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.3, 2.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_agrees_with_dp_accounting(rho: float, delta: float) -> None:
    orders = [1 + math.exp(t) for t in np.linspace(-3, 9, 1500)]
    theirs, _ = rdp.compute_epsilon(orders, [a * rho for a in orders], delta)
    assert float(smallest_epsilon(Fraction(rho), Fraction(delta))) == pytest.approx(theirs, rel=1e-4)


@given(EPSILONS, EPSILONS, DELTAS, DELTAS)
def test_conversion_is_monotone(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> None:
    slack = 1 - Fraction(1, 10**9)
    assert largest_rho(max(a, b), max(c, d)) >= largest_rho(min(a, b), min(c, d)) * slack


def adversary(epsilon: float, delta: float, first: float, second: float, threshold: float) -> float:
    """δ at ε of: a Gaussian of ρ=first; then, if its loss is ``threshold`` deviations above the mean, another of
    ρ=second, and else a mechanism that reveals everything with probability delta."""
    deviation = math.sqrt(2 * first)
    cut = first + threshold * deviation
    revealed = float(norm.cdf(threshold)) * delta

    def unlucky(loss: float) -> float:
        return float(norm.pdf((loss - first) / deviation)) / deviation * gaussian_delta(epsilon - loss, second)

    return revealed + quad(unlucky, cut, first + 12 * deviation, limit=400, epsabs=1e-14)[0]


def test_delta_and_rho_are_not_traded_while_questions_are_asked() -> None:
    """Sharing δ as one goes admits 1.2 δ; the box, which sets a part of δ apart, stays below δ."""
    epsilon, delta = 1.0, 1e-6
    whole = float(largest_rho(Fraction(1), MILLIONTH))
    # What such a rule would admit on the lucky branch: nearly all of δ, since 0.7 of ρ needs almost none of it.
    assert smallest_epsilon(Fraction(whole * 0.7), MILLIONTH / 100) < 1
    assert adversary(epsilon, delta * 0.99, whole * 0.7, whole * 0.3, 2.5) > 1.15 * delta

    limit = zcdp(1).limit
    rho, apart = float(limit.rho), float(limit.delta)
    for share in (0.3, 0.5, 0.7, 0.9):
        for threshold in (0.0, 1.0, 2.0, 2.5, 3.0):
            assert adversary(epsilon, apart, rho * share, rho * (1 - share), threshold) < delta
    assert not zcdp(1).fits(NOTHING, PrivacyLoss(delta=MILLIONTH / 2))


def test_floats_never_decide() -> None:
    """Four 0.005's fill 0.02 exactly, 0.1 + 0.2 fills 0.3, and a trillionth of a trillionth more does not fit."""
    pure = Accountant(PURE, Fraction("0.3"), Fraction(0))
    assert pure.fits(PrivacyLoss(epsilon=Fraction("0.1")), PrivacyLoss(epsilon=Fraction("0.2")))
    assert not pure.fits(
        PrivacyLoss(epsilon=Fraction("0.1")), PrivacyLoss(epsilon=Fraction("0.2") + Fraction(1, 10**24))
    )
    small = Accountant(PURE, Fraction("0.02"), Fraction(0))
    spent = NOTHING
    for _ in range(4):
        assert small.fits(spent, PrivacyLoss(epsilon=Fraction("0.005")))
        spent += PrivacyLoss(epsilon=Fraction("0.005"))
    assert not small.fits(spent, PrivacyLoss(epsilon=Fraction(1, 10**60)))
    box = zcdp(1)
    assert box.fits(NOTHING, box.limit)
    assert not box.fits(NOTHING, PrivacyLoss(rho=box.limit.rho + Fraction(1, 10**60)))
    assert not box.fits(box.limit, PrivacyLoss(delta=Fraction(1, 10**60)))


@pytest.mark.parametrize("delta", [Fraction(0), MILLIONTH])
def test_each_part_is_held_to_its_own_limit(delta: Fraction) -> None:
    approx = Accountant(APPROX, Fraction(1), delta)
    assert approx.fits(NOTHING, PrivacyLoss(epsilon=Fraction(1), delta=delta))
    assert not approx.fits(PrivacyLoss(delta=delta), PrivacyLoss(epsilon=Fraction(1, 2), delta=Fraction(1, 10**30)))
    assert not approx.fits(PrivacyLoss(epsilon=Fraction(1)), PrivacyLoss(epsilon=Fraction(1, 10**30)))


def test_a_loss_of_another_kind_is_a_bug_and_not_an_answer() -> None:
    for accounting, delta, loss in (
        (PURE, Fraction(0), PrivacyLoss(rho=Fraction(1, 10))),
        (APPROX, MILLIONTH, PrivacyLoss(rho=Fraction(1, 10))),
        (ZCDP, MILLIONTH, PrivacyLoss(epsilon=Fraction(1, 10))),
    ):
        with pytest.raises(ValueError, match="not of the kind"):
            Accountant(accounting, Fraction(1), delta).fits(NOTHING, loss)
    assert not Accountant(PURE, Fraction(1), Fraction(0)).fits(NOTHING, PrivacyLoss(delta=Fraction(1, 10**9)))


@given(
    st.sampled_from(list(ACCOUNTINGS.values())),
    EPSILONS,
    DELTAS,
    st.fractions(0, 1),
    st.fractions(Fraction(1, 10**6), 1),
)
def test_what_is_offered_fits_and_little_more_does(
    accounting: Accounting, epsilon: Fraction, delta: Fraction, used: Fraction, price: Fraction
) -> None:
    accountant = Accountant(accounting, epsilon, Fraction(0) if accounting is PURE else delta)
    limit = accountant.limit
    spent = limit * used
    offer = accountant.largest(spent)
    assert accountant.fits(spent, accountant.price(offer, Fraction(0)))
    assert not accountant.fits(spent, accountant.price(offer * Fraction("1.00002") + Fraction(1, 10**17), Fraction(0)))
    each = accountant.price(price, Fraction(0))
    n = accountant.statements_left(spent, each)
    assert n == 0 or accountant.fits(spent, each * n)
    assert not accountant.fits(spent, each * (n + 1))
    assert accountant.epsilon_of(spent) <= math.nextafter(float(epsilon), math.inf)


@given(st.sampled_from(list(ACCOUNTINGS.values())), EPSILONS, st.fractions(0, 2), st.fractions(0, 2))
def test_reported_epsilon_grows_and_passes_the_declared_one_exactly_when_the_limit_is_passed(
    accounting: Accounting, epsilon: Fraction, a: Fraction, b: Fraction
) -> None:
    accountant = Accountant(accounting, epsilon, Fraction(0) if accounting is PURE else MILLIONTH)
    limit = accountant.limit
    low, high = (limit.of_noise * x for x in (min(a, b), max(a, b)))
    assert accountant.epsilon_of(low) <= accountant.epsilon_of(high) * (1 + 1e-9)
    if not accountant.fits(high, NOTHING):
        assert accountant.epsilon_of(high) * (1 + 1e-9) >= epsilon
    assert accountant.epsilon_of(NOTHING) == 0


def test_no_epsilon_is_true_when_delta_is_gone() -> None:
    box = zcdp(1)
    assert math.isfinite(box.epsilon_of(PrivacyLoss(delta=box.limit.delta)))
    assert box.epsilon_of(PrivacyLoss(delta=box.limit.delta + Fraction(1, 10**30))) == math.inf


@pytest.mark.parametrize(
    ("accounting", "epsilon", "delta", "selection"),
    [
        (PURE, 1, MILLIONTH, None),
        (ZCDP, 1, Fraction(0), None),
        (ZCDP, 0, MILLIONTH, None),
        (ZCDP, 1, MILLIONTH, MILLIONTH),
        (ZCDP, 1, MILLIONTH, -MILLIONTH),
        (APPROX, 1, Fraction(1), None),
        (APPROX, -1, Fraction(0), None),
    ],
)
def test_impossible_totals(accounting: Accounting, epsilon: int, delta: Fraction, selection: Fraction | None) -> None:
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        Accountant(accounting, Fraction(epsilon), delta, selection)


def test_a_float_is_no_total() -> None:
    with pytest.raises(TypeError, match="exact"):
        Accountant(PURE, 0.3, Fraction(0))  # type: ignore[arg-type]


def test_a_statement_without_a_price_is_not_counted() -> None:
    with pytest.raises(ValueError, match="without a price"):
        zcdp(1).statements_left(NOTHING, NOTHING)


def test_extreme_totals_convert() -> None:
    """Tiny and huge ε and δ keep a sound, usable limit."""
    for epsilon in (Fraction(1, 10**6), Fraction(1000)):
        for delta in (Fraction(1, 10**300), Fraction(1, 10**18), Fraction(1, 2)):
            limit = zcdp(epsilon, delta).limit
            assert limit.rho > 0
            assert smallest_epsilon(limit.rho, delta - limit.delta) <= epsilon * (1 + Fraction(1, 10**8))
