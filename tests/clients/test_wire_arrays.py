"""Arrays of numbers, days, times and intervals: parameters and results, in text and in binary, of psycopg and asyncpg."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from decimal import Decimal

import asyncpg
import psycopg
import pytest

from tests.clients.served import Served

UTC = datetime.UTC
DAY = datetime.timedelta(days=1)
FIRST = datetime.datetime(2025, 1, 1)
DAYS = "(SELECT sex, COUNT(*) AS n, DATE '2025-01-01' AS day FROM patient GROUP BY sex ORDER BY sex) AS g"
OIDS = [1231, 1185, 1115, 1182, 1183, 1187]
LISTED = f"""SELECT array_agg((n * 0 + 1.5)::numeric(10, 2)) AS numbers,
    array_agg((day::timestamp + INTERVAL '500 ms')::timestamptz) AS instants, array_agg(day::timestamp) AS times,
    array_agg(day) AS days, array_agg(TIME '10:00:00.5') AS clocks, array_agg(n * 0 * INTERVAL '1 s' + INTERVAL '1 day') AS spans
    FROM {DAYS}"""
VALUES = (
    [Decimal("1.50")] * 2,
    [(FIRST + datetime.timedelta(milliseconds=500)).replace(tzinfo=UTC)] * 2,
    [FIRST] * 2,
    [FIRST.date()] * 2,
    [datetime.time(10, 0, 0, 500_000)] * 2,
    [DAY] * 2,
)
PARAMETERS: list[tuple[str, str, list[object]]] = [
    ("numeric", "cost", [Decimal(number) for number in range(20, 60)]),
    ("timestamptz", "day::timestamptz", [FIRST.replace(tzinfo=UTC) + number * DAY for number in range(9)]),
    ("timestamp", "day::timestamp", [FIRST + number * DAY for number in range(9)]),
    ("date", "day", [FIRST.date() + number * DAY for number in range(9)]),
    ("interval", "(day::timestamp - TIMESTAMP '2025-01-01')", [number * DAY for number in range(9)]),
]


@pytest.fixture(scope="module")
def connection(server: Served) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as found:
        yield found


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_arrays_by_their_types(connection: psycopg.Connection, binary: bool) -> None:
    cursor = connection.cursor(binary=binary).execute(LISTED)
    assert [column.type_code for column in cursor.description or ()] == OIDS
    assert cursor.fetchone() == VALUES


def test_instants_are_told_in_the_zone_of_the_session(server: Served) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as opened:
        opened.execute("SET timezone = 'Asia/Kolkata'")
        text = opened.pgconn.exec_(f"SELECT array_agg(day::timestamptz) FROM {DAYS}".encode()).get_value(0, 0)
        assert text == b'{"2025-01-01 00:00:00+05:30","2025-01-01 00:00:00+05:30"}'
        (both,) = opened.cursor(binary=True).execute(f"SELECT array_agg(day::timestamptz) FROM {DAYS}").fetchone() or ()
        assert both == [FIRST.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30)))] * 2


def test_intervals_in_arrays_keep_their_months(connection: psycopg.Connection) -> None:
    sql = f"SELECT array_agg(n * 0 * INTERVAL '1 s' + INTERVAL '1 month -2 days') FROM {DAYS}".encode()
    assert connection.pgconn.exec_(sql).get_value(0, 0) == b'{"1 mon -2 days","1 mon -2 days"}'


@pytest.mark.parametrize("mark", ["%s", "%b"])
@pytest.mark.parametrize(("type_", "value", "items"), PARAMETERS, ids=[one[0] for one in PARAMETERS])
@pytest.mark.parametrize("cast", [False, True])
def test_psycopg_sends_arrays(
    connection: psycopg.Connection, type_: str, value: str, items: list[object], mark: str, cast: bool
) -> None:
    spelt = f"{mark}::{type_}[]" if cast else mark
    sql = f"SELECT COUNT(*) FROM visit WHERE {value} = ANY({spelt})"
    (many,) = connection.execute(sql, [items]).fetchone() or (0,)
    assert 100 < many < 30_000
    assert connection.execute(f"SELECT {mark}::{type_}[]", [items]).fetchone() == (items,)


def test_asyncpg_sends_and_reads_arrays(server: Served) -> None:
    async def ask() -> None:
        opened = await asyncpg.connect(host=server.host, port=server.port, user=server.user, database=server.database)
        assert tuple(await opened.fetchrow(LISTED)) == VALUES
        for type_, value, items in PARAMETERS:
            statement = await opened.prepare(f"SELECT COUNT(*) AS n FROM visit WHERE {value} = ANY($1::{type_}[])")
            assert [one.name for one in statement.get_parameters()] == [f"{type_}[]"]
            assert 100 < (await statement.fetchrow(items))["n"] < 30_000, type_
            assert await opened.fetchval(f"SELECT $1::{type_}[]", items) == items
        await opened.close()

    asyncio.run(ask())


@pytest.mark.parametrize("items", ["n", "day", "n > 3", "sex"])
def test_an_array_is_no_text(connection: psycopg.Connection, items: str) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="an array is not cast to a text"):
        connection.execute(f"SELECT array_agg({items})::text FROM {DAYS}".encode())
