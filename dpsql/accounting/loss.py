"""Privacy loss: data that adds up exactly, with a meaning that never changes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """What a mechanism costs. ``epsilon`` is pure DP, ``rho`` is zero-concentrated DP, ``delta`` adds beside either.

    A ledger uses ``epsilon`` or ``rho``, never both. All three are exact and never negative, so that a difference
    raises ValueError where more is taken away than there is.

    >>> PrivacyLoss(rho=Fraction(1, 200)) + PrivacyLoss(rho=Fraction(1, 200), delta=Fraction(1, 10**9))
    PrivacyLoss(epsilon=Fraction(0, 1), rho=Fraction(1, 100), delta=Fraction(1, 1000000000))
    >>> price = PrivacyLoss(rho=Fraction(1, 200))
    >>> (price / 3).rho, (price * Fraction(4, 5)).rho, (price - price / 3).rho
    (Fraction(1, 600), Fraction(1, 250), Fraction(1, 300))
    """

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Fraction):
                raise TypeError("a privacy loss is made of exact fractions")
            if part < 0:
                raise ValueError("a privacy loss is not negative")

    @property
    def parts(self) -> tuple[Fraction, Fraction, Fraction]:
        """ε, ρ and δ."""
        return self.epsilon, self.rho, self.delta

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon + other.epsilon, self.rho + other.rho, self.delta + other.delta)

    def __sub__(self, other: PrivacyLoss) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon - other.epsilon, self.rho - other.rho, self.delta - other.delta)

    def __mul__(self, factor: int | Fraction) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon * factor, self.rho * factor, self.delta * factor)

    def __truediv__(self, count: int | Fraction) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon / count, self.rho / count, self.delta / count)

    def __floordiv__(self, other: PrivacyLoss) -> int:
        """How many times another loss, which is not nothing, fits within this one.

        >>> PrivacyLoss(epsilon=Fraction(1)) // PrivacyLoss(epsilon=Fraction(2, 7))
        3
        """
        return min(mine // each for mine, each in zip(self.parts, other.parts, strict=True) if each)

    def __bool__(self) -> bool:
        return any(self.parts)

    def fits_within(self, limit: PrivacyLoss) -> bool:
        """Whether every part is at most that of the limit. Of two losses, each may fit within the other or neither.

        >>> PrivacyLoss(rho=Fraction(1)).fits_within(PrivacyLoss(rho=Fraction(2)))
        True
        """
        return all(mine <= most for mine, most in zip(self.parts, limit.parts, strict=True))

    def left_after(self, spent: PrivacyLoss) -> PrivacyLoss:
        """What is left of this limit; nothing of a part that is overdrawn.

        >>> PrivacyLoss(rho=Fraction(1), delta=Fraction(1, 4)).left_after(PrivacyLoss(rho=Fraction(2))).parts
        (Fraction(0, 1), Fraction(0, 1), Fraction(1, 4))
        """
        return PrivacyLoss(*(max(most - gone, Fraction(0)) for most, gone in zip(self.parts, spent.parts, strict=True)))

    def part_of(self, whole: PrivacyLoss) -> Fraction:
        """The part that this is of a whole: of ε, of ρ or of δ, whichever it takes most of.

        >>> PrivacyLoss(rho=Fraction(1, 200)).part_of(PrivacyLoss(rho=Fraction(3, 2), delta=Fraction(1)))
        Fraction(1, 300)
        """
        pairs = zip(self.parts, whole.parts, strict=True)
        return max((mine / all_ for mine, all_ in pairs if mine and all_), default=Fraction(0))

    @property
    def of_noise(self) -> PrivacyLoss:
        """The loss without its δ: ε and ρ, by which noise is scaled."""
        return PrivacyLoss(self.epsilon, self.rho)

    @property
    def of_failure(self) -> PrivacyLoss:
        """The δ alone: the chance that a promise is not kept, which does not scale with noise."""
        return PrivacyLoss(delta=self.delta)
