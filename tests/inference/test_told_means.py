"""What is told of a bent mean holds, over drawn noise, and says something where there are many people."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.inference.estimates.told_means import MeansProfile
from dpsql.inference.estimates.told_profile import RowsProfile
from dpsql.mechanisms import Gaussian, Laplace
from dpsql.releases import NoisyTable
from rewriter.declared.catalog import Catalog, Column, Hop, Table
from rewriter.declared.types import INTEGER
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.rows_profile import MeansPlan, bin_ends, means_plan

MOST, HIGH = 24, 100
RUNS = 300


def column() -> MeansPlan:
    person = Table("person", {"id": Column("id", INTEGER, nullable=False, unique=True)})
    columns = {"person": Column("person", INTEGER), "x": Column("x", INTEGER, range=(0, HIGH))}
    row = Table("visit", columns, path=(Hop("person", "person", "id"),), max_rows=MOST)
    return means_plan("visit", "x", Catalog({"person": person, "visit": row}, ("person", "id")), DUCKDB)


def bends(
    people: int, law: type[Gaussian | Laplace], scale: int, higher: float, seed: int
) -> tuple[float, list[float | None]]:
    """The true bend of the mean of rows, and what is told of it: people with more than MOST rows have values that are
    so much higher, and else nothing hangs on how many rows they have."""
    rng = np.random.default_rng(seed)
    rows = np.maximum(1, np.exp(rng.normal(math.log(8), 0.86, people))).astype(int)
    own = np.clip(40 + higher * (rows > MOST) + rng.normal(0, 10, people), 0, HIGH)
    weights = np.minimum(rows, MOST)
    true = float((weights * own).sum() / weights.sum() - (rows * own).sum() / rows.sum())
    ends, plans = bin_ends(MOST), column()
    bins = np.bincount(np.searchsorted(ends, rows), minlength=len(ends) + 1)
    beyond = int(np.clip(rows - MOST, 0, 3 * MOST).sum())
    (block,) = plans.means.blocks
    step = {one.name: one.granularity for one in block.statistics}
    up, down = step
    noise, wide = law(Fraction(scale)), law(Fraction(scale * 3 * MOST))
    of_means = {name: law(Fraction(scale * HIGH) / step[name]) for name in step}
    sums = {
        up: [own[rows <= MOST].sum(), own[rows > MOST].sum()],
        down: [(HIGH - own[rows <= MOST]).sum(), (HIGH - own[rows > MOST]).sum()],
    }
    found: list[float | None] = []
    for _ in range(RUNS):
        counted = [int(n) for n in bins + noise.replicas(len(bins), rng)]
        told = RowsProfile("visit", MOST, counted, noise, beyond + int(wide.replicas(1, rng)[0]), wide)
        statistics = {
            name: tuple(
                int(total / step[name]) + int(drawn)
                for total, drawn in zip(sums[name], of_means[name].replicas(2, rng), strict=True)
            )
            for name in step
        }
        means = MeansProfile.of(plans, NoisyTable(((0,), (1,)), statistics, of_means))
        found.append(means.bend(told))
    return true, found


@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize("higher", [-30.0, 2.0, 30.0])
@pytest.mark.parametrize("people", [500, 20_000])
def test_a_bend_that_is_told_is_there(people: int, higher: float, law: type[Gaussian | Laplace]) -> None:
    true, found = bends(people, law, 28, higher, seed=people)
    told = [one for one in found if one is not None]
    wrong = sum(one / true < 0 or abs(one) > abs(true) for one in told)
    assert wrong / RUNS < 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


def test_a_bend_is_told_where_there_are_many_people() -> None:
    true, found = bends(20_000, Gaussian, 28, 30.0, seed=1)
    told = [one for one in found if one is not None]
    assert len(told) == RUNS
    assert 0.3 < np.median(told) / true < 1
    assert true < -3


@pytest.mark.parametrize(("people", "higher"), [(300, 30.0), (20_000, 0.0)])
def test_nothing_is_told_of_a_handful_nor_where_values_are_alike(people: int, higher: float) -> None:
    _, found = bends(people, Gaussian, 28, higher, seed=2)
    assert np.mean([one is None for one in found]) > 0.95
