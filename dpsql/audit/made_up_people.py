"""Made-up people in a policy's own schema: neighbours who differ by the worst person there can be.

No row of the real database is read. Types, ranges, declared values, keys and foreign keys are the policy's and the
schema's; tables that the policy declares public are copied, since no row of them is about a person.

The worst person has as many rows as the policy counts, or more, and values at the ends of their ranges, or beyond.
"""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from dpsql.engines import Schema, SchemaTable
from rewriter.declared import Catalog, Column, Kind, Scalar, Table

OTHERS = 24
"""People who are always there."""

_TARGET = OTHERS
_MOST_ROWS = 200
_UNBOUNDED = 20
_DAY = datetime.timedelta(days=1)

Row = tuple[Scalar | None, ...]
PublicRows = Mapping[str, Sequence[Row]]


class WorstPerson(StrEnum):
    """How the worst person goes to an extreme."""

    HIGH = "most rows, highest values, one group"
    LOW = "most rows, lowest values, one group"
    SPREAD = "most rows, over all groups"
    BEYOND = "three times the most rows, values out of range"


@dataclass(frozen=True, slots=True)
class MadeUpTable:
    """Rows of a table: those of the people who are always there, and those of the worst person."""

    columns: tuple[str, ...]
    others: Sequence[Row]
    worst: Sequence[Row]


MadeUp = Mapping[str, MadeUpTable]


def made_up(schema: Schema, catalog: Catalog, public: PublicRows, extreme: WorstPerson) -> MadeUp:
    """All tables of people, with parents before children. ``public`` are the rows of public tables.

    Under ``privacy_unit: row`` each row is a person, so that the worst person has one row of the first table alone.
    """
    return _Writer(schema, catalog, public, extreme).tables()


