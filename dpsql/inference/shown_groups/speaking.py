"""What noisy numbers of rows say of groups: that somebody is in some, and that some may be left out of an answer."""

from __future__ import annotations

import math

SURE = 0.01
"""How often any of some empty groups is taken for one that is there."""
ONE_SIDED = 1.645
"""The standard normal's 95 % point."""
SPEAKS = 2.326
"""The standard normal's 99 % point."""
_LOST = 0.5
"""The part of what is shown that a part left out may hold at most."""


def chance_of_each(cells: int) -> float:
    """How often each of so many empty groups may be taken for one that is there, if any is once in 100 times."""
    return -math.expm1(math.log1p(-SURE) / max(cells, 1))


def kept_by(total: float, error: float, shown: float) -> float:
    """How far the sum of a part is above what lets it be left out: that it does not speak itself, and surely holds at
    most half as much as what is ``shown`` surely holds. Infinite where it is kept whatever its sum; ``error`` is the
    standard deviation of the sum.

    >>> [round(kept_by(total, 4.0, shown), 1) for total, shown in ((3.0, 200.0), (30.0, 200.0), (3.0, 10.0))]
    [-6.3, 20.7, inf]
    """
    limit = _LOST * shown - ONE_SIDED * error
    return max(total - SPEAKS * error, total - limit) if limit >= 0 else math.inf
