"""Windows over the rows of one person each: ``LAG(day) OVER (PARTITION BY patient_id ORDER BY day)``.

Guarantee: every window is partitioned by the unit itself, so a row's result depends on rows of its own person alone,
and adding or removing a person changes nobody else's rows. PARTITION BY must already determine the unit: that adds
nothing to the meaning, and what would mix people is refused.

A SELECT with windows becomes two: the inner one computes the windows beside the columns that are read, the outer one is
the analyst's SELECT over those. QUALIFY, and DISTINCT ON the person, are conditions of the outer one.

Why rows are sometimes numbered first: two windows in different orders may each break ties as the engine likes, and
then which row is both first by day and last by cost is anybody's guess. One numbering of a person's rows, which all
windows fall back on, makes the answer a function of the data.

The distance of two rows: ``day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day)`` is never negative.

Guarantee: the range of such a difference loses the side that its own order rules out, whatever the data: rows that
stand before a value in its order are not above it. Half a range is half the noise of a mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeGuard

from sqlglot import exp

from rewriter.aggregates import canonical
from rewriter.columns import BEHIND, Computed, Source, Variable, as_column
from rewriter.declared import BIGINT, Interval, Kind, decimal
from rewriter.dialects import Dialect, Fact
from rewriter.expressions import Value, compile_expression, in_place_of, is_literal, position_of
from rewriter.per_person.person_rows import unique_places
from rewriter.per_person.window_frames import SQL_FRAME, read_frame
from rewriter.per_person.window_functions import Over, compile_call, is_numbering
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.relations import FIELD, BlockScope, Relation, SelectRows, of_people
from rewriter.statement import conjuncts, only, output_name, unaliased, unparenthesised, walk

MAX_WINDOWS = 100
_COLUMNS = (exp.Window, exp.Sub, exp.Extract)
"""What may become a column of the inner SELECT: a window, or the distance of two rows."""
_OF_DISTINCT_ON: Fact[bool] = Fact("of distinct on")
_EACH_ALONE = "rows in which the key of a window's PARTITION BY is missing are a partition for each person"
_WINDOW_PARTS = frozenset({"this", "partition_by", "order", "spec", "over"})


def has_windows(select: exp.Select) -> bool:
    """Whether rows are computed from several rows of the same SELECT: windows, QUALIFY, DISTINCT ON."""
    if select.args.get("qualify") or is_distinct_on(select):
        return True
    return any(isinstance(node, exp.Window) for item in select.expressions for node in walk(item))


def is_distinct_on(select: exp.Select) -> bool:
    distinct = select.args.get("distinct")
    return distinct is not None and distinct.args.get("on") is not None


def windowed(
    select: exp.Select, block: SelectRows, alias: str, names: Sequence[str], dialect: Dialect
) -> tuple[exp.Select, Source, tuple[str, ...]]:
    """The SELECT over a source that has its windows as columns, and notices. ``names`` are its output columns."""
    items = [unaliased(canonical(item, block.scope)) for item in select.expressions]
    tests = [*_qualified(select, items, names, block.scope), *_first_rows(select, items, names, block.scope)]
    reader = _Reader(block, dialect)
    reader.read([*items, *tests])
    if reader.is_ambiguous:
        return reader.numbered_first(select, items, tests, names), reader.source(alias, numbering=True), ()
    expressions: list[exp.Expr] = [
        exp.Alias(this=reader.replaced(item), alias=exp.to_identifier(name, quoted=True))
        for item, name in zip(items, names, strict=True)
    ]
    outer = exp.Select(expressions=expressions).from_(exp.to_table("rows"), copy=False)
    if tests:
        outer.set("where", exp.Where(this=exp.and_(*map(reader.replaced, tests), copy=False)))
    return outer, reader.source(alias), tuple(reader.notes)


# -- QUALIFY and DISTINCT ON -----------------------------------------------------------------------------------------


def _qualified(
    select: exp.Select, items: Sequence[exp.Expr], names: Sequence[str], scope: BlockScope
) -> Iterator[exp.Expr]:
    """The conditions of QUALIFY; a name that FROM does not have is an output column's."""
    qualify = select.args.get("qualify")
    if qualify is None:
        return
    for test in conjuncts(qualify.this):
        root = exp.Paren(this=canonical(test, scope))
        for column in [node for node in walk(root) if isinstance(node, exp.Column) and not FIELD.is_on(node)]:
            if not column.table and output_name(column) in names:
                column.replace(exp.Paren(this=items[list(names).index(output_name(column))].copy()))
        found: exp.Expr = root.this
        found.pop()
        yield found


