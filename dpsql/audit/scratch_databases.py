"""Scratch databases for made-up people: DuckDB files in a folder of their own, or databases on a server that the owner
names for the purpose. They hold no row of a person, and are gone when the audit ends.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

import duckdb
import psycopg
from psycopg import sql

from dpsql.audit.made_up_people import Row, shaped
from dpsql.engines import ForeignKey, Schema, SchemaTable
from dpsql.errors import OperationalError
from rewriter.declared import Catalog, Kind, Table, Type

_AT_ONCE = 200
"""Rows that one statement inserts: each alone would be planned alone."""


class ScratchDatabases(Protocol):
    """Where made-up people are written to."""

    def write(self, name: str, statements: Sequence[str], rows: Mapping[str, Sequence[Row]]) -> str:
        """A database with tables and rows; how a policy names it."""
        ...

    def spelling(self, kind: Type, engine_type: str) -> str: ...


class DuckDBFiles:
    """Databases as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, statements: Sequence[str], rows: Mapping[str, Sequence[Row]]) -> str:
        path = self._folder / f"{name}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("BEGIN")
            for statement in statements:
                connection.execute(statement)
            for table, given in rows.items():
                for start in range(0, len(given), _AT_ONCE):
                    some = given[start : start + _AT_ONCE]
                    marks = f"({', '.join('?' * len(some[0]))})"
                    values = list(itertools.chain.from_iterable(some))
                    connection.execute(f'INSERT INTO "{table}" VALUES {", ".join([marks] * len(some))}', values)
            connection.execute("COMMIT")
        return f"duckdb:{path}"

    def spelling(self, kind: Type, engine_type: str) -> str:
        return engine_type if engine_type.startswith("ENUM(") else str(kind)


class PostgresDatabases:
    """New databases on a PostgreSQL server, which are dropped at the end."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made: list[str] = []

    def write(self, name: str, statements: Sequence[str], rows: Mapping[str, Sequence[Row]]) -> str:
        database = f"dpsql_audit_{secrets.token_hex(4)}_{name}"
        self._server(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(database)))
        self._made.append(database)
        place = urlunsplit(urlsplit(self._url)._replace(path=f"/{database}"))
        with psycopg.connect(place) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement.encode())
            for table, given in rows.items():
                with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))) as copy:
                    for row in given:
                        copy.write_row(row)
        return place

    def spelling(self, kind: Type, engine_type: str) -> str:
        if kind.kind is Kind.DOUBLE:
            return "double precision"
        return "numeric(38)" if kind.kind is Kind.INTEGER and kind.bits == 128 else str(kind)

    def close(self) -> None:
        for database in self._made:
            self._server(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))

    def _server(self, statement: sql.Composed) -> None:
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                connection.execute(statement)
        except psycopg.Error as error:
            raise OperationalError(
                f"the scratch server says: {error}".strip(),
                sqlstate="58030",
                hint="--scratch names a PostgreSQL server for trials, under a role that may create databases",
            ) from None


@contextmanager
def scratch_databases(folder: Path, server: str | None) -> Iterator[ScratchDatabases]:
    """DuckDB files in a folder, or databases on a PostgreSQL server."""
    if server is None:
        yield DuckDBFiles(folder)
        return
    databases = PostgresDatabases(server)
    try:
        yield databases
    finally:
        databases.close()


def definitions(schema: Schema, catalog: Catalog, databases: ScratchDatabases) -> list[str]:
    """``CREATE TABLE`` for each declared table, with the keys that the real database enforces, parents first."""
    made: dict[str, str] = {}
    waiting = dict(catalog.tables)
    while waiting:
        ready = [name for name in waiting if not _before(schema.tables[name], name, waiting)] or [next(iter(waiting))]
        for name in ready:
            made[name] = _definition(schema, catalog, waiting.pop(name), databases, made)
    return list(made.values())


def _before(table: SchemaTable, name: str, waiting: Mapping[str, Table]) -> bool:
    return any(key.parent in waiting and key.parent != name for key in table.foreign_keys)


def _definition(
    schema: Schema, catalog: Catalog, table: Table, databases: ScratchDatabases, made: Mapping[str, str]
) -> str:
    known = schema.tables[table.name]
    columns = shaped(schema, catalog, table)
    lines = []
    for name in columns:
        column, kind = known.readable(name)
        lines.append(f'"{name}" {databases.spelling(kind, column.engine_type)}{" NOT NULL" if column.not_null else ""}')
    unique = [("PRIMARY KEY", known.primary_key)] if known.primary_key else []
    unique += [("UNIQUE", key) for key in known.unique if key != known.primary_key]
    lines += [f"{word} ({_names(key)})" for word, key in unique if set(key) <= set(columns)]
    lines += [line for key in known.foreign_keys for line in _reference(schema, key, columns, made)]
    return f'CREATE TABLE "{table.name}" ({", ".join(lines)})'


def _reference(schema: Schema, key: ForeignKey, columns: Sequence[str], made: Mapping[str, str]) -> Iterator[str]:
    parent = schema.tables[key.parent]
    kept = key.parent in made and set(key.columns) <= set(columns)
    if kept and key.parent_columns in (parent.primary_key, *parent.unique):
        yield f'FOREIGN KEY ({_names(key.columns)}) REFERENCES "{key.parent}" ({_names(key.parent_columns)})'


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)
