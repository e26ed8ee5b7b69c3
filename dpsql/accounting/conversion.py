"""From ρ to (ε, δ) and back: the tight conversion of zero-concentrated differential privacy, in exact numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

# By Canonne, Kamath, Steinke 2020, Prop. 7, ρ-zCDP is (ε, δ)-DP with, for *every* order α > 1,
#     δ = exp((α - 1)(αρ - ε)) / (α - 1) · (1 - 1/α)^α.
# Solved for ρ or ε at x = α - 1, it is a closed form; where its derivative is 0, one equation for log(1/δ) is left,
# whose right side grows with x. The search for the best α need not be exact nor trusted: it
# runs in floats and can only cost tightness. What is sound is the last step, one evaluation at the α that was found:
# 80 correct digits, a margin of 1e-40 (above 1e-60, what rounding can amount to for x > 1e-6), and directed rounding.

DIGITS = 80
MARGIN = Decimal("1e-40")


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ, exact and within 1e-10 of the best, such that ρ-zCDP implies (ε, δ)-DP: the tight conversion, rounded down.

    >>> float(largest_rho(Fraction(1), Fraction(1, 10**6)))  # doctest: +ELLIPSIS
    0.0243559...
    """
    eps, wanted = float(epsilon), -_log(delta)

    def grown(x: float) -> tuple[float, float]:
        """log(1+x) + (ε + log(1+1/x)) · x²/(1+2x), and x times its derivative."""
        factor, gain = x * x / (1 + 2 * x), eps + math.log1p(1 / x)
        value = math.log1p(x) + gain * factor
        return value, (x - factor) / (1 + x) + 2 * gain * factor * (1 + x) / (1 + 2 * x)

    most = wanted / max(eps, 1e-300)
    x = _best_order(grown, wanted, most + math.sqrt(most * (most + 1)))
    with localcontext(Context(prec=DIGITS, rounding=ROUND_FLOOR)) as context:
        rho = (decimal(epsilon) + (1 + 1 / x).ln() + (decimal(delta) * (1 + x)).ln() / x) / (1 + x) - MARGIN
        context.prec = 12
        return max(Fraction(0), Fraction(+rho))


@lru_cache(maxsize=1024)
def smallest_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """An ε, within 1e-10 of the best, such that ρ-zCDP implies (ε, δ)-DP: the tight conversion, rounded up.

    >>> float(smallest_epsilon(Fraction(1, 200), Fraction(1, 10**6)))  # doctest: +ELLIPSIS
    0.42994...
    """
    if not rho:
        return Fraction(0)
    r, wanted = float(rho), -_log(delta)
    most = math.sqrt(wanted / max(r, 1e-300))
    x = _best_order(lambda x: (math.log1p(x) + r * x * x, x / (1 + x) + 2 * r * x * x), wanted, most)
    with localcontext(Context(prec=DIGITS, rounding=ROUND_CEILING)) as context:
        epsilon = (1 + x) * decimal(rho) - (1 + 1 / x).ln() - (decimal(delta) * (1 + x)).ln() / x + MARGIN
        context.prec = 12
        return max(Fraction(0), Fraction(+epsilon))


def _best_order(grown: Callable[[float], tuple[float, float]], wanted: float, most: float) -> Decimal:
    """About the x in [1e-6, 1e15] where ``grown`` is ``wanted``, by Newton's method in log x.

    ``grown`` returns a value that grows with x, at least log(1 + x), and x times its derivative; at ``most`` it is
    as large as ``wanted`` or larger. Begun there, a convex function makes every step fall short: none goes astray.
    """
    x = min(most, math.expm1(min(wanted, 34.5)), 1e15)
    for _ in range(60):
        x = max(x, 1e-6)
        value, slope = grown(x)
        step = (wanted - value) / slope
        x *= math.exp(min(max(step, -30.0), 30.0))
        if abs(step) < 1e-8:
            break
    return Decimal(min(max(x, 1e-6), 1e15))


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
