"""The functions of windows: a list, with the arguments of each and the facts about its result.

Nothing on the list can raise: sums run over integers or over a lattice, as they do for aggregates per person, and
offsets are constants. Where ORDER BY leaves ties, and the result would depend on the engine's choice among them, our
own order of the tied rows is added: SQL leaves it open, so every such answer is one that SQL allows, and it is the same
in every run and on every engine. LAST_VALUE and NTH_VALUE over a RANGE frame that ends among ties stay the engine's
choice: an order of ties would move the end of the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates import compile_aggregate, function_of
from rewriter.columns import BEHIND, variable_behind, within
from rewriter.declared import BIGINT, DOUBLE, INTEGER, ContributionBound, Interval, Kind, least
from rewriter.dialects import Dialect, number
from rewriter.expressions import (
    IntegerRange,
    Value,
    Values,
    common_type,
    compile_expression,
    hull,
    text_size,
    widen,
    word_of,
)
from rewriter.per_person.window_frames import WHOLE, WindowFrame
from rewriter.refused import Refused
from rewriter.relations import BlockScope
from rewriter.statement import only

_MOST_OFFSET = 1_000_000_000
MOST_TILES = 1000


@dataclass(frozen=True, slots=True)
class Over:
    """A window, checked. ``ties`` tell rows apart that ``order`` does not.

    ``one_partition``: all rows of a unit are one partition.
    """

    partition: tuple[exp.Expr, ...]
    order: tuple[exp.Ordered, ...]
    frame: WindowFrame
    ties: tuple[exp.Expr, ...]
    one_partition: bool

    def settled(self) -> tuple[exp.Ordered, ...]:
        """The order with its ties broken."""
        known = {ordered.this for ordered in self.order} | set(self.partition)
        more = [exp.Ordered(this=tie.copy(), desc=False, nulls_first=False) for tie in self.ties if tie not in known]
        return (*self.order, *more)

    def of_peers(self) -> Over:
        """The rows that the order leaves equal, all of them, in the order of the ties."""
        partition = tuple(dict.fromkeys((*self.partition, *(ordered.this for ordered in self.order))))
        return replace(self, partition=partition, order=(), frame=WHOLE, one_partition=False)

    def sql(self, function: exp.Expr, order: Sequence[exp.Ordered], frame: WindowFrame | None) -> exp.Expr:
        window = exp.Window(this=function, partition_by=[key.copy() for key in self.partition], over="OVER")
        if order:
            window.set("order", exp.Order(expressions=[ordered.copy() for ordered in order]))
        if frame is not None:
            window.set("spec", frame.sql())
        return window


@dataclass(frozen=True, slots=True)
class _Call:
    """A function's call while it is compiled."""

    node: exp.Expr
    over: Over
    scope: BlockScope
    bound: ContributionBound
    dialect: Dialect

    @property
    def word(self) -> str:
        return self.node.sql_name() if isinstance(self.node, exp.Func) else type(self.node).__name__.upper()

    def argument(self) -> Value:
        if self.node.this is None:
            raise Refused(f"{self.word} needs an argument", hint=f"write {self.word}(x)", sqlstate="42883")
        return compile_expression(self.node.this, self.scope, self.dialect)

    def picked(self) -> Value:
        """The argument of a function that picks one of its values, which may be a list."""
        argument = self.node.this
        if isinstance(argument, exp.Column):
            held = compile_expression(argument, self.scope, self.dialect, nested=True)
            if held.type.listed:
                return held
        return self.argument()

    def offset(self, least: int) -> int:
        """The constant that says which row; 1 where none is written and that is allowed."""
        offset = self.node.args.get("offset")
        if offset is None and least == 0:
            return 1
        if not isinstance(offset, exp.Literal) or not offset.is_int or not least <= int(offset.this) <= _MOST_OFFSET:
            raise Refused(f"{self.word} needs a constant whole number from {least} on", hint=f"write {self.word}(x, 2)")
        return int(offset.this)


def is_numbering(node: exp.Expr) -> bool:
    """Whether a function gives each row of a partition its own number, from 1."""
    return isinstance(node, exp.RowNumber)


def compile_call(node: exp.Expr, over: Over, scope: BlockScope, bound: ContributionBound, dialect: Dialect) -> Value:
    """The value of a window function, its ``sql`` a window of our own. Raises :class:`Refused`."""
    function = node.this if isinstance(node, exp.Filter) else node
    if isinstance(function, exp.IgnoreNulls | exp.RespectNulls):
        raise Refused(
            "IGNORE NULLS and RESPECT NULLS are not answered", hint="filter the NULLs out in a subquery, then use LAG"
        )
    if (aggregate := function_of(function)) is not None and aggregate.in_windows:
        return _aggregate(_Call(node, over, scope, bound, dialect))
    compile_ = _FUNCTIONS.get(type(node))
    if over.frame.has_distance and compile_ in (_first, _last, _nth):
        raise Refused("values of a RANGE frame with a distance are not answered", hint="use ROWS BETWEEN … AND …")
    if compile_ is None:
        places, picks = "ROW_NUMBER, RANK, DENSE_RANK, NTILE", "LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE"
        plain = function.sql_name() if isinstance(function, exp.Func) else type(function).__name__.upper()
        word = (word_of(function) or plain).upper()
        raise Refused(
            f"{word} is not answered in a window over people",
            hint=f"there are {places}, {picks}, COUNT, SUM, AVG, MIN, MAX",
        )
    return compile_(_Call(node, over, scope, bound, dialect))


