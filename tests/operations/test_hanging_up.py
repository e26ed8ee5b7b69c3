"""Clients that hang up: what they have not paid for does not run, and what they have paid for is kept."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from psycopg.pq import PGconn

from dpsql.server.session.backend import Backend
from dpsql.server.session.login import Gate, Peer
from dpsql.server.session.protocol import Protocol
from tests.attacks.library import POLICY, duckdb_library
from tests.operations.operated import Operated, eventually
from tests.operations.several import Several, several
from tests.operations.test_overload import COUNT, EACH, ask, held, patient
from tests.operations.test_workers import Asking

LIMITS = "limits: {statements: 4, statements_per_analyst: 3, connections_per_analyst: 12, wait: 200}\n"


def simple(connection: PGconn, sql: str) -> None:
    connection.send_query(sql.encode())


def extended(connection: PGconn, sql: str) -> None:
    connection.send_query_params(sql.encode(), None)


def said(connection: PGconn) -> None:
    """As a driver closes: Terminate, then the socket."""
    connection.finish()


def dropped(connection: PGconn) -> None:
    """As a process ends that is killed: its system closes the socket."""
    with socket.socket(fileno=os.dup(connection.socket)) as ours:
        ours.shutdown(socket.SHUT_RDWR)


def torn(connection: PGconn) -> None:
    """As a machine restarts: a reset."""
    with socket.socket(fileno=os.dup(connection.socket)) as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.dup2(os.open(os.devnull, os.O_RDWR), connection.socket)


@pytest.mark.parametrize("leave", [said, dropped, torn])
@pytest.mark.parametrize("send", [simple, extended])
def test_who_hangs_up_in_the_line_is_not_charged_and_nothing_runs(
    server: Operated,
    monkeypatch: pytest.MonkeyPatch,
    send: Callable[[PGconn, str], None],
    leave: Callable[[PGconn], None],
) -> None:
    turns, first = server.server._watch.turns, 1000 + 10 * (2 * [said, dropped, torn].index(leave) + (send is simple))
    with ThreadPoolExecutor(10) as pool, held(server, monkeypatch) as standing, patient(server):
        running = [pool.submit(ask, server, "ana", COUNT + str(first + number)) for number in range(EACH)]
        eventually(lambda: len(standing.entered) == EACH)
        spent = server.proxy.ledger.spent()
        gone = server.connect().pgconn
        send(gone, COUNT + str(first + 9))
        gone.flush()
        eventually(lambda: turns.waiting == 1)
        leave(gone)
        eventually(lambda: turns.waiting == 0)
        assert len(standing.entered) == EACH, "nobody's turn has come meanwhile"
        standing.go.set()
        assert [one.result(240)[0] for one in running] == ["00000"] * EACH
    eventually(lambda: server.figure("dpsql_connections", state="logged in") == 0)
    assert len(standing.entered) == EACH
    assert server.proxy.ledger.spent() == spent
    assert server.figure("dpsql_running_statements", state="running") == 0


def test_what_was_paid_for_is_kept_and_nothing_behind_it_runs(
    server: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipeline of three: the first is read already when its client goes."""
    heard, hung_up = threading.Event(), Protocol.hung_up

    def hear(self: Protocol) -> None:
        hung_up(self)
        heard.set()

    monkeypatch.setattr(Protocol, "hung_up", hear)
    before = len(server.proxy.ledger.charges())
    cancelled = server.figure("dpsql_statements_total", outcome="failed", sqlstate="57014")
    with held(server, monkeypatch) as standing:
        gone = server.connect().pgconn
        gone.enter_pipeline_mode()
        for number in (1100, 1101, 1102):
            extended(gone, COUNT + str(number))
        gone.pipeline_sync()
        gone.flush()
        eventually(lambda: len(standing.entered) == 1)
        dropped(gone)
        assert heard.wait(60)
        standing.go.set()
        eventually(lambda: server.figure("dpsql_connections", state="logged in") == 0)
    assert len(server.proxy.ledger.charges()) == before + 1
    ended = server.figure("dpsql_statements_total", outcome="failed", sqlstate="57014")
    assert ended == cancelled, "the others were not begun, not even to be ended"
    assert ask(server, "ana", COUNT + "1100")[0] == "00000"
    assert len(server.proxy.ledger.charges()) == before + 1, "whoever asks again gets it for free"
    assert ask(server, "ana", COUNT + "1101")[0] == "00000"
    assert len(server.proxy.ledger.charges()) == before + 2


def test_who_waits_for_the_database_and_hangs_up_is_not_charged(
    server: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has its turn among statements, and waits for one in the engine."""
    before = len(server.proxy.ledger.charges())
    with ThreadPoolExecutor(4) as pool, held(server, monkeypatch) as standing, patient(server):
        load = server.proxy.engine_load
        take = type(load).take
        monkeypatch.setattr(load, "most", 1)
        monkeypatch.setattr(type(load), "take", lambda self, seconds, *more: take(self, 200, *more))
        running = pool.submit(ask, server, "ana", COUNT + "1120")
        eventually(lambda: len(standing.entered) == 1)
        gone = server.connect().pgconn
        simple(gone, COUNT + "1121")
        gone.flush()
        eventually(lambda: server.figure("dpsql_running_statements", state="running") == 2)
        dropped(gone)
        eventually(lambda: server.figure("dpsql_running_statements", state="running") == 1)
        standing.go.set()
        assert running.result(240)[0] == "00000"
    assert len(server.proxy.ledger.charges()) == before + 1


def test_a_request_to_cancel_is_heard_though_its_sender_hangs_up_at_once() -> None:
    """It has gone before its request is looked at."""
    heard: list[tuple[int, bytes]] = []
    stranger = Protocol(
        cast("Backend", None), cast("Gate", None), Peer(True), tls=False, cancel=lambda *asked: heard.append(asked)
    )
    stranger.feed(struct.pack("!iii", 16, 80877102, 7) + b"four")
    stranger.hung_up()
    assert b"".join(stranger.respond()) == b""
    assert heard == [(7, b"four")]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Several]:
    folder = tmp_path_factory.mktemp("several") / "library"
    with several(duckdb_library(folder, with_person=True, policy=POLICY + LIMITS).policy) as found:
        yield found


def test_who_hangs_up_in_the_line_of_several_workers_is_not_charged(workers: Several) -> None:
    before = len(workers.charges())
    with workers.standing():
        connections = [workers.connect() for _ in range(3)]
        running = [Asking(one, COUNT + str(1200 + number)) for number, one in enumerate(connections)]
        eventually(lambda: len(workers.entered()) == 3)
        gone = [workers.connect().pgconn for _ in range(4)]
        for number, one in enumerate(gone):
            (simple, extended)[number // 2](one, COUNT + str(1210 + number))
            one.flush()
        eventually(lambda: workers.figure("dpsql_running_statements", state="waiting") == 4)
        for one in gone:
            dropped(one)
        eventually(lambda: workers.figure("dpsql_running_statements", state="waiting") == 0)
        (workers.gate / "closed").unlink()
        assert [one.ended().sqlstate for one in running] == [""] * 3
    eventually(lambda: workers.figure("dpsql_connections", state="logged in") == 3)
    assert len(workers.charges()) == before + 3
    for one in connections:
        one.close()
