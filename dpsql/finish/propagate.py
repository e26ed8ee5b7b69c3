"""How far noise moves numbers computed from released ones: sums and quotients, exactly.

Guarantee: a function of released numbers, their noise and the query. The interval holds, 95 times in 100, what the
same expression would be over the bounded data; what bounding took away is not in it.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import NamedTuple, overload

import numpy as np

from dpsql.inference.estimates import RunningEstimate
from dpsql.inference.intervals import ONE_SIDED, ONE_SIDED_Z, Z, count_ends, half_width, quotient_ends
from dpsql.inference.numeric import BoolArray, FloatArray, IntArray
from dpsql.memory import by_identity
from dpsql.releases import Additive, ColumnarRows, ReleasedColumn, ReleasedTable, ValueColumn
from rewriter.declared import DOUBLE
from rewriter.front_door import (
    AddedUp,
    Affine,
    Either,
    Form,
    Mean,
    Measured,
    Quotient,
    Rounding,
    Running,
    Term,
    slots_of,
)
from rewriter.plan import Linear, Output, Plan
from rewriter.release import Along, Frame

Ends = tuple[float, float]
"""The lower and the upper end of a 95 % interval; infinite where nothing is known."""

_ROW_BITS = 40
_FACTORS = 256
_MOST_DRAWS = 8
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True, slots=True)
class Piece:
    """The rows that one measurement gave to a released table, from row ``first`` on."""

    plan: Plan
    noises: Mapping[str, Additive]
    table: ReleasedTable
    first: int = 0
    running: Callable[[Along], Mapping[str, RunningEstimate]] = field(default=lambda _: {})
    """By output, what was measured of the sum over the window of each row of the measurement."""
    distances: Mapping[str, FloatArray] = field(default_factory=dict)
    """By output, how far below each row's number the lower end is at least, since its number of rows showed a group;
    below 0, how far above it the upper end is."""
    unsure: Callable[[], BoolArray] | None = None
    """Where all declared groups are shown: those of which no number tells that they have rows."""
    outputs: Mapping[str, Output] = field(init=False)
    columns: Mapping[str, ReleasedColumn] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", {output.name: output for output in self.plan.outputs})
        object.__setattr__(self, "columns", {column.name: column for column in self.table.columns})

    def never_negative(self, name: str) -> bool:
        """Whether an output is a sum that is not below 0."""
        output = self.outputs[name]
        if output.parts:
            return all(self.plan.parts[at].estimator.minimum == 0 for at in output.parts)
        return output.estimator.as_sum is not None and output.estimator.nonnegative

    def shrunk(self, row: int) -> int:
        """By how many 256ths a row's noise is multiplied: a few values, so that half-widths are remembered."""
        return _FACTORS if self.table.shrunk is None else math.ceil(self.table.shrunk[row] * _FACTORS)

    def unbiased(self, name: str) -> FloatArray:
        """The numbers of all rows as they were measured: shown ones were moved so that none is below 0, and a whole
        number where one is due. NaN of what is measured otherwise than group by group."""
        alone = Along(tuple(range(len(self.plan.keys))), descending=False, frame=Frame(0, 0))
        found = self.running(alone).get(name)
        return np.full(self.table.rows, math.nan) if found is None else found.values

    @property
    def factors(self) -> IntArray:
        """Those of all rows."""
        known = ValueColumn.of(DOUBLE, self.table.shrunk or [1.0] * self.table.rows)
        return np.ceil(known.floats * _FACTORS).astype(np.int64)


class TotalRows(NamedTuple):
    """The rows of a piece's table that are added up, of which ``number`` is one."""

    piece: Piece
    number: int
    members: IntArray
    mean: bool


Row = tuple[Piece, int] | TotalRows
"""A row of a piece's table, or several."""


