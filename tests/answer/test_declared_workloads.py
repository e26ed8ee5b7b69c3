"""Workloads of the policy: the first statement that is asked buys all, once, and as long as the policy says."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.errors import BudgetExceeded, OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.mechanisms.sampling import ExactSampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy
from tests.new_databases import new_database
from tests.policies import policy_text

START = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.UTC)
POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:people.ledger; privacy_unit: person.id
budget: {epsilon: {budget}, delta: 1e-6}; statement: {epsilon: 0.1, max_epsilon: 0.5}; refresh: {refresh}
analysts: {ana: {}, ben: {}}; workloads:
  overview: {statements: overview.sql, epsilon: 1{more}}
tables:
  person: id, region [N, E, S, W], plan [free, pro], amount 0..100
""")
TILES = (
    "SELECT COUNT(*) FROM person",
    "SELECT region, COUNT(*) FROM person GROUP BY region",
    "SELECT region, plan, COUNT(*) FROM person GROUP BY region, plan",
    "SELECT AVG(amount) FROM person",
)
OTHER = "SELECT COUNT(*) FROM person WHERE amount > 50"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL,"
            " plan ENUM ('free', 'pro') NOT NULL, amount INTEGER NOT NULL)"
        )
        connection.execute(
            "INSERT INTO person SELECT i, ['N', 'E', 'S', 'W'][1 + i % 4], ['free', 'pro'][1 + i % 2], i % 90"
            " FROM range(400) t(i)"
        )
    (tmp_path / "overview.sql").write_text("-- tiles\n" + ";\n".join(TILES) + ";\n")
    return tmp_path


def write_policy(folder: Path, more: str = "", budget: str = "10", refresh: str = "1 hour") -> None:
    (folder / "policy.yaml").write_text(POLICY.format(more=more, budget=budget, refresh=refresh))


@contextmanager
def opened(
    folder: Path,
    more: str = "",
    budget: str = "10",
    hands: list[datetime.datetime] | None = None,
    refresh: str = "1 hour",
) -> Iterator[Proxy]:
    write_policy(folder, more, budget, refresh)
    clock = [START] if hands is None else hands
    with closing(
        Proxy(open_here(compared(load_policy(folder / "policy.yaml")), read=lambda: clock[0]), ExactSampler())
    ) as proxy:
        yield proxy


def charges(proxy: Proxy) -> int:
    return len(proxy.ledger.charges(limit=100))


@pytest.mark.parametrize("first", [TILES[1], TILES[3]])
def test_the_first_tile_that_is_asked_buys_all(folder: Path, first: str) -> None:
    with opened(folder) as proxy:
        ana, ben = proxy.session("ana"), proxy.session("ben")
        foretold = ana.explain(first)
        assert foretold.notices[0] == (
            f"statement {TILES.index(first) + 1} of the workload overview: its 4 statements are bought as one for"
            " ε = 1, and are free then"
        )
        answer = ana.execute(first)
        assert answer.price == foretold.price == proxy.ledger.spent()
        assert Fraction(49, 100) < answer.price.rho <= Fraction(1, 2)
        assert charges(proxy) == 1
        for sql in TILES:
            told = ben.execute(sql)
            assert not told.price, sql
            assert any("of the workload overview, which was released before" in one for one in told.notices)
        assert not ben.execute("SELECT plan, COUNT(DISTINCT id) AS n FROM person AS p GROUP BY 1").price
        assert ben.execute(OTHER).price
        assert charges(proxy) == 2


def test_the_explained_error_is_that_of_the_workload(folder: Path) -> None:
    with opened(folder) as proxy:
        session = proxy.session("ana")
        foretold = session.explain(TILES[1]).expected[1]
        session.execute(TILES[3])
        session.change("dpsql.consistent", "off")
        margins = [margin[1] for margin in session.execute(TILES[1]).margins]
        assert foretold is not None
        assert all(margin == pytest.approx(foretold, abs=0.6) for margin in margins)


def test_only_who_is_named_buys_it(folder: Path) -> None:
    with opened(folder, ", analysts: [ana]") as proxy:
        ana, ben = proxy.session("ana"), proxy.session("ben")
        alone = ben.execute(TILES[1])
        assert 0 < alone.price.rho <= Fraction(1, 200)
        assert ana.execute(TILES[0]).price.rho > Fraction(49, 100)
        assert not ben.execute(TILES[2]).price
    write_policy(folder, more=", analysts: [carl]")
    with pytest.raises(OperationalError, match="overview names carl"):
        load_policy(folder / "policy.yaml")


def test_it_stands_as_long_as_it_says(folder: Path) -> None:
    """A day, where other answers about the table stand for an hour."""
    hands = [START]
    with opened(folder, ", refresh: 1 day", hands=hands) as proxy:
        session = proxy.session("ana")
        bought = session.execute(TILES[0])
        first = session.execute(OTHER)
        assert bought.price
        assert first.price
        hands[0] = START + datetime.timedelta(hours=2)
        again = session.execute(TILES[0])
        assert (again.price, again.rows) == (bought.price * 0, bought.rows)
        assert any("it is measured anew after 2026-03-11 00:00 UTC" in one for one in again.notices)
        assert not session.execute("SELECT plan, COUNT(*) FROM person GROUP BY plan").price
        assert session.execute(OTHER).price
        hands[0] = START + datetime.timedelta(days=1)
        anew = session.execute(TILES[2])
        assert anew.price == bought.price
        assert not session.execute(TILES[0]).price


