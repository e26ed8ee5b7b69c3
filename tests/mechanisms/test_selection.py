"""A group that one person has alone is named with probability at most δ, by the exact law of the noise."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import opendp.prelude as dp
import pytest

from dpsql.mechanisms.gaussian import Gaussian, normal_distance
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.mechanisms.threshold import Threshold, threshold_steps
from dpsql.releases import IntegerColumn
from rewriter.plan import Selection
from tests.mechanisms.laws import laplace_tail, log_gaussian_tail

DELTAS = [Fraction(1, 10), Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**9), Fraction(1, 10**15)]


def groups(most: int) -> list[int]:
    """Small numbers of groups, numbers where the ranges begin, and large ones."""
    return sorted(
        t
        for t in {*range(1, min(most, 9)), 63, 64, 65, *(round(most ** (k / 20)) for k in range(21)), most}
        if t <= most
    )


def lone_chance(threshold: int, whole: int, sigma: float, t: int) -> float:
    """P(some key is named) for a unit alone in t groups."""
    each = math.exp(log_gaussian_tail(sigma, threshold - math.isqrt(whole * whole // t)))
    return -math.expm1(t * math.log1p(-each))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("sigma", [0.2, 1.0, 4.3, 100.0])  # in units
@pytest.mark.parametrize("whole", [1, 16, 1024])
@pytest.mark.parametrize("most", [1, 2, 50, 2**20])
def test_gaussian_threshold_is_enough_and_hardly_more(most: int, whole: int, sigma: float, delta: Fraction) -> None:
    steps = min(sigma * whole, 500.0)  # exact tails are sums: keep them short
    threshold = threshold_steps(Gaussian(Fraction(steps)), whole, most, delta)
    chances = [lone_chance(threshold, whole, steps, t) for t in groups(most)]
    assert max(chances) <= delta
    slack = 1 + math.ceil(0.01 * steps + 0.01 * whole)  # half a step, and the ranges of t
    assert max(lone_chance(threshold - slack, whole, steps, t) for t in groups(most)) > delta


def splits(units: int, whole: int) -> list[list[int]]:
    """Ways in which one person's rows lie in groups: all in one, one in each, halves of the rest, and as many as fit."""
    halves, left = [], units
    while left:
        halves.append(max(left // 2, 1))
        left -= halves[-1]
    even = [[units // t] * t for t in (2, 3, 7, 20) if t <= units]
    return [[whole * rows for rows in split] for split in ([units], [1] * units, halves, *even)]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("sigma", [0.5, 4.3, 40.0])
@pytest.mark.parametrize("units", [2, 30, 240])
def test_rows_of_one_person_alone_are_named_at_most_at_a_third_of_delta(
    units: int, sigma: float, delta: Fraction
) -> None:
    threshold = threshold_steps(Gaussian(Fraction(sigma)), 1, 1, delta, units)
    for split in splits(units, 1):
        assert sum(math.exp(log_gaussian_tail(sigma, threshold - rows)) for rows in split) <= delta / 3
    # Where the noise is small beside the rows, all of them in one group decide, at two thirds of that.
    if sigma < units / 5:
        assert threshold <= units + Gaussian(Fraction(sigma)).distance(math.log(delta / 5)) + 1


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("sigma", [0.3, 0.5, 1.0, 2.5, 40.0, 1e3])
def test_gaussian_distance_is_enough_and_within_one_step_of_the_least(sigma: float, delta: Fraction) -> None:
    m = Gaussian(Fraction(sigma)).distance(math.log(delta))
    assert log_gaussian_tail(sigma, m) <= math.log(delta) < log_gaussian_tail(sigma, m - 2)


@pytest.mark.parametrize("log_delta", [-1e-3, -0.7, -2.3, -13.8, -50.0, -300.0, -699.0, -701.0, -5000.0])
def test_normal_distance_is_enough_and_hardly_more(log_delta: float) -> None:
    with mpmath.workdps(40):
        z = mpmath.mpf(normal_distance(log_delta))
        reached = [mpmath.log(mpmath.erfc(z * factor / mpmath.sqrt(2)) / 2) for factor in (1 + 1e-12, 1 - 1e-12)]
    assert min(reached) <= log_delta
    assert max(reached) >= log_delta - (6 if log_delta < -700 else 0)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0, 333.3, 1e9])
def test_laplace_distance_is_the_least(scale: float, delta: Fraction) -> None:
    m = Laplace(Fraction(scale)).distance(math.log(delta))
    wanted = delta.numerator / laplace_tail(1, 1).context.mpf(delta.denominator)
    assert laplace_tail(scale, m) <= wanted
    assert m == 1 or laplace_tail(scale, m - 1 - round(scale * 1e-9)) > wanted


@pytest.mark.parametrize("delta", DELTAS[1:4])
@pytest.mark.parametrize("scale", [1, 10, 100])
def test_laplace_threshold_is_within_a_step_of_opendp(scale: int, delta: Fraction) -> None:
    """OpenDP 0.16 reports the chance to lie above the threshold, and names what lies on it too (opendp#2922)."""
    steps = Threshold(Selection("w", Fraction(1), 1), Laplace(Fraction(scale)), delta).steps
    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    metric = dp.l01inf_distance(dp.absolute_distance(T="i64"))

    def opendp(threshold: int) -> float:
        mechanism = dp.m.make_laplace_threshold(domain, metric, scale=float(scale), threshold=threshold)
        return float(mechanism.map((1, 1, 1))[1])

    assert opendp(steps) <= float(delta) * (1 + 1e-9)
    assert opendp(steps - 2) > float(delta)


@pytest.mark.quick
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**18)])
@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(10), Fraction(1000)])
def test_a_laplace_threshold_is_the_least_that_a_lone_person_hardly_ever_reaches(
    scale: Fraction, delta: Fraction
) -> None:
    """P(1 + N ≥ τ) ≤ δ, exactly, where the person is the 1; and one step less would be too low."""
    steps = Threshold(Selection("w", Fraction(1), 1), Laplace(scale), delta).steps

    def reached(noise: int) -> mpmath.mpf:
        """P(N ≥ noise), for noise of 1 at least."""
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        return q**noise / (1 + q)

    with mpmath.workdps(40):
        wanted = mpmath.mpf(delta.numerator) / delta.denominator
        assert reached(steps - 1) <= wanted
        assert steps == 2 or reached(steps - 2) > wanted * (1 - mpmath.mpf(10) ** -8)


