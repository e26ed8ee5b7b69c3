"""Exact discrete noise from a cryptographic source that nobody can seed.

Why OpenDP: its samplers follow Canonne, Kamath, Steinke 2020 in exact rational arithmetic, so a sample has the stated
distribution and not one near it. Whole columns have the same laws from :mod:`dpsql.mechanisms.sampling.vector_draws`,
thirty times as fast and just as exact; the two are tested against each other.
Why not ``opendp.prelude``: it imports every data frame library that is installed, a fifth of a second.
Why noise on zeros: a sampler is handed a number of draws and a scale, never a value, so neither its answer nor the time
it takes can depend on the value that is hidden. The time still tells a little about the noise itself (Jin, McMurtry,
Rubinstein, Ohrimenko 2022); timing is outside the promise.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol

from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from dpsql.mechanisms.sampling.chain import Chain
from dpsql.mechanisms.sampling.exponential import pick
from dpsql.mechanisms.sampling.permute_and_flip import permute_and_flip
from dpsql.mechanisms.sampling.product import Product
from dpsql.mechanisms.sampling.vector_draws import gaussian_draws, laplace_draws
from dpsql.mechanisms.sampling.walks import Candidate

WIDEST = 1 << 50
"""Noise is drawn as 64-bit integers, clamped at their ends. Below this scale a Laplace draw reaches an end
with probability exp(-2**13), and a Gaussian one far more rarely still: never, in the life of the universe."""


MANY = 50
"""From so many draws on, a column of them is drawn at once."""


class TooWide(ValueError):
    """The scale of the noise is :data:`WIDEST` or more."""


class Sampler(Protocol):
    """A source of independent noise."""

    def laplace(self, scale: Fraction, count: int) -> list[int]:
        """``count`` draws of the discrete Laplace, P(x) ∝ exp(-|x|/scale)."""
        ...

    def gaussian(self, sigma: Fraction, count: int) -> list[int]:
        """``count`` draws of the discrete Gaussian, P(x) ∝ exp(-x²/2σ²)."""
        ...

    def pick(self, counts: Sequence[int], distances: Sequence[int], rate: Fraction) -> tuple[int, int]:
        """One of many candidates, each with a probability ∝ exp(-rate · distance).

        ``counts[i]`` candidates are at the distance ``distances[i]``. The answer is i, and which of them.
        """
        ...

    def vector(self, chain: Chain) -> tuple[Candidate, ...] | None:
        """One of many vectors of candidates, each with a probability ∝ exp(-rate · distance); None for nobody."""
        ...

    def product(self, product: Product) -> tuple[int, ...]:
        """One place of each of many tables, with a probability ∝ exp(-rate · distance) for the sum of distances."""
        ...

    def permute_and_flip(self, distances: Sequence[int], rate: Fraction) -> int:
        """The place of one candidate, by permute-and-flip (:mod:`dpsql.mechanisms.sampling.permute_and_flip`)."""
        ...


class OpenDPSampler:
    """The sampler that guards people. It has no state and no seed, and forks and threads may share it.

    A scale that is not a float is rounded up to the next one: noise may be wider than asked, never narrower.

    >>> noise = OpenDPSampler().laplace(Fraction(1000), 600)
    >>> len(noise), len(set(noise)) > 100
    (600, True)
    >>> OpenDPSampler().gaussian(Fraction(0), 1)
    Traceback (most recent call last):
    ValueError: no noise at scale 0
    """

    def laplace(self, scale: Fraction, count: int) -> list[int]:
        rounded = _float(scale)
        return laplace_draws(Fraction(rounded), count).tolist() if count >= MANY else _laplace(rounded)([0] * count)

    def gaussian(self, sigma: Fraction, count: int) -> list[int]:
        rounded = _float(sigma)
        return gaussian_draws(Fraction(rounded), count).tolist() if count >= MANY else _gaussian(rounded)([0] * count)

    def pick(self, counts: Sequence[int], distances: Sequence[int], rate: Fraction) -> tuple[int, int]:
        return pick(counts, distances, rate)

    def vector(self, chain: Chain) -> tuple[Candidate, ...] | None:
        return chain.draw()

    def product(self, product: Product) -> tuple[int, ...]:
        return product.draw()

    def permute_and_flip(self, distances: Sequence[int], rate: Fraction) -> int:
        return permute_and_flip(distances, rate)


def check_scale(scale: Fraction) -> None:
    """A mechanism's scale is a float's value: the sampler uses the very number that the loss is derived from."""
    if scale <= 0 or Fraction(float_at_least(scale)) != scale:
        raise ValueError(f"not a scale of noise: {scale}")


def float_at_least(number: Fraction) -> float:
    """The least float that is not below ``number``.

    >>> float_at_least(Fraction(1, 10)).hex(), float_at_least(Fraction(1, 3)).hex()
    ('0x1.999999999999ap-4', '0x1.5555555555556p-2')
    """
    if number >= WIDEST:
        raise TooWide("noise is too wide for 64-bit integers")
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def _float(scale: Fraction) -> float:
    if scale <= 0:
        raise ValueError(f"no noise at scale {scale}")
    return float_at_least(scale)


Vector = Callable[[list[int]], list[int]]


@functools.lru_cache(maxsize=1024)
def _laplace(scale: float) -> Vector:
    return _measurement(make_laplace, l1_distance(T="i64"), scale)


@functools.lru_cache(maxsize=1024)
def _gaussian(scale: float) -> Vector:
    return _measurement(make_gaussian, l2_distance(T="i64"), scale)


def _measurement(make: Callable[..., Vector], metric: object, scale: float) -> Vector:
    enable_features("contrib")
    return make(vector_domain(atom_domain(T="i64")), metric, scale=scale)
