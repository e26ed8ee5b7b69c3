"""Joins whose bounds multiply to more rows than can be added up: people count with a million of them, and are told."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.testing import measure
from tests.doubles import open_without_noise
from tests.new_databases import new_database

POLICY = """
database: duckdb:{}
ledger: sqlite:{}
privacy_unit: person.id
budget: {{epsilon: 10000, delta: 1e-6}}
statement: {{epsilon: 10, max_epsilon: 10}}
tables:
  person: {{columns: {{id: {{}}}}}}
  event: {{unit: person_id -> person.id, max_rows: 3000, columns: {{kind: {{range: [0, 3]}}, hour: {{range: [0, 9999]}}}}}}
"""
PAIRS = "SELECT COUNT(*) AS n, SUM(a.kind) AS s FROM event a JOIN event b ON a.person_id = b.person_id"
CHAIN = "SELECT COUNT(*) FROM event e" + "".join(
    f" LEFT JOIN event e{n} ON e.person_id = e{n}.person_id AND e.hour = e{n}.hour AND e{n}.kind = {n}"
    for n in range(9)
)


def policy_at(folder: Path, *, heavy: bool) -> Path:
    folder.mkdir()
    with new_database(folder / "d.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person (id INT PRIMARY KEY); CREATE TABLE event (person_id INT, kind INT, hour INT)"
        )
        connection.execute("INSERT INTO person SELECT range FROM range(20)")
        connection.execute("INSERT INTO event SELECT i % 20, i % 4, i // 20 FROM range(200) t(i) WHERE i % 20 <> 7")
        if heavy:
            connection.execute("INSERT INTO event SELECT 7, 3, i FROM range(1500) t(i)")
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(folder / "d.duckdb", folder / "d.ledger"))
    return path


@pytest.mark.parametrize("text", [PAIRS, CHAIN])
def test_a_person_of_more_rows_moves_no_statistic_further(tmp_path: Path, text: str) -> None:
    (without,), (with_all,) = (
        measure(text, policy_at(tmp_path / name, heavy=heavy)) for name, heavy in (("a", False), ("b", True))
    )
    for names, sensitivity in with_all.blocks:
        moved = [abs(with_all.groups[()][name] - without.groups[()][name]) for name in names]
        assert any(moved)
        assert sum(one * one for one in moved) <= sensitivity.l2_squared
        assert sensitivity.l1 is None or sum(moved) <= sensitivity.l1
    for statistic in with_all.plan.statistics:
        assert statistic.bound * statistic.granularity <= 3 << 20


def test_it_is_told_and_cuts_nobody_below(tmp_path: Path) -> None:
    path = policy_at(tmp_path / "a", heavy=False)
    with duckdb.connect(str(tmp_path / "a" / "d.duckdb"), read_only=True) as true:
        expected = true.execute(CHAIN).fetchall()
    proxy = open_without_noise(path)
    connection = dpsql.connect(proxy)
    cursor = connection.execute(CHAIN)
    assert cursor.fetchall() == expected
    assert any("1,048,576 rows, of the many more" in str(one) for one in cursor.notices)
    connection.close()
    proxy.close()
