"""``dpsql audit``: what could be shown of a promise, by the product as it is installed, over made-up people.

Two parts. **Without noise**: one person moves no integer further than noise is scaled for, whatever the rows hold: for
every question and every worst person, exactly. **Over the wire**: two servers, with and without the worst person, are
asked the same question again and again, and a guess is made by which of them answered. How often such guesses are right
is a lower bound on ε, at a stated confidence (:mod:`dpsql.audit.lower_bounds`); it must not be above what was charged.

No row of the real database is read, and nothing is charged to the real ledger.
"""

from __future__ import annotations

import math
import random
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import psycopg

from dpsql.audit.audit_questions import AuditQuestion, of_each_kind, questions
from dpsql.audit.audited_server import DPSQL, Served, serving_all
from dpsql.audit.lower_bounds import ChargedLoss, most_shown
from dpsql.audit.made_up_people import MadeUp, Row, WorstPerson, made_up, shaped
from dpsql.audit.neighbour_law import MovedTooFar, compare
from dpsql.audit.pick_law import compare_picks
from dpsql.audit.scratch_databases import ScratchDatabases, definitions, scratch_databases
from dpsql.audit.scratch_policy import scratch_policy
from dpsql.audit.telling_events import choose
from dpsql.audit.wire_outcomes import Outcome, numbers, samples_of
from dpsql.errors import Error
from dpsql.opened import Opened, engine_of, open_policy
from dpsql.policy import Policy, fit
from dpsql.testing import Measurement, measured
from rewriter.refused import Refused

ERROR = 0.001
"""The chance that a product which keeps its promise fails an audit, over all questions together."""

MOST_ASKED = 6
"""Questions over the wire: more of them would have fewer answers each."""

ENOUGH = 0.5
"""The part of a claim that a run has to be able to show."""

_CHOSEN_ON = 0.3
_FEWEST = 100
_MOST_PUBLIC = 50_000
_WITHOUT = "without"
_SETTINGS = ("reuse = off", "digits = all", "empty_groups = show")
"""Whoever attacks sees as much as there is, and pays each time."""

Told = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class MovedStatement:
    """How far the worst person moves the integers of a statement: the part of what noise is scaled for, and who."""

    sql: str
    share: float
    extreme: WorstPerson
    broken: str = ""


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """What answers of a statement gave away: ``shown`` is the lower bound on ε, at the δ beside ``claimed``.

    ``wrong`` says what is different with and without a person beside the numbers; it is empty where nothing is.
    ``could_show`` is the most that so many answers show of answers that give all of the claim away.
    """

    sql: str
    charged: str
    claimed: float
    delta: float
    shown: float
    answers: int
    wrong: str = ""
    could_show: float = math.inf

    @property
    def too_few(self) -> bool:
        """Whether the answers were too few to tell: not even a half of the claim could have been shown by them."""
        return self.passed and self.could_show < self.claimed * ENOUGH

    @property
    def passed(self) -> bool:
        return self.shown <= self.claimed and not self.wrong


