"""MIN and MAX over people, from what the owner declared: the ends of a column's range, for a filter's slider.

Guarantee: no row of people is read for them. The true minimum is one person's value; the declared one is the policy's.
``MAX(CASE WHEN p THEN 1 ELSE 0 END)`` asks whether p holds anywhere: it is a count of p that is larger than its margin.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.aggregates.counts import COUNT, one_or_zero
from rewriter.aggregates.grouped_select import Grouped
from rewriter.aggregates.own_values import MAX, MIN, Extreme
from rewriter.columns import Variable, variable_behind
from rewriter.declared import Kind, Scalar, Type, measure
from rewriter.dialects import Dialect
from rewriter.expressions import compile_expression
from rewriter.relations import BlockScope, condition
from rewriter.release import Aggregate, ReleaseColumn, aggregate_name, margin_name, renumber
from rewriter.statement import tested_for_null

NOTE = "MIN and MAX are the ends of the declared range, not of the data"
OF_SHARED_TEXTS = (
    "MIN and MAX of texts are those of the texts that enough people of a group have: others are left out, so that the"
    " least may be greater and the greatest less, and they are NULL where no text is left"
)


def with_declared_extremes(grouped: Grouped) -> tuple[Grouped, tuple[str, ...]]:
    """``grouped`` with declared ends in the place of MIN and MAX where there are any, and what to tell the analyst."""
    ends: dict[int, exp.Expr] = {}
    kept: dict[int, Aggregate] = {}
    for number, aggregate in enumerate(grouped.aggregates):
        end = _end(aggregate) if isinstance(aggregate.kind, Extreme) else None
        if end is None:
            kept[number] = aggregate
        else:
            ends[number] = end
    if not ends:
        return grouped, ()
    places = {old: new for new, old in enumerate(kept)}
    outer = _of_what_is_left(grouped, ends, places)
    return replace(grouped, aggregates=tuple(kept.values()), outer=outer), (NOTE,)


def is_of_values(aggregate: Aggregate, *, declared: bool) -> bool:
    """Whether an aggregate over people is one over the different values that are released: a sum or a mean of different
    values, and MIN or MAX of texts. ``declared``: MIN and MAX are declared ends where there are any."""
    kind = aggregate.kind
    if isinstance(kind, Extreme):
        is_text = aggregate.argument is not None and aggregate.argument.type.kind is Kind.TEXT
        return is_text and not (declared and _end(aggregate) is not None)
    return aggregate.distinct and (kind.sums or kind.averages)


def with_counted_maxima(grouped: Grouped, scope: BlockScope, dialect: Dialect) -> Grouped:
    """``grouped`` with counts in the place of ``MAX(CASE WHEN p THEN 1 ELSE 0 END)``.

    Where p is ``x IS NULL`` of what cannot be NULL, it is 0 and nothing is counted.
    """
    ends: dict[int, exp.Expr] = {}
    aggregates: list[Aggregate] = []
    calls: list[exp.Expr] = []
    places: dict[int, int] = {}
    for number, (aggregate, call) in enumerate(zip(grouped.aggregates, grouped.calls, strict=True)):
        test = one_or_zero(call.this) if isinstance(call, MAX.node) and isinstance(call.this, exp.Case) else None
        default = None if test is None else call.this.args.get("default")
        if test is not None and isinstance(default, exp.Literal):
            if _never(test, scope, dialect):
                ends[number] = exp.Literal.number(0)
                continue
            column = exp.column(aggregate_name(len(aggregates)), grouped.outer.args["from_"].this.name)
            ends[number] = _exceeds(column)
            counted = condition(test, scope, dialect, "a count")
            aggregate = Aggregate(COUNT, None, counted, False, aggregate.wording)
        places[number] = len(aggregates)
        aggregates.append(aggregate)
        calls.append(call)
    if not ends:
        return grouped
    outer = _of_what_is_left(grouped, ends, places)
    return replace(grouped, aggregates=tuple(aggregates), calls=tuple(calls), outer=outer)


def _of_what_is_left(grouped: Grouped, ends: Mapping[int, exp.Expr], places: Mapping[int, int]) -> exp.Select:
    """The outer SELECT with ``ends``; over no release where nothing is left to measure."""
    outer = in_place(grouped.outer, ends, places)
    if not places and not grouped.keys:
        outer.set("from_", None)
    return outer


def _never(test: exp.Expr, scope: BlockScope, dialect: Dialect) -> bool:
    tested = tested_for_null(test)
    return tested is not None and not compile_expression(tested, scope, dialect).nullable


def _exceeds(count: exp.Column) -> exp.Expr:
    """Whether a noisy count is larger than noise alone would make it; its margin stands beside it in the release."""
    margin = exp.column(margin_name(count.name), count.table)
    surely = exp.GT(this=count, expression=exp.Coalesce(this=margin, expressions=[exp.Literal.number(0)]))
    return exp.Case(ifs=[exp.If(this=surely, true=exp.Literal.number(1))], default=exp.Literal.number(0))


def in_place(outer: exp.Select, ends: Mapping[int, exp.Expr], places: Mapping[int, int]) -> exp.Select:
    """``outer`` with ``ends`` in the place of the aggregates of a release, and the others at their new ``places``."""
    table = outer.args["from_"].this.name
    for column in [found for found in outer.find_all(exp.Column) if found.table == table]:
        named = ReleaseColumn.of(column.name)
        if named is not None and named.is_aggregate and named.place in ends:
            column.replace(ends[named.place].copy())
        else:
            renumber(column, places)
    return outer


def _end(aggregate: Aggregate) -> exp.Expr | None:
    """The least or the greatest declared value of a bare column."""
    variable = _variable(aggregate)
    if variable is None or variable.table.public or variable.picked:
        return None
    column = variable.column
    least = aggregate.kind == MIN
    if column.range is not None:
        return _literal(column.range[0 if least else 1], column.type, least)
    if column.values is None or column.type.kind is Kind.BOOLEAN:
        return None
    values: Sequence[Scalar] = [value for value in column.values if value is not None]
    if not values:
        return None
    chosen = min(values) if least else max(values)
    return _literal(chosen, column.type, least)


def _variable(aggregate: Aggregate) -> Variable | None:
    return None if aggregate.argument is None else variable_behind(aggregate.argument.sql)


def _literal(value: Scalar, type_: Type, least: bool) -> exp.Expr:
    """A declared value as the column's type writes it, in the outer SELECT's words."""
    if type_.kind is Kind.INTEGER and not isinstance(value, str | datetime.date):
        value = math.ceil(measure(value)) if least else math.floor(measure(value))
    text = value.isoformat(" ") if isinstance(value, datetime.datetime) else str(value)
    if type_.kind is Kind.TIMESTAMPTZ:
        text += "+00"
    return exp.cast(exp.Literal.string(text), _written(type_))


def _written(type_: Type) -> str:
    if type_.kind is Kind.INTEGER:
        return {16: "smallint", 32: "int", 64: "bigint"}.get(type_.bits, "decimal(38, 0)")
    if type_.kind is Kind.DECIMAL:
        return f"decimal({type_.precision}, {type_.scale})"
    times = {Kind.DATE: "date", Kind.TIMESTAMP: "timestamp", Kind.TIMESTAMPTZ: "timestamptz"}
    return {Kind.DOUBLE: "double", **times}.get(type_.kind, "text")
