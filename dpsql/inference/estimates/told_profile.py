"""What the profile of a table tells of rows beyond ``max_rows``. Post-processing: of released numbers and public facts.

Guarantee: each interval here holds in 95 of 100 profiles whatever the data are, as far as the noise is what it says;
where a figure cannot be told from noise, it is None, and nothing is claimed.

The share of people beyond the bound is B / (A + B), A and B being sums of bins at and beyond it. Its interval has the p
at which B − p·(A + B) may be noise alone (Fieller 1954, "Some problems in interval estimation"), so that no division
by an uncertain number comes in. The share of rows is told from below: rows that a person has beyond four times the
bound are not measured, and what is counted in full is taken at the upper ends of the bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpsql.releases import Additive, NoisyTable
from rewriter.front_door import FURTHEST, ProfilePlans, bin_ends

_CHANCE = 0.05
_TELLING = 3.0
"""A number of rows is told from below where it is so many standard deviations or more; from above where it is less."""
_WIDEST = 0.5
"""A share that is known no better than to be below this is not told."""


@dataclass(frozen=True, slots=True)
class BeyondShare:
    """A part of a whole, between ``low`` and ``high``; with low 0 "up to", with high 1 "at least"."""

    low: float
    high: float

    def __str__(self) -> str:
        """In percent, rounded outward.

        >>> print(BeyondShare(0.081, 0.119), BeyondShare(0, 0.07), BeyondShare(0.214, 1), sep=", ")
        8 to 12 %, up to 7 %, at least 21 %
        """
        if self.high >= 1:
            return f"at least {_percent(self.low, math.floor)} %"
        if self.low <= 0:
            return f"up to {_percent(self.high, math.ceil)} %"
        low, high = _percent(self.low, math.floor), _percent(self.high, math.ceil)
        return f"{high} %" if low == high else f"{low} to {high} %"


@dataclass(frozen=True, slots=True)
class RowsProfile:
    """The released profile of a table: noisy numbers of people by their rows, and the noisy sum of rows beyond.

    ``people`` has a number for each bin of :func:`rewriter.front_door.bin_ends`, and one for the last, which has no
    end. ``beyond`` is Σ min(max(r − max_rows, 0), 3·max_rows) over people with r rows, in rows.
    """

    table: str
    max_rows: int
    people: Sequence[int]
    people_noise: Additive
    beyond: int
    beyond_noise: Additive

    @classmethod
    def of(cls, plans: ProfilePlans, people: NoisyTable, beyond: NoisyTable) -> RowsProfile:
        """The profile that two released tables are."""
        (counted,), (summed,) = people.noise, beyond.noise
        found = dict(zip((key for (key,) in people.keys), people.statistics[counted], strict=True))
        bins = [found[place] for place in range(len(bin_ends(plans.max_rows)) + 1)]
        total = int(beyond.statistics[summed][0])
        return cls(plans.table, plans.max_rows, bins, people.noise[counted], total, beyond.noise[summed])

    @property
    def ends(self) -> tuple[int, ...]:
        return bin_ends(self.max_rows)

    @property
    def people_margin(self) -> float:
        """The 95 % half-width of one bin."""
        return half_width_by_norm(self.people_noise, 1.0)

    @property
    def beyond_margin(self) -> float:
        """The 95 % half-width of the sum of rows beyond."""
        return half_width_by_norm(self.beyond_noise, 1.0)

    @property
    def people_beyond(self) -> BeyondShare | None:
        """The share of people with more than max_rows rows, of those who have any; None where it cannot be told.

        >>> from fractions import Fraction
        >>> from dpsql.mechanisms import Gaussian
        >>> noise = Gaussian(Fraction(20))
        >>> told = RowsProfile("visit", 2, [1500, 1200, 200, 90, 10], noise, 700, Gaussian(Fraction(120)))
        >>> print(told.people_beyond)
        7 to 13 %
        """
        bins = self._bins_below
        below, above = sum(self.people[:bins]), sum(self.people[bins:])
        found = _share(above, below, len(self.people) - bins, bins, half_width_by_norm(self.people_noise, 1.0))
        if found is None or (found.low <= 0 and found.high > _WIDEST):
            return None
        return found

    @property
    def rows_beyond(self) -> BeyondShare | None:
        """The share of rows that a person has beyond max_rows, of all rows; None where it cannot be told.

        "at least": rows beyond four times the bound are left out. "up to": so they are, and there may be more of them.
        """
        deviation = math.sqrt(self.beyond_noise.square)
        if self.beyond >= _TELLING * deviation:
            most = max(self._kept(upper=True), 1.0)
            return BeyondShare(max(0.0, (low := self.beyond - self.beyond_margin)) / (most + low), 1.0)
        high = max(0.0, self.beyond + self.beyond_margin)
        least = self._kept(upper=False)
        if least <= 0:
            return None
        share = high / (least + high)
        return None if share > _WIDEST else BeyondShare(0.0, share)

    @property
    def notice(self) -> str:
        """For those who ask: what max_rows cuts off, as far as it can be told; "" where nothing can."""
        return self._notice("a count of all of them is so much too low")

    @property
    def notice_of_counts(self) -> str:
        """The same for those who ask for the sum or the mean of numbers of rows, one of each person."""
        return self._notice("the sum and the mean of everybody's numbers of them are so much too low")

    def _notice(self, consequence: str) -> str:
        people, rows = self.people_beyond, self.rows_beyond
        said = []
        if people is not None:
            said.append(f"{people} of the people with rows in {self.table} have more than {self.max_rows}")
        if rows is not None and rows.low > 0:
            said.append(f"{rows} of its rows are beyond that, so that {consequence}")
        elif rows is not None:
            said.append(f"{rows} of its rows are beyond that, if nobody has more than {self.furthest:,}")
        return f"by the profile of {self.table}, {', and '.join(said)}" if said else ""

    @property
    def furthest(self) -> int:
        """What a person has beyond so many rows is not measured."""
        return FURTHEST * self.max_rows

    @property
    def _bins_below(self) -> int:
        return self.ends.index(self.max_rows) + 1

    @property
    def kept_of_fewer(self) -> float:
        """At least so large a part of the rows that count are of people with at most max_rows rows."""
        bins = self._bins_below
        weights = [1, *(end + 1 for end in self.ends[: bins - 1])]
        few = sum(weight * count for weight, count in zip(weights, self.people, strict=False))
        least = few - half_width_by_norm(self.people_noise, math.sqrt(sum(weight * weight for weight in weights)))
        margin = half_width_by_norm(self.people_noise, math.sqrt(len(self.people) - bins))
        most = self.max_rows * max(0.0, sum(self.people[bins:]) + margin)
        return least / (least + most) if least > 0 else 0.0

    @property
    def rows_kept(self) -> float:
        """About how many rows count, Σ min(r, max_rows): the middle of what the bins leave; at least 1."""
        return max((self._kept(upper=True) + self._kept(upper=False)) / 2, 1.0)

    def _kept(self, *, upper: bool) -> float:
        """The rows that count in full, Σ min(r, max_rows), from above or from below."""
        bins, ends = self._bins_below, self.ends
        lows = [1, *(end + 1 for end in ends[: bins - 1])]
        weights = [*(ends[:bins] if upper else lows), *[self.max_rows] * (len(self.people) - bins)]
        total = sum(float(weight * count) for weight, count in zip(weights, self.people, strict=True))
        margin = half_width_by_norm(self.people_noise, math.sqrt(sum(weight * weight for weight in weights)))
        return total + margin if upper else total - margin


def _share(part: int, rest: int, of_part: int, of_rest: int, margin: float) -> BeyondShare | None:
    """Where part / (part + rest) lies, each a sum of so many numbers with such a margin; None where it may be anything.

    All p with |part − p·(part + rest)| ≤ margin·√((1−p)²·of_part + p²·of_rest): a quadratic inequality.
    """
    whole, square = part + rest, margin**2
    a = whole**2 - square * (of_part + of_rest)
    if whole <= 0 or a <= 0:
        return None
    b = part * whole - square * of_part
    root = math.sqrt(max(0.0, b * b - a * (part**2 - square * of_part)))
    low, high = (b - root) / a, (b + root) / a
    if high <= 0:
        return BeyondShare(0.0, margin * math.sqrt(of_part) / whole)
    return BeyondShare(min(max(low, 0.0), 1.0), min(high, 1.0))


def half_width_by_norm(noise: Additive, weight: float) -> float:
    """The 95 % half-width of a sum with this norm of weights: no wider for many noises than for one."""
    return float(weight * float(noise.scale) * noise.beyond(_CHANCE))


def _percent(share: float, rounded: object) -> str:
    """Whole percents; below one, tenths."""
    percent = round(100 * share, 9)  # 0.07 is 7 %
    whole = math.floor(percent) if rounded is math.floor else math.ceil(percent)
    if percent >= 1 or rounded is math.ceil:
        return str(whole)
    return f"{math.floor(10 * percent) / 10:g}"
