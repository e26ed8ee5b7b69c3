"""Rows of people made of rows of people: by a select list, or by aggregates whose groups are each one person's.

One person's rows make several groups where they are grouped by more than the person. The data need not keep to this
number, nor to any bound: a person with more of these rows is clipped. The number only has to be so large that nobody
who keeps to the owner's bounds is clipped.

Values that an aggregate picks from one person's rows: MIN, MAX, BOOL_OR and PERCENTILE_DISC keep what is declared.

``MIN(placed)`` of one person is the ``placed`` of one of the person's rows. So its values are those of the column, by
the owner's declaration as much as for a plain column, and a month of it is a key with declared values:
``SELECT month, COUNT(*) FROM (SELECT customer_id, DATE_TRUNC('month', MIN(placed)) AS month … ) GROUP BY 1``.

Theorem: where an aggregate is one of its argument's values or NULL, and reads at least one row, some row of its group
has exactly its value: the row it was picked from, or, if it is NULL, any row. All conditions that hold on every row
hold on that one. So the column is its argument, and the conditions hold, over *variables of its own*, those of that
row. The rows of two such columns may differ, and so do their variables. With FILTER there may be no such row, and the
column is also NULL; then no condition is said of it.

Groups of rows that may be several people's: samples of which a statement says, by MAX(patient_id), whose they are.

Guarantee: where one person comes or goes, at most :attr:`rewriter.declared.SharedUnits.changes` of such groups come or
go, whatever the data. So a group is planned as a unit of its own, with one row, and all that one of them moves is
multiplied by that number (:mod:`rewriter.planner.answers_changed`).

Proof. Of each person, rows beyond ``max_rows`` are left out before anything is grouped, in an order that hangs on this
person's rows alone. So a person has rows in at most ``max_rows`` groups; each of these goes with the person, or is
another group without: one that goes and one that comes. No other group reads a row of this person.

What a group holds is whatever SQL says of its rows: MIN, MAX and the like have the bounds of their arguments, and how
many rows a group has is not bounded, since any number of people may be in it. Where groups have one key, it is the key
of their unit, and equal values of it are one group. MIN and MAX of the person's key name somebody who has a
row in the group, whose rows may stand beside it (:mod:`rewriter.relations.shared_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates import Grouped
from rewriter.columns import BEHIND, Computed, Origin, Path, Source, Variable, as_column, named, variable_behind, within
from rewriter.declared import ONE, Catalog, ContributionBound, Interval, Kind, OwnerKey, SharedUnits, least
from rewriter.dialects import Dialect
from rewriter.expressions import PART, SERIES, Value, compile_expression, compile_list, items_of_series, makes_rows
from rewriter.keys import groups_of_one
from rewriter.refused import Refused
from rewriter.relations import MADE as _MADE
from rewriter.relations import (
    UNIT,
    BlockScope,
    Relation,
    SelectRows,
    is_bounded,
    lacks_of,
    limited_rows,
    of_people,
    outside,
    reports_in,
    resolved,
)
from rewriter.release import Aggregate, Key, aggregate_name, key_name
from rewriter.statement import output_name, star_of


def groups_of_one_person(
    keys: Sequence[Key], filters: Sequence[Value], of_rows: ContributionBound, alias: str, catalog: Catalog
) -> ContributionBound:
    """The bound on groups that are rows again, as columns ``k0``, ``k1``, … of ``alias``; ``of_rows`` is that of rows,
    on which ``filters`` hold.

    There are no more groups than rows, and than the keys have values; where an order is a key, or what an order has
    alone, no more than orders.
    """
    varying = [place for place, key in enumerate(keys) if not key.value.constant and not key.value.unit]
    parents = _rows_behind([keys[place] for place in varying], catalog)
    values = None if of_rows.undeclared else groups_of_one([keys[place] for place in varying], filters, None)
    most = least([of_rows.rows, parents, values])
    apart = frozenset((alias, key_name(place)) for place in varying)
    undeclared = of_rows.undeclared if parents is None else frozenset[str]()
    return ContributionBound(most, most, undeclared=undeclared, apart=(apart,))


def _rows_behind(keys: Sequence[Key], catalog: Catalog) -> int | None:
    """The ``max_rows`` of the table that all keys are columns of, or that the one key refers to; and one more for rows
    without a match, where an outer join has them."""
    variables = [variable_behind(key.value.sql) for key in keys]
    known = [variable for variable in variables if variable is not None and not variable.table.public]
    if not known or len(known) < len(keys) or len({variable.alias for variable in known}) > 1:
        return None
    table = known[0].table
    found = table.max_rows
    if len(known) == 1 and table.path and known[0].name == table.path[0].column:
        found = least([found, catalog.tables[table.path[0].parent].max_rows])
    return found + 1 if found is not None and any(variable.optional for variable in known) else found


def selected(select: exp.Select, block: SelectRows, dialect: Dialect) -> Relation:
    """The rows of a block with the columns of a select list."""
    columns: list[tuple[str, Value]] = []
    numbered: set[int] = set()
    most: int | None = 1
    for item in select.expressions:
        star, table = star_of(item)
        if star:
            for source, name in block.scope.star(table):
                if _numbers_rows(resolved(source, name), block.scope):
                    numbered.add(len(columns))
                columns.append((name, source.reference(name)))
            continue
        bare = item.this if isinstance(item, exp.Alias) else item
        if makes_rows(bare):
            if any(_MADE.of(value.sql) for _, value in columns):
                raise Refused("one list of a row is made rows of at once", hint="write a subquery for each list")
            made, most = _items_of(bare, block, dialect)
            columns.append((output_name(item), made))
            continue
        if isinstance(bare, exp.Column) and _numbers_rows(bare, block.scope):
            numbered.add(len(columns))
        reported = isinstance(bare, exp.Column) and bool(reports_in(bare, block.scope))
        value = block.scope.column(bare) if reported else compile_expression(bare, block.scope, dialect, nested=True)
        columns.append((output_name(item), value))
    if any(_MADE.of(value.sql) for _, value in columns):
        of_people(block.bound, "UNNEST")
        bound = replace(block.bound.times(most), unique=False, apart=(), table="")
        return Relation(tuple(columns), block.rows, block.unit, bound, block.filters, said=block.said)
    kept = frozenset(numbered)
    unique = unique_places(columns, block.scope)
    return Relation(tuple(columns), block.rows, block.unit, block.bound, block.filters, kept, unique, block.said)


def _items_of(call: exp.Expr, block: SelectRows, dialect: Dialect) -> tuple[Value, int]:
    """The items of a list, each in a row of its own, and how many a row has at most.

    A row of a person is as many rows as its list has items, all of that person. How many the owner declares, or the
    statement says; people who have more are clipped to them, so that nothing has to be true of it.
    """
    value = compile_list(call, block.scope, dialect)
    if (series := SERIES.of(_made_by(value.sql))) is not None:
        made = Value.unknown(_MADE.on(dialect.unnested(value.sql), True), value.type.items)
        return items_of_series(made, series), series[2]
    most = _most_items(value.sql)
    if most is None:
        raise Refused(
            "how many items a list has is not known: one person could have any number of rows",
            hint="declare max_items for its column in the policy, or take a part of it: UNNEST(x[1:5])",
        )
    items = Value.unknown(_MADE.on(dialect.unnested(value.sql), True), value.type.items)
    limits = items.type.limits if items.type.kind is Kind.INTEGER else None
    return replace(items, limits=limits), most


def _made_by(sql: exp.Expr) -> exp.Expr:
    """What a column of a subquery was computed by."""
    behind = BEHIND.of(sql)
    while isinstance(behind, Origin):
        sql = behind.sql
        behind = BEHIND.of(sql)
    return sql


def _most_items(sql: exp.Expr) -> int | None:
    """How many items a list has at most: by its ends, where it is a part of one, and by the columns that it is of."""
    declared: list[int | None] = []
    seen = [sql]
    while seen:
        for node in seen.pop().walk():
            behind = BEHIND.of(node)
            if isinstance(behind, Variable):
                declared.append(behind.column.max_items)
            elif isinstance(behind, Origin):
                seen.append(behind.sql)
    ends = PART.of(sql)
    known = [most for most in declared if most is not None]
    said = min(known) if known else None
    return said if ends is None else min(ends, said) if said is not None else ends


def unique_places(columns: Sequence[tuple[str, Value]], scope: BlockScope) -> tuple[frozenset[int], ...]:
    """The places of columns that are, together, a key of the one source of a select list."""
    if len(scope.sources) != 1:
        return ()
    (source,) = scope.sources
    places = {(value.sql.text("table"), value.sql.name): place for place, (_, value) in enumerate(columns)}
    found: list[frozenset[int]] = []
    for key in (*(frozenset({name}) for name in source.unique_columns), *source.unique_keys):
        own = [source.fields[name].sql for name in key if name in source.fields]
        at = [places.get((sql.text("table"), sql.name)) for sql in own if isinstance(sql, exp.Column)]
        known = frozenset(place for place in at if place is not None)
        if len(known) == len(key):
            found.append(known)
    return tuple(found)


def output_names(select: exp.Select, scope: BlockScope) -> list[str]:
    """The names of the columns of a select list, in order."""
    names: list[str] = []
    for item in select.expressions:
        star, table = star_of(item)
        names += [name for _, name in scope.star(table)] if star else [output_name(item)]
    return names


def of_units(
    grouped: Grouped, block: SelectRows, alias: str, catalog: Catalog, dialect: Dialect, *, said: str = ""
) -> Source:
    """Aggregates whose groups each belong to one person: rows again, owned by that person; or groups of public rows.

    ``said``: that each group is one person's is the word of this aggregate. The groups are made by the person as well.
    """
    of_people(block.bound, "GROUP BY the person")
    rows, owner = exp.Select(**block.rows.args), block.unit  # FROM and WHERE are shared, since trees are not changed
    expressions: list[exp.Expr] = [] if owner is None else [exp.alias_(owner.copy(), UNIT, copy=False)]
    group: list[exp.Expr] = [] if owner is None else [owner.copy()]
    columns: list[tuple[str, Value]] = []
    for number, key in enumerate(grouped.keys):
        expressions.append(exp.alias_(key.value.sql.copy(), key_name(number), copy=False))
        if key.value.sql not in group:
            group.append(key.value.sql.copy())
        column = exp.column(key_name(number), alias)
        value = as_column(key.value, column, Origin(key.value.sql))
        if said and len(grouped.keys) == 1:
            value = replace(value, ways=value.ways | {_key_of_groups(key.value.sql, alias)})
        columns.append((key_name(number), value))
    filters = block.filters
    for number, aggregate in enumerate(grouped.aggregates):
        value = aggregate.of_one_person(block.bound, dialect)
        expressions.append(exp.alias_(value.sql, aggregate_name(number)))
        column, name = exp.column(aggregate_name(number), alias), aggregate_name(number)
        picked = picked_value(aggregate, name, block.filters, value.interval, alone=not group)
        filters += picked.filters
        counts = block.bound.table if aggregate.kind.counts and not aggregate.distinct else ""
        behind = Computed(lacks_of(aggregate, block.bound), counts) if picked.behind is None else picked.behind
        columns.append((name, as_column(value, column, behind)))
    rows.set("expressions", expressions)
    if group:
        rows.set("group", exp.Group(expressions=group))
    one_row = all(key.value.constant or (key.value.unit and not key.value.nullable) for key in grouped.keys)
    bound = ONE if one_row else groups_of_one_person(grouped.keys, block.filters, block.bound, alias, catalog)
    if owner is None:
        bound, one_row = (block.bound if group else ContributionBound(1)), False
    item = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(alias)))
    fields = {name: replace(value, constant=True) if one_row else value for name, value in columns}
    table = grouped.outer.args["from_"].this.name
    determining = frozenset(key_name(number) for number in _determining(grouped.keys, block.scope))
    unit = None if owner is None else exp.column(UNIT, alias)
    return Source(
        table,
        alias,
        item,
        fields,
        owner is not None,
        bound,
        unit=unit,
        unique_keys=(determining,),
        filters=outside(filters, alias),
        said=said or block.said,
    )


def _determining(keys: Sequence[Key], scope: BlockScope) -> list[int]:
    """The places of keys that the others follow from: of columns of one table, its own key."""
    places = list(range(len(keys)))
    columns = [(key.value.sql.text("table"), key.value.sql.name) for key in keys]
    for source in scope.sources:
        own = (*(frozenset({name}) for name in source.unique_columns), *source.unique_keys)
        there = {name for place in places for alias, name in [columns[place]] if alias == source.alias}
        found = next((key for key in own if key <= there), None)
        if found is not None and not source.optional:
            places = [p for p in places if columns[p][0] != source.alias or columns[p][1] in found]
    return places


def _key_of_groups(key: exp.Expr, alias: str) -> OwnerKey:
    """The key that tells groups apart, and so people: by the column of a table, where it is one."""
    behind = variable_behind(key)
    return (
        OwnerKey(alias, key_name(0), null=True)
        if behind is None
        else OwnerKey(behind.table.name, behind.name, null=True)
    )


def _numbers_rows(node: exp.Column, scope: BlockScope) -> bool:
    """Whether a column numbers a unit's rows, and no join has repeated them."""
    source, name = scope.resolve(node)
    return len(scope.sources) == 1 and name in source.numbered


