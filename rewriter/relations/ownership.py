"""Who owns a row: the one privacy unit that every row of a join belongs to, or a refusal.

Guarantee: after :func:`own`, every row of the joined sources belongs to exactly one unit, given by one
expression, and depends on that unit's private rows alone. Semantics are never changed to make that true: the
join condition must already imply it, by declared foreign keys or by equality of units.

Why a union-find: conditions imply equalities of columns, equalities of a declared key imply equality of units, and
both are transitive. Conditions of an outer join hold only on matched rows, so they may tie the null-supplying side to
the preserved one, and nothing else to each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from sqlglot import exp

from rewriter.columns import Source, reached, table_node, variable_behind, way_joins
from rewriter.declared import ONE, Catalog, ContributionBound, Hop, OwnerKey, Repeated, Scalar, When, least
from rewriter.dialects import Dialect
from rewriter.expressions import ConditionalKey, Constant, Value
from rewriter.refused import Refused

ColumnId = tuple[str, str]
"""Our alias of a source, and the column's name."""
Equality = tuple[ColumnId, ColumnId]
_UNIT = "\0unit"


class MixedPeople(Refused):
    """Rows of two people would be one."""


@dataclass(frozen=True, slots=True)
class Determined:
    """A column that has one value for each combination of rows of the sources ``of``, wherever a condition holds:
    ``b.month = a.month + INTERVAL '1 month'`` says so of ``b.month``, and ``b.kind = 'x'`` whatever the other rows are.
    ``literal`` is that value, where the statement spells it.
    """

    column: ColumnId
    of: frozenset[str]
    literal: Constant | None = None


@dataclass(frozen=True, slots=True)
class OuterCondition:
    """The join condition of a null-supplying source: its equalities of columns, and whether it is nothing else; and the
    columns that it determines."""

    equalities: tuple[Equality, ...]
    complete: bool
    determined: tuple[Determined, ...] = ()


class _Classes:
    """Disjoint sets of columns that are equal on every row, and the columns that are ``determined`` on every row."""

    def __init__(self, equalities: Iterable[Equality] = (), determined: Iterable[Determined] = ()) -> None:
        self._parent: dict[ColumnId, ColumnId] = {}
        self._determined = tuple(determined)
        for one, other in equalities:
            self.union(one, other)

    def find(self, node: ColumnId) -> ColumnId:
        parent = self._parent.get(node, node)
        if parent == node:
            return node
        root = self.find(parent)
        self._parent[node] = root
        return root

    def union(self, one: ColumnId, other: ColumnId) -> None:
        self._parent[self.find(one)] = self.find(other)

    def same(self, one: ColumnId, other: ColumnId) -> bool:
        return self.find(one) == self.find(other)

    def united(self, equalities: Iterable[Equality]) -> _Classes:
        """A copy in which these hold too."""
        copy = _Classes((), self._determined)
        copy._parent = dict(self._parent)
        for one, other in equalities:
            copy.union(one, other)
        return copy

    def where(self, condition: OuterCondition) -> _Classes:
        """A copy for the rows on which the condition of an outer join holds too."""
        copy = self.united(condition.equalities)
        copy._determined += condition.determined
        return copy

    def holds(self, column: ColumnId, value: Scalar) -> bool:
        """Whether a column has this value on every row, by a condition that spells it."""
        return any(one.literal == Constant(value) and self.same(column, one.column) for one in self._determined)

    def follows(self, column: ColumnId, others: Sequence[Source]) -> bool:
        """Whether rows of the others leave one value of a column."""
        known = {other.alias for other in others}
        return any(self.same(column, (other.alias, name)) for other in others for name in other.fields) or any(
            one.of <= known and self.same(column, one.column) for one in self._determined
        )


@dataclass(frozen=True, slots=True)
class Ownership:
    """The unit of a join's rows: an expression, the tables that must be joined to reach it, what bounds its rows.

    ``joins`` are ours, in order; ``semi_join`` is the entity's key that the unit must be found in, None where the
    database itself guarantees that or the entity table is joined anyway. ``nullable``: the unit may be NULL, in which
    case the row is nobody's.
    ``constant`` names the sources whose columns have one value per unit. ``compared`` are conditions of joins, by the
    alias of the source that is joined: that its unit is that of the others, where keys alone do not say so. ``items``
    are sources that carry their unit for that.
    """

    unit: exp.Expr | None
    joins: tuple[exp.Join, ...]
    semi_join: exp.Expr | None
    nullable: bool
    bound: ContributionBound
    constant: frozenset[str]
    compared: Mapping[str, exp.Expr] = field(default_factory=dict)
    items: Mapping[str, exp.Expr] = field(default_factory=dict)


