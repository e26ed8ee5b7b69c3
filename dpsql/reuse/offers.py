"""Offers: the stored releases from which another can be made, of its families, policy and data version.

Guarantee: whether an offer is found, and its price, follow from the text, the policy and the list of earlier releases.
The groups that are compared are public: no row of people is read for a price. An answer that was free once is made of
the same releases again while it is remembered, whatever was released since: the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from dpsql.calibrate import Calibration
from dpsql.engines import Turn
from dpsql.memory import Memory
from dpsql.opened import Opened
from dpsql.releases import Entry, Key, NoisyTable, ReleaseFacts
from dpsql.reuse.derive import Made, Offer, drilled, facts, made, offer, source
from dpsql.reuse.joined_periods import joined
from rewriter.canonical_form import identity_of
from rewriter.plan import DrillDown, Plan

MOST_SOURCES = 16
"""The most stored releases that are looked at for one that is asked."""

_REMEMBERED = 64


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
        self._ways: Memory[Plan, tuple[DrillDown, ...]] = memories.memory("drill-downs", _REMEMBERED)
        self._given: Memory[tuple[object, ...], Offer] = memories.memory("free offers", _REMEMBERED)

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
        ways = self._ways.get(plan, plan.drill_downs)
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
        groups = self._groups(plan, turn)
        every: list[Entry | None] = [*entries]
        for way, some in wider:
            cells = self._opened.engine.run(way.cells, self._opened.timeout, None, turn).keys
            every += [drilled(entry, way, plan, cells) for entry in some]
        known = (None if entry is None else source(entry, plan, groups) for entry in every)
        found = [one for one in known if one is not None]
        return offer(wanted, found, groups, self._opened.accountant.accounting) if found else None

    def made(self, found: Offer, fresh: NoisyTable | None) -> Made:
        """The table that was offered. One that is made of stored releases alone is the same object every time."""
        if fresh is not None:
            return made(found, fresh)
        key = (found.wanted.plan, found.numbers)
        return self._made.get(key, lambda: made(found, None))

    def joined(self, whole: Plan, parts: Sequence[Made]) -> Made:
        """The table of a series. One that is made of the same tables is the same object every time."""
        key = (whole, *(id(part.table) for part in parts))
        # The tables are kept with it: no other object can have the identity of one meanwhile.
        return self._series.get(key, lambda: (joined(whole, parts), tuple(parts)))[0]

    def _groups(self, plan: Plan, turn: Turn | None) -> Sequence[Key]:
        if not plan.keys:
            return ((),)
        listing = Plan(plan.groups, plan.dialect, plan.keys, (), (), None, plan.cells)
        return self._opened.engine.run(listing, self._opened.timeout, None, turn).keys
