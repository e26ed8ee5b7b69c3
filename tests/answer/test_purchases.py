"""The same new statement at once is one purchase, and who goes away before the charge is not charged."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dpsql.engines.deadlines import Cancellation, Patience
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.errors import Error, OperationalError
from dpsql.proxy import Proxy
from dpsql.purchases import Purchases
from dpsql.releases.tables import ExactTable
from dpsql.reply import Answer
from rewriter.plan import Plan
from tests.new_databases import new_database

COUNT = "SELECT COUNT(*) FROM patient"
TOTAL = "SELECT SUM(dose) FROM patient"
THREADS = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR, weight DOUBLE, dose INTEGER)")
        connection.execute("INSERT INTO patient SELECT i, 'F', 60 + i % 9, i % 50 FROM range(500) t(i)")
    (tmp_path / "policy.yaml").write_text(
        """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 9, delta: 1e-6}
statement: {epsilon: 0.1, max_epsilon: 1, bounds: 0.2}
analysts: {ana: {}, ben: {}}
tables:
  patient:
    columns: {id: {}, sex: {values: [F, M]}, weight: {range: [20, 200]}, dose: {}}
"""
    )
    return tmp_path


@pytest.fixture
def proxy(folder: Path) -> Iterator[Proxy]:
    opened = Proxy.open(folder / "policy.yaml")
    yield opened
    opened.close()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Every release takes a while; called, it lets all end."""
    run, ended = DuckDBEngine.run, threading.Event()

    def waiting(engine: DuckDBEngine, plan: Plan, *how: Any) -> ExactTable:
        ended.wait(0.3)
        return run(engine, plan, *how)

    monkeypatch.setattr(DuckDBEngine, "run", waiting)
    yield ended.set
    ended.set()


def charges(folder: Path) -> int:
    with sqlite3.connect(f"file:{folder}/clinic.ledger?mode=ro", uri=True) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM charge").fetchone()[0])


def at_once(proxy: Proxy, statements: list[tuple[str, str]], setting: str = "") -> list[Answer]:
    """The answers of statements of analysts that are sent at the same moment, each on a connection of its own."""
    together = threading.Barrier(len(statements))

    def ask(statement: tuple[str, str]) -> Answer:
        session = proxy.session(statement[0])
        if setting:
            session.execute(setting)
        together.wait()
        return session.execute(statement[1])

    with ThreadPoolExecutor(len(statements)) as pool:
        return list(pool.map(ask, statements))


