"""Answers made of earlier releases. Post-processing: it sees released numbers and public facts alone.

A coarser table is the sum of a finer one that is public and has everybody in it: the sums of its noisy integers are
unbiased, and their variances add up. A table of fewer rows is one of cells that are known, where its conditions are on
keys of these (:mod:`rewriter.planner.drill_downs`). Several independent tables of the same groups are combined by
inverse variance. Where that is less accurate than was asked, only the rest is measured afresh. Independent
information, 1/variance, adds up: with V the variance that was asked for and D that of the earlier releases, the fresh
measurement needs 1/V - 1/D of it. Gaussian noise costs in proportion to information, ρ·(1 - V/D); Laplace noise in
proportion to its root, ε·√(1 - V/D).

The price of a statement follows from the text, the policy, and the list of earlier releases, never from their numbers.
Only measured tables are stored, and no combined ones: so all tables in the store are independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpsql.accounting import Accounting, PrivacyLoss
from dpsql.calibrate import CalibratedBlock, Calibration, measure
from dpsql.inference.consistency import DerivedTable, Evidence, agreeing, sums_of
from dpsql.inference.estimates import Column
from dpsql.mechanisms import sqrt_at_least
from dpsql.mechanisms.sampling import TooWide
from dpsql.releases import Additive, Entry, Key, NoisyTable, ReleaseFacts, heaviest
from rewriter.plan import UNDECLARED, DrillDown, Plan, asked_family

WEIGHTS = 1 << 16
"""Tables are combined with weights that are whole parts of this: a combination is an integer on so much finer a
lattice."""

_PRICES = 1 << 20
"""What a fresh measurement costs is rounded up to such parts of the whole price."""

LEAST_SAVING = Fraction(1, 100)
"""What was released before is made use of only where it saves more than this part of the price."""


def facts(plan: Plan, scope: str) -> ReleaseFacts | None:
    """What a release of the plan is stored with; None where its groups are not public."""
    if plan.selection is not None:
        return None
    families = {statistic.name: statistic.family for statistic in plan.statistics}
    closed = tuple(key.family for key in plan.keys if key.closed)
    return ReleaseFacts(tuple(key.family for key in plan.keys), families, plan.exhaustive, scope, closed)


def keys_as_asked(entry: Entry, wanted: Collection[str]) -> tuple[str, ...]:
    """The families of an entry's keys; those that have a cell for undeclared values beside wanted groups, as wanted."""
    return tuple(
        asked if family not in wanted and (asked := asked_family(family)) in wanted else family
        for family in entry.facts.keys
    )


def _names_a_cell(groups: Collection[Key]) -> bool:
    """Whether a value that was asked for is spelt as such a cell is."""
    return any(UNDECLARED in group for group in groups)


