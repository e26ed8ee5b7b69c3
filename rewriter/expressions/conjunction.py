"""Conditions that hold together."""

from __future__ import annotations

from sqlglot import exp

from rewriter.dialects import wrap
from rewriter.expressions.value import Value


def present(argument: Value | None) -> Value | None:
    """``x IS NOT NULL``, or None where that is always so."""
    if argument is None or not argument.nullable:
        return None
    sql = exp.Not(this=exp.Is(this=wrap(argument.sql.copy()), expression=exp.Null()))
    return Value.condition(sql, nullable=False, constant=argument.constant)


def both(one: Value | None, other: Value | None) -> Value | None:
    """The conjunction of two conditions; None is TRUE."""
    if one is None or other is None:
        return one or other
    return Value.condition(
        exp.and_(one.sql.copy(), other.sql.copy(), copy=False),
        nullable=one.nullable or other.nullable,
        constant=one.constant and other.constant,
    )
