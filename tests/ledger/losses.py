"""Pure ε, as tests of ledgers charge it."""

from __future__ import annotations

from fractions import Fraction

from dpsql.accounting import PURE, Accountant, PrivacyLoss


def pure(epsilon: Fraction | int | str) -> Accountant:
    return Accountant(PURE, Fraction(epsilon), Fraction(0))


def cost(epsilon: Fraction | int | str) -> PrivacyLoss:
    return PrivacyLoss(epsilon=Fraction(epsilon))
