"""Sums over neighbouring groups are unbiased, though most groups are empty and none is shown below 0."""

from __future__ import annotations

import datetime
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dpsql.proxy import Proxy
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:clinic.duckdb; ledger: sqlite:clinic.ledger; privacy_unit: person.id
budget: {epsilon: 100000, accounting: pure}; statement: {epsilon: 0.3, max_epsilon: 1}
tables:
  person: id, day 2025-01-01..2025-05-30
""")
FIRST, BUSY, PEOPLE, WIDTH, TIMES = datetime.date(2025, 1, 1), (20, 120), 300, 7, 40
FRAME = f"OVER (ORDER BY day ROWS BETWEEN {WIDTH - 1} PRECEDING AND CURRENT ROW)"
GROUPS = "SELECT day, COUNT(*) AS n FROM person GROUP BY day"
MOVING = (
    f"SELECT day, COUNT(*) AS n, SUM(COUNT(*)) {FRAME} AS s FROM person GROUP BY day",
    f"SELECT day, n, SUM(n) {FRAME} AS s FROM ({GROUPS}) AS t",
    f"SELECT day, n, {WIDTH}.0 * AVG(n) {FRAME} AS s FROM (SELECT day, n FROM ({GROUPS}) AS u) AS t",
    f"WITH t AS ({GROUPS}) SELECT day, n, SUM(n) {FRAME} AS s FROM t WHERE 0 < (SELECT COUNT(*) FROM t)",
    f"SELECT *, SUM(n) {FRAME} AS s FROM ({GROUPS}) AS t",
    f"WITH t AS ({GROUPS}), u AS (SELECT * FROM t) SELECT *, SUM(n) {FRAME} AS s FROM (SELECT * FROM u) AS v",
)


@pytest.fixture
def proxy(tmp_path: Path):
    """A clinic whose people all came on two days of five months."""
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, day DATE NOT NULL)")
        connection.execute(
            f"INSERT INTO person SELECT i, DATE '{FIRST}' + {BUSY[0]} FROM range({PEOPLE}) t(i)"
            f" UNION ALL SELECT {PEOPLE} + i, DATE '{FIRST}' + {BUSY[1]} FROM range({PEOPLE}) t(i)"
        )
    (tmp_path / "policy.yaml").write_text(POLICY)
    with closing(Proxy.open(tmp_path / "policy.yaml")) as found:
        yield found


@pytest.mark.parametrize("empty", ["show", "auto"])
@pytest.mark.parametrize("sql", [*MOVING[:3], *MOVING[4:]])
def test_a_moving_sum_over_empty_days_is_unbiased(proxy: Proxy, sql: str, empty: str) -> None:
    session = proxy.session()
    session.execute("SET dpsql.reuse = off")
    session.execute(f"SET dpsql.empty_groups = {empty}")
    errors: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(TIMES):
        days, counts, sums = zip(*session.execute(f"{sql} ORDER BY day").rows, strict=True)
        assert min(counts) >= 0
        places = np.array([(day - FIRST).days for day in days])
        busy = np.isin(places[:, None] - BUSY, range(WIDTH)).any(axis=1)
        off = np.array(sums, dtype=np.float64) - np.where(busy, PEOPLE, 0)
        # Which ends are left out hangs on the noise of the days at these ends.
        between = (places >= BUSY[0]) & (places <= BUSY[1])
        for which, found in errors.items():
            found.append(float(off[between & (busy == which)].mean()))
    for found in errors.values():
        assert abs(np.mean(found)) <= 2 * np.std(found) / np.sqrt(TIMES), (np.mean(found), np.std(found))


def test_a_star_shows_no_other_columns(proxy: Proxy) -> None:
    session = proxy.session()
    for sql in (f"SELECT *, SUM(n) {FRAME} AS s FROM ({GROUPS}) AS t", f"SELECT * FROM ({MOVING[1]}) AS a", *MOVING):
        names = [column.name for column in session.execute(sql).columns]
        assert names == ["day", "n", "s"]
