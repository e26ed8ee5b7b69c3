"""The parts of one measurement, as exact numbers in their units, and the columns that are made of them.

Guarantee: a finished output is the sum of finished parts, exactly, at any magnitude. Parts are exact integers in units
(:class:`rewriter.plan.Part`); nothing is rounded twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.inference.estimates.rounding import nearest, quotients
from dpsql.inference.intervals import variance
from dpsql.inference.numeric import apportion, apportion_all, simplex, simplices
from dpsql.memory import by_identity
from dpsql.releases import IntegerColumn, NoisyTable, ValueColumn, weighted
from rewriter.plan import Linear, Output, Part, Plan

Column = Sequence[int]
"""One part over the groups of a table, in units."""

ONE = Fraction(1)


def measured(noisy: NoisyTable, estimator: Linear, unit: Fraction = ONE) -> tuple[IntegerColumn, int]:
    """The unbiased estimates of a part in every group, in units: numerators and their common denominator.

    >>> measured(NoisyTable(((),), {"s": (7,)}, {}), Linear((("s", Fraction(1, 4)),)), Fraction(1, 2))
    ((7,), 2)
    """
    weights, denominator = _in_units(estimator, unit)
    terms = [(IntegerColumn.of(noisy.statistics[name]), weight) for name, weight in weights]
    return weighted(terms, len(noisy.keys)), denominator


@by_identity(1024)
def _in_units(estimator: Linear, unit: Fraction) -> tuple[Sequence[tuple[str, int]], int]:
    """The weights of a part's statistics in units: numerators and their common denominator."""
    weights = [(name, weight / unit) for name, weight in estimator.terms]
    denominator = math.lcm(1, *(weight.denominator for _, weight in weights))
    return [(name, int(weight * denominator)) for name, weight in weights], denominator


def spread(noisy: NoisyTable, estimator: Linear, unit: Fraction) -> float:
    """The variance of a part's estimate in any one group, in squared units."""
    weights: dict[str, Fraction] = {}
    for name, weight in estimator.terms:
        weights[name] = weights.get(name, Fraction(0)) + weight / unit
    return sum(float(weight) ** 2 * variance(noisy.noise[name]) for name, weight in weights.items())


def finished(noisy: NoisyTable, plan: Plan, *, summed: bool) -> list[IntegerColumn]:
    """Every part of one measurement on its own: rounded, and moved just so far that no output is out of its range.

    ``summed``: sums over groups must stay unbiased, so the part below 0 that is cut off in one group is taken from the
    others (clamping before summing takes the error of a total from 503 to 3,966 where most groups are empty). Of a
    series it is taken from the others of the same period: a period that was shown stays as it was.
    """
    columns: list[IntegerColumn] = []
    for part in plan.parts:
        numerators, denominator = measured(noisy, part.estimator, part.unit)
        if summed and part.estimator.minimum is not None:
            columns.append(_with_totals(numerators, denominator, noisy.periods))
        else:
            columns.append(numerators.quotients(denominator))
    _within_groups(columns, plan)
    return columns


def _with_totals(numerators: IntegerColumn, denominator: int, periods: Sequence[int] | None) -> IntegerColumn:
    """Non-negative integers that add up to the rounded totals of all groups, or of those of each period."""
    if periods is None:
        return _with_its_total(numerators, denominator)
    found = numerators.quotients(denominator)
    of = np.asarray(periods, dtype=np.int64)
    order = np.argsort(of, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(of[order])) + 1):
        found = found.with_(places, _with_its_total(numerators.taken(places), denominator))
    return found


def _with_its_total(numerators: IntegerColumn, denominator: int) -> IntegerColumn:
    """Non-negative integers that add up to the rounded total of all groups."""
    total = max(0, nearest(sum(numerators), denominator))
    if not len(numerators) or (numerators.array.min() >= 0 and not (numerators.array % denominator).any()):
        return numerators.quotients(denominator)
    values = np.asarray(numerators.over(denominator))
    return IntegerColumn.of(apportion(simplex(values, float(total)).tolist(), total))