def all_settled(
    sources: Sequence[Source],
    equalities: Sequence[Equality],
    outer: Mapping[str, OuterCondition],
    determined: Sequence[Determined],
) -> list[Source]:
    """The sources of a join with the ways that its conditions settle: of a null-supplying one its own count, too."""
    everywhere = _Classes(equalities, determined)
    return [
        settled(source, everywhere.where(outer[source.alias]) if source.optional else everywhere) for source in sources
    ]


def settled(source: Source, classes: _Classes) -> Source:
    """The source with the conditional ways of which the conditions of a statement say that they hold on all rows.

    Privacy does not rest on it: whoever ties rows by a way compares their owners.
    """
    fields = {}
    for name, value in source.fields.items():
        if held := {way.key for way in value.ways_when if _holds(way, source, classes)}:
            fields[name] = replace(value, ways=value.ways | held - value.keys)
    return replace(source, fields={**source.fields, **fields}) if fields else source


def _holds(way: ConditionalKey, source: Source, classes: _Classes) -> bool:
    column = _condition_column(way, source)
    return column is not None and classes.holds((source.alias, column), way.value)


def _condition_column(way: ConditionalKey, source: Source) -> str | None:
    """The column of a source by which a conditional way of it holds."""
    return next((name for name, value in source.fields.items() if value.sql.sql() == way.column), None)


@dataclass(frozen=True, slots=True)
class Ties:
    """What is equal on the rows of a join: the columns ``everywhere``, and more of them where a source is matched."""

    everywhere: _Classes
    outer: Mapping[str, OuterCondition]

    def tied(self, source: Source, key: Iterable[str], others: Sequence[Source], *, by: Source | None = None) -> bool:
        """Whether all columns of a key equal columns of the others, wherever the source is matched, or ``by`` is."""
        classes = self._matched(source if by is None else by)
        return all(
            any(classes.same((source.alias, column), (other.alias, name)) for other in others for name in other.fields)
            for column in key
        )

    def same_person(self, source: Source, others: Sequence[Source]) -> bool:
        """Whether, wherever the source is matched, one of the others' rows is the same person's."""
        classes = self._matched(source)
        _unite([*others, source], classes)
        return any(classes.same((source.alias, _UNIT), (other.alias, _UNIT)) for other in others)

    def _matched(self, source: Source) -> _Classes:
        return self.everywhere.united(self.outer[source.alias].equalities if source.optional else ())


@dataclass(frozen=True, slots=True)
class Join:
    """Sources that are joined, and what is known of their rows.

    ``equalities`` and what is ``determined`` hold on every row; ``outer`` maps the alias of each null-supplying source
    to its own join condition, and ``unmatched`` names those of which every row is the NULLs of no match.
    """

    sources: Sequence[Source]
    equalities: Sequence[Equality]
    outer: Mapping[str, OuterCondition]
    unmatched: frozenset[str]
    catalog: Catalog
    dialect: Dialect
    determined: Sequence[Determined] = ()

    @property
    def private(self) -> list[Source]:
        return [source for source in self.sources if source.private]

    @property
    def ties(self) -> Ties:
        return Ties(_Classes(self.equalities), self.outer)


