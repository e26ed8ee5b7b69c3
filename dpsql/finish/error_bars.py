"""The error bars of an answer: which columns have them, and the two columns that ``dpsql.intervals`` puts beside each.

What columns there are follows from text and policy alone; what is in them, from released numbers.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from dpsql.accounting import Accounting
from dpsql.engines import Cancellation
from dpsql.finish.by_replicates import Tables, effort, tried_ends
from dpsql.finish.chosen_rows import NOTE, stretch, stretched
from dpsql.finish.empty_groups import shows_all, unsure_groups
from dpsql.finish.other_notes import less_shown
from dpsql.finish.present_groups import read_marginals, read_number, shown_groups
from dpsql.finish.propagate import Intervals, Piece, Sources, as_numbers, exact_ends, row_number, value_limits
from dpsql.finish.replicates import generator, replicated
from dpsql.inference.consistency import DerivedTable, infer_all, shown_tables
from dpsql.inference.estimates import added_columns, decoded, value_of, window_sums
from dpsql.inference.numeric import FloatArray, IntArray
from dpsql.prepare import Prepared
from dpsql.releases import ColumnarRows, IntegerColumn, NoisyTable, ReleasedColumn, ReleasedTable, ValueColumn
from dpsql.reply import AnswerColumn
from dpsql.sandbox import Sandbox
from rewriter.declared import BIGINT, DOUBLE, Kind, Scalar, Type, shown
from rewriter.front_door import Either, Listed, Mean, Measured, Running, row_column, slots_of
from rewriter.plan import Plan
from rewriter.release import OverGroups, end_name, margin_name

Bars = Intervals | Sequence[tuple[str, str] | None]
"""The ends of every cell; of an array, which is a text, two texts."""


def pieced(
    tables: Sequence[NoisyTable],
    plans: Sequence[Plan],
    prepared: Prepared,
    *,
    consistent: bool,
    derived: Mapping[int, DerivedTable] | None = None,
    rows: int,
    silent: bool = False,
) -> tuple[dict[str, ReleasedTable], tuple[Piece, ...], tuple[str, ...]]:
    """The tables that the outer SELECT reads, their rows numbered, the rows of each measurement in them, and what to
    say of the groups that are left out.

    Of more than ``rows`` groups without an order, not all are shown. ``silent``: no noise was added, as in tests.
    """
    program = prepared.program
    tables, plans, derived = less_shown(tables, plans, program.shapes, derived or {})
    asked = [family for family in program.families if family.beside is None]
    released = infer_all(tables, plans, asked, program.shapes, consistent=consistent, derived=derived)
    tables = shown_tables(tables, plans)
    pieces: list[Piece] = []
    notes: list[str] = []
    for shape in program.shapes:
        table = released[shape.name]
        own = [tables[place] for place in shape.measurements], [plans[place] for place in shape.measurements]
        marginals = read_marginals(shape, tables, plans)
        number = read_number(shape, tables, plans)
        groups = shown_groups(shape, own[0], own[1], table, marginals, number, rows=rows, silent=silent)
        notes += groups.notes
        numbers: list[IntArray] = []
        first = 0
        for place in shape.measurements:
            size = len(tables[place].keys)
            numbers.append(row_number(len(pieces), np.arange(first, first + size, dtype=np.int64)))
            piece = _piece(plans[place], tables[place], table, first, groups.distances)
            if shows_all(shape, plans[place]) and not silent:
                piece = replace(piece, unsure=partial(unsure_groups, plans[place], tables[place]))
            pieces.append(piece)
            first += size
        extra = [
            ReleasedColumn(margin_name(column.name), DOUBLE, column.margins)
            for column in table.columns
            if column.margins is not None
        ]
        extra += groups.columns
        extra += added_columns(shape.added, own[0][0], own[1][0], table)
        numbered = ReleasedColumn(row_column(0), BIGINT, ValueColumn(BIGINT, arrow=pa.array(np.concatenate(numbers))))
        released[shape.name] = replace(table, columns=(*table.columns, *extra, numbered))
    return released, tuple(pieces), tuple(notes)


def exact_bars(measured: Sequence[Measured], rows: ColumnarRows, sources: Sources) -> tuple[Bars | None, ...]:
    """The interval of every cell of every column; None for a column of which nothing exact is known.

    ``sources`` are the released rows that each row was made from. The bar of a sum of many rows is that of the unbiased
    sum, as far as to the number that is shown.
    """
    found: list[Bars | None] = []
    for column, values in zip(measured, rows.columns, strict=False):
        if isinstance(column.form, Listed):
            found.append(_listed_bars(column.form, sources))
            continue
        ends = _exact(column, values, sources) if column.noisy else None
        if ends is not None and (isinstance(column.form, Running) or sources.has_totals(column.form)):
            ends = ends.reaching(values.floats)
        found.append(None if ends is None else ends.where(values.known))
    return tuple(found)


def _exact(column: Measured, shown: ValueColumn, sources: Sources) -> Intervals | None:
    """The interval of a column in each row; of several branches, that of the branch whose rows are there. A public
    number, of a row that no release is behind, is its own interval."""
    if not isinstance(column.form, Either):
        return exact_ends(column, sources)
    found = Intervals.unknown(sources.size)
    public = np.full(sources.size, any(not branch.noisy for branch in column.form.branches))
    for branch in column.form.branches:
        slots = sorted(slots_of(branch.form))
        own = np.flatnonzero(sources.known(slots)) if slots else np.zeros(0, dtype=np.int64)
        for slot in slots:
            public &= ~sources.known([slot])
        if branch.noisy and (ends := exact_ends(branch, sources.taken(own))) is not None:
            found.low[own], found.high[own] = ends.low, ends.high
    found.low[public] = found.high[public] = shown.floats[public] if shown.type.numeric else math.nan
    return found


def tried_bars(
    prepared: Prepared,
    tables: Sequence[NoisyTable],
    plans: Sequence[Plan],
    rows: ColumnarRows,
    released: Tables,
    virtual: Tables,
    sandbox: Sandbox,
    cancellation: Cancellation,
    consistent: bool,
    shown: int,
) -> dict[int, Intervals]:
    """The intervals of columns without an exact rule, from replicates of the released tables."""

    def replicates(count: int) -> list[Tables]:
        drawn = replicated(tables, plans, count, generator(f"{prepared.sql} {consistent}", tables))
        return [pieced(one, plans, prepared, consistent=consistent, rows=shown)[0] | dict(virtual) for one in drawn]

    work = effort(tables, plans, [one for one in prepared.program.families if one.beside is None])
    every = {**released, **virtual}
    tried = tried_ends(prepared.outer.question, rows, every, work, replicates, sandbox, cancellation)
    return {at: Intervals.of(ends) for at, ends in tried.items()}


def _piece(
    plan: Plan, noisy: NoisyTable, table: ReleasedTable, first: int, distances: Mapping[str, FloatArray]
) -> Piece:
    running = lru_cache(maxsize=8)(lambda window: window_sums(noisy, plan, window))
    if all(block.prefix is None for block in plan.blocks):
        return Piece(plan, noisy.noise, table, first, running, distances)
    return Piece(plan, decoded(noisy, plan).table.noise, table, first, running, distances)


def _listed_bars(form: Listed, sources: Sources) -> tuple[tuple[str, str] | None, ...]:
    """Two arrays, of the lower and of the upper ends of all items."""
    items = [exact_ends(Measured(item), sources) or Intervals.unknown(sources.size) for item in form.items]
    found: list[tuple[str, str] | None] = []
    for number in range(sources.size):
        row = sources.row(number)
        sides: list[list[str]] = [[], []]
        for item, ends in zip(form.items, items, strict=True):
            place, pair = row[item.term[0]], ends[number]
            for side, texts in enumerate(sides):
                if place is None or pair is None:
                    texts.append("NULL")
                    continue
                end = _outwards(np.array([pair[side]]), place[0].outputs[item.term[1]].type, up=bool(side))[0]
                texts.append("NULL" if end is None else str(end))
        low, high = ("{" + ",".join(texts) + "}" for texts in sides)
        found.append((low, high))
    return tuple(found)


def over_groups_bars(columns: Sequence[OverGroups], released: Tables, rows: int) -> dict[int, Intervals]:
    """The intervals of numbers of groups and of means over groups, by their places. Rounding keeps order."""
    found: dict[int, Intervals] = {}
    for one in columns:
        every = {column.name: column.column for column in released[one.table].columns}
        ends = [every[end_name(one.column, up=up)].floats for up in (False, True)]
        low, high = (math.nan if not len(end) else _rounded(float(end[0]), one.digits) for end in ends)
        found[one.at] = Intervals(np.full(rows, low), np.full(rows, high))
    return found


def _rounded(end: float, digits: int | None) -> float:
    return end if digits is None or not math.isfinite(end) else round(end, digits)


def selected_bars(
    prepared: Prepared,
    rows: ColumnarRows,
    bars: Sequence[Bars | None],
    released: Tables,
    pieces: Sequence[Piece],
    accounting: Accounting,
) -> tuple[tuple[Bars | None, ...], tuple[str, ...]]:
    """The intervals, wider where the rows were chosen from more by their noisy numbers, but no wider than what is
    possible; and what to say then."""
    most = max((table.rows for table in released.values()), default=0)
    by = stretch(len(rows), most, accounting) if prepared.program.outer.chooses else 1.0
    if by == 1.0 or not any(bar is not None and len(bar) for bar in bars):
        return tuple(bars), ()
    measured = prepared.outer.measured
    sources = Sources.of(rows.columns[len(measured) :], pieces, len(rows), prepared.outer.totals)
    found = [
        stretched(as_numbers(rows.columns[at]), bar, by).within(value_limits(measured[at], sources))
        if isinstance(bar, Intervals)
        else bar
        for at, bar in enumerate(bars)
    ]
    return tuple(found), (NOTE,)


def in_zone(columns: Sequence[AnswerColumn], rows: ColumnarRows, zone: str) -> tuple[tuple[Scalar | None, ...], ...]:
    """Instants as a client gets them: with a zone, the session's."""
    places = [place for place, column in enumerate(columns) if column.type.kind is Kind.TIMESTAMPTZ]
    if not places:
        return tuple(rows)
    found = []
    for row in rows:
        cells = list(row)
        for place in places:
            value = cells[place]
            cells[place] = shown(value, zone) if isinstance(value, datetime.datetime) else value
        found.append(tuple(cells))
    return tuple(found)


