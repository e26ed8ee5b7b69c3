"""Which groups of a release have somebody in them, as far as its released numbers tell. Post-processing of these.

A group is there where its released number of rows is above a threshold that empty groups exceed so rarely that in 99 of
100 answers none of them does, however many there are. The threshold follows from the noise and the number of groups;
without noise it is 0, and the groups are those that SQL has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import Calibration
from dpsql.inference.estimates import sum_half_width
from dpsql.inference.numeric import FloatArray
from dpsql.releases import (
    Additive,
    ColumnarRows,
    NoisyTable,
    ReleasedColumn,
    ReleasedTable,
    ValueColumn,
    columns_of,
)
from rewriter.declared import BOOLEAN, DOUBLE, Kind
from rewriter.front_door import Shape
from rewriter.plan import Linear, Plan
from rewriter.release import aggregate_name

ALPHA = 0.01
"""How often any empty group of an answer is taken for one that is there."""


def threshold(counted: Linear, noise: Mapping[str, Additive], cells: int) -> float:
    """The number of rows that none of so many empty groups is above, but once in 100 times.

    The noises of groups are independent, so each may be above it with probability 1 - 0.99^(1/cells).

    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Laplace
    >>> rows, noise = Linear((("s0", Fraction(1)),)), {"s0": Laplace(Fraction(10))}
    >>> threshold(rows, noise, 1), threshold(rows, noise, 100)
    (39.0, 85.0)
    """
    each = -math.expm1(math.log1p(-ALPHA) / max(cells, 1))
    return sum_half_width(counted, noise, 2 * each)


def present_columns(
    shape: Shape, tables: Sequence[NoisyTable], plans: Sequence[Plan], released: ReleasedTable, *, silent: bool = False
) -> list[ReleasedColumn]:
    """A column of booleans for each presence that the outer SELECT asks for: whether a row's group is present.

    ``tables`` and ``plans`` are those of the shape's measurements, whose rows are one below the other in ``released``.
    ``silent``: no noise was added, whatever the tables say of it.
    """
    if not shape.presences:
        return []
    keys = ColumnarRows([column.column for column in released.columns[: len(shape.keys)]], released.rows)
    there = _there(shape, tables, plans, released, silent=silent)
    found: list[ReleasedColumn] = []
    for presence in shape.presences:
        places, values = presence.places, there
        if len(places) != len(shape.keys):
            codes = keys.among(places).codes()
            values = np.isin(codes, codes[there])
        if presence.listed:
            shown = [_listed(at, shape, tables, plans) for at in places]
            values = values | np.all(shown, axis=0) if shown else np.ones_like(values)
        found.append(ReleasedColumn(presence.column, BOOLEAN, ValueColumn(BOOLEAN, arrow=pa.array(values))))
    return found


def _there(
    shape: Shape, tables: Sequence[NoisyTable], plans: Sequence[Plan], released: ReleasedTable, *, silent: bool
) -> NDArray[np.bool_]:
    """For each row, whether its number of rows shows somebody in it. A total over all rows and a selected group always
    do."""
    name = aggregate_name(shape.counted)
    counts = next(column.column for column in released.columns if column.name == name)
    declared = [plan.cells is not None for plan in plans]
    cells, row = sum(len(table.keys) for table, known in zip(tables, declared, strict=True) if known), 0
    found = np.ones(released.rows, dtype=np.bool_)
    shrunk = None if released.shrunk is None else ValueColumn.of(DOUBLE, released.shrunk).floats
    for table, plan, known in zip(tables, plans, declared, strict=True):
        rows = slice(row, row + len(table.keys))
        row = rows.stop
        if plan.keys and known:
            least = 0.0 if silent else threshold(_rows_of(plan, shape.counted), table.noise, cells)
            factors = np.ones(1) if shrunk is None else shrunk[rows]
            found[rows] = _exceeds(counts[rows], least, factors)
    return found


def _exceeds(counts: ValueColumn, least: float, factors: FloatArray) -> NDArray[np.bool_]:
    """``factors`` are what is left of the noise's standard deviation where other measurements joined in, whose groups
    are rounded together: each moves by less than 1."""
    if counts.type.kind is not Kind.INTEGER:
        raise AssertionError("a number of rows is whole")
    limits = least * factors + np.where(factors != 1, 1.0 if least else 0.0, 0.0)
    # What is whole is above a number where it is above its whole part.
    above = counts.units.array > np.floor(np.minimum(limits, 2.0**62)).astype(np.int64)
    return np.asarray(counts.known & above.astype(np.bool_) & np.isfinite(limits))


def _rows_of(plan: Plan, place: int) -> Linear:
    counted = next(one.estimator for one in plan.outputs if one.name == aggregate_name(place)).as_sum
    if counted is None:
        raise AssertionError("a number of rows is a sum of what was measured")
    return counted


def _listed(at: int, shape: Shape, tables: Sequence[NoisyTable], plans: Sequence[Plan]) -> NDArray[np.bool_]:
    """For each row, whether its key at a place has a value that the owner listed. A key that a total adds up over
    counts as listed."""
    found: list[NDArray[np.bool_]] = []
    for number, (table, plan) in enumerate(zip(tables, plans, strict=True)):
        places = shape.sets[number] if shape.sets else tuple(range(len(shape.keys)))
        listed = np.ones(len(table.keys), dtype=np.bool_)
        if at in places:
            own = places.index(at)
            column = plan.keys[own]
            listed &= column.listed
            if column.listed and not column.lists_null:
                listed &= ValueColumn.of(column.type, columns_of(table.keys, len(plan.keys))[own]).known
        found.append(listed)
    return np.concatenate(found)


def present_notes(shapes: Sequence[Shape], calibrations: Sequence[Calibration]) -> Iterator[str]:
    """How many rows speak for a group, and what their number costs where nobody asked for it. From text and price."""
    whole = sum((one.loss for one in calibrations), PrivacyLoss())
    for shape in shapes:
        every = [calibrations[place] for place in shape.measurements if calibrations[place].plan.keys]
        own = [one for one in every if one.plan.cells is not None]
        if not shape.presences or not own:
            continue
        cells = sum(one.plan.cells or 0 for one in own)
        least = max(threshold(_rows_of(one.plan, shape.counted), one.noise, cells) for one in own)
        keys = ", ".join(key.text for key in shape.keys)
        named = all(key.listed for one in own for key in one.plan.keys)
        listed = named and any(one.listed for one in shape.presences)
        yield (
            f"groups of {keys} are left out where the measured number of rows is at most {least:,.0f}, since they may"
            f" be empty{', unless the policy lists them one by one' if listed else ''};"
            " SET dpsql.empty_groups = show has all of them"
        )
        if shape.bought and (share := _share(every, shape.counted, whole)):
            yield f"the number of rows of each group is measured too, to know which groups there are: {share}"


def _share(calibrations: Sequence[Calibration], place: int, whole: PrivacyLoss) -> str:
    """The part of the whole price that pays for the number of rows; "" where the statement asks for this number
    anyway."""
    paid = 0.0
    for one in calibrations:
        asked = (output.estimator for output in one.plan.outputs if output.name != aggregate_name(place))
        told = {name for estimator in asked for name in estimator.statistics}
        names = {name for name, _ in _rows_of(one.plan, place).terms} - told
        for measured in one.measured:
            of_rows = {statistic.name for statistic in measured.block.statistics}
            if of_rows & names:
                if not of_rows <= names:
                    return "together with what was asked for, in one measurement"
                paid += float(measured.share.of_noise.part_of(whole))
    return f"{100 * paid:.0f} % of the price" if paid else ""
