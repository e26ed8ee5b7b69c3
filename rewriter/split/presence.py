"""Which groups of a release act as rows, as far as released numbers tell.

A public key set has groups that nobody is in. SQL has no row for them. A reader is shown all of them, but for the ends
of ordered keys that neighbouring groups show to be empty, and a NULL that no owner listed
(:mod:`dpsql.finish.present_groups`): a group that was left
out, or shown, because of its own noise would make all numbers shown too high. A SELECT above a release may depend on
which rows there are: LIMIT, joins, DISTINCT, IN, averages and counts over groups, windows over neighbours. It reads the
groups with rows where released numbers make clear which these are, and else those that a reader is shown. The number of
all groups, and means over them, are estimated of the released numbers together, which tell better how many groups have
rows than which (:mod:`dpsql.inference.shown_groups`). Sums and running sums are taken over all groups: a group that is
dropped would be missing in them, and an empty group adds nothing but noise around 0.

Text and policy alone decide under which condition each release's table is read, and whether its number of rows has to
be measured for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlglot import exp

from rewriter.aggregates import AVG, COUNT_OF_ROWS, SUM, function_of
from rewriter.dialects import Dialect, named_table
from rewriter.keys import public_keys
from rewriter.release import (
    COUNTED_GROUPS,
    Aggregate,
    KeptGroups,
    Presence,
    Query,
    ReleaseColumn,
    RunningSums,
    aggregate_name,
    group_mean_name,
    key_name,
    mark_name,
    release_name,
)
from rewriter.split.largest_groups import groups_wanted
from rewriter.split.surely_present import EVERY_GROUP
from rewriter.statement import (
    alias_columns,
    folded,
    from_items,
    grouped_item,
    is_grouped,
    output_name,
    unaliased,
    unparenthesised,
    walk,
)

_LARGEST = 500
"""Syntax nodes of a column that is followed upwards."""

_Columns = Mapping[str, exp.Expr | None]
"""What the columns of a query are, over the columns of the release; None where that is not followed."""


class Empty(StrEnum):
    """Whether groups that nobody may be in are shown."""

    AUTO = "auto"
    SHOW = "show"
    HIDE = "hide"


def with_presence(
    releases: Sequence[Query], outer: exp.Query, running: RunningSums, dialect: Dialect, empty: Empty, rows: int
) -> tuple[tuple[Query, ...], exp.Query]:
    """The releases, with a number of rows where one is needed, and the outer SELECT over the groups that act as rows.

    Of more than ``rows`` groups, not all are shown. ``running`` are the windows that are sums over all groups of a
    release. Changes ``outer``.
    """
    if empty is Empty.SHOW:
        return tuple(releases), outer
    known = [_declared(query, dialect) for query in releases]
    cells = sum(one.cells for one in known if one is not None)
    reader = _Reader(outer, {release_name(n) for n, query in enumerate(releases) if query.keys}, cells, running)
    found: list[Query] = []
    for number, (query, declared) in enumerate(zip(releases, known, strict=True)):
        tables = reader.tables(release_name(number)) if declared is not None else []
        if query.blocks and any(isinstance(table.parent, exp.Join) for table in tables):
            tables = []  # The groups of the release of people that it is joined with are read, and no others.
        read: dict[Presence, None] = {}
        for table in tables:
            if query.cumulative is not None:
                # A number of rows that nobody asked for would take from the sums.
                asked = empty is Empty.AUTO and any(_counts_rows(one) for one in query.aggregates)
                presence = _needed(reader.ended(table, query), declared, empty, rows) if asked else None
            else:
                presence = _needed(reader.presence(table, query), declared, empty, rows)
            if presence is not None:
                _keep(table, presence, reader.after)
                if presence.kept is KeptGroups.COUNTED:
                    for counting in reader.counting:
                        counting.write(release_name(number), presence)
                read[presence] = None
        found.append(_counting(query, tuple(read)) if read else query)
    return tuple(found), outer


@dataclass(frozen=True, slots=True)
class _Declared:
    """The declared groups of a release, over all of its grouping sets: how many, whether a key of them is ordered, and
    whether one may be NULL though no owner listed that."""

    cells: int
    ordered: bool
    may_lack: bool


def _declared(query: Query, dialect: Dialect) -> _Declared | None:
    """None where all groups are selected, which is evidence by itself, or where there is one group."""
    sets = [one for one in query.groupings if one.keys] if not query.others else []
    listed = [(one.keys, public_keys(one.keys, one.filters, dialect)) for one in sets]
    public = [(keys, one) for keys, one in listed if one is not None]
    if not public:
        return None
    may_lack = any(any(one.may_lack(keys)) for keys, one in public)
    cells = sum(one.cells for _, one in public)
    return _Declared(cells, any(any(one.ordered) for _, one in public), may_lack)


def _needed(presence: Presence | None, declared: _Declared | None, empty: Empty, rows: int) -> Presence | None:
    """None where every group may be read."""
    if presence is None or declared is None:
        return None
    if empty is Empty.HIDE:
        return replace(presence, kept=KeptGroups.CERTAIN)
    some = declared.ordered or declared.may_lack or declared.cells > rows
    return presence if some or presence.kept is not KeptGroups.SHOWN else None


def _keep(table: exp.Table, presence: Presence, after: exp.Select | None) -> None:
    """Read only those groups of a release: by the WHERE of the SELECT that reads nothing else, or by a subquery; where
    windows of ``after`` are sums over all groups, after these."""
    if after is not None:
        name, between = table.alias_or_name, table.parent_select
        while between is not None and between is not after:
            between.append("expressions", exp.column(presence.column, name))
            within = between.parent
            if not isinstance(within, exp.Subquery):
                raise AssertionError("what is between is a subquery of FROM")
            name, between = within.alias_or_name, within.parent_select
        after.set("qualify", exp.Qualify(this=exp.column(presence.column, name)))
        return
    select = table.parent.parent if isinstance(table.parent, exp.From) else None
    if isinstance(select, exp.Select) and not select.args.get("joins"):
        test: exp.Expr = exp.column(presence.column, table.alias_or_name)
        where = select.args.get("where")
        if where is not None:
            test = exp.and_(where.this, test, copy=False)
        select.set("where", exp.Where(this=test))
        return
    rows = exp.Select(expressions=[exp.Star()]).from_(named_table(table.name), copy=False)
    rows.set("where", exp.Where(this=exp.column(presence.column, table.name)))
    table.replace(exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(table.alias_or_name))))


# How the number of rows is known


def _counting(query: Query, read: tuple[Presence, ...]) -> Query:
    """The release, with the place of an aggregate that is above 0 just where a group has rows: one that was asked for,
    or one more."""
    ranked = query.ranked if query.ranked is not None and query.ranked.descending else None
    place = next((at for at, one in enumerate(query.aggregates) if _counts_rows(one)), None)
    if place is not None:
        return replace(query, presences=read, counted=place, ranked=ranked)
    return replace(
        query,
        aggregates=(*query.aggregates, COUNT_OF_ROWS),
        presences=read,
        counted=len(query.aggregates),
        bought=True,
        ranked=ranked,
    )


def _counts_rows(one: Aggregate) -> bool:
    """Whether every row of a group is counted: alone, or as one of its person's."""
    if not one.kind.counts or one.condition is not None or one.within is not None or one.row or one.decides:
        return False
    if one.argument is None:
        return not one.distinct
    return not one.argument.nullable and (one.argument.unit or not one.distinct)


