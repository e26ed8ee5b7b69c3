"""The end: nobody new, what runs is finished within the grace, and everybody is told 57P01."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dpsql.engines.deadlines import Cancellation
from tests.operations.operated import PATIENCE, Operated, eventually, operated

COUNT = "SELECT COUNT(*) FROM member WHERE code < "


@contextmanager
def slow(server: Operated, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Releases stand still until they are cancelled or let go; the first event says that one has begun, the other lets go."""
    engine = type(server.proxy._opened.engine)
    run, begun, go = engine.run, threading.Event(), threading.Event()

    def slowly(self: Any, plan: Any, timeout: float | None, cancellation: Cancellation, turn: Any) -> Any:
        begun.set()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not cancellation.cancelled and not go.is_set():
            time.sleep(0.01)
        return run(self, plan, timeout, cancellation, turn)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "run", slowly)
        yield begun, go


class Ended:
    """Whether the server said goodbye to a connection: to libpq, what comes in the same bytes as an answer is a notice."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._told: list[str | None] = []
        connection.add_notice_handler(lambda told: self._told.append(told.sqlstate))

    def __call__(self) -> bool:
        try:
            self._connection.execute("SELECT 1")
        except psycopg.OperationalError as ended:
            return "57P01" in (ended.sqlstate, *self._told) or "terminating connection" in str(ended)
        return "57P01" in self._told


class Asking(threading.Thread):
    """One statement on a connection of its own, and what came of it."""

    def __init__(self, server: Operated, sql: str) -> None:
        super().__init__()
        self.connection, self._sql = server.connect(), sql
        self.ended = Ended(self.connection)
        self.row: object = None
        self.problem: psycopg.Error | None = None

    def run(self) -> None:
        try:
            self.row = self.connection.execute(self._sql.encode()).fetchone()
        except psycopg.Error as problem:
            self.problem = problem


def test_what_runs_is_finished_and_everybody_is_told(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with operated(library, grace=PATIENCE) as server, slow(server, monkeypatch) as (begun, go):
        idle, asking = Ended(server.connect()), Asking(server, COUNT + "1")
        asking.start()
        assert begun.wait(PATIENCE)
        server.server.stop()
        eventually(lambda: not server.server.serving)
        assert "not accepting connections" in server.page("/ready")[1]
        eventually(idle)
        assert asking.is_alive(), "who waits is sent away at once, who asks is answered"
        with pytest.raises(psycopg.OperationalError):
            server.connect()
        go.set()
        asking.join(PATIENCE)
        assert asking.problem is None
        assert asking.row is not None
        assert asking.ended()
    events = [line["event"] for line in server.audited()]
    assert events.count("login") == events.count("logout") == 2


def test_what_does_not_end_within_the_grace_is_ended(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with operated(library, grace=0.3) as server, slow(server, monkeypatch) as (begun, _):
        asking = Asking(server, COUNT + "2")
        asking.start()
        assert begun.wait(PATIENCE)
        started = time.monotonic()
        server.server.stop()
        asking.join(PATIENCE)
        assert time.monotonic() - started < PATIENCE / 2
        assert asking.problem is not None
        assert asking.ended() or asking.problem.sqlstate == "57P01"


def test_who_asks_twice_does_not_want_to_wait(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with operated(library, grace=PATIENCE) as server, slow(server, monkeypatch) as (begun, _):
        asking = Asking(server, COUNT + "3")
        asking.start()
        assert begun.wait(PATIENCE)
        started = time.monotonic()
        server.server.stop()
        eventually(lambda: not server.server.serving)
        server.server.stop()
        asking.join(PATIENCE)
        assert time.monotonic() - started < PATIENCE / 2
        assert asking.problem is not None


def test_a_client_that_goes_on_asking_does_not_keep_the_server(library: Path) -> None:
    with operated(library, grace=PATIENCE) as server:
        connection, asked = server.connect(), []
        server.server.stop()
        with pytest.raises(psycopg.OperationalError):
            while len(asked) < 100_000:
                asked.append(connection.execute("SELECT 1"))
        assert len(asked) < 1000


def test_signals_end_the_process_and_hang_up_opens_the_audit_again(library: Path) -> None:
    folder = library.parent
    audit = folder / "audited"
    command = [sys.executable, "-m", "dpsql", "serve", str(library), "--port", "0", "--audit", str(audit)]
    with (folder / "log").open("wb") as said:
        process = subprocess.Popen([*command, "--log-format", "json", "--metrics-port", "0"], stderr=said)
    try:
        log = folder / "log"
        eventually(lambda: b'"listening"' in log.read_bytes(), 120)
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        assert re.search(r"Max core file size +0 ", limits), "no rows are left in core dumps"
        audit.rename(folder / "moved")
        os.kill(process.pid, signal.SIGHUP)
        eventually(audit.exists)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
    assert [word in log.read_text() for word in ('"stopping"', '"stopped"')] == [True, True]
    assert "Traceback" not in log.read_text()
