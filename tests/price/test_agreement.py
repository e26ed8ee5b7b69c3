"""EXPLAIN foretells the errors of groupings that are made to agree, and counts the groups that are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpsql
from tests.inference.test_undeclared_cells import write

AGREEING = [
    "SELECT region, sex, COUNT(*) AS n FROM person GROUP BY ROLLUP (region, sex)",
    "SELECT region, sex, COUNT(*) AS n FROM person GROUP BY CUBE (region, sex)",
    "SELECT sex, smoker, SUM(age) AS n FROM person GROUP BY CUBE (sex, smoker)",
    "SELECT sex, smoker, kind, COUNT(*) AS n FROM person GROUP BY ROLLUP (sex, smoker, kind)",
    "SELECT region, COUNT(*) AS n FROM person GROUP BY region UNION ALL SELECT NULL, COUNT(*) FROM person",
    "SELECT COUNT(*) AS n, (SELECT COUNT(*) FROM person WHERE smoker) AS t FROM person",
]


@pytest.fixture(params=["zcdp", "pure"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> dpsql.Connection:
    connected = dpsql.connect(write(tmp_path, request.param))
    connected.execute("SET dpsql.empty_groups = show")
    return connected


@pytest.mark.parametrize("sql", AGREEING)
def test_the_widest_bar_is_the_one_that_was_foretold(connection: dpsql.Connection, sql: str) -> None:
    told = connection.explain(sql).expected
    answer = connection.execute(sql)._last()
    at = [column.name for column in answer.columns].index("n")
    # A number that was moved to where none is below 0 is not in the middle of its interval.
    ends = zip((row[at] for row in answer.lows), (row[at] for row in answer.highs), strict=True)
    came = max((high - low) / 2 for low, high in ends if low is not None and high is not None)
    assert told[at] == pytest.approx(came, rel=0.02)


def test_numbers_that_need_not_agree_are_foretold_apart(connection: dpsql.Connection) -> None:
    sql = "SELECT sex, smoker, COUNT(*) AS n FROM person GROUP BY CUBE (sex, smoker)"
    together = connection.explain(sql).expected[2]
    connection.execute("SET dpsql.consistent = off")
    apart = connection.explain(sql).expected[2]
    assert together is not None
    assert apart is not None
    assert apart > 1.2 * together


def test_what_is_shown_already_is_a_measurement_of_what_is_made_of_it(connection: dpsql.Connection) -> None:
    connection.execute("SELECT sex, kind, COUNT(*) AS n FROM person GROUP BY ROLLUP (sex, kind)")
    sql = "SELECT sex, kind, COUNT(*) AS n FROM person GROUP BY CUBE (sex, kind)"
    told = connection.explain(sql).expected[2]
    came = max(row[2] for row in connection.execute(sql).margins if isinstance(row[2], float))
    assert told == pytest.approx(came, rel=0.1)


def test_the_cell_of_undeclared_values_is_no_group(connection: dpsql.Connection) -> None:
    lines = connection.explain("SELECT reason, COUNT(*) FROM visit GROUP BY ROLLUP (reason)").lines
    assert any(line.startswith("Groups by reason: 2 declared groups") for line in lines)
