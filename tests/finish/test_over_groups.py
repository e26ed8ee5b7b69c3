"""COUNT and AVG over declared groups, end to end: the engine's own answer without noise, and near it with noise."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pytest

from dpsql.proxy import Proxy, Session
from tests.policies import policy_text

Row = tuple[Any, ...]
POLICY = policy_text("""
database: duckdb:visits.duckdb; ledger: sqlite:{accounting}.ledger; privacy_unit: visit.id
budget: {epsilon: 1000000, {delta}accounting: {accounting}}; statement: {epsilon: 0.25, max_epsilon: 10000}
tables:
  visit: id, day 2020-01-01..2027-12-31, age 0..100, sex [F, M, X]
""")
PER_MONTH = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n, SUM(age) AS a, COUNT(DISTINCT id) AS c FROM visit"
ASKED = [
    f"SELECT AVG(n), COUNT(*) FROM ({PER_MONTH} GROUP BY 1) AS t",
    f"SELECT COUNT(*), SUM(n), AVG(a), AVG(c) FROM ({PER_MONTH} GROUP BY 1) AS t",
    f"WITH t AS ({PER_MONTH} GROUP BY 1), u AS (SELECT m, a, n AS k FROM t) SELECT ROUND(AVG(k), 1), AVG(a) FROM u",
    f"SELECT AVG(n) + 1, COUNT(*) * 2 FROM ({PER_MONTH} GROUP BY 1) AS t",
    "SELECT AVG(n), COUNT(*) FROM (SELECT sex, COUNT(*) AS n FROM visit GROUP BY sex) AS t",
    "SELECT AVG(n), COUNT(*) FROM (SELECT sex, COUNT(*) AS n FROM visit WHERE age > 99 GROUP BY sex) AS t",
    f"SELECT AVG(n), COUNT(*) FROM ({PER_MONTH} GROUP BY 1) AS t WHERE n > 100",
    f"SELECT AVG(n), COUNT(*), MAX(n) FROM ({PER_MONTH} GROUP BY 1) AS t",
    f"SELECT AVG(n), COUNT(*) FROM ({PER_MONTH} GROUP BY 1 ORDER BY 1 LIMIT 3) AS t",
    f"SELECT AVG(n) FILTER (WHERE m < '2024-04-01'), COUNT(*) FROM ({PER_MONTH} GROUP BY 1) AS t",
    "SELECT sex, AVG(n), COUNT(*) FROM (SELECT sex, EXTRACT(MONTH FROM day) AS m, COUNT(*) AS n FROM visit"
    " GROUP BY 1, 2) AS t GROUP BY sex ORDER BY sex",
]


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def visits(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Session, Mapping[str, list[Row]]]]:
    """62 to 93 visits in each of the months of 2024 but for March and August; ``day`` declares eight years."""
    folder = tmp_path_factory.mktemp("visits")
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, day DATE NOT NULL, age INTEGER NOT NULL,"
                           " sex TEXT NOT NULL)")  # fmt: skip
        connection.execute("""
            INSERT INTO visit SELECT row_number() OVER () AS id, day, id % 80, CASE WHEN id % 3 = 0 THEN 'F' ELSE 'M' END
            FROM (SELECT i AS id, DATE '2024-01-01' + (i % 366)::INTEGER AS day FROM range(366 * 5) AS t(i))
            WHERE month(day) NOT IN (3, 8) AND id % 2 = 0""")
        truth = {sql: connection.execute(sql).fetchall() for sql in ASKED}
    delta = "" if request.param == "pure" else "delta: 1e-6, "
    (folder / "policy.yaml").write_text(POLICY.format(accounting=request.param, delta=delta))
    proxy = Proxy.open(folder / "policy.yaml")
    session = proxy.session()
    session.execute("SET dpsql.reuse = off")
    session.execute("SET dpsql.intervals = on")
    yield session, truth
    proxy.close()


Visits = tuple[Session, Mapping[str, list[Row]]]


@pytest.mark.spread
@pytest.mark.parametrize("sql", ASKED)
def test_without_noise_it_is_the_engines_own_answer(visits: Visits, sql: str) -> None:
    session, truth = visits
    session.execute("SET dpsql.epsilon = 300")
    session.execute("SET dpsql.intervals = off")
    try:
        rows = session.execute(sql).rows
    finally:
        session.execute("RESET dpsql.epsilon")
        session.execute("SET dpsql.intervals = on")
    assert len(rows) == len(truth[sql])
    for row, expected in zip(rows, truth[sql], strict=True):
        for cell, value in zip(row, expected, strict=True):
            assert (
                cell == value
                if isinstance(value, str | None)
                else abs(float(str(cell)) - float(value)) < 0.002 * float(value) + 0.05
            )


@pytest.mark.spread
@pytest.mark.parametrize("number", [0, 1, 2])
def test_noise_is_told(visits: Visits, number: int) -> None:
    """Months of about 76 visits, ten of twelve; 84 more are declared and empty."""
    session, truth = visits
    sql = ASKED[number]
    held = cells = 0
    off: dict[int, list[float]] = {at: [] for at in range(len(truth[sql][0]))}
    for _ in range(20):
        (row,) = session.execute(sql).rows
        for at, value in enumerate(truth[sql][0]):
            shown, low, high = (float(str(cell)) for cell in row[3 * at : 3 * at + 3])
            assert low <= shown <= high
            cells += 1
            held += low - 0.1 <= float(value) <= high + 0.1
            off[at].append(shown / float(value) - 1)
    assert held / cells >= 0.9, (held, cells)
    for errors in off.values():
        # The median of twenty has a standard error of its own, of 1.25 standard deviations by √20.
        chance = 2 * 1.25 * statistics.pstdev(errors) / len(errors) ** 0.5
        assert abs(statistics.median(errors)) < 0.25 + chance, off


def test_how_many_groups_there_are_is_said_to_be_an_estimate(visits: Visits) -> None:
    session, _ = visits
    session.execute("SET dpsql.epsilon = 0.05")
    try:
        notices = session.execute(ASKED[0]).notices
    finally:
        session.execute("RESET dpsql.epsilon")
    assert any(
        "have rows is estimated" in note and "averages over them are sums over that number" in note for note in notices
    )


def test_sessions_may_count_all_groups(visits: Visits) -> None:
    session, _ = visits
    session.execute("SET dpsql.empty_groups = show")
    try:
        assert session.execute(ASKED[0]).rows[0][3] == 96
    finally:
        session.execute("RESET dpsql.empty_groups")


RUNNING = "SELECT DATE_TRUNC('month', day) AS m, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', day)) AS r FROM visit"


@pytest.mark.parametrize(("epsilon", "months"), [("0.25", {11, 12, 13, 14}), ("300", {10})])
def test_running_sums_have_the_groups_of_their_differences(
    visits: tuple[Session, Mapping[str, list[Row]]], epsilon: str, months: set[int]
) -> None:
    """The noise of a group is that of a difference of running sums, not that of what is measured for them."""
    session, _ = visits
    session.execute(f"SET dpsql.epsilon = {epsilon}")
    try:
        assert len(session.execute(f"{RUNNING} GROUP BY 1").rows) in months
    finally:
        session.execute("RESET dpsql.epsilon")