# -- numbers of rows -------------------------------------------------------------------------------------------------


def _row_number(at: _Call) -> Value:
    only(at.node, frozenset(), "ROW_NUMBER")
    return _place(at, at.dialect.call("row_number"), at.over.settled())


def _rank(at: _Call) -> Value:
    only(at.node, frozenset(), at.word)
    return _place(at, at.dialect.call("rank" if isinstance(at.node, exp.Rank) else "dense_rank"), at.over.order)


def _place(at: _Call, function: exp.Expr, order: Sequence[exp.Ordered]) -> Value:
    most = at.bound.rows
    # What was learned says where to clip, not which numbers there are.
    domain = None if most is None or at.bound.undeclared else IntegerRange(1, most)
    interval = None if most is None else Interval.of(1, most)
    return Value(at.over.sql(function, order, None), BIGINT, interval, nullable=False, constant=False, domain=domain)


def _tile(at: _Call) -> Value:
    """NTILE(n)."""
    only(at.node, frozenset({"this"}), at.word)
    count = at.node.this
    if not isinstance(count, exp.Literal) or not count.is_int or not 1 <= int(count.this) <= MOST_TILES:
        raise Refused(f"NTILE needs a constant whole number from 1 to {MOST_TILES}", hint="write NTILE(4)")
    most = int(count.this)
    sql = at.over.sql(at.dialect.call("ntile", number(most)), at.over.settled(), None)
    return Value(sql, INTEGER, Interval.of(1, most), nullable=False, constant=False, domain=IntegerRange(1, most))


def _share(at: _Call) -> Value:
    only(at.node, frozenset(), at.word)
    name = "percent_rank" if isinstance(at.node, exp.PercentRank) else "cume_dist"
    sql = at.over.sql(at.dialect.call(name), at.over.order, None)
    return Value(sql, DOUBLE, Interval.of(0, 1), nullable=False, constant=False, domain=None)


# -- values of other rows --------------------------------------------------------------------------------------------


def _neighbour(at: _Call) -> Value:
    """LAG and LEAD."""
    only(at.node, frozenset({"this", "offset", "default"}), at.word)
    default = at.node.args.get("default")
    name, offset = at.word.lower(), at.offset(0)
    argument = at.picked() if default is None else at.argument()
    if default is None:
        function = at.dialect.call(name, argument.sql.copy(), number(offset))
        return _picked(argument, at.over.sql(function, at.over.settled(), None), nullable=True)
    other = compile_expression(default, at.scope, at.dialect)
    type_ = common_type([argument, other])
    values = [widen(value, type_, at.dialect) for value in (argument, other)]
    sql = at.over.sql(at.dialect.call(name, values[0].sql, number(offset), values[1].sql), at.over.settled(), None)
    nullable = argument.nullable or other.nullable
    domain, size = _both_listed(argument, values[1], nullable), text_size(type_, *values)
    return Value(sql, type_, hull(values), nullable=nullable, constant=False, domain=domain, size=size)


def _both_listed(argument: Value, default: Value, nullable: bool) -> Values | None:
    """The declared values, and those of a constant default."""
    variable = variable_behind(argument.sql)
    declared = argument.domain.values if isinstance(argument.domain, Values) else None
    if variable is not None:
        declared = variable.column.values
    if declared is None or not isinstance(default.domain, Values) or default.type != argument.type:
        return None
    more: tuple[None, ...] = (None,) if nullable and variable is not None and variable.optional else ()
    return Values(tuple(dict.fromkeys((*declared, *default.domain.values, *more))))


def _first(at: _Call) -> Value:
    only(at.node, frozenset({"this"}), at.word)
    argument, over = at.picked(), at.over
    if not over.frame.rows:
        over = replace(over, frame=WHOLE) if over.frame.from_first or not over.order else over.of_peers()
    sql = over.sql(at.dialect.call("first_value", argument.sql.copy()), over.settled(), over.frame)
    found = _picked(argument, sql, nullable=argument.nullable or not over.frame.holds_current_row)
    # A frame that ends before the current row is empty for the first rows.
    always = over.frame.from_first and over.frame.holds_current_row
    return replace(found, constant=over.one_partition and always)


def _last(at: _Call) -> Value:
    only(at.node, frozenset({"this"}), at.word)
    argument, over = at.picked(), at.over
    if not over.frame.rows:
        over = replace(over, frame=WHOLE) if over.frame.to_last or not over.order else over.of_peers()
    sql = over.sql(at.dialect.call("last_value", argument.sql.copy()), over.settled(), over.frame)
    found = _picked(argument, sql, nullable=argument.nullable or not over.frame.holds_current_row)
    return replace(found, constant=over.one_partition and over.frame.is_whole)


