"""Workloads of the policy: the first of their statements that is asked buys all of them.

Guarantee: whether a statement is of a workload, and whether that is bought, follow from texts, policy, clock, settings
and what was released before. A purchase is one charge, durable before any row is read (:mod:`dpsql.workload`); where
the budget does not reach for all of it, nothing is charged and nothing is read.

A workload with a ``refresh`` of its own has a way of answers of its own, whose releases stand so long. Statements that
are free on that way are answered there, in any spelling; a statement beyond the usual accuracy is no part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dpsql.accounting import PrivacyLoss
from dpsql.answer import Answering, Asked, BudgetLeft
from dpsql.errors import BudgetExceeded, DataError, Error
from dpsql.mechanisms.sampling import Sampler
from dpsql.policy import Problem, WorkloadSection, join
from dpsql.prepare import Prepared
from dpsql.price_text import loss
from dpsql.reply import Answer, Budget, Explanation
from dpsql.settings import Settings
from dpsql.workload import WorkloadPlan, Workloads, unfit
from rewriter.front_door import pieces

Questions = Callable[[Sequence[str]], list[Prepared]]
"""Statements, prepared under the usual settings. Raises :class:`dpsql.errors.Error`."""


@dataclass(frozen=True, slots=True)
class DeclaredWorkload:
    """A workload of the policy, and the way on which its statements are answered; ``apart`` from that of others."""

    name: str
    section: WorkloadSection
    statements: tuple[str, ...]
    answering: Answering
    workloads: Workloads
    apart: bool

    def is_bought_by(self, analyst: str) -> bool:
        return self.section.analysts is None or analyst in self.section.analysts

    @property
    def what(self) -> str:
        return f"the workload {self.name}"

    @property
    def price(self) -> str:
        return f"its {len(self.statements)} statements are bought as one for ε = {float(self.section.epsilon):g}"


@dataclass(frozen=True, slots=True)
class WorkloadPart:
    """A statement that is answered by a workload: its ``place`` among the statements, if it is one of them, and the
    plan of what has to be bought first, if anything has."""

    workload: DeclaredWorkload
    place: int | None
    plan: WorkloadPlan | None

    @property
    def note(self) -> str:
        one = self.workload
        if self.place is None:
            return f"made of {one.what}, at no price"
        of = f"statement {self.place + 1} of {one.what}"
        return f"{of}, which was released before" if self.plan is None else f"{of}: {one.price}, and are free then"

    def explained(self, found: Explanation, budget_after: Callable[[PrivacyLoss], Budget]) -> Explanation:
        """The explanation of the statement, with the price and the errors of the workload that it would buy."""
        if self.plan is None or self.place is None:
            return replace(found, notices=(self.note, *found.notices))
        price, together = self.plan.loss, self.plan.statements[self.place].together
        accounting = self.workload.answering.opened.accountant.accounting
        return replace(
            found,
            price=price,
            epsilon=accounting.statement_epsilon(price),
            remaining_after=budget_after(price),
            expected=together if len(together) == len(found.expected) else found.expected,
            notices=(self.note, *found.notices),
            advise=tuple,
        )


class DeclaredWorkloads:
    """The workloads of a policy, for all sessions of a proxy. Thread-safe."""

    def __init__(self, answering: Answering, sampler: Sampler, questions: Questions, *, silent: bool = False) -> None:
        self._answering = answering
        self._questions = questions
        self._all = tuple(self._declared(sampler, silent=silent))

    def _declared(self, sampler: Sampler, *, silent: bool) -> Iterator[DeclaredWorkload]:
        opened = self._answering.opened
        for name, section in (opened.policy.workloads or {}).items():
            own = section.refresh
            zoned = None if own is None else replace(own, zone=opened.policy.clock.zone)
            answering = self._answering
            if zoned is not None:
                answering = Answering(opened.refreshed(zoned), sampler, silent=silent)
            texts = tuple(piece for _, piece, _ in pieces(section.statements.text))
            yield DeclaredWorkload(name, section, texts, answering, Workloads(answering), zoned is not None)

    def named(self, name: str) -> DeclaredWorkload | None:
        return next((one for one in self._all if one.name == name), None)

    def plan(self, one: DeclaredWorkload) -> WorkloadPlan:
        """How a workload is bought. Free, and reads no data. Raises :class:`dpsql.errors.Error`."""
        return one.workloads.plan(self._questions(one.statements), one.section.epsilon)

    def part(self, prepared: Prepared, settings: Settings, analyst: str) -> WorkloadPart | None:
        """The workload that answers a statement; None where it is answered by itself. Free, and reads no data."""
        if not self._all or not prepared.program.private_tables or prepared.earlier or prepared.program.missing:
            return None
        if not self._answering.pricing.is_usual(settings):
            return None
        for one in self._all:
            place = self._place(one, prepared)
            if place is None and not one.apart:
                continue
            if not one.answering.pricing.price(prepared, settings).loss:
                return WorkloadPart(one, place, None)
            if place is not None and one.is_bought_by(analyst):
                return WorkloadPart(one, place, self.plan(one))
        return None

    def buy(self, part: WorkloadPart, asked: Asked) -> PrivacyLoss:
        """Buy the workload of a statement as a whole: what was charged now. Raises :class:`dpsql.errors.Error`."""
        return PrivacyLoss() if part.plan is None else self.bought(part.workload, part.plan, asked)

    def bought(self, one: DeclaredWorkload, plan: WorkloadPlan, asked: Asked) -> PrivacyLoss:
        """Buy a workload: what was charged now. Raises :class:`dpsql.errors.Error`."""
        if not one.is_bought_by(asked.analyst):
            hint = f"{', '.join(one.section.analysts or ())} may"
            raise DataError(f"{one.what} is not bought by this analyst", sqlstate="42501", hint=hint)
        named = replace(self._questions(one.statements)[0], sql=";\n".join(one.statements))
        try:
            one.answering.opened.ledger.check(asked.analyst, plan.loss)
            return one.workloads.buy(plan, lambda: self.plan(one), replace(asked, prepared=named))[1]
        except BudgetExceeded as refused:
            hint = f"{one.price}, {loss(plan.loss)}; SET dpsql.reuse = off asks one by itself; {refused.hint}"
            text = f"{one.what} is bought as a whole: {refused.message}"
            raise BudgetExceeded(text, sqlstate=refused.sqlstate, hint=hint) from None

    def answer(self, part: WorkloadPart, asked: Asked, budget: BudgetLeft) -> Answer:
        """The answer of a statement of a workload, which is bought first where it was not. Raises
        :class:`dpsql.errors.Error`."""
        charged = self.buy(part, asked)
        answer = part.workload.answering.answer(asked, budget)
        price = answer.price + charged
        epsilon = part.workload.answering.opened.accountant.accounting.statement_epsilon(price)
        return replace(answer, price=price, epsilon=epsilon, notices=(part.note, *answer.notices))

    def problems(self) -> Iterator[Problem]:
        """What keeps workloads from being bought, and statements that tell nothing of others, for the owner."""
        for one in self._all:
            path = join("workloads", one.name)
            wrong = [*self._wrong(one)]
            try:
                plan = self.plan(one)
            except Error as problem:
                wrong = wrong or [problem.message]
            yield from (Problem(join(path, "statements"), text) for text in wrong)
            if wrong:
                continue
            part = plan.loss.part_of(one.answering.opened.accountant.limit)
            if part > 1:
                yield Problem(join(path, "epsilon"), f"costs {float(part):.3g} times the whole budget: lower it")
            beside = [str(number) for number, found in enumerate(plan.statements, 1) if not found.joined]
            if 0 < len(beside) < len(plan.statements):
                which = f"{', '.join(beside)} of {len(plan.statements)} {'is' if len(beside) == 1 else 'are'}"
                text = f"{which} bought beside the others, at a share of the price: the others are measured together"
                yield Problem(join(path, "statements"), text, "info")

    def _wrong(self, one: DeclaredWorkload) -> Iterator[str]:
        """Each statement that does not fit, and why."""
        for number, text in enumerate(one.statements, start=1):
            try:
                [question] = self._questions([text])
            except Error as problem:
                yield f"statement {number}, {_shortened(text)!r}: {problem.message}: {problem.hint}".rstrip(": ")
            else:
                if what := unfit(question):
                    yield f"statement {number}, {_shortened(text)!r}, {what}: it is asked by itself"

    def _place(self, one: DeclaredWorkload, prepared: Prepared) -> int | None:
        """Which of the statements it is, in any spelling; None where it is none, or where one of them is wrong."""
        try:
            questions = self._questions(one.statements)
        except Error:
            return None
        wanted, texts = _measured(prepared), [question.sql for question in questions]
        if prepared.sql in texts:
            return texts.index(prepared.sql)
        return next((place for place, other in enumerate(questions) if _measured(other) == wanted), None)


def _measured(prepared: Prepared) -> tuple[str, ...]:
    """The releases of a statement."""
    return tuple(plan.identity for plan in prepared.program.plans)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
