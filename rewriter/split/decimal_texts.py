"""Numbers of ours in a tree that is read as if an analyst had written it."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from sqlglot import exp

_DIGITS = Context(prec=1100)


def decimal_number(value: Fraction) -> exp.Expr:
    """A literal of a number that a double holds.

    >>> decimal_number(Fraction(-5, 2)).sql()
    '(-2.5)'
    """
    shown = f"{_DIGITS.create_decimal(Decimal(abs(value).numerator)) / Decimal(value.denominator):f}"
    spelt: exp.Expr = exp.Literal.number(shown)
    return exp.Paren(this=exp.Neg(this=spelt)) if value < 0 else spelt
