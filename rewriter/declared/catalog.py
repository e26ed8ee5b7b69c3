"""What the owner's policy and the database's schema declare: the only facts the rewriter knows.

Everything here is public: names, types, constraints and bounds, never a private row.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from rewriter.declared.earlier_answer import EarlierAnswer
from rewriter.declared.interval import Interval, measure
from rewriter.declared.moving_ends import Grain, end_at
from rewriter.declared.randomization import Randomization
from rewriter.declared.spans import Spans
from rewriter.declared.types import Scalar, Type
from rewriter.declared.undeclared import Learned

DEFAULT_SCHEMAS = frozenset({"public", "main"})
"""What the schema is called whose tables are named without it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that analysts may name.

    ``values`` is the finite domain the owner declared (``None`` in it admits NULL as a group),
    ``values_from`` a column of a public table that lists the domain, ``range`` the closed range
    that values are clipped into. ``nullable`` is False only where the *database* declares NOT NULL;
    ``unique`` is True only where no two rows share a value whatever happens: the database keeps it so, or it was seen
    to be so in rows that cannot change, or the bounded SQL reads one row of each value.
    ``engine_type`` is the engine's own spelling of the type, for reading columns of unusual types.
    ``learned`` stands for a range that was not declared: values are clipped into it, and it lists no groups.
    ``closed`` is True only where the *database* lets no row have another value than those listed, NULL apart.
    ``max_distinct`` is how many different values one person is credited with where distinct values are counted.
    ``max_total`` is the most that the magnitudes of one person's values add up to; who has more is scaled down to it.
    ``step`` is the distance of neighbouring values, the first of which is the low end of ``range``; it divides the
    range. Whether values lie there is the owner's word: a value between two of them is read as the one below.
    ``max_items`` is the most items of a list in it: people are clipped to so many rows where items are made rows.
    ``learns_total``: the owner leaves ``max_total`` to be learned, where it is not declared.
    ``grain``: literal instants that are compared with it are moved outward to such steps. ``ahead``: the range's end
    follows the clock, so many days after the present; it is what :meth:`Catalog.at` says, and the low end before.
    ``randomized``: rows hold reports of people's values, by this law, and no values.
    ``seen`` is where the values of a column of a public table lay when it was opened: what is computed of them for
    people is clipped there, and it lists no groups.
    """

    name: str
    type: Type
    nullable: bool = True
    unique: bool = False
    values: tuple[Scalar | None, ...] | None = None
    values_from: tuple[str, str] | None = None
    range: tuple[Scalar, Scalar] | None = None
    engine_type: str = ""
    learned: Interval | None = None
    max_distinct: int | None = None
    max_total: Fraction | None = None
    step: Fraction | None = None
    closed: bool = False
    learns_total: bool = False
    grain: Grain | None = None
    ahead: Fraction | None = None
    randomized: Randomization | None = None
    max_items: int | None = None
    seen: Interval | None = None

    def __post_init__(self) -> None:
        for name, number in (("max_total", self.max_total), ("step", self.step)):
            if number is not None and number <= 0:
                raise ValueError(f"{name} of {self.name} is not above 0")

    def at(self, present: datetime.datetime, zone: str) -> Column:
        """The column at an instant, where its range follows the clock: by the clocks of a zone, a whole day."""
        if self.range is None or self.ahead is None:
            return self
        low = self.range[0]
        end = end_at(self.type, low, self.ahead, self.grain or Grain(86_400, zone), present)
        return replace(self, range=(low, end))

    @property
    def moving_end(self) -> str:
        """The end of a range that follows the clock, in words.

        >>> from rewriter.declared.types import DATE
        >>> Column("day", DATE, ahead=Fraction(0)).moving_end, Column("day", DATE, ahead=Fraction(-1, 4)).moving_end
        ('now', 'now - 6 hours')
        """
        many = abs(self.ahead or Fraction(0))
        if not many:
            return "now"
        unit, number = ("day", many) if many.denominator == 1 else ("hour", many * 24)
        if number.denominator != 1:
            unit, number = "minute", many * 1440
        sign = "-" if (self.ahead or 0) < 0 else "+"
        return f"now {sign} {number} {unit}{'' if number == 1 else 's'}"

    @property
    def interval(self) -> Interval | None:
        """The range of a number or date: ``range``, else the hull of ``values``, else what was learned, or seen."""
        if self.range is not None:
            return Interval.of(*self.range)
        if self.values is not None and (self.type.numeric or self.type.temporal):
            declared = [value for value in self.values if value is not None]
            hull: Interval | None = None
            for value in declared:
                point = Interval.of(value, value)
                hull = point if hull is None else hull.hull(point)
            return hull
        return self.learned or self.seen


@dataclass(frozen=True, slots=True)
class When:
    """The rows on which a column has one value.

    >>> str(When("kind", "it's")), str(When("kind", 7))
    ("kind = 'it''s'", 'kind = 7')
    """

    column: str
    value: str | int

    def __str__(self) -> str:
        return f"{self.column} = {self.literal}"

    @property
    def literal(self) -> str:
        """The value in SQL."""
        return str(self.value) if isinstance(self.value, int) else "'{}'".format(self.value.replace("'", "''"))


@dataclass(frozen=True, slots=True)
class Hop:
    """One declared foreign key: ``column`` refers to ``parent.parent_column``.

    ``enforced`` is True only where the database itself declares the foreign key, so that no value dangles. ``also`` are
    the other columns of a key of several, each with the parent's that it refers to. ``when``: it refers there on these
    rows alone.
    """

    column: str
    parent: str
    parent_column: str
    enforced: bool = False
    also: tuple[tuple[str, str], ...] = ()
    when: When | None = None

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All columns, each with the parent's that it refers to."""
        return ((self.column, self.parent_column), *self.also)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(ours for ours, _ in self.pairs)

    @property
    def parent_columns(self) -> tuple[str, ...]:
        return tuple(theirs for _, theirs in self.pairs)

    def __str__(self) -> str:
        if not self.also:
            condition = "" if self.when is None else f" when {self.when}"
            return f"{self.column} -> {self.parent}.{self.parent_column}{condition}"
        return f"({', '.join(self.columns)}) -> {self.parent}({', '.join(self.parent_columns)})"


