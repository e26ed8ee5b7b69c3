"""A default run opens few sandboxes, and gives them on from policy to policy.

To open a DuckDB takes eleven milliseconds, and to leave one empty takes none. Tests open thousands of policies, each of
which has a sandbox of its own. What a policy loads into it goes when the policy is closed; all else of a sandbox belongs to
a cursor. Tests that are about sandboxes open new ones, and so do processes that a test starts, and campaigns.
"""

from __future__ import annotations

from functools import cache

import duckdb
import pytest

import dpsql.opened
from dpsql.sandbox.sandbox import CELLS, SECONDS, Sandbox

_MOST = 8
_FREE: list[tuple[duckdb.DuckDBPyConnection, bool]] = []
"""Connections that nobody uses, and whether their configuration is locked."""


class ReusedSandbox(Sandbox):
    """A sandbox whose connection is another one's, later.

    >>> import pyarrow as pa
    >>> first = ReusedSandbox.open()
    >>> first.load_public("colours", pa.table({"name": ["red"]}))
    >>> first.run("SELECT name FROM colours", {})[1]
    (('red',),)
    >>> first.close()
    >>> second = ReusedSandbox.open()
    >>> second.load_public("colours", pa.table({"name": ["blue"]}))
    >>> second.run("SELECT name FROM colours", {})[1]
    (('blue',),)
    >>> second.close()
    """

    _given_on = False
    _was_locked = False

    @classmethod
    def open(cls, *limits: object, **named: object) -> Sandbox:
        if limits or named:
            return Sandbox.open(*limits, **named)  # type: ignore[arg-type]
        found = super().open() if not _FREE else cls._of(*_FREE.pop())
        assert isinstance(found, ReusedSandbox)
        found._given_on = True
        return found

    @classmethod
    def _of(cls, connection: duckdb.DuckDBPyConnection, locked: bool) -> ReusedSandbox:
        found = cls(connection, SECONDS, CELLS)
        found._was_locked = locked
        return found

    def _new_cursor(self) -> duckdb.DuckDBPyConnection:
        if not self._was_locked:
            return super()._new_cursor()
        with self._lock:
            self._locked = True
            return self._connection.cursor()

    def close(self) -> None:
        self._prepared.close()
        connection, self._connection = self._connection, _closed()
        if not self._given_on or len(_FREE) >= _MOST:
            connection.close()
            return
        self._given_on = False
        for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.execute('DROP TABLE "{}"'.format(name.replace('"', '""')))
        _FREE.append((connection, self._locked or self._was_locked))


@cache
def _closed() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.close()
    return found


def pytest_configure(config: pytest.Config) -> None:
    if "not campaign" in config.option.markexpr:
        dpsql.opened.Sandbox = ReusedSandbox  # type: ignore[misc]
