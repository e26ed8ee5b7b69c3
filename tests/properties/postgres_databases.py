"""Worlds in PostgreSQL: the same rows in its own types, and a world's neighbours beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import psycopg

from dpsql.engines.exact_table import WrongShape, exact_table, ranks_of
from dpsql.engines.postgres.postgres_connection import Connection, connect
from dpsql.engines.postgres.postgres_schema import read_schema
from rewriter.declared.catalog import Catalog
from rewriter.dialects.dialect import Dialect
from rewriter.dialects.postgres import POSTGRES
from rewriter.plan import Plan
from tests.engines.postgres_server import copy_texts, shared_server
from tests.properties.columns import Column
from tests.properties.neighbours import Failed, Table, Unsound, _spelt, gone
from tests.properties.picks import Ranks
from tests.properties.world import Owner, World, spelt

TYPES = {
    "DOUBLE": "DOUBLE PRECISION",
    "FLOAT": "REAL",
    "VARCHAR": "TEXT",
    "HUGEINT": "NUMERIC",
    "TIMESTAMP_S": "TIMESTAMP(0)",
    "TIMESTAMP_MS": "TIMESTAMP(3)",
}
_MAIN = "public"
_PARALLEL = {
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
    "min_parallel_table_scan_size": "0",
    "max_parallel_workers_per_gather": "2",
    "enable_hashagg": "off",
    "enable_hashjoin": "off",
}


def postgres_type(duckdb_type: str) -> str:
    return TYPES.get(duckdb_type, duckdb_type)


def postgres_database(world: World) -> str:
    """A new database that holds a world. Its name."""
    world, server = with_keys(world), shared_server()
    name = server.database()
    with server.owner(name) as connection:
        fill(world, connection)
        server.grant(connection)
    return name


def fill(world: World, connection: psycopg.Connection, missing: Mapping[str, Sequence[int]] | None = None) -> None:
    """Create the tables of a world where the search path says, without the ``missing`` rows of each."""
    for table in world.tables:
        connection.execute(table.ddl(postgres_type))  # type: ignore[arg-type]
        skipped = set((missing or {}).get(table.name, ()))
        rows = [
            tuple(map(_in_braces, (spelt(value) for value in row), table.columns))
            for place, row in enumerate(world.rows[table.name])
            if place not in skipped
        ]
        copy_texts(connection, table.name, rows)


def _in_braces(spelt_: str | None, column: Column) -> str | None:
    """A list in PostgreSQL's words."""
    if spelt_ is None or not column.type.endswith("[]"):
        return spelt_
    return "{" + spelt_[1:-1].replace("''", '""') + "}"


def with_keys(world: World) -> World:
    """The world where rows may change, so that a key on the way to the unit has to be enforced."""
    parents = {table.parent for table in world.tables if table.parent is not None} - {world.entity}
    tables = (replace(t, key=next((column for name, column in parents if name == t.name), t.key)) for t in world.tables)
    return replace(world, tables=tuple(tables), lasting=False)


@cache
def _scratch() -> str:
    return shared_server().database()


@dataclass(slots=True)
class PostgresDatabases:
    """One world and its neighbours, as schemas of one PostgreSQL database; the one that is asked is called public."""

    world: World
    connection: Connection
    neighbours: dict[Owner, str] = field(default_factory=dict)
    shown: str = _MAIN

    @classmethod
    def of(cls, world: World, units: Sequence[Owner]) -> PostgresDatabases:
        world, server = with_keys(world), shared_server()
        with server.owner(_scratch()) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            schemas = [row[0] for row in connection.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_'")]
            for schema in schemas:
                if schema != "information_schema":
                    connection.execute(f"DROP SCHEMA {schema} CASCADE")
            found = {unit: f"d{number}" for number, unit in enumerate(units)}
            lacking: dict[str, Mapping[str, Sequence[int]]] = {_MAIN: {}, "owned": gone(world, None)}
            lacking |= {schema: gone(world, unit) for unit, schema in found.items()}
            for schema, missing in lacking.items():
                connection.execute(f"CREATE SCHEMA {schema}")
                connection.execute(f"SET search_path = {schema}")
                fill(_unchecked(world) if schema != _MAIN else world, connection, missing)
            for table in world.tables:
                connection.execute(
                    f'CREATE TABLE owned.shuffled AS SELECT * FROM owned."{table.name}" ORDER BY random()'
                )
                connection.execute(
                    f'TRUNCATE owned."{table.name}"; INSERT INTO owned."{table.name}" SELECT * FROM owned.shuffled'
                )
                connection.execute("DROP TABLE owned.shuffled")
        reader = connect(server.owner_url(_scratch()))
        reader.execute("SET default_transaction_read_only = off")
        return cls(world, reader, found)

    @property
    def dialect(self) -> Dialect:
        return POSTGRES

    def catalog(self) -> Catalog:
        return self.world.catalog(schema=read_schema(self.connection))

    def run(self, plan: Plan, schema: str = _MAIN, threads: int = 1) -> Table:
        """The exact table of a plan; more ``threads`` mean other ways of computing it, too."""
        if not plan.sql:
            return {(): {}}
        self._prepare(schema, threads)
        try:
            exact = exact_table(self.connection.cursor(binary=True).execute(plan.sql), plan)  # type: ignore[arg-type]
        except psycopg.Error as error:
            raise Failed(f"the engine raised {type(error).__name__}: {str(error)[:300]}") from None
        except WrongShape:
            raise Unsound("the answer has not the integers and groups of its plan") from None
        return {
            tuple(_spelt(value) for value in key): {name: column[row] for name, column in exact.statistics.items()}
            for row, key in enumerate(exact.keys)
        }

    def ranks(self, plan: Plan, schema: str = _MAIN, threads: int = 1) -> dict[str, Ranks]:
        """What the choices of a plan are made from."""
        self._prepare(schema, threads)
        try:
            return {
                one.name: ranks_of(self.connection.cursor(binary=True).execute(one.sql), plan)  # type: ignore[arg-type]
                for one in plan.choices
            }
        except psycopg.Error as error:
            raise Failed(f"the engine raised {type(error).__name__}: {str(error)[:300]}") from None
        except WrongShape:
            raise Unsound("the ranks have not the integers and groups of their plan") from None

    def _prepare(self, schema: str, threads: int) -> None:
        self._show(schema)
        for name, value in _PARALLEL.items():
            self.connection.execute(f"SET {name} = {value}" if threads > 1 else f"RESET {name}")  # type: ignore[arg-type]

    def _show(self, schema: str) -> None:
        if schema != self.shown:
            self.connection.execute(f"ALTER SCHEMA public RENAME TO hidden_{self.shown}")  # type: ignore[arg-type]
            known = schema if schema not in self._renamed() else f"hidden_{schema}"
            self.connection.execute(f"ALTER SCHEMA {known} RENAME TO public")  # type: ignore[arg-type]
            self.shown = schema

    def _renamed(self) -> set[str]:
        sql = "SELECT substr(nspname, 8) FROM pg_namespace WHERE nspname ~ '^hidden_'"
        return {row[0] for row in self.connection.execute(sql)}

    def close(self) -> None:
        self.connection.close()


def _unchecked(world: World) -> World:
    """The world without foreign keys: what is left of it may dangle."""
    return replace(world, tables=tuple(replace(table, enforced=False, key=None, unique=()) for table in world.tables))
