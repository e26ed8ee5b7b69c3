"""The value of a column's type that is nearest to an exact number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Context, Decimal

from dpsql.errors import error
from rewriter.declared import Kind, Scalar, Type

EXACT = Context(prec=64)
"""Enough digits for every decimal(38, s)."""


def quotients(target: Type) -> Callable[[int, int], Scalar]:
    """The function that makes above/below a value of type ``target``, for integers of which ``below`` is positive.

    To the nearest, halves to even; beyond the type's ends, its end. Two integers and no fraction, for speed: there are
    thousands of cells, and they need no lowest terms.

    >>> from rewriter.declared.types import DOUBLE, SMALLINT, decimal
    >>> quotients(SMALLINT)(10, 4), quotients(decimal(15, 2))(1, 3), quotients(DOUBLE)(1, 4)
    (2, Decimal('0.33'), 0.25)
    >>> quotients(SMALLINT)(10**6, 1), quotients(decimal(4, 2))(-(10**6), 1)
    (32767, Decimal('-99.99'))
    """
    if target.kind is Kind.INTEGER:
        low, high = target.limits
        return lambda above, below: min(max(nearest(above, below), low), high)
    if target.kind is Kind.DECIMAL:
        most, units, places = 10**target.precision - 1, 10**target.scale, -target.scale
        return lambda above, below: Decimal(min(max(nearest(above * units, below), -most), most)).scaleb(places, EXACT)
    if target.kind is Kind.DOUBLE:
        return _double
    raise error(f"an aggregate has no type {target}", sqlstate="XX000")


def nearest(above: int, below: int) -> int:
    """The integer nearest to above/below, halves to even; ``below`` is positive.

    >>> [nearest(n, 2) for n in (-3, -1, 0, 1, 3, 5)]
    [-2, 0, 0, 0, 2, 2]
    """
    if below == 1:
        return above
    whole, rest = divmod(above, below)
    return whole + (2 * rest + whole % 2 > below)


def _double(above: int, below: int) -> float:
    try:
        return above / below  # Python rounds the quotient of integers once, however large they are
    except OverflowError:
        return sys.float_info.max if above > 0 else -sys.float_info.max
