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


def may_go(total: float, error: float, shown: float) -> bool:
    """Whether a part with this sum surely holds at most half as much as what is ``shown`` surely holds, and does not
    speak itself. ``error`` is the standard deviation of the sum.

    >>> may_go(3.0, 4.0, 200.0), may_go(30.0, 4.0, 200.0), may_go(3.0, 4.0, 10.0)
    (True, False, False)
    """
    return total <= SPEAKS * error and max(total, 0.0) + ONE_SIDED * error <= _LOST * shown
