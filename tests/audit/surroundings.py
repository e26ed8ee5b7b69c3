"""What a scenario is served in: its policy, and what happens around the server while it runs.

Public rows that change: when the server opens, the public table ``tariff`` has one row, which is told apart by every
column; when people are counted, it has a hundred that are alike. PostgreSQL's table has grown by then, and DuckDB's view
has followed the clock. A scenario of several days has a clock in a file, which is moved from one day to the next.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dpsql.audit.audited_server import DPSQL
from tests.audit.worlds import Worlds, write_duckdb, write_postgres
from tests.engines.postgres_server import shared_server
from tests.properties.clock_file import ClockFile

MORE = 99
"""Public rows that come while a server runs."""
FIRST_DAY = datetime.datetime(2019, 12, 30, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
SHAPE = "grown"
_PATIENCE = 60.0
"""Seconds until rows of a view become valid: servers open their policies sooner."""


def nothing() -> None:
    """Nothing changes."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A policy to serve with ``program``; ``opened`` is called once it is, before anything is asked."""

    policy: Path
    opened: Callable[[], None] = nothing
    program: Sequence[str] = DPSQL


@dataclass(frozen=True, slots=True)
class Database:
    """A database as a policy names it, and what changes its public rows, or waits until they have changed."""

    name: str
    change: Callable[[], None] = nothing


def growing_table(worlds: Worlds, _: Path) -> Database:
    """PostgreSQL, with a public table to which the owner adds rows."""
    made = "CREATE TABLE tariff (kind TEXT NOT NULL, since INTEGER NOT NULL); INSERT INTO tariff VALUES ('a', 0)"
    name = write_postgres(worlds.only(SHAPE), made)

    def grow() -> None:
        with shared_server().owner(name.rpartition("/")[2]) as connection:
            connection.execute(f"INSERT INTO tariff SELECT 'a', 0 FROM generate_series(1, {MORE})")  # type: ignore[arg-type]

    return Database(name, grow)


def view_by_the_clock(worlds: Worlds, folder: Path) -> Database:
    """DuckDB, with a public view of rows that are valid by now. Its ``change`` raises RuntimeError where a server
    opened too late."""
    name = write_duckdb(worlds.only(SHAPE), folder / "worlds.duckdb")
    valid = time.time() + _PATIENCE
    with duckdb.connect(str(folder / "worlds.duckdb")) as connection:
        connection.execute("CREATE TABLE price (kind TEXT NOT NULL, since INTEGER NOT NULL, valid DOUBLE NOT NULL)")
        connection.execute(
            f"INSERT INTO price SELECT 'a', 0, CASE WHEN i > 0 THEN {valid} ELSE 0 END FROM range({MORE + 1}) t(i)"
        )
        connection.execute("CREATE VIEW tariff AS SELECT kind, since FROM price WHERE valid <= epoch(now())")

    def wait() -> None:
        if time.time() >= valid:
            raise RuntimeError(f"the server opened after {_PATIENCE:g} s, when all rows of the view were valid")
        time.sleep(max(0.0, valid + 1 - time.time()))

    return Database(name, wait)


CHANGING = {"growing": growing_table, "clocked": view_by_the_clock}
"""Databases of their own, by the ledger of their scenarios."""


def clock_beside(policy: Path) -> ClockFile:
    """The clock of a policy whose scenarios last several days."""
    return ClockFile(policy.parent / "clock")


def on_its_clock(policy: Path) -> Surroundings:
    """A policy served by a clock that stands at noon of the first day."""
    clock = clock_beside(policy)
    clock.show(FIRST_DAY)
    return Surroundings(policy, program=(sys.executable, "-m", "tests.audit.serve_by_clock", str(clock.path)))
