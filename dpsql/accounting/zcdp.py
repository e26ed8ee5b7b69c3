"""Zero-concentrated differential privacy: ρ adds up, and the δ of key selection beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from statistics import NormalDist

from dpsql.accounting.accounting import MOST_DELTA, Accounting, Allowance
from dpsql.accounting.concentration import rho_of_pure, rho_of_range
from dpsql.accounting.conversion import largest_rho, smallest_epsilon
from dpsql.accounting.loss import PrivacyLoss
from rewriter.declared import Norm

_GRID = 10**18


class Zcdp(Accounting):
    """ρ and δ by the approximate zCDP filter (Whitehouse, Ramdas, Rogers, Wu 2023)."""

    name = "zcdp"
    takes_delta = True
    norms = (Norm.L2,)
    concentrated = True
    two_steps = 4  # 2²·ρ: Bun, Steinke 2016, Proposition 27
    deviation = 1.0
    cells_power = 1 / 2
    prefers_finest = False

    def check_total(self, delta: Fraction) -> None:
        if not delta:
            raise ValueError("zcdp accounting needs a delta above 0")

    def limit(self, epsilon: Fraction, delta: Fraction, selection: Fraction | None) -> PrivacyLoss:
        apart = delta / 4 if selection is None else selection
        if not 0 <= apart < delta:
            raise ValueError("the part of delta for key selection is at least 0 and less than delta")
        return PrivacyLoss(rho=largest_rho(epsilon, delta - apart), delta=apart)

    def adds(self, loss: PrivacyLoss) -> bool:
        return not loss.epsilon

    def price(self, epsilon: Fraction, delta_for_selection: Fraction) -> PrivacyLoss:
        """ρ = ε²/2, at least what any ε-DP mechanism costs (:mod:`dpsql.accounting.concentration`)."""
        return PrivacyLoss(rho=epsilon * epsilon / 2, delta=delta_for_selection)

    def price_of_pure(self, epsilon: Fraction, width: Fraction) -> PrivacyLoss:
        """
        >>> ZCDP.price_of_pure(Fraction(3, 4), Fraction(1)).rho
        Fraction(1, 8)
        """
        return PrivacyLoss(rho=min(rho_of_pure(epsilon), rho_of_range(width)))

    def statement_epsilon(self, loss: PrivacyLoss) -> Fraction:
        """√(2ρ), exactly where it is a fraction: of the price of a whole statement it is.

        >>> ZCDP.statement_epsilon(ZCDP.price(Fraction(1, 10), Fraction(0)))
        Fraction(1, 10)
        """
        square = 2 * loss.rho
        exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        return exact if exact * exact == square else Fraction(float(square) ** 0.5)

    def alone(self, loss: PrivacyLoss, delta: Fraction) -> tuple[Fraction, Fraction] | None:
        """At the declared δ, of which key selection may take a part; where that is all of it, no ε is enough.

        >>> epsilon, delta = ZCDP.alone(PrivacyLoss(rho=Fraction(1, 2)), Fraction(1, 10**6))
        >>> round(float(epsilon), 2), float(delta)
        (5.22, 1e-06)
        """
        if not loss.rho:
            return Fraction(0), loss.delta
        if loss.delta >= delta:
            return None
        return smallest_epsilon(loss.rho, delta - loss.delta), delta

    def delta(self, declared: Fraction, *, selects: bool) -> Fraction:
        return declared if selects else Fraction(0)

    def epsilon_of(self, spent: PrivacyLoss, epsilon: Fraction, delta: Fraction, limit: PrivacyLoss) -> Fraction:
        found = smallest_epsilon(spent.rho, delta - limit.delta)
        # Within the limit, the declared ε holds too: the two roundings shall not make a full ledger look overdrawn.
        return min(found, epsilon) if spent.rho <= limit.rho else found

    def largest(self, left: PrivacyLoss) -> Fraction:
        return Fraction(math.isqrt(math.floor(2 * left.rho * _GRID * _GRID)), _GRID)

    def allowances(self, share: PrivacyLoss) -> Iterator[Allowance]:
        yield Allowance(PrivacyLoss(rho=share.rho), share.of_noise)

    def selections(self, share: PrivacyLoss, delta: Fraction) -> Iterator[Allowance]:
        """With the whole δ of the price, which noise does not need."""
        if delta := min(delta, MOST_DELTA):
            yield Allowance(PrivacyLoss(rho=share.rho), PrivacyLoss(rho=share.rho, delta=delta), delta)

    def price_of_information(self, part: Fraction) -> Fraction:
        return part

    def tail(self, chance: float) -> float:
        """The multiple for Gaussian noise."""
        return NormalDist().inv_cdf(1 - chance / 2)


ZCDP = Zcdp()
