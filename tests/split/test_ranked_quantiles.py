"""Percentiles spelled by ranks are those of all rows that are numbered, or they are refused."""

from __future__ import annotations

import random

import duckdb
import pytest
import sqlglot

from rewriter.split.ranked_quantiles import plain_ranks

HEAD = "SELECT MIN(CASE WHEN n < 0.5 * m THEN 99 ELSE x END) AS half"
RANKED = "ROW_NUMBER() OVER (ORDER BY x) AS n"


@pytest.mark.parametrize(
    "rest",
    [
        f"FROM (SELECT x, {RANKED}, COUNT(*) OVER () AS m FROM t) AS r",
        f"FROM (SELECT x, {RANKED}, (SELECT COUNT(*) FROM t WHERE y > 1) AS m FROM t WHERE y > 1) AS r",
        "FROM (SELECT g, x, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x) AS n, COUNT(*) OVER (PARTITION BY g) AS m"
        " FROM t) AS r GROUP BY g",
        "FROM (SELECT g, x, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x) AS n FROM t) AS r"
        " JOIN (SELECT g, COUNT(*) AS m FROM t GROUP BY g) AS c ON r.g = c.g GROUP BY r.g",
    ],
)
def test_a_rank_over_all_rows_is_a_percentile(rest: str) -> None:
    found, notes = plain_ranks(sqlglot.parse_one(f"{HEAD} {rest}", read="postgres"))  # type: ignore[arg-type]
    assert "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x)" in found.sql("postgres")
    assert "OVER" not in found.sql("postgres")
    assert notes


@pytest.mark.parametrize(
    "rest",
    [
        # the total of other rows
        f"FROM (SELECT x, {RANKED}, (SELECT COUNT(*) FROM t) AS m FROM t WHERE y > 1) AS r",
        f"FROM (SELECT x, {RANKED}, (SELECT COUNT(*) FROM u) AS m FROM t) AS r",
        f"FROM (SELECT x, {RANKED}, COUNT(y) OVER () AS m FROM t) AS r",
        f"FROM (SELECT x, {RANKED}, 100 AS m FROM t) AS r",
        # the rank of something else
        "FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY y) AS n, COUNT(*) OVER () AS m FROM t) AS r",
        "FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY x DESC) AS n, COUNT(*) OVER () AS m FROM t) AS r",
        "FROM (SELECT g, x, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x) AS n, COUNT(*) OVER () AS m FROM t) AS r",
        # ranks that are read elsewhere, too
        f"FROM (SELECT x, {RANKED}, COUNT(*) OVER () AS m FROM t) AS r WHERE n > 3",
        f", MAX(n) AS most FROM (SELECT x, {RANKED}, COUNT(*) OVER () AS m FROM t) AS r",
    ],
)
def test_what_is_no_percentile_is_left_as_it_is(rest: str) -> None:
    tree = sqlglot.parse_one(f"{HEAD} {rest}", read="postgres")
    found, notes = plain_ranks(tree)  # type: ignore[arg-type]
    assert found is tree
    assert not notes


NUMBERED = f"(SELECT x, {RANKED}, COUNT(*) OVER () AS m FROM t) AS r"
COUNTED = "(SELECT x, SUM(1) OVER (PARTITION BY 1 ORDER BY x ROWS UNBOUNDED PRECEDING) AS n, COUNT(*) OVER () AS m FROM t) AS r"
TILED = "(SELECT x, NTILE(10) OVER (ORDER BY x) AS n FROM t) AS r"
SHARED = "(SELECT x, CUME_DIST() OVER (ORDER BY x) AS n FROM t) AS r"
SPELLINGS = [
    f"SELECT MIN(CASE WHEN n >= 0.3 * m THEN x END) FROM {NUMBERED}",
    f"SELECT MIN(CASE WHEN n < 0.3 * m THEN 999999 ELSE x END) FROM {COUNTED}",
    f"SELECT MAX(CASE WHEN n <= m * 3 / 10 THEN x END) FROM {NUMBERED}",
    f"SELECT SUM(CASE WHEN n = CEIL(m * 0.3) THEN x ELSE 0 END) FROM {NUMBERED}",
    f"SELECT MIN(x) FILTER (WHERE n > 0.3 * m) FROM {COUNTED}",
    f"SELECT AVG(x) FROM {NUMBERED} WHERE n IN (FLOOR(m * 0.3), FLOOR(m * 0.3) + 1)",
    f"SELECT AVG(x) FROM {NUMBERED} WHERE n BETWEEN m * 0.3 AND m * 0.3 + 1",
    f"SELECT x FROM {COUNTED} WHERE n = FLOOR(m * 0.3) + 1",
    f"SELECT DISTINCT x FROM {COUNTED} WHERE (n = CAST(m * 0.3 AS INT) AND m > 7) OR (n = CAST(m * 0.3 AS INT) AND m <= 7)",
    f"SELECT 2 * AVG(x + 1) / 2 - 1 FROM {NUMBERED} WHERE n = CEIL(0.3 * m) ORDER BY 1",
    f"SELECT MAX(CASE WHEN n = 3 THEN x END) FROM {TILED}",
    f"SELECT MIN(x) FROM {SHARED} WHERE n >= 0.3",
    f"WITH r AS (SELECT x, {RANKED} FROM t) SELECT MAX(x) FROM (SELECT x, n, (SELECT COUNT(*) FROM r) AS m FROM r) AS s"
    " WHERE n <= 0.3 * m",
]


