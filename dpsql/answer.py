"""One query, from its plans to its answer. Read this first.

The order of the lines in :meth:`Answering.released` is the guarantee: plan, price, charge durably, read, perturb, keep;
for the bounds that the policy leaves to be learned, and then for the query itself; and all of it for each of the
queries that are constants of the next one. Everything before a charge depends on SQL text, policy, ledger and what was
released alone; everything after ``perturb`` sees released numbers alone. A crash after a charge loses budget, never
privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import Calibration
from dpsql.engines import Patience, Turn
from dpsql.finish import Finished, Finisher, delivered, present_notes
from dpsql.ledger import Paid, Receipt, Span
from dpsql.mechanisms.sampling import Sampler
from dpsql.opened import Opened
from dpsql.perturb import perturb
from dpsql.prepare import Prepared, earlier_answer
from dpsql.price import BUYER, Bounds, Priced, Pricing, Profiles, Settled, error_notes, notices
from dpsql.read import Reader
from dpsql.releases import ExactTable, NoisyTable, ReleaseFacts
from dpsql.reply import Answer, Budget
from dpsql.reuse import Made, Reuse
from dpsql.settings import Settings
from dpsql.stages import Before, Stage, foreseen, staged
from rewriter.plan import Plan

PAID_AGAIN = "a window of the budget ended before all was read: it is paid in the next one, too"


@dataclass(frozen=True, slots=True)
class Asked:
    """A prepared query, as an analyst asks it under settings, with the time that it may take.

    Its charges are written on its ``receipt``, which is there when it fails, too.
    """

    prepared: Prepared
    analyst: str
    settings: Settings
    patience: Patience
    receipt: Receipt = field(default_factory=Receipt)


class BudgetLeft(Protocol):
    """The budget that is left by now; of a budget of rows, where the period of ``rows`` has the least."""

    def __call__(self, rows: Collection[Span] = ()) -> Budget: ...


@dataclass(frozen=True, slots=True)
class Released:
    """The released tables behind an answer: numbers that were paid for, by the identity of their plans.

    ``loss`` is what was charged for them now.
    """

    settled: Settled
    priced: Priced
    loss: PrivacyLoss
    tables: Mapping[str, Made]


class Answering:
    """The way from a prepared query to its answer, for all sessions of a proxy. Thread-safe."""

    def __init__(self, opened: Opened, sampler: Sampler, *, silent: bool = False) -> None:
        self.opened = opened
        self._sampler = sampler
        self.reuse = Reuse(opened)
        self.reader = Reader(opened, sampler)
        self.bounds = Bounds(opened)
        self.profiles = Profiles(opened)
        self.pricing = Pricing(opened, self.reuse, self.profiles, self.bounds.rest)
        self.finisher = Finisher(opened, silent=silent)  # only tests have a sampler of no noise

    def answer(self, asked: Asked, budget: BudgetLeft) -> Answer:
        """The answer of a query; ``budget`` says what is left. Raises :class:`dpsql.errors.Error`."""
        before = Before()
        if asked.prepared.earlier is not None:
            asked = replace(asked, settings=staged(asked.settings, asked.prepared))
            most = sum((one.loss for one in self.foreseen(asked.prepared, asked.settings)), PrivacyLoss())
            self.opened.ledger.check(asked.analyst, most)
            asked = self._after_earlier(asked, before)
        with ExitStack() as held:
            released = self.released(asked, held)
        return self.reply(asked, released, self.finished(asked, released), budget, before)

    def _after_earlier(self, asked: Asked, before: Before) -> Asked:
        """A query, planned with the answers of those that are asked before it, each charged before it is read."""
        while (earlier := asked.prepared.earlier) is not None:
            first = self._after_earlier(replace(asked, prepared=earlier.first), before)
            with ExitStack() as held:
                released = self.released(first, held)
            finished = self.finished(first, released)
            before.add(first.prepared, finished, released.loss, self._notices(released))
            asked = replace(asked, prepared=earlier.then(earlier_answer(first.prepared, finished.rows)))
        return asked

    def released(self, asked: Asked, held: ExitStack) -> Released:
        """The numbers of a query: kept before, made of kept ones, or charged for, read and perturbed.

        ``held`` until it has been read are claims, which keep others from buying the same, and the turn of the engine.
        """
        settings, program = asked.settings, asked.prepared.program
        drafts = program.plans if program.missing else ()
        if drafts:
            self.claim(asked, held, drafts)
        settled = self._with_bounds(asked, held)
        released = self.opened.store.state
        priced = self.pricing.settled(settled, settings)
        if priced.loss and settled.purchase is None:
            versions = self._versions(priced)
            # Meanwhile other statements may have bought the releases of this one. With the bounds that were learned, a
            # plan may be that of the draft, which this statement has claimed.
            mine = {one.identity for one in drafts}
            self.claim(asked, held, (one.plan for one in priced.bought if one.plan.identity not in mine))
            if released is None or released != self.opened.store.state or versions != self._versions(priced):
                priced = self.pricing.settled(settled, settings)
        measured, paid = self.bought(asked, priced, program.private_tables, held, settled.turn, settled.paid)
        loss = PrivacyLoss() if paid is None else paid.loss
        return Released(settled, priced, loss, self.pricing.tables(priced, measured))

    def _versions(self, priced: Priced) -> list[str]:
        """What the releases that are to be bought would stand under now."""
        return [self.opened.version(one.plan) for one in priced.bought]

    def bought(
        self,
        asked: Asked,
        priced: Priced,
        tables: tuple[str, ...],
        held: ExitStack,
        turn: Turn | None = None,
        paid: Paid | None = None,
    ) -> tuple[Mapping[str, NoisyTable], Paid | None]:
        """What is not known before: charged for, unless it was ``paid``, then read and perturbed."""
        opened, patience = self.opened, asked.patience
        fresh = [priced.fresh(one) for one in priced.releases]
        rows = opened.rows(one.plan for one in fresh if one is not None)
        kept = {c.plan.identity: (opened.version(c.plan), self.reuse.facts(c.plan)) for c in fresh if c is not None}
        reading = self.reader.reading(one.read for one in fresh if one is not None)
        if priced.loss and paid is None:
            turn = held.enter_context(opened.turn(patience, asked.analyst, rows))
            dues = priced.dues(asked.prepared.sql, tables)
            paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)
        read = partial(reading.table, patience=patience, turn=turn, paid=paid)
        measured: dict[str, NoisyTable] = {}
        for calibration, one in zip(priced.releases, fresh, strict=True):
            if one is not None:
                measured[calibration.plan.identity] = self._measured(one, read, patience, *kept[one.plan.identity])
                self.reuse.keep(priced.offers.get(calibration.plan.identity))
        return measured, paid

    def _with_bounds(self, asked: Asked, held: ExitStack) -> Settled:
        """The query with the bounds that the policy leaves open. Where some are not known, all that the statement may
        cost is charged, durably and at once, before the first of them is read."""
        opened, patience = self.opened, asked.patience
        settled = self.offered(asked.prepared, asked.settings)
        if settled.purchase is None:
            return settled
        opened.check_rows("a bound that is learned", "declare max_rows, and the range of each column that is summed")
        with opened.claimed((one.plan for one in settled.purchase.all), patience):
            # Another statement may have bought them meanwhile.
            settled = self.offered(asked.prepared, asked.settings)
            if settled.purchase is None:
                return settled
            rows = opened.rows((*asked.prepared.program.plans, *(one.plan for one in settled.purchase.all)))
            turn = held.enter_context(opened.turn(patience, asked.analyst, rows))
            dues = settled.purchase.dues(asked.prepared)
            paid = Paid.charged(opened.ledger, asked.analyst, dues, asked.receipt)
            read = partial(self.reader.reading(()).table, patience=patience, turn=turn, paid=paid)
            version = opened.policy.data_version  # as long as which bounds stand
            histograms = {
                missing: [self._measured(one, read, patience, version) for one in some]
                for missing, some in settled.purchase.calibrations.items()
            }
        return replace(self.bounds.learned(settled, histograms), turn=turn, paid=paid)

    def buy_profiles(self, patience: Patience, receipt: Receipt) -> PrivacyLoss:
        """Buy what is lacking of the policy's profiles, for the owner: all of it is charged, durably and at once,
        before the first row is read. Returns what was charged. Raises :class:`dpsql.errors.Error`."""
        opened = self.opened
        opened.check_rows("a profile", "leave profile out of the policy")
        with opened.claimed((one.plan for some in self.profiles.lacking() for one in some.calibrations), patience):
            # Another process may have bought them meanwhile.
            lacking = self.profiles.lacking()
            if not lacking:
                return PrivacyLoss()
            wanted = [one for some in lacking for one in some.calibrations]
            versions = {one.plan.identity: opened.version(one.plan) for one in wanted}
            with opened.turn(patience, BUYER, opened.rows(one.plan for one in wanted)) as turn:
                paid = Paid.charged(opened.ledger, BUYER, [one.due for one in lacking], receipt)
                read = partial(self.reader.reading(()).table, patience=patience, turn=turn, paid=paid)
                for one in wanted:
                    self._measured(one, read, patience, versions[one.plan.identity])
        return paid.loss

    def _measured(
        self,
        calibration: Calibration,
        read: Callable[[Plan], ExactTable],
        patience: Patience,
        version: str,
        facts: ReleaseFacts | None = None,
    ) -> NoisyTable:
        """Read and perturbed, all of which was charged before: step by step, where one is read at what was released of
        those before. Kept under the version from before it was read."""
        noisy, parts = NoisyTable((), {}, {}), calibration.parts
        for number, step in enumerate(parts, start=1):
            if patience.progress is not None and len(parts) > 1:
                patience.progress(number, len(parts))
            now = step(noisy)
            noisy = noisy.beside(perturb(read(now.read), now, self._sampler))
        if calibration.loss:
            self.opened.store.put(calibration.plan.identity, version, noisy, facts, calibration.plan.reads)
        return noisy

    def claim(self, asked: Asked, held: ExitStack, plans: Iterable[Plan]) -> None:
        """Wait until nobody else buys one of these releases. Who wants no release of others waits for nobody."""
        if asked.settings.reuse:
            held.enter_context(self.opened.claimed(plans, asked.patience))

    def offered(self, prepared: Prepared, settings: Settings) -> Settled:
        """The query with its bounds where all are known, else what it would pay for the others. Free, reads no data."""
        most = partial(self.pricing.most, prepared, settings)
        return self.bounds.offer(prepared, settings.epsilon, most, settings.stages)

    def foreseen(self, prepared: Prepared, settings: Settings) -> list[Stage]:
        """The stages of a query as far as they are known. Free, reads no data."""
        return foreseen(prepared, settings, self.offered, self.pricing, self.finisher)

    def finished(self, asked: Asked, released: Released) -> Finished:
        """Inference and the outer SELECT: a function of released numbers."""
        prepared = released.settled.prepared
        made = [_answering(released.tables[one.plan.identity], one.plan) for one in released.priced.calibrations]
        return self.finisher.finish(prepared, made, asked.settings, asked.analyst, asked.patience.cancellation)

    def reply(self, asked: Asked, released: Released, finished: Finished, budget: BudgetLeft, before: Before) -> Answer:
        """Finished rows as they are delivered, with the price and what is left."""
        shown = delivered(released.settled.prepared, finished, intervals=asked.settings.intervals)
        got = error_notes(shown.columns, shown.margins) if asked.settings.target_error is not None else ()
        price = before.loss + released.loss
        again = (PAID_AGAIN,) if asked.receipt.again else ()
        return Answer(
            columns=shown.columns,
            rows=shown.rows,
            margins=shown.margins,
            lows=shown.lows,
            highs=shown.highs,
            items=shown.items,
            price=price,
            epsilon=self.opened.accountant.accounting.statement_epsilon(price),
            budget=partial(budget, released.priced.rows),
            notices=tuple(
                dict.fromkeys((*again, *before.notices, *self._notices(released), *got, *finished.notes, *shown.notes))
            ),
        )

    def _notices(self, released: Released) -> tuple[str, ...]:
        settled, program, priced = released.settled, released.settled.prepared.program, released.priced
        plans = [one.plan for one in priced.calibrations]
        full = (one.cells for one in plans if _is_full(released.tables[one.identity], one))
        cut = [
            f"no more than {most:,} groups of public rows are listed until the policy is opened anew" for most in full
        ]
        told = present_notes(program.shapes, priced.calibrations, self.opened.policy.limits.rows)
        beyond = self.profiles.notes(plans)
        return (*settled.notices, *program.notes, *cut, *told, *notices(priced), *beyond)


def _answering(made: Made, plan: Plan) -> Made:
    """A table for a plan. Where its list of groups was cut, rows may be in others: a total is no sum of its parts."""
    return made.answering(replace(plan, exhaustive=False) if _is_full(made, plan) else plan)


def _is_full(made: Made, plan: Plan) -> bool:
    """Whether a list of public groups that may grow has no more room."""
    return plan.cut_at is not None and plan.cut_at == len(made.table.keys)