@dataclass(frozen=True, slots=True)
class PolicyAudit:
    """All that was found. ``skipped`` are statements that the policy refuses, with the reason."""

    moved: tuple[MovedStatement, ...]
    shown: tuple[ShownStatement, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    worst: WorstPerson = WorstPerson.HIGH

    @property
    def passed(self) -> bool:
        return bool(self.moved) and all(one.passed for one in self.shown) and not any(one.broken for one in self.moved)


def audit_policy(
    policy: Policy,
    *,
    minutes: float,
    epsilon: Fraction = Fraction(1),
    server: str | None = None,
    program: Sequence[str] = DPSQL,
    progress: Told = lambda part, text: None,
    wire: bool = True,
) -> PolicyAudit:
    """Audit a policy, over the wire for ``minutes``, at a price of ``epsilon`` a statement.

    ``server`` is the URL of a PostgreSQL server for trials; without it people are in DuckDB. ``program`` is what
    serves. Raises :class:`dpsql.errors.Error`.
    """
    with tempfile.TemporaryDirectory(prefix="dpsql-audit-") as name, ExitStack() as stack:
        folder = Path(name)
        progress(0.0, "making up people")
        databases = stack.enter_context(scratch_databases(folder, server))
        policies = _scratch_policies(policy, databases, epsilon, folder)
        law = _Law(stack, policies)
        moved = []
        asked = law.asked
        for place, question in enumerate(asked):
            progress(0.1 * place / len(asked), "without noise")
            moved.append(law.moved(question))
        worst = law.worst()
        found = PolicyAudit(tuple(moved), (), law.skipped, worst)
        if not wire or not moved or any(one.broken for one in moved):
            return found
        progress(0.1, "starting two servers")
        with_and_without = [policies[_WITHOUT], policies[worst.name]]
        pair = stack.enter_context(serving_all(with_and_without, program, ("--workers", "1")))
        ends = time.monotonic() + 60 * minutes
        shown = tuple(_over_the_wire(pair, of_each_kind(asked, MOST_ASKED), ends, progress))
    return PolicyAudit(found.moved, shown, found.skipped, worst)


def _scratch_policies(policy: Policy, databases: ScratchDatabases, epsilon: Fraction, folder: Path) -> dict[str, Path]:
    """One policy for the database without the worst person, and one for each that has one, by the name of its extreme.

    Of the real database the schema is read, and public tables.
    """
    engine = engine_of(policy)
    try:
        schema = engine.schema()
        catalog = fit(policy, schema).catalog
        public: dict[str, Sequence[Row]] = {}
        for table in catalog.tables.values():
            if table.public:
                found = engine.public_rows(table.name, list(shaped(schema, catalog, table)))
                columns = [column.to_pylist() for column in found.slice(0, _MOST_PUBLIC).columns]
                public[table.name] = list(zip(*columns, strict=True))
    finally:
        engine.close()
    statements = definitions(schema, catalog, databases)

    def scratch(name: str, people: MadeUp, *, worst: bool) -> Path:
        rows = {table: [*one.others, *(one.worst if worst else ())] for table, one in people.items()}
        return scratch_policy(policy, databases.write(name, statements, public | rows), epsilon, folder / name)

    worlds = {extreme: made_up(schema, catalog, public, extreme) for extreme in WorstPerson}
    policies = {extreme.name: scratch(extreme.name, people, worst=True) for extreme, people in worlds.items()}
    return policies | {_WITHOUT: scratch(_WITHOUT, worlds[WorstPerson.HIGH], worst=False)}


class _Law:
    """The part without noise."""

    def __init__(self, stack: ExitStack, policies: Mapping[str, Path]) -> None:
        self._opened: dict[str, Opened] = {}
        for name, path in policies.items():
            self._opened[name] = open_policy(path)
            stack.callback(self._opened[name].close)
        self.skipped: dict[str, str] = {}
        self._here: dict[str, Sequence[Measurement]] = {}
        self._shares = dict.fromkeys(WorstPerson, 0.0)
        self.asked = tuple(self._answered(questions(self._opened[_WITHOUT].catalog)))

    def _answered(self, some: Sequence[AuditQuestion]) -> Iterator[AuditQuestion]:
        """The questions that the policy answers: the others are skipped, with the reason."""
        for question in some:
            try:
                self._here[question.sql] = measured(question.sql, self._opened[_WITHOUT])
            except (Error, Refused) as refused:
                self.skipped[question.sql] = str(refused).partition("\n")[0]
            else:
                yield question

    def moved(self, question: AuditQuestion) -> MovedStatement:
        """The worst of all extremes; the first that breaks the law, if one does."""
        here = self._here[question.sql]
        found = [self._compared(question, here, extreme) for extreme in WorstPerson]
        for one in found:
            self._shares[one.extreme] += one.share
        return max(found, key=lambda one: (bool(one.broken), one.share))

    def _compared(self, question: AuditQuestion, here: Sequence[Measurement], extreme: WorstPerson) -> MovedStatement:
        there = self._there(question, here, self._opened[extreme.name])
        try:
            shares = [
                max(
                    compare(one.plan, one.groups, other.groups),
                    compare_picks(one.plan, one.ranks, other.ranks, one.groups),
                )
                for one, other in zip(here, there, strict=True)
            ]
        except MovedTooFar as problem:
            return MovedStatement(question.sql, math.inf, extreme, str(problem))
        return MovedStatement(question.sql, max(shares, default=0.0), extreme)

    def _there(self, question: AuditQuestion, here: Sequence[Measurement], opened: Opened) -> Sequence[Measurement]:
        """The same statement with a worst person. Plans follow from text and catalog: equal ones are shared."""
        if opened.catalog != self._opened[_WITHOUT].catalog:
            return measured(question.sql, opened)
        return measured(question.sql, opened, plans=[one.plan for one in here])

    def worst(self) -> WorstPerson:
        """Whoever moves most, over all questions together."""
        return max(self._shares, key=lambda one: self._shares[one])


def _over_the_wire(
    pair: Sequence[Served], asked: Sequence[AuditQuestion], ends: float, progress: Told
) -> Iterator[ShownStatement]:
    """Every question in its share of the time, one after another, with the same part of the error."""
    start = time.monotonic()
    with ExitStack() as stack:
        connections = [stack.enter_context(served.connect()) for served in pair]
        for connection in connections:
            for setting in _SETTINGS:
                connection.execute(f"SET dpsql.{setting}".encode())
        for place, question in enumerate(asked):
            now = time.monotonic()
            until = now + max(ends - now, 1.0) / (len(asked) - place)

            def tell(text: str = question.kind) -> None:
                progress(0.1 + 0.9 * (time.monotonic() - start) / max(ends - start, 1.0), f"over the wire: {text}")

            yield _Asking(pair, connections, question).shown(until, ERROR / len(asked), tell)


class _Asking:
    """One question, asked of two servers in turns that a coin decides."""

    def __init__(
        self, pair: Sequence[Served], connections: Sequence[psycopg.Connection], question: AuditQuestion
    ) -> None:
        self._pair = pair
        self._connections = connections
        self._question = question
        self._columns: list[tuple[tuple[str, int], ...]] = [(), ()]
        self._wrong = ""

    def shown(self, until: float, error: float, tell: Callable[[], None]) -> ShownStatement:
        outcomes: list[Outcome] = []
        bits: list[bool] = []
        before = [served.spent() for served in self._pair]
        while len(bits) < _FEWEST or time.monotonic() < until:
            bit = secrets.randbits(1)
            outcomes.append(self._outcome(bit))
            bits.append(bool(bit))
            if not len(bits) % 20:
                tell()
        counts = [len(bits) - sum(bits), sum(bits)]
        pairs = zip(self._pair, before, counts, strict=True)
        charges = [served.spent().since(then, count) for served, then, count in pairs if count]
        wrong = self._wrong or self._told_apart(charges)
        samples = samples_of(outcomes, np.array(bits))
        order = np.array(random.SystemRandom().sample(range(len(bits)), len(bits)))
        learned = int(_CHOSEN_ON * len(bits))
        event = choose(samples[order[:learned]], charges[0])
        tested = samples[order[learned:]]
        bound = event.bound(tested, error)
        could = most_shown(*event.at, int(tested.bits.sum()), int((~tested.bits).sum()), error)
        return ShownStatement(self._question.sql, str(charges[0]), *event.at, bound, len(bits), wrong, could)

    def _told_apart(self, charges: Sequence[ChargedLoss]) -> str:
        """What tells a person without any number: another price, or other columns."""
        if len(set(charges)) > 1:
            return f"the price is {charges[0]} without the person and {charges[1]} with them"
        if charges[0] == ChargedLoss():
            return "nothing was charged"
        if self._columns[0] and self._columns[1] and self._columns[0] != self._columns[1]:
            return "the columns differ with the person and without"
        return ""

    def _outcome(self, bit: int) -> Outcome:
        """The numbers of one answer; an error is one, too."""
        try:
            cursor = self._connections[bit].execute(self._question.sql.encode())
        except psycopg.Error as problem:
            self._wrong = f"an error, {'with' if bit else 'without'} the person: {problem}".strip()
            return {"error": float(int.from_bytes((problem.sqlstate or "?").encode(), "big"))}
        self._columns[bit] = tuple((column.name, column.type_code) for column in cursor.description or ())
        rows = cursor.fetchall()
        found: Outcome = {"rows": float(len(rows))}
        for row in rows:
            key = " ".join(str(value) for value in row[: self._question.keys])
            for (name, _), value in zip(
                self._columns[bit][self._question.keys :], row[self._question.keys :], strict=True
            ):
                found |= {f"{key} {name}{part}".strip(): number for part, number in numbers(value)}
        return found
