"""The share a/(a+b) of a mean, whose sides are sums of the same noisy integers: values, and how far noise moves it.

Why a mean of nobody is NULL: where the noisy size of a group is below half a row, the measurements say as clearly as
they can that the group is empty, and SQL's mean of no rows is NULL. The middle of the range would look like an answer.
The decision reads noisy numbers only. Why no larger size is NULL, though its interval is the whole range: sizes that
noise made large would be left, and their intervals held the mean of 5 to 20 rows 76 to 94 times in 100.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.rounding import quotients
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.intervals import Floats, half_width, mean_reaches, quotient_ends, widest_mean_half_width
from dpsql.inference.numeric import FloatArray
from dpsql.memory import by_identity
from dpsql.releases import Additive, ColumnarRows, IntegerColumn, ReleasedColumn, ValueColumn, weighted
from rewriter.plan import Output, Plan, Ratio


@dataclass(frozen=True, slots=True)
class Share:
    """The weights of each statistic in a and in b, by name, as whole numbers; one row adds ``row`` to a + b.

    >>> half = Fraction(1, 2)
    >>> Share.of(Ratio((("n", half), ("s", half)), (("n", half), ("s", -half)), Fraction(0), Fraction(9)))
    Share(weights=(('n', 1, 1), ('s', 1, -1)), row=Fraction(2, 1))
    """

    weights: tuple[tuple[str, int, int], ...]
    row: Fraction

    @classmethod
    @by_identity(1024)
    def of(cls, ratio: Ratio) -> Share:
        """In the coarsest steps that hold all weights."""
        above, below = dict(ratio.above), dict(ratio.below)
        every = [*above.values(), *below.values()]
        common = math.lcm(*(weight.denominator for weight in every))
        step = Fraction(math.gcd(*(int(weight * common) for weight in every)), common)
        names = ratio.statistics
        weights = ((name, int(above.get(name, 0) / step), int(below.get(name, 0) / step)) for name in names)
        return cls(tuple(weights), 1 / step)

    def sides(self, columns: Mapping[str, Sequence[int]], groups: int) -> tuple[IntegerColumn, IntegerColumn]:
        """a and b of every group."""
        known = [(IntegerColumn.of(columns[name]), up, down) for name, up, down in self.weights]
        above, below = [(one, up) for one, up, _ in known], [(one, down) for one, _, down in known]
        return weighted(above, groups), weighted(below, groups)

    def reaches(self, above: Sequence[int], below: Sequence[int], noise: Noises) -> tuple[Floats, Floats]:
        """How far below and above the share of each group the true one may be: 1 is to know nothing.

        By test inversion in both cases (Fieller 1954), of a share by the law of ``(1-p)a - pb``, in which a statistic
        of both sides has the weight that it has after their noises met. Neither side is truly negative.
        """
        if (pair := self._pair(noise)) is not None:
            return mean_reaches(above, below, pair)
        a, b = (IntegerColumn.of(side).floats for side in (above, below))
        known = a + b > 0
        a, b = np.maximum(a, 0.0), np.maximum(b, 0.0)
        total = np.where(known, a + b, 1.0)
        share = np.where(known, a / total, 0.5)
        joint = tuple((noise[name], Fraction(up), Fraction(up + down)) for name, up, down in self.weights)
        low, high = quotient_ends(a, total, joint)
        down, up = share - np.clip(low, 0.0, share), np.clip(high, share, 1.0) - share
        return np.where(known, down, 1.0), np.where(known, up, 1.0)

    def widest(self, rows: int, noise: Noises) -> float:
        """The most that a share of so many rows may be off: where it is 0 or 1, for the half-width is convex."""
        total = float(rows * self.row)
        if (pair := self._pair(noise)) is not None:
            return widest_mean_half_width(total, pair)
        ends = ([(noise[name], Fraction(one[side])) for name, *one in self.weights] for side in (0, 1))
        return min(1.0, max(half_width(tuple(end)) for end in ends) / total) if total > 0 else 1.0

    def _pair(self, noise: Noises) -> tuple[Additive, Additive] | None:
        """The noises of a and b, where each side is a statistic of its own."""
        if [one[1:] for one in self.weights] != [(1, 0), (0, 1)]:
            return None
        return noise[self.weights[0][0]], noise[self.weights[1][0]]


@dataclass(frozen=True, slots=True)
class MeanEstimate(Estimate[Ratio]):
    """A mean: NULL of nobody, else inside of its range."""

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        estimator, noisy = self.estimator, groups.noisy
        share = Share.of(estimator)
        columns: Mapping[str, Sequence[int]] = noisy.statistics
        if (joined := groups.sides.get(output.name)) is not None:
            sides = (IntegerColumn.nearest_to(side[: len(noisy.keys)]) for side in joined)
            columns = dict(zip(estimator.statistics, sides, strict=True))
        above, below = share.sides(columns, len(noisy.keys))
        means = self._means(above, below, share.row, output)
        down, up = share.reaches(*_enlarged(above, below, groups.shrunk), noisy.noise)
        width = float(estimator.high - estimator.low)
        down, up = down * width, up * width
        margins, reaches = ValueColumn.of_floats(np.maximum(down, up)), ColumnarRows.of_floats(down, up)
        return ReleasedColumn(output.name, output.type, means, margins, reaches)

    def _means(self, above: IntegerColumn, below: IntegerColumn, row: Fraction, output: Output) -> ValueColumn:
        """The mean of each group, NULL of nobody; one row adds ``row`` to both sides together."""
        width = self.estimator.high - self.estimator.low
        # In common units, the range begins at ``low`` and is ``span`` wide.
        unit = math.lcm(self.estimator.low.denominator, width.denominator)
        low, span = int(self.estimator.low * unit), int(width * unit)
        total = weighted([(above, 1), (below, 1)], len(above))
        known = (total.array >= max(math.ceil(row / 2), 1)).astype(np.bool_)
        rows, some = total, above
        if not known.all():
            places = np.flatnonzero(known)
            rows, some = total.taken(places), above.taken(places)
        some = some.clipped(0, None).at_most(rows)
        numerators = weighted([(rows, low), (some, span)], len(rows))
        found = quotients(output.type)(numerators, weighted([(rows, unit)], len(rows)))
        return found if known.all() else found.spread_out(known)

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float:
        share = Share.of(self.estimator)
        return float(self.estimator.high - self.estimator.low) * share.widest(rows, noise)

    def nominal_size(self, plan: Plan, rows: int) -> float:
        """Half of the range's larger end."""
        return float(max(abs(self.estimator.low), abs(self.estimator.high))) / 2


def _enlarged(
    above: IntegerColumn, below: IntegerColumn, shrunk: FloatArray | None
) -> tuple[IntegerColumn, IntegerColumn]:
    """Less noise in a group is the same as larger sums in it."""
    if shrunk is None:
        return above, below
    factors = shrunk[: len(above)]
    places = np.flatnonzero(factors > 0)
    larger = [
        side.with_(places, IntegerColumn.nearest_to(side.taken(places).floats / factors[places]))
        for side in (above, below)
    ]
    return larger[0], larger[1]
