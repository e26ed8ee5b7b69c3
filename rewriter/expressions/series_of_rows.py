"""Series of a row's own numbers: ``generate_series(0, days)``, and ``ARRAY(SELECT generate_series(0, days))``.

A series never has more items than its plan says, whatever the row holds: its ends are clipped into their declared
ranges before the engine counts from one to the other. So one row of a person becomes at most that many, all of that
person, and people are clipped to them like to any other bound of rows.
"""

from __future__ import annotations

import math
from dataclasses import replace

from sqlglot import exp

from rewriter.declared import BIGINT, BIGINTS, MOST_JOINED, Interval, Kind
from rewriter.dialects import Fact, duplicate, number, refuse
from rewriter.expressions.build import Context, derive, is_literal, scalar_of
from rewriter.expressions.value import IntegerRange, Value
from rewriter.refused import NOT_ANSWERED

Series = tuple[int, int, int]
SERIES: Fact[Series] = Fact("series")
"""Of a list that is a series: its least item, its greatest one, and how many items it has at most."""
_MOST_KEYS = 1_000
_ARRAY_SELECT = ("expressions", "from_", "kind", "operation_modifiers")


def series_in(node: object) -> exp.GenerateSeries | None:
    """The series that a list is of: itself, or that of ``ARRAY(SELECT * FROM generate_series(…))``."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.GenerateSeries):
        return node
    inner = node.expressions[0] if isinstance(node, exp.Array) and len(node.expressions) == 1 else None
    inner = inner.unnest() if isinstance(inner, exp.Subquery) else inner
    if not isinstance(inner, exp.Select) or len(inner.expressions) != 1:
        return None
    if any(part for name, part in inner.args.items() if name not in _ARRAY_SELECT):
        return None
    item, source = inner.expressions[0], inner.args.get("from_")
    if source is None:
        bare = item.this if isinstance(item, exp.Alias) else item
        return bare if isinstance(bare, exp.GenerateSeries) else None
    made = source.this.this if isinstance(source.this, exp.Table) else None
    column = item.unalias()
    own = isinstance(column, exp.Column) and column.text("table") == source.this.alias
    return made if (own or isinstance(item, exp.Star)) and isinstance(made, exp.GenerateSeries) else None


def series(call: exp.GenerateSeries, context: Context) -> Value:
    """The list of the numbers from one value of a row to another; none where an end is NULL."""
    low, high = (context.finite(call.args[part]) for part in ("start", "end"))
    step = _step(call.args.get("step"))
    first, last = (_range_of(value) for value in (low, high))
    most = max(0, (last[1] - first[0]) // step + 1)
    if most > MOST_JOINED:
        raise refuse(
            f"a series of up to {most:,} numbers for one row is not answered",
            "take a longer step, or narrow its ends: LEAST(x, 1000)",
        )
    dialect = context.dialect
    start, end = (dialect.cast(_clipped(*one), BIGINT) for one in ((low.sql, first), (high.sql, last)))
    sql = dialect.numbers_between(start, end, step)
    SERIES.on(sql, (first[0], max(first[0], last[1]), max(1, most)))
    return derive(sql, BIGINTS, low, high)


def items_of_series(items: Value, found: Series) -> Value:
    """What is known of the items: they lie between the clipped ends, so that they are keys where they are few."""
    low, high, _ = found
    domain = IntegerRange(low, high) if high - low < _MOST_KEYS else None
    return replace(items, interval=Interval.of(low, high), limits=(low, high), domain=domain, nullable=False)


def _step(node: object) -> int:
    if node is None:
        return 1
    found = node if isinstance(node, exp.Literal) and node.is_int else None
    if found is None or not 0 < int(found.name) < 1 << 31:
        raise refuse("the step of a series is a whole number above 0", "write generate_series(0, x, 2)")
    return int(found.name)


def _range_of(value: Value) -> tuple[int, int]:
    """Where an end is clipped into: the range that is declared or follows, or that of its type where it is narrow."""
    if value.type.kind is not Kind.INTEGER:
        raise refuse(f"a series of {value.type} is not answered", "cast its ends: generate_series(0, x::int)")
    if is_literal(value) and isinstance(known := scalar_of(value), int):
        return known, known
    if value.interval is None:
        raise refuse(
            "how long this series is is not known: one person could have any number of rows",
            "bound its ends, generate_series(0, LEAST(x, 100)), or the owner declares the range of their columns",
            NOT_ANSWERED,
        )
    return math.floor(value.interval.low), math.ceil(value.interval.high)


def _only(sql: exp.Expr, value: int) -> exp.Expr:
    """The only value of a range, of a row that has one."""
    known = exp.Not(this=exp.Is(this=sql, expression=exp.Null()))
    return number(value) if isinstance(sql, exp.Literal) else exp.Case(ifs=[exp.If(this=known, true=number(value))])


def _clipped(sql: exp.Expr, ends: tuple[int, int]) -> exp.Expr:
    low, high = ends
    if low == high:
        return _only(sql, low)
    below = exp.LT(this=duplicate(sql), expression=number(low))
    above = exp.GT(this=duplicate(sql), expression=number(high))
    return exp.Case(ifs=[exp.If(this=below, true=number(low)), exp.If(this=above, true=number(high))], default=sql)
