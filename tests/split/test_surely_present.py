"""Values of a randomized column that somebody surely has: those nobody has are hidden, and all bars hold together."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dpsql
from dpsql.randomize import Secret, reports
from rewriter.declared import Rappor
from rewriter.split.surely_present import SurelyPresent

WORDS = tuple(f"w{place:02}" for place in range(8))
LAW = Rappor(WORDS, 32, 2, Fraction(1, 4), Fraction(1, 4), Fraction(3, 4), 4)
COUNTS = {"w03": 1500, "w05": 900, "w06": 600}
WORLDS = 12


@pytest.fixture(scope="module", params=["zcdp", "pure"])
def asking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    folder: Path = tmp_path_factory.mktemp("words")
    truth = [word for word, count in COUNTS.items() for _ in range(count)]
    told = [report for _ in range(WORLDS) for report in reports(LAW, truth, Secret())]
    table = {"id": np.arange(len(told)), "world": np.repeat(np.arange(WORLDS), len(truth)), "x": pa.array(told)}
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("rows", pa.table(table))
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, world INTEGER NOT NULL, x VARCHAR NOT NULL)")
        connection.execute("INSERT INTO person SELECT * FROM rows")
    delta = ", delta: 1e-3" if request.param == "zcdp" else ""
    (folder / "policy.yaml").write_text(
        f"database: duckdb:{folder}/people.duckdb\nledger: sqlite:{folder}/ledger\nprivacy_unit: person.id\n"
        f"budget: {{epsilon: 1e6, accounting: {request.param}{delta}}}\nstatement: {{epsilon: 1, max_epsilon: 10}}\n"
        f"tables:\n  person:\n    columns: {{id: {{}}, world: {{range: [0, {WORLDS}]}}, x: {{values: {list(WORDS)},"
        " randomized: {rappor: {bits: 32, hashes: 2, f: 0.25, p: 0.25, q: 0.75, cohorts: 4}}}}\n"
    )
    with dpsql.connect(str(folder / "policy.yaml")) as connection:
        yield connection


def test_nobody_s_values_are_hidden_the_commonest_are_shown_and_all_bars_hold(asking: dpsql.Connection) -> None:
    wrong, missed, beyond = 0, 0, 0
    cursor = asking.cursor()
    for world in range(WORLDS):
        sql = f"SELECT x, COUNT(*) AS n FROM person WHERE world = {world} GROUP BY x"
        cursor.execute("SET dpsql.empty_groups = hide")
        cursor.execute(sql)
        shown = {row[0] for row in cursor.fetchall()}
        wrong += not shown <= COUNTS.keys()
        missed += "w03" not in shown
        cursor.execute("SET dpsql.empty_groups = show")
        cursor.execute(sql)
        rows = list(zip(cursor.fetchall(), cursor.margins, strict=True))
        assert len(rows) == len(WORDS)
        together = SurelyPresent(gaussian=True).together(len(WORDS))
        beyond += any(abs(n - COUNTS.get(word, 0)) > together * float(bar or 0) for (word, n), (_, bar) in rows)
    # Of 40 answers .4 and 2 are expected: more than 6 and more than 12 once in 10⁷ runs.
    assert wrong <= 6
    assert beyond <= 12
    assert missed <= 2


def test_what_counts_nobody_says_what_would(asking: dpsql.Connection) -> None:
    cursor = asking.cursor()
    cursor.execute("SET dpsql.empty_groups = hide")
    with pytest.raises(dpsql.Error) as refused:
        cursor.execute("SELECT x, AVG(world) FROM person GROUP BY x")
    assert "COUNT(*)" in str(refused.value)
    cursor.execute("SELECT x, COUNT(*) FROM person GROUP BY x HAVING COUNT(*) > 100000")
    assert cursor.fetchall() == []


@pytest.mark.parametrize("gaussian", [False, True])
def test_more_values_ask_for_more(gaussian: bool) -> None:
    law = SurelyPresent(gaussian)
    assert 1 < law.times(2) < law.times(20) < law.times(100) < 4
    assert law.together(1) == pytest.approx(1)
    assert 1 < law.together(2) < law.together(100) < law.times(100) * 1.01


@pytest.mark.spread
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 40, 1000])
def test_rows_of_many_groups_are_shown_wrongly_as_rarely_as_those_of_one(gaussian: bool, groups: int) -> None:
    law = SurelyPresent(gaussian)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE r AS SELECT 0.0 AS a0, 1.0 AS a0_margin FROM range({groups})")
        condition = law.condition("r", "a0", 8, others=True)
        row = connection.execute(f"SELECT {condition.expression.sql('duckdb')} FROM r LIMIT 1").fetchone()
    assert row is not None
    exact = law.times(8 * groups)
    assert exact * (1 - 1e-9) <= row[0] <= exact * 1.03


def test_where_no_group_is_left_no_row_is_shown(asking: dpsql.Connection) -> None:
    cursor = asking.cursor()
    cursor.execute("SET dpsql.empty_groups = hide")
    cursor.execute("SELECT world, x, COUNT(*) FROM person WHERE id < 0 GROUP BY world, x")
    assert len(cursor.fetchall()) <= 2
