"""A name of WINDOW stands for its definition, and PostgreSQL's errors are ours."""

from __future__ import annotations

import time

import psycopg
import pytest
import sqlglot
from sqlglot import exp

from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.statement import plain_windows
from tests.engines.postgres_server import shared_server

ROWS = "(VALUES (1, 'a', 5), (2, 'a', 7), (3, 'b', 7), (4, NULL, -1)) AS t(i, k, n)"
ANSWERED = [
    "SUM(n) OVER w FROM {} WINDOW w AS (PARTITION BY k ORDER BY i)",
    'SUM(n) OVER "W", RANK() OVER w FROM {} WINDOW w AS (ORDER BY n), "W" AS (PARTITION BY k)',
    "SUM(n) OVER (w ORDER BY i), RANK() OVER (W ORDER BY n DESC) FROM {} WINDOW w AS (PARTITION BY k)",
    "SUM(n) OVER (w ROWS 1 PRECEDING), MAX(n) OVER w FROM {} WINDOW w AS (ORDER BY i)",
    "SUM(n) OVER w FROM {} WINDOW w AS (ORDER BY i ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)",
    "SUM(n) OVER c FROM {} WINDOW a AS (PARTITION BY k), b AS (a ORDER BY i), c AS (b ROWS 1 PRECEDING)",
    "(SELECT COUNT(*) OVER w FROM (VALUES (t.n), (9)) AS o(u) WINDOW w AS (PARTITION BY u) LIMIT 1), SUM(n) OVER w"
    " FROM {} WINDOW w AS (ORDER BY i)",
    "SUM(n) FILTER (WHERE n > 0) OVER w FROM {} WINDOW w AS (ORDER BY i DESC)",
    "SUM(n) OVER (ORDER BY i) FROM {} WINDOW w AS (ORDER BY n), v AS (w ROWS 1 PRECEDING)",
]
WRONG = [
    "SUM(n) OVER v FROM {} WINDOW w AS (ORDER BY i)",
    "SUM(n) OVER w FROM {}",
    "SUM(n) OVER (w PARTITION BY k) FROM {} WINDOW w AS (ORDER BY i)",
    "SUM(n) OVER (w ORDER BY n) FROM {} WINDOW w AS (ORDER BY i)",
    "SUM(n) OVER (w ORDER BY n) FROM {} WINDOW w AS (ROWS 1 PRECEDING)",
    "SUM(n) OVER w FROM {} WINDOW w AS (ORDER BY i), w AS (ORDER BY n)",
    "SUM(n) OVER a FROM {} WINDOW a AS (b ORDER BY i), b AS (PARTITION BY k)",
    "(SELECT SUM(1) OVER w), SUM(n) OVER w FROM {} WINDOW w AS (ORDER BY i)",
]


def written_out(sql: str) -> str:
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    return plain_windows(tree).sql("postgres")


@pytest.fixture(scope="module")
def connection() -> psycopg.Connection:
    return shared_server().owner()


@pytest.mark.parametrize("asked", ANSWERED)
def test_windows_that_are_written_out_mean_what_their_names_mean(asked: str, connection: psycopg.Connection) -> None:
    sql = f"SELECT i, {asked.format(ROWS)} ORDER BY i"
    plain = written_out(sql)
    assert "WINDOW" not in plain
    rows = [connection.execute(text).fetchall() for text in (sql, plain)]  # type: ignore[arg-type]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("asked", WRONG)
def test_what_postgres_refuses_is_refused_with_its_code(asked: str, connection: psycopg.Connection) -> None:
    sql = f"SELECT i, {asked.format(ROWS)} ORDER BY i"
    with pytest.raises(psycopg.Error) as theirs:
        connection.execute(sql)  # type: ignore[arg-type]
    with pytest.raises(Refused) as ours:
        written_out(sql)
    assert ours.value.sqlstate == theirs.value.sqlstate


def test_copies_of_a_large_definition_are_refused_at_once() -> None:
    calls, keys = ", ".join(["SUM(n) OVER w"] * 300), ", ".join(["i + 1"] * 300)
    started = time.perf_counter()
    with pytest.raises(Refused) as refused:
        written_out(f"SELECT {calls} FROM t WINDOW w AS (ORDER BY {keys})")
    assert refused.value.sqlstate == TOO_COMPLEX
    assert time.perf_counter() - started < 10
