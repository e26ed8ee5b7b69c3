"""Error bars of the rows that were chosen by their noisy numbers hold as often as they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest
import sqlglot

import dpsql
from dpsql.finish.chosen_rows import NOTE
from dpsql.proxy import Proxy
from rewriter.outer.checked_outer import chooses
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database

GROUPS, EACH = 64, 50
FIRST = "SELECT team, COUNT(*) AS n FROM person GROUP BY team ORDER BY n DESC LIMIT 5"
ABOVE = "SELECT team, n FROM (SELECT team, COUNT(*) AS n FROM person GROUP BY team) s WHERE n > {limit} ORDER BY team"


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def connection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    folder = tmp_path_factory.mktemp("teams")
    with duckdb.connect(str(folder / "teams.duckdb")) as database:
        database.execute(
            f"CREATE TABLE person AS SELECT i AS id, i % {GROUPS} AS team FROM range({GROUPS * EACH}) t(i)"
        )
        database.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
    delta = "accounting: pure" if request.param == "pure" else "delta: 1e-6"
    (folder / "policy.yaml").write_text(
        f"database: duckdb:teams.duckdb\nledger: sqlite:ledger\nprivacy_unit: person.id\n"
        f"budget: {{epsilon: 100000, {delta}}}\nstatement: {{epsilon: 0.1, max_epsilon: 1}}\n"
        f"tables: {{person: {{columns: {{id: {{}}, team: {{range: [0, {GROUPS - 1}]}}}}}}}}\n"
    )
    with dpsql.connect(folder / "policy.yaml") as connected:
        connected.execute("SET dpsql.intervals = on")
        connected.execute("SET dpsql.reuse = off")
        connected.execute("SET dpsql.empty_groups = show")
        yield connected


@pytest.mark.parametrize("text", [FIRST, ABOVE.format(limit=EACH + 15)])
def test_95_of_100_rows_that_were_chosen_are_within_their_error_bars(connection: dpsql.Connection, text: str) -> None:
    """Without more than the error bars of single rows, 73 or 87 of 100."""
    covered: list[bool] = []
    for _ in range(30):
        cursor = connection.execute(text)
        found = [low <= EACH <= high for _, _, low, high in cursor.fetchall()]
        assert not found or NOTE in cursor.notices
        covered += found
    assert len(covered) > 60
    assert np.mean(covered) > 0.89, np.mean(covered)


def test_rows_that_were_not_chosen_by_numbers_keep_their_error_bars(connection: dpsql.Connection) -> None:
    every = "SELECT team, COUNT(*) AS n FROM person GROUP BY team ORDER BY n DESC"
    first = "SELECT team, COUNT(*) AS n FROM person GROUP BY team ORDER BY team LIMIT 5"
    for text in (every, first):
        assert NOTE not in connection.execute(text).notices


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("SELECT k0, a0 FROM r ORDER BY a0 DESC LIMIT 5", True),
        ("SELECT k0, a0 FROM r ORDER BY 2 DESC LIMIT 5", True),
        ("SELECT k0, a0 / a1 AS share FROM r ORDER BY share LIMIT 5", True),
        ("SELECT * FROM (SELECT k0, a0 AS n FROM r) s WHERE n > 5", True),
        ("SELECT k0, a0 FROM r QUALIFY ROW_NUMBER() OVER (ORDER BY a0) < 4", True),
        ("SELECT k0 FROM r WHERE k0 IN (SELECT k0 FROM r ORDER BY a0 LIMIT 3)", True),
        ("SELECT k0, a0 FROM r ORDER BY a0 DESC", False),
        ("SELECT k0, a0 FROM r ORDER BY k0 LIMIT 5", False),
        ("SELECT k0, a0 FROM r WHERE k0 = 'x'", False),
    ],
)
def test_a_statement_that_chooses_is_told_from_its_text(text: str, chosen: bool) -> None:
    assert chooses(sqlglot.parse_one(text, read="duckdb"), frozenset({"a0", "a1"})) is chosen


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_a_running_sum_over_selected_groups_has_no_interval(tmp_path: Path, engine: str) -> None:
    """It is the sum of the groups that are shown: nobody knows how many people are in the groups between them."""
    setup = (
        "CREATE TABLE person (id INTEGER PRIMARY KEY, day INTEGER NOT NULL);"
        " INSERT INTO person SELECT i, (i * i) % 40 FROM generate_series(1, 600) AS t(i)"
    )
    database = shared_server().url(shared_server().database(setup)) if engine == "postgres" else "duckdb:days.duckdb"
    if engine == "duckdb":
        with new_database(tmp_path / "days.duckdb") as connection:
            connection.execute(setup)
    (tmp_path / "policy.yaml").write_text(
        f"database: {database}\nledger: sqlite:ledger\nprivacy_unit: person.id\n"
        "budget: {epsilon: 100, delta: 1e-6}\ntables: {person: {columns: {id: {}, day: {}}}}\n"
    )
    sql = "SELECT day, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY day) AS r FROM person GROUP BY day ORDER BY day"
    proxy = Proxy.open(tmp_path / "policy.yaml")
    answer = proxy.session().execute(sql)
    proxy.close()
    assert 0 < len(answer.rows) < 40
    assert all(np.isfinite(margin[1]) and np.isinf(margin[2]) for margin in answer.margins)


def test_bars_of_chosen_rows_end_where_the_declared_range_ends(tmp_path: Path) -> None:
    """Means and medians of groups of a few people, at a low price: their widened bars would leave [-60, 600]."""
    with duckdb.connect(str(tmp_path / "delays.duckdb")) as database:
        database.execute(
            "CREATE TABLE flight AS SELECT i AS id, i % 40 AS gate, (i % 7) * 20 - 60 AS delay FROM range(1200) t(i)"
        )
        database.execute("ALTER TABLE flight ADD PRIMARY KEY (id)")
    (tmp_path / "policy.yaml").write_text(
        "database: duckdb:delays.duckdb\nledger: sqlite:ledger\nprivacy_unit: flight.id\n"
        "budget: {epsilon: 100000, delta: 1e-6}\nstatement: {epsilon: 1, max_epsilon: 2}\n"
        "tables: {flight: {columns: {id: {}, gate: {range: [0, 39]}, delay: {range: [-60, 600]}}}}\n"
    )
    forms = {"AVG(delay)": 1, "2 * MEDIAN(delay)": 2, "ROUND(AVG(delay))": 1}
    below = 0
    with dpsql.connect(tmp_path / "policy.yaml") as connected:
        connected.execute("SET dpsql.intervals = on")
        connected.execute("SET dpsql.reuse = off")
        for form, factor in forms.items():
            cursor = connected.execute(f"SELECT gate, {form} AS x FROM flight GROUP BY gate ORDER BY x DESC LIMIT 8")
            rows = [row for row in cursor.fetchall() if row[1] is not None and row[2] is not None]
            assert NOTE in cursor.notices
            assert rows
            assert all(-60 * factor <= low <= x <= high <= 600 * factor for _, x, low, high in rows)
            below += sum(low < 0 <= x for _, x, low, _ in rows)
    assert below, "an end below 0 is no end of the range"
