"""A world: a schema, a policy over it, and rows that may break what the policy declares.

A *wild* world holds what real tables hold and no generator draws by itself: units with 0, 1, limit, limit + 1 and 60
rows, exact duplicates, values at and beyond the declared ranges, NaN, infinities, dates at the end of time, NULL and
dangling units. A *tame* world keeps to what its policy declares, so that answers can be compared with the engine's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import duckdb
import pyarrow as pa

from dpsql.engines.duckdb.duckdb_types import column_type
from dpsql.engines.schema import ForeignKey, Look, Profile, Schema, SchemaColumn, SchemaTable
from dpsql.policy.declared_catalog import catalog, fit
from dpsql.policy.policy import Policy
from dpsql.policy.unique_keys import Claim
from rewriter.declared.catalog import Catalog
from tests.properties.columns import Column

Row = tuple[object, ...]
Rows = Mapping[str, Sequence[Row]]
Owner = tuple[str, object]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``parent`` is the table and column that its first column but one refers to, on the way to the unit.

    ``claims`` are keys by the word of the policy."""

    name: str
    columns: tuple[Column, ...]
    public: bool = False
    key: str | None = None
    unique: tuple[str, ...] = ()
    link: str | None = None
    parent: tuple[str, str] | None = None
    enforced: bool = False
    bounds: tuple[tuple[str, int], ...] = ()
    claims: tuple[tuple[str, ...], ...] = ()

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def position(self, name: str) -> int:
        return [column.name for column in self.columns].index(name)

    def ddl(self, spell: Callable[[str], str] = str) -> str:
        """CREATE TABLE; ``spell`` translates a type of DuckDB's."""
        parts = [
            f'"{column.name}" {spell(column.type)}'
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
    """Tables in the order in which they can be filled, and their rows. ``entity`` is None where each row is a unit.

    Where rows are not ``lasting``, keys that the policy claims held when it was opened, and need not hold any more."""

    tables: tuple[Table, ...]
    entity: tuple[str, str] | None
    rows: Rows = field(repr=False)
    tame: bool = False
    lasting: bool = True

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    @property
    def private(self) -> tuple[Table, ...]:
        return tuple(table for table in self.tables if not table.public)

    def policy(self, accounting: str = "zcdp", folder: str = "", database: str = "") -> str:
        """The policy file; ``database`` is where the rows are, if not in a DuckDB beside it."""
        delta = "" if accounting == "pure" else ", delta: 1e-3"
        unit = "row" if self.entity is None else ".".join(self.entity)
        lines = [
            f"database: {database or f'duckdb:{folder}world.duckdb'}",
            f"ledger: sqlite:{folder}world.ledger",
            f"privacy_unit: {unit}",
            f"budget: {{epsilon: 1e6{delta}, accounting: {accounting}}}",
            "statement: {epsilon: 100, max_epsilon: 1000}",
            "tables:",
        ]
        for table in self.tables:
            lines.append(f"  {table.name}:")
            if table.claims:
                lines.append(f"    key: [{', '.join('[' + ', '.join(key) + ']' for key in table.claims)}]")
            if table.public:
                lines.append("    public: true")
                continue
            if table.parent is not None:
                lines.append(f"    unit: {table.link} -> {table.parent[0]}.{table.parent[1]}")
            lines += [f"    {name}: {value}" for name, value in table.bounds]
            # In tame worlds nothing is clipped, and where a row is a unit it has no total.
            totals = not self.tame and table.parent is not None
            lines.append("    columns:")
            for column in table.columns:
                lines.append(f"      {column.name}: {column.policy(column.total(table.name) if totals else None)}")
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

    def catalog(self, accounting: str = "zcdp", schema: Schema | None = None) -> Catalog:
        """What the rewriter is told, from a database's own ``schema`` if one is given."""
        policy = Policy.parse(self.policy(accounting))
        return catalog(policy, schema or self.schema, self.profiles, self.looks(policy, schema or self.schema))

    def looks(self, policy: Policy, schema: Schema) -> Mapping[Claim, Look]:
        """What was seen of the keys that no constraint enforces."""
        return {claim: self._look(claim) for claim in fit(policy, schema).claims if self.lasting or not claim.lasting}

    def _look(self, claim: Claim) -> Look:
        if not self.lasting:
            return Look(repeats=False, nulls=False, lasting=False)
        places = [self.table(claim.table).position(name) for name in claim.columns]
        values = [tuple(row[place] for place in places) for row in self.rows[claim.table]]
        complete = [value for value in values if None not in value]
        return Look(len(set(complete)) < len(complete), len(complete) < len(values), lasting=True)

    def holds(self, table: str, key: Sequence[str]) -> bool:
        """Whether columns are a key of the rows that there are, as the engine reads them."""
        places = [self.table(table).position(name) for name in key]
        values = [tuple(row[place] for place in places) for row in self.rows[table]]
        return _distinct([None if None in value else value for value in values])

    def owners(self) -> Mapping[str, Sequence[frozenset[Owner]]]:
        """For each row of each private table the units that it belongs to; two where two parents share a key."""
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


def _unit(value: object) -> frozenset[Owner]:
    return frozenset() if value is None else frozenset({("", value)})


def spelt(value: object) -> str | None:
    """A value as a text that DuckDB casts to it."""
    if value is None or isinstance(value, str):
        return value
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def _distinct(values: Sequence[object]) -> bool:
    return len(set(values)) == len(values) and None not in values


def _schema_of(table: Table) -> SchemaTable:
    columns = {
        column.name: SchemaColumn(
            column.name, column.type, column_type(column.type), column.not_null or column.name == table.key
        )
        for column in table.columns
    }
    keys = ()
    if table.enforced and table.parent is not None:
        keys = (ForeignKey((table.link or "",), table.parent[0], (table.parent[1],)),)
    primary = (table.key,) if table.key else ()
    return SchemaTable(table.name, columns, primary, tuple((name,) for name in table.unique), keys)
