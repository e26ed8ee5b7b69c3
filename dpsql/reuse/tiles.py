"""Answers made of releases that were bought as one: numbers of the same rows by subsets of keys, estimated together.

Guarantee: post-processing, it sees released numbers and public facts alone. Estimates are unbiased, all of them are
made of the same components (:mod:`rewriter.strategies.residual_basis`), and variances are exact but for the bound on
the variance of each noise. A release of several statistics, such as the two sums of a mean, has independent noise of
one law in each: so each statistic is estimated by itself with the same weights, and estimates of two of them are
independent. Which answers are made like this follows from the text, the policy and the list of releases.

What is shown is not negative and whole, and still adds up: it is finished for all that was bought together at once, so
that two answers agree whoever asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod, sqrt

import numpy as np

from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import CalibratedBlock, Calibration
from dpsql.inference.consistency import FEW, DerivedTable, FinishedParts, agreed
from dpsql.inference.estimates import Column
from dpsql.mechanisms import Mechanism, sqrt_at_least
from dpsql.releases import Key, NoisyTable, heaviest
from dpsql.reuse.derive import Made, refined
from rewriter.declared import Scalar
from rewriter.front_door import (
    Attributes,
    EstimatedMarginal,
    Marginal,
    MeasuredMarginal,
    combined,
    largest_variance,
    sum_variance,
)
from rewriter.plan import DrillDown, KeyColumn, Linear, Moment, Plan, Ratio, Statistic

MOST_CELLS = 1 << 20
"""The most cells that sums are compared over, to know the variance of each; of more, a bound is taken."""


@dataclass(frozen=True, slots=True)
class BoughtMember:
    """A release that was bought with others: the families of its keys, its table, and its statistics there, in an
    order that all of them have. Raises ValueError where statistics have different noises."""

    keys: tuple[str, ...]
    table: NoisyTable
    statistics: tuple[str, ...]

    def __post_init__(self) -> None:
        if any(self.table.noise[name] != self.noise for name in self.statistics):
            raise ValueError("statistics of one vector have one noise")

    @property
    def noise(self) -> Mechanism:
        """The law of the noise in each number of each statistic."""
        found = self.table.noise[self.statistics[0]]
        if not isinstance(found, Mechanism):
            raise AssertionError("what is stored was hidden by a mechanism")
        return found


@dataclass(frozen=True)
class Lattice:
    """Releases of the same rows by different keys, as marginals of all their keys. ``measures`` are the families of
    their statistics, in the order in which members name them. Raises ValueError where the groups of one are not all
    combinations of its keys' values."""

    measures: tuple[str, ...]
    members: tuple[BoughtMember, ...]

    def __post_init__(self) -> None:
        for one in self.members:
            expected = prod(self.sizes[at] for at in self.places(one.keys))
            places = self.numbered(one.keys, one.table.keys) or ()
            if len(places) != expected or len(set(places)) != expected:
                raise ValueError("groups are not all combinations of values")

    @cached_property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted({key for one in self.members for key in one.keys}))

    @cached_property
    def values(self) -> tuple[Mapping[Scalar | None, int], ...]:
        """The number of each value of each key."""
        found: list[dict[Scalar | None, int]] = [{} for _ in self.families]
        for one in self.members:
            for at, column in zip(self.places(one.keys), zip(*one.table.keys, strict=True), strict=bool(one.keys)):
                for value in column:
                    found[at].setdefault(value, len(found[at]))
        return tuple(found)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.values))

    def places(self, keys: Sequence[str]) -> Attributes:
        """The places of keys among all, in the order of ``keys``."""
        return tuple(self.families.index(key) for key in keys)

    def _place(self, keys: Sequence[str], key: Key) -> int:
        """Where a group stands in the marginal of its keys. Raises KeyError for a value that there is not."""
        found = 0
        for at, value in sorted(zip(self.places(keys), key, strict=True)):
            found = found * self.sizes[at] + self.values[at][value]
        return found

    def numbered(self, keys: Sequence[str], groups: Sequence[Key]) -> list[int] | None:
        """Where groups stand in the marginal of their keys; None where one is none of its cells."""
        try:
            order = sorted(range(len(keys)), key=lambda place: self.places(keys)[place])
            sorted_keys = [keys[place] for place in order]
            return [self._place(sorted_keys, tuple(key[place] for place in order)) for key in groups]
        except (KeyError, TypeError):
            return None

    def covers(self, keys: Sequence[str]) -> bool:
        return any(set(keys) <= set(one.keys) for one in self.members)

    @cached_property
    def measured(self) -> tuple[list[MeasuredMarginal], ...]:
        """Of each statistic all that was measured, cell by cell, with the variance of its noise."""
        return tuple([self._cells(one, at) for one in self.members] for at in range(len(self.measures)))

    def _cells(self, one: BoughtMember, statistic: int) -> MeasuredMarginal:
        attributes = tuple(sorted(self.places(one.keys)))
        numbers = [0] * prod(self.sizes[at] for at in attributes)
        column = one.table.statistics[one.statistics[statistic]]
        for place, number in zip(self.numbered(one.keys, one.table.keys) or (), column, strict=True):
            numbers[place] = int(number)
        return MeasuredMarginal(Marginal(attributes, tuple(numbers)), one.noise.square)

    @cached_property
    def _known(self) -> dict[Attributes, tuple[EstimatedMarginal, ...]]:
        return {}

    def estimated(self, keys: Sequence[str]) -> tuple[EstimatedMarginal, ...]:
        """The estimates of a marginal within a measured one, by statistic. They have the same variances."""
        attributes = tuple(sorted(self.places(keys)))
        if attributes not in self._known:
            found = [combined(self.sizes, one, [attributes])[0] for one in self.measured]
            self._known[attributes] = tuple(found)
        return self._known[attributes]

    def law(self) -> type[Mechanism]:
        found = heaviest(one.noise for one in self.members)
        if not issubclass(found, Mechanism):
            raise AssertionError("what is stored was hidden by a mechanism")
        return found

    def groups(self, keys: Sequence[str]) -> tuple[Key, ...]:
        """All cells of a marginal, its keys in the order of their places, the last fastest."""
        found: list[Key] = [()]
        for at in sorted(self.places(keys)):
            found = [(*key, value) for key in found for value in self.values[at]]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class CellSums:
    """The groups of a plan as sums of cells of a marginal: the places of each group's cells. ``estimated`` has the
    marginal of each statistic; ``names`` are those that the plan has for them, in the same order."""

    names: tuple[str, ...]
    estimated: tuple[EstimatedMarginal, ...]
    keys: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]

    def variances(self, sizes: Sequence[int], *, alone: bool) -> list[Fraction]:
        """Of each group, in squared steps of what was measured: its own, where it is shown ``alone``; else as if groups
        were independent, so that no weighted sum of several has more."""
        if not alone:
            most = largest_variance(sizes, self.estimated[0])
            return [most * len(one) for one in self.cells]
        return self._exact(sizes)

    def _exact(self, sizes: Sequence[int]) -> list[Fraction]:
        first = self.estimated[0]
        alone = first.variance
        many = sum(len(one) > 1 for one in self.cells) * len(first.table.numbers)
        found: dict[int, Fraction] = {}
        variances = []
        for one in self.cells:
            if len(one) == 1:
                variances.append(alone)
            elif many > MOST_CELLS:
                variances.append(found.setdefault(len(one), alone * len(one) ** 2))
            else:
                variances.append(sum_variance(sizes, first, one))
        return variances


