"""Quantiles from the lattice values that were picked: numbers, dates and times, in order. Post-processing."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from dpsql.inference.estimates.estimate import Estimate, Groups, Noises, Picks
from dpsql.inference.intervals import reach
from dpsql.mechanisms.quantiles import SHARE, Around, Exponential, Joint
from dpsql.releases import Noise, NoisyTable, ReleasedColumn
from rewriter.declared import Kind, Scalar, Type
from rewriter.plan import Choice, Chosen, Output, Plan


@dataclass(frozen=True, slots=True)
class PickEstimate(Estimate[Chosen]):
    """A quantile or a mode, picked: its error depends on how the data lie."""

    def column(self, output: Output, groups: Groups) -> ReleasedColumn:
        return chosen_column(groups.noisy, groups.plan, output, self.estimator, ordered=groups.parts is not None)

    def expected_half_width(self, noise: Noises, picks: Picks, rows: int) -> float | None:
        return picks[self.estimator.choice].half_width(self.estimator.place, rows)

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
    """One quantile of every group. ``ordered``: a greater fraction never has a smaller value.

    ``reaches`` are the ends of an interval that has the true quantile in it 95 times in 100, however the values of
    people lie: between them or upon each other, dense or far apart. Why: it goes from one value that was picked to
    another, and these aim so many rows below and above the quantile that they are hardly ever on its other side. Of
    times, in days. The interval of MIN and MAX goes to the end of the declared range.
    """
    choice = next(one for one in plan.choices if one.name == chosen.choice)
    columns = noisy.chosen[choice.name]
    if choice.candidates:
        common = tuple(None if place is None else choice.candidates[place] for place in columns[0])
        return ReleasedColumn(output.name, output.type, common)
    size = len(choice.fractions)
    rows = list(zip(*columns[:size], strict=True)) if columns else []
    if ordered:
        rows = [in_order(row) for row in rows]
    picked = [row[chosen.place] for row in rows]
    values = tuple(value_of(value, choice.granularity, output.type) for value in picked)
    step = float(choice.granularity)
    reaches = tuple((down * step, up * step) for down, up in reaches_of(noisy, choice, chosen.place, picked))
    return ReleasedColumn(output.name, output.type, values, None, reaches)


def reaches_of(
    noisy: NoisyTable, choice: Choice, place: int, picked: Sequence[int | None]
) -> list[tuple[float, float]]:
    """How many steps the interval of a quantile goes down and up, in each group; to the ends of the range where nothing
    is known."""
    columns, size = noisy.chosen[choice.name], len(choice.fractions)
    values = list(zip(*columns[:size], strict=True)) or [()] * len(picked)
    beside = list(zip(*columns[size : 3 * size], strict=True)) if len(columns) >= 3 * size else [()] * len(picked)
    totals: Sequence[int | None] = columns[-1] if len(columns) > 3 * size else ()
    found: list[tuple[float, float]] = []
    for group, value in enumerate(picked):
        ends: Sequence[int | None] = beside[group] or (None,) * (2 * size)
        if totals:
            ends = _chained(choice, values[group], _stretched(choice, noisy, ends, values[group], totals[group] or 0))
        found.append(_reach(value, ends[2 * place : 2 * place + 2], choice, place))
    return found


def _stretched(
    choice: Choice, noisy: NoisyTable, ends: Sequence[int | None], values: Sequence[int | None], total: int
) -> list[int | None]:
    """The ends beside quantiles that were picked together, moved away where they are too near for their error.

    Where rows lie at random, errors fall off like E exp(-rN) for a Poisson number N of rows.
    """
    joint = joint_of(choice, noisy.picking[choice.name])
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


def _chained(choice: Choice, values: Sequence[int | None], ends: Sequence[int | None]) -> list[int | None]:
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
    return found


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