def _first_rows(
    select: exp.Select, items: Sequence[exp.Expr], names: Sequence[str], scope: BlockScope
) -> Iterator[exp.Expr]:
    """DISTINCT ON (a) … ORDER BY a, b keeps the row whose ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) is 1."""
    if not is_distinct_on(select):
        return
    distinct = select.args["distinct"]
    only(distinct, frozenset({"on"}), "DISTINCT ON")
    on = distinct.args["on"]
    keys = [_output(key, items, names, scope) for key in (on.expressions if isinstance(on, exp.Tuple) else [on])]
    order = select.args.get("order")
    wanted: list[exp.Expr] = []
    for ordered in order.expressions if order is not None else ():
        copy = ordered.copy()
        copy.set("this", _output(ordered.this, items, names, scope))
        wanted.append(copy)
    if not all(ordered.this in keys for ordered in wanted[: len(set(keys))]):
        raise Refused(
            "ORDER BY must begin with the columns of DISTINCT ON",
            hint="SELECT DISTINCT ON (patient_id) … ORDER BY patient_id, day",
            sqlstate="42P10",
        )
    window = exp.Window(this=exp.RowNumber(), partition_by=keys, over="OVER")
    _OF_DISTINCT_ON.on(window, True)
    rest = [ordered for ordered in wanted if ordered.this not in keys]
    if rest:
        window.set("order", exp.Order(expressions=rest))
    yield exp.EQ(this=window, expression=exp.Literal.number(1))


def _output(node: exp.Expr, items: Sequence[exp.Expr], names: Sequence[str], scope: BlockScope) -> exp.Expr:
    """An ordinal or an output name stands for a select item, as PostgreSQL's ORDER BY has it."""
    node = unparenthesised(node)
    if isinstance(node, exp.Literal) and node.is_int:
        if not 1 <= int(node.this) <= len(items):
            raise Refused(f"position {node.this} is not in the select list", hint="count from 1", sqlstate="42P10")
        return items[int(node.this) - 1].copy()
    if isinstance(node, exp.Column) and not node.table and list(names).count(output_name(node)) == 1:
        return items[list(names).index(output_name(node))].copy()
    return canonical(node, scope)


