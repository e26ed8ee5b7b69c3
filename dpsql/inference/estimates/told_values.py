"""How the values of a column lie, by its released profile. Post-processing: of released numbers and public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsql.inference.estimates.told_profile import BeyondShare, half_width_by_norm
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.numeric import simplex
from dpsql.releases import NoisyTable
from rewriter.front_door import ValuesPlan

_LEAST = 8.0
"""So many times the 95 % half-width of a bin are people needed: of fewer nothing is told."""


@dataclass(frozen=True, slots=True)
class ValuesProfile:
    """The released profile of a column's values: noisy numbers of people in each bin between neighbours of ``ends``,
    the first below the range and the last above it; a person with values in several bins is in each with a part."""

    table: str
    column: str
    ends: tuple[float, ...]
    people: tuple[float, ...]
    margin: float
    """The 95 % half-width of one bin, in people."""

    @classmethod
    def of(cls, plan: ValuesPlan, noisy: NoisyTable) -> ValuesProfile:
        """The profile that a released table is."""
        (statistic,) = plan.people.statistics
        found = dict(zip((key for (key,) in noisy.keys), noisy.statistics[statistic.name], strict=True))
        unit = float(statistic.granularity)
        people = tuple(float(found[place]) * unit for place in range(len(plan.ends) + 1))
        margin = half_width_by_norm(noisy.noise[statistic.name], unit)
        return cls(plan.table, plan.column, tuple(map(float, plan.ends)), people, margin)

    @property
    def total(self) -> float:
        """About how many people have values within the range; at least 1."""
        return max(sum(self.people[1:-1]), 1.0)

    @property
    def spread(self) -> Spread | None:
        """How the values within the range lie; None where there are too few people to tell.

        The nearest numbers that are not negative and have the released sum: what noise alone makes of empty bins is
        not told as values.
        """
        inside = np.asarray(self.people[1:-1])
        if inside.sum() < _LEAST * self.margin:
            return None
        return Spread(self.ends, tuple((simplex(inside, inside.sum()) / inside.sum()).tolist()))

    @property
    def beyond(self) -> tuple[BeyondShare | None, BeyondShare | None]:
        """The parts of people's values that are below and above the range; None where it cannot be told."""
        total, wide = sum(self.people), self.margin * math.sqrt(len(self.people))
        if total - wide <= 0 or total < _LEAST * self.margin:
            return None, None

        def share(count: float) -> BeyondShare:
            low, high = max(0.0, count - self.margin), max(0.0, count + self.margin)
            return BeyondShare(low / (total + wide), min(1.0, high / (total - wide)))

        return share(self.people[0]), share(self.people[-1])

    @property
    def notice(self) -> str:
        """For those who ask for what is clipped into the range: how much of the values is beyond; "" where it may be
        nothing."""
        sides = zip(self.beyond, ("below", "above"), (self.ends[0], self.ends[-1]), strict=True)
        said = [f"{one} of the values are {way} {end:,g}" for one, way, end in sides if one is not None and one.low > 0]
        if not said:
            return ""
        whose = f"by the profile of {self.table}.{self.column}"
        return f"{whose}, {' and '.join(said)}, where all values of a person weigh as much as one"