# Who reads the rows, and for what


class _Reader:
    """Follows the rows of a release up through subqueries, WITH queries and UNION ALL."""

    def __init__(self, outer: exp.Query, keyed: set[str], cells: int, running: RunningSums) -> None:
        self._outer = outer
        self._running = {id(window) for window, _ in running}
        self.after: exp.Select | None = None
        """The SELECT whose windows are sums over all groups, and which of these rows are shown is said after them."""
        self._keyed = keyed
        self._cells = cells
        self.counting: list[_Counting] = []
        """The SELECTs that count the groups of the table last followed, or average over them."""

    def tables(self, name: str) -> list[exp.Table]:
        found = self._outer.find_all(exp.Table)
        return [table for table in found if table.name == name and table.alias != EVERY_GROUP]

    def ended(self, table: exp.Table, query: Query) -> Presence | None:
        """The groups that are shown beside running sums of a release; None for all of them. They are told after the
        sums, in the first SELECT above with windows, which reads nothing else and has no windows of another kind."""
        self.after = None
        select = table.parent_select
        while isinstance(select, exp.Select):
            windows = [window for part in _parts(select) for window in part.find_all(exp.Window)]
            cuts = ("joins", "laterals", "having", "qualify", "distinct", "group", "windows", "where")
            if any(select.args.get(part) for part in cuts) or any(item.is_star for item in select.expressions):
                return None
            if windows:
                if not all(id(window) in self._running for window in windows):
                    return None
                self.after = select
                return Presence(tuple(range(len(query.keys))), KeptGroups.SHOWN)
            within = select.parent
            if select.args.get("limit") or select.args.get("offset") or not isinstance(within, exp.Subquery):
                return None
            if not within.alias or within.alias_column_names or not isinstance(within.parent, exp.From):
                return None
            select = within.parent_select
        return None

    def presence(self, table: exp.Table, query: Query) -> Presence | None:
        """The groups that may be read of a release's table; None for all of them."""
        self.after = None
        every = Presence(tuple(range(len(query.keys))), KeptGroups.SHOWN)
        names = [named(place) for named in (key_name, mark_name) for place in range(len(query.keys))]
        names += [aggregate_name(place) for place in range(len(query.aggregates))]
        columns: _Columns = {name: exp.column(name) for name in names}
        self.counting = []
        # Of groups that are told apart, which ones are there is known of each set alone.
        plain = not query.sets and not query.others and not query.blocks
        sums = frozenset(
            aggregate_name(n) for n, one in enumerate(query.aggregates) if one.kind.adds_up and not one.distinct
        )
        numbers = frozenset(aggregate_name(n) for n, one in enumerate(query.aggregates) if one.kind.adds_up)
        found = self._item(table, _Rows(every, columns, sums, numbers, plain=plain))
        if found is None or not query.sets:
            return found
        # Each row of several grouping sets has a number of its own.
        return replace(found, places=every.places)

    def _item(self, item: exp.Expr, rows: _Rows) -> Presence | None:
        """Rows that an item of FROM has."""
        from_ = item.parent
        select = from_.parent if isinstance(from_, exp.From | exp.Join) else None
        if not isinstance(select, exp.Select):
            return rows.there
        others = [other for other in from_items(select) if other is not item]
        rows = replace(rows, plain=rows.plain and not others and _is_plain(select))
        if any(self._has_groups(other) for other in others) or _asks_for_presence(select, item):
            return rows.there
        return self._select(select, rows.named(_aliases(item), item.alias_or_name))

    def _select(self, select: exp.Select, rows: _Rows) -> Presence | None:
        windows = [window for part in _parts(select) for window in part.find_all(exp.Window)]
        if not all(function_of(window.this) == SUM and rows.is_number(window.this.this) for window in windows):
            return rows.there
        if any(window.args.get("order") is not None or window.args.get("alias") is not None for window in windows):
            return None
        distinct = select.args.get("distinct") is not None
        if is_grouped(select) and not (distinct and not select.args.get("group") and not _aggregates(select)):
            if rows.plain and (calls := _counted_calls(select, rows)):
                self.counting.append(_Counting(select, calls))
                return replace(rows.presence, kept=KeptGroups.COUNTED)
            rows = replace(rows, plain=False)
            gathered = self._gathered(select, rows)
            if gathered is None or not gathered.presence.places:
                return None if gathered is not None else rows.there
            rows = gathered
        elif distinct:
            return rows.there
        if distinct or self._is_cut(select):
            return rows.there
        return self._upwards(select, rows.shown(_outputs(select, rows)))

    def _gathered(self, select: exp.Select, rows: _Rows) -> _Rows | None:
        """Rows of GROUP BY that are sums of numbers; None where something else is computed of the groups."""
        if not all(function_of(one) == SUM and rows.is_number(one.this) for one in _aggregates(select)):
            return None
        group = select.args.get("group")
        behind: set[int] = set()
        for node in group.expressions if group is not None else ():
            inner = list(node.find_all(exp.Column, exp.Literal)) if _is_sets(node) else [node]
            for key in inner:
                found = rows.behind(grouped_item(key, select))
                columns = [] if found is None else [ReleaseColumn.of(name) for name in found]
                if found is None or any(column is None or column.is_aggregate for column in columns):
                    return None
                behind |= {column.place for column in columns if column is not None}
        places = tuple(sorted(behind))
        return replace(rows, presence=replace(rows.presence, places=places))

    def _upwards(self, query: exp.Expr, rows: _Rows) -> Presence | None:
        """The groups that are read from a query, by the queries around it."""
        parent = query.parent
        while isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.Subquery | exp.SetOperation):
            query, parent = parent, parent.parent
        if query is self._outer or parent is None:
            return rows.presence
        if isinstance(parent, exp.SetOperation):
            whole = isinstance(parent, exp.Union) and not parent.args.get("distinct")
            if not whole or self._is_cut(parent):
                return rows.there
            return self._upwards(parent, rows.shown(_positions(parent, query, rows)))
        if isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.From | exp.Join):
            return self._item(parent, rows)
        if isinstance(parent, exp.CTE):
            rows = rows.named(alias_columns(parent.args["alias"]), "")
            name = parent.args["alias"].name.lower()
            read = [table for table in self._outer.find_all(exp.Table) if table.name.lower() == name]
            return rows.together([self._item(table, rows) for table in read])
        return rows.there

    def _is_cut(self, query: exp.Expr) -> bool:
        """Whether LIMIT may leave rows out: not where there are no more groups than it lets pass."""
        if query.args.get("limit") is None:
            return query.args.get("offset") is not None
        offset = query.args.get("offset")
        passed = offset is not None and offset.expression.name != "0"
        wanted = groups_wanted(query)
        return passed or wanted is None or wanted < self._cells

    def _has_groups(self, item: exp.Expr) -> bool:
        """Whether an item of FROM reads groups of people; what is not known to have one row may."""
        names = {table.name.lower() for table in item.find_all(exp.Table)}
        ctes = [cte for cte in self._outer.find_all(exp.CTE) if cte.args["alias"].name.lower() in names]
        read = names | {table.name.lower() for cte in ctes for table in cte.find_all(exp.Table)}
        return bool(read & self._keyed) or any(cte.find(exp.Table) is not None and len(ctes) > 8 for cte in ctes)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of groups at one level of the outer SELECT: the groups read, their columns, and the numbers that add up
    over groups; ``numbers`` are those that are 0 where nobody is. ``plain``: there is one row for each group of the
    release, and nothing chose among them."""

    presence: Presence
    columns: _Columns
    sums: frozenset[str]
    numbers: frozenset[str] = frozenset()
    alias: str = ""
    plain: bool = False

    @property
    def there(self) -> Presence:
        """The groups that act as rows of a SELECT above."""
        return replace(self.presence, kept=KeptGroups.PRESENT)

    def named(self, names: Sequence[str], alias: str) -> _Rows:
        given = {
            (names[place] if place < len(names) else name): one
            for place, (name, one) in enumerate(self.columns.items())
        }
        return replace(self, columns=given, alias=alias.lower())

    def shown(self, columns: _Columns) -> _Rows:
        return replace(self, columns=columns)

    def together(self, read: Sequence[Presence | None]) -> Presence | None:
        """The groups that serve all readers of a WITH query."""
        asked = [one for one in read if one is not None]
        if not asked:
            return None
        places = tuple(sorted({place for one in asked for place in one.places}))
        kinds = {one.kept for one in asked}
        alike = len(kinds) == 1 and kinds <= {KeptGroups.SHOWN, KeptGroups.COUNTED}
        return Presence(places, kinds.pop() if alike else KeptGroups.PRESENT)

    def written(self, node: exp.Expr) -> exp.Expr | None:
        """An expression over the columns of the release; None where it is made of something else, or too large."""
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            own = column.table.lower() in ("", self.alias)
            found = self.columns.get(folded(column)) if own else None
            if found is None:
                return None
            column.replace(exp.Paren(this=found.copy()))
        small = sum(1 for _ in root.walk()) <= _LARGEST
        return root if small and root.find(exp.Query, exp.AggFunc, exp.Window) is None else None

    def behind(self, node: exp.Expr) -> set[str] | None:
        """The columns of the release that an expression is made of."""
        found = self.written(node)
        return None if found is None else {column.name for column in found.find_all(exp.Column)}

    def is_number(self, node: exp.Expr) -> bool:
        """Whether an expression is a sum of released counts and sums, so that it is 0 where nobody is."""
        found = self.written(node)
        return found is not None and self._adds_up(found)

    def _adds_up(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Column):
            return node.name in self.sums
        if isinstance(node, exp.Paren | exp.Cast | exp.Neg):
            return self._adds_up(node.this)
        if isinstance(node, exp.Add | exp.Sub):
            return self._adds_up(node.this) and self._adds_up(node.expression)
        if isinstance(node, exp.Coalesce):
            return self._adds_up(node.this) and all(one.name == "0" for one in node.expressions)
        if isinstance(node, exp.Mul):
            sides = (node.this, node.expression)
            return any(self._adds_up(one) and _is_literal(other) for one, other in (sides, sides[::-1]))
        return isinstance(node, exp.Div) and self._adds_up(node.this) and _is_literal(node.expression)


@dataclass(frozen=True, slots=True)
class _Counting:
    """A SELECT that counts the groups of a release or averages over all of them, with its aggregates as they are over
    the release's own columns."""

    select: exp.Select
    calls: Sequence[tuple[exp.Expr, exp.Expr]]

    def write(self, table: str, presence: Presence) -> None:
        """Read the release itself in the place of what is between."""
        for call, own in self.calls:
            call.replace(own.copy())
        self.select.set("from_", exp.From(this=named_table(table)))
        self.select.set("where", exp.Where(this=exp.column(presence.column, table)))