@dataclass(frozen=True, slots=True)
class PickedValue:
    """What is behind the column of an aggregate, None where nothing is known; and ``filters`` that hold of it."""

    behind: Origin | None = None
    filters: tuple[Value, ...] = ()


def picked_value(
    aggregate: Aggregate, name: str, filters: Sequence[Value], interval: Interval | None, *, alone: bool
) -> PickedValue:
    """The argument of an aggregate over the variables of the row that it was picked from, called after ``name``.

    ``filters`` hold on every row, and the aggregate's value lies in the ``interval``. ``alone``: no GROUP BY, so
    that the aggregate may read no row at all.
    """
    argument = aggregate.argument
    if argument is None or not aggregate.kind.own_value or argument.randomized is not None or argument.type.nested:
        return PickedValue()
    optional = alone or aggregate.condition is not None
    if not _is_of_rows(argument.sql) or (optional and variable_behind(argument.sql) is None):
        return PickedValue()
    own_row = _of_own_row(argument.sql, name, optional=optional)
    behind = Origin(own_row)
    if optional:
        if isinstance(column := BEHIND.of(own_row), Variable):
            BEHIND.on(own_row, within(column, interval))
        return PickedValue(behind)
    own = (replace(one, sql=_of_own_row(one.sql, name)) for one in _about(argument.sql, filters))
    return PickedValue(behind, tuple(own))


