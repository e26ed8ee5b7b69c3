"""More statements than may run at once: those beyond wait their turn, analyst by analyst, and where the policy lets them
wait no longer they are told so, uncharged; nobody else suffers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from dpsql.errors import OperationalError
from dpsql.server.operations.statement_turns import Turns
from tests.operations.operated import Operated, eventually

COUNT = "SELECT COUNT(*) FROM member WHERE code < "
ALL, EACH = 6, 3
"""As the policy of these tests says."""
PROMISE = 1.0
"""Seconds to be told, on a machine that has nothing else to do: ``python -m tests.operations`` measures it."""
BUSY = 40.0
"""The same on one that is busy; who hangs waits longer."""


@dataclass(slots=True)
class Held:
    """Statements that stand still in the database until they are let go."""

    entered: list[float] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)


@contextmanager
def held(server: Operated, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    engine = type(server.proxy._opened.engine)
    run, held_ = engine.run, Held()

    def stand(self: Any, *more: Any) -> Any:
        held_.entered.append(time.monotonic())
        held_.go.wait(240)
        return run(self, *more)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "run", stand)
        patch.setattr(server.proxy.engine_load, "most", 100)
        try:
            yield held_
        finally:
            held_.go.set()


Asked = tuple[str, float, Any]


def ask(server: Operated, user: str, sql: str) -> Asked:
    """The SQLSTATE, the seconds it took once connected, and the first row."""
    with psycopg.connect(server.dsn.replace("user=ana", f"user={user}"), autocommit=True) as connection:
        started = time.monotonic()
        try:
            row = connection.execute(sql.encode()).fetchone()
            return "00000", time.monotonic() - started, row
        except psycopg.Error as problem:
            return str(problem.sqlstate), time.monotonic() - started, None


def filling(server: Operated, pool: ThreadPoolExecutor, first: int) -> list[Future[Asked]]:
    """As many statements as may run, of both analysts. Each is a purchase of its own: who asks for what another one is
    buying waits for that one, and reads nothing."""
    return [pool.submit(ask, server, ("ana", "bob")[at % 2], f"{COUNT}{first + at}") for at in range(ALL)]


def test_one_analyst_may_not_take_everything(server: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(30) as pool, held(server, monkeypatch) as standing:
        running = [pool.submit(ask, server, "ana", COUNT + str(100 + number)) for number in range(EACH)]
        eventually(lambda: len(standing.entered) == EACH)
        spent = server.proxy.ledger.spent()
        beyond = [pool.submit(ask, server, "ana", COUNT + str(200 + number)) for number in range(5)]
        told = [one.result(240) for one in beyond]
        assert [state for state, _, _ in told] == ["53300"] * 5
        assert all(seconds < BUSY for _, seconds, _ in told)
        assert server.proxy.ledger.spent() == spent, "nothing was charged"
        assert ask(server, "bob", "SELECT 1")[0] == "00000", "another analyst is answered"
        with server.connect() as connection:
            connection.execute("BEGIN; ROLLBACK")
            connection.execute("BEGIN", prepare=True)
            connection.execute("COMMIT", prepare=True)
        assert server.figure("dpsql_running_statements", state="running") == EACH
        standing.go.set()
        assert [one.result(240)[0] for one in running] == ["00000"] * EACH
    assert ask(server, "ana", COUNT + "100")[0] == "00000"
    assert server.figure("dpsql_running_statements", state="running") == 0


def test_a_flood_is_told_at_once_and_the_server_goes_on(server: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty more than may run, of both analysts: all are told, in a time that does not grow with their number."""
    with ThreadPoolExecutor(60) as pool, held(server, monkeypatch) as standing:
        running = filling(server, pool, 300)
        eventually(lambda: len(standing.entered) == ALL)
        started = time.monotonic()
        beyond = [
            pool.submit(ask, server, ("ana", "bob")[number % 2], COUNT + str(400 + number)) for number in range(40)
        ]
        told = [one.result(240) for one in beyond]
        assert {state for state, _, _ in told} == {"53300"}
        assert sorted(seconds for _, seconds, _ in told)[20] < BUSY
        assert time.monotonic() - started < 60, "connecting forty times included"
        assert server.page("/health")[0] == 200
        assert "too many statements run" in server.page("/ready")[1]
        standing.go.set()
        assert [one.result(240)[0] for one in running] == ["00000"] * ALL
    assert server.page("/ready")[0] == 200


def test_a_turn_that_comes_in_time_is_taken(server: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(10) as pool, held(server, monkeypatch) as standing, patient(server):
        asked = [pool.submit(ask, server, "ana", COUNT + str(500 + number)) for number in range(EACH + 2)]
        eventually(lambda: len(standing.entered) == EACH)
        eventually(lambda: server.figure("dpsql_running_statements", state="waiting") == 2)
        standing.go.set()
        assert [one.result(240)[0] for one in asked] == ["00000"] * (EACH + 2)


@contextmanager
def patient(server: Operated) -> Iterator[None]:
    """A policy that lets statements wait, as long as any test may last."""
    turns = server.server._watch.turns
    patience, turns.patience = turns.patience, 200
    try:
        yield
    finally:
        turns.patience = patience


def test_twenty_connections_of_a_tool_are_all_answered(server: Operated) -> None:
    """One analyst, of whom three statements run at once: none is refused, and each is charged once."""
    before = len(server.proxy.ledger.charges())
    waited = server.figure("dpsql_statement_wait_seconds_count")
    with patient(server), ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(ask, server, "ana", COUNT + str(700 + number)) for number in range(20)]
        assert [one.result(240)[0] for one in asked] == ["00000"] * 20
    assert len(server.proxy.ledger.charges()) == before + 20
    assert server.figure("dpsql_statement_wait_seconds_count") >= waited + 20


