"""Tables that agree with each other: the measurements of one family, made consistent. It sees released numbers alone.

Generalised least squares with the true variances, then non-negative from the top down, then integers by largest
remainder: a total equals the sum of its parts, exactly, in every table that is answered (Hay, Rastogi, Miklau, Suciu
2010). Nothing is clamped before it was added up.

Measurements join in where their groups are public; rows that are in none of them are a group of their own, which
nobody measured, unless there are no such rows by proof (:mod:`dpsql.inference.consistency.leaves`). Selected groups
say nothing about a total, since the others are not shown: each of those stands alone. So do groups that were measured
for their running sums, whose noises depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy

from dpsql.inference.consistency.evidence import DerivedTable, Measurements, independent
from dpsql.inference.consistency.leaves import cells_of, leaves
from dpsql.inference.consistency.shown import released_rows, shown_rows
from dpsql.inference.estimates import Column, Groups, completed, finished, infer, measured, named, spread, table_of
from dpsql.inference.numeric import (
    FAR,
    FloatArray,
    IntArray,
    Unsolved,
    check_reach,
    lattice,
    nonnegative_lattice,
    round_lattice,
    round_tree,
    top_down,
)
from dpsql.releases import (
    ColumnarRows,
    IntegerColumn,
    NoisyTable,
    ReleasedColumn,
    ReleasedTable,
    ValueColumn,
    concatenated,
)
from rewriter.declared import DOUBLE, INTEGER
from rewriter.front_door import Family, Shape
from rewriter.plan import Linear, Part, Plan
from rewriter.release import mark_name

_MOST_STEPS = 1_000
_WHOLE = 1e-6
"""Estimates this near to whole numbers are whole: what was measured agreed already."""


def infer_all(
    tables: Sequence[NoisyTable],
    plans: Sequence[Plan],
    families: Sequence[Family],
    shapes: Sequence[Shape],
    *,
    consistent: bool,
    derived: Mapping[int, DerivedTable] | None = None,
) -> dict[str, ReleasedTable]:
    """The tables that the outer SELECT reads, by name, from all measurements of a statement.

    ``derived`` are those that were made of earlier releases, which say more than these sums of them. ``consistent``
    False gives the unbiased measurements as they are, rounded where the column is of whole numbers.
    """
    summed = {place for shape in shapes if shape.summed for place in shape.measurements}
    finished: dict[int, ReleasedTable] = {}
    for family in families:
        for alike in _alike(family, tables, plans) if consistent else ():
            by_period = tables[alike.measurements[0]].periods is not None
            made = _consistent_in_periods if by_period else _consistent
            finished |= made(alike, tables, plans, derived or {})
        for place in family.measurements:
            if place not in finished and derived and place in derived:
                finished[place] = _alone(tables[place], plans[place], derived[place], consistent, place in summed)
            elif place not in finished:
                finished[place] = infer(tables[place], plans[place], consistent=consistent, summed=place in summed)
    shown = {place: released_rows(table, shown_rows(tables[place], plans[place])) for place, table in finished.items()}
    return {shape.name: assembled(shape, [shown[place] for place in shape.measurements]) for shape in shapes}


@dataclass(frozen=True, slots=True)
class FinishedParts:
    """The parts of one measurement, group by group; how far each is above its estimate since none is below 0; and how
    far whole numbers that agree are from that, where it is more than 1: all in the part's unit."""

    columns: list[Column]
    lifted: list[FloatArray]
    moved: list[FloatArray]


def agreed(
    keys: Sequence[tuple[int, ...]], tables: Sequence[NoisyTable], plans: Sequence[Plan]
) -> list[FinishedParts] | None:
    """The finished parts of measurements that have these keys, made to agree; None where that cannot be. A table
    without statistics was not measured, and follows from the others."""
    family = Family(tuple(range(len(tables))), tuple(keys))
    all_ = Measurements(family, tuple(tables), tuple(plans))
    joint = _joint(all_)
    if joint is None or len(joint.members) != len(tables):
        return None
    try:
        estimated = [_estimate(joint, all_, _part_of(plans, joint, at)) for at in range(len(plans[0].parts))]
    except Unsolved:
        return None
    found = {
        place: FinishedParts(
            [one.columns[at] for one in estimated],
            [one.lifted[at] for one in estimated],
            [one.moved[at] for one in estimated],
        )
        for at, place in enumerate(joint.members)
    }
    return [found[place] for place in range(len(tables))]