def drilled(entry: Entry, way: DrillDown, plan: Plan, cells: Collection[Key]) -> Entry | None:
    """The entry as a release of fewer rows: those of its cells that are among ``cells``, under the names that it would
    have as a release of what ``plan`` measures. None where a row of the wanted groups may be in none of its cells."""
    wanted = [column.family for column in way.cells.keys]
    known = keys_as_asked(entry, wanted)
    if way.coarse or _names_a_cell(cells):
        return None
    added_up = set(known) - set(wanted)
    if not set(wanted) <= set(known) or not (entry.facts.exhaustive or added_up <= set(entry.facts.closed)):
        return None
    places, among = [known.index(family) for family in wanted], frozenset(cells)
    kept = [at for at, key in enumerate(entry.table.keys) if tuple(key[place] for place in places) in among]
    size = len(entry.table.keys)
    table = NoisyTable(
        tuple(entry.table.keys[at] for at in kept),
        {
            name: tuple(column[at] for at in kept)
            for name, column in entry.table.statistics.items()
            if len(column) == size
        },
        entry.table.noise,
    )
    own = dict(zip(wanted, (key.family for key in plan.keys), strict=False))
    keys = tuple(own.get(family, f"{family} of fewer rows") for family in known)
    mine = {statistic.name: statistic.family for statistic in plan.statistics}
    named = {family: mine[name] for name, family in way.statistics.items()}
    statistics = {
        name: named[family]
        for name, family in entry.facts.statistics.items()
        if family in named and name in table.statistics
    }
    # The keys that are added up over have no other values, as was seen above.
    return Entry(entry.number, ReleaseFacts(keys, statistics, True, entry.facts.scope), table)


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A stored table, added up to the wanted groups: ``counts`` of its cells make up each of them.

    ``table`` has the wanted groups and the wanted names of statistics; its noise is that of one stored cell.
    ``finer`` is the stored table under these names, and ``parents`` the place of the wanted group of each of its cells,
    -1 for those that are in none. ``keys`` are the families of its keys, ``stored`` is the table as it is stored.
    """

    number: int
    keys: tuple[str, ...]
    table: NoisyTable
    counts: tuple[int, ...]
    finer: NoisyTable
    parents: tuple[int, ...]
    stored: NoisyTable

    def variance(self, name: str, cell: int | None = None) -> Fraction:
        """Of one group, or the largest of any."""
        count = max(self.counts, default=1) if cell is None else self.counts[cell]
        return self.finer.noise[name].square * count


def source(entry: Entry, plan: Plan, groups: Sequence[Key]) -> StoredSource | None:
    """The entry as a source of what the plan measures; None where not every group is the sum of its groups."""
    names = _shared_statistics(entry, plan)
    wanted = [key.family for key in plan.keys]
    known = keys_as_asked(entry, wanted)
    if known != entry.facts.keys and not any(key.celled for key in plan.keys) and _names_a_cell(groups):
        return None
    if not names or not set(wanted) <= set(known) or not (entry.facts.exhaustive or set(wanted) == set(known)):
        return None
    places = [known.index(family) for family in wanted]
    at = {group: place for place, group in enumerate(groups)}
    parents = tuple(at.get(tuple(key[place] for place in places), -1) for key in entry.table.keys)
    counts = [0] * len(groups)
    for parent in parents:
        if parent >= 0:
            counts[parent] += 1
    if not all(counts):
        return None
    finer = NoisyTable(
        entry.table.keys,
        {name: entry.table.statistics[stored] for name, stored in names.items()},
        {name: entry.table.noise[stored] for name, stored in names.items()},
    )
    sums = {name: tuple(sums_of(column, parents, len(groups))) for name, column in finer.statistics.items()}
    table = NoisyTable(tuple(groups), sums, finer.noise)
    return StoredSource(entry.number, known, table, tuple(counts), finer, parents, entry.table)


def _shared_statistics(entry: Entry, plan: Plan) -> dict[str, str]:
    """The stored name of each statistic of the plan that the entry has, where it is a number of each group."""
    stored = {family: name for name, family in entry.facts.statistics.items() if family}
    size = len(entry.table.keys)
    return {
        statistic.name: stored[statistic.family]
        for statistic in plan.statistics
        if statistic.family in stored and len(entry.table.statistics[stored[statistic.family]]) == size
    }


# What is missing


@dataclass(frozen=True, slots=True)
class Offer:
    """What a release can be made of: for each block of the ``wanted`` plan some sources, and what is measured afresh.

    ``fresh`` is None where nothing is: then the release is free.
    """

    wanted: Calibration
    sources: tuple[tuple[StoredSource, ...], ...]
    groups: tuple[Key, ...]
    fresh: Calibration | None

    @property
    def loss(self) -> PrivacyLoss:
        return self.fresh.loss if self.fresh else PrivacyLoss()

    @property
    def numbers(self) -> tuple[tuple[int, ...], ...]:
        """Which stored releases it is made of."""
        return tuple(tuple(one.number for one in chosen) for chosen in self.sources)


def offer(
    wanted: Calibration, sources: Sequence[StoredSource], groups: Sequence[Key], accounting: Accounting
) -> Offer | None:
    """The cheapest way to the wanted table from earlier releases; None where a release of its own is as good."""
    chosen: list[tuple[StoredSource, ...]] = []
    fresh: list[CalibratedBlock] = []
    for one in wanted.measured:
        picked = _picked(one, sources)
        rest = None if picked and _suffices(one, picked, None) else _rest(one, picked, accounting)
        chosen.append(() if rest is one else picked)
        fresh += [rest] if rest is not None else []
    if not any(chosen):
        return None
    return Offer(wanted, tuple(chosen), tuple(groups), _partly(wanted, fresh) if fresh else None)


def _picked(wanted: CalibratedBlock, sources: Sequence[StoredSource]) -> tuple[StoredSource, ...]:
    """The sources for a block: all that have the same keys, since together they are what was shown of these keys; and
    only where they do not suffice, those of other keys too."""
    names = [statistic.name for statistic in wanted.block.statistics]
    able = [one for one in sources if all(name in one.finer.noise for name in names)]
    alike: dict[frozenset[str], list[StoredSource]] = {}
    for one in sorted(able, key=lambda one: one.number):
        alike.setdefault(frozenset(one.keys), []).append(one)
    picked: tuple[StoredSource, ...] = ()
    for group in sorted(alike.values(), key=lambda group: -sum(1 / one.variance(names[0]) for one in group)):
        picked += tuple(group)
        if _suffices(wanted, picked, None):
            break
    return picked


def _suffices(wanted: CalibratedBlock, sources: Sequence[StoredSource], fresh: CalibratedBlock | None) -> bool:
    more = fresh.mechanism.square if fresh else None
    asked = wanted.mechanism.square
    return all(
        _combined_variance(
            weights([one.variance(statistic.name) for one in sources], more), sources, statistic.name, more
        )
        <= asked
        for statistic in wanted.block.statistics
    )


def _rest(wanted: CalibratedBlock, sources: Sequence[StoredSource], accounting: Accounting) -> CalibratedBlock:
    """The fresh measurement that makes what there is as good as asked; ``wanted`` itself where that saves nothing."""
    asked = wanted.mechanism.square
    missing = max(
        1 - asked * sum((1 / one.variance(statistic.name) for one in sources), Fraction(0))
        for statistic in wanted.block.statistics
    )
    part = _rounded_up(accounting.price_of_information(max(missing, Fraction(0))))
    while part < 1 - LEAST_SAVING:
        share = wanted.share.of_noise * part + wanted.share.of_failure
        try:
            fresh = measure(wanted.block, accounting, share)
            if _suffices(wanted, sources, fresh):
                return fresh
        except (TooWide, ValueError, ZeroDivisionError):
            pass  # nothing hides for so little
        part = _rounded_up(part + (1 - part) / 64)
    return wanted


def _rounded_up(part: Fraction) -> Fraction:
    return Fraction(math.floor(part * _PRICES) + 1, _PRICES)


def _partly(wanted: Calibration, measured: Sequence[CalibratedBlock]) -> Calibration:
    """The calibration of those blocks alone, over a plan that reads no others."""
    plan = wanted.plan
    blocks = tuple(one.block for one in measured)
    if blocks != plan.blocks:
        names = [key.name for key in plan.keys] + [s.name for block in blocks for s in block.statistics]
        sql = f"SELECT {', '.join(names)} FROM ({plan.sql}) AS part"
        plan = replace(plan, sql=sql, blocks=blocks, outputs=(), parts=(), orders=())
    return Calibration(plan, tuple(measured), None)


# Combination


def weights(variances: Sequence[Fraction], fresh: Fraction | None) -> tuple[int, ...]:
    """Whole weights in proportion to inverse variances, those of the sources and then of the fresh measurement.

    They add up to ``WEIGHTS``, or are 1 where there is one number alone.

    >>> weights([Fraction(4)], None), weights([Fraction(4)], Fraction(4))
    ((1,), (32768, 32768))
    """
    known = [*variances, *([] if fresh is None else [fresh])]
    if len(known) == 1:
        return (1,)
    information = [1 / one for one in known]
    total = sum(information)
    found = [int(one * WEIGHTS / total) for one in information]
    found[found.index(max(found))] += WEIGHTS - sum(found)
    return tuple(found)


def _combined_variance(
    parts: Sequence[int], sources: Sequence[StoredSource], name: str, fresh: Fraction | None, cell: int | None = None
) -> Fraction:
    """Of Σ weight · number / Σ weight."""
    known = [one.variance(name, cell) for one in sources] + ([] if fresh is None else [fresh])
    total = sum(parts)
    return sum(
        (Fraction(part * part, total * total) * one for part, one in zip(parts, known, strict=True)), Fraction(0)
    )


@dataclass(frozen=True, slots=True)
class Made:
    """A table that was made of earlier releases, with its plan. Its lattice may be finer than the planned one.

    The noise of a statistic is a bound for every group: of the same kind and at least its variance. A group's own
    standard deviation is ``derived.shrunk`` times that. A sum of Laplace noises is treated as Laplace noise of the same
    variance, though it is nearer to a Gaussian: the half-width is up to 8 % larger than need be.
    """

    plan: Plan
    table: NoisyTable
    derived: DerivedTable | None = None

    def answering(self, plan: Plan) -> Made:
        """The same table for another plan that measures the same and shows something else of it."""
        if self.derived is not None and plan == self.derived.planned:
            return self
        steps = {one.name: one.granularity for one in self.plan.statistics}
        finer = {one.name: int(one.granularity / steps[one.name]) for one in plan.statistics}
        if self.derived is None:
            return Made(refined(plan, finer), self.table)
        derived = replace(self.derived, planned=plan)
        if plan.parts != self.derived.planned.parts:
            derived = replace(derived, columns=None, lifted=())
        return Made(refined(plan, finer), self.table, derived)


def made(found: Offer, fresh: NoisyTable | None) -> Made:
    """The table that was asked: sums of earlier releases, combined with the fresh measurement."""
    plan = found.wanted.plan
    groups = found.groups if fresh is None else fresh.keys
    refinement: dict[str, int] = {}
    statistics: dict[str, tuple[int, ...]] = {}
    noise: dict[str, Additive] = {}
    shrunk = [0.0] * len(groups)
    for block, sources in zip(plan.blocks, found.sources, strict=True):
        for statistic in block.statistics:
            name = statistic.name
            measured = fresh.noise[name] if fresh is not None and name in fresh.noise else None
            own = measured.square if measured else None
            parts = weights([one.variance(name) for one in sources], own)
            refinement[name] = sum(parts)
            columns = [_ordered(one.table, name, groups) for one in sources]
            columns += [fresh.statistics[name]] if fresh is not None and measured else []
            statistics[name] = _weighted(parts, columns)
            most = _combined_variance(parts, sources, name, own)
            noise[name] = measured if measured and not sources else _noise(most, sources, name, measured, sum(parts))
            for cell, factor in enumerate(_factors(parts, sources, name, own, most, len(groups))):
                shrunk[cell] = max(shrunk[cell], factor)
    table = NoisyTable(groups, statistics, noise)
    plan = refined(plan, refinement)
    agreed = None if fresh is not None else _agreeing(found, table, plan, shrunk)
    return Made(plan, table, DerivedTable(agreed, (), np.array(shrunk), found.wanted.plan, _evidence(found), fresh))


def _evidence(found: Offer) -> tuple[Evidence, ...]:
    every = {one.number: Evidence(one.number, one.keys, one.finer, one.stored) for o in found.sources for one in o}
    return tuple(every.values())


def _agreeing(found: Offer, table: NoisyTable, plan: Plan, shrunk: Sequence[float]) -> list[Column] | None:
    """Finished parts that agree with the shown numbers of the finer table, if the table was made of tables with its
    keys alone."""
    sources = found.sources[0]
    if len({frozenset(one.keys) for one in sources}) != 1 or any(other != sources for other in found.sources):
        return None
    first = sources[0]
    if any(_groups_in_order(one, first) != set(first.finer.keys) for one in sources):
        return None  # One was released with a group more, such as that of NULL.
    columns: dict[str, tuple[int, ...]] = {}
    for name in first.finer.statistics:
        parts = weights([one.variance(name) for one in sources], None)
        columns[name] = _weighted(parts, [_in_order(one, name, first) for one in sources])
    finer = NoisyTable(first.finer.keys, columns, table.noise)
    return agreeing(table, plan, finer, first.parents, shrunk)


def _groups_in_order(one: StoredSource, first: StoredSource) -> set[Key]:
    """The groups of a finer table, with their keys in the order of another one's."""
    places = [one.keys.index(key) for key in first.keys]
    return {tuple(key[place] for place in places) for key in one.finer.keys}


