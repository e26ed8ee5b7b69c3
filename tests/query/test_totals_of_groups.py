"""Totals of groups: which finer groups a statement does not need, and that nothing it needs is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import sqlglot

from dpsql.proxy import Proxy, Session
from rewriter.declared import BIGINT, DATE, INTEGER, TEXT, Catalog, Column, Table
from rewriter.query import canonical

CATALOG = Catalog(
    {
        "visit": Table(
            "visit",
            {
                "id": Column("id", INTEGER, unique=True),
                "day": Column("day", DATE),
                "sex": Column("sex", TEXT),
                "n": Column("n", BIGINT),
            },
        )
    },
    ("visit", "id"),
)
DAILY = "(SELECT day, sex, COUNT(*) AS c, SUM(n) AS s, MAX(n) AS m FROM visit GROUP BY day, sex) AS x"


def coarser(sql: str) -> str:
    tree = sqlglot.parse_one(sql, read="postgres")
    return canonical(tree, CATALOG)[0].sql("postgres")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sql", "inner"),
    [
        (f"SELECT SUM(c) FROM {DAILY}", "SELECT COUNT(*) AS c FROM visit"),
        (
            f"SELECT sex, SUM(s) / SUM(c) AS a FROM {DAILY} GROUP BY sex",
            "SELECT visit.sex, COUNT(*) AS c, SUM(visit.n) AS s FROM visit GROUP BY visit.sex",
        ),
        (f"SELECT MAX(m) FROM {DAILY}", "SELECT MAX(visit.n) AS m FROM visit"),
        (
            f"SELECT SUM(COALESCE(s, 0)) FROM {DAILY} WHERE day > '2024-01-31'",
            "SELECT SUM(visit.n) AS s FROM visit WHERE visit.day > '2024-01-31'",
        ),
        (
            f"SELECT SUM(SUM(c)) OVER (ORDER BY day) AS r FROM {DAILY} GROUP BY day",
            "SELECT visit.day, COUNT(*) AS c FROM visit GROUP BY visit.day",
        ),
    ],
)
def test_groups_that_are_only_added_up_are_not_asked_for(sql: str, inner: str) -> None:
    assert f"FROM ({inner}) AS x" in coarser(sql)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT SUM(c), COUNT(*) FROM {DAILY}",
        f"SELECT AVG(c) FROM {DAILY}",
        f"SELECT SUM(c) FROM {DAILY} WHERE c > 5",
        f"SELECT SUM(DISTINCT c) FROM {DAILY}",
        f"SELECT MAX(c) FROM {DAILY}",
        f"SELECT SUM(m) FROM {DAILY}",
        f"SELECT MAX(COALESCE(m, 0)) FROM {DAILY}",
        f"SELECT SUM(c + 1) FROM {DAILY}",
        f"SELECT day, c FROM {DAILY}",
        f"SELECT SUM(c) OVER () AS t FROM {DAILY}",
        "SELECT SUM(c) FROM (SELECT day, COUNT(*) AS c FROM visit GROUP BY day HAVING COUNT(*) > 5) x",
        "SELECT SUM(c) FROM (SELECT day, COUNT(*) AS c FROM visit GROUP BY day ORDER BY day LIMIT 5) x",
        "SELECT SUM(c) FROM (SELECT day, COUNT(DISTINCT n) AS c FROM visit GROUP BY day) x",
        "SELECT SUM(c) FROM (SELECT day, COUNT(*) AS c FROM visit GROUP BY ROLLUP (day)) x",
        "SELECT MAX(c) FROM (SELECT id, MAX(n) AS c FROM visit GROUP BY id) x",
        "SELECT SUM(c) FROM (SELECT day, COUNT(*) AS c FROM visit GROUP BY day) x JOIN visit ON TRUE",
    ],
)
def test_groups_of_which_more_is_asked_stay(sql: str) -> None:
    assert "GROUP BY" in coarser(sql)


POLICY = """
database: duckdb:visits.duckdb
ledger: sqlite:visits.ledger
privacy_unit: visit.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}
statement: {epsilon: 0.1, max_epsilon: 10}
tables: {visit: {columns: {id: {}, day: {range: [2024-01-01, 2024-12-30]}, n: {range: [0, 10]}}}}
"""


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """20 people on each of 365 days, and 500 on a day that is not declared."""
    folder: Path = tmp_path_factory.mktemp("visits")
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, day DATE NOT NULL, n INTEGER NOT NULL)")
        connection.execute(
            "INSERT INTO visit SELECT i, DATE '2024-01-01' + (i % 365)::INTEGER, 5 FROM range(7300) t(i)"
        )
        connection.execute("INSERT INTO visit SELECT 7300 + i, DATE '1999-01-01', 5 FROM range(500) t(i)")
    (folder / "policy.yaml").write_text(POLICY)
    proxy = Proxy.open(folder / "policy.yaml")
    session = proxy.session()
    session.execute("SET dpsql.reuse = off")
    session.execute("SET dpsql.intervals = on")
    yield session
    proxy.close()


PER_DAY = "SELECT day, COUNT(*) AS c, SUM(n) AS s FROM visit GROUP BY day"


def test_a_total_of_groups_has_the_noise_of_one_number_and_the_rows_of_no_group(visits: Session) -> None:
    rows = [visits.execute(f"SELECT SUM(c) FROM ({PER_DAY}) AS x").rows[0] for _ in range(20)]
    assert all(abs(total - 7_800) < 6 * 10 for total, _, _ in rows), "the noise of 365 groups has a deviation of 190"
    assert all(high - low < 50 for _, low, high in rows)


@pytest.mark.parametrize(
    ("sql", "totals"),
    [
        (f"SELECT SUM(c) AS t, COUNT(*) AS n FROM {DAILY}", 1),
        (f"SELECT SUM(c) / COUNT(*) AS m, AVG(s) AS a, SUM(s) AS t FROM {DAILY} WHERE sex = 'f'", 2),
        (f"SELECT SUM(c) AS t, MAX(c) AS m, COUNT(*) AS n FROM {DAILY}", 0),  # the largest of the groups that are shown
        (f"SELECT SUM(c) AS t, COUNT(*) AS n FROM {DAILY} WHERE c > 10", 0),
        (f"SELECT SUM(c) AS t, COUNT(*) AS n FROM {DAILY} GROUP BY sex", 0),
        (f"SELECT SUM(c) FILTER (WHERE sex = 'f') AS t, COUNT(*) AS n FROM {DAILY}", 0),
        (f"SELECT SUM(c * c) AS t, COUNT(*) AS n FROM {DAILY}", 0),
    ],
)
def test_totals_beside_numbers_of_groups_are_asked_apart(sql: str, totals: int) -> None:
    found = sqlglot.parse_one(coarser(sql), read="postgres")
    assert len(list(found.find_all(sqlglot.exp.Subquery))) == 1 + 2 * totals
    assert coarser(sql).count("GROUP BY visit.day") == 1


def test_a_total_beside_the_number_of_groups_has_less_noise_than_the_groups_together(visits: Session) -> None:
    for _ in range(10):
        [(total, low, high, count, *_)] = visits.execute(f"SELECT SUM(c), COUNT(*) FROM ({PER_DAY}) AS x").rows
        assert abs(total - 7_800) < 6 * 30
        assert high - low < 150
        assert 0 < count <= 366


@pytest.mark.campaign
def test_bars_of_totals_beside_numbers_of_groups_hold_the_truth(visits: Session) -> None:
    times, held = 200, 0
    for _ in range(times):
        [(_, low, high, *_)] = visits.execute(f"SELECT SUM(c), COUNT(*) FROM ({PER_DAY}) AS x").rows
        held += low <= 7_800 <= high
    assert held >= 0.9 * times


@pytest.mark.campaign
def test_bars_of_totals_of_groups_hold_the_truth(visits: Session) -> None:
    times, held = 400, 0
    for _ in range(times):
        [(_, *count_ends, _, low, high)] = visits.execute(f"SELECT SUM(c), SUM(s) FROM ({PER_DAY}) AS x").rows
        held += (count_ends[0] <= 7_800 <= count_ends[1]) + (low <= 39_000 <= high)
    assert 0.93 <= held / (2 * times) <= 0.98
