"""The outer SELECT, traced: how its columns follow from released ones, and which released rows each row is made of.

Guarantee: the traced tree answers the same columns and rows, and then one column per slot: the number of the
released row, or NULL where an outer join had none. What is not understood is never guessed: its form is ``Other``.
Rows stay traceable through subqueries, WITH, joins, UNION ALL of the same columns, filters, ORDER BY and LIMIT; not
through GROUP BY, DISTINCT and windows, whose numbers have many rows behind them; but for windows that pick a row, and
for sums and means of all rows of a release that agree in some keys, which are a slot more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.outer.allow_list import CONSTRUCTS
from rewriter.outer.construct import Columns, Trait
from rewriter.outer.name_scope import MOST_SLOTS, Ctes, NameScope, PickedRows, Slot, TracedTable, expression
from rewriter.outer.provenance import PUBLIC, Measured, either, output, shifted_slots, slots_of, unknown
from rewriter.outer.released_columns import row_column
from rewriter.plan import Output
from rewriter.release import RESERVED, RunningSum, RunningSums, added_name, key_name
from rewriter.statement import folded, from_items, is_grouped, is_star, nodes_of


@dataclass(frozen=True, slots=True)
class Traced:
    """A tree with the columns of its slots behind the last one, and what is known of the columns before them."""

    tree: exp.Query
    columns: tuple[Measured, ...]
    origins: tuple[Slot, ...] = ()

    @property
    def slots(self) -> int:
        return len(self.origins)


class _Lost(Exception):
    """It is not known which columns a query has."""


def trace(
    tree: exp.Query, running: RunningSums, released: Mapping[str, Sequence[Output]], schema: Columns
) -> Traced | None:
    """Read an outer tree over released tables; ``schema`` has the columns of all tables, and ``running`` are windows of
    the tree itself. None where columns get lost.

    >>> import sqlglot
    >>> from rewriter.plan import Linear
    >>> from rewriter.declared.types import BIGINT
    >>> n = Output("a0", BIGINT, Linear(()), "COUNT(*)")
    >>> tree = sqlglot.parse_one("SELECT a0 / 2.0 AS half FROM r WHERE a0 > 5")
    >>> found = trace(tree, (), {"r": [n]}, {"r": {"a0": BIGINT}})
    >>> found.tree.sql()
    'SELECT a0 / 2.0 AS half, "r"."dpsql_row_0" AS "dpsql_row_0" FROM r WHERE a0 > 5'
    >>> found.columns[0].form.terms
    (((0, 'a0'), Fraction(1, 2)),)
    """
    tables = {
        name: TracedTable(tuple((column, PUBLIC) for column in columns if not column.startswith("dpsql_")))
        for name, columns in schema.items()
    }
    for name, outputs in released.items():
        known = {one.name: output(0, one) for one in outputs}
        known |= {added_name(name): one for name, one in known.items()}
        columns = tuple((column, known.get(column, PUBLIC)) for column, _ in tables[name].columns)
        named = {key_name(place) for place in range(len(columns))}
        keys = {column: column for column, _ in columns if column in named}
        tables[name] = TracedTable(columns, (Slot(frozenset([name])),), keys=keys)
    try:
        copy: exp.Query = tree.copy()
        found = _Tracer(tables, _copied(running, tree, copy), write=True).query(copy, {}, carry=True)
    except (_Lost, RecursionError):
        return None
    return Traced(copy, tuple(one for _, one in found.columns), found.origins)


def _copied(running: RunningSums, tree: exp.Query, copy: exp.Query) -> Mapping[int, RunningSum]:
    """The running sums of a copy of a tree, by the id of the window; a window of another tree is an error."""
    windows = zip(tree.find_all(exp.Window), copy.find_all(exp.Window), strict=True)
    twins = {id(own): id(twin) for own, twin in windows}
    return {twins[id(window)]: sums for window, sums in running}


class _Tracer:
    """``write``: whether the trees are changed, or only looked at."""

    def __init__(self, tables: Mapping[str, TracedTable], running: Mapping[int, RunningSum], *, write: bool) -> None:
        self._tables = tables
        self._running = running
        self._write = write

    # Queries

    def query(self, node: exp.Expr, ctes: Ctes, *, carry: bool, outside: NameScope | None = None) -> TracedTable:
        """The columns of a query; with ``carry``, its slots become columns of it."""
        if isinstance(node, exp.Subquery):
            return self.query(node.this, ctes, carry=carry, outside=outside)
        if isinstance(node, exp.Values):
            rows = node.expressions
            width = len(rows[0].expressions) if rows else 0
            return TracedTable(tuple((f"col{number}", PUBLIC) for number in range(width)))
        ctes = self._with(node, ctes, outside)
        if isinstance(node, exp.Select):
            return self._select(node, ctes, carry, outside)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, ctes, carry, outside)
        raise _Lost

    def _with(self, node: exp.Expr, ctes: Ctes, outside: NameScope | None) -> Ctes:
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        known = dict(ctes)
        for cte in with_.expressions:
            alias = cte.args["alias"]
            found = self.query(cte.this, known, carry=True, outside=outside)
            known[alias.this.name.lower()] = found.named([folded(name) for name in alias.args.get("columns") or ()])
        return known

    def _set_operation(self, node: exp.SetOperation, ctes: Ctes, carry: bool, outside: NameScope | None) -> TracedTable:
        looking = _Tracer(self._tables, self._running, write=False)
        together = isinstance(node, exp.Union) and not node.args.get("distinct")
        left, right = (looking.query(side, ctes, carry=False, outside=outside) for side in (node.this, node.expression))
        if len(left.columns) != len(right.columns):
            raise _Lost
        changed = _is_limited(node) or not together
        filtered, chosen = (left.filtered or right.filtered or changed), (left.chosen or right.chosen or changed)
        alike = [one for _, one in left.columns] == [one for _, one in right.columns]
        kinds = [[(slot.picked, slot.total) for slot in side.origins] for side in (left, right)]
        same = together and alike and kinds[0] == kinds[1]
        if self._write:
            apart = together and left.slots + right.slots <= MOST_SLOTS and _has_items(node)
            for side in (node.this, node.expression):
                self.query(side, ctes, carry=carry and (same or apart), outside=outside)
        if same:
            pairs_of_slots = zip(left.origins, right.origins, strict=True)
            origins = tuple(replace(one, tables=one.tables | other.tables) for one, other in pairs_of_slots)
            return TracedTable(left.columns, origins, filtered, chosen)
        if together and left.slots + right.slots <= MOST_SLOTS and _has_items(node):
            both = self._side_by_side(node, left, right, carry=carry)
            return replace(both, filtered=filtered, chosen=chosen)
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple((name, unknown(one, other)) for (name, one), (_, other) in pairs)
        return TracedTable(columns, filtered=filtered, chosen=chosen)

    def _side_by_side(
        self, node: exp.SetOperation, left: TracedTable, right: TracedTable, *, carry: bool
    ) -> TracedTable:
        """UNION ALL of different columns: the slots of both sides, each NULL in the rows of the other."""
        if carry and self._write:
            _pad(node.this, 0, left.slots, right.slots)
            _pad(node.expression, left.slots, right.slots, 0)
        columns = tuple(
            (name, either(one, shifted_slots(other, left.slots)))
            for (name, one), (_, other) in zip(left.columns, right.columns, strict=True)
        )
        return TracedTable(columns, (*left.origins, *right.origins))

    # SELECT

    def _select(self, select: exp.Select, ctes: Ctes, carry: bool, outside: NameScope | None) -> TracedTable:
        scope = self._scope(select, ctes, outside)

        def subquery(node: exp.Expr, around: NameScope) -> TracedTable:
            return self.query(node, ctes, carry=False, outside=around)

        tests = [select.args.get(part) for part in ("where", "having")]
        tests += [join.args.get("on") for join in select.args.get("joins") or ()]
        conditions = [part for test in tests if test is not None for part in _conjuncts(test)]
        noisy = [part for part in conditions if expression(part, scope, subquery).noisy]
        scope = replace(scope, tested=bool(noisy), compared=not all(map(_asks_whether_shown, noisy)))
        items = self._expanded(select, scope)
        gathered = is_grouped(select)
        picks = PickedRows(scope.origins, _row_columns(scope))
        scope = replace(scope, gathered=gathered, totals=_totals(select, scope, gathered=gathered))
        own = len(scope.origins)
        columns: list[tuple[str, Measured]] = []
        for item in items:
            named = replace(scope, aliases={name.lower(): one for name, one in columns}, picks=picks)
            one = expression(item, named, subquery)
            columns.append((_name(item), _gathered(one, own) if gathered and one.noisy else one))
        if self._write:
            for part in ("order", "group", "windows", "qualify"):
                for node in nodes_of(select.args.get(part)):
                    expression(node, replace(scope, aliases={name.lower(): one for name, one in columns}), subquery)
        origins = picks.origins[own:] if gathered else picks.origins
        limited = _is_limited(select) and any(one.noisy for _, table in scope.sources for _, one in table.columns)
        if len(origins) > MOST_SLOTS:
            origins, columns = (), [(name, unknown(one)) for name, one in columns]
        rows = [*([] if gathered else picks.numbers), *(number for _, number in picks.added)] if origins else []
        if carry and self._write and origins:
            numbered = [exp.alias_(one, row_column(slot), quoted=True) for slot, one in enumerate(rows)]
            select.set("expressions", [*select.expressions, *numbered])
            _order_ties(select, [] if gathered else picks.numbers)
        keys = _handed_on(select, items, scope.totals) if not gathered else None
        filtered, chosen = scope.filtered or limited, scope.chosen or limited
        return TracedTable(tuple(columns), origins, filtered, chosen, keys, tuple(rows))

    def _scope(self, select: exp.Select, ctes: Ctes, outside: NameScope | None) -> NameScope:
        sources: list[tuple[str, TracedTable]] = []
        slots = 0
        for item in from_items(select):
            if isinstance(item, exp.Table):
                table = (
                    ctes.get(item.name.lower()) or self._tables.get(item.name) or self._tables.get(item.name.lower())
                )
                if table is None:
                    raise _Lost
            else:
                table = self.query(item, ctes, carry=True, outside=outside)
            alias = item.args.get("alias")
            names = [folded(name) for name in alias.args.get("columns") or ()] if alias is not None else []
            moved = tuple((name, shifted_slots(one, slots)) for name, one in table.named(names).columns)
            sources.append((item.alias_or_name.lower(), replace(table, columns=moved)))
            slots += table.slots
        return NameScope(tuple(sources), self._running, outside)

    def _expanded(self, select: exp.Select, scope: NameScope) -> list[exp.Expr]:
        """The select list without stars: a star would show the slots of what it stands over."""
        if not any(is_star(item) for item in select.expressions):
            return list(select.expressions)
        items: list[exp.Expr] = []
        for item in select.expressions:
            if not is_star(item):
                items.append(item)
                continue
            only = item.table.lower() if isinstance(item, exp.Column) else None
            for alias, table in scope.sources:
                for name, _ in table.columns if only in (None, alias) else ():
                    items.append(exp.alias_(exp.column(name, alias, quoted=True), name, quoted=True))
        if self._write:
            select.set("expressions", items)
        return items


_AFTER_WINDOWS = frozenset({"order", "limit", "offset", "fetch", "qualify"})
_OF_ALL_ROWS = frozenset({"expressions", "from_", "with_", "windows"})


def _totals(select: exp.Select, scope: NameScope, *, gathered: bool) -> Mapping[str, str] | None:
    """The keys that a SELECT's sums are by, where it adds up all rows of a release."""
    parts = {part for part, value in select.args.items() if value}
    if len(scope.sources) != 1 or parts - _OF_ALL_ROWS - ({"group", "order"} if gathered else _AFTER_WINDOWS):
        return None
    return scope.sources[0][1].keys


