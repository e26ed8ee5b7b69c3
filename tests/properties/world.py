"""Random worlds: a schema, a policy over it, and rows drawn to break what the policy declares.

A *wild* world holds what real tables hold and no generator draws by itself: units with 0, 1, limit, limit + 1 and 60 rows,
exact duplicates, values at and beyond the declared ranges, NaN, infinities, dates at the end of time, NULL and dangling
units. A *tame* world keeps to what its policy declares, so that answers can be compared with the engine's own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

import duckdb
import pyarrow as pa

from dpsql.engines.schema import ForeignKey, Profile, Schema, SchemaColumn, SchemaTable
from dpsql.policy import Policy
from dpsql.schema import catalog
from rewriter.catalog import Catalog
from rewriter.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, SMALLINT, TEXT, TIMESTAMP, decimal

Row = tuple[object, ...]
Rows = Mapping[str, Sequence[Row]]
Owner = tuple[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with what the policy says of it.

    ``kind`` names a row of ``KINDS``, ``key`` and ``link`` are identifiers. ``listed`` and ``span`` are its declared
    values and range, ``source`` the public column that lists its values.
    """

    name: str
    kind: str
    type: str
    listed: tuple[object, ...] | None = None
    span: tuple[object, object] | None = None
    source: str | None = None
    not_null: bool = False

    def policy(self) -> str:
        if self.listed is not None:
            return "{values: [" + ", ".join(written(value) for value in self.listed) + "]}"
        if self.span is not None:
            return f"{{range: [{self.span[0]}, {self.span[1]}]}}"
        return f"{{values_from: {self.source}}}" if self.source else "{}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``parent`` is the table and column that its first column but one refers to, on the way to the unit."""

    name: str
    columns: tuple[Column, ...]
    public: bool = False
    key: str | None = None
    unique: tuple[str, ...] = ()
    link: str | None = None
    parent: tuple[str, str] | None = None
    enforced: bool = False
    bounds: tuple[tuple[str, int], ...] = ()

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def position(self, name: str) -> int:
        return [column.name for column in self.columns].index(name)

    def ddl(self) -> str:
        parts = [
            f'"{column.name}" {column.type}'
            + (" PRIMARY KEY" if column.name == self.key else "")
            + (" UNIQUE" if column.name in self.unique else "")
            + (" NOT NULL" if column.not_null and column.name != self.key else "")
            for column in self.columns
        ]
        if self.enforced and self.parent is not None:
            parts.append(f'FOREIGN KEY ("{self.link}") REFERENCES "{self.parent[0]}" ("{self.parent[1]}")')
        return f'CREATE TABLE "{self.name}" ({", ".join(parts)})'


