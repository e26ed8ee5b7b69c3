"""How the values of a column lie, by its released profile. Post-processing: of released numbers and public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsql.inference.estimates.told_profile import BeyondShare, half_width_by_norm
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.intervals import Terms
from dpsql.inference.numeric import simplex
from dpsql.inference.shown_groups import SPEAKS, Independent, trimmed_ends
from dpsql.releases import NoisyTable
from rewriter.front_door import ValuesPlan

_LEAST = 8.0
"""So many times the 95 % half-width of a bin are people needed: of fewer nothing is told."""
_SLIGHT = 8
"""A narrower end takes at least one of so many parts of a range away."""


@dataclass(frozen=True, slots=True)
class NarrowerRange:
    """A range within the declared one that noisy counts do not tell from all there is: at most a part ``beyond`` of
    people's values lies outside, with a probability of 95 %. Whose values these are, and in which groups, is not known.
    """

    low: float
    high: float
    beyond: float


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
    noise: Terms = ()
    """What one bin is off by, in people."""

    @classmethod
    def of(cls, plan: ValuesPlan, noisy: NoisyTable) -> ValuesProfile:
        """The profile that a released table is."""
        (statistic,) = plan.people.statistics
        found = dict(zip((key for (key,) in noisy.keys), noisy.statistics[statistic.name], strict=True))
        unit = float(statistic.granularity)
        people = tuple(float(found[place]) * unit for place in range(len(plan.ends) + 1))
        margin = half_width_by_norm(noisy.noise[statistic.name], unit)
        noise = ((noisy.noise[statistic.name], statistic.granularity),)
        return cls(plan.table, plan.column, tuple(map(float, plan.ends)), people, margin, noise)

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
    def narrower(self) -> NarrowerRange | None:
        """From the first to the last bin of the range by which a block of bins speaks; None where that is all of it, or
        where there are too few people to tell.

        The 99 % bound, since an end is cut where few are seen beyond: of the profiles by which one is, 95 in 100 hold.
        No bin between them is left out. An end of the range is kept unless an eighth of the range lies beyond it.

        >>> from fractions import Fraction
        >>> from dpsql.mechanisms import Gaussian
        >>> noise = ((Gaussian(Fraction(20)), Fraction(1)),)
        >>> profile = ValuesProfile("t", "x", (0, 1, 2, 4, 8), (0, 900, 2000, 7, -12, 3), 39.2, noise)
        >>> profile.narrower
        NarrowerRange(low=0, high=2, beyond=0.022...)
        """
        inside = np.asarray(self.people[1:-1])
        if not self.noise or inside.sum() < _LEAST * self.margin:
            return None
        law, least = Independent(self.noise), (self.ends[-1] - self.ends[0]) / _SLIGHT
        found = trimmed_ends(inside, law)
        first = found.first if self.ends[found.first] - self.ends[0] >= least else 0
        after = found.last + 1 if self.ends[-1] - self.ends[found.last + 1] >= least else len(inside)
        if after - first == len(inside):
            return None
        out = float(inside[:first].sum() + inside[after:].sum())
        most = max(out, 0.0) + SPEAKS * law.spread(0, len(inside) - after + first)
        rest = float(inside[first:after].sum()) - SPEAKS * law.spread(0, after - first)
        return NarrowerRange(self.ends[first], self.ends[after], min(1.0, most / (most + max(rest, 1.0))))

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
