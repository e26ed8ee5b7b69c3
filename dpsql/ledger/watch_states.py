"""The states of watches, in the ledger: what was paid for once and is asked for years.

Guarantee: a state is durable before anything is answered by it, two proxies never answer by the same state at once, and
an ended one never becomes open again: each change names the state that it was made from, and is not made of any other.
A noisy threshold is a secret of the proxy and its ledger, as the rows are of the database.

States that a backup brings back are dropped, and their watches are paid for again: one that has ended since would say
TRUE a second time, at the same threshold. So states are tied to a mark that no backup of the ledger holds. Beside a
file it stands in the lock file, drawn anew with each change, and the ledger keeps the one it was changed with. In
PostgreSQL it is the transaction that wrote the row, the server and its timeline: rows that are loaded from a dump are
written by another transaction, and a server that recovers up to a point in time begins another timeline. A whole
folder, or a server's whole disk, that is set back as it was tells nothing of itself: the guide says what to do then.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import LiteralString, Protocol

from dpsql.errors import OperationalError
from dpsql.ledger.charges import Busy
from dpsql.ledger.lock_file import locked

_LOG = logging.getLogger("dpsql.ledger")


@dataclass(frozen=True, slots=True)
class WatchState:
    """What is known of a watch: the ``charge`` that paid for it, its secret noisy ``threshold`` in steps, how often it
    was ``asked``, and the last answer, with the version of the data that it stands under."""

    charge: str
    threshold: int
    asked: int = 0
    version: str = ""
    answer: bool | None = None

    def __repr__(self) -> str:
        return f"WatchState(asked={self.asked})"


class WatchStates(Protocol):
    """The states of a ledger, by the keys of watches."""

    def read(self, key: str) -> WatchState | None: ...

    def change(self, key: str, before: WatchState | None, after: WatchState) -> bool:
        """Put a state in place of the one ``before``, durably; False, and nothing is changed, where that is not there
        any more."""


_TABLE = """CREATE TABLE IF NOT EXISTS watch (
    key text PRIMARY KEY, charge text NOT NULL, threshold text NOT NULL, asked bigint NOT NULL,
    version text NOT NULL, answer integer
)"""
_COLUMNS = "charge, threshold, asked, version, answer"
_FACT = "watches"
"""Under this name a ledger in a file keeps the mark that its states were changed with last."""
_MARK = 32
_PATIENCE = 10.0


class FileStates:
    """Those of a ledger in an SQLite file, each time by a connection of its own: they are asked seldom."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, key: str) -> WatchState | None:
        with self._connected() as (connection, _):
            row = connection.execute(f"SELECT {_COLUMNS} FROM watch WHERE key = ?", (key,)).fetchone()
        return _state(row)

    def change(self, key: str, before: WatchState | None, after: WatchState) -> bool:
        with self._connected() as (connection, lock):
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute(f"SELECT {_COLUMNS} FROM watch WHERE key = ?", (key,)).fetchone()
            same = _state(row) == before
            if same:
                mark = os.urandom(_MARK // 2).hex()
                connection.execute("INSERT OR REPLACE INTO watch VALUES (?, ?, ?, ?, ?, ?)", (key, *_row(after)))
                connection.execute("INSERT OR REPLACE INTO ledger VALUES (?, ?)", (_FACT, mark))
                # Before the commit: a crash in between drops states, and never leaves the mark of an older ledger.
                os.pwrite(lock, mark.encode(), 0)
                os.fsync(lock)
            connection.execute("COMMIT")
        return same

    @contextlib.contextmanager
    def _connected(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """Writers of the file take turns on its lock file; see :mod:`dpsql.ledger.sqlite_journal`."""
        lock = os.open(f"{self._path}-lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            with (
                locked(lock, _PATIENCE),
                contextlib.closing(sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)) as connection,
            ):
                for setting in ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON"):
                    connection.execute(f"PRAGMA {setting}")
                connection.execute(_TABLE)
                _drop_restored(connection, os.pread(lock, _MARK, 0))
                yield connection, lock
        except (Busy, sqlite3.Error, OSError, ValueError, TypeError) as cause:
            raise _unusable() from cause
        finally:
            os.close(lock)


def _drop_restored(connection: sqlite3.Connection, mark: bytes) -> None:
    """Drop all states unless the ledger is as the last change left it."""
    kept = connection.execute("SELECT value FROM ledger WHERE fact = ?", (_FACT,)).fetchone()
    if kept is None or kept[0].encode() != mark:
        _say_dropped(connection.execute("DELETE FROM watch").rowcount)


def _say_dropped(count: int) -> None:
    if count:
        _LOG.warning("the ledger is not as its last change left it: %d watches are dropped, and paid for again", count)


class ServerStates:
    """Those of a ledger in PostgreSQL, each time by a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url

    def read(self, key: str) -> WatchState | None:
        found: list[WatchState | None] = []
        self._run(f"SELECT {_COLUMNS} FROM dpsql_ledger.watched WHERE key = %s", (key,), found)
        return found[0] if found else None

    def change(self, key: str, before: WatchState | None, after: WatchState) -> bool:
        if before is None:
            made = f"INSERT INTO dpsql_ledger.watched VALUES (%s, %s, %s, %s, %s, %s, {_WRITER}) ON CONFLICT DO NOTHING"
            return self._run(made, (key, *_row(after))) == 1
        changed = (
            "UPDATE dpsql_ledger.watched SET (charge, threshold, asked, version, answer, writer) ="
            f" (%s, %s, %s, %s, %s, {_WRITER})"
            " WHERE key = %s AND (charge, threshold, asked, version) = (%s, %s, %s, %s)"
            " AND answer IS NOT DISTINCT FROM %s"
        )
        return self._run(changed, (*_row(after), key, *_row(before))) == 1

    def _run(self, sql: str, values: tuple[object, ...], found: list[WatchState | None] | None = None) -> int:
        import psycopg

        from dpsql.postgresql import DEFAULTS

        problem = None
        try:
            with psycopg.connect(self._url, **DEFAULTS, autocommit=True) as connection:  # type: ignore[arg-type]
                for name in ("lock_timeout", "statement_timeout"):
                    connection.execute("SELECT set_config(%s, %s, false)", (name, f"{_PATIENCE * 1000:.0f}"))
                for statement in _WATCHED:
                    connection.execute(statement)
                _say_dropped(connection.execute(_RESTORED).rowcount)
                cursor = connection.execute(sql.encode(), values)
                if found is not None:
                    found += [_state(row) for row in cursor.fetchall()]
                return cursor.rowcount
        except psycopg.Error:
            problem = _unusable()  # the driver's text may hold the connection string
        raise problem


_SERVER: LiteralString = (
    "(SELECT system_identifier FROM pg_control_system()) || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8)"
)
_WRITER: LiteralString = f"{_SERVER} || ' ' || mod(pg_current_xact_id()::text::numeric, 4294967296)"
_RESTORED: LiteralString = (
    f"DELETE FROM dpsql_ledger.watched WHERE writer IS DISTINCT FROM {_SERVER} || ' ' || xmin::text"
)
"""Of a row that is as it was written, ``xmin`` is the transaction that wrote it, modulo 2^32."""
_WATCHED: tuple[LiteralString, ...] = (
    """CREATE TABLE IF NOT EXISTS dpsql_ledger.watched (
        key text PRIMARY KEY, charge text NOT NULL, threshold text NOT NULL, asked bigint NOT NULL,
        version text NOT NULL, answer integer, writer text NOT NULL
    )""",
    # The states of earlier versions, which knew no writer.
    "DROP TABLE IF EXISTS dpsql_ledger.watch",
    # A commit waits for the disk, whatever the server's default is.
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)


def _state(row: tuple[str, str, int, str, int | None] | None) -> WatchState | None:
    if row is None:
        return None
    charge, threshold, asked, version, answer = row
    return WatchState(charge, int(threshold), asked, version, None if answer is None else bool(answer))


def _row(state: WatchState) -> tuple[str, str, int, str, int | None]:
    answer = None if state.answer is None else int(state.answer)
    return state.charge, str(state.threshold), state.asked, state.version, answer


def _unusable() -> OperationalError:
    return OperationalError("the ledger's watches cannot be used", sqlstate="58030", hint="try again")