@dataclass(frozen=True, slots=True, order=True)
class OwnerKey:
    """A key of which each value belongs to one person: ``column`` of ``table``, where it is found. With ``null``, rows
    without it are one person's as well.
    """

    table: str
    column: str
    null: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table that analysts may name.

    ``path`` leads from this table to the entity table, one hop per foreign key; it is empty for the
    entity table itself, for public tables, and under ``privacy_unit: row``. ``max_rows`` bounds the rows of one unit,
    ``max_groups`` and ``max_rows_per_group`` its groups and its rows in one group, for any grouping
    whose keys vary within a unit. ``rows`` is the row count of a *public* table, None for a private one; of one that
    ``grows``, as many as are planned for: there may come to be more.
    ``keys`` are the columns, more than one, that no two rows share all values of, as surely as ``unique`` says of one.
    ``claimed`` are keys by the owner's word alone: they say where people are clipped, and nothing has to be true of
    them. ``one_row_of`` are keys of a public table, in columns, of which the bounded SQL reads one row each, since
    rows may be added.
    ``spans`` are those that ``max_rows`` is the bound of all of together, with the same bound in each of them.
    ``primary_key`` and ``view``: what the database calls so, for those who ask what there is, and which columns a
    statement need not group by; no bound rests on them.
    ``closes``: the owner says when the rows of a period of the spans' column no longer change.
    ``schema`` is the engine's schema of the table where it is not the default one. ``learned_rows`` stands for a
    ``max_rows`` that was not declared.
    ``ways`` are the first steps of other ways to the person of a row, beside that of ``path``. Privacy does not rest on
    them: where rows are tied by one, the bounded SQL compares the owners themselves. ``repeats_unit`` is the column of
    one that repeats the key of the person, where a statement reads it: a row on which it does not is nobody's.
    ``ways_when`` are such ways of the rows on which a condition holds. They are the owner's word: the owners of rows
    that are joined by one are always compared.
    """

    name: str
    columns: Mapping[str, Column]
    public: bool = False
    path: tuple[Hop, ...] = ()
    max_rows: int | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    rows: int | None = None
    schema: str | None = None
    learned_rows: int | None = None
    keys: tuple[frozenset[str], ...] = ()
    claimed: tuple[frozenset[str], ...] = ()
    one_row_of: tuple[tuple[str, ...], ...] = ()
    spans: Spans | None = None
    ways: tuple[Hop, ...] = ()
    repeats_unit: str | None = None
    ways_when: tuple[Hop, ...] = ()
    closes: bool = False
    primary_key: tuple[str, ...] = ()
    view: bool = False
    grows: bool = False

    def __post_init__(self) -> None:
        if self.one_row_of and not self.public:
            raise ValueError(f"{self.name} holds people, and whose row is read must not depend on others")

    @property
    def own_name(self) -> str:
        """What it is called in its schema.

        >>> Table("analytics.orders", {}, schema="analytics").own_name, Table("a.b", {}).own_name
        ('orders', 'a.b')
        """
        return self.called(self.name)

    def called(self, name: str) -> str:
        """A table's name in the schema of this one."""
        return name if self.schema is None else name.removeprefix(f"{self.schema}.")

    def stands_in(self, schema: str) -> bool:
        """Whether this is what its schema is called."""
        return schema.lower() in (DEFAULT_SCHEMAS if self.schema is None else (self.schema.lower(),))

    @property
    def moves(self) -> bool:
        """Whether a range of it follows the clock."""
        return any(column.ahead is not None for column in self.columns.values())

    def at(self, present: datetime.datetime, zone: str) -> Table:
        """The table at an instant: ranges end there, and so do the spans that bound a person's rows."""
        if not self.moves:
            return self
        columns = {name: column.at(present, zone) for name, column in self.columns.items()}
        spans, rows = self.spans, self.max_rows
        ends = None if spans is None else columns[spans.column].range
        if spans is not None and ends is not None and rows is not None:
            each = Fraction(rows) / spans.count
            spans = replace(spans, high=measure(ends[1]))
            rows = math.ceil(each * spans.count)
        return replace(self, columns=columns, spans=spans, max_rows=rows)