def _about(sql: exp.Expr, filters: Sequence[Value]) -> Iterator[Value]:
    """The conditions that say something of an expression: those that read one of its variables, or are tied to it."""
    reads, left = set(_variables(sql, ())), [(one, set(_variables(one.sql, ()))) for one in filters]
    while near := [pair for pair in left if pair[1] & reads]:
        left = [pair for pair in left if not pair[1] & reads]
        for condition, variables in near:
            reads |= variables
            yield condition


def _is_of_rows(sql: exp.Expr) -> bool:
    """Whether an expression is one over declared columns alone, through subqueries."""
    behind = BEHIND.of(sql)
    if isinstance(behind, Variable):
        return True
    if isinstance(behind, Origin):
        return _is_of_rows(behind.sql)
    if behind is not None or isinstance(sql, exp.Column | exp.Query | exp.AggFunc | exp.Window):
        return False
    return all(_is_of_rows(child) for child in sql.iter_expressions())


def _variables(sql: exp.Expr, path: Path) -> Iterator[Variable]:
    behind = BEHIND.of(sql)
    if isinstance(behind, Variable):
        yield named(behind, path)
    elif isinstance(behind, Origin):
        yield from _variables(behind.sql, (*path, sql.text("table")))
    else:
        for child in sql.iter_expressions():
            yield from _variables(child, path)


