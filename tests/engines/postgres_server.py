"""A private PostgreSQL for tests: one server, as many databases as are asked for, and a role that may only read."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import duckdb
import psycopg

from dpsql.postgresql.binaries import Binaries
from dpsql.postgresql.process import PostgresProcess

READER = "reader"
PASSWORD = "open-sesame"  # noqa: S105


@dataclass(slots=True)
class Server:
    """``url`` is the reader's way to a database, ``owner`` a connection that may do everything."""

    process: PostgresProcess
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def database(self, setup: str = "") -> str:
        """A new database with what ``setup`` makes in it, all of it readable. Its name."""
        name = f"test_{next(self._numbers)}"
        with self.owner() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")  # type: ignore[arg-type]
        with self.owner(name) as connection:
            if setup:
                connection.execute(setup)  # type: ignore[arg-type]
            self.grant(connection)
        return name

    def grant(self, connection: psycopg.Connection) -> None:
        """Let the reader read what is there."""
        for (schema,) in connection.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_'").fetchall():
            connection.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO {READER}')
            connection.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {READER}')

    def owner(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(self.process.dsn(database), autocommit=True)

    def url(self, database: str, user: str = READER, password: str = PASSWORD) -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.process.port}/{database}"

    def owner_url(self, database: str) -> str:
        return self.process.url(database)


def start(**settings: str) -> Server:
    """A server of its own, for tests that stop it. ``DPSQL_TEST_POSTGRES`` names a folder with other binaries."""
    folder = os.environ.get("DPSQL_TEST_POSTGRES")
    binaries = Binaries(Path(folder), 0, Path(folder).parent) if folder else None
    server = Server(PostgresProcess.start(tcp=True, settings=settings, binaries=binaries))
    with server.owner() as connection:
        connection.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}'")
    return server


@cache
def shared_server() -> Server:
    """One server for all tests of this process; it ends with the process."""
    return start()


def copy_tables(source: duckdb.DuckDBPyConnection, target: psycopg.Connection, names: tuple[str, ...]) -> None:
    """The rows of a DuckDB's tables into tables of the same names and columns."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder) / "rows.csv"
            source.execute(f"COPY \"{name}\" TO '{path}' (FORMAT csv, HEADER false)")
            with path.open("rb") as rows, target.cursor().copy(f'COPY "{name}" FROM STDIN (FORMAT csv)') as copy:
                while block := rows.read(1 << 20):
                    copy.write(block)
            path.unlink()
            target.execute(f'ANALYZE "{name}"')


def copy_texts(target: psycopg.Connection, name: str, rows: list[tuple[str | None, ...]]) -> None:
    """Rows of texts, each read as its column's type."""
    with target.cursor().copy(f'COPY "{name}" FROM STDIN') as copy:
        for row in rows:
            copy.write_row(row)
