"""What is told of a column's values holds, over drawn noise, and noise in empty bins is not told as values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpsql.inference.estimates.told_values import ValuesProfile
from dpsql.mechanisms import Gaussian, Laplace
from dpsql.releases import NoisyTable
from rewriter.declared.catalog import Catalog, Column, Hop, Table
from rewriter.declared.types import INTEGER
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.rows_profile import ValuesPlan, values_plan

RUNS = 400


def column() -> ValuesPlan:
    person = Table("person", {"id": Column("id", INTEGER, nullable=False, unique=True)})
    columns = {"person": Column("person", INTEGER), "x": Column("x", INTEGER, range=(0, 5000))}
    row = Table("visit", columns, path=(Hop("person", "person", "id"),), max_rows=20)
    return values_plan("visit", "x", Catalog({"person": person, "visit": row}, ("person", "id")), DUCKDB)


@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize(("people", "above"), [(1_000, 0), (3_000, 120), (20_000, 400)])
def test_values_lie_where_they_are_and_shares_beyond_the_range_hold(
    law: type[Gaussian | Laplace], people: int, above: int
) -> None:
    """All values within the range are in one of its bins, of which most are empty."""
    plan, rng = column(), np.random.default_rng(people)
    (statistic,) = plan.people.statistics
    unit, scale = statistic.granularity, Fraction(10)
    noise = law(scale / unit)
    true = np.zeros(len(plan.ends) + 1)
    true[5], true[-1] = people - above, above
    held, elsewhere = [], []
    for _ in range(RUNS):
        counted = [round(count / unit) + int(n) for count, n in zip(true, noise.replicas(len(true), rng), strict=True)]
        noisy = NoisyTable(
            tuple((place,) for place in range(len(true))), {statistic.name: tuple(counted)}, {statistic.name: noise}
        )
        told = ValuesProfile.of(plan, noisy)
        spread = told.spread
        assert spread is not None
        assert sum(spread.parts) == pytest.approx(1)
        assert min(spread.parts) >= 0
        elsewhere.append((1 - spread.parts[4]) * people)
        share = told.beyond[1]
        assert share is not None
        held.append(share.low <= above / people <= share.high)
        assert (told.notice != "") == (share.low > 0 or (told.beyond[0] is not None and told.beyond[0].low > 0))
    assert np.mean(held) > 0.93
    # Noise of the scale 10 in 15 empty bins: the projection leaves some 20 to 30 people there, their sizes 100 and more.
    assert np.mean(elsewhere) < 50


def test_of_too_few_people_nothing_is_told() -> None:
    few = ValuesProfile("visit", "x", (0.0, 1.0, 2.0), (0.0, 50.0, 20.0, 0.0), 10.0)
    assert few.spread is None
    assert few.beyond == (None, None)
    assert few.notice == ""


@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize("far", [0, 15, 60, 75, 400])
def test_beyond_a_narrower_range_lies_no_more_than_is_told(law: type[Gaussian | Laplace], far: int) -> None:
    """Of 5,000 people most have values in three bins, and some are spread over the last three."""
    plan, rng = column(), np.random.default_rng(far)
    (statistic,) = plan.people.statistics
    unit = statistic.granularity
    noise = law(Fraction(10) / unit)
    true = np.zeros(len(plan.ends) + 1)
    true[4:7], true[-4:-1] = (5_000 - far) / 3, far / 3
    held, found = [], 0
    for _ in range(RUNS):
        counted = [round(count / unit) + int(n) for count, n in zip(true, noise.replicas(len(true), rng), strict=True)]
        noisy = NoisyTable(
            tuple((place,) for place in range(len(true))), {statistic.name: tuple(counted)}, {statistic.name: noise}
        )
        told = ValuesProfile.of(plan, noisy).narrower
        if told is None:
            continue
        found += 1
        inside = [place for place, end in enumerate(plan.ends[1:], 1) if told.low < end <= told.high]
        assert set(range(4, 7)) <= set(inside), "what is seen is within"
        held.append(1 - true[inside].sum() / true.sum() <= told.beyond + 1e-12)
    assert found > 0.9 * RUNS if far <= 15 else found < 0.9 * RUNS, "many people are seen"
    assert np.mean(held or [True]) > 0.93
