"""Columns of type TIME on both engines: times of day that rows hold, 24:00 among them, which no calendar has."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import duckdb
import pytest

from dpsql.proxy import Proxy
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server

SCHEMA = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, opens TIME, closes TIME NOT NULL);
INSERT INTO shop SELECT i, CASE WHEN i % 10 > 0 THEN TIME '07:30' + (i % 4) * INTERVAL '1 hour' END,
    CASE WHEN i % 5 = 0 THEN TIME '24:00' ELSE TIME '18:00' END FROM generate_series(0, 999) AS t(i);
"""
POLICY = """
database: {database}
ledger: sqlite:{folder}/ledger
privacy_unit: shop.id
budget: {{epsilon: 1000, delta: 1e-6}}
statement: {{epsilon: 1}}
tables: {{shop: {{columns: {{id: {{}}, opens: {{}}, closes: {{}}}}}}}}
"""


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "duckdb":
        with duckdb.connect(str(folder / "shops.duckdb")) as connection:
            connection.execute(SCHEMA)
        database = f"duckdb:{folder}/shops.duckdb"
    else:
        server = shared_server()
        database = server.url(server.database(SCHEMA))
    (folder / "policy.yaml").write_text(POLICY.format(database=database, folder=folder))
    opened = open_without_noise(folder / "policy.yaml")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("opens < '09:00'", 450),
        ("opens IS NULL", 100),
        ("closes = '18:00' AND opens BETWEEN '08:00' AND TIME '09:59'", 400),
        ("EXTRACT(HOUR FROM closes) = 18", 800),
        # 24:00 is no time of a clock: it is read as NULL.
        ("closes >= '18:00'", 800),
        ("closes - opens > INTERVAL '9 hours'", 400),
        ("DATE '2024-01-01' + closes < '2024-01-02'", 800),
    ],
)
def test_conditions_on_times_of_day(proxy: Proxy, condition: str, count: int) -> None:
    assert proxy.session().execute(f"SELECT COUNT(*) FROM shop WHERE {condition}").rows == ((count,),)


def test_hours_of_a_column_are_public_and_its_values_are_selected(proxy: Proxy) -> None:
    session = proxy.session()
    hours = session.execute("SELECT EXTRACT(HOUR FROM opens) AS h, COUNT(*) FROM shop GROUP BY 1 ORDER BY 1").rows
    assert [(None if hour is None else int(hour), n) for hour, n in hours if n] == [  # type: ignore[call-overload]
        (7, 200), (8, 250), (9, 200), (10, 250), (None, 100),
    ]  # fmt: skip
    times = session.execute("SELECT opens, COUNT(*) FROM shop GROUP BY 1 ORDER BY 1").rows
    assert (datetime.time(7, 30), 200) in times
    assert "24" not in str(session.execute("SELECT closes, COUNT(*) FROM shop GROUP BY 1").rows[0][0])


def test_the_columns_are_told(proxy: Proxy) -> None:
    told = proxy.session().execute("SELECT column_name, data_type FROM dpsql.columns").rows
    assert ("opens", "time") in told