def _asks_for_presence(select: exp.Select, item: exp.Expr) -> bool:
    """Whether a SELECT asks if an outer join found a row of an item: ``LEFT JOIN x … WHERE x.n IS NULL``."""
    joins: list[exp.Join] = select.args.get("joins") or []
    place = joins.index(item.parent) if isinstance(item.parent, exp.Join) else -1
    sides = [join.side.upper() for join in joins]
    if (place < 0 or sides[place] not in ("LEFT", "FULL")) and "FULL" not in sides[place + 1 :]:
        return False
    conditions = [part for name in ("where", "having") if (part := select.args.get(name)) is not None]
    tests = [test for part in (*_parts(select), *conditions) for test in part.find_all(exp.Is)]
    read = [column for test in tests if isinstance(test.expression, exp.Null) for column in test.find_all(exp.Column)]
    return any(column.table.lower() in ("", item.alias_or_name.lower()) for column in read)


def _is_plain(select: exp.Select) -> bool:
    """Whether a SELECT has a row for each row that it reads, or one row of all of them."""
    cuts = ("where", "joins", "laterals", "having", "qualify", "distinct", "limit", "offset", "group", "windows")
    return not any(select.args.get(part) for part in cuts) and select.find(exp.Window) is None


def _counted_calls(select: exp.Select, rows: _Rows) -> list[tuple[exp.Expr, exp.Expr]]:
    """The aggregates of a SELECT without GROUP BY over columns of the release, where they are COUNT(*), and AVG and SUM
    of its counts and sums; else none, and none where all are sums."""
    found: list[tuple[exp.Expr, exp.Expr]] = []
    calls = _aggregates(select)
    for call in calls:
        if isinstance(call, exp.Count) and isinstance(call.this, exp.Star):
            groups = exp.Max(this=exp.column(COUNTED_GROUPS))
            found.append((call, exp.Coalesce(this=groups, expressions=[exp.Literal.number(0)])))
            continue
        of = rows.written(call.this) if function_of(call) in (AVG, SUM) else None
        if of is None:
            return []
        column = _column_of(of)
        if function_of(call) == SUM and rows.is_number(call.this):
            found.append((call, exp.Sum(this=of)))
        elif function_of(call) == AVG and column in rows.numbers:
            found.append((call, exp.Max(this=exp.column(group_mean_name(str(column))))))
        else:
            return []
    return found if any(function_of(call) != SUM for call in calls) else []


