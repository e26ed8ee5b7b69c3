"""A policy, opened, and the sessions of its analysts."""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import cast

import pyarrow as pa
from sqlglot import exp

from dpsql.accounting import PrivacyLoss
from dpsql.answer import Answering, Asked
from dpsql.calibrate import marginals_above
from dpsql.chosen_marginals import CandidateMarginal, ChosenMarginals, Model, RoundsPlan
from dpsql.declared_workloads import DeclaredWorkload, DeclaredWorkloads, WorkloadPart
from dpsql.engines import Cancellation, Concern, Load, Patience, Progress
from dpsql.error_border import translated
from dpsql.errors import BudgetExceeded, DataError, Error, OperationalError
from dpsql.explain import Planned, answer_columns, explained
from dpsql.ledger import EVERYBODY, Ledger, Receipt, Span, Standing
from dpsql.mechanisms.sampling import ExactSampler, Sampler
from dpsql.memory import Memories, Memory
from dpsql.opened import Opened, Present, open_policy
from dpsql.policy import Policy
from dpsql.prepare import Parsed, Prepared, collecting_rarely, prepare_in_stages
from dpsql.reply import Answer, AnswerColumn, Budget, Explanation
from dpsql.settings import Settings, no_zone
from dpsql.stale import StaleAnswers
from dpsql.watched import WatchedStatement, Watching, watched_statement
from dpsql.workload import WorkloadPlan, Workloads
from rewriter.declared import TEXT, UTC, Catalog
from rewriter.front_door import (
    WATCHED_FORM,
    Empty,
    Explain,
    Parameters,
    Program,
    Select,
    SetSetting,
    ShowSetting,
    Transaction,
    is_preview,
    parse,
    rewrite,
    watched_comparison,
)
from rewriter.plan import Plan
from rewriter.refused import Refused

_CHARACTERS, _SMALL = 1_000_000, 1_000
"""Characters of all statements that are remembered, with the SQL that is made of them, and of one without a plan. They
take 20 bytes for each (:attr:`dpsql.prepare.Prepared.characters`): 20 MB, and below 50 MB as far as was measured.
"""
_PERIODS = 1_000
"""Plans of periods that are remembered, of some 60 kB each: those of a dashboard whose windows move hour by hour."""


