"""Doubles that are nearly 0 make no engine raise: an error would tell of a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.properties.planted import case

SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY)",
    "INSERT INTO person VALUES (1), (2), (3)",
    "CREATE TABLE visit (pid INTEGER, x DOUBLE PRECISION)",
    "INSERT INTO visit VALUES (1, 5e-324), (1, 5e-324), (2, -5e-324), (2, 1e-310), (2, 7), (3, 6), (3, 9)",
]
TABLES = """
  person: {columns: {id: {}}}
  visit: {unit: pid -> person.id, max_rows: 3, columns: {pid: {}, x: {range: [0, 10]}}}
"""


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize("middle", ["MEDIAN(x)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"])
def test_a_person_s_median_of_nearly_nothing_is_nearly_nothing(tmp_path: Path, engine: str, middle: str) -> None:
    with case(tmp_path, SETUP, TABLES, engine=engine) as session:
        ((found,),) = session.execute(
            f"SELECT AVG(m) FROM (SELECT pid, {middle} AS m FROM visit GROUP BY pid) AS t"
        ).rows
        ((blocks,),) = session.execute(f"SELECT dpsql.over_blocks({middle}, blocks => 2) FROM visit").rows
    assert found == pytest.approx(2.5, abs=1e-3)
    assert 0 <= float(blocks) <= 10  # type: ignore[arg-type]