def test_no_answer_from_before_its_period_stands_in_it(folder: Path) -> None:
    """The days of the table and of the workload have one number, and begin two hours apart."""
    hands = [START.replace(hour=1)]
    with opened(folder, ", refresh: 1 day at 02:00, analysts: [ana]", hands=hands, refresh="1 day") as proxy:
        ana, ben = proxy.session("ana"), proxy.session("ben")
        assert ben.execute(TILES[0]).price
        hands[0] = START.replace(hour=3)
        assert not ben.execute(TILES[0]).price
        assert ana.execute(TILES[0]).price.rho > Fraction(49, 100)


def test_without_a_period_of_its_own_it_goes_with_its_tables(folder: Path) -> None:
    hands = [START]
    with opened(folder, hands=hands) as proxy:
        session = proxy.session("ana")
        price = session.execute(TILES[0]).price
        hands[0] = START + datetime.timedelta(hours=1)
        assert session.execute(TILES[1]).price == price
        assert not session.execute(TILES[0]).price


def test_a_budget_that_does_not_reach_says_so_and_pays_nothing(folder: Path) -> None:
    with opened(folder, budget="0.6") as proxy:
        session = proxy.session("ana")
        assert session.explain(TILES[0]).remaining_after.left_epsilon == 0
        with pytest.raises(BudgetExceeded, match="the workload overview is bought as a whole") as refused:
            session.execute(TILES[0])
        assert "SET dpsql.reuse = off" in refused.value.hint
        assert not charges(proxy)
        session.change("dpsql.reuse", "off")
        assert session.execute(TILES[0]).price.rho <= Fraction(1, 200)


@pytest.mark.parametrize("processes", [1, 2])
def test_two_analysts_at_once_pay_once(folder: Path, processes: int) -> None:
    """Of one proxy, or of two that share the ledger as two processes do."""
    with opened(folder) as one, opened(folder) as other:
        both = [one, one if processes == 1 else other]
        wait, told = threading.Barrier(2), dict[str, object]()

        def ask(proxy: Proxy, name: str, sql: str) -> None:
            session = proxy.session(name)
            wait.wait()
            told[name] = bool(session.execute(sql).price)

        asked: list[tuple[Callable[..., None], Proxy, str, str]]
        asked = [(ask, both[0], "ana", TILES[1]), (ask, both[1], "ben", TILES[2])]
        threads = [threading.Thread(target=call, args=rest) for call, *rest in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(told.values()) == [False, True]  # type: ignore[type-var]
        assert charges(one) == charges(other) == 1


def test_check_names_each_statement_that_does_not_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_policy(folder)
    assert main(["check", str(folder / "policy.yaml")]) == 0
    assert "workloads.overview.statements: 4 of 4 is bought beside the others" in capsys.readouterr().out
    assert not (folder / "people.ledger").exists()
    (folder / "overview.sql").write_text(
        f"{TILES[0]}; SELECT id FROM person; SELECT COUNT(*) FROM person WHERE amount > (SELECT AVG(amount) FROM person)"
    )
    assert main(["check", str(folder / "policy.yaml")]) == 1
    told = capsys.readouterr().out
    assert "error: workloads.overview.statements: statement 2, 'SELECT id FROM person': " in told
    assert "statement 3" in told
    assert "statement 1" not in told
    (folder / "overview.sql").write_text(TILES[0])
    write_policy(folder, budget="0.6")
    assert main(["check", str(folder / "policy.yaml")]) == 1
    assert "error: workloads.overview.epsilon: costs" in capsys.readouterr().out
    (folder / "overview.sql").unlink()
    assert main(["check", str(folder / "policy.yaml")]) == 1
    assert "cannot be read" in capsys.readouterr().out


def test_statements_that_are_wrong_leave_the_others_to_be_asked_by_themselves(folder: Path) -> None:
    (folder / "overview.sql").write_text(f"{TILES[0]}; SELECT nothing FROM person")
    with opened(folder) as proxy:
        assert proxy.session("ana").execute(TILES[0]).price.rho <= Fraction(1, 200)


def test_the_command_buys_a_workload_of_the_policy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_policy(folder, more=", analysts: [ana]")
    command = ["workload", str(folder / "policy.yaml"), "overview", "--analyst"]
    assert main([*command, "ana"]) == 0
    assert "The price of all: ρ = 0.49" in capsys.readouterr().out
    assert main([*command, "ben", "--buy"]) == 1
    assert "not bought by this analyst" in capsys.readouterr().err
    assert main([*command, "ana", "--buy"]) == 0
    assert "Every statement is free" in capsys.readouterr().out
    assert main([*command, "ana", "--epsilon", "0.1"]) == 1
