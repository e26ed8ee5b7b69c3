"""Windows across people: without noise, answers are those of the engine itself, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from random import Random

import duckdb
import psycopg
import pytest

from dpsql.errors import Error, NotSupportedError
from dpsql.proxy import Session
from tests.engines.postgres_server import shared_server
from tests.properties.planted import case

TABLES = """
  person: {columns: {id: {}, ward: {values: [a, b, c]}, bed: {values: [x, y]}, w: {range: [0, 1000]}, t: {range: [0, 1000]}}}
  visit: {unit: pid -> person.id, max_rows: 5, columns: {id: {}, pid: {}, cost: {range: [0, 100]}}}
"""
PEOPLE = 601


def setup() -> list[str]:
    """Weights that all differ, so that parts of their order are told apart; some people without a ward or a ``t``."""
    random = Random(5)
    weights = random.sample(range(1000), PEOPLE)
    people, visits = [], []
    for number, weight in enumerate(weights):
        ward = random.choice(["'a'", "'b'", "'b'", "'c'", "NULL"])
        t = "NULL" if random.random() < 0.1 else str(random.randrange(1000))
        people.append(f"({number}, {ward}, '{random.choice('xy')}', {weight}, {t})")
        visits += [
            f"({len(visits) + place}, {number}, {random.randrange(100)})" for place in range(random.randrange(4))
        ]
    return [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, ward TEXT, bed TEXT NOT NULL, w INTEGER NOT NULL, t INTEGER)",
        "CREATE TABLE visit (id INTEGER PRIMARY KEY, pid INTEGER NOT NULL REFERENCES person (id), cost INTEGER NOT NULL)",
        f"INSERT INTO person VALUES {', '.join(people)}",
        f"INSERT INTO visit VALUES {', '.join(visits)}",
    ]


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, object]]:
    folder = tmp_path_factory.mktemp("windows")
    if request.param == "postgres":
        server = shared_server()
        raw = psycopg.connect(server.url(server.database(";".join(setup()))))
    else:
        raw = duckdb.connect()
        for statement in setup():
            raw.execute(statement)
    with closing(raw), case(folder, setup(), TABLES, engine=request.param) as session:
        yield session, raw


FORMS = (
    *(
        f"SELECT COUNT(*) FROM (SELECT w, {figure}(w) OVER (PARTITION BY bed) AS m FROM person) AS r WHERE w > m"
        for figure in ("AVG", "SUM", "STDDEV")
    ),
    "SELECT bed, COUNT(*) FROM (SELECT bed, w, AVG(w) OVER (PARTITION BY bed) AS m FROM person) AS r WHERE w > m"
    " GROUP BY bed ORDER BY bed",
    "SELECT COUNT(*) FROM (SELECT w, AVG(w) OVER () AS m FROM person WHERE bed = 'x') AS r WHERE w < m",
    "SELECT COUNT(*) FROM (SELECT w, AVG(w) OVER (PARTITION BY ward) AS m FROM person WHERE ward IS NOT NULL) AS r"
    " WHERE w > m",
    "WITH q AS (SELECT bed, w AS x FROM person), r AS (SELECT x, AVG(x) OVER (PARTITION BY bed) AS m FROM q)"
    " SELECT COUNT(*) FROM r WHERE x > m",
    "SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY bed) AS n FROM person) AS r WHERE n > 300",
    "SELECT COUNT(*) FROM (SELECT v.cost, AVG(v.cost) OVER (PARTITION BY p.bed) AS m FROM visit v JOIN person p ON p.id ="
    " v.pid) AS r WHERE cost > m",
    "SELECT COUNT(*) FROM (SELECT w - AVG(w) OVER (PARTITION BY bed, ward) AS d FROM person WHERE ward IS NOT NULL) AS r"
    " WHERE d BETWEEN -50 AND 50",
    "SELECT COUNT(*) FROM (SELECT s, AVG(s) OVER () AS a FROM (SELECT pid, SUM(cost) AS s FROM visit GROUP BY pid) AS x)"
    " AS r WHERE s > a",
    "SELECT COUNT(*) FROM (SELECT cost, AVG(cost) OVER (PARTITION BY pid) AS own, AVG(cost) OVER () AS everybody FROM visit)"
    " AS r WHERE own > everybody",
    "WITH x AS (SELECT id, MAX(w) AS m FROM person GROUP BY id), s AS (SELECT NTILE(4) OVER (ORDER BY m) AS q, m FROM x"
    " WHERE m IS NOT NULL) SELECT q, COUNT(*) FROM s GROUP BY q ORDER BY q",
    *(
        f"SELECT q, COUNT(*) FROM (SELECT NTILE({parts}) OVER (ORDER BY w{way}) AS q FROM person) AS r GROUP BY q ORDER BY q"
        for parts in (2, 3, 4, 5)
        for way in ("", " DESC")
    ),
    "SELECT q, COUNT(*) FROM (SELECT w, NTILE(4) OVER (ORDER BY w) AS q FROM person WHERE bed = 'y') AS r"
    " GROUP BY q ORDER BY q",
    "SELECT 4, COUNT(*) FROM (SELECT w, NTILE(4) OVER (ORDER BY w) AS q FROM person) AS r WHERE q = 4 AND w > 400",
)


@pytest.mark.spread
@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_window_across_people_is_the_engines_own(both: tuple[Session, object], form: str) -> None:
    session, raw = both
    truth = raw.execute(form).fetchall()  # type: ignore[attr-defined]
    found = session.execute(form)
    if "NTILE" in form:
        # Parts differ by a row where people are not a multiple of their number: ends are values, and parts are not.
        pairs = zip(found.rows, truth, strict=True)
        assert all(ours[0] == theirs[0] and abs(ours[1] - theirs[1]) <= 1 for ours, theirs in pairs), (found, truth)
    else:
        assert [tuple(row) for row in found.rows] == [tuple(row) for row in truth]
    assert any("released first" in one or "constant of the statement" in one for one in found.notices)


def test_a_window_within_a_person_reads_that_persons_rows(both: tuple[Session, object]) -> None:
    session, raw = both
    sql = "SELECT COUNT(*) FROM (SELECT cost, MAX(cost) OVER (PARTITION BY pid) AS m FROM visit) AS r WHERE cost = m"
    found = session.execute(sql)
    assert list(found.rows) == raw.execute(sql).fetchall()  # type: ignore[attr-defined]
    assert not any("released first" in one for one in found.notices)


@pytest.mark.parametrize(
    ("window", "hint"),
    [
        ("AVG(w) OVER (PARTITION BY ward)", "WHERE ward IS NOT NULL"),
        ("SUM(w) OVER (PARTITION BY t, bed)", "WHERE t IS NOT NULL"),
        ("NTILE(4) OVER (ORDER BY t)", "add WHERE t IS NOT NULL"),
        ("NTILE(4) OVER (PARTITION BY ward ORDER BY w)", "add WHERE w IS NOT NULL AND ward IS NOT NULL"),
        ("NTILE(1000) OVER (ORDER BY w)", "up to 100 parts"),
        ("RANK() OVER (ORDER BY w)", "PERCENTILE_DISC"),
        ("PERCENT_RANK() OVER (ORDER BY w)", "WHERE r > 0.9"),
        ("CUME_DIST() OVER (ORDER BY w)", "PERCENT_RANK(50) WITHIN GROUP (ORDER BY w)"),
        ("AVG(w) OVER (ORDER BY w)", "PARTITION BY"),
    ],
)
def test_other_windows_are_refused_with_what_works(both: tuple[Session, object], window: str, hint: str) -> None:
    session, _ = both
    with pytest.raises(NotSupportedError) as refused:
        session.execute(f"SELECT AVG(q) FROM (SELECT {window} AS q FROM person) AS r WHERE q BETWEEN 0 AND 1000")
    assert hint in str(refused.value.hint)


def test_the_share_of_the_rows_below_a_value_is_what_the_hint_says(both: tuple[Session, object]) -> None:
    session, raw = both
    ((share,),) = session.execute("SELECT PERCENT_RANK(500) WITHIN GROUP (ORDER BY w) FROM person").rows
    truth = raw.execute("SELECT AVG(CASE WHEN w < 500 THEN 1.0 ELSE 0 END) FROM person").fetchone()[0]  # type: ignore[attr-defined]
    assert float(str(share)) == pytest.approx(float(truth), abs=0.01)


def test_parts_beside_groups_are_refused_and_the_hint_is_answered(both: tuple[Session, object]) -> None:
    session, raw = both
    with pytest.raises(Error) as refused:
        session.execute("SELECT NTILE(4) OVER (ORDER BY w) AS q, COUNT(*), AVG(w) FROM person GROUP BY q")
    assert refused.value.sqlstate == "42P20"
    assert "SELECT q, COUNT(*) FROM (SELECT NTILE(4) OVER (ORDER BY x) AS q FROM …) AS t GROUP BY q" in str(
        refused.value
    )
    works = "SELECT q, COUNT(*) FROM (SELECT NTILE(4) OVER (ORDER BY w) AS q FROM person) AS t GROUP BY q ORDER BY q"
    ours, theirs = session.execute(works).rows, raw.execute(works).fetchall()  # type: ignore[attr-defined]
    assert [q for q, _ in ours] == [q for q, _ in theirs]
    assert all(abs(int(str(n)) - m) <= 3 for (_, n), (_, m) in zip(ours, theirs, strict=True))
