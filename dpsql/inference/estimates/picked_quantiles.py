"""Quantiles from the lattice values that were picked: numbers, dates and times, in order. Post-processing."""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.intervals import reach
from dpsql.mechanisms.quantiles import SHARE, Around, Columns, Exponential, Joint
from dpsql.releases import Noise, NoisyTable, ReleasedColumn
from rewriter.declared import Kind, Scalar, Type
from rewriter.plan import Choice, Chosen, Output, Plan, aim_of

Row = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class PickEstimate(Estimate[Chosen]):
    """A quantile or a mode, picked: its error depends on how the data lie."""

    assumed = ", spread evenly over the range"
    word = "quantile"

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        return chosen_column(groups.noisy, groups.plan, output, self.estimator, ordered=groups.parts is not None)

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int, spread: Spread | None = None) -> float | None:
        pick, place = picks[self.estimator.choice], self.estimator.place
        if (off := pick.usual_rows(place)) is None:
            return None
        choice = pick.choice
        low, high = (float(end * choice.granularity) for end in (choice.low, choice.high))
        lies = Spread.even(low, high) if spread is None else spread.within(low, high)
        share, more = aim_of(choice.fractions[place])
        part = min(max(share + more / rows, Fraction(1, 2 * rows)), 1 - Fraction(1, 2 * rows)) if more else share
        return lies.reach(float(part), min(off / rows, 1.0))

    def nominal_size(self, plan: Plan, rows: int) -> float:
        """Half of the range's larger end."""
        choice = next(one for one in plan.choices if one.name == self.estimator.choice)
        return float(max(abs(choice.low), abs(choice.high)) * choice.granularity) / 2 or 1.0

    def found_errors(self, column: ReleasedColumn) -> list[float]:
        return [max(pair) for pair in column.reaches or () if math.isfinite(max(pair))]

    def error_unit(self, picking: Mapping[str, Noise], noise: Noises, rows: int) -> float:
        picked = picking.get(self.estimator.choice)
        return 0.0 if picked is None else float(picked.scale)


def chosen_column(noisy: NoisyTable, plan: Plan, output: Output, chosen: Chosen, *, ordered: bool) -> ReleasedColumn:
    """One picked value of every group. ``ordered``: a greater fraction never has a smaller value."""
    choice = next(one for one in plan.choices if one.name == chosen.choice)
    return released_picks(noisy, choice).column(output, chosen.place, ordered=ordered)


def released_picks(noisy: NoisyTable, choice: Choice) -> ReleasedPicks:
    """What was picked of a choice, by the columns that were released."""
    columns = noisy.chosen[choice.name]
    kind = next(kind for kind in _KINDS if kind.wrote(choice, columns))
    return kind(choice, columns, noisy.picking.get(choice.name))


@dataclass(frozen=True, slots=True)
class ReleasedPicks(ABC):
    """The ``columns`` that one way to pick a choice has released, and the ``noise`` that it has."""

    choice: Choice
    columns: Columns
    noise: Noise | None

    @classmethod
    @abstractmethod
    def wrote(cls, choice: Choice, columns: Columns) -> bool:
        """Whether columns are of this kind."""

    @abstractmethod
    def column(self, output: Output, place: int, *, ordered: bool) -> ReleasedColumn:
        """One value of every group, and how far away the true one may be."""

    @abstractmethod
    def reaches(self, place: int, picked: Sequence[int | None]) -> list[tuple[float, float]]:
        """How many steps the interval of a value goes down and up, in each group."""


@dataclass(frozen=True, slots=True)
class ReleasedModes(ReleasedPicks):
    """One column of places among the candidates. No distance is known."""

    @classmethod
    def wrote(cls, choice: Choice, columns: Columns) -> bool:
        return bool(choice.candidates)

    def column(self, output: Output, place: int, *, ordered: bool) -> ReleasedColumn:
        common = tuple(None if one is None else self.choice.candidates[one] for one in self.columns[0])
        return ReleasedColumn(output.name, output.type, common)

    def reaches(self, place: int, picked: Sequence[int | None]) -> list[tuple[float, float]]:
        return [(math.inf, math.inf)] * len(picked)


@dataclass(frozen=True, slots=True)
class ReleasedQuantiles(ReleasedPicks):
    """A column for each fraction; then two, of what is below and above each of them, where the price was enough."""

    @classmethod
    def wrote(cls, choice: Choice, columns: Columns) -> bool:
        return len(columns) <= 3 * len(choice.fractions)

    def column(self, output: Output, place: int, *, ordered: bool) -> ReleasedColumn:
        """The values of a fraction, each with its interval.

        ``reaches`` are the ends of an interval that has the true quantile in it 95 times in 100, however the values of
        people lie: between them or upon each other, dense or far apart. Why: it goes from one value that was picked to
        another, and these aim so many rows below and above the quantile that they are hardly ever on its other side.
        Of times, in days. The interval of MIN and MAX goes to the end of the declared range.
        """
        rows = [in_order(row) for row in self.values] if ordered else self.values
        picked = [row[place] for row in rows]
        values = tuple(value_of(value, self.choice.granularity, output.type) for value in picked)
        step = float(self.choice.granularity)
        reaches = tuple((down * step, up * step) for down, up in self.reaches(place, picked))
        return ReleasedColumn(output.name, output.type, values, None, reaches)

    def reaches(self, place: int, picked: Sequence[int | None]) -> list[tuple[float, float]]:
        """To the ends of the range where nothing is known."""
        ends = self.ends()
        return [
            _reach(value, ends[group][2 * place : 2 * place + 2], self.choice, place)
            for group, value in enumerate(picked)
        ]

    @property
    def values(self) -> list[Row]:
        """Of each group, a value for each fraction."""
        return list(zip(*self.columns[: len(self.choice.fractions)], strict=True))

    @property
    def beside(self) -> list[Row]:
        """Of each group, what is below and above each value."""
        size = len(self.choice.fractions)
        if len(self.columns) < 3 * size:
            return [(None,) * (2 * size)] * len(self.values)
        return list(zip(*self.columns[size : 3 * size], strict=True))

    def ends(self) -> list[Row]:
        """Of each group, the ends of the interval of each value."""
        return self.beside


