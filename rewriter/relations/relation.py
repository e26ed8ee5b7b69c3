"""A relation: rows that are each owned by one unit, checked expression by checked expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.columns import BEHIND, Computed, Origin, Source, Variable, as_column, range_of, variable_behind
from rewriter.declared import DOUBLE, Column, ContributionBound, Kind, OwnerKey, Table, Type, decimal
from rewriter.dialects import Dialect, Fact
from rewriter.expressions import DOMAIN, ConditionalKey, Value, Values, common_decimals, text_size
from rewriter.refused import TYPE_MISMATCH, Refused
from rewriter.relations.lacking_bounds import range_lacks
from rewriter.relations.shared_rows import of_people

UNIT = "u"
"""The column of a private subquery that holds the unit."""


MADE: Fact[bool] = Fact("made of a list")
"""Of a column that makes a row for each item of a list: it is computed where it stands, and nowhere else."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of people (or of public tables, when ``unit`` is None), with the columns that were asked of them.

    ``rows`` is a SELECT of our own without a select list: FROM, joins, WHERE, GROUP BY. ``columns`` are the output
    names with their values over it, ``unit`` the expression of the owner. ``filters`` hold on every row. ``numbered``
    are the places of columns that give each row of one unit another number. ``unique`` are places of columns that no
    two rows of one unit share all values of. ``said``: its rows are groups of which a statement says whose they are.
    """

    columns: tuple[tuple[str, Value], ...]
    rows: exp.Select
    unit: exp.Expr | None
    bound: ContributionBound
    filters: tuple[Value, ...] = ()
    numbered: frozenset[int] = frozenset()
    unique: tuple[frozenset[int], ...] = ()
    said: str = ""

    def select(self) -> exp.Select:
        """The relation as a subquery: columns ``c0``, ``c1``, … and the unit ``u``. May be called once."""
        expressions: list[exp.Expr] = [
            exp.alias_(value.sql.copy(), f"c{index}", copy=False) for index, (_, value) in enumerate(self.columns)
        ]
        if self.unit is not None:
            expressions.append(exp.alias_(self.unit.copy(), UNIT, copy=False))
        # What is below is shared, since trees are not changed: a copy at each level would be one of all levels below.
        return exp.Select(**{**self.rows.args, "expressions": expressions})

    def source(self, name: str, alias: str, names: Sequence[str] = ()) -> Source:
        """The relation in a FROM clause; ``names`` rename its columns. A name that occurs twice names nothing."""
        if len(names) > len(self.columns):
            raise Refused(f"{name} has only {len(self.columns)} columns", hint="name fewer", sqlstate="42P10")
        renamed = [*names, *(column for column, _ in self.columns[len(names) :])]
        fields: dict[str, Value] = {}
        for index, (_, value) in enumerate(self.columns):
            if renamed.count(renamed[index]) == 1:
                outer = _outside(value, exp.column(f"c{index}", alias))
                fields[renamed[index]] = replace(outer, ways_when=self._ways_when(value, alias))
        return Source(
            name=name,
            alias=alias,
            item=exp.Subquery(this=self.select(), alias=exp.TableAlias(this=exp.to_identifier(alias))),
            fields=fields,
            private=self.unit is not None,
            bound=self.bound.inside(alias),
            unit=None if self.unit is None else exp.column(UNIT, alias),
            filters=outside(self.filters, alias),
            numbered=frozenset(renamed[place] for place in self.numbered) & fields.keys(),
            said=self.said,
            unique_keys=tuple(
                frozenset(renamed[place] for place in key)
                for key in self.unique
                if all(renamed[place] in fields for place in key)
            ),
        )

    def _ways_when(self, value: Value, alias: str) -> tuple[ConditionalKey, ...]:
        """The conditional ways of a column whose conditions read another column that is kept beside it."""
        places = {one.sql.sql(): place for place, (_, one) in enumerate(self.columns)} if value.ways_when else {}
        return tuple(
            replace(way, column=exp.column(f"c{places[way.column]}", alias).sql())
            for way in value.ways_when
            if way.column in places
        )


def outside(filters: Sequence[Value], alias: str) -> tuple[Value, ...]:
    """Conditions that hold inside of a subquery, as columns of it: what narrows a key set there narrows it here."""
    return tuple(_outside(condition, exp.column("filter", alias)) for condition in filters)


def _outside(value: Value, column: exp.Column) -> Value:
    """The value as the column of a subquery; what is behind it is kept for the enumeration of keys."""
    if MADE.of(value.sql):
        return as_column(value, column, Computed(frozenset()))
    domain = value.domain or DOMAIN.of(value.sql)
    return replace(as_column(value, column, Origin(value.sql)), domain=domain)


def renamed(relation: Relation, names: list[str]) -> Relation:
    """The relation under the names that WITH gives to its first columns."""
    if len(names) > len(relation.columns):
        raise Refused("WITH names more columns than there are", hint="name fewer", sqlstate="42P10")
    columns = [
        (names[index] if index < len(names) else name, value) for index, (name, value) in enumerate(relation.columns)
    ]
    return replace(relation, columns=tuple(columns))


def union_all(one: Relation, other: Relation, alias: str, dialect: Dialect) -> Relation:
    """The rows of both: each is still owned by its one unit."""
    return _combined(exp.Union, one, other, alias, dialect)


def kept_of(kind: type[exp.SetOperation], one: Relation, other: Relation, alias: str, dialect: Dialect) -> Relation:
    """INTERSECT and EXCEPT of rows of people: the rows of one, once each, that another has, or has not.

    A column holds a key of the person on both sides, so that equal rows are of one unit: what others have changes
    nothing of a unit's rows, and comparing the units as well changes nothing of the meaning. A unit has no more rows
    than it has on the left. Raises :class:`Refused` where no column tells people apart.
    """
    found = _combined(kind, one, other, alias, dialect, distinct=True)
    if not any(value.identifies for _, value in found.columns):
        raise Refused(
            f"{kind.__name__.upper()} compares rows of people with each other",
            hint="select the key of the person on both sides, or SELECT DISTINCT on each side to compare groups",
        )
    return replace(found, bound=replace(one.bound, apart=()))


def _combined(
    kind: type[exp.SetOperation],
    one: Relation,
    other: Relation,
    alias: str,
    dialect: Dialect,
    *,
    distinct: bool = False,
) -> Relation:
    word = "UNION ALL" if not distinct else kind.__name__.upper()
    for side in (one, other):
        of_people(side.bound, word)
    if len(one.columns) != len(other.columns):
        raise Refused(f"each side of {word} must have as many columns", hint="align the columns", sqlstate="42601")
    if (one.unit is None) != (other.unit is None):
        raise Refused(f"{word} mixes rows of people with public rows", hint="aggregate each side first")
    if distinct and any(value.type.nested for _, value in (*one.columns, *other.columns)):
        raise Refused(f"{word} compares documents or lists", hint="select the parts of them that are compared")
    types = [_common(a.type, b.type) for (_, a), (_, b) in zip(one.columns, other.columns, strict=True)]
    sides = [_cast(side, types, dialect).select() for side in (one, other)]
    both = kind(this=sides[0], expression=sides[1], distinct=distinct)
    columns = []
    if any(value.randomized for side in (one, other) for _, value in side.columns):
        hint = "aggregate each side, and add the numbers up"
        raise Refused(f"{word} over a column that people randomized is not answered", hint=hint)
    for index, ((name, a), (_, b)) in enumerate(zip(one.columns, other.columns, strict=True)):
        interval = a.interval.hull(b.interval) if a.interval is not None and b.interval is not None else None
        alike = types[index] == a.type == b.type
        declared = _in_a_range(alias, name, a, b) if alike else None
        lacks = range_lacks(a.sql) | range_lacks(b.sql)
        column = BEHIND.on(exp.column(f"c{index}", alias), Computed(lacks) if declared is None else declared)
        keys = a.keys & b.keys if alike else frozenset[OwnerKey]()
        either = (a.keys | a.ways) & (b.keys | b.ways) if alike else frozenset[OwnerKey]()
        columns.append(
            (
                name,
                Value(
                    sql=column,
                    type=types[index],
                    interval=interval,
                    nullable=a.nullable or b.nullable,
                    constant=False,
                    unit=a.unit and b.unit,
                    keys=keys,
                    ways=either - keys,
                    domain=_listed(a, b),
                    halves_away=types[index] == DOUBLE and all(x.halves_away or x.type != DOUBLE for x in (a, b)),
                    real=a.real and b.real,
                    decimals=common_decimals(types[index], (a, b)),
                    size=text_size(types[index], a, b),
                ),
            )
        )
    rows = exp.Select().from_(exp.Subquery(this=both, alias=exp.TableAlias(this=exp.to_identifier(alias))), copy=False)
    unit = None if one.unit is None else exp.column(UNIT, alias)
    return Relation(tuple(columns), rows, unit, one.bound.plus(other.bound), said=one.said or other.said)


def _cast(relation: Relation, types: Sequence[Type], dialect: Dialect) -> Relation:
    """Widen the columns to the common types."""
    columns = tuple(
        (
            name,
            value if value.type == wanted else replace(value, sql=dialect.cast(value.sql.copy(), wanted), domain=None),
        )
        for (name, value), wanted in zip(relation.columns, types, strict=True)
    )
    return replace(relation, columns=columns)


def _common(one: Type, other: Type) -> Type:
    """The type that both convert to without error."""
    if one == other or other.kind is Kind.NULL:
        return one
    if one.kind is Kind.NULL:
        return other
    if one.kind is other.kind is Kind.INTEGER:
        return max(one, other, key=lambda kind: kind.bits)
    if one.kind is other.kind is Kind.DECIMAL:
        scale = max(one.scale, other.scale)
        whole = max(one.precision - one.scale, other.precision - other.scale)
        if whole + scale <= 38:
            return decimal(whole + scale, scale)
    if one.numeric and other.numeric:
        return Type(Kind.DOUBLE)
    if {one.kind, other.kind} == {Kind.DATE, Kind.TIMESTAMP}:
        return Type(Kind.TIMESTAMP)
    raise Refused(f"UNION ALL of {one} and {other} columns", hint="cast both sides to one type", sqlstate=TYPE_MISMATCH)


def _listed(*values: Value) -> Values | None:
    """The union of listed domains, where all are listed."""
    found: dict[object, None] = {}
    for value in values:
        behind = BEHIND.of(value.sql)
        if isinstance(behind, Origin):
            behind = BEHIND.of(behind.sql)
        domain = value.domain
        if isinstance(behind, Variable) and behind.column.values is not None:
            domain = Values((*behind.column.values, *((None,) if behind.optional else ())))
        if not isinstance(domain, Values):
            return None
        found.update(dict.fromkeys(domain.values))
    return Values(tuple(found))  # type: ignore[arg-type]


def _in_a_range(alias: str, name: str, one: Value, other: Value) -> Variable | None:
    """A column of both, as one of the union's own; None where the owner declares no range of either.

    Theorem: a row of a union is a row of a side, so the smallest range around both holds all that either declares.
    """
    columns = [None if found is None else found.column for found in map(_of_people, (one, other))]
    ranges = [column.range for column in columns if column is not None and column.range is not None]
    if len(ranges) < 2:
        return None
    low, high = (min(ranges, key=lambda one: range_of(one).low)[0], max(ranges, key=lambda one: range_of(one).high)[1])
    column = Column(name, one.type, nullable=one.nullable or other.nullable, range=(low, high))
    return Variable(alias, name, Table(f"\0{alias}", {name: column}), column)


def _of_people(value: Value) -> Variable | None:
    found = variable_behind(value.sql)
    return None if found is None or found.table.public else found
