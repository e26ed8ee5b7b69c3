"""Bounds that the owner left to be learned: found among earlier releases, or bought with a part of a price.

A bound is a function of noisy histograms (:mod:`dpsql.inference.estimates.learned_bounds`), which are releases like any
other: planned by :mod:`rewriter.planner.bound_histogram`, calibrated, charged, and kept in the store, beside the ledger
that paid for them. So every statement, session or process with the same histograms takes the same bound. If the store
is lost or the ``data_version`` changes, the bound is paid for again.

Why less accurate histograms serve, too: a bound is good enough if it is as accurate as an eighth of the usual part of
the owner's default price makes it. So a bound that was learned together with others serves later statements. A large
price does not pay again for a bound that is good enough, and a tiny price spoils nothing. Statements that ask for means
alone have a bound of their own, of the same histogram.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting import Accounting, PrivacyLoss
from dpsql.calibrate import Calibration, calibrate
from dpsql.engines import Turn
from dpsql.inference.estimates import learned, threshold
from dpsql.ledger import Due, Paid
from dpsql.mechanisms import Mechanism
from dpsql.memory import Memory
from dpsql.opened import Opened
from dpsql.prepare import Prepared
from dpsql.releases import NoisyTable
from rewriter.declared import Learned, Missing, Sensitivity
from rewriter.front_door import Program, exponents, histogram_plans
from rewriter.plan import Plan, Ratio

_SHARED = 8
"""A bound serves where it is as accurate as this part of a statement's share makes it."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound that was learned, the ε at which its histograms were released, and how many people beyond it they do not
    tell from noise."""

    learned: Learned
    epsilon: float
    unseen: float

    @property
    def notice(self) -> str:
        """The notice to an analyst. It holds released numbers only."""
        missing, high = self.learned.missing, _shown(self.learned.high)
        many = f"{float(f'{self.unseen:.2g}'):,.0f}"
        unseen = f"up to about {many} {'person' if many == '1' else 'people'} may be beyond it unseen"
        released = f"a bound released at ε = {self.epsilon:.3g}; {unseen}"
        if missing.total:
            return f"{missing.column} of one person is taken to add up to at most {high}: {released}"
        if missing.column:
            return f"{missing.column} is taken to be in [{_shown(self.learned.low)}, {high}]: {released}"
        rows = "row" if high == "1" else "rows"
        return f"each person counts with at most {high} {rows} of {missing.table}: {released}"


@dataclass(frozen=True, slots=True)
class Purchase:
    """Histograms that are charged and read before a query, by the missing bound; ``rest`` is charged for the query."""

    calibrations: Mapping[Missing, tuple[Calibration, ...]]
    share: Fraction
    rest: PrivacyLoss

    @property
    def all(self) -> tuple[Calibration, ...]:
        return tuple(one for some in self.calibrations.values() for one in some)

    @property
    def loss(self) -> PrivacyLoss:
        return _loss(self.all) + self.rest

    def dues(self, prepared: Prepared) -> list[Due]:
        """A charge for each bound, and one for the query."""
        sql, tables = prepared.sql, prepared.program.private_tables
        bought = [Due(_loss(some), f"{missing}, for: {sql}", tables) for missing, some in self.calibrations.items()]
        return [*bought, Due(self.rest, sql, tables)]

    @property
    def notice(self) -> str:
        what = ", ".join(map(str, self.calibrations))
        return f"{float(100 * self.share):g} % of the price goes to what the policy leaves open: {what}"

    @property
    def warning(self) -> str:
        """What an explanation cannot say before the purchase."""
        return "what is shown is bought once; the statement is planned with what it tells, and its error is known then"


@dataclass(frozen=True, slots=True)
class Settled:
    """A query with the bounds that the policy leaves open; a ``purchase`` is what was, or would be, bought for it.

    Where it was bought, it is ``paid``, and the engine's ``turn`` that the charge waited for lasts until the query has
    been read, too.
    """

    prepared: Prepared
    bounds: tuple[Bound, ...] = ()
    purchase: Purchase | None = None
    turn: Turn | None = None
    paid: Paid | None = None

    @property
    def notices(self) -> tuple[str, ...]:
        bought = () if self.purchase is None else (self.purchase.notice,)
        return (*bought, *(bound.notice for bound in self.bounds))


class Bounds:
    """The bounds that a policy leaves to be learned: what is to be bought for them, and what follows from it.

    :mod:`dpsql.answer` charges and reads. Thread-safe.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        memories = opened.memories
        self._plans: Memory[Missing, tuple[Plan, ...]] = memories.memory("histograms of bounds", 1024)
        self._calibrations: Memory[tuple[Missing, PrivacyLoss], tuple[Calibration, ...]]
        self._calibrations = memories.memory("calibrations of bounds", 4096)

    @property
    def share(self) -> Fraction | None:
        """The part of a price that pays for bounds; None: the owner leaves none to be learned."""
        return self._opened.policy.statement.bounds

    @property
    def rest(self) -> Fraction:
        """The part of a price that is left for the statement that buys bounds."""
        return 1 - (self.share or Fraction(0))

    def offer(self, draft: Prepared, epsilon: Fraction, most: Callable[[], PrivacyLoss], stages: int = 1) -> Settled:
        """The query with its bounds where all are known, else what it would pay for the others. Free, reads no data.

        It is one of so many ``stages`` of a statement at this ε.
        """
        if not draft.program.missing:
            return Settled(draft)
        found = self._find(draft, epsilon, stages)
        lacking = [missing for missing in draft.program.missing if missing not in found]
        if not lacking:
            return _with(draft, list(found.values()))
        price = self._price(epsilon, stages)
        each = rounded_down(price / len(lacking))
        calibrations = {missing: self._calibrated(missing, each) for missing in lacking}
        purchase = Purchase(calibrations, self.share or Fraction(0), PrivacyLoss())
        # What rounding has left of the part goes to the statement: the whole price is charged, and not more.
        rest = most() + (price - purchase.loss)
        return Settled(draft, tuple(found.values()), replace(purchase, rest=rest))

    def _find(self, draft: Prepared, epsilon: Fraction, stages: int) -> dict[Missing, Bound]:
        """Those bounds that were released before, and are good enough for a statement of this ε."""
        missing, means_of = draft.program.missing, _means_of(draft.program)
        price = self._price(min(epsilon, self._opened.policy.statement.epsilon), stages)
        wanted = price / max(_SHARED, len(missing))
        found: dict[Missing, Bound] = {}
        for one in missing:
            tables = [
                self._opened.store.get(option.plan.identity, self._opened.policy.data_version, option.hidden_by)
                for option in self._calibrated(one, wanted)
            ]
            known = [table for table in tables if table is not None]
            if len(known) == len(tables):
                found[one] = self._bound(one, known, means_of)
        return found

    def learned(self, settled: Settled, histograms: Mapping[Missing, Sequence[NoisyTable]]) -> Settled:
        """The query with the bounds that follow from the bought histograms. A function of released numbers."""
        means_of = _means_of(settled.prepared.program)
        bought = [self._bound(missing, tables, means_of) for missing, tables in histograms.items()]
        found = {bound.learned.missing: bound for bound in (*settled.bounds, *bought)}
        bounds = [found[missing] for missing in settled.prepared.program.missing]
        return replace(_with(settled.prepared, bounds), purchase=settled.purchase)

    def _plans_of(self, missing: Missing) -> tuple[Plan, ...]:
        return histogram_plans(missing, self._opened.catalog, self._opened.engine.dialect)

    def _calibrated(self, missing: Missing, price: PrivacyLoss) -> tuple[Calibration, ...]:
        return self._calibrations.get((missing, price), lambda: self._calibrate(missing, price))

    def _calibrate(self, missing: Missing, price: PrivacyLoss) -> tuple[Calibration, ...]:
        plans = self._plans.get(missing, lambda: self._plans_of(missing))
        share = price / len(plans)
        return tuple(calibrate(one, self._opened.accountant.accounting, share) for one in plans)

    def _price(self, epsilon: Fraction, stages: int) -> PrivacyLoss:
        """The part of a statement's price. No δ: no group is selected, and the noise needs none."""
        whole = self._opened.accountant.price(epsilon, Fraction(0)) * (self.share or Fraction(0))
        return whole if stages == 1 else rounded_down(whole / stages)

    def _bound(self, missing: Missing, tables: Sequence[NoisyTable], means_of: int) -> Bound:
        """A function of released numbers, the policy, and whether only means are asked for, of so many groups: so it is
        the same for everybody."""
        accounting = self._opened.accountant.accounting
        relative = accounting.deviation / float(self._opened.policy.statement.epsilon)
        bins = exponents(missing, self._opened.catalog)
        unseen = max(threshold(noise, len(bins)) for table in tables for noise in table.noise.values())
        return Bound(learned(missing, tables, bins, relative, means_of), _released_at(tables, accounting), unseen)


