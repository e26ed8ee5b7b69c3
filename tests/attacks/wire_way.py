"""The statements over a socket to ``dpsql serve``, by the simple and by the extended protocol."""

from __future__ import annotations

import socket
import sqlite3
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.attacks.cases import Case
from tests.attacks.dbapi_way import taken
from tests.attacks.library import Library
from tests.clients.test_protocol import SYNC, Reply, describe, execute, framed, replies, startup
from tests.fuzz.server import seconds_of, started

_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the server sent for one step, what it charged, and for how long it kept the computer busy."""

    raw: bytes
    before: tuple[object, ...]
    after: tuple[object, ...]
    seconds: float

    @property
    def replies(self) -> list[Reply]:
        return replies(self.raw)

    @property
    def error(self) -> str | None:
        return next((one.fields["C"] for one in self.replies if one.kind == "E"), None)

    @property
    def charged(self) -> bool:
        return self.before != self.after

    @property
    def kind(self) -> str:
        if self.error == "57014":
            return "ended"
        if self.error is not None:
            return "fails" if self.charged else "refused"
        return "charged" if self.charged else "free"

    def outline(self, *, rows: bool) -> list[tuple[str, object]]:
        """All that is told but the values of rows: kinds, columns, tags, errors, notices."""
        found: list[tuple[str, object]] = []
        for one in self.replies:
            if one.kind != "D":
                found.append((one.kind, one.body if rows or one.kind != "C" else b""))
            elif rows:
                found.append((one.kind, len(one.values)))
        return found


@dataclass(slots=True)
class Wire:
    """One library, served. ``heard`` is every byte that came from it."""

    library: Library
    process: subprocess.Popen[bytes]
    port: int
    heard: bytearray = field(default_factory=bytearray)

    def ask(self, case: Case, *, extended: bool = False) -> list[Exchange]:
        """The steps of a case on a new connection that does not use what others paid for."""
        with socket.create_connection(("127.0.0.1", self.port), _PATIENCE) as connection:
            connection.sendall(startup("ana"))
            self._until_ready(connection)
            connection.sendall(_query("SET dpsql.reuse = off"))
            self._until_ready(connection)
            return [self._step(connection, _extended(step) if extended else _query(step)) for step in case.steps]

    def _step(self, connection: socket.socket, messages: bytes) -> Exchange:
        before, busy, started = self._spent(), self._busy(), time.monotonic()
        connection.sendall(messages)
        raw = self._until_ready(connection)
        seconds = taken(self._busy() - busy, time.monotonic() - started)
        return Exchange(raw, before, self._spent(), seconds)

    def _until_ready(self, connection: socket.socket) -> bytes:
        """Everything up to ReadyForQuery, or to the end of the connection."""
        data, place = bytearray(), 0
        while not (place > 5 and data[place - 6 : place - 5] == b"Z" and place == len(data)):
            block = connection.recv(1 << 16)
            if not block:
                break
            data += block
            while place + 5 <= len(data):
                (length,) = struct.unpack_from("!i", data, place + 1)
                if place + 1 + length > len(data):
                    break
                place += 1 + length
        self.heard += data
        return bytes(data)

    def _spent(self) -> tuple[object, ...]:
        path = self.library.folder / "spent.ledger"
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            rows = connection.execute("SELECT epsilon, rho, delta FROM total WHERE analyst = ''").fetchall()
        return tuple(rows)

    def _busy(self) -> float:
        """Seconds that the server kept the computer busy, up to now."""
        return seconds_of(self.process)


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass") + b"\0"


def _query(sql: str) -> bytes:
    return framed(b"Q", _text(sql))


def _extended(sql: str) -> bytes:
    parse = framed(b"P", b"\0" + _text(sql) + struct.pack("!h", 0))
    bind = framed(b"B", b"\0\0" + struct.pack("!hhh", 0, 0, 0))
    return parse + describe("S") + bind + describe("P") + execute() + SYNC


@contextmanager
def open_wire(library: Library) -> Iterator[Wire]:
    with started(library.policy, library.folder / "stderr.log") as (process, port):
        yield Wire(library, process, port)
