"""Texts with a length, views and keys as PostgreSQL's own catalog has them, in the catalog here and in answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.postgresql import PostgresProcess
from tests.operations.operated import Operated, operated

TABLES = """
CREATE SCHEMA sales;
CREATE TABLE buyer (id int PRIMARY KEY, segment varchar(16) NOT NULL, land char(2), note text, code varchar UNIQUE);
CREATE TABLE shop (code varchar(9) PRIMARY KEY, town varchar(30), rent numeric(10,2));
CREATE TABLE sales.bought (number int PRIMARY KEY, buyer char(9) NOT NULL, shop varchar(9), paid numeric(10,2));
CREATE VIEW sales.cheap AS SELECT b.number, y.id AS buyer, b.shop, b.paid
  FROM sales.bought b JOIN buyer y ON y.code = b.buyer WHERE paid < 3.1416;
INSERT INTO shop VALUES ('a', 'Ulm', 10), ('b', 'Bonn', 20);
INSERT INTO buyer SELECT g, CASE g % 2 WHEN 0 THEN 'firm' ELSE 'person' END, 'DE', 'x', 'c' || g FROM generate_series(1, 400) g;
INSERT INTO sales.bought SELECT g, 'c' || g, CASE g % 2 WHEN 0 THEN 'a' ELSE 'b' END, 2 FROM generate_series(1, 400) g;
"""
POLICY = """
database: {url}
ledger: sqlite:x.ledger
budget: {{epsilon: 1000000, delta: 1e-3}}
statement: {{epsilon: 10, max_epsilon: 10}}
privacy_unit: buyer.id
analysts: {{ana: {{}}}}
tables:
  shop: {{public: true}}
  buyer: {{columns: {{id: {{}}, segment: {{values: [firm, person]}}, land: {{values: [DE]}}, note: {{}}, code: {{}}}}}}
  sales.cheap:
    unit: buyer -> buyer.id
    max_rows: 1
    columns: {{shop: {{values_from: shop.code}}, paid: {{range: [0, 5]}}}}
"""
SHOWN = """SELECT c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid WHERE a.attnum > 0 AND c.relname IN ('buyer', 'shop', 'cheap')
ORDER BY 1, 3"""
VARCHAR, BPCHAR = 1043, 1042


@pytest.fixture(scope="module")
def process() -> Iterator[PostgresProcess]:
    found = PostgresProcess.start()
    with psycopg.connect(found.dsn(), autocommit=True) as connection:
        connection.execute(TABLES.encode())
    yield found
    found.close()


@pytest.fixture(scope="module")
def server(process: PostgresProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    known = psycopg.conninfo.conninfo_to_dict(process.dsn())
    url = f"postgresql://{known['user']}@/{known['dbname']}?host={known['host']}&port={known['port']}"
    policy: Path = tmp_path_factory.mktemp("typed") / "policy.yaml"
    policy.write_text(POLICY.format(url=url), encoding="utf-8")
    with operated(policy) as found:
        yield found


@pytest.fixture
def connection(server: Operated) -> Iterator[psycopg.Connection]:
    with server.connect() as found:
        yield found


def test_columns_have_the_types_of_the_database_and_views_are_views(
    connection: psycopg.Connection, process: PostgresProcess
) -> None:
    with psycopg.connect(process.dsn()) as owner:
        theirs = {tuple(row) for row in owner.execute(SHOWN).fetchall()}
    ours = {tuple(row) for row in connection.execute(SHOWN).fetchall()}
    assert ours <= theirs
    assert len(ours) == 5 + 3 + 3
    assert ("cheap", "v", "shop", "character varying(9)") in ours
    ((body,),) = connection.execute("SELECT pg_get_viewdef('sales.cheap'::regclass)").fetchall()
    assert "3.14" not in body, "what a view says may be data"
    ((kind,),) = connection.execute(
        "SELECT table_type FROM information_schema.tables WHERE table_name = 'cheap'"
    ).fetchall()
    assert kind == "VIEW"
    keys = connection.execute("SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint "
                              "WHERE contype = 'p' AND conrelid > 16383 ORDER BY 1").fetchall()  # fmt: skip
    assert keys == [("buyer", "PRIMARY KEY (id)"), ("shop", "PRIMARY KEY (code)")]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT * FROM buyer LIMIT 200", [(23, -1), (VARCHAR, 20), (BPCHAR, 6), (25, -1), (VARCHAR, -1)]),
        ("SELECT * FROM buyer LIMIT 0", [(23, -1), (VARCHAR, 20), (BPCHAR, 6), (25, -1), (VARCHAR, -1)]),
        ("SELECT b.segment AS s, UPPER(b.segment) FROM (SELECT * FROM buyer) b LIMIT 5", [(VARCHAR, 20), (25, -1)]),
        ('SELECT "_"."segment", COUNT(*) FROM "public"."buyer" "_" GROUP BY 1', [(VARCHAR, 20), (20, -1)]),
        ("SELECT segment || '' AS segment, COUNT(*) FROM buyer GROUP BY 1", [(25, -1), (20, -1)]),
        ("WITH c AS (SELECT shop AS at FROM sales.cheap) SELECT at, COUNT(*) FROM c GROUP BY at", [(VARCHAR, 13), (20, -1)]),
        ("SELECT s.town, COUNT(*) FROM sales.cheap c JOIN shop s ON c.shop = s.code GROUP BY 1", [(VARCHAR, 34), (20, -1)]),
        ("SELECT code, town, rent FROM shop", [(VARCHAR, 13), (VARCHAR, 34), (1700, 655366)]),
        ("SELECT DISTINCT segment FROM buyer WHERE land = 'DE'", [(VARCHAR, 20)]),
    ],
)  # fmt: skip
def test_answers_tell_columns_as_postgresql_does(
    connection: psycopg.Connection, process: PostgresProcess, sql: str, told: list[tuple[int, int]]
) -> None:
    for prepare in (False, True):
        result = connection.execute(sql.encode(), prepare=prepare).pgresult
        assert result is not None
        assert [(result.ftype(place), result.fmod(place)) for place in range(result.nfields)] == told
    with psycopg.connect(process.dsn()) as owner:
        result = owner.execute(sql.encode()).pgresult
        assert result is not None
        assert [(result.ftype(place), result.fmod(place)) for place in range(result.nfields)] == told
