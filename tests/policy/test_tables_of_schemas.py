"""Tables of other schemas than the default one, in a policy and in statements, two of one name among them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server

TABLES = """
CREATE SCHEMA analytics;
CREATE TABLE customer (id INTEGER PRIMARY KEY, region VARCHAR NOT NULL);
CREATE TABLE analytics.orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL,
    total INTEGER NOT NULL);
CREATE TABLE orders (customer_id INTEGER NOT NULL, total INTEGER NOT NULL);
CREATE TABLE analytics.visit (customer_id INTEGER NOT NULL);
CREATE TABLE analytics.region (name VARCHAR PRIMARY KEY);
INSERT INTO customer SELECT n, CASE WHEN n < 300 THEN 'north' ELSE 'south' END FROM generate_series(1, 500) AS g (n);
INSERT INTO analytics.orders SELECT n, n, 10 FROM generate_series(1, 500) AS g (n);
INSERT INTO orders SELECT n, 3 FROM generate_series(1, 500) AS g (n);
INSERT INTO analytics.visit SELECT n FROM generate_series(1, 400) AS g (n);
INSERT INTO analytics.region VALUES ('north'), ('south');
"""
POLICY = """
database: {database}
ledger: sqlite:schemas.ledger
budget: {{epsilon: 1000000, delta: 1e-3}}
privacy_unit: customer.id
tables:
  customer: {{columns: {{region: {{values_from: analytics.region.name}}}}}}
  analytics.orders: {{unit: customer_id -> customer.id, max_rows: 1, columns: {{total: {{range: [0, 20]}}}}}}
  public.orders: {{unit: customer_id -> customer.id, max_rows: 1, columns: {{total: {{range: [0, 20]}}}}}}
  visit: {{unit: customer_id -> customer.id, max_rows: 1}}
  analytics.region: {{public: true}}
"""


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def ana(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("schemas")
    if request.param == "duckdb":
        with duckdb.connect(str(folder / "x.duckdb")) as connection:
            connection.execute(TABLES)
        database = f"duckdb:{folder / 'x.duckdb'}"
    else:
        database = shared_server().url(shared_server().database(TABLES))
    (folder / "policy.yaml").write_text(POLICY.format(database=database), encoding="utf-8")
    proxy = open_without_noise(folder / "policy.yaml")
    yield proxy.session("ana")
    proxy.close()


ANSWERS = [
    ("SELECT SUM(total) FROM analytics.orders", 5000),
    ('SELECT SUM("orders"."total") FROM "analytics"."orders" AS "orders"', 5000),
    ('SELECT SUM("analytics"."orders"."total") FROM "analytics"."orders"', 5000),
    ("SELECT SUM(orders.total) FROM analytics.orders", 5000),
    ("SELECT SUM(total) FROM orders", 1500),
    ("SELECT SUM(total) FROM public.orders", 1500),
    ("SELECT COUNT(*) FROM visit", 400),
    ("SELECT COUNT(*) FROM analytics.visit", 400),
    ("SELECT COUNT(*) FROM analytics.visit v JOIN customer c ON c.id = v.customer_id WHERE c.region = 'north'", 299),
    (
        "SELECT SUM(a.total + b.total) FROM analytics.orders a JOIN public.orders b ON a.customer_id = b.customer_id",
        6500,
    ),
    ("SELECT COUNT(*) FROM analytics.region", 2),
    ("WITH orders AS (SELECT * FROM analytics.orders WHERE total > 5) SELECT COUNT(*) FROM orders", 500),
]


@pytest.mark.spread
@pytest.mark.parametrize(("sql", "expected"), ANSWERS)
def test_a_table_is_that_of_its_schema(ana: Session, sql: str, expected: int) -> None:
    ((value,),) = ana.execute(sql).rows
    assert value == pytest.approx(expected, abs=2)


@pytest.mark.parametrize("name", ["analytics.customer", "public.visit", "elsewhere.orders"])
def test_a_table_is_in_no_other_schema(ana: Session, name: str) -> None:
    with pytest.raises(Error, match="there is no table") as refused:
        ana.execute(f"SELECT COUNT(*) FROM {name}")
    assert refused.value.sqlstate == "42P01"


def test_groups_are_listed_by_a_table_of_another_schema(ana: Session) -> None:
    rows = ana.execute("SELECT region, COUNT(*) FROM customer GROUP BY region ORDER BY 1").rows
    assert [name for name, _ in rows] == ["north", "south"]