# -- the inner SELECT ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Collects the columns and the windows that a SELECT reads; each becomes a column of the inner one."""

    block: SelectRows
    dialect: Dialect
    columns: dict[tuple[str, str], Value]
    windows: dict[exp.Expr, Value]
    numbered: set[str]
    notes: dict[str, None]

    def __init__(self, block: SelectRows, dialect: Dialect) -> None:
        self.block, self.dialect = block, dialect
        self.columns, self.windows, self.numbered, self.notes = {}, {}, set(), {}

    def read(self, expressions: Sequence[exp.Expr]) -> None:
        """The columns first: they break the ties of every window."""
        for expression in expressions:
            for node in walk(expression):
                if isinstance(node, exp.Column):
                    source, name = self.block.scope.resolve(node)
                    self.columns.setdefault((source.alias, name), source.reference(name))
        for expression in expressions:
            for node in expression.walk(prune=lambda inner: isinstance(inner, exp.Query) or self._gap(inner)):
                if isinstance(node, exp.Window) and node not in self.windows:
                    self._window(node)

    def _gap(self, node: exp.Expr) -> bool:
        """Whether an expression is the distance of neighbouring rows, which then is a column as a whole."""
        if isinstance(node, _COLUMNS) and node in self.windows:
            return True
        gap = gap_in(node)
        if gap is None:
            return False
        x, over = compile_expression(gap.x, self.block.scope, self.dialect), self._over(gap.window)
        neighbour = compile_call(gap.window.this, over, self.block.scope, self.block.bound, self.dialect)
        value = compile_gap(gap, x, neighbour, over, self.dialect)
        if value is not None:
            self._check_number()
            self.windows[node] = value
        return value is not None

    def _check_number(self) -> None:
        if len(self.windows) >= MAX_WINDOWS:
            raise Refused(
                f"there are more than {MAX_WINDOWS} windows in one SELECT", hint="ask for fewer", sqlstate=TOO_COMPLEX
            )

    def _window(self, node: exp.Window) -> None:
        self._check_number()
        over = self._over(node)
        column = f"w{len(self.windows)}"
        value = compile_call(node.this, over, self.block.scope, self.block.bound, self.dialect)
        if over.one_partition and is_numbering(node.this):
            self.numbered.add(column)
        self.windows[node] = value

    def _over(self, node: exp.Window) -> Over:
        only(node, _WINDOW_PARTS, "a window")
        partition, order, spec = (node.args.get(part) for part in ("partition_by", "order", "spec"))
        keys = [compile_expression(key, self.block.scope, self.dialect) for key in partition or ()]
        frame = SQL_FRAME if spec is None else read_frame(spec)
        return Over(
            partition=self._partition(keys, node),
            order=self._along(order) if frame.has_distance else self._order(order),
            frame=frame,
            ties=self._ties(),
            one_partition=all(key.constant or (key.unit and not key.nullable) for key in keys),
        )

    def _partition(self, keys: Sequence[Value], node: exp.Window) -> tuple[exp.Expr, ...]:
        """The unit and the keys, which must determine it."""
        if self.block.unit is None or not any(key.keys or key.ways for key in keys):
            of_people(self.block.bound, "a window")
            if self.block.unit is None:
                hint = "write its rows out: (VALUES (DATE '2025-01-01', DATE '2025-02-01')) AS v(low, high)"
                raise Refused("a window over public rows is not answered beside people", hint=hint)
            raise _across(self.block, node)
        if not any(key.identifies for key in keys):
            self.notes[_EACH_ALONE] = None
        return _partitioned(self.block.unit, keys)

    def _order(self, order: exp.Expr | None) -> tuple[exp.Ordered, ...]:
        """ORDER BY, with where NULLs go; a constant orders nothing."""
        if order is None:
            return ()
        only(order, frozenset({"expressions"}), "ORDER BY of a window")
        found: list[exp.Ordered] = []
        for node in order.expressions:
            only(node, frozenset({"this", "desc", "nulls_first"}), "ORDER BY of a window")
            value = compile_expression(node.this, self.block.scope, self.dialect)
            if not is_literal(value):
                down, first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
                found.append(exp.Ordered(this=value.sql, desc=down, nulls_first=first))
        return tuple(found)

    def _along(self, order: exp.Expr | None) -> tuple[exp.Ordered, ...]:
        """The one ORDER BY of a frame that reaches so far along its values: whole numbers, in a type that has room for
        the distance as well, so that no engine overflows."""
        found = self._order(order)
        value = None
        if order is not None and len(found) == len(order.expressions) == 1:
            value = compile_expression(order.expressions[0].this, self.block.scope, self.dialect)
        if value is None or value.type.kind is not Kind.INTEGER or value.type.bits > 64:
            raise Refused(
                "RANGE with a distance needs one ORDER BY of whole numbers",
                hint="ORDER BY seconds RANGE BETWEEN 3600 PRECEDING AND CURRENT ROW, or use ROWS",
                sqlstate="42P20",
            )
        roomy = BIGINT if value.type.bits < 64 else decimal(38, 0)
        found[0].set("this", self.dialect.cast(value.sql, roomy))
        return found

    def _ties(self) -> tuple[exp.Expr, ...]:
        """The columns that break ties of ORDER BY: a key, if there is one table with a key, else all columns that are
        read."""
        key = self._key()
        return tuple(value.sql.copy() for value in self.columns.values()) if key is None else (key,)

    def _key(self) -> exp.Expr | None:
        first, *others = self.block.scope.sources
        for name in () if others else sorted(first.unique_columns | first.numbered):
            if not first.fields[name].nullable:
                return first.reference(name).sql
        return None

    @property
    def is_ambiguous(self) -> bool:
        """Whether two windows break the ties of columns that are no key, each in an order of its own."""
        if self._key() is not None:
            return False
        ties = self._ties()
        orders: set[tuple[exp.Expr, ...]] = set()
        for value in self.windows.values():
            for window in value.sql.find_all(exp.Window):
                order = window.args.get("order")
                if order is not None and any(ordered.this in ties for ordered in order.expressions):
                    orders.add((order, *window.args["partition_by"]))
        return len(orders) > 1

    def numbered_first(
        self, select: exp.Select, items: Sequence[exp.Expr], tests: Sequence[exp.Expr], names: Sequence[str]
    ) -> exp.Select:
        """The same SELECT, windows and all, over its columns and a number for each row of a person."""
        outer = exp.Select(
            expressions=[
                exp.Alias(this=self.replaced(item, inside=True), alias=exp.to_identifier(name, quoted=True))
                for item, name in zip(items, names, strict=True)
            ]
        ).from_(exp.to_table("rows"), copy=False)
        if tests:
            condition = exp.and_(*(self.replaced(test, inside=True) for test in tests), copy=False)
            outer.set("qualify", exp.Qualify(this=condition))
        return outer

    def replaced(self, node: exp.Expr, *, inside: bool = False) -> exp.Expr:
        """A copy over the inner SELECT's columns; with ``inside``, windows stay and read those columns."""
        places = {key: f"f{place}" for place, key in enumerate(self.columns)}
        windows = {window: f"w{place}" for place, window in enumerate(self.windows)}
        root = exp.Paren(this=node.copy())
        stack: list[exp.Expr] = [root.this]
        while stack:
            found = stack.pop()
            if isinstance(found, _COLUMNS) and found in windows and not inside:
                found.replace(exp.column(windows[found]))
            elif isinstance(found, exp.Column):
                source, name = self.block.scope.resolve(found)
                column = exp.column(places[source.alias, name])
                in_place_of(column.this, found.this)
                found.replace(column)
            elif not isinstance(found, exp.Query):
                stack.extend(found.iter_expressions())
        result: exp.Expr = root.this
        result.pop()
        return result

    def source(self, alias: str, *, numbering: bool = False) -> Source:
        """The inner SELECT in a FROM clause: ``f0``, … are the columns that are read, ``w0``, … the windows.

        With ``numbering`` the only window is a number for each row of a person, in the order of what is read.
        """
        windows, numbered = list(self.windows.values()), set(self.numbered)
        if numbering:
            windows, numbered = [self._numbering()], {"w0"}
        read = [(f"f{place}", value) for place, value in enumerate(self.columns.values())]
        computed = [(f"w{place}", value) for place, value in enumerate(windows)]
        block = self.block
        unique = unique_places(read, block.scope)
        relation = Relation(
            (*read, *computed), block.rows, block.unit, block.bound, block.filters, unique=unique, said=block.said
        )
        source = relation.source(block.scope.sources[0].name, alias)
        fields = dict(source.fields)
        for place, (name, value) in enumerate(computed, len(read)):
            fields[name] = _column(value, exp.column(f"c{place}", alias), f"{alias}{name}")
        return replace(source, name="rows", fields=fields, numbered=frozenset(numbered))

    def _numbering(self) -> Value:
        if self.block.unit is None:
            raise AssertionError("windows are refused where nobody owns the rows")
        over = Over(_partitioned(self.block.unit, ()), (), SQL_FRAME, self._ties(), one_partition=True)
        return compile_call(exp.RowNumber(), over, self.block.scope, self.block.bound, self.dialect)