class Intervals(Sequence[Ends | None]):
    """The ends of every cell of a column; NaN where nothing is known."""

    __slots__ = ("high", "low")

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        self.low = low
        self.high = high

    @classmethod
    def of(cls, ends: Sequence[Ends | None]) -> Intervals:
        """
        >>> list(Intervals.of([(1.0, 2.0), None]))
        [(1.0, 2.0), None]
        """
        low, high = (np.array([math.nan if pair is None else pair[side] for pair in ends]) for side in (0, 1))
        return cls(low, high)

    @classmethod
    def unknown(cls, count: int) -> Intervals:
        return cls(np.full(count, math.nan), np.full(count, math.nan))

    @classmethod
    def unlimited(cls, count: int) -> Intervals:
        return cls(np.full(count, -math.inf), np.full(count, math.inf))

    @property
    def known(self) -> BoolArray:
        return ~np.isnan(self.low)

    def within(self, limits: Intervals) -> Intervals:
        """The ends, moved into limits; what is not known stays so."""
        return Intervals(*(np.clip(ends, limits.low, limits.high) for ends in (self.low, self.high)))

    def reaching(self, values: FloatArray) -> Intervals:
        """The ends, as far as to the values that are shown; what is not known stays so."""
        return Intervals(np.minimum(self.low, values), np.maximum(self.high, values))

    def where(self, shown: BoolArray) -> Intervals:
        """Those of some cells alone."""
        if shown.all():
            return self
        return Intervals(np.where(shown, self.low, math.nan), np.where(shown, self.high, math.nan))

    def __len__(self) -> int:
        return len(self.low)

    @overload
    def __getitem__(self, place: int) -> Ends | None: ...

    @overload
    def __getitem__(self, place: slice) -> Intervals: ...

    def __getitem__(self, place: int | slice) -> Ends | Intervals | None:
        if isinstance(place, slice):
            return Intervals(self.low[place], self.high[place])
        low, high = float(self.low[place]), float(self.high[place])
        return None if math.isnan(low) else (low, high)

    def __iter__(self) -> Iterator[Ends | None]:
        pairs = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return iter([None if math.isnan(low) else (low, high) for low, high in pairs])


def row_number(piece: int, rows: IntArray) -> IntArray:
    """The numbers that released rows have in the outer SELECT."""
    return piece << _ROW_BITS | rows