def made_up_name(table: str) -> str:
    """The name under which made-up rows of a table are kept."""
    return f"made-up rows of {table}"


@dataclass(frozen=True, slots=True)
class Catalog:
    """All tables, by name, and the privacy unit: ``(table, key column)``, or None when each row is a unit.

    Lookups follow PostgreSQL: an unquoted name matches in any case, a quoted one as it is spelt.
    ``declared_extremes``: MIN and MAX of a column over people are the ends of its declared range.
    ``previews``: a SELECT of rows of people that LIMIT ends has its columns, and no row.
    ``rows``: an answer shows so many declared groups, whoever is in them.
    ``answers`` are not declared but released: what queries said that a statement asks first, by their text.
    ``made_up``: tables whose previews show made-up rows, each with a sentence about these.
    """

    tables: Mapping[str, Table]
    unit: tuple[str, str] | None
    declared_extremes: bool = False
    previews: bool = True
    rows: int = 10_000
    answers: Mapping[str, EarlierAnswer] = field(default_factory=dict)
    made_up: Mapping[str, str] = field(default_factory=dict)
    _folded: Mapping[str, Table] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        folded = {name.lower(): table for name, table in self.tables.items()}
        if len(folded) != len(self.tables):
            raise ValueError("two tables differ only by the case of their names")
        object.__setattr__(self, "_folded", folded)

    def find(self, name: str, quoted: bool = False, schema: str = "") -> Table | None:
        """A table by its name, in a schema where one is given. Without one the default schema comes first, then the
        only other table of that name."""
        if not schema:
            found = self.tables.get(name) if quoted else self._folded.get(name.lower())
            if found is not None:
                return found
        alike = [
            table
            for key, table in self.tables.items()
            if (table.called(key) == name if quoted else table.called(key).lower() == name.lower())
            and (table.stands_in(schema) if schema else table.schema is not None)
        ]
        return alike[0] if len(alike) == 1 else None

    @property
    def standing_in(self) -> Catalog:
        """The same names, of which those in ``made_up`` are public tables of made-up rows. These rest under names of
        their own, so that no statement reads them by mistake. Nothing is known of them but the types of columns."""
        tables = dict(self.tables)
        for name in self.made_up:
            columns = {column.name: Column(column.name, column.type) for column in tables[name].columns.values()}
            schema = tables[name].schema
            tables[name] = Table(made_up_name(name), columns, public=True, rows=0, schema=schema)
        return replace(self, tables=tables, made_up={})

    @property
    def schemas(self) -> frozenset[str]:
        """Those that tables stand in, in lower case."""
        return DEFAULT_SCHEMAS | {table.schema.lower() for table in self.tables.values() if table.schema is not None}

    def at(self, present: Callable[[str], datetime.datetime], zone: str) -> Catalog:
        """What is declared at an instant, in UTC, that may be another one for each table; by the clocks of a zone."""
        if not any(table.moves for table in self.tables.values()):
            return self
        return replace(self, tables={name: table.at(present(name), zone) for name, table in self.tables.items()})

    def ends_of(self, tables: Container[str]) -> tuple[tuple[str, str, Scalar], ...]:
        """Where the ranges of tables end that follow the clock."""
        return tuple(
            (table.name, column.name, column.range[1])
            for table in self.tables.values()
            if table.name in tables
            for column in table.columns.values()
            if column.ahead is not None and column.range is not None
        )

    @property
    def keys_of_people(self) -> frozenset[str]:
        """The names, in lower case, of columns that may hold a key of a person."""
        found = {self.unit[1].lower()} if self.unit is not None else set()
        for table in self.tables.values():
            if not table.public:
                found |= {name.lower() for hop in table.path[:1] for name in hop.columns}
                found |= {way.column.lower() for way in (*table.ways, *table.ways_when)}
                found |= {column.name.lower() for column in table.columns.values() if column.unique}
        return frozenset(found)

    def is_entity(self, table: Table) -> bool:
        return self.unit is not None and self.unit[0] == table.name

    def reading(self, names: Container[str]) -> Catalog:
        """The catalog for a statement that reads columns of these ``names``, in lower case: a table whose path leads
        through others repeats the key of its person in a column that is read."""
        tables = dict(self.tables)
        for table in self.tables.values():
            if len(table.path) < 2:
                continue
            end = (table.path[-1].parent, table.path[-1].parent_column)
            again = (way.column for way in table.ways if not way.also and (way.parent, way.parent_column) == end)
            found = next((column for column in again if column.lower() in names), None)
            if found is not None:
                tables[table.name] = replace(table, repeats_unit=found)
        return replace(self, tables=tables)

    def with_answer(self, text: str, answer: EarlierAnswer) -> Catalog:
        """The catalog for a statement that knows what a query of it released."""
        return replace(self, answers={**self.answers, text: answer})

    def with_learned(self, learned: Iterable[Learned]) -> Catalog:
        """The catalog with bounds that were learned where none is declared. What is declared stays as it is."""
        tables = dict(self.tables)
        for one in learned:
            table = tables[one.missing.table]
            if not one.missing.column:
                tables[table.name] = replace(table, learned_rows=int(one.high))
                continue
            column = table.columns[one.missing.column]
            if one.missing.total:
                column = replace(column, max_total=one.high)
            else:
                column = replace(column, learned=Interval(one.low, one.high))
            tables[table.name] = replace(table, columns={**table.columns, column.name: column})
        return replace(self, tables=tables)
