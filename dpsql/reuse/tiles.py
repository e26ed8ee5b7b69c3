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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from fractions import Fraction
from functools import cached_property
from itertools import chain, product
from math import hypot, prod, sqrt

import numpy as np

from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import CalibratedBlock, Calibration
from dpsql.inference.consistency import FEW, MOST_LEAVES, DerivedTable, FinishedParts, agreed
from dpsql.inference.estimates import Column
from dpsql.inference.numeric import FloatArray
from dpsql.mechanisms import Mechanism, sqrt_at_least
from dpsql.releases import Key, NoisyTable, heaviest
from dpsql.reuse.derive import Made, refined
from dpsql.reuse.divided_marginals import DividedEstimate, DividedMeasured, Division, divided_estimate, normal
from dpsql.reuse.readings import Reading, read_off
from rewriter.declared import Scalar
from rewriter.front_door import (
    Attributes,
    EstimatedMarginal,
    Marginal,
    MeasuredMarginal,
    combined,
    largest_variance,
    sum_variance,
    within,
)
from rewriter.plan import DrillDown, KeyColumn, Linear, Moment, Plan, Ratio, Statistic

MOST_CELLS = 1 << 20
"""The most cells that sums are compared over, to know the variance of each; of more, a bound is taken."""


@dataclass(frozen=True, slots=True)
class BoughtMember:
    """A release that was bought with others: the families of its keys, its table, and its statistics there, in an
    order that all of them have. ``completing``: it has those components alone of which no member before it tells
    (:mod:`rewriter.strategies.missing_components`)."""

    keys: tuple[str, ...]
    table: NoisyTable
    statistics: tuple[str, ...]
    completing: bool = False

    def noise(self, statistic: int) -> Mechanism:
        """The law of the noise in each number of a statistic, by its place."""
        found = self.table.noise[self.statistics[statistic]]
        if not isinstance(found, Mechanism):
            raise AssertionError("what is stored was hidden by a mechanism")
        return found


MergedKey = tuple[str, tuple[int, ...]]
"""A key by the blocks of the intervals of a number: the family of the key by intervals, and the block of each of these,
with that of NULL last."""

Estimate = EstimatedMarginal | DividedEstimate


class Combines(Enum):
    """What the numbers of an answer are made of, at most: each of one output of a released row, of several outputs of
    one, or of several rows."""

    NOTHING = auto()
    OUTPUTS = auto()
    ROWS = auto()


