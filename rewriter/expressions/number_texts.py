"""TO_CHAR of a number: the text that PostgreSQL prints by a format such as ``FM999,990.00``."""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import TEXT, Kind, decimal
from rewriter.dialects import format_of, number_print_of, refuse
from rewriter.expressions.build import Context, derive, limits_of
from rewriter.expressions.doubles import operand
from rewriter.expressions.value import Length, TextSize, Value

_MOST_OF_DOUBLES = 15
"""The decimal digits that PostgreSQL prints of a double."""


def printed(value: Value, written: str, context: Context) -> Value:
    """A number as a text. Halves are rounded as PostgreSQL rounds them: of NUMERIC away from zero, of doubles by their
    exact values."""
    pattern, dialect = format_of(written), context.dialect
    if pattern is None:
        raise refuse("this format of numbers is not answered", "write 'FM999,990.00', or ROUND(x, 2)::text")
    decimals = len(pattern.decimals)
    sql: exp.Expr = value.sql
    if value.type.kind is Kind.DOUBLE:
        if pattern.digits + decimals > _MOST_OF_DOUBLES:
            raise refuse("a double has fewer digits than this format", "write (x::numeric(20, 2)) in its place")
        if value.halves_away:
            sql = dialect.to_digits("round", operand(value), decimals)
    else:
        whole = len(str(max(map(abs, limits_of(value))))) if value.type.kind is Kind.INTEGER else 0
        whole = whole or value.type.precision - value.type.scale
        if whole + decimals > 38:
            raise refuse("this number has too many digits for the format", "write fewer decimals")
        if value.type.kind is Kind.DECIMAL or decimals:
            sql = dialect.cast(sql, decimal(min(38, max(whole + decimals + 1, 1)), decimals))
    size = TextSize(length=Length(plus=pattern.longest, checked=True))
    return derive(number_print_of(written, sql, exact=value.type.kind is not Kind.DOUBLE), TEXT, value, size=size)