def _alike(family: Family, tables: Sequence[NoisyTable], plans: Sequence[Plan]) -> list[Family]:
    """The measurements of a family in which people are clipped alike: their totals are the sums of their parts. Of a
    series they are clipped within each period."""
    found: dict[tuple[str, bool], list[tuple[int, tuple[int, ...]]]] = {}
    for place, keys in zip(family.measurements, family.keys, strict=True):
        found.setdefault((plans[place].sums, tables[place].periods is not None), []).append((place, keys))
    return [Family(tuple(p for p, _ in members), tuple(keys for _, keys in members)) for members in found.values()]


def _consistent(
    family: Family, tables: Sequence[NoisyTable], plans: Sequence[Plan], derived: Mapping[int, DerivedTable]
) -> dict[int, ReleasedTable]:
    """The tables of a family that can be made consistent; none where there is only one."""
    if len({plans[place].identity for place in family.measurements}) < 2:
        return {}
    own = {place: derived[place] for place in family.measurements if place in derived and joins_in(plans[place])}
    if _are_of_one_purchase(family, own):
        if all(one.columns is not None for one in own.values()):
            return {}  # What is shown of them agrees, too.
        settled = {place: one.shrunk for place, one in own.items() if one.shrunk is not None}
        all_ = Measurements(family, tuple(tables), tuple(plans), settled=settled)
    else:
        all_ = independent(family, tables, plans, own) if own else Measurements(family, tuple(tables), tuple(plans))
    joint = _joint(all_)
    try:
        return {} if joint is None else _together(joint, all_, shown=len(tables))
    except Unsolved:
        return {}  # Each is answered as it was measured.


def _are_of_one_purchase(family: Family, derived: Mapping[int, DerivedTable]) -> bool:
    purchases = {derived[place].purchase if place in derived else None for place in family.measurements}
    return len(purchases) == 1 and None not in purchases


def _consistent_in_periods(
    family: Family, tables: Sequence[NoisyTable], plans: Sequence[Plan], derived: Mapping[int, DerivedTable]
) -> dict[int, ReleasedTable]:
    """The tables of a family of series, made consistent period by period: the numbers of a period follow from those
    that were measured of it, with their own noise, so a period that is kept is shown as it was before."""
    rows = {place: _rows_of_periods(tables[place]) for place in family.measurements}
    numbers = {number for of in rows.values() for number in of}
    if not numbers or any(of.keys() != numbers for of in rows.values()):
        return {}
    agreeing: list[dict[int, ReleasedTable]] = []
    alone: list[dict[int, ReleasedTable]] = []
    for number in sorted(numbers):
        inside = {place: _of_period(tables[place], of[number], number) for place, of in rows.items()}
        some = [inside.get(place, table) for place, table in enumerate(tables)]
        agreeing.append(_consistent(family, some, plans, derived))
        alone.append({place: infer(table, plans[place]) for place, table in inside.items()})
    if not any(one.keys() == rows.keys() for one in agreeing):
        return {}
    # A period without a solution is answered as it was measured, and changes no other.
    made = [one if one.keys() == rows.keys() else other for one, other in zip(agreeing, alone, strict=True)]
    return {
        place: _laid_out([one[place] for one in made], np.concatenate([of[number] for number in sorted(numbers)]))
        for place, of in rows.items()
    }


def _rows_of_periods(table: NoisyTable) -> dict[int, IntArray]:
    periods = np.asarray(table.periods, dtype=np.int64)
    return {int(number): np.flatnonzero(periods == number) for number in np.unique(periods)}


def _of_period(table: NoisyTable, rows: IntArray, number: int) -> NoisyTable:
    places = rows.tolist()
    statistics = {name: IntegerColumn.of(column).taken(rows) for name, column in table.statistics.items()}
    noise = table.noises[number] if table.noises else table.noise
    return NoisyTable(tuple(table.keys[place] for place in places), statistics, noise)


def _laid_out(tables: Sequence[ReleasedTable], rows: IntArray) -> ReleasedTable:
    """Tables one below the other, each row at its place in ``rows``."""
    order = np.argsort(rows)
    columns = []
    for parts in zip(*(table.columns for table in tables), strict=True):
        margins, reaches, estimates = _margins(parts), _reaches(parts), _estimates(parts)
        columns.append(
            replace(
                parts[0],
                values=concatenated([part.column for part in parts]).taken(order),
                margins=None if margins is None else margins.taken(order),
                reaches=None if reaches is None else reaches.taken(order),
                estimates=None if estimates is None else estimates.taken(order),
            )
        )
    ones = [ValueColumn.of_floats(np.ones(one.rows)) if one.shrunk is None else one.shrunk for one in tables]
    shrunk = concatenated([ValueColumn.of(DOUBLE, one) for one in ones])
    return ReleasedTable(tuple(columns), shrunk.taken(order))


