"""Draws for whole columns have the exact law, also in the comparisons that hardly ever happen."""

from __future__ import annotations

import math
import os
from collections import Counter
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import chi2_contingency, ks_2samp

from dpsql.mechanisms.sampling import vector_draws
from dpsql.mechanisms.sampling.exponential import exp_bounds, is_below
from dpsql.mechanisms.sampling.vector_draws import exp_near, first_bits, gaussian_draws, laplace_draws
from tests.mechanisms.laws import agreement, chi_square, masses

DRAWS = 40_000
SCALES = [Fraction(1, 64), Fraction(0.4), Fraction(1), Fraction(7.3), Fraction(1000)]
DRAWN = {"laplace": laplace_draws, "gaussian": gaussian_draws}


@pytest.mark.spread
@pytest.mark.quick
@pytest.mark.parametrize("scale", SCALES[1:])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_draws_follow_the_exact_law_and_a_scale_that_is_off_by_a_tenth_is_seen(kind: str, scale: Fraction) -> None:
    draws = DRAWN[kind](scale, DRAWS).tolist()
    assert chi_square(draws, kind, float(scale)) > 1e-10
    assert chi_square(draws, kind, float(scale) * 1.1) < 1e-12
    assert chi_square(draws, kind, float(scale) / 1.1) < 1e-12


@pytest.mark.spread
@pytest.mark.parametrize("number", [1, 3, 7])
@pytest.mark.parametrize("scale", [Fraction(0.4), Fraction(7.3)])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_few_draws_have_the_law_of_many(kind: str, scale: Fraction, number: int) -> None:
    """Each place of a short vector by itself, too: none is kept sooner for being small."""
    calls = [DRAWN[kind](scale, number).tolist() for _ in range(6_000)]
    for place in range(number):
        draws = [call[place] for call in calls]
        assert chi_square(draws, kind, float(scale)) > 1e-10
        assert chi_square(draws, kind, float(scale) * 1.3) < 1e-10


@pytest.mark.spread
@pytest.mark.parametrize("scale", [0.4, 7.3, 1000.0, 2.0**20, 2.0**45])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_draws_are_those_of_opendp(kind: str, scale: float) -> None:
    """Of draws that are alike, few values that are held by many: their counts are compared. Else what is below what."""
    ours, theirs = DRAWN[kind](Fraction(scale), 20_000), _opendp(kind, scale, 20_000)
    wider = _opendp(kind, scale * 1.3, 20_000)
    if scale < 100:
        edges = np.arange(-math.ceil(3 * scale), math.ceil(3 * scale) + 2) - 0.5
        alike, other = (_counts_alike(ours, one, edges) for one in (theirs, wider))
    else:
        alike, other = (float(ks_2samp(ours, one).pvalue) for one in (theirs, wider))
    assert alike > 1e-8
    assert other < 1e-6


def _opendp(kind: str, scale: float, number: int) -> np.ndarray:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "laplace":
        drawn = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    else:
        drawn = dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=scale)
    return np.array(drawn([0] * number))


def _counts_alike(one: np.ndarray, other: np.ndarray, edges: np.ndarray) -> float:
    """The p-value of the hypothesis that two columns have one law, by how many fall between edges."""
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    table = np.array([np.histogram(column, ends)[0] for column in (one, other)])
    return float(chi2_contingency(table[:, table.sum(axis=0) > 20]).pvalue)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_there_are_as_many_draws_as_asked_and_none_for_a_scale_that_is_none(kind: str) -> None:
    for number in (0, 1, 3, vector_draws._ROWS, vector_draws._ROWS + 1):
        assert len(DRAWN[kind](Fraction(5), number)) == number
    assert not DRAWN[kind](Fraction(1, 2**40), 1000).any()


def test_a_scale_of_nothing_is_refused_and_one_that_is_no_float_rounded_up() -> None:
    for scale in (Fraction(0), Fraction(-1)):
        for draws in DRAWN.values():
            with pytest.raises(ValueError, match="no noise"):
                draws(scale, 1)
    assert chi_square(gaussian_draws(Fraction(22, 3), DRAWS).tolist(), "gaussian", 22 / 3) > 1e-10


@pytest.mark.parametrize("scale", SCALES)
def test_the_words_of_digits_are_their_probabilities(scale: Fraction) -> None:
    law = vector_draws._geometric(scale)
    with mpmath.workdps(60):
        for digit, word in enumerate(law.words[:-1]):
            p = 1 / (1 + mpmath.exp(mpmath.mpf(2**digit) * scale.denominator / scale.numerator))
            assert int(word) == int(mpmath.floor(p * 2**16))
            least, most = law.digit_bounds(digit, 40)
            assert least < most < least * (1 + Fraction(1, 10**35))
            assert least <= Fraction(int(p * 2**300), 2**300) + Fraction(1, 2**290)
            assert Fraction(int(p * 2**300), 2**300) <= most
    above = (1 << len(law.words) - 1) / scale
    assert law.words[-1] == 0
    assert exp_bounds(above, 40)[1] < Fraction(1, 2**64)


