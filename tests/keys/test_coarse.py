"""Groups by the month or the year of days: the same ones as of every day, and as few as there are."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import product
from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.testing import Measurement, measure
from tests.policies import policy_text

LOW, HIGH = date(2019, 11, 17), date(2022, 2, 28)
POLICY = policy_text("""
database: duckdb:days.duckdb; ledger: sqlite:ledger; privacy_unit: person.id; budget: {epsilon: 10, delta: 1e-6}
tables:
  person: id
  stay(person_id -> person.id, max_rows: 5): came 2019-11-17..2022-02-28, went 2019-11-17..2022-02-28,
      seen {range: ['2019-11-17 00:00:00', '2022-02-28 00:00:00']}, ward [a, b]
""")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("days")
    with duckdb.connect(str(folder / "days.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INT PRIMARY KEY);"
            "CREATE TABLE stay (person_id INT NOT NULL, came DATE NOT NULL, went DATE, seen TIMESTAMP, ward VARCHAR)"
        )
    (folder / "policy.yaml").write_text(POLICY)
    return folder / "policy.yaml"


def release(policy: Path, sql: str) -> Measurement:
    found, *_ = measure(sql, policy)
    assert found.selection is None
    return found


def days() -> list[date]:
    return [LOW + timedelta(days=n) for n in range((HIGH - LOW).days + 1)]


CUTS = {
    "EXTRACT(YEAR FROM {})": lambda day: day.year,
    "EXTRACT(MONTH FROM {})": lambda day: day.month,
    "EXTRACT(QUARTER FROM {})": lambda day: (day.month + 2) // 3,
    "CAST(DATE_TRUNC('month', {}) AS DATE)": lambda day: day.replace(day=1),
    "CAST(DATE_TRUNC('year', {}) AS DATE)": lambda day: date(day.year, 1, 1),
    "EXTRACT(YEAR FROM {}) * 100 + EXTRACT(MONTH FROM {})": lambda day: day.year * 100 + day.month,
    "EXTRACT(MONTH FROM {} + INTERVAL '20 days')": lambda day: (day + timedelta(days=20)).month,
    "EXTRACT(DOW FROM {})": lambda day: (day.weekday() + 1) % 7,
}
"""Keys, and what they are of a day. The last ones need every day."""


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("column", ["came", "CAST(seen AS DATE)"])
def test_the_groups_are_those_of_all_days_that_meet_the_condition(policy: Path, cut: str, column: str) -> None:
    random = Random(cut)
    for _ in range(2):
        first, last = sorted(random.sample(days(), 2))
        test = f"{column} BETWEEN DATE '{first}' AND DATE '{last}' AND EXTRACT(MONTH FROM {column}) <> 7"
        key = cut.replace("{}", column)
        found = release(policy, f"SELECT {key}, COUNT(*) FROM stay WHERE {test} GROUP BY 1")
        expected = {CUTS[cut](day) for day in days() if first <= day <= last and day.month != 7}
        assert {key[0] for key in found.groups} == expected
        assert found.plan.cells is not None
        assert found.plan.cells >= len(expected)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("key", "cells"),
    [
        ("EXTRACT(YEAR FROM came)", 4),
        ("DATE_TRUNC('quarter', came)", 11),
        ("EXTRACT(YEAR FROM came), DATE_TRUNC('month', went)", 4 * 29),
        ("EXTRACT(YEAR FROM came), EXTRACT(MONTH FROM came)", 28),
        ("EXTRACT(YEAR FROM came), EXTRACT(YEAR FROM seen), ward", 4 * 5 * 3),
        ("EXTRACT(YEAR FROM came), CASE WHEN EXTRACT(MONTH FROM went) < 7 THEN 'early' ELSE 'late' END", 4 * 2),
        ("EXTRACT(YEAR FROM came), came - DATE '2020-01-01'", 835),
        ("EXTRACT(DOW FROM came), EXTRACT(YEAR FROM came)", 8 * 5),
        ("EXTRACT(DOW FROM came), EXTRACT(HOUR FROM seen)", 8 * 25),
        ("DATE_TRUNC('month', came), DATE_TRUNC('week', went)", 28 * (835 // 7 + 3)),
        ("TO_CHAR(came, 'YYYY-MM'), EXTRACT(HOUR FROM seen)", 32 * 25),
    ],
)
@pytest.mark.filterwarnings("error:Arrow output")
def test_as_many_groups_as_there_can_be(policy: Path, key: str, cells: int) -> None:
    found = release(policy, f"SELECT COUNT(*) FROM stay GROUP BY {key}")
    assert found.plan.cells == cells


def test_keys_of_their_own_columns_are_multiplied(policy: Path) -> None:
    """However many days and hours are behind them; what ties two columns to each other is asked where it can be."""
    sql = "SELECT EXTRACT(DOW FROM came), EXTRACT(HOUR FROM seen), COUNT(*) FROM stay WHERE {} GROUP BY 1, 2"
    weekend = release(policy, sql.format("EXTRACT(DOW FROM came) IN (0, 6) AND EXTRACT(HOUR FROM seen) < 3"))
    assert set(weekend.groups) == set(product((0, 6), (0, 1, 2)))
    sql = "SELECT EXTRACT(DOW FROM came), EXTRACT(DOW FROM went), COUNT(*) FROM stay WHERE {} GROUP BY 1, 2"
    free = release(policy, sql.format("came < went"))
    assert set(free.groups) == set(product(range(7), range(7)))
    tied = release(policy, sql.format("came < went AND came < '2019-11-20' AND went < '2019-11-20'"))
    assert set(tied.groups) == {(0, 1), (0, 2), (1, 2)}


def test_a_condition_between_two_days_is_asked_where_it_can_be(policy: Path) -> None:
    """By year and day it narrows the groups; of two months it cannot, and they are listed all the same."""
    sql = "SELECT EXTRACT(YEAR FROM came), EXTRACT(MONTH FROM went), COUNT(*) FROM stay WHERE {} GROUP BY 1, 2"
    ordered = release(policy, sql.format("EXTRACT(YEAR FROM came) <= EXTRACT(YEAR FROM went)"))
    assert {key for key in ordered.groups if key[0] == 2022} == {(2022, 1), (2022, 2)}
    assert len(release(policy, sql.format("came <= went")).groups) == 4 * 12


def test_a_person_of_two_months_weighs_in_both(policy: Path) -> None:
    """The bound on groups follows from how many there are."""
    found = release(policy, "SELECT EXTRACT(YEAR FROM came), COUNT(DISTINCT ward) FROM stay GROUP BY 1")
    texts = {statistic.name: statistic.text for statistic in found.plan.statistics}
    # The rows of each year are counted beside, to tell which years are there; they are clipped in the other norm.
    bounds = {tuple(texts[name] for name in names): (most.l1, most.l2_squared) for names, most in found.blocks}
    assert bounds.pop(("COUNT(DISTINCT ward)",)) == (5, 10)
    assert [*bounds] == [("COUNT(*)",)]
