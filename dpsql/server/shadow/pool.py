"""Backends of the shadow, kept open between calls and shared by all sessions of one analyst.

Guarantee: a call leaves nothing behind that the next one could see. Each is one query of the extended protocol, in its
own read-only transaction, under a role that can set, lock, write and create nothing. Settings of the session come from
an allow-list and are made equal before each call. A backend that was interrupted is closed, never used again. Its
server notices; it is not asked to stop, since libpq would wait for its answer with all threads of this process.
"""

from __future__ import annotations

import re
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from psycopg import NotSupportedError, OperationalError, pq
from psycopg.pq.abc import PGconn, PGresult

from dpsql.engines import TICK, Cancellation
from dpsql.errors import Error, error
from dpsql.server.shadow.shadow_rows import Encoded, ShadowAnswer, ShadowColumn, columns_of, failure, rows_of
from dpsql.server.shadow.shadow_schema import literal

EACH = 4
"""Backends of one analyst: their next query waits."""
ALL = 32
PATIENCE = 10.0
"""Seconds that a query waits for a backend."""
MAX_ROWS = 100_000
MAX_BYTES = 64 << 20
CHUNK = 100

PASSED = ("search_path", "datestyle", "timezone", "extra_float_digits", "intervalstyle", "bytea_output")
"""Settings that change how a catalog answers. The others are the session's own affair."""

_IDENTIFIERS = re.compile(r'\s*(?:"(?:[^"]|"")*"|[A-Za-z_][\w$]*)\s*(?:,\s*(?:"(?:[^"]|"")*"|[A-Za-z_][\w$]*)\s*)*')
_GOOD = {pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.SINGLE_TUPLE, pq.ExecStatus.TUPLES_CHUNK}


@dataclass(slots=True)
class ShadowDeadline:
    """When to stop: ``end`` on the monotonic clock, or when the session says so."""

    end: float
    cancellation: Cancellation


@dataclass(slots=True)
class ShadowConnection:
    """One connection to the shadow. ``spoiled`` says that it must not be used again."""

    connection: PGconn
    spoiled: bool = False
    _applied: dict[str, str] = field(default_factory=dict)

    def rests(self) -> bool:
        """Whether it is as it was left: a connection that has something to say while nobody asks was closed."""
        poll = select.poll()
        poll.register(self.connection.socket, select.POLLIN)
        return not poll.poll(0)

    def apply(self, settings: Mapping[str, str], limits: ShadowDeadline) -> None:
        """Make the settings of this backend those of a session. What PostgreSQL does not accept stays the default."""
        for name in PASSED:
            wanted = settings.get(name, "")
            if wanted != self._applied.get(name, ""):
                self.command(f"RESET {name}".encode(), limits)
                if wanted:
                    self.command(f"SET {name} TO {_written(name, wanted)}".encode(), limits)
                self._applied[name] = wanted

    def command(self, sql: bytes, limits: ShadowDeadline) -> None:
        """Run a command of our own. What PostgreSQL does not accept changes nothing. Raises 57014 where it does not
        answer."""
        try:
            for _ in self.results(lambda connection: connection.send_query(sql), limits):
                pass
        except Error:
            if self.spoiled:
                raise

    def results(self, send: Callable[[PGconn], None], limits: ShadowDeadline, rows: bool = False) -> Iterator[PGresult]:
        """What one request brings, in parts. Raises an error where it fails, is cancelled or takes too long."""
        connection = self.connection
        self.spoiled = True  # until it is read to its end
        try:
            send(connection)
            if rows:
                _in_parts(connection)
            while (result := self._next(limits)) is not None:
                if result.status not in _GOOD:
                    while self._next(limits) is not None:
                        pass
                    self.spoiled = connection.status != pq.ConnStatus.OK
                    raise failure(result)
                yield result
        except OperationalError:
            raise error("the catalog is not reachable", sqlstate="57P01", hint="try again") from None
        self.spoiled = False

    def close(self) -> None:
        self.connection.finish()

    def _next(self, limits: ShadowDeadline) -> PGresult | None:
        """The next part, waiting without holding up other threads."""
        connection = self.connection
        if connection.is_busy():
            poll = select.poll()
            poll.register(connection.socket, select.POLLIN)
            while connection.is_busy():
                if limits.cancellation.cancelled or time.monotonic() > limits.end:
                    why = "user request" if limits.cancellation.cancelled else "statement timeout"
                    raise error(f"canceling statement due to {why}", sqlstate="57014")
                poll.poll(TICK * 1000)
                connection.consume_input()
        return connection.get_result()