def test_who_floods_keeps_nobody_else_waiting(server: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one statement runs at a time: of ten of ana's that wait, one at most runs before bob's."""
    turns = server.server._watch.turns
    with ThreadPoolExecutor(20) as pool, held(server, monkeypatch) as standing, patient(server):
        monkeypatch.setattr(turns, "all", 1)
        first = pool.submit(ask, server, "ana", COUNT + "720")
        eventually(lambda: len(standing.entered) == 1)
        flood = [pool.submit(ask, server, "ana", COUNT + str(721 + number)) for number in range(10)]
        eventually(lambda: turns.waiting == 10)
        late = pool.submit(ask, server, "bob", COUNT + "740")
        eventually(lambda: turns.waiting == 11)
        standing.go.set()
        assert [one.result(240)[0] for one in (first, *flood, late)] == ["00000"] * 12
    texts = [charge.statement for charge in server.proxy.ledger.charges()][11::-1]
    assert next(place for place, text in enumerate(texts) if "740" in text) <= 2


def test_a_statement_that_waits_can_be_cancelled_and_is_not_charged(
    server: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = server.server._watch.turns
    with ThreadPoolExecutor(10) as pool, held(server, monkeypatch) as standing, patient(server):
        running = [pool.submit(ask, server, "ana", COUNT + str(750 + number)) for number in range(EACH)]
        eventually(lambda: len(standing.entered) == EACH)
        spent = server.proxy.ledger.spent()
        with server.connect() as connection:
            waits = pool.submit(lambda: connection.execute(COUNT + "760"))
            eventually(lambda: turns.waiting == 1)
            connection.cancel_safe(timeout=30)
            with pytest.raises(psycopg.errors.QueryCanceled, match="nothing was charged"):
                waits.result(240)
            assert turns.waiting == 0
            standing.go.set()
            assert [one.result(240)[0] for one in running] == ["00000"] * EACH
            assert connection.execute("SELECT 1").fetchone() == (1,), "and the connection goes on"
        assert server.proxy.ledger.spent() == spent


def test_a_busy_database_refuses_before_it_charges(server: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is answered without the database is answered meanwhile."""
    assert ask(server, "ana", COUNT + "7")[0] == "00000"
    load, leave = server.proxy.engine_load, threading.Event()

    def stay() -> None:
        with load.within(None):
            leave.wait(240)

    others = [threading.Thread(target=stay) for _ in range(load.most)]
    for other in others:
        other.start()
    try:
        eventually(lambda: load.running == load.most)
        spent = server.proxy.ledger.spent()
        assert ask(server, "ana", COUNT + "601")[0] == "53300"
        assert server.proxy.ledger.spent() == spent
        assert ask(server, "ana", COUNT + "7")[0] == "00000", "what was released before"
        assert ask(server, "ana", "SELECT COUNT(*) FROM branch")[2] == (3,), "what is public"
    finally:
        leave.set()
        for other in others:
            other.join()
    assert ask(server, "ana", COUNT + "601")[0] == "00000"
    assert load.running == 0


def test_a_statement_gives_its_turn_back_whatever_happens(server: Operated) -> None:
    for sql in (
        "SELEKT",
        "SELECT card FROM member",
        "SELECT 1 / 0",
        "COPY (SELECT card FROM member) TO STDOUT",
        "FETCH 1 FROM c",
    ):
        assert ask(server, "ana", sql)[0] != "00000"
    assert server.figure("dpsql_running_statements", state="running") == 0
    assert server.figure("dpsql_engine_calls", state="running") == 0


def test_one_analyst_may_not_take_all_connections(server: Operated) -> None:
    eventually(lambda: server.server.connections == (0, 0))
    open_ = [server.connect() for _ in range(60)]
    try:
        with pytest.raises(psycopg.OperationalError, match="too many connections of this analyst"):
            server.connect()
        psycopg.connect(server.dsn.replace("user=ana", "user=bob")).close()
    finally:
        for connection in open_:
            connection.close()
    eventually(lambda: server.server.connections == (0, 0))
    server.connect().close()


def test_who_has_waited_elsewhere_is_told_at_once() -> None:
    """However many wait for a thread, all are told when their patience has ended: it began when they arrived."""
    turns, go = Turns(all=1, each=1, patience=30), threading.Event()

    def run(analyst: str) -> None:
        with turns.taken(analyst):
            go.wait(240)

    threads = [threading.Thread(target=run, args=(f"a{number}",)) for number in range(9)]
    for thread in threads:
        thread.start()
    eventually(lambda: turns.waiting == 8)
    started = time.monotonic()
    with pytest.raises(OperationalError, match="too many statements run at once"), turns.taken("b", started - 31):
        pass
    assert time.monotonic() - started < 60
    go.set()
    for thread in threads:
        thread.join()
    with turns.taken("b", started - 31):
        assert turns.running == 1, "who is late gets a turn that is free"
    assert (turns.running, turns.waiting) == (0, 0)
