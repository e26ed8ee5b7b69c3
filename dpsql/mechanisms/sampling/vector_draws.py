"""Exact draws of the discrete Laplace and the discrete Gaussian, one or a column, from a source that nobody can seed.

Guarantee: each draw has exactly the stated law and is independent of all others. Floats and short random words only
decide comparisons that they are able to decide; every other one is decided by further random bits and as many digits of
the irrational number as it takes.

Laplace: the difference of two geometric variables. The binary digits of a geometric variable with P(G ≥ m) = exp(-m/s)
are independent, and digit i is 1 with the probability 1/(1 + exp(2^i/s)): in exp(-m/s) each digit of m has a factor of
its own. What lies above the last digit that is drawn is geometric too, with the ratio exp(-2^I/s). A digit compares 16
random bits with the first 16 bits of its probability, and once in 65,536 times, when they are alike, further bits.

Gaussian: rejection from Laplace draws (Canonne, Kamath, Steinke 2020, Algorithm 3). With t = ⌊σ⌋ + 1, a draw Y of scale
t is kept with the probability exp(-γ), γ = (|Y| - σ²/t)²/2σ². A uniform number of 53 bits is compared with a float that
is exp(-γ) to within 2^-40, and exactly where it lies within that band.

Why the band holds: the float is made by IEEE additions, multiplications and divisions alone. σ is a float, σ²/t and |Y|
are off by 2^-53 of themselves, and σ²/t < σ, so z = (|Y| - σ²/t)/σ is off by at most 2^-53 (3|z| + 3), γ = z²/2 by at
most 2^-53 (4z² + 3|z|), and exp(-γ) by less than 2^-50. Its argument is reduced by n·ln 2, n ≤ 73, which is off by less
than 2^-46 where exp(-γ) < 2^-n/√2; the polynomial by less than 2^-50.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from dpsql.mechanisms.sampling.exponential import Bounds, exp_bounds, is_below
from dpsql.mechanisms.sampling.permute_and_flip import flip
from dpsql.mechanisms.sampling.sampler import float_at_least

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_ROWS = 1 << 14
"""Draws that are made at once: their words stay in the processor's cache."""
_WORD = 16
_UNIFORM = 53
_SELDOM = 45
"""exp(-45) is below 2^-64: no digit is drawn for what is as rare."""
_BAND = 2.0**-40
_FARTHEST = 50.0
"""Beyond this exponent, exp is far narrower than the band."""
_SERIES = tuple(1 / math.factorial(power) for power in range(14, -1, -1))


def laplace_draws(scale: Fraction, number: int) -> Integers:
    """``number`` draws with P(x) ∝ exp(-|x|/scale). A scale that is not a float's value is rounded up to the next one.

    >>> draws = laplace_draws(Fraction(1000), 5000)
    >>> len(draws), bool(1100 < draws.std() < 1700)
    (5000, True)
    """
    law = _geometric(_of_floats(scale))
    return _pieces(number, lambda rows: law.difference(min(rows, number)))


def gaussian_draws(sigma: Fraction, number: int) -> Integers:
    """``number`` draws with P(x) ∝ exp(-x²/2σ²). A σ that is not a float's value is rounded up to the next one.

    >>> draws = gaussian_draws(Fraction(1000), 5000)
    >>> len(draws), bool(900 < draws.std() < 1100)
    (5000, True)
    """
    return _pieces(number, functools.partial(_kept_draws, _of_floats(sigma)))


def _of_floats(scale: Fraction) -> Fraction:
    """Noise may be wider than asked, never narrower."""
    if scale <= 0:
        raise ValueError(f"no noise at scale {scale}")
    return Fraction(float_at_least(scale))


