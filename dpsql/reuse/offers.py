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
from dpsql.reuse.derive import Made, Offer, facts, made, offer, source
from rewriter.canonical_form import identity_of
from rewriter.plan import Plan

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
        self._given: Memory[tuple[object, ...], Offer] = memories.memory("free offers", _REMEMBERED)

    def facts(self, plan: Plan) -> ReleaseFacts | None:
        """What a release of the plan is to be stored with."""
        return facts(plan, self._scope)

    def offer(self, wanted: Calibration, turn: Turn | None = None) -> Offer | None:
        """The cheapest way to a release with what is stored; None where a release of its own is as good.

        Public groups are listed in the ``turn`` of a statement that has one.
        """
        plan, opened = wanted.plan, self._opened
        families = {statistic.family for statistic in plan.statistics} - {""}
        running = any(block.prefix is not None for block in plan.blocks)
        if not wanted.loss or not families or running or plan.choices or (plan.keys and not plan.groups):
            return None
        entries = opened.store.related(sorted(families), opened.version(plan), self._scope, most=MOST_SOURCES)
        if not entries:
            return None
        asked = (plan, wanted.loss)
        given = self._given.known(asked)
        if given is not None and {entry.number for entry in entries}.issuperset(chain(*given.numbers)):
            return given
        key = (*asked, *(entry.number for entry in entries))
        found = self._offers.get(key, lambda: self._offer(wanted, entries, turn))
        if found is not None and found.fresh is None:
            self._given.keep(asked, found)
        return found

    def _offer(self, wanted: Calibration, entries: Sequence[Entry], turn: Turn | None) -> Offer | None:
        groups = self._groups(wanted.plan, turn)
        found = [one for one in (source(entry, wanted.plan, groups) for entry in entries) if one is not None]
        return offer(wanted, found, groups, self._opened.accountant.accounting) if found else None

    def made(self, found: Offer, fresh: NoisyTable | None) -> Made:
        """The table that was offered. One that is made of stored releases alone is the same object every time."""
        if fresh is not None:
            return made(found, fresh)
        key = (found.wanted.plan, found.numbers)
        return self._made.get(key, lambda: made(found, None))

    def _groups(self, plan: Plan, turn: Turn | None) -> Sequence[Key]:
        if not plan.keys:
            return ((),)
        listing = Plan(plan.groups, plan.dialect, plan.keys, (), (), None, plan.cells)
        return self._opened.engine.run(listing, self._opened.timeout, None, turn).keys
