"""Keys that are computed of one column by different steps and clocks: the groups together have all rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import duckdb
import pytest

from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.policies import policy_text

POLICY = """
database: duckdb:events.duckdb
ledger: sqlite:ledger
privacy_unit: person.id
budget: {epsilon: 100000, delta: 1e-6}
statement: {epsilon: 10, max_epsilon: 10}
tables: {person: {columns: {id: {}, seen: {range: [2024-01-01, 2024-01-02]}}}}
"""
ROWS = 4_000
STEPS = (
    "date_trunc('second', seen)",
    "date_trunc('minute', seen)",
    "date_trunc('hour', seen, 'Asia/Kolkata')",
    "date_trunc('day', seen, 'Asia/Tokyo')",
    "date_trunc('hour', seen)",
    "EXTRACT(minute FROM seen)",
)


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("steps")
    with duckdb.connect(str(folder / "events.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, seen TIMESTAMPTZ NOT NULL)")
        instant = "TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_seconds(i % 40 * 61)"
        connection.execute(f"INSERT INTO person SELECT i, {instant} FROM range({ROWS}) AS t(i)")
    (folder / "policy.yaml").write_text(POLICY)
    proxy = open_without_noise(folder / "policy.yaml")
    yield proxy.session()
    proxy.close()


@pytest.mark.spread
@pytest.mark.parametrize(("one", "other"), list(permutations(STEPS, 2)))
def test_no_row_is_lost_between_two_steps(ana: Session, one: str, other: str) -> None:
    rows = ana.execute(f"SELECT {one}, {other}, COUNT(*) FROM person GROUP BY 1, 2").rows
    assert sum(int(str(row[2])) for row in rows) == ROWS


COMPUTED = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:ledger; privacy_unit: person.id
budget: {epsilon: 100000, delta: 1e-6}; statement: {epsilon: 10, max_epsilon: 10}
tables:
  person: id, a 0..9, b -3..4, t {range: [2024-01-01 00:00:00, 2024-01-04 00:00:00]}
""")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    folder = tmp_path_factory.mktemp("computed")
    with duckdb.connect(str(folder / "people.duckdb")) as stored, duckdb.connect() as plain:
        for connection in (stored, plain):
            moment = "TIMESTAMP '2024-01-01' + to_hours((i * 7 % 72)::INT)"
            connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, t TIMESTAMP)")
            connection.execute(f"INSERT INTO person SELECT i, i % 10, i % 8 - 3, {moment} FROM range(800) AS u(i)")
        stored.close()
        (folder / "policy.yaml").write_text(COMPUTED)
        proxy = open_without_noise(folder / "policy.yaml")
        yield proxy.session(), plain
        proxy.close()


@pytest.mark.spread
@pytest.mark.parametrize(
    "key", ["x % 3", "x * 2", "-x", "x = 4", "x IN (1, 2)", "x BETWEEN 2 AND 5", "5 - x", "x / 2", "ABS(x)"]
)
@pytest.mark.parametrize(
    "x", ["a - b", "a + 2 * b", "-b", "CASE WHEN a > b THEN a ELSE b END", "a % 4", "a - EXTRACT(DAY FROM t)"]
)
def test_a_key_of_a_computed_column_has_its_groups(
    people: tuple[Session, duckdb.DuckDBPyConnection], x: str, key: str
) -> None:
    """Also with a condition on it, which narrows the groups, and where the subquery stays one."""
    session, plain = people
    in_duckdb = key if "EXTRACT" in x else key.replace("/", "//")
    for rows in ("", "DISTINCT id, "):
        for rest in ("", " WHERE x % 2 = 0", " WHERE NOT x > 3"):
            behind = f"AS k, COUNT(*) AS n FROM (SELECT {rows}{x} AS x FROM person) AS p{rest} GROUP BY 1"
            asked = f"SELECT {key} {behind}"
            theirs = {row[0]: row[1] for row in plain.execute(f"SELECT {in_duckdb} {behind}").fetchall()}
            ours = {row[0]: row[1] for row in session.execute(asked).rows if row[1]}
            assert {float(k): n for k, n in ours.items()} == {float(k): n for k, n in theirs.items()}, asked


def test_a_time_within_a_day_makes_two_groups_of_it(people: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    session, _ = people
    for test in ("t < '2024-01-02 12:00'", "t <= '2024-01-02 12:00'", "t = '2024-01-02 12:00'"):
        for key in ("DATE_TRUNC('day', t)", "EXTRACT(DOY FROM t)"):
            sql = f"SELECT CASE WHEN {test} THEN 'a' ELSE 'b' END, {key}, COUNT(*) FROM person GROUP BY 1, 2"
            plan = session.explain(sql).releases[0].plan
            session.execute("SET dpsql.empty_groups = show")
            assert plan.cells is not None
            assert len(session.execute(sql).rows) <= plan.cells, sql
