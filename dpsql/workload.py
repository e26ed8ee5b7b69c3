"""Workloads: statements that are bought as one, and are free from then on.

Guarantee: a plan of a workload follows from texts, policy, settings and what was released before; it reads no data and
charges nothing. A purchase is one charge, durable before any row is read, on the one way of every release
(:meth:`dpsql.answer.Answering.bought`). Of two who buy the same at once, one pays.

Counts of the same rows by subsets of keys are measured as marginals, at the shares of the price that make all of them
most accurate together; a condition on a column of which all values are listed is a key, and so is the interval of a
number between the cuts that conditions name. All measurements of a statement are joined, or none. Every other release
is bought beside them. With a total T of a part of the workload at the whole price, the sum of all is least where shares
go with √T under concentrated accounting, and with the cube root of T else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, repeat
from math import fsum, gcd, sqrt

import pyarrow as pa

from dpsql.accounting import PrivacyLoss
from dpsql.answer import Answering, Asked
from dpsql.calibrate import Calibration, calibrate
from dpsql.errors import DataError
from dpsql.prepare import Prepared
from dpsql.price import Priced, agreeing, combined_in, expected_errors
from dpsql.releases import BOUGHT_TOGETHER, BoughtTogether, NoisyTable, ReleaseFacts
from dpsql.reuse import (
    AskedOfDivided,
    BoughtMember,
    Lattice,
    MergedKey,
    Reading,
    Tile,
    divided_shares,
    listing_once,
    measures_of,
    noise_of,
    of_each_condition,
    of_several,
    only_sums,
    readings_of,
    squares,
)
from rewriter.declared import Norm, Scalar
from rewriter.front_door import AskedMarginal, Attributes, adds_to_sums, apart, best
from rewriter.once import once, remembering
from rewriter.plan import AddedTo, Cuts, DrillDown, MeasuredQuestion, NumberCut, Plan, PlanApart, Ratio

_MARGINALS = pa.schema(
    {
        "attributes": pa.list_(pa.string()),
        "shape": pa.list_(pa.int64()),
        "numbers": pa.list_(pa.float64()),
        "stddev": pa.float64(),
        "statistic": pa.string(),
        "measure": pa.string(),
    }
)
_NO_OTHERS: Cuts = {}
"""Each statement's numbers between its own cuts."""
_PARTS = 1 << 16
_MOST_KINDS = 8
"""So many different statistics of the same rows are tried together, those of the most statements."""
_WORTH = 0.98
"""Statements are joined where that makes the sum of their variances smaller by this factor, at least."""
_AS_FAR = 1.01
"""An error that is larger by a hundredth counts as the same."""
_ROUNDS = 4
"""So often a plan is made anew in which statements count for more that are farther off together than alone."""
_MOST_SUMS = 32
"""The mean variance of sums of cells is that of so many of them, at most, where shares are chosen."""
_MOST_DIVIDED_SUMS = 256
"""The same where one attribute is divided, whose values are not alike."""
_MARGIN = 1.05
"""By how much more they count than what would make up for it, if no other table told of them."""