def _partitioned(unit: exp.Expr, keys: Sequence[Value]) -> tuple[exp.Expr, ...]:
    """Every window begins with the unit: whatever was said of a key, rows of two people never meet."""
    return tuple(dict.fromkeys([unit.copy(), *(key.sql for key in keys if not is_literal(key))]))


def _across(block: SelectRows, node: exp.Window) -> Refused:
    fields = [(name, value) for source in block.scope.sources for name, value in source.fields.items()]
    # Groups of one person have names of ours, which nobody wrote.
    key = next((name for name, value in fields if value.unit and not _OURS.fullmatch(name)), "the key of the person")
    if _OF_DISTINCT_ON.is_on(node):
        return Refused(
            "this DISTINCT ON would pick rows from several people",
            hint=f"DISTINCT ON ({key}) picks one row of each person; else use GROUP BY with an aggregate",
        )
    if isinstance(node.this, _RANKS) and node.args.get("order"):
        return _rank_across(node, key)
    keys = [one for one in node.args.get("partition_by") or () if isinstance(one, exp.Column)]
    if isinstance(node.this, _WHOLE) and keys and not node.args.get("order"):
        known = " AND ".join(f"{one.name} IS NOT NULL" for one in keys)
        return Refused(
            "this window has rows of several people, and some of them may be in the partition of NULL",
            hint=f"add WHERE {known}: then the numbers of all partitions are released first, and compared with",
            position=position_of(node),
        )
    return Refused(
        "this window would compare people with each other",
        hint=f"add PARTITION BY {key}, so that it runs over the rows of one person{_or_percentile(node)}",
        position=position_of(node),
    )


