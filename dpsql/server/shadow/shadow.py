"""The shadow: a PostgreSQL that has the policy's tables and none of their rows, for everything about catalogs.

Guarantee: nothing that it answers depends on private data, because there is none: the schema is made of the policy,
and every table was seen to be empty, by the owner, after the last right to write was taken away. One session sees
nothing of another: no query texts, no locks, no settings, no rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.pq.abc import PGconn

from dpsql.engines import Cancellation
from dpsql.errors import OperationalError, error
from dpsql.postgresql import SUPERUSER, Binaries, PostgresProcess, find_binaries
from dpsql.server.shadow.pool import ALL, Pool, ShadowConnection, ShadowDeadline, read
from dpsql.server.shadow.rights import SERVER_SETTINGS, check_role, harden, verify
from dpsql.server.shadow.shadow_rows import ShadowAnswer, ShadowDescription, columns_of, merged
from dpsql.server.shadow.shadow_schema import quoted, schemas, statements, tables
from rewriter.declared import Catalog
from rewriter.front_door import lexemes

LONGEST = 10.0
"""Seconds that a catalog query may take."""
MEMORY = 384 * 1024
"""KiB of address space for one backend: what asks for more gets an error, and the others their answers."""
_WORDS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "("})
_BACKEND_OPTIONS = f"-c default_transaction_read_only=on -c statement_timeout={int(LONGEST * 1000)}"
_BOTH = b"BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Shadow:
    """A started shadow. Thread-safe; blocks the calling thread only."""

    def __init__(
        self,
        address: str,
        database: str,
        analysts: Sequence[str],
        process: PostgresProcess | None = None,
        processes: int = 1,
    ) -> None:
        """``address`` is the connection string of a server that was started for the same policy, and ``process`` the
        server itself where it is this object's own. So many ``processes`` share it.
        """
        self.database = database
        self.address = address
        self._process = process
        self._analysts = frozenset(analysts)
        self._pool = Pool(self._connect, ALL // processes)
        self._version = ""

    @classmethod
    def start(
        cls, catalog: Catalog, analysts: Sequence[str], database: str, binaries: Binaries | None = None
    ) -> Shadow:
        """Start it, load the schema, take every right away but reading, and see that it is empty.

        Raises :class:`OperationalError`.
        """
        for name in analysts:
            check_role(name)
        found = binaries or find_binaries(wheel_first=True)
        process = PostgresProcess.start(settings=SERVER_SETTINGS, binaries=found, memory=MEMORY)
        try:
            _load(process, catalog, analysts, database)
            return cls(process.dsn(), database, analysts, process)
        except psycopg.Error as problem:
            process.close()
            raise OperationalError(f"the catalog cannot be built: {problem}", sqlstate="58000") from None
        except BaseException:
            process.close()
            raise

    @property
    def running(self) -> bool:
        """Whether the server lives, where it is this object's own."""
        return self._process is None or self._process.running

    @property
    def process(self) -> PostgresProcess:
        """The server behind it: for the owner, never for a session."""
        if self._process is None:
            raise AssertionError("another process started it")
        return self._process

    def server_version(self, analyst: str) -> str:
        """What ``SHOW server_version`` and its kin answer: clients are told the same at their start."""
        if not self._version:
            limits = ShadowDeadline(time.monotonic() + LONGEST, Cancellation())
            with self._pool.backend(analyst, {}, limits) as backend:
                self._version = (backend.connection.parameter_status(b"server_version") or b"").decode()
        return self._version

    def describe(self, sql: str, types: Sequence[int], analyst: str, settings: Mapping[str, str]) -> ShadowDescription:
        """Parameters and columns of a query, which is never run."""
        text = _allowed(sql)
        limits = ShadowDeadline(time.monotonic() + LONGEST, Cancellation())
        with self._pool.backend(analyst, settings, limits) as backend:
            list(backend.results(lambda connection: connection.send_prepare(b"", text, list(types)), limits))
            (found,) = backend.results(lambda connection: connection.send_describe_prepared(b""), limits)
            return ShadowDescription(
                tuple(found.param_type(place) for place in range(found.nparams)), columns_of(found)
            )

    def run(
        self,
        sql: str,
        values: Sequence[bytes | None],
        types: Sequence[int],
        formats: Sequence[int],
        result_formats: Sequence[int],
        analyst: str,
        settings: Mapping[str, str],
        timeout: float | None,
        cancellation: Cancellation,
    ) -> ShadowAnswer:
        """Run one query; ``formats`` and ``result_formats`` are as in Bind: none, one for all, or one for each."""
        text = _allowed(sql)
        limits = ShadowDeadline(time.monotonic() + min(timeout or LONGEST, LONGEST), cancellation)
        given = _spread(formats, len(values))

        def ask(backend: ShadowConnection, format_: int) -> ShadowAnswer:
            def send(connection: PGconn) -> None:
                connection.send_query_params(text, list(values), list(types), given, format_)

            return read(backend, send, limits)

        with self._pool.backend(analyst, settings, limits) as backend:
            if len(set(result_formats)) < 2:
                return ask(backend, next(iter(result_formats), 0))
            # libpq asks for one format at a time: the same snapshot answers twice.
            backend.command(_BOTH, limits)
            texts, binaries = ask(backend, 0), ask(backend, 1)
            backend.command(b"COMMIT", limits)
            return merged(texts, binaries, result_formats)

    def close(self) -> None:
        self._pool.close()
        if self._process is not None:
            self._process.close()

    def _connect(self, analyst: str) -> ShadowConnection:
        if analyst not in self._analysts:
            raise error(f'role "{analyst}" does not exist', sqlstate="28000")
        connection = pq.PGconn.connect(_conninfo(self.address, self.database, analyst, _BACKEND_OPTIONS))
        if connection.status != pq.ConnStatus.OK:
            connection.finish()
            raise error("the catalog is not reachable", sqlstate="57P01", hint="try again")
        return ShadowConnection(connection)


def _load(process: PostgresProcess, catalog: Catalog, analysts: Sequence[str], database: str) -> None:
    if database != "postgres":
        with psycopg.connect(process.dsn("template1"), autocommit=True) as connection:
            # One of its own: clients take a database with the number of initdb's own for the system's, and hide it.
            connection.execute(f"CREATE DATABASE {quoted(database)}".encode())
            connection.execute(b"DROP DATABASE postgres")
    with psycopg.connect(_conninfo(process.dsn(), database, SUPERUSER, "").decode()) as connection:
        for statement in statements(catalog):
            connection.execute(statement.encode())
        harden(connection, database, analysts, schemas(catalog))
        connection.commit()
        verify(connection, analysts, tables(catalog))


def _conninfo(address: str, database: str, user: str, options: str) -> bytes:
    return make_conninfo(
        address,
        dbname=database,
        user=user,
        options=options,
        client_encoding="utf8",
        application_name="",
        connect_timeout=10,
    ).encode()


def _allowed(sql: str) -> bytes:
    """The text, where it begins like a query: no other statement reaches the shadow."""
    first = next(iter(lexemes(sql)), None)
    if first is None or first.text.upper() not in _WORDS or "\0" in sql:
        raise error("this is not a query", sqlstate="42601")
    return sql.encode(errors="replace")


def _spread(formats: Sequence[int], count: int) -> list[int]:
    """One format for each value.

    >>> _spread([1], 3), _spread([], 2), _spread([0, 1], 2)
    ([1, 1, 1], [0, 0], [0, 1])
    """
    return list(formats) * count if len(formats) == 1 else list(formats) or [0] * count
