"""One promise for every system that is compared: the same (ε, δ) of everything that is answered together.

What a statement may cost then follows from how a system adds up: pure ε and (ε, δ) by addition, or by advanced
composition where that allows more (Dwork, Rothblum, Vadhan 2010, as in Kairouz, Oh, Viswanath 2015, Theorem 3.4), zCDP by
its tight conversion, once for all statements. A price is written as the ε that a statement is asked at: √(2ρ) in zCDP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpsql.accountant import largest_rho

Mode = Literal["pure", "zcdp", "approx"]
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Promise:
    """All ``statements`` together are (ε, δ)-differentially private.

    >>> Promise("1", statements=1).price("pure"), Promise("1", statements=1).price("zcdp")
    ('1', '0.220707')
    >>> Promise("1", statements=100).price("pure"), Promise("1", statements=100).price("zcdp")
    ('0.0186916', '0.0220707')
    """

    epsilon: str
    delta: str = "1e-6"
    statements: int = 1

    def __str__(self) -> str:
        many = "one statement" if self.statements == 1 else f"{self.statements} statements together"
        return f"{many}: ({self.epsilon}, {self.delta})"

    def price(self, mode: Mode) -> str:
        """The ε of one statement: the largest that the promise admits, rounded down."""
        if mode == "approx":
            return _down(float(Fraction(self.epsilon) / self.statements)) if self.statements > 1 else self.epsilon
        if mode == "zcdp":
            rho = largest_rho(Fraction(self.epsilon), Fraction(self.delta)) / self.statements
            return _down(math.sqrt(2 * rho))
        basic = Fraction(self.epsilon) / self.statements
        return self.epsilon if self.statements == 1 else _down(max(float(basic), self._advanced()))

    def _advanced(self) -> float:
        """The largest ε of pure statements that compose to the promise at its δ, by halving."""
        low, high = 0.0, float(Fraction(self.epsilon))
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._composed(middle) <= float(Fraction(self.epsilon)) else (low, middle)
        return low

    def _composed(self, each: float) -> float:
        drift = self.statements * each * math.expm1(each) / (math.exp(each) + 1)
        return drift + each * math.sqrt(2 * self.statements * math.log(1 / float(self.delta)))


def _down(value: float) -> str:
    digits = _DIGITS - 1 - math.floor(math.log10(value))
    return f"{math.floor(value * 10**digits) / 10**digits:.{_DIGITS}g}"


PROMISES = (Promise("1"), Promise("1", statements=100))
"""One statement alone, and a session."""