@dataclass(frozen=True, slots=True)
class Sources:
    """The released rows that each row of an answer was made from: slot by slot, their numbers in the outer SELECT.

    -1 for NULL, which an outer join leaves. ``totals`` are the slots that stand for all rows of a table that agree with
    theirs.
    """

    pieces: Sequence[Piece]
    slots: tuple[IntArray, ...]
    size: int
    totals: Sequence[AddedUp | None] = ()
    _groups: dict[tuple[int, tuple[str, ...]], IntArray] = field(default_factory=dict)
    _by_piece: dict[int, Sequence[tuple[Piece, IntArray, IntArray]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, columns: Sequence[ValueColumn], pieces: Sequence[Piece], size: int, totals: Sequence[AddedUp | None] = ()
    ) -> Sources:
        slots = []
        for column in columns:
            numbers, known = column.units.array, column.known
            slots.append(numbers if known.all() else np.where(known, numbers, -1))
        return cls(pieces, tuple(slots), size, totals)

    def row(self, place: int) -> list[Row | None]:
        """Those of one row."""
        return [self._row(slot, int(numbers[place])) for slot, numbers in enumerate(self.slots)]

    def _row(self, slot: int, number: int) -> Row | None:
        if number < 0:
            return None
        owner, row = number >> _ROW_BITS, number & (1 << _ROW_BITS) - 1
        total = self.total(slot)
        if total is None:
            return self.pieces[owner], row
        groups = self.groups(owner, total)
        return TotalRows(self.pieces[owner], row, np.flatnonzero(groups == groups[row]), total.mean)

    def total(self, slot: int) -> AddedUp | None:
        return self.totals[slot] if self.totals else None

    def has_totals(self, form: Form) -> bool:
        """Whether a form is made of the sum of many rows."""
        return any(self.total(slot) is not None for slot in slots_of(form))

    def groups(self, owner: int, total: AddedUp) -> IntArray:
        """For each row of a piece's table, the number of the group that is added up with it."""
        known = self._groups.get((owner, total.keys))
        if known is None:
            columns = [self.pieces[owner].columns[key].column for key in total.keys]
            numbers: dict[tuple[object, ...], int] = {}
            rows = zip(*columns, strict=True) if columns else [()] * self.pieces[owner].table.rows
            known = np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.int64)
            self._groups[owner, total.keys] = known
        return known

    def taken(self, places: IntArray) -> Sources:
        slots = tuple(slot[places] for slot in self.slots)
        return Sources(self.pieces, slots, len(places), self.totals, self._groups)

    def known(self, slots: Sequence[int]) -> BoolArray:
        """Where each of the slots has a row."""
        found = np.ones(self.size, dtype=np.bool_)
        for slot in slots:
            found &= self.slots[slot] >= 0
        return found

    def by_piece(self, slot: int) -> Sequence[tuple[Piece, IntArray, IntArray]]:
        """For each piece, the places where the slot has one of its rows, and these. Found once for all columns."""
        known = self._by_piece.get(slot)
        if known is None:
            numbers = self.slots[slot]
            owners = numbers >> _ROW_BITS
            at = [(owner, np.flatnonzero(owners == owner)) for owner in _values_of(owners) if owner >= 0]
            known = [(self.pieces[owner], places, numbers[places] & (1 << _ROW_BITS) - 1) for owner, places in at]
            self._by_piece[slot] = known
        return known

    def behind(self) -> Iterator[tuple[Piece, IntArray]]:
        """The rows of each piece that the answer was made from, but for those that were added up; each once."""
        alone = [numbers[numbers >= 0] for slot, numbers in enumerate(self.slots) if self.total(slot) is None]
        every = np.unique(np.concatenate(alone)) if alone else np.zeros(0, dtype=np.int64)
        for owner in _values_of(every >> _ROW_BITS):
            piece = self.pieces[owner]
            yield piece, (every[every >> _ROW_BITS == owner] & (1 << _ROW_BITS) - 1) - piece.first

    def numbers(self, slot: int, name: str, *, unbiased: bool = False) -> FloatArray:
        """A released column of a slot as doubles, or what was measured of it; NaN where there is none."""
        if (total := self.total(slot)) is not None:
            return self._added_up(slot, name, total)
        if unbiased:
            found = np.full(self.size, math.nan)
            for piece, places, rows in self.by_piece(slot):
                found[places] = piece.unbiased(name)[rows - piece.first]
            return found
        if len(self.pieces) == 1 and self.known([slot]).all():
            only = self.pieces[0].columns[name].column
            return only.floats[self.slots[slot]] if only.type.numeric else np.full(self.size, math.nan)
        found = np.full(self.size, math.nan)
        for piece, places, rows in self.by_piece(slot):
            column = piece.columns[name].column
            if column.type.numeric:
                found[places] = column.floats[rows]
        return found

    def _added_up(self, slot: int, name: str, total: AddedUp) -> FloatArray:
        found = np.full(self.size, math.nan)
        for owner in _values_of(self.slots[slot] >> _ROW_BITS):
            if owner < 0:
                continue
            places = np.flatnonzero(self.slots[slot] >> _ROW_BITS == owner)
            groups = self.groups(owner, total)
            rows = np.bincount(groups) if total.mean else 1
            sums = np.bincount(groups, weights=self.pieces[owner].unbiased(name)) / rows
            found[places] = sums[groups[self.slots[slot][places] & (1 << _ROW_BITS) - 1]]
        return found

    def estimated(self, slot: int, name: str) -> FloatArray:
        """A released column of a slot as it was estimated, before its numbers were made possible and whole."""
        found = self.numbers(slot, name)
        for piece, places, rows in self.by_piece(slot):
            if (estimates := piece.columns[name].estimates) is not None:
                found = found.copy()
                found[places] = ValueColumn.of(DOUBLE, estimates).floats[rows]
        return found

    def agree(self, slot: int, name: str) -> bool:
        """Whether a released column of a slot was made to agree with others."""
        return any(piece.columns[name].estimates is not None for piece, _, _ in self.by_piece(slot))

    def alike(self, slots: Sequence[int], places: IntArray) -> list[IntArray]:
        """The places, by the pattern that the noise of a row depends on: its pieces, by how much each one's noise is
        multiplied, which slots are the same row, and which rows a total is of."""
        totals = [slot for slot in slots if self.total(slot) is not None]
        if len(self.pieces) == len(slots) == 1 and self.pieces[0].table.shrunk is None and len(places) and not totals:
            return [places]
        marks: list[IntArray] = []
        known: list[tuple[int, IntArray, IntArray]] = []
        for slot in totals:
            marks.extend(self._marks_of_total(slot, slots, places))
        for slot in slots:
            if slot in totals:
                continue
            numbers = self.slots[slot][places]
            owners = numbers >> _ROW_BITS
            marks.append(owners)
            factors, identity, rows = (np.zeros(len(places), dtype=np.int64) for _ in range(3))
            for owner in _values_of(owners):
                piece, own = self.pieces[owner], owners == owner
                row = numbers[own] & (1 << _ROW_BITS) - 1
                factors[own] = piece.factors[row] if piece.table.shrunk is not None else _FACTORS
                rows[own] = row - piece.first
                if len(slots) > 1:
                    names = [one.plan.identity for one in self.pieces]
                    identity[own] = names.index(piece.plan.identity)
            marks.append(factors)
            if len(slots) > 1:
                same = np.full(len(places), slot)
                for other, identities, others in reversed(known):
                    same = np.where((identities == identity) & (others == rows), other, same)
                marks.append(same)
                known.append((slot, identity, rows))
        several = [mark for mark in marks if len(mark) and (mark != mark[0]).any()]
        if not several:
            return [places] if len(places) else []
        codes = np.unique(np.stack(several), axis=1, return_inverse=True)[1].reshape(-1)
        order = np.argsort(codes, kind="stable")
        return np.split(places[order], np.flatnonzero(np.diff(codes[order])) + 1)

    def _marks_of_total(self, slot: int, slots: Sequence[int], places: IntArray) -> Iterator[IntArray]:
        """The group of a total, or its size where there is no other total, and which other slots are rows of it."""
        total = self.total(slot)
        if total is None:
            raise AssertionError("a slot of one row")

        def group(one: int) -> IntArray:
            numbers = self.slots[one][places]
            found = np.full(len(places), -1, dtype=np.int64)
            for owner in _values_of(numbers >> _ROW_BITS):
                own = numbers >> _ROW_BITS == owner
                if owner >= 0 and owner == self.slots[slot][places[0]] >> _ROW_BITS:
                    found[own] = self.groups(owner, total)[numbers[own] & (1 << _ROW_BITS) - 1]
            return found

        own = group(slot)
        alone = sum(self.total(other) is not None for other in slots) == 1
        yield self._sizes(slot, total, places) if alone else own
        for other in slots:
            if self.total(other) is None:
                yield np.asarray(group(other) == own, dtype=np.int64)

    def _sizes(self, slot: int, total: AddedUp, places: IntArray) -> IntArray:
        numbers = self.slots[slot][places]
        found = np.zeros(len(places), dtype=np.int64)
        for owner in _values_of(numbers >> _ROW_BITS):
            groups, own = self.groups(owner, total), numbers >> _ROW_BITS == owner
            found[own] = np.bincount(groups)[groups[numbers[own] & (1 << _ROW_BITS) - 1]]
        return found


