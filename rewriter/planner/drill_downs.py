"""Drill-downs: what a release measures, as sums of cells of a release over more rows.

After ``GROUP BY state, sex``, the groups of ``WHERE state = 's1' GROUP BY sex`` are cells of what is known. A condition
may be left out of the rows, and asked of the cells instead, where

- it reads nothing but declared columns, so that all rows of a cell that has these columns among its keys satisfy it or
  none does;
- either a unit has one row, or the condition is the same on every row of a unit. Then the rows that it leaves of a unit
  are none or all of them, and the unit is clipped in the wider release as it is here, integer for integer
  (:mod:`rewriter.planner.lineage` names the two alike only where everything else about clipping is equal as well);
- every row that satisfies it has declared values of these columns, by proof: no such row is outside of all cells.

What varies within a person, such as the department of a visit, is left out only where a workload measures rows with
others: there one factor clips a person in all groupings (:mod:`rewriter.planner.joint_rows`), and each row is in one
cell of the crossing of all attributes, so that a person moves it by as many rows as a person may have, whichever
attributes vary. Anywhere else, who is clipped over all departments counts with less in each of them than who is clipped
in one. A condition on a time is left out there only where no table bounds rows in spans of time: it would bound them by
the spans that it touches.

A FILTER that all aggregates share is such a condition, too; of several FILTERs each is, of its own aggregates, and of
those that a sum (``COUNT(*) FILTER (WHERE a) - COUNT(*) FILTER (WHERE b)``) or a share (``AVG(CASE WHEN a THEN 1 ELSE 0
END)``) is made of. And a key that is computed of such columns (``CASE WHEN state IN ('s1', 's2') THEN …``) is a coarser
one: each of its groups is the sum of the cells whose columns give its value, where a unit has one row.

A workload names the cuts between which all of its conditions on a number are the same. There the interval of the number
takes the place of its declared values, as a key of which every row has a value by proof
(:mod:`rewriter.planner.intervals`). So it does for a key of which rows may have undeclared values, such as a month: its
groups are sums of intervals within the declared range. A list of texts has one more value there, for all others
(:mod:`rewriter.planner.celled_keys`). Rows of undeclared values are in cells that no group is made of, and every total
has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import combinations

from sqlglot import exp

from rewriter.columns import BEHIND, Variable
from rewriter.declared import INTEGER, Interval
from rewriter.dialects import Dialect
from rewriter.expressions import Value, both, text_size
from rewriter.keys import key_set
from rewriter.once import once
from rewriter.plan import UNDECLARED, AddedTo, Cuts, DrillDown, KeyColumn, NumberCut, Plan
from rewriter.planner.celled_keys import celled, is_told, listed_by
from rewriter.planner.intervals import (
    MOST_CUTS,
    KeyOfSpans,
    cuts_of,
    interval_of,
    interval_text,
    key_of_spans,
    over_intervals,
)
from rewriter.planner.lineage import key_families
from rewriter.refused import Refused
from rewriter.release import Aggregate, Key, Query, key_name
from rewriter.statement import conjuncts

_MOST = 3
"""So many conditions are left out in every combination; of more, all of them or one alone."""

Named = Callable[[Query], Plan]
"""The same plan, with the families that it has over the rows of another query."""


def may_be_drilled(query: Query) -> bool:
    """Whether it may have ways at all. A plan that has none need not keep its query alive for them."""
    aggregates = [one.within or one for one in query.aggregates]
    filtered = bool(aggregates) and all(one.condition is not None for one in aggregates)
    computed = bool(_computed(query)) or any(map(_may_be_opened, query.keys))
    return filtered or computed or any(_separable(condition, query) for condition in query.filters)


def has_conditions(query: Query) -> bool:
    """Whether there are conditions on rows, or on what aggregates are made of."""
    return bool(query.filters) or any(condition is not None for condition, _ in _conditions(query))


def drill_downs(
    query: Query, named: Named, dialect: Dialect, planned: Named, cuts: Cuts | None = None
) -> Iterator[DrillDown]:
    """The ways to have a release from one over more rows; ``planned`` is the plan of another query. Where there are
    ``cuts``, first the ways by intervals of numbers."""
    known = [place for place, condition in enumerate(query.filters) if _separable(condition, query)]
    sizes = range(len(known), 0, -1) if len(known) <= _MOST else (len(known), 1)
    computed, opened = _computed(query), {} if cuts is None else _opened(query, dialect)
    for size in (*sizes, 0) if computed or opened else sizes:
        for places in combinations(known, size):
            for coarse in (computed, {}) if computed and size else (computed,):
                over = None
                if cuts is not None and (places or coarse or opened):
                    over = _drill_down(query, places, coarse, opened, named, dialect, planned, cuts)
                if over is not None:
                    yield over
                plain = None
                if places or coarse:
                    plain = _plain_way(query, named, dialect, planned, len(coarse), *places)
                if plain is not None:
                    yield plain


@once
def _plain_way(
    query: Query, named: Named, dialect: Dialect, planned: Named, computed: int, *places: int
) -> DrillDown | None:
    """The way without intervals, which is the same object whatever the cuts are: what is planned over it is planned
    once."""
    return _drill_down(query, places, _computed(query) if computed else {}, {}, named, dialect, planned, None)


def without_filter(query: Query) -> Query | None:
    """The same numbers of the rows that a FILTER leaves, where it is one that all aggregates share; None else."""
    asked = [one.within or one for one in query.aggregates]
    tests = {None if one.condition is None else one.condition.sql: one.condition for one in asked}
    condition = next(iter(tests.values()), None)
    if len(tests) != 1 or condition is None or not _may_be_left_out(condition, query):
        return None
    return _of_rows_left(query, condition, [replace(one, condition=None) for one in asked])


@dataclass(frozen=True, slots=True)
class QueryApart:
    """Some of what the aggregates of a query are made of: as aggregates of the ``rows_left`` by a FILTER, and with the
    FILTER, ``filtered``, of all rows. ``uses`` says of each where it is added."""

    rows_left: Query
    filtered: Query
    uses: tuple[tuple[AddedTo, ...], ...]


def by_conditions(query: Query) -> tuple[QueryApart, ...]:
    """What the aggregates are made of, for each FILTER, where there are FILTERs that may all be left out; else the
    query itself, with a FILTER in the place of the conditions that may be left out; or nothing."""
    found = _conditions(query)
    if not any(condition is not None for condition, _ in found):
        return _with_filter(query)
    if not all(condition is None or _may_be_left_out(condition, query) for condition, _ in found):
        return ()
    apart = []
    for condition, some in found:
        known: dict[tuple[object, ...], tuple[Aggregate, list[AddedTo]]] = {}
        for one, use in some:
            plain = one.is_plain and not one.kind.picks
            values = (value if value is None else value.sql for value in (one.argument, one.second, *one.row))
            measured = (one.kind, one.distinct, *values, None if plain else id(one))
            known.setdefault(measured, (one, []))[1].append(use)
        own = tuple(one for one, _ in known.values())
        left = _of_rows_left(query, condition, [replace(one, condition=None) for one in own])
        filtered = replace(query, aggregates=own, asked_by=())
        apart.append(QueryApart(left, filtered, tuple(tuple(uses) for _, uses in known.values())))
    return tuple(apart)


def _with_filter(query: Query) -> tuple[QueryApart, ...]:
    left_out = [one for one in query.filters if _separable(one, query) and (query.bound.unique or one.constant)]
    if not left_out:
        return ()
    condition = reduce(both, left_out, None)
    aggregates = tuple(replace(one.within or one, condition=condition) for one in query.aggregates)
    kept = tuple(one for one in query.filters if one not in left_out)
    filtered = replace(query, rows=_without(query.rows, left_out), filters=kept, aggregates=aggregates, asked_by=())
    return (QueryApart(query, filtered, tuple((AddedTo(place),) for place in range(len(aggregates)))),)


def _conditions(query: Query) -> list[tuple[Value | None, list[tuple[Aggregate, AddedTo]]]]:
    """The different FILTERs of what aggregates are made of, each with those that have it; None for none."""
    found: dict[exp.Expr | None, tuple[Value | None, list[tuple[Aggregate, AddedTo]]]] = {}
    for place, aggregate in enumerate(query.aggregates):
        for one, use in _made_of(aggregate.within or aggregate, place):
            key = None if one.condition is None else one.condition.sql
            found.setdefault(key, (one.condition, []))[1].append((one, use))
    return list(found.values())


def _made_of(aggregate: Aggregate, place: int) -> list[tuple[Aggregate, AddedTo]]:
    if not aggregate.terms:
        return [(aggregate, AddedTo(place))]
    terms = ((term.aggregate.within or term.aggregate, term) for term in aggregate.terms)
    return [(one, AddedTo(place, term.weight, term.rows)) for one, term in terms]


def _of_rows_left(query: Query, condition: Value | None, aggregates: Sequence[Aggregate]) -> Query:
    """These aggregates of the rows that a FILTER leaves."""
    rows, filters = query.rows, query.filters
    if condition is not None:
        rows, where = query.rows.copy(), query.rows.args.get("where")
        tests = [condition.sql.copy(), *(() if where is None else (where.this.copy(),))]
        rows.set("where", exp.Where(this=exp.and_(*tests, copy=False)))
        filters = (condition, *query.filters)
    return replace(query, rows=rows, filters=filters, aggregates=tuple(aggregates), asked_by=())


def renamed(ways: Iterable[DrillDown], theirs: Plan, plan: Plan) -> Iterator[DrillDown]:
    """The ways to have the statistics of one plan as ways to those of another one, where both measure the same in the
    same way."""
    summed = all(one.estimator.as_sum is not None for one in plan.outputs)
    if not summed or _measured_like(theirs) != _measured_like(plan):
        return
    names = {one.name: other.name for one, other in zip(theirs.statistics, plan.statistics, strict=True)}
    for way in ways:
        yield replace(way, statistics={names[name]: family for name, family in way.statistics.items()})


def _measured_like(plan: Plan) -> object:
    """All that says what the integers of a plan are, and how people are clipped, but for the words of the statement."""
    places = {one.name: f"s{place}" for place, one in enumerate(plan.statistics)}
    blocks = [
        (
            [(places[one.name], one.granularity, one.bound) for one in block.statistics],
            (block.sensitivity, block.prefix, block.weight),
        )
        for block in plan.blocks
    ]
    sums = [one.estimator.as_sum for one in plan.outputs]
    terms = [None if one is None else [(places[name], weight) for name, weight in one.terms] for one in sums]
    return blocks, terms, [key.type for key in plan.keys]


def _separable(condition: Value, query: Query) -> bool:
    """Whether it is a condition that may be left out, and stands in WHERE."""
    where = query.rows.args.get("where")
    if where is None or not _may_be_left_out(condition, query):
        return False
    return set(conjuncts(condition.sql)) <= set(conjuncts(where.this))


def _may_be_left_out(condition: Value, query: Query) -> bool:
    """Whether it is a condition on declared columns that keeps all rows of a unit or none; or one that bounds no rows
    by the time that it touches, where one factor clips a unit in all groupings of its rows."""
    columns = _columns(condition.sql)
    if not columns or query.bound.unique or condition.constant:
        return bool(columns)
    timeless = not any(variable.column.type.temporal for variable in columns)
    return query.joined and (timeless or not _is_bounded_in_spans(query))


def _is_bounded_in_spans(query: Query) -> bool:
    """Whether a table that the rows are made of has bounds in spans of time."""
    behind = (BEHIND.of(node) for node in query.rows.walk())
    return any(isinstance(one, Variable) and one.table.spans is not None for one in behind)


OpenKey = Variable | KeyOfSpans
"""What a key of which rows may have undeclared values is computed of: a listed column with one more value, or the
intervals between the cuts of a key."""


def _opened(query: Query, dialect: Dialect) -> Mapping[int, OpenKey]:
    """The places of keys that rows may have undeclared values of, and are computed of an attribute that has a value for
    every row."""
    if not any(map(_may_be_opened, query.keys)) or not (query.bound.unique or query.joined):
        return {}
    try:
        public = key_set(query.keys, query.filters, dialect).public
    except Refused:
        return {}
    if public is None:
        return {}
    closed = zip(query.keys, public.closed, strict=True)
    known = {place: _open_key(key) for place, (key, is_closed) in enumerate(closed) if not is_closed}
    return {place: found for place, found in known.items() if found is not None}


def _may_be_opened(key: Key) -> bool:
    return key.declared is None and _open_key(key) is not None


def _open_key(key: Key) -> OpenKey | None:
    return listed_by(key) or key_of_spans(key.value.sql)


def _computed(query: Query) -> dict[int, Mapping[Variable, exp.Expr]]:
    """The places of keys that are computed of declared columns alone, with these, where a unit has one row."""
    if not query.bound.unique:
        return {}
    found = {place: _columns(key.value.sql) for place, key in enumerate(query.keys)}
    plain = {place for place, key in enumerate(query.keys) if isinstance(BEHIND.of(key.value.sql), Variable)}
    return {place: columns for place, columns in found.items() if columns and place not in plain}


def _columns(node: exp.Expr) -> Mapping[Variable, exp.Expr]:
    """The declared columns that a condition reads; none where it reads anything else."""
    found: dict[Variable, exp.Expr] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        behind = BEHIND.of(current)
        if isinstance(behind, Variable):
            found.setdefault(behind, current)
        elif behind is not None or isinstance(current, exp.Column | exp.Query | exp.AggFunc | exp.Window):
            return {}
        else:
            stack += list(current.iter_expressions())
    return found


def _drill_down(
    query: Query,
    places: Sequence[int],
    computed: Mapping[int, Mapping[Variable, exp.Expr]],
    opened: Mapping[int, OpenKey],
    named: Named,
    dialect: Dialect,
    planned: Named,
    cuts: Cuts | None,
) -> DrillDown | None:
    """The way over the rows without the conditions at some places; with ``cuts``, by intervals of the numbers that
    these and ``opened`` keys read, and by listed columns with one more value."""
    left_out = [query.filters[place] for place in places]
    coarse = {**computed, **{place: _columns(query.keys[place].value.sql) for place in opened if place not in computed}}
    columns: dict[Variable, exp.Expr] = {}
    for behind in (*(_columns(condition.sql) for condition in left_out), *coarse.values()):
        columns |= behind
    plain = [key for place, key in enumerate(query.keys) if place not in coarse]
    # What is constant within a unit by proof is what decides how the unit is clipped.
    same = {one for condition in left_out if condition.constant for one in _columns(condition.sql)}
    plainly = [(place, one) for place, one in opened.items() if isinstance(one, Variable)]
    same |= {one for place, one in plainly if query.keys[place].value.constant}

    def _key_of(one: Variable) -> Key:
        return _key(one, columns[one], constant=query.bound.unique or one in same)

    listed_keys = {one: _key_of(one) for one in columns}
    kept = tuple(one for place, one in enumerate(query.filters) if place not in places)
    wider = replace(query, rows=_without(query.rows, left_out), filters=kept)
    divided: dict[Variable, tuple[NumberCut, ...]] = {}
    divisions: dict[str, tuple[NumberCut, ...]] = {}
    asked = [*(one.sql for one in left_out), *(query.keys[place].value.sql for place in coarse if place not in opened)]
    if cuts is not None:
        spans = [one for one in opened.values() if isinstance(one, KeyOfSpans)]
        own_cuts = {one: some for one, some in cuts_of(exp.Tuple(expressions=asked)).items() if one in columns}
        if any(one.variable in _read(asked) and one.variable not in own_cuts for one in spans):
            return None
        for span in spans:
            own_cuts[span.variable] = own_cuts.get(span.variable, frozenset()).union(span.cuts)
        families = key_families(replace(wider, keys=tuple(listed_keys[one] for one in own_cuts)), dialect)
        for (one, some), family in zip(own_cuts.items(), families, strict=True):
            divisions[family] = divided[one] = tuple(sorted(some.union(cuts.get(family, ()))))
            listed_keys[one] = _interval(_key_of(one), one, divided[one], dialect)
        if any(len(some) > MOST_CUTS for some in divided.values()):
            return None
    keys = (*plain, *listed_keys.values())
    try:
        public = key_set(keys, query.filters, dialect).public
        if public is not None and cuts is not None:
            flags = dict(zip(listed_keys, public.closed[len(plain) :], strict=True))
            with_cells = {
                one for one, is_closed in flags.items() if not is_closed and _has_cell(one, listed_keys[one], asked)
            }
            if not divided and not with_cells:
                return None
            if with_cells:
                listed_keys |= {
                    one: replace(celled(listed_keys[one], one, dialect), declared=None) for one in with_cells
                }
                keys = (*plain, *listed_keys.values())
                public = key_set(keys, query.filters, dialect).public
    except Refused:
        return None
    if public is None or not all(public.closed[len(plain) :]):
        return None
    plan = named(wider)
    every = (*query.keys, *keys[len(plain) :])
    families = key_families(replace(wider, keys=every), dialect)
    listed = [
        KeyColumn(f"c{place}", key.value.type, key.text, family)
        for place, (key, family) in enumerate(zip(every, families, strict=True))
    ]
    names = {variable: key_name(len(plain) + place) for place, variable in enumerate(columns)}
    at = {variable: name for variable, name in names.items() if variable not in divided}
    intervals = {variable: (names[variable], some) for variable, some in divided.items()}

    def over_keys(tree: exp.Expr) -> exp.Expr:
        return _over_keys(dialect.spelt(over_intervals(tree, intervals, dialect) if intervals else tree), at)

    own = iter(map(key_name, range(len(keys))))
    shown = [
        dialect.cast(over_keys(key.value.sql), key.value.type) if place in coarse else exp.column(next(own))
        for place, key in enumerate(every)
    ]
    tests = [over_keys(one.sql) for one in left_out]
    for place, key in opened.items():
        if isinstance(key, KeyOfSpans):
            column, test = names[key.variable], key.within(names[key.variable], divided[key.variable])
        else:
            column, test = names[key], _declared(names[key])
        missing = exp.Is(this=exp.column(column), expression=exp.Null())
        tests.append(
            exp.Paren(this=exp.Or(this=missing, expression=test)) if query.keys[place].value.nullable else test
        )
    named_columns = [exp.alias_(one, column.name) for one, column in zip(shown, listed, strict=True)]
    cells = exp.Select(expressions=named_columns).from_(
        exp.Subquery(this=public.sql.copy(), alias=exp.TableAlias(this=exp.to_identifier("cells"))), copy=False
    )
    if tests:
        cells.set("where", exp.Where(this=exp.and_(*tests, copy=False)))
    statistics = {one.name: one.family for one in plan.statistics if one.family}
    listing = Plan(dialect.sql(cells), dialect.name, tuple(listed), (), (), None, public.cells)

    of_interval = {families[len(query.keys) + place]: one for place, one in enumerate(columns) if one in divided}

    def whole(merged: Mapping[str, Sequence[int]] | None = None) -> Plan | None:
        # Where a unit has one row, whatever its row holds is constant within the unit.
        if not query.bound.unique and not query.joined:
            return None
        blocks = {of_interval[family]: some for family, some in (merged or {}).items()}
        own = {one: _interval(_key_of(one), one, divided[one], dialect, some) for one, some in blocks.items()}
        every_key = (*plain, *(listed_keys | own).values())
        try:
            return planned(replace(wider, keys=every_key, presences=(), ranked=None, cumulative=None))
        except Refused:
            return None

    left = [*(condition.constant for condition in left_out), *(query.keys[place].value.constant for place in opened)]
    narrows = query.joined and not all(left)
    counts = {family: len(divided[one]) + 1 for family, one in of_interval.items()}
    return DrillDown(
        statistics,
        len(query.keys),
        listing,
        whole,
        frozenset(coarse),
        query.joined,
        narrows,
        divisions,
        counts,
        frozenset(opened),
    )


def _read(trees: Sequence[exp.Expr]) -> frozenset[Variable]:
    return frozenset(one for tree in trees for one in _columns(tree))


def _has_cell(variable: Variable, key: Key, asked: Sequence[exp.Expr]) -> bool:
    """Whether a column may have a cell for its undeclared values: whatever is asked of it compares it with others."""
    return listed_by(key) is not None and all(is_told(tree, variable) for tree in asked if variable in _read([tree]))


def _declared(column: str) -> exp.Expr:
    """Whether a listed column with one more value has another one."""
    return exp.NEQ(this=exp.column(column), expression=exp.Literal.string(UNDECLARED))


def _key(variable: Variable, node: exp.Expr, *, constant: bool) -> Key:
    column = variable.column
    value = Value(
        node.copy(),
        column.type,
        interval=column.interval,
        nullable=True,
        constant=constant,
        domain=None,
        size=text_size(column.type),
    )
    return Key(value, variable.name)


def _interval(
    key: Key, variable: Variable, cuts: Sequence[NumberCut], dialect: Dialect, blocks: Sequence[int] | None = None
) -> Key:
    """The interval of a number as a key, in the place of the number; or its block, which a missing number has, too."""
    sql = interval_of(variable, key.value.sql, cuts, dialect, blocks)
    limits = (0, len(cuts) if blocks is None else max(blocks))
    value = Value(
        sql,
        INTEGER,
        interval=Interval(*map(Fraction, limits)),
        nullable=blocks is None,
        constant=key.value.constant,
        domain=None,
        limits=limits,
    )
    return Key(value, interval_text(variable, cuts, blocks))


def _over_keys(node: exp.Expr, at: Mapping[Variable, str]) -> exp.Expr:
    """A condition over the columns of a list of cells."""
    behind = BEHIND.of(node)
    if isinstance(behind, Variable):
        return exp.column(at[behind])
    copy = node.copy()
    for child in list(copy.iter_expressions()):
        child.replace(_over_keys(child, at))
    return copy


def _without(rows: exp.Select, left_out: Sequence[Value]) -> exp.Select:
    """The rows, without conditions of their WHERE."""
    if not left_out:
        return rows
    wider, gone = rows.copy(), {part for one in left_out for part in conjuncts(one.sql)}
    tests = [part.copy() for part in conjuncts(rows.args["where"].this) if part not in gone]
    wider.set("where", exp.Where(this=exp.and_(*tests, copy=False)) if tests else None)
    return wider
