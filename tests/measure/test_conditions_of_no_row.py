"""Conditions of which a statement itself says that no row meets them: they are answered, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.properties.planted import case

SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, t INTEGER, c TEXT, x DECIMAL(9, 2) NOT NULL)",
    "INSERT INTO person SELECT i, i % 5, 'a', i FROM generate_series(1, 100) AS s(i)",
]
TABLES = "\n  person: {columns: {id: {}, t: {values: [0, 1, 2, 3, 4]}, c: {}, x: {range: [0, 100]}}}\n"
NOBODY = "AVG(CASE WHEN t IS NULL THEN x END)"


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    "asked",
    [
        f"{NOBODY} FILTER (WHERE c = 'a'), {NOBODY} FILTER (WHERE c <> 'b'), {NOBODY}",
        f"{NOBODY} FILTER (WHERE c = 'a'), {NOBODY} FILTER (WHERE x > 3), COUNT(*)",
        "SUM(x) FILTER (WHERE t IS NULL AND c = 'a'), AVG(x) FILTER (WHERE t IS NULL), COUNT(*) FILTER (WHERE t IS NULL)",
    ],
)
def test_they_are_answered(tmp_path: Path, engine: str, asked: str) -> None:
    with case(tmp_path, SETUP, TABLES, engine=engine) as session:
        answer = session.execute(f"SELECT t > 1, {asked} FROM person WHERE t IS NOT NULL GROUP BY 1 ORDER BY 1")
    assert [row[0] for row in answer.rows] == [False, True]
    for row in answer.rows:
        assert all(value in (None, 0, 40, 60) for value in row[1:]), row