def own(join: Join) -> Ownership:
    """Decide who owns the rows of a join. Raises :class:`Refused` when two private sources may mix people."""
    sources, private, outer, catalog = join.sources, join.private, join.outer, join.catalog
    classes = _Classes(join.equalities, join.determined)
    preserved = [source for source in private if not source.optional]
    constant = _constant_public(sources, private, classes, outer)
    if not private:
        # Of public rows it is how many there are.
        rows = _with_public(ContributionBound(1), set(), sources, classes, outer).rows
        return Ownership(None, (), None, False, ContributionBound(rows), frozenset())
    if not preserved:
        raise Refused(
            f"an outer join keeps rows of {_names(sources, private=False)} that belong to nobody",
            hint="use an inner join, or put the table of people on the preserved side",
        )
    _unite(preserved, classes)
    first: ColumnId = (preserved[0].alias, _UNIT)
    compared: list[Source] = []
    by_ways = _united_by_ways(preserved, classes)
    for source in preserved[1:]:
        if not classes.same((source.alias, _UNIT), first):
            if not by_ways.same((source.alias, _UNIT), first):
                raise _mixes(preserved[0], source, preserved, classes, catalog)
            compared.append(source)
            classes.union((source.alias, _UNIT), first)
    for source in private:
        if not source.optional:
            continue
        matched = classes.where(outer[source.alias])
        _unite([*preserved, source], matched)
        if not matched.same((source.alias, _UNIT), first):
            if not _united_by_ways([*preserved, source], matched).same((source.alias, _UNIT), first):
                raise _mixes(preserved[0], source, [*preserved, source], matched, catalog)
            compared.append(source)
        # The source's unit is the common one, or NULL on unmatched rows. Nothing else of its condition may be kept:
        # on unmatched rows the condition does not hold between columns of the preserved side.
        classes.union((source.alias, _UNIT), (preserved[0].alias, _UNIT))
        preserved = [*preserved, source]
        _unite(preserved, classes)
    kept = [source for source in preserved if not source.optional]
    bound = _row_bound(sources, preserved, classes, outer, join.unmatched)
    names = frozenset(source.alias for source in kept if source.bound.unique) | constant
    carrying = {one.alias: reached(one, catalog, join.dialect) for one in (kept[0], *compared)} if compared else {}
    kept = [carrying.get(source.alias, source) for source in kept]
    unit, joins, semi_join, nullable = reach(kept, catalog, join.dialect)
    conditions = {one.alias: _same_owner(kept[0], carrying[one.alias]) for one in compared}
    items = {alias: one.item for alias, one in carrying.items()}
    return Ownership(unit, joins, semi_join, nullable, bound, names, conditions, items)


def own_both(
    sources: tuple[Source, Source],
    equalities: Sequence[Equality],
    catalog: Catalog,
    dialect: Dialect,
    *,
    by_unit: bool = False,
) -> Ownership:
    """Decide who owns the rows of a FULL JOIN. Raises :class:`Refused` where two people's rows may be one.

    ``by_unit``: its condition is that both rows are of one unit, and nothing else. Then a unit that has at most one row
    on each side has one row: the pair where it has both, and else the row that it has.
    """
    if not all(source.private for source in sources):
        raise Refused(
            f"a FULL JOIN keeps rows of {_names(sources, private=False)} that belong to nobody",
            hint="use LEFT JOIN, with the people on the left",
        )
    one, other = sources
    if one.bound.shared is not None or other.bound.shared is not None:
        raise MixedPeople(
            f"a FULL JOIN of {_names(sources, private=True)} keeps groups that may be several people's",
            hint="use JOIN or LEFT JOIN, with the groups on the left",
        )
    classes = _Classes(equalities)
    _unite(sources, classes)
    tied = classes.same((one.alias, _UNIT), (other.alias, _UNIT))
    if not tied and not _united_by_ways(sources, classes).same((one.alias, _UNIT), (other.alias, _UNIT)):
        raise _mixes(one, other, sources, classes, catalog)
    one, other = (reached(source, catalog, dialect) for source in sources)
    compared = {} if tied else {other.alias: _same_owner(one, other)}
    once = any(_meets_by_key(a, classes, [b]) for a, b in (sources, sources[::-1]))
    bound = one.bound.plus(other.bound)
    if by_unit and one.bound.unique and other.bound.unique:
        bound = ONE
    elif not once:
        bound = one.bound.times(other.bound.rows, other.bound.undeclared).plus(bound)
    if one.unit is None or other.unit is None:
        raise AssertionError("owners are read of sources that carry their unit")
    unit = exp.Coalesce(this=one.unit.copy(), expressions=[other.unit.copy()])
    known = catalog.unit is None or all(source.table is None for source in (one, other))
    items = {source.alias: source.item for source in (one, other)}
    everybody = None if known else _entity_key(catalog, dialect)
    return Ownership(unit, (), everybody, True, bound, frozenset(), compared, items)


def _same_owner(one: Source, other: Source) -> exp.Expr:
    """That the rows of two sources, each of which carries its unit, belong to one."""
    if one.unit is None or other.unit is None:
        raise AssertionError("owners are compared of sources that carry their unit")
    return exp.EQ(this=one.unit.copy(), expression=other.unit.copy())


