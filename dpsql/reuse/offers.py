"""Offers: the stored releases from which another can be made, of its families, policy and data version.

Guarantee: whether an offer is found, and its price, follow from the text, the policy and the list of earlier releases.
The groups that are compared are public: no row of people is read for a price. An answer that was free once is made of
the same releases again while it is remembered, whatever was released since: the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from itertools import chain, repeat

from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import Calibration, calibrate, margins
from dpsql.engines import Turn
from dpsql.memory import Memory
from dpsql.opened import Opened
from dpsql.releases import BOUGHT_TOGETHER, BoughtTogether, Entry, Key, NoisyTable, ReleaseFacts
from dpsql.reuse.clipped_alike import clipped_alike
from dpsql.reuse.completed import Base, Completion, completion, widest
from dpsql.reuse.conditional_tiles import of_each_condition, of_several
from dpsql.reuse.derive import Made, Offer, drilled, facts, made, offer, source
from dpsql.reuse.joined_periods import added_up, joined
from dpsql.reuse.readings import Reading
from dpsql.reuse.tiles import (
    BoughtMember,
    CellSums,
    Combines,
    Lattice,
    Shown,
    Tile,
    knows,
    measures_of,
    noise_of,
    only_sums,
    shown_together,
    sums_of_cells,
    tile,
)
from rewriter.canonical_form import identity_of
from rewriter.plan import DrillDown, Plan, PlanApart

MOST_SOURCES = 16
"""The most stored releases that are looked at for one that is asked."""

MOST_WIDER = 3
"""What was bought together is given for nothing while its error is at most so many times what the usual price buys."""

_REMEMBERED = 64

_LISTED: ContextVar[dict[Hashable, Sequence[Key]] | None] = ContextVar("public groups, listed once", default=None)


@contextmanager
def listing_once() -> Iterator[None]:
    """Public groups are the same until the end, however often they are asked for: each list of them is read once."""
    if _LISTED.get() is not None:
        yield
        return
    token = _LISTED.set({})
    try:
        yield
    finally:
        _LISTED.reset(token)


_Purchase = tuple[Entry, BoughtTogether, str, Turn | None]
"""What was bought as one, what it is, the version of its data, and the turn in which public groups are listed."""


class Reuse:
    """The releases of one opened policy as sources of others. Thread-safe."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        # Another policy may declare other groups: then nobody knows that the stored ones were all there are.
        self._scope = identity_of(opened.declared.undated)
        memories = opened.memories
        self._offers: Memory[tuple[object, ...], Offer | None] = memories.memory("offers of releases", _REMEMBERED)
        self._made: Memory[tuple[object, ...], Made] = memories.memory("derived releases", _REMEMBERED)
        self._series: Memory[tuple[object, ...], tuple[Made, tuple[Made, ...]]] = memories.memory("series", _REMEMBERED)
        self._ways: Memory[tuple[object, ...], tuple[DrillDown, ...]] = memories.memory("drill-downs", _REMEMBERED)
        self._apart: Memory[Plan, tuple[PlanApart, ...]]
        self._apart = memories.memory("plans of each condition", _REMEMBERED)
        self._alike: Memory[Plan, Plan | None] = memories.memory("plans of rows as workloads measure them", _REMEMBERED)
        self._tiles: Memory[tuple[object, ...], Tile | None] = memories.memory("tiles", _REMEMBERED)
        self._completions: Memory[tuple[object, ...], Completion | None]
        self._completions = memories.memory("completed tiles", _REMEMBERED)
        self._lattices: Memory[int, Lattice | None] = memories.memory("bought together", _REMEMBERED)
        self._shown: Memory[tuple[object, ...], tuple[Lattice, Shown]] = memories.memory("shown together", _REMEMBERED)
        self._given: Memory[tuple[object, ...], Offer] = memories.memory("free offers", _REMEMBERED)

    @property
    def scope(self) -> str:
        """The name of the declarations that releases are planned under."""
        return self._scope

    def tiles(
        self, wanted: Sequence[Calibration], turn: Turn | None = None, *, combines: Combines, usual: bool = True
    ) -> list[Tile]:
        """Releases of the same rows, all of them made of those that were bought as one with them; none where one is
        not, since the others would not agree with what is measured for it.

        At the ``usual`` accuracy they are given where who bought them asked for them as well, and where they are not
        much less accurate than wanted; else where they are no less accurate.
        """
        if not all(only_sums(one.plan) and one.loss for one in wanted):
            return []
        versions = {self._opened.version(one.plan) for one in wanted}
        for version in versions if len(versions) == 1 else ():
            for entry in self._together(version):
                found = [self._known_tile(one, entry, version, turn, combines=combines, usual=usual) for one in wanted]
                made = [one for one in found if one is not None]
                if len(made) == len(wanted):
                    return made
        return []

    def _known_tile(
        self, wanted: Calibration, entry: Entry, version: str, turn: Turn | None, *, combines: Combines, usual: bool
    ) -> Tile | None:
        """The release of one purchase, remembered."""
        key = (wanted.plan, wanted.loss, entry.number, combines, usual)
        return self._tiles.get(key, partial(self._tile, wanted, entry, version, turn, combines=combines, usual=usual))

    def _together(self, version: str) -> list[Entry]:
        """What was bought as one, the latest first; what completes it comes last, so that no answer changes by it."""
        found = self._opened.store.together(version, self._scope)
        return sorted(
            found, key=lambda entry: entry.facts.together is not None and bool(entry.facts.together.completing)
        )

    def completion(self, wanted: Calibration, turn: Turn | None = None, *, combines: Combines) -> Completion | None:
        """The release, of which only those components are measured that no release tells of that was bought as one;
        None where it is as good measured whole."""
        plan, opened = wanted.plan, self._opened
        accounting = opened.accountant.accounting
        if not accounting.concentrated or not only_sums(plan) or not wanted.loss:
            return None
        version = opened.version(plan)
        found: list[Completion] = []
        for entry in self._together(version):
            key = (plan, wanted.loss, entry.number, combines)
            made = partial(self._completion, wanted, entry, version, turn, combines=combines)
            one = self._completions.get(key, made)
            found += [] if one is None else [one]
        return min(found, key=widest, default=None)

    def _completion(
        self, wanted: Calibration, entry: Entry, version: str, turn: Turn | None, *, combines: Combines
    ) -> Completion | None:
        plan, together = wanted.plan, entry.facts.together
        if together is None or not together.statistics or together.merged:
            return None
        cuts = dict(together.cuts)
        over = self._ways.get((plan, True, together.cuts), partial(plan.drill_downs, cuts))
        # Other intervals would not be found again. People are clipped as in the statement's own release.
        same = (way for way in over if not (way.narrows or way.joined) and way.cuts.items() <= cuts.items())
        ways: list[tuple[Plan | None, DrillDown | None]] = [(plan, None), *((way.whole(), way) for way in same)]
        accounting = self._opened.accountant.accounting
        for measured, way in ways:
            if measured is None or not measured.exhaustive or tuple(measures_of(measured)) != together.statistics:
                continue
            if way is not None and tuple(measures_of(plan, way)) != together.statistics:
                continue
            lattice = self.lattice(entry, together, version)
            if lattice is None:
                return None
            every, groups = tuple(self.groups(measured, turn)), tuple(self.groups(plan, turn))
            cells = () if way is None else tuple(self._groups_of(way.cells, turn))
            base = Base(entry, together, lattice, plan, measured, way, groups, cells, every)
            found = completion(wanted, base, accounting, self._scope, version, combines=combines)
            if found is not None:
                return found
        return None

    def keep(self, found: Offer | Tile | Completion | None) -> None:
        """Keep with others what completes them, once it was measured."""
        if isinstance(found, Completion):
            self._opened.store.put(BOUGHT_TOGETHER, found.version, *found.kept)

    def bought_at(self, plans: Sequence[Plan]) -> PrivacyLoss | None:
        """The price at which the releases of a statement were bought beside others; None where they were not."""
        members = tuple((plan.identity, (), ()) for plan in plans)
        for entry in self._opened.store.together(self._opened.version(plans[0]), self._scope) if plans else ():
            if entry.facts.together is not None and entry.facts.together.members == members:
                epsilon, rho, delta, *curve = entry.facts.together.share
                return PrivacyLoss(epsilon, rho, delta, tuple(curve))
        return None

    def _tile(
        self,
        wanted: Calibration,
        entry: Entry,
        version: str,
        turn: Turn | None,
        *,
        combines: Combines,
        usual: bool,
    ) -> Tile | None:
        together = entry.facts.together
        if together is None or not together.statistics:
            return None
        purchase, most = (entry, together, version, turn), MOST_WIDER if usual else 1
        for found, asked in self._of_cells(wanted, purchase, combines):
            if (usual and asked) or _is_near(found.wanted, wanted, most):
                return found
        for found, asked in self._of_conditions(wanted, purchase, combines=combines):
            if (usual and asked) or _is_near(found.wanted, wanted, most):
                return found
        return None

    def _of_cells(
        self, wanted: Calibration, purchase: _Purchase, combines: Combines, filters: int = 1
    ) -> Iterator[tuple[Tile, bool]]:
        """The release as sums of cells of a purchase, in each way that there is, and whether those were asked for."""
        plan = wanted.plan
        entry, together, version, turn = purchase
        readings = dict(together.readings)
        ways: list[DrillDown | None] = []
        own = self._as_measured(plan, together.statistics, readings)
        if knows(together.statistics, readings, measures_of(own)):
            ways.append(None)
        for measured in filter(None, (plan, self.clipped_alike(plan))):
            over = partial(measured.drill_downs, dict(together.cuts))
            known = self._ways.get((measured, measured is plan, together.cuts), over)
            ways += [one for one in known if knows(together.statistics, readings, measures_of(measured, one))]
        if not ways or (lattice := self.lattice(entry, together, version)) is None:
            return
        for way in ways:
            found = self.made_of(wanted, lattice, way, turn, entry.number, together.asked, combines, filters=filters)
            if found is None:
                continue
            keys = frozenset(one.attribute for one in plan.keys) if way is None else frozenset(way.keys)
            asked = keys in {frozenset(one) for one in together.asked}
            if together.sums:
                asked = plan.identity in together.sums
            yield found, asked

    def _of_conditions(
        self, wanted: Calibration, purchase: _Purchase, *, combines: Combines
    ) -> Iterator[tuple[Tile, bool]]:
        """The release, of several FILTERs, as sums of cells for each of them; and whether all those were asked for."""
        plans = self.by_conditions(wanted.plan, purchase[-1])
        combines = of_several(plans, combines)
        tiles: list[tuple[Tile, PlanApart]] = []
        all_asked = True
        for one in plans:
            ways = self._of_condition(wanted, one, purchase, combines, len(plans))
            if not ways:
                return
            tile, asked = next((way for way in ways if way[1]), ways[0])
            tiles.append((tile, one))
            all_asked = all_asked and asked
        found = of_each_condition(wanted, tiles) if tiles else None
        if found is not None:
            yield found, all_asked

    def _of_condition(
        self, wanted: Calibration, apart: PlanApart, purchase: _Purchase, combines: Combines, filters: int
    ) -> list[tuple[Tile, bool]]:
        """Of one FILTER: as sums of cells of rows that it leaves, or else as it was measured as a FILTER itself."""
        accounting, turn = self._opened.accountant.accounting, purchase[-1]
        found = list(self._of_cells(calibrate(apart.plan, accounting, wanted.loss), purchase, combines, filters))
        if found:
            return found
        plan = apart.filtered()
        if not only_sums(plan) or tuple(self.groups(plan, turn)) != tuple(self.groups(wanted.plan, turn)):
            return []
        return list(self._of_cells(calibrate(plan, accounting, wanted.loss), purchase, combines, filters))

    def by_conditions(self, plan: Plan, turn: Turn | None = None) -> tuple[PlanApart, ...]:
        """The plans that the outputs of a plan are made of, each of the rows that one FILTER leaves, where all of them
        have its groups: not those of a FILTER on a key, which leaves some groups without a row."""
        found = self._apart.get(plan, plan.by_conditions)
        if not found or not all(only_sums(one.plan) for one in found):
            return ()
        groups = tuple(self.groups(plan, turn))
        return found if all(tuple(self.groups(one.plan, turn)) == groups for one in found) else ()

    def made_of(
        self,
        wanted: Calibration,
        lattice: Lattice,
        way: DrillDown | None,
        turn: Turn | None = None,
        number: int = 0,
        asked: Sequence[Sequence[str]] = (),
        combines: Combines = Combines.NOTHING,
        *,
        filters: int = 1,
    ) -> Tile | None:
        """The release as sums of cells of a lattice."""
        sums = self.sums(wanted.plan, lattice, way, turn)
        if sums is None:
            return None
        shown = self._shown_of(lattice, asked, sums.plan, sums.names) if number else None
        found = tile(wanted, lattice, sums, self.groups(wanted.plan, turn), number, shown, combines, filters=filters)
        return replace(found, of_all_rows=way is not None and way.narrows)

    def sums(self, plan: Plan, lattice: Lattice, way: DrillDown | None, turn: Turn | None = None) -> CellSums | None:
        """The groups of a plan as sums of cells of a lattice; None where they are none."""
        groups = self.groups(plan, turn)
        cells: Sequence[Key] = () if way is None else self._groups_of(way.cells, turn)
        if way is None:
            measured = self._as_measured(plan, lattice.measures, lattice.readings)
        else:
            measured = (self.clipped_alike(plan) if way.joined else None) or plan
        return sums_of_cells(lattice, measured, groups, way, cells)

    def clipped_alike(self, plan: Plan) -> Plan | None:
        """The plan over the statistics that a workload has for it, remembered."""
        return self._alike.get(plan, lambda: clipped_alike(plan))

    def _as_measured(self, plan: Plan, measures: Sequence[str], readings: Mapping[str, Reading]) -> Plan:
        """The plan, or the form of it that a workload measured, where these are its statistics."""
        if knows(measures, readings, measures_of(plan)):
            return plan
        return self.clipped_alike(plan) or plan

    def _shown_of(
        self, lattice: Lattice, asked: Sequence[Sequence[str]], plan: Plan, names: tuple[tuple[int, str], ...]
    ) -> Shown:
        # The identity of a lattice is that of what is kept with it, and of nothing else meanwhile.
        key = (id(lattice), plan.parts, names)
        return self._shown.get(key, lambda: shown_together(lattice, asked, plan, names))[1]

    def lattice(self, entry: Entry, together: BoughtTogether, version: str) -> Lattice | None:
        """All members of what was bought as one; None where one is not there any more."""
        return self._lattices.get(entry.number, lambda: self._lattice(entry, together, version))

    def _lattice(self, entry: Entry, together: BoughtTogether, version: str) -> Lattice | None:
        members: list[BoughtMember] = []
        parts = [*zip(together.members, repeat(False)), *zip(together.completing, repeat(True))]
        for (identity, names, keys), completing in parts:
            noise = entry.table.noise
            # Versions before 1.0.0 kept one noise of a release, by its identity alone.
            known = {name: noise.get(noise_of(identity, name), noise.get(identity)) for name in names}
            own = {name: one for name, one in known.items() if one is not None}
            table = self._opened.store.get(identity, version, own) if len(own) == len(names) else None
            if table is None:
                return None
            members.append(BoughtMember(keys, table, names, completing))
        try:
            return Lattice(together.statistics, tuple(members), dict(together.readings), dict(together.merged))
        except ValueError:
            return None

    def facts(self, plan: Plan) -> ReleaseFacts | None:
        """What a release of the plan is to be stored with."""
        return None if plan.steps else facts(plan, self._scope)

    def offer(self, wanted: Calibration, turn: Turn | None = None) -> Offer | None:
        """The cheapest way to a release with what is stored; None where a release of its own is as good.

        Public groups are listed in the ``turn`` of a statement that has one.
        """
        plan, opened = wanted.plan, self._opened
        families = {statistic.family for statistic in plan.statistics} - {""}
        running = any(block.prefix is not None for block in plan.blocks)
        if plan.steps or not wanted.loss or not families or running or plan.choices or (plan.keys and not plan.groups):
            return None
        version = opened.version(plan)
        entries = opened.store.related(sorted(families), version, self._scope, most=MOST_SOURCES)
        wider = self._wider(plan, version)
        numbers = [entry.number for some in (entries, *(some for _, some in wider)) for entry in some]
        if not numbers:
            return None
        asked = (plan, wanted.loss)
        given = self._given.known(asked)
        if given is not None and set(numbers).issuperset(chain(*given.numbers)):
            return given
        key = (*asked, *numbers)
        found = self._offers.get(key, lambda: self._offer(wanted, entries, wider, turn))
        if found is not None and found.fresh is None:
            self._given.keep(asked, found)
        return found

    def _wider(self, plan: Plan, version: str) -> list[tuple[DrillDown, Sequence[Entry]]]:
        """The releases over more rows that may have the plan's groups among their cells."""
        ways = self._ways.get((plan, True, ()), plan.drill_downs)
        related = (
            (way, self._opened.store.related(sorted(way.statistics.values()), version, self._scope, most=MOST_SOURCES))
            for way in ways
        )
        return [(way, entries) for way, entries in related if entries]

    def _offer(
        self,
        wanted: Calibration,
        entries: Sequence[Entry],
        wider: Sequence[tuple[DrillDown, Sequence[Entry]]],
        turn: Turn | None,
    ) -> Offer | None:
        plan = wanted.plan
        groups = self.groups(plan, turn)
        every: list[Entry | None] = [*entries]
        for way, some in wider:
            cells = self._opened.engine.run(way.cells, self._opened.timeout, None, turn).keys
            every += [drilled(entry, way, plan, cells) for entry in some]
        known = (None if entry is None else source(entry, plan, groups) for entry in every)
        found = [one for one in known if one is not None]
        return offer(wanted, found, groups, self._opened.accountant.accounting) if found else None

    def made(self, found: Offer | Tile | Completion, fresh: NoisyTable | None) -> Made:
        """The table that was offered. One that is made of stored releases alone is the same object every time."""
        if isinstance(found, Tile):
            return found.made
        if isinstance(found, Completion):
            if fresh is None:
                raise AssertionError("what is missing was measured")
            return found.finished(fresh).made
        if fresh is not None:
            return made(found, fresh)
        key = (found.wanted.plan, found.numbers)
        return self._made.get(key, lambda: made(found, None))

    def joined(self, whole: Plan, parts: Sequence[Made], *, adds_up: bool) -> Made:
        """The table of a series. One that is made of the same tables is the same object every time."""
        key = (whole, *(id(part.table) for part in parts))
        # The tables are kept with it: no other object can have the identity of one meanwhile.
        made_of = added_up if adds_up else joined
        return self._series.get(key, lambda: (made_of(whole, parts), tuple(parts)))[0]

    def groups(self, plan: Plan, turn: Turn | None = None) -> Sequence[Key]:
        if not plan.keys:
            return ((),)
        return self._groups_of(Plan(plan.groups, plan.dialect, plan.keys, (), (), None, plan.cells), turn)

    def _groups_of(self, listing: Plan, turn: Turn | None) -> Sequence[Key]:
        listed = _LISTED.get()
        key = (self, listing.sql, listing.keys)
        if listed is not None and key in listed:
            return listed[key]
        groups = self._opened.engine.run(listing, self._opened.timeout, None, turn).keys
        if listed is not None:
            listed[key] = groups
        return groups


def _is_near(made: Calibration, wanted: Calibration, times: int) -> bool:
    """Whether no output is farther off than so many times what was wanted."""
    here, there = (margins(one.plan, one) for one in (made, wanted))
    return all(width <= times * there[name] for name, width in here.items())
