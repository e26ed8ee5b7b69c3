"""The parts of one measurement, as exact numbers in their units, and the columns that are made of them.

Guarantee: a finished output is the sum of finished parts, exactly, at any magnitude. Parts are exact integers in units
(:class:`rewriter.plan.Part`); nothing is rounded twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.inference.estimates.rounding import nearest, quotients
from dpsql.inference.intervals import variance
from dpsql.inference.numeric import apportion, simplex
from dpsql.releases import IntegerColumn, NoisyTable, ValueColumn, weighted
from rewriter.plan import Linear, Output, Part, Plan

Column = Sequence[int]
"""One part over the groups of a table, in units."""


def measured(noisy: NoisyTable, estimator: Linear, unit: Fraction) -> tuple[IntegerColumn, int]:
    """The unbiased estimates of a part in every group, in units: numerators and their common denominator.

    >>> measured(NoisyTable(((),), {"s": (7,)}, {}), Linear((("s", Fraction(1, 4)),)), Fraction(1, 2))
    ((7,), 2)
    """
    weights = [(name, weight / unit) for name, weight in estimator.terms]
    denominator = math.lcm(1, *(weight.denominator for _, weight in weights))
    terms = [(IntegerColumn.of(noisy.statistics[name]), int(weight * denominator)) for name, weight in weights]
    return weighted(terms, len(noisy.keys)), denominator


def spread(noisy: NoisyTable, estimator: Linear, unit: Fraction) -> float:
    """The variance of a part's estimate in any one group, in squared units."""
    weights: dict[str, Fraction] = {}
    for name, weight in estimator.terms:
        weights[name] = weights.get(name, Fraction(0)) + weight / unit
    return sum(float(weight) ** 2 * variance(noisy.noise[name]) for name, weight in weights.items())


def finished(noisy: NoisyTable, plan: Plan, *, summed: bool) -> list[IntegerColumn]:
    """Every part of one measurement on its own: rounded, and moved just so far that no output is out of its range.

    ``summed``: sums over groups must stay unbiased, so the part below 0 that is cut off in one group is taken from the
    others (clamping before summing takes the error of a total from 503 to 3,966 where most groups are empty).
    """
    columns: list[IntegerColumn] = []
    for part in plan.parts:
        numerators, denominator = measured(noisy, part.estimator, part.unit)
        if summed and part.estimator.minimum is not None:
            columns.append(_with_its_total(numerators, denominator))
        else:
            columns.append(numerators.nearest(denominator))
    _within_groups(columns, plan)
    return columns


def _with_its_total(numerators: IntegerColumn, denominator: int) -> IntegerColumn:
    """Non-negative integers that add up to the rounded total of all groups."""
    total = max(0, nearest(sum(numerators), denominator))
    if not len(numerators) or (numerators.array.min() >= 0 and not (numerators.array % denominator).any()):
        return numerators.nearest(denominator)
    values = np.asarray(numerators.over(denominator))
    return IntegerColumn.of(apportion(simplex(values, float(total)).tolist(), total))


def _within_groups(columns: list[IntegerColumn], plan: Plan) -> None:
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
        if len(component) == 1:
            columns[component[0]] = columns[component[0]].clipped(0, None)
            continue
        places = np.flatnonzero(_wrong(columns, checked, pairs))
        moved = [columns[part].taken(places).array.tolist() for part in component]
        for place, values in enumerate(zip(*moved, strict=True)):
            for part, value in zip(
                moved, _moved(dict(zip(component, values, strict=True)), checked, pairs), strict=True
            ):
                part[place] = value
        for part, column in zip(component, moved, strict=True):
            columns[part] = columns[part].with_(places, IntegerColumn.of(column))


def _wrong(
    columns: Sequence[IntegerColumn], checked: Iterable[tuple[int, ...]], pairs: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    """The groups in which a sum of parts is below 0, or two parts are in the wrong order."""
    found = np.zeros(len(columns[0]), dtype=np.bool_)
    for parts in checked:
        found |= (weighted([(columns[part], 1) for part in parts], len(found)).array < 0).astype(np.bool_)
    for low, high in pairs:
        found |= (columns[low].array > columns[high].array).astype(np.bool_)
    return found


def _moved(
    parts: dict[int, int], checked: Iterable[tuple[int, ...]], pairs: Sequence[tuple[int, int]]
) -> Iterable[int]:
    """The parts of one group, moved as far as they have to be."""
    if any(sum(parts[part] for part in some) < 0 for some in checked):
        parts = dict(zip(parts, _lifted(list(parts.values())), strict=True))
    if pairs:
        _order(parts, pairs)
    return parts.values()


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


def _order(parts: dict[int, int], pairs: Sequence[tuple[int, int]]) -> None:
    """Meet in the middle until every pair is in order; halves go to the larger."""
    for _ in range(len(pairs) + 1):
        wrong = [(low, high) for low, high in pairs if parts[low] > parts[high]]
        if not wrong:
            return
        for low, high in wrong:
            both = parts[low] + parts[high]
            parts[low], parts[high] = both // 2, both - both // 2
    for low, high in pairs:
        parts[high] = max(parts[high], parts[low])


def values(output: Output, plan: Plan, columns: Sequence[Column]) -> ValueColumn:
    """A finished output: the sum of its parts, in the type that it has."""
    unit = Fraction(1, math.lcm(*(plan.parts[place].unit.denominator for place in output.parts)))
    terms = [(IntegerColumn.of(columns[place]), int(plan.parts[place].unit / unit)) for place in output.parts]
    return quotients(output.type)(weighted(terms, len(terms[0][0])), unit.denominator)
