"""Groups by a key of one person's that may be missing: without noise, those of the key and the person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from random import Random

import duckdb
import psycopg
import pytest

import dpsql
from dpsql.proxy import Session
from tests.engines.postgres_server import shared_server
from tests.properties.planted import case, plain, rows

TABLES = """
  person: {columns: {id: {}, city: {}}}
  stay: {unit: pid -> person.id, max_rows: 6, columns: {id: {}, pid: {}}}
  event: {unit: pid -> person.id, max_rows: 30, columns: {id: {}, pid: {}, stay_id: {}, session: {}, ward: {}, x: {range: [0, 10]}}}
"""
PEOPLE = 400


def setup() -> list[str]:
    random = Random(2)
    stays: list[str] = []
    events: list[str] = []
    for person in range(PEOPLE):
        for _ in range(random.randint(1, 3)):
            stays.append(f"({len(stays)}, {person})")
            for session in range(random.randint(1, 2)):
                for _ in range(random.randint(1, 3)):
                    stay = len(stays) - 1 if random.random() < 0.8 else "NULL"
                    number = f"{len(stays)}{session}"
                    events.append(
                        f"({len(events)}, {person}, {stay}, {number}, 'w{person % 3}', {random.randint(0, 10)})"
                    )
    return [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, city TEXT)",
        "CREATE TABLE stay (id INTEGER PRIMARY KEY, pid INTEGER NOT NULL REFERENCES person (id))",
        "CREATE TABLE event (id INTEGER PRIMARY KEY, pid INTEGER NOT NULL REFERENCES person (id),"
        " stay_id INTEGER REFERENCES stay (id), session INTEGER NOT NULL, ward TEXT NOT NULL, x INTEGER NOT NULL)",
        f"INSERT INTO person SELECT i, 'a' FROM generate_series(0, {PEOPLE - 1}) AS t(i)",
        f"INSERT INTO stay VALUES {', '.join(stays)}",
        f"INSERT INTO event VALUES {', '.join(events)}",
    ]


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, object]]:
    if request.param == "postgres":
        server = shared_server()
        raw = psycopg.connect(server.url(server.database(";".join(setup()))))
    else:
        raw = duckdb.connect()
        for statement in setup():
            raw.execute(statement)
    with closing(raw), case(tmp_path_factory.mktemp("keys"), setup(), TABLES, engine=request.param) as session:
        yield session, raw


NOTICE = "rows in which stay_id is missing are a group for each person"


@pytest.mark.parametrize(
    "form",
    [
        "SELECT AVG(n), COUNT(*) FROM (SELECT stay_id, COUNT(*) AS n FROM event GROUP BY stay_id{0}) AS t",
        "SELECT COUNT(*) FROM (SELECT stay_id FROM event GROUP BY stay_id{0} HAVING MAX(x) > 5) AS t",
        "WITH t AS (SELECT stay_id, SUM(x) AS s FROM event GROUP BY stay_id{0}) SELECT COUNT(*) FROM t WHERE s > 20",
        "SELECT n, COUNT(*) FROM (SELECT stay_id, COUNT(*) AS n FROM event GROUP BY stay_id{0}) AS t WHERE n < 9 GROUP BY n",
    ],
)
def test_a_missing_key_is_a_group_for_each_person(both: tuple[Session, object], form: str) -> None:
    session, raw = both
    found = session.execute(form.format(""))
    # Group by group, with numbers as floats, as the engine has it by the person as well.
    truth = sorted((tuple(map(plain, row)) for row in raw.execute(form.format(", pid")).fetchall()), key=str)
    assert [pytest.approx(row) for row in truth] == [
        row for row in rows(session, form.format("")) if row[-1] or len(row) < 2
    ]
    assert NOTICE in [str(one) for one in found.notices]


def test_a_key_that_is_not_missing_needs_no_word(both: tuple[Session, object]) -> None:
    session, _ = both
    sql = "SELECT COUNT(*) FROM (SELECT stay_id FROM event WHERE stay_id IS NOT NULL GROUP BY stay_id HAVING MAX(x) > 5) AS t"
    assert NOTICE not in [str(one) for one in session.execute(sql).notices]


def test_groups_that_are_shown_are_everybodys(both: tuple[Session, object]) -> None:
    """Rows of people are no answer: the group of missing keys is one, of all people."""
    session, raw = both
    missing = raw.execute("SELECT COUNT(*) FROM event WHERE stay_id IS NULL").fetchone()
    shown = session.execute("SELECT stay_id, COUNT(*) FROM event GROUP BY stay_id")
    assert (None, missing[0]) in list(shown.rows)
    assert NOTICE not in [str(one) for one in shown.notices]


@pytest.mark.parametrize(
    "form",
    [
        "SELECT AVG(n), COUNT(*) FROM (SELECT session, COUNT(*) AS n FROM event GROUP BY session{0}{1}) AS t",
        "WITH t AS (SELECT session, COUNT(*) AS n FROM event GROUP BY session{0}{1}) SELECT COUNT(*) FROM t WHERE n > 1",
    ],
)
def test_groups_too_small_to_be_shown_are_refused_before_they_are_paid(both: tuple[Session, object], form: str) -> None:
    session, raw = both
    with pytest.raises(dpsql.NotSupportedError, match="may be one person's each") as refused:
        session.explain(form.format("", ""))
    assert "GROUP BY session and the key of the person" in str(refused.value)
    by_person = form.format(", pid", "")
    truth = [tuple(map(plain, row)) for row in raw.execute(by_person).fetchall()]
    assert rows(session, by_person) == [pytest.approx(row) for row in truth]
    session.explain(form.format("", " HAVING COUNT(DISTINCT pid) > 10"))


def test_shown_groups_and_groups_of_texts_are_answered(both: tuple[Session, object]) -> None:
    session, _ = both
    session.explain("SELECT session, COUNT(*) FROM event GROUP BY session")
    assert rows(
        session, "SELECT COUNT(*) FROM (SELECT ward, COUNT(*) AS n FROM event GROUP BY ward) AS t WHERE n > 5"
    ) == [(3,)]