@dataclass(slots=True)
class Pool:
    """At most ``EACH`` backends for one analyst and ``most`` together. Thread-safe."""

    connect: Callable[[str], ShadowConnection]
    most: int = ALL
    _idle: dict[str, list[ShadowConnection]] = field(default_factory=dict)
    _open: Counter[str] = field(default_factory=Counter)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _closed: bool = False

    @contextmanager
    def backend(self, analyst: str, settings: Mapping[str, str], limits: ShadowDeadline) -> Iterator[ShadowConnection]:
        """A backend of the analyst's role, with these settings, for one block."""
        backend = self._take(analyst)
        try:
            backend.apply(settings, limits)
            yield backend
        except BaseException:
            backend.spoiled = backend.spoiled or backend.connection.transaction_status != pq.TransactionStatus.IDLE
            raise
        finally:
            self._give(analyst, backend)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            for backends in self._idle.values():
                for backend in backends:
                    backend.close()
            self._idle.clear()
            self._changed.notify_all()

    def _take(self, analyst: str) -> ShadowConnection:
        end = time.monotonic() + PATIENCE
        with self._changed:
            while not self._closed:
                if (resting := self._resting(analyst)) is not None:
                    return resting
                if self._open[analyst] < EACH and self._room():
                    self._open[analyst] += 1
                    break
                if not self._changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                    raise error("too many catalog queries at once", sqlstate="53300", hint="try again")
            else:
                raise error("the server is shutting down", sqlstate="57P01")
        try:
            return self.connect(analyst)
        except BaseException:
            self._forget(analyst)
            raise

    def _resting(self, analyst: str) -> ShadowConnection | None:
        idle = self._idle.get(analyst, [])
        while idle:
            backend = idle.pop()
            if backend.rests():
                return backend
            backend.close()
            self._open[analyst] -= 1
        return None

    def _room(self) -> bool:
        """Room for one more backend, if need be by closing one that rests."""
        if self._open.total() < self.most:
            return True
        for analyst, idle in self._idle.items():
            if idle:
                idle.pop().close()
                self._open[analyst] -= 1
                return True
        return False

    def _give(self, analyst: str, backend: ShadowConnection) -> None:
        if backend.spoiled or self._closed:
            backend.close()
            self._forget(analyst)
            return
        with self._changed:
            self._idle.setdefault(analyst, []).append(backend)
            self._changed.notify()

    def _forget(self, analyst: str) -> None:
        with self._changed:
            self._open[analyst] -= 1
            self._changed.notify()


def read(backend: ShadowConnection, send: Callable[[PGconn], None], limits: ShadowDeadline) -> ShadowAnswer:
    """All rows that a request brings. Raises 54000 beyond ``MAX_ROWS`` and ``MAX_BYTES``."""
    rows: list[Encoded] = []
    columns: tuple[ShadowColumn, ...] = ()
    size, tag = 0, b""
    for result in backend.results(send, limits, rows=True):
        if not rows:
            columns = columns_of(result)
        part = rows_of(result)
        rows += part
        size += sum(len(value) for row in part for value in row if value is not None)
        if len(rows) > MAX_ROWS or size > MAX_BYTES:
            raise error("the catalog's answer is too large", sqlstate="54000", hint="add a LIMIT")
        tag = result.command_status or tag
    return ShadowAnswer(columns, rows, tag.decode())


def _in_parts(connection: PGconn) -> None:
    """Let rows arrive in parts, so that an endless answer is noticed before it fills the memory."""
    try:
        connection.set_chunked_rows_mode(CHUNK)
    except NotSupportedError:
        connection.set_single_row_mode()


def _written(name: str, value: str) -> str:
    """A setting's value in SQL: identifiers for a search path, else one text."""
    if name == "search_path" and _IDENTIFIERS.fullmatch(value):
        return value
    return literal(value.strip("'"))
