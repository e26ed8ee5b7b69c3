"""Rows that belong to two people: a sale, joined with its return, which somebody else brought back.

Guarantee: where one person comes or goes, at most :attr:`rewriter.declared.SharedUnits.changes` rows of such a join
come or go, whatever the data. So a row is planned as a unit of its own, and all that one of them moves is
multiplied by that number (:mod:`rewriter.planner.answers_changed`): neighbours are as many steps apart, and at each the
release moves by no more than one row of it does.

Proof. One table is the *host*: each row of the join has one row of it. Another is a *guest*: by a key that the database
keeps, a row of the host meets at most one of its rows, and by a key of the host one of its rows meets at most one of
the host's. Of each, a person's rows beyond ``max_rows`` are left out before anything is joined, in the order of the
table's key: which of them stay hangs on this person's rows alone. So a person takes away the join's rows of at most
``max_rows`` rows of the host, and touches those that meet at most ``max_rows`` rows of each guest: they go, and, where
an outer join keeps them without the guest or finds no other, another comes instead. A third kind of table is tied by
the person to the host or to a guest, as the table of people itself is: whoever it belongs to owns what it meets, and it
changes no other rows.

Nothing of such a row is a key of its unit: people cannot be told apart there, and what groups, numbers or compares the
rows of one person is refused.

Rows of the person whom a group names, beside the group: samples of several people, joined by MAX(patient_id).

Guarantee: where one person comes or goes, rows of no more groups change than groups alone would
(:mod:`rewriter.per_person.person_rows`). So the groups stay the units, and what stands beside them is looked up.

Proof. MIN or MAX of the person's key over rows of a group is the key of somebody who has a row in the group, or NULL. A
row that is joined by it is that person's, and so are all that make it. So the rows of the join that come of one group
read rows of people who are in this group, and nobody else's: without a person, the groups that the person is in
change, as they do anyhow, and no others. How many rows a group has then is bounded as it is of a person's rows: as many
as the named person has, and clipped to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.columns import Source
from rewriter.declared import ONE, TEXT, Catalog, ContributionBound, Kind, SharedUnits
from rewriter.dialects import Dialect, number
from rewriter.refused import Refused
from rewriter.relations.ownership import Join, Ownership, Ties, own, reach

_PLACE = "dpsql_place"
_EXACT = frozenset({Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.DECIMAL, Kind.BOOLEAN})
"""Kinds of columns whose values are equal as they are read only where they are equal in the database."""
_SPELT = frozenset({Kind.DOUBLE, Kind.DECIMAL, Kind.INTERVAL})
"""Kinds of which equal values may be spelt in two ways: 0 and -0, 1.0 and 1.00, a month and 30 days."""
_ORDERED = _EXACT | _SPELT | {Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME}


@dataclass(frozen=True, slots=True)
class SharedRows:
    """The sources of a join of several people's rows, none of which knows a person, and its ownership."""

    sources: tuple[Source, ...]
    owner: Ownership


def shared_rows(join: Join) -> SharedRows | None:
    """The join, where each of its rows belongs to a bounded number of people; None where that is not known."""
    private, catalog, ties = join.private, join.catalog, join.ties
    if catalog.unit is None or not all(is_bounded(source) and _keys(source) for source in private):
        return None
    for host in private:
        unfit = host.optional or _is_people(host, catalog)
        guests = None if unfit else _guests(host, private, ties, catalog)
        if guests is not None:
            break
    else:
        return None
    several = 2 if any(source.optional for source in private) else 1
    counted = (_most_of(host, 1), *(_most_of(guest, several) for guest in guests))
    row = replace(ONE, shared=SharedUnits(counted))
    limits = {source.alias: limited_rows(source, catalog, join.dialect) for source in (host, *guests)}
    items = {alias: item for alias, item in limits.items() if item is not None}
    owner = own(replace(join, sources=[_alone(source, host, row) for source in join.sources]))
    return SharedRows(tuple(map(_unowned, join.sources)), replace(owner, items=items))


def of_people(bound: ContributionBound, what: str) -> None:
    """Nothing, where units are people. Raises :class:`Refused` for what has no meaning over rows of several."""
    if bound.shared is not None:
        raise Refused(
            f"{what} is not answered over rows that may be of two people",
            hint="COUNT, SUM, AVG and their like are, by columns with declared values; or join by the person as well",
        )


def is_bounded(source: Source) -> bool:
    """Whether a source is a table of people of whom each has a declared number of rows, in all."""
    plain = source.table is not None and not source.said and not source.bound.spans and not source.bound.undeclared
    return plain and source.private and source.bound.rows is not None


def _keys(source: Source) -> list[tuple[str, ...]]:
    """The keys of a table that the database keeps, none of whose columns is NULL on any row."""
    if source.table is None:
        return []
    columns = source.table.columns
    keys = [*((name,) for name in sorted(source.unique_columns)), *(tuple(sorted(key)) for key in source.unique_keys)]
    return [key for key in keys if all(columns[n].type.kind in _EXACT and not columns[n].nullable for n in key)]


