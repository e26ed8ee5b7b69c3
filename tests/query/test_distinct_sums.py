"""SUM, AVG and COUNT of different values over people, MIN and MAX of texts: PostgreSQL's, of the released values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.properties.planted import case, rows

SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT, spend INTEGER, town TEXT)",
    "INSERT INTO person SELECT n, CASE n % 2 WHEN 0 THEN 'f' ELSE 'm' END, CASE WHEN n % 9 > 0 THEN (n * 7) % 41 END, "
    "'t' || (n % 3) FROM generate_series(1, 200) AS g(n)",
    "CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person(id), cost INTEGER NOT NULL)",
    "INSERT INTO visit SELECT 1 + n % 200, n % 23 FROM generate_series(1, 900) AS g(n)",
]
TABLES = """
  person: {columns: {id: {}, sex: {values: [f, m]}, spend: {range: [0, 100]}, town: {}}}
  visit:
    unit: person_id -> person.id
    max_rows: 20
    columns: {person_id: {}, cost: {values: [0, 1, 2, 3, 5, 8, 13, 21]}}
"""
STATEMENTS = [
    "SELECT SUM(DISTINCT spend) FROM person",
    "SELECT AVG(DISTINCT spend) AS a, SUM(DISTINCT spend) AS s, COUNT(DISTINCT spend) AS n FROM person",
    "SELECT sex, SUM(DISTINCT spend) AS s FROM person GROUP BY sex",
    "SELECT UPPER(sex) AS u, SUM(DISTINCT spend % 10) / 2 AS s FROM person WHERE id % 3 = 0 GROUP BY 1 ORDER BY s",
    "SELECT sex, AVG(DISTINCT spend) AS s FROM person GROUP BY 1 HAVING SUM(DISTINCT spend) > 10 ORDER BY sex LIMIT 1",
    "SELECT SUM(DISTINCT v.cost) FROM visit AS v JOIN person AS p ON p.id = v.person_id"
    " WHERE p.sex = 'f' AND v.cost IN (0, 1, 2, 3, 5, 8, 13, 21)",
    "SELECT SUM(DISTINCT spend) AS a, COUNT(*) AS b FROM person",
    "SELECT SUM(spend) AS b, AVG(DISTINCT spend) + COUNT(*) AS a FROM person WHERE sex = 'm'",
    "SELECT SUM(DISTINCT spend) AS a, SUM(DISTINCT spend + 1) AS b FROM person",
    "SELECT sex, SUM(DISTINCT spend), COUNT(*) FROM person GROUP BY sex",
    "SELECT sex, AVG(DISTINCT spend), SUM(DISTINCT spend + 1), SUM(spend) FROM person GROUP BY sex",
    "SELECT sex, SUM(DISTINCT spend) FILTER (WHERE town = 't1') AS s, COUNT(*) FROM person GROUP BY sex HAVING COUNT(*) > 9",
    "SELECT MIN(town), MAX(town) FROM person",
    "SELECT MIN(sex), COUNT(*) FROM person",
    "SELECT COUNT(*), MAX(town) || '!' FROM person WHERE sex = 'f' HAVING MIN(town) >= 't'",
    "SELECT sex, AVG(spend), MIN(town), MAX(town) FROM person GROUP BY sex",
    "SELECT town AS t, MIN(sex) AS least, COUNT(*) FROM person GROUP BY t HAVING MAX(sex) = 'm' ORDER BY least, t LIMIT 2",
    "SELECT sex, MIN(town) FILTER (WHERE spend > 1000), MAX(UPPER(town)) FILTER (WHERE town < 't2') FROM person GROUP BY sex",
    "SELECT sex, MIN(town), SUM(COUNT(*)) OVER () FROM person GROUP BY sex",
    "SELECT DISTINCT COALESCE(MIN(town), 'none') FROM person GROUP BY sex",
    "SELECT p.sex, MIN(p.town), COUNT(*) FROM visit AS v JOIN person AS p ON p.id = v.person_id GROUP BY p.sex",
    "SELECT (SELECT SUM(DISTINCT spend) FROM person) AS a, (SELECT COUNT(*) FROM person) AS b",
    "SELECT AVG(s) FROM (SELECT person_id, SUM(DISTINCT cost) AS s FROM visit WHERE cost < 4 GROUP BY person_id) AS x",
]


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def people(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with case(tmp_path_factory.mktemp("spend"), SETUP, TABLES, engine=request.param) as session:
        yield session


@pytest.mark.spread
@pytest.mark.parametrize("sql", STATEMENTS)
def test_each_value_is_added_once(people: Session, sql: str) -> None:
    truth = duckdb.connect()
    for statement in SETUP:
        truth.execute(statement)
    theirs = [
        tuple(v if v is None or isinstance(v, str) else float(v) for v in row)
        for row in truth.execute(sql.replace(" / 2", " // 2")).fetchall()
    ]
    ours = rows(people, sql)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, sorted(theirs, key=str), strict=True):
        assert one == pytest.approx(other)


def test_in_grouping_sets_it_is_refused_and_the_hint_is_answered(people: Session) -> None:
    with pytest.raises(Error, match="beside other aggregates") as raised:
        people.execute("SELECT sex, SUM(DISTINCT spend), COUNT(*) FROM person GROUP BY ROLLUP (sex)")
    assert "SELECT (SELECT SUM(DISTINCT x) FROM …), (SELECT COUNT(*) FROM …)" in str(raised.value)


NAMES = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT, name TEXT)",
    "INSERT INTO person SELECT n, CASE n % 2 WHEN 0 THEN 'f' ELSE 'm' END, CASE WHEN n > 180 THEN 'a' || n ELSE 'n' END "
    "FROM generate_series(1, 200) AS g(n)",
]


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_a_text_of_one_person_is_never_the_least(tmp_path: Path, accounting: str) -> None:
    tables = "  person: {columns: {id: {}, sex: {values: [f, m]}, name: {}}}\n"
    with case(tmp_path, NAMES, tables, accounting, noise=True) as session:
        if accounting == "pure":
            with pytest.raises(Error, match="delta"):
                session.execute("SELECT MIN(name) FROM person")
            assert session.execute("SELECT MIN(sex), COUNT(*) FROM person WHERE sex = 'm'").rows[0][0] == "m"
            return
        answer = session.execute("SELECT sex, COUNT(*), MIN(name), MAX(name) FROM person GROUP BY sex ORDER BY sex")
        assert [(row[0], *row[2:]) for row in answer.rows] == [("f", "n", "n"), ("m", "n", "n")]
        assert any("others are left out, so that the least may be greater" in one for one in answer.notices)
        (none,) = session.execute("SELECT MAX(name) FROM person WHERE name > 'a' AND name < 'b'").rows
        assert none == (None,)
