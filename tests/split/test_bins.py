"""People in written bins: the numbers are those of DuckDB, without noise, and no person counts once for each bin."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from dpsql.proxy import Proxy
from tests.doubles import beside_duckdb
from tests.split.test_spines import POLICY, SETUP

APART = "(VALUES ('low', 0, 20), ('mid', 20, 60.5), ('high', 60.5, 200)) AS b(name, low, high)"
TOGETHER = "(VALUES ('low', 0, 30), ('mid', 20, 60.5), ('high', 60.5, 200)) AS b(name, low, high)"
DATES = (
    "(VALUES ('x', DATE '2025-01-15', DATE '2025-03-01'), ('y', DATE '2025-03-02', DATE '2025-12-31')) AS b(n, f, t)"
)
UNION = "(SELECT 'low' AS name, 0 AS low, 20 AS High UNION ALL SELECT 'mid', 20, 60 UNION ALL SELECT 'none', 300, 400)"

ONCE = [
    f"SELECT b.name, COUNT(*), SUM(s.cost) FROM stay AS s JOIN {APART} ON s.cost >= b.low AND s.cost < b.high GROUP BY 1",
    f"SELECT b.name, COUNT(*), AVG(s.cost) FROM stay AS s, {APART} WHERE b.low < s.cost AND b.high >= s.cost GROUP BY 1",
    f"SELECT b.name, COUNT(s.id) FROM stay AS s LEFT JOIN {APART} ON s.cost >= b.low AND s.cost < b.high GROUP BY 1",
    f"SELECT b.name, COUNT(s.id) FROM {APART} LEFT JOIN stay AS s ON s.cost >= b.low AND s.cost < b.high GROUP BY 1",
    f"SELECT b.n, COUNT(*), COUNT(DISTINCT s.pid) FROM stay AS s, {DATES} WHERE s.begun BETWEEN b.f AND b.t GROUP BY 1",
    f"SELECT SUM(b.low) FROM stay AS s JOIN {APART} ON s.cost + 1 >= b.low AND s.cost + 1 < b.high AND s.id > 9",
    f"SELECT b.name, COUNT(*) FROM stay AS s JOIN {UNION} AS b ON s.cost >= b.low AND s.cost < b.high GROUP BY 1",
    f"WITH b AS {UNION} SELECT name, COUNT(*) FROM stay JOIN b ON low <= cost AND HIGH > cost GROUP BY name",
    "SELECT b.name, COUNT(*) FROM stay AS s, (VALUES ('a', 1, 1), ('b', 2, 9)) AS b(name, low, high)"
    " WHERE s.cost BETWEEN b.low AND b.high GROUP BY 1",
]
"""A row meets one bin."""
SEVERAL = [
    f"SELECT b.name, COUNT(*) FROM stay AS s JOIN {TOGETHER} ON s.cost >= b.low AND s.cost < b.high GROUP BY 1",
    f"SELECT b.name, COUNT(*) FROM stay AS s JOIN {APART} ON s.cost BETWEEN b.low AND b.high GROUP BY 1",
    f"SELECT b.name, COUNT(*) FROM stay AS s JOIN {APART} ON s.cost >= b.low AND s.id < b.high GROUP BY 1",
    "SELECT b.name, COUNT(*) FROM stay AS s, (VALUES ('a', 1, 1), ('b', 1, 9)) AS b(name, low, high)"
    " WHERE s.cost >= b.low AND s.cost < b.high GROUP BY 1",
    "SELECT b.name, COUNT(*) FROM stay AS s, (VALUES ('a', 9, 1), ('b', 1, 99)) AS b(name, low, high)"
    " WHERE s.cost >= b.low AND s.cost < b.high GROUP BY 1",
    "SELECT b.name, COUNT(*) FROM stay AS s, (VALUES ('a', 1, 50), ('b', 50, NULL)) AS b(name, low, high)"
    " WHERE s.cost >= b.low AND s.cost < b.high GROUP BY 1",
]
"""Bins that overlap, are empty, or have no end: rows meet as many as the text has."""


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, duckdb.DuckDBPyConnection]]:
    with beside_duckdb(tmp_path_factory.mktemp("ward"), POLICY, SETUP) as found:
        yield found


@pytest.mark.parametrize("sql", [*ONCE, *SEVERAL])
def test_bins_hold_what_the_database_has_in_them(ward: tuple[Proxy, duckdb.DuckDBPyConnection], sql: str) -> None:
    proxy, own = ward
    expected = [row for row in own.execute(sql).fetchall() if row[-1]]
    answer = [row for row in proxy.session().execute(sql).rows if row[-1]]
    for mine, theirs in zip(sorted(answer, key=str), sorted(expected, key=str), strict=True):
        assert mine[:-1] == theirs[:-1]
        assert float(mine[-1]) == pytest.approx(float(theirs[-1]))


@pytest.mark.parametrize(("sql", "once"), [*((sql, True) for sql in ONCE), *((sql, False) for sql in SEVERAL)])
def test_a_row_in_bins_that_are_apart_counts_once(
    ward: tuple[Proxy, duckdb.DuckDBPyConnection], sql: str, once: bool
) -> None:
    """Three rows of a person are three then, and else three for each bin."""
    notes = {note for one in ward[0].session().explain(sql).releases for note in one.plan.notes}
    assert ("each person counts with at most 3 rows (max_rows of stay)" in notes) == once
