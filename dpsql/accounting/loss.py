"""Privacy loss: data that adds up exactly, with a meaning that never changes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """What a mechanism costs. ``epsilon`` is pure DP, ``rho`` is zero-concentrated DP, ``delta`` adds beside either.

    A ledger uses ``epsilon`` or ``rho``, never both. All three are exact and only grow.

    >>> PrivacyLoss(rho=Fraction(1, 200)) + PrivacyLoss(rho=Fraction(1, 200), delta=Fraction(1, 10**9))
    PrivacyLoss(epsilon=Fraction(0, 1), rho=Fraction(1, 100), delta=Fraction(1, 1000000000))
    """

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for part in (self.epsilon, self.rho, self.delta):
            if not isinstance(part, Fraction):
                raise TypeError("a privacy loss is made of exact fractions")
            if part < 0:
                raise ValueError("a privacy loss is not negative")

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon + other.epsilon, self.rho + other.rho, self.delta + other.delta)

    def __bool__(self) -> bool:
        return bool(self.epsilon or self.rho or self.delta)
