"""``python -m tests.bench ledger``: charges per second and how long one waits, on this disk, in SQLite and PostgreSQL.

A client is an analyst's connection that has several statements under way; a charge counts when it is durable. The first
line is what one flush to the disk per charge would give; workers are processes of one server, which one writer serves.
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.queues
import os
import queue
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dpsql.accounting import ZCDP, Accountant
from dpsql.accounting.loss import PrivacyLoss
from dpsql.ledger.ledger import Due, Ledger
from dpsql.server.workers.calls import ChargeCall
from dpsql.server.workers.remote_calls import RemoteCalls
from dpsql.server.workers.worker import AskingWriter
from tests.engines.postgres_server import start

TOTAL = Accountant(ZCDP, Fraction(10**9), Fraction(1, 10**6))
PRICE = [Due(PrivacyLoss(rho=Fraction(1, 200)), "SELECT count(*) FROM patient", ("patient",))]
CLIENTS = 8


@dataclass(frozen=True, slots=True)
class Measured:
    """``rate`` is charges per second; waits are in milliseconds, from asking to durable.

    ``work`` is what one charge takes of a core in this process, clients and all, in microseconds: it says what the
    rate would be on a machine that has nothing else to do.
    """

    name: str
    rate: float
    median: float
    longest: float
    work: float | None = None


def measured_waits(name: str, waits: list[float], seconds: float, work: float | None = None) -> Measured:
    waits.sort()
    each = None if work is None else work / len(waits) * 1e6
    return Measured(name, len(waits) / seconds, waits[len(waits) // 2] * 1e3, waits[-1] * 1e3, each)


def charging(name: str, ledger: Ledger, clients: int, under_way: int, seconds: float) -> Measured:
    """Clients that each keep so many charges under way."""
    waits: list[float] = []
    end = time.monotonic() + seconds

    def client(who: str) -> None:
        pending: deque[tuple[float, Future[tuple[str, ...]]]] = deque()
        own: list[float] = []

        def begin() -> None:
            asked = time.monotonic()
            future = ledger.begin(who, PRICE)
            future.add_done_callback(lambda _: own.append(time.monotonic() - asked))
            pending.append((asked, future))

        while time.monotonic() < end:
            while len(pending) < under_way:
                begin()
            pending.popleft()[1].result()
        for _, future in pending:
            future.result()
        waits.extend(own)

    started, work = time.monotonic(), time.process_time()
    threads = [threading.Thread(target=client, args=(f"analyst {i}",)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return measured_waits(name, waits, time.monotonic() - started, time.process_time() - work)


_FORK = multiprocessing.get_context("fork")


def _proxy(place: str, who: str, end: float, waits: multiprocessing.queues.Queue[list[float]]) -> None:
    with Ledger.open(place, TOTAL) as ledger:
        own = []
        while (asked := time.monotonic()) < end:
            ledger.begin(who, PRICE).result()
            own.append(time.monotonic() - asked)
        waits.put(own)


def taking_turns(name: str, place: str, proxies: int, seconds: float) -> Measured:
    """Processes that each charge one after the other: one flush to the disk for each."""
    queue: multiprocessing.queues.Queue[list[float]] = _FORK.Queue()
    end = time.monotonic() + seconds
    running = [_FORK.Process(target=_proxy, args=(place, f"analyst {i}", end, queue)) for i in range(proxies)]
    for one in running:
        one.start()
    waits = [wait for _ in running for wait in queue.get()]
    for one in running:
        one.join()
    return measured_waits(name, waits, seconds)


def _worker(end: int, place: str, who: str, clients: int, until: float) -> None:
    """A worker's ledger: the foreman, at the other end, charges for it."""
    line = RemoteCalls(end)
    line.open(lambda question: None, lambda: None)
    own: list[float] = []
    with Ledger.open(place, TOTAL, writer=AskingWriter(line)) as ledger:

        def client() -> None:
            while (asked := time.monotonic()) < until:
                ledger.begin(who, PRICE).result()
                own.append(time.monotonic() - asked)

        threads = [threading.Thread(target=client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    line.ask(own).result()


def asking(name: str, place: str, workers: int, clients: int, seconds: float) -> Measured:
    """Workers whose clients each charge one after the other, and one writer for all of them."""
    ends = [socket.socketpair() for _ in range(workers)]
    until, waits = time.monotonic() + seconds, queue.SimpleQueue[list[float]]()
    running = [
        _FORK.Process(target=_worker, args=(end.fileno(), place, f"analyst {at}", clients, until))
        for at, (_, end) in enumerate(ends)
    ]
    for one in running:
        one.start()
    with Ledger.open(place, TOTAL) as ledger:
        for here, _ in ends:
            answer = lambda call: ledger.admit(call.charges) if isinstance(call, ChargeCall) else waits.put(call)  # noqa: E731
            RemoteCalls(here.detach()).open(answer, lambda: None)
        together = [wait for _ in running for wait in waits.get()]
        for one in running:
            one.join()
    for _, end in ends:
        end.close()
    return measured_waits(name, together, seconds)


def flushing(folder: Path, seconds: float) -> Measured:
    """As many flushes of one block as the disk does, one after the other."""
    waits: list[float] = []
    with open(folder / "flushed", "wb", buffering=0) as file:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            asked = time.monotonic()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            waits.append(time.monotonic() - asked)
    return measured_waits("one flush each", waits, seconds)


@contextmanager
def postgres() -> Iterator[str]:
    server = start(fsync="on", synchronous_commit="on", full_page_writes="on")
    try:
        yield server.process.url(server.database())
    finally:
        server.process.close()


def measured(folder: Path, seconds: float, say: Callable[[Measured], object]) -> None:
    say(flushing(folder, seconds / 2))
    with postgres() as url:
        for place, where in (("SQLite", str(folder / "ledger")), ("PostgreSQL", url)):
            with Ledger.open(where, TOTAL) as ledger:
                for clients, under_way in ((1, 1), (CLIENTS, 1), (CLIENTS, 32), (CLIENTS, 64)):
                    name = f"{place}, {clients} × {under_way} under way"
                    say(charging(name, ledger, clients, under_way, seconds))
            say(taking_turns(f"{place}, {CLIENTS} processes", where, CLIENTS, seconds))
            for workers, clients in ((1, 32), (2, 16), (2, 32)):
                say(asking(f"{place}, {workers} workers × {clients}", where, workers, clients, seconds))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench ledger", description="Charges per second.")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each line; default %(default)s")
    parser.add_argument("--folder", type=Path, help="on the disk to measure; default is where temporary files are")
    options = parser.parse_args()
    table = Table("", "charges/s", "median wait, ms", "longest wait, ms", "µs of a core", box=None)
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    console = Console()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, console.status("charging"):
        measured(
            Path(folder),
            options.seconds,
            lambda one: table.add_row(
                one.name,
                f"{one.rate:,.0f}",
                f"{one.median:.1f}",
                f"{one.longest:.0f}",
                "" if one.work is None else f"{one.work:.0f}",
            ),
        )
    console.print(table)
