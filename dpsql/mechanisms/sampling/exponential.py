"""Exact sampling from the exponential mechanism's distribution, from a cryptographic source that nobody can seed.

Guarantee: candidate c of group i is answered with probability exactly ∝ exp(-rate · distance_i), for a rational rate
and integer distances. No float is involved.

How: rejection from integer weights that are known to be a little too large. Each weight 2¹²⁸·exp(-rate·d) is bracketed
by integers W ≤ weight < W + 64. A uniform integer r below the sum of count·(W + 64) falls into the stretch of some i,
at the offset o in it; it is accepted with the probability with which o + V < count·weight for a uniform V in [0, 1).
For o < count·W that is certain; else, about once in 2¹²⁰ times, the bits of V and the digits of the weight are drawn
and computed further until the comparison is decided. So i is accepted with probability ∝ count·weight, exactly.
Canonne, Kamath, Steinke 2020 sample exp(-γ) in the same spirit; comparisons with an irrational number are exact: as
many of its digits are computed as it takes.

Why digits can be trusted: ``decimal`` rounds ``exp`` correctly (libmpdec), so the neighbours of a result enclose the
true value, and the arguments are rounded outward before.
"""

from __future__ import annotations

import functools
import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from typing import TypeVar

from dpsql.mechanisms.sampling.law import Law

BITS = 128
SLACK = 64

Bounds = Callable[[int], tuple[Fraction, Fraction]]
"""Rationals below and above a number, by how many digits of it are computed."""


@dataclass(frozen=True, slots=True)
class ExponentialPick(Law[tuple[int, int]]):
    """One of many candidates, each with a probability ∝ exp(-rate · distance); ``counts[i]`` of them are at the
    distance ``distances[i]``. A draw is i, and which of them."""

    counts: Sequence[int]
    distances: Sequence[int]
    rate: Fraction

    def draw(self) -> tuple[int, int]:
        return pick(self.counts, self.distances, self.rate)

    def nearest(self) -> tuple[int, int]:
        """The first of the nearest; where all are as near, the last, which is NULL: there is nobody."""
        if len(set(self.distances)) == 1:
            return len(self.distances) - 1, 0
        return min(range(len(self.distances)), key=self.distances.__getitem__), 0


def pick(counts: Sequence[int], distances: Sequence[int], rate: Fraction) -> tuple[int, int]:
    """The place of the group that was picked, and which of its candidates.

    >>> pick([1, 5], [10**9, 3], Fraction(1))[0]
    1
    """
    nearest = min(distances)
    powers = _powers(rate)
    weights = [powers.at(distance - nearest) for distance in distances]
    ends = list(accumulate(count * (weight + SLACK) for count, weight in zip(counts, weights, strict=True)))
    while True:
        drawn = secrets.randbelow(ends[-1])
        place = bisect_right(ends, drawn)
        offset = drawn - (ends[place - 1] if place else 0)
        count = counts[place]
        if offset < count * weights[place] or _accepted(offset, count, rate * (distances[place] - nearest)):
            return place, secrets.randbelow(count)


Found = TypeVar("Found")


def least_first(
    masses: Sequence[int], least: Sequence[int], candidate: Callable[[int, int], tuple[Found, int]], rate: Fraction
) -> Found:
    """One of the candidates of many stretches, with a probability ∝ exp(-rate · its distance): exactly.

    Stretch i has as many candidates as its mass, none of which is nearer than ``least[i]``. ``candidate(i, n)`` is
    number n of them, with its distance. How, and why it is exact: :mod:`dpsql.mechanisms.quantiles.steps`.
    """
    nearest, powers = min(least), _powers(rate)
    rooms = [powers.at(distance - nearest) + SLACK for distance in least]
    ends = list(accumulate(mass * room for mass, room in zip(masses, rooms, strict=True)))
    while True:
        drawn = secrets.randbelow(ends[-1])
        place = bisect_right(ends, drawn)
        which, offset = divmod(drawn - (ends[place - 1] if place else 0), rooms[place])
        found, distance = candidate(place, which)
        if distance < least[place]:
            raise AssertionError("a candidate is nearer than its stretch")
        weight = powers.at(distance - nearest)
        if offset < weight or (offset < weight + SLACK and _accepted(offset, 1, rate * (distance - nearest))):
            return found


