"""A part that hangs, without ending: whoever waits for it is told so in time, and nobody waits for ever."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from dpsql.accounting import PURE, Accountant
from dpsql.engines import Cancellation
from dpsql.errors import Error
from dpsql.ledger import Ledger, watch_states
from dpsql.ledger.watch_states import FileStates, ServerStates, WatchStates
from dpsql.server.shadow import Shadow
from dpsql.server.workers import nursery
from rewriter.declared import Catalog
from tests.ledger.test_postgres_ledger import durable_server

LIMIT, PATIENCE = 0.3, 20.0
TOTAL = Accountant(PURE, Fraction(1), Fraction(0))


def told(work: Callable[[], object]) -> str:
    """The SQLSTATE that somebody is told, or nothing where there was none; fails where there is no word in time."""
    found: list[str] = []

    def run() -> None:
        try:
            work()
            found.append("")
        except Error as problem:
            found.append(problem.sqlstate)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found, "it waits for ever"
    return found[0]


@contextmanager
def frozen(*processes: int) -> Iterator[None]:
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def watched(states: WatchStates) -> None:
    """Nobody hangs: it is read. Raises where it cannot be."""
    states.read("k")


def test_a_watch_does_not_wait_for_ever_for_the_file_of_its_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_states, "_PATIENCE", LIMIT)
    place = str(tmp_path / "ledger")
    Ledger.open(place, TOTAL).close()
    states = FileStates(place)
    assert told(lambda: watched(states)) == ""
    with open(f"{place}-lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert told(lambda: watched(states)) == "58030"
    assert told(lambda: watched(states)) == ""


def test_a_watch_does_not_wait_for_ever_for_the_server_of_its_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_states, "_PATIENCE", LIMIT)
    with durable_server() as server:
        place = str(server.process.url(server.database()))
        Ledger.open(place, TOTAL).close()
        states = ServerStates(place)
        assert told(lambda: watched(states)) == ""
        with psycopg.connect(place) as owner:
            owner.execute("LOCK TABLE dpsql_ledger.watched")
            assert told(lambda: watched(states)) == "58030"
        assert told(lambda: watched(states)) == ""


def test_a_query_does_not_wait_for_ever_for_the_catalog() -> None:
    """Neither to be answered, nor for its settings, nor for the server to hear that it is cancelled."""

    def ask(zone: str) -> None:
        shadow.run("SELECT 1", [], [], [], [], "ana", {"timezone": zone}, LIMIT, Cancellation())

    shadow = Shadow.start(Catalog({}, None), ["ana"], "library")
    try:
        assert told(lambda: ask("UTC")) == ""
        (backend,) = shadow._pool._idle["ana"]
        with frozen(shadow.process.process_id, backend.connection.backend_pid):
            assert told(lambda: ask("Europe/Berlin")) == "57014"
        assert told(lambda: ask("Europe/Berlin")) == ""
        (backend,) = shadow._pool._idle["ana"]
        with frozen(shadow.process.process_id, backend.connection.backend_pid):
            assert told(lambda: ask("Europe/Berlin")) == "57014"
        assert told(lambda: ask("Europe/Berlin")) == ""
    finally:
        shadow.close()


def test_a_server_does_not_wait_for_ever_for_its_nursery_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery, "_FAREWELL", LIMIT, raising=False)
    found = nursery.Nursery(lambda descriptors: None)
    found.watch(lambda process, status: None, lambda: None)
    os.kill(found._process, signal.SIGSTOP)
    began = time.monotonic()
    try:
        assert told(found.close) == ""
        assert time.monotonic() - began >= LIMIT
    finally:
        with suppress(ProcessLookupError):
            os.kill(found._process, signal.SIGKILL)


def test_a_query_of_the_catalog_that_nobody_waits_for_ends_in_its_server_too() -> None:
    endless = "SELECT COUNT(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"
    shadow = Shadow.start(Catalog({}, None), ["ana"], "library")
    try:
        assert told(lambda: shadow.run(endless, [], [], [], [], "ana", {}, LIMIT, Cancellation())) == "57014"
        with psycopg.connect(shadow.process.dsn("library"), autocommit=True) as owner:
            there = "SELECT COUNT(*) FROM pg_stat_get_activity(NULL) WHERE usesysid = 'ana'::regrole"
            began = time.monotonic()
            while owner.execute(there).fetchone() != (0,):
                assert time.monotonic() < began + 5, "it goes on until statement_timeout"
                time.sleep(0.05)
    finally:
        shadow.close()