def test_the_same_statement_from_eight_threads_is_one_purchase(
    folder: Path, proxy: Proxy, slow: Callable[[], None]
) -> None:
    answers = at_once(proxy, [("ana", COUNT), ("ben", COUNT)] * (THREADS // 2))
    assert len({answer.rows for answer in answers}) == 1
    assert charges(folder) == 1
    assert sum(bool(answer.price) for answer in answers) == 1, "the first one pays"


def test_statements_that_share_a_release_buy_it_once(folder: Path, proxy: Proxy, slow: Callable[[], None]) -> None:
    shared = ["SELECT COUNT(*) FROM patient", "SELECT COUNT(*) * 2 FROM patient", "SELECT COUNT(*) AS n FROM patient p"]
    answers = at_once(proxy, [("ana", sql) for sql in shared * 2])
    assert charges(folder) == 1
    assert {float(str(answer.rows[0][0])) for answer in answers} == {
        float(str(answers[0].rows[0][0])),
        2 * float(str(answers[0].rows[0][0])),
    }


def test_statements_of_several_releases_do_not_wait_for_each_other_for_ever(
    folder: Path, proxy: Proxy, slow: Callable[[], None]
) -> None:
    some = "SELECT COUNT(*) FROM patient UNION ALL SELECT SUM(weight) FROM patient WHERE sex = 'F'"
    others = "SELECT SUM(weight) FROM patient WHERE sex = 'F' UNION ALL SELECT COUNT(*) FROM patient"
    answers = at_once(proxy, [("ana", some), ("ben", others)] * 3)
    assert len({frozenset(answer.rows) for answer in answers[::2]}) == 1
    assert len({frozenset(answer.rows) for answer in answers[1::2]}) == 1
    assert charges(folder) <= 2


def test_a_bound_that_is_learned_is_bought_once(folder: Path, proxy: Proxy, slow: Callable[[], None]) -> None:
    answers = at_once(proxy, [("ana", TOTAL)] * THREADS)
    assert len({answer.rows for answer in answers}) == 1
    assert charges(folder) == 2, "one for the bound, one for the statement"


def test_who_wants_no_release_of_others_buys_alone(folder: Path, proxy: Proxy, slow: Callable[[], None]) -> None:
    at_once(proxy, [("ana", COUNT)] * 3, setting="SET dpsql.reuse = off")
    assert charges(folder) == 3


def test_where_the_first_one_fails_the_next_one_buys(
    folder: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, turns = DuckDBEngine.run, iter([True])

    def fails_once(engine: DuckDBEngine, plan: Plan, *how: Any) -> ExactTable:
        if next(turns, False):
            time.sleep(0.2)
            raise OperationalError("the database could not answer this release", sqlstate="58000")
        return run(engine, plan, *how)

    monkeypatch.setattr(DuckDBEngine, "run", fails_once)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(proxy.session("ana").execute, COUNT) for _ in range(4)]
        failures = [one.exception() for one in asked]
    assert sum(failure is not None for failure in failures) == 1
    assert charges(folder) == 2


def test_a_cancelled_statement_is_not_charged_wherever_it_waits(
    folder: Path, proxy: Proxy, slow: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy._opened.engine.load, "most", 1)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(proxy.session("ana").execute, COUNT)
        time.sleep(0.1)
        waits = {"for the same release": COUNT, "for a turn of the engine": "SELECT SUM(weight) FROM patient"}
        for where, sql in waits.items():
            cancellation, started = Cancellation(), time.monotonic()
            waiting = pool.submit(proxy.session("ben").execute, sql, (), cancellation)
            time.sleep(0.05)
            cancellation.cancel()
            failure = waiting.exception(5)
            assert isinstance(failure, OperationalError), where
            assert failure.sqlstate == "57014"
            assert failure.hint == "nothing was charged"
            assert time.monotonic() - started < 2
        slow()
        first.result(10)
    assert charges(folder) == 1
    assert proxy.engine_load.running == 0


@pytest.mark.quick
@pytest.mark.parametrize("sql", [COUNT, TOTAL])
def test_a_statement_that_was_cancelled_while_it_was_planned_is_not_charged(
    folder: Path, proxy: Proxy, sql: str
) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(OperationalError) as caught:
        proxy.session("ana").execute(sql, (), cancellation)
    assert (caught.value.sqlstate, caught.value.hint) == ("57014", "nothing was charged")
    assert charges(folder) == 0


@pytest.mark.parametrize("sql", [COUNT, TOTAL])
def test_a_statement_whose_time_is_over_before_its_turn_is_not_charged(
    folder: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setattr(proxy._opened.engine.load, "most", 1)
    session, busy = proxy.session("ana"), threading.Event()

    def occupy() -> None:
        with proxy.engine_load.within(5) as inside:
            assert inside
            busy.wait(10)

    session.execute("SET statement_timeout = '200ms'")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(occupy)
        time.sleep(0.05)
        with pytest.raises(OperationalError) as caught:
            session.execute(sql)
        busy.set()
    assert caught.value.sqlstate == "57014"
    assert caught.value.hint.startswith("nothing was charged")
    assert charges(folder) == 0


def _ask(policy: str, ready: Any, told: Any) -> None:
    proxy = Proxy.open(policy)
    ready.wait(20)
    told.put(proxy.session("ana").execute(COUNT).rows)
    proxy.close()


def test_processes_that_share_their_releases_buy_one_of_them_once(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, told = context.Barrier(3), context.Queue()
    asking = [context.Process(target=_ask, args=(str(folder / "policy.yaml"), ready, told)) for _ in range(3)]
    for process in asking:
        process.start()
    answers = {told.get(timeout=60) for _ in asking}
    for process in asking:
        process.join(20)
    assert len(answers) == 1
    assert charges(folder) == 1


def test_claims_are_all_or_none_and_given_back(tmp_path: Path) -> None:
    here, there = Purchases(tmp_path / "claims"), Purchases(tmp_path / "claims")
    with here.claimed({"a", "b"}, Patience.of(1)):
        for other in (here, there):
            with pytest.raises(Error) as caught, other.claimed({"z", "b"}, Patience.of(0.1)):
                raise AssertionError("both buy b")
            assert caught.value.sqlstate == "57014"
            with other.claimed({"z"}, Patience.of(1)):
                pass
    with there.claimed({"a", "b"}, Patience.of(1)):
        pass
    here.close()
    there.close()
