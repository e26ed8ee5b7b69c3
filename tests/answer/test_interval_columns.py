"""Intervals as columns of an answer: PostgreSQL's texts and bytes of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import pq

from dpsql.postgresql.process import PostgresProcess
from dpsql.proxy import Proxy
from dpsql.server.wire.wire_types import data_rows, wire_type
from rewriter.declared import INTERVAL
from tests.answer.test_clock import folder, hands, proxy

__all__ = ["folder", "hands", "proxy"]


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection]:
    with PostgresProcess.start() as process, psycopg.connect(process.dsn("postgres"), autocommit=True) as connection:
        yield connection


def theirs(connection: psycopg.Connection, sql: str, binary: bool) -> bytes | None:
    result = connection.pgconn.exec_params(sql.encode(), [], result_format=pq.Format(int(binary)))
    assert result.status == pq.ExecStatus.TUPLES_OK, result.error_message
    assert result.ftype(0) == 1186
    return result.get_value(0, 0)


def ours(text: object, binary: bool) -> bytes | None:
    whole = data_rows([(text,)], [1186], [int(binary)])
    (length,) = struct.unpack_from("!i", whole, 7)
    return None if length < 0 else whole[11:]


PLAIN = [
    "INTERVAL '1 day'",
    "INTERVAL '1 year 2 months 3 days 04:05:06.789'",
    "INTERVAL '-14 months 3 days -4.5 seconds'",
    "-INTERVAL '1 month' + INTERVAL '2 days'",
    "INTERVAL '100 hours' - INTERVAL '3 days'",
    "INTERVAL '0 days'",
    "INTERVAL '-2 days 03:00:00.5'",
    "3 * INTERVAL '2 weeks'",
    "INTERVAL '1 year' - INTERVAL '1 month'",
    "TIMESTAMP '2024-03-01 10:00' - TIMESTAMP '2024-02-28 12:00'",
    "TIMESTAMP '2024-02-28 12:00' - TIMESTAMP '2024-03-01 10:00:00.000001'",
    "TIMESTAMPTZ '2024-03-31 10:00+00' - TIMESTAMPTZ '2024-03-30 10:00:30+02'",
    "AGE(TIMESTAMP '2024-03-01 10:00', TIMESTAMP '2023-01-30 12:00')",
    "AGE(DATE '2023-01-30', DATE '2024-03-01')",
    "CAST(NULL AS INTERVAL)",
    "MAKE_INTERVAL(days => 3)",
]


@pytest.mark.parametrize("sql", PLAIN)
def test_texts_and_bytes_are_those_of_postgresql(proxy: Proxy, postgres: psycopg.Connection, sql: str) -> None:
    answer = proxy.session().execute(f"SELECT {sql} AS x")
    assert wire_type(answer.columns[0].type).oid == 1186
    assert answer.columns[0].type == INTERVAL
    for binary in (False, True):
        assert ours(answer.rows[0][0], binary) == theirs(postgres, f"SELECT {sql}", binary)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT now() - TIMESTAMPTZ '2026-11-01' AS x, COUNT(*) AS n FROM person", "21 days 12:00:00"),
        ("SELECT AGE(MAX(seen)::date, DATE '2026-10-01') AS x, COUNT(*) AS n FROM person", "1 mon 27 days"),
        ("SELECT COUNT(*) * INTERVAL '1 second' AS x, COUNT(*) AS n FROM person", "11:06:40"),
        ("SELECT MIN(seen) - MIN(seen) AS x, COUNT(*) AS n FROM person", "00:00:00"),
    ],
)
@pytest.mark.parametrize("ends", ["off", "on"])
def test_beside_released_numbers(proxy: Proxy, sql: str, text: str, ends: str) -> None:
    ana = proxy.session()
    ana.execute(f"SET dpsql.intervals = {ends}")
    described = [(one.name, one.type) for one in ana.describe(sql)]
    answer = ana.execute(sql)
    assert described == [(one.name, one.type) for one in answer.columns]
    row = dict(zip((one.name for one in answer.columns), answer.rows[0], strict=True))
    assert (row["x"], row["n"]) == (text, 40000)


def test_long_answers_have_intervals_too(proxy: Proxy) -> None:
    both = "generate_series(1, 2000) t(n) CROSS JOIN generate_series(1, 2) u(m)"
    answer = proxy.session().execute(f"SELECT n, (n + m) * INTERVAL '1 hour' AS x FROM {both} ORDER BY n, m")
    assert len(answer.rows) == 4000
    assert answer.rows[3999] == (2000, "2002:00:00")