@dataclass(frozen=True, slots=True)
class Tile:
    """A release that is made of those that were bought together, at no price. ``wanted`` is on the lattice of these
    sums, and has their noise."""

    wanted: Calibration
    numbers: tuple[tuple[int, ...], ...]
    made: Made
    groups: tuple[Key, ...]
    fresh: None = None

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss()


def only_vector(plan: Plan) -> tuple[Statistic, ...]:
    """The statistics of a plan of public groups that measures one vector and nothing else; none of other plans."""
    plain = not (plan.steps or plan.choices or plan.top or plan.selection or plan.alone)
    if not plain or len(plan.blocks) != 1 or plan.blocks[0].prefix is not None or (plan.keys and not plan.groups):
        return ()
    statistics = plan.blocks[0].statistics
    known = all(one.family for one in statistics)
    summed = all(isinstance(one.estimator, Linear | Ratio | Moment) for one in plan.outputs)
    additive = all(one.additive for one in plan.parts)
    return statistics if known and summed and additive else ()


def measures_of(plan: Plan, way: DrillDown | None = None) -> dict[str, str]:
    """The names of the plan's statistics by their families, over the rows of a ``way`` where there is one; in the order
    of families, whatever the plan's own is. None where a family is not known, or of no vector."""
    vector = only_vector(plan)
    found = {one.family if way is None else way.statistics.get(one.name, ""): one.name for one in vector}
    return dict(sorted(found.items())) if "" not in found and len(found) == len(vector) else {}


def sums_of_cells(
    lattice: Lattice, plan: Plan, groups: Sequence[Key], way: DrillDown | None, cells: Sequence[Key]
) -> CellSums | None:
    """The groups of a plan as sums of cells; ``cells`` are those of a ``way`` over more rows."""
    keys = tuple(one.family for one in plan.keys) if way is None else way.keys
    measures = measures_of(plan, way)
    if tuple(measures) != lattice.measures or not lattice.covers(keys) or len(set(keys)) != len(keys):
        return None
    places = lattice.numbered(keys, groups if way is None else [way.cell(one) for one in cells])
    if places is None:
        return None
    of_groups: dict[Key, list[int]] = {key: [] for key in groups}
    for key, place in zip(groups if way is None else cells, places, strict=True):
        own = tuple(key if way is None else key[: way.many])
        if own not in of_groups:
            return None
        of_groups[own].append(place)
    if not all(of_groups.values()):
        return None
    return CellSums(tuple(measures.values()), lattice.estimated(keys), keys, tuple(map(tuple, of_groups.values())))


