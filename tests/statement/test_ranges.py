"""Conditions on constant ranges have PostgreSQL's value for every row."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pytest
import sqlglot

from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy
from rewriter.dialects import POSTGRES
from rewriter.expressions.literals import interval_value
from rewriter.statement import plain_ranges
from tests.doubles import NoNoise
from tests.engines.postgres_server import shared_server
from tests.price.test_series import Clinic

ROWS = [
    (None, None, None),
    *(
        (datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=7 * step), step - 4, step / 2 - 2)
        for step in range(10)
    ),
    (datetime.datetime(2026, 1, 1), 0, 0),
    (datetime.datetime(2026, 1, 3), 5, 2),
]
CONDITIONS = [
    "ts <@ tsrange('2026-01-01', '2026-01-03')",
    "ts <@ tsrange('2026-01-01', '2026-01-03', '[]')",
    "ts <@ tsrange('2026-01-01', '2026-01-03', '(]')",
    "ts <@ tsrange('2026-01-01', '2026-01-03', '()')",
    "ts <@ tsrange(TIMESTAMP '2026-01-01', NULL)",
    "ts <@ tsrange(NULL, '2026-01-02')",
    "tsrange('2026-01-01', '2026-01-03') @> ts",
    "NOT ts <@ tsrange('2026-01-01', '2026-01-03')",
    "ts <@ '[2026-01-01,2026-01-02 12:00)'::tsrange",
    'ts <@ \'["2026-01-01 00:00:00","2026-01-03 00:00:00"]\'::tsrange',
    "ts <@ '[2026-01-02,)'::tsrange OR ts <@ '(,2026-01-01]'::tsrange",
    "ts::date <@ daterange('2026-01-01', '2026-01-02')",
    "ts::date <@ daterange('2026-01-01', '2026-01-02', '[]')",
    "ts <@ tsrange('2026-01-02', '2026-01-02')",
    "ts <@ tsrange('2026-01-02', '2026-01-02', '[]')",
    "ts::timestamptz <@ tstzrange('2026-01-01 06:00+00', '2026-01-02')",
    "n <@ int4range(-2, 3)",
    "n <@ int4range(-2, 3, '(]')",
    "x <@ numrange(-1, 1.5, '[]')",
    "(n + 1) <@ '[0,3]'::int4range IS NOT FALSE",
]


@pytest.fixture(scope="module")
def owner() -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database()) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE r (ts timestamp, n int, x numeric)")
        for row in ROWS:
            connection.execute("INSERT INTO r VALUES (%s, %s, %s)", row)
        yield connection


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_range_is_what_postgresql_says(owner: psycopg.Connection, condition: str) -> None:
    asked = f"SELECT ts, n, {condition} AS found FROM r ORDER BY 1, 2"
    plain = plain_ranges(sqlglot.parse_one(asked, read="postgres")).sql("postgres")
    assert plain.count("RANGE") + plain.count("<@") + plain.count("@>") == 0
    assert owner.execute(plain.encode()).fetchall() == owner.execute(asked.encode()).fetchall()


@pytest.mark.parametrize(
    "condition",
    [
        "n <@ ARRAY[1, 2]",
        "ts <@ tsrange(NULL, NULL)",
        "ts <@ tsrange('2026-01-01', '2026-01-03', '[[')",
        "ts <@ 'empty'::tsrange",
        "tsrange('2026-01-01', '2026-01-02') <@ tsrange('2026-01-01', '2026-01-03')",
    ],
)
def test_what_is_not_understood_stays_as_it_is(condition: str) -> None:
    tree = sqlglot.parse_one(f"SELECT 1 FROM r WHERE {condition}", read="postgres")
    assert plain_ranges(tree) is tree or plain_ranges(tree) == tree


@pytest.mark.parametrize("text", ["21600.000s", "90s", "15m", "1h", "2d", "1w", "1y", "1.5h", "1h 30m", "0.5m"])
def test_short_units_of_intervals(owner: psycopg.Connection, text: str) -> None:
    own = interval_value(text, POSTGRES).sql.sql("postgres")
    row = owner.execute(f"SELECT {own} = INTERVAL '{text}', {own}::text = INTERVAL '{text}'::text".encode()).fetchone()
    assert row == (True, True)


def test_a_range_of_the_time_closes_a_window_and_bins_are_groups(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path, most="2000 per month")
    opened = open_here(compared(load_policy(tmp_path / "policy.yaml")), read=lambda: clinic.now)
    with closing(Proxy(opened, NoNoise(), silent=True)) as proxy:
        session = proxy.session()
        month = session.execute("SELECT COUNT(*) FROM visit WHERE made <@ tsrange('2026-02-01', '2026-03-01')")
        assert any("is closed" in note for note in month.notices)
        bins = session.execute(
            "SELECT date_bin('21600.000s', made, '2001-01-01') AS b, COUNT(*) FROM visit"
            " WHERE made <@ tsrange('2026-02-01', '2026-02-03') GROUP BY 1 ORDER BY 1"
        ).rows
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        truth = connection.execute(
            "SELECT time_bucket(INTERVAL '6 hours', made, TIMESTAMP '2001-01-01') AS b, COUNT(*) FROM visit"
            " WHERE made < '2026-02-03' GROUP BY 1 ORDER BY 1"
        ).fetchall()
        (number,) = connection.execute("SELECT COUNT(*) FROM visit WHERE made < '2026-03-01'").fetchone() or ()
    assert [tuple(row) for row in bins] == truth
    assert month.rows[0][0] == number