def _hop(source: Source) -> Hop | None:
    """The first declared foreign key of a base table that leads to its unit."""
    return source.table.path[0] if source.table is not None and source.table.path else None


def _unite(private: Sequence[Source], classes: _Classes, *, by_ways: bool = False) -> None:
    """Merge the units that equal columns imply to be the same: both hold one key of a person.

    A row's value of such a key belongs to the row's own unit, so equal values belong to one. NULL equals nothing. Of a
    key of several columns all have to be equal, each to its own.
    """
    held: list[tuple[ColumnId, tuple[ColumnId, ...], frozenset[OwnerKey | _CompositeKey]]] = []
    for source in private:
        unit: ColumnId = (source.alias, _UNIT)
        for name, value in source.fields.items():
            if value.unit:
                classes.union(unit, (source.alias, name))
            if keys := value.keys | value.ways if by_ways else value.keys:
                held.append((unit, ((source.alias, name),), frozenset(keys)))
        for columns, together in _composite_keys(source, by_ways=by_ways):
            held.append((unit, tuple((source.alias, name) for name in columns), frozenset({together})))
    merged = True
    while merged:
        merged = False
        owners: dict[tuple[tuple[ColumnId, ...], OwnerKey | _CompositeKey], ColumnId] = {}
        for unit, values, shared in held:
            for key in shared:
                other = owners.setdefault((tuple(map(classes.find, values)), key), unit)
                if not classes.same(unit, other):
                    classes.union(unit, other)
                    merged = True


@dataclass(frozen=True, slots=True)
class _CompositeKey:
    """Columns of a table, in the order of their names, of which the values of a row together belong to one person."""

    table: str
    columns: tuple[str, ...]


def _composite_keys(source: Source, *, by_ways: bool) -> Iterator[tuple[tuple[str, ...], _CompositeKey]]:
    """The keys of several columns that the rows of a table hold: their own, that of their way to the person, and, by
    other ways, those of rows that should be the same person's. With each the columns that hold it, in its order."""
    if (table := source.table) is None or table.public:
        return
    for key in table.keys:
        if all(name in source.fields for name in key):
            yield tuple(sorted(key)), _CompositeKey(table.name, tuple(sorted(key)))
    for hop in (*table.path[:1], *(table.ways if by_ways else ())):
        if hop.also and all(name in source.fields for name in hop.columns):
            ordered = sorted(hop.pairs, key=lambda pair: pair[1])
            theirs = _CompositeKey(hop.parent, tuple(name for _, name in ordered))
            yield tuple(name for name, _ in ordered), theirs


def _united_by_ways(private: Sequence[Source], classes: _Classes) -> _Classes:
    """A copy in which the units are merged that other ways to a person say to be the same. They have to be compared."""
    united = classes.united(())
    _unite([settled(source, classes) for source in private], united, by_ways=True)
    return united


def _missing_condition(sources: Sequence[Source], classes: _Classes) -> str | None:
    """The condition without which columns that are equal hold the key of a person on some of the rows alone."""
    for source in sources:
        others = [other for other in sources if other is not source]
        for name, way in ((name, way) for name, value in source.fields.items() for way in value.ways_when):
            column = _condition_column(way, source)
            if column is not None and any(
                way.key in value.keys | value.ways and classes.same((source.alias, name), (other.alias, theirs))
                for other in others
                for theirs, value in other.fields.items()
            ):
                return str(When(f"{source.name}.{column}", way.value))
    return None


def _mixes(one: Source, other: Source, sources: Sequence[Source], classes: _Classes, catalog: Catalog) -> MixedPeople:
    """Two private sources that are not tied to the same unit."""
    if catalog.unit is None:
        return MixedPeople(
            f"{one.name} and {other.name} are two sets of units, and a join would mix them",
            hint="under privacy_unit: row, join a private table only with public tables",
        )
    ours, theirs = _unit_name(one), _unit_name(other)
    hint = "join them on the key of the person"
    if missing := _missing_condition(sources, classes):
        hint = f"add the condition {missing}"
    elif ours and theirs:
        hint = f"add the condition {one.name}.{ours} = {other.name}.{theirs}"
    elif hop := _hop(other) or _hop(one):
        along = " AND ".join(f"{ours} = {hop.parent}.{theirs}" for ours, theirs in hop.pairs)
        hint = f"join along the declared foreign key {along}"
    return MixedPeople(f"{one.name} and {other.name} are joined, but not by the same person", hint=hint)


