"""How many noisy groups have rows, simulated: the errors of counts of groups and of means over groups, and their ends."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpsql.inference.intervals import half_width
from dpsql.inference.shown_groups import Independent, counted_groups, ends_of_mean, trimmed_ends
from dpsql.mechanisms import Gaussian, Laplace
from dpsql.releases import Additive

FOUR = Gaussian(Fraction(4))


@dataclass(frozen=True)
class Found:
    """Relative root mean square errors of the mean by the rule and of the plain mean of what is trimmed, of the number of
    groups, how often the ends hold, and the half-width of the mean's."""

    mean: float
    plain: float
    number: float
    mean_held: float
    number_held: float
    width: float


def asked(cells: int, people: int, filled: float, noise: Additive = FOUR, runs: int = 200) -> Found:
    """The middle third of the cells has groups, a part of which is filled, at random."""
    rng = np.random.default_rng(11)
    terms = ((noise, Fraction(1)),)
    first, size = cells // 3, round(cells / 3)
    there = max(1, round(filled * size))
    means, plains, numbers, widths, mean_held, number_held = [], [], [], [], 0, 0
    for _ in range(runs):
        truth = np.zeros(cells)
        truth[first + rng.choice(size, there, replace=False)] = people
        noisy = truth + noise.replicas(cells, rng)
        ends = trimmed_ends(noisy, Independent(terms))
        kept = (np.arange(cells) >= ends.first) & (np.arange(cells) <= ends.last)
        found = counted_groups(noisy, kept, terms)
        total = float(noisy[kept].sum())
        low, high = ends_of_mean(total, half_width(terms, times=found.kept), found)
        means.append(total / found.number / people - 1)
        plains.append(float(noisy[kept].mean()) / people - 1)
        numbers.append(found.number / there - 1)
        widths.append((high - low) / 2 / people)
        mean_held += low <= people <= high
        number_held += found.least <= there <= found.most
    errors = (float(np.sqrt(np.mean(np.square(one)))) for one in (means, plains, numbers))
    return Found(*errors, mean_held / runs, number_held / runs, float(np.median(widths)))


@pytest.mark.parametrize(
    ("cells", "people", "filled", "most"),
    [
        (12, 62, 1, 0.08),
        (12, 62, 0.5, 0.15),
        (31, 20, 1, 0.09),
        (31, 62, 0.3, 0.16),
        (365, 20, 1, 0.05),
        (365, 62, 0.1, 0.22),
        (365, 5, 1, 0.3),
        (2406, 5, 1, 0.2),
    ],
)
def test_means_over_groups_are_near(cells: int, people: int, filled: float, most: float) -> None:
    found = asked(cells, people, filled, runs=200 if cells < 100 else 40)
    assert found.mean <= most, found
    assert found.mean_held >= 0.9, found
    assert found.number_held >= 0.95, found


@pytest.mark.parametrize(("cells", "people", "filled"), [(12, 62, 0.5), (31, 62, 0.3), (365, 62, 0.1)])
def test_empty_groups_inside_do_not_make_the_mean_low(cells: int, people: int, filled: float) -> None:
    """Three times as near as the mean of all that is shown, at the least twice."""
    found = asked(cells, people, filled, runs=200 if cells < 100 else 40)
    assert found.mean <= 0.5 * found.plain, found


def test_of_groups_smaller_than_their_noise_only_the_ends_hold() -> None:
    """4 groups of 5 people: the number is far off, and the ends say so."""
    found = asked(12, 5, 1)
    assert found.mean > 1
    assert found.mean_held >= 0.97
    assert found.number_held >= 0.97


@pytest.mark.parametrize(("cells", "people", "filled"), [(12, 62, 1), (31, 62, 0.3), (365, 62, 0.1)])
def test_laplace_noise_has_other_tails(cells: int, people: int, filled: float) -> None:
    found = asked(cells, people, filled, Laplace(Fraction(4)), runs=100 if cells < 100 else 40)
    assert found.mean <= 0.4, found
    assert found.mean_held >= 0.9, found
    assert found.number_held >= 0.95, found


@pytest.mark.parametrize(
    ("cells", "people", "noise", "most"),
    [
        (365, 20, Gaussian(Fraction(10)), 0.35),
        (365, 20, Laplace(Fraction(10)), 0.6),
        (365, 62, Gaussian(Fraction(20)), 0.1),
    ],
)
def test_groups_that_hide_in_their_noise_one_by_one_are_counted_together(
    cells: int, people: int, noise: Additive, most: float
) -> None:
    """Hardly any of them is beyond all noise, and then the mean would lie between the whole sum and a part of it."""
    found = asked(cells, people, 1, noise, runs=60)
    assert found.width <= most, found
    assert found.mean_held >= 0.9, found
    assert found.number_held >= 0.95, found


@pytest.mark.parametrize(("people", "filled"), [(5, 1), (20, 0.1), (62, 0.1), (1, 1)])
@pytest.mark.parametrize("noise", [Gaussian(Fraction(20)), Laplace(Fraction(4))])
def test_ends_of_numbers_of_groups_hold_in_any_noise(people: int, filled: float, noise: Additive) -> None:
    found = asked(365, people, filled, noise, runs=100)
    assert found.number_held >= 0.95, found
    assert found.mean_held >= 0.92, found


@pytest.mark.quick
def test_without_noise_groups_are_counted() -> None:
    counts = np.array([0.0, 3, 0, 1, 5])
    found = counted_groups(counts, np.ones(5, dtype=np.bool_), ((Gaussian(Fraction(1, 100)), Fraction(1)),))
    assert (found.number, found.least) == (3, 3)
