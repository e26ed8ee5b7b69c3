"""What is told of a profile holds: over drawn data and drawn noise, against the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.inference.estimates.told_profile import RowsProfile
from dpsql.mechanisms import Gaussian, Laplace
from rewriter.planner.rows_profile import bin_ends

MOST = 24
RUNS = 2000


def profiles(
    people: int, law: type[Gaussian | Laplace], scale: int, tail: float, seed: int
) -> tuple[float, float, list[RowsProfile]]:
    """The true shares of people and of rows beyond the bound, and profiles of them with noise of this scale."""
    rng = np.random.default_rng(seed)
    rows = np.maximum(1, np.exp(rng.normal(math.log(8), tail, people))).astype(int)
    ends = bin_ends(MOST)
    true = np.bincount(np.searchsorted(ends, rows), minlength=len(ends) + 1)
    beyond = int(np.clip(rows - MOST, 0, 3 * MOST).sum())
    noise, wide = law(Fraction(scale)), law(Fraction(scale * 3 * MOST))
    found = [
        RowsProfile(
            "visit",
            MOST,
            [int(n) for n in true + noise.replicas(len(true), rng)],
            noise,
            beyond + int(wide.replicas(1, rng)[0]),
            wide,
        )
        for _ in range(RUNS)
    ]
    return float((rows > MOST).mean()), float(np.maximum(rows - MOST, 0).sum() / rows.sum()), found


@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize("tail", [0.3, 0.85, 1.2])
@pytest.mark.parametrize("people", [200, 3000, 20_000])
def test_what_is_told_holds(people: int, tail: float, law: type[Gaussian | Laplace]) -> None:
    of_people, of_rows, found = profiles(people, law, 28, tail, seed=people)
    least = 0.95 - 3 * math.sqrt(0.05 * 0.95 / RUNS)
    shares = [one.people_beyond for one in found]
    held = [share is None or share.low - 1e-12 <= of_people <= share.high + 1e-12 for share in shares]
    assert np.mean(held) > least
    lows = [share for one in found if (share := one.rows_beyond) is not None and share.low > 0]
    wrong = sum(share.low > of_rows for share in lows)
    assert wrong / RUNS < 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


def test_what_is_told_says_something_where_there_are_many() -> None:
    """The figures of a simulation of 20,000 people at this size of noise: to a percent of them, and most of the rows."""
    of_people, of_rows, found = profiles(20_000, Gaussian, 28, 0.86, seed=1)
    widths = [share.high - share.low for one in found if (share := one.people_beyond) is not None]
    assert len(widths) == RUNS
    assert np.median(widths) < 0.015
    lows = [share.low for one in found if (share := one.rows_beyond) is not None]
    assert np.median(lows) > 0.7 * of_rows
    assert of_people == pytest.approx(0.09, abs=0.02)


def test_nothing_is_told_of_a_handful() -> None:
    _, _, found = profiles(30, Gaussian, 28, 0.85, seed=2)
    assert np.mean([one.people_beyond is None for one in found]) > 0.9
    assert np.mean([one.rows_beyond is None for one in found]) > 0.9


def test_where_nobody_is_beyond_it_is_up_to_a_little() -> None:
    _, _, found = profiles(20_000, Gaussian, 28, 0.1, seed=3)
    told = [share for one in found if (share := one.people_beyond) is not None]
    assert np.mean([share.low <= 0 for share in told]) > 0.95
    assert max(share.high for share in told) < 0.03
    assert np.mean([one.rows_beyond is not None and one.rows_beyond.low <= 0 for one in found]) > 0.95
