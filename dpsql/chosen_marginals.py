"""Marginals of one table that are chosen round by round, each where a model of the earlier ones is furthest off.

Guarantee: as in :mod:`dpsql.answer`, the order of the lines is charge durably, read, choose, perturb, keep. The price
of all rounds is charged once, before the first row is read. Rounds spend parts of it, and a part that exceeds the rest
is an error before it is used (:class:`Purse`). The number of rounds and their prices follow from the price, the
candidates and released numbers. A model sees released numbers alone: it says what it expects, and never sees a score.

**Mechanism.** AIM (McKenna, Mullins, Sheldon, Miklau 2022, algorithms 2 to 4). First each marginal of one column is
measured. Then each round picks a marginal r by the exponential mechanism with the score
w_r (‖M_r(D) - M_r(p̂)‖₁ - √(2/π)·σ·n_r): how far off the model is, less the noise of n_r groups. A picked marginal is
measured, and the model fitted anew. Nine tenths of a round's price pay for its noise, the rest for its pick. After a
round that changes the model by no more than noise does, the next one costs four times as much, which halves its σ.

**Claim.** One person moves the integers of a marginal by an L1 norm of at most s, hence each score by w_r·s at most:
predictions and the noise's part are rounded to integers, which no row decides. Where only the L2 norm is bounded, its
square bounds the L1 norm, since an integer is at most its square. Picks and noise are adaptive, and losses add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import pi, sqrt
from typing import Protocol

from dpsql.accounting import PrivacyLoss
from dpsql.answer import Answering, Asked
from dpsql.calibrate import Calibration, affordable, calibrate
from dpsql.errors import error
from dpsql.ledger import Due, Paid
from dpsql.mechanisms import HighestScore
from dpsql.mechanisms.sampling import Sampler
from dpsql.perturb import perturb
from dpsql.prepare import Prepared
from dpsql.releases import ExactTable, Key, NoisyTable
from rewriter.plan import Plan

_FORM = "chosen marginals 1"
"""The identity of what a run keeps begins with it."""
_NOISE = Fraction(9, 10)
"""The part of a round's price that pays for its noise."""
_ROUNDS = 16
"""The price is divided among so many rounds for each column, if none is dearer than the first."""
_DEARER = 4
"""The price of a round over that of the one before, if the latter told nothing new."""


@dataclass(frozen=True, slots=True)
class CandidateMarginal:
    """A count of rows by some columns, of ``width`` of them; ``weight`` says how many of the wanted marginals it
    tells of."""

    prepared: Prepared
    width: int
    weight: int


@dataclass(frozen=True, slots=True)
class ChosenMarginal:
    """A released marginal: the place of its candidate, its noisy counts in rows, by the groups of its plan, and their
    standard ``deviation``."""

    place: int
    groups: Sequence[Key]
    counts: tuple[float, ...]
    deviation: float


class Model(Protocol):
    """A model of released marginals. Candidates are known by their places."""

    def fit(self, measured: Sequence[ChosenMarginal]) -> None: ...

    def fits(self, place: int, part: Fraction) -> bool:
        """Whether the model is small enough with this candidate, where a part of the price is spent."""
        ...

    def predicted(self, place: int, groups: Sequence[Key]) -> Sequence[float]:
        """The rows that are expected in each group."""
        ...


@dataclass(frozen=True, slots=True)
class RoundsPlan:
    """Marginals that would be chosen among candidates at a ``price``. ``kept``: the same was bought before."""

    candidates: tuple[CandidateMarginal, ...]
    plans: tuple[Plan, ...]
    price: PrivacyLoss
    identity: str
    version: str
    kept: tuple[ChosenMarginal, ...] | None = None

    @property
    def loss(self) -> PrivacyLoss:
        return self.price if self.kept is None else PrivacyLoss()

    @property
    def first_part(self) -> Fraction:
        """The part of the price that the first rounds have."""
        return Fraction(1, _ROUNDS * sum(one.width == 1 for one in self.candidates))


@dataclass(slots=True)
class Purse:
    """The price that was charged for all rounds, and the losses that it has paid for: never more."""

    charged: PrivacyLoss
    spent: PrivacyLoss = field(default_factory=PrivacyLoss)

    def pay(self, loss: PrivacyLoss) -> None:
        total = self.spent + loss
        if not total.fits_within(self.charged):
            raise error("rounds cost more than was charged", sqlstate="XX000")
        self.spent = total


