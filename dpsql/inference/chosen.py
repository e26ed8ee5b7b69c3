"""Quantiles from the lattice values that were picked: numbers, dates and times, in order. Post-processing."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from dpsql.inference.bridge import reach
from dpsql.mechanisms.around import SHARE, Around
from dpsql.mechanisms.joint import Joint
from dpsql.mechanisms.quantile import Exponential
from dpsql.table import Noise, NoisyTable, ReleasedColumn
from rewriter.plan import Choice, Chosen, Output, Plan
from rewriter.types import Kind, Scalar, Type

_REACH = 0.0901
"""How far a quantile's interval reaches, as a part of the way to its end: solves exp(-32x) / (1 - 16x²) = 0.05 for
x = r/(1-r)."""


def chosen_column(noisy: NoisyTable, plan: Plan, output: Output, chosen: Chosen, *, ordered: bool) -> ReleasedColumn:
    """One quantile of every group. ``ordered``: a greater fraction never has a smaller value.

    ``reaches`` are the ends of an interval that has the true quantile in it 95 times in 100 where the values of people
    lie about as densely as they do between the two ends that were picked beside it; of times, in days. Why, for one
    alone: there its rank is off by Laplace noise of some scale, the ends are 32 of it away with noise of 4 of it;
    so P(beyond r of the way to an end) = exp(-32x) / (1 - 16x²) / 2 for x = r/(1-r). For those that were picked
    together, see :mod:`dpsql.inference.bridge`. Where most of the range is empty near the quantile it has
    less. The interval of MIN and MAX goes to the end of the declared range.
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
    """How many steps the interval of a quantile goes down and up, in each group; infinitely many where nothing is
    known."""
    columns, size = noisy.chosen[choice.name], len(choice.fractions)
    ends = columns[size + 2 * place : size + 2 * place + 2]
    pairs = list(zip(*ends, strict=True)) if ends else [(None, None)] * len(picked)
    parts: Sequence[tuple[float, float]] = [(_REACH, _REACH)] * len(picked)
    if len(columns) > 3 * size:
        parts = _together(choice, noisy, place, columns[-1])
    return [_reach(value, pair, part, choice, place) for value, pair, part in zip(picked, pairs, parts, strict=True)]


def _together(choice: Choice, noisy: NoisyTable, place: int, totals: Sequence[int | None]) -> list[tuple[float, float]]:
    """By what the ends of a quantile that was picked with others are multiplied, group by group."""
    fraction = choice.fractions[place]
    if fraction in (0, 1):
        return [(0.0, 0.0)] * len(totals)
    joint = joint_of(choice, noisy.noise[choice.name])
    at, size = joint.fractions.index(fraction), len(joint.fractions)
    # Where rows lie at random, errors fall off like E exp(-rN) for a Poisson number N of rows.
    row = -math.expm1(-float(joint.rate * choice.row))
    scale = row / -math.expm1(-float(joint.rate * SHARE * choice.row))
    found: list[tuple[float, float]] = []
    for total in totals:
        pair = Around(joint).weights(total or 0)[at]
        down, up = (
            0.0 if weight is None else reach(at, size, float(fraction), _rounded(weight / choice.row * row), scale)
            for weight in pair
        )
        found.append((down, up))
    return found


def joint_of(choice: Choice, noise: Noise) -> Joint:
    """The mechanism that picked what is not picked alone, from its noise."""
    inner = tuple(fraction for fraction in choice.fractions if fraction not in (0, 1))
    return Joint(choice, inner, Exponential(1 / noise.scale, concentrated=choice.sensitivity.l1 is None))


def _rounded(away: float) -> float:
    """To two digits, so that groups of about one size have it computed once."""
    return float(f"{away:.2g}")


def _reach(
    value: int | None, ends: Sequence[int | None], parts: tuple[float, float], choice: Choice, place: int
) -> tuple[float, float]:
    """How many steps the interval goes down and up; infinitely many where nothing is known."""
    if value is None:
        return math.inf, math.inf
    if choice.fractions[place] == 0:
        return float(value - choice.low), 0.0
    if choice.fractions[place] == 1:
        return 0.0, float(choice.high - value)
    low, high = ends
    down = math.inf if low is None else float(math.ceil(parts[0] * max(value - low, 0)))
    up = math.inf if high is None else float(math.ceil(parts[1] * max(high - value, 0)))
    return min(down, float(value - choice.low)), min(up, float(choice.high - value))


def in_order(values: Sequence[int | None]) -> tuple[int | None, ...]:
    """The values of growing fractions, sorted; those that are missing stay where they are.

    >>> in_order((5, None, 3, 9))
    (3, None, 5, 9)
    """
    known = iter(sorted(value for value in values if value is not None))
    return tuple(None if value is None else next(known) for value in values)


def value_of(steps: int | None, granularity: Fraction, type_: Type) -> Scalar | None:
    """A lattice value as one of a type. Days are those of ``date.toordinal()``.

    >>> from rewriter.types import DATE, decimal
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
