"""The one function that maps what is secret to what may be released."""

from __future__ import annotations

from dpsql.calibrate import Calibration
from dpsql.errors import error
from dpsql.mechanisms.sampling import Sampler
from dpsql.releases import ExactTable, NoisyTable


def perturb(exact: ExactTable, calibration: Calibration, sampler: Sampler) -> NoisyTable:
    """Adds noise, drawn afresh, to every integer of every group that may be named, and drops the other groups.

    Noise is drawn before the integer that it hides is looked at, and how much is drawn follows from the number of
    groups: of the key set where that is public, of the named ones where it is selected. The order of the groups stays,
    the weights by which they were selected, and the order in which they were picked, do not; but a weight that is asked
    for is measured once, and its noise is the one that it was selected with.
    """
    _check(exact, calibration)
    places = list(range(len(exact.keys)))
    drawn: list[int] = []
    if calibration.selected:
        threshold = calibration.selected.threshold
        noise = threshold.mechanism.sample(sampler, len(places))
        places = threshold.named(exact.statistics[threshold.selection.name], noise)
        drawn = [noise[place] for place in places]
    if calibration.peeled:
        top = calibration.peeled.mechanism
        places = sorted(top.picked(exact.statistics[top.top.name], sampler))
    statistics: dict[str, tuple[int, ...]] = {}
    for one in calibration.measured:
        size = len(places)
        if (prefix := one.block.prefix) is not None:
            if calibration.selected:
                raise error("running sums of selected groups are measured group by group", sqlstate="XX000")
            size = prefix.size(exact.keys)
        if one.block == calibration.plan.selecting:
            noise = drawn
        else:
            noise = one.mechanism.sample(sampler, size * len(one.block.statistics))
        for number, statistic in enumerate(one.block.statistics):
            column = exact.statistics[statistic.name]
            measured = [column[place] for place in places] if prefix is None else prefix.measured(column, exact.keys)
            draws = noise[number * size : (number + 1) * size]
            statistics[statistic.name] = tuple(integer + n for integer, n in zip(measured, draws, strict=True))
    keys = tuple(exact.keys[place] for place in places)
    chosen = {one.choice.name: one.columns(exact.ranks[one.choice.name], keys, sampler) for one in calibration.picked}
    return NoisyTable(keys, statistics, calibration.noise, chosen, calibration.picking)


def _check(exact: ExactTable, calibration: Calibration) -> None:
    """The engine answered the plan that was calibrated. A message names columns, never values."""
    names = calibration.plan.columns
    choices = {choice.name for choice in calibration.plan.choices}
    if len(set(names)) != len(names) or set(names) != set(exact.statistics) or choices != set(exact.ranks):
        raise error("the engine's answer has other columns than the plan", sqlstate="XX000")
    for column in exact.statistics.values():
        if len(column) != len(exact.keys) or not all(type(integer) is int for integer in column):
            raise error("the engine's answer is not made of integers", sqlstate="XX000")
