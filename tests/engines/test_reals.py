"""A real is a NUMERIC of six digits, a double one of fifteen, as in PostgreSQL, on both engines."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

import dpsql
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database

TEXTS = ["1.62", "1.625", "2.675", "0.1", "123456.7", "1234567.8", "-99.995", "3e-5", "16777217", "0"]
FORMS = [
    "r::numeric = 1.62",
    "r::numeric IN (0.1, 123457, 1.625)",
    "ROUND(r::numeric, 2) = 1.63",
    "r::numeric(10, 2) = 2.68",
    "r::double precision = 1.62",
    "r = 1.62",
    "r::text = '1.62'",
    "r::double precision::text = '1.6200000047683716'",
    "(r + 0)::real::text = '0.1'",
    "x::real::numeric = 1.62",
    "x::real::numeric(12, 2) = 1.63",
    "x::numeric = 0.3",
    "(x + 0.2::double precision)::numeric = 0.3",
    "ROUND((x * 100)::numeric, 1) = 162",
    "(SELECT 1) = 1 AND r::numeric > 1.62",
    "s.n = 1.62",
]
POLICY = """
database: {database}
ledger: sqlite:{folder}/ledger
privacy_unit: row
budget: {{epsilon: 1000000, delta: 1e-6}}
statement: {{epsilon: 50, max_epsilon: 50}}
tables: {{t: {{columns: {{r: {{}}, x: {{}}}}}}}}
"""


def _asked(form: str) -> str:
    if form.startswith("s."):
        return f"SELECT COUNT(*) FROM (SELECT r::numeric AS n FROM t) s WHERE {form}"
    return f"SELECT COUNT(*) FROM t WHERE {form}"


@pytest.fixture(scope="module")
def truths() -> tuple[dict[str, int], str]:
    """What PostgreSQL counts, and where it has the rows."""
    server = shared_server()
    name = server.database("CREATE TABLE t (r REAL, x DOUBLE PRECISION)")
    with server.owner(name) as owner:
        owner.execute(
            f"INSERT INTO t SELECT v, v FROM unnest(ARRAY[{', '.join(TEXTS)}]::float8[]) v, generate_series(1, 9)"
        )
        owner.execute("INSERT INTO t VALUES ('NaN', 'NaN'), ('Infinity', 1.7976931348623157e308)")
        return {form: _count(owner, _asked(form)) for form in FORMS}, server.url(name)


def _count(owner: psycopg.Connection, sql: str) -> int:
    row = owner.execute(f"WITH t AS (SELECT * FROM t WHERE r < 'Infinity') {sql}").fetchone()  # type: ignore[arg-type]
    assert row is not None
    return int(row[0])


@pytest.mark.quick
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_a_filter_counts_what_postgresql_counts(
    engine: str, truths: tuple[dict[str, int], str], tmp_path: Path
) -> None:
    expected, database = truths
    if engine == "duckdb":
        with new_database(tmp_path / "t.duckdb") as connection:
            connection.execute("CREATE TABLE t (r REAL, x DOUBLE)")
            rows = ", ".join(f"({text}::DOUBLE)" for text in TEXTS)
            connection.execute(f"INSERT INTO t SELECT v, v FROM (VALUES {rows}) a(v), range(9)")
            connection.execute("INSERT INTO t VALUES ('NaN', 'NaN'), ('Infinity', 1.7976931348623157e308)")
        database = f"duckdb:{tmp_path}/t.duckdb"
    (tmp_path / "policy.yaml").write_text(POLICY.format(database=database, folder=tmp_path))
    with dpsql.connect(tmp_path / "policy.yaml") as connected:
        found = {form: connected.execute(_asked(form)).fetchall()[0][0] for form in FORMS}
    assert found == expected
    assert sum(count == 0 for count in expected.values()) <= 3