def exact_ends(column: Measured, sources: Sources) -> Intervals | None:
    """The interval of a column in each row; None where the column is of no form that is exact."""
    found = _form_ends(column.form, sources)
    if found is None or column.rounding is None:
        return found
    return Intervals(_turned(found.low, column.rounding), _turned(found.high, column.rounding))


def unbiased(form: Affine, sources: Sources) -> FloatArray:
    """A sum in each row as it was measured, which may be below 0; NaN where nothing was."""
    return np.asarray(_value(_weighed(form), sources, unbiased=True) + float(form.constant))


def value_limits(column: Measured, sources: Sources) -> Intervals:
    """Where a column lies in each row, whatever the data, by text and policy; infinite where these say nothing."""
    found = Intervals.unlimited(sources.size)
    form = column.form
    if isinstance(form, Either):
        for branch in form.branches:
            slots = sorted(slots_of(branch.form))
            own = np.flatnonzero(sources.known(slots)) if slots else np.zeros(0, dtype=np.int64)
            limits = value_limits(branch, sources.taken(own))
            found.low[own], found.high[own] = limits.low, limits.high
        return found
    if isinstance(form, Mean):
        found = _mean_limits(form, sources)
    elif isinstance(form, Quotient):
        found = _quotient_limits(form, sources)
    if column.rounding is not None:
        found = Intervals(_turned(found.low, column.rounding), _turned(found.high, column.rounding))
    least = 0.0 if column.nonnegative else -math.inf
    most = math.inf if column.most is None else float(column.most)
    return Intervals(np.maximum(found.low, least), np.minimum(found.high, most))


def _form_ends(form: Form, sources: Sources) -> Intervals | None:
    if isinstance(form, Affine) and form.terms:
        return _affine_ends(form, sources)
    if isinstance(form, Quotient):
        return _quotient_ends(form, sources)
    if isinstance(form, Mean):
        return _mean_ends(form, sources)
    if isinstance(form, Running):
        return _running_ends(form, sources)
    return None


def _turned(ends: FloatArray, rounding: Rounding) -> FloatArray:
    """Rounding keeps order: what is inside stays inside."""
    if rounding.way != "nearest":
        return np.trunc(ends) + 0.0  # no zero below 0
    # Python rounds the number that a double is written as, numpy another one.
    return np.array(
        [end if math.isinf(end) or math.isnan(end) else round(end, rounding.digits) for end in ends.tolist()]
    )


# Sums


