"""One statement, from text to answer. Read this first.

The order of the lines in :meth:`Session._released` and :meth:`Session._release` is the guarantee: plan, price, charge
durably, read, perturb, finish. Everything before the charge depends on SQL text, policy and ledger alone; everything
after ``perturb`` sees released numbers alone. A crash after the charge loses budget, never privacy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.calibrate import Calibration, margins
from dpsql.engines import Cancellation, Concern, Load, Patience
from dpsql.error_border import translated
from dpsql.errors import DataError, OperationalError
from dpsql.finish import (
    Finished,
    FinishedAnswers,
    exact_bars,
    in_zone,
    known_margins,
    others_notes,
    pieced,
    present_notes,
    selected_bars,
    tried_bars,
    undefined_notes,
    widened_columns,
    widened_margins,
    widened_rows,
)
from dpsql.inference.estimates import running_margins
from dpsql.ledger import Ledger
from dpsql.mechanisms.sampling import OpenDPSampler, Sampler
from dpsql.memory import Memories, Memory
from dpsql.opened import Opened, open_policy
from dpsql.perturb import perturb
from dpsql.policy import Policy
from dpsql.prepare import Prepared, draft, prepare, virtual_table
from dpsql.price import Bounds, Priced, Pricing, Settled, error_notes, expected_errors, notices
from dpsql.releases import NoisyTable
from dpsql.reply import Answer, AnswerColumn, Budget, Explanation, ReleaseExplanation
from dpsql.reuse import Made, Reuse
from dpsql.sandbox import Computed
from dpsql.settings import Settings, no_zone
from rewriter.declared import TEXT, UTC, Catalog
from rewriter.plan import Plan
from rewriter.refused import Unbounded
from rewriter.split import Empty
from rewriter.statement import Explain, Parameters, Select, SetSetting, ShowSetting, Transaction, parse

_REMEMBERED = 512


class Proxy:
    """One policy, opened: its engine, ledger, store and sandbox. Thread-safe; its sessions are not."""

    def __init__(self, opened: Opened, sampler: Sampler, *, silent: bool = False) -> None:
        self._opened = opened
        self._sampler = sampler
        # Only tests have a sampler of no noise.
        self._silent = silent
        self._statements: Memory[tuple[object, ...], Prepared | SetSetting | ShowSetting | Transaction | _Explained]
        self._statements = opened.memories.memory("prepared statements", _REMEMBERED)
        self.reuse = Reuse(opened)
        self.bounds = Bounds(opened, sampler)
        self.pricing = Pricing(opened, self.reuse, self.bounds.rest)
        self.finished = FinishedAnswers(opened.memories)
        # What is left is asked with every answer and changes only with a charge.
        self._budgets: Memory[tuple[object, ...], Budget] = opened.memories.memory("budgets", 64)
        self._lock = threading.Lock()
        self._zones: frozenset[str] | None = None

    @classmethod
    def open(cls, policy: str | os.PathLike[str]) -> Proxy:
        """Open a policy file and all that it names. Raises :class:`dpsql.errors.Error`."""
        return cls(open_policy(policy), OpenDPSampler())

    @property
    def policy(self) -> Policy:
        return self._opened.policy

    @property
    def catalog(self) -> Catalog:
        return self._opened.catalog

    @property
    def ledger(self) -> Ledger:
        return self._opened.ledger

    @property
    def memories(self) -> Memories:
        """All that is remembered from statement to statement."""
        return self._opened.memories

    def budget_of(self, accountant: Accountant, spent: PrivacyLoss, each: PrivacyLoss, own: bool) -> Budget:
        """What is left after a loss, and how many statements of a price fit."""
        key = (accountant, spent, each, own)
        return self._budgets.get(key, lambda: _budget_of(accountant, spent, each, own))

    def concerns(self) -> tuple[Concern, ...]:
        """What is unwise about the way in which the database is opened, for its owner."""
        return self._opened.engine.concerns()

    @property
    def engine_load(self) -> Load:
        return self._opened.engine.load

    def session(self, analyst: str | None = None) -> Session:
        """A session of an analyst; None is the one analyst of a policy that names none, or exactly one."""
        names = tuple(self.policy.analysts or ())
        if analyst is None and len(names) <= 1:
            analyst = names[0] if names else "analyst"
        if analyst is None or (names and analyst not in names):
            hint = f"connect as one of {', '.join(names)}"
            raise OperationalError("the policy does not name this analyst", sqlstate="28000", hint=hint)
        return Session(self, analyst)

    def zones(self) -> frozenset[str]:
        """The time zones that a session may have: those that the engine and the outer SELECT's database know."""
        with self._lock:
            if self._zones is None:
                self._zones = self._opened.engine.zones() & self._opened.sandbox.zones()
            return self._zones

    def close(self) -> None:
        self._opened.close()

    def prepare(
        self, sql: str, parameters: Parameters, *, others: bool = False, zone: str = UTC, empty: Empty = Empty.AUTO
    ) -> Prepared | SetSetting | ShowSetting | Transaction | _Explained:
        """What a text means under this policy, remembered by its exact text and parameters.

        ``others``: groups that are not shown are added up in a row of their own. ``zone``: the session's time zone.
        ``empty`` says what becomes of declared groups that nobody may be in.
        """
        given = _frozen(parameters)
        try:
            key = (sql, given, others, zone, empty)
            return self._statements.get(key, lambda: self._prepare_text(sql, given, others, zone, empty))
        except TypeError:
            return self._prepare_text(sql, _Given(parameters), others, zone, empty)

    def _prepare_text(
        self, sql: str, given: _Given, others: bool, zone: str, empty: Empty
    ) -> Prepared | SetSetting | ShowSetting | Transaction | _Explained:
        statement = parse(sql, given.parameters)
        if isinstance(statement, Explain):
            return _Explained(self._prepared(statement.query, sql, others, zone, empty))
        if isinstance(statement, Select):
            return self._prepared(statement, sql, others, zone, empty)
        return statement

    def _prepared(self, select: Select, sql: str, others: bool, zone: str, empty: Empty) -> Prepared:
        opened = self._opened
        accounting, dialect = opened.accountant.accounting, replace(opened.engine.dialect, zone=zone)

        def over(catalog: Catalog) -> Prepared:
            tree = select.tree.copy()
            return prepare(tree, sql, catalog, accounting, opened.sandbox, dialect, others=others, empty=empty)

        try:
            return over(opened.catalog)
        except Unbounded as lacking:
            if self.bounds.share is None:
                raise
            return draft(over, opened.catalog, lacking)


