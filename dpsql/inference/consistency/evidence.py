"""Earlier releases among the measurements of a statement, each once, so that tables made of them agree with the rest.

Two tables that are sums of one finer table have the same noise. Least squares would count it twice if both of them were
measurements. So in their place the finer table is one, of groups that the statement does not show, and the tables that
are made of it are not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpsql.inference.estimates import Column
from dpsql.inference.numeric import FloatArray
from dpsql.releases import IntegerColumn, NoisyTable
from rewriter.declared import TEXT
from rewriter.front_door import Family
from rewriter.plan import KeyColumn, Plan
from rewriter.release import key_name


@dataclass(frozen=True, slots=True)
class Evidence:
    """A stored release by its number: its groups by keys of these families, under the wanted names of statistics."""

    number: int
    keys: tuple[str, ...]
    table: NoisyTable
    stored: NoisyTable


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """A table that was made of earlier releases: its accuracy, and the measurements that it was made of.

    ``columns`` are finished parts that agree with the shown numbers of a finer table, where there is one, and
    ``lifted`` how far each is above its estimate since none of these is below 0, where that is known. ``shrunk`` is
    each group's standard deviation over that of the table's noise. The table was made of ``evidence`` and ``fresh``,
    and ``planned`` is the plan that was asked for. Tables with the same ``purchase`` are estimates from all that was
    bought together by this number: they agree already.
    """

    columns: list[Column] | None
    lifted: Sequence[FloatArray]
    shrunk: FloatArray | None
    planned: Plan
    evidence: tuple[Evidence, ...]
    fresh: NoisyTable | None
    purchase: int | None = None


@dataclass(frozen=True, slots=True)
class Measurements:
    """Independent measurements: those of the statement, and after them some of groups that it does not have.

    Those of places in ``unmeasured`` say nothing that others do not say; those in ``fresh`` are the numbers that were
    measured for a table that was made of them and of others. Where all are ``settled``, each group's standard deviation
    over that of its table's noise, they are estimates that agree, and least squares has nothing to add.
    """

    family: Family
    tables: tuple[NoisyTable, ...]
    plans: tuple[Plan, ...]
    unmeasured: frozenset[int] = frozenset()
    fresh: Mapping[int, NoisyTable] = field(default_factory=dict)
    settled: Mapping[int, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.tables) != len(self.plans):
            raise ValueError("every table has its plan")


def independent(
    family: Family, tables: Sequence[NoisyTable], plans: Sequence[Plan], derived: Mapping[int, DerivedTable]
) -> Measurements:
    """The measurements of a family, with those that its derived tables were made of in place of these."""
    places, keys = list(family.measurements), list(family.keys)
    used, planned = list(tables), list(plans)
    names = {
        column.family: number
        for place, numbers in zip(places, keys, strict=True)
        for number, column in zip(numbers, plans[place].keys, strict=True)
    }
    unmeasured = {place for place in family.measurements if place in derived}
    plain = [tables[place] for place in family.measurements if place not in derived]
    hidden: dict[object, tuple[tuple[str, ...], NoisyTable, Plan]] = {}
    fresh: dict[int, NoisyTable] = {}
    for place in sorted(unmeasured):
        one = derived[place]
        for evidence in one.evidence:
            if evidence.stored not in plain:
                hidden.setdefault(evidence.number, (evidence.keys, evidence.table, one.planned))
        used[place], planned[place] = _as_planned(tables[place], plans[place], one.planned), one.planned
        if one.fresh is not None and set(one.fresh.noise) == {statistic.name for statistic in one.planned.statistics}:
            fresh[place] = one.fresh
        elif one.fresh is not None:
            own = tuple(column.family for column in one.planned.keys)
            hidden.setdefault(id(one.fresh), (own, one.fresh, one.planned))
    for number, (named, table, plan) in enumerate(hidden.values()):
        places.append(len(used))
        keys.append(tuple(names.setdefault(name, len(names)) for name in named))
        used.append(table)
        planned.append(_unseen(plan, named, number))
    joined = Family(tuple(places), tuple(keys))
    return Measurements(joined, tuple(used), tuple(planned), frozenset(unmeasured - fresh.keys()), fresh)


def _as_planned(table: NoisyTable, plan: Plan, planned: Plan) -> NoisyTable:
    """The table on the lattice that was planned, for its noise: its integers are read by nobody who needs digits."""
    steps = {one.name: one.granularity for one in plan.statistics}
    finer = {one.name: int(one.granularity / steps[one.name]) for one in planned.statistics}
    return NoisyTable(
        table.keys,
        {name: IntegerColumn.of(column).quotients(finer[name]) for name, column in table.statistics.items()},
        {name: replace(noise, scale=noise.scale / finer[name]) for name, noise in table.noise.items()},
    )


def _unseen(plan: Plan, keys: Sequence[str], number: int) -> Plan:
    """The plan of a measurement of finer groups, which adds up to what ``plan`` measures."""
    closed = {column.family: plan.exhaustive or column.closed for column in plan.keys}
    columns = tuple(
        # Keys that are added up over were found to have no other values (:func:`dpsql.reuse.derive.source`).
        KeyColumn(key_name(place), TEXT, "", family, closed=closed.get(family, True))
        for place, family in enumerate(keys)
    )
    parts = tuple(replace(part, additive=True) for part in plan.parts)
    exhaustive = all(column.closed for column in columns)
    groups = plan.groups or "released before"
    return replace(
        plan,
        sql=f"{plan.sql} -- {number}",
        keys=columns,
        parts=parts,
        exhaustive=exhaustive,
        groups=groups,
        alone=False,
    )