def _within_groups(columns: list[IntegerColumn], plan: Plan) -> None:
    """Where an output would be below its minimum, or two in the wrong order, move that group's parts, in place.

    Parts that make up one output keep their sum. Groups in which nothing is wrong stay as they were measured.
    """
    for component, checked, pairs in _checks(plan):
        if len(component) == 1:
            columns[component[0]] = columns[component[0]].clipped(0, None)
            continue
        if len(places := np.flatnonzero(_below(columns, checked))):
            lifted = _lifted([columns[part].taken(places) for part in component])
            for part, column in zip(component, lifted, strict=True):
                columns[part] = columns[part].with_(places, column)
        _order(columns, pairs)


@by_identity(512)
def _checks(plan: Plan) -> Sequence[tuple[Sequence[int], Set[tuple[int, ...]], Sequence[tuple[int, int]]]]:
    """Parts that hang together, with the sums of them that are not below 0, and the pairs that are in order."""
    found = []
    for component in _components(plan):
        outputs = [output for output in plan.outputs if output.parts and output.parts[0] in component]
        checked = {output.parts for output in outputs if _minimum(output, plan.parts) is not None}
        # Where it is not shown by itself, a part below 0 makes a count exceed another that it is part of.
        checked |= {(part,) for part in component if plan.parts[part].estimator.minimum is not None}
        pairs = [(low, high) for low, high in plan.orders if low in component]
        if checked or pairs:
            found.append((component, checked, pairs))
    return found


def _below(columns: Sequence[IntegerColumn], checked: Iterable[tuple[int, ...]]) -> NDArray[np.bool_]:
    """The groups in which a sum of parts is below 0."""
    found = np.zeros(len(columns[0]), dtype=np.bool_)
    for parts in checked:
        found |= (weighted([(columns[part], 1) for part in parts], len(found)).array < 0).astype(np.bool_)
    return found


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


def _lifted(columns: Sequence[IntegerColumn]) -> list[IntegerColumn]:
    """In each group, the nearest numbers that are not negative and have the same sum, or 0."""
    size = len(columns[0])
    totals = weighted([(column, 1) for column in columns], size).clipped(0, None)
    families = np.repeat(np.arange(size), len(columns))
    numbers = np.stack([column.floats for column in columns], axis=1).reshape(-1)
    nearest = simplices(families, numbers, np.ones_like(numbers), totals.floats)
    whole = apportion_all(families, nearest, list(totals))
    return [IntegerColumn.of(whole[place :: len(columns)]) for place in range(len(columns))]


def _order(columns: list[IntegerColumn], pairs: Sequence[tuple[int, int]]) -> None:
    """Meet in the middle until every pair is in order; halves go to the larger."""
    for _ in range(len(pairs) + 1):
        wrong = [(low, high, np.flatnonzero(columns[low].array > columns[high].array)) for low, high in pairs]
        if not any(len(places) for _, _, places in wrong):
            return
        for low, high, places in wrong:
            both = weighted([(columns[part].taken(places), 1) for part in (low, high)], len(places))
            half = IntegerColumn(both.array // 2)
            columns[low] = columns[low].with_(places, half)
            columns[high] = columns[high].with_(places, weighted([(both, 1), (half, -1)], len(places)))
    for low, high in pairs:
        columns[high] = columns[high].at_least(columns[low])


def values(output: Output, plan: Plan, columns: Sequence[Column]) -> ValueColumn:
    """A finished output: the sum of its parts, in the type that it has."""
    units, denominator = _units_of(output, plan)
    terms = [(IntegerColumn.of(columns[place]), units[place]) for place in output.parts]
    return quotients(output.type)(weighted(terms, len(terms[0][0])), denominator)


@by_identity(512)
def _units_of(output: Output, plan: Plan) -> tuple[Mapping[int, int], int]:
    """The units of an output's parts, by their places: numerators and their common denominator."""
    unit = Fraction(1, math.lcm(*(plan.parts[place].unit.denominator for place in output.parts)))
    return {place: int(plan.parts[place].unit / unit) for place in output.parts}, unit.denominator
