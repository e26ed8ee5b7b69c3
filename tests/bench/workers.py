"""Part of ``python -m tests.bench wire``: what a second worker is worth on two cores.

One process without threads asks: prepared bytes go out, and what comes in is read as far as the answer's last byte. So
asking costs next to nothing beside answering. The servers are asked in turn, for a second at a time.

Beside the rates stand the cores that a server was given, and what a statement costs it of a core, in all its processes;
the foreman's part of that alone does not grow with their number. On a machine where others work, which gives two
workers less than two cores, the last column counts: the ratio where both cores are free, from the costs.
"""

from __future__ import annotations

import itertools
import os
import selectors
import socket
import statistics
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

CONNECTIONS = 16
ROUNDS, SECONDS = 7, 1.0
_READY = b"Z\0\0\0\5I"
_NUMBERS = itertools.count()
_DASHBOARD = (
    "SELECT region, age % 2 AS odd, COUNT(*) AS n, SUM(age) AS years, AVG(age) AS mean, COUNT(DISTINCT id) AS people"
    " FROM person WHERE age >= {} GROUP BY region, odd HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 5"
)
_COUNT = "SELECT COUNT(*) FROM person WHERE age >= {}"

STATEMENTS: dict[str, tuple[str, Callable[[], str]]] = {
    "COUNT, cold": ("on", lambda: _COUNT.format(f"18.{next(_NUMBERS)}")),
    "COUNT, cached": ("off", lambda: _COUNT.format(19)),
    "COUNT, repeated": ("on", lambda: _COUNT.format(18)),
    "dashboard, cold": ("on", lambda: _DASHBOARD.format(f"18.{next(_NUMBERS)}")),
    "dashboard, cached": ("off", lambda: _DASHBOARD.format(19)),
    "dashboard, repeated": ("on", lambda: _DASHBOARD.format(18)),
}
"""Whether releases are used again, and the text of the next statement."""


@dataclass(slots=True)
class Asked:
    """A server and what was measured of it, round by round: statements, and seconds of a core."""

    workers: int
    process: int
    connections: Sequence[socket.socket]
    rates: list[float] = field(default_factory=list)
    seconds: float = 0.0
    answered: int = 0
    work: float = 0.0
    foreman: float = 0.0
    asking: float = 0.0

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def cores(self) -> float:
        return self.work / self.seconds

    def begin(self) -> None:
        """Forget what was measured."""
        self.rates.clear()
        self.answered, self.seconds, self.work, self.foreman, self.asking = 0, 0.0, 0.0, 0.0, 0.0

    def times(self, alone: Asked) -> float:
        """How many times as many statements as one worker's this server answers on two free cores."""
        each, one = self.work / self.answered, alone.work / alone.answered
        return 1.0 if self is alone else 2 / each * one / max(1.0, alone.cores)


def compared(servers: Sequence[tuple[int, int, int, str]]) -> Table:
    """``servers`` are the workers, the process, the port and the user of each."""
    table = Table(
        "statement", "workers", "per s", "ratio", "cores", "core ms each", "foreman's", "asking", "two free cores"
    )
    for name, (reuse, text) in STATEMENTS.items():
        with ExitStack() as stack:
            asked = [
                Asked(workers, process, stack.enter_context(_connections(port, user, reuse)))
                for workers, process, port, user in servers
            ]
            for one in asked:
                _ask(one, text, 0.5)
                one.begin()
            for _ in range(ROUNDS):
                for one in asked:
                    _ask(one, text, SECONDS)
        for one in asked:
            each = 1000 / one.answered
            table.add_row(
                name, str(one.workers), f"{one.rate:,.0f}", f"{one.rate / asked[0].rate:.2f}", f"{one.cores:.2f}",
                f"{one.work * each:.2f}", f"{one.foreman * each:.2f}" if one.workers > 1 else "", f"{one.asking * each:.2f}",
                f"{one.times(asked[0]):.2f}",
            )  # fmt: skip
    return table


def _ask(one: Asked, text: Callable[[], str], seconds: float) -> None:
    """Every connection asks again as soon as it is answered."""
    selector = selectors.DefaultSelector()
    for connection in one.connections:
        selector.register(connection, selectors.EVENT_READ)
    before, asking = _work(one.process), time.process_time()
    began = time.perf_counter()
    end, answered, under_way = began + seconds, 0, 0
    for connection in one.connections:
        connection.sendall(_query(text()))
        under_way += 1
    while under_way:
        for key, _ in selector.select():
            connection = key.fileobj
            data = connection.recv(1 << 16)  # type: ignore[union-attr]
            if not data.endswith(_READY):
                if not data:
                    raise RuntimeError("a connection was closed")
                continue
            answered += 1
            if time.perf_counter() < end:
                connection.sendall(_query(text()))  # type: ignore[union-attr]
            else:
                under_way -= 1
    taken = time.perf_counter() - began
    after = _work(one.process)
    selector.close()
    one.rates.append(answered / taken)
    one.seconds += taken
    one.answered += answered
    one.work += sum(after.values()) - sum(before.values())
    one.foreman += after[one.process] - before[one.process]
    one.asking += time.process_time() - asking


def _query(text: str) -> bytes:
    data = text.encode() + b"\0"
    return b"Q" + struct.pack("!i", len(data) + 4) + data


@contextmanager
def _connections(port: int, user: str, reuse: str) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(CONNECTIONS)]
        parameters = f"user\0{user}\0database\0wire\0\0".encode()
        for one in found:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for message in (
                struct.pack("!ii", 8 + len(parameters), 196608) + parameters,
                _query(f"SET dpsql.reuse = {reuse}; SET dpsql.notices = off"),
            ):
                one.sendall(message)
                data = b""
                while not data.endswith(_READY):
                    data += one.recv(1 << 16)
                if data.startswith(b"E"):
                    raise RuntimeError(data.decode(errors="replace"))
        yield found


def _work(process: int) -> dict[int, float]:
    """Seconds of a core that a server has taken by now, by its processes; its catalog's are not among them."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    family = [process]
    for one in family:
        family += [child for child, parent in parents.items() if parent == one and _program(child) == _program(process)]
    return {one: _seconds(one) for one in family}


def _program(process: int) -> str:
    try:
        return os.readlink(f"/proc/{process}/exe")
    except OSError:
        return ""


def _seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