def joins_in(plan: Plan) -> bool:
    """Whether the groups are public, and what is measured of them adds up and has noises of its own."""
    adds_up = not plan.keys or all(part.additive for part in plan.parts)
    public = plan.exhaustive or bool(plan.groups)
    return public and not plan.alone and adds_up and all(block.prefix is None for block in plan.blocks)


def _alone(noisy: NoisyTable, plan: Plan, derived: DerivedTable, consistent: bool, summed: bool) -> ReleasedTable:
    """Sums over the groups must stay unbiased: they agree with no finer table whose parts were cut off at 0."""
    if not consistent:
        return table_of(Groups(noisy, plan, None, {}, derived.shrunk))
    if summed or derived.columns is None:
        return table_of(Groups(noisy, plan, finished(noisy, plan, summed=summed), {}, derived.shrunk))
    return _with_estimates(table_of(Groups(noisy, plan, derived.columns, {}, derived.shrunk)), plan, derived.lifted)


def assembled(shape: Shape, tables: Sequence[ReleasedTable]) -> ReleasedTable:
    """One table of several grouping sets: the keys that a set does not have are NULL, and marked. So is, in a row of
    its own, what is left of a total of groups; there a key of text is a name that no group has."""
    sets = shape.sets
    if shape.others:
        sets = (tuple(range(len(shape.keys))), ())
        tables = (tables[0], completed(tables[1], tables[0], len(shape.keys)))
    if not sets:
        return tables[0]
    columns: list[ReleasedColumn] = []
    marks: list[ReleasedColumn] = []
    for at, key in enumerate(shape.keys):
        values: list[ValueColumn] = []
        added_up: list[IntArray] = []
        for places, table in zip(sets, tables, strict=True):
            given = at in places
            own = table.columns[places.index(at)].column if given else ValueColumn.nothing(key.type, table.rows)
            values.append(own)
            added_up.append(np.full(table.rows, 0 if given else 1, dtype=np.int64))
        column = ReleasedColumn(key.name, key.type, concatenated(values))
        columns.append(named(column) if shape.others else column)
        mark = ValueColumn.of_integers(IntegerColumn(np.concatenate(added_up)), INTEGER)
        marks.append(ReleasedColumn(mark_name(at), INTEGER, mark))
    outputs: list[ReleasedColumn] = []
    for at, first in enumerate(tables[0].columns[len(sets[0]) :]):
        parts = [table.columns[len(places) + at] for places, table in zip(sets, tables, strict=True)]
        outputs.append(
            replace(
                first,
                values=concatenated([part.column for part in parts]),
                margins=_margins(parts),
                reaches=_reaches(parts),
                estimates=_estimates(parts),
            )
        )
    ones = [ValueColumn.of_floats(np.ones(table.rows)) if table.shrunk is None else table.shrunk for table in tables]
    return ReleasedTable((*columns, *marks, *outputs), concatenated([ValueColumn.of(DOUBLE, one) for one in ones]))


def _margins(parts: Sequence[ReleasedColumn]) -> ValueColumn | None:
    """Those of all parts one below the other; None where one has none."""
    known = [ValueColumn.of(DOUBLE, part.margins) for part in parts if part.margins is not None]
    return concatenated(known) if len(known) == len(parts) else None


def _estimates(parts: Sequence[ReleasedColumn]) -> ValueColumn | None:
    """Those of all parts one below the other; of a part without any, what it has. None where no part has any."""
    if all(part.estimates is None for part in parts) or not all(part.type.numeric for part in parts):
        return None
    every = [ValueColumn.of_floats(part.column.floats) if part.estimates is None else part.estimates for part in parts]
    return concatenated([ValueColumn.of(DOUBLE, one) for one in every])


def _reaches(parts: Sequence[ReleasedColumn]) -> ColumnarRows | None:
    known = [ColumnarRows.of((DOUBLE, DOUBLE), part.reaches) for part in parts if part.reaches is not None]
    if len(known) != len(parts):
        return None
    sides = [concatenated([one.columns[side] for one in known]) for side in (0, 1)]
    return ColumnarRows(sides, len(sides[0]))


# One family


