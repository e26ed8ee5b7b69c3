"""The row of other groups: a total minus the groups that are shown. Post-processing of released numbers.

The difference is taken between noisy integers, before any number is moved into its range, so that it is unbiased. Its
noise is that of the total and of every group that is shown. Where each number of a group is rounded for itself, it is
rounded before the subtraction, so that all rows add up to the total as it is shown. The row is computed anew wherever
tables are finished, those of replicates too: so each replicate of it shares the noise of its total and groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.calibrate import Calibration
from dpsql.inference.consistency import DerivedTable
from dpsql.inference.estimates import nearest, sum_half_width
from dpsql.mechanisms import Gaussian, sqrt_at_least
from dpsql.releases import Additive, NoisyTable, bar, heaviest
from dpsql.reuse import refined
from rewriter.front_door import Shape
from rewriter.plan import Linear, Plan

Measured = tuple[list[NoisyTable], list[Plan], dict[int, DerivedTable]]
"""Tables with their plans, by place; and what is known of those that were made of others."""

_SHOWN = (10, 100)
"""So many groups may be shown: the error to expect of what is left."""


def less_shown(
    tables: Sequence[NoisyTable], plans: Sequence[Plan], shapes: Sequence[Shape], derived: Mapping[int, DerivedTable]
) -> Measured:
    """The measurements, with the row of other groups in place of the total, wherever a shape has such a row."""
    found = list(tables), list(plans), dict(derived)
    for shape in shapes:
        if shape.others:
            groups, total = shape.measurements
            known = derived[total].shrunk if total in derived else None
            factor = Fraction(1) if known is None else Fraction(float(known[0]))
            found[0][total], found[1][total] = left(
                tables[groups], plans[groups], tables[total], plans[total], factor, together=shape.summed
            )
            found[2].pop(total, None)
    return found


def left(
    shown: NoisyTable,
    plan: Plan,
    total: NoisyTable,
    whole: Plan,
    factor: Fraction = Fraction(1),
    *,
    together: bool = False,
) -> tuple[NoisyTable, Plan]:
    """The total less the groups that are shown, and a plan that says how it is finished.

    Integers of both are counted in the coarsest steps that both have. ``factor`` is what the standard deviation of the
    total is multiplied by. ``together``: groups are rounded so that their sum is rounded once.
    """
    steps = {one.name: one.granularity for one in plan.statistics}
    refinement: dict[str, int] = {}
    statistics: dict[str, tuple[int, ...]] = {}
    noise: dict[str, Additive] = {}
    for statistic in whole.statistics:
        name = statistic.name
        step = _common(statistic.granularity, steps[name])
        ours, theirs = (int(one / step) for one in (statistic.granularity, steps[name]))
        refinement[name] = ours
        one, each = (_steps_shown(which, name) for which in (whole, plan))
        groups = [sum(shown.statistics[name])] if together else shown.statistics[name]
        rounded = sum(each * nearest(number, each) for number in groups)
        statistics[name] = (ours * one * nearest(total.statistics[name][0], one) - theirs * rounded,)
        terms = [(total.noise[name], ours * factor, 1), (shown.noise[name], Fraction(theirs), len(shown.keys))]
        noise[name] = summed(terms, _rounding(ours * one, ours) + len(groups) * _rounding(theirs * each, theirs))
    # It is no measurement of its own, and nothing that the same rows were measured for is to agree with it.
    finished = replace(
        refined(whole, refinement), sql=f"{whole.sql} -- less {plan.identity}", exhaustive=False, alone=True
    )
    return NoisyTable(((),), statistics, noise), finished


def _steps_shown(plan: Plan, name: str) -> int:
    """How many steps of a statistic make one unit of what is shown of it; 1 where it is not rounded for itself."""
    units = {
        part.unit / abs(part.estimator.terms[0][1])
        for part in plan.parts
        if len(part.estimator.terms) == 1 and part.estimator.terms[0][0] == name
    }
    unit = units.pop() if len(units) == 1 else Fraction(1)
    return int(unit) if unit.denominator == 1 else 1


def _rounding(unit: int, step: int) -> Fraction:
    """A bound for the variance of rounding a multiple of ``step`` to a multiple of ``unit``."""
    return Fraction(unit * unit + 2 * step * step, 12) if unit > step else Fraction(0)


def summed(terms: Iterable[tuple[Additive, Fraction, int]], more: Fraction = Fraction(0)) -> Additive:
    """A bound for the sum of so many noises of each kind, each times a factor: of its variance, or hardly more.

    Noises are said to be one of the law with the heaviest tails among them. ``more`` is added to the variance.

    >>> summed([(Gaussian(Fraction(3)), Fraction(1), 1), (Gaussian(Fraction(1)), Fraction(2), 4)])
    Gaussian(scale=Fraction(5, 1))
    """
    known = [(noise, factor, count) for noise, factor, count in terms if count]
    if len(known) == 1 and known[0][2] == 1 and not more:
        noise, factor, _ = known[0]
        return replace(noise, scale=noise.scale * factor)
    square = sum((noise.square * factor**2 * count for noise, factor, count in known), more)
    law = heaviest(noise for noise, _, _ in known) if known else Gaussian
    return law(Fraction(sqrt_at_least(law.square_of_scale(square))))


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The coarsest step that both are whole multiples of.

    >>> _common(Fraction(1, 64), Fraction(1)), _common(Fraction(2, 3), Fraction(1, 2))
    (Fraction(1, 64), Fraction(1, 6))
    """
    denominator = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * denominator), int(other * denominator)), denominator)


def others_notes(shapes: Sequence[Shape], calibrations: Sequence[Calibration]) -> Iterator[str]:
    """The error to expect of what is left, before anything is read: it grows with the groups that are shown."""
    for shape in shapes:
        if shape.others:
            groups, total = (calibrations[place] for place in shape.measurements)
            for output in total.plan.outputs:
                if (left := output.estimator.as_sum) is not None and left.terms:
                    errors = [f"± {bar(_error(left, groups, total, count))} where {count} groups" for count in _SHOWN]
                    yield f"the error of {output.text} in the row of the others is {' are shown, '.join(errors)} are"


def _error(left: Linear, groups: Calibration, total: Calibration, count: int) -> float:
    """The half-width of a sum of the total less that of so many groups."""
    sizes = [{one.name: one.granularity for one in each.plan.statistics} for each in (groups, total)]
    noise = {
        name: summed(
            [(total.noise[name], Fraction(1), 1), (groups.noise[name], sizes[0][name] / sizes[1][name], count)]
        )
        for name in total.noise
    }
    return sum_half_width(left, noise)