def _unit_name(source: Source) -> str | None:
    return next((name for name, value in source.fields.items() if value.unit), None)


def _names(sources: Sequence[Source], *, private: bool) -> str:
    return ", ".join(source.name for source in sources if source.private == private)


def _constant_public(
    sources: Sequence[Source],
    private: Sequence[Source],
    classes: _Classes,
    outer: Mapping[str, OuterCondition],
) -> frozenset[str]:
    """Public sources whose one matching row follows from a column that is constant per unit."""
    constant = {source.alias for source in private if source.bound.unique and not source.optional}
    public = [source for source in sources if not source.private]
    while True:
        more = {
            source.alias
            for source in public
            if source.alias not in constant and _determined(source, constant, sources, classes, outer)
        }
        if not more:
            return frozenset(constant - {source.alias for source in private})
        constant |= more


def _determined(
    source: Source,
    constant: set[str],
    sources: Sequence[Source],
    classes: _Classes,
    outer: Mapping[str, OuterCondition],
) -> bool:
    if source.optional:
        condition = outer[source.alias]
        equalities = condition.equalities
        return (
            condition.complete
            and len(equalities) == 1
            and any(
                one[0] == source.alias and one[1] in source.unique_columns and other[0] in constant
                for one, other in (*equalities, *((b, a) for a, b in equalities))
            )
        )
    return _meets_by_key(source, classes, [other for other in sources if other.alias in constant])


def _row_bound(
    sources: Sequence[Source],
    private: Sequence[Source],
    classes: _Classes,
    outer: Mapping[str, OuterCondition],
    unmatched: frozenset[str],
) -> ContributionBound:
    """How many rows of one unit a join has.

    Keys by the owner's word alone say where units are clipped; that a unit has one row must not rest on them.
    """
    known = _multiplied(sources, private, classes, outer, unmatched)
    if known.unique or not any(source.claimed_keys for source in sources):
        return known
    believed = [_believed(source) for source in sources]
    kept = {source.alias for source in private}
    return replace(
        _multiplied(believed, [one for one in believed if one.alias in kept], classes, outer, unmatched), unique=False
    )


def _believed(source: Source) -> Source:
    """The source as if the keys that its owner claims were enforced."""
    single = frozenset(name for key in source.claimed_keys if len(key) == 1 for name in key)
    several = tuple(key for key in source.claimed_keys if len(key) > 1)
    return replace(source, unique_columns=source.unique_columns | single, unique_keys=(*source.unique_keys, *several))


def _multiplied(
    sources: Sequence[Source],
    private: Sequence[Source],
    classes: _Classes,
    outer: Mapping[str, OuterCondition],
    unmatched: frozenset[str],
) -> ContributionBound:
    """The bounds of the sources, multiplied one after the other.

    A source that each row so far meets at most once adds no factor, nor does one of which no row is left.
    Only ``unique`` has to be true; the number of rows says where units are clipped.
    """
    inner = [source for source in private if not source.optional]
    factors = _met_by_none([one for one in inner if not _is_parent(one, inner, classes)], classes) or inner[:1]
    bound = _fewer(factors[0].bound, _rows_met(factors[0], [], classes))
    for place, source in enumerate(factors[1:], 1):
        product = bound.times(_rows_met(source, factors[:place], classes), source.bound.undeclared)
        bound = replace(product, unique=bound.unique and source.bound.unique)
    if len(factors) > 1:
        bound = replace(_repeating(bound, factors, classes), **_told_apart(factors, classes))
    counted = {source.alias for source in inner} | unmatched
    for source in private:
        if source.alias in counted:
            continue
        if not source.bound.unique and not _meets_once(source, counted, sources, classes, outer):
            here = classes.where(outer[source.alias])
            theirs = _fewer(source.bound, _rows_met(source, [], here))
            if bound.unique:
                bound = theirs
            elif _refers_to(source, counted, sources, classes, outer):
                # A child's row goes with one row of its parent; by the unit alone, all rows go with all.
                bound = bound.plus(theirs)
            else:
                met = _rows_met(source, [one for one in sources if one.alias in counted], here)
                bound = bound.times(met, theirs.undeclared)
        counted.add(source.alias)
    return _with_public(bound, counted, sources, classes, outer)


