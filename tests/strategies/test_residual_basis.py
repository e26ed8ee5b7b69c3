"""Marginals measured together: against numpy's least squares, the singular value bound, and known formulas."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from math import prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.accounting import ZCDP, Accountant
from rewriter.declared import Norm
from rewriter.strategies.residual_basis import (
    PARTS,
    AskedMarginal,
    Attributes,
    Marginal,
    MeasuredMarginal,
    apart,
    best,
    cell_variance,
    combined,
    components,
    largest_variance,
    sum_variance,
    summed,
    within,
)

FloatArray = npt.NDArray[np.float64]


def matrix(sizes: tuple[int, ...], attributes: Attributes) -> FloatArray:
    """The marginal as a 0-1 matrix over all combinations of values, the last attribute fastest."""
    found: npt.NDArray[Any] = np.ones((1, 1))
    for place, size in enumerate(sizes):
        found = np.kron(found, np.eye(size) if place in attributes else np.ones((1, size)))
    return found


def workload(sizes: tuple[int, ...], asked: list[AskedMarginal]) -> FloatArray:
    """A matrix whose squared error is the weighted variance: a marginal's weight is spread over its cells."""
    rows = [matrix(sizes, one.attributes) * sqrt(one.weight / prod(sizes[i] for i in one.attributes)) for one in asked]
    return np.vstack(rows)


CASES: list[tuple[tuple[int, ...], list[tuple[Attributes, float]]]] = [
    ((4, 3, 2), [((0, 1), 1.0), ((0, 2), 1.0), ((1, 2), 1.0)]),
    ((2, 2, 2), [((), 1.0), ((0,), 1.0), ((1,), 1.0), ((2,), 1.0)]),
    ((5, 3), [((), 7.0), ((0,), 2.0), ((1,), 0.5), ((0, 1), 1.0)]),
    ((3, 2, 2, 2), [((0, 1, 2), 1.0), ((1, 2, 3), 4.0), ((0,), 2.0)]),
    ((4, 1, 3), [((0, 1), 1.0), ((2,), 3.0)]),
]


def asked_of(marginals: list[tuple[Attributes, float]]) -> list[AskedMarginal]:
    return [AskedMarginal(*one) for one in marginals]


@pytest.mark.parametrize(("sizes", "marginals"), CASES)
def test_components_reach_the_bound_of_all_strategies(
    sizes: tuple[int, ...], marginals: list[tuple[Attributes, float]]
) -> None:
    """(Σ singular values)²/n bounds the error of every linear strategy (Li, Miklau 2013); marginals reach it."""
    asked = asked_of(marginals)
    bound = np.linalg.svd(workload(sizes, asked), compute_uv=False).sum() ** 2 / prod(sizes)
    assert components(sizes, asked).total == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize(("sizes", "marginals"), CASES)
def test_cells_of_components_have_the_variance_of_least_squares(
    sizes: tuple[int, ...], marginals: list[tuple[Attributes, float]]
) -> None:
    asked = asked_of(marginals)
    found = components(sizes, asked)
    # A component is a marginal freed of what its subsets tell: its noise is the marginal's, freed alike.
    strategy: list[FloatArray] = []
    noise: list[FloatArray] = []
    for part, variance in found.variances.items():
        residual: npt.NDArray[Any] = np.ones((1, 1))
        for place, size in enumerate(sizes):
            contrast = np.hstack([np.ones((size - 1, 1)), -np.eye(size - 1)])
            residual = np.kron(residual, contrast if place in part else np.ones((1, size)))
        own: npt.NDArray[Any] = np.ones((1, 1))
        for place in part:
            contrast = np.hstack([np.ones((sizes[place] - 1, 1)), -np.eye(sizes[place] - 1)])
            own = np.kron(own, contrast @ contrast.T)
        if len(residual):
            strategy.append(residual)
            noise.append(own * variance)
    whole = np.vstack(strategy)
    inverse = np.zeros((len(whole), len(whole)))
    at = 0
    for square in noise:
        inverse[at : at + len(square), at : at + len(square)] = np.linalg.inv(square)
        at += len(square)
    information = whole.T @ inverse @ whole
    assert np.diag(information).max() == pytest.approx(1)  # 2ρ of one person
    covariance = np.linalg.pinv(information)
    for one in asked:
        cells = np.diag(matrix(sizes, one.attributes) @ covariance @ matrix(sizes, one.attributes).T)
        assert cells == pytest.approx([cell_variance(sizes, one.attributes, found.variances)] * len(cells))