def _affine_ends(form: Affine, sources: Sources) -> Intervals:
    least = float(form.constant)
    downwards = any(weight < 0 for _, weight in form.terms)
    values = _value(_weighed(form), sources, unbiased=sources.has_totals(form))
    centres = _centre(form, sources, values)
    # What rounding moves is in the width.
    rounding = sum(abs(float(weight)) for _, weight in form.terms) / 2 + _NEGLIGIBLE
    centres = np.where(np.abs(centres - values) > rounding, centres, values)
    found = Intervals.unknown(sources.size)
    for places in sources.alike(_slots([form]), np.flatnonzero(~np.isnan(values))):
        width, one_sided = _widths(form, sources.row(places[0]))
        value, shown = centres[places], values[places]
        if one_sided is None:
            low, high = value - width, value + width
        elif downwards:
            low, high = count_ends(-value, width, one_sided)
            low, high = -high, -low
        else:
            low, high = count_ends(value, width, one_sided)
        found.low[places], found.high[places] = least + np.minimum(low, shown), least + np.maximum(high, shown)
    if len(form.terms) == 1 and not sources.has_totals(form):
        _lower(found, values + least, form, sources)
    return found


def _lower(found: Intervals, values: FloatArray, form: Affine, sources: Sources) -> None:
    """Moves the end of a number that decided which groups are shown, or has its noise in common, in place."""
    ((slot, name), weight), least = form.terms[0], float(form.constant)
    for piece, places, rows in sources.by_piece(slot):
        distances = piece.distances.get(name)
        if distances is None:
            continue
        end = least if piece.never_negative(name) else math.copysign(math.inf, -float(weight))
        moved = float(weight) * distances[rows]
        down, up = moved > 0, moved < 0
        low, high = (values[places[some]] - moved[some] for some in (down, up))
        found.low[places[down]] = np.minimum(found.low[places[down]], np.maximum(low, end) if weight > 0 else low)
        found.high[places[up]] = np.maximum(found.high[places[up]], np.minimum(high, end) if weight < 0 else high)


def _widths(form: Affine, row: Sequence[Row | None]) -> tuple[float, float | None]:
    """Half-width, and the one-sided one where the number cannot cross its constant."""
    (slot, *others) = _slots([form])
    place = row[slot]
    if others or place is None or isinstance(place, TotalRows):
        return _widths_of(form, row)
    piece, number = place
    return _widths_alone(form, slot, piece.plan, piece.noises, piece.shrunk(number))


@by_identity(1024)
def _widths_alone(
    form: Affine, slot: int, plan: Plan, noises: Mapping[str, Additive], factor: int
) -> tuple[float, float | None]:
    """The same of a number of one row, whichever row it is: by how many 256ths its noise is multiplied."""
    shrunk = ValueColumn.of_floats(np.array([factor / _FACTORS]))
    piece = Piece(plan, noises, ReleasedTable((), shrunk))
    return _widths_of(form, [None] * slot + [(piece, 0)])


def _widths_of(form: Affine, row: Sequence[Row | None]) -> tuple[float, float | None]:
    terms = tuple((noise, weight) for noise, weight, _ in _joint(form, Affine(), row))
    slack = float(form.slack + _roundings(form, row))
    signs = {weight > 0 for _, weight in form.terms}
    bounded = len(signs) == 1 and all(_never_negative(term, row) for term, _ in form.terms)
    rounded = math.sqrt(_variance_of_roundings(form, row))
    width = math.hypot(half_width(terms), Z * rounded) + slack
    if not bounded:
        return width, None
    return width, math.hypot(half_width(terms, ONE_SIDED), ONE_SIDED_Z * rounded) + slack


Weighed = Sequence[tuple[int, str, float]]
"""The terms of a sum: slot, output and weight."""


def _weighed(form: Affine) -> Weighed:
    return [(slot, name, float(weight)) for (slot, name), weight in form.terms]


def _value(weighed: Weighed, sources: Sources, *, unbiased: bool) -> FloatArray:
    """The sum without its constant, of the released numbers, or of unbiased ones; NaN where one of them is missing."""
    total = np.zeros(sources.size)
    for slot, name, weight in weighed:
        total += weight * sources.numbers(slot, name, unbiased=unbiased)
    return total


def _centre(form: Affine, sources: Sources, values: FloatArray) -> FloatArray:
    """What a sum was estimated as, without its constant, which its interval lies around: numbers that agree with others
    were moved from their unbiased estimates to where none is below 0. ``values`` are the shown ones."""
    if sources.has_totals(form):
        return values
    found = np.zeros(sources.size)
    for slot, name, weight in _weighed(form):
        found += weight * sources.estimated(slot, name)
    return np.where(np.isnan(found), values, found)


