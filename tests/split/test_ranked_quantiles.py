"""Percentiles spelled by ranks are those of all rows that are numbered, or they are refused."""

from __future__ import annotations

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