@dataclass(frozen=True, slots=True)
class World:
    """Tables in the order in which they can be filled, and their rows. ``entity`` is None where each row is a unit."""

    tables: tuple[Table, ...]
    entity: tuple[str, str] | None
    rows: Rows = field(repr=False)
    tame: bool = False

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    @property
    def private(self) -> tuple[Table, ...]:
        return tuple(table for table in self.tables if not table.public)

    def policy(self, accounting: str = "zcdp", folder: str = "") -> str:
        """The policy file."""
        delta = "" if accounting == "pure" else ", delta: 1e-3"
        unit = "row" if self.entity is None else ".".join(self.entity)
        lines = [
            f"database: duckdb:{folder}world.duckdb",
            f"ledger: sqlite:{folder}world.ledger",
            f"privacy_unit: {unit}",
            f"budget: {{epsilon: 1e6{delta}, accounting: {accounting}}}",
            "statement: {epsilon: 100, max_epsilon: 1000}",
            "tables:",
        ]
        for table in self.tables:
            lines.append(f"  {table.name}:")
            if table.public:
                lines.append("    public: true")
                continue
            if table.parent is not None:
                lines.append(f"    unit: {table.link} -> {table.parent[0]}.{table.parent[1]}")
            lines += [f"    {name}: {value}" for name, value in table.bounds]
            lines += ["    columns:", *(f"      {column.name}: {column.policy()}" for column in table.columns)]
        return "\n".join(lines) + "\n"

    def fill(self, connection: duckdb.DuckDBPyConnection, rows: Rows | None = None) -> None:
        """Create the tables in an empty database."""
        for table in self.tables:
            connection.execute(table.ddl())
            content = (self.rows if rows is None else rows)[table.name]
            columns = [
                pa.array([spelt(row[place]) for row in content], pa.string()) for place, _ in enumerate(table.columns)
            ]
            incoming = pa.table(columns, names=[column.name for column in table.columns])
            connection.register("incoming", incoming)
            casts = ", ".join(f'CAST("{column.name}" AS {column.type})' for column in table.columns)
            connection.execute(f'INSERT INTO "{table.name}" SELECT {casts} FROM incoming')
            connection.unregister("incoming")

    @property
    def schema(self) -> Schema:
        """What the database declares about itself."""
        return Schema({table.name: _schema_of(table) for table in self.tables})

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """What a look at the public tables finds."""
        found = {}
        for table in self.tables:
            if table.public:
                columns = list(zip(*self.rows[table.name], strict=True)) or [()] * len(table.columns)
                unique = (c.name for c, values in zip(table.columns, columns, strict=True) if _distinct(values))
                found[table.name] = Profile(len(self.rows[table.name]), frozenset(unique))
        return found

    def catalog(self, accounting: str = "zcdp") -> Catalog:
        return catalog(Policy.parse(self.policy(accounting)), self.schema, self.profiles)

    def owners(self) -> Mapping[str, Sequence[frozenset[Owner]]]:
        """For each row of each private table, the units that it belongs to: none, one, or (two parents, one key) two."""
        found: dict[str, list[frozenset[Owner]]] = {}
        for table in self.private:
            rows = self.rows[table.name]
            if self.entity is None:
                found[table.name] = [frozenset({(table.name, number)}) for number in range(len(rows))]
                continue
            place = table.position(table.link or self.entity[1])
            if table.parent is None:
                found[table.name] = [_unit(row[place]) for row in rows]
                continue
            parent, column = table.parent
            known: dict[object, frozenset[Owner]] = {}
            where = self.table(parent).position(column)
            for row, owner in zip(self.rows[parent], found[parent], strict=True):
                if row[where] is not None:
                    known[row[where]] = known.get(row[where], frozenset()) | owner
            found[table.name] = [known.get(row[place], frozenset()) for row in rows]
        return found

    def units(self) -> dict[Owner, int]:
        """Every unit with its number of rows."""
        count: dict[Owner, int] = {}
        for owners in self.owners().values():
            for owner in owners:
                for unit in owner:
                    count[unit] = count.get(unit, 0) + 1
        return count

    def without(self, unit: Owner) -> Rows:
        """All rows but those of one unit."""
        return self._keep(lambda owner: owner != frozenset({unit}))

    def owned(self) -> Rows:
        """All rows but those of nobody, and those whose parents are: what is left when they are removed."""
        return self._keep(lambda owner: bool(owner))

    def _keep(self, test: Callable[[frozenset[Owner]], bool]) -> Rows:
        owners = self.owners()
        kept = dict(self.rows)
        for name, units in owners.items():
            kept[name] = [row for row, owner in zip(self.rows[name], units, strict=True) if test(owner)]
        return kept

    def permuted(self, random: Random) -> Rows:
        return {name: random.sample(list(rows), len(rows)) for name, rows in self.rows.items()}


def _unit(value: object) -> frozenset[Owner]:
    return frozenset() if value is None else frozenset({("", value)})