@dataclass(frozen=True, slots=True)
class _Joint:
    """Measurements that constrain each other. ``groupings[m][leaf]`` is the cell of measurement m that a leaf is in.

    ``chain`` are places of measurements from the coarsest on, each a coarsening of the next.
    """

    members: tuple[int, ...]
    copies: Mapping[int, int]
    groupings: tuple[IntArray, ...]
    sizes: tuple[int, ...]
    chain: tuple[int, ...]

    @property
    def is_tree(self) -> bool:
        return len(self.chain) == len(self.members)


def _joint(all_: Measurements) -> _Joint | None:
    """The part of a family that can be made consistent: public groups, of parts that add up."""
    family, tables, plans = all_.family, all_.tables, all_.plans
    first: dict[str, int] = {}
    copies: dict[int, int] = {}
    members: list[tuple[int, tuple[int, ...]]] = []
    for place, keys in zip(family.measurements, family.keys, strict=True):
        if not joins_in(plans[place]):
            continue
        known = first.setdefault(plans[place].identity, place)
        if known != place:
            copies[place] = known
        else:
            members.append((place, keys))
    if len(members) < 2:
        return None
    members.sort(key=lambda member: len(member[1]))
    groups = [(keys, tables[place].keys) for place, keys in members]
    finest = leaves(groups[::-1], _open_keys(members, plans))
    if finest is None:
        return None
    cells = [cells_of(finest, keys, own) for keys, own in groups]
    return _Joint(
        tuple(place for place, _ in members),
        copies,
        tuple(grouped for grouped, _ in cells),
        tuple(size for _, size in cells),
        _chain([keys for keys, _ in groups]),
    )


def _open_keys(members: Sequence[tuple[int, tuple[int, ...]]], plans: Sequence[Plan]) -> set[int]:
    """The keys of a family that rows of people may have undeclared values of."""
    return {
        key
        for place, keys in members
        for key, column in zip(keys, plans[place].keys, strict=True)
        if not (plans[place].exhaustive or column.closed)
    }