def _rows_met(source: Source, others: Sequence[Source], classes: _Classes) -> int | None:
    """How many rows of one unit of a source meet one combination of rows of the others, by the owner's word: all of the
    unit's, or as many as the columns of a key have values, but for those whose value follows from the others' rows."""
    most = source.bound.rows
    for key in _keys_of(source):
        free = [name for name in key if not classes.follows((source.alias, name), others)]
        counts = [_most_values(source.fields[name]) if name in source.fields else None for name in free]
        known = [count for count in counts if count is not None]
        if len(known) == len(counts):
            most = least([most, max(1, math.prod(known))])
    return most


def _most_values(value: Value) -> int | None:
    """How many different values of a column one unit has; None where nothing is said."""
    if value.constant or value.unit:
        return 1
    variable = variable_behind(value.sql)
    return None if variable is None or variable.most is None else variable.most + variable.optional


def _fewer(bound: ContributionBound, rows: int | None) -> ContributionBound:
    """The bound with so many rows, where these are fewer. Spans bound rows of their own."""
    if rows is None or bound.spans or (bound.rows is not None and bound.rows <= rows):
        return bound
    return replace(bound, rows=rows, table="")


class _ToldApart(TypedDict):
    apart: tuple[frozenset[ColumnId], ...]
    values: tuple[tuple[ColumnId, int], ...]


def _told_apart(factors: Sequence[Source], classes: _Classes) -> _ToldApart:
    """By which columns the rows of a join differ within a unit: by those of its sources together, each class of equal
    columns once, without columns that have one value."""
    keys = [[key for key in source.bound.apart if all(alias == source.alias for alias, _ in key)] for source in factors]
    apart: list[frozenset[ColumnId]] = []
    for chosen in itertools.islice(itertools.product(*keys), _MOST_KEYS):
        columns = sorted(column for key in chosen for column in key if not classes.follows(column, []))
        for ordered in (columns, columns[::-1]):
            apart.append(frozenset({classes.find(column): column for column in ordered}.values()))
    values = tuple(pair for source in factors for pair in source.bound.values)
    return _ToldApart(apart=tuple(dict.fromkeys(apart)), values=values)


_MOST_KEYS = 8
"""Combinations of keys by which the rows of a join are told apart."""


def _with_public(
    bound: ContributionBound,
    counted: set[str],
    sources: Sequence[Source],
    classes: _Classes,
    outer: Mapping[str, OuterCondition],
) -> ContributionBound:
    """The bound with the public sources that are not ``counted`` yet: as many rows as each has, if it is not met once
    by a key."""
    waiting = [source for source in sources if not source.private and source.alias not in counted]
    while waiting:
        once = [source for source in waiting if _meets_once(source, counted, sources, classes, outer)]
        for source in once or waiting[:1]:
            if not once:
                rows = source.bound.rows if source.table is None else source.table.rows
                bound = bound.times(rows)
                here = classes.where(outer[source.alias]) if source.optional else classes
                met = [other for other in sources if other.alias in counted]
                bound = _repeated(bound, source, rows, here, met)
            counted.add(source.alias)
        waiting = [source for source in waiting if source.alias not in counted]
    return bound


def _repeating(bound: ContributionBound, factors: Sequence[Source], classes: _Classes) -> ContributionBound:
    """The bound with what multiplied it: people's tables that are joined by more than the person."""
    for source in factors:
        others = [other for other in factors if other is not source]
        bound = _repeated(bound, source, source.bound.rows, classes, others)
    return bound


def _repeated(
    bound: ContributionBound, source: Source, rows: int | None, classes: _Classes, others: Sequence[Source]
) -> ContributionBound:
    """The bound with a source that each row may meet ``rows`` times, where a key of it would make that once."""
    columns = tuple(
        name
        for name, value in source.fields.items()
        if not value.unit
        and any(classes.same((source.alias, name), (other.alias, field)) for other in others for field in other.fields)
    )
    if source.table is None or rows is None or rows < 2 or not columns:
        return bound
    return replace(bound, repeated=(*bound.repeated, Repeated(source.table.name, columns, rows)))


def _met_by_none(private: Sequence[Source], classes: _Classes) -> list[Source]:
    """The sources without those of which a row of the others, together, meets at most one: by all columns of a key."""
    left = list(private)
    for source in private[::-1]:
        others = [other for other in left if other is not source]
        if others and _meets_by_key(source, classes, others):
            left = others
    return left


