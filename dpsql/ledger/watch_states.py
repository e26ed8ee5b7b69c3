"""The states of watches, in the ledger: what was paid for once and is asked for years.

Guarantee: a state is durable before anything is answered by it, two proxies never answer by the same state at once, and
an ended one never becomes open again: each change names the state that it was made from, and is not made of any other.
A noisy threshold is a secret of the proxy and its ledger, as the rows are of the database.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from dpsql.errors import OperationalError
from dpsql.ledger.charges import Busy
from dpsql.ledger.lock_file import locked

PATIENCE = 10.0
"""Seconds that a state waits for other writers of its ledger."""


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


_TABLE = """CREATE TABLE IF NOT EXISTS {name} (
    key text PRIMARY KEY, charge text NOT NULL, threshold text NOT NULL, asked bigint NOT NULL,
    version text NOT NULL, answer integer
)"""
_COLUMNS = "charge, threshold, asked, version, answer"


class FileStates:
    """Those of a ledger in an SQLite file, each time by a connection of its own: they are asked seldom."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, key: str) -> WatchState | None:
        with self._connected() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM watch WHERE key = ?", (key,)).fetchone()
        return _state(row)

    def change(self, key: str, before: WatchState | None, after: WatchState) -> bool:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute(f"SELECT {_COLUMNS} FROM watch WHERE key = ?", (key,)).fetchone()
            same = _state(row) == before
            if same:
                connection.execute("INSERT OR REPLACE INTO watch VALUES (?, ?, ?, ?, ?, ?)", (key, *_row(after)))
            connection.execute("COMMIT")
        return same

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Writers of the file take turns on its lock file; see :mod:`dpsql.ledger.sqlite_journal`."""
        lock = os.open(f"{self._path}-lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            with (
                locked(lock, PATIENCE),
                contextlib.closing(sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)) as connection,
            ):
                for setting in ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON"):
                    connection.execute(f"PRAGMA {setting}")
                connection.execute(_TABLE.format(name="watch"))
                yield connection
        except (Busy, sqlite3.Error, OSError) as cause:
            raise _unusable() from cause
        finally:
            os.close(lock)


class ServerStates:
    """Those of a ledger in PostgreSQL, each time by a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url

    def read(self, key: str) -> WatchState | None:
        found: list[WatchState | None] = []
        self._run(f"SELECT {_COLUMNS} FROM dpsql_ledger.watch WHERE key = %s", (key,), found)
        return found[0] if found else None

    def change(self, key: str, before: WatchState | None, after: WatchState) -> bool:
        if before is None:
            made = "INSERT INTO dpsql_ledger.watch VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
            return self._run(made, (key, *_row(after))) == 1
        changed = (
            "UPDATE dpsql_ledger.watch SET (charge, threshold, asked, version, answer) = (%s, %s, %s, %s, %s)"
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
                    connection.execute("SELECT set_config(%s, %s, false)", (name, f"{PATIENCE * 1000:.0f}"))
                connection.execute(_TABLE.format(name="dpsql_ledger.watch"))
                # A commit waits for the disk, whatever the server's default is.
                connection.execute("SET synchronous_commit = on")
                cursor = connection.execute(sql.encode(), values)
                if found is not None:
                    found += [_state(row) for row in cursor.fetchall()]
                return cursor.rowcount
        except psycopg.Error:
            problem = _unusable()  # the driver's text may hold the connection string
        raise problem


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
