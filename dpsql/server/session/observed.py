"""A session whose statements take turns with the others', and whose every statement is told to the owner's observers.

Guarantee: a statement runs only where it has a turn and could be told; what it came to is told before its answer
leaves, whoever refused it and wherever it failed. Its charges are on the receipt that it was handed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import NoneType
from typing import TypeVar

from dpsql.errors import Error
from dpsql.ledger import Due, Receipt
from dpsql.server.operations import (
    Charged,
    Client,
    Event,
    Observer,
    StatementEnded,
    StatementOutcome,
    Turns,
    outcome_of,
)
from dpsql.server.session import statements as sql
from dpsql.server.session.backend import Backend
from dpsql.server.session.outcome import BoundStatement, Notice
from dpsql.server.session.outcome import Outcome as Reply
from dpsql.server.session.portals import Portal, PreparedStatement, spread
from dpsql.server.session.route import Route
from dpsql.server.session.session import WireSession
from dpsql.server.wire import Field
from rewriter.front_door import pieces

_QUICK = (sql.TransactionStatement, sql.Deallocate, sql.CloseCursor, sql.Discard, sql.Nothing, NoneType)
"""What a client says to tidy up; it needs no turn."""
_LONGEST = 256
"""Characters of a parameter that are told."""
_R = TypeVar("_R")


class Watch:
    """Turns for statements, and those whom events are told."""

    def __init__(self, turns: Turns | None = None, observers: Sequence[Observer] = ()) -> None:
        self.turns = turns or Turns()
        self._observers = tuple(observers)

    def add(self, observer: Observer) -> None:
        """Tell one more, from now on."""
        self._observers = (*self._observers, observer)

    def ready(self) -> None:
        """Raise where a statement could not be told."""
        for observer in self._observers:
            observer.ready()

    def tell(self, event: Event) -> None:
        """All are told, even where one of them cannot be."""
        problem: Error | None = None
        for observer in self._observers:
            try:
                observer.tell(event)
            except Error as raised:
                problem = raised
        if problem is not None:
            raise problem

    def charged(self, analyst: str, dues: Sequence[Due], ids: Sequence[str], seconds: float) -> None:
        """The ledger says that charges are durable."""
        self.tell(Charged(analyst, tuple(due.loss for due in dues), seconds))


@dataclass(slots=True)
class _Statement:
    """What is under way."""

    text: str
    parameters: tuple[str | None, ...] = ()
    outcome: StatementOutcome = StatementOutcome.SESSION
    waited: float = 0.0
    """Seconds until it had its turn."""
    started: float = field(default_factory=time.monotonic)


class WatchedSession(WireSession):
    """A session of one client. What it is asked from within itself is part of the same statement."""

    def __init__(self, backend: Backend, analyst: str | None, client: Client, watch: Watch) -> None:
        self._under_way: _Statement | None = None
        self.arrived = time.monotonic()
        """When the next statement arrived: with the bytes fed last, or in the queue behind the one before."""
        super().__init__(backend, analyst, client.application)
        self.client = replace(client, analyst=self.analyst)
        self._watch = watch

    def statements(self, text: str) -> tuple[sql.Statement, ...]:
        return self._considered(text, (), lambda: super(WatchedSession, self).statements(text))

    def prepare(self, text: str, types: Sequence[int]) -> PreparedStatement:
        kinds = [one.kind for one in self.statements(text)]
        return self._considered(text, kinds, lambda: super(WatchedSession, self).prepare(text, types))

    def bind(self, prepared: PreparedStatement, bound: BoundStatement) -> Portal:
        return self._considered(
            prepared.text, (prepared.kind,), lambda: super(WatchedSession, self).bind(prepared, bound)
        )

    def parameter_types(self, prepared: PreparedStatement) -> tuple[int, ...]:
        return self._considered(
            prepared.text, (prepared.kind,), lambda: super(WatchedSession, self).parameter_types(prepared)
        )

    def fields(self, prepared: PreparedStatement) -> tuple[Field, ...]:
        return self._considered(prepared.text, (prepared.kind,), lambda: super(WatchedSession, self).fields(prepared))

    def portal_fields(self, portal: Portal) -> tuple[Field, ...]:
        one = portal.statement
        return self._considered(one.text, (one.kind,), lambda: super(WatchedSession, self).portal_fields(portal))

    def open(self, portal: Portal, limit: int = 0) -> tuple[Notice, ...]:
        if portal.rows is not None or self._under_way is not None:
            return super().open(portal, limit)
        return self._run_told(
            BoundStatement(portal.statement, portal.values, portal.formats),
            lambda: super(WatchedSession, self).open(portal, limit),
        )

    def run(self, bound: BoundStatement) -> Reply:
        if self._under_way is not None:
            return super().run(bound)
        return self._run_told(bound, lambda: super(WatchedSession, self).run(bound))

    def _query(self, bound: BoundStatement, text: str) -> Reply:
        """Whatever statement it is part of, that is known by what its query came to."""
        if self._under_way is not None:
            ours = self._backend.place(text).route is Route.OURS
            self._under_way.outcome = StatementOutcome.FREE if ours else StatementOutcome.CATALOG
        return super()._query(bound, text)

    def _run_told(self, bound: BoundStatement, work: Callable[[], _R]) -> _R:
        """One statement, from its turn to what it came to."""
        statement = _Statement(_part(bound.statement), _parameters(bound))
        if isinstance(bound.statement.kind, sql.Setting) and bound.statement.kind.word == "EXPLAIN":
            statement.outcome = StatementOutcome.FREE
        quick = self._is_quick(bound.statement.kind)
        receipt = self._receipt = Receipt()
        result, problem = self._tried(statement, work, quick=quick)
        self._receipt = None
        self._tell(statement, problem, receipt)
        if problem is not None:
            raise problem
        return result[0]

    def _is_quick(self, kind: sql.Kind | None) -> bool:
        """Whether a statement needs no turn. Nor does one that ends others: they may have all turns."""
        if not isinstance(kind, sql.QueryStatement) or "pg_cancel_backend" not in kind.text.lower():
            return isinstance(kind, _QUICK)
        try:
            return self._backend.place(kind.text).calls
        except Error:
            return False

    def _considered(self, text: str, kinds: Sequence[sql.Kind | None], work: Callable[[], _R]) -> _R:
        """Work on a statement that does not run yet: it takes a turn, and is told where it is refused."""
        if self._under_way is not None:
            return work()
        quick = all(map(self._is_quick, kinds))
        statement = _Statement(text)
        self.begin_statement()
        result, problem = self._tried(statement, work, quick=quick)
        if problem is not None:
            self._tell(statement, problem, Receipt())
            raise problem
        return result[0]

    def _tried(
        self, statement: _Statement, work: Callable[[], _R], *, quick: bool
    ) -> tuple[tuple[_R, ...], Exception | None]:
        """What work came to, or the problem with it, told outside of the handler."""
        self._under_way = statement
        try:
            self._watch.ready()
            if quick:
                return (work(),), None
            with self._watch.turns.taken(self.analyst, self.arrived, self._cancellation) as waited:
                statement.waited = waited
                return (work(),), None
        except Exception as problem:
            return (), problem
        finally:
            self._under_way = None
            self.arrived = time.monotonic()

    def _tell(self, statement: _Statement, problem: Exception | None, receipt: Receipt) -> None:
        outcome, sqlstate = statement.outcome, "00000"
        if problem is not None:
            sqlstate = problem.sqlstate if isinstance(problem, Error) else "XX000"
            outcome = outcome_of(sqlstate)
        elif receipt:
            outcome = StatementOutcome.ANSWERED
        seconds = time.monotonic() - statement.started
        self._watch.tell(
            StatementEnded(
                self.client,
                statement.text,
                statement.parameters,
                outcome,
                sqlstate,
                receipt.loss,
                receipt.ids,
                seconds,
                statement.waited,
            )
        )


def _part(prepared: PreparedStatement) -> str:
    """The text of one statement, of all that came with it."""
    if ";" not in prepared.text:
        return prepared.text
    return _pieces(prepared.text).get(prepared.start, prepared.text)


@lru_cache(maxsize=64)
def _pieces(text: str) -> dict[int, str]:
    return {start: piece for start, piece, _ in pieces(text)}


def _parameters(bound: BoundStatement) -> tuple[str | None, ...]:
    """The values that came with a statement, as texts; binary ones in hexadecimal."""
    formats = spread(bound.formats, len(bound.values))
    return tuple(
        None if value is None else value.hex()[:_LONGEST] if binary else value.decode(errors="replace")[:_LONGEST]
        for value, binary in zip(bound.values, formats, strict=True)
    )