def _nth(at: _Call) -> Value:
    """The n-th row of the frame; NULL where the frame has fewer."""
    only(at.node, frozenset({"this", "offset"}), at.word)
    argument, place, over = at.picked(), at.offset(1), at.over
    reached: exp.Expr | None = None
    if not over.frame.rows:
        if over.order and not over.frame.from_first and over.frame.to_last:
            raise Refused("NTH_VALUE is not answered over this frame", hint="use ROWS BETWEEN … AND …")
        if over.order and over.frame.from_first and not over.frame.to_last:
            reached = over.sql(exp.Count(this=exp.Star()), over.order, over.frame)
        peers = bool(over.order) and not over.frame.from_first
        over = over.of_peers() if peers else replace(over, frame=WHOLE)
    sql = over.sql(at.dialect.call("nth_value", argument.sql.copy(), number(place)), over.settled(), over.frame)
    if reached is not None:
        sql = exp.Case(ifs=[exp.If(this=exp.GTE(this=reached, expression=number(place)), true=sql)])
    constant = reached is None and over.one_partition and over.frame.is_whole
    return replace(_picked(argument, sql, nullable=True), constant=constant)


def _picked(argument: Value, sql: exp.Expr, *, nullable: bool) -> Value:
    """One of the argument's own values: its range and its declared values stay."""
    variable = variable_behind(argument.sql)
    domain = argument.domain
    if isinstance(domain, Values) and nullable and None not in domain.values:
        domain = Values((*domain.values, None))
    away = argument.halves_away
    size = text_size(argument.type, argument)
    value = Value(
        sql, argument.type, argument.interval, nullable, constant=False, domain=domain, halves_away=away, size=size
    )
    if variable is not None:
        BEHIND.on(sql, replace(within(variable, argument.interval), optional=variable.optional or nullable))
    return value


# -- aggregates ------------------------------------------------------------------------------------------------------


def _aggregate(at: _Call) -> Value:
    """An aggregate per person, each of its sums and counts over the window."""
    aggregate = compile_aggregate(at.node, at.scope, at.dialect)
    if aggregate.distinct:
        raise Refused("DISTINCT is not answered in a window", hint="COUNT(DISTINCT x) with GROUP BY the person")
    over = at.over
    whole = over.frame.is_whole or (not over.order and not over.frame.rows)
    frame = None if whole else over.frame
    order = () if whole else over.settled() if over.frame.rows else over.order
    width = None if whole else over.frame.width
    if not whole:
        # The order of a frame is that of rows, not of values: sums of doubles stand on a lattice, where none matters.
        aggregate = replace(aggregate, fine=True)
    value = aggregate.of_one_person(replace(at.bound, rows=least([at.bound.rows, width])), at.dialect)
    sql = _over_each(value.sql, lambda call_: _in_order(call_, over, at.dialect) or over.sql(call_, order, frame))
    if aggregate.kind.picks and aggregate.condition is None and aggregate.argument is not None:
        return replace(_picked(aggregate.argument, sql, nullable=True), constant=whole and over.one_partition)
    domain, interval = value.domain, value.interval
    if isinstance(domain, IntegerRange) and not over.frame.holds_current_row:
        domain = IntegerRange(0, domain.high)
        interval = Interval.of(0, domain.high)
    if value.type.kind is Kind.BOOLEAN:
        domain = Values((True, False, None))
    constant = whole and over.one_partition
    return replace(value.carried_by(sql), domain=domain, interval=interval, constant=constant)


def _in_order(call: exp.Expr, over: Over, dialect: Dialect) -> exp.Expr | None:
    """The window of a sum that has an order of its own, where the engine wants that of the window; else None."""
    summed = call.this if isinstance(call, exp.Filter) else call
    if dialect.windows_in_order or not isinstance(order := summed.this, exp.Order):
        return None
    order.replace(order.this)
    return over.sql(call, order.expressions, WHOLE)


def _over_each(node: exp.Expr, over: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The expression with OVER at each of its aggregates."""
    root = exp.Paren(this=node)
    stack: list[exp.Expr] = [node]
    while stack:
        found = stack.pop()
        if isinstance(found, exp.Filter | exp.AggFunc):
            found.replace(over(found.copy()))
        else:
            stack.extend(found.iter_expressions())
    result: exp.Expr = root.this
    result.pop()
    return result


_FUNCTIONS: dict[type[exp.Expr], Callable[[_Call], Value]] = {
    exp.RowNumber: _row_number,
    exp.Rank: _rank,
    exp.DenseRank: _rank,
    exp.PercentRank: _share,
    exp.CumeDist: _share,
    exp.Ntile: _tile,
    exp.Lag: _neighbour,
    exp.Lead: _neighbour,
    exp.FirstValue: _first,
    exp.LastValue: _last,
    exp.NthValue: _nth,
}