def _handed_on(
    select: exp.Select, items: Sequence[exp.Expr], keys: Mapping[str, str] | None
) -> Mapping[str, str] | None:
    """The keys that a SELECT answers, where it has all rows of what it reads."""
    if keys is None or any(select.args.get(part) for part in _AFTER_WINDOWS - {"order"}):
        return None
    if any(CONSTRUCTS.has(node, Trait.ROWS) for item in items for node in item.walk()):
        return None
    plain = [(_name(item), item.unalias()) for item in items]
    names = [(name.lower(), keys.get(one.name.lower())) for name, one in plain if isinstance(one, exp.Column)]
    return {name: key for name, key in names if key is not None}


def _gathered(one: Measured, own: int) -> Measured:
    """A column of a SELECT that aggregates: its slots are totals, of which the first follows the ``own`` ones."""
    slots = slots_of(one.form)
    return shifted_slots(one, -own) if slots and min(slots) >= own else unknown(one)


def _row_columns(scope: NameScope) -> list[exp.Expr]:
    """The numbers of the rows of a SELECT's own slots."""
    return [
        exp.Column(this=exp.to_identifier(row_column(slot), quoted=True), table=exp.to_identifier(alias, quoted=True))
        for alias, table in scope.sources
        for slot in range(table.slots)
    ]