def _in_order(one: StoredSource, name: str, first: StoredSource) -> Sequence[int]:
    """A statistic of a finer table, in the order of another one of the same keys."""
    if one.keys == first.keys:
        return _ordered(one.finer, name, first.finer.keys)
    places = [first.keys.index(key) for key in one.keys]
    at = dict(zip(one.finer.keys, one.finer.statistics[name], strict=True))
    return [at[tuple(key[place] for place in places)] for key in first.finer.keys]


def _weighted(parts: Sequence[int], columns: Sequence[Sequence[int]]) -> tuple[int, ...]:
    if len(parts) == 1:
        return tuple(columns[0])
    return tuple(
        sum(part * number for part, number in zip(parts, numbers, strict=True))
        for numbers in zip(*columns, strict=True)
    )


def _ordered(table: NoisyTable, name: str, groups: Sequence[Key]) -> Sequence[int]:
    if table.keys == groups:
        return table.statistics[name]
    at = dict(zip(table.keys, table.statistics[name], strict=True))
    return [at[group] for group in groups]


def _noise(most: Fraction, sources: Sequence[StoredSource], name: str, fresh: Additive | None, steps: int) -> Additive:
    law = heaviest([*(one.finer.noise[name] for one in sources), *([fresh] if fresh else [])])
    return law(Fraction(sqrt_at_least(law.square_of_scale(most))) * steps)


