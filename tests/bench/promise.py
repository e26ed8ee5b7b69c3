"""One promise for every system that is compared: the same (ε, δ) of everything that is answered together.

What a statement may cost then follows from how a system adds up. A price is written as the ε that a statement is asked at:
√(2ρ) in zCDP, and the distance of two answers in standard deviations where noise is Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpsql.accounting.conversion import largest_rho

Mode = Literal["pure", "zcdp", "approx", "composed", "gaussian"]
"""How prices add up.

``pure`` and ``approx``: by addition, as the ledgers of these kinds do. ``zcdp``: ρ by addition, converted once. For other
systems, which keep no such ledger, the best that is known: ``composed`` is the optimal composition of pure mechanisms
(Kairouz, Oh, Viswanath 2015, Theorem 3.3), ``gaussian`` that of Gaussian noise (Balle, Wang 2018; Dong, Roth, Su 2022).
"""
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Promise:
    """All ``statements`` together are (ε, δ)-differentially private.

    >>> modes = "pure", "zcdp", "composed", "gaussian"
    >>> [Promise("1").price(mode) for mode in modes]
    ['1', '0.220707', '1', '0.236704']
    >>> [Promise("1", statements=100).price(mode) for mode in modes]
    ['0.01', '0.0220707', '0.024011', '0.0236704']
    """

    epsilon: str
    delta: str = "1e-6"
    statements: int = 1

    def __str__(self) -> str:
        many = "one statement" if self.statements == 1 else f"{self.statements} statements together"
        return f"{many}: ({self.epsilon}, {self.delta})"

    @property
    def delta_of_one(self) -> Fraction:
        """The δ of one statement where δ adds up."""
        return Fraction(self.delta) / self.statements

    def price(self, mode: Mode) -> str:
        """The ε of one statement: the largest that the promise admits, rounded down."""
        epsilon, delta = Fraction(self.epsilon), Fraction(self.delta)
        if mode in ("pure", "approx"):
            return _down(float(epsilon / self.statements))
        if mode == "zcdp":
            return _down(math.sqrt(2 * largest_rho(epsilon, delta) / self.statements))
        if mode == "composed":
            return _down(_largest(lambda each: composed(each, self.statements, float(epsilon)), float(delta)))
        whole = _largest(lambda distance: gaussian(distance, float(epsilon)), float(delta))
        return _down(whole / math.sqrt(self.statements))


def prices(accounting: str, delta: Fraction = Fraction("1e-6")) -> str:
    """A policy's text of budget and statement, for a ledger of a kind; ``delta`` is that of a statement under ``approx``."""
    total = {
        "pure": "{epsilon: 1000000, accounting: pure}",
        "zcdp": "{epsilon: 1000000, delta: 1e-6, accounting: zcdp}",
        "approx": "{epsilon: 1000000, delta: 1e-2, accounting: approx}",
    }
    part = f", delta: {float(delta):g}" if accounting == "approx" else ""
    return f"budget: {total[accounting]}\nstatement: {{epsilon: 0.1, max_epsilon: 1{part}}}"


def composed(each: float, statements: int, epsilon: float) -> float:
    """The least δ such that so many mechanisms of a pure ε each are together (``epsilon``, δ)-differentially private.

    >>> composed(0.5, 2, 1.0), composed(1.0, 1, 0.0) == math.tanh(0.5)
    (0.0, True)
    """
    total = 0.0
    for other in range(statements + 1):
        loss = (statements - 2 * other) * each
        if loss <= epsilon:
            break
        log_times = math.lgamma(statements + 1) - math.lgamma(other + 1) - math.lgamma(statements - other + 1)
        log_part = log_times + (statements - other) * each - statements * math.log1p(math.exp(each))
        total += math.exp(log_part) * -math.expm1(epsilon - loss)
    return total


def gaussian(distance: float, epsilon: float) -> float:
    """The least δ at ``epsilon`` of Gaussian noise on answers that are so many standard deviations apart."""
    below, above = distance / 2 - epsilon / distance, -distance / 2 - epsilon / distance
    return _normal(below) - math.exp(epsilon) * _normal(above)


def _normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def _largest(delta_at: Callable[[float], float], delta: float) -> float:
    """The largest price whose δ is not above what is promised, by halving."""
    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) <= delta else (low, middle)
    return low


def _down(value: float) -> str:
    digits = _DIGITS - 1 - math.floor(math.log10(value))
    return f"{math.floor(value * 10**digits * (1 + 1e-12)) / 10**digits:.{_DIGITS}g}"


SESSIONS = 1, 100
"""One statement alone, and a session."""
