"""How far clipping bends slopes and correlations. Post-processing: of released profiles and public facts.

Let a column's values have the parts a below and b above its range, and p = 1 - a - b inside. Clipping moves them to the
ends. If all values are jointly normal, then by Stein's lemma (1981) the covariance of the clipped column with any other
one is p times what it was. Of that follow, for each other factor, the variance c² of a standard normal variable that is
clipped at the quantiles a and 1 - b:

- slopes of the clipped column, by whatever number of regressors, are p times what they were (Greene 1981);
- slopes by the clipped column alone are p / c² times that, which is above 1;
- correlations are p / c times that, shares of the variance that is explained (p / c)² times, covariances p times.

Both parts are known up to noise, by :class:`ValuesProfile`: the interval is that of all parts within theirs. It holds
for normal values, and the notice says so. Nothing holds for all values: one that lies far beyond the range may be the
whole slope.
"""

from __future__ import annotations

import math
from itertools import product
from statistics import NormalDist

from dpsql.inference.estimates.told_values import ValuesProfile
from rewriter.plan import Bend

_NORMAL = NormalDist()
_LEAST = 1e-9
_TOLD = 0.005
"""Less than half a percent is not told."""


def bend_factor(bend: Bend, below: float, above: float) -> float:
    """What a number is multiplied by where these parts of a normal column are clipped.

    >>> [round(bend_factor(bend, 0.0, 0.1), 3) for bend in (Bend.EXPLAINED, Bend.EXPLAINING, Bend.CORRELATED)]
    [0.9, 1.075, 0.984]
    """
    inside = 1 - below - above
    if bend in (Bend.EXPLAINED, Bend.COVARYING):
        return inside
    variance = _clipped_variance(below, above)
    if bend is Bend.EXPLAINING:
        return inside / variance
    return inside / math.sqrt(variance) if bend is Bend.CORRELATED else inside * inside / variance


def _clipped_variance(below: float, above: float) -> float:
    """The variance of a standard normal variable that is clipped at these of its quantiles."""
    low = _NORMAL.inv_cdf(max(below, _LEAST))
    high = _NORMAL.inv_cdf(1 - max(above, _LEAST))
    at_low, at_high = _NORMAL.pdf(low), _NORMAL.pdf(high)
    mean = below * low + at_low - at_high + above * high
    square = below * low**2 + (1 - below - above) + low * at_low - high * at_high + above * high**2
    return max(square - mean * mean, _LEAST)


def bend_notice(profile: ValuesProfile, bend: Bend) -> str:
    """For those who ask for such a number; "" where it cannot be told that it is another one."""
    below, above = profile.beyond
    if below is None or above is None or max(below.low, above.low) <= 0:
        return ""
    if below.high + above.high >= 1:
        return ""
    # What is not told from noise at one end is taken to be nothing or as much as noise allows.
    parts = product((below.low, below.high), (above.low, above.high))
    factors = [bend_factor(bend, *each) - 1 for each in parts]
    least, most = sorted((min(map(abs, factors)), max(map(abs, factors))))
    if min(factors) < 0 < max(factors) or most < _TOLD:
        return ""
    way = "nearer to" if factors[0] < 0 or factors[-1] < 0 else "farther from"
    low, high = math.floor(100 * least + 1e-9), math.ceil(100 * most - 1e-9)
    told = f"up to {high} %" if low == 0 else f"{low} to {high} %" if low < high else f"{high} %"
    return (
        f"where values are normally distributed, clipping {profile.column} into its range alone brings {bend}"
        f" {profile.column} {told} {way} 0"
    )
