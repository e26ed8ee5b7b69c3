"""What pure mechanisms cost in ρ: against the Rényi divergences of exact laws, to fifty digits, at orders up to 10,000."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting import ZCDP
from dpsql.accounting.concentration import rho_of_pure, rho_of_range
from dpsql.mechanisms import Gaussian, Laplace

ORDERS = ["1.0001", "1.01", "1.2", "1.5", "2", "3", "7.5", "20", "64", "300", "1000", "10000"]
EPSILONS = ["0.001", "0.01", "0.1", "0.3", "1", "2", "4", "8"]
STEPS = [1, 2, 3, 5, 8, 30]


def laplace_losses(epsilon: mpmath.mpf, steps: int) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """The privacy losses of discrete Laplace noise that one of two neighbours moves by so many steps, with their
    chances."""
    b = steps / epsilon
    q = mpmath.exp(-1 / b)
    between = [((steps - 2 * j) / b, (1 - q) / (1 + q) * q**j) for j in range(1, steps)]
    return [(epsilon, 1 / (1 + q)), *between, (-epsilon, q**steps / (1 + q))]


def divergence(losses: list[tuple[mpmath.mpf, mpmath.mpf]], order: mpmath.mpf) -> mpmath.mpf:
    assert mpmath.almosteq(sum(chance for _, chance in losses), 1)
    return mpmath.log(sum(chance * mpmath.exp((order - 1) * loss) for loss, chance in losses)) / (order - 1)


def kullback_leibler(losses: list[tuple[mpmath.mpf, mpmath.mpf]]) -> mpmath.mpf:
    return sum(chance * loss for loss, chance in losses)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_lattices_laplace_noise_costs_its_kullback_leibler_divergence(epsilon: str, steps: int) -> None:
    """No order costs more, the first ones just as much, and the closed form is that of the sum."""
    with mpmath.workdps(50):
        e = mpmath.mpf(epsilon)
        losses = laplace_losses(e, steps)
        rho = kullback_leibler(losses)
        q = mpmath.exp(-e / steps)
        assert mpmath.almosteq(rho, e - 2 * e / steps * q * (1 - q**steps) / (1 - q**2), rel_eps=mpmath.mpf("1e-30"))
        by_order = [divergence(losses, mpmath.mpf(order)) / mpmath.mpf(order) for order in ORDERS]
        assert all(one <= rho for one in by_order)
        assert by_order == sorted(by_order, reverse=True)
        assert by_order[0] > rho * (1 - mpmath.mpf("0.0005") * (1 + e))
        assert e + mpmath.exp(-e) - 1 <= rho <= e * mpmath.tanh(e / 2) * (1 + mpmath.mpf("1e-40"))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_several_numbers_lose_no_more_than_one_that_moves_as_far(epsilon: str) -> None:
    """Noise of one scale; numbers that move by 1 to 6 steps in all, however they are divided."""
    with mpmath.workdps(50):
        b = 6 / mpmath.mpf(epsilon)
        lost = [mpmath.mpf(0), *(kullback_leibler(laplace_losses(steps / b, steps)) for steps in range(1, 7))]
        for parts in itertools.product(range(7), repeat=3):
            if sum(parts) <= 6:
                assert sum(lost[part] for part in parts) <= lost[sum(parts)] * (1 + mpmath.mpf("1e-40"))


@pytest.mark.parametrize("epsilon", [*EPSILONS, "0.000000001", "1e-40", "200"])
def test_no_pure_mechanism_costs_more_and_the_price_is_rounded_up(epsilon: str) -> None:
    """The dearest of them is randomized response: it is one step of a lattice's Laplace noise."""
    price = rho_of_pure(Fraction(epsilon))
    with mpmath.workdps(300):
        e = mpmath.mpf(epsilon)
        exact = e * mpmath.tanh(e / 2)
        assert exact <= mpmath.mpf(price.numerator) / price.denominator <= exact * (1 + mpmath.mpf("1e-9"))
        losses = laplace_losses(e, 1)
        for order in ORDERS:
            a = mpmath.mpf(order)
            assert divergence(losses, a) <= a * mpmath.mpf(price.numerator) / price.denominator
    assert price <= ZCDP.price(Fraction(epsilon), Fraction(0)).rho


@given(st.fractions(Fraction(1, 10**6), 50, max_denominator=10**9), st.fractions(0, 100, max_denominator=1000))
def test_prices_in_rho_are_the_lesser_of_both_and_no_more_than_a_statements(epsilon: Fraction, width: Fraction) -> None:
    width = min(width, 2 * epsilon)
    price = ZCDP.price_of_pure(epsilon, width).rho
    assert price == min(rho_of_pure(epsilon), width**2 / 8) <= ZCDP.price(epsilon, Fraction(0)).rho
    assert rho_of_pure(epsilon) <= rho_of_pure(epsilon * Fraction(101, 100))
    assert rho_of_pure(epsilon).denominator <= 10**80


@pytest.mark.parametrize("width", ["0.001", "0.2", "1", "3", "8"])
def test_a_bounded_range_costs_an_eighth_of_its_square(width: str) -> None:
    """Of two answers, with every pair of log-ratios that is so far apart: the dearest laws of such a range."""
    rho, far = rho_of_range(Fraction(width)), mpmath.mpf(width)
    assert rho == Fraction(width) ** 2 / 8
    worst = mpmath.mpf(0)
    with mpmath.workdps(50):
        for place in np.linspace(0.01, 0.99, 99):
            high = far * mpmath.mpf(float(place))
            low = high - far
            # P(high) is such that both laws add up to 1.
            chance = (mpmath.exp(-low) - 1) / (mpmath.exp(-low) - mpmath.exp(-high))
            losses = [(high, chance), (low, 1 - chance)]
            for order in ORDERS:
                worst = max(worst, divergence(losses, mpmath.mpf(order)) / mpmath.mpf(order))
        paid = mpmath.mpf(rho.numerator) / rho.denominator
        assert worst <= paid
        least = far / mpmath.expm1(far)
        assert worst == pytest.approx(least - 1 - mpmath.log(least), rel=1e-3), "as the best that can be proved"


@pytest.mark.parametrize("steps", [1, 4, 64])
def test_gaussian_noise_is_the_narrower_one_up_to_a_rho_that_hardly_any_total_holds(steps: int) -> None:
    """Why no Laplace noise is added under zcdp, exactly as it would be priced: at ρ = 1.5 it is still the wider one."""
    for epsilon in np.geomspace(0.01, 2.4, 40):
        with mpmath.workdps(30):
            rho = float(kullback_leibler(laplace_losses(mpmath.mpf(float(epsilon)), steps)))
        if rho <= 1.5:
            laplace, gaussian = (
                Laplace(Fraction(steps / float(epsilon))),
                Gaussian(Fraction(steps / math.sqrt(2 * rho))),
            )
            assert gaussian.variance < laplace.variance
    assert ZCDP.limit(Fraction(10), Fraction(1, 10**6), None).rho < Fraction(8, 5)