@dataclass(frozen=True, slots=True)
class _Explained:
    """EXPLAIN of a prepared query."""

    prepared: Prepared


@dataclass(frozen=True, slots=True)
class _Given:
    """Parameters as a cache key: equal only when types are equal too, since 1, 1.0 and True differ in SQL."""

    parameters: Parameters
    key: tuple[object, ...] = ()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Given) and self.key == other.key


def _frozen(parameters: Parameters) -> _Given:
    if isinstance(parameters, Mapping):
        key: tuple[object, ...] = tuple((name, type(value), value) for name, value in parameters.items())
        return _Given(parameters, ("named", *key))
    return _Given(parameters, tuple((type(value), value) for value in parameters))


class Session:
    """One connection's settings and the statements it sends. Not to be shared between threads."""

    def __init__(self, proxy: Proxy, analyst: str) -> None:
        self.analyst = analyst
        self._proxy = proxy
        self._opened = proxy._opened
        self.settings = Settings(epsilon=proxy.policy.statement.epsilon)

    # What a client may ask

    @translated
    def execute(self, sql: str, parameters: Parameters = (), cancellation: Cancellation | None = None) -> Answer:
        """Answer one statement. Raises :class:`dpsql.errors.Error`; nothing was charged unless data was to be read."""
        seconds = min(self._opened.timeout, self.settings.timeout or self._opened.timeout)
        patience = Patience.of(seconds, cancellation)
        prepared = self._prepared(sql, parameters)
        if isinstance(prepared, Prepared):
            return self._release(prepared, patience)
        if isinstance(prepared, _Explained):
            return _as_answer(self._explain(prepared.prepared), self.budget)
        if isinstance(prepared, SetSetting):
            self.change(prepared.name, prepared.value)
            return Answer(tag="SET" if prepared.value is not None else "RESET", budget=self.budget)
        if isinstance(prepared, ShowSetting):
            value = self.settings.shown(prepared.name)
            return Answer((AnswerColumn(prepared.name, TEXT),), ((value,),), ((None,),), budget=self.budget, tag="SHOW")
        return Answer(tag=prepared.command, budget=self.budget)

    def change(self, name: str | None, value: str | None) -> None:
        """SET, or RESET where there is no value. Raises DataError 22023 for what there is not, or is not allowed."""
        changed = self.settings.changed(name, value, self._proxy.policy.statement)
        if changed.zone not in (UTC, self.settings.zone) and changed.zone not in self._proxy.zones():
            raise no_zone(changed.zone)
        self.settings = changed

    @translated
    def describe(self, sql: str, parameters: Parameters = ()) -> tuple[AnswerColumn, ...]:
        """The columns that the statement would answer with. Free, and reads no data."""
        prepared = self._prepared(sql, parameters)
        if isinstance(prepared, Prepared):
            return self._columns(prepared)
        return (AnswerColumn("QUERY PLAN", TEXT),) if isinstance(prepared, _Explained) else ()

    @translated
    def explain(self, sql: str, parameters: Parameters = ()) -> Explanation:
        """What the statement would do, cost and be worth. Free, and reads no data."""
        prepared = self._prepared(sql, parameters)
        if isinstance(prepared, _Explained):
            prepared = prepared.prepared
        if not isinstance(prepared, Prepared):
            raise DataError("only a query can be explained", sqlstate="42601", hint="explain a SELECT")
        return self._explain(prepared)

    def budget(self) -> Budget:
        """What is left to this analyst: the smaller of the total and the analyst's own share."""
        return self._budget(PrivacyLoss())

    def _prepared(
        self, sql: str, parameters: Parameters
    ) -> Prepared | SetSetting | ShowSetting | Transaction | _Explained:
        own = self.settings
        return self._proxy.prepare(sql, parameters, others=own.other, zone=own.zone, empty=own.empty)

    # The flow

    def _release(self, prepared: Prepared, patience: Patience) -> Answer:
        try:
            with ExitStack() as claims:
                settled, priced, loss, tables = self._released(prepared, patience, claims)
        finally:
            # The turn that a charge waited for ends when all is read.
            self._opened.engine.load.leave()
        finished = self._finish(settled.prepared, priced, tables, patience.cancellation)
        return self._answer(settled, finished, loss, priced)

    def _released(
        self, prepared: Prepared, patience: Patience, claims: ExitStack
    ) -> tuple[Settled, Priced, PrivacyLoss, dict[str, Made]]:
        opened, pricing = self._opened, self._proxy.pricing
        if prepared.missing:
            self._claim(claims, (plans[0] for plans in prepared.plans), patience)
        settled = self._settle(prepared, patience)
        prepared, priced = settled.prepared, pricing.settled(settled, self.settings)
        if priced.loss and settled.purchase is None:
            # Others may have bought meanwhile what this would buy.
            self._claim(claims, (one.plan for one in priced.bought), patience)
            priced = pricing.settled(settled, self.settings)
        loss = priced.loss
        if settled.purchase is not None:
            loss = settled.purchase.loss
        elif loss:
            opened.wait_for_engine(patience)
            opened.ledger.charge(self.analyst, loss, prepared.sql, prepared.private_tables)
        tables: dict[str, Made] = {}
        for calibration in priced.releases:
            plan = calibration.plan
            stored, found = priced.stored.get(plan.identity), priced.offers.get(plan.identity)
            if stored is not None:
                tables[plan.identity] = Made(plan, stored)
            elif found is None:
                tables[plan.identity] = Made(plan, self._measured(calibration, patience))
            else:
                rest = None if found.fresh is None else self._measured(found.fresh, patience)
                tables[plan.identity] = self._proxy.reuse.made(found, rest)
        return settled, priced, loss, tables

    def _claim(self, claims: ExitStack, plans: Iterable[Plan], patience: Patience) -> None:
        """Wait until nobody else buys one of these releases. Who wants no release of others waits for nobody."""
        if self.settings.reuse:
            claims.enter_context(self._opened.claimed(plans, patience))

    def _measured(self, calibration: Calibration, patience: Patience) -> NoisyTable:
        """Read, perturbed and kept. It was charged before."""
        opened, plan = self._opened, calibration.plan
        exact = opened.engine.run(plan, patience.seconds, patience.cancellation)
        noisy = perturb(exact, calibration, self._proxy._sampler)
        if calibration.loss:
            opened.store.put(plan.identity, self._proxy.policy.data_version, noisy, self._proxy.reuse.facts(plan))
        return noisy

    def _settle(self, prepared: Prepared, patience: Patience) -> Settled:
        """The query with the bounds that the policy leaves open: known, or charged for together with it, and read."""
        return self._proxy.bounds.settle(
            prepared,
            self.analyst,
            self.settings.epsilon,
            lambda: self._proxy.pricing.most(prepared, self.settings),
            patience,
        )

    def _finish(
        self, prepared: Prepared, priced: Priced, known: Mapping[str, Made], cancellation: Cancellation
    ) -> Finished:
        """Inference and the outer SELECT: a function of released numbers, so it is not computed twice for the same."""
        made = [known[calibration.plan.identity].answering(calibration.plan) for calibration in priced.calibrations]
        plans, tables = [one.plan for one in made], [one.table for one in made]
        derived = {place: one.derived for place, one in enumerate(made) if one.derived is not None}
        consistent, intervals = self.settings.consistent, self.settings.intervals
        sandbox = self._opened.sandbox

        def finish() -> Finished:
            silent = self._proxy._silent
            released, pieces = pieced(tables, plans, prepared, consistent=consistent, derived=derived, silent=silent)
            virtual = {name: virtual_table(name, self._opened, self.analyst) for name in prepared.virtual}
            tables_below, sql, zone = released | virtual, prepared.outer_sql, prepared.zone
            columns, rows, undefined = (
                sandbox.answer(sql, tables_below, cancellation, zone)
                if released
                else Computed(*sandbox.run(sql, tables_below, cancellation, zone))
            )
            bars = exact_bars(prepared.measured, rows, pieces)
            if intervals and prepared.question.wanted:
                tried = tried_bars(prepared, tables, plans, rows, released, virtual, sandbox, cancellation, consistent)
                bars = tuple(tried.get(at, bar) for at, bar in enumerate(bars))
            bars, chosen = selected_bars(prepared, rows, bars, released, self._opened.accountant.accounting)
            told = undefined_notes(rows, undefined=undefined) if released else ()
            return Finished(columns, rows, bars, (*chosen, *told))

        how = (consistent, intervals)
        return finish() if prepared.virtual else self._proxy.finished.get(prepared, tables, how, finish)

    def _explain(self, prepared: Prepared) -> Explanation:
        settled = self._proxy.bounds.offer(
            prepared, self.settings.epsilon, lambda: self._proxy.pricing.most(prepared, self.settings)
        )
        prepared, purchase = settled.prepared, settled.purchase
        if purchase is None:
            priced = self._proxy.pricing.settled(settled, self.settings)
            others = others_notes(prepared.shapes, priced.calibrations)
            price, notes = priced.loss, (*prepared.notes, *others, *_presence(prepared, priced))
            expected = self._expected(prepared, priced.calibrations)
        else:
            # What would be measured after a purchase follows from what it tells.
            priced = Priced(self.settings.epsilon, purchase.all, {})
            price, notes = purchase.loss, (purchase.warning,)
            expected = (None,) * len(self._columns(prepared))
        totals = {shape.measurements[1] for shape in prepared.shapes if shape.others}
        releases = tuple(
            ReleaseExplanation(
                plan=calibration.plan,
                mechanisms=tuple(measured.mechanism.noise for measured in calibration.measured),
                threshold=calibration.threshold,
                margins=margins(calibration.plan, calibration),
                reused=calibration.plan.identity in priced.stored,
                origin=priced.origin(calibration.plan),
                running=running_margins(calibration.plan, calibration.noise),
                ranking=calibration.ranking,
                beside=place in totals,
            )
            for place, calibration in enumerate(priced.calibrations)
        )
        return Explanation(
            releases=releases,
            outer_sql=prepared.shown_sql,
            columns=self._columns(prepared),
            expected=expected,
            price=price,
            epsilon=_paid(price, priced.epsilon),
            remaining_after=self._budget(price),
            notices=(*settled.notices, *notes, *notices(priced)),
        )

    def _columns(self, prepared: Prepared) -> tuple[AnswerColumn, ...]:
        """What a statement answers with, under the session's settings."""
        columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
        return widened_columns(columns, prepared.measured) if self.settings.intervals else columns

    def _answer(self, settled: Settled, finished: Finished, loss: PrivacyLoss, priced: Priced) -> Answer:
        """Cut the numbers of rows off, and put the ends of intervals beside the columns that they belong to."""
        prepared = settled.prepared
        width = len(prepared.columns)
        columns = tuple(AnswerColumn(name, kind) for name, kind in finished.columns[:width])
        rows = tuple(finished.rows) if len(finished.columns) == width else tuple(row[:width] for row in finished.rows)
        known = known_margins(rows, finished.bars)
        got = error_notes(columns, known) if self.settings.target_error is not None else ()
        if self.settings.intervals:
            rows = widened_rows(columns, prepared.measured, rows, finished.bars)
            known = widened_margins(columns, prepared.measured, known)
            columns = widened_columns(columns, prepared.measured)
        rows = in_zone(columns, rows, prepared.zone)
        return Answer(
            columns=columns,
            rows=rows,
            margins=known,
            price=loss,
            epsilon=_paid(loss, priced.epsilon),
            budget=self.budget,
            notices=(
                *settled.notices,
                *prepared.notes,
                *_presence(prepared, priced),
                *notices(priced),
                *got,
                *finished.notes,
            ),
        )

    def _expected(self, prepared: Prepared, calibrations: Sequence[Calibration]) -> tuple[float | None, ...]:
        """The error to expect of each column; the ends of intervals have none."""
        errors = expected_errors(prepared, calibrations, self._proxy.pricing.known(prepared))
        if not self.settings.intervals:
            return errors
        columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
        return widened_margins(columns, prepared.measured, [errors])[0]

    def _budget(self, more: PrivacyLoss) -> Budget:
        """The scope that has the fewest statements left, after ``more`` is charged too."""
        opened = self._opened
        each = opened.accountant.price(self._proxy.policy.statement.epsilon, Fraction(0))
        scopes = [(opened.accountant, opened.ledger.spent(), False)]
        if (share := opened.shares.get(self.analyst)) is not None:
            scopes.append((share, opened.ledger.spent(self.analyst), True))
        budgets = [self._proxy.budget_of(accountant, spent + more, each, own) for accountant, spent, own in scopes]
        return min(budgets, key=lambda budget: budget.statements_left)