class Powers:
    """Integers W with W ≤ 2¹²⁸·exp(-rate·d) < W + 64, for integers 0 ≤ d < 2¹²⁸; computed once.

    exp(-rate·d) is a product of one power for each byte of d, each of them known to within less than 2 of 2⁻¹²⁸. Where
    t ≤ 2¹²⁸ is known to within e < 64 and u to within 2, their product is, rounded down, to within e + 4; and a
    distance has at most 16 bytes.

    >>> Powers(Fraction(1, 2)).at(0) == 2**128, Powers(Fraction(1, 2)).at(4) / 2**128
    (True, 0.1353352832366127)
    """

    def __init__(self, rate: Fraction) -> None:
        self._rate = rate
        self._known: dict[tuple[int, int], int] = {}

    def at(self, distance: int) -> int:
        if not 0 <= distance < 1 << 128:
            raise ValueError("not a distance")
        product, place = 1 << BITS, 0
        while distance:
            if byte := distance & 255:
                product = (product * self._power(byte, place)) >> BITS
            distance >>= 8
            place += 8
        return product

    def _power(self, byte: int, place: int) -> int:
        known = self._known.get((byte, place))
        if known is None:
            least, _ = exp_bounds(self._rate * (byte << place), 50)
            known = self._known[byte, place] = int(least * (1 << BITS))
        return known


@functools.lru_cache(maxsize=64)
def _powers(rate: Fraction) -> Powers:
    return Powers(rate)


def _accepted(offset: int, count: int, exponent: Fraction) -> bool:
    """Whether offset + V < count · 2¹²⁸ · exp(-exponent), for V uniform in [0, 1): with exactly that probability."""

    def bounds(digits: int) -> tuple[Fraction, Fraction]:
        least, most = exp_bounds(exponent, digits + 40 + len(str(count)))
        return count * (1 << BITS) * least - offset, count * (1 << BITS) * most - offset

    return is_below(bounds, secrets.randbits(64), 64)


def happens(factor: Fraction, exponent: Fraction) -> bool:
    """True with the probability factor · exp(-exponent), exactly. Raises ValueError where that is above 1.

    >>> happens(Fraction(1), Fraction(0)), happens(Fraction(1, 2), Fraction(10**6))
    (True, False)
    """

    def bounds(digits: int) -> tuple[Fraction, Fraction]:
        least, most = exp_bounds(exponent, digits + 20)
        if factor * least > 1:
            raise ValueError("a probability above 1")
        return factor * least, factor * most

    return is_below(bounds, secrets.randbits(64), 64)


def is_below(bounds: Bounds, drawn: int, bits: int) -> bool:
    """Whether a uniform number in [0, 1), the first ``bits`` bits of which are ``drawn``, is below another number.

    Exactly: further bits are drawn, and further digits of the other number computed, until that shows.

    >>> is_below(lambda digits: (Fraction(1, 4), Fraction(1, 4)), 0, 2)
    True
    """
    while True:
        least, most = bounds(20 + bits)
        if drawn + 1 <= least * (1 << bits):
            return True
        if drawn >= most * (1 << bits):
            return False
        drawn, bits = (drawn << 64) | secrets.randbits(64), bits + 64


def exp_bounds(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Rationals below and above exp(-exponent), for an exponent that is not negative.

    >>> exp_bounds(Fraction(0), 20)
    (Fraction(1, 1), Fraction(1, 1))
    """
    if not exponent:
        return Fraction(1), Fraction(1)
    down, up = (Context(prec=digits, rounding=rounding) for rounding in (ROUND_FLOOR, ROUND_CEILING))
    top, bottom = Decimal(exponent.numerator), Decimal(exponent.denominator)
    smaller, larger = (context.divide(top, bottom).copy_negate() for context in (up, down))
    if smaller < -_DEEPEST:
        return Fraction(0), _NEXT_TO_NOTHING
    return Fraction(down.next_minus(down.exp(smaller))), Fraction(up.next_plus(up.exp(larger)))


_DEEPEST = 100_000
_NEXT_TO_NOTHING = Fraction(1, 1 << 140_000)
"""exp(-100,000) is below 2⁻¹⁴⁴²⁶⁹."""