@pytest.mark.parametrize("sql", SPELLINGS)
def test_a_percentile_is_at_most_three_ranks_from_what_is_spelled(sql: str) -> None:
    tree = sqlglot.parse_one(sql, read="postgres")
    found, notes = plain_ranks(tree)  # type: ignore[arg-type]
    assert "PERCENTILE_DISC(0.3)" in found.sql("postgres")
    assert "OVER" not in found.sql("postgres")
    drawn = random.Random(sql)
    for size in (12, 47, 200, 233):
        values = sorted(drawn.randrange(10 * size) for _ in range(size))
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t AS SELECT UNNEST(?) AS x", [values])
            spelled = connection.execute(tree.sql("duckdb")).fetchall()[0][0]
            ours = connection.execute(found.sql("postgres")).fetchall()[0][0]
        (near,) = [place for place, value in enumerate(values) if value == ours][:1]
        beside = values[max(0, near - 3) : near + 4]
        assert beside[0] <= spelled <= beside[-1], (size, spelled, ours)
        assert len(notes) > 1 or spelled == ours


@pytest.mark.parametrize(
    "sql",
    [
        # what is chosen is not at a share of all rows
        f"SELECT AVG(x) FROM {NUMBERED} WHERE n = 3",
        f"SELECT AVG(x) FROM {NUMBERED} WHERE n <= 0.3 * m",
        f"SELECT MIN(x) FROM {NUMBERED} WHERE n <= 0.3 * m",
        f"SELECT MIN(x) FROM {NUMBERED} WHERE n = FLOOR(m / 100) * 30",
        f"SELECT SUM(x) FROM {NUMBERED} WHERE n IN (m * 3 / 10, m * 3 / 10 + 1)",
        f"SELECT AVG(x) FROM {NUMBERED} WHERE n = CEIL(m * 0.3) OR n = CEIL(m * 0.7)",
        f"SELECT AVG(x) FROM {NUMBERED} WHERE n = CEIL(m * 0.3) OFFSET 1",
        # of other rows, or another value
        f"SELECT MIN(CASE WHEN n >= 0.3 * m THEN x END) FROM {NUMBERED} WHERE x > 5",
        f"SELECT AVG(x) FROM {NUMBERED} WHERE n = CEIL(m * 0.3) AND x > 5",
        f"SELECT AVG(x + m) FROM {NUMBERED} WHERE n = CEIL(m * 0.3)",
        f"SELECT x FROM {NUMBERED} WHERE n IN (m * 3 / 10, m * 3 / 10 + 1)",
        # ties have a rank of their own
        "SELECT MIN(x) FROM (SELECT x, PERCENT_RANK() OVER (ORDER BY x) AS n FROM t) AS r WHERE n >= 0.3",
        f"SELECT MAX(x) FROM {SHARED} WHERE n <= 0.3",
        "SELECT MAX(CASE WHEN n = 50 THEN x END) FROM (SELECT x, NTILE(100) OVER (ORDER BY x) AS n FROM t) AS r",
        f"SELECT AVG(CASE WHEN n = 3 THEN x END) FROM {TILED}",
    ],
)
def test_what_keeps_other_rows_is_left_as_it_is(sql: str) -> None:
    tree = sqlglot.parse_one(sql, read="postgres")
    found, _ = plain_ranks(tree)  # type: ignore[arg-type]
    assert found is tree
