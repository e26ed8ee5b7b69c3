"""Constants that a text computes: ``CURRENT_DATE - 30`` once the time of the statement is known."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from rewriter.declared import Type
from rewriter.dialects import Dialect
from rewriter.expressions.build import Context, finite
from rewriter.expressions.compile import _compile
from rewriter.expressions.literals import interval_value
from rewriter.expressions.value import Scope, Span, Value
from rewriter.refused import UNKNOWN_COLUMN, Refused


class _NoColumns(Scope):
    def column(self, node: exp.Column) -> Value:
        raise Refused("a column is no constant", hint="write a literal", sqlstate=UNKNOWN_COLUMN)

    def membership(self, node: exp.In | exp.Exists | exp.Subquery) -> Value:
        raise Refused("a subquery is no constant", hint="write a literal")


def constant_point(node: exp.Expr, dialect: Dialect) -> tuple[Type, Fraction] | None:
    """The type of a number or a time that a text computes, and its place on the number line; None of anything else.

    >>> import sqlglot
    >>> from rewriter.dialects import DUCKDB
    >>> constant_point(sqlglot.parse_one("DATE '0001-01-10' - 3", read="postgres"), DUCKDB)
    (Type(kind=<Kind.DATE: 'date'>, bits=0, precision=0, scale=0), Fraction(7, 1))
    """
    context = Context(_NoColumns(), dialect, _compile)
    try:
        value = finite(context.compile(node), dialect)
    except Refused:
        return None
    point = value.interval
    return (value.type, point.low) if point is not None and point.low == point.high else None


def constant_span(node: exp.Expr, dialect: Dialect) -> Span | None:
    """The months, days and microseconds of a constant interval, or of the text of one; None of anything else."""
    context = Context(_NoColumns(), dialect, _compile)
    try:
        if isinstance(node, exp.Literal) and node.is_string:
            return interval_value(node.name, dialect).span
        return context.compile(node).span
    except Refused:
        return None
