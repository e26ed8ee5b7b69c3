"""The wire: what a client waits for, beside the same statements on PostgreSQL itself.

One table of 1,000 people with a key of four groups, and a public table of 100,000 rows. Both servers run on loopback,
their clients are threads of this process with psycopg, and both are asked in turn in one run: the ratio is what counts.
A second table says what a second worker is worth (:mod:`tests.bench.workers`).
"""

from __future__ import annotations

import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psycopg
from rich.console import Console
from rich.table import Table

from dpsql.postgresql.process import PostgresProcess
from dpsql.server.start import usual_workers
from tests.bench.workers import compared
from tests.policies import policy_text

_PEOPLE = """
CREATE TABLE person (id INTEGER PRIMARY KEY, region VARCHAR NOT NULL, age INTEGER NOT NULL);
INSERT INTO person SELECT i, substr('nesw', 1 + i % 4, 1), 18 + i * 37 % 70 FROM {numbers}(0, 999) t(i);
CREATE TABLE point (id INTEGER PRIMARY KEY, a VARCHAR, b VARCHAR, c INTEGER, d DOUBLE PRECISION);
INSERT INTO point SELECT i, 'name ' || i % 100, 'kind ' || i % 7, i * 31 % 1000, i / 8.0 FROM {numbers}(0, 99999) t(i);
"""
_POLICY = policy_text("""
database: duckdb:wire.duckdb; ledger: sqlite:wire.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}; limits: {statements: 64, statements_per_analyst: 64}
statement: {epsilon: 1, max_epsilon: 1}
tables:
  person: id, region [n, e, s, w], age 18..100
  point: public
""")
_NUMBERS = itertools.count()

STATEMENTS: dict[str, tuple[Callable[[], str], int]] = {
    "SELECT 1": (lambda: "SELECT 1", 300),
    "a repeated release": (lambda: "SELECT region, COUNT(*) FROM person GROUP BY region ORDER BY region", 300),
    "a fresh release of 4 groups": (
        lambda: f"SELECT region, COUNT(*) FROM person WHERE age >= 18.{next(_NUMBERS)} GROUP BY region ORDER BY region",
        100,
    ),
    "100,000 public rows": (lambda: "SELECT id, a, b, c, d FROM point", 4),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds at the median and at the 99th percentile, and answers per second of all clients together."""

    median: float
    p99: float
    rate: float


def main() -> None:
    """``python -m tests.bench wire``"""
    with _dpsql(1) as alone, _dpsql(2) as both:
        Console(width=120).print(compared([(one.workers, one.process, one.port, "analyst") for one in (alone, both)]))
    clients = (1, 16, 64)
    with _dpsql(usual_workers()) as served, _postgres() as theirs:
        ours = served.dsn
        table = Table("statement", "clients", "dpsql ms (p99)", "per s", "PostgreSQL ms (p99)", "per s", "ratio")
        for name, (_, repetitions) in {"connect and close": (None, 50), **STATEMENTS}.items():
            for count in clients:
                if name == "100,000 public rows" and count > 16:
                    continue
                times = max(repetitions // count, 2)
                mine, other = (measure(dsn, name, count, times) for dsn in (ours, theirs))
                table.add_row(
                    name, str(count), f"{mine.median:.2f} ({mine.p99:.1f})", f"{mine.rate:,.0f}",
                    f"{other.median:.2f} ({other.p99:.1f})", f"{other.rate:,.0f}", f"{mine.median / other.median:.1f}",
                )  # fmt: skip
        Console(width=120).print(table)


def measure(dsn: str, name: str, clients: int, times: int) -> Measured:
    """Have ``clients`` threads ask one thing ``times`` times each."""
    taken: list[float] = []
    ready = threading.Barrier(clients + 1)

    def client() -> None:
        mine: list[float] = []
        if name == "connect and close":
            ready.wait()
            for _ in range(times):
                start = time.perf_counter()
                psycopg.connect(dsn).close()
                mine.append(time.perf_counter() - start)
        else:
            text, _ = STATEMENTS[name]
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute(text()).fetchall()
                ready.wait()
                for _ in range(times):
                    statement = text()
                    start = time.perf_counter()
                    connection.execute(statement).fetchall()
                    mine.append(time.perf_counter() - start)
        taken.extend(mine)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    whole = time.perf_counter() - start
    cuts = sorted(taken)
    return Measured(
        1000 * statistics.median(cuts), 1000 * cuts[min(len(cuts) - 1, int(0.99 * len(cuts)))], len(cuts) / whole
    )


@dataclass(frozen=True, slots=True)
class Served:
    """A server: how many workers it has, its process and its port."""

    workers: int
    process: int
    port: int

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=analyst dbname=wire"


@contextmanager
def _dpsql(workers: int) -> Iterator[Served]:
    with tempfile.TemporaryDirectory() as folder:
        with duckdb.connect(str(Path(folder, "wire.duckdb"))) as database:
            database.execute(_PEOPLE.format(numbers="generate_series"))
        Path(folder, "policy.yaml").write_text(_POLICY)
        command = [sys.executable, "-m", "dpsql", "serve", str(Path(folder, "policy.yaml")), "--port", "0"]
        command += ["--workers", str(workers), "--log-level", "warning"]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
        try:
            line = server.stderr.readline() if server.stderr else ""
            found = re.search(r"port (\d+)", line)
            if found is None:
                raise RuntimeError(f"dpsql serve did not start: {line}")
            yield Served(workers, server.pid, int(found[1]))
        finally:
            server.terminate()
            server.wait(20)


@contextmanager
def _postgres() -> Iterator[str]:
    with PostgresProcess.start(tcp=True) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            for statement in _PEOPLE.format(numbers="generate_series").split(";"):
                if statement.strip():
                    connection.execute(statement)  # type: ignore[arg-type]
        yield server.dsn()
