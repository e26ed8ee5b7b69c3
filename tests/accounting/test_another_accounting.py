"""An accounting is one object and one entry: a toy one answers, explains, is drawn and verified, in unchanged code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

import dpsql
from dpsql.accounting import ACCOUNTINGS
from dpsql.accounting.accounting import Accounting, Allowance
from dpsql.accounting.loss import PrivacyLoss
from dpsql.interfaces.commands.commands import main
from rewriter.declared import Norm
from tests.new_databases import new_database

HUNDREDTH = Fraction(1, 100)
PEOPLE = 3_000


class Hundredths(Accounting):
    """Pure differential privacy, paid in whole hundredths of ε."""

    name = "hundredths"
    takes_delta = False
    norms = (Norm.L1,)
    concentrated = False
    deviation = math.sqrt(2)
    cells_power = 1 / 3
    prefers_finest = True

    def limit(self, epsilon: Fraction, delta: Fraction, selection: Fraction | None) -> PrivacyLoss:
        return PrivacyLoss(epsilon=epsilon // HUNDREDTH * HUNDREDTH)

    def adds(self, loss: PrivacyLoss) -> bool:
        return not loss.rho and not loss.delta

    def price(self, epsilon: Fraction, delta_for_selection: Fraction) -> PrivacyLoss:
        return PrivacyLoss(epsilon=-(-epsilon // HUNDREDTH) * HUNDREDTH)

    def statement_epsilon(self, loss: PrivacyLoss) -> Fraction:
        return loss.epsilon

    def alone(self, loss: PrivacyLoss, delta: Fraction) -> tuple[Fraction, Fraction]:
        return loss.epsilon, Fraction(0)

    def delta(self, declared: Fraction, *, selects: bool) -> Fraction:
        return Fraction(0)

    def epsilon_of(self, spent: PrivacyLoss, epsilon: Fraction, delta: Fraction, limit: PrivacyLoss) -> Fraction:
        return spent.epsilon

    def largest(self, left: PrivacyLoss) -> Fraction:
        return left.epsilon // HUNDREDTH * HUNDREDTH

    def allowances(self, share: PrivacyLoss) -> Iterator[Allowance]:
        yield Allowance(share, share)

    def selections(self, share: PrivacyLoss, delta: Fraction) -> Iterator[Allowance]:
        yield from ()

    def price_of_information(self, part: Fraction) -> Fraction:
        return min(Fraction(math.sqrt(part) * 1.000001), Fraction(1))

    def tail(self, chance: float) -> float:
        return -math.log(chance)


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(cast("dict[str, Any]", ACCOUNTINGS), Hundredths.name, Hundredths())
    with new_database(tmp_path / "people.duckdb") as database:
        database.execute(
            f"""CREATE TABLE person AS SELECT range AS id, range % 100 AS age,
            CASE WHEN range % 3 = 0 THEN 'even' ELSE 'odd' END AS half FROM range({PEOPLE})"""
        )
        database.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
    path = tmp_path / "policy.yaml"
    path.write_text(
        "database: duckdb:people.duckdb\nledger: sqlite:ledger\nprivacy_unit: person.id\n"
        "budget: {epsilon: 10, accounting: hundredths}\nstatement: {epsilon: 0.501, max_epsilon: 2, bounds: 0.2}\n"
        "tables: {person: {columns: {id: {}, age: {range: [0, 100]}, half: {values: [even, odd]}}}}\n"
    )
    return path


@pytest.mark.quick
def test_an_accounting_that_only_its_own_file_knows_answers_explains_and_adds_up(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with dpsql.connect(policy) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT half, COUNT(*), AVG(age), MEDIAN(age) FROM person GROUP BY half ORDER BY half")
        rows = cursor.fetchall()
        # A third group is NULL's, which one draw in fifty shows.
        assert [row[0] for row in rows[:2]] == ["even", "odd"]
        assert abs(rows[0][1] - PEOPLE / 3) < 300
        assert cursor.price == PrivacyLoss(epsilon=Fraction(51, 100))
        assert cursor.epsilon == Fraction(51, 100)
        # The same numbers again are free, and what is made of them is paid for by this accounting, too.
        cursor.execute("SELECT half, COUNT(*), AVG(age), MEDIAN(age) FROM person GROUP BY half ORDER BY half")
        assert not cursor.price
        cursor.execute("SELECT half FROM person GROUP BY half ORDER BY COUNT(*) DESC LIMIT 1")
        cursor.execute("SELECT accounting, spent_epsilon, statements_left FROM dpsql.budget")
        ((name, spent, left),) = cursor.fetchall()
        assert (name, left) == ("hundredths", (Fraction(10) - Fraction(str(spent))) // Fraction(51, 100))
        told = str(connection.explain("SELECT COUNT(*) FROM person WHERE age > 50"))
    assert "of the total budget (ε = 0.51)." in told
    assert "By itself this statement is (0.510, 0)-differentially private." in told

    def run(*arguments: str) -> str:
        assert main([*arguments]) == 0
        return capsys.readouterr().out

    assert "accounting hundredths" in run("budget", str(policy))
    assert "totals are their sums\nSpent: ε = " in run("ledger", "verify", str(policy))
    assert "0.51" in run("ledger", "export", str(policy))