def _presence(prepared: Prepared, priced: Priced) -> Iterator[str]:
    return present_notes(prepared.shapes, priced.calibrations)


def _paid(loss: PrivacyLoss, whole: Fraction) -> Fraction:
    """The statement's ε behind a loss: ε itself, or √(2ρ)."""
    if loss.rho:
        return whole if loss.rho == whole * whole / 2 else Fraction(float(2 * loss.rho) ** 0.5)
    return loss.epsilon


def _budget_of(accountant: Accountant, spent: PrivacyLoss, each: PrivacyLoss, own: bool) -> Budget:
    epsilon = accountant.epsilon_of(spent)
    return Budget(
        epsilon=accountant.epsilon,
        delta=accountant.delta,
        spent_epsilon=epsilon,
        left_epsilon=max(0.0, float(accountant.epsilon) - epsilon),
        statements_left=accountant.statements_left(spent, each),
        accounting=str(accountant.accounting),
        limit=accountant.limit,
        own=own,
    )


def _as_answer(explanation: Explanation, budget: Callable[[], Budget]) -> Answer:
    """EXPLAIN as one column of text."""
    from dpsql.display import explanation_lines

    lines = explanation_lines(explanation)
    return Answer(
        (AnswerColumn("QUERY PLAN", TEXT),),
        tuple((line,) for line in lines),
        tuple((None,) for _ in lines),
        budget=budget,
        notices=explanation.notices,
        tag="EXPLAIN",
    )
