"""Intervals hold the truth as often as they say, and are not wider than that takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.inference.intervals.widths import half_width, mean_reaches, widest_mean_half_width
from dpsql.mechanisms import NOISES, Laplace
from dpsql.releases import Additive
from tests.mechanisms.laws import draw, masses

RUNS = 20_000
third, tiny = Fraction(1, 3), Fraction(1, 2**20)


def noise(kind: str, scale: float) -> Additive:
    return NOISES[kind](Fraction(scale))


def mean_half_widths(above: Sequence[int], below: Sequence[int], noises: tuple[Additive, Additive]) -> list[float]:
    """The distance to the farther end."""
    farther: list[float] = np.maximum(*mean_reaches(above, below, noises)).tolist()
    return farther


@pytest.mark.quick
@pytest.mark.parametrize("scale", [0.1, 0.3, 0.5, 1.0, 1.7, 10.0, 300.0])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_one_noise_has_the_least_half_width_by_its_exact_law(kind: str, scale: float) -> None:
    reach = int(45 * scale) + 60
    mass = masses(kind, scale, reach)
    w = int(half_width(((noise(kind, scale), Fraction(1)),)))
    assert mass[reach - w : reach + w + 1].sum() >= 0.95 - 1e-9
    assert w == 0 or mass[reach - w + 1 : reach + w].sum() < 0.95


@pytest.mark.parametrize("weights", [(1, 1), (1, -1, 2), (1, third), (tiny, 1), (1,) * 12, (5, tiny, -7)])
@pytest.mark.parametrize("scale", [0.3, 0.6, 1.0, 3.0, 25.0, 1000.0])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_sums_of_noises_are_covered(kind: str, scale: float, weights: tuple[int | Fraction, ...]) -> None:
    rng = np.random.default_rng(11)
    w = half_width(tuple((noise(kind, scale), Fraction(weight)) for weight in weights))
    total = sum(float(weight) * draw(rng, kind, scale, RUNS) for weight in weights)
    covered = (np.abs(total) <= w * (1 + 1e-9) + 1e-9).mean()
    spread = scale * math.sqrt(sum(weight**2 for weight in weights))
    short = (np.abs(total) < w - 2e-3 * spread).mean()
    assert covered >= 0.945
    assert short <= 0.955  # the next smaller half-width would not do


def test_noise_that_is_hardly_ever_there_does_not_widen_the_search() -> None:
    rare, plain = noise("laplace", 0.02), noise("laplace", 1.0)
    assert half_width(((rare, Fraction(2**40)), (plain, Fraction(1)))) == half_width(((plain, Fraction(1)),))
    assert half_width(((rare, Fraction(2**40)), (rare, Fraction(1)))) == 0


def test_mixed_noises_are_covered() -> None:
    rng = np.random.default_rng(12)
    terms = ((noise("laplace", 40.0), Fraction(2)), (noise("gaussian", 90.0), Fraction(-1)))
    total = 2 * draw(rng, "laplace", 40.0, RUNS) - draw(rng, "gaussian", 90.0, RUNS)
    assert 0.945 <= (np.abs(total) <= half_width(terms)).mean() <= 0.955


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["laplace", "gaussian"]), st.floats(0.01, 1e12)), min_size=1, max_size=4),
    st.lists(st.fractions(-1000, 1000, max_denominator=2**30), min_size=4, max_size=4),
    st.fractions(min_value=tiny, max_value=2**20),
)
def test_half_widths_scale_with_the_weights_and_never_fail(
    noises: list[tuple[str, float]], weights: list[Fraction], factor: Fraction
) -> None:
    terms = tuple((noise(*one), weight) for one, weight in zip(noises, weights, strict=False))
    w = half_width(terms)
    assert w >= 0
    assert math.isfinite(w)
    scaled = half_width(tuple((one, weight * factor) for one, weight in terms))
    assert scaled == pytest.approx(w * float(factor), rel=2e-3)
    flipped = half_width(tuple((one, -weight) for one, weight in terms))
    assert flipped == w


def test_one_in_twenty() -> None:
    """The 95 % point of Laplace noise at ε = 0.1 is ln(20)/ε = 29.96, not the standard deviation."""
    assert Laplace(Fraction(10)).half_width(0.05) == 30
    assert half_width(((noise("laplace", 1e6), Fraction(1)),)) == pytest.approx(math.log(20) * 1e6, rel=1e-5)
    pair = ((noise("laplace", 1e6), Fraction(1)), (noise("laplace", 1e6), Fraction(1)))
    assert half_width(pair) == pytest.approx(4.11300 * 1e6, rel=2e-3)


@pytest.mark.parametrize("people", [30, 100, 500, 5000])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.5, 0.97])
@pytest.mark.parametrize(("kind", "scale"), [("laplace", 1024.0), ("gaussian", 2048.0)])
def test_means_are_covered(kind: str, scale: float, share: float, people: int) -> None:
    rng = np.random.default_rng(13)
    total = people * 1024
    a = round(total * share) + draw(rng, "laplace", scale, RUNS) if kind == "laplace" else None
    b = total - round(total * share)
    if a is None:
        a = round(total * share) + np.rint(rng.normal(0, scale, RUNS)).astype(np.int64)
        below = b + np.rint(rng.normal(0, scale, RUNS)).astype(np.int64)
    else:
        below = b + draw(rng, kind, scale, RUNS)
    pair = (noise(kind, scale), noise(kind, scale))
    widths = np.array(mean_half_widths(a.tolist(), below.tolist(), pair))
    estimate = np.clip(a / (a + below), 0, 1)
    covered = (np.abs(estimate - round(total * share) / total) <= widths + 1e-12).mean()
    # At the ends of the range and in small groups, the wider side of a lopsided interval holds 97.5 %.
    assert 0.945 <= covered <= (0.955 if people >= 500 and 0 < share < 1 else 0.985)
    assert np.quantile(widths, 0.01) <= widest_mean_half_width(float(total), pair) * 1.001


def contrast(kinds: tuple[str, str], u: float, v: float) -> float:
    """The 95 % half-width of uX + vY for continuous noises of scale 1, found a second way. Mixed: the root of squares."""
    z, t = 1.959963984540054, math.log(20)
    if kinds != ("laplace", "laplace"):
        return math.hypot(
            *(scale * (z if kind == "gaussian" else t) for kind, scale in zip(kinds, (u, v), strict=True))
        )
    wide, ratio = max(u, v), min(u, v) / max(u, v)
    low, high = 0.0, 20.0
    for _ in range(60):
        w = (low + high) / 2
        if ratio > 0.9999:
            outside = math.exp(-w) * (1 + w / 2)
        else:
            inner = ratio**2 * math.exp(-w / ratio) if ratio else 0.0
            outside = (math.exp(-w) - inner) / (1 - ratio**2)
        low, high = (w, high) if outside > 0.05 else (low, w)
    return wide * high


@settings(deadline=None)
@given(
    st.tuples(st.sampled_from(["laplace", "gaussian"]), st.sampled_from(["laplace", "gaussian"])),
    st.integers(-100, 10_000),
    st.integers(-100, 10_000),
    st.floats(1, 5000),
    st.floats(1, 5000),
)
def test_the_farther_end_of_belief_is_reached_and_nothing_beyond_is_believed(
    kinds: tuple[str, str], a: int, b: int, x: float, y: float
) -> None:
    (width,) = mean_half_widths([a], [b], (noise(kinds[0], x), noise(kinds[1], y)))
    if a + b <= 0:
        assert width == 1
        return
    a, b = max(a, 0), max(b, 0)
    share = a / (a + b)

    def doubt(p: float) -> float:
        """Above 1: not believed."""
        return abs((1 - p) * a - p * b) / contrast(kinds, (1 - p) * x, p * y)

    ends = [p for p in (share - width, share + width) if -1e-12 <= p <= 1 + 1e-12]
    assert ends, "the farther end is a share"
    assert min(doubt(min(max(p, 0.0), 1.0)) for p in ends) <= 1 + 1e-4
    for p in (share - width * 1.001 - 1e-9, share + width * 1.001 + 1e-9):
        assert not 0 <= p <= 1 or doubt(p) > 1 - 1e-4


def test_cells_do_not_depend_on_their_neighbours() -> None:
    """Many at once are the same as each alone, whichever of them needs the most steps."""
    rng = np.random.default_rng(14)
    a, b = rng.integers(-50, 4000, (2, 300)).tolist()
    for kind in ("laplace", "gaussian"):
        pair = (noise(kind, 40.0), noise(kind, 900.0))
        alone = [mean_half_widths([x], [y], pair)[0] for x, y in zip(a, b, strict=True)]
        assert mean_half_widths(a, b, pair) == pytest.approx(alone, rel=1e-12)


def test_a_mean_without_people_is_not_known() -> None:
    pair = (noise("laplace", 10.0), noise("laplace", 10.0))
    assert mean_half_widths([0, -5, 3, -2], [0, -5, -3, 1], pair) == [1.0, 1.0, 1.0, 1.0]
    assert mean_half_widths([], [], pair) == []
    assert widest_mean_half_width(0.0, pair) == 1.0


@settings(deadline=None)
@given(st.integers(-(10**20), 10**20), st.integers(-(10**20), 10**20), st.floats(0.5, 1e12), st.floats(0.5, 1e12))
def test_mean_half_widths_are_symmetric_and_within_the_range(a: int, b: int, x: float, y: float) -> None:
    for kind in ("laplace", "gaussian"):
        one, two = noise(kind, x), noise(kind, y)
        (w,) = mean_half_widths([a], [b], (one, two))
        assert 0 <= w <= 1
        assert mean_half_widths([b], [a], (two, one)) == pytest.approx([w], rel=1e-6, abs=1e-9)