def _is_parent(source: Source, private: Sequence[Source], classes: _Classes) -> bool:
    """Whether another source refers to this one's key, which the database keeps unique: then this one adds no rows."""
    for child in private:
        hop = _hop(child)
        if child is source or hop is None or source.table is None or hop.parent != source.table.name:
            continue
        if _joined_along(hop, child, source, classes) and _is_key(source, hop.parent_columns):
            return True
    return False


def _joined_along(hop: Hop, child: Source, parent: Source, classes: _Classes) -> bool:
    return all(classes.same((child.alias, ours), (parent.alias, theirs)) for ours, theirs in hop.pairs)


def _is_key(source: Source, columns: Sequence[str]) -> bool:
    """Whether no two rows share all of these columns, whatever happens."""
    return any(name in source.unique_columns for name in columns) or any(
        key <= frozenset(columns) for key in source.unique_keys
    )


def _refers_to(
    source: Source,
    counted: set[str],
    sources: Sequence[Source],
    classes: _Classes,
    outer: Mapping[str, OuterCondition],
) -> bool:
    """Whether a null-supplying source is joined by a foreign key of its own to a unique key of a counted source."""
    if source.table is None:
        return False
    here = classes.where(outer[source.alias])
    return any(
        other.table is not None
        and other.table.name == hop.parent
        and _is_key(other, hop.parent_columns)
        and _joined_along(hop, source, other, here)
        for hop in (*source.table.path[:1], *source.table.ways)
        for other in sources
        if other.alias in counted
    )


def _meets_once(
    source: Source,
    counted: set[str],
    sources: Sequence[Source],
    classes: _Classes,
    outer: Mapping[str, OuterCondition],
) -> bool:
    """Whether the counted sources' rows, together, meet at most one row of this source, by a key."""
    here = classes.where(outer[source.alias]) if source.optional else classes
    return _meets_by_key(source, here, [other for other in sources if other.alias in counted])


def _meets_by_key(source: Source, classes: _Classes, others: Sequence[Source]) -> bool:
    """Whether all columns of a key of the source have one value for each combination of rows of the others.

    Proof: a row of the source that is met has, in these columns, the values that follow from the others' rows; no two
    rows of it share all of them.
    """
    return any(all(classes.follows((source.alias, column), others) for column in key) for key in _keys_of(source))


def _keys_of(source: Source) -> tuple[frozenset[str], ...]:
    """The columns of which no two rows of one unit share all values."""
    return (*(frozenset({name}) for name in sorted(source.unique_columns | source.numbered)), *source.unique_keys)


def reach(
    kept: Sequence[Source], catalog: Catalog, dialect: Dialect
) -> tuple[exp.Expr, tuple[exp.Join, ...], exp.Expr | None, bool]:
    """The cheapest expression of the unit, the joins it needs, the entity's key it must be found in, and whether it may
    be NULL."""
    entity = next((s for s in kept if s.table is not None and catalog.is_entity(s.table)), None)
    subquery = next((source for source in kept if source.table is None), None)
    direct = subquery or entity or next((source for source in kept if source.unit is not None), None)
    if direct is not None and direct.unit is not None:
        hop = _hop(direct)
        dangles = hop is not None and not hop.enforced
        nullable = False
        if direct.reached and direct.table is not None:
            # The last step of the way is joined already; where it ends at may be missing or not exist.
            dangles, nullable = not direct.table.path[-1].enforced, True
        elif direct.table is not None and catalog.unit is not None:
            nullable = direct.table.columns[catalog.unit[1] if hop is None else hop.column].nullable
        return direct.unit.copy(), (), _entity_key(catalog, dialect) if dangles else None, nullable
    source = kept[0]
    if source.table is None:
        raise AssertionError("a private subquery always carries its unit")
    joins, unit = way_joins(source.table, source.alias, catalog, dialect)
    last = source.table.path[-1]
    holder = catalog.tables[source.table.path[-2].parent]
    key = None if last.enforced else _entity_key(catalog, dialect)
    return unit, tuple(joins), key, holder.columns[last.column].nullable


def _entity_key(catalog: Catalog, dialect: Dialect) -> exp.Expr:
    """``SELECT key FROM entity``: the units that exist."""
    if catalog.unit is None:
        raise AssertionError("rows as units have no entity table")
    table = catalog.tables[catalog.unit[0]]
    return exp.select(_column(None, catalog.unit[1])).from_(table_node(table, dialect))


def _column(alias: str | None, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), alias)
