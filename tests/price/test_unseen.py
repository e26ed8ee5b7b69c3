"""What a price cannot show is told before it is paid, and is so: by the intervals of groups of the sizes that are told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.proxy import Proxy, Session
from tests.new_databases import new_database

SIZES = {"a": 40, "b": 150, "c": 600, "d": 2_400, "e": 9_600}
POLICY = """
database: duckdb:visits.duckdb
ledger: sqlite:{accounting}.ledger
privacy_unit: visit.id
budget: {{epsilon: 1000000, {delta}accounting: {accounting}}}
statement: {{epsilon: 0.01, max_epsilon: 100}}
tables:
  visit:
    columns:
      id: {{}}
      ward: {{values: [a, b, c, d, e]}}
      age: {{range: [0, 100]}}
      name: {{}}
"""
AVERAGE = "SELECT ward, AVG(age) AS age FROM visit GROUP BY ward"
COUNTED = "SELECT ward, COUNT(*) AS n FROM visit GROUP BY ward"
ADDED = "SELECT ward, SUM(age) AS years FROM visit GROUP BY ward"
NAMED = "SELECT name, COUNT(*) AS n FROM visit GROUP BY name"


@pytest.fixture(params=["zcdp", "pure"])
def visits(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    wards = "".join(ward * size for ward, size in SIZES.items())
    with new_database(tmp_path / "visits.duckdb") as connection:
        connection.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, ward TEXT NOT NULL, age INTEGER, name TEXT)")
        connection.execute(
            f"INSERT INTO visit SELECT i, substr('{wards}', (i + 1)::INTEGER, 1), 50, 'n' || i % 9"
            f" FROM range({len(wards)}) AS t(i)"
        )
    delta = "" if request.param == "pure" else "delta: 1e-6, "
    (tmp_path / "policy.yaml").write_text(POLICY.format(accounting=request.param, delta=delta))
    proxy = Proxy.open(tmp_path / "policy.yaml")
    session = proxy.session()
    session.execute("SET dpsql.reuse = off")
    session.execute("SET dpsql.intervals = on")
    yield session
    proxy.close()


def test_groups_are_told_of_only_where_there_are_some(visits: Session) -> None:
    """And columns that have one name are told apart."""
    visits.execute("SET dpsql.epsilon = 0.0001")
    together = visits.explain("SELECT AVG(age), AVG(age + 1), SUM(age) / COUNT(*) FROM visit").unseen
    assert [note.split(" shows ")[0] for note in together] == [
        "at this price, avg (column 1)",
        "at this price, avg (column 2)",
        "at this price, ?column?",
    ]
    assert [note for note in together if "group" in note] == []
    by_ward = visits.explain("SELECT ward, AVG(age), SUM(age) / COUNT(*) FROM visit GROUP BY ward").unseen
    assert [note.split(" shows ")[0] for note in by_ward] == ["at this price, avg", "at this price, ?column?"]
    assert all("shows nothing in groups of fewer than" in note for note in by_ward)


def told(session: Session, sql: str, column: str) -> int | None:
    """The size of a group that is told, the same in EXPLAIN, its JSON and the answer's notices; None of nothing."""
    notes = [note for note in session.explain(sql).notices if note.startswith("at this price")]
    assert json.loads(session.explain(sql).json)[0]["unseen"] == notes
    assert notes == [note for note in session.execute(sql).notices if note.startswith("at this price")]
    own = [note for note in notes if re.search(rf"\b{column}\b", note)]
    if not own:
        return None
    (note,) = own
    return int(re.search(r"about ([\d,]+) (rows|people)", note).group(1).replace(",", ""))  # type: ignore[union-attr]


def test_a_mean_whose_bar_is_its_range_is_told(visits: Session) -> None:
    least = told(visits, AVERAGE, "age")
    assert least is not None
    widths: dict[str, list[float]] = {ward: [] for ward in SIZES}
    for _ in range(10):
        for ward, _, low, high in visits.execute(AVERAGE).rows:
            # A group that noise makes nobody has no mean.
            widths[str(ward)].append(100.0 if low is None else float(str(high)) - float(str(low)))
    for ward, size in SIZES.items():
        mean = sum(widths[ward]) / 10
        # The values are the middle of the range, where a bar is narrower than at its ends by up to √2.
        assert mean > 55 if size <= least / 4 else mean < 55 if size >= 2 * least else True, (ward, least, widths)


