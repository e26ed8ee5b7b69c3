"""One statement, from text to answer. Read this first.

The order of the lines in :meth:`Session._release` is the guarantee: plan, price, charge durably, read, perturb, finish.
Everything before the charge depends on SQL text, policy and ledger alone; everything after ``perturb`` sees released
numbers alone. A crash after the charge loses budget, never privacy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpsql.accountant import Accountant, Accounting
from dpsql.calibrate import Calibration, calibrate, margins
from dpsql.derive import Made, Offer
from dpsql.engines.deadlines import Cancellation
from dpsql.error_bars import exact_bars, known_margins, pieced, widened_columns, widened_margins, widened_rows
from dpsql.errors import DataError, OperationalError
from dpsql.expected import Sizes, excess_of, expected_errors, released_sizes, target_notes
from dpsql.families import shares
from dpsql.finished import Finished, FinishedAnswers
from dpsql.inference.prefix import running_margins
from dpsql.inference.replicates import generator, replicated
from dpsql.ledger import Ledger
from dpsql.loss import PrivacyLoss
from dpsql.mechanisms.sampling import OpenDPSampler, Sampler
from dpsql.opening import Opened, open_policy
from dpsql.perturb import perturb
from dpsql.policy import Policy
from dpsql.prepared import Prepared, prepare
from dpsql.priced import Priced
from dpsql.reply import Answer, AnswerColumn, Budget, Explanation, ReleaseExplanation
from dpsql.reuse import Reuse
from dpsql.settings import Settings
from dpsql.table import Noise, NoisyTable
from dpsql.target import Target, price_for
from dpsql.translated import translated
from dpsql.tried import Tables, effort, tried_ends
from dpsql.virtual import virtual_table
from rewriter.catalog import Catalog
from rewriter.parse import Explain, Parameters, Select, SetSetting, ShowSetting, Transaction, parse
from rewriter.plan import Plan
from rewriter.types import TEXT

_REMEMBERED = 512


class Proxy:
    """One policy, opened: its engine, ledger, store and sandbox. Thread-safe; its sessions are not."""

    def __init__(self, opened: Opened, sampler: Sampler) -> None:
        self._opened = opened
        self._sampler = sampler
        self._prepare = lru_cache(maxsize=_REMEMBERED)(self._prepare_text)
        self._calibrations: dict[tuple[str, PrivacyLoss], Calibration] = {}
        self.reuse = Reuse(opened)
        self._prices: dict[tuple[object, ...], tuple[Prepared, Fraction]] = {}
        self.finished = FinishedAnswers()
        # What is left is asked with every answer and changes only with a charge.
        self.budget_of = lru_cache(maxsize=64)(_budget_of)

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

    def session(self, analyst: str | None = None) -> Session:
        """A session of an analyst; None is the one analyst of a policy that names none, or exactly one."""
        names = tuple(self.policy.analysts or ())
        if analyst is None and len(names) <= 1:
            analyst = names[0] if names else "analyst"
        if analyst is None or (names and analyst not in names):
            hint = f"connect as one of {', '.join(names)}"
            raise OperationalError("the policy does not name this analyst", sqlstate="28000", hint=hint)
        return Session(self, analyst)

    def close(self) -> None:
        self._opened.close()

    def prepare(
        self, sql: str, parameters: Parameters
    ) -> Prepared | SetSetting | ShowSetting | Transaction | _Explained:
        """What a text means under this policy, remembered by its exact text and parameters."""
        try:
            return self._prepare(sql, _frozen(parameters))
        except TypeError:
            return self._prepare_text(sql, _Given(parameters))

    def calibrated(self, plan: Plan, share: PrivacyLoss) -> Calibration:
        """The noise of a release at a price, remembered: it depends on nothing else."""
        key = (plan.identity, share)
        found = self._calibrations.get(key)
        if found is None or found.plan != plan:
            if len(self._calibrations) > _REMEMBERED:
                self._calibrations.clear()
            found = self._calibrations[key] = calibrate(plan, self._opened.accountant.accounting, share)
        return found

    def priced(
        self,
        prepared: Prepared,
        wanted: Target,
        sizes: Sizes,
        calibrated: Callable[[Fraction], tuple[Calibration, ...]],
    ) -> Fraction:
        """The ε that an error takes, remembered: it depends on nothing else."""
        key = (id(prepared), wanted, tuple(sorted(sizes.items())))
        found = self._prices.get(key)
        if found is None:
            if len(self._prices) > _REMEMBERED:
                self._prices.clear()
            excess = excess_of(prepared, wanted, sizes, calibrated)
            epsilon = price_for(wanted, excess, self.policy.statement.max_epsilon)
            # The key's identity is that of what is kept here, and of nothing else meanwhile.
            found = self._prices[key] = (prepared, epsilon)
        return found[1]

    def _prepare_text(self, sql: str, given: _Given) -> Prepared | SetSetting | ShowSetting | Transaction | _Explained:
        statement = parse(sql, given.parameters)
        if isinstance(statement, Explain):
            return _Explained(self._prepared(statement.query, sql))
        if isinstance(statement, Select):
            return self._prepared(statement, sql)
        return statement

    def _prepared(self, select: Select, sql: str) -> Prepared:
        opened = self._opened
        accounting, dialect = opened.accountant.accounting, opened.engine.dialect
        return prepare(select.tree, sql, opened.catalog, accounting, opened.sandbox, dialect)


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
        prepared = self._proxy.prepare(sql, parameters)
        if isinstance(prepared, Prepared):
            return self._release(prepared, cancellation or Cancellation())
        if isinstance(prepared, _Explained):
            return _as_answer(self._explain(prepared.prepared), self.budget)
        if isinstance(prepared, SetSetting):
            self.settings = self.settings.changed(prepared.name, prepared.value, self._proxy.policy.statement)
            return Answer(tag="SET" if prepared.value is not None else "RESET", budget=self.budget)
        if isinstance(prepared, ShowSetting):
            value = self.settings.shown(prepared.name)
            return Answer((AnswerColumn(prepared.name, TEXT),), ((value,),), ((None,),), budget=self.budget, tag="SHOW")
        return Answer(tag=prepared.command, budget=self.budget)

    @translated
    def describe(self, sql: str, parameters: Parameters = ()) -> tuple[AnswerColumn, ...]:
        """The columns that the statement would answer with. Free, and reads no data."""
        prepared = self._proxy.prepare(sql, parameters)
        if isinstance(prepared, Prepared):
            return self._columns(prepared)
        return (AnswerColumn("QUERY PLAN", TEXT),) if isinstance(prepared, _Explained) else ()

    @translated
    def explain(self, sql: str, parameters: Parameters = ()) -> Explanation:
        """What the statement would do, cost and be worth. Free, and reads no data."""
        prepared = self._proxy.prepare(sql, parameters)
        if isinstance(prepared, _Explained):
            prepared = prepared.prepared
        if not isinstance(prepared, Prepared):
            raise DataError("only a query can be explained", sqlstate="42601", hint="explain a SELECT")
        return self._explain(prepared)

    def budget(self) -> Budget:
        """What is left to this analyst: the smaller of the total and the analyst's own share."""
        return self._budget(PrivacyLoss())

    # The flow

    def _release(self, prepared: Prepared, cancellation: Cancellation) -> Answer:
        opened = self._opened
        priced = self._price(prepared)
        timeout = min(opened.timeout, self.settings.timeout or opened.timeout)
        loss = priced.loss
        if loss:
            opened.ledger.charge(self.analyst, loss, prepared.sql, prepared.private_tables)
        tables: dict[str, Made] = {}
        for calibration in priced.calibrations:
            plan = calibration.plan
            if plan.identity in tables:
                continue
            stored, found = priced.stored.get(plan.identity), priced.offers.get(plan.identity)
            if stored is not None:
                tables[plan.identity] = Made(plan, stored)
            elif found is None:
                tables[plan.identity] = Made(plan, self._measured(calibration, timeout, cancellation))
            else:
                rest = None if found.fresh is None else self._measured(found.fresh, timeout, cancellation)
                tables[plan.identity] = self._proxy.reuse.made(found, rest)
        return self._answer(prepared, self._finish(prepared, priced, tables, cancellation), loss, priced)

    def _measured(self, calibration: Calibration, timeout: float, cancellation: Cancellation) -> NoisyTable:
        """Read, perturbed and kept. It was charged before."""
        opened, plan = self._opened, calibration.plan
        noisy = perturb(opened.engine.run(plan, timeout, cancellation), calibration, self._proxy._sampler)
        if calibration.loss:
            opened.store.put(plan.identity, self._proxy.policy.data_version, noisy, self._proxy.reuse.facts(plan))
        return noisy

    def _finish(
        self, prepared: Prepared, priced: Priced, known: Mapping[str, Made], cancellation: Cancellation
    ) -> Finished:
        """Inference and the outer SELECT: a function of released numbers, so it is not computed twice for the same."""
        made = [known[calibration.plan.identity].answering(calibration.plan) for calibration in priced.calibrations]
        plans, tables = [one.plan for one in made], [one.table for one in made]
        derived = {place: one.derived for place, one in enumerate(made) if one.derived is not None}
        consistent, intervals = self.settings.consistent, self.settings.intervals

        def finish() -> Finished:
            released, pieces = pieced(tables, plans, prepared, consistent=consistent, derived=derived)
            virtual = {name: virtual_table(name, self._opened, self.analyst) for name in prepared.virtual}
            columns, rows = self._opened.sandbox.run(prepared.outer_sql, released | virtual, cancellation)
            bars = exact_bars(prepared.measured, rows, pieces)
            if intervals and prepared.question.wanted:

                def replicates(count: int) -> list[Tables]:
                    drawn = replicated(tables, plans, count, generator(f"{prepared.sql} {consistent}", tables))
                    return [pieced(one, plans, prepared, consistent=consistent)[0] | virtual for one in drawn]

                tried = tried_ends(
                    prepared.question,
                    rows,
                    released | virtual,
                    effort(tables, plans, prepared.families),
                    replicates,
                    self._opened.sandbox,
                    cancellation,
                )
                bars = tuple(tried.get(at, bar) for at, bar in enumerate(bars))
            return Finished(columns, rows, bars)

        how = (consistent, intervals)
        return finish() if prepared.virtual else self._proxy.finished.get(prepared, tables, how, finish)

    def _price(self, prepared: Prepared) -> Priced:
        """Calibrate every release at its share of the statement's price. Looks at no data."""
        opened = self._opened
        epsilon, notes = self._epsilon(prepared)
        calibrations = self._calibrations(prepared, self._whole_price(prepared, epsilon))
        stored: dict[str, NoisyTable] = {}
        if self.settings.reuse:
            for calibration in calibrations:
                if not calibration.loss:
                    continue
                table = opened.store.get(calibration.plan.identity, self._proxy.policy.data_version, calibration.noise)
                if table is not None:
                    stored[calibration.plan.identity] = table
        return Priced(epsilon, calibrations, stored, self._offers(calibrations, stored), notes)

    def _offers(self, calibrations: Sequence[Calibration], stored: Mapping[str, NoisyTable]) -> Mapping[str, Offer]:
        """What can be made of other releases."""
        missing = {c.plan.identity: c for c in calibrations if c.plan.identity not in stored}
        found = {name: self._proxy.reuse.offer(c) for name, c in missing.items()} if self.settings.reuse else {}
        return {name: offer for name, offer in found.items() if offer is not None}

    def _epsilon(self, prepared: Prepared) -> tuple[Fraction, tuple[str, ...]]:
        """The ε of a statement: as it is set, or what the error that is asked for takes."""
        wanted = self.settings.target_error
        if wanted is None or not any(options[0].blocks for options in prepared.plans):
            return self.settings.epsilon, ()

        def calibrated(epsilon: Fraction) -> tuple[Calibration, ...]:
            return self._calibrations(prepared, self._whole_price(prepared, epsilon))

        sizes = released_sizes(prepared, self._stored_before) if wanted.relative else {}
        found = self._proxy.priced(prepared, wanted, sizes, calibrated)
        return found, target_notes(prepared, wanted, found)

    def _stored_before(self, plan: Plan) -> NoisyTable | None:
        """The most accurate release of a plan that there was, however wide its noise."""
        anything = {statistic.name: Noise("laplace", Fraction(1 << 200)) for statistic in plan.statistics}
        return self._opened.store.get(plan.identity, self._proxy.policy.data_version, anything)

    def _whole_price(self, prepared: Prepared, epsilon: Fraction) -> PrivacyLoss:
        accountant = self._opened.accountant
        needs_delta = prepared.selects or accountant.accounting is Accounting.APPROX
        delta = self._proxy.policy.statement.delta if needs_delta else Fraction(0)
        return accountant.price(epsilon, Fraction(0) if accountant.accounting is Accounting.PURE else delta)

    def _calibrations(self, prepared: Prepared, price: PrivacyLoss) -> tuple[Calibration, ...]:
        """The noise of every measurement; a family's in one norm, so that all of it has the same parts."""
        accounting = self._opened.accountant.accounting
        found: dict[int, Calibration] = {}
        divided = shares(price, prepared.families, [plans[0] for plans in prepared.plans], accounting)
        for family in prepared.families:
            norms = range(len(prepared.plans[family.measurements[0]]))
            candidates = [
                [self._proxy.calibrated(prepared.plans[place][norm], divided[place]) for place in family.measurements]
                for norm in norms
            ]
            cheapest = min(candidates, key=lambda options: sum(map(_total_variance, options)))
            found.update(zip(family.measurements, cheapest, strict=True))
        return tuple(found[place] for place in range(len(prepared.plans)))

    def _explain(self, prepared: Prepared) -> Explanation:
        priced = self._price(prepared)
        releases = tuple(
            ReleaseExplanation(
                plan=calibration.plan,
                mechanisms=tuple(measured.mechanism.noise for measured in calibration.measured),
                threshold=calibration.threshold,
                margins=margins(calibration.plan, calibration),
                reused=calibration.plan.identity in priced.stored,
                origin=priced.origin(calibration.plan),
                running=running_margins(calibration.plan, calibration.noise),
            )
            for calibration in priced.calibrations
        )
        return Explanation(
            releases=releases,
            outer_sql=prepared.shown_sql,
            columns=self._columns(prepared),
            expected=self._expected(prepared, priced.calibrations),
            price=priced.loss,
            epsilon=_paid(priced.loss, priced.epsilon),
            remaining_after=self._budget(priced.loss),
            notices=(*prepared.notes, *_notices(priced)),
        )

    def _columns(self, prepared: Prepared) -> tuple[AnswerColumn, ...]:
        """What a statement answers with, under the session's settings."""
        columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
        return widened_columns(columns, prepared.measured) if self.settings.intervals else columns

    def _answer(self, prepared: Prepared, finished: Finished, loss: PrivacyLoss, priced: Priced) -> Answer:
        """Cut the numbers of rows off, and put the ends of intervals beside the columns that they belong to."""
        width = len(prepared.columns)
        columns = tuple(AnswerColumn(name, kind) for name, kind in finished.columns[:width])
        rows = tuple(finished.rows) if len(finished.columns) == width else tuple(row[:width] for row in finished.rows)
        known = known_margins(rows, finished.bars)
        if self.settings.intervals:
            rows = widened_rows(columns, prepared.measured, rows, finished.bars)
            known = widened_margins(columns, prepared.measured, known)
            columns = widened_columns(columns, prepared.measured)
        return Answer(
            columns=columns,
            rows=rows,
            margins=known,
            price=loss,
            epsilon=_paid(loss, priced.epsilon),
            budget=self.budget,
            notices=(*prepared.notes, *_notices(priced)),
        )

    def _expected(self, prepared: Prepared, calibrations: Sequence[Calibration]) -> tuple[float | None, ...]:
        """The error to expect of each column; the ends of intervals have none."""
        errors = expected_errors(prepared, calibrations)
        if not self.settings.intervals:
            return errors
        columns = tuple(AnswerColumn(name, kind) for name, kind in prepared.columns)
        return widened_margins(columns, prepared.measured, [errors])[0]

    def _budget(self, more: PrivacyLoss) -> Budget:
        """The scope that has the fewest statements left, after ``more`` is charged too."""
        opened = self._opened
        each = opened.accountant.price(self._proxy.policy.statement.epsilon, Fraction(0))
        scopes = [(opened.accountant, opened.ledger.spent())]
        if (share := opened.shares.get(self.analyst)) is not None:
            scopes.append((share, opened.ledger.spent(self.analyst)))
        budgets = [self._proxy.budget_of(accountant, spent + more, each) for accountant, spent in scopes]
        return min(budgets, key=lambda budget: budget.statements_left)


