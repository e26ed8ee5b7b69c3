"""Stale answers: what the budget does not admit is answered with what was last released, for nothing."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.errors import BudgetExceeded, DataError
from dpsql.mechanisms.sampling import ExactSampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy
from rewriter.plan import Plan
from tests.new_databases import new_database

START = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.UTC)
POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:people.ledger
privacy_unit: person.id
budget: {{epsilon: {budget}, accounting: pure}}
statement: {{epsilon: 0.4, max_epsilon: 1, stale: {stale}}}
data_version: '{version}'
refresh: 1 hour
analysts: {{ana: {{}}, ben: {{}}}}
{more}
tables:
  person:
    columns:
      id: {{}}
      region: {{values: [N, E, S, W]}}
      amount: {{range: [0, 100]}}
  visit:
    unit: person_id -> person.id
    max_rows: 4
    columns: {{person_id: {{}}, cost: {{range: [0, 10]}}}}
"""
REGIONS = "SELECT region, COUNT(*) AS n FROM person GROUP BY region"
TOTAL = "SELECT COUNT(*) AS n FROM person"
TWO = "SELECT (SELECT COUNT(*) FROM visit) AS v, (SELECT SUM(amount) FROM person) AS p"
STAGED = "SELECT COUNT(*) FROM person WHERE amount > (SELECT AVG(amount) FROM person)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL, amount INTEGER)"
        )
        connection.execute("INSERT INTO person SELECT i, ['N', 'E', 'S', 'W'][1 + i % 4], i % 90 FROM range(400) t(i)")
        connection.execute("CREATE TABLE visit (person_id INTEGER REFERENCES person (id), cost INTEGER)")
        connection.execute("INSERT INTO visit SELECT i % 400, i % 10 FROM range(900) t(i)")
    return tmp_path


@contextmanager
def opened(folder: Path, hands: list[datetime.datetime], **changed: str) -> Iterator[Proxy]:
    given = {"budget": "0.45", "stale": "allow", "version": "1", "more": "", **changed}
    (folder / "policy.yaml").write_text(POLICY.format(**given))
    found = open_here(compared(load_policy(folder / "policy.yaml")), read=lambda: hands[0])
    with closing(Proxy(found, ExactSampler())) as proxy:
        yield proxy


def later(hands: list[datetime.datetime], hours: int = 1) -> None:
    hands[0] += datetime.timedelta(hours=hours)


@pytest.mark.parametrize("sql", [REGIONS, TWO, STAGED, f"SELECT MAX(n) FROM ({REGIONS}) q"])
def test_what_was_released_last_is_given_again(folder: Path, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hands = [START]
    with opened(folder, hands) as proxy:
        first = proxy.session("ana").execute(sql)
        assert first.price
        later(hands)
        spent = proxy.ledger.spent()
        read = _reads(monkeypatch)
        again = proxy.session("ben").execute(sql)
        assert (again.rows, list(again.margins)) == (first.rows, list(first.margins))
        assert not again.price
        assert again.notices[0] == (
            "Stale: the budget does not admit this statement, which is answered with numbers released at"
            " 2026-03-10 12:00 UTC"
        )
        assert not any("it is measured anew" in one for one in again.notices)
        assert proxy.ledger.spent() == spent
        assert not read, "no row of people is read"


def _reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is read of people from now on: whatever has statistics."""
    run, read = DuckDBEngine.run, list[str]()

    def noting(engine: DuckDBEngine, plan: Plan, *how: Any) -> Any:
        if plan.statistics:
            read.append(plan.sql)
        return run(engine, plan, *how)

    monkeypatch.setattr(DuckDBEngine, "run", noting)
    return read


def test_who_does_not_allow_it_is_refused(folder: Path) -> None:
    hands = [START]
    with opened(folder, hands, stale="refuse") as proxy:
        session = proxy.session("ana")
        first = session.execute(REGIONS)
        later(hands)
        with pytest.raises(BudgetExceeded):
            session.execute(REGIONS)
        assert session.execute("SHOW dpsql.stale").rows == (("refuse",),)
        session.execute("SET dpsql.stale = allow")
        assert session.execute("SHOW dpsql.stale").rows == (("allow",),)
        assert session.execute(REGIONS).rows == first.rows
        session.execute("RESET dpsql.stale")
        with pytest.raises(BudgetExceeded):
            session.execute(REGIONS)
        with pytest.raises(DataError):
            session.execute("SET dpsql.stale = maybe")


def test_what_was_never_released_is_refused(folder: Path) -> None:
    hands = [START]
    with opened(folder, hands) as proxy:
        session = proxy.session("ana")
        session.execute(REGIONS)
        with pytest.raises(BudgetExceeded, match="does not fit"):
            session.execute("SELECT SUM(amount) FROM person")
        later(hands)
        assert session.execute(TOTAL).rows, "the sum of what was released"
        with pytest.raises(BudgetExceeded, match="does not fit"):
            session.execute("SELECT SUM(amount) FROM person")


def test_the_latest_is_given_and_what_is_new_is_bought_while_there_is_budget(folder: Path) -> None:
    hands = [START]
    with opened(folder, hands, budget="0.85") as proxy:
        session = proxy.session("ana")
        first = session.execute(REGIONS)
        later(hands)
        second = session.execute(REGIONS)
        assert second.price == first.price
        later(hands, 30)
        assert session.execute(REGIONS).rows == second.rows
    with opened(folder, hands, version="other data") as proxy:
        assert proxy.session("ana").execute(REGIONS).rows == second.rows


def test_who_asks_for_more_gets_what_there_is(folder: Path) -> None:
    hands = [START]
    with opened(folder, hands, budget="0.26") as proxy:
        session = proxy.session("ana")
        session.execute("SET dpsql.epsilon = 0.1")
        first = session.execute(REGIONS)
        session.execute("SET dpsql.epsilon = 1")
        again = session.execute(REGIONS)
        assert again.rows == first.rows
        assert again.notices[0].startswith("Stale: ")


def test_a_workload_that_is_not_paid_any_more_has_its_old_answers(folder: Path) -> None:
    hands = [START]
    (folder / "tiles.sql").write_text(f"{REGIONS}; {TOTAL}; SELECT SUM(amount) FROM person")
    more = "workloads: {tiles: {statements: tiles.sql, epsilon: 0.4, refresh: 1 day}}"
    with opened(folder, hands, more=more) as proxy:
        session = proxy.session("ana")
        first = session.execute(REGIONS)
        total = session.execute(TOTAL)
        later(hands, 24)
        for sql, before in ((REGIONS, first), (TOTAL, total)):
            again = session.execute(sql)
            assert again.rows == before.rows
            assert not again.price
            assert again.notices[0].startswith("Stale: ")
