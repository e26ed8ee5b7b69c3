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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from dpsql.accounting.loss import PrivacyLoss
from rewriter.declared import Norm


class Accounting(StrEnum):
    """What adds up: pure ε, zero-concentrated ρ (and δ of key selection), or (ε, δ)."""

    PURE = "pure"
    ZCDP = "zcdp"
    APPROX = "approx"


NORMS: Mapping[Accounting, tuple[Norm, ...]] = {
    Accounting.PURE: (Norm.L1,),
    Accounting.ZCDP: (Norm.L2,),
    Accounting.APPROX: (Norm.L1, Norm.L2),
}
"""The norms in which an accounting can hide how far one person moves a vector."""


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
        total = spent + more
        limit = self.limit
        return total.epsilon <= limit.epsilon and total.rho <= limit.rho and total.delta <= limit.delta

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
        parts = (
            (self.limit.epsilon - spent.epsilon, each.epsilon),
            (self.limit.rho - spent.rho, each.rho),
            (self.limit.delta - spent.delta, each.delta),
        )
        return max(0, min(math.floor(left / price) for left, price in parts if price))

    def largest(self, spent: PrivacyLoss) -> Fraction:
        """The largest ε of a statement that still fits, to six digits and rounded down; 0 when none does.

        >>> zcdp = Accountant(Accounting.ZCDP, Fraction(1), Fraction(1, 10**6))
        >>> float(zcdp.largest(PrivacyLoss())), float(zcdp.largest(zcdp.limit))
        (0.217932, 0.0)
        """
        if self.accounting is Accounting.ZCDP:
            left = max(Fraction(0), self.limit.rho - spent.rho)
            grid = 10**18
            return _six_digits_down(Fraction(math.isqrt(math.floor(2 * left * grid * grid)), grid))
        return _six_digits_down(max(Fraction(0), self.limit.epsilon - spent.epsilon))


def alone(loss: PrivacyLoss, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The (ε, δ) that one loss is by itself, if nothing else was ever answered: under zCDP at a total δ of ``delta``.

    What a statement takes of a total is another number: ρ adds up more slowly than the ε of one statement. δ of key
    selection is a part of ``delta``; where it is all of it, no ε is enough, and OverflowError is raised.

    >>> epsilon, delta = alone(PrivacyLoss(rho=Fraction(1, 2)), Fraction(1, 10**6))
    >>> round(float(epsilon), 2), float(delta)
    (5.22, 1e-06)
    >>> alone(PrivacyLoss(epsilon=Fraction(1)), Fraction(0))
    (Fraction(1, 1), Fraction(0, 1))
    """
    if not loss.rho:
        return loss.epsilon, loss.delta
    if loss.delta >= delta:
        raise OverflowError("key selection takes all of delta")
    return smallest_epsilon(loss.rho, delta - loss.delta), delta


# The conversion. By Canonne, Kamath, Steinke 2020, Prop. 7, ρ-zCDP is (ε, δ)-DP with, for *every* order α > 1,
#     δ = exp((α - 1)(αρ - ε)) / (α - 1) · (1 - 1/α)^α.
# Solved for ρ or ε at x = α - 1, it is a closed form; where its derivative is 0, one equation for log(1/δ) is left,
# whose right side grows with x. The search for the best α need not be exact nor trusted: it
# runs in floats and can only cost tightness. What is sound is the last step, one evaluation at the α that was found:
# 80 correct digits, a margin of 1e-40 (above 1e-60, what rounding can amount to for x > 1e-6), and directed rounding.

_DIGITS = 80
_MARGIN = Decimal("1e-40")


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ, exact and within 1e-10 of the best, such that ρ-zCDP implies (ε, δ)-DP: the tight conversion, rounded down.

    >>> float(largest_rho(Fraction(1), Fraction(1, 10**6)))  # doctest: +ELLIPSIS
    0.0243559...
    """
    eps, wanted = float(epsilon), -_log(delta)

    def grown(x: float) -> tuple[float, float]:
        """log(1+x) + (ε + log(1+1/x)) · x²/(1+2x), and x times its derivative."""
        factor, gain = x * x / (1 + 2 * x), eps + math.log1p(1 / x)
        value = math.log1p(x) + gain * factor
        return value, (x - factor) / (1 + x) + 2 * gain * factor * (1 + x) / (1 + 2 * x)

    most = wanted / max(eps, 1e-300)
    x = _best_order(grown, wanted, most + math.sqrt(most * (most + 1)))
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_FLOOR)) as context:
        rho = (_decimal(epsilon) + (1 + 1 / x).ln() + (_decimal(delta) * (1 + x)).ln() / x) / (1 + x) - _MARGIN
        context.prec = 12
        return max(Fraction(0), Fraction(+rho))


@lru_cache(maxsize=1024)
def smallest_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """An ε, within 1e-10 of the best, such that ρ-zCDP implies (ε, δ)-DP: the tight conversion, rounded up.

    >>> float(smallest_epsilon(Fraction(1, 200), Fraction(1, 10**6)))  # doctest: +ELLIPSIS
    0.42994...
    """
    if not rho:
        return Fraction(0)
    r, wanted = float(rho), -_log(delta)
    most = math.sqrt(wanted / max(r, 1e-300))
    x = _best_order(lambda x: (math.log1p(x) + r * x * x, x / (1 + x) + 2 * r * x * x), wanted, most)
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_CEILING)) as context:
        epsilon = (1 + x) * _decimal(rho) - (1 + 1 / x).ln() - (_decimal(delta) * (1 + x)).ln() / x + _MARGIN
        context.prec = 12
        return max(Fraction(0), Fraction(+epsilon))


def _best_order(grown: Callable[[float], tuple[float, float]], wanted: float, most: float) -> Decimal:
    """About the x in [1e-6, 1e15] where ``grown`` is ``wanted``, by Newton's method in log x.

    ``grown`` returns a value that grows with x, at least log(1 + x), and x times its derivative; at ``most`` it is
    as large as ``wanted`` or larger. Begun there, a convex function makes every step fall short: none goes astray.
    """
    x = min(most, math.expm1(min(wanted, 34.5)), 1e15)
    for _ in range(60):
        x = max(x, 1e-6)
        value, slope = grown(x)
        step = (wanted - value) / slope
        x *= math.exp(min(max(step, -30.0), 30.0))
        if abs(step) < 1e-8:
            break
    return Decimal(min(max(x, 1e-6), 1e15))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _float_up(value: Fraction) -> float:
    """The least float that prints as at least ``value``: an exact decimal such as 1/10 stays the float 0.1."""
    near = float(value)
    return near if Fraction(repr(near)) >= value else math.nextafter(near, math.inf)


def _six_digits_down(value: Fraction) -> Fraction:
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_FLOOR)) as context:
        exact = _decimal(value)
        context.prec = 6
        return Fraction(+exact)