class Proxy:
    """One policy, opened: its engine, ledger, store and sandbox. Thread-safe; its sessions are not."""

    def __init__(self, opened: Opened, sampler: Sampler, *, silent: bool = False) -> None:
        self._opened = opened
        self.answering = Answering(opened, sampler, silent=silent)
        self.watching = Watching(self.answering, sampler)
        self.workloads = Workloads(self.answering)
        self.chosen = ChosenMarginals(self.answering, sampler)
        self.stale = StaleAnswers(opened, sampler, silent=silent)
        self.declared = DeclaredWorkloads(self.answering, sampler, self.questions, silent=silent)
        self._statements: Memory[tuple[object, ...], _Understood]
        self._statements = opened.memories.memory("prepared statements", _CHARACTERS, _size)
        self._periods: Memory[Hashable, Plan] = opened.memories.memory("plans of periods", _PERIODS)
        # What is left is asked with every answer and changes only with a charge.
        self._budgets: Memory[tuple[object, ...], Budget] = opened.memories.memory("budgets", 64)
        self._lock = threading.Lock()
        self._zones: frozenset[str] | None = None

    @classmethod
    def open(cls, policy: str | os.PathLike[str]) -> Proxy:
        """Open a policy file and all that it names. Raises :class:`dpsql.errors.Error`."""
        return cls.of(open_policy(policy))

    @classmethod
    def of(cls, opened: Opened) -> Proxy:
        """The proxy of a policy that is open."""
        return cls(opened, ExactSampler())

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

    def budget_of(self, standing: Standing, each: PrivacyLoss) -> Budget:
        """The budget that a filter leaves, and how many statements of a price fit into it."""
        return self._budgets.get((standing, each), lambda: _budget_of(standing, each))

    def concerns(self) -> tuple[Concern, ...]:
        """Warnings for the owner about the way in which the database is opened."""
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
        self,
        sql: str,
        parameters: Parameters,
        *,
        others: bool = False,
        zone: str | None = None,
        empty: Empty = Empty.AUTO,
    ) -> _Understood:
        """A text, prepared under this policy, remembered by its exact text and parameters.

        ``others``: groups that are not shown are added up in a row of their own. ``zone``: the session's time zone, if
        it has set one; else it is UTC, and the present date is told by the zone of the policy's clock. ``empty`` says
        what becomes of declared groups that nobody may be in.
        """
        given, present = _frozen(parameters), self._opened.present()
        try:
            # Ranges that follow the clock may end later than when the text was prepared.
            key: tuple[object, ...] = (sql, given, others, zone, empty, present.declared.ends)
            found = self._statements.get(key, lambda: self._prepare_text(sql, given, others, zone, empty, present))
            if _instant_of(found) in (None, present.tick):
                return found
            # What reads the clock is remembered for one of its ticks.
            key = (*key, present.tick)
            return self._statements.get(key, lambda: self._prepare_text(sql, given, others, zone, empty, present))
        except TypeError:
            return self._prepare_text(sql, _Given(parameters), others, zone, empty, present)

    @translated
    def marginals(self, wanted: Sequence[str] | DeclaredWorkload, plan: WorkloadPlan) -> pa.Table:
        """The tables that were measured together for statements that were bought. Raises
        :class:`dpsql.errors.Error`."""
        return (wanted.workloads if isinstance(wanted, DeclaredWorkload) else self.workloads).marginals(plan)

    @translated
    def questions(self, statements: Sequence[str]) -> list[Prepared]:
        """The statements of a workload, prepared under the usual settings. Raises :class:`dpsql.errors.Error`."""
        usual = Settings(epsilon=self.policy.statement.epsilon)
        found = [self.prepare(one, (), zone=usual.own_zone, empty=usual.empty) for one in statements]
        questions = [one for one in found if isinstance(one, Prepared)]
        if not found or len(questions) < len(found):
            raise DataError(
                "a workload is made of queries", sqlstate="42601", hint="write SELECTs, with ; between them"
            )
        return questions

    def watched(self, sql: str, parameters: Parameters, shown: Prepared, zone: str | None) -> WatchedStatement:
        """A statement that is a watch. Raises :class:`dpsql.errors.Error` where it is not one comparison."""
        statement = parse(sql, parameters)
        if not isinstance(statement, Select):
            raise DataError("only a query can be watched", sqlstate="42601", hint=WATCHED_FORM)
        comparison = watched_comparison(statement.tree)
        present = self._opened.present()
        parsed = Parsed.kept(comparison.tree)
        # Each declared group is compared: which of them act as rows is not asked.
        aggregate = self._prepared(parsed, sql, False, zone, Empty.SHOW, present)
        return watched_statement(shown, aggregate, comparison)

    def _prepare_text(
        self, sql: str, given: _Given, others: bool, zone: str | None, empty: Empty, present: Present
    ) -> _Understood:
        with collecting_rarely():
            return self._prepare_now(sql, given, others, zone, empty, present)

    def _prepare_now(
        self, sql: str, given: _Given, others: bool, zone: str | None, empty: Empty, present: Present
    ) -> _Understood:
        statement = parse(sql, given.parameters)
        if isinstance(statement, Explain):
            prepared = self._prepared(_parsed(statement.query, sql, given), sql, others, zone, empty, present)
            return _Explained(prepared, statement.as_json)
        if isinstance(statement, Select):
            return self._prepared(_parsed(statement, sql, given), sql, others, zone, empty, present)
        return statement

    def _prepared(
        self, parsed: Parsed, sql: str, others: bool, zone: str | None, empty: Empty, present: Present
    ) -> Prepared:
        return self.planned(parsed, sql, present.declared.catalog, others, zone, empty, present.tick)

    def planned(
        self,
        parsed: Parsed,
        sql: str,
        catalog: Catalog,
        others: bool,
        zone: str | None,
        empty: Empty,
        instant: datetime.datetime,
    ) -> Prepared:
        """A query, prepared under what a ``catalog`` declares."""
        opened, clock = self._opened, self.policy.clock.zone
        dialect = replace(opened.engine.dialect, zone=zone or UTC, clock_zone="" if zone or clock == UTC else clock)

        def rewritten(tree: exp.Query, known: Catalog, inner: bool) -> Program:
            # Which groups of an earlier answer act as rows is a matter of released numbers.
            return rewrite(
                tree,
                known,
                dialect,
                norms=opened.accountant.accounting.norms,
                others=others and not inner,
                empty=Empty.HIDE if inner else empty,
                learns=self.answering.bounds.share is not None,
                instant=instant,
                remember=self._periods.get,
                above=marginals_above(opened.accountant.accounting),
            )

        return prepare_in_stages(rewritten, parsed, catalog, sql, opened.sandbox)


