"""A mechanism is one class and one entry: a toy one hides, is explained, stored and found again, in unchanged code."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

import dpsql
from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms import NOISES, Laplace
from dpsql.releases import IntegerColumn
from rewriter.declared import Sensitivity
from tests.new_databases import new_database

PEOPLE = 3_000


@dataclass(frozen=True, slots=True)
class Careful(Laplace):
    """Laplace noise of twice the scale that is paid for."""

    name = "careful"
    symbol = "c"

    @classmethod
    def affordable(cls, sensitivity: Sensitivity, loss: PrivacyLoss) -> Careful | None:
        enough = Laplace.affordable(sensitivity, loss)
        return None if enough is None else cls(enough.scale * 2)

    def draws(self, count: int) -> IntegerColumn:
        return IntegerColumn.of([2 * draw for draw in Laplace(self.scale / 2).draws(count)])


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with new_database(tmp_path / "people.duckdb") as database:
        database.execute(f"CREATE TABLE person AS SELECT range AS id, range % 100 AS age FROM range({PEOPLE})")
        database.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
    path = tmp_path / "policy.yaml"
    path.write_text(
        "database: duckdb:people.duckdb\nledger: sqlite:ledger\nprivacy_unit: person.id\n"
        "budget: {epsilon: 10, accounting: pure}\nstatement: {epsilon: 0.5, max_epsilon: 2}\n"
        "tables: {person: {columns: {id: {}, age: {range: [0, 100]}}}}\n"
    )
    registry = cast("dict[str, Any]", NOISES)
    monkeypatch.setitem(registry, Careful.name, Careful)
    monkeypatch.delitem(registry, Laplace.name)
    return path


@pytest.mark.quick
def test_noise_that_only_its_own_file_knows_hides_is_explained_and_found_again(policy: Path) -> None:
    asked = "SELECT COUNT(*) AS n FROM person WHERE age >= 50"
    with dpsql.connect(policy) as connection:
        told = connection.explain(asked)
        assert "Careful, c = 4" in str(told)
        cursor = connection.cursor()
        cursor.execute(asked)
        rows = cursor.fetchall()
        assert abs(rows[0][0] - PEOPLE / 2) < 200
        assert rows[0][0] % 2 == 0, "every draw of this noise is even"
        assert cursor.price == PrivacyLoss(epsilon=Fraction(1, 2))
    with dpsql.connect(policy) as again:
        cursor = again.cursor()
        cursor.execute(asked)
        assert not cursor.price
        assert cursor.fetchall() == rows
        cursor.execute("SELECT SUM(age), AVG(age) FROM person")
        assert abs(cursor.fetchall()[0][1] - 49.5) < 5
