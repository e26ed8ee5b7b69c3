"""A column that is NOT NULL is not tested for NULL row by row, and its ranks are the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpsql.opened import open_policy
from rewriter.front_door import Select, parse, rewrite

POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:ledger
privacy_unit: person.id
budget: {epsilon: 10, delta: 1e-6}
tables:
  person: {columns: {id: {}}}
  visit: {unit: id -> person.id, max_rows: 3, columns: {id: {}, x: {range: [0, 100000]}}}
"""


@pytest.mark.quick
def test_ranks_are_the_same_without_the_test(tmp_path: Path) -> None:
    found: dict[str, tuple[str, list[object]]] = {}
    for constraint in ("", "NOT NULL"):
        folder = tmp_path / (constraint or "nullable").replace(" ", "_")
        folder.mkdir()
        (folder / "policy.yaml").write_text(POLICY)
        with duckdb.connect(str(folder / "people.duckdb")) as connection:
            connection.execute("CREATE TABLE person (id INT PRIMARY KEY)")
            connection.execute(f"CREATE TABLE visit (id INT NOT NULL, x DECIMAL(9, 2) {constraint})")
            connection.execute("INSERT INTO person SELECT * FROM range(900)")
            connection.execute("INSERT INTO visit SELECT i * i % 1000, i * 7919 % 99991 FROM range(4000) AS t(i)")
        opened = open_policy(folder / "policy.yaml")
        try:
            statement = parse("SELECT MEDIAN(x) FROM visit", ())
            assert isinstance(statement, Select)
            norms = (opened.accountant.accounting.norms[0],)
            [plan] = rewrite(statement.tree, opened.catalog, opened.engine.dialect, norms=norms).plans
        finally:
            opened.close()
        with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as connection:
            text = plan.choices[0].sql
            found[constraint] = text, sorted(connection.execute(text).fetchall())
    assert "NOT v IS NULL" in found[""][0]
    assert "NOT v IS NULL" not in found["NOT NULL"][0]
    assert found[""][1] == found["NOT NULL"][1]
    assert len(found[""][1]) > 100