class ChosenMarginals:
    """Marginals that are chosen round by round, for all sessions of a proxy. Thread-safe."""

    def __init__(self, answering: Answering, sampler: Sampler) -> None:
        self._answering = answering
        self._opened = answering.opened
        self._sampler = sampler

    def plan(self, candidates: Sequence[CandidateMarginal], epsilon: Fraction) -> RoundsPlan | None:
        """What would be bought at a price; None where rounds cannot be paid for, since losses do not add up as ρ, or a
        candidate is not one count of each group of a public list. Free, and reads no data."""
        opened, pricing = self._opened, self._answering.pricing
        accountant = opened.accountant
        if not accountant.accounting.concentrated or accountant.of_rows:
            return None
        price = pricing.price_of(epsilon, selects=False)
        plans: list[Plan] = []
        for one in candidates:
            if one.prepared.program.missing or one.prepared.earlier is not None:
                return None
            calibrations = pricing.calibrations(one.prepared, price, kept=False)
            if len(calibrations) != 1 or not _is_one_count(calibrations[0].plan):
                return None
            plans.append(calibrations[0].plan)
        weighed = [(plan.identity, one.weight) for plan, one in zip(plans, candidates, strict=True)]
        identity = f"{_FORM} {hashlib.sha256(repr((price.parts, weighed)).encode()).hexdigest()}"
        found = RoundsPlan(tuple(candidates), tuple(plans), price, identity, opened.version(plans[0]))
        return replace(found, kept=self._kept(found))

    def buy(self, plan: RoundsPlan, model: Model, asked: Asked) -> tuple[RoundsPlan, PrivacyLoss]:
        """Buy all rounds with one charge, and keep them: what is ``kept`` by then, and what was charged now. Raises
        :class:`dpsql.errors.Error`; nothing was charged unless data was to be read."""
        opened, patience = self._opened, asked.patience
        found = replace(plan, version=opened.version(plan.plans[0]))
        with opened.purchases.claimed({f"{found.identity} {found.version}"}, patience):
            found = replace(found, kept=self._kept(found))
            if found.kept is not None:
                return found, PrivacyLoss()
            # An error of the noise or of the pick comes before the charge: later rounds cost no less.
            with affordable():
                for place in range(len(found.plans)):
                    self.calibrated(found, place, found.first_part * _NOISE)
                self.pick(found, range(len(found.plans)), found.first_part * (1 - _NOISE))
            groups = [tuple(self._answering.reuse.groups(one)) for one in found.plans]
            reading = self._answering.reader.reading(found.plans)
            tables = sorted({table for one in found.candidates for table in one.prepared.program.private_tables})
            with opened.turn(patience, asked.analyst, opened.rows(found.plans)) as turn:
                dues = [Due(found.price, asked.prepared.sql, tuple(tables))]
                paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)
                exact = [reading.table(one, patience, turn, paid) for one in found.plans]
            run = Rounds(self, found, groups, exact, model, self._sampler, Purse(found.price))
            run.run()
            self._keep(found, run.released)
        return replace(found, kept=tuple(run.measured)), paid.loss

    def calibrated(self, plan: RoundsPlan, place: int, part: Fraction) -> Calibration:
        """A marginal, hidden for its part of the price."""
        return calibrate(plan.plans[place], self._opened.accountant.accounting, plan.price.of_noise * part)

    def pick(self, plan: RoundsPlan, places: Sequence[int], part: Fraction) -> tuple[HighestScore, PrivacyLoss]:
        """The pick of one of these candidates for its part of the price, and what is paid for it."""
        sensitivity = max(plan.candidates[place].weight * _moved(plan.plans[place]) for place in places)
        [allowance] = self._opened.accountant.accounting.allowances(plan.price.of_noise * part)
        return HighestScore.of_rho(sensitivity, allowance.loss.rho), allowance.charge

    def _kept(self, plan: RoundsPlan) -> tuple[ChosenMarginal, ...] | None:
        store = self._opened.store
        rounds = store.get(plan.identity, plan.version, {})
        if rounds is None:
            return None
        found: list[ChosenMarginal] = []
        for number, (place, top, bottom) in enumerate(rounds.keys):
            calibration = self.calibrated(plan, int(str(place)), Fraction(int(str(top)), int(str(bottom))))
            table = store.get(f"{plan.identity} {number}", plan.version, calibration.hidden_by)
            if table is None:
                return None
            found.append(measured_marginal(int(str(place)), table, calibration))
        return tuple(found)

    def _keep(self, plan: RoundsPlan, released: Sequence[tuple[int, Fraction, NoisyTable]]) -> None:
        """Each round by its number; and as a release of its plan, so that statements are answered from it."""
        store, reads = self._opened.store, plan.plans[0].reads
        for number, (place, _, table) in enumerate(released):
            one = plan.plans[place]
            store.put(f"{plan.identity} {number}", plan.version, table, None, reads)
            store.put(one.identity, plan.version, table, self._answering.reuse.facts(one), reads)
        keys = tuple((place, str(part.numerator), str(part.denominator)) for place, part, _ in released)
        store.put(plan.identity, plan.version, NoisyTable(keys, {}, {}), None, reads)


