"""A release of which some components are known: the others alone are measured, and all are put together.

Guarantee: whether some are, what is measured afresh, its price and the error that is foretold follow from the text, the
policy and the list of earlier releases: tables of zeros stand for what is not read yet. What was measured before keeps
its noise. What is new is one release with its own price, of which the sensitivity is proved
(:mod:`rewriter.strategies.missing_components`); the rest is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from dpsql.accounting import Accounting, PrivacyLoss
from dpsql.calibrate import Calibration, calibrate, margins
from dpsql.errors import Error
from dpsql.releases import BoughtTogether, Entry, Key, NoisyTable, ReleaseFacts
from dpsql.reuse.tiles import (
    BoughtMember,
    CellSums,
    Combines,
    Lattice,
    Tile,
    measures_of,
    noise_of,
    shown_together,
    sums_of_cells,
    tile,
)
from rewriter.front_door import MissingComponents, within
from rewriter.plan import ComponentBlock, DrillDown, Plan

MOST_CELLS = 1 << 14
"""Of larger tables no components are measured: they are looked at one by one."""

MOST_KEYS = 8
"""Components of more keys are too many."""

BETTER = 0.98
"""Components are measured where that makes each error of the statement smaller by this factor, at least."""


@dataclass(frozen=True)
class Base:
    """What was bought before, with the statement's ``groups`` and ``cells`` as they stand before the charge.
    ``measured`` is the plan of all cells, of which the statement's groups are sums by a ``way``, or by none."""

    entry: Entry
    together: BoughtTogether
    lattice: Lattice
    plan: Plan
    measured: Plan
    way: DrillDown | None
    groups: tuple[Key, ...]
    cells: tuple[Key, ...]
    every: tuple[Key, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key.attribute for key in self.measured.keys)

    def components(self) -> MissingComponents | None:
        """What no earlier release tells of; None where that is all or nothing, or groups are no combinations."""
        sizes = tuple(len(set(column)) for column in zip(*self.every, strict=True))
        fits = len(sizes) <= MOST_KEYS and len(self.every) <= MOST_CELLS and prod(sizes) == len(self.every)
        if not fits or self.lattice.covers(self.keys):
            return None
        before = [set(one.keys) for one in self.lattice.members]
        new = [
            part
            for part in within(tuple(range(len(sizes))))
            if not any({self.keys[at] for at in part} <= other for other in before)
        ]
        return MissingComponents(sizes, tuple(new)) if sizes and () not in new else None

    def with_member(self, table: NoisyTable) -> Lattice | None:
        """All that is known together with what is new; None where both are no marginals of one table."""
        names = tuple(measures_of(self.measured).values())
        member = BoughtMember(self.keys, table, names, completing=True)
        try:
            return replace(self.lattice, members=(*self.lattice.members, member))
        except ValueError:
            return None

    def sums(self, lattice: Lattice) -> CellSums | None:
        return sums_of_cells(lattice, self.plan, self.groups, self.way, self.cells)

    @property
    def asked(self) -> tuple[tuple[str, ...], ...]:
        return tuple(dict.fromkeys((*self.together.asked, tuple(sorted(self.keys)))))


@dataclass(frozen=True)
class Completion:
    """A release that is made of known components and of those that are measured ``fresh``, of which ``known`` of
    ``many`` are known. ``wanted`` has the noise that it will have, and ``version`` is that of the data."""

    wanted: Calibration
    fresh: Calibration
    known: int
    many: int
    base: Base = field(repr=False)
    combines: Combines
    scope: str
    version: str

    @property
    def loss(self) -> PrivacyLoss:
        return self.fresh.loss

    @property
    def numbers(self) -> tuple[tuple[int, ...], ...]:
        """Which stored releases it is made of."""
        return ((self.base.entry.number,),)

    def finished(self, noisy: NoisyTable) -> Tile:
        """The release, with what was measured afresh."""
        lattice = self.base.with_member(noisy)
        sums = None if lattice is None else self.base.sums(lattice)
        if lattice is None or sums is None:
            raise AssertionError("what was planned with zeros is there with numbers, too")
        _, shown = shown_together(lattice, self.base.asked, sums.plan, sums.names)
        return tile(self.wanted, lattice, sums, self.base.groups, self.base.entry.number, shown, self.combines)

    @property
    def kept(self) -> tuple[NoisyTable, ReleaseFacts]:
        """What it is kept with: from then on, all that follows from its cells is free."""
        identity, together = self.fresh.plan.identity, self.base.together
        names = tuple(measures_of(self.base.measured).values())
        more = (*together.completing, (identity, names, self.base.keys))
        noise = {noise_of(identity, name): law for name, law in self.fresh.noise.items()}
        facts = replace(self.base.entry.facts, together=replace(together, asked=self.base.asked, completing=more))
        return NoisyTable((), {}, {**self.base.entry.table.noise, **noise}), facts


def completion(
    wanted: Calibration, base: Base, accounting: Accounting, scope: str, version: str, *, combines: Combines
) -> Completion | None:
    """The release with its missing components measured at its price; None where that is no better than all of it."""
    components = base.components()
    if components is None:
        return None
    blocks = tuple(ComponentBlock.of(block, components) for block in base.measured.blocks)
    plan = replace(base.measured, blocks=blocks, outputs=(), parts=(), orders=())
    try:
        fresh = calibrate(plan, accounting, wanted.loss)
    except Error:
        return None  # nothing hides for so little
    zeros = dict.fromkeys(fresh.noise, (0,) * len(base.every))
    lattice = base.with_member(NoisyTable(base.every, zeros, dict(fresh.noise)))
    sums = None if lattice is None else base.sums(lattice)
    if lattice is None or sums is None:
        return None
    made = tile(wanted, lattice, sums, base.groups, 0, None, combines).wanted
    here, there = (margins(one.plan, one) for one in (made, wanted))
    if any(width > BETTER * there[name] for name, width in here.items()):
        return None
    many = 1 << len(components.sizes)
    return Completion(made, fresh, many - len(components.missing), many, base, combines, scope, version)


def widest(found: Completion) -> float:
    """Its largest 95 % half-width."""
    return max(margins(found.wanted.plan, found.wanted).values(), default=0.0)
