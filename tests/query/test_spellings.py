"""One question in many spellings: all are answered, with the rows that PostgreSQL has for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.query.spellings import QUESTIONS

SETUP = """
CREATE TABLE patient (id INTEGER PRIMARY KEY, region TEXT NOT NULL, birth INTEGER NOT NULL);
CREATE TABLE visit (id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patient (id), day DATE NOT NULL,
    region TEXT NOT NULL, cost INTEGER NOT NULL);
INSERT INTO patient SELECT i, 'r' || CASE WHEN i % 10 < 4 THEN 1 WHEN i % 10 < 7 THEN 2 ELSE i % 10 - 4 END, 1940 + i % 60
    FROM generate_series(0, 599) AS t (i);
INSERT INTO visit SELECT i, i % 600, DATE '2024-01-01' + CAST((i * 7 + CASE WHEN i < 600 THEN 0 WHEN i < 1200 THEN 40 ELSE 80 END) % 300 AS INTEGER),
    'r' || CASE WHEN i % 11 < 5 THEN 1 WHEN i % 11 < 8 THEN 2 ELSE i % 11 - 5 END, i * 13 % 50 FROM generate_series(0, 1499) AS t (i);
"""
POLICY = """
database: duckdb:clinic.duckdb
ledger: sqlite:spellings.ledger
privacy_unit: patient.id
budget: {epsilon: 1e6, delta: 1e-3}
statement: {epsilon: 100, max_epsilon: 1000}
tables:
  patient: {columns: {id: {}, region: {values: [r1, r2, r3, r4, r5]}, birth: {range: [1940, 2000]}}}
  visit:
    unit: patient_id -> patient.id
    max_rows: 3
    columns: {id: {}, patient_id: {}, day: {range: [2024-01-01, 2024-12-31]}, region: {values: [r1, r2, r3, r4, r5]}, cost: {range: [0, 50]}}
"""
WRONG_BEFORE = {
    "SELECT COUNT(*) FROM (SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region FROM patient GROUP BY region) x": [
        (5,)
    ],
    "SELECT COUNT(*) FROM (SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region, COUNT(*) AS n FROM patient"
    " GROUP BY ROLLUP (region)) x": [(6,)],
    "SELECT COUNT(*) FROM (SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region FROM patient GROUP BY 1) x": [
        (2,)
    ],
    "SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region, COUNT(*) AS n FROM patient GROUP BY region ORDER BY n"
    " DESC, region LIMIT 2": [("A", 240), ("B", 180)],
}


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("spellings")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(SETUP)
    (folder / "policy.yaml").write_text(POLICY)
    proxy = open_without_noise(folder / "policy.yaml")
    yield proxy.session()
    proxy.close()


@pytest.mark.parametrize("sql", WRONG_BEFORE)
def test_group_by_takes_an_input_column_before_an_output(sql: str, exact: Session) -> None:
    assert list(exact.execute(sql).rows) == WRONG_BEFORE[sql]


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database(SETUP)) as connection:
        yield connection


def comparable(rows: Iterable[Sequence[object]]) -> list[tuple[object, ...]]:
    """Rows in an order of their own; numbers as they are counted, not as they are stored."""
    return sorted(
        tuple(one if isinstance(one, str | bool) else round(float(str(one)), 4) for one in row) for row in rows
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_spelling_is_answered_as_postgres_answers_it(
    question: str, exact: Session, postgres: psycopg.Connection
) -> None:
    plainest, *_ = QUESTIONS[question]
    rows = comparable(postgres.execute(plainest).fetchall())
    for sql in QUESTIONS[question]:
        assert comparable(postgres.execute(sql).fetchall()) == rows
        assert comparable(exact.execute(sql).rows) == [
            tuple(one if isinstance(one, str | bool) else pytest.approx(one, rel=1e-3) for one in row) for row in rows
        ], sql