class _Writer:
    def __init__(self, schema: Schema, catalog: Catalog, public: PublicRows, extreme: WorstPerson) -> None:
        self._schema = schema
        self._catalog = catalog
        self._public = public
        self._extreme = extreme
        # The same people every time: nothing secret is made of them.
        self._random = random.Random(20)  # noqa: S311
        self._numbers = {name: itertools.count(1) for name in catalog.tables}
        self._keys: dict[tuple[str, str, int], list[Scalar | None]] = {}

    def tables(self) -> MadeUp:
        private = list(parents_first(self._schema, self._catalog))
        return {table.name: self._table(table, worst=place == 0) for place, table in enumerate(private)}

    def _table(self, table: Table, *, worst: bool) -> MadeUpTable:
        columns = shaped(self._schema, self._catalog, table)
        others = [
            self._row(table, columns, person, at)
            for person in range(OTHERS)
            for count in [1 if self._one_each(table) else min(1 + person % 3, self._most(table))]
            for at in range(count)
        ]
        if self._catalog.unit is None and not worst:
            return MadeUpTable(columns, others, ())
        many = 1 if self._one_each(table) else self._most(table)
        if self._extreme is WorstPerson.BEYOND and many > 1:
            many = 3 * many + 1
        return MadeUpTable(columns, others, [self._row(table, columns, _TARGET, at) for at in range(many)])

    def _one_each(self, table: Table) -> bool:
        """Whether a person has one row in it: the people's table, where its key is one, and any under ``row``."""
        if self._catalog.unit is None:
            return True
        return table.name == self._catalog.unit[0] and self._is_key(table, self._catalog.unit[1])

    def _most(self, table: Table) -> int:
        return min(table.max_rows or _UNBOUNDED, _MOST_ROWS)

    def _is_key(self, table: Table, column: str) -> bool:
        declared = table.columns.get(column)
        unique = declared is not None and declared.unique
        return unique or self._schema.tables[table.name].is_unique(column) or frozenset({column}) in table.claimed

    def _row(self, table: Table, columns: Sequence[str], person: int, at: int) -> Row:
        number = next(self._numbers[table.name])
        row = tuple(self._value(table, name, person, at, number) for name in columns)
        for name, value in zip(columns, row, strict=True):
            self._keys.setdefault((table.name, name, person), []).append(value)
        return row

    # Values

    def _value(self, table: Table, name: str, person: int, at: int, number: int) -> Scalar | None:
        schema = self._schema.tables[table.name]
        column = table.columns.get(name) or Column(name, schema.readable(name)[1])
        if (parent := self._parent(table, name)) is not None:
            # All columns of a key of several are those of one row of the parent's.
            kept = self._keys.get((*parent, person)) or [None]
            return kept[at % len(kept)]
        if self._catalog.unit == (table.name, name):
            return _spelt(person + 1, column)
        if self._is_key(table, name):
            return _spelt(number, column)
        if (listed := self._listed(schema, name, person)) is not None:
            return listed
        for key in (*schema.composite_keys, *schema.unique, schema.primary_key, *table.keys, *table.claimed):
            if name in key and len(key) > 1:
                return _nth(column, number if name == self._counter(table, key) else at)
        return self._other(column, at) if person == _TARGET else self._usual(column)

    def _parent(self, table: Table, name: str) -> tuple[str, str] | None:
        """The key that a column refers to, of a table of people that is written already."""
        for hop in (*table.path[:1], *table.ways):
            for ours, theirs in hop.pairs:
                if ours == name:
                    return hop.parent, theirs
        for key in self._schema.tables[table.name].references:
            if name in key.columns and any(one[0] == key.parent for one in self._keys) and key.parent != table.name:
                return key.parent, key.parent_columns[key.columns.index(name)]
        return None

    def _counter(self, table: Table, key: Collection[str]) -> str | None:
        """The column of a key that tells rows of different people apart, where no column of it is the person's."""
        if any(self._parent(table, name) is not None or (table.name, name) == self._catalog.unit for name in key):
            return None
        free = [name for name in sorted(key) if not self._domain(table.columns.get(name))]
        return (free or sorted(key))[-1]

    def _listed(self, schema: SchemaTable, name: str, person: int) -> Scalar | None:
        """A value of the public table that a column refers to. The others are drawn alike in all worlds."""
        for key in schema.references:
            if key.columns == (name,) and key.parent in self._public:
                rows = self._public[key.parent]
                places = shaped(self._schema, self._catalog, self._catalog.tables[key.parent])
                if rows and key.parent_columns[0] in places:
                    row = rows[0] if person == _TARGET else self._random.choice(rows)
                    return row[places.index(key.parent_columns[0])]
        return None

    def _domain(self, column: Column | None) -> Sequence[Scalar]:
        """The declared values, NULL apart."""
        if column is None:
            return ()
        listed: Sequence[Scalar | None] = column.values or ()
        if column.values_from is not None:
            table, name = column.values_from
            place = shaped(self._schema, self._catalog, self._catalog.tables[table]).index(name)
            listed = [row[place] for row in self._public.get(table, ())]
        return [value for value in listed if value is not None]

    def _usual(self, column: Column) -> Scalar:
        """Somebody else's value: any that is declared."""
        if domain := self._domain(column):
            return self._random.choice(domain)
        if column.type.kind is Kind.BOOLEAN:
            return self._random.random() < 0.5
        if column.range is None or column.type.kind is Kind.TEXT:
            return _spelt(self._random.randrange(3), column)
        low, high = column.range
        return _between(low, high, self._random.random(), column)

    def _other(self, column: Column, at: int) -> Scalar:
        """The worst person's value."""
        spread = self._extreme is WorstPerson.SPREAD
        if domain := self._domain(column):
            return domain[at % len(domain)] if spread else domain[0]
        if column.type.kind is Kind.BOOLEAN:
            return not (spread and at % 2)
        if column.range is None or column.type.kind is Kind.TEXT:
            return _spelt(9_000 + (at if spread else 0), column)
        low, high = column.range
        if self._extreme is WorstPerson.BEYOND:
            return _beyond(column, at)
        if spread:
            # Numbers at their largest magnitude, times over all of the range.
            return _between(low, high, (at % 29) / 28, column) if column.type.temporal else (high, low)[at % 2]
        return low if self._extreme is WorstPerson.LOW else high


