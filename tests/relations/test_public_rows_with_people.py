"""Public rows that somebody belongs to: EXISTS, IN and their negations over people are PostgreSQL's, of released groups."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.properties.planted import case, rows

SETUP = [
    "CREATE TABLE region (id INTEGER PRIMARY KEY, name TEXT NOT NULL, code INTEGER)",
    "INSERT INTO region VALUES (1, 'north', 1), (2, 'south', NULL), (3, 'east', 3), (4, 'east', 9), (9, 'nowhere', 2)",
    "CREATE TABLE person (id INTEGER PRIMARY KEY, region INTEGER, sex TEXT, email TEXT)",
    "INSERT INTO person SELECT n, CASE WHEN n % 5 < 4 THEN 1 + n % 4 END, CASE n % 2 WHEN 0 THEN 'f' ELSE 'm' END, "
    "'e' || (n % 3) FROM generate_series(1, 100) AS g(n)",
    "CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person(id), cost INTEGER NOT NULL)",
    "INSERT INTO visit SELECT 1 + n % 100, n % 50 FROM generate_series(1, 900) AS g(n)",
]
TABLES = """
  region: {public: true}
  person: {columns: {id: {}, region: {values_from: region.id}, sex: {values: [f, m]}, email: {}}}
  visit:
    unit: person_id -> person.id
    max_rows: 20
    columns: {person_id: {}, cost: {range: [0, 100]}}
"""
OF_PEOPLE = "SELECT 1 FROM person AS p WHERE p.region = r.id"
STATEMENTS = [
    f"SELECT r.name FROM region AS r WHERE EXISTS ({OF_PEOPLE})",
    f"SELECT r.name FROM region AS r WHERE NOT EXISTS ({OF_PEOPLE})",
    f"SELECT r.name, EXISTS ({OF_PEOPLE} AND p.sex = 'f') AS e FROM region AS r",
    f"SELECT r.name FROM region AS r WHERE r.name = 'south' OR EXISTS ({OF_PEOPLE} AND p.sex = 'f')",
    f"SELECT COUNT(*) FROM region AS r WHERE EXISTS ({OF_PEOPLE})",
    "SELECT r.id FROM region AS r WHERE NOT EXISTS (SELECT 1 FROM person AS p WHERE p.region = r.code)",
    "SELECT r.id, EXISTS (SELECT 1 FROM person AS p WHERE r.code = p.region) AS e FROM region AS r",
    "SELECT r.name FROM region AS r WHERE EXISTS "
    "(SELECT 1 FROM person AS p JOIN visit AS v ON v.person_id = p.id WHERE p.region = r.id AND v.cost > 20)",
    "SELECT r.name FROM region AS r WHERE r.id IN (SELECT p.region FROM person AS p WHERE p.sex = 'f')",
    "SELECT r.name FROM region AS r WHERE r.id NOT IN (SELECT p.region FROM person AS p WHERE p.region IS NOT NULL)",
    "SELECT r.name FROM region AS r WHERE r.id NOT IN (SELECT p.region FROM person AS p)",
    "SELECT r.name FROM region AS r WHERE r.id = ANY (SELECT p.region FROM person AS p)",
    "SELECT r.name FROM region AS r WHERE 'e' || r.id IN (SELECT p.email FROM person AS p)",
    "SELECT s.sex FROM (SELECT sex, COUNT(*) AS n FROM person GROUP BY sex) AS s"
    " WHERE s.sex IN (SELECT p.sex FROM person AS p WHERE p.region = 2)",
]


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def people(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with case(tmp_path_factory.mktemp("regions"), SETUP, TABLES, engine=request.param) as session:
        yield session


@pytest.fixture(scope="module")
def truth() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for statement in SETUP:
        connection.execute(statement)
    return connection


@pytest.mark.spread
@pytest.mark.parametrize("sql", STATEMENTS)
def test_public_rows_are_those_that_somebody_belongs_to(
    people: Session, truth: duckdb.DuckDBPyConnection, sql: str
) -> None:
    theirs = [tuple(float(v) if type(v) is int else v for v in row) for row in truth.execute(sql).fetchall()]
    assert rows(people, sql) == sorted(theirs, key=str)


@pytest.mark.parametrize("more", ["AND p.sex = r.name", "AND p.id > r.id"])
def test_other_ties_are_refused_and_the_hint_is_answered(people: Session, more: str) -> None:
    tied = f"SELECT r.name FROM region AS r WHERE EXISTS ({OF_PEOPLE} {more})"
    with pytest.raises(Error, match="one equality of columns") as raised:
        people.execute(tied)
    assert "(SELECT COUNT(*) FROM … WHERE …) > 0" in str(raised.value)


def test_the_hint_for_other_ties_is_answered(people: Session) -> None:
    counted = (
        f"({OF_PEOPLE.replace('SELECT 1', 'SELECT COUNT(*)')} AND p.sex = CASE r.id WHEN 1 THEN 'f' ELSE 'm' END) > 0"
    )
    assert rows(people, f"SELECT r.name FROM region AS r WHERE {counted}")


@pytest.mark.parametrize(
    "query", ["SELECT p.id FROM person AS p", "SELECT p.id FROM person AS p LIMIT 3", "SELECT 1 FROM person AS p"]
)
def test_rows_of_people_are_no_list(people: Session, query: str) -> None:
    with pytest.raises(Error) as raised:
        people.execute(f"SELECT r.name FROM region AS r WHERE r.id IN ({query})")
    assert raised.value.sqlstate == "42501"
