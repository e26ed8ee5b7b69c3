"""What a client of the wire sees of tables in several schemas: where they stand, their keys, and one server version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from tests.operations.operated import Operated, operated

TABLES = """
CREATE SCHEMA analytics;
CREATE TABLE customer (id INTEGER PRIMARY KEY, region VARCHAR NOT NULL);
CREATE TABLE orders (customer_id INTEGER NOT NULL, total INTEGER NOT NULL);
CREATE TABLE analytics.orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, total INTEGER NOT NULL);
CREATE TABLE analytics.visit (customer_id INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (customer_id, number));
INSERT INTO customer SELECT n, CASE WHEN n % 2 = 0 THEN 'north' ELSE 'south' END FROM range(1, 501) AS g (n);
INSERT INTO orders SELECT n, 3 FROM range(1, 501) AS g (n);
INSERT INTO analytics.orders SELECT n, n, 10 FROM range(1, 501) AS g (n);
INSERT INTO analytics.visit SELECT n, 1 FROM range(1, 401) AS g (n);
"""
POLICY = """
database: duckdb:x.duckdb
ledger: sqlite:x.ledger
budget: {epsilon: 1000000, delta: 1e-3}
privacy_unit: customer.id
analysts: {ana: {}}
tables:
  customer: {columns: {id: {}, region: {values: [north, south]}}}
  orders: {unit: customer_id -> customer.id, max_rows: 1, columns: {total: {range: [0, 20]}}}
  analytics.orders: {unit: customer_id -> customer.id, max_rows: 1, columns: {id: {}, total: {range: [0, 20]}}}
  analytics.visit: {unit: customer_id -> customer.id, max_rows: 1, columns: {number: {}}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    folder: Path = tmp_path_factory.mktemp("schemas")
    with duckdb.connect(str(folder / "x.duckdb")) as connection:
        connection.execute(TABLES)
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    with operated(folder / "policy.yaml") as found:
        yield found


@pytest.fixture
def connection(server: Operated) -> Iterator[psycopg.Connection]:
    with server.connect() as found:
        yield found


def test_tables_are_listed_in_their_schemas(connection: psycopg.Connection) -> None:
    listed = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('public', 'analytics') "
        "ORDER BY 1, 2"
    ).fetchall()
    assert listed == [("analytics", "orders"), ("analytics", "visit"), ("public", "customer"), ("public", "orders")]
    names = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1").fetchall()
    assert [name for (name,) in names] == ["analytics", "dpsql", "information_schema", "public"]
    commented = connection.execute(
        "SELECT obj_description('analytics.visit'::regclass), col_description('analytics.orders'::regclass, 2)"
    ).fetchone()
    assert commented == (
        "private: aggregates only, at most 1 rows of one person count",
        "private, range 0 to 20, MIN, MAX and MODE are approximate",
    )


def test_keys_are_those_of_the_database(connection: psycopg.Connection) -> None:
    found = connection.execute(
        "SELECT c.conrelid::regclass::text, pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE contype = 'p' ORDER BY 1"
    ).fetchall()
    keys = {name.removeprefix("analytics."): key for name, key in found}
    assert keys["customer"] == "PRIMARY KEY (id)"
    assert keys["orders"] == "PRIMARY KEY (id)"
    assert keys["visit"] == "PRIMARY KEY (customer_id, number)"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT SUM(total) FROM analytics.orders", 5000),
        ("SELECT SUM(total) FROM public.orders", 1500),
        ("SELECT SUM(total) FROM orders", 1500),
        ("SELECT COUNT(*) FROM visit", 400),
        ('SELECT SUM("analytics"."orders"."total") FROM "x"."analytics"."orders"', 5000),
    ],
)
@pytest.mark.parametrize("prepare", [False, True])
def test_a_statement_means_the_table_of_its_schema(
    connection: psycopg.Connection, sql: str, expected: int, prepare: bool
) -> None:
    (row,) = connection.execute(
        sql.replace('"x".', f'"{connection.info.dbname}".').encode(), prepare=prepare
    ).fetchall()
    assert int(row[0]) == pytest.approx(expected, abs=1000)


@pytest.mark.parametrize("table", ["analytics.orders", "analytics.visit", "visit", "orders"])
@pytest.mark.parametrize(
    "form", ["SELECT * FROM {} LIMIT 0", "SELECT * FROM {} LIMIT 200", "SELECT * FROM {} WHERE 1 = 0"]
)
def test_columns_are_probed(connection: psycopg.Connection, table: str, form: str) -> None:
    cursor = connection.execute(form.format(table).encode())
    assert cursor.fetchall() == []
    assert {column.type_code for column in cursor.description or ()} == {23}
    assert len(cursor.description or ()) == {"analytics.orders": 3}.get(table, 2)


def test_a_search_path_that_would_change_what_a_name_means_is_refused(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"orders without a schema is orders here") as refused:
        connection.execute("SET search_path = analytics, public")
    assert "write analytics.orders" in str(refused.value)
    connection.execute("SET search_path = public, analytics")
    assert connection.execute("SHOW search_path").fetchone() == ("public, analytics",)


def test_there_is_one_server_version(connection: psycopg.Connection) -> None:
    said = {connection.info.parameter_status("server_version") or ""}
    for sql in ("SHOW server_version", "SELECT current_setting('server_version')"):
        said |= {str(connection.execute(sql.encode()).fetchall()[0][0])}
    said |= {
        str(row[0])
        for row in connection.execute("SELECT setting FROM pg_settings WHERE name = 'server_version'").fetchall()
    }
    number = connection.execute("SHOW server_version_num").fetchone()
    assert len(said) == 1, said
    version = connection.execute("SELECT version()").fetchone()
    assert version is not None
    assert version[0].startswith("PostgreSQL " + next(iter(said)).split()[0]), version
    assert number is not None
    assert int(number[0]) == connection.info.server_version


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("region = ANY(%s)", (["north"],), 250),
        ("region = ANY(%s::text[])", (["north", "south"],), 500),
        ("id = ANY(%s)", ([1, 2, 3],), 3),
        ("id = ANY(%s::int[])", ("{4,5}",), 2),
        ("region <> ALL(%s)", (["north"],), 250),
        ("id = ANY('{1,2}')", (), 2),
        ("region = ANY('{north}'::text[])", (), 250),
        ("region = ANY('{north}'::varchar[])", (), 250),
        ("region = ANY(ARRAY['north', 'south'])", (), 500),
        ("region = ANY(%s)", ([],), 0),
    ],
)
@pytest.mark.parametrize("binary", [False, True])
def test_arrays_are_lists(
    connection: psycopg.Connection, condition: str, values: tuple[object, ...], expected: int, binary: bool
) -> None:
    sql = f"SELECT COUNT(*) FROM customer WHERE {condition}"
    (row,) = connection.execute(sql.encode(), values or None, binary=binary).fetchall()
    assert row[0] == pytest.approx(expected, abs=120)
