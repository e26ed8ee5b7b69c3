"""Components of a table, measured without the others: against numpy's projections, norms and least squares."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from rewriter.declared import Sensitivity
from rewriter.strategies import Attributes, Marginal, MeasuredMarginal, MissingComponents, combined, within

FloatArray = npt.NDArray[np.float64]
CASES = [
    ((2, 2), ((0,), (1,))),
    ((4, 2, 3), ((0, 1), (1, 2))),
    ((3, 4), ((0,),)),
    ((2, 3, 1, 2), ((0, 1), (2,))),
]
"""The values of each key, and the keys of what is known."""


def new(sizes: tuple[int, ...], known: tuple[Attributes, ...]) -> MissingComponents:
    parts = within(tuple(range(len(sizes))))
    return MissingComponents(sizes, tuple(p for p in parts if not any(set(p) <= set(one) for one in known)))


def matrix(sizes: tuple[int, ...], attributes: Attributes) -> FloatArray:
    found = np.ones((1, 1))
    for place, size in enumerate(sizes):
        found = np.kron(found, np.eye(size) if place in attributes else np.ones((1, size)))
    return found


def projection(sizes: tuple[int, ...], known: tuple[Attributes, ...]) -> FloatArray:
    """What no known marginal tells of."""
    rows = np.vstack([matrix(sizes, one) for one in known])
    projected: FloatArray = np.eye(prod(sizes)) - np.linalg.pinv(rows) @ rows
    return projected


def of(components: MissingComponents, column: list[int]) -> list[int]:
    return components.measured(column, list(product(*map(range, components.sizes))))


@pytest.mark.parametrize(("sizes", "known"), CASES)
def test_they_are_what_the_known_marginals_leave(sizes: tuple[int, ...], known: tuple[Attributes, ...]) -> None:
    components, drawn = new(sizes, known), Random(1)
    column = [drawn.randrange(-20, 50) for _ in range(prod(sizes))]
    right = components.steps * projection(sizes, known) @ np.array(column)
    assert np.allclose(of(components, column), right)
    keys = list(product(*map(range, sizes)))
    order = drawn.sample(range(len(keys)), len(keys))
    shuffled = components.measured([column[at] for at in order], [keys[at] for at in order])
    assert np.allclose(shuffled, right[order]), "in the order of the groups, whatever it is"


@pytest.mark.parametrize(("sizes", "known"), CASES)
def test_nobody_moves_them_further_than_is_said(sizes: tuple[int, ...], known: tuple[Attributes, ...]) -> None:
    components, drawn, cells = new(sizes, known), Random(2), prod(sizes)
    one = sum(number**2 for number in of(components, [1] + [0] * (cells - 1)))
    assert one == components.sensitivity(Sensitivity(1, 1)).l2_squared, "a unit of one cell moves them so far"
    for _ in range(50):
        moved = [drawn.choice([0, 0, 0, 1, -1, 4]) for _ in range(cells)]
        l1, l2_squared = sum(map(abs, moved)), sum(number**2 for number in moved)
        far = sum(number**2 for number in of(components, moved))
        assert far <= components.sensitivity(Sensitivity(l1, l2_squared)).l2_squared
        assert far <= components.sensitivity(Sensitivity(None, l2_squared)).l2_squared


@pytest.mark.parametrize(("sizes", "known"), CASES)
def test_known_and_new_are_least_squares(sizes: tuple[int, ...], known: tuple[Attributes, ...]) -> None:
    """Estimates without noise are exact, and the variance of each cell is that of generalised least squares."""
    components, every = new(sizes, known), tuple(range(len(sizes)))
    column = [Random(3).randrange(50) for _ in range(prod(sizes))]
    measured = []
    for at, one in enumerate(known):
        numbers = matrix(sizes, one) @ np.array(column)
        measured.append(MeasuredMarginal(Marginal(one, tuple(map(int, numbers))), Fraction(at + 2)))
    table, steps = Marginal(every, tuple(of(components, column))), components.steps
    parts = frozenset(components.missing)
    (found,) = combined(sizes, [*measured, MeasuredMarginal(table, Fraction(3), steps, parts)], [every])
    assert [Fraction(number, found.scale) for number in found.table.numbers] == column
    information = projection(sizes, known) / 3
    for one in measured:
        rows = matrix(sizes, one.table.attributes)
        information = information + rows.T @ rows / float(one.variance)
    assert np.allclose(np.diag(np.linalg.inv(information)), float(found.variance), rtol=1e-4)


@pytest.mark.parametrize(
    "keys",
    [[(0, 0), (0, 1), (1, 0)], [(0, 0), (0, 1), (1, 0), (1, 0)], [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]],
)
def test_of_other_groups_nothing_is_measured(keys: list[tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="all combinations"):
        new((2, 2), ((0,),)).measured([0] * len(keys), keys)