def has_interval(column: Measured, kind: Type) -> bool:
    """Whether a column gets ends beside it: a number that was measured, or times or an array that were picked."""
    picked = isinstance(column.form, Listed) or (kind.temporal and isinstance(column.form, Mean))
    return column.noisy and (kind.numeric or picked)


def widened_columns(columns: Sequence[AnswerColumn], measured: Sequence[Measured]) -> tuple[AnswerColumn, ...]:
    """With ``<column>_low`` and ``<column>_high`` right after every measured number, in the column's own type."""
    found: list[AnswerColumn] = []
    for column, one in zip(columns, measured, strict=True):
        found.append(column)
        if has_interval(one, column.type):
            found += [AnswerColumn(f"{column.name}_{end}", column.type) for end in ("low", "high")]
    return tuple(found)


def widened_rows(
    columns: Sequence[AnswerColumn], measured: Sequence[Measured], rows: ColumnarRows, bars: Sequence[Bars | None]
) -> ColumnarRows:
    """The rows of those columns. An end that is not known is NULL."""
    parts: list[ValueColumn] = []
    for at, (column, one) in enumerate(zip(columns, measured, strict=True)):
        parts.append(rows.columns[at])
        if has_interval(one, column.type):
            parts += interval_ends(bars[at], rows.columns[at])
    return ColumnarRows(parts, len(rows))