def _never_negative(term: Term, row: Sequence[Row | None]) -> bool:
    place = row[term[0]]
    return place is not None and place[0].never_negative(term[1])


def _roundings(form: Affine, row: Sequence[Row | None]) -> Fraction:
    """How far single released numbers were moved when they were made whole."""
    alone = [
        abs(weight) for term, weight in form.terms if not isinstance(row[term[0]], TotalRows) and _is_rounded(term, row)
    ]
    return sum(alone, Fraction(0)) / 2


def _variance_of_roundings(form: Affine, row: Sequence[Row | None]) -> float:
    """How far the sums of many were moved by that: each number by up to a half, anyhow."""
    total = 0.0
    for term, weight in form.terms:
        place = row[term[0]]
        if isinstance(place, TotalRows) and _is_rounded(term, row):
            rows = len(place.members)
            total += float(weight) ** 2 / 12 * (1 / rows if place.mean else rows)
    return total


def _is_rounded(term: Term, row: Sequence[Row | None]) -> bool:
    estimator = _estimator(term, row)
    return estimator.integer and any(part.denominator != 1 for _, part in estimator.terms)


def _estimator(term: Term, row: Sequence[Row | None]) -> Linear:
    place = row[term[0]]
    if place is None:
        raise AssertionError("a term without a row")
    total = place[0].outputs[term[1]].estimator.as_sum
    if total is None:
        raise AssertionError("a sum of what is no sum")
    return total


def _joint(above: Affine, below: Affine, row: Sequence[Row | None]) -> tuple[tuple[Additive, Fraction, Fraction], ...]:
    """The noises under two sums: one for each statistic of each measured row, however often it is used.

    They are independent as they were drawn. What least squares makes common to several rows is not in it; so of several
    rows of one measurement the noise is as it was drawn: no sum of theirs is farther off after least squares than
    before (Gauss, Markov). The noises of many rows that are only added up are a few of their variance together.
    """
    slots = _slots((above, below))
    places = [place for slot in slots if (place := row[slot]) is not None]
    several = Counter(identity for identity, _ in {(place[0].plan.identity, place[1]) for place in places})
    if any(isinstance(place, TotalRows) for place in places):  # Then numbers are as they were measured.
        several.update(place[0].plan.identity for place in places)
    behind = _behind_totals(slots, row)
    weights: dict[tuple[str, int, str], list[Fraction]] = {}
    noises: dict[tuple[str, int, str], Additive] = {}
    draws: dict[tuple[str, int, str], int] = {}
    for side, form in enumerate((above, below)):
        for term, weight in form.terms:
            place = row[term[0]]
            if place is None:
                raise AssertionError("a term without a row")
            piece, number = place[0], place[1]
            shrinks = piece.outputs[term[1]].parts and several[piece.plan.identity] == 1
            factor = Fraction(piece.shrunk(number), _FACTORS) if shrinks else Fraction(1)
            share = Fraction(1, len(place.members)) if isinstance(place, TotalRows) and place.mean else Fraction(1)
            own = behind.get(term[0]) or [(number - piece.first, 1)]
            for (name, part), (one, times) in product(_estimator(term, row).terms, own):
                key = (piece.plan.identity, one, name)
                noises[key], draws[key] = piece.noises[name], times
                weights.setdefault(key, [Fraction(0), Fraction(0)])[side] += weight * part * factor * share
    return tuple(
        drawn
        for key, pair in weights.items()
        if any(pair)
        for drawn in _added_draws(noises[key], pair[0], pair[1], draws[key])
    )


def _behind_totals(slots: Sequence[int], row: Sequence[Row | None]) -> dict[int, list[tuple[int, int]]]:
    """The rows that each total has: those of other slots one by one, and below 0, of all others how many are of the
    same totals."""
    totals = {slot: place for slot in slots if isinstance(place := row[slot], TotalRows)}
    found: dict[int, list[tuple[int, int]]] = {slot: [] for slot in totals}
    for identity in {place.piece.plan.identity for place in totals.values()}:
        same = [(slot, place) for slot, place in totals.items() if place.piece.plan.identity == identity]
        first = same[0][1].piece.first
        marks = np.zeros(same[0][1].piece.table.rows, dtype=np.int64)
        for bit, (_, place) in enumerate(same):
            marks[place.members] |= 1 << bit
        others = (row[slot] for slot in slots if slot not in totals)
        alone = {place[1] for place in others if place is not None and place[0].plan.identity == identity}
        apart = [(number - first, int(marks[number]), 1) for number in sorted(alone)]
        marks[sorted(alone)] = 0
        kinds, counts = np.unique(marks, return_counts=True)
        apart += [(-kind, kind, count) for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True)]
        for bit, (slot, _) in enumerate(same):
            found[slot] = [(number, times) for number, kind, times in apart if kind >> bit & 1]
    return found


