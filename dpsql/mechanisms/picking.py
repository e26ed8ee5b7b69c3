"""How far picks are off: those of the exponential mechanism, and of permute-and-flip."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.releases import Noise


@dataclass(frozen=True, slots=True)
class Picking(Noise):
    """A pick, whose scale is 1/ε, where ε is the range of log-ratios that one unit can make; of the picks of groups,
    1/rate. Only the like are compared.
    """

    name = "exponential"

    @property
    def square(self) -> Fraction:
        return self.scale**2
