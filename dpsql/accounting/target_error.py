"""Accuracy first: the price of a statement, from the error that an analyst asks for.

Guarantee: the price follows from text, policy and what was released before. It is found by calibrating at a price and
looking at the half-widths that come of it, the same that ``EXPLAIN`` shows; nothing is taken from a formula on trust.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dpsql.errors import DataError

_WRITTEN = re.compile(r"(\d{1,12}(?:\.\d{1,9})?|\.\d{1,9})\s*(%?)")
_LARGEST = 10**12
"""Below this, an error may be asked for."""
_TRIES = 60
_DIGITS = Context(prec=3, rounding=ROUND_CEILING)


@dataclass(frozen=True, slots=True)
class Target:
    """The largest 95 % half-width of any column: a number, or a part of each column's size."""

    amount: Fraction
    relative: bool = False

    def __str__(self) -> str:
        return f"{float(self.amount * 100):g}%" if self.relative else f"{float(self.amount):.12g}"

    def of(self, size: float | None) -> float | None:
        """The half-width that a column of this size may have; None where a part of nothing is asked for."""
        if not self.relative:
            return float(self.amount)
        return float(self.amount) * size if size else None


def target(value: str) -> Target | None:
    """The target that ``SET dpsql.target_error`` sets; None for ``off``. Raises DataError 22023.

    >>> print(target("'5%'"), target("200"), target("off"))
    5% 200 None
    """
    text = value.strip().strip("'").strip()
    if text.lower() == "off":
        return None
    found = _WRITTEN.fullmatch(text)
    amount = Fraction(found[1]) if found else Fraction(0)
    if found is None or not amount:
        raise DataError(
            "dpsql.target_error is a 95 % error: a number above 0, or a percentage",
            sqlstate="22023",
            hint="SET dpsql.target_error = '5%', or '200', or off",
        )
    return Target(amount / 100, True) if found[2] else Target(amount)


Excess = Callable[[Fraction], float]
"""By what factor the widest column is wider than it may be, at a price."""


def price_for(wanted: Target, excess: Excess, most: Fraction) -> Fraction:
    """The least ε, to three digits, at which no column is wider than it may be; at most the owner's cap.

    Raises DataError 22023 where the cap does not buy it, which says what it buys: nothing was charged.

    >>> float(price_for(Target(Fraction(20)), lambda epsilon: 0.123456 / float(epsilon), Fraction(1)))
    0.124
    >>> price_for(Target(Fraction(20)), lambda epsilon: 2.5 / float(epsilon), Fraction(1))
    Traceback (most recent call last):
    dpsql.errors.DataError: an error of 20 takes more than the owner allows for a statement, ε = 1
    HINT: SET dpsql.target_error = '50' is what that buys
    """
    widest = excess(most)
    if not widest <= 1:
        raise _too_dear(wanted, widest, most)

    def affordable(epsilon: Fraction) -> bool:
        try:
            return excess(epsilon) <= 1
        except DataError:  # Too little to tell one value from others.
            return False

    epsilon = min(most, _rounded(most * Fraction(max(widest, 1e-9))))
    for _ in range(_TRIES):
        if affordable(epsilon):
            break
        epsilon = min(most, _rounded(epsilon * Fraction(101, 100)))
    if not affordable(epsilon):
        epsilon = _between(epsilon, most, affordable)
    for _ in range(_TRIES):
        less = _rounded(epsilon * Fraction(98, 100))
        if less >= epsilon or not affordable(less):
            break
        epsilon = less
    return epsilon if affordable(epsilon) else most


def _between(less: Fraction, enough: Fraction, affordable: Callable[[Fraction], bool]) -> Fraction:
    """The least ε that is enough, to a hundredth, where errors do not fall evenly with it."""
    while enough > less * Fraction(101, 100):
        middle = _rounded(Fraction(math.sqrt(less * enough)))
        if not less < middle < enough:
            break
        less, enough = (less, middle) if affordable(middle) else (middle, enough)
    return enough


def _rounded(epsilon: Fraction) -> Fraction:
    """Up, to three significant digits."""
    exact = _DIGITS.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return Fraction(exact)


def _too_dear(wanted: Target, factor: float, most: Fraction) -> DataError:
    hint = "SET dpsql.target_error = off: its error is larger than can be asked for"
    if wanted.amount * Fraction(min(factor, _LARGEST)) < _LARGEST:
        affordable = Target(_rounded(wanted.amount * Fraction(factor)), wanted.relative)
        hint = f"SET dpsql.target_error = '{affordable}' is what that buys"
    return DataError(
        f"an error of {wanted} takes more than the owner allows for a statement, ε = {float(most):g}",
        sqlstate="22023",
        hint=hint,
    )