def _factors(
    parts: Sequence[int], sources: Sequence[StoredSource], name: str, fresh: Fraction | None, most: Fraction, size: int
) -> list[float]:
    """For each group, its standard deviation over the largest one."""
    if not sources:
        return [1.0] * size
    patterns = list(zip(*(one.counts for one in sources), strict=True))
    first = {pattern: cell for cell, pattern in reversed(list(enumerate(patterns)))}
    factor = {
        pattern: math.sqrt(_combined_variance(parts, sources, name, fresh, cell) / most)
        for pattern, cell in first.items()
    }
    return [factor[pattern] for pattern in patterns]


def refined(plan: Plan, refinement: Mapping[str, int]) -> Plan:
    """The same plan over lattices that are finer by whole factors."""
    if all(factor == 1 for factor in refinement.values()):
        return plan
    blocks = tuple(
        replace(
            block,
            statistics=tuple(
                replace(one, granularity=one.granularity / refinement[one.name], bound=one.bound * refinement[one.name])
                for one in block.statistics
            ),
        )
        for block in plan.blocks
    )
    outputs = tuple(replace(one, estimator=one.estimator.finer(refinement)) for one in plan.outputs)
    parts = tuple(replace(part, estimator=part.estimator.finer(refinement)) for part in plan.parts)
    return replace(plan, blocks=blocks, outputs=outputs, parts=parts)