def _chain(keys: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """From the finest measurement up: each time the one with the most keys that is a coarsening of the last."""
    chain = [len(keys) - 1]
    for place in range(len(keys) - 2, -1, -1):
        if set(keys[place]) < set(keys[chain[-1]]):
            chain.append(place)
    return tuple(reversed(chain))


def _together(joint: _Joint, all_: Measurements, *, shown: int) -> dict[int, ReleasedTable]:
    """The tables of the first ``shown`` places."""
    tables, plans = all_.tables, all_.plans
    count = len(plans[joint.members[0]].parts)
    estimated = [_estimate(joint, all_, _part_of(plans, joint, at)) for at in range(count)]
    columns = {place: [estimate.columns[at] for estimate in estimated] for at, place in enumerate(joint.members)}
    shrunk = [_shrinkage(joint, at, estimated) for at in range(len(joint.members))]
    found: dict[int, ReleasedTable] = {}
    for at, place in enumerate(joint.members):
        if place >= shown:
            continue
        pairs = {}
        for output in plans[place].outputs:
            if output.estimator.is_quotient:
                pairs[output.name] = tuple(_side(joint, all_, name)[at] for name in output.estimator.statistics)
        table = table_of(Groups(tables[place], plans[place], columns[place], pairs, shrunk[at]))
        found[place] = _with_estimates(table, plans[place], [estimate.lifted[at] for estimate in estimated])
    return found | {copy: found[place] for copy, place in joint.copies.items()}


def _with_estimates(table: ReleasedTable, plan: Plan, lifted: Sequence[FloatArray]) -> ReleasedTable:
    """The table, with what least squares says of its sums; ``lifted`` is how far each part was moved from that."""
    if not lifted:
        return table
    columns = {column.name: column for column in table.columns}
    for output in plan.outputs:
        moved = [float(plan.parts[at].unit) * lifted[at][: table.rows] for at in output.parts]
        if moved:
            column = columns[output.name]
            estimates = ValueColumn.of_floats(column.column.floats - np.sum(moved, axis=0))
            columns[output.name] = replace(column, estimates=estimates)
    return replace(table, columns=tuple(columns.values()))


@dataclass(frozen=True, slots=True)
class _Estimated:
    """One part: finished integers of each measurement, how far above their estimates they are since none is below 0,
    how far rounding moved them (0 up to 1), and how much less they spread than what was measured, what rounding moved
    them included."""

    columns: tuple[Column, ...]
    lifted: tuple[FloatArray, ...]
    moved: tuple[FloatArray, ...]
    factors: tuple[FloatArray, ...]


def _part_of(plans: Sequence[Plan], joint: _Joint, at: int) -> list[Part]:
    return [plans[place].parts[at] for place in joint.members]


def _estimate(joint: _Joint, all_: Measurements, parts: Sequence[Part]) -> _Estimated:
    numbers = [
        _number(all_, place, part.estimator, part.unit, size)
        for place, part, size in zip(joint.members, parts, joint.sizes, strict=True)
    ]
    values, variances = [one.values for one in numbers], [one.variances for one in numbers]
    estimates, posterior = lattice(joint.groupings, joint.sizes, values, variances)
    check_reach(values, variances, estimates)
    if all_.settled:
        own = [
            _padded(all_.settled[place] ** 2, size, 1.0) for place, size in zip(joint.members, joint.sizes, strict=True)
        ]
        known = zip(numbers, own, posterior, strict=True)
        posterior = [np.where(np.isfinite(one.said), one.said * factor, after) for one, factor, after in known]
    nonnegative = parts[0].estimator.minimum is not None
    columns, lifted, moved = _rounded(joint, estimates, posterior, values, variances, nonnegative=nonnegative)
    # A known distance added to a variance as a square: 95 % of the normal law stay within 1.96 of the root, or more.
    spreads = [after + far**2 for after, far in zip(posterior, moved, strict=True)]
    factors = tuple(_ratio(after, one.said) for one, after in zip(numbers, spreads, strict=True))
    # What is not negative, and whole, is farther off than what was estimated by no more than all that noise did.
    room = sum(float(FAR * np.sqrt(one[np.isfinite(one)]).sum() + one.size) for one in variances)
    check_reach(values, variances, [np.array(column, dtype=np.float64) for column in columns], room=room)
    return _Estimated(columns, lifted, moved, factors)


def _ratio(after: FloatArray, said: FloatArray) -> FloatArray:
    """The variances after inference over those that the noise states; 1 where it states none."""
    known = (said > 0) & np.isfinite(said)
    return np.divide(after, said, out=np.ones_like(after), where=known)


@dataclass(frozen=True, slots=True)
class _Number:
    """One number of every cell, its variance as a measurement (inf: it is none), and the one that its noise says."""

    values: FloatArray
    variances: FloatArray
    said: FloatArray


def _number(all_: Measurements, place: int, estimator: Linear, unit: Fraction, size: int) -> _Number:
    table = all_.tables[place]
    if not all(name in table.statistics for name, _ in estimator.terms):
        return _Number(np.zeros(size), np.full(size, math.inf), np.full(size, math.inf))
    said = _padded(np.full(len(table.keys), spread(table, estimator, unit)), size, math.inf)
    if place in all_.unmeasured:
        return _Number(np.zeros(size), np.full(size, math.inf), said)
    source = all_.fresh.get(place, table)
    numerators, denominator = measured(source, estimator, unit)
    values = _padded(np.asarray(numerators.over(denominator), dtype=np.float64), size, 0.0)
    variances = np.full(len(numerators), spread(source, estimator, unit))
    return _Number(values, _padded(variances, size, math.inf), said)


def _padded(numbers: FloatArray, size: int, rest: float) -> FloatArray:
    return np.append(numbers, np.full(size - len(numbers), rest))


def _rounded(
    joint: _Joint,
    estimates: Sequence[FloatArray],
    posterior: Sequence[FloatArray],
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray],
    *,
    nonnegative: bool,
) -> tuple[tuple[Column, ...], tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Integers of every measurement that agree, from least-squares estimates that agree; how far above these the
    nearest numbers are that are possible; and how far from those the integers are, where that is more than 1."""
    still = tuple(np.zeros(size) for size in joint.sizes)
    if not joint.groupings[0].size:  # nobody can be in any group: a WHERE that no declared key satisfies
        return tuple([0] * size for size in joint.sizes), still, still
    levels = [estimates[at] for at in joint.chain]
    # Where nothing determines a number, its estimate is any number that adds up.
    told = [np.isfinite(spread) for spread in posterior]
    negative = nonnegative and any(
        bool((estimate[sure] < -_WHOLE).any()) for estimate, sure in zip(estimates, told, strict=True)
    )
    if joint.is_tree:
        parents = _parents(joint)
        if negative:
            levels = top_down(parents, levels, [posterior[at] for at in joint.chain])
        rounded = round_tree(parents, levels)
        back = dict(zip(joint.chain, rounded, strict=True))
        possible = dict(zip(joint.chain, levels, strict=True))
        lifted = tuple(possible[at] - estimates[at] for at in range(len(joint.members))) if negative else still
        return tuple(back[at] for at in range(len(joint.members))), lifted, still
    fractions = [np.abs(level - np.rint(level))[sure] for level, sure in zip(estimates, told, strict=True)]
    if not negative and all(bool((fraction < _WHOLE).all()) for fraction in fractions):
        return tuple([round(number) for number in level.tolist()] for level in estimates), still, still
    total = max(0.0, float(estimates[0].sum())) if nonnegative and told[0].all() else None
    values_of_leaves = _leaf_values(
        joint, estimates, values, variances, total, nonnegative=nonnegative, negative=negative
    )
    finest = round_lattice(joint.groupings, values_of_leaves)
    columns, lifted_by, moved = [], [], []
    off = np.array([integer - number for integer, number in zip(finest, values_of_leaves.tolist(), strict=True)])
    for grouping, size, estimate in zip(joint.groupings, joint.sizes, estimates, strict=True):
        column = [0] * size
        for cell, leaf in zip(grouping.tolist(), finest, strict=True):
            column[cell] += leaf
        columns.append(column)
        far = np.abs(np.bincount(grouping, off, size))
        moved.append(np.where(far > 1, far, 0.0))
        lifted_by.append(np.bincount(grouping, values_of_leaves, size) - estimate if negative else np.zeros(size))
    return tuple(columns), tuple(lifted_by), tuple(moved)


def _leaf_values(
    joint: _Joint,
    estimates: Sequence[FloatArray],
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray],
    total: float | None,
    *,
    nonnegative: bool,
    negative: bool,
) -> FloatArray:
    """Finest groups that add up to the estimates; of what cannot be negative, the nearest that are not.

    ``total`` is what all of them are together, where that is known.
    """
    last = joint.groupings[-1]
    if not negative and np.bincount(last, minlength=joint.sizes[-1]).max() == 1:
        return np.asarray(estimates[-1][last])
    if nonnegative:
        return nonnegative_lattice(joint.groupings, joint.sizes, values, variances, total=total)
    return _spread_out(joint, estimates)


def _spread_out(joint: _Joint, estimates: Sequence[FloatArray]) -> FloatArray:
    """Finest groups that nobody measured: the smallest numbers that add up to the estimates of every measurement."""
    count = len(joint.groupings[0])
    ones, leaves = np.ones(count), np.arange(count)
    sums = scipy.sparse.vstack(
        [
            scipy.sparse.csr_array((ones, (g, leaves)), shape=(size, count))
            for g, size in zip(joint.groupings, joint.sizes, strict=True)
        ]
    )
    found = scipy.sparse.linalg.lsqr(sums, np.concatenate(estimates), atol=1e-15, btol=1e-15, iter_lim=_MOST_STEPS)[0]
    return np.asarray(found)


def _parents(joint: _Joint) -> list[IntArray]:
    """For each measurement of the chain, the cell of the one before it that each cell is in."""
    parents: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    for coarse, fine in zip(joint.chain, joint.chain[1:], strict=False):
        parent = np.zeros(joint.sizes[fine], dtype=np.int64)
        parent[joint.groupings[fine]] = joint.groupings[coarse]
        parents.append(parent)
    return parents


def _side(joint: _Joint, all_: Measurements, name: str) -> list[FloatArray]:
    """A statistic of a mean or a moment, made consistent as a part is, in the steps of each measurement."""
    numbers, units = [], []
    for place, size in zip(joint.members, joint.sizes, strict=True):
        unit = next(one.granularity for one in all_.plans[place].statistics if one.name == name)
        numbers.append(_number(all_, place, Linear(((name, unit),)), Fraction(1), size))
        units.append(float(unit))
    values, variances = [n.values for n in numbers], [n.variances for n in numbers]
    estimates, _ = lattice(joint.groupings, joint.sizes, values, variances)
    check_reach(values, variances, estimates)
    return [estimate / unit for estimate, unit in zip(estimates, units, strict=True)]


def _shrinkage(joint: _Joint, at: int, estimated: Sequence[_Estimated]) -> FloatArray:
    """The factor by which the standard deviation of each cell of a measurement fell; the same for each part of it."""
    size = joint.sizes[at]
    if not estimated:
        return np.ones(size)
    return np.asarray(np.sqrt(np.max([estimate.factors[at] for estimate in estimated], axis=0)))