@pytest.mark.spread
@pytest.mark.parametrize(("sizes", "marginals"), CASES)
@pytest.mark.parametrize("norm", Norm)
def test_shares_have_the_predicted_variance(
    sizes: tuple[int, ...], marginals: list[tuple[Attributes, float]], norm: Norm
) -> None:
    asked = asked_of(marginals)
    found = best(sizes, asked, norm)
    assert sum(found.parts.values()) == 1
    power = 2 if norm is Norm.L1 else 1
    rows = [matrix(sizes, one) * sqrt(float(part) ** power) for one, part in found.parts.items()]
    strategy = np.vstack(rows)
    covariance = np.linalg.pinv(strategy.T @ strategy)
    asked_rows = workload(sizes, asked)
    assert np.trace(asked_rows @ covariance @ asked_rows.T) == pytest.approx(found.total)
    # Never worse than apart, but for the rounding of shares.
    assert found.total <= apart(asked, norm) * (1 + len(asked) / PARTS)
    if norm is Norm.L2:
        assert found.total >= components(sizes, asked).total * (1 - 1e-9)


def test_a_histogram_and_its_total() -> None:
    """By hand: of n groups and their total with weights 1, the components 0 and 1 have c = 1 + 1/n², (n - 1)/n."""
    n = 5
    asked = [AskedMarginal((), 1.0), AskedMarginal((0,), 1.0)]
    rest = (n - 1) / n
    assert components((n,), asked).total == pytest.approx((sqrt(1 + 1 / n**2) + sqrt(rest * rest)) ** 2)


def test_marginals_are_near_the_optimum_of_components() -> None:
    chance = random.Random(5)
    worst = 1.0
    for _ in range(30):
        sizes = tuple(chance.choice([2, 3, 5, 8, 12]) for _ in range(chance.randint(2, 5)))
        every = within(tuple(range(len(sizes))))
        asked = [AskedMarginal(one, chance.choice([1.0, 1.0, 4.0])) for one in chance.sample(every, min(len(every), 8))]
        worst = max(worst, best(sizes, asked).total / components(sizes, asked).total)
    assert worst < 1.12


def test_every_start_is_kept_or_improved() -> None:
    """Random workloads: together is never worse than apart, whichever marginals may be measured."""
    chance = random.Random(7)
    for _ in range(40):
        sizes = tuple(chance.randint(1, 9) for _ in range(chance.randint(1, 4)))
        every = within(tuple(range(len(sizes))))
        asked = [
            AskedMarginal(one, 10 ** chance.uniform(-2, 2))
            for one in chance.sample(every, chance.randint(1, len(every)))
        ]
        for norm in Norm:
            for candidates in (None, [one.attributes for one in asked]):
                assert best(sizes, asked, norm, candidates).total <= apart(asked, norm) * (1 + len(every) / PARTS)


