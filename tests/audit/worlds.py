"""Worlds: small databases side by side in one, each with 200 groups in which one person is there or not, by a coin.

A *shape* says who is in every group: the people who always are, and the target person, who is there when the group's
coin says so. A world is a number that statements filter by; a shape has many worlds with coins of their own. Nobody is in two
worlds, and a target is in one group of one world, so that a release of a world is 200 experiments at once.

The first world of a shape is nobody's (no target is there), the second has one target, in the group 100, and the third has all:
what must not depend on people at all is compared between them. Coins are tossed for the others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np

from dpsql.audit.telling_events import Bits
from tests.audit import open_tables
from tests.engines.postgres_server import copy_tables, shared_server

CELLS = 200
EMPTY, ONE, FULL = range(3)
MOST_TABLES = 2
FIRST = 3
"""The first world with coins."""

MEMBER = {
    "x": "DOUBLE PRECISION", "y": "DOUBLE PRECISION", "n": "BIGINT", "d": "NUMERIC(12, 2)", "born": "DATE",
    "flag": "BOOLEAN", "kind": "TEXT", "tag": "TEXT", "said": "TEXT",
}  # fmt: skip
EVENT = {
    "sub": "INTEGER", "item": "INTEGER", "x": "DOUBLE PRECISION", "n": "BIGINT", "d": "NUMERIC(12, 2)", "day": "DATE",
    "tag": "TEXT",
}  # fmt: skip
FINE = {"event": "INTEGER", "amount": "INTEGER"}

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Somebody:
    """A person's own row, and those of their events and fines; what is not named is NULL.

    A fine is of the event at the place ``event``. ``strays`` are events that come with the person and are nobody's:
    their ``owner`` is NULL or dangling.
    """

    member: Row = field(default_factory=dict)
    events: Sequence[Row] = ()
    fines: Sequence[Row] = ()
    strays: Sequence[Row] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """Who is in each group of its worlds: all of ``others``, and ``target`` where the coin says so."""

    name: str
    target: Somebody
    others: Sequence[Somebody] = ()


@dataclass(frozen=True, slots=True)
class Worlds:
    """The shapes by name, with the coins of their worlds; ``coins[shape][world]`` has one for each group."""

    shapes: Sequence[Shape]
    coins: Mapping[str, tuple[Bits, ...]]

    @classmethod
    def drawn(cls, shapes: Sequence[Shape], worlds: int, seed: int) -> Worlds:
        """``worlds`` worlds with coins for each shape, after the three without."""
        draw = random.Random(seed)

        def coins() -> Iterator[Bits]:
            yield np.zeros(CELLS, dtype=np.bool_)
            yield np.arange(CELLS) == 100
            yield np.ones(CELLS, dtype=np.bool_)
            for _ in range(worlds):
                yield np.array([draw.getrandbits(1) == 1 for _ in range(CELLS)])

        return cls(shapes, {shape.name: tuple(coins()) for shape in shapes})

    def only(self, shape: str) -> Worlds:
        """The worlds of one shape, under the numbers that they have here."""
        return Worlds(self.shapes, {shape: self.coins[shape]})

    @property
    def tables(self) -> Mapping[int, Bits]:
        """The worlds that are tables of their own, by their numbers, with their coins."""
        coins = self.coins.get(open_tables.SHAPE, ())[: FIRST + MOST_TABLES]
        return {self.number(open_tables.SHAPE, world): bits for world, bits in enumerate(coins)}

    def number(self, shape: str, world: int) -> int:
        """What a statement filters by: as long a literal for all of them."""
        return 10_000 + 500 * [one.name for one in self.shapes].index(shape) + world

    def write(self, connection: duckdb.DuckDBPyConnection) -> None:
        """All tables, with their rows in the order of worlds."""
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute("BEGIN")
        targets = [
            (place, self.number(shape.name, world), cell, bool(bit))
            for place, shape in enumerate(self.shapes)
            for world, coins in enumerate(self.coins.get(shape.name, ()))
            for cell, bit in enumerate(coins)
        ]
        _insert(connection, "target", targets)
        roles: list[Sequence[object]] = []
        events: list[Sequence[object]] = []
        fines: list[Sequence[object]] = []
        for place, shape in enumerate(self.shapes):
            for role, somebody in enumerate((shape.target, *shape.others)):
                roles.append((place, role, *_texts(somebody.member, MEMBER)))
                owned = [(0, one) for one in somebody.events]
                owned += [(2 if one.get("owner") else 1, one) for one in somebody.strays]
                events += [(place, role, at, stray, *_texts(one, EVENT)) for at, (stray, one) in enumerate(owned)]
                fines += [(place, role, at, *_texts(one, FINE)) for at, one in enumerate(somebody.fines)]
        for name, rows in (("role", roles), ("role_event", events), ("role_fine", fines)):
            _insert(connection, name, rows)
        for statement in _ROWS:
            connection.execute(statement)
        open_tables.write(connection, self.tables)
        connection.execute("COMMIT")


def _casts(columns: Mapping[str, str], table: str) -> str:
    """Typed columns; tags are told apart by the group, for nobody declares them."""
    tag = f"{table}.tag || '-' || cell AS tag"
    return ", ".join(
        tag if name == "tag" else f"CAST({table}.{name} AS {kind}) AS {name}" for name, kind in columns.items()
    )


def _declared(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def _untyped(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} TEXT" for name in columns)


def _texts(row: Row, columns: Mapping[str, str]) -> list[str | None]:
    if unknown := set(row) - set(columns) - {"owner"}:
        raise KeyError(f"there is no {unknown}")
    return [None if row.get(name) is None else str(row[name]) for name in columns]


PEOPLE = {
    "member": f"id BIGINT PRIMARY KEY, world INTEGER NOT NULL, cell INTEGER, {_declared(MEMBER)}",
    "event": f"id BIGINT PRIMARY KEY, member_id BIGINT, world INTEGER NOT NULL, cell INTEGER, {_declared(EVENT)}",
    "fine": "id BIGINT PRIMARY KEY, event_id BIGINT, world INTEGER NOT NULL, amount INTEGER",
    "place": "sub INTEGER NOT NULL, region TEXT NOT NULL",
}

_TABLES = (
    *(f"CREATE TABLE {name} ({columns})" for name, columns in PEOPLE.items()),
    "CREATE TEMP TABLE target (shape INTEGER, world INTEGER, cell INTEGER, bit BOOLEAN)",
    f"CREATE TEMP TABLE role (shape INTEGER, role INTEGER, {_untyped(MEMBER)})",
    f"CREATE TEMP TABLE role_event (shape INTEGER, role INTEGER, place INTEGER, stray INTEGER, {_untyped(EVENT)})",
    f"CREATE TEMP TABLE role_fine (shape INTEGER, role INTEGER, place INTEGER, {_untyped(FINE)})",
)

_ROWS = (
    f"""INSERT INTO member SELECT world::BIGINT * 10000 + cell * 50 + role, world, cell, {_casts(MEMBER, "role")}
    FROM target JOIN role USING (shape) WHERE role > 0 OR bit ORDER BY 1""",
    f"""INSERT INTO event SELECT (world::BIGINT * 10000 + cell * 50 + role) * 100 + place,
    CASE stray WHEN 0 THEN world::BIGINT * 10000 + cell * 50 + role WHEN 2 THEN 10000000000000 + cell END,
    world, cell, {_casts(EVENT, "role_event")}
    FROM target JOIN role_event USING (shape) WHERE role > 0 OR bit ORDER BY 1""",
    """INSERT INTO fine SELECT (world::BIGINT * 10000 + cell * 50 + role) * 10000 + place,
    (world::BIGINT * 10000 + cell * 50 + role) * 100 + CAST(role_fine.event AS BIGINT), world,
    CAST(amount AS INTEGER)
    FROM target JOIN role_fine USING (shape) WHERE role > 0 OR bit ORDER BY 1""",
    "INSERT INTO place VALUES (0, 'north'), (0, 'south'), (1, 'north'), (1, 'south'), (2, 'north'), (3, 'south')",
)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]) -> None:
    if rows:
        import pyarrow as pa

        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        connection.register("incoming", pa.table(columns, [str(at) for at in range(len(columns))]))
        connection.execute(f"INSERT INTO {table} SELECT * FROM incoming")
        connection.unregister("incoming")


def write_duckdb(worlds: Worlds, path: Path) -> str:
    """The worlds in a DuckDB file, as a policy names it."""
    with duckdb.connect(str(path)) as connection:
        worlds.write(connection)
    return f"duckdb:{path}"


def write_postgres(worlds: Worlds, more: str = "") -> str:
    """The same rows in a PostgreSQL database of their own, as a policy names it, with ``more`` that SQL makes."""
    server = shared_server()
    name = server.database()
    with duckdb.connect() as source, server.owner(name) as connection:
        worlds.write(source)
        tables = PEOPLE | {f"open{number}": open_tables.columns(len(bits)) for number, bits in worlds.tables.items()}
        for table, columns in tables.items():
            connection.execute(f"CREATE TABLE {table} ({columns})")  # type: ignore[arg-type]
        copy_tables(source, connection, tuple(tables))
        for statement in (
            "CREATE INDEX ON member (world)",
            "CREATE INDEX ON event (world)",
            "CREATE INDEX ON fine (world)",
        ):
            connection.execute(statement)
        connection.execute(more)  # type: ignore[arg-type]
        connection.execute("ANALYZE")
        server.grant(connection)
    return server.url(name)