@pytest.mark.parametrize("sigma", [4.0, 50.0])
def test_gaussian_threshold_of_one_group_is_within_a_step_of_opendp(sigma: float) -> None:
    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    metric = dp.l02inf_distance(dp.absolute_distance(T="i64"))

    def opendp(threshold: int) -> float:
        mechanism = dp.m.make_gaussian_threshold(domain, metric, scale=sigma, threshold=threshold)
        return float(mechanism.map((1, 1, 1))[1])

    ours = threshold_steps(Gaussian(Fraction(sigma)), 1, 1, Fraction(1, 10**6))
    assert opendp(ours + 1) <= 1e-6 < opendp(ours - 2)


@pytest.mark.parametrize("t", [1, 4, 25])
def test_a_lone_person_is_named_as_often_as_delta_allows_and_not_more(t: int) -> None:
    """With a large δ, to see it happen; with the sampler that guards people."""
    delta, whole, people = Fraction(1, 20), 64, 30_000 // t
    rule = Threshold(Selection("w", Fraction(1, whole), t), Gaussian(Fraction(2 * whole)), delta)
    weight = math.isqrt(whole * whole // t)
    noise = rule.mechanism.sample(ExactSampler(), t * people)
    named = {place // t for place in rule.named(IntegerColumn.of([weight] * (t * people)), noise).tolist()}
    deviation = math.sqrt(people * delta)
    assert people * delta * 0.6 - 6 * deviation < len(named) < people * delta + 6 * deviation


def test_a_key_without_weight_is_never_named() -> None:
    rule = Threshold(Selection("w", Fraction(1), 1), Laplace(Fraction(1)), Fraction(1, 10**6))
    assert rule.named(IntegerColumn.of([0, -1, 1]), IntegerColumn.of([10**6] * 3)).tolist() == [2]


def test_laplace_noise_serves_one_group_per_unit_alone() -> None:
    with pytest.raises(ValueError, match="L1 norm"):
        Threshold(Selection("w", Fraction(1), 2), Laplace(Fraction(1)), Fraction(1, 10**6))


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 2), Fraction(-1)])
def test_delta_is_small_and_positive(delta: Fraction) -> None:
    with pytest.raises(ValueError, match="delta"):
        Threshold(Selection("w", Fraction(1), 1), Laplace(Fraction(1)), delta)
