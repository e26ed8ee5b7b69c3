"""Tables that only choose people: the measured integers are those of the inner join, and other joins stay."""

from __future__ import annotations

import duckdb
import pytest

from rewriter.bound import bounded_sql
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.plan_release import plan
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.golden.pairs import FOLDER, clinic

pytestmark = pytest.mark.quick

PEOPLE = "COUNT(DISTINCT p.id)"
VISITS = "FROM patient AS p JOIN visit AS v ON v.patient_id = p.id"

CHOSEN = [
    f"SELECT {PEOPLE} {VISITS}",
    f"SELECT p.sex, {PEOPLE} {VISITS} WHERE v.cost > 100 AND p.smoker GROUP BY 1",
    f"SELECT p.sex, {PEOPLE} FILTER (WHERE p.height_cm > 150) {VISITS} GROUP BY 1",
    f"SELECT p.diagnosis, {PEOPLE} {VISITS} GROUP BY 1",
    f"SELECT g.country, {PEOPLE} {VISITS} JOIN region AS g ON g.name = p.region GROUP BY 1",
]
READ = [
    f"SELECT v.reason, {PEOPLE} {VISITS} GROUP BY 1",
    f"SELECT {PEOPLE} {VISITS} WHERE v.cost > p.height_cm",
    f"SELECT {PEOPLE} FILTER (WHERE v.cost > 100) {VISITS}",
    f"SELECT COUNT(*), {PEOPLE} {VISITS}",
    f"SELECT {PEOPLE} {VISITS.replace('JOIN', 'LEFT JOIN')}",
]


def bounded(sql: str, norm: Norm = Norm.L2) -> str:
    statement = parse(sql)
    assert isinstance(statement, Select)
    [grouping] = split(statement.tree, clinic(), DUCKDB).groupings
    return plan(grouping, norm, DUCKDB).sql


@pytest.fixture(scope="module")
def filled() -> duckdb.DuckDBPyConnection:
    """Patients of whom some have no visit, some have many, and some have a cost that is NULL or a region that is not
    there."""
    connection = duckdb.connect(":memory:")
    connection.execute((FOLDER / "clinic.sql").read_text(encoding="utf-8"))
    connection.execute(
        "INSERT INTO patient BY NAME SELECT i AS id, ['F', 'M'][1 + i % 2] AS sex, 130 + i AS height_cm,"
        " [true, false, NULL][1 + i % 3] AS smoker, ['a', 'b'][1 + i % 2] AS diagnosis,"
        " ['north', 'east', NULL][1 + i % 3] AS region FROM range(1, 60) AS t(i)"
    )
    connection.execute("INSERT INTO region VALUES ('north', 'X', 100), ('east', 'Y', 300) ON CONFLICT DO NOTHING")
    connection.execute(
        "INSERT INTO visit BY NAME SELECT i AS id, 1 + i * i % 40 AS patient_id, DATE '2024-01-01' AS day,"
        " CASE WHEN i % 7 > 0 THEN i END AS cost, 'acute' AS reason FROM range(300) AS t(i)"
    )
    return connection


@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("sql", CHOSEN)
def test_the_integers_are_those_of_the_join(
    sql: str, norm: Norm, filled: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = bounded(sql, norm)
    monkeypatch.setattr(bounded_sql, "without_repetition", lambda people: people)
    joined = bounded(sql, norm)
    assert "EXISTS" in chosen
    assert "EXISTS" not in joined
    found = filled.execute(chosen).fetchall()
    assert found == filled.execute(joined).fetchall()
    assert any(row[-1] for row in found)


@pytest.mark.parametrize("sql", READ)
def test_a_table_that_is_read_stays_joined(sql: str) -> None:
    assert "EXISTS" not in bounded(sql)
