"""Statistics that are weighted sums of others: how counts, sums, means and deviations are read off one vector.

Guarantee: post-processing, it sees plans alone. Two plans that measure the same aggregate over the same rows have
estimators of one number, whatever the data: so what one plan measures follows from the sums that the other one has for
it. What does not follow is not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.mechanisms import Mechanism
from rewriter.plan import Estimator, Figure, Linear, Moment, Plan, Ratio, Statistic, Terms

Reading = tuple[tuple[int, Fraction], ...]
"""A weighted sum of the statistics that are measured, by their places."""

_Row = dict[tuple[bool, str], Fraction]
"""A weighted sum that is 0: the weights of the plan's own statistics (True) and of the other plan's (False)."""


def readings_of(plan: Plan, measured: Plan, places: Sequence[int]) -> Mapping[str, Terms] | None:
    """Each statistic of a plan as a weighted sum of those of another plan, which has the same outputs at ``places``;
    None where they do not follow. Every sum of statistics that an output is made of is an equation."""
    equations: list[_Row] = []
    for output, place in zip(plan.outputs, places, strict=True):
        left_, right_ = output.estimator, measured.outputs[place].estimator
        own, other = _sums(left_), _sums(right_)
        if not are_alike(left_, right_):
            return None
        equations += [_equation(left, right) for left, right in zip(own, other, strict=True)]
    solved: dict[str, _Row] = {}
    for name in (one.name for one in plan.statistics):
        pivot = next((row for row in equations if row.get((True, name))), None)
        if pivot is None:
            return None
        equations.remove(pivot)
        pivot = {key: weight / pivot[True, name] for key, weight in pivot.items()}
        equations = [_without(name, row, pivot) for row in equations]
        solved = {known: _without(name, row, pivot) for known, row in solved.items()} | {name: pivot}
    return {
        name: tuple((other, -weight) for (own_, other), weight in row.items() if not own_ and weight)
        for name, row in solved.items()
    }


def squares(plan: Plan, noise: Mapping[str, Mechanism]) -> list[float]:
    """The variance of each output that is a sum, and of each mean that of the farther side."""
    return [
        max(sum(float(weight) ** 2 * float(noise[name].square) for name, weight in terms) for terms in sums)
        for sums in (_sums(output.estimator) for output in plan.outputs)
        if sums
    ]


def _sums(estimator: Estimator) -> tuple[Terms, ...]:
    """The sums that an output is made of: one, both sides of a mean, or every cell of other moments; none of other
    outputs."""
    if isinstance(estimator, Linear):
        return (estimator.terms,)
    if isinstance(estimator, Ratio):
        return estimator.above, estimator.below
    if not isinstance(estimator, Moment):
        return ()
    return estimator.sides if estimator.figure is Figure.MEAN else tuple((cell,) for cell in estimator.cells)


def are_alike(one: Estimator, other: Estimator) -> bool:
    """Whether two estimators are the same function of their sums."""
    own = _sums(one)
    return bool(own) and len(own) == len(_sums(other)) and _range(one) == _range(other)


def _range(estimator: Estimator) -> object:
    """The ranges that sides and cells are shares of: two outputs over other ranges have other sums."""
    if isinstance(estimator, Moment):
        mean = estimator.figure is Figure.MEAN
        return (estimator.x.low, estimator.x.high) if mean else (estimator.x, estimator.y)
    return (estimator.low, estimator.high) if isinstance(estimator, Ratio) else None


def _equation(own: Terms, other: Terms) -> _Row:
    return {(True, name): weight for name, weight in own} | {(False, name): -weight for name, weight in other}


def _without(name: str, row: _Row, pivot: _Row) -> _Row:
    """The row without the plan's statistic of this name, which the pivot has once."""
    factor = row.get((True, name), Fraction(0))
    return {key: row.get(key, Fraction(0)) - factor * pivot.get(key, Fraction(0)) for key in {**row, **pivot}}


def read_off(plan: Plan, names: Sequence[str], readings: Mapping[str, Terms]) -> Plan | None:
    """The plan over statistics of these ``names``, that its own are read off, in whole steps; None where an output is
    no sum, mean or moment of them."""
    outputs, parts = [], []
    for output in plan.outputs:
        made = output.estimator.made_of(readings) if isinstance(output.estimator, Linear | Ratio | Moment) else None
        if made is None:
            return None
        outputs.append(replace(output, estimator=made))
    for part in plan.parts:
        parts.append(replace(part, estimator=part.estimator.made_of(readings)))
    blocks = (replace(plan.blocks[0], statistics=(Statistic(name, Fraction(1), 1, name),)) for name in names)
    return replace(plan, blocks=tuple(blocks), outputs=tuple(outputs), parts=tuple(parts))


def renamed(plan: Plan, names: Mapping[str, str]) -> Plan | None:
    """The plan with other names of its statistics; None where an output is no sum, mean or moment of them."""
    readings = {name: ((new, Fraction(1)),) for name, new in names.items()}
    read = read_off(plan, tuple(names.values()), readings)
    if read is None:
        return None
    blocks = [
        replace(block, statistics=tuple(replace(one, name=names[one.name]) for one in block.statistics))
        for block in plan.blocks
    ]
    return replace(read, blocks=tuple(blocks))
