"""Privacy loss: data that adds up exactly, with a meaning that never changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import TypeVar

_HALVES = (3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256, 512)
ORDERS = tuple(Fraction(twice, 2) for twice in _HALVES)
"""The orders at which Rényi divergences are kept, for ever: a ledger is a sum of curves over them."""

_NOTHING = Fraction(0)

Number = TypeVar("Number", int, Fraction)


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """The privacy cost of a mechanism. ``epsilon`` is pure DP, ``rho`` is zero-concentrated DP, ``curve`` is Rényi DP,
    one divergence for each of ``ORDERS``; ``delta`` adds beside any of them.

    A ledger uses ``epsilon``, ``rho`` or ``curve``, never two of them. All parts are exact and never negative, so that
    a difference raises ValueError where more is taken away than there is. No curve is a curve of zeros.

    >>> PrivacyLoss(rho=Fraction(1, 200)) + PrivacyLoss(rho=Fraction(1, 200), delta=Fraction(1, 10**9))
    PrivacyLoss(epsilon=Fraction(0, 1), rho=Fraction(1, 100), delta=Fraction(1, 1000000000), curve=())
    >>> price = PrivacyLoss(rho=Fraction(1, 200))
    >>> (price / 3).rho, (price * Fraction(4, 5)).rho, (price - price / 3).rho
    (Fraction(1, 600), Fraction(1, 250), Fraction(1, 300))
    """

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    curve: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Fraction):
                raise TypeError("a privacy loss is made of exact fractions")
            if part.numerator < 0:
                raise ValueError("a privacy loss is not negative")
        if len(self.curve) not in (0, len(ORDERS)):
            raise ValueError("a curve has one divergence for each order")

    @classmethod
    def of_parts(cls, parts: Iterable[Fraction]) -> PrivacyLoss:
        """The loss with these :attr:`parts`."""
        epsilon, rho, delta, *curve = parts
        return cls(epsilon, rho, delta, tuple(curve) if any(curve) else ())

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """ε, ρ and δ, and the divergences of a curve where there is one."""
        return self.epsilon, self.rho, self.delta, *self.curve

    def _beside(self, other: PrivacyLoss) -> Iterable[tuple[Fraction, Fraction]]:
        return zip_longest(self.parts, other.parts, fillvalue=_NOTHING)

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        if not (self and other):
            return self or other
        return PrivacyLoss.of_parts(mine + more for mine, more in self._beside(other))

    def __sub__(self, other: PrivacyLoss) -> PrivacyLoss:
        return PrivacyLoss.of_parts(mine - less for mine, less in self._beside(other))

    def __mul__(self, factor: int | Fraction) -> PrivacyLoss:
        return PrivacyLoss.of_parts(part * factor for part in self.parts)

    def __truediv__(self, count: int | Fraction) -> PrivacyLoss:
        return PrivacyLoss.of_parts(part / count for part in self.parts)

    def __floordiv__(self, other: PrivacyLoss) -> int:
        """How many times another loss, which is not nothing, fits within this one: of curves, at some order.

        >>> PrivacyLoss(epsilon=Fraction(1)) // PrivacyLoss(epsilon=Fraction(2, 7))
        3
        """
        found = [mine // each for mine, each in zip(self.parts[:3], other.parts[:3], strict=True) if each]
        curves = zip_longest(self.curve, other.curve, fillvalue=_NOTHING)
        if other.curve:
            found.append(max(mine // each for mine, each in curves if each))
        return min(found)

    def __bool__(self) -> bool:
        return bool(self.epsilon or self.rho or self.delta or any(self.curve))

    def fits_within(self, share: PrivacyLoss) -> bool:
        """Whether every part is at most that of a share. Of two losses, each may fit within the other or neither.

        >>> PrivacyLoss(rho=Fraction(1)).fits_within(PrivacyLoss(rho=Fraction(2)))
        True
        """
        return all(mine <= most for mine, most in self._beside(share))

    def admitted_by(self, limit: PrivacyLoss) -> bool:
        """Whether a filter with this limit admits it: ε, ρ and δ each, and of a curve the divergence at some order.

        Whoever makes a limit answers for what that admits: see :mod:`dpsql.accounting.rdp`.

        >>> steep, flat = (PrivacyLoss(curve=tuple(order / by for order in ORDERS)) for by in (1, 2))
        >>> flat.admitted_by(steep), steep.admitted_by(flat), flat.admitted_by(PrivacyLoss())
        (True, False, False)
        """
        return admits(self.parts, limit.parts)

    def left_after(self, spent: PrivacyLoss) -> PrivacyLoss:
        """The rest of this limit; 0 for a part that is overdrawn.

        >>> PrivacyLoss(rho=Fraction(1), delta=Fraction(1, 4)).left_after(PrivacyLoss(rho=Fraction(2))).parts
        (Fraction(0, 1), Fraction(0, 1), Fraction(1, 4))
        """
        return PrivacyLoss.of_parts(max(most - gone, _NOTHING) for most, gone in self._beside(spent))

    def part_of(self, whole: PrivacyLoss) -> Fraction:
        """The part that this is of a whole: of ε, of ρ, of δ or of a curve, whichever it takes most of.

        Of a curve it is the part at one order, the one at which the whole holds the most Gaussian noise: so parts of
        the same whole add up.

        >>> PrivacyLoss(rho=Fraction(1, 200)).part_of(PrivacyLoss(rho=Fraction(3, 2), delta=Fraction(1)))
        Fraction(1, 300)
        """
        pairs = [*zip(self.parts[:3], whole.parts[:3], strict=True)]
        if self.curve and whole.curve:
            at = max(range(len(ORDERS)), key=lambda place: whole.curve[place] / ORDERS[place])
            pairs.append((self.curve[at], whole.curve[at]))
        return max((mine / all_ for mine, all_ in pairs if mine and all_), default=Fraction(0))

    @property
    def of_noise(self) -> PrivacyLoss:
        """The loss without its δ: ε, ρ or a curve, by which noise is scaled."""
        return PrivacyLoss(self.epsilon, self.rho, curve=self.curve)

    @property
    def of_failure(self) -> PrivacyLoss:
        """The δ alone: the chance that a promise is not kept, which does not scale with noise."""
        return PrivacyLoss(delta=self.delta)


def admits(parts: Sequence[Number], limit: Sequence[Number]) -> bool:
    """Whether parts of a loss are within those of a limit, in any unit: all of ε, ρ and δ, and one of a curve."""
    box = all(mine <= most for mine, most in zip(parts[:3], limit[:3], strict=True))
    return box and (len(parts) == 3 or any(mine <= most for mine, most in zip(parts[3:], limit[3:], strict=False)))
