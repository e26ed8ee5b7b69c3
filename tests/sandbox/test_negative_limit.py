"""LIMIT and OFFSET by released numbers: PostgreSQL's error where the released number is negative, and rows otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.properties.planted import case

SETUP = [
    "CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT)",
    "INSERT INTO person SELECT i, CASE i % 2 WHEN 0 THEN 'f' ELSE 'm' END FROM generate_series(1, 100) AS t(i)",
]
TABLES = "  person: {columns: {id: {}, sex: {values: [f, m]}}}\n"
GROUPS = "SELECT sex, SQRT(COUNT(*)) FROM person GROUP BY sex ORDER BY sex"


@pytest.fixture
def exact(tmp_path: Path) -> Iterator[Session]:
    with case(tmp_path / "exact", SETUP, TABLES) as session:
        yield session


@pytest.mark.parametrize("part", ["LIMIT {}", "LIMIT 1 OFFSET {}", "OFFSET {} ROWS FETCH FIRST 1 ROW ONLY"])
@pytest.mark.parametrize("number", ["COUNT(*) - 1e5", "COUNT(*) - 101", "0 * COUNT(*) - 0.6"])
def test_a_negative_released_number_is_refused(exact: Session, part: str, number: str) -> None:
    tried = f"{GROUPS} {part.format(f'(SELECT {number} FROM person)')}"
    with pytest.raises(Error, match="must not be negative") as raised:
        exact.execute(tried)
    assert raised.value.sqlstate == "2201W"
    assert not exact.execute(
        tried.replace("(SELECT ", "(SELECT GREATEST(0, ").replace(" FROM person)", ") FROM person)")
    ).rows[1:]


def test_a_number_that_rounds_to_none_is_none(exact: Session) -> None:
    assert not exact.execute(f"{GROUPS} LIMIT (SELECT COUNT(*) - 100.4 FROM person)").rows


def test_bars_are_found_where_other_noise_would_have_made_it_negative(tmp_path: Path) -> None:
    with case(tmp_path / "noisy", SETUP, TABLES, epsilon=0.5, noise=True) as session:
        ((released,),) = session.execute("SELECT COUNT(*) FROM person").rows
        session.execute("SET dpsql.intervals = on")
        session.execute("SET dpsql.consistent = off")
        limit = f"LIMIT (SELECT COUNT(*) - {int(str(released)) - 1} FROM person)"
        assert len(session.execute(f"SELECT sex, SQRT(ABS(COUNT(*))) FROM person GROUP BY sex {limit}").rows) == 1
