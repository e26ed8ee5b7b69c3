"""The filter: whether one more privacy loss fits into the declared total, whatever was chosen before and why.

Why a box. The declared total becomes one :class:`PrivacyLoss`, the ``limit``, fixed before the first question; a
charge fits when every part of the running sum stays within it. For such a box the sums are valid although each
parameter is chosen after seeing earlier answers: ε and δ by basic composition, ρ and δ by the approximate zCDP
filter (Whitehouse, Ramdas, Rogers, Wu 2023). It is tempting in zCDP to let δ be shared as one goes, "ρ may grow to
the conversion at what is left of δ". That is no valid filter: an analyst who spends δ on key selection only after
lucky noise and ρ only after unlucky noise collects both failures, about 1.2 δ with Gaussians. Therefore the part of δ
that key selection may use, ``selection``, is set apart in advance. A quarter of δ costs about 2 % of ρ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, localcontext
from enum import StrEnum
from fractions import Fraction

from dpsql.accounting.conversion import DIGITS, decimal, largest_rho, smallest_epsilon
from dpsql.accounting.loss import PrivacyLoss


class Accounting(StrEnum):
    """What adds up: pure ε, zero-concentrated ρ (and δ of key selection), or (ε, δ)."""

    PURE = "pure"
    ZCDP = "zcdp"
    APPROX = "approx"


@dataclass(frozen=True, slots=True)
class Accountant:
    """The declared total (ε, δ), and the filter that keeps all admitted losses together within it.

    ``selection`` is the part of δ that is set apart for key selection; it matters under zCDP alone, and is a
    quarter of δ unless it is given. ``limit`` is the box of exact fractions that decides; no float ever does.

    >>> accountant = Accountant(Accounting.PURE, epsilon=Fraction(1), delta=Fraction(0))
    >>> accountant.fits(PrivacyLoss(epsilon=Fraction(9, 10)), PrivacyLoss(epsilon=Fraction(1, 10)))
    True
    >>> accountant.statements_left(PrivacyLoss(epsilon=Fraction(1, 2)), PrivacyLoss(epsilon=Fraction(1, 10)))
    5
    """

    accounting: Accounting
    epsilon: Fraction
    delta: Fraction
    selection: Fraction | None = None
    limit: PrivacyLoss = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or not isinstance(self.delta, Fraction):
            raise TypeError("a declared total is made of exact fractions")
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise ValueError("a declared total has epsilon > 0 and 0 <= delta < 1")
        if self.accounting is Accounting.PURE and self.delta:
            raise ValueError("pure accounting has no delta")
        if self.accounting is Accounting.ZCDP and not self.delta:
            raise ValueError("zcdp accounting needs a delta above 0")
        object.__setattr__(self, "limit", self._limit())

    def _limit(self) -> PrivacyLoss:
        if self.accounting is not Accounting.ZCDP:
            return PrivacyLoss(epsilon=self.epsilon, delta=self.delta)
        apart = self.delta / 4 if self.selection is None else self.selection
        if not 0 <= apart < self.delta:
            raise ValueError("the part of delta for key selection is at least 0 and less than delta")
        return PrivacyLoss(rho=largest_rho(self.epsilon, self.delta - apart), delta=apart)

    def fits(self, spent: PrivacyLoss, more: PrivacyLoss) -> bool:
        """Whether ``more`` may be charged after ``spent``; exact, and sound under adaptive choice.

        >>> zcdp = Accountant(Accounting.ZCDP, epsilon=Fraction(1), delta=Fraction(1, 10**6))
        >>> zcdp.fits(PrivacyLoss(rho=Fraction(3, 200)), PrivacyLoss(rho=Fraction(1, 200)))
        True
        """
        self.check_kind(more)
        return (spent + more).fits_within(self.limit)

    def check_kind(self, loss: PrivacyLoss) -> None:
        """Raise ValueError for a loss that this accounting does not add."""
        if loss.rho if self.accounting is not Accounting.ZCDP else loss.epsilon:
            raise ValueError(f"this loss is not of the kind that {self.accounting} accounting adds")

    def price(self, epsilon: Fraction, delta_for_selection: Fraction) -> PrivacyLoss:
        """What a statement of this ε costs: ρ = ε²/2 under zCDP, which any ε-DP mechanism meets, else ε.

        >>> Accountant(Accounting.ZCDP, Fraction(1), Fraction(1, 10**6)).price(Fraction(1, 10), Fraction(0)).rho
        Fraction(1, 200)
        """
        if self.accounting is Accounting.ZCDP:
            return PrivacyLoss(rho=epsilon * epsilon / 2, delta=delta_for_selection)
        if self.accounting is Accounting.PURE and delta_for_selection:
            raise ValueError("pure accounting has no delta for key selection")
        return PrivacyLoss(epsilon=epsilon, delta=delta_for_selection)

    def epsilon_of(self, spent: PrivacyLoss) -> float:
        """The ε at the declared δ that ``spent`` amounts to, rounded up; inf when more δ is gone than was declared.

        >>> Accountant(Accounting.PURE, Fraction(1), Fraction(0)).epsilon_of(PrivacyLoss(epsilon=Fraction(1, 10)))
        0.1
        """
        if spent.delta > self.limit.delta:
            return math.inf
        if self.accounting is not Accounting.ZCDP:
            return _float_up(spent.epsilon)
        epsilon = smallest_epsilon(spent.rho, self.delta - self.limit.delta)
        # Within the limit, the declared ε holds too: the two roundings shall not make a full ledger look overdrawn.
        return _float_up(min(epsilon, self.epsilon) if spent.rho <= self.limit.rho else epsilon)

    def statements_left(self, spent: PrivacyLoss, each: PrivacyLoss) -> int:
        """How many more charges of ``each`` fit."""
        if not each:
            raise ValueError("a statement without a price can be asked without end")
        return self.limit.left_after(spent) // each

    def largest(self, spent: PrivacyLoss) -> Fraction:
        """The largest ε of a statement that still fits, to six digits and rounded down; 0 when none does.

        >>> zcdp = Accountant(Accounting.ZCDP, Fraction(1), Fraction(1, 10**6))
        >>> float(zcdp.largest(PrivacyLoss())), float(zcdp.largest(zcdp.limit))
        (0.217932, 0.0)
        """
        if self.accounting is Accounting.ZCDP:
            left = self.limit.left_after(spent).rho
            grid = 10**18
            return _six_digits_down(Fraction(math.isqrt(math.floor(2 * left * grid * grid)), grid))
        return _six_digits_down(self.limit.left_after(spent).epsilon)


def _float_up(value: Fraction) -> float:
    """The least float that prints as at least ``value``: an exact decimal such as 1/10 stays the float 0.1."""
    near = float(value)
    return near if Fraction(repr(near)) >= value else math.nextafter(near, math.inf)


def _six_digits_down(value: Fraction) -> Fraction:
    with localcontext(Context(prec=DIGITS, rounding=ROUND_FLOOR)) as context:
        exact = decimal(value)
        context.prec = 6
        return Fraction(+exact)