def _of_own_row(sql: exp.Expr, name: str, *, optional: bool = False) -> exp.Expr:
    """A copy of an expression over variables of its own. The copy is only read, and never part of an engine's SQL.

    ``optional``: the expression is a column, and may be NULL where the column is not.
    """
    copy = sql.copy()
    for node in list(copy.walk()):
        behind = BEHIND.of(node)
        if isinstance(behind, Variable):
            own = replace(behind, alias=f"{behind.alias}{name}", optional=behind.optional or optional, picked=True)
            BEHIND.on(node, own)
        elif isinstance(behind, Origin):
            BEHIND.on(node, Origin(_of_own_row(behind.sql, name, optional=optional)))
    return copy


def groups_of_several(
    grouped: Grouped, block: SelectRows, alias: str, catalog: Catalog, dialect: Dialect
) -> Source | None:
    """The groups of one table's rows as rows that nobody owns; None where a person has no bounded number of them."""
    sources = block.scope.sources
    if len(sources) != 1 or not grouped.keys or block.reported or not is_bounded(sources[0]):
        return None
    limited = limited_rows(sources[0], catalog, dialect)
    if limited is None:
        return None
    rows = exp.Select(**{**block.rows.args, "from_": exp.From(this=limited)})
    people = replace(block, rows=rows, unit=None, bound=ContributionBound(), everybody=None)
    source = of_units(grouped, people, alias, catalog, dialect)
    alone = len(grouped.keys) == 1
    columns: list[exp.Expr] = [exp.column(key_name(place), alias) for place in range(len(grouped.keys))]
    named = {aggregate_name(place) for place, one in enumerate(grouped.aggregates) if _is_of_group(one)}
    fields = {
        name: replace(value.unowned(), constant=False, named=name in named) for name, value in source.fields.items()
    }
    if alone:
        tells = frozenset({OwnerKey(alias, key_name(0), null=True)})
        fields[key_name(0)] = replace(fields[key_name(0)], constant=True, keys=tells)
    return replace(
        source,
        private=True,
        unit=columns[0] if alone else exp.Tuple(expressions=columns),
        bound=replace(ONE, shared=SharedUnits(((sources[0].table_name, sources[0].bound.rows or 1, 2),), grouped=True)),
        fields=fields,
        unique_keys=(),
        said="",
    )


def _is_of_group(one: Aggregate) -> bool:
    """Whether an aggregate is the key of somebody who is in the group: the sum of two keys is a third person's."""
    return issubclass(one.kind.node, exp.Min | exp.Max) and one.argument is not None and one.argument.unit
