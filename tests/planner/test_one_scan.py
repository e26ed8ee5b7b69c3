"""Which plans share a scan: those over the same rows of the same people, by keys of one of them, and no others."""

from __future__ import annotations

import pytest

from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.planner.one_scan import OneScan, one_scans
from rewriter.planner.plan_release import plan
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.golden.pairs import clinic

pytestmark = pytest.mark.quick

VISITS = "FROM visit JOIN patient ON patient_id = patient.id"


def scans(sql: str, norm: Norm = Norm.L2) -> tuple[OneScan, ...]:
    statement = parse(sql)
    assert isinstance(statement, Select)
    groupings = split(statement.tree, clinic(), DUCKDB).groupings
    return one_scans([plan(one, norm, DUCKDB) for one in groupings], DUCKDB)


@pytest.mark.parametrize(
    ("sql", "plans"),
    [
        (f"SELECT reason, smoker, COUNT(*) {VISITS} GROUP BY ROLLUP (1, 2)", 3),
        (f"SELECT reason, smoker, COUNT(*) {VISITS} GROUP BY CUBE (1, 2)", 4),
        (f"SELECT reason, smoker, COUNT(*) {VISITS} GROUP BY GROUPING SETS ((1, 2), ())", 2),
        (
            f"SELECT reason, smoker, COUNT(*) {VISITS} GROUP BY 1, 2 UNION ALL SELECT reason, NULL, COUNT(*) {VISITS}"
            f" GROUP BY 1 UNION ALL SELECT NULL, NULL, COUNT(*) {VISITS}",
            3,
        ),
    ],
)
def test_levels_share_a_scan(sql: str, plans: int) -> None:
    [scan] = scans(sql)
    assert len(scan.plans) == plans
    assert scan.sql.count('"visit"') == 1
    assert [len(one.keys) for one in scan.plans] == sorted((len(one.keys) for one in scan.plans), reverse=True)
    assert scan.identity != scans(sql.replace("COUNT(*)", "SUM(cost)"))[0].identity


def test_levels_share_a_scan_where_people_are_found_by_way_of_another_table() -> None:
    [scan] = scans(
        "SELECT dose > 1, dose > 5, COUNT(*) FROM prescription GROUP BY 1, 2"
        " UNION ALL SELECT dose > 1, NULL, COUNT(*) FROM prescription GROUP BY 1"
    )
    assert len(scan.plans) == 2
    assert scan.sql.count('"prescription"') == 1


@pytest.mark.parametrize(
    "sql",
    [
        # One release.
        f"SELECT reason, COUNT(*) {VISITS} GROUP BY 1",
        # Other rows.
        f"SELECT reason, COUNT(*) {VISITS} GROUP BY 1 UNION ALL SELECT NULL, COUNT(*) {VISITS} WHERE cost > 10",
        # No grouping has the keys of the other.
        f"SELECT reason, smoker, COUNT(*) {VISITS} GROUP BY GROUPING SETS (reason, smoker)",
    ],
)
def test_others_are_read_apart(sql: str) -> None:
    assert scans(sql) == ()