def _pieces(number: int, draw: Callable[[int], Integers]) -> Integers:
    """So many of the independent draws that ``draw`` makes; it may give fewer than it is asked for."""
    found: list[Integers] = [np.empty(0, dtype=np.int64)]
    missing = number
    while missing > 0:
        found.append(draw(min(missing + missing // 2 + 8, _ROWS)))
        missing -= len(found[-1])
    return np.concatenate(found)[:number]


# The geometric law


@dataclass(frozen=True, slots=True)
class _Geometric:
    """P(G ≥ m) = exp(-m/scale). Digit i is compared by ``words[i]``; by the last word, whether there is more above."""

    scale: Fraction
    words: NDArray[np.uint16]

    def draw(self, rows: int) -> Integers:
        drawn = _random_words(len(self.words), rows)
        total = np.zeros(rows, dtype=np.int64)
        limits = self.words[:-1, np.newaxis]
        ones = drawn[:-1] < limits
        for digit, row in zip(*np.nonzero(drawn[:-1] == limits), strict=True):
            bounds = functools.partial(self.digit_bounds, int(digit))
            ones[digit, row] = is_below(bounds, int(self.words[digit]), _WORD)
        for digit, one in enumerate(ones):
            total += np.left_shift(one, digit, dtype=np.int64)
        for row in np.flatnonzero(drawn[-1] == self.words[-1]):
            total[row] += self._beyond() << (len(self.words) - 1)
        return total

    def difference(self, rows: int) -> Integers:
        """Of two draws: the discrete Laplace law."""
        drawn = self.draw(2 * rows)
        return drawn[:rows] - drawn[rows:]

    def digit_bounds(self, digit: int, digits: int) -> tuple[Fraction, Fraction]:
        """Of 1/(1 + exp(2^i/scale))."""
        least, most = exp_bounds((1 << digit) / self.scale, digits)
        return least / (1 + least), most / (1 + most)

    def _beyond(self) -> int:
        """The number above the digits, given that the first word of its comparison, of exp(-2^I/scale), is 0."""
        exponent = (1 << len(self.words) - 1) / self.scale
        number = 0
        more = is_below(functools.partial(exp_bounds, exponent), 0, _WORD)
        while more:
            number += 1
            more = flip(exponent)
        return number


@functools.lru_cache(maxsize=1024)
def _geometric(scale: Fraction) -> _Geometric:
    digits = next(digits for digits in count() if 1 << digits >= _SELDOM * scale)
    law = _Geometric(scale, np.zeros(digits + 1, dtype=np.uint16))
    words = [first_bits(functools.partial(law.digit_bounds, digit), _WORD) for digit in range(digits)]
    return _Geometric(scale, np.array([*words, 0], dtype=np.uint16))


def _random_words(words: int, rows: int) -> NDArray[np.uint16]:
    return np.frombuffer(os.urandom(2 * words * rows), dtype=np.uint16).reshape(words, rows)


# The Gaussian's rejection


def _kept_draws(sigma: Fraction, rows: int) -> Integers:
    scale = math.floor(sigma) + 1
    law = _geometric(Fraction(scale))
    drawn = law.difference(rows)
    return drawn[_kept(sigma, scale, drawn)]


def _kept(sigma: Fraction, scale: int, drawn: Integers, band: float = _BAND) -> NDArray[np.bool_]:
    """Whether each draw of the Laplace law is kept: with the probability exp(-γ), exactly."""
    uniform = np.frombuffer(os.urandom(8 * len(drawn)), dtype=np.uint64) >> np.uint64(64 - _UNIFORM)
    centre, deviation = _bell(sigma, scale)
    with np.errstate(over="ignore"):
        z = (np.abs(drawn).astype(np.float64) - centre) / deviation
        near = exp_near(np.minimum(z * z / 2, _FARTHEST))
    distance = near - uniform.astype(np.float64) * 2.0**-_UNIFORM
    kept = distance > 0
    for row in np.flatnonzero(np.abs(distance) <= band + 2.0**-_UNIFORM):
        exponent = (abs(int(drawn[row])) - sigma**2 / scale) ** 2 / (2 * sigma**2)
        kept[row] = is_below(functools.partial(exp_bounds, exponent), int(uniform[row]), _UNIFORM)
    return kept


@functools.lru_cache(maxsize=1024)
def _bell(sigma: Fraction, scale: int) -> tuple[float, float]:
    """The doubles nearest to the centre and the deviation of γ."""
    return float(sigma**2 / scale), float(sigma)


def exp_near(exponents: Floats) -> Floats:
    """exp(-γ) to within 2^-46 of itself, for 0 ≤ γ ≤ 50, by IEEE arithmetic alone.

    >>> bool(abs(exp_near(np.array([1.0]))[0] - math.exp(-1)) < 2**-46)
    True
    """
    halvings = np.rint(exponents / math.log(2))
    rest = halvings * math.log(2) - exponents
    total = np.full_like(rest, _SERIES[0])
    for coefficient in _SERIES[1:]:
        total = total * rest + coefficient
    return np.ldexp(total, -halvings.astype(np.int64))


# Digits of irrational numbers


def first_bits(bounds: Bounds, bits: int) -> int:
    """⌊p · 2^bits⌋ of an irrational p.

    >>> first_bits(lambda digits: exp_bounds(Fraction(1), digits), 16), math.floor(math.exp(-1) * 2**16)
    (24109, 24109)
    """
    for digits in count(20 + bits, 64):
        least, most = (math.floor(bound * (1 << bits)) for bound in bounds(digits))
        if least == most:
            return least
    raise AssertionError("digits never end")