def blocks_of(blocks: Sequence[int], value: Scalar | None) -> int:
    """The block of an interval by its number, or of NULL.

    >>> blocks_of((0, 1, 1, 2), 1), blocks_of((0, 1, 1, 2), None)
    (1, 2)
    """
    return blocks[-1 if value is None else int(value)]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Lattice:
    """Releases of the same rows by different keys, as marginals of all their keys. ``measures`` are the families of
    their statistics, in the order in which members name them. ``readings`` are the weighted sums of these that other
    families are. ``merged`` are keys that are blocks of the values of another one. Raises ValueError where the groups
    of one are not all combinations of its keys' values."""

    measures: tuple[str, ...]
    members: tuple[BoughtMember, ...]
    readings: Mapping[str, Reading] = field(default_factory=dict)
    merged: Mapping[str, MergedKey] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len({of for of, _ in self.merged.values()}) > 1:
            raise ValueError("one attribute alone may be divided")
        for one in self.members:
            sizes = [self.sizes[at] for at in self.places(one.keys)]
            division = self._division(one)
            if division is not None:
                sizes[self.places(one.keys).index(self.divided)] = max(division) + 1
            places = self.numbered(one.keys, one.table.keys) or ()
            if len(places) != prod(sizes) or len(set(places)) != prod(sizes):
                raise ValueError("groups are not all combinations of values")

    @cached_property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted({self._finest(key) for one in self.members for key in one.keys}))

    def _finest(self, key: str) -> str:
        """The key itself, or the key of whose values it has blocks."""
        return self.merged[key][0] if key in self.merged else key

    @cached_property
    def divided(self) -> int:
        """The place of the attribute of which some tables have blocks of values; -1 where there is none."""
        return next((self.families.index(of) for of, _ in self.merged.values()), -1)

    def numbers_of(self, key: str) -> Mapping[Scalar | None, int]:
        """The number of each value of a key. Of blocks, that of each in which there is a value."""
        if key not in self.merged:
            return self.values[self.families.index(key)]
        of, blocks = self.merged[key]
        labels = [blocks_of(blocks, value) for value in self.values[self.families.index(of)]]
        return {label: place for place, label in enumerate(dict.fromkeys(labels))}

    def _division(self, one: BoughtMember) -> Division | None:
        """The block of each value of the divided attribute in a table; None of one that has the values themselves."""
        key = next((key for key in one.keys if key in self.merged), None)
        if key is None:
            return None
        of, blocks = self.merged[key]
        return normal([blocks_of(blocks, value) for value in self.values[self.families.index(of)]])

    @cached_property
    def values(self) -> tuple[Mapping[Scalar | None, int], ...]:
        """The number of each value of each key."""
        found: list[dict[Scalar | None, int]] = [{} for _ in self.families]
        for one in self.members:
            if any(key in self.merged for key in one.keys):
                continue
            for at, column in zip(self.places(one.keys), zip(*one.table.keys, strict=True), strict=bool(one.keys)):
                for value in column:
                    found[at].setdefault(value, len(found[at]))
        return tuple(found)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.values))

    def places(self, keys: Sequence[str]) -> Attributes:
        """The places of keys among all, in the order of ``keys``."""
        return tuple(self.families.index(self._finest(key)) for key in keys)

    def numbered(self, keys: Sequence[str], groups: Sequence[Key]) -> list[int] | None:
        """Where groups stand in the marginal of their keys; None where one is none of its cells."""
        try:
            order = sorted(range(len(keys)), key=lambda place: self.places(keys)[place])
            numbers = list(map(self.numbers_of, keys))
            found = []
            for group in groups:
                number = 0
                for place in order:
                    number = number * len(numbers[place]) + numbers[place][group[place]]
                found.append(number)
            return found
        except (KeyError, TypeError):
            return None

    def covers(self, keys: Sequence[str]) -> bool:
        return any(set(keys) <= set(one.keys) for one in self.members)

    @cached_property
    def measured(self) -> tuple[list[MeasuredMarginal], ...]:
        """Of each statistic all that was measured, cell by cell, with the variance of its noise."""
        places = range(len(self.measures))
        return tuple([self._cells(at, one, place) for at, one in enumerate(self.members)] for place in places)

    @cached_property
    def divisions(self) -> tuple[Division | None, ...]:
        """Of each member the block of each value of the divided attribute."""
        return tuple(map(self._division, self.members))

    def _cells(self, at: int, one: BoughtMember, statistic: int) -> MeasuredMarginal:
        attributes = tuple(sorted(self.places(one.keys)))
        numbers = [0] * len(one.table.keys)
        column = one.table.statistics[one.statistics[statistic]]
        for place, number in zip(self.numbered(one.keys, one.table.keys) or (), column, strict=True):
            numbers[place] = int(number)
        table, square = Marginal(attributes, tuple(numbers)), one.noise(statistic).square
        if not one.completing:
            return MeasuredMarginal(table, square)
        steps, before = len(numbers), [set(self.places(other.keys)) for other in self.members[:at]]
        new = frozenset(part for part in within(attributes) if not any(set(part) <= other for other in before))
        return MeasuredMarginal(table, square / steps**2, steps, new)

    @cached_property
    def _known(self) -> dict[Attributes, tuple[Estimate, ...]]:
        return {}

    def estimated(self, keys: Sequence[str]) -> tuple[Estimate, ...]:
        """The estimates of a marginal within a measured one, by statistic."""
        attributes = tuple(sorted(self.places(keys)))
        if attributes not in self._known:
            self._known[attributes] = tuple(self._estimated(one, attributes) for one in self.measured)
        return self._known[attributes]

    def _estimated(self, measured: Sequence[MeasuredMarginal], attributes: Attributes) -> Estimate:
        if not self.merged:
            return combined(self.sizes, measured, [attributes])[0]
        divided = [DividedMeasured(*one) for one in zip(measured, self.divisions, strict=True)]
        return divided_estimate(self.sizes, self.divided, divided, attributes)

    def law(self) -> type[Mechanism]:
        found = heaviest(one.noise(at) for one in self.members for at in range(len(self.measures)))
        if not issubclass(found, Mechanism):
            raise AssertionError("what is stored was hidden by a mechanism")
        return found

    def noise(self, variance: Fraction, finer: int) -> Mechanism:
        """Noise of the heaviest law of all members, with a variance, on a lattice that is finer by a factor."""
        law = self.law()
        return law(Fraction(sqrt_at_least(law.square_of_scale(variance))) * finer)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """All keys: those of values, and those of blocks of them."""
        return (*self.families, *sorted(self.merged))

    def groups(self, places: Attributes) -> tuple[Key, ...]:
        """All cells of a table by keys, by their places among all axes, the last fastest. With the key of values, a
        key of blocks has the block of each value."""
        own = [at for at in places if at < len(self.families) or self.divided not in places]
        found = product(*(self.numbers_of(self.axes[at]) for at in own))
        if len(own) == len(places):
            return tuple(found)
        labels = [self.merged[self.axes[at]][1] for at in places[len(own) :]]
        value = own.index(self.divided)
        return tuple((*key, *(blocks_of(one, key[value]) for one in labels)) for key in found)


