"""What a mechanism with a bounded privacy loss costs in ρ: the least that is proved, exact or rounded up.

**A lattice's Laplace noise.** Let P and Q be discrete Laplace noise of scale b, one moved by m steps from the other;
q = exp(-1/b) and ε = m/b. Then D_α(P ‖ Q) ≤ α·D₁ for every α > 1, where

    D₁ = ε - (2/b) · q(1 - q^m)/(1 - q²)

is their Kullback-Leibler divergence. So it is D₁-zCDP, and no smaller ρ is enough, since D_α/α falls from D₁ as α grows
from 1. In m, D₁ is convex and begins with 0: a vector whose numbers move by m in all, each behind noise of its own,
loses at most as much as one that moves by m alone.

Proof. The loss is (m - 2j)/b at the step j between the two; m/b and -m/b with all that lies before and behind. Let
s = α - 1/2 and w = exp(s/b). Summed up, exp((α-1)D_α) = E_P exp((α-1)L) is a constant times

    F = w^m + w^-m + (1 - q)(w^(m-2) + w^(m-4) + … + w^(2-m)),

a polynomial in v = w² but for a power of it: (v-1)·v^(m/2)·F = v^m·(v - q) - (1 - qv). As |v - q| < |1 - qv| where
|v| < 1, and > where |v| > 1, all zeros are on the circle |v| = 1. Along it the argument of v^m·(v - q)/(1 - qv) only
rises, by m + 1 turns: the zeros are simple, and v = 1, which is one of them, is none of F. So F is a constant times a
product of factors cosh(2s/b) - cos θ and, where m is odd, cosh(s/b). Each of them is a constant times a product of
1 + s²/a², and the logarithm of that is concave in s². Hence (α-1)D_α = g(s²) with g concave and g(1/4) = 0, so that
g(s²) ≤ (s² - 1/4)·g'(1/4) = α(α-1)·g'(1/4); and g'(1/4) is D₁, the limit of D_α. ∎

**All that is purely private.** With m = 1 that is randomized response, D₁ = ε·tanh(ε/2). Every pair of laws within e^ε
of each other is a post-processing of it (Kairouz, Oh, Viswanath 2015, Theorem 3.1), so every ε-DP mechanism is
ε·tanh(ε/2)-zCDP: below ε²/2, by 8 % at ε = 1. The continuous Laplace's ε + e^-ε - 1 is the limit of large m, and does
not hold on a lattice: at ε = 1 it is 0.368, where one step costs 0.462.

**A bounded range.** Where the log-ratios of each pair of neighbours lie in an interval of width η, K(t) = log E e^(tL)
is 0 at t = 0 and t = -1, and its second derivative, a variance of what lies in such an interval, is at most η²/4. So
K(t) ≤ t(t+1)·η²/8: the mechanism is η²/8-zCDP (Dong, Durfee, Rogers 2020; Cesar, Rogers 2021). Why not the divergence
of the worst such pair, η/(e^η-1) - 1 - log(η/(e^η-1)): it is below η²/8 by one part in 72/η², next to nothing at the
prices of picks, whose exponents would no longer be roots.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, localcontext
from fractions import Fraction
from functools import lru_cache

from dpsql.accounting.conversion import DIGITS, MARGIN, decimal

_SHOWN = 30


def rho_of_range(width: Fraction) -> Fraction:
    """Of a mechanism with log-ratios in an interval of this width for each pair of neighbours: exact.

    >>> rho_of_range(Fraction(1, 5))
    Fraction(1, 200)
    """
    return width * width / 8


@lru_cache(maxsize=1024)
def rho_of_pure(epsilon: Fraction) -> Fraction:
    """ε·tanh(ε/2), of any ε-DP mechanism; rounded up.

    >>> round(float(rho_of_pure(Fraction(1))), 4), round(float(rho_of_pure(Fraction(8))), 4)
    (0.4621, 7.9946)
    """
    if epsilon < 0:
        raise ValueError("an ε is not negative")
    with localcontext(Context(prec=DIGITS, rounding=ROUND_CEILING)) as context:
        # 1 - 2/(1 + e^ε), which rises with e^ε: 2/(1 + e^ε) has to be rounded down.
        e = decimal(epsilon)
        less = (2 / (1 + e.exp())) * (1 - MARGIN)
        found = e * (1 - less) + MARGIN * e
        context.prec = _SHOWN
        return min(Fraction(+found), epsilon * epsilon / 2)