@dataclass(frozen=True, slots=True)
class ReleasedJoint(ReleasedQuantiles):
    """Quantiles that were picked together, with the noisy weight of every group in a last column."""

    @classmethod
    def wrote(cls, choice: Choice, columns: Columns) -> bool:
        return bool(choice.fractions) and len(columns) > 3 * len(choice.fractions)

    def ends(self) -> list[Row]:
        if self.noise is None:
            raise AssertionError("a release tells the noise of its picks")
        joint = joint_of(self.choice, self.noise)
        return [
            _chained(self.choice, values, _stretched(joint, beside, values, total or 0))
            for values, beside, total in zip(self.values, self.beside, self.columns[-1], strict=True)
        ]


_KINDS: tuple[type[ReleasedPicks], ...] = (ReleasedModes, ReleasedJoint, ReleasedQuantiles)
"""How the columns of each way to pick are read."""


def _stretched(joint: Joint, ends: Row, values: Row, total: int) -> list[int | None]:
    """The ends beside quantiles that were picked together, moved away where they are too near for their error.

    Where rows lie at random, errors fall off like E exp(-rN) for a Poisson number N of rows.
    """
    if all(end is None for end in ends):
        return list(ends)  # as where the price was too low to look around the quantiles
    choice = joint.choice
    size, row = len(joint.fractions), -math.expm1(-float(joint.rate * choice.row))
    scale = row / -math.expm1(-float(joint.rate * SHARE * choice.row))
    found = list(ends)
    for at, (fraction, pair) in enumerate(zip(joint.fractions, Around(joint).weights(total), strict=True)):
        place = choice.fractions.index(fraction)
        value = values[place]
        for side, weight in enumerate(pair):
            end = ends[2 * place + side]
            if end is None or value is None or weight is None:
                found[2 * place + side] = None
                continue
            more = max(reach(at, size, float(fraction), _rounded(weight / choice.row * row), scale), 1.0)
            found[2 * place + side] = value + int(math.copysign(math.ceil(more * abs(end - value)), end - value))
    return found


def _chained(choice: Choice, values: Row, ends: Sequence[int | None]) -> Row:
    """Ends that do not stop half-way to a neighbour, which is as far as was looked: beyond, the neighbour's own holds,
    since a greater fraction never has a smaller value."""
    known = [at for at, q in enumerate(choice.fractions) if q not in (0, 1) and values[at] is not None]
    found = list(ends)
    for side, order in ((0, known), (1, known[::-1])):
        for before, at in pairwise(order):
            value, other, end = values[at], values[before], found[2 * at + side]
            if value is None or other is None:
                continue
            if end is None or abs(end - value) + 1 >= abs(value - other) // 2:
                found[2 * at + side] = found[2 * before + side]
    return tuple(found)


def joint_of(choice: Choice, noise: Noise) -> Joint:
    """The mechanism of a joint pick, from its noise."""
    inner = tuple(fraction for fraction in choice.fractions if fraction not in (0, 1))
    return Joint(choice, inner, Exponential(1 / noise.scale, concentrated=choice.sensitivity.l1 is None))


def _rounded(away: float) -> float:
    """To two digits, so that groups of about one size have it computed once."""
    return float(f"{away:.2g}")


def _reach(value: int | None, ends: Sequence[int | None], choice: Choice, place: int) -> tuple[float, float]:
    """How many steps the interval goes down and up; infinitely many where there is no value."""
    if value is None:
        return math.inf, math.inf
    least, most = float(value - choice.low), float(choice.high - value)
    if choice.fractions[place] in (0, 1):
        return (least, 0.0) if choice.fractions[place] == 0 else (0.0, most)
    low, high = ends
    down = least if low is None else float(max(value - low, 0))
    up = most if high is None else float(max(high - value, 0))
    return min(down, least), min(up, most)


def in_order(values: Sequence[int | None]) -> tuple[int | None, ...]:
    """The values of growing fractions, sorted; those that are missing stay where they are.

    >>> in_order((5, None, 3, 9))
    (3, None, 5, 9)
    """
    known = iter(sorted(value for value in values if value is not None))
    return tuple(None if value is None else next(known) for value in values)


def value_of(steps: int | None, granularity: Fraction, type_: Type) -> Scalar | None:
    """A lattice value as one of a type. Days are those of ``date.toordinal()``.

    >>> from rewriter.declared.types import DATE, decimal
    >>> value_of(719163, Fraction(1), DATE), value_of(150, Fraction(1, 100), decimal(9, 2))
    (datetime.date(1970, 1, 1), Decimal('1.50'))
    """
    if steps is None:
        return None
    number = steps * granularity
    if type_.kind is Kind.DATE:
        return datetime.date.fromordinal(int(number))
    if type_.clocked:
        days, rest = divmod(number, 1)
        microseconds = int(rest * 86_400_000_000)
        return datetime.datetime.fromordinal(int(days)) + datetime.timedelta(microseconds=microseconds)
    if type_.kind is Kind.DECIMAL:
        units = round(number * 10**type_.scale)
        return Decimal(units).scaleb(-type_.scale)
    return round(number) if type_.kind is Kind.INTEGER else float(number)
