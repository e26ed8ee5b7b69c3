"""Which groups of a release are shown, and which act as rows, by its released numbers. Post-processing of these.

Guarantee: no group is shown, or left out, because of its own noise, unless the session asks for that or the list is
longer than an answer may be. All declared groups are shown, but for the ends of ordered keys that neighbouring groups
show to be empty (:mod:`dpsql.inference.shown_groups`), and for a group of NULL that no owner listed and that is as
empty as they are. How many rows a value of one key has is measured apart from the groups where the other keys have many
values; otherwise it is the sum over these. Of a longer list without an order those are shown that surely have people,
two in a hundred wrongly.

A SELECT above the groups counts, joins or averages rows, and SQL has no row for an empty group. It reads the groups
whose number of rows is above what any empty group reaches in one of 100 answers, if all other groups together surely
have few rows; then no group of people is missing because of its noise. Otherwise it reads all groups that are shown.
The number of all groups, and means over them, come from an estimate of how many have rows: which ones is less known.
Without noise these are the groups that SQL has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import Calibration
from dpsql.inference.estimates import RunningNoise, decoded, group_noise, measured, sum_half_width, terms_of
from dpsql.inference.intervals import Terms, Z, distances_above, half_width, spread, variance
from dpsql.inference.numeric import BoolArray, FloatArray
from dpsql.inference.shown_groups import (
    ONE_SIDED,
    BlockNoise,
    EstimatedGroups,
    Independent,
    MeasuredNumber,
    TrimmedEnds,
    chance_of_each,
    counted_groups,
    discovered,
    distances_below,
    ends_of_mean,
    kept_by,
    trimmed_ends,
)
from dpsql.memory import by_identity
from dpsql.releases import (
    Additive,
    ColumnarRows,
    NoisyTable,
    ReleasedColumn,
    ReleasedTable,
    ValueColumn,
    bar,
    columns_of,
)
from rewriter.declared import BIGINT, BOOLEAN, DOUBLE, Kind, Scalar, Type
from rewriter.front_door import Prefix, Shape
from rewriter.plan import Linear, Plan
from rewriter.release import COUNTED_GROUPS, KeptGroups, aggregate_name, end_name, group_mean_name


def threshold(counted: Linear, noise: Mapping[str, Additive], cells: int) -> float:
    """The number of rows that none of so many empty groups is above, but once in 100 times.

    The noises of groups are independent, so each may be above it with probability 1 - 0.99^(1/cells).

    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Laplace
    >>> rows, noise = Linear((("s0", Fraction(1)),)), {"s0": Laplace(Fraction(10))}
    >>> threshold(rows, noise, 1), threshold(rows, noise, 100)
    (39.0, 85.0)
    """
    return sum_half_width(counted, noise, 2 * chance_of_each(cells))


@dataclass(frozen=True, slots=True)
class ShownGroups:
    """A column of booleans for each presence that the outer SELECT asks for: whether a row's group is kept.

    ``distances`` say, by output, how far below its number the lower end of each row is at least, since the row decided
    which groups are shown, or below 0 how far above it the upper end is; 0 of all others. ``notes`` tell what is left
    out.
    """

    columns: tuple[ReleasedColumn, ...] = ()
    distances: Mapping[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_marginals(
    shape: Shape, tables: Sequence[NoisyTable], plans: Sequence[Plan]
) -> Sequence[Mapping[int, _Groups]]:
    """For each measurement of a shape, the numbers of rows by its keys alone that were measured apart, by the places of
    these keys. ``tables`` and ``plans`` are those of the statement; marginals that were not bought are not among
    them."""
    return [
        {
            one.key: _Groups(tables[one.place], plans[one.place], one.counted)
            for one in own
            if one.place < len(tables) and tables[one.place].periods is None
        }
        for own in shape.marginals or ((),) * len(shape.measurements)
    ]


def read_number(shape: Shape, tables: Sequence[NoisyTable], plans: Sequence[Plan]) -> MeasuredNumber | None:
    """The number of groups of a shape as it was measured apart; None where it was not, or not bought."""
    if shape.number is None or shape.number >= len(tables):
        return None
    estimator, table = _rows_of(plans[shape.number], 0), tables[shape.number]
    numerators, denominator = measured(table, estimator)
    return MeasuredNumber(float(numerators.floats[0]) / denominator, terms_of(estimator, table.noise))


def shown_groups(
    shape: Shape,
    tables: Sequence[NoisyTable],
    plans: Sequence[Plan],
    released: ReleasedTable,
    marginals: Sequence[Mapping[int, _Groups]],
    number: MeasuredNumber | None = None,
    *,
    rows: int,
    silent: bool = False,
) -> ShownGroups:
    """Of the groups of a shape's measurements, which are one below the other in ``released``: those that are kept.

    ``tables``, ``plans`` and ``marginals`` are those of the measurements; the ``number`` of groups was measured apart.
    Of more than ``rows`` groups without an
    order, not all are shown. ``silent``: no noise was added, whatever the tables say of it.
    """
    if not shape.presences:
        return ShownGroups()
    every = [
        _Groups(table, plan, shape.counted, alone) for table, plan, alone in zip(tables, plans, marginals, strict=True)
    ]
    certain = _there(shape, tables, plans, released, silent=silent)
    shown = _shown(every, certain, rows, silent=silent)
    keys = ColumnarRows([column.column for column in released.columns[: len(shape.keys)]], released.rows)
    columns: list[ReleasedColumn] = []
    notes: dict[str, str] = {}
    distances = np.zeros(released.rows)
    for presence in shape.presences:
        values, listed = certain, np.zeros(released.rows, dtype=np.bool_)
        if presence.kept is not KeptGroups.CERTAIN:
            use = [presence.kept is not KeptGroups.PRESENT or not one.clear for one in shown]
            values = _laid([one.kept if used else one.certain for one, used in zip(shown, use, strict=True)])
            used = [one for one, used in zip(shown, use, strict=True) if used]
            # Of one thing, what the coarsest grouping tells, which comes last: it adds up the fewest noisy numbers.
            notes |= {note.partition(" left out")[0]: note for one in used for note in one.notes}
            if presence.kept is KeptGroups.PRESENT:
                notes |= {note: note for one in used for note in one.unclear}
            if presence.kept is KeptGroups.SHOWN:
                listed = _listed(shape, every, shown, presence.places)
            spots = [one.distances if at else np.zeros(len(one.kept)) for one, at in zip(shown, use, strict=True)]
            distances = np.maximum(distances, np.concatenate(spots))
        if len(presence.places) != len(shape.keys):
            codes = keys.among(presence.places).codes()
            values = np.isin(codes, codes[values])
        flags = ValueColumn(BOOLEAN, arrow=pa.array(values | listed))
        columns.append(ReleasedColumn(presence.column, BOOLEAN, flags))
        if presence.kept is KeptGroups.COUNTED:
            # Groups that are counted are those of one measurement.
            exact = shown[0].exact or not every[0].declared
            over = _over_groups(every[0], tables[0], values, number, exact=exact)
            columns += over.columns
            notes |= {note: note for note in over.notes}
    return ShownGroups(tuple(columns), _carried(every, distances), tuple(notes.values()))


def _carried(every: Sequence[_Groups], distances: FloatArray) -> Mapping[str, FloatArray]:
    """The distances of numbers of rows, as those of every output that is a sum of the same noises: its noise is so many
    times that of the number of rows, which is as far off as the threshold lets it be, and an independent rest."""
    parts = np.split(distances, np.cumsum([groups.size for groups in every])[:-1])
    found: dict[str, list[FloatArray]] = {}
    for groups, own in zip(every, parts, strict=True):
        for output in groups.plan.outputs:
            times, rest = groups.share_of(output.estimator.as_sum) if own.any() else (0.0, 0.0)
            far = np.zeros(len(own))
            if times:
                far[own > 0] = math.copysign(1.0, times) * (abs(times) * own[own > 0] + rest)
            found.setdefault(output.name, []).append(far)
    return {name: np.concatenate(some) for name, some in found.items()}


def _over_groups(
    groups: _Groups, table: NoisyTable, kept: BoolArray, number_alone: MeasuredNumber | None, *, exact: bool
) -> ShownGroups:
    """The number of groups with rows, and the mean of each output over them, in every row; with their ends."""
    size, number = groups.size, int(kept.sum())
    found = EstimatedGroups(number, number, number, number)
    if not exact:
        found = counted_groups(groups.counts, kept, groups.terms, number_alone, independent=groups.prefix is None)
    columns = _in_every_row(COUNTED_GROUPS, BIGINT, (found.number, found.least, found.most), size)
    for output in groups.plan.outputs:
        estimator = output.estimator.as_sum
        mean: _WithEnds = (None, None, None)
        if estimator is not None and found.number:
            numerators, denominator = measured(table, estimator)
            total = float((numerators.floats / denominator)[kept].sum())
            width = half_width(terms_of(estimator, table.noise), times=max(number, 1))
            mean = (total / found.number, *ends_of_mean(total, width, found))
        columns += _in_every_row(group_mean_name(output.name), DOUBLE, mean, size)
    if found.least == found.most:
        return ShownGroups(tuple(columns))
    keys = ", ".join(key.text for key in groups.plan.keys)
    note = (
        f"how many groups of {keys} have rows is estimated: {found.number:,}, from {found.least:,} to {found.most:,};"
        " averages over them are sums over that number"
    )
    return ShownGroups(tuple(columns), notes=(note,))


_WithEnds = tuple[Scalar | None, Scalar | None, Scalar | None]


def _in_every_row(name: str, kind: Type, numbers: _WithEnds, size: int) -> list[ReleasedColumn]:
    """A number and its two ends, as columns of so many rows."""
    names = (name, end_name(name, up=False), end_name(name, up=True))
    return [ReleasedColumn(one, kind, (number,) * size) for one, number in zip(names, numbers, strict=True)]


def _laid(parts: Sequence[BoolArray]) -> BoolArray:
    return np.concatenate(parts) if parts else np.ones(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class _Shown:
    """Of one measurement: the groups ``kept`` for a reader, and those that are ``certain``. ``clear``: what is not
    certain surely has few rows. ``exact``: no noise moves a number of rows, and what is listed is expected too.
    ``unclear`` is told where a SELECT above reads the groups and they are not clear."""

    kept: BoolArray
    certain: BoolArray
    clear: bool
    distances: FloatArray
    exact: bool = False
    notes: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


class _Groups:
    """The groups of one measurement, with their noisy numbers of rows: not moved to 0, and each off by a draw of the
    noises in ``terms``. Where running sums were measured and groups are their differences (``prefix``), the draws hang
    together, and ``terms`` are those of a group on average. ``marginals`` are the numbers of rows by one key each that
    were measured apart, by the places of these keys."""

    def __init__(
        self, table: NoisyTable, plan: Plan, counted: int, marginals: Mapping[int, _Groups] | None = None
    ) -> None:
        self.plan = plan
        self.size = len(table.keys)
        self.declared = bool(plan.keys) and plan.cells is not None
        self.counts: FloatArray = np.zeros(0)
        self.terms: Terms = ()
        self.prefix: Prefix | None = None
        if self.declared:
            estimator = _rows_of(plan, counted)
            self._measured, self._weights, self._counted = table.noise, dict(estimator.terms), estimator
            own = [block.prefix for block in plan.blocks if {one.name for one in block.statistics} & set(self._weights)]
            self.prefix = next((prefix for prefix in own if prefix is not None), None)
            alone = table if self.prefix is None else decoded(table, plan, consistent=False).table
            numerators, denominator = measured(alone, estimator)
            self.counts = np.asarray(numerators.floats / denominator)
            self.terms = terms_of(estimator, alone.noise)
        columns = columns_of(table.keys, len(plan.keys))
        self.keys = [ValueColumn.of(key.type, column) for key, column in zip(plan.keys, columns, strict=True)]
        self._marginals = marginals or {}

    def by_key_alone(self, at: int) -> tuple[_Groups, NDArray[np.int64]] | None:
        """The numbers of rows by one key alone that were measured apart, and for each group its place among them; None
        where there are none, or sums of groups have less noise. A choice by public laws of noise."""
        alone, column = self._marginals.get(at), self.keys[at]
        if alone is None:
            return None
        codes = column.codes
        values, first, each = np.unique(codes, return_index=True, return_counts=True)
        own = alone.noise_along(0, len(alone.counts), 1)
        sums = self.noise_along(at, len(values), int(each.max(initial=1)))
        if own is None or (sums is not None and sums.spread(0, 1) <= own.spread(0, 1)):
            return None
        places = {value: place for place, value in enumerate(alone.keys[0])}
        found = [places.get(value, -1) for value in column.taken(first.astype(np.int64))]
        return None if -1 in found else (alone, np.array(found, dtype=np.int64)[np.searchsorted(values, codes)])

    def share_of(self, output: Linear | None) -> tuple[float, float]:
        """How many times the noise of the number of rows is in that of an output, and the 95 % half-width of the rest,
        which is independent of it; nothing where it is not known."""
        if output is None or not self.declared:
            return 0.0, 0.0
        return _share_of(self._counted, output, self._measured, apart=self.prefix is None)

    def noise_along(self, at: int, steps: int, each: int) -> BlockNoise | None:
        """The noise of sums of neighbours along a key of so many values, over ``each`` values of the other keys
        together; None where it is not known."""
        if self.prefix is None:
            return Independent(self.terms, each)
        if self.prefix.order != (at,) or len(self._weights) > 1:
            return None
        ((name, weight),) = self._weights.items()
        # A block is the difference of two running sums, each rounded to a whole number.
        return RunningNoise(self.prefix, self._measured[name], steps, weight, 2 / 12, each)

    def errors_of_null(self, at: int, lacking: int) -> tuple[float, float] | None:
        """Where running sums were measured: the standard deviations of the sum of the groups in which a key is NULL, of
        which there are so many, and of the sum of all others; None where they are not known."""
        if self.prefix is None or len(self.prefix.order) != 1:
            return None
        (along,) = self.prefix.order
        steps = len(set(self.keys[along].codes.tolist()))
        series = self.size // steps
        if along == at:
            # NULL comes after all others in the order of the keys.
            noise = self.noise_along(along, steps, series)
            return None if noise is None else (noise.spread(steps - 1, 1), noise.spread(0, steps - 1))
        own, rest = (self.noise_along(along, steps, each) for each in (lacking // steps, series - lacking // steps))
        return None if own is None or rest is None else (own.spread(0, steps), rest.spread(0, steps))


_FEW = 0.05
"""What is left out has few rows if it surely has at most this part of the others."""


def _shown(every: Sequence[_Groups], certain: BoolArray, rows: int, *, silent: bool) -> list[_Shown]:
    found: list[_Shown] = []
    cells, first = sum(one.size for one in every if one.declared), 0
    for groups in every:
        there = certain[first : first + groups.size]
        first += groups.size
        nothing = np.zeros(groups.size)
        if not groups.declared:
            found.append(_Shown(np.ones(groups.size, dtype=np.bool_), there, True, nothing))
        elif silent or half_width(groups.terms, 2 * chance_of_each(cells)) < 1:
            # A number of rows that no noise moves says itself whether it is 0.
            found.append(_Shown(there, there, True, nothing, exact=True))
        else:
            found.append(_between(groups, there, rows))
    return found


def _between(groups: _Groups, certain: BoolArray, rows: int) -> _Shown:
    """Between the ends of ordered keys; of a list that is still longer, the values that surely have people."""
    kept = np.ones(groups.size, dtype=np.bool_)
    distances, notes = np.zeros(groups.size), []
    axes = [at for at, key in enumerate(groups.plan.keys) if key.ordered]
    if groups.plan.top is None:
        for at in range(len(groups.plan.keys)):
            own, below, left_out = _by_key(_without_null, groups, at)
            kept &= own
            distances = np.maximum(distances, below)
            notes += left_out
        for at in axes:
            own, below, left_out = _by_key(_along, groups, at)
            kept &= own
            distances = np.maximum(distances, below)
            notes += left_out
        others = [at for at in range(len(groups.plan.keys)) if at not in axes]
        if others and int(kept.sum()) > rows:
            own, below, left_out = _chosen(groups, others, kept)
            kept &= own
            distances = np.maximum(distances, below)
            notes += left_out
    text = ", ".join(key.text for key in groups.plan.keys)
    unclear = (
        f"which groups of {text} are empty cannot be told through so much noise: {int(kept.sum()):,} groups are taken"
        " as rows"
    )
    return _Shown(kept, certain, _is_clear(groups, certain), distances, notes=tuple(notes), unclear=(unclear,))


_Left = tuple[BoolArray, FloatArray, list[str]]
"""Which groups are kept, how far below their numbers their lower ends lie at least, and what is left out."""


def _by_key(rule: Callable[[_Groups, int], _Left], groups: _Groups, at: int) -> _Left:
    """What a rule keeps of the values of a key: by the number of rows of each value as it was measured apart, where it
    was. Then no noise of a group has a part in the choice."""
    apart = groups.by_key_alone(at)
    if apart is None:
        return rule(groups, at)
    alone, places = apart
    kept, _, notes = rule(alone, 0)
    return kept[places], np.zeros(groups.size), notes


def _is_clear(groups: _Groups, certain: BoolArray) -> bool:
    """Whether groups that are not certain surely have few rows, all together."""
    sums = [float(groups.counts[one].sum()) for one in (certain, ~certain)]
    errors = [ONE_SIDED * spread(groups.terms) * math.sqrt(int(one.sum())) for one in (certain, ~certain)]
    return max(sums[1], 0.0) + errors[1] <= _FEW * (sums[0] - errors[0])


def _without_null(groups: _Groups, at: int) -> _Left:
    """Without the group of NULL, where the owner's list has none: like an end of a list, it is left out if it does not
    speak, and could not hold half of what is shown."""
    column, key = groups.keys[at], groups.plan.keys[at]
    missing = ~column.known
    kept, distances = np.ones(groups.size, dtype=np.bool_), np.zeros(groups.size)
    if key.lists_null or missing.all() or not missing.any():
        return kept, distances, []
    lacking, rest = (int(one.sum()) for one in (missing, ~missing))
    total, others = float(groups.counts[missing].sum()), float(groups.counts[~missing].sum())
    if groups.prefix is None:
        error, of_others = (spread(groups.terms, count) for count in (lacking, rest))
        width = half_width(groups.terms, times=lacking)
    else:
        errors = groups.errors_of_null(at, lacking)
        if errors is None:
            return kept, distances, []
        error, of_others = errors
        width = Z * error
    if (excess := kept_by(total, error, others - ONE_SIDED * of_others)) > 0:
        if groups.prefix is None:
            distances[missing] = distances_above(groups.terms, np.array([excess]))[0]
        return kept, distances, []
    note = f"rows in which {key.text} is NULL are left out; together they are {_rows_in(total, width)} rows"
    return ~missing, distances, [note] if total + width >= 1 else []


def _rows_in(total: float, width: float) -> str:
    """A measured number of rows for a sentence: its interval, where nobody may be there.

    >>> [_rows_in(total, 2_400) for total in (5_918, 918, -918)]
    ['5,918 ± 2,400', 'between 0 and 3,400', 'between 0 and 1,500']
    """
    most = math.ceil(total + width)
    return f"{total:,.0f} ± {bar(width)}" if total > width else f"between 0 and {bar(most) if most > 99 else most}"


def _along(groups: _Groups, at: int) -> _Left:
    """Along an ordered key, by the sums over all other keys. NULL is on no axis."""
    column = groups.keys[at]
    known = column.known
    ranks = _ranks(column)
    sums = np.bincount(ranks[known], groups.counts[known]).astype(np.float64)
    sizes = np.bincount(ranks[known])
    each = int(sizes.max(initial=1))
    noise = groups.noise_along(at, len(sums) + bool((~known).any()), each)
    distances = np.zeros(groups.size)
    if noise is None:
        return np.ones(groups.size, dtype=np.bool_), distances, []
    ends = trimmed_ends(sums, noise)
    kept = ~known | ((ranks >= ends.first) & (ranks <= ends.last))
    if groups.prefix is None:
        distances = np.where(known, distances_below(ends, ranks, groups.terms), 0.0)
    return kept, distances, _left_out(groups, at, ends, each)


@by_identity(64)
def _ranks(column: ValueColumn) -> NDArray[np.int64]:
    """The place of each value among all of its column, in their order; 0 of NULL. Listed groups have the very same
    keys in every release."""
    codes = column.codes
    _, places = np.unique(codes, return_index=True)
    values = list(column.taken(places.astype(np.int64)))
    order = sorted((one for one in range(len(values)) if values[one] is not None), key=lambda one: values[one])
    ranks = np.zeros(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    found = np.asarray(np.where(column.known, ranks[codes], 0))
    found.flags.writeable = False
    return found


def _left_out(groups: _Groups, at: int, ends: TrimmedEnds, each: int) -> list[str]:
    if not ends.left_out:
        return []
    width = half_width(groups.terms, times=ends.left_out * each) if groups.prefix is None else Z * ends.spread
    text, rows = groups.plan.keys[at].text, f"{_rows_in(ends.total, width)} rows"
    if ends.left_out == 1:
        return [f"1 value of {text} at an end is left out; it has {rows}"]
    return [f"{ends.left_out:,} values of {text} at its ends are left out; together they have {rows}"]


def _chosen(groups: _Groups, places: Sequence[int], kept: BoolArray) -> tuple[BoolArray, FloatArray, list[str]]:
    """Those values of keys without an order that surely have people, by the sums over all groups that are kept."""
    codes = ColumnarRows([groups.keys[at] for at in places], groups.size).codes()
    sums = np.bincount(codes, np.where(kept, groups.counts, 0.0)).astype(np.float64)
    each = int(np.bincount(codes, kept).max(initial=1))
    chosen, least = discovered(sums, groups.terms, each)
    distances = np.zeros(groups.size)
    if each == 1:
        excess = np.maximum(groups.counts - least, 0.0)
        distances = np.where(chosen[codes], distances_above(groups.terms, excess), 0.0)
    text = ", ".join(groups.plan.keys[at].text for at in places)
    note = (
        f"{int((~chosen).sum()):,} of {len(chosen):,} values of {text} are left out: those are shown that have rows as"
        " far as their noisy numbers tell, two in a hundred of them wrongly"
    )
    return chosen[codes], distances, [note]


def _listed(shape: Shape, every: Sequence[_Groups], shown: Sequence[_Shown], places: Sequence[int]) -> BoolArray:
    """The groups of which the owner listed the keys at ``places`` one by one, where numbers of rows are exact. A key
    that a total adds up over counts as listed."""
    found: list[BoolArray] = []
    for number, (groups, one) in enumerate(zip(every, shown, strict=True)):
        own = shape.sets[number] if shape.sets else tuple(range(len(shape.keys)))
        listed = np.full(groups.size, one.exact)
        for at in (own.index(place) for place in places if place in own):
            key = groups.plan.keys[at]
            listed &= key.listed
            if key.listed and not key.lists_null:
                listed &= groups.keys[at].known
        found.append(listed)
    return np.concatenate(found)


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
            least = 0.0 if silent else _threshold(plan, shape.counted, table.noise, cells)
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


@by_identity(1024)
def _threshold(plan: Plan, place: int, noise: Mapping[str, Additive], cells: int) -> float:
    """The :func:`threshold` of the groups of a plan, which may be the differences of running sums that are measured."""
    return threshold(_rows_of(plan, place), group_noise(plan.blocks, noise), cells)


@by_identity(1024)
def _share_of(counted: Linear, output: Linear, noise: Mapping[str, Additive], *, apart: bool) -> tuple[float, float]:
    """How many times the noise of one sum is in another, and the 95 % half-width of the rest, which is independent of
    it; nothing where it is not known, since noises do not lie ``apart``."""
    weights, own = dict(counted.terms), dict(output.terms)
    if output.terms == tuple(weights.items()):
        return 1.0, 0.0
    if not apart:
        return 0.0, 0.0
    spreads = {name: variance(noise[name]) for name in {**own, **weights}}
    common = sum(float(weight * own.get(name, 0)) * spreads[name] for name, weight in weights.items())
    whole = sum(float(weight) ** 2 * spreads[name] for name, weight in weights.items())
    times = common / whole if whole else 0.0
    left = {name: own.get(name, 0) - Fraction(times) * weights.get(name, 0) for name in spreads}
    return times, half_width(tuple((noise[name], weight) for name, weight in left.items() if weight))


def _rows_of(plan: Plan, place: int) -> Linear:
    counted = next(one.estimator for one in plan.outputs if one.name == aggregate_name(place)).as_sum
    if counted is None:
        raise AssertionError("a number of rows is a sum of what was measured")
    return counted


@by_identity(128)
def present_notes(shapes: Sequence[Shape], calibrations: Sequence[Calibration], rows: int) -> tuple[str, ...]:
    """Which groups are left out, and what their number of rows costs where nobody asked for it. From text and price.
    Of more than ``rows`` groups without an order, not all are shown."""
    return tuple(_present_notes(shapes, calibrations, rows))


def _present_notes(shapes: Sequence[Shape], calibrations: Sequence[Calibration], rows: int) -> Iterator[str]:
    whole = sum((one.loss for one in calibrations), PrivacyLoss())
    asked = {place for shape in shapes for place in shape.measurements}
    for shape in shapes:
        every = [calibrations[place] for place in shape.measurements if calibrations[place].plan.keys]
        own = [one for one in every if one.plan.cells is not None]
        if not shape.presences or not own:
            continue
        yield from (f"{note}. SET dpsql.empty_groups = show keeps them all" for note in _rules(shape, own, rows))
        if shape.bought and (share := _share(every, shape.counted, whole)):
            yield f"the number of rows of each group is measured too, to know which groups there are: {share}"
        beside = {one.place for marginals in shape.marginals for one in marginals} - asked
        for one in (calibrations[place] for place in sorted(beside) if place < len(calibrations)):
            yield (
                f"the number of rows of each value of {one.plan.keys[0].text} is measured too, to know where its ends"
                f" are: {100 * float(one.loss.of_noise.part_of(whole)):.0f} % of the price"
            )
        if shape.number is not None and shape.number < len(calibrations):
            text = ", ".join(key.text for key in shape.keys)
            part = 100 * float(calibrations[shape.number].loss.of_noise.part_of(whole))
            yield f"how many groups of {text} have rows is measured too: {part:.0f} % of the price"


def _rules(shape: Shape, declared: Sequence[Calibration], rows: int) -> Iterator[str]:
    """By which rule groups are left out, for each reader of them."""
    cells = sum(one.plan.cells or 0 for one in declared)
    least = max(_threshold(one.plan, shape.counted, one.noise, cells) for one in declared)
    keys = ", ".join(key.text for key in shape.keys)
    axes = dict.fromkeys(key.text for one in declared for key in one.plan.keys if key.ordered)
    lacking = ", ".join(dict.fromkeys(key.text for one in declared for key in one.plan.keys if key.may_lack))
    kinds = {one.kept for one in shape.presences}
    if KeptGroups.CERTAIN in kinds:
        yield (
            f"groups of {keys} are left out where the measured number of rows is at most {least:,.0f}, since they may"
            " be empty"
        )
    if KeptGroups.PRESENT in kinds:
        yield (
            f"a group of {keys} counts only if its measured number of rows is above {least:,.0f}, since it may be empty"
            f" otherwise; all groups{' between the ends' if axes else ''} count where the others may have many rows"
            " together"
        )
    if KeptGroups.COUNTED in kinds:
        yield f"how many groups of {keys} have rows is estimated of all their measured numbers of rows together"
    if KeptGroups.SHOWN in kinds and axes:
        null = f". NULL of {lacking} is shown only if its noisy number of rows shows somebody" if lacking else ""
        yield (
            f"the ends of {', '.join(axes)} are left out where noisy sums show nobody. All groups between are shown,"
            f" even empty ones{null}"
        )
    elif KeptGroups.SHOWN in kinds and cells <= rows:
        yield (
            f"every declared group of {keys} is shown, even an empty one. NULL is not declared, and shown only if its"
            " noisy number of rows shows somebody"
        )
    elif KeptGroups.SHOWN in kinds:
        yield f"of {cells:,} groups of {keys}, those are shown that have rows as far as their noisy numbers tell"


def _share(calibrations: Sequence[Calibration], place: int, whole: PrivacyLoss) -> str:
    """The part of the whole price that pays for the number of rows; "" where the statement asks for this number
    anyway."""
    paid = 0.0
    for one in calibrations:
        asked = (output.estimator for output in one.plan.outputs if output.name != aggregate_name(place))
        told = {name for estimator in asked for name in estimator.statistics}
        names = {name for name, _ in _rows_of(one.plan, place).terms} - told
        for block in one.measured:
            of_rows = {statistic.name for statistic in block.block.statistics}
            if of_rows & names:
                if not of_rows <= names:
                    return "together with what was asked for, in one measurement"
                paid += float(block.share.of_noise.part_of(whole))
    return f"{100 * paid:.0f} % of the price" if paid else ""