def parents_first(schema: Schema, catalog: Catalog) -> Iterator[Table]:
    """The tables of people, each behind those that its rows refer to, as far as they do not go round in a circle."""
    waiting = {table.name: table for table in catalog.tables.values() if not table.public}
    while waiting:
        ready = [table for table in waiting.values() if not _parents(schema, table) & (set(waiting) - {table.name})]
        for table in ready or [min(waiting.values(), key=lambda table: len(table.path))]:
            yield waiting.pop(table.name)


def _parents(schema: Schema, table: Table) -> set[str]:
    referred = {key.parent for key in schema.tables[table.name].references}
    return referred | {hop.parent for hop in (*table.path[:1], *table.ways)}


def shaped(schema: Schema, catalog: Catalog, table: Table) -> tuple[str, ...]:
    """The columns that a made-up table has: those declared, and those of keys that it is read or joined by."""
    known = schema.tables[table.name]
    wanted = set(table.columns) | {name for hop in (*table.path[:1], *table.ways) for name in hop.columns}
    for key in (known.primary_key, *known.unique, *known.composite_keys, *table.keys, *table.claimed):
        wanted |= set(key)
    wanted |= {name for key in known.references for name in key.columns}
    hops = (hop for other in catalog.tables.values() for hop in (*other.path, *other.ways))
    wanted |= {name for hop in hops if hop.parent == table.name for name in hop.parent_columns}
    return tuple(name for name, column in known.columns.items() if name in wanted and column.type is not None)


def _spelt(number: int, column: Column) -> Scalar:
    """A number as a value of a column's type.

    >>> from rewriter.declared import DATE, TEXT
    >>> _spelt(3, Column("x", TEXT)), _spelt(3, Column("x", DATE))
    ('v3', datetime.date(2001, 1, 4))
    """
    kind = column.type.kind
    if column.type.nested:
        return "{}" if column.type.document else []  # type: ignore[return-value]
    if kind is Kind.TEXT:
        return f"v{number}"
    if kind is Kind.BOOLEAN:
        return bool(number % 2)
    if kind is Kind.DATE:
        return datetime.date(2001, 1, 1) + number * _DAY
    if kind is Kind.TIME:
        return datetime.time(number % 24, number // 24 % 60)
    if column.type.temporal:
        return datetime.datetime(2001, 1, 1) + number * _DAY
    if kind is Kind.DECIMAL:
        return Decimal(number % 10 ** (column.type.precision - column.type.scale))
    return float(number) if kind is Kind.DOUBLE else number


def _nth(column: Column, at: int) -> Scalar:
    """One of different values, for a key: the declared ones first."""
    listed = [value for value in column.values or () if value is not None]
    if at < len(listed):
        return listed[at]
    if column.range is None or not isinstance(column.range[0], int | datetime.date):
        return _spelt(at, column)
    low = column.range[0]
    return low + at * _DAY if isinstance(low, datetime.date) else int(low) + at


def _between(low: Scalar, high: Scalar, part: float, column: Column) -> Scalar:
    if isinstance(low, datetime.date) and isinstance(high, datetime.date):
        return low + (high - low) * part
    found = float(low) + (float(high) - float(low)) * part  # type: ignore[arg-type]
    if column.type.kind is Kind.INTEGER:
        return int(found)
    return Decimal(str(round(found, column.type.scale))) if column.type.kind is Kind.DECIMAL else found


def _beyond(column: Column, at: int) -> Scalar:
    """Values that no range holds, NaN and infinities among them."""
    if column.type.kind is Kind.INTEGER:
        return column.type.limits[0 if at % 4 == 3 else 1] if column.type.bits < 128 else 2**100
    if column.type.kind is Kind.DECIMAL:
        return Decimal(10 ** (column.type.precision - column.type.scale) - 1)
    if column.type.temporal:
        assert column.range is not None  # noqa: S101
        end = column.range[1]
        return end + 4_000 * _DAY if isinstance(end, datetime.date) and end.year < 9_000 else end
    return (1e300, float("inf"), 1e300, float("nan"), float("-inf"))[at % 5]
