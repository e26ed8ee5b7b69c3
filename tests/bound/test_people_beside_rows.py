"""The weights of people and of their rows in one vector: the norm that is claimed, and the least total variance."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt
from random import Random

import numpy as np
import pytest

from rewriter.bound.people_beside_rows import PairWeights, weights
from rewriter.declared import Norm


def moved(found: PairWeights, rows: int) -> tuple[int, int]:
    """What a person with so many steps of rows adds to both cells."""
    return found.people[0] + found.rows[0] * rows, found.people[1] + found.rows[1] * rows


def total(found: PairWeights, most: int, steps: int, norm: Norm, asked_by: tuple[int, int] = (1, 1)) -> float:
    """The variances of both numbers, each in units of its own variance alone."""
    people, rows = (sum(float(weight) ** 2 for _, weight in one) for one in found.sums(("a", "b"), steps))
    size = found.sensitivity.l2_squared if norm is Norm.L2 else (found.sensitivity.l1 or 0) ** 2
    return size * (asked_by[0] * people + asked_by[1] * rows / most**2)


@pytest.mark.parametrize("norm", Norm)
def test_a_person_moves_the_vector_by_as_much_as_is_claimed_and_no_more(norm: Norm) -> None:
    random = Random(38)
    for _ in range(200):
        most, steps = random.choice([1, 2, 3, 5, 40, 1000]), 1 << random.randint(0, 30)
        found = weights(most, steps, norm, (random.randint(1, 9), random.randint(1, 9)))
        # Scaled to the most rows, a person has somewhat less than these.
        ends = (max(1, most * steps - 1), most * steps, *([] if most == 1 else [steps]))
        between = [random.randint(min(ends), most * steps) for _ in range(20)]
        cells = [moved(found, rows) for rows in (*ends, *between)]
        squares = [a * a + b * b for a, b in cells]
        sizes = [abs(a) + abs(b) for a, b in cells]
        assert max(squares) <= found.sensitivity.l2_squared
        assert max(sizes) <= (found.sensitivity.l1 or 0)
        assert max(squares if norm is Norm.L2 else sizes) == (
            found.sensitivity.l2_squared if norm is Norm.L2 else found.sensitivity.l1
        )


@pytest.mark.parametrize("norm", Norm)
def test_people_and_rows_follow_from_the_cells(norm: Norm) -> None:
    random = Random(39)
    for _ in range(50):
        most, steps = random.randint(1, 40), 1 << random.randint(0, 30)
        found = weights(most, steps, norm)
        rows = [random.randint(steps, most * steps) for _ in range(30)]
        cells = {name: sum(moved(found, one)[place] for one in rows) for place, name in enumerate("ab")}
        people, counted = (sum(cells[name] * weight for name, weight in one) for one in found.sums(("a", "b"), steps))
        assert (people, counted) == (30, Fraction(sum(rows), steps))


@pytest.mark.parametrize("asked_by", [(1, 1), (5, 1), (1, 4)])
@pytest.mark.parametrize("most", [2, 4, 20])
def test_both_numbers_have_the_least_variance_of_all_linear_strategies(most: int, asked_by: tuple[int, int]) -> None:
    """Against a search over the information M about (people, rows), of which (1, r) M (1, r) is at most 1 for r from
    1/N to 1. That is a square of r about a centre, on top of something."""
    found = total(weights(most, 1 << 30, Norm.L2, asked_by), most, 1 << 30, Norm.L2, asked_by)
    least = np.inf
    for centre, rest in product(np.linspace(0.3, 0.8, 101), np.linspace(0.01, 0.99, 197)):
        own = (1 - rest) / max((1 - centre) ** 2, (centre - 1 / most) ** 2)
        information = np.array([[rest + own * centre**2, -own * centre], [-own * centre, own]])
        known = np.linalg.inv(information)
        least = min(least, asked_by[0] * known[0, 0] + asked_by[1] * known[1, 1])
    assert found == pytest.approx(least, rel=2e-3)
    assert found < 0.8 * sum(map(sqrt, asked_by)) ** 2, "the total of two vectors at their best shares"


def test_under_l1_the_sum_of_variances_is_three_and_not_eight() -> None:
    assert total(weights(5, 1 << 20, Norm.L1), 5, 1 << 20, Norm.L1) == pytest.approx(3)
