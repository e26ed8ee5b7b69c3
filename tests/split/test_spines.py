"""People beside each row of a public list, by conditions of any kind: the numbers are those of DuckDB, without noise."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Proxy
from tests.doubles import beside_duckdb
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:ward.duckdb; ledger: sqlite:ward.ledger; privacy_unit: patient.id
budget: {epsilon: 100, delta: 1e-6}; statement: {epsilon: 1}
tables:
  phase: public
  patient: id
  stay(pid -> patient.id, max_rows: 3): id, begun 2025-01-01..2025-12-31, ended 2025-01-01..2026-12-31, cost 0..100
""")
SETUP = (
    "CREATE TABLE phase (name VARCHAR, low DATE, high DATE)",
    "INSERT INTO phase VALUES ('a', '2025-01-01', '2025-04-01'), ('a', '2025-01-01', '2025-04-01'),"
    " ('b', '2025-03-01', NULL), ('c', NULL, '2025-02-01'), ('d', '2024-01-01', '2024-02-01')",
    "CREATE TABLE patient (id INTEGER PRIMARY KEY)",
    "INSERT INTO patient SELECT range FROM range(60)",
    "CREATE TABLE stay (id INTEGER PRIMARY KEY, pid INTEGER NOT NULL REFERENCES patient (id), begun DATE NOT NULL,"
    " ended DATE, cost INTEGER)",
    "INSERT INTO stay SELECT range, range % 60, DATE '2025-01-01' + (7 * range % 360)::int,"
    " CASE WHEN range % 4 > 0 THEN DATE '2025-01-20' + (7 * range % 360)::int END,"
    " CASE WHEN range % 5 > 0 THEN range % 100 END FROM range(150)",
)
LATER = "COALESCE(s.begun >= p.low, TRUE) AND s.begun < COALESCE(p.high, DATE '2030-01-01')"
MONTHS = "FROM generate_series(TIMESTAMP '2025-01-01', TIMESTAMP '2025-06-01', INTERVAL '1 month') AS m(d)"


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, duckdb.DuckDBPyConnection]]:
    """A ward, and the same rows in a DuckDB of the test's own."""
    with beside_duckdb(tmp_path_factory.mktemp("ward"), POLICY, SETUP) as found:
        yield found


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT m.d, COUNT(s.id) AS n, COALESCE(SUM(s.cost), 0) AS c, COUNT(DISTINCT s.pid) AS p {MONTHS} LEFT JOIN"
        " stay AS s ON s.begun <= m.d AND (s.ended IS NULL OR s.ended > m.d) GROUP BY m.d ORDER BY m.d",
        f"SELECT p.low, p.high, COUNT(s.id) FROM phase AS p LEFT JOIN stay AS s ON {LATER} GROUP BY 1, 2 ORDER BY 1, 2",
        f"SELECT p.name, COUNT(s.id), SUM(s.cost) FROM phase AS p LEFT JOIN stay AS s ON {LATER}"
        " WHERE p.name <> 'd' GROUP BY 1 ORDER BY 1",
        "SELECT v.low, COUNT(s.id) FROM (VALUES (0, 20), (20, 60), (60, 200)) AS v(low, high)"
        " LEFT JOIN stay AS s ON s.cost >= v.low AND s.cost < v.high GROUP BY v.low ORDER BY 1",
        "SELECT v.x, COUNT(s.id) FROM (VALUES (10), (10), (50)) AS v(x) LEFT JOIN stay AS s ON s.cost > v.x"
        " GROUP BY v.x ORDER BY 1",
        "SELECT v.day, v.x, COUNT(s.id) FROM (VALUES (DATE '2025-01-08', 0), (DATE '2025-01-08', 50)) AS v(day, x)"
        " LEFT JOIN stay AS s ON s.begun = v.day AND s.cost >= v.x GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT COUNT(DISTINCT p.name), COUNT(s.id) FROM phase AS p LEFT JOIN stay AS s ON s.begun = p.low",
        # written texts have no ends, and no place on a line
        "SELECT v.kind, COUNT(s.id) FROM (VALUES ('dear'), ('cheap'), ('free')) AS v(kind) LEFT JOIN stay AS s"
        " ON CASE WHEN s.cost > 50 THEN 'dear' ELSE 'cheap' END = v.kind GROUP BY v.kind ORDER BY LENGTH(v.kind), 1",
        # the list's values are those that it shows, whatever rows it is made of, in any order
        "SELECT v.m, COUNT(s.id) FROM (VALUES (DATE '2025-03-01'), (DATE '2025-01-01'), (DATE '2025-02-01')) AS v(m)"
        " LEFT JOIN stay AS s ON DATE_TRUNC('month', s.begun) = v.m GROUP BY v.m ORDER BY 1",
        "SELECT v.m, COUNT(s.id) FROM (VALUES (DATE '2025-01-01', DATE '2025-05-01'), (DATE '2025-02-01', DATE '2025-06-01'))"
        " AS v(a, m) LEFT JOIN stay AS s ON DATE_TRUNC('month', s.begun) = v.m GROUP BY v.m ORDER BY 1",
        f"SELECT x.m, COUNT(s.id) FROM (SELECT DISTINCT m.d + INTERVAL '2 months' AS m {MONTHS}) AS x"
        " LEFT JOIN stay AS s ON DATE_TRUNC('month', s.begun) = x.m GROUP BY x.m ORDER BY 1",
        f"SELECT x.m, COUNT(s.id) FROM (SELECT m.d AS m {MONTHS} UNION SELECT TIMESTAMP '2025-09-01') AS x"
        " LEFT JOIN stay AS s ON DATE_TRUNC('month', s.begun) = x.m GROUP BY x.m ORDER BY 1",
        f"SELECT x.m, COUNT(s.id) FROM (SELECT DISTINCT m.d + INTERVAL '3 days' AS m {MONTHS}) AS x"
        " LEFT JOIN stay AS s ON s.begun >= x.m AND s.begun < x.m + INTERVAL '1 month' GROUP BY x.m ORDER BY 1",
        # means over several rows of the list, of which one may have nobody
        f"SELECT p.name, AVG(s.cost), COUNT(s.id), AVG(s.ended - s.begun) FROM phase AS p LEFT JOIN stay AS s ON {LATER}"
        " GROUP BY 1 ORDER BY 1",
        # a number of all people beside each row
        f"SELECT m.d, COUNT(s.id), (SELECT COUNT(*) FROM stay AS t WHERE t.cost > 10) AS n {MONTHS} LEFT JOIN stay AS s"
        " ON DATE_TRUNC('month', s.begun) = m.d GROUP BY m.d ORDER BY 1",
        # a key that differs for each value of the list
        f"SELECT m.d::date AS d, COUNT(DISTINCT s.pid), AVG(s.cost) {MONTHS} LEFT JOIN stay AS s"
        " ON DATE_TRUNC('month', s.begun) = m.d GROUP BY 1 ORDER BY 1",
        f"SELECT EXTRACT(MONTH FROM m.d)::int AS d, COUNT(DISTINCT s.pid) {MONTHS} LEFT JOIN stay AS s"
        " ON s.begun <= m.d AND s.ended > m.d GROUP BY EXTRACT(MONTH FROM m.d)::int ORDER BY 1",
    ],
)
def test_people_are_counted_beside_each_row_of_a_list(ward: tuple[Proxy, duckdb.DuckDBPyConnection], sql: str) -> None:
    proxy, own = ward
    found, expected = list(proxy.session().execute(sql).rows), own.execute(sql).fetchall()
    assert [[str(value or 0)[:10] for value in row] for row in found] == [
        [str(value or 0)[:10] for value in row] for row in expected
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(v.x), COUNT(s.id) FROM (VALUES (10), (50)) AS v(x) LEFT JOIN stay AS s ON s.cost > v.x",
        f"SELECT EXTRACT(YEAR FROM m.d), COUNT(DISTINCT s.pid) {MONTHS} LEFT JOIN stay AS s"
        " ON DATE_TRUNC('month', s.begun) = m.d GROUP BY 1",
        "SELECT v.x, COUNT(*) FROM (VALUES (10), (50)) AS v(x) LEFT JOIN stay AS s ON s.cost > v.x GROUP BY v.x",
        "SELECT COUNT(DISTINCT p.name), COUNT(s.id) FROM phase AS p LEFT JOIN stay AS s ON s.begun = p.low"
        " WHERE s.cost > 50",
        "SELECT p.name, COUNT(s.id) FROM phase AS p LEFT JOIN stay AS s"
        " ON s.begun > (SELECT MIN(q.low) FROM phase AS q WHERE q.high > p.low) GROUP BY 1",
    ],
)
def test_rows_of_a_list_that_nobody_matches_are_not_counted(
    ward: tuple[Proxy, duckdb.DuckDBPyConnection], sql: str
) -> None:
    with pytest.raises(Error, match="keeps rows that belong to nobody"):
        ward[0].session().execute(sql)