def _added_draws(
    noise: Additive, above: Fraction, below: Fraction, times: int
) -> list[tuple[Additive, Fraction, Fraction]]:
    """Noise that is drawn so often; of many draws, fewer of the same variance, which are no likelier near 0."""
    if times <= _MOST_DRAWS:
        return [(noise, above, below)] * times
    factor = Fraction(math.sqrt(times / _MOST_DRAWS)).limit_denominator(1000)
    return [(noise, above * factor, below * factor)] * _MOST_DRAWS


def _slots(forms: Sequence[Affine]) -> list[int]:
    return sorted({slot for form in forms for (slot, _), _ in form.terms})


def _values_of(numbers: IntArray) -> list[int]:
    """The different ones among numbers, of which there are few."""
    if not len(numbers):
        return []
    return [int(numbers[0])] if (numbers == numbers[0]).all() else [int(one) for one in np.unique(numbers)]


# Quotients


def _quotient_ends(form: Quotient, sources: Sources) -> Intervals:
    unbiased = sources.has_totals(form)
    above, below = (
        _value(_weighed(side), sources, unbiased=unbiased) + float(side.constant) for side in (form.above, form.below)
    )
    tops, bottoms = above, below
    if not unbiased:
        tops, bottoms = (
            _centre(side, sources, value - float(side.constant)) + float(side.constant)
            for side, value in ((form.above, above), (form.below, below))
        )
    found = Intervals.unknown(sources.size)
    shown = np.flatnonzero(~np.isnan(above) & ~np.isnan(below) & (below != 0))
    slack = float(form.slack)
    for places in sources.alike(_slots([form.above, form.below]), shown):
        row = sources.row(places[0])
        low, high = quotient_ends(tops[places], bottoms[places], _joint(form.above, form.below, row))
        value = above[places] / below[places]
        low, high = np.minimum(low, value), np.maximum(high, value)
        least, most = _limits_of_quotient(form, row)
        found.low[places] = np.maximum(low - slack, least)
        found.high[places] = np.minimum(high + slack, most)
    return found


def _quotient_limits(form: Quotient, sources: Sources) -> Intervals:
    found = Intervals.unlimited(sources.size)
    slots = _slots([form.above, form.below])
    for places in sources.alike(slots, np.flatnonzero(sources.known(slots))):
        found.low[places], found.high[places] = _limits_of_quotient(form, sources.row(places[0]))
    return found


def _limits_of_quotient(form: Quotient, row: Sequence[Row | None]) -> Ends:
    """A quotient of sums that are not negative is not below 0."""
    least = 0.0 if all(_is_never_negative(side, row) for side in (form.above, form.below)) else -math.inf
    return least, most_of_share(form, row) + float(form.slack)


def most_of_share(form: Quotient, row: Sequence[Row | None]) -> float:
    """The largest value of a quotient, whatever the data, if its numerator is among the terms of its denominator; else
    inf.

    Examples: a count with a condition over the count without it, and a count over a sum of counts that includes it.
    """
    if any(isinstance(row[slot], TotalRows) for slot in _slots([form.above])):
        return math.inf
    above, below = (_weights_of_parts(side, row) for side in (form.above, form.below))
    if above is None or below is None or form.above.constant > 0 or form.below.constant < 0:
        return math.inf
    taken: set[tuple[str, int, int]] = set()
    most = Fraction(0)
    for part, weight in above.items():
        whole = next((one for one in (part, *_larger(part, row)) if one in below and one not in taken), None)
        if whole is None:
            return math.inf
        taken.add(whole)
        most = max(most, weight / below[whole])
    return float(most)


def _weights_of_parts(form: Affine, row: Sequence[Row | None]) -> dict[tuple[str, int, int], Fraction] | None:
    """A sum as one of parts that are not negative, by measurement, row and part; None where it is no such sum."""
    found: dict[tuple[str, int, int], Fraction] = {}
    for (slot, name), weight in form.terms:
        place = row[slot]
        if place is None or weight < 0 or not _never_negative((slot, name), row):
            return None
        piece, numbers = place[0], [place[1]]
        parts = piece.outputs[name].parts
        if isinstance(place, TotalRows):
            weight = weight / len(place.members) if place.mean else weight
            numbers = [one for one in _rows_alone(piece, row) if one in place.members]
        for part, number in product(parts, numbers):
            key = (piece.plan.identity, number - piece.first, part)
            found[key] = found.get(key, Fraction(0)) + weight
        if not parts:
            return None
    return found