def interval_ends(bars: Bars | None, shown: ValueColumn) -> list[ValueColumn]:
    """The lower and the upper end of each cell, in the column's type."""
    if not isinstance(bars, Intervals):
        pairs: Sequence[tuple[str, str] | None] = bars or (None,) * len(shown)
        return [ValueColumn(shown.type, [None if pair is None else pair[side] for pair in pairs]) for side in (0, 1)]
    found: list[ValueColumn] = []
    # A number of more digits than a float has is inside of its interval, too.
    for ends, up in ((bars.low, False), (bars.high, True)):
        typed = _outwards(ends, shown.type, up=up)
        if shown.type.kind is Kind.DOUBLE:
            found.append(ValueColumn.of_floats((np.maximum if up else np.minimum)(typed.floats, shown.floats)))
        elif shown.type.temporal:
            keep = max if up else min
            kept = [None if end is None else keep(end, value) for end, value in zip(typed, shown, strict=True)]
            found.append(ValueColumn(shown.type, kept))
        else:
            units = typed.units.at_least(shown.units) if up else typed.units.at_most(shown.units)
            found.append(ValueColumn.of_integers(units, shown.type))
        found[-1] = found[-1].where(typed.known)
    return found


def known_margins(rows: ColumnarRows, bars: Sequence[Bars | None], measured: Sequence[Measured]) -> ColumnarRows:
    """The distance of each cell to the farther end of its interval: infinite for a measured number without an end,
    NULL for all that is not a measured number."""
    columns = [
        _margins(column, ends if isinstance(ends, Intervals) else Intervals.unknown(len(rows)))
        if one.noisy and column.type.numeric
        else ValueColumn.nothing(DOUBLE, len(rows))
        for column, ends, one in zip(rows.columns, bars, measured, strict=False)
    ]
    return ColumnarRows(columns, len(rows))


