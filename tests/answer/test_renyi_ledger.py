"""A policy with ``accounting: rdp``, asked as analysts and owners ask: the same noise as under zcdp, in a ledger of curves."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import dpsql
from dpsql.accounting import RDP, ZCDP, PrivacyLoss
from dpsql.interfaces.commands.commands import main
from dpsql.mechanisms import AboveThreshold
from tests.new_databases import new_database
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:{accounting}.ledger; privacy_unit: person.id
budget: {epsilon: 10, delta: 1e-6, accounting: {accounting}, per: month, lifetime: {epsilon: 20}}
statement: {epsilon: 0.1, max_epsilon: 1, bounds: 0.2}; analysts: {ana: {budget: {epsilon: 4}}, bob: {}}
refresh: 1 hour
tables:
  person: id, age 0..100, half [even, odd], town, pay
""")
STATEMENTS = (
    "SELECT half, COUNT(*), AVG(age) FROM person GROUP BY half ORDER BY half",
    "SELECT town, COUNT(*) FROM person GROUP BY town",
    "SELECT MEDIAN(age) FROM person",
    "SELECT MODE() WITHIN GROUP (ORDER BY half) FROM person",
    "SELECT SUM(pay) FROM person",
    "SELECT half FROM person GROUP BY half ORDER BY COUNT(*) DESC LIMIT 1",
    "SELECT LINREGR(age, ARRAY[1]) FROM person",
)


def policy(folder: Path, accounting: str) -> Path:
    database = folder / "people.duckdb"
    if not database.exists():
        with new_database(database) as connection:
            connection.execute(
                "CREATE TABLE person AS SELECT range AS id, range % 100 AS age, range % 50 AS pay,"
                " CASE WHEN range % 3 = 0 THEN 'even' ELSE 'odd' END AS half, 'town ' || (range % 2) AS town"
                " FROM range(6000)"
            )
            connection.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
    path = folder / f"{accounting}.yaml"
    path.write_text(POLICY.format(accounting=accounting))
    return path


@pytest.mark.quick
def test_statements_cost_the_line_of_what_they_cost_under_zcdp(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paid: dict[str, list[PrivacyLoss]] = {}
    told: dict[str, str] = {}
    for accounting in ("zcdp", "rdp"):
        with dpsql.connect(policy(tmp_path, accounting), analyst="ana") as connection:
            cursor = connection.cursor()
            prices = []
            for statement in STATEMENTS:
                cursor.execute(statement)
                prices.append(cursor.price)
                assert cursor.fetchall()
            cursor.execute("SET dpsql.watch = 'crowd'")
            cursor.execute("SELECT COUNT(*) > 1000000 FROM person")
            assert cursor.fetchall() == [(False,)]
            assert cursor.epsilon == Fraction(1, 10)
            watch = cursor.price
            cursor.execute("SET dpsql.watch = off")
            told[accounting] = str(connection.explain("SELECT COUNT(*) FROM person WHERE age > 50"))
            paid[accounting] = prices
            cursor.execute("SELECT accounting, used, statements_left, per FROM dpsql.budget WHERE analyst = 'ana'")
            for name, used, left, _ in cursor.fetchall():
                assert name == accounting
                assert 0 < used < 1
                assert left > 10
            cursor.execute("SELECT SUM(rho) FROM dpsql.charges")
            assert cursor.fetchall()[0][0] > 0.005
    for concentrated, renyi in zip(paid["zcdp"], paid["rdp"], strict=True):
        assert renyi.delta == concentrated.delta
        assert RDP.statement_epsilon(renyi) == ZCDP.statement_epsilon(concentrated)
        assert not renyi.rho
    assert watch == AboveThreshold.price(RDP, Fraction(1, 10), one_way=True)
    assert "(ε = 0.1)." in told["rdp"]
    assert "-differentially private." in told["rdp"]

    def run(*arguments: str) -> str:
        assert main([*arguments]) == 0
        return capsys.readouterr().out

    rdp = str(tmp_path / "rdp.yaml")
    assert "accounting rdp" in run("budget", rdp)
    assert "totals are their sums\nSpent: at most ε = " in run("ledger", "verify", rdp)
    charges = [json.loads(one) for one in run("ledger", "export", rdp, "--format", "json").splitlines()]
    assert all(len(one["curve"]) == 24 and one["rho"] == "0" for one in charges)


def test_the_parts_of_statements_add_up_to_the_part_that_is_used(tmp_path: Path) -> None:
    """Noise and a watch have curves of other shapes; their parts are at one order."""
    with dpsql.connect(policy(tmp_path, "rdp"), analyst="bob") as connection:
        cursor = connection.cursor()
        cursor.execute("SET dpsql.epsilon = 1")
        cursor.execute("SELECT COUNT(*) FROM person")
        prices = [cursor.price]
        cursor.execute("SET dpsql.watch = 'crowd'")
        cursor.execute("SELECT COUNT(*) > 1000000 FROM person")
        prices.append(cursor.price)
        cursor.execute("SET dpsql.watch = off")
        cursor.execute("SELECT used FROM dpsql.budget WHERE analyst IS NULL AND per IS NULL")
        ((used,),) = cursor.fetchall()
    limit = RDP.limit(Fraction(20), Fraction(1, 10**6), None)
    parts = [price.part_of(limit) for price in prices]
    assert float(sum(parts)) == pytest.approx(used, rel=1e-9)
    assert parts[1] < parts[0]