def test_the_size_of_a_group_is_told_in_rows_and_held_against_those_of_its_people(tmp_path: Path) -> None:
    """A person with 20 rows has the noise of 20, and so have all of the same group."""
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE visit (id INTEGER NOT NULL, ward TEXT NOT NULL, age INTEGER, name TEXT)")
    policy = POLICY.format(accounting="zcdp", delta="delta: 1e-6, ").replace(
        "    columns:", "    max_rows: 20\n    columns:"
    )
    (tmp_path / "policy.yaml").write_text(policy)
    proxy = Proxy.open(tmp_path / "policy.yaml")
    session = proxy.session()
    session.execute("SET dpsql.epsilon = 0.25")
    assert session.explain(AVERAGE).unseen == ()
    session.execute("SET dpsql.epsilon = 0.01")
    (note,) = session.explain(AVERAGE).unseen
    assert int(re.search(r"about ([\d,]+) rows", note).group(1).replace(",", "")) > 2_000  # type: ignore[union-attr]
    proxy.close()


def test_groups_that_cannot_be_told_from_nobody_are_told(visits: Session) -> None:
    least = told(visits, COUNTED, "n")
    assert least is not None
    told_apart = []
    for _ in range(10):
        for ward, _, low, high in visits.execute(COUNTED).rows:
            assert (float(str(high)) - float(str(low))) / 2 <= 1.05 * least
            if SIZES[str(ward)] < least / 3:
                told_apart.append(float(str(low)) > 0)
    # Noise beyond two thirds of its bar: one in ten at the most.
    assert sum(told_apart) <= 0.5 * len(told_apart)


def test_a_sum_is_told_by_the_people_whose_values_are_the_largest(visits: Session) -> None:
    """100 each at the most, so that the noise of a count is that of 100 times as much."""
    count, years = told(visits, COUNTED, "n"), told(visits, ADDED, "years")
    assert count is not None
    assert years is not None
    assert abs(years - count) <= 0.5 * count


def test_a_list_of_groups_is_told_by_the_threshold(visits: Session) -> None:
    try:
        notes = visits.explain(NAMED).notices
    except Error as refused:
        assert "delta" in str(refused) or "δ" in str(refused)  # names that nobody declared take it
        return
    threshold = next(note for note in notes if "are not shown" in note)
    least = int(re.search(r"about (\d+) people", threshold).group(1))  # type: ignore[union-attr]
    assert any(f"groups of name show only where about {least:,} people are" in note for note in notes)


def test_nothing_is_told_where_the_price_shows_small_groups(visits: Session) -> None:
    visits.execute("SET dpsql.epsilon = 5")
    try:
        assert [told(visits, sql, "n|age|years") for sql in (AVERAGE, COUNTED, ADDED)] == [None] * 3
    finally:
        visits.execute("RESET dpsql.epsilon")


def test_one_group_of_all_is_held_against_more_people(visits: Session) -> None:
    """At this price 40 people say nothing, and a thousand do."""
    visits.execute("SET dpsql.epsilon = 0.1")
    try:
        assert told(visits, "SELECT COUNT(*) AS n, AVG(age) AS age FROM visit", "n|age") is None
    finally:
        visits.execute("RESET dpsql.epsilon")


def test_what_is_free_is_not_warned_of(visits: Session) -> None:
    visits.execute("SET dpsql.reuse = on")
    try:
        visits.execute(COUNTED)
        assert told(visits, COUNTED, "n") is None
    finally:
        visits.execute("SET dpsql.reuse = off")


def test_sizes_that_were_released_before_count(visits: Session) -> None:
    """Groups of 10,000 people by the median would be seen at any price here, and groups of 40 are not."""
    visits.execute("SET dpsql.epsilon = 2")
    small = "SELECT ward, AVG(age) AS age, COUNT(*) AS n FROM visit WHERE ward IN ('a') GROUP BY ward"
    large = "SELECT ward, AVG(age) AS age, COUNT(*) AS n FROM visit WHERE ward IN ('e') GROUP BY ward"
    try:
        visits.execute("SET dpsql.reuse = on")
        for sql in (small, large):
            visits.execute(sql)
        visits.execute("SET dpsql.epsilon = 0.01")
        visits.execute("SET dpsql.reuse = off")
        notes = [" ".join(visits.explain(sql).unseen) for sql in (small, large)]
        assert "than it was in most groups that were released before" in notes[0]
        assert "in groups as they were released before" in notes[0]
        assert notes[1] == ""
    finally:
        visits.execute("RESET dpsql.epsilon")
        visits.execute("SET dpsql.reuse = off")
