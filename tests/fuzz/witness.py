"""The other client, who asks for one free answer after the other while somebody floods the server."""

from __future__ import annotations

import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.fuzz.frames import framed, query, startup

WITNESS = "guest"
"""Another analyst than the flood is: one analyst's statements are limited together."""
PAUSE = 0.01
REPEATED = "SELECT region, sex, COUNT(*) AS n FROM patient GROUP BY region, sex ORDER BY n DESC"
"""What a dashboard asks: paid for once, and free from then on."""


class Line:
    """A connection that is logged in."""

    def __init__(self, port: int, seconds: float = 30.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(startup(WITNESS))
        self.until_ready()

    def until_ready(self) -> bytes:
        data, place = bytearray(), 0
        while True:
            while place + 5 <= len(data):
                length = struct.unpack_from("!i", data, place + 1)[0]
                if place + 1 + length > len(data):
                    break
                if data[place] == ord("Z"):
                    return bytes(data)
                place += 1 + length
            block = self.socket.recv(1 << 16)
            if not block:
                raise ConnectionError("the server ended the connection")
            data += block

    def ask(self, sql: str) -> bytes:
        self.socket.sendall(query(sql))
        return self.until_ready()

    def close(self) -> None:
        self.socket.sendall(framed(b"X"))
        self.socket.close()


@dataclass(slots=True)
class Seen:
    """How long each answer took, in seconds."""

    seconds: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        found = sorted(self.seconds)
        return found[min(int(share * len(found)), len(found) - 1)] if found else 0.0

    @property
    def p99(self) -> float:
        return self.quantile(0.99)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) if self.seconds else 0.0


@dataclass(slots=True)
class Watch:
    """What the other client sees goes into ``into``; nowhere where that is None."""

    into: Seen | None = None
    problems: list[str] = field(default_factory=list)


@contextmanager
def watching(port: int) -> Iterator[Watch]:
    """Ask until the block ends. What the first answer is, all have to be."""
    seen, over = Watch(), threading.Event()
    line = Line(port)
    usual = _rows(line.ask(REPEATED))

    def watch() -> None:
        try:
            while not over.wait(PAUSE):
                into, started = seen.into, time.perf_counter()
                answer = line.ask(REPEATED)
                if into is not None and into is seen.into:
                    into.seconds.append(time.perf_counter() - started)
                if _rows(answer) != usual:
                    seen.problems.append(f"another answer: {answer[:200]!r}")
        except Exception as raised:
            seen.problems.append(f"the other client: {type(raised).__name__}: {raised}")

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        line.close()


def _rows(answer: bytes) -> bytes:
    """From the columns on: what comes before are notices about the price."""
    return answer[answer.find(b"T\0") :]
