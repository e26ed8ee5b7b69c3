"""Doubles as operands: what a dialect has to know of one to spell arithmetic that never raises."""

from __future__ import annotations

import math

from rewriter.declared import Kind
from rewriter.dialects import ANY, Double, Magnitude
from rewriter.expressions.build import is_literal, limits_of, scalar_of
from rewriter.expressions.value import Value


def operand(value: Value) -> Double:
    """The number as an operand of doubles."""
    scalar = scalar_of(value) if is_literal(value) else None
    return Double(value.sql, magnitude_of(value), is_literal(value), scalar)


def magnitude_of(value: Value) -> Magnitude:
    """How small and how large a number can be.

    >>> from sqlglot import exp
    >>> from rewriter.declared.types import SMALLINT
    >>> magnitude_of(Value.unknown(exp.column("x"), SMALLINT))
    (0, 16)
    """
    if is_literal(value):
        found = scalar_of(value)
        if not isinstance(found, int | float):
            return 0, 0
        exponent = math.frexp(found)[1] if found else 0
        return exponent - 1, exponent
    if value.type.kind is Kind.INTEGER:
        return 0, max(abs(end) for end in limits_of(value)).bit_length()
    if value.type.kind is Kind.DECIMAL:
        return -math.ceil(value.type.scale * 3.33), math.ceil((value.type.precision - value.type.scale) * 3.33)
    return value.magnitude or ANY