def _rows_alone(piece: Piece, row: Sequence[Row | None]) -> set[int]:
    """The rows of a measurement that slots of one row stand for."""
    places = [place for place in row if place is not None and not isinstance(place, TotalRows)]
    return {number for one, number in places if one.plan.identity == piece.plan.identity}


def _larger(part: tuple[str, int, int], row: Sequence[Row | None]) -> list[tuple[str, int, int]]:
    """The parts of the same group that a part never exceeds."""
    identity, number, place = part
    plan = next(one[0].plan for one in row if one is not None and one[0].plan.identity == identity)
    return [(identity, number, high) for low, high in plan.orders if low == place]


def _is_never_negative(form: Affine, row: Sequence[Row | None]) -> bool:
    return form.constant >= 0 and all(weight > 0 and _never_negative(term, row) for term, weight in form.terms)


# Means


def _mean_ends(form: Mean, sources: Sources) -> Intervals:
    (slot, name), factor = form.term, float(form.factor)
    found = Intervals.unknown(sources.size)
    for piece, places, rows in sources.by_piece(slot):
        column = piece.columns[name]
        if column.reaches is None or name not in piece.outputs:  # of other groups, no mean is known
            continue
        numbers = as_numbers(column.column)[rows]
        down, up = (one.floats[rows] for one in ColumnarRows.of((DOUBLE, DOUBLE), column.reaches).columns)
        least, most = piece.plan.limits_of(piece.outputs[name])
        # The distance from a number to the end of its range, taken off again, is off by a digit that doubles lack.
        low = np.minimum(numbers, np.maximum(numbers - down, least))
        high = np.maximum(numbers, np.minimum(numbers + up, most))
        one, other = (factor * end + float(form.constant) for end in (low, high))
        found.low[places] = np.minimum(one, other) - float(form.slack)
        found.high[places] = np.maximum(one, other) + float(form.slack)
    return found


# Sums over neighbours


def _running_ends(form: Running, sources: Sources) -> Intervals:
    """The interval of the unbiased estimate, which is not always the number that is shown.

    Nothing is known of it where groups were selected: how many people are in the groups that are not shown is not
    measured, and those that are shown came out too high.
    """
    (slot, name), factor = form.term, float(form.factor)
    found = Intervals.unknown(sources.size)
    for piece, places, rows in sources.by_piece(slot):
        if piece.plan.selection is not None:
            continue
        estimate = piece.running(form.window)[name]
        own, width = estimate.values[rows - piece.first], estimate.widths[rows - piece.first]
        low, high = own - width, own + width
        if getattr(piece.outputs[name].estimator, "minimum", None) == 0:
            low, high = count_ends(own, width, width * (ONE_SIDED_Z / Z))
        one, other = (factor * end + float(form.constant) for end in (low, high))
        found.low[places] = np.minimum(one, other) - float(form.slack)
        found.high[places] = np.maximum(one, other) + float(form.slack)
    return found


def _mean_limits(form: Mean, sources: Sources) -> Intervals:
    (slot, name), factor = form.term, float(form.factor)
    found = Intervals.unlimited(sources.size)
    for piece, places, _ in sources.by_piece(slot):
        if name in piece.outputs and factor:
            limits = piece.plan.limits_of(piece.outputs[name])
            low, high = sorted(factor * end + float(form.constant) for end in limits)
            found.low[places], found.high[places] = low - float(form.slack), high + float(form.slack)
    return found


def as_numbers(column: ValueColumn) -> FloatArray:
    """A column as :func:`as_number` reads each value; NaN where it is none."""
    if column.type.numeric:
        return column.floats
    return np.array([math.nan if (one := as_number(value)) is None else one for value in column], dtype=np.float64)


def as_number(value: object) -> float | None:
    """A number as a float, and a time as the days since the first of January of the year 0; None for all else.

    >>> as_number(datetime.datetime(1, 1, 2, 12))
    2.5
    """
    if isinstance(value, datetime.datetime):
        midnight = datetime.datetime.combine(value.date(), datetime.time())
        return value.toordinal() + (value.replace(tzinfo=None) - midnight) / datetime.timedelta(days=1)
    if isinstance(value, datetime.date):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float | Decimal) else None
