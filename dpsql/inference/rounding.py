"""The value of a column's type that is nearest to an exact number."""

from __future__ import annotations

import sys
from decimal import Context, Decimal
from fractions import Fraction

from dpsql.errors import error
from rewriter.types import Kind, Scalar, Type

EXACT = Context(prec=64)
"""Enough digits for every decimal(38, s)."""


def typed(number: Fraction, target: Type) -> Scalar:
    """``number`` as a value of type ``target``, to the nearest, halves to even; beyond the type's ends, its end.

    >>> from rewriter.types import DOUBLE, SMALLINT, decimal
    >>> typed(Fraction(5, 2), SMALLINT), typed(Fraction(1, 3), decimal(15, 2)), typed(Fraction(1, 4), DOUBLE)
    (2, Decimal('0.33'), 0.25)
    >>> typed(Fraction(10**6), SMALLINT), typed(Fraction(-(10**6)), decimal(4, 2))
    (32767, Decimal('-99.99'))
    """
    if target.kind is Kind.INTEGER:
        low, high = target.limits
        return min(max(round(number), low), high)
    if target.kind is Kind.DECIMAL:
        most = 10**target.precision - 1
        units = min(max(round(number * 10**target.scale), -most), most)
        return Decimal(units).scaleb(-target.scale, EXACT)
    if target.kind is Kind.DOUBLE:
        most_float = Fraction(sys.float_info.max)
        return float(min(max(number, -most_float), most_float))
    raise error(f"an aggregate has no type {target}", sqlstate="XX000")
