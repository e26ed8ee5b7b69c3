"""Conditions on what a time shows become ranges of the time, and mean what they mean in PostgreSQL, on both engines."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace

import duckdb
import psycopg
import pytest
from sqlglot import exp

from rewriter.declared import time_zones as zones
from rewriter.dialects.calendar_nodes import Read, reading_of
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.postgres import POSTGRES
from rewriter.expressions.shown_times import period_shown, printed
from tests.engines.postgres_server import shared_server
from tests.expressions.test_zones import compiled

SHOWN = [
    "TO_CHAR({}, 'YYYY-MM') = '2026-03'",
    "'2026-03' = TO_CHAR({}, 'YYYY-MM')",
    "TO_CHAR({}, 'YYYY') = '2026'",
    "TO_CHAR({}, 'YYYY') = '9999'",
    "TO_CHAR({}, 'YYYY-MM-DD') = '2026-03-29'",
    "TO_CHAR({}, 'MM/YYYY') = '11/2026'",
    "TO_CHAR({}, 'FMMM/YYYY') = '3/2026'",
    "TO_CHAR({}, 'Mon YYYY') = 'Mar 2026'",
    "TO_CHAR({}, 'MONTH YYYY') = 'MARCH     2026'",
    "TO_CHAR({}, 'FMMonth FMDD, YYYY') = 'March 1, 2026'",
    "TO_CHAR({}, 'DD.MM.YYYY') = '01.03.2026'",
    "TO_CHAR({}, 'IYYY-IW') = '2026-13'",
    "TO_CHAR({}, 'IYYY-IW') = '2020-53'",
    "TO_CHAR({}, 'YYYY-\"Q\"Q') = '2026-Q1'",
    "TO_CHAR({}, 'YYYY-DDD') = '2026-088'",
    "TO_CHAR({}, 'YYYYMM') = '202603'",
    "TO_CHAR({}, 'YYYYMM')::int = 202603",
    "TO_CHAR({}, 'YYYYMMDD')::int BETWEEN 20260301 AND 20260329",
    "TO_CHAR({}, 'YYYY')::smallint >= 2026",
    "TO_CHAR({}, 'YYYY-MM') IN ('2026-03', '2026-04')",
    "TO_CHAR({}, 'YYYY-MM') IN ('2026-03', '2026-11', '0001-01')",
    "TO_CHAR({}, 'MM/YYYY') IN ('03/2026', '11/2026')",
    "TO_CHAR({}, 'YYYY-MM') BETWEEN '2026-03' AND '2026-10'",
    "TO_CHAR({}, 'YYYY-MM-DD') >= '2026-03'",
    "TO_CHAR({}, 'YYYY-MM-DD') <= '2026-03'",
    "TO_CHAR({}, 'YYYY-MM') > '2026-03'",
    "TO_CHAR({}, 'YYYY-MM') < '2026-12'",
    "TO_CHAR({}, 'YYYY-MM') <= '9999-12'",
    "TO_CHAR({}, 'YYYY-MM-DD') LIKE '2026-03-%'",
    "TO_CHAR({}, 'DD.MM.YYYY') LIKE '29.03.2026%'",
    "TO_CHAR({}, 'YYYY') = '2026' AND TO_CHAR({}, 'MM') = '03'",
]
FIELDS = [
    "{}::text LIKE '2026-03%'",
    "{}::text LIKE '2026-03%' ESCAPE '-'",
    "{}::text LIKE '2026-03%' ESCAPE '!'",
    "{}::text NOT LIKE '2026-03%'",
    "LEFT({}::text, 7) = '2026-03'",
    "SUBSTR({}::text, 1, 10) IN ('2026-03-29', '2026-03-30')",
    "SUBSTRING({}::text FROM 1 FOR 4) <= '2026'",
    "CAST({} AS VARCHAR(7)) = '2026-10'",
    "STARTS_WITH({}::text, '2026-03-29')",
    "{}::text >= '2026-03' AND {}::text < '2026-11'",
    "EXTRACT(YEAR FROM {}) = 2026",
    "EXTRACT(YEAR FROM {}) IN (2018, 2026)",
    "EXTRACT(YEAR FROM {})::int BETWEEN 2018 AND 2026",
    "EXTRACT(YEAR FROM {}) < 2026.5",
    "EXTRACT(YEAR FROM {}) > 9998",
    "DATE_PART('year', {}) = 2026 AND DATE_PART('month', {}) = 3",
    "EXTRACT(YEAR FROM {}) * 100 + EXTRACT(MONTH FROM {}) = 202603",
    "EXTRACT(MONTH FROM {}) + 100 * EXTRACT(YEAR FROM {}) >= 202603",
    "MAKE_DATE(EXTRACT(YEAR FROM {})::int, EXTRACT(MONTH FROM {})::int, 1) = '2026-03-01'",
    "MAKE_DATE(EXTRACT(YEAR FROM {})::int, EXTRACT(MONTH FROM {})::int, 2) = '2026-03-02'",
    "DATE_TRUNC('month', {}) = '2026-03-01'",
    "DATE_TRUNC('quarter', {}) >= '2026-04-01'",
    "DATE_TRUNC('week', {}) <= '2026-03-23'",
    "DATE_TRUNC('day', {}) BETWEEN '2026-03-08' AND '2026-03-29'",
    "DATE_TRUNC('month', {}) = '2026-03-02'",
    "DATE_TRUNC('month', {})::date IN ('2026-03-01', '2026-11-01')",
    "{}::date = '2026-03-29'",
    "{}::date > '2026-03-29'",
    "DATE_TRUNC('year', {}) = '9999-01-01'",
]
LINES = [
    "TIMESTAMPTZ '2026-04-01 12:00+00' - {} < INTERVAL '7 days'",
    "TIMESTAMPTZ '2026-04-01 12:00+00' - {} <= INTERVAL '1 month 1 day'",
    "TIMESTAMP '2026-03-29 03:30' - {} = INTERVAL '1 hour'",
    "{} - TIMESTAMP '2026-01-01' >= INTERVAL '87 days 3 hours 30 minutes'",
    "{} - TIMESTAMP '2026-01-01' BETWEEN INTERVAL '-1 day' AND INTERVAL '87 days'",
    "INTERVAL '9000 years' < {} - TIMESTAMP '2026-01-01'",
    "CAST({} AS date) - DATE '2026-03-22' < 7",
    "CAST({} AS date) - DATE '2026-03-22' BETWEEN 0 AND 6",
    "DATE '2026-03-30' - {}::date <= 1",
    "DATE '2026-03-30' - {}::date = 1",
    "DATE '2026-03-30' - {}::date > 0.5",
    "EXTRACT(EPOCH FROM {}) >= 1774746000",
    "EXTRACT(EPOCH FROM {}) BETWEEN 1774746000 AND 1775001600",
    "EXTRACT(EPOCH FROM {}) < 1774746000.5",
    "EXTRACT(EPOCH FROM {}) = 1774746000",
    "DATE_PART('epoch', {}) > -62000000000",
    "DATE_PART('epoch', {}) > -4000000000",
]
CONDITIONS = [*SHOWN, *FIELDS, *LINES]
ENDS = [
    datetime.datetime(year, month, 1) + away
    for year, month in ((2026, 3), (2026, 4), (2026, 10), (2026, 11), (2026, 1), (2027, 1), (2021, 1), (2, 1))
    for away in (datetime.timedelta(microseconds=-1), datetime.timedelta(), datetime.timedelta(hours=5, minutes=30))
]
CLOCKS = [
    datetime.datetime(2026, month, day, hour, 30)
    for month, day in ((3, 8), (3, 28), (3, 29), (3, 30), (10, 31), (11, 1), (11, 2))
    for hour in (0, 1, 3, 6, 22, 23)
]
OLDEST, NEWEST = datetime.datetime(1, 2, 5), datetime.datetime(9999, 12, 28, 23)
MOMENTS = [*ENDS, *CLOCKS, OLDEST, NEWEST, datetime.datetime(2018, 11, 4, 3)]


def rows() -> list[tuple[str | None, ...]]:
    return [(f"{at}+00", str(at), str(at.date())) for at in MOMENTS] + [(None, None, None)]


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database()) as connection:
        connection.execute("CREATE TABLE r (q timestamptz, p timestamp, d date)")
        connection.execute("SET TimeZone = 'UTC'")
        with connection.cursor().copy("COPY r FROM STDIN") as copy:
            for row in rows():
                copy.write_row([None if cell is None else cell.rjust(10, "0") for cell in row])
        yield connection


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE r (q timestamptz, p timestamp, d date)")
        connection.executemany("INSERT INTO r VALUES (?::timestamptz, ?::timestamp, ?::date)", rows())
        yield connection


def in_both(condition: str, zone: str, postgres: psycopg.Connection, duck: duckdb.DuckDBPyConnection) -> None:
    """The condition has PostgreSQL's truth on every row, on each engine, and so has NOT of it."""
    order = "FROM r ORDER BY r.q, r.p, r.d"
    for text in (condition, f"NOT ({condition})"):
        postgres.execute(f"SET TimeZone = '{zone}'")
        meant = postgres.execute(f"SELECT {text} {order}").fetchall()  # type: ignore[arg-type]
        postgres.execute("SET TimeZone = 'UTC'")
        values = [compiled(text, dialect, zone) for dialect in (DUCKDB, POSTGRES)]
        there = postgres.execute(f"SELECT {POSTGRES.sql(values[1].sql)} {order}").fetchall()  # type: ignore[arg-type]
        here = duck.execute(f"SELECT {DUCKDB.sql(values[0].sql)} {order} NULLS LAST").fetchall()
        assert there == meant, text
        assert here == meant, text


