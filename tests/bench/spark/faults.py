"""Executors that are killed, statements that are cancelled, drivers that start anew, columns that change under a plan."""

from __future__ import annotations

import io
import logging
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dpsql.engines.deadlines import Cancellation
from dpsql.errors import Error
from dpsql.proxy import Proxy
from tests.bench.queries import Q1
from tests.doubles import open_without_noise
from tests.engines.spark_server import SparkServer

from .world import TABLES, World

CANARY = "alice@example.org"
ASKED = Q1.sql
LONG = "SELECT COUNT(*) AS n FROM lineitem AS a JOIN lineitem AS b ON a.l_custkey = b.l_custkey AND a.l_partkey < b.l_partkey"
"""Seconds of work, so that what happens meanwhile happens meanwhile."""


@dataclass(slots=True)
class Faults:
    """What came of statements that something happened to. ``wrong``: an answer that is another, an error that is not
    58000, a charge too many or too few."""

    identical: int = 0
    failed: int = 0
    wrong: list[str] = field(default_factory=list)


@contextmanager
def everything_said() -> Iterator[io.StringIO]:
    """What is logged or printed meanwhile."""
    said, handler = io.StringIO(), None
    root, level = logging.getLogger(), logging.getLogger().level
    handler = logging.StreamHandler(said)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(said), redirect_stderr(said):
            yield said
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@contextmanager
def exact(world: World) -> Iterator[Proxy]:
    with closing(open_without_noise(world.folder / "spark.yaml")) as proxy:
        yield proxy


def _charges(proxy: Proxy) -> int:
    return len(proxy.ledger.charges(limit=100_000))


def kills(world: World, count: int, seed: int, told: Callable[[str], None]) -> Faults:
    """Kill an executor at a moment by chance, again and again."""
    chance, found = Random(seed), Faults()
    with exact(world) as proxy:
        session = proxy.session("ana")
        session.execute("SET dpsql.reuse = off")
        truth = session.execute(ASKED).rows
        begun = time.perf_counter()
        session.execute(ASKED)
        usual = time.perf_counter() - begun
        for number in range(count):
            told(f"executor {number + 1} of {count} is killed")
            _executors(world.server, 2)
            before = _charges(proxy)
            killer = threading.Timer(chance.uniform(0.05, 0.8) * usual, _kill, (world.server, chance))
            killer.start()
            try:
                rows = session.execute(ASKED).rows
            except Error as problem:
                found.failed += problem.sqlstate == "58000"
                if problem.sqlstate != "58000" or CANARY in str(problem):
                    found.wrong.append(str(problem))
            else:
                found.identical += rows == truth
                if rows != truth:
                    found.wrong.append("another answer")
            killer.join()
            if _charges(proxy) != before + 1:
                found.wrong.append(f"{_charges(proxy) - before} charges")
    return found


def _kill(server: SparkServer, chance: Random) -> None:
    with suppress(ProcessLookupError, IndexError):
        os.kill(chance.choice(server.executors()), signal.SIGKILL)


def _executors(server: SparkServer, count: int, seconds: float = 60.0) -> None:
    """Wait until so many are there."""
    until = time.monotonic() + seconds
    while len(server.executors()) < count and time.monotonic() < until:
        time.sleep(0.2)
    time.sleep(1.0)


def cancels(world: World, count: int, seed: int, told: Callable[[str], None]) -> tuple[list[float], list[str]]:
    """Seconds from a cancel to its error, and what was wrong."""
    chance, taken, wrong = Random(seed), [], []
    plans = world.on_spark(LONG)
    for number in range(count):
        told(f"cancel {number + 1} of {count}")
        cancellation, asked = Cancellation(), []

        def cancel(cancellation: Cancellation = cancellation, asked: list[float] = asked) -> None:
            asked.append(time.perf_counter())
            cancellation.cancel()

        timer = threading.Timer(chance.uniform(0, 2.0), cancel)
        timer.start()
        try:
            world.spark.engine.run(plans[0], 120, cancellation)
            wrong.append("answered")
        except Error as problem:
            taken.append(time.perf_counter() - asked[0])
            if problem.sqlstate != "57014":
                wrong.append(str(problem))
        timer.join()
    return taken, wrong