def test_estimates_are_those_of_least_squares_and_agree() -> None:
    chance = np.random.default_rng(3)
    sizes = (4, 3, 2)
    truth = chance.integers(0, 50, prod(sizes))
    measured: list[MeasuredMarginal] = []
    rows: list[FloatArray] = []
    numbers: list[npt.NDArray[np.int64]] = []
    variances: list[int] = []
    views: list[tuple[Attributes, int]] = [((0, 1), 9), ((0, 2), 4), ((1, 2), 16), ((1,), 2), ((), 5)]
    for attributes, variance in views:
        of = matrix(sizes, attributes)
        noisy = (of @ truth).astype(int) + chance.integers(-6, 7, len(of))
        measured.append(MeasuredMarginal(Marginal(attributes, tuple(map(int, noisy))), Fraction(variance)))
        rows.append(of)
        numbers.append(noisy)
        variances += [variance] * len(of)
    strategy, inverse = np.vstack(rows), np.diag(1 / np.array(variances))
    covariance = np.linalg.pinv(strategy.T @ inverse @ strategy)
    solution = covariance @ strategy.T @ inverse @ np.concatenate(numbers)
    wanted: list[Attributes] = [(0, 1), (0, 2), (1, 2), (0,), (1,), (2,), ()]
    found = {one.table.attributes: one for one in combined(sizes, measured, wanted)}
    for wide, one in found.items():
        of = matrix(sizes, wide)
        assert np.array(one.table.numbers) / one.scale == pytest.approx(of @ solution, abs=0.02)
        own = of @ covariance @ of.T
        assert np.diag(own) == pytest.approx(float(one.variance), rel=1e-3)
        assert np.linalg.eigvalsh(own).max() == pytest.approx(float(largest_variance(sizes, one)), rel=1e-3)
        some = [0, len(own) - 1] if len(own) > 1 else [0]
        assert own[np.ix_(some, some)].sum() == pytest.approx(float(sum_variance(sizes, one, some)), rel=1e-3)
    for finer, coarser in product(wanted, wanted):
        if set(coarser) < set(finer):
            assert summed(sizes, found[finer].table, coarser) == found[coarser].table


def test_estimates_are_unbiased() -> None:
    """Without noise, estimates are the truth, whatever the weights: to the last digit."""
    sizes = (3, 2)
    cells = Marginal((0, 1), (5, 0, 2, 9, 1, 1))
    every: list[Attributes] = [(0, 1), (0,), (1,), ()]
    tables = [summed(sizes, cells, part) for part in every]
    measured = [
        MeasuredMarginal(table, Fraction(variance)) for table, variance in zip(tables, (3, 7, 11, 2), strict=True)
    ]
    for one, true in zip(combined(sizes, measured, every), tables, strict=True):
        assert [Fraction(number, one.scale) for number in one.table.numbers] == list(true.numbers)


def test_what_follows_from_nothing_measured_is_no_estimate() -> None:
    with pytest.raises(ValueError, match="no measured table"):
        combined((3, 2), [MeasuredMarginal(Marginal((0,), (1, 2, 3)), Fraction(1))], [(0, 1)])


def test_fifty_counts_of_a_dashboard() -> None:
    """Fifty tiles over four attributes: all of up to two of them, in all and where another one has a value, and three
    of three. Eight are asked twice and are free.

    At (1, 1e-6) and zCDP the error falls to less than half of that of equal shares.
    """
    sizes = (12, 5, 4, 3)
    every = within((0, 1, 2, 3))
    few = [part for part in every if len(part) <= 2]
    filtered = [(*part, value) for value in range(4) for part in few if value not in part]
    tiles = [*few, *filtered, *[part for part in every if len(part) == 3][:3]]
    assert len(tiles) == 42
    asked = [AskedMarginal(one, 1.0) for one in (*tiles, *tiles[:8])]
    squares = 2 * float(Accountant(ZCDP, Fraction(1), Fraction(1, 10**6)).limit.rho)
    alone = sqrt(len(tiles) / squares)
    together = sqrt(best(sizes, asked).total / (50 * squares))
    optimum = sqrt(components(sizes, asked).total / (50 * squares))
    assert together / optimum < 1.01
    assert alone / together > 31.1 / 14.2
    assert [round(alone, 1), round(together, 1)] == [29.7, 12.1]
