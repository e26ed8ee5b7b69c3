"""The filter: whether one more privacy loss fits into the declared total, whatever was chosen before and why.

Why a box. The declared total becomes one :class:`PrivacyLoss`, the ``limit``, fixed before the first question; a
charge fits when every part of the running sum stays within it. For such a box the sums are valid although each
parameter is chosen after seeing earlier answers: ε and δ by basic composition, ρ and δ by the approximate zCDP
filter (Whitehouse, Ramdas, Rogers, Wu 2023). A curve of Rényi divergences needs an argument of its own, which
:mod:`dpsql.accounting.rdp` gives. It is tempting in zCDP to let δ be shared as one goes, "ρ may grow to
the conversion at what is left of δ". That is no valid filter: an analyst who spends δ on key selection only after
lucky noise and ρ only after unlucky noise collects both failures, about 1.2 δ with Gaussians. Therefore the part of δ
that key selection may use, ``selection``, is set apart in advance. A quarter of δ costs about 2 % of ρ.

Why windows. A total that renews bounds what is released within each of its windows, by the same argument: one filter
for each. What all windows say together is bounded by a filter of all time, and by nothing where there is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, localcontext
from fractions import Fraction

from dpsql.accounting.accounting import Accounting
from dpsql.accounting.conversion import DIGITS, decimal
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calendar_unit import CalendarUnit


@dataclass(frozen=True, slots=True)
class Accountant:
    """The declared total (ε, δ), and the filter that keeps all admitted losses together within it.

    ``selection`` is the part of δ that is set apart for key selection; it matters under zCDP alone, and is a
    quarter of δ unless it is given. ``limit`` is the box of exact fractions that decides; no float ever does.
    ``per`` says of which windows it is the total: of each of them by itself, or of all time where there is none. Those
    ``of_rows`` are not of the time at which people are asked about, but of that of the rows themselves.

    >>> from dpsql.accounting import PURE
    >>> accountant = Accountant(PURE, epsilon=Fraction(1), delta=Fraction(0))
    >>> accountant.fits(PrivacyLoss(epsilon=Fraction(9, 10)), PrivacyLoss(epsilon=Fraction(1, 10)))
    True
    >>> accountant.statements_left(PrivacyLoss(epsilon=Fraction(1, 2)), PrivacyLoss(epsilon=Fraction(1, 10)))
    5
    """

    accounting: Accounting
    epsilon: Fraction
    delta: Fraction
    selection: Fraction | None = None
    per: CalendarUnit | None = None
    of_rows: bool = False
    limit: PrivacyLoss = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or not isinstance(self.delta, Fraction):
            raise TypeError("a declared total is made of exact fractions")
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise ValueError("a declared total has epsilon > 0 and 0 <= delta < 1")
        if self.of_rows and self.per is None:
            raise ValueError("rows are those of a period")
        self.accounting.check_total(self.delta)
        limit = self.accounting.limit(self.epsilon, self.delta, self.selection)
        object.__setattr__(self, "limit", limit)

    @property
    def window(self) -> CalendarUnit | None:
        """The windows of time that it is the total of; None where it is of all time, or of rows."""
        return None if self.of_rows else self.per

    @property
    def rows_of(self) -> CalendarUnit | None:
        """The periods of rows that it is the total of; None where it is of all time, or of windows of time."""
        return self.per if self.of_rows else None

    @property
    def each(self) -> str:
        """What it is the total of, in words: ``each month``, ``the rows of each month``, or nothing."""
        return "" if self.per is None else f"the rows of each {self.per}" if self.of_rows else f"each {self.per}"

    def fits(self, spent: PrivacyLoss, more: PrivacyLoss) -> bool:
        """Whether ``more`` may be charged after ``spent``; exact, and sound under adaptive choice.

        >>> from dpsql.accounting import ZCDP
        >>> zcdp = Accountant(ZCDP, epsilon=Fraction(1), delta=Fraction(1, 10**6))
        >>> zcdp.fits(PrivacyLoss(rho=Fraction(3, 200)), PrivacyLoss(rho=Fraction(1, 200)))
        True
        """
        self.check_kind(more)
        return (spent + more).admitted_by(self.limit)

    def check_kind(self, loss: PrivacyLoss) -> None:
        """Raise ValueError for a loss that this accounting does not add."""
        if not self.accounting.adds(loss):
            raise ValueError(f"this loss is not of the kind that {self.accounting} accounting adds")

    def price(self, epsilon: Fraction, delta_for_selection: Fraction) -> PrivacyLoss:
        """The price of a statement with this ε.

        >>> from dpsql.accounting import ZCDP
        >>> Accountant(ZCDP, Fraction(1), Fraction(1, 10**6)).price(Fraction(1, 10), Fraction(0)).rho
        Fraction(1, 200)
        """
        return self.accounting.price(epsilon, delta_for_selection)

    def epsilon_of(self, spent: PrivacyLoss) -> float:
        """The ε at the declared δ that ``spent`` amounts to, rounded up; inf when more δ is gone than was declared.

        >>> from dpsql.accounting import PURE
        >>> Accountant(PURE, Fraction(1), Fraction(0)).epsilon_of(PrivacyLoss(epsilon=Fraction(1, 10)))
        0.1
        """
        if spent.delta > self.limit.delta:
            return math.inf
        return _float_up(self.accounting.epsilon_of(spent, self.epsilon, self.delta, self.limit))

    def statements_left(self, spent: PrivacyLoss, each: PrivacyLoss) -> int:
        """How many more charges of ``each`` fit."""
        if not each:
            raise ValueError("a statement without a price can be asked without end")
        return self.limit.left_after(spent) // each

    def largest(self, spent: PrivacyLoss) -> Fraction:
        """The largest ε of a statement that still fits, to six digits and rounded down; 0 when none does.

        >>> from dpsql.accounting import ZCDP
        >>> zcdp = Accountant(ZCDP, Fraction(1), Fraction(1, 10**6))
        >>> float(zcdp.largest(PrivacyLoss())), float(zcdp.largest(zcdp.limit))
        (0.217932, 0.0)
        """
        return _six_digits_down(self.accounting.largest(self.limit.left_after(spent)))


def _float_up(value: Fraction) -> float:
    """The least float that prints as at least ``value``: an exact decimal such as 1/10 stays the float 0.1."""
    near = float(value)
    return near if Fraction(repr(near)) >= value else math.nextafter(near, math.inf)


def _six_digits_down(value: Fraction) -> Fraction:
    with localcontext(Context(prec=DIGITS, rounding=ROUND_FLOOR)) as context:
        exact = decimal(value)
        context.prec = 6
        return Fraction(+exact)
