"""Small forms of SQL, on both engines: PostgreSQL's own answers, and refusals of the same forms over rows of people."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.errors import Error
from dpsql.proxy import Proxy
from tests.doubles import open_without_noise
from tests.engines.postgres_server import Server, shared_server

TABLES = """
CREATE TABLE region(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE person(id INTEGER PRIMARY KEY);
CREATE TABLE visit(person_id INTEGER NOT NULL REFERENCES person(id), day DATE NOT NULL, cost INTEGER NOT NULL, region INTEGER NOT NULL);
"""
ROWS = """
INSERT INTO region VALUES (1, 'north'), (2, 'south'), (3, 'east'), (4, 'east');
INSERT INTO person SELECT n FROM generate_series(1, 100) g(n);
INSERT INTO visit SELECT 1 + n % 100, DATE '2024-01-01' + ((n * 37) % 90)::integer, n % 100, 1 + n % 3
  FROM generate_series(1, 900) g(n);
"""
POLICY = """
database: {database}
ledger: sqlite:{name}.ledger
privacy_unit: person.id
budget: {{epsilon: 900, delta: 1e-6}}
statement: {{epsilon: 1}}
tables:
  region: {{public: true}}
  person: {{columns: {{id: {{}}}}}}
  visit:
    unit: person_id -> person.id
    max_rows: 20
    columns:
      person_id: {{}}
      day: {{range: [2024-01-01, 2024-03-31]}}
      cost: {{range: [0, 100]}}
      region: {{values_from: region.id}}
"""
COUNTING = [
    "d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 12) SELECT n FROM d",
    "d(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM d WHERE n < 100) SELECT SUM(n) FROM d",
    "d AS (SELECT 1 AS n, 1 AS fact UNION ALL SELECT n + 1, fact * (n + 1) FROM d WHERE n < 12) SELECT * FROM d",
    "f(n, a, b) AS (SELECT 1, 0::bigint, 1::bigint UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 80) SELECT n, a FROM f",
    "d(n) AS (SELECT DATE '2024-01-31' UNION ALL SELECT (n + INTERVAL '1 month')::date FROM d WHERE n < '2024-09-15') SELECT n FROM d",
    "d(n) AS (SELECT DATE '2024-02-27' UNION ALL SELECT n + 1 FROM d WHERE d.n < DATE '2024-03-02') SELECT n, n - 3 FROM d",
    "d(t) AS (SELECT TIMESTAMP '2024-02-28 22:00' UNION ALL SELECT t + INTERVAL '90 minutes' FROM d WHERE t < '2024-02-29 03:00') SELECT t FROM d",
    "d(n, m) AS (VALUES (1, 2), (7, 3) UNION ALL SELECT n - m, m FROM d AS x WHERE x.n > -9) SELECT n, m FROM d",
    "d(n) AS (SELECT 27 UNION ALL SELECT CASE WHEN n % 2 = 0 THEN n / 2 ELSE 3 * n + 1 END FROM d WHERE n <> 1) SELECT n FROM d",
    "d(n) AS (SELECT 1 UNION SELECT (n * 3) % 7 FROM d) SELECT n FROM d",
    "d(n) AS (VALUES (-7), (-7) UNION SELECT n / 2 FROM d) SELECT n FROM d",
    "d(n) AS (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT n * 10 FROM d WHERE n BETWEEN 1 AND 99 AND NOT n IN (20, 30)) SELECT n FROM d",
    "d(x) AS (SELECT 0.5 UNION ALL SELECT x + 0.25 FROM d WHERE x < 2) SELECT x FROM d",
    "d(n, s) AS (SELECT 1, 'a' UNION ALL SELECT n + 1, s FROM d WHERE n < 3 AND s = 'a') SELECT n, s FROM d",
    'd("N") AS (SELECT -3 UNION ALL SELECT "N" + 1 FROM d WHERE "N" < 1 OR FALSE) SELECT "N" FROM d',
    "d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 3), e AS (SELECT n * 2 AS m FROM d) SELECT a.m, b.n FROM e a, d b",
    "d(n) AS (SELECT 5 UNION ALL SELECT 9 FROM d WHERE n = 5) SELECT n FROM d",
    # beside released numbers, and as a spine
    "d(n) AS (SELECT DATE '2023-12-30' UNION ALL SELECT n + 1 FROM d WHERE n < '2024-01-10') "
    "SELECT d.n, COUNT(v.cost), SUM(v.cost) FROM d LEFT JOIN visit v ON v.day = d.n GROUP BY d.n",
    "m(b) AS (SELECT DATE '2023-12-01' UNION ALL SELECT (b + INTERVAL '1 month')::date FROM m WHERE b < '2024-04-01') "
    "SELECT b, COUNT(v.cost) FROM m LEFT JOIN visit v ON DATE_TRUNC('month', v.day) = b GROUP BY b",
    "d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 3) "
    "SELECT d.n, s.c FROM d LEFT JOIN (SELECT region, COUNT(*) AS c FROM visit GROUP BY region) s ON s.region = d.n",
    "d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 3), s AS (SELECT region, COUNT(*) AS c FROM visit GROUP BY 1) "
    "SELECT s.region, s.c, d.n FROM s JOIN d ON s.region <= d.n",
]  # fmt: skip
NOT_COUNTING = [
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d) SELECT n FROM d", "54001"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d) SELECT n FROM d LIMIT 10", "54001"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n * 10 FROM d WHERE n < 2000000000) SELECT n FROM d", "22003"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 + 0 / (n - 3) FROM d WHERE n < 12) SELECT n FROM d", "22012"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 0.5 FROM d WHERE n < 12) SELECT n FROM d", "42804"),
    ("d(n) AS (SELECT DATE '2024-01-01' UNION ALL SELECT n + INTERVAL '1 day' FROM d WHERE n < '2024-02-01') SELECT n FROM d", "42804"),
    ("d(n) AS (SELECT DATE '9999-12-30' UNION ALL SELECT n + 1 FROM d) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT m + 1 FROM d WHERE n < 12) SELECT n FROM d", "42703"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1, 2 FROM d WHERE n < 12) SELECT n FROM d", "42601"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT (n + random())::int FROM d WHERE n < 12) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT NULL::int FROM d WHERE n < 12) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < NULL) SELECT n FROM d", "0A000"),
    ("d(s) AS (SELECT 'a' UNION ALL SELECT 'b' FROM d WHERE s < 'b') SELECT s FROM d", "0A000"),
    ("d(n) AS (SELECT id FROM region UNION ALL SELECT n + 1 FROM d WHERE n < 12) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT r.id FROM d JOIN region r ON r.id = d.n + 1) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT v.cost FROM d, visit v) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT person_id FROM visit UNION ALL SELECT n + 1 FROM d WHERE n < 12) SELECT COUNT(*) FROM d", "0A000"),
    ("d(n) AS (SELECT COUNT(*) FROM visit UNION ALL SELECT n - 1 FROM d WHERE n > 1) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < (SELECT COUNT(*) FROM visit)) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT SUM(n) FROM d) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT a.n + 1 FROM d a, d b) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 EXCEPT SELECT n FROM d) SELECT n FROM d", "0A000"),
    ("a AS (SELECT id FROM region), region AS (SELECT 1 AS id) SELECT id FROM a", None),
    ("a AS (SELECT id FROM b), b AS (SELECT 1 AS id) SELECT id FROM a", "0A000"),
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Server:
    return shared_server()


@pytest.fixture(scope="module")
def database(server: Server) -> str:
    return server.database(f"{TABLES} {ROWS}")


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def proxy(
    request: pytest.FixtureRequest, server: Server, database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("forms")
    place = server.url(database)
    if request.param == "duckdb":
        with duckdb.connect(str(folder / "forms.duckdb")) as connection:
            connection.execute(TABLES)
            connection.execute(ROWS)
        place = "duckdb:forms.duckdb"
    (folder / "forms.yaml").write_text(POLICY.format(database=place, name=request.param))
    opened = open_without_noise(folder / "forms.yaml")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def truth(server: Server, database: str) -> Iterator[psycopg.Connection]:
    with server.owner(database) as connection:
        connection.autocommit = True
        yield connection


def plain(rows: object) -> list[tuple[object, ...]]:
    return sorted((tuple(map(_value, row)) for row in rows), key=repr)  # type: ignore[attr-defined]


def _value(value: object) -> object:
    if isinstance(value, float | Decimal):
        return round(float(value), 6)
    return value.astimezone(datetime.UTC) if isinstance(value, datetime.datetime) and value.tzinfo else value


@pytest.mark.parametrize("query", COUNTING)
def test_recursion_over_constants_has_the_rows_of_postgres(proxy: Proxy, truth: psycopg.Connection, query: str) -> None:
    sql = f"WITH RECURSIVE {query}"
    assert plain(proxy.session().execute(sql).rows) == plain(truth.execute(sql).fetchall())  # type: ignore[arg-type]


@pytest.mark.parametrize(("query", "state"), NOT_COUNTING)
def test_other_recursion_is_refused(proxy: Proxy, query: str, state: str | None) -> None:
    with pytest.raises(Error) as refused:
        proxy.session().execute(f"WITH RECURSIVE {query}")
    assert refused.value.sqlstate == (state or "0A000")
    assert refused.value.hint