def written(value: object) -> str:
    """A scalar of the policy file."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else str(value)


def spelt(value: object) -> str | None:
    """A value as a text that DuckDB casts to it."""
    if value is None or isinstance(value, str):
        return value
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def _distinct(values: Sequence[object]) -> bool:
    return len(set(values)) == len(values) and None not in values


_SCHEMA_TYPES = {
    "VARCHAR": TEXT,
    "INTEGER": INTEGER,
    "BIGINT": BIGINT,
    "SMALLINT": SMALLINT,
    "DOUBLE": DOUBLE,
    "DECIMAL(9,2)": decimal(9, 2),
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "BOOLEAN": BOOLEAN,
}


def _schema_of(table: Table) -> SchemaTable:
    columns = {
        column.name: SchemaColumn(
            column.name, column.type, _SCHEMA_TYPES[column.type], column.not_null or column.name == table.key
        )
        for column in table.columns
    }
    keys = ()
    if table.enforced and table.parent is not None:
        keys = (ForeignKey((table.link or "",), table.parent[0], (table.parent[1],)),)
    primary = (table.key,) if table.key else ()
    return SchemaTable(table.name, columns, primary, tuple((name,) for name in table.unique), keys)


# The kinds of columns: a type, a declaration, values that fit and values that do not.


def _in_span(random: Random, column: Column, tame: bool) -> object:
    low, high = column.span  # type: ignore[misc]
    if isinstance(low, datetime):
        return low + timedelta(seconds=random.randrange(int((high - low).total_seconds()) + 1))
    if isinstance(low, date):
        return low + timedelta(days=random.randrange((high - low).days + 1))
    if isinstance(low, float):
        return random.choice(
            [low, high, round(random.uniform(low, high) * 8) / 8 if tame else random.uniform(low, high)]
        )
    if isinstance(low, Decimal):
        return random.choice([low, high, low + (high - low) * random.randrange(101) / 100]).quantize(Decimal("0.01"))
    return random.choice([low, high, random.randint(low, high)])


def _listed(random: Random, column: Column, tame: bool) -> object:
    return random.choice(column.listed)  # type: ignore[arg-type]


_SPANS: dict[str, tuple[tuple[object, object], ...]] = {
    "small": ((0, 10), (-7, 5), (3, 3), (-20, -3), (100, 130), (0, 1)),
    "big": ((0, 10**6), (-(10**9), 10**9), (10**9, 10**9 + 50), (-(2**44), 2**45)),
    "tiny": ((0, 120), (-5, 5)),
    "ratio": ((0.0, 1.0), (-2.5, 7.0), (1000.0, 1000.0), (-3.0, -1.0), (-0.001, 5.0), (0.0, 1e9)),
    "money": ((Decimal("0.00"), Decimal("500.00")), (Decimal("-12.50"), Decimal("99.99"))),
    "day": ((date(2020, 1, 1), date(2020, 3, 31)), (date(2019, 12, 30), date(2020, 1, 2))),
    "at": ((datetime(2020, 1, 1), datetime(2020, 1, 20)),),
}
_LISTS: dict[str, tuple[tuple[object, ...], ...]] = {
    "cat": (("a", "b", "c"), ("a", "", "b", None), ("a",), ("a", "b", "c", "d", "e", None)),
    "flag": ((True, False), (True, False, None), (True,)),
}
_TYPES = {
    "small": "INTEGER",
    "big": "BIGINT",
    "tiny": "SMALLINT",
    "ratio": "DOUBLE",
    "money": "DECIMAL(9,2)",
    "day": "DATE",
    "at": "TIMESTAMP",
    "cat": "VARCHAR",
    "flag": "BOOLEAN",
    "note": "VARCHAR",
    "bare": "INTEGER",
    "area": "VARCHAR",
}
_ODD: dict[str, tuple[object, ...]] = {
    "small": (2**31 - 1, -(2**31), 0, -1, 11, None),
    "big": (2**63 - 1, -(2**63), 0, 10**10, None),
    "tiny": (2**15 - 1, -(2**15), 200, None),
    "ratio": (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, 1e17, 0.1, None),
    "money": (Decimal("9999999.99"), Decimal("-9999999.99"), Decimal("0.01"), None),
    "day": ("infinity", "-infinity", date(9999, 12, 31), date(1, 1, 1), None),
    "at": ("infinity", "-infinity", datetime(9999, 12, 31, 23, 59, 59), None),
    "cat": ("zz", "", "A", "é", None),
    "flag": (None, False),
    "note": ("", "n0", "N0", "x" * 300, "12", "2020-01-01", "%", None),
    "bare": (2**31 - 1, -(2**31), 0, None),
    "area": ("nowhere", "", None),
}


def column(random: Random, kind: str, *, not_null: bool, tame: bool) -> Column:
    lists = [values for values in _LISTS.get(kind, ()) if not (not_null and None in values)]
    listed = random.choice(lists) if lists else None
    spans = _SPANS.get(kind, ())
    # The last ones have no lattice on which sums are exact.
    exact = spans[: -2 if kind == "ratio" else -1] if tame and kind in ("big", "ratio") else spans
    span = random.choice(exact) if exact else None
    source = "region.name" if kind == "area" else None
    return Column(kind, kind, _TYPES[kind], listed, span, source, not_null)


def draw(random: Random, column: Column, areas: Sequence[object], *, tame: bool) -> object:
    """A value of a column: one that was declared, one at an end of the range, or one that nobody expected."""
    if not tame and not column.not_null and random.random() < 0.25:
        return random.choice(_ODD[column.kind])
    if not tame and random.random() < 0.1:
        odd = [value for value in _ODD[column.kind] if value is not None]
        return random.choice(odd)
    if column.kind == "area":
        return random.choice(areas) if areas else (None if not column.not_null else "nowhere")
    if column.kind in ("note", "bare"):
        return f"n{random.randrange(4)}" if column.kind == "note" else random.randrange(5)
    if tame and column.listed is None and not column.not_null and random.random() < 0.08:
        return None
    return (_listed if column.listed is not None else _in_span)(random, column, tame)


# Worlds.

WIDE = 500
"""A bound that no unit of a tame world reaches."""
_LIMITS = (
    (),
    (("max_groups", 2),),
    (("max_groups", 1),),
    (("max_rows_per_group", 2),),
    (("max_groups", 3), ("max_rows_per_group", 2)),
)


def world(random: Random, *, tame: bool = False) -> World:
    """A random world: rows as units, or people with tables one and two foreign keys away, and public tables."""
    regions = _regions(random)
    if random.random() < 0.2:
        return _of_rows(random, regions, tame=tame)
    return _of_people(random, regions, tame=tame)


def _regions(random: Random) -> tuple[Table, tuple[Table, ...], dict[str, list[Row]]]:
    names = random.sample(["north", "south", "east", "west", ""], random.choice([1, 3, 5]))
    region = Table(
        "region",
        (Column("name", "name", "VARCHAR"), Column("country", "name", "VARCHAR"), Column("size", "size", "INTEGER")),
        public=True,
        key=random.choice(["name", None]),
    )
    code = Table("code", (Column("low", "size", "INTEGER"), Column("label", "name", "VARCHAR")), public=True)
    rows: dict[str, list[Row]] = {
        "region": [(name, random.choice("XY"), random.randrange(5)) for name in names],
        "code": [(random.randrange(6), random.choice("pq")) for _ in range(random.choice([1, 3, 6]))],
    }
    return region, (region, code), rows


def _features(random: Random, least: int = 3, *, tame: bool) -> tuple[Column, ...]:
    kinds = random.sample(list(_TYPES), random.randint(least, 7))
    return tuple(column(random, kind, not_null=random.random() < 0.2, tame=tame) for kind in kinds)


def _of_rows(random: Random, regions: tuple[Table, tuple[Table, ...], dict[str, list[Row]]], *, tame: bool) -> World:
    _, public, rows = regions
    areas = [row[0] for row in rows["region"]]
    tables = []
    for name in ("event", "sale")[: random.randint(1, 2)]:
        key = Column("id", "key", "INTEGER", not_null=True)
        table = Table(name, (key, *_features(random, 4, tame=tame)), key=random.choice(["id", None]))
        rows[name] = [
            (number, *(draw(random, c, areas, tame=tame) for c in table.columns[1:]))
            for number in range(random.choice([0, 1, 12, 40]))
        ]
        tables.append(table)
    return World((*public, *tables), None, rows, tame)


def _of_people(random: Random, regions: tuple[Table, tuple[Table, ...], dict[str, list[Row]]], *, tame: bool) -> World:
    _, public, rows = regions
    areas = [row[0] for row in rows["region"]]
    keyed = random.random() < 0.6
    type_ = random.choice(["INTEGER", "BIGINT", "VARCHAR"])
    identifier: Callable[[int], object] = (lambda n: f"u{n}") if type_ == "VARCHAR" else (lambda n: n)
    person = Table(
        "person", (Column("id", "key", type_), *_features(random, 4, tame=tame)), key="id" if keyed else None
    )
    limit = random.choice([1, 2, 5, 20, 40])
    visit = _child(random, "visit", "person_id", type_, person, limit, tame=tame)
    item = _child(random, "item", "visit_id", "INTEGER", visit, random.choice([1, 3, 30]), tame=tame)
    card = _child(random, "card", "person_id", type_, person, 1, tame=tame)
    if random.random() < 0.6:
        card = replace(card, unique=("person_id",))
    people = random.choice([3, 12, 30])
    rows["person"] = [
        (identifier(n), *(draw(random, c, areas, tame=tame) for c in person.columns[1:])) for n in range(people)
    ]
    if not tame and not keyed:
        rows["person"] += [_again(random, row, person, areas) for row in rows["person"][:2]]
        rows["person"].append((None, *rows["person"][0][1:]))
    known = [identifier(n) for n in range(people)]
    rows["visit"] = _rows_of(random, visit, known, limit, areas, tame=tame)
    for number, row in enumerate(rows["visit"]):
        rows["visit"][number] = (number, *row[1:])
    if not tame and visit.key is None and len(rows["visit"]) > 3:
        rows["visit"].append((0, *rows["visit"][-1][1:]))
    visits = [number for number, _ in enumerate(rows["visit"])]
    rows["item"] = _rows_of(random, item, visits[: random.choice([5, 40, 200])], 3, areas, tame=tame)
    if "person_id" in card.unique:
        rows["card"] = [
            (n, unit, *(draw(random, c, areas, tame=tame) for c in card.columns[2:]))
            for n, unit in enumerate(random.sample(known, random.randint(1, people)))
        ]
    else:
        rows["card"] = _rows_of(random, card, known, 1, areas, tame=tame)
    return World((*public, person, visit, item, card), ("person", "id"), rows, tame)


def _again(random: Random, row: Row, table: Table, areas: Sequence[object]) -> Row:
    return (row[0], *(draw(random, c, areas, tame=False) for c in table.columns[1:]))


def _child(random: Random, name: str, link: str, type_: str, parent: Table, limit: int, *, tame: bool) -> Table:
    """A table whose rows refer to ``parent``; the database may enforce that, or nobody."""
    keyed = random.random() < 0.6
    enforced = parent.key is not None and random.random() < 0.5
    columns = (
        Column("vid", "key", "INTEGER"),
        Column(link, "link", type_, not_null=enforced and random.random() < 0.5),
        *_features(random, tame=tame),
    )
    bounds: tuple[tuple[str, int], ...] = (("max_rows", limit), *random.choice(_LIMITS))
    if tame:
        bounds = (("max_rows", WIDE),)
    return Table(
        name,
        columns,
        key="vid" if keyed else None,
        link=link,
        parent=(parent.name, parent.columns[0].name),
        enforced=enforced,
        bounds=bounds,
    )


def _rows_of(
    random: Random, table: Table, parents: Sequence[object], limit: int, areas: Sequence[object], *, tame: bool
) -> list[Row]:
    """Rows for each parent: none, one, up to and beyond the limit, 60, many of them exact duplicates."""
    numbers = [0, 1, limit] if tame else [0, 0, 1, limit, limit + 1, 60]
    found: list[Row] = []
    for place, parent in enumerate(parents):
        count = random.choice(numbers) if place < 4 or len(parents) < 15 else random.choice([0, 1, 1, min(limit, 2)])
        if not tame and place == 0:
            count = 60
        pile = None
        for _ in range(count):
            if pile is None or random.random() < (0.4 if place % 2 else 0.95):
                pile = tuple(draw(random, c, areas, tame=tame) for c in table.columns[2:])
            if place % 3 == 1 and not tame and random.random() < 0.7:
                pile = pile_of(random, table, pile)
            found.append((len(found), parent, *pile))
    if not tame and not table.enforced:
        stray = "nobody" if table.columns[1].type == "VARCHAR" else 999_999
        found += [(len(found) + n, stray, *row[2:]) for n, row in enumerate(found[:3])]
    if not tame and not table.column(table.link or "").not_null:
        found += [(len(found) + n, None, *row[2:]) for n, row in enumerate(found[:3])]
    return found


def pile_of(random: Random, table: Table, row: Row) -> Row:
    """The row with its numbers at the worse end of their range: the most that it can add."""
    worst = []
    for c, value in zip(table.columns[2:], row, strict=True):
        if c.span is not None and not isinstance(c.span[0], date):
            low, high = c.span
            value = low if abs(low) > abs(high) else high  # type: ignore[arg-type]
        worst.append(value)
    return tuple(worst)


def worst_units(random: Random, world: World, count: int) -> list[Owner]:
    """Units to remove: the heaviest ones, and some others."""
    units = world.units()
    heavy: Iterable[Owner] = sorted(units, key=lambda unit: -units[unit])[:3]
    others = random.sample(sorted(units, key=repr), min(count, len(units)))
    return list(dict.fromkeys([*heavy, *others]))[:count]
