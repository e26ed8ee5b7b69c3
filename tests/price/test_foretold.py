"""Errors that depend on the data are foretold from what was released, else said to be guesses, and never refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dpsql
from tests.new_databases import new_database

PEOPLE = 5_000


@pytest.fixture(params=["zcdp", "pure"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dpsql.Connection]:
    """Wages lie between 2,000 and 4,000 of a range up to a million; x and y go together."""
    with new_database(tmp_path / "people.duckdb") as database:
        database.execute(
            f"CREATE TABLE person AS SELECT i AS id, 2000 + i % 2000 AS wage, i % 100 AS x, (i % 100 + i % 7) AS y,"
            f" i % 100 + 2 * (i * 37 // 100 % 100) AS z, i % 2 AS half FROM range({PEOPLE}) t(i)"
        )
        database.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
    delta = "accounting: pure" if request.param == "pure" else "delta: 1e-6"
    (tmp_path / "policy.yaml").write_text(
        f"database: duckdb:people.duckdb\nledger: sqlite:ledger\nprivacy_unit: person.id\n"
        f"budget: {{epsilon: 100000, {delta}}}\nstatement: {{epsilon: 1, max_epsilon: 1}}\n"
        "tables: {person: {columns: {id: {}, wage: {range: [0, 1000000]}, x: {range: [0, 100]}, y: {range: [0, 200]}, z: {range: [0, 300]},\n"
        "  half: {values: [0, 1]}}}}\n"
    )
    with dpsql.connect(tmp_path / "policy.yaml") as connected:
        yield connected


ASKED = [
    ("SELECT MEDIAN(wage) AS m FROM person", "500"),
    ("SELECT CORR(x, y) AS c FROM person", "0.0001"),
    ("SELECT STDDEV(wage) AS d FROM person", "50"),
    ("SELECT COUNT(*) FILTER (WHERE x < 50) * 1.0 / COUNT(*) AS share FROM person", "0.0001"),
]


@pytest.mark.spread
@pytest.mark.parametrize(("sql", "error"), ASKED)
def test_a_guess_refuses_nothing_and_is_said_to_be_one(connection: dpsql.Connection, sql: str, error: str) -> None:
    connection.execute(f"SET dpsql.target_error = {error}")
    cursor = connection.execute(sql)
    said = "\n".join(cursor.notices)
    assert "depends on the data: it is foretold as in a group of 1,000 people" in said
    assert f"an error of {error}" in said
    assert "the error bars are now: " in said
    margin = cursor.margins[0][0]
    assert margin is not None
    assert f"{margin:.3g}" in said


@pytest.mark.quick
def test_what_the_noise_alone_makes_impossible_is_refused(connection: dpsql.Connection) -> None:
    connection.execute("SET dpsql.target_error = 0.01")
    with pytest.raises(dpsql.DataError, match="more than the owner allows"):
        connection.execute("SELECT COUNT(*) FROM person")


@pytest.mark.spread
@pytest.mark.parametrize(
    "sql",
    ["SELECT MEDIAN(wage) AS m FROM person", "SELECT CORR(x, z) AS c FROM person", "SELECT STDDEV(x) AS d FROM person"],
)
def test_after_an_answer_the_next_is_foretold_from_it(connection: dpsql.Connection, sql: str) -> None:
    """Within twice of what it then is, where the guess may be a hundred times away. The numbers lie away from the ends
    of what they may be: there an interval is cut, to a margin of nothing by chance."""
    first = connection.execute(sql).margins[0][0]
    assert first is not None
    connection.execute(f"SET dpsql.target_error = {first * 4:.9f}")
    foretold = connection.execute(f"EXPLAIN {sql}").notices
    assert any("foretold from what was released of these groups before" in note for note in foretold)
    connection.execute("SET dpsql.reuse = off")
    cursor = connection.execute(sql)
    margin = cursor.margins[0][0]
    assert margin is not None
    assert first / 4 < margin < 12 * first
    assert cursor.epsilon < 1