@dataclass(frozen=True, slots=True)
class CellSums:
    """The groups of a plan as sums of cells of a marginal, by the places of each group's cells. ``plan`` is over
    statistics of the marginal: ``names`` has the place of each among those that were measured and its name in the plan,
    and ``estimated`` the marginal of each."""

    plan: Plan
    names: tuple[tuple[int, str], ...]
    estimated: tuple[Estimate, ...]
    keys: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]

    def variances(self, sizes: Sequence[int], combines: Combines, filters: int) -> list[list[Fraction]]:
        """Of each statistic and group, in squared steps of what was measured: its own. Where numbers are made of
        several rows, as if groups were independent, so that no weighted sum of several has more; where outputs are, and
        of so many ``filters``, that many times as large."""
        if combines is Combines.NOTHING:
            return [self._exact(sizes, one) for one in self.estimated]
        if combines is Combines.OUTPUTS:
            return [[square * filters for square in self._exact(sizes, one)] for one in self.estimated]
        return [[_largest(sizes, one) * len(cells) * filters for cells in self.cells] for one in self.estimated]

    def _exact(self, sizes: Sequence[int], estimated: Estimate) -> list[Fraction]:
        alone = estimated.variance
        many = sum(len(one) > 1 for one in self.cells) * len(estimated.table.numbers)
        found: dict[int, Fraction] = {}
        variances = []
        for one in self.cells:
            if len(one) == 1:
                variances.append(alone if isinstance(estimated, EstimatedMarginal) else estimated.cell_variance(one[0]))
            elif many > MOST_CELLS:
                variances.append(found.setdefault(len(one), alone * len(one) ** 2))
            else:
                variances.append(_of_sum(sizes, estimated, one))
        return variances


def _of_sum(sizes: Sequence[int], estimated: Estimate, cells: Sequence[int]) -> Fraction:
    if isinstance(estimated, DividedEstimate):
        return estimated.sum_variance(cells)
    return sum_variance(sizes, estimated, cells)


def _largest(sizes: Sequence[int], estimated: Estimate) -> Fraction:
    return estimated.largest_variance if isinstance(estimated, DividedEstimate) else largest_variance(sizes, estimated)


@dataclass(frozen=True, slots=True)
class Tile:
    """A release that is made of those that were bought together, at no price. ``wanted`` is on the lattice of these
    sums, and has their noise. ``of_all_rows``: the rows that a condition leaves out count against a person's bound."""

    wanted: Calibration
    numbers: tuple[tuple[int, ...], ...]
    made: Made
    groups: tuple[Key, ...]
    of_all_rows: bool = False
    fresh: None = None

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss()


def only_sums(plan: Plan) -> tuple[Statistic, ...]:
    """The statistics of a plan of public groups that measures such sums over rows and nothing else; none of other
    plans."""
    plain = not (plan.steps or plan.choices or plan.top or plan.selection or plan.alone)
    if not plain or any(one.prefix is not None for one in plan.blocks) or (plan.keys and not plan.groups):
        return ()
    known = all(one.family for one in plan.statistics)
    summed = all(isinstance(one.estimator, Linear | Ratio | Moment) for one in plan.outputs)
    additive = all(one.additive for one in plan.parts)
    return plan.statistics if known and summed and additive else ()


def noise_of(identity: str, statistic: str) -> str:
    """The name by which the noise of a statistic is kept with what was bought together."""
    return f"{identity} {statistic}"


def measures_of(plan: Plan, way: DrillDown | None = None) -> dict[str, str]:
    """The names of the plan's statistics by their families, over the rows of a ``way`` where there is one; in the order
    of families, whatever the plan's own is. None where a family is not known, or is that of two."""
    sums = only_sums(plan)
    found = {one.family if way is None else way.statistics.get(one.name, ""): one.name for one in sums}
    return dict(sorted(found.items())) if "" not in found and len(found) == len(sums) else {}


def knows(measures: Sequence[str], readings: Mapping[str, Reading], families: Iterable[str]) -> bool:
    """Whether statistics of these families are those that were measured, or are read off them."""
    wanted = set(families)
    return bool(wanted) and wanted <= {*measures, *readings}