@dataclass(slots=True)
class Rounds:
    """The rounds of one run, over secret tables; ``released`` are the place, the part of the price and the table of
    each."""

    chosen: ChosenMarginals
    plan: RoundsPlan
    groups: Sequence[tuple[Key, ...]]
    exact: Sequence[ExactTable]
    model: Model
    sampler: Sampler
    purse: Purse
    released: list[tuple[int, Fraction, NoisyTable]] = field(default_factory=list)
    measured: list[ChosenMarginal] = field(default_factory=list)
    _left: Fraction = Fraction(1)

    def run(self) -> None:
        """All rounds, until the price is spent."""
        part = self.plan.first_part
        for place, one in enumerate(self.plan.candidates):
            if one.width == 1:
                self._measure(place, part * _NOISE)
        self.model.fit(self.measured)
        last = False
        while not last:
            last = self._left < 2 * part
            part = self._left if last else part
            places = [place for place in range(len(self.plan.plans)) if self.model.fits(place, 1 - self._left + part)]
            place = self._choose(places, part)
            before = self._predicted(place)
            self._measure(place, part * _NOISE)
            if not last:
                self.model.fit(self.measured)
                change = sum(abs(new - old) for new, old in zip(self._predicted(place), before, strict=True))
                part *= _DEARER if change <= self._of_noise(place, part) else 1

    def _choose(self, places: Sequence[int], part: Fraction) -> int:
        mechanism, paid = self.chosen.pick(self.plan, places, part * (1 - _NOISE))
        expected = [(place, self._predicted(place), self._of_noise(place, part)) for place in places]
        self._pay(paid, part * (1 - _NOISE))
        scores = [
            self.plan.candidates[place].weight * (_off(self.exact[place], self.groups[place], predicted) - of_noise)
            for place, predicted, of_noise in expected
        ]
        return places[mechanism.pick(scores, self.sampler)]

    def _measure(self, place: int, part: Fraction) -> None:
        calibration = self.chosen.calibrated(self.plan, place, part)
        self._pay(calibration.loss, part)
        table = perturb(self.exact[place], calibration, self.sampler)
        self.released.append((place, part, table))
        self.measured.append(measured_marginal(place, table, calibration))

    def _pay(self, loss: PrivacyLoss, part: Fraction) -> None:
        self.purse.pay(loss)
        self._left -= part

    def _predicted(self, place: int) -> list[int]:
        """What the model expects of each group, in steps."""
        [statistic] = self.plan.plans[place].statistics
        step = float(statistic.granularity)
        return [round(number / step) for number in self.model.predicted(place, self.groups[place])]

    def _of_noise(self, place: int, part: Fraction) -> int:
        """The L1 norm to expect of a round's noise, in steps."""
        [block] = self.chosen.calibrated(self.plan, place, part * _NOISE).measured
        return round(sqrt(2 / pi * float(block.mechanism.variance)) * len(self.groups[place]))


def measured_marginal(place: int, table: NoisyTable, calibration: Calibration) -> ChosenMarginal:
    """A released marginal in rows."""
    [block] = calibration.measured
    [statistic] = block.block.statistics
    step = float(statistic.granularity)
    counts = tuple(int(number) * step for number in table.statistics[statistic.name])
    return ChosenMarginal(place, table.keys, counts, sqrt(float(block.mechanism.variance)) * step)


def _off(exact: ExactTable, groups: Sequence[Key], predicted: Sequence[int]) -> int:
    """Secret: how far off predictions are, in steps."""
    [integers] = exact.statistics.values()
    known = dict(zip(exact.keys, map(int, integers), strict=True))
    if set(known) != set(groups):
        raise error("the engine's answer has other groups than were planned for", sqlstate="XX000")
    return sum(abs(known[key] - number) for key, number in zip(groups, predicted, strict=True))


def _moved(plan: Plan) -> int:
    """The most that one person moves all integers of a plan, in the L1 norm."""
    [block] = plan.blocks
    l1, most = block.sensitivity.l1, block.sensitivity.l2_squared
    return max(most if l1 is None else min(l1, most), 1)


def _is_one_count(plan: Plan) -> bool:
    known = bool(plan.groups) and len(plan.statistics) == len(plan.outputs) == 1
    return known and plan.selection is None and plan.top is None and not (plan.choices or plan.steps or plan.in_blocks)
