"""How far one unit can move a vector of integers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The most that adding or removing one unit moves a block of statistics, over all groups together.

    ``l1`` bounds the L1 norm, ``l2_squared`` the square of the L2 norm, both in lattice steps.
    ``l1`` is None when only the L2 norm was clipped. The neighbour test with the noise off is the definition.

    >>> Sensitivity(l1=3, l2_squared=9).scaled(4)
    Sensitivity(l1=12, l2_squared=144)
    """

    l1: int | None
    l2_squared: int

    def __post_init__(self) -> None:
        if self.l2_squared < 0 or (self.l1 is not None and self.l1 < 0):
            raise ValueError("a sensitivity is not negative")

    def scaled(self, factor: int) -> Sensitivity:
        return Sensitivity(None if self.l1 is None else self.l1 * factor, self.l2_squared * factor * factor)