def _paid(loss: PrivacyLoss, whole: Fraction) -> Fraction:
    """The statement's ε behind a loss: ε itself, or √(2ρ)."""
    if loss.rho:
        return whole if loss.rho == whole * whole / 2 else Fraction(float(2 * loss.rho) ** 0.5)
    return loss.epsilon


def _budget_of(accountant: Accountant, spent: PrivacyLoss, each: PrivacyLoss) -> Budget:
    epsilon = accountant.epsilon_of(spent)
    return Budget(
        epsilon=accountant.epsilon,
        delta=accountant.delta,
        spent_epsilon=epsilon,
        left_epsilon=max(0.0, float(accountant.epsilon) - epsilon),
        statements_left=accountant.statements_left(spent, each),
        accounting=str(accountant.accounting),
    )


def _total_variance(calibration: Calibration) -> float:
    steps = {statistic.name: float(statistic.granularity) for statistic in calibration.plan.statistics}
    return sum(
        measured.mechanism.variance
        * steps[statistic.name] ** 2
        * (measured.block.prefix.relative if measured.block.prefix else 1)
        for measured in calibration.measured
        for statistic in measured.block.statistics
    )


def _notices(priced: Priced) -> tuple[str, ...]:
    notes: dict[str, None] = dict.fromkeys(priced.notes)
    for calibration in priced.calibrations:
        notes.update(dict.fromkeys(calibration.plan.notes))
        if calibration.selected is not None and calibration.threshold is not None:
            notes[f"groups of fewer than about {calibration.threshold:.0f} people are not shown"] = None
        if origin := priced.origin(calibration.plan):
            notes[origin] = None
    if any(calibration.plan.clips for calibration in priced.calibrations):
        notes["error bars do not cover what such bounds cut off"] = None
    return tuple(notes)


def _as_answer(explanation: Explanation, budget: Callable[[], Budget]) -> Answer:
    """EXPLAIN as one column of text."""
    from dpsql.show import explanation_lines

    lines = explanation_lines(explanation)
    return Answer(
        (AnswerColumn("QUERY PLAN", TEXT),),
        tuple((line,) for line in lines),
        tuple((None,) for _ in lines),
        budget=budget,
        notices=explanation.notices,
        tag="EXPLAIN",
    )
