"""Pure differential privacy: ε adds up, and there is no δ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from dpsql.accounting.accounting import Accounting, Allowance
from dpsql.accounting.loss import PrivacyLoss
from rewriter.declared import Norm


class Pure(Accounting):
    """ε by basic composition."""

    name = "pure"
    takes_delta = False
    norms: ClassVar[tuple[Norm, ...]] = (Norm.L1,)
    concentrated = False
    two_steps = 2  # 2·ε: Dwork, Roth 2014, Theorem 2.2
    deviation = math.sqrt(2)
    cells_power = 1 / 3
    prefers_finest = True

    def limit(self, epsilon: Fraction, delta: Fraction, selection: Fraction | None) -> PrivacyLoss:
        return PrivacyLoss(epsilon=epsilon, delta=delta)

    def adds(self, loss: PrivacyLoss) -> bool:
        return not loss.rho

    def price(self, epsilon: Fraction, delta_for_selection: Fraction) -> PrivacyLoss:
        if delta_for_selection and not self.takes_delta:
            raise ValueError(f"{self} accounting has no delta for key selection")
        return PrivacyLoss(epsilon=epsilon, delta=delta_for_selection)

    def statement_epsilon(self, loss: PrivacyLoss) -> Fraction:
        return loss.epsilon

    def alone(self, loss: PrivacyLoss, delta: Fraction) -> tuple[Fraction, Fraction]:
        """
        >>> PURE.alone(PrivacyLoss(epsilon=Fraction(1)), Fraction(0))
        (Fraction(1, 1), Fraction(0, 1))
        """
        return loss.epsilon, loss.delta

    def delta(self, declared: Fraction, *, selects: bool) -> Fraction:
        return Fraction(0)

    def epsilon_of(self, spent: PrivacyLoss, epsilon: Fraction, delta: Fraction, limit: PrivacyLoss) -> Fraction:
        return spent.epsilon

    def largest(self, left: PrivacyLoss) -> Fraction:
        return left.epsilon

    def allowances(self, share: PrivacyLoss) -> Iterator[Allowance]:
        yield Allowance(PrivacyLoss(epsilon=share.epsilon), share.of_noise)

    def selections(self, share: PrivacyLoss, delta: Fraction) -> Iterator[Allowance]:
        yield from ()

    def price_of_information(self, part: Fraction) -> Fraction:
        """Variances fall with ε²; rounded up."""
        root = math.sqrt(part)
        return Fraction(root if Fraction(root) ** 2 >= part else math.nextafter(root, math.inf))

    def tail(self, chance: float) -> float:
        """The multiple for Laplace noise."""
        return -math.log(chance)


PURE = Pure()