def widened_margins(columns: Sequence[AnswerColumn], measured: Sequence[Measured], known: ColumnarRows) -> ColumnarRows:
    """The margins of widened rows: ends have none of their own."""
    nothing = ValueColumn.nothing(DOUBLE, len(known))
    more = [2 if has_interval(one, column.type) else 0 for column, one in zip(columns, measured, strict=True)]
    parts = [part for margin, count in zip(known.columns, more, strict=True) for part in (margin, *(nothing,) * count)]
    return ColumnarRows(parts, len(known))


def known_ends(
    rows: ColumnarRows, bars: Sequence[Bars | None], measured: Sequence[Measured]
) -> tuple[ColumnarRows, ColumnarRows]:
    """The lower and the upper end of each cell, NULL of all that is no measured number with an interval."""
    nothing = ValueColumn.nothing(DOUBLE, len(rows))
    sides: tuple[list[ValueColumn], list[ValueColumn]] = [], []
    for column, ends, one in zip(rows.columns, bars, measured, strict=False):
        drawn = isinstance(ends, Intervals) and one.noisy and column.type.numeric
        for side, up in zip(sides, (False, True), strict=True):
            if drawn and isinstance(ends, Intervals):
                values = (np.maximum if up else np.minimum)(ends.high if up else ends.low, column.floats)
                side.append(ValueColumn.of_floats(values, column.known & np.isfinite(values)))
            else:
                side.append(nothing)
    return ColumnarRows(sides[0], len(rows)), ColumnarRows(sides[1], len(rows))


def _margins(column: ValueColumn, ends: Intervals) -> ValueColumn:
    value = column.floats
    with np.errstate(invalid="ignore"):
        found = np.maximum(np.maximum(ends.high - value, value - ends.low), 0.0)
    return ValueColumn.of_floats(np.where(np.isnan(found), np.inf, found), column.known)


def _outwards(ends: FloatArray, kind: Type, *, up: bool) -> ValueColumn:
    """Ends in a column's type: never moved inwards, but for dust of floating point. NULL where nothing is known."""
    known = np.isfinite(ends)
    if kind.kind is Kind.DOUBLE:
        return ValueColumn.of_floats(ends).where(known)
    if kind.temporal:
        return ValueColumn(kind, [_time(end, kind, up=up) if math.isfinite(end) else None for end in ends.tolist()])
    dust = -1e-12 if up else 1e-12
    low, high = kind.limits if kind.kind is Kind.INTEGER else (1 - 10**kind.precision, 10**kind.precision - 1)
    steps = np.where(known, ends, 0.0) * 10.0**kind.scale
    units = (np.ceil if up else np.floor)(steps + dust * np.maximum(1.0, np.abs(steps)))
    return ValueColumn.of_integers(IntegerColumn.nearest_to(units).clipped(low, high), kind).where(known)


def _time(end: float, kind: Type, *, up: bool) -> Scalar | None:
    """A day, or a second, of the years 1 to 9999. Floats have times to ten microseconds or so."""
    seconds = 1 if kind.kind is Kind.DATE else 86_400
    dust = -1e-3 if up else 1e-3
    steps = (math.ceil if up else math.floor)(end * seconds + dust)
    steps = min(max(steps, seconds), datetime.date.max.toordinal() * seconds)
    return value_of(steps, Fraction(1, seconds), kind)