def _column_of(node: exp.Expr) -> str | None:
    node = unparenthesised(node)
    return node.name if isinstance(node, exp.Column) else None


def _is_literal(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren | exp.Cast | exp.Neg):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    yield from select.expressions
    order = select.args.get("order")
    if order is not None:
        yield order


def _aggregates(select: exp.Select) -> list[exp.Expr]:
    having = select.args.get("having")
    parts = [*_parts(select), *([] if having is None else [having])]
    # A sum of some groups, by a FILTER, may depend on which of them there are.
    return [
        node.parent if isinstance(node.parent, exp.Filter) else node
        for part in parts
        for node in walk(part)
        if isinstance(node, exp.AggFunc) and not isinstance(node, exp.Grouping)
    ]


def _is_sets(node: exp.Expr) -> bool:
    return isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple)


def _outputs(select: exp.Select, rows: _Rows) -> dict[str, exp.Expr | None]:
    """The columns that a SELECT answers, over those of the release. A sum of numbers is one."""
    found: dict[str, exp.Expr | None] = {}
    for item in select.expressions:
        node = unaliased(item)
        if function_of(node) == SUM and rows.is_number(node.this):
            node = node.this
        found[output_name(item)] = rows.written(node)
    return found


def _positions(union: exp.SetOperation, side: exp.Expr, rows: _Rows) -> _Columns:
    """The columns of one side under the names of the first."""
    first: exp.Expr = union
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    names = [output_name(item) for item in first.expressions] if isinstance(first, exp.Select) else []
    return dict(zip(names, rows.columns.values(), strict=False))


def _aliases(item: exp.Expr) -> list[str]:
    return alias_columns(item.args.get("alias"))
