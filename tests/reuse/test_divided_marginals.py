"""Marginals of which one attribute is measured by several divisions: against numpy's least squares."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.reuse.divided_marginals import (
    AskedOfDivided,
    DividedMeasured,
    Division,
    divided_estimate,
    divided_shares,
    normal,
    total_of,
)
from rewriter.declared import Norm
from rewriter.front_door import Attributes, Marginal, MeasuredMarginal
from rewriter.strategies.residual_basis import AskedMarginal, adds_to_sums, best, summed

FloatArray = npt.NDArray[np.float64]
SIZES = (3, 5, 2)
AT = 1
TABLES: list[tuple[Attributes, Division | None, int]] = [
    ((0, 1), None, 90),
    ((0, 1), (0, 1, 1, 0, 2), 7),
    ((1, 2), None, 40),
    ((1, 2), (0, 0, 1, 1, 1), 5),
    ((1,), (0, 1, 2, 0, 1), 3),
    ((0,), None, 4),
    ((), None, 2),
]


def matrix(sizes: tuple[int, ...], at: int, attributes: Attributes, division: Division | None) -> FloatArray:
    """A table as a 0-1 matrix over all combinations of values, the last attribute fastest."""
    found: FloatArray = np.ones((1, 1))
    for place, size in enumerate(sizes):
        own = np.eye(size) if place in attributes else np.ones((1, size))
        if place == at and place in attributes and division is not None:
            own = (np.arange(max(division) + 1)[:, np.newaxis] == np.array(division)[np.newaxis]).astype(float)
        found = np.kron(found, own)
    return found


def test_estimates_are_those_of_least_squares_and_agree() -> None:
    drawn = np.random.default_rng(3)
    truth = drawn.integers(0, 50, prod(SIZES))
    measured: list[DividedMeasured] = []
    rows: list[FloatArray] = []
    numbers: list[npt.NDArray[np.int64]] = []
    variances: list[int] = []
    for attributes, division, variance in TABLES:
        of = matrix(SIZES, AT, attributes, division)
        noisy = (of @ truth).astype(int) + drawn.integers(-6, 7, len(of))
        table = Marginal(attributes, tuple(map(int, noisy)))
        measured.append(DividedMeasured(MeasuredMarginal(table, Fraction(variance)), division))
        rows.append(of)
        numbers.append(noisy)
        variances += [variance] * len(of)
    strategy, inverse = np.vstack(rows), np.diag(1 / np.array(variances))
    covariance = np.linalg.pinv(strategy.T @ inverse @ strategy)
    solution = covariance @ strategy.T @ inverse @ np.concatenate(numbers)
    wanted: list[Attributes] = [(0, 1), (1, 2), (0,), (1,), (2,), ()]
    found = {one: divided_estimate(SIZES, AT, measured, one) for one in wanted}
    for attributes, one in found.items():
        of = matrix(SIZES, AT, attributes, None)
        own = of @ covariance @ of.T
        assert np.array(one.table.numbers) / one.scale == pytest.approx(of @ solution, abs=0.02)
        assert [float(one.cell_variance(place)) for place in range(len(own))] == pytest.approx(np.diag(own), rel=1e-3)
        assert float(one.variance) == pytest.approx(np.diag(own).max(), rel=1e-3)
        assert np.linalg.eigvalsh(own).max() == pytest.approx(float(one.largest_variance), rel=1e-3)
        some = [0, len(own) - 1] if len(own) > 1 else [0]
        assert own[np.ix_(some, some)].sum() == pytest.approx(float(one.sum_variance(some)), rel=1e-3)
        for other in wanted:
            if set(other) < set(attributes):
                assert summed(SIZES, one.table, other) == found[other].table
    with pytest.raises(ValueError, match="no measured table"):
        divided_estimate(SIZES, AT, measured, (0, 2))


def test_estimates_are_unbiased_to_the_last_digit() -> None:
    """Without noise, estimates are the truth, whatever the weights."""
    truth = np.random.default_rng(4).integers(0, 50, prod(SIZES))
    measured = []
    for attributes, division, variance in TABLES:
        numbers = (matrix(SIZES, AT, attributes, division) @ truth).astype(int)
        table = Marginal(attributes, tuple(map(int, numbers)))
        measured.append(DividedMeasured(MeasuredMarginal(table, Fraction(variance)), division))
    for attributes in ((0, 1), (1, 2), (1,), (2,), ()):
        one = divided_estimate(SIZES, AT, measured, attributes)
        exact = matrix(SIZES, AT, attributes, None) @ truth
        assert [Fraction(number, one.scale) for number in one.table.numbers] == [int(number) for number in exact]


def asked_of(chance: random.Random, sizes: tuple[int, ...], at: int) -> list[AskedOfDivided]:
    """Ranges of the divided attribute, for each combination of some others."""
    found = []
    for _ in range(chance.randint(2, 9)):
        others = tuple(one for one in range(len(sizes)) if one != at and chance.random() < 0.4)
        attributes = tuple(sorted((*others, at)))
        low, high = sorted(chance.sample(range(sizes[at] + 1), 2))
        shape = [sizes[one] for one in attributes]
        sums: dict[tuple[int, ...], list[int]] = {}
        for place in range(prod(shape)):
            cell = list(map(int, np.unravel_index(place, shape)))
            value = cell.pop(attributes.index(at))
            if low <= value < high:
                sums.setdefault(tuple(cell), []).append(place)
        found.append(AskedOfDivided(attributes, 10 ** chance.uniform(-1, 1), tuple(map(tuple, sums.values()))))
    return found


@pytest.mark.parametrize("norm", Norm)
def test_shares_have_the_variance_of_least_squares_and_are_never_worse_than_undivided(norm: Norm) -> None:
    chance, better = random.Random(7), 0
    for _ in range(12):
        sizes = (chance.randint(2, 3), chance.randint(3, 8), 2)
        asked = asked_of(chance, sizes, AT)
        candidates = sorted({one.attributes for one in asked})
        marginals = [
            AskedMarginal(one.attributes, one.weight, adds_to_sums(sizes, one.attributes, one.sums or ()))
            for one in asked
        ]
        before = best(sizes, marginals, norm, candidates)
        assert total_of(
            sizes, AT, asked, {(one, None): part for one, part in before.parts.items()}, norm
        ) == pytest.approx(before.total, rel=1e-4)
        found = divided_shares(sizes, AT, range(sizes[AT]), asked, before.parts, norm, candidates)
        assert sum(found.parts.values()) == 1
        assert found.total <= before.total * 1.0001
        better += found.total < 0.95 * before.total
        power = 2 if norm is Norm.L1 else 1
        rows = [
            matrix(sizes, AT, *table) * np.sqrt(float(part) ** power) for table, part in found.parts.items() if part
        ]
        strategy = np.vstack(rows)
        covariance = np.linalg.pinv(strategy.T @ strategy)
        total = 0.0
        for one in asked:
            of = matrix(sizes, AT, one.attributes, None)
            own = of @ covariance @ of.T
            sums = one.sums or ()
            total += one.weight * sum(own[np.ix_(cells, cells)].sum() for cells in sums) / len(sums)
        assert total == pytest.approx(found.total, rel=1e-4)
    assert better >= 6 or norm is Norm.L1


def test_prefixes_are_near_the_optimum_of_all_strategies() -> None:
    """(Σ singular values)²/n bounds the error of every linear strategy (Li, Miklau 2013), from below."""
    for many in (4, 12, 24):
        asked = [AskedOfDivided((0,), float(many), tuple(tuple(range(end)) for end in range(1, many + 1)))]
        found = divided_shares((many,), 0, range(many), asked, {(0,): Fraction(1)}, Norm.L2, [(0,)])
        bound = np.linalg.svd(np.tril(np.ones((many, many))), compute_uv=False).sum() ** 2 / many
        assert bound < found.total < 1.25 * bound
        undivided = many * (many + 1) / 2
        assert found.total < 0.75 * undivided


def test_blocks_are_numbered_by_their_first_values() -> None:
    chance = random.Random(1)
    for _ in range(50):
        blocks = [chance.randrange(4) for _ in range(chance.randint(1, 8))]
        found = normal(blocks)
        firsts = [found.index(one) for one in dict.fromkeys(found)]
        assert sorted(set(found)) == list(range(max(found) + 1))
        assert all(one < other for one, other in pairwise(firsts))
        assert [[a == b for a in blocks] for b in blocks] == [[a == b for a in found] for b in found]