_WHOLE = (exp.Avg, exp.Sum, exp.Min, exp.Max, exp.Count, exp.Stddev, exp.Variance)
_SHARES = (exp.PercentRank, exp.CumeDist)
_RANKS = (exp.Ntile, exp.PercentRank, exp.CumeDist, exp.Rank, exp.DenseRank, exp.RowNumber)
_OURS = re.compile(r"[ak]\d+")


def _rank_across(node: exp.Window, person: str) -> Refused:
    """Why a rank among all people's rows is refused, and which like it is answered."""
    value = node.args["order"].expressions[0].this
    name = "x"
    if isinstance(value, exp.Column) and not _OURS.fullmatch(value.name):
        name = exp.to_identifier(value.name).sql("postgres")
    keys = [one.name for one in node.args.get("partition_by") or () if isinstance(one, exp.Column)]
    known = " AND ".join(f"{one} IS NOT NULL" for one in (name, *keys))
    over = f"PARTITION BY {', '.join(keys)} ORDER BY {name}" if keys else f"ORDER BY {name}"
    if isinstance(node.this, exp.Ntile):
        return Refused(
            "this NTILE is not answered over people",
            hint=f"NTILE(4) OVER ({over}) is, or up to 100 parts, in a subquery where these are never NULL: add WHERE"
            f" {known}",
            position=position_of(node),
        )
    own = (
        ""
        if isinstance(node.this, _SHARES)
        else f"add PARTITION BY {person}, for the rows of one person; or ask for SELECT COUNT(*) FROM (SELECT"
        f" ROW_NUMBER() OVER ({over}) AS r FROM … WHERE {known}) AS t WHERE r <= 100; or for "
    )
    return Refused(
        "this window would compare people with each other; ranks among people are answered in a subquery, where they"
        " are only compared with constants",
        hint=f"{own}SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER ({over}) AS r FROM … WHERE {known}) AS t"
        f" WHERE r > 0.9; the value at a rank is PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY {name}), and the share of"
        f" the rows below a value PERCENT_RANK(50) WITHIN GROUP (ORDER BY {name})",
        position=position_of(node),
    )


