"""Keys that are computed of one column by different steps and clocks: the groups together have all rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import duckdb
import pytest

from dpsql.proxy import Session
from tests.doubles import open_without_noise

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


@pytest.mark.parametrize(("one", "other"), list(permutations(STEPS, 2)))
def test_no_row_is_lost_between_two_steps(ana: Session, one: str, other: str) -> None:
    rows = ana.execute(f"SELECT {one}, {other}, COUNT(*) FROM person GROUP BY 1, 2").rows
    assert sum(int(str(row[2])) for row in rows) == ROWS
