"""The parts of one measurement, as exact numbers in their units, and the columns that are made of them.

Guarantee: a finished output is the sum of finished parts, exactly, at any magnitude. Parts are Python integers in units
(:class:`rewriter.plan.Part`); nothing is rounded twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpsql.inference.estimates.rounding import nearest, quotients
from dpsql.inference.intervals import variance
from dpsql.inference.numeric import apportion, simplex
from dpsql.releases import NoisyTable
from rewriter.declared import Scalar
from rewriter.plan import Linear, Output, Part, Plan

Column = list[int]
"""One part over the groups of a table, in units."""


def measured(noisy: NoisyTable, estimator: Linear, unit: Fraction) -> tuple[list[int], int]:
    """The unbiased estimates of a part in every group, in units: numerators and their common denominator.

    >>> measured(NoisyTable(((),), {"s": (7,)}, {}), Linear((("s", Fraction(1, 4)),)), Fraction(1, 2))
    ([7], 2)
    """
    weights = [(name, weight / unit) for name, weight in estimator.terms]
    denominator = math.lcm(1, *(weight.denominator for _, weight in weights))
    totals = [0] * len(noisy.keys)
    for name, weight in weights:
        factor = int(weight * denominator)
        totals = [total + factor * integer for total, integer in zip(totals, noisy.statistics[name], strict=True)]
    return totals, denominator


def spread(noisy: NoisyTable, estimator: Linear, unit: Fraction) -> float:
    """The variance of a part's estimate in any one group, in squared units."""
    weights: dict[str, Fraction] = {}
    for name, weight in estimator.terms:
        weights[name] = weights.get(name, Fraction(0)) + weight / unit
    return sum(float(weight) ** 2 * variance(noisy.noise[name]) for name, weight in weights.items())


def finished(noisy: NoisyTable, plan: Plan, *, summed: bool) -> list[Column]:
    """Every part of one measurement on its own: rounded, and moved just so far that no output is out of its range.

    ``summed``: sums over groups must stay unbiased, so the part below 0 that is cut off in one group is taken from the
    others (clamping before summing takes the error of a total from 503 to 3,966 where most groups are empty).
    """
    columns: list[Column] = []
    for part in plan.parts:
        numerators, denominator = measured(noisy, part.estimator, part.unit)
        if summed and part.estimator.minimum is not None:
            columns.append(_with_its_total(numerators, denominator))
        else:
            columns.append([nearest(numerator, denominator) for numerator in numerators])
    _within_groups(columns, plan)
    return columns


def _with_its_total(numerators: Sequence[int], denominator: int) -> Column:
    """Non-negative integers that add up to the rounded total of all groups."""
    total = max(0, nearest(sum(numerators), denominator))
    if min(numerators, default=0) >= 0 and not any(numerator % denominator for numerator in numerators):
        return [numerator // denominator for numerator in numerators]
    values = np.array([numerator / denominator for numerator in numerators])
    return apportion(simplex(values, float(total)).tolist(), total) if numerators else []


def _within_groups(columns: list[Column], plan: Plan) -> None:
    """Where an output would be below its minimum, or two in the wrong order, move that group's parts, in place.

    Parts that make up one output keep their sum. Groups in which nothing is wrong stay as they were measured.
    """
    for component in _components(plan):
        outputs = [output for output in plan.outputs if output.parts and output.parts[0] in component]
        checked = {output.parts for output in outputs if _minimum(output, plan.parts) is not None}
        # Where it is not shown by itself, a part below 0 makes a count exceed another that it is part of.
        checked |= {(part,) for part in component if plan.parts[part].estimator.minimum is not None}
        pairs = [(low, high) for low, high in plan.orders if low in component]
        if not checked and not pairs:
            continue
        for place in range(len(columns[component[0]])):
            if any(sum(columns[part][place] for part in parts) < 0 for parts in checked):
                values = [columns[part][place] for part in component]
                for part, value in zip(component, _lifted(values), strict=True):
                    columns[part][place] = value
            if pairs:
                _order(columns, place, pairs)


def _minimum(output: Output, parts: Sequence[Part]) -> int | None:
    known = [parts[place].estimator.minimum for place in output.parts]
    return 0 if all(minimum is not None for minimum in known) else None


def _components(plan: Plan) -> list[list[int]]:
    """Parts that outputs add up, or orders compare, with each other."""
    groups: list[set[int]] = []
    for links in [*(set(output.parts) for output in plan.outputs if output.parts), *map(set, plan.orders)]:
        touching = [group for group in groups if group & links]
        groups = [group for group in groups if not group & links]
        groups.append(links.union(*touching))
    return [sorted(group) for group in groups]


def _lifted(values: Sequence[int]) -> list[int]:
    """The nearest numbers that are not negative and have the same sum, or 0."""
    if len(values) == 1:
        return [max(0, values[0])]
    total = max(0, sum(values))
    return apportion(simplex(np.array(values, dtype=float), float(total)).tolist(), total)


def _order(columns: list[Column], place: int, pairs: Sequence[tuple[int, int]]) -> None:
    """Meet in the middle until every pair is in order; halves go to the larger."""
    for _ in range(len(pairs) + 1):
        wrong = [(low, high) for low, high in pairs if columns[low][place] > columns[high][place]]
        if not wrong:
            return
        for low, high in wrong:
            both = columns[low][place] + columns[high][place]
            columns[low][place], columns[high][place] = both // 2, both - both // 2
    for low, high in pairs:
        columns[high][place] = max(columns[high][place], columns[low][place])


def values(output: Output, plan: Plan, columns: Sequence[Column]) -> tuple[Scalar | None, ...]:
    """A finished output: the sum of its parts, in the type that it has."""
    unit = Fraction(1, math.lcm(*(plan.parts[place].unit.denominator for place in output.parts)))
    factors = [int(plan.parts[place].unit / unit) for place in output.parts]
    value = quotients(output.type)
    summed = zip(*(columns[place] for place in output.parts), strict=True)
    return tuple(
        value(sum(factor * part for factor, part in zip(factors, parts, strict=True)), unit.denominator)
        for parts in summed
    )