@pytest.mark.parametrize(
    ("column", "place"),
    [
        *(("q", place) for place in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "America/Havana")),
        ("p", "UTC"),
        ("d", "UTC"),
    ],
)
def test_a_condition_on_a_shown_time_is_postgresqls(
    column: str, place: str, postgres: psycopg.Connection, duck: duckdb.DuckDBPyConnection
) -> None:
    zone = zones.zone_of(place)
    assert zone is not None
    for condition in CONDITIONS:
        in_both(condition.replace("{}", column), zone, postgres, duck)


def test_endless_times_show_nothing(postgres: psycopg.Connection) -> None:
    for column in ("TIMESTAMP 'infinity'", "TIMESTAMP '-infinity'"):
        for condition in SHOWN:
            meant = postgres.execute(f"SELECT {condition.replace('{}', column)}").fetchone()  # type: ignore[arg-type]
            ours = POSTGRES.sql(compiled(condition.replace("{}", "p"), POSTGRES, "UTC").sql)
            found = postgres.execute(f"SELECT {ours} FROM (SELECT {column} AS p) AS r").fetchone()  # type: ignore[arg-type]
            assert found == meant == (None,), condition


@pytest.mark.parametrize("column", ["q", "p"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_range_reads_the_time_alone(column: str, zone: str) -> None:
    """Nothing is printed, cut or converted to another zone any more, so that whoever looks for ranges finds them."""
    kept = (
        "'2026-11', '0001",
        "'03/2026', '11",
        "'MM'",
        "'month', {}) = 3",
        "2018, 2026)",
        "2026.5",
        "03-02'",
        "'9999-12'",
        "9000 years",
        "0.5",
        "000.5",
        "62000000000",
    )
    lists = ("'2026-03-01', '2026-11-01'", "ESCAPE '-'", "NOT LIKE")
    set_there = (
        ()
        if zone == "UTC"
        else ("03-29", "29.03", "0329", "088", "03-30'", "IYYY-IW", "03-23", "03-22", "03-30", "TIMESTAMP")
    )
    for condition in CONDITIONS:
        if any(part in condition for part in (*kept, *lists, *set_there)):
            continue
        sql = compiled(condition.replace("{}", column), replace(DUCKDB), zone).sql
        reads = [reading_of(node) for node in sql.walk()]
        assert not any(one is not None and one.read in (Read.START, Read.FIELD, Read.PRINT) for one in reads), condition
        assert zone == "UTC" or zone not in DUCKDB.sql(sql), condition


def test_clocks_that_are_set_at_the_end_of_a_period_leave_local_times(
    postgres: psycopg.Connection, duck: duckdb.DuckDBPyConnection
) -> None:
    """In Havana, the clock that shows 1:00 on the first of November goes back to 0:00: an hour is there twice."""
    text = "DATE_TRUNC('day', q) = '2026-11-01'"
    assert "Havana" in DUCKDB.sql(compiled(text, DUCKDB, "America/Havana").sql)
    in_both("TO_CHAR(q, 'YYYY-MM') = '2026-11'", "America/Havana", postgres, duck)


@pytest.mark.parametrize(
    "condition",
    [
        "DATE_TRUNC('day', q, 'Asia/Tokyo') = '2026-10-31 15:00+00'",
        "DATE_TRUNC('month', q AT TIME ZONE 'Asia/Tokyo') = '2026-04-01'",
        "TO_CHAR(q AT TIME ZONE 'America/Havana', 'YYYY-MM-DD') IN ('2026-11-01', '2026-11-02')",
        "TO_CHAR(p AT TIME ZONE 'Europe/Berlin', 'YYYY-MM') = '2026-03'",
        "DATE_BIN('1 day', p, TIMESTAMP '2000-01-01') = '2026-03-29'",
        "DATE_BIN('1 day', p, TIMESTAMP '2000-01-01 06:00') = '2026-03-28 06:00'",
        "DATE_BIN('1 day', q, TIMESTAMPTZ '2000-01-01 00:00+00') >= TIMESTAMPTZ '2026-03-29 00:00+00'",
    ],
)
def test_other_zones_than_that_of_the_session(
    condition: str, postgres: psycopg.Connection, duck: duckdb.DuckDBPyConnection
) -> None:
    for zone in ("UTC", "America/New_York"):
        in_both(condition, zone, postgres, duck)
    in_both("DATE_TRUNC('day', (q AT TIME ZONE 'Asia/Tokyo')::timestamptz) = '2026-04-01'", "UTC", postgres, duck)


@pytest.mark.quick
def test_a_long_expression_is_said_once() -> None:
    """What is too long to stand twice in SQL stays as it was written, and so do texts of texts of times."""
    long = "COALESCE(" + ", ".join(["p"] * 60) + ")"
    for text in (f"TO_CHAR({long}, 'YYYY') = '2026'", f"{long}::text LIKE '2026%'"):
        assert not list(compiled(text, DUCKDB, "UTC").sql.find_all(exp.GTE))
    nested = "p"
    for _ in range(40):
        nested = f"DATE_TRUNC('day', {nested})"
    assert compiled(f"{nested} = '2026-03-01'", DUCKDB, "UTC").sql.find(exp.GTE) is not None


@pytest.mark.quick
def test_each_period_is_found_by_its_text_and_by_no_other() -> None:
    patterns = ["%Y", "%Y-Q%q", "%-m/%Y", "%9B %Y", "%G-W%V", "%^b %-d, %Y", "%Y.%j", "%d.%m.%Y %H", "%Y%m%d%H%M%S"]
    moment = datetime.datetime(1, 1, 4)
    while moment.year < 9990:
        for pattern in patterns:
            spelt = printed(pattern, moment)
            assert spelt is not None
            period = period_shown(pattern, spelt)
            assert period is not None
            assert period[1] is not None
            assert period[0] <= moment < period[1]
            assert printed(pattern, period[0]) == printed(pattern, period[1] - datetime.timedelta(microseconds=1))
            assert printed(pattern, period[1]) != spelt
        moment += datetime.timedelta(days=1237, hours=5, minutes=7, seconds=3)
    for pattern, spelt in (
        ("%m/%Y", "4/2026"),
        ("%m/%Y", "13/2026"),
        ("%Y", "0000"),
        ("%Y-%m", "2026-04 "),
        ("%G-%V", "2025-53"),
    ):
        assert period_shown(pattern, spelt) is None