def tile(
    wanted: Calibration,
    lattice: Lattice,
    sums: CellSums,
    groups: Sequence[Key],
    number: int,
    shown: Shown | None,
    *,
    alone: bool,
) -> Tile:
    """The release that is made of these sums; ``alone``: no number of the answer is made of several groups."""
    plan = wanted.plan
    finer = sums.estimated[0].own_scale
    step = sums.estimated[0].scale // finer
    added = {
        name: tuple(sum(one.table.numbers[place] for place in cells) // step for cells in sums.cells)
        for name, one in zip(sums.names, sums.estimated, strict=True)
    }
    variances = sums.variances(lattice.sizes, alone=alone)
    most = max(variances)
    law = lattice.law()
    noise = law(Fraction(sqrt_at_least(law.square_of_scale(most))))
    scaled = law(noise.scale * finer)
    parts = None if shown is None else _shown_sums(shown, sums, plan)
    columns, moved = (None, [0.0] * len(variances)) if parts is None else parts
    shrunk = np.array(
        [sqrt(float(one) + far**2) / sqrt(most) if most else 1.0 for one, far in zip(variances, moved, strict=True)]
    )
    table = NoisyTable(tuple(groups), added, dict.fromkeys(added, scaled))
    fine = refined(plan, dict.fromkeys(added, finer))
    derived = DerivedTable(columns, shrunk, fine, (), None)
    [block] = fine.blocks
    with_noise = replace(wanted, plan=fine, measured=(CalibratedBlock(block, scaled, scaled.loss(block.sensitivity)),))
    return Tile(with_noise, ((number,),), Made(fine, table, derived), tuple(groups))


Shown = Mapping[Attributes, FinishedParts]
"""The finished parts of marginals, cell by cell: not negative, whole, and each the sum of any finer one."""


def shown_together(
    lattice: Lattice, asked: Sequence[Sequence[str]], plan: Plan, names: Sequence[str]
) -> tuple[Lattice, Shown]:
    """The finished parts of all that was measured or asked for; of none where they cannot be made to agree. ``names``
    are those that the plan has for the statistics."""
    known = {tuple(sorted(lattice.places(one.keys))): one for one in lattice.members}
    wanted = {tuple(sorted(lattice.places(keys))) for keys in asked if lattice.covers(keys)}
    every = sorted({*known, *wanted}, key=lambda one: (len(one), one))
    tables, plans = [], []
    for attributes in every:
        keys = [lattice.families[at] for at in attributes]
        groups = lattice.groups(keys)
        statistics: dict[str, Sequence[int]] = {}
        noise = {}
        if attributes in known:
            one = known[attributes]
            places = lattice.numbered(one.keys, one.table.keys) or ()
            for name, stored in zip(names, one.statistics, strict=True):
                numbers = dict(zip(places, one.table.statistics[stored], strict=True))
                statistics[name] = tuple(int(numbers[place]) for place in range(len(groups)))
                noise[name] = one.noise
        tables.append(NoisyTable(groups, statistics, noise))
        kind = plan.outputs[0].type
        named = tuple(KeyColumn(f"k{at}", kind, "", lattice.families[at], closed=True) for at in attributes)
        parts = tuple(replace(part, additive=True) for part in plan.parts)
        own = f"{plan.sql} -- {attributes}"
        plans.append(replace(plan, sql=own, keys=named, parts=parts, exhaustive=True, groups=plan.groups or "known"))
    found = agreed(every, tables, plans)
    return lattice, {} if found is None else dict(zip(every, found, strict=True))


def _shown_sums(shown: Shown, sums: CellSums, plan: Plan) -> tuple[list[Column], list[float]] | None:
    """The sums of few shown cells, and how far at most rounding moved each group, in steps of what was measured; of
    many cells, which were cut off at 0, the unbiased sums are better."""
    found = shown.get(sums.estimated[0].table.attributes)
    if found is None or any(len(one) > FEW for one in sums.cells):
        return None
    steps = [float(part.unit / sum(abs(weight) for _, weight in part.estimator.terms)) for part in plan.parts]
    moved = [
        max(
            (step * sum(float(far[place]) for place in one) for step, far in zip(steps, found.moved, strict=True)),
            default=0.0,
        )
        for one in sums.cells
    ]
    return [[sum(int(column[place]) for place in one) for one in sums.cells] for column in found.columns], moved
