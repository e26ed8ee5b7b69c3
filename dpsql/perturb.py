"""The one function that turns a secret table into one that may be released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsql.calibrate import Calibration
from dpsql.errors import error
from dpsql.mechanisms.sampling import Sampler
from dpsql.releases import ColumnarRows, ExactTable, IntegerColumn, Key, NoisyTable


def perturb(exact: ExactTable, calibration: Calibration, sampler: Sampler) -> NoisyTable:
    """Adds noise, drawn afresh, to every integer of every group that may be named, and drops the other groups.

    Noise is drawn before the integer that it hides is looked at, and how much is drawn follows from the number of
    groups: of the key set where that is public, of the named ones where it is selected. The order of the groups stays.
    The weights by which they were selected are dropped, and so is the order in which they were picked. A weight that is
    also asked for is measured once: it keeps the noise that it was selected with.
    """
    columns = _checked(exact, calibration)
    groups, places = exact.keys, None
    drawn = IntegerColumn.of([])
    if calibration.selected:
        threshold = calibration.selected.threshold
        tried = threshold.mechanism.sample(sampler, len(groups))
        places = threshold.named(columns[threshold.selection.name], tried)
        drawn = tried.taken(places)
    if calibration.peeled:
        top = calibration.peeled.mechanism
        places = np.array(sorted(top.picked(columns[top.top.name], sampler)), dtype=np.int64)
    keys = groups if places is None else _taken(groups, places)
    statistics: dict[str, IntegerColumn] = {}
    for one in calibration.measured:
        size = len(keys)
        if (strategy := one.block.strategy) is not None:
            if calibration.selected:
                raise error("of selected groups nothing but themselves is measured", sqlstate="XX000")
            size = strategy.size(groups)
        if one.block == calibration.plan.selecting:
            noise = drawn
        else:
            noise = one.mechanism.sample(sampler, size * len(one.block.statistics))
        for number, statistic in enumerate(one.block.statistics):
            column = columns[statistic.name]
            if strategy is not None:
                column = IntegerColumn.wide(strategy.measured(column, groups))
            elif places is not None:
                column = column.taken(places)
            statistics[statistic.name] = column.plus(noise[number * size : (number + 1) * size]).narrowed()
    chosen = {one.choice.name: one.columns(exact.ranks[one.choice.name], keys, sampler) for one in calibration.picked}
    return NoisyTable(keys, statistics, calibration.noise, chosen, calibration.picking)


def _checked(exact: ExactTable, calibration: Calibration) -> Mapping[str, IntegerColumn]:
    """The engine answered the plan that was calibrated. A message names columns, never values."""
    names = calibration.plan.columns
    choices = {choice.name for choice in calibration.plan.choices}
    planned = None if calibration.selected else calibration.plan.cells
    if planned is not None and len(exact.keys) > planned:
        # Sensitivity, and how long a series is, follow from how many groups there are.
        raise error("the engine's answer has more groups than were planned for", sqlstate="XX000")
    if len(set(names)) != len(names) or set(names) != set(exact.statistics) or choices != set(exact.ranks):
        raise error("the engine's answer has other columns than the plan", sqlstate="XX000")
    found: dict[str, IntegerColumn] = {}
    for name, column in exact.statistics.items():
        whole = isinstance(column, IntegerColumn) or all(type(integer) is int for integer in column)
        if len(column) != len(exact.keys) or not whole:
            raise error("the engine's answer is not made of integers", sqlstate="XX000")
        found[name] = column if isinstance(column, IntegerColumn) else IntegerColumn.wide(column)
    return found


def _taken(keys: Sequence[Key], places: NDArray[np.int64]) -> Sequence[Key]:
    return keys.taken(places) if isinstance(keys, ColumnarRows) else tuple(keys[place] for place in places.tolist())