def _guests(host: Source, private: Sequence[Source], ties: Ties, catalog: Catalog) -> list[Source] | None:
    """The tables of others' rows; None where one of all tables meets any number of rows."""
    guests: list[Source] = []
    known, waiting = [host], [source for source in private if source is not host]
    while waiting:
        for source in waiting:
            once = any(ties.tied(source, key, known) for key in _keys(source))
            own = ties.same_person(source, known)
            if once and (own or any(ties.tied(host, key, [source], by=source) for key in _keys(host))):
                break
        else:
            return None
        if not own and _is_people(source, catalog):
            return None
        if not own:
            guests.append(source)
        known.append(source)
        waiting.remove(source)
    return guests


def _is_people(source: Source, catalog: Catalog) -> bool:
    """Whether it is the table of people itself: whoever joins it by anything but the person meant the person."""
    return source.table is not None and catalog.is_entity(source.table)


def _most_of(source: Source, changes: int) -> tuple[str, int, int]:
    """The rows of one person, and how many changes each is: where a row of the join stays without it, two."""
    return source.table_name, source.bound.rows or 1, changes


def limited_rows(source: Source, catalog: Catalog, dialect: Dialect) -> exp.Expr | None:
    """The rows of a table that are somebody's, of each person the first so many in the order of its key. Without a key
    they are in the order of all columns: rows that have the same place then are the same rows. None where there is no
    such order."""
    order = _order(source, dialect)
    if order is None and not source.bound.unique:
        return None
    unit, joins, everybody, nullable = reach([source], catalog, dialect)
    rows = exp.Select(expressions=_columns(source)).from_(source.item.copy(), copy=False)
    rows.set("joins", list(joins))
    if everybody is not None:
        rows.where(exp.In(this=unit.copy(), query=exp.Subquery(this=everybody)), copy=False)
    elif nullable:
        rows.where(exp.Not(this=exp.Is(this=unit.copy(), expression=exp.Null())), copy=False)
    if not source.bound.unique:
        ordered = exp.Order(expressions=[exp.Ordered(this=one, nulls_first=False) for one in order or ()])
        place = exp.Window(this=exp.RowNumber(), partition_by=[unit.copy()], order=ordered, over="OVER")
        rows.append("expressions", exp.alias_(place, _PLACE, copy=False))
        inner = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(source.alias)))
        rows = exp.Select(expressions=_columns(source)).from_(inner, copy=False)
        rows.where(
            exp.LTE(this=exp.column(_PLACE, source.alias), expression=number(source.bound.rows or 1)), copy=False
        )
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(source.alias)))


def _order(source: Source, dialect: Dialect) -> list[exp.Expr] | None:
    """By what the rows of one person are put in an order that hangs on nobody else's."""
    if source.table is None:
        raise AssertionError("only tables are limited")
    if keys := _keys(source):
        return [_column(source.alias, name) for name in keys[0]]
    order: list[exp.Expr] = []
    for name, column in source.table.columns.items():
        if column.type.kind not in _ORDERED:
            return None
        order.append(_column(source.alias, name))
        if column.type.kind in _SPELT:
            order.append(dialect.cast(_column(source.alias, name), TEXT))
    return order


def _alone(source: Source, host: Source, row: ContributionBound) -> Source:
    """The source as a join sees it whose rows are units: the host has them, and all others are looked up."""
    if source is host:
        columns = [_column(source.alias, name) for name in _keys(source)[0]]
        unit: exp.Expr = columns[0] if len(columns) == 1 else exp.Tuple(expressions=columns)
        return replace(_unowned(source), table=None, unit=unit, bound=row, reached=False)
    return replace(_unowned(source), private=False, unit=None) if source.private else source


def _unowned(source: Source) -> Source:
    if not source.private:
        return source
    return replace(source, fields={name: value.unowned() for name, value in source.fields.items()})


def _columns(source: Source) -> list[exp.Expr]:
    if source.table is None:
        raise AssertionError("only tables are limited")
    return [_column(source.alias, name) for name in source.table.columns]


def _column(alias: str, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), alias)


def people_beside_groups(join: Join) -> SharedRows | None:
    """The join, where one source has groups of several people, and all others' rows are of a person whom its group
    names; None where that is not so."""
    groups = [source for source in join.private if source.bound.shared is not None]
    if len(groups) != 1 or groups[0].optional:
        return None
    (group,) = groups
    ties = join.ties
    if not all(_is_of_named(source, group, ties) for source in join.private if source is not group):
        return None
    beside = [_looked_up(source) if source.private and source is not group else source for source in join.sources]
    return SharedRows(tuple(beside), own(replace(join, sources=beside)))


def _is_of_named(source: Source, group: Source, ties: Ties) -> bool:
    """Whether each row that is joined is of the person whom the group names, and there is a known number of these."""
    if source.bound.rows is None or source.bound.undeclared or source.bound.spans or source.said:
        return False
    people = replace(group, fields={name: value for name, value in group.fields.items() if value.named})
    units = [name for name, value in source.fields.items() if value.unit]
    return any(ties.tied(source, [name], [people]) for name in units)


def _looked_up(source: Source) -> Source:
    """The source as rows that are found for a group: nobody's, and as many as one person has."""
    fields = {name: value.unowned() for name, value in source.fields.items()}
    return replace(source, table=None, private=False, unit=None, fields=fields)