def _read(plan: Plan, way: DrillDown | None, lattice: Lattice) -> tuple[Plan, tuple[tuple[int, str], ...]] | None:
    """The plan over the statistics of a lattice, with their places and the names that it has for them; None where these
    do not tell of it."""
    measures = measures_of(plan, way)
    if tuple(measures) == lattice.measures:
        return plan, tuple(enumerate(measures.values()))
    if not measures or not knows(lattice.measures, lattice.readings, measures):
        return None
    own = {family: ((place, Fraction(1)),) for place, family in enumerate(lattice.measures)}
    readings = {name: {**own, **lattice.readings}[family] for family, name in measures.items()}
    names = {place: f"m{place}" for place in sorted({place for one in readings.values() for place, _ in one})}
    terms = {name: tuple((names[at], weight) for at, weight in one) for name, one in readings.items()}
    read = read_off(plan, tuple(names.values()), terms)
    return None if read is None else (read, tuple(names.items()))


def sums_of_cells(
    lattice: Lattice, plan: Plan, groups: Sequence[Key], way: DrillDown | None, cells: Sequence[Key]
) -> CellSums | None:
    """The groups of a plan as sums of cells; ``cells`` are those of a ``way`` over more rows."""
    keys = tuple(one.attribute for one in plan.keys) if way is None else way.keys
    if not lattice.covers(keys) or len(set(keys)) != len(keys) or (read := _read(plan, way, lattice)) is None:
        return None
    places = lattice.numbered(keys, groups if way is None else [way.cell(one) for one in cells])
    if places is None:
        return None
    of_groups: dict[Key, list[int]] = {key: [] for key in groups}
    for key, place in zip(groups if way is None else cells, places, strict=True):
        own = tuple(key if way is None else key[: way.many])
        if own not in of_groups:
            if way is not None and any(own[at] is None for at in way.opened):
                continue
            return None
        of_groups[own].append(place)
    if not all(of_groups.values()):
        return None
    estimated = lattice.estimated(keys)
    of_names = tuple(estimated[place] for place, _ in read[1])
    return CellSums(*read, of_names, keys, tuple(map(tuple, of_groups.values())))


