"""Record and replay by the bytes of the wire: to the protocol itself, and to ``dpsql serve`` with workers."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dpsql.server.session.backend import Backend
from dpsql.server.session.login import Gate, Peer
from dpsql.server.session.protocol import Protocol
from dpsql.server.shadow import Shadow
from dpsql.server.start import analysts
from tests.clients.test_protocol import SYNC, bind, describe, execute, parse, query, replies, startup
from tests.properties.replayed import Asked, clock_beside, later, proxy_over
from tests.properties.tape import Diverged, Tape, taped

Speak = Callable[[bytes], bytes]
_PATIENCE, _CONNECTIONS = 60.0, 4


def conversation(asked: Asked, *, extended: bool) -> list[bytes]:
    """The messages of a statement: by the simple protocol, or as it is prepared, described and fetched in binary."""
    settings = [query(one) for one in ("RESET ALL", *asked.settings)]
    if not extended:
        return [*settings, query(asked.sql)]
    messages = (parse(asked.sql), describe("S"), bind(results=(1,)), describe("P"), execute(), SYNC)
    return [*settings, b"".join(messages)]


def spoken(policy: Path, asked: Sequence[Asked], speak: Sequence[Speak], tape: Tape) -> list[list[bytes]]:
    """What was said to each statement about a policy, on one connection after the other."""
    found = []
    for number, one in enumerate(asked):
        later(policy, one)
        say = speak[number % len(speak)]
        found.append([say(message) for message in conversation(one, extended=number % 3 == 2)])
        tape.check(one.sql)
    return found


def compare(asked: Sequence[Asked], here: list[list[bytes]], there: list[list[bytes]]) -> None:
    for one, ours, theirs in zip(asked, here, there, strict=True):
        if ours != theirs:
            told = [[replies(part) for part in side] for side in (ours, theirs)]
            raise Diverged(f"the bytes follow a person: {one.sql}\n{told[0]}\n{told[1]}")


def replay_protocol(here: Path, there: Path, folder: Path, asked: Sequence[Asked]) -> int:
    """Bytes of the protocol without sockets. How many tables were released; raises :class:`Diverged`."""
    with taped(folder) as tape, contextlib.ExitStack() as held:
        shadow, said, released = None, [], 0
        for policy in (here, there):
            with proxy_over(policy) as proxy:
                if shadow is None:
                    shadow = Shadow.start(proxy.catalog, analysts(proxy.policy), "clinic")
                    held.callback(shadow.close)
                protocol = Protocol(Backend(proxy, shadow), Gate(proxy.policy), Peer(True), tls=False)

                def speak(message: bytes, protocol: Protocol = protocol) -> bytes:
                    protocol.feed(message)
                    return b"".join(protocol.respond())

                speak(startup("ana"))  # its answer holds a key that is drawn
                said.append(spoken(policy, asked, [speak], tape))
                protocol.abandon()
            if policy is here:
                released = tape.position
                tape.rewind()
        compare(asked, *said)
        _all_played(tape, released)
    return released


def replay_server(here: Path, there: Path, folder: Path, asked: Sequence[Asked], workers: int) -> int:
    """Bytes over sockets, and the charges, of a server with workers. How many tables were released."""
    tape, said, paid, released = Tape(folder), [], [], 0
    for policy in (here, there):
        with served(policy, folder, workers) as connections:
            said.append(spoken(policy, asked, connections, tape))
        paid.append(_charges(policy.parent / "clinic.ledger"))
        if policy is here:
            released = tape.position
            tape.rewind()
    compare(asked, *said)
    if paid[0] != paid[1]:
        raise Diverged("the charges follow a person")
    _all_played(tape, released)
    return released


def _all_played(tape: Tape, released: int) -> None:
    if tape.position != released:
        raise Diverged("not all was asked for that was released")


def _charges(ledger: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT number, analyst, epsilon, rho, delta FROM charge ORDER BY number").fetchall()


@contextmanager
def served(policy: Path, tape: Path, workers: int) -> Iterator[list[Speak]]:
    """Some connections to a server with a tape, by the clock beside its policy."""
    options = ["serve", str(policy), "--port", "0", "--workers", str(workers)]
    command = [sys.executable, "-m", "tests.properties.tape", str(tape), str(clock_beside(policy).path), *options]
    log = policy.parent / "log"
    with log.open("wb") as told:
        process = subprocess.Popen(command, stderr=told, stdout=told, env={**os.environ, "PYTHONHASHSEED": "0"})
    try:
        with contextlib.ExitStack() as held:
            yield [_connected(_port(process, log), held) for _ in range(_CONNECTIONS)]
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()


def _connected(port: int, held: contextlib.ExitStack) -> Speak:
    connection = held.enter_context(socket.create_connection(("127.0.0.1", port), _PATIENCE))

    def speak(message: bytes) -> bytes:
        connection.sendall(message)
        data = b""
        # ReadyForQuery is the last of what is answered.
        while not (len(data) > 5 and data[-6:-1] == b"Z\0\0\0\5"):
            block = connection.recv(1 << 16)
            if not block:
                raise AssertionError("the server hung up")
            data += block
        return data

    speak(startup("ana"))
    return speak


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r" port (\d+)", log.read_text()):
            return int(found[1])
        time.sleep(0.05)
    raise AssertionError(f"dpsql serve did not start: {log.read_text()}")
