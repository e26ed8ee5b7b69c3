"""Subqueries that compute with aggregates are expressions over subqueries for one aggregate each, within bounds."""

import pytest
import sqlglot
from sqlglot import exp

from rewriter.split.correlated_values import apart


def subquery(sql: str) -> exp.Subquery:
    found = sqlglot.parse_one(f"({sql})", read="postgres")
    assert isinstance(found, exp.Subquery)
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT t.x FROM t WHERE t.k = r.k",
        "SELECT COUNT(*) FROM t WHERE t.k = r.k",  # it is one aggregate already
        "SELECT COUNT(*) + t.x FROM t WHERE t.k = r.k",
        "SELECT COUNT(*) + 1 FROM t WHERE t.k = r.k GROUP BY t.x",
        "SELECT COUNT(*) + 1 FROM t WHERE t.k = r.k HAVING COUNT(*) > 1",
        "SELECT COUNT(*) + 1 FROM t WHERE t.k = r.k LIMIT 0",
        "SELECT COUNT(*) FILTER (WHERE t.x > 1) + 1 FROM t WHERE t.k = r.k",
        "SELECT COUNT(*), 1 FROM t",
        "SELECT COUNT(*) + 1",
        "SELECT ROW_NUMBER() OVER ()",
        "SELECT GENERATE_SERIES(1, 3)",
        "SELECT 1 WHERE r.x > 1",
    ],
)
def test_what_has_another_number_of_rows_or_reads_them_stays(sql: str) -> None:
    assert apart(subquery(sql)) is None


def test_copies_are_bounded() -> None:
    """Each aggregate has a copy of FROM and WHERE: a text of 60 KB would become gigabytes."""
    tests = " AND ".join(["t.x > 1"] * 100)
    few, many = (" + ".join(["COUNT(*)"] * number) for number in (3, 1000))
    assert apart(subquery(f"SELECT {few} FROM t WHERE t.k = r.k AND {tests}")) is not None
    assert apart(subquery(f"SELECT {many} FROM t WHERE t.k = r.k AND {tests}")) is None
