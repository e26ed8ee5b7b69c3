"""The source of all draws: cryptographic, and seeded by nobody.

Why draws and not noisy values: what is drawn has a scale and a number, never a value, so neither the noise nor the time
it takes can depend on the value that is hidden. The time still tells a little about the noise itself (Jin, McMurtry,
Rubinstein, Ohrimenko 2022); timing is outside the promise.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Protocol

from dpsql.mechanisms.sampling.law import Drawn, Law

WIDEST = 1 << 50
"""Noise is drawn as 64-bit integers. Below this scale a Laplace draw reaches their ends with probability exp(-2**13),
and a Gaussian one far more rarely still: never, in the life of the universe."""


class TooWide(ValueError):
    """The scale of the noise is :data:`WIDEST` or more."""


class Sampler(Protocol):
    """A source of draws, each independent of all others."""

    def draw(self, law: Law[Drawn]) -> Drawn:
        """A draw of a law."""
        ...


class ExactSampler:
    """The sampler that guards people. It has no state and no seed, and forks and threads may share it.

    >>> from dpsql.mechanisms import Laplace
    >>> noise = Laplace(Fraction(1000)).sample(ExactSampler(), 600)
    >>> len(noise), len(set(noise)) > 100
    (600, True)
    """

    def draw(self, law: Law[Drawn]) -> Drawn:
        return law.draw()


def check_scale(scale: Fraction) -> None:
    """A mechanism's scale is a float's value: the sampler uses the very number that the loss is derived from."""
    if scale <= 0 or Fraction(float_at_least(scale)) != scale:
        raise ValueError(f"not a scale of noise: {scale}")


@functools.lru_cache(maxsize=1024)
def float_at_least(number: Fraction) -> float:
    """The least float that is not below ``number``.

    >>> float_at_least(Fraction(1, 10)).hex(), float_at_least(Fraction(1, 3)).hex()
    ('0x1.999999999999ap-4', '0x1.5555555555556p-2')
    """
    if number >= WIDEST:
        raise TooWide("noise is too wide for 64-bit integers")
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)