def _means_of(program: Program) -> int:
    """Of how many groups a statement asks for means, and for nothing else; 0 where it does not, or nobody knows."""
    plans = [one.first for one in program.asked]
    if not all(isinstance(output.estimator, Ratio) for plan in plans for output in plan.outputs):
        return 0
    return max((plan.cells or 0 for plan in plans if plan.outputs), default=0)


def _with(draft: Prepared, bounds: Sequence[Bound]) -> Settled:
    if draft.with_bounds is None:
        raise AssertionError("what lacks bounds can be planned with them")
    return Settled(draft.with_bounds(tuple(bound.learned for bound in bounds)), tuple(bounds))


def _loss(calibrations: Sequence[Calibration]) -> PrivacyLoss:
    return sum((one.loss for one in calibrations), PrivacyLoss())


def rounded_down(price: PrivacyLoss) -> PrivacyLoss:
    """A price that the ledger records as it is: it rounds each charge up, and a third has no last digit."""
    return PrivacyLoss.of_parts(Fraction(math.floor(part * 10**40), 10**40) for part in price.parts)


def _released_at(tables: Sequence[NoisyTable], accounting: Accounting) -> float:
    """The ε of histograms of sensitivity 1, together."""
    one = Sensitivity(l1=1, l2_squared=1)
    noises = [noise for table in tables for noise in table.noise.values()]
    loss = sum((noise.loss(one) for noise in noises if isinstance(noise, Mechanism)), PrivacyLoss())
    return float(accounting.statement_epsilon(loss))


def _shown(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):g}"
