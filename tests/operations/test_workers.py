"""Several processes behind one port are one server: one budget, one store, one set of limits, and no process matters."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.attacks.library import POLICY, duckdb_library
from tests.operations.operated import PATIENCE, eventually
from tests.operations.several import Several, gone, parent, several

COUNT = "SELECT COUNT(*) FROM member WHERE code < "
EACH, CONNECTIONS = 3, 12
LIMITS = (
    f"limits: {{statements: 4, statements_per_analyst: {EACH}, connections_per_analyst: {CONNECTIONS}, wait: 0.5}}\n"
)
SMALL = POLICY.replace(
    "budget: {epsilon: 1e6, delta: 1e-3, accounting: zcdp}",
    "budget: {epsilon: 40, delta: 0}\nlimits: {statements: 60, statements_per_analyst: 60}",
)
BUYERS = 50


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Several]:
    folder = tmp_path_factory.mktemp("several") / "library"
    with several(duckdb_library(folder, with_person=True, policy=POLICY + LIMITS).policy) as found:
        yield found
        assert found.stop() == 0
        assert "Traceback" not in found.log.read_text()


class Asking(threading.Thread):
    """One statement on a connection, and what came of it."""

    def __init__(self, connection: psycopg.Connection[Any], sql: str) -> None:
        super().__init__()
        self._connection, self._sql = connection, sql
        self.row: Any = None
        self.sqlstate: str | None = ""
        self.hint: str | None = None
        self.start()

    def run(self) -> None:
        try:
            self.row = self._connection.execute(self._sql.encode()).fetchone()
        except psycopg.Error as problem:
            self.sqlstate, self.hint = problem.sqlstate, problem.diag.message_hint

    def ended(self) -> Asking:
        self.join(PATIENCE)
        assert not self.is_alive()
        return self


def workers(server: Several) -> list[int]:
    """The two processes that answer: each of two new connections is in another one, when the ends of earlier ones are
    heard of."""
    nobody_is_left(server)
    with server.standing(), server.connect() as one, server.connect() as other:
        asked = [Asking(one, COUNT + str(time.monotonic_ns())), Asking(other, COUNT + str(time.monotonic_ns()))]
        eventually(lambda: len(server.entered()) == 2)
        found = server.entered()
        (server.gate / "closed").unlink()
        assert [one.ended().sqlstate for one in asked] == ["", ""]
    assert len(set(found)) == 2
    nobody_is_left(server)
    return found


def nobody_is_left(server: Several) -> None:
    eventually(lambda: server.figure("dpsql_connections", state="logged in") == 0)


def test_a_release_that_one_worker_bought_is_free_in_the_other(server: Several) -> None:
    assert server.process.pid not in workers(server), "the foreman answers nobody"
    before = len(server.charges())
    with server.connect() as one, server.connect("bob") as other:
        first = one.execute(COUNT + "1000").fetchall()
        assert other.execute(COUNT + "1000").fetchall() == first
    assert len(server.charges()) == before + 1


def test_a_statement_is_cancelled_from_any_worker(server: Several) -> None:
    """The request comes by a connection of its own, which goes to the worker that has fewer: the other one."""
    with server.standing(), server.connect() as connection:
        asking = Asking(connection, COUNT + "1001")
        eventually(lambda: len(server.entered()) == 1)
        began = time.monotonic()
        connection.cancel_safe()
        assert asking.ended().sqlstate == "57014"
        assert time.monotonic() - began < PATIENCE / 2
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_session_of_any_worker_is_ended_by_its_number_by_its_own_analyst(server: Several) -> None:
    with server.standing(), server.connect() as connection, server.connect() as own, server.connect("bob") as bob:
        asking = Asking(connection, COUNT + "1003")
        eventually(lambda: len(server.entered()) == 1)
        asked = f"SELECT pg_cancel_backend({connection.info.backend_pid})".encode()
        assert bob.execute(asked).fetchone() == (False,)
        assert asking.is_alive()
        assert own.execute(asked).fetchone() == (True,)
        assert asking.ended().sqlstate == "57014"


def test_limits_hold_for_all_workers_together(server: Several) -> None:
    with server.standing():
        connections = [server.connect() for _ in range(EACH + 2)]
        asked = [Asking(one, COUNT + str(1010 + at)) for at, one in enumerate(connections[:EACH])]
        eventually(lambda: len(server.entered()) == EACH)
        assert len(set(server.entered())) == 2, "no worker has as many as one analyst may"
        before = server.charges()
        for beyond in connections[EACH:]:
            with pytest.raises(psycopg.OperationalError, match="of this analyst") as refused:
                beyond.execute(COUNT + "1020")
            assert refused.value.sqlstate == "53300"
        assert server.charges() == before
        others = [server.connect("bob") for _ in range(2)]
        asked.append(Asking(others[0], COUNT + "1030"))
        eventually(lambda: len(server.entered()) == EACH + 1)
        with pytest.raises(psycopg.OperationalError, match="too many statements run"):
            others[1].execute(COUNT + "1040")
        assert "too many statements run" in server.page("/ready")[1]
        assert server.figure("dpsql_running_statements", state="running") == EACH + 1
        (server.gate / "closed").unlink()
        assert [one.ended().sqlstate for one in asked] == [""] * (EACH + 1)
    for one in (*connections, *others):
        one.close()
    eventually(lambda: server.figure("dpsql_connections", state="logged in") == 0)
    many = [server.connect() for _ in range(CONNECTIONS)]
    with pytest.raises(psycopg.OperationalError, match="too many connections of this analyst"):
        server.connect()
    server.connect("bob").close()
    for one in many:
        one.close()


def test_figures_add_up(server: Several) -> None:
    eventually(lambda: server.figure("dpsql_connections", state="logged in") == 0)
    free = ("dpsql_statements_total", {"outcome": "free", "sqlstate": "00000"})
    before, charged = server.figure(free[0], **free[1]), server.figure("dpsql_charges_total", analyst="ana")
    assert charged + server.figure("dpsql_charges_total", analyst="bob") == len(server.charges())
    connections = [server.connect() for _ in range(4)]
    for one in connections:
        one.execute(COUNT + "1000")
    assert server.figure("dpsql_connections", state="logged in") == 4
    assert server.figure(free[0], **free[1]) == before + 4
    assert server.figure("dpsql_workers") == 2
    assert server.figure("dpsql_running_statements_limit") == 4
    spent = sum(float(rho) for _, rho in server.charges())
    assert server.figure("dpsql_budget_rho", analyst="", part="spent") == pytest.approx(spent)
    assert [server.page(path)[0] for path in ("/health", "/ready")] == [200, 200]
    for one in connections:
        one.close()


def test_nothing_is_read_before_the_charge_is_durable(server: Several) -> None:
    """Nobody can write to the ledger: no worker reads, none answers. Then it is charged, read and answered."""
    workers(server)  # What takes its time once is over.
    connections = [server.connect(), server.connect("bob")]
    for path in server.gate.iterdir():
        path.unlink()
    before = len(server.charges())
    with server.uncharged():
        asked = [Asking(one, COUNT + str(1050 + at)) for at, one in enumerate(connections)]
        eventually(lambda: server.figure("dpsql_running_statements", state="running") == 2)
        time.sleep(0.5)
        assert server.entered() == []
        assert all(one.is_alive() for one in asked)
        assert len(server.charges()) == before
    assert [one.ended().sqlstate for one in asked] == ["", ""]
    assert len(server.entered()) == 2
    assert len(server.charges()) == before + 2
    for one in connections:
        one.close()


def test_a_worker_that_is_killed_takes_nobody_else_along(server: Several) -> None:
    before, victims = server.charges(), workers(server)
    with server.standing(), server.connect() as one, server.connect("bob") as other:
        killed = Asking(one, COUNT + "1060")
        eventually(lambda: len(server.entered()) == 1)
        victim = server.entered()[0]
        goes_on = Asking(other, COUNT + "1061")
        eventually(lambda: len(server.entered()) == 2)
        assert victim in victims
        os.kill(victim, signal.SIGKILL)
        assert killed.ended().row is None
        assert one.closed
        eventually(lambda: server.figure("dpsql_workers") == 2)
        assert goes_on.is_alive()
        (server.gate / "closed").unlink()
        assert goes_on.ended().sqlstate == ""
        assert other.execute("SELECT 1").fetchone() == (1,)
        charged = server.charges()
        assert len(charged) == len(before) + 4, "two of the workers' own, and both of these"
    found = workers(server)
    assert victim not in found
    assert len(set(found) & set(victims)) == 1, "the other one still is there"
    with server.connect() as again:
        paid = len(server.charges())
        assert again.execute(COUNT + "1060").fetchone() is not None
        assert len(server.charges()) == paid + 1, "what the dead one was charged bought nothing, and stays charged"
    assert '"a worker has ended"' in server.log.read_text()
    assert server.page("/ready")[0] == 200


def test_workers_draw_noise_of_their_own_and_finish_what_runs(tmp_path: Path) -> None:
    """They are forked from one process: what it had drawn, each of them would draw again. Then the server stops."""
    policy = duckdb_library(tmp_path / "library", with_person=True, policy=POLICY).policy
    with several(policy) as server:
        family = server.family()
        with server.connect() as one, server.connect() as other:
            assert noisy(one) != noisy(other)
        assert len(set(server.entered())) == 2
        with server.standing(), server.connect() as one, server.connect() as idle:
            asking = Asking(one, COUNT + "1")
            eventually(lambda: len(server.entered()) == 1)
            server.process.terminate()
            with pytest.raises(psycopg.OperationalError):
                while True:
                    idle.execute("SELECT 1")
            with pytest.raises(psycopg.OperationalError):
                server.connect()
            assert asking.is_alive(), "who asks is answered"
            (server.gate / "closed").unlink()
            assert asking.ended().row is not None
        assert server.process.wait(PATIENCE) == 0
        gone(family)
        assert "Traceback" not in server.log.read_text()


def test_a_statement_that_the_stopping_server_ends_says_that_it_was_paid(tmp_path: Path) -> None:
    policy = duckdb_library(tmp_path / "library", with_person=True, policy=POLICY).policy
    with several(policy) as server, server.standing(), server.connect() as one, server.connect() as idle:
        asking = Asking(one, COUNT + "1")
        eventually(lambda: len(server.entered()) == 1)
        server.process.terminate()
        eventually(lambda: '"stopping"' in server.log.read_text())
        server.process.terminate()
        asking.ended()
        assert (asking.sqlstate, asking.row) == ("57P01", None)
        assert asking.hint == "the statement that ran was charged, and what was charged stays charged"
        with pytest.raises(psycopg.OperationalError) as ended:
            idle.execute("SELECT 1")
        assert ended.value.diag.message_hint is None
        assert len(server.charges()) == 1


def test_a_server_that_cannot_fork_any_more_ends_with_an_error(tmp_path: Path) -> None:
    """What runs ends first. The service is started anew, as the guide says."""
    policy = duckdb_library(tmp_path / "library", with_person=True, policy=POLICY).policy
    with several(policy) as server:
        with server.standing(), server.connect() as one:
            asking = Asking(one, COUNT + "1")
            eventually(lambda: len(server.entered()) == 1)
            (nursery,) = {parent(worker) for worker in server.entered()}
            assert nursery != server.process.pid
            os.kill(nursery, signal.SIGKILL)
            time.sleep(0.2)
            (server.gate / "closed").unlink()
            assert asking.ended().row is not None
        assert server.process.wait(PATIENCE) not in (0, None)


def noisy(connection: psycopg.Connection[Any]) -> list[Any]:
    """Ten numbers whose noise is wide, drawn anew."""
    connection.execute("SET dpsql.reuse = off; SET dpsql.epsilon = 0.001")
    return [connection.execute(COUNT + str(at)).fetchone() for at in range(10)]


def test_many_buyers_spend_the_budget_and_no_more(tmp_path: Path) -> None:
    """Fifty buy at once from two workers what ten can pay for. Then the foreman is killed: its workers serve nobody."""
    policy = duckdb_library(tmp_path / "library", with_person=True, policy=SMALL).policy
    with several(policy) as server:
        connections = [server.connect(("ana", "bob")[at % 2]) for at in range(BUYERS)]
        asked = [Asking(one, COUNT + str(at)) for at, one in enumerate(connections)]
        states = [one.ended().sqlstate for one in asked]
        assert set(states) == {"", "53400"}
        paid = [loss for _, loss in server.charges()]
        assert sum(paid) == 40, "all of it, and no more"
        assert states.count("") == len(paid) == 10
        family = server.family()
        assert len(family) >= 3, "two workers, and the process that they are forked from"
        server.process.kill()
        gone(family, 10)
        for one in connections:
            with pytest.raises(psycopg.OperationalError):
                one.execute("SELECT 1")
