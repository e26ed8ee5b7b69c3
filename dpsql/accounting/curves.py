"""Curves: the Rényi divergence of every order that a mechanism may lose, exact or rounded against the analyst.

Each holds for both of D(M(x) ‖ M(y)) and D(M(y) ‖ M(x)) of neighbours x, y, of which one has a person more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from dpsql.accounting.conversion import DIGITS, MARGIN, decimal
from dpsql.accounting.loss import ORDERS, PrivacyLoss

_PLACES = Fraction(1, 10**30)

Curve = tuple[Fraction, ...]


def line(rho: Fraction) -> Curve:
    """αρ: ρ-zCDP, by its definition (Bun, Steinke 2016); the discrete Gaussian's with ρ = l2²/2σ² exactly.

    >>> float(line(Fraction(1, 200))[0])
    0.0075
    """
    return tuple(order * rho for order in ORDERS)


@lru_cache(maxsize=1024)
def pure(epsilon: Fraction) -> Curve:
    """The largest divergences of any mechanism with pure ε: log((e^αε + e^(1-α)ε) / (1 + e^ε)) / (α - 1).

    Randomized response has them, and every pair of laws within e^ε of each other is a post-processing of its two
    answers (Kairouz, Oh, Viswanath 2015, Theorem 3.1). So has discrete Laplace noise, of a number that a person moves
    by one step: its loss is ε on one side and -ε on the other. They are below ε and below αε²/2.

    >>> [round(float(divergence), 4) for divergence in pure(Fraction(1))[1:9:3]]
    [0.7353, 0.8757, 0.9374]
    """
    with localcontext(_up()):
        e = decimal(epsilon)
        found = []
        for order in ORDERS:
            a = decimal(order)
            mass = ((a * e).exp() + ((1 - a) * e).exp()) / (1 + e.exp())
            found.append(_rounded(mass.ln() / (a - 1)))
    return tuple(found)


@lru_cache(maxsize=1024)
def subsampled(rate: Fraction, rho: Fraction) -> Curve:
    """Of a Gaussian with ρ over people of whom each is in it, by a secret coin, with probability ``rate``.

    At whole orders α it is log(Σ C(α, k) (1-q)^(α-k) q^k e^((k²-k)ρ)) / (α - 1), with neighbours of which one has a
    person more (Mironov, Talwar, Zhang 2019, Theorems 4 and 5). It is the discrete Gaussian's, too: a shift by whole
    steps has the same moments of whole orders on a lattice, where Σ exp(-(x-m)²/2σ²) does not depend on m, and x to
    m - x swaps the two laws. Between whole orders (α - 1) D is convex in α, so that its chord is above it.

    >>> subsampled(Fraction(1), Fraction(1, 200)) == line(Fraction(1, 200))
    True
    """
    if not 0 < rate <= 1:
        raise ValueError("a rate is above 0 and at most 1")
    if rate == 1:
        return line(rho)
    logarithms = {
        whole: _moment(whole, rate, rho) for order in ORDERS for whole in (math.floor(order), math.ceil(order))
    }
    found = []
    for order in ORDERS:
        low, high = math.floor(order), math.ceil(order)
        chord = logarithms[low] + (logarithms[high] - logarithms[low]) * (order - low)
        found.append(_up_to_places(chord / (order - 1)))
    return tuple(found)


def _moment(order: int, rate: Fraction, rho: Fraction) -> Fraction:
    """The logarithm of the moment of a whole order, rounded up; 0 for the order 1."""
    if order == 1:
        return Fraction(0)
    with localcontext(_up()):
        q, r = decimal(rate), decimal(rho)
        terms = (
            math.comb(order, k) * (1 - q) ** (order - k) * q**k * ((k * k - k) * r).exp() for k in range(order + 1)
        )
        return _rounded(sum(terms, Decimal(0)).ln())


def as_curve(loss: PrivacyLoss) -> PrivacyLoss:
    """The same loss with a curve in place of ε and ρ.

    >>> as_curve(PrivacyLoss(rho=Fraction(1, 200))) == PrivacyLoss(curve=line(Fraction(1, 200)))
    True
    """
    if not loss.epsilon and not loss.rho:
        return loss
    found = PrivacyLoss(delta=loss.delta, curve=loss.curve)
    if loss.rho:
        found += PrivacyLoss(curve=line(loss.rho))
    return found + PrivacyLoss(curve=pure(loss.epsilon)) if loss.epsilon else found


def steepest(curve: Iterable[Fraction]) -> Fraction:
    """The least ρ whose line is nowhere below a curve."""
    return max((part / order for part, order in zip(curve, ORDERS, strict=False)), default=Fraction(0))


def flattest(curve: Iterable[Fraction]) -> Fraction:
    """The largest ρ whose line is nowhere above a curve."""
    return min((part / order for part, order in zip(curve, ORDERS, strict=False)), default=Fraction(0))


def _up() -> Context:
    return Context(prec=DIGITS, rounding=ROUND_CEILING)


def _rounded(value: Decimal) -> Fraction:
    return _up_to_places(max(Fraction(0), Fraction(value + MARGIN)))


def _up_to_places(value: Fraction) -> Fraction:
    return -(-value // _PLACES) * _PLACES