@dataclass(frozen=True, slots=True)
class WorkloadStatement:
    """A statement of a workload, with the 95 % error to expect of each of its columns: ``alone``, at an equal share of
    the price, and ``together``. ``joined``: it is estimated from what is measured for all. ``far``: the largest
    standard deviation of its numbers together, over the one alone."""

    sql: str
    columns: tuple[str, ...]
    alone: tuple[float | None, ...]
    together: tuple[float | None, ...]
    joined: bool
    far: float = 1.0


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """What a workload would do and cost. ``loss`` is what would be charged now; nothing where it was bought before."""

    statements: tuple[WorkloadStatement, ...]
    price: PrivacyLoss
    priced: Priced
    kept: tuple[tuple[NoisyTable, ReleaseFacts, str], ...]
    tables: tuple[str, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    """The SQL of each key of what is measured together, by its family."""

    @property
    def loss(self) -> PrivacyLoss:
        return self.priced.loss

    @property
    def worse(self) -> Mapping[int, float]:
        """The joined statements that are farther off together than alone, and how many times."""
        found = {place: one.far for place, one in enumerate(self.statements) if one.joined}
        return {place: far for place, far in found.items() if far > _AS_FAR}


@dataclass(frozen=True, slots=True)
class _Unit:
    """A measurement of a statement, of which every unit is joined with others or none; or what its outputs are made of
    in the rows that one FILTER leaves, ``apart``. ``part`` is the mean variance of its numbers measured alone at the
    whole price, over that of the statement measured alone, divided by the number of its units."""

    statement: int
    measurement: int
    plan: Plan
    part: float
    apart: PlanApart | None = None


@dataclass(frozen=True, slots=True)
class _Release:
    """A release of a unit, as a marginal: its plan, or the plan of all cells of a ``way`` over more rows."""

    unit: _Unit
    wanted: Plan
    measured: Plan
    way: DrillDown | None
    statistics: tuple[str, ...]
    keys: tuple[str, ...]
    readings: Mapping[str, Reading] = field(default_factory=dict)
    """Where more is measured with it: its statistics as weighted sums of what is measured."""
    weight: float = 1.0
    """The variance of a cell at the same price, over the one that it has alone."""
    urgent: float = 1.0
    """How many times the variance of its statement counts."""

    @property
    def counts(self) -> float:
        return self.unit.part * self.urgent


@dataclass(frozen=True, slots=True)
class _Joint:
    """Releases of the same statistics, or read off the same, measured as marginals at parts of a share."""

    releases: tuple[_Release, ...]
    plans: tuple[tuple[Plan, Fraction], ...]
    total: float
    merged: Mapping[str, MergedKey] = field(default_factory=dict)
    """The keys that are blocks of intervals, and those by these intervals."""

    @property
    def units(self) -> set[_Unit]:
        return {one.unit for one in self.releases}

    @property
    def readings(self) -> Mapping[str, Reading]:
        return _readings(self.releases)

    @property
    def cuts(self) -> Cuts:
        """What divides the numbers of which intervals are measured."""
        return {name: some for one in self.releases if one.way is not None for name, some in one.way.cuts.items()}


class Workloads:
    """The workloads of one proxy. Thread-safe."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._opened = answering.opened

    def plan(self, statements: Sequence[Prepared], epsilon: Fraction) -> WorkloadPlan:
        """How statements are bought as one at a price, none of them farther off than alone at an equal share. Raises
        :class:`dpsql.errors.Error`."""
        _check(statements)
        with listing_once(), remembering():
            return self._planned(statements, epsilon)

    def _planned(self, statements: Sequence[Prepared], epsilon: Fraction) -> WorkloadPlan:
        urgent: dict[int, float] = {}
        for even in (False, True):
            for _ in range(_ROUNDS):
                plan = self._plan(statements, epsilon, urgent, frozenset(), even=even)
                worse = plan.worse
                if not worse:
                    return plan
                urgent |= {place: urgent.get(place, 1.0) * _MARGIN * far**2 for place, far in worse.items()}
        # A statement by itself has a share of at least 1/n: joined statements have a total below that of as many apart.
        apart = frozenset[int]()
        while worse:
            apart |= {max(worse, key=lambda place: worse[place])}
            plan = self._plan(statements, epsilon, urgent, apart, even=True)
            worse = plan.worse
        return plan

    def _plan(
        self,
        statements: Sequence[Prepared],
        epsilon: Fraction,
        urgent: Mapping[int, float],
        apart: frozenset[int],
        *,
        even: bool,
    ) -> WorkloadPlan:
        """The plan in which the variances of ``urgent`` statements count by these factors, and the statements ``apart``
        are joined with no others. ``even``: what is joined has the shares that its statements would have alone."""
        pricing, accountant = self._answering.pricing, self._opened.accountant
        private = [place for place, one in enumerate(statements) if one.program.private_tables]
        selecting = [place for place in private if statements[place].program.selects]
        many = len({tuple(plan.identity for plan in statements[place].program.plans) for place in private})
        price = pricing.price_of(epsilon, selects=bool(selecting))
        if accountant.accounting.delta(price.delta, selects=False):
            selecting = private  # noise takes δ, whether groups are selected or not
        joints = self._joints([(place, statements[place]) for place in private if place not in apart], urgent)
        joined = {release.unit.statement for joint in joints for release in joint.releases}
        # Of several that measure the same, one is bought.
        same: dict[tuple[str, ...], int] = {}
        first = {
            place: same.setdefault(tuple(plan.identity for plan in statements[place].program.plans), place)
            for place in private
            if place not in joined
        }
        beside = list(same.values())
        if even:
            counts = [*(len({unit.statement for unit in joint.units}) for joint in joints), *(1 for _ in beside)]
            parts = [Fraction(_PARTS * count // sum(counts), _PARTS) for count in counts]
        else:
            parts = _parts([*(joint.total for joint in joints), *(1.0 for _ in beside)], self._norm)
        calibrations: list[Calibration] = []
        lattices: list[tuple[_Joint, Lattice, list[Calibration]]] = []
        for joint, part in zip(joints, parts, strict=False):
            own = [calibrate(plan, accountant.accounting, price.of_noise * (part * each)) for plan, each in joint.plans]
            calibrations += own
            lattices.append((joint, self._lattice(own, joint.readings, joint.merged), own))
        together: dict[int, list[Calibration]] = {}
        shares: dict[int, PrivacyLoss] = {}
        for place, part in zip(beside, parts[len(joints) :], strict=True):
            share = self._share(price, part, place in selecting, len(selecting))
            together[place] = list(pricing.calibrations(statements[place], share, kept=False))
            calibrations += together[place]
            shares[place] = share
        together |= {place: together[other] for place, other in first.items()}
        together |= self._together(statements, lattices, price)
        explained = tuple(
            self._explained(one, place, together.get(place), place in joined, price, many, selecting)
            for place, one in enumerate(statements)
        )
        stored = self._stored(calibrations)
        return WorkloadPlan(
            explained,
            price,
            Priced(epsilon, tuple(calibrations), stored),
            (*self._marks(lattices), *(self._mark(statements[place], share) for place, share in shares.items())),
            tuple(sorted({name for one in statements for name in one.program.private_tables})),
            {key.attribute: key.text for joint in joints for one, _ in joint.plans for key in one.keys},
        )

    def buy(
        self, first: WorkloadPlan, plan: Callable[[], WorkloadPlan], asked: Asked
    ) -> tuple[WorkloadPlan, PrivacyLoss]:
        """Buy all that a workload needs, with one charge, and keep it: what was planned, and what was charged. It was
        planned ``first``, and is planned again while nobody else may buy the same.

        Raises :class:`dpsql.errors.Error`; then nothing was charged unless data was to be read.
        """
        answering = self._answering
        with ExitStack() as held:
            found = first
            if found.loss:
                # Meanwhile somebody else may have bought the same.
                answering.claim(asked, held, (one.plan for one in found.priced.bought))
                found = plan()
            _, paid = answering.bought(asked, found.priced, found.tables, held)
            for table, facts, version in found.kept:
                before = self._opened.store.together(version, facts.scope)
                if not any(one.facts == facts and one.table.noise == table.noise for one in before):
                    self._opened.store.put(BOUGHT_TOGETHER, version, table, facts)
        return found, PrivacyLoss() if paid is None else paid.loss

    def marginals(self, plan: WorkloadPlan) -> pa.Table:
        """The tables that were measured together for a plan that was bought, a row for each: its ``attributes``, the
        ``shape`` of its numbers, these ``numbers`` in the order of the values, the last attribute fastest, and the
        standard deviation of their independent noise. ``statistic`` tells apart what was measured of other rows or of
        other values, and ``measure`` says what it is in words. The
        schema's metadata has the ``domain``: the values of each attribute, as JSON. None of them is finished: numbers
        are unbiased, and may be negative.

        Raises DataError where nothing was measured together.
        """
        plans = {one.plan.identity: one.plan for one in plan.priced.calibrations}
        rows: list[dict[str, object]] = []
        domain: dict[str, list[Scalar | None]] = {}
        for _, facts, version in plan.kept:
            together = facts.together
            lattice = None
            if together is not None and together.statistics:
                stored = self._opened.store.together(version, facts.scope)
                known = (self._answering.reuse.lattice(one, together, version) for one in stored if one.facts == facts)
                lattice = next(known, None)
            if lattice is None or together is None:
                continue
            vector = sorted(only_sums(plans[together.members[0][0]]), key=lambda one: one.family)
            every = [sorted(one.keys, key=lambda key: lattice.places([key])) for one in lattice.members]
            domain |= {plan.attributes[key]: list(lattice.numbers_of(key)) for keys in every for key in keys}
            rows += [
                {
                    "attributes": [plan.attributes[key] for key in keys],
                    "shape": [len(lattice.numbers_of(key)) for key in keys],
                    "numbers": [number * step for number in one.table.numbers],
                    "stddev": sqrt(one.variance) * step,
                    "statistic": statistic.family,
                    "measure": statistic.text,
                }
                for statistic, tables in zip(vector, lattice.measured, strict=True)
                for one, keys, step in zip(tables, every, repeat(float(statistic.granularity)), strict=False)
            ]
        if not rows:
            hint = "buy it with --buy; counts of the same rows by different keys are measured together"
            raise DataError("nothing of this workload was measured together", sqlstate="22023", hint=hint)
        found = pa.Table.from_pylist(rows, _MARGINALS)
        return found.replace_schema_metadata({"domain": json.dumps(domain, default=str, ensure_ascii=False)})

    # -- how statements are joined

    @property
    def _power(self) -> int:
        return 3 if self._norm is Norm.L1 else 2

    @property
    def _norm(self) -> Norm:
        return Norm.L2 if self._opened.accountant.accounting.concentrated else Norm.L1

    def _joints(self, statements: Sequence[tuple[int, Prepared]], urgent: Mapping[int, float]) -> list[_Joint]:
        """The best of what is joined: measurements as they are, or each FILTER apart; with numbers between all cuts of
        the statements, each statement's numbers between its own, or by no intervals."""
        units = tuple(unit for place, one in statements for unit in self._units(place, one, by_conditions=False))
        apart = tuple(unit for place, one in statements for unit in self._units(place, one, by_conditions=True))
        found: list[tuple[float, list[_Joint]]] = []
        for some in dict.fromkeys((units, apart)):
            cuts = self._cuts(some)
            ways: list[Cuts | None] = [None, _NO_OTHERS, cuts] if cuts else [None, _NO_OTHERS]
            # Where no number is divided, the ways are the same.
            of_ways = {tuple(id(one) for unit in some for one in self._releases(unit, cuts)): cuts for cuts in ways}
            for joints in [self._whole_statements(some, urgent, one) for one in of_ways.values()]:
                joined = {unit.statement for joint in joints for unit in joint.units}
                rest = [1.0 for place, _ in statements if place not in joined]
                found.append((self._total([*(joint.total for joint in joints), *rest]), joints))
        return min(found, key=lambda one: one[0])[1]

    def _units(self, place: int, statement: Prepared, *, by_conditions: bool) -> tuple[_Unit, ...]:
        """The units of a statement; none where one is no marginal."""
        asked = statement.program.asked
        for one in asked:
            if one.picks or (one.series is not None and not one.series.adds_up):
                return ()
        found: list[tuple[int, Plan, PlanApart | None]] = []
        for number, one in enumerate(asked):
            filters = self._answering.reuse.by_conditions(one.first) if by_conditions else ()
            filters = () if any(split.plan.identity == one.first.identity for split in filters) else filters
            found += [(number, split.plan, split) for split in filters] or [(number, one.first, None)]
        if len(found) == 1 and found[0][2] is None:
            return (_Unit(place, 0, asked[0].first, 1.0),)
        if not all(only_sums(plan) for _, plan, _ in found):
            return ()
        whole = [_squares([one]) for one in self._alone(statement)]
        if not all(map(all, whole)):
            return ()  # What is 0 by its text alone is no noisier for it.
        parts = []
        for number, plan, split in found:
            own = _squares([self._silent(plan)])
            uses = [(AddedTo(at),) for at in range(len(own))] if split is None else split.uses
            added = [(square, use) for square, some in zip(own, uses, strict=True) for use in some]
            means = [isinstance(output.estimator, Ratio) for output in asked[number].first.outputs]
            ratios = [
                square * (1 if means[use.place] else float(use.weight) ** 2) / whole[number][use.place]
                for square, use in added
            ]
            parts.append(sum(ratios) / len(ratios) / len(found))
        return tuple(_Unit(place, *one[:2], part, one[2]) for one, part in zip(found, parts, strict=True))

    def _alone(self, statement: Prepared) -> Sequence[Calibration]:
        """The measurements of a statement that is measured by itself, with some noise."""
        price = self._opened.accountant.price(Fraction(1), Fraction(0))
        own = self._answering.pricing.calibrations(statement, price, kept=False)
        return agreeing(own, statement.program.families)[: len(statement.program.asked)]

    def _whole_statements(self, units: Sequence[_Unit], urgent: Mapping[int, float], cuts: Cuts | None) -> list[_Joint]:
        """The joints of units, without statements of which some units are in none."""
        while True:
            joints = self._joints_by(units, urgent, cuts)
            joined = {unit for joint in joints for unit in joint.units}
            torn = {unit.statement for unit in units if unit not in joined}
            if not any(unit.statement in torn for unit in joined):
                return joints
            units = [unit for unit in units if unit.statement not in torn]

    def _together(
        self,
        statements: Sequence[Prepared],
        lattices: Sequence[tuple[_Joint, Lattice, list[Calibration]]],
        price: PrivacyLoss,
    ) -> dict[int, list[Calibration]]:
        """The measurements of each joined statement, as they are estimated."""
        accounting, reuse = self._opened.accountant.accounting, self._answering.reuse
        parts: dict[tuple[int, int], list[tuple[_Release, Lattice]]] = {}
        for joint, lattice, _ in lattices:
            for release in joint.releases:
                parts.setdefault((release.unit.statement, release.unit.measurement), []).append((release, lattice))
        found: dict[int, list[Calibration]] = {}
        for (place, number), some in sorted(parts.items(), key=lambda one: one[0]):
            combines = combined_in(statements[place])
            filters = [release.unit.apart for release, _ in some if release.unit.apart is not None]
            combines = of_several(filters, combines)
            tiles: list[Tile] = []
            for release, lattice in some:
                wanted = calibrate(release.wanted, accounting, price.of_noise)
                made = reuse.made_of(wanted, lattice, release.way, combines=combines, filters=len(some))
                if made is None:
                    raise AssertionError("what is joined follows from what is measured")
                tiles.append(made)
            whole: Tile | None = tiles[0]
            if filters:
                plan = statements[place].program.asked[number].first
                pairs = list(zip(tiles, filters, strict=True))
                whole = of_each_condition(calibrate(plan, accounting, price.of_noise), pairs)
            if whole is None:
                raise AssertionError("the plans of all conditions have the outputs of the whole")
            found.setdefault(place, []).append(whole.wanted)
        return found

    def _cuts(self, units: Sequence[_Unit]) -> Cuts:
        """All cuts that conditions of statements name, but for columns that a statement groups by as they are."""
        releases = [release for one in units for release in self._releases(one, _NO_OTHERS)]
        whole = {key for one in releases if one.way is None for key in one.keys}
        cuts: dict[str, set[NumberCut]] = {}
        for one in releases:
            for name, some in ({} if one.way is None else one.way.cuts).items():
                cuts.setdefault(name, set()).update(some)
        return {name: tuple(sorted(some)) for name, some in cuts.items() if name not in whole}

    def _joints_by(self, units: Sequence[_Unit], urgent: Mapping[int, float], cuts: Cuts | None) -> list[_Joint]:
        releases = (release for one in units for release in self._releases(one, cuts))
        every = [release for one in releases for release in self._ways(one, urgent.get(one.unit.statement, 1.0))]
        joints = self._of_same_statistics(every)
        for joint in (joint for some in _by_rows(every) for joint in self._of_several_measures(some)):
            replaced = [one for one in joints if one.units & joint.units]
            taken = {unit for one in replaced for unit in one.units}
            if taken <= joint.units and joint.total < _WORTH * self._total(_totals(joint.units, replaced)):
                joints = [*(one for one in joints if one not in replaced), joint]
        return joints

    def _releases(self, unit: _Unit, cuts: Cuts | None) -> Iterator[_Release]:
        """The ways in which a unit is a marginal: of its own rows, or of all rows with keys more. With ``cuts``,
        numbers are keys by intervals."""
        plan = unit.plan
        measures = tuple(measures_of(plan))
        if measures and plan.exhaustive:
            yield _release(unit, plan, plan, None)
        alike = self._answering.reuse.clipped_alike(plan)
        for one in (plan,) if alike is None else (plan, alike):
            for way in _drill_downs(one, cuts):
                whole = _whole(way)
                measured = () if whole is None or not whole.exhaustive else tuple(measures_of(whole))
                if whole is not None and measured and measured == tuple(measures_of(one, way)):
                    yield _release(unit, plan, whole, way)

    @once
    def _ways(self, release: _Release, urgent: float) -> tuple[_Release, ...]:
        """The release as a marginal of rows that clip each person by one factor in all groupings, where people have
        several rows; and as it is."""
        release = release if urgent == release.urgent else replace(release, urgent=urgent)
        found: tuple[_Release | None, ...] = ()
        question = release.measured.question
        planned = None if question is None or not question.is_clipped else _planned_with(question, question)
        is_joined = release.way is not None and release.way.joined
        if planned is not None and (release.way is None or is_joined):
            plan, _ = planned
            alike = replace(release, measured=plan, statistics=tuple(measures_of(plan)))
            found = (self._read_off(alike, plan, range(len(plan.outputs))),)
        return tuple(one for one in (*found, None if is_joined else release) if one is not None)

    def _of_several_measures(self, releases: Sequence[_Release]) -> list[_Joint]:
        """Releases over the same rows, with different statistics: those that are better measured as one. From all
        statistics apart, two groups that gain most are put together, until none gain."""
        kinds: dict[tuple[str, ...], list[_Release]] = {}
        for one in releases:
            kinds.setdefault(one.statistics, []).append(one)
        groups = sorted(kinds.values(), key=len, reverse=True)[:_MOST_KINDS]
        joints = [self._joint(*group) for group in groups]
        apart = [*range(len(groups))]

        @cache
        def together(first: int, second: int) -> tuple[float, _Joint | None]:
            both = [*groups[first], *groups[second]]
            joint = self._joint(*self._of_all_measures(*both))
            before = [(groups[place], joints[place]) for place in (first, second)]
            joined = {unit for _, one in before if one is not None for unit in one.units}
            if joint is None or not joined <= joint.units:
                return 1.0, None
            totals = [total for some, one in before for total in _totals(_units_of(some), [] if one is None else [one])]
            return self._total(_totals(_units_of(both), [joint])) / self._total(totals), joint

        while len(apart) > 1:
            first, second = min(combinations(apart, 2), key=lambda pair: (together(*pair)[0], pair))
            gain, joint = together(first, second)
            if joint is None or gain > _WORTH:
                break
            apart = [*(place for place in apart if place not in (first, second)), len(groups)]
            groups.append(groups[first] + groups[second])
            joints.append(joint)
        known = [(groups[place], joints[place]) for place in apart]
        return [joint for group, joint in known if joint is not None and _is_mixed(group)]

    def _total(self, totals: Sequence[float]) -> float:
        """The total of parts of a workload, at their best shares of one price; the same in whatever order they are."""
        return float(fsum(one ** (1 / self._power) for one in totals) ** self._power)

    @once
    def _of_all_measures(self, *releases: _Release) -> list[_Release]:
        """The releases over the same rows, with all that any of them measures in each table; those that
        are read off that."""
        asked = [one.measured.question for one in releases]
        questions = [one for one in asked if one is not None]
        if not _is_mixed(releases) or len(questions) < len(asked):
            return []
        plans: dict[frozenset[str], tuple[Plan, tuple[tuple[int, ...], ...]]] = {}
        found: list[_Release] = []
        for number, one in enumerate(releases):
            keys = frozenset(one.keys)
            if keys not in plans:
                planned = _planned_with(questions[number], *questions)
                if planned is None:
                    return []
                plans[keys] = planned
            plan, places = plans[keys]
            read = self._read_off(one, plan, places[number])
            found += [] if read is None else [read]
        return [] if _is_mixed(found) else found

    def _read_off(self, release: _Release, plan: Plan, places: Sequence[int]) -> _Release | None:
        """A release, read off a plan that has its outputs at these places."""
        measures, terms = measures_of(plan), readings_of(release.measured, plan, places)
        if not measures or terms is None:
            return None
        at = {name: place for place, name in enumerate(measures.values())}
        readings = {
            family: tuple((at[other], weight) for other, weight in terms[name])
            for family, name in measures_of(release.measured).items()
        }
        alone, silent = self._silent(release.wanted), self._silent(plan)
        try:
            lattice = self._lattice([silent], readings)
        except ValueError:
            return None
        made = self._answering.reuse.made_of(alone, lattice, release.way)
        sums = self._answering.reuse.sums(release.wanted, lattice, release.way)
        before = squares(release.wanted, alone.noise)
        if made is None or sums is None or not all(before):
            return None  # what is 0 by its text alone is no noisier for it
        after = squares(made.wanted.plan, made.wanted.noise)
        weights = [one / other for one, other in zip(after, before, strict=True)]
        # How many cells its numbers are sums of is no matter of what each cell measures.
        weight = sum(weights) / len(weights) / max(map(len, sums.cells))
        return replace(release, measured=plan, statistics=tuple(measures), readings=readings, weight=weight)

    def _of_same_statistics(self, every: Sequence[_Release]) -> list[_Joint]:
        found: dict[tuple[str, ...], list[_Release]] = {}
        for release in every:
            found.setdefault(release.statistics, []).append(release)
        joints: list[_Joint] = []
        taken: set[_Unit] = set()
        # A unit may be joined with others over its own rows, or over more: first where most are.
        for releases in sorted(found.values(), key=lambda some: -len(_units_of(some))):
            some = _widest([one for one in releases if one.unit not in taken])
            joint = self._joint(*some)
            if joint is not None:
                joints.append(joint)
                taken |= joint.units
        return joints

    @once
    def _joint(self, *releases: _Release) -> _Joint | None:
        """The releases as marginals; None where they are as good apart, or are no marginals of one table."""
        plans = {frozenset(one.keys): one.measured for one in releases}
        if len(plans) < 2 and len({one.wanted.identity for one in releases}) < 2:
            return None
        norm = self._norm
        try:
            lattice = self._lattice([self._silent(plan) for plan in plans.values()], _readings(releases))
        except ValueError:
            return None
        fit = [one for one in releases if self._answering.reuse.made_of(self._silent(one.wanted), lattice, one.way)]
        if len(fit) < len(releases):
            return self._joint(*fit)
        # The factors of urgent statements leave the total of all apart, and so what other parts of the workload get.
        known: dict[str, list[_Release]] = {}
        for one in releases:
            known.setdefault(one.wanted.identity, []).append(one)
        counts = [sum(one.counts for one in same) for same in known.values()]
        even = self._total([sum(one.unit.part for one in same) for same in known.values()]) / self._total(counts)
        pairs = list(zip((same[0] for same in known.values()), counts, strict=True))
        asked = [self._asked(one, lattice, count * even) for one, count in pairs]
        own = [AskedMarginal((place,), count * even) for place, (_, count) in enumerate(pairs)]
        candidates = [tuple(sorted(lattice.places(tuple(keys)))) for keys in plans]
        found = best(lattice.sizes, asked, norm, candidates)
        if found.total > _WORTH * apart(own, norm):
            return None
        by_place = dict(zip(candidates, plans.values(), strict=True))
        joint = _Joint(releases, tuple((by_place[key], part) for key, part in found.parts.items()), found.total)
        return self._divided(joint, lattice, by_place, even, found.parts) or joint

    def _divided(
        self,
        joint: _Joint,
        lattice: Lattice,
        plans: Mapping[Attributes, Plan],
        even: float,
        start: Mapping[Attributes, Fraction],
    ) -> _Joint | None:
        """The same with tables by blocks of intervals, too; None where that is no better."""
        ways = [one.way for one in joint.releases if one.way is not None and one.way.intervals]
        many = {family: some for way in ways for family, some in way.intervals.items()}
        if not many:
            return None
        family = max(many, key=lambda one: (many[one], one))
        at = lattice.families.index(family)
        values = lattice.values[at]
        order = sorted(values.values(), key=lambda place: (None in values and place == values[None], place))
        asked = []
        for one in joint.releases:
            sums = self._answering.reuse.sums(one.wanted, lattice, one.way)
            places = tuple(sorted(lattice.places(one.keys)))
            cells = None if sums is None else _some(sums.cells, _MOST_DIVIDED_SUMS, lattice.sizes[at])
            asked.append(AskedOfDivided(places, one.weight * one.counts * even, cells))
        shares = divided_shares(lattice.sizes, at, order, asked, start, self._norm, tuple(plans))
        if shares.total > _WORTH * joint.total or not any(division for _, division in shares.parts):
            return None
        of_keys = {tuple(sorted(lattice.places(way.keys))): way for way in ways}
        found: list[tuple[Plan, Fraction]] = []
        merged: dict[str, MergedKey] = {}
        for (attributes, division), part in shares.parts.items():
            if division is None:
                found.append((plans[attributes], part))
                continue
            blocks = tuple(division[values[one]] if one in values else 0 for one in (*range(many[family]), None))
            own = of_keys[attributes].whole({family: blocks}) if attributes in of_keys else None
            plan = None if own is None or not own.exhaustive else _measuring(own, joint)
            if plan is None:
                return None
            (key,) = {one.attribute for one in plan.keys}.difference(lattice.families)
            merged[key] = (family, blocks)
            found.append((plan, part))
        return replace(joint, plans=tuple(found), total=shares.total, merged=merged)

    def _asked(self, release: _Release, lattice: Lattice, counts: float) -> AskedMarginal:
        """What a release asks for, with the weight of the variance of its numbers."""
        places = tuple(sorted(lattice.places(release.keys)))
        weight = release.weight * counts
        sums = self._answering.reuse.sums(release.wanted, lattice, release.way)
        if sums is None or all(len(cells) == 1 for cells in sums.cells):
            return AskedMarginal(places, weight)
        return AskedMarginal(places, weight, adds_to_sums(lattice.sizes, places, _some(sums.cells, _MOST_SUMS, 1)))

    def _silent(self, plan: Plan) -> Calibration:
        """The plan with some noise, where none of it matters."""
        accountant = self._opened.accountant
        return calibrate(plan, accountant.accounting, accountant.price(Fraction(1), Fraction(0)))

    def _lattice(
        self,
        calibrations: Sequence[Calibration],
        readings: Mapping[str, Reading],
        merged: Mapping[str, MergedKey] | None = None,
    ) -> Lattice:
        """What calibrations would measure, with nobody in any group. Raises ValueError where it is no lattice."""
        members, measures = [], dict[str, str]()
        for one in calibrations:
            measures = measures_of(one.plan)
            names = tuple(measures.values())
            groups = self._answering.reuse.groups(one.plan)
            table = NoisyTable(groups, dict.fromkeys(names, (0,) * len(groups)), dict(one.noise))
            members.append(BoughtMember(tuple(key.attribute for key in one.plan.keys), table, names))
        return Lattice(tuple(measures), tuple(members), readings, merged or {})

    # -- what is paid, and kept

    def _share(self, price: PrivacyLoss, part: Fraction, selects: bool, selecting: int) -> PrivacyLoss:
        share = price.of_noise * part
        return share + price.of_failure / selecting if selects else share

    def _stored(self, calibrations: Sequence[Calibration]) -> dict[str, NoisyTable]:
        found = {}
        for one in calibrations:
            if one.loss:
                table = self._opened.store.get(one.plan.identity, self._opened.version(one.plan), one.hidden_by)
                if table is not None:
                    found[one.plan.identity] = table
        return found

    def _marks(
        self, lattices: Sequence[tuple[_Joint, Lattice, list[Calibration]]]
    ) -> Iterator[tuple[NoisyTable, ReleaseFacts, str]]:
        for joint, lattice, own in lattices:
            members = tuple(
                (one.plan.identity, member.statistics, member.keys)
                for one, member in zip(own, lattice.members, strict=True)
            )
            asked = tuple(dict.fromkeys(tuple(sorted(one.keys)) for one in joint.releases))
            read = tuple({**self._of_each_filter(joint), **joint.readings}.items())
            cuts = tuple(joint.cuts.items())
            together = BoughtTogether(
                joint.releases[0].statistics,
                members,
                asked,
                readings=read,
                cuts=cuts,
                merged=tuple(joint.merged.items()),
                sums=tuple(one.wanted.identity for one in joint.releases) if joint.merged else (),
            )
            noise = {noise_of(one.plan.identity, name): law for one in own for name, law in one.noise.items()}
            facts = ReleaseFacts((), {}, False, self._answering.reuse.scope, (), together)
            yield NoisyTable((), {}, noise), facts, self._opened.version(own[0].plan)

    def _of_each_filter(self, joint: _Joint) -> dict[str, Reading]:
        """What was measured with FILTERs tells of the rows that each of them leaves, where nobody is clipped."""
        plan, _ = joint.plans[0]
        measures = measures_of(plan)
        if plan.question is None or plan.question.is_clipped:
            return {}
        at = {name: place for place, name in enumerate(measures.values())}
        found: dict[str, Reading] = {}
        for one in self._answering.reuse.by_conditions(plan):
            plain = [next((use for use in some if use == AddedTo(use.place)), None) for some in one.uses]
            places = [use.place for use in plain if use is not None]
            filtered = one.filtered()
            terms = readings_of(filtered, plan, places) if len(places) == len(plain) else None
            if terms is not None:
                of_names = {name: tuple((at[other], weight) for other, weight in some) for name, some in terms.items()}
                found |= {family: of_names[name] for family, name in measures_of(filtered).items()}
        return found

    def _mark(self, statement: Prepared, share: PrivacyLoss) -> tuple[NoisyTable, ReleaseFacts, str]:
        plans = statement.program.plans
        parts = (share.epsilon, share.rho, share.delta, *share.curve)
        together = BoughtTogether((), tuple((plan.identity, (), ()) for plan in plans), (), parts)
        facts = ReleaseFacts((), {}, False, self._answering.reuse.scope, (), together)
        return NoisyTable((), {}, {}), facts, self._opened.version(plans[0])

    def _explained(
        self,
        one: Prepared,
        place: int,
        together: Sequence[Calibration] | None,
        joined: bool,
        price: PrivacyLoss,
        many: int,
        selecting: Sequence[int],
    ) -> WorkloadStatement:
        names = tuple(name for name, _ in one.columns)
        if together is None:
            return WorkloadStatement(one.sql, names, (None,) * len(names), (None,) * len(names), False)
        pricing = self._answering.pricing
        share = self._share(price, Fraction(1, many), place in selecting, len(selecting))
        known = pricing.known(one)
        together = together if joined else agreeing(together, one.program.families)
        own = pricing.calibrations(one, share, kept=False)
        own = agreeing(own, one.program.families)
        alone, both = expected_errors(one, own, known), expected_errors(one, together, known)
        # Bars of whole numbers are whole, so that bars of small noise say little of it.
        pairs = zip(_squares(together), _squares(own[: len(together)]), strict=True) if joined else ()
        far = max((sqrt(after / before) for after, before in pairs), default=1.0)
        return WorkloadStatement(one.sql, names, alone, both, joined, far)


def _check(statements: Sequence[Prepared]) -> None:
    if not any(one.program.private_tables for one in statements):
        raise DataError("a workload asks about people", sqlstate="22023", hint="write SELECTs, with ; between them")
    for number, one in enumerate(statements, start=1):
        if what := unfit(one):
            raise DataError(f"statement {number} {what}", sqlstate="0A000", hint="ask it by itself")


def unfit(statement: Prepared) -> str:
    """Why a statement cannot be a part of a workload; nothing of one that can."""
    if statement.earlier is not None:
        return "is answered in stages"
    return "needs bounds that are not learned yet" if statement.program.missing else ""


@once
def _release(unit: _Unit, wanted: Plan, measured: Plan, way: DrillDown | None) -> _Release:
    """The same object for each of the ways to cut numbers that has it: what it is tried with is tried once."""
    keys = tuple(one.attribute for one in wanted.keys) if way is None else way.keys
    return _Release(unit, wanted, measured, way, tuple(measures_of(measured)), keys)


@once
def _planned_with(own: MeasuredQuestion, *asked: MeasuredQuestion) -> tuple[Plan, tuple[tuple[int, ...], ...]] | None:
    """A plan of one workload is made once, in however many ways its statements are joined on trial."""
    return own.with_others(asked)


@once
def _drill_downs(plan: Plan, cuts: Cuts | None) -> tuple[DrillDown, ...]:
    return plan.drill_downs(cuts)


@once
def _whole(way: DrillDown) -> Plan | None:
    return way.whole()


def _measuring(plan: Plan, joint: _Joint) -> Plan | None:
    """The plan with all that the tables of a joint measure; None where that is not known."""
    statistics = joint.releases[0].statistics
    if tuple(measures_of(plan)) == statistics:
        return plan
    asked = [one.measured.question for one in joint.releases]
    questions = [one for one in asked if one is not None]
    planned = None if plan.question is None else _planned_with(plan.question, *questions)
    if planned is None or tuple(measures_of(planned[0])) != statistics:
        return None
    return planned[0]


def _some(sums: tuple[tuple[int, ...], ...], most: int, values: int) -> tuple[tuple[int, ...], ...]:
    """At most so many of all sums, at steps that pass by all ``values`` of an attribute."""
    step = -(-len(sums) // most)
    while step > 1 and gcd(step, values) > 1:
        step += 1
    return sums[::step]


def _squares(calibrations: Sequence[Calibration]) -> list[float]:
    """The variances of what all outputs are made of."""
    return [square * float(one.agreement) ** 2 for one in calibrations for square in squares(one.plan, one.noise)]


def _parts(totals: Sequence[float], norm: Norm) -> list[Fraction]:
    """Shares that make the sum of T/share², or of T/share, least: whole parts that add up to less than 1."""
    roots = [one ** (1 / 3 if norm is Norm.L1 else 1 / 2) for one in totals]
    return [Fraction(int(_PARTS * root / sum(roots)), _PARTS) for root in roots]


def _widest(releases: Sequence[_Release]) -> list[_Release]:
    """One release of each unit, that leaves most conditions out."""
    found: dict[_Unit, _Release] = {}
    for one in releases:
        if one.unit not in found or len(one.keys) > len(found[one.unit].keys):
            found[one.unit] = one
    return list(found.values())


def _by_rows(releases: Sequence[_Release]) -> list[list[_Release]]:
    """The releases over the same rows, one of each unit; first where most units are."""
    found: dict[str, list[_Release]] = {}
    for one in releases:
        if one.measured.question is not None:
            found.setdefault(one.measured.question.rows, []).append(one)
    return sorted(map(_widest, found.values()), key=len, reverse=True)


def _units_of(releases: Sequence[_Release]) -> set[_Unit]:
    return {one.unit for one in releases}


def _totals(units: Collection[_Unit], joints: Sequence[_Joint]) -> list[float]:
    """The totals of joints, and of each unit that is in none."""
    joined = {unit for one in joints for unit in one.units}
    return [*(one.total for one in joints), *(unit.part for unit in units if unit not in joined)]


def _is_mixed(releases: Sequence[_Release]) -> bool:
    return len({one.statistics for one in releases}) > 1


def _readings(releases: Sequence[_Release]) -> Mapping[str, Reading]:
    return {family: reading for one in releases for family, reading in one.readings.items()}
