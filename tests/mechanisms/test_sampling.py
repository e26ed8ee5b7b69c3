"""The noise has the law that it claims, is never shared, and cannot be seeded."""

from __future__ import annotations

import multiprocessing
import random
import threading
from fractions import Fraction
from multiprocessing.connection import Connection

import numpy as np
import opendp.prelude as dp
import pytest

from dpsql.mechanisms.gaussian import Gaussian
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.mechanism import Draws
from dpsql.mechanisms.sampling.sampler import WIDEST, ExactSampler, TooWide, float_at_least
from rewriter.declared.sensitivity import Sensitivity
from tests.mechanisms.laws import chi_square

DRAWS = 20_000
WIDE = Fraction(2**49)
"""Two of 1,200 draws are alike less than once in a billion runs."""


def sample(kind: str, scale: Fraction, count: int) -> list[int]:
    return list(ExactSampler().draw(draws_of(kind, scale, count)))


def draws_of(kind: str, scale: Fraction, count: int) -> Draws:
    return Draws(Laplace(scale) if kind == "laplace" else Gaussian(scale), count)


@pytest.mark.quick
@pytest.mark.parametrize("scale", [Fraction(2, 5), Fraction(1), Fraction(73, 10), Fraction(1000)])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_draws_follow_the_exact_law_and_a_scale_that_is_off_by_30_percent_is_seen(kind: str, scale: Fraction) -> None:
    draws = sample(kind, scale, DRAWS)
    assert chi_square(draws, kind, float(scale)) > 1e-10
    assert chi_square(draws, kind, float(scale) * 1.3) < 1e-12
    assert chi_square(draws, kind, float(scale) / 1.3) < 1e-12


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_other_law_of_the_same_variance_is_seen(kind: str) -> None:
    laplace, gaussian = Laplace(Fraction(100)), Gaussian(Fraction(float_at_least(Fraction(14142, 100))))
    assert laplace.variance == pytest.approx(gaussian.variance, rel=1e-3)
    if kind == "laplace":
        assert chi_square(sample("laplace", laplace.scale, DRAWS), "gaussian", float(gaussian.scale)) < 1e-12
    else:
        assert chi_square(sample("gaussian", gaussian.scale, DRAWS), "laplace", float(laplace.scale)) < 1e-12


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(5)), Gaussian(Fraction(5)), Gaussian(Fraction(1, 2))])
def test_variance_is_that_of_the_draws(mechanism: Laplace | Gaussian) -> None:
    draws = np.array(mechanism.sample(ExactSampler(), DRAWS), dtype=float)
    assert draws.var() == pytest.approx(mechanism.variance, rel=0.12)
    assert abs(draws.mean()) < 6 * (mechanism.variance / DRAWS) ** 0.5


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_empty_cells_do_not_share_their_noise(kind: str) -> None:
    assert len(set(sample(kind, WIDE, 600))) == 600


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_no_draw_repeats_from_call_to_call_whatever_is_seeded(kind: str) -> None:
    runs = []
    for _ in range(3):
        random.seed(7)
        np.random.seed(7)
        runs.append(sample(kind, WIDE, 200))
    assert len({draw for run in runs for draw in run}) == 600
    # Nor when the same sampler, as a proxy has one, is asked the same again.
    one = ExactSampler()
    again = [one.draw(draws_of(kind, WIDE, 200)) for _ in range(3)]
    assert len({draw for run in again for draw in run}) == 600


def _report(pipe: Connection) -> None:
    pipe.send(sample("laplace", WIDE, 200))


def test_forked_processes_and_threads_draw_different_noise() -> None:
    sample("laplace", WIDE, 1)  # the state there is, if any, exists before the forks
    streams: list[list[int]] = []
    context = multiprocessing.get_context("fork")
    for _ in range(2):
        here, there = context.Pipe()
        child = context.Process(target=_report, args=(there,))
        child.start()
        assert here.poll(120)
        streams.append(here.recv())
        child.join(120)
    threads = [threading.Thread(target=lambda: streams.append(sample("laplace", WIDE, 200))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(streams) == 6
    assert len({draw for stream in streams for draw in stream}) == 1200


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10, 3), Fraction(2**49) + Fraction(1, 3)])
def test_opendp_derives_no_larger_loss_than_we_do(scale: Fraction) -> None:
    used = Fraction(float_at_least(scale))
    assert scale <= used
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    ours = Laplace(used).loss(Sensitivity(l1=7, l2_squared=49)).epsilon
    theirs = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(used)).map(7)
    assert theirs == pytest.approx(float(ours), rel=1e-14)
    rho = Gaussian(used).loss(Sensitivity(l1=None, l2_squared=49)).rho
    assert dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=float(used)).map(7) == pytest.approx(
        float(rho), rel=1e-14
    )


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_there_is_no_draw_without_noise(kind: str, scale: Fraction) -> None:
    with pytest.raises(ValueError, match="no noise"):
        sample(kind, scale, 1)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_that_could_meet_the_ends_of_64_bits_is_refused(kind: str) -> None:
    with pytest.raises(TooWide):
        sample(kind, Fraction(WIDEST), 1)
    assert max(map(abs, sample(kind, Fraction(WIDEST - 1), 100))) < 2**62
