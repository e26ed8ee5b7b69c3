"""SUM of BIGINT is NUMERIC, as in PostgreSQL, on every way to an answer: no sum stops at the end of a type."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from dpsql import connect
from dpsql.proxy import Proxy, Session
from tests.policies import policy_text

EACH = 9 * 10**18
POLICY = policy_text("""
database: duckdb:x.duckdb; ledger: sqlite:x.ledger; privacy_unit: p.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}; statement: {epsilon: 100, max_epsilon: 100}
tables:
  p: id, big 0..9200000000000000000, small 0..10, k [a, b]
""")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("sums")
    with duckdb.connect(str(folder / "x.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE p AS SELECT i::INTEGER AS id, {EACH}::BIGINT AS big, (i % 7)::INTEGER AS small,"
            " ('ab'[1 + i % 2])::ENUM ('a', 'b') AS k FROM range(20) t(i)"
        )
        connection.execute("ALTER TABLE p ALTER k SET NOT NULL")
        connection.execute("ALTER TABLE p ADD PRIMARY KEY (id)")
    (folder / "p.yaml").write_text(POLICY)
    opened = Proxy.open(folder / "p.yaml")
    yield opened
    opened.close()


@pytest.fixture
def ana(proxy: Proxy) -> Session:
    return proxy.session("ana")


NUMERIC, BIGINT = "decimal(38,0)", "bigint"


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("SUM(big)", NUMERIC),
        ("SUM(big + 1)", NUMERIC),
        ("SUM(CASE WHEN k = 'a' THEN big END)", NUMERIC),
        ("SUM(big) FILTER (WHERE k = 'a')", NUMERIC),
        ("SUM(small)", BIGINT),
        ("SUM(small + 1)", BIGINT),
        ("SUM(2 * small)", BIGINT),
        ("SUM(CASE WHEN k = 'a' THEN small ELSE 0 END)", BIGINT),
        ("SUM(CASE WHEN k = 'a' THEN 1 ELSE 0 END)", BIGINT),
        ("COUNT(*)", BIGINT),
    ],
)
def test_types_are_those_of_postgresql(ana: Session, expression: str, type_: str) -> None:
    sql = f"SELECT {expression} AS s FROM p"
    (described,) = ana.describe(sql)
    answer = ana.execute(sql)
    assert str(described.type) == str(answer.columns[0].type) == type_
    assert isinstance(answer.rows[0][0], Decimal if type_ == NUMERIC else int)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(big) FROM p",
        "SELECT SUM(s) FROM (SELECT k, SUM(big) AS s FROM p GROUP BY k) AS t",
        "SELECT SUM(s) FROM (SELECT id, SUM(big) AS s FROM p GROUP BY id) AS t",
        "SELECT COALESCE(SUM(big), 0) FROM p",
        "SELECT SUM(big) / 3 * 3 FROM p",
    ],
)
def test_no_sum_stops_at_the_end_of_bigint(ana: Session, sql: str) -> None:
    (total,), *_ = ana.execute(sql).rows
    assert abs(float(total) - 20 * EACH) < 0.02 * 20 * EACH  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["big", "small"])
def test_parts_of_a_rollup_add_up(ana: Session, column: str) -> None:
    # The type of k holds these values alone: where others may come, the total has their rows and no part does.
    rows = dict(ana.execute(f"SELECT k, SUM({column}) FROM p GROUP BY ROLLUP (k)").rows)
    assert len(rows) == 3
    assert rows.pop(None) == sum(rows.values())  # type: ignore[arg-type]


def test_drivers_read_decimals(proxy: Proxy) -> None:
    cursor = connect(proxy, "ana").cursor()
    cursor.execute("SELECT SUM(big), SUM(small) FROM p")
    (wide, narrow) = cursor.fetchone() or (None, None)
    assert isinstance(wide, Decimal)
    assert wide > 2**63
    assert isinstance(narrow, int)