def _or_percentile(node: exp.Window) -> str:
    """What else is asked by numbers of rows in the order of a value."""
    order = node.args.get("order")
    value = None if order is None else order.expressions[0].this
    if value is None:
        return ""
    if not isinstance(value, exp.Column) or _OURS.fullmatch(value.name):
        return (
            "; for the value in the middle call it x in a subquery, and ask that for PERCENTILE_DISC(0.5)"
            " WITHIN GROUP (ORDER BY x)"
        )
    name = exp.to_identifier(value.name).sql("postgres")
    return f"; for the value in the middle ask for PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {name})"


def _column(value: Value, column: exp.Column, alias: str) -> Value:
    """A window as a column. Its declared values are a variable of its own: another row's value is not this row's."""
    picked = BEHIND.of(value.sql)
    behind = replace(picked, alias=alias) if isinstance(picked, Variable) else Computed(frozenset())
    return as_column(value, column, behind)


_X, _NEIGHBOUR = "x", "neighbour"


@dataclass(frozen=True, slots=True)
class Gap:
    """``x - window`` or ``window - x``, or EXTRACT(EPOCH FROM …) of it; ``window`` is LAG(x) or LEAD(x).

    ``later_first``: the earlier row, in the window's order, is subtracted from the later one.
    """

    node: exp.Expr
    x: exp.Expr
    window: exp.Window
    later_first: bool


def gap_in(node: exp.Expr) -> Gap | None:
    """The difference of neighbours that an expression is, if it is one."""
    difference = unparenthesised(node.args["expression"]) if _is_epoch(node) else node
    if not isinstance(difference, exp.Sub):
        return None
    left, right = unparenthesised(difference.this), unparenthesised(difference.expression)
    for one, other, window_first in ((left, right, True), (right, left, False)):
        if _is_neighbour(one) and unparenthesised(one.this.this) == other:
            is_lead = isinstance(one.this, exp.Lead)
            return Gap(node, other, one, later_first=is_lead if window_first else not is_lead)
    return None


def _is_neighbour(node: exp.Expr) -> TypeGuard[exp.Window]:
    """LAG(x) or LEAD(x) without a value for the rows that have no neighbour."""
    return isinstance(node, exp.Window) and type(node.this) in (exp.Lag, exp.Lead) and not node.this.args.get("default")


def _is_epoch(node: exp.Expr) -> bool:
    return isinstance(node, exp.Extract) and str(node.this.name).upper() == "EPOCH"


def compile_gap(gap: Gap, x: Value, neighbour: Value, over: Over, dialect: Dialect) -> Value | None:
    """The difference, in the part of its range that the order leaves; None where another column orders the rows."""
    if not over.order or over.order[0].this != x.sql or (x.type.clocked and not _is_epoch(gap.node)):
        return None
    copy = exp.Paren(this=gap.node.copy())
    names = {_X: x, _NEIGHBOUR: neighbour}
    difference = next(found for found in copy.walk() if isinstance(found, exp.Sub))
    for side in ("this", "expression"):
        is_window = isinstance(unparenthesised(difference.args[side]), exp.Window)
        difference.set(side, exp.column(_NEIGHBOUR if is_window else _X))
    value = compile_expression(copy.this, _Pair(names), dialect)
    if value.interval is None:
        return value
    rising = gap.later_first != bool(over.order[0].args.get("desc"))
    kept = max if rising else min
    zero = Fraction(0)
    return replace(value, interval=Interval(kept(value.interval.low, zero), kept(value.interval.high, zero)))


@dataclass(frozen=True, slots=True)
class _Pair:
    """The scope of a difference: its two sides."""

    names: Mapping[str, Value]

    def column(self, node: exp.Column) -> Value:
        value = self.names[node.name]
        return replace(value, sql=value.sql.copy())

    def membership(self, node: exp.In | exp.Exists | exp.Subquery) -> Value:
        raise Refused("a subquery is not answered here", hint="compute it in a subquery in FROM")