def _order_ties(select: exp.Select, numbers: Sequence[exp.Expr]) -> None:
    """Ends an ORDER BY with the numbers of the released rows: rows that it does not tell apart come in the order of
    their keys, whoever runs the SELECT. PostgreSQL leaves their order open."""
    order = select.args.get("order")
    if order is not None and not select.args.get("distinct"):
        ties = [exp.Ordered(this=number.copy(), nulls_first=False) for number in numbers]
        order.set("expressions", [*order.expressions, *ties])


def _conjuncts(test: exp.Expr) -> list[exp.Expr]:
    inner = test.this if isinstance(test, exp.Where | exp.Having | exp.Paren) else test
    if not isinstance(inner, exp.And):
        return [inner]
    return [part for side in (inner.this, inner.expression) for part in _conjuncts(side)]


def _asks_whether_shown(test: exp.Expr) -> bool:
    """Whether a condition is a released table's own column of the groups that are shown."""
    return isinstance(test, exp.Column) and test.name.startswith(RESERVED)


def _has_items(node: exp.Expr) -> bool:
    """Whether each side of a query has a select list, that columns can be added to."""
    if isinstance(node, exp.Subquery):
        return _has_items(node.this)
    if isinstance(node, exp.SetOperation):
        return _has_items(node.this) and _has_items(node.expression)
    return isinstance(node, exp.Select)


def _pad(node: exp.Expr, before: int, own: int, after: int) -> None:
    """Put NULLs around the ``own`` last columns of each side, which are its slots."""
    if isinstance(node, exp.Subquery):
        _pad(node.this, before, own, after)
    elif isinstance(node, exp.SetOperation):
        _pad(node.this, before, own, after)
        _pad(node.expression, before, own, after)
    else:
        items = node.expressions
        slots = [item.this for item in items[len(items) - own :]]
        nothing = [[exp.cast(exp.Null(), exp.DType.BIGINT) for _ in range(count)] for count in (before, after)]
        every = [*nothing[0], *slots, *nothing[1]]
        named = [exp.alias_(one, row_column(place), quoted=True) for place, one in enumerate(every)]
        node.set("expressions", [*items[: len(items) - own], *named])


def _is_limited(node: exp.Expr) -> bool:
    return any(node.args.get(part) is not None for part in ("limit", "offset", "fetch"))


def _name(item: exp.Expr) -> str:
    """The name of a column, as the database will have it."""
    name = item.args["alias"] if isinstance(item, exp.Alias) else item.this
    return folded(name) if isinstance(name, exp.Identifier) else item.alias_or_name