def restarts(world: World, again: Callable[[], None], count: int, told: Callable[[str], None]) -> Faults:
    """Kill the driver, start it anew with the same tables, and ask on the same proxy."""
    found = Faults()
    with exact(world) as proxy:
        session = proxy.session("ana")
        session.execute("SET dpsql.reuse = off")
        truth = session.execute(ASKED).rows
        for number in range(count):
            told(f"driver {number + 1} of {count} is started anew")
            world.server.stop_driver()
            try:
                session.execute(ASKED)
                found.wrong.append("answered without a driver")
            except Error as problem:
                found.failed += problem.sqlstate == "58000"
                if problem.sqlstate != "58000":
                    found.wrong.append(str(problem))
            world.server.connect()
            again()
            rows = session.execute(ASKED).rows
            found.identical += rows == truth
            if rows != truth:
                found.wrong.append("another answer")
    return found


def breaks(world: World, told: Callable[[str], None]) -> Faults:
    """Tables that change under an open proxy, so that Spark's errors quote rows: none of them may be read anywhere."""
    found = Faults()
    owner = world.server.session()
    orders = list(owner.table("orders").columns)

    def but(name: str, other: str) -> str:
        """The columns of orders, with another expression for one, or without it."""
        return ", ".join(f"{other} AS {one}" if one == name else one for one in orders if other or one != name)

    price = "o_totalprice"
    swaps = {
        "a column of texts": f"CREATE TABLE orders USING parquet AS SELECT {but(price, repr(CANARY))} FROM kept",
        "a column less": f"CREATE TABLE orders USING parquet AS SELECT {but('o_orderpriority', '')} FROM kept",
        "numbers too large": f"CREATE TABLE orders USING parquet AS SELECT {but(price, 'CAST(1e37 AS DECIMAL(38, 0))')} FROM kept",
        "a view that raises": f"CREATE VIEW orders AS SELECT {but(price, f'CAST(raise_error({CANARY!r}) AS DECIMAL(15, 2))')} FROM kept",
    }  # fmt: skip
    asked = "SELECT o_orderpriority, SUM(o_totalprice) AS total FROM orders GROUP BY o_orderpriority"
    with exact(world) as proxy, everything_said() as said:
        session = proxy.session("ana")
        session.execute("SET dpsql.reuse = off")
        session.execute(asked)
        owner.sql(f"CREATE TABLE kept USING parquet LOCATION '{world.folder}/orders.parquet'")
        for name, sql in swaps.items():
            told(name)
            owner.sql("DROP TABLE orders")
            owner.sql(sql)
            try:
                session.execute(asked)
                found.wrong.append(f"answered: {name}")
            except Error as problem:
                found.failed += 1
                if problem.sqlstate != "58000" or CANARY in f"{problem} {problem.__context__}":
                    found.wrong.append(f"{name}: {problem}")
        if CANARY in said.getvalue():
            found.wrong.append("a log or a message has a value of a row")
    owner.sql("DROP VIEW IF EXISTS orders")
    owner.sql(f"CREATE TABLE orders USING parquet LOCATION '{world.folder}/orders.parquet'")
    owner.sql("DROP TABLE kept")
    owner.stop()
    return found


def tables_again(server: SparkServer, folder: Path) -> None:
    """The tables of a catalog that its driver lost."""
    owner = server.session()
    for name in TABLES:
        owner.sql(f"CREATE TABLE IF NOT EXISTS `default`.`{name}` USING parquet LOCATION '{folder / name}.parquet'")
    owner.stop()


def tail(seconds: list[float]) -> str:
    """The median and the worst.

    >>> tail([0.1, 0.2, 0.9])
    'median 0.20 s, worst 0.90 s'
    """
    return f"median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s"
