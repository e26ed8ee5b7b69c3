"""The value of a column's type that is nearest to an exact number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Context

import numpy as np

from dpsql.errors import error
from dpsql.releases import IntegerColumn, ValueColumn, weighted
from rewriter.declared import DOUBLE, Kind, Type

EXACT = Context(prec=64)
"""Enough digits for every decimal(38, s)."""


def quotients(target: Type) -> Callable[[IntegerColumn, int | IntegerColumn], ValueColumn]:
    """The function that makes above/below values of type ``target``, for integers of which ``below`` is positive.

    To the nearest, halves to even; beyond the type's ends, its end.

    >>> from rewriter.declared.types import DOUBLE, SMALLINT, decimal
    >>> ten = IntegerColumn.of([10, 1, 10**6, -(10**6)])
    >>> quotients(SMALLINT)(ten, 4), quotients(decimal(4, 2))(ten, 3), quotients(DOUBLE)(ten, 4)[:2]
    ((2, 0, 32767, -32768), (Decimal('3.33'), Decimal('0.33'), Decimal('99.99'), Decimal('-99.99')), (2.5, 0.25))
    """
    if target.kind is Kind.INTEGER:
        low, high = target.limits
        return lambda above, below: ValueColumn.of_integers(above.quotients(below).clipped(low, high), target)
    if target.kind is Kind.DECIMAL:
        most, units = 10**target.precision - 1, 10**target.scale
        return lambda above, below: ValueColumn.of_integers(
            weighted([(above, units)], len(above)).quotients(below).clipped(-most, most), target
        )
    if target.kind is Kind.DOUBLE:
        return _doubles
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


def _doubles(above: IntegerColumn, below: int | IntegerColumn) -> ValueColumn:
    try:
        return ValueColumn.of_floats(np.asarray(above.over(below), dtype=np.float64))
    except OverflowError:
        unders = [below] * len(above) if isinstance(below, int) else below
        return ValueColumn(DOUBLE, [_double(one, under) for one, under in zip(above, unders, strict=True)])


def _double(above: int, below: int) -> float:
    try:
        return above / below  # Python rounds the quotient of integers once, however large they are
    except OverflowError:
        return sys.float_info.max if above > 0 else -sys.float_info.max
