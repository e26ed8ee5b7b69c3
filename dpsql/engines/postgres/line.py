"""A connection that one statement at a time runs on, and how that statement is stopped from another thread."""

from __future__ import annotations

import math
import os
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import psycopg

from dpsql.engines.postgres.postgres_connection import Connection

PATIENCE = 2.0
"""Seconds for the server to act on a cancellation; after them the connection is cut."""
_GRACE = 1
"""Seconds after the deadline at which the server itself stops, should we have died."""


@dataclass(slots=True, eq=False)
class Line:
    """A connection that one statement at a time uses. ``timeout`` is the server's own, in milliseconds."""

    connection: Connection
    timeout: int = 0
    lost: bool = False

    def limit(self, timeout: float | None) -> None:
        """Let the server itself stop what runs on after us."""
        wanted = 0 if timeout is None else (math.ceil(timeout) + _GRACE) * 1000
        if wanted != self.timeout:
            self.connection.execute(cast("Any", f"SET statement_timeout = {wanted}"))
            self.timeout = wanted

    def execute(self, sql: str) -> psycopg.Cursor[tuple[Any, ...]]:
        """One statement, over the extended protocol; one that comes again is prepared."""
        if "\0" in sql:
            raise ValueError("a statement ends at its first NUL")
        return self.connection.cursor(binary=True).execute(cast("Any", sql))

    def close(self) -> None:
        self.lost = self.connection.broken
        self.connection.close()


@dataclass(slots=True, eq=False)
class Interruption:
    """Stops the statement that runs on a line: asks the server to, and cuts the line where that does not help."""

    _line: Line | None = None
    _wanted: bool = False
    _thread: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _left: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        """Returns at once, since who calls it watches other statements too."""
        with self._lock:
            self._wanted = True
            if self._line is not None and self._thread is None:
                arguments = (self._line.connection,)
                self._thread = threading.Thread(target=self._stop, args=arguments, name="dpsql-cancel", daemon=True)
                self._thread.start()

    @property
    def wanted(self) -> bool:
        return self._wanted

    def watch(self, line: Line) -> None:
        """From now on it is ``line`` that is interrupted. Raises InterruptedError where that comes too late."""
        with self._lock:
            if self._wanted:
                raise InterruptedError
            self._line = line

    def leave(self) -> bool:
        """Nothing happens to the line after this returns; whether it is as it was before."""
        with self._lock:
            self._line = None
        self._left.set()
        if self._thread is not None:
            self._thread.join(3 * PATIENCE)
        self._left.clear()
        return self._thread is None

    def _stop(self, connection: Connection) -> None:
        with suppress(Exception):
            connection.cancel_safe(timeout=PATIENCE)
        if not self._left.wait(PATIENCE):
            with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as cut:
                cut.shutdown(socket.SHUT_RDWR)
