"""The columns, rows and error bars of an answer as they are delivered, with the ends of intervals if asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dpsql.finish.error_bars import (
    Bars,
    has_interval,
    in_zone,
    interval_ends,
    known_ends,
    known_margins,
    widened_columns,
    widened_margins,
    widened_rows,
)
from dpsql.finish.propagate import Intervals
from dpsql.finish.remembered import Finished
from dpsql.prepare import Prepared
from dpsql.releases import ColumnarRows, ValueColumn, cell, items_of
from dpsql.reply import AnswerColumn
from rewriter.declared import DOUBLE, Kind, Scalar
from rewriter.front_door import Shown


@dataclass(frozen=True, slots=True)
class Delivered:
    """``margins`` has the half-width of each cell's interval, and ``lows`` and ``highs`` its ends, as doubles; ends and
    half-widths have none of their own. ``items``
    has those of measured columns of arrays, by their places: of each row, those of all items. ``notes`` tell the
    intervals of times, which have no half-width.
    """

    columns: tuple[AnswerColumn, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    margins: ColumnarRows
    lows: ColumnarRows
    highs: ColumnarRows
    items: Mapping[int, tuple[tuple[float, ...], ...]]
    notes: tuple[str, ...]


def delivered(prepared: Prepared, finished: Finished, *, intervals: bool) -> Delivered:
    """The numbers of rows cut off, ``dpsql.low(x)`` and its like in place, and with ``intervals`` the ends beside each
    measured column."""
    width = len(prepared.columns)
    columns = tuple(AnswerColumn(name, kind) for name, kind in finished.columns[:width])
    rows = finished.rows.among(range(width))
    known = known_margins(rows, finished.bars, prepared.outer.measured)
    lows, highs = known_ends(rows, finished.bars, prepared.outer.measured)
    if prepared.program.shown:
        columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
        rows, known = _ends_in_place(prepared, rows, known, finished.bars)
    items = {
        at: _of_items(rows.columns[at], finished.bars[at])
        for at, one in enumerate(prepared.outer.measured[:width])
        if one.noisy and rows.columns[at].type.kind in (Kind.DOUBLES, Kind.INTEGERS)
    }
    if prepared.program.shown:
        items = {at: found for at, found in items.items() if prepared.program.shown[at] is Shown.VALUE}
    notes = () if intervals else tuple(_intervals_of_times(prepared, columns, rows, finished.bars))
    if intervals:
        ends = [has_interval(one, column.type) for one, column in zip(prepared.measured, columns, strict=True)]
        items = {at + 2 * sum(ends[:at]): found for at, found in items.items()}
        rows = widened_rows(columns, prepared.measured, rows, finished.bars)
        known, lows, highs = (widened_margins(columns, prepared.measured, one) for one in (known, lows, highs))
        columns = widened_columns(columns, prepared.measured)
    return Delivered(columns, in_zone(columns, rows, prepared.zone), known, lows, highs, items, notes)


def _intervals_of_times(
    prepared: Prepared, columns: Sequence[AnswerColumn], rows: ColumnarRows, bars: Sequence[Bars | None]
) -> Iterator[str]:
    """The interval of each measured time, or of several rows the setting that shows them."""
    for at, (column, one) in enumerate(zip(columns, prepared.outer.measured, strict=False)):
        shown = prepared.program.shown[at] if prepared.program.shown else Shown.VALUE
        if not (column.type.temporal and has_interval(one, column.type) and shown is Shown.VALUE):
            continue
        if len(rows) != 1:
            yield f"SET dpsql.intervals = on shows the 95 % intervals of {column.name}"
            continue
        if next(iter(rows.columns[at])) is None:
            continue
        ends = [AnswerColumn(end, column.type) for end in ("low", "high")]
        typed = ColumnarRows(interval_ends(bars[at], rows.columns[at]), 1)
        ((low, high),) = in_zone(ends, typed, prepared.zone)
        least, most = ("?" if end is None else cell(end) for end in (low, high))
        yield f"{column.name} is between {least} and {most} (95 %)"


def _of_items(column: ValueColumn, bars: Bars | None) -> tuple[tuple[float, ...], ...]:
    """The half-width of each item of a column of arrays: infinite where none is known, NaN of NULL; () of no array."""
    known = [None] * len(column) if bars is None or isinstance(bars, Intervals) else bars
    found: list[tuple[float, ...]] = []
    for value, ends in zip(column, known, strict=True):
        middle = items_of(value) if isinstance(value, str) else []
        low, high = [items_of(text) for text in ends] if ends is not None else ([None] * len(middle),) * 2
        found.append(tuple(map(_of_item, low, middle, high)))
    return tuple(found)


def _of_item(low: float | None, item: float | None, high: float | None) -> float:
    if item is None:
        return math.nan
    return math.inf if low is None or high is None else max(high - item, item - low)


def _ends_in_place(
    prepared: Prepared, rows: ColumnarRows, known: ColumnarRows, bars: Sequence[Bars | None]
) -> tuple[ColumnarRows, ColumnarRows]:
    """Each column as it is shown. A number whose error is not known has the end NULL; a public one is its own ends."""
    values, margins = list(rows.columns), list(known.columns)
    for at, shown in enumerate(prepared.program.shown):
        if shown is Shown.VALUE:
            continue
        values[at] = _end(shown, rows.columns[at], known.columns[at], bars[at], noisy=prepared.outer.measured[at].noisy)
        margins[at] = ValueColumn.nothing(DOUBLE, len(rows))
    return ColumnarRows(values, len(rows)), ColumnarRows(margins, len(rows))


def _end(shown: Shown, value: ValueColumn, margin: ValueColumn, bars: Bars | None, *, noisy: bool) -> ValueColumn:
    if not noisy:
        zeros = ValueColumn(DOUBLE, [None if one is None else 0.0 for one in value])
        return zeros if shown is Shown.MARGIN else value
    if shown is Shown.MARGIN:
        return margin
    return interval_ends(bars, value)[0 if shown is Shown.LOW else 1]