def tile(
    wanted: Calibration,
    lattice: Lattice,
    sums: CellSums,
    groups: Sequence[Key],
    number: int,
    shown: Shown | None,
    combines: Combines,
    *,
    filters: int = 1,
) -> Tile:
    """The release that is made of these sums, as one of so many ``filters`` of an answer."""
    plan = sums.plan
    finer = sums.estimated[0].own_scale
    step = sums.estimated[0].scale // finer
    parts = None if shown is None else _shown_sums(shown, lattice.sizes, sums, plan)
    columns, lifted, moved = (None, [], np.zeros(len(groups))) if parts is None else parts
    added: dict[str, tuple[int, ...]] = {}
    noise: dict[str, Mechanism] = {}
    shrunk = np.zeros(len(groups))
    for (_, name), one, variances in zip(
        sums.names, sums.estimated, sums.variances(lattice.sizes, combines, filters), strict=True
    ):
        added[name] = tuple(sum(one.table.numbers[place] for place in cells) // step for cells in sums.cells)
        most = max(variances)
        noise[name] = lattice.noise(most, finer)
        off = (sqrt(float(own) + far**2) for own, far in zip(variances, moved, strict=True))
        shrunk = np.maximum(shrunk, [far / sqrt(most) if most else 1.0 for far in off])
    table = NoisyTable(tuple(groups), added, noise)
    fine = refined(plan, dict.fromkeys(added, finer))
    derived = DerivedTable(columns, lifted, shrunk, fine, (), None, number)
    measured = ((block, noise[block.statistics[0].name]) for block in fine.blocks)
    blocks = tuple(CalibratedBlock(block, one, one.loss(block.sensitivity)) for block, one in measured)
    with_noise = replace(wanted, plan=fine, measured=blocks)
    return Tile(with_noise, ((number,),), Made(fine, table, derived), tuple(groups))


Shown = Mapping[Attributes, FinishedParts]
"""The finished parts of marginals, cell by cell: not negative, whole, and each the sum of any finer one."""


def shown_together(
    lattice: Lattice, asked: Sequence[Sequence[str]], plan: Plan, names: Sequence[tuple[int, str]]
) -> tuple[Lattice, Shown]:
    """The finished parts of all that was measured or asked for; of none where they cannot be made to agree. ``names``
    are the places of the statistics that the plan is over, with its names."""
    known = {tuple(sorted(map(lattice.axes.index, one.keys))): one for one in lattice.members}
    wanted = {tuple(sorted(lattice.places(keys))) for keys in asked if lattice.covers(keys)}
    # Which values are in a block is public: nobody measured a table of all of them.
    whole = {tuple(range(len(lattice.axes)))} if lattice.merged else set()
    if whole and prod(lattice.sizes) > MOST_LEAVES:
        return lattice, {}
    every = sorted({*known, *wanted, *whole}, key=lambda one: (len(one), one))
    tables, plans = [], []
    for attributes in every:
        keys = [lattice.axes[at] for at in attributes]
        groups = lattice.groups(attributes)
        statistics: dict[str, Sequence[int]] = {}
        noise = {}
        finer = 1
        if any(one.completing for one in lattice.members):
            # Estimates agree already, so that nothing but rounding is left to do.
            estimated = lattice.estimated(keys)
            finer = estimated[0].own_scale
            for at, name in names:
                step, numbers = estimated[at].scale // finer, estimated[at].table.numbers
                statistics[name] = tuple(number // step for number in numbers)
                noise[name] = lattice.noise(estimated[at].variance, finer)
        elif attributes in known:
            one = known[attributes]
            order = list(map(one.keys.index, keys))
            places = {tuple(key[at] for at in order): place for place, key in enumerate(one.table.keys)}
            for at, name in names:
                column = one.table.statistics[one.statistics[at]]
                statistics[name] = tuple(int(column[places[key]]) for key in groups)
                noise[name] = one.noise(at)
        tables.append(NoisyTable(groups, statistics, noise))
        kind = plan.outputs[0].type
        named = tuple(KeyColumn(f"k{at}", kind, "", lattice.axes[at], closed=True) for at in attributes)
        own = f"{plan.sql} -- {attributes}"
        fine = refined(plan, dict.fromkeys(statistics, finer))
        parts = tuple(replace(part, additive=True) for part in fine.parts)
        plans.append(replace(fine, sql=own, keys=named, parts=parts, exhaustive=True, groups=plan.groups or "known"))
    found = agreed(every, tables, plans)
    return lattice, {} if found is None else dict(zip(every, found, strict=True))


def _shown_sums(
    shown: Shown, sizes: Sequence[int], sums: CellSums, plan: Plan
) -> tuple[list[Column], list[FloatArray], FloatArray] | None:
    """The sums of few shown cells, how far these are above their estimates, and how far at most rounding moved each
    group, in steps of what was measured; of many cells, which were cut off at 0, the unbiased sums are better."""
    found = _shown_cells(shown, sizes, sums)
    if found is None:
        return None
    parts, cells = found
    columns: list[Column] = [[sum(int(one[place]) for place in some) for some in cells] for one in parts.columns]
    lifted, moved = ([_summed(one, cells) for one in every] for every in (parts.lifted, parts.moved))
    # A distance added to the noise of each statistic as a square is as far in a sum of several as their noises are.
    steps = [float(part.unit) / hypot(*(float(weight) for _, weight in part.estimator.terms)) for part in plan.parts]
    farthest = np.zeros(len(cells))
    for step, far in zip(steps, moved, strict=True):
        farthest = np.maximum(farthest, step * far)
    return columns, lifted, farthest


def _shown_cells(
    shown: Shown, sizes: Sequence[int], sums: CellSums
) -> tuple[FinishedParts, tuple[tuple[int, ...], ...]] | None:
    """Each group as few cells of a marginal that is shown: its own, or the coarsest that is finer."""
    own = sums.estimated[0].table.attributes
    many = max(map(len, sums.cells), default=1)
    finer = [one for one in shown if set(own) <= set(one) and all(at < len(sizes) for at in one)]
    for one in sorted(finer, key=lambda some: (prod(sizes[at] for at in some), some)):
        rest = [at for at in one if at not in own]
        if many * prod(sizes[at] for at in rest) > FEW:
            continue
        places = np.arange(prod(sizes[at] for at in one)).reshape([sizes[at] for at in one])
        by_cell = places.transpose([one.index(at) for at in (*own, *rest)]).reshape(prod(sizes[at] for at in own), -1)
        return shown[one], tuple(tuple(by_cell[list(cells)].ravel().tolist()) for cells in sums.cells)
    return None


def _summed(numbers: FloatArray, cells: Sequence[Sequence[int]]) -> FloatArray:
    places = np.fromiter(chain.from_iterable(cells), dtype=np.int64)
    firsts = np.cumsum([0, *map(len, cells)])[:-1]
    return np.asarray(np.add.reduceat(numbers[places], firsts))