def test_a_draw_is_the_sum_of_its_digits() -> None:
    draws = vector_draws._geometric(Fraction(1000)).draw(DRAWS)
    step = math.exp(-0.256)
    expected = {place: step**place * (1 - step) for place in range(20)} | {20: step**20}
    assert agreement(Counter(np.minimum(draws // 256, 20).tolist()), expected, DRAWS) > 1e-9


def test_more_than_the_digits_is_geometric_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a digit, everything is above: P(G ≥ m | first word 0) with exp(-1/s) below 2^-16."""
    law = vector_draws._Geometric(Fraction(1, 12), np.zeros(1, dtype=np.uint16))
    monkeypatch.setattr(vector_draws, "_random_words", lambda words, rows: np.zeros((words, rows), dtype=np.uint16))
    draws = law.draw(4_000)
    some = math.exp(-12) * 2**16  # given 16 zero bits
    found = Counter(np.minimum(draws, 2).tolist())
    tail = math.exp(-12)
    expected = {0: 1 - some, 1: some * (1 - tail), 2: some * tail}
    assert agreement(found, expected, 4_000) > 1e-9


@pytest.mark.parametrize("equal", ["words", "uniforms"])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_comparisons_that_are_not_decided_at_once_are_decided_exactly(
    kind: str, equal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every comparison is taken for undecided, one way and the other, and the law is the same."""
    scale = Fraction(7.3)
    if equal == "words":
        _tie_every_word(monkeypatch)
    else:
        monkeypatch.setattr(vector_draws._kept, "__defaults__", (2.0,))
    draws = DRAWN[kind](scale, 1_500).tolist()
    reach = 40
    law = dict(zip(range(-reach, reach + 1), masses(kind, 7.3, reach), strict=True))
    assert agreement(Counter(_grouped(draws)), _law_of_groups(law), 1_500) > 1e-9


def _tie_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are equal where 16 random bits decide, which happens with the probability of the limit itself."""

    def draw(law: vector_draws._Geometric, rows: int) -> vector_draws.Integers:
        total = np.zeros(rows, dtype=np.int64)
        for digit in range(len(law.words) - 1):
            for row in range(rows):
                word = int.from_bytes(os.urandom(2), "little")
                total[row] += is_below(partial(law.digit_bounds, digit), word, 16) << digit
        return total

    monkeypatch.setattr(vector_draws._Geometric, "draw", draw)


def _grouped(draws: list[int]) -> list[int]:
    return [max(-4, min(4, draw // 4)) for draw in draws]


def _law_of_groups(law: dict[int, float]) -> dict[int, float]:
    groups: Counter[int] = Counter()
    for value, mass in law.items():
        groups[max(-4, min(4, value // 4))] += mass
    return dict(groups)


def test_a_band_decides_by_floats_only_what_floats_can_decide() -> None:
    exponents = np.concatenate([np.linspace(0, 50, 3_001), np.geomspace(1e-300, 1, 300)])
    near = exp_near(exponents)
    with mpmath.workdps(40):
        worst = max(
            abs(mpmath.mpf(float(found)) / mpmath.exp(-mpmath.mpf(float(exponent))) - 1)
            for exponent, found in zip(exponents, near, strict=True)
        )
    assert worst < 2.0**-46
    assert vector_draws._BAND > 2.0**-44


def test_first_bits_need_as_many_digits_as_it_takes() -> None:
    """1/2 + 2^-70 and 1/2 - 2^-70 differ in their first bit, which twenty digits do not show."""
    for off, first in ((Fraction(1, 2**70), 1), (-Fraction(1, 2**70), 0)):
        exact = Fraction(1, 2) + off
        assert (
            first_bits(
                lambda digits, exact=exact: (exact - Fraction(1, 10**digits), exact + Fraction(1, 10**digits)), 1
            )
            == first
        )
    assert is_below(lambda digits: (Fraction(0), Fraction(1, 10**digits)), 1, 16) is False
    assert is_below(lambda digits: (1 - Fraction(1, 10**digits), Fraction(1)), 0, 16) is True


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_nothing_repeats_whatever_is_seeded(kind: str) -> None:
    runs = []
    for _ in range(3):
        np.random.seed(7)
        runs.append(DRAWN[kind](Fraction(2**49), 300).tolist())
    assert len({draw for run in runs for draw in run}) == 900