@dataclass(frozen=True, slots=True)
class _Explained:
    """EXPLAIN of a prepared query."""

    prepared: Prepared
    as_json: bool = False


_Understood = Prepared | SetSetting | ShowSetting | Transaction | _Explained
"""What a text means."""


def _parsed(select: Select, sql: str, given: _Given) -> Parsed:
    def read_again() -> exp.Query:
        statement = parse(sql, given.parameters)
        return (statement.query if isinstance(statement, Explain) else cast("Select", statement)).tree

    return Parsed(select.tree, read_again)


def _size(understood: _Understood) -> int:
    """How much of the memory a statement takes."""
    prepared = understood.prepared if isinstance(understood, _Explained) else understood
    return prepared.characters if isinstance(prepared, Prepared) else _SMALL


def _instant_of(understood: _Understood) -> datetime.datetime | None:
    """The instant that a statement was prepared for; None where it does not read the clock."""
    if isinstance(understood, _Explained):
        understood = understood.prepared
    return understood.program.instant if isinstance(understood, Prepared) else None


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
        self.settings = Settings.usual(proxy.policy.statement)

    # What a client may ask

    @translated
    def execute(
        self,
        sql: str,
        parameters: Parameters = (),
        cancellation: Cancellation | None = None,
        receipt: Receipt | None = None,
        progress: Progress | None = None,
    ) -> Answer:
        """Answer one statement. Raises :class:`dpsql.errors.Error`; nothing was charged unless data was to be read.

        What it is charged is written on the ``receipt``. ``progress`` is told of the steps that there are.
        """
        seconds = min(self._opened.timeout, self.settings.timeout or self._opened.timeout)
        patience = Patience.of(seconds, cancellation, progress)
        prepared = self._prepared(sql, parameters)
        if isinstance(prepared, Prepared):
            if prepared.program.private_tables:
                self._opened.ledger.check_paused(self.analyst)
            asked = Asked(prepared, self.analyst, self.settings, patience, Receipt() if receipt is None else receipt)
            if self.settings.watch and prepared.program.private_tables:
                watched = self._proxy.watched(sql, parameters, prepared, self.settings.own_zone)
                return self._proxy.watching.answer(asked, self.settings.watch, watched, self.budget)
            return self._answer(asked)
        if isinstance(prepared, _Explained):
            return _as_answer(self._explained(prepared.prepared), self.budget, as_json=prepared.as_json)
        if isinstance(prepared, SetSetting):
            self.change(prepared.name, prepared.value)
            return Answer(tag="SET" if prepared.value is not None else "RESET", budget=self.budget)
        if isinstance(prepared, ShowSetting):
            value = self.settings.shown(prepared.name)
            return Answer((AnswerColumn(prepared.name, TEXT),), ((value,),), ((None,),), budget=self.budget, tag="SHOW")
        return Answer(tag=prepared.command, budget=self.budget)

    def _answer(self, asked: Asked) -> Answer:
        """The answer of a query: by a workload of the policy, by itself, or of what was last released for it."""
        try:
            part = self._part(asked.prepared)
            if part is not None:
                return self._proxy.declared.answer(part, asked, self.budget)
            return self._proxy.answering.answer(asked, self.budget)
        except BudgetExceeded:
            stale = self._proxy.stale.answer(asked, self.budget) if self.settings.stale else None
            if stale is None:
                raise
            return stale

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
            return answer_columns(prepared, self.settings)
        return (AnswerColumn("QUERY PLAN", TEXT),) if isinstance(prepared, _Explained) else ()

    @translated
    def preview(self, sql: str, parameters: Parameters = ()) -> tuple[AnswerColumn, ...] | None:
        """The columns of a few rows of people, which are answered free, without a row or with made-up ones; None of any
        other statement, and of one that is refused."""
        try:
            prepared = self._prepared(sql, parameters)
        except (Refused, Error):
            return None
        if not isinstance(prepared, Prepared) or not is_preview(prepared.program.notes):
            return None
        return answer_columns(prepared, self.settings)

    @translated
    def explain(self, sql: str, parameters: Parameters = ()) -> Explanation:
        """What the statement would do, cost and be worth. Free, and reads no data."""
        prepared = self._prepared(sql, parameters)
        if isinstance(prepared, _Explained):
            prepared = prepared.prepared
        if not isinstance(prepared, Prepared):
            raise DataError("only a query can be explained", sqlstate="42601", hint="explain a SELECT")
        return self._explained(prepared)

    @translated
    def workload(self, wanted: Sequence[str] | DeclaredWorkload, epsilon: Fraction | None = None) -> WorkloadPlan:
        """How statements would be bought as one at a price, that of a statement where none is given; or a workload of
        the policy, at its own. Free, and reads no data. Raises :class:`dpsql.errors.Error`."""
        return self._workload(wanted, epsilon)

    @translated
    def buy(
        self,
        wanted: Sequence[str] | DeclaredWorkload,
        epsilon: Fraction | None = None,
        receipt: Receipt | None = None,
    ) -> tuple[WorkloadPlan, PrivacyLoss]:
        """Buy statements as one, with one charge: what was planned, and what was charged now. They are free from then
        on. Raises :class:`dpsql.errors.Error`; nothing was charged unless data was to be read."""
        usual = Settings(epsilon=self._proxy.policy.statement.epsilon)
        patience = Patience.of(self._opened.timeout, None, None)
        first = self._workload(wanted, epsilon)
        statements = wanted.statements if isinstance(wanted, DeclaredWorkload) else wanted
        one, *_ = self._proxy.questions(statements)
        asked = Asked(one, self.analyst, usual, patience, Receipt() if receipt is None else receipt)
        if isinstance(wanted, DeclaredWorkload):
            return first, self._proxy.declared.bought(wanted, first, asked)
        self._opened.ledger.check(self.analyst, first.loss)
        named = replace(asked, prepared=replace(one, sql=";\n".join(statements)))
        return self._proxy.workloads.buy(first, lambda: self._workload(wanted, epsilon), named)

    @translated
    def rounds(self, candidates: Sequence[tuple[str, int, int]], epsilon: Fraction | None = None) -> RoundsPlan | None:
        """How marginals would be chosen among counts, each with its statement, the number of its columns and its
        weight; None where they cannot be (:meth:`dpsql.chosen_marginals.ChosenMarginals.plan`). Free, and reads no
        data."""
        price = self._price(epsilon)
        with collecting_rarely():
            questions = self._proxy.questions([sql for sql, _, _ in candidates])
            found = [CandidateMarginal(one, *rest) for one, (_, *rest) in zip(questions, candidates, strict=True)]
            return self._proxy.chosen.plan(found, price)

    @translated
    def buy_rounds(
        self, plan: RoundsPlan, model: Model, receipt: Receipt | None = None
    ) -> tuple[RoundsPlan, PrivacyLoss]:
        """Buy marginals that are chosen round by round, with one charge: the plan with what was ``kept``, and what was
        charged now. Raises :class:`dpsql.errors.Error`; nothing was charged unless data was to be read."""
        usual = Settings(epsilon=self._proxy.policy.statement.epsilon)
        patience = Patience.of(self._opened.timeout, None, None)
        self._opened.ledger.check(self.analyst, plan.loss)
        first = plan.candidates[0].prepared
        named = replace(first, sql=";\n".join(one.prepared.sql for one in plan.candidates))
        asked = Asked(named, self.analyst, usual, patience, Receipt() if receipt is None else receipt)
        return self._proxy.chosen.buy(plan, model, asked)

    def budget_after(self, loss: PrivacyLoss) -> Budget:
        """What is left once a loss is charged too."""
        return self._budget(loss)

    def _workload(self, wanted: Sequence[str] | DeclaredWorkload, epsilon: Fraction | None) -> WorkloadPlan:
        self._opened.check_rows("a workload", "ask its statements one by one")
        if isinstance(wanted, DeclaredWorkload):
            with collecting_rarely():
                return self._proxy.declared.plan(wanted)
        price = self._price(epsilon)
        with collecting_rarely():
            return self._proxy.workloads.plan(self._proxy.questions(wanted), price)

    def _price(self, epsilon: Fraction | None) -> Fraction:
        """The ε of a workload, that of a statement where none is given. Raises DataError where the policy caps it."""
        owner = self._proxy.policy.statement
        price = owner.epsilon if epsilon is None else epsilon
        if not 0 < price <= owner.max_epsilon:
            hint = f"between 0 and {float(owner.max_epsilon):g}, the policy's statement.max_epsilon"
            raise DataError("the price of a workload is out of its range", sqlstate="22023", hint=hint)
        return price

    def _part(self, prepared: Prepared) -> WorkloadPart | None:
        """The workload of the policy that a statement is answered by."""
        with collecting_rarely():
            return self._proxy.declared.part(prepared, self.settings, self.analyst)

    def _explained(self, prepared: Prepared) -> Explanation:
        part = self._part(prepared)
        answering = self._proxy.answering if part is None else part.workload.answering
        with collecting_rarely():
            found = explained(answering, prepared, self.settings, self._budget, self._planned_otherwise(prepared))
        return found if part is None else part.explained(found, self._budget)

    def _planned_otherwise(self, prepared: Prepared) -> Planned:
        """The same query as if the policy declared something else, or another one. Nothing of it is remembered, and it
        is never run."""
        own, present = self.settings, self._opened.present()
        own_tree = cache(prepared.read_again)

        def planned(catalog: Catalog | None = None, tree: exp.Query | None = None) -> Prepared:
            parsed = Parsed.kept(own_tree() if tree is None else tree)
            known = present.declared.catalog if catalog is None else catalog
            with collecting_rarely():
                return self._proxy.planned(
                    parsed, prepared.sql, known, own.other, own.own_zone, own.empty, present.tick
                )

        return planned

    def budget(self, rows: Collection[Span] = ()) -> Budget:
        """The budget left to this analyst: the smaller of the total and the analyst's own share. A budget of rows is
        that of the fullest period of ``rows``, or of the present one."""
        return self._budget(PrivacyLoss(), rows)

    def _prepared(self, sql: str, parameters: Parameters) -> _Understood:
        own = self.settings
        return self._proxy.prepare(sql, parameters, others=own.other, zone=own.own_zone, empty=own.empty)

    def _budget(self, more: PrivacyLoss, rows: Collection[Span] = ()) -> Budget:
        """The scope that has the fewest statements left, after ``more`` is charged too."""
        opened = self._opened
        each = opened.accountant.price(self._proxy.policy.statement.epsilon, Fraction(0))
        standings = (*opened.ledger.standings(rows=rows), *opened.ledger.standings(self.analyst, rows=rows))
        budgets = [self._proxy.budget_of(replace(one, spent=one.spent + more), each) for one in standings]
        return min(budgets, key=lambda budget: budget.statements_left)


def _budget_of(standing: Standing, each: PrivacyLoss) -> Budget:
    accountant, spent = standing.accountant, standing.spent
    epsilon = accountant.epsilon_of(spent)
    return Budget(
        epsilon=accountant.epsilon,
        delta=accountant.delta,
        spent_epsilon=epsilon,
        left_epsilon=max(0.0, float(accountant.epsilon) - epsilon),
        statements_left=accountant.statements_left(spent, each),
        accounting=str(accountant.accounting),
        limit=accountant.limit,
        own=standing.whose != EVERYBODY,
        used=spent.part_of(accountant.limit),
        per=accountant.per,
        renews=standing.renews,
        rows=None if standing.rows is None else (standing.rows.begin, standing.rows.end),
    )


def _as_answer(explanation: Explanation, budget: Callable[[], Budget], *, as_json: bool) -> Answer:
    """EXPLAIN as one column of text; JSON is one row of it."""
    lines = (explanation.json,) if as_json else explanation.lines
    return Answer(
        (AnswerColumn("QUERY PLAN", TEXT),),
        tuple((line,) for line in lines),
        tuple((None,) for _ in lines),
        budget=budget,
        notices=explanation.notices,
        tag="EXPLAIN",
    )
