"""The ledger: a charge is durable before :meth:`Ledger.charge` returns, and all charges together stay within the limit.

It holds for many threads and many processes on one file. The file is :mod:`dpsql.ledger.sqlite_journal`'s; here it is
decided what may be added to it, and :mod:`dpsql.ledger.group_commit` adds it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.errors import DataError, InterfaceError, InternalError, NotSupportedError, OperationalError
from dpsql.ledger.charges import (
    ACCOUNTING,
    EVERYBODY,
    UNIT,
    Charge,
    Journal,
    Standing,
    exceeded,
    now,
    recorded,
    standing,
)
from dpsql.ledger.group_commit import TROUBLE, GroupCommit, Writer, refusal, why
from dpsql.ledger.orders import Order, Orders, paused
from dpsql.ledger.receipt import Receipt
from dpsql.ledger.row_times import EVER, Span, is_one_period, most_of
from dpsql.ledger.sqlite_journal import SQLiteJournal
from dpsql.ledger.tally import Limits, Tally
from dpsql.ledger.watch_states import FileStates, ServerStates, WatchStates
from dpsql.postgresql import without_password

__all__ = ["Charge", "Due", "Ledger", "recorded"]

_Read = TypeVar("_Read")

_LOG = logging.getLogger("dpsql.ledger")
_LONGEST_STATEMENT = 10_000
LONGEST = 60.0
"""Seconds that a statement waits for its charge. Journals give up earlier; this holds where nobody tells of it."""


@dataclass(frozen=True, slots=True)
class Due:
    """A loss that is to be charged: for which statement, reading which tables.

    All rows of people that it is about have times within ``span``. Where the budget is one of the rows of each
    period, and the span is of several, two steps are charged (:mod:`dpsql.ledger.row_times`).
    """

    loss: PrivacyLoss
    statement: str
    tables: tuple[str, ...] = ()
    span: Span = EVER


Filters = Accountant | Sequence[Accountant]
"""One filter or several: of all time, of each window, or of both."""
Clock = Callable[[], datetime]
OnCharge = Callable[[str, Sequence[Due], tuple[str, ...], float], None]
"""Told, by the thread that charged, who paid what, under which ids, and how many seconds it took to be durable."""


class Ledger:
    """The durable, append-only list of charges of one policy. Thread-safe; not to be used in a forked child.

    >>> import tempfile
    >>> from fractions import Fraction
    >>> from dpsql.accounting import PURE
    >>> total = Accountant(PURE, epsilon=Fraction(1), delta=Fraction(0))
    >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(f"sqlite:{folder}/ledger", total) as ledger:
    ...     paid = ledger.charge("ana", PrivacyLoss(epsilon=Fraction(9, 10)), "SELECT count(*) FROM patient")
    ...     ledger.charge("ana", PrivacyLoss(epsilon=Fraction(2, 10)), "SELECT count(*) FROM visit")
    Traceback (most recent call last):
    dpsql.errors.BudgetExceeded: this statement does not fit into the privacy budget: 90 % of it is spent (ε = 0.9 of 1)
    HINT: the largest price that still fits is 10 % of it (ε = 0.1)
    """

    def __init__(
        self,
        journal: Journal,
        place: str,
        limits: Limits,
        writer: Writer | None = None,
        clock: Clock | None = None,
        watches: WatchStates | None = None,
    ) -> None:
        """``writer`` adds the charges where another process does it: the journal is only read here then."""
        self.place = place
        self.identity = journal.identity
        self._journal = journal
        self._accountant = limits[EVERYBODY][0]
        self._orders = Orders(limits)
        self._writer = writer or GroupCommit(journal)
        self._now = clock or now
        self._tally = Tally(limits)
        self.watches: WatchStates = watches or FileStates(place)
        self._pid = os.getpid()
        self._reading = threading.Lock()
        self.on_charge: OnCharge | None = None

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        total: Filters,
        shares: Mapping[str, Filters] | None = None,
        *,
        unit: str = "",
        timeout: float = 10.0,
        create: bool = True,
        writer: Writer | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """The ledger at ``sqlite:PATH`` (or PATH) or ``postgresql://…``, made if there is none, and verified.

        The ``total`` is a filter of all time, of each window, or one of both. ``shares`` caps what single analysts may
        cause to be released, in addition. ``unit`` is whom the policy protects: a ledger is of one accounting and one
        privacy unit for ever. ``timeout`` bounds the wait in seconds for other processes, and for a server to come
        back. ``clock`` says in which window a charge is made, unless the ledger is in a later one. Raises
        OperationalError when the ledger cannot be used, cannot be trusted, belongs to another policy, or is not there
        and not to be made.
        """
        limits = {EVERYBODY: _filters(total)} | {
            _clean(name): _filters(share) for name, share in (shares or {}).items()
        }
        accounting = limits[EVERYBODY][0].accounting
        if any(one.accounting is not accounting for filters in limits.values() for one in filters):
            raise ValueError("an analyst's share is counted as the total is")
        facts = {ACCOUNTING: str(accounting)} | ({UNIT: unit} if unit else {})
        place = shown = os.fspath(url)
        try:
            if place.startswith(("postgresql://", "postgres://")):
                from dpsql.ledger.postgres_journal import PostgresJournal

                shown = without_password(place)
                journal: Journal = PostgresJournal(place, facts, timeout, create=create, limits=limits)
                return cls(journal, shown, limits, writer, clock, ServerStates(place))
            place = shown = os.path.abspath(_path(place))
            journal = SQLiteJournal(place, facts, timeout, create=create, limits=limits)
            return cls(journal, place, limits, writer, clock)
        except (*TROUBLE, OSError) as cause:
            problem = OperationalError(f"the ledger {shown} cannot be used: {why(cause)}", sqlstate="58030")
            problem.__cause__ = cause
        raise problem

    def charge(
        self,
        analyst: str,
        loss: PrivacyLoss,
        statement: str,
        tables: Sequence[str] = (),
        receipt: Receipt | None = None,
    ) -> str:
        """Charge ``loss``, and return the charge's unique id once it is durable. What was charged is never given back.

        A loss of nothing is not recorded; its id is empty. A loss is recorded as it is, or rounded up to a multiple of
        1e-40. ``statement`` is what the owner reads later: it holds no released values. Raises
        BudgetExceeded (nothing was charged; the text depends on the ledger alone), OperationalError when the
        ledger is busy (nothing was charged) or broken (it may be charged; it must not be read for).
        """
        return self.charge_together(analyst, [Due(loss, statement, tuple(tables))], receipt)[0]

    def charge_together(self, analyst: str, dues: Sequence[Due], receipt: Receipt | None = None) -> tuple[str, ...]:
        """Charge several at once: all or none of them are admitted, and they are durable together.

        They are written on the ``receipt`` before anybody is told of them, and what it does not admit is not charged.
        """
        if receipt is not None:
            receipt.admit((self.charged(due), due.span) for due in dues)
        started = time.monotonic()
        try:
            ids = self.begin(analyst, dues).result(LONGEST)
        except TimeoutError:
            ids = None
        if ids is None:
            raise OperationalError(
                f"the ledger did not answer for {LONGEST:g} seconds; nothing was read, and it may be charged",
                sqlstate="58030",
                hint="look into dpsql.charges before you try again",
            )
        if receipt is not None:
            receipt.add(((self.charged(due), due.span) for due in dues), ids)
        if self.on_charge is not None:
            self.on_charge(_clean(analyst), dues, ids, time.monotonic() - started)
        return ids

    def check(self, analyst: str, loss: PrivacyLoss) -> None:
        """Raise BudgetExceeded where a loss does not fit by now: others may be charged before it is."""
        spent = (*self.standings(least=True), *self.standings(analyst, least=True))
        if exceeded(spent, recorded(loss)):
            raise refusal(spent, recorded(loss))

    def charged(self, due: Due) -> PrivacyLoss:
        """What is charged for a loss. Raises InternalError where nothing pays for it."""
        per = self._accountant.rows_of
        if per is None or is_one_period(due.span, per):
            return due.loss
        try:
            return self._accountant.accounting.of_two_steps(due.loss)
        except ValueError as cause:
            raise InternalError("a loss of rows of several periods has no price in this ledger") from cause

    def together(self, dues: Iterable[Due]) -> PrivacyLoss:
        """What is charged for losses; where the budget is one of rows, for those that are charged most."""
        return most_of((due.span, self.charged(due)) for due in dues)

    def begin(self, analyst: str, dues: Sequence[Due]) -> Future[tuple[str, ...]]:
        """The same without waiting: nothing may be read before the result is there."""
        self._check_process()
        if not analyst:
            raise InternalError("an analyst has a name")
        try:
            for due in dues:
                self._accountant.check_kind(due.loss)
        except ValueError as cause:
            raise InternalError("a loss does not suit the accounting of the ledger") from cause
        who, when = _clean(analyst), self._now()
        ids = tuple(_new_id() if due.loss else "" for due in dues)
        charges = tuple(
            Charge(id_, when, who, recorded(self.charged(due)), _shortened(due.statement), due.tables, due.span)
            for id_, due in zip(ids, dues, strict=True)
            if id_
        )
        answer: Future[tuple[str, ...]] = Future()
        if not charges:
            answer.set_result(ids)
        else:
            self._writer.submit(charges).add_done_callback(lambda durable: _hand_on(durable, answer, ids))
        return answer

    def admit(self, charges: tuple[Charge, ...]) -> Future[None]:
        """Charges that another process made with a ledger of its own, whose writer asks here: all of them or none.

        They are durable when the result is there, which raises as :meth:`charge` does.
        """
        self._check_process()
        for charge in charges:
            self._accountant.check_kind(charge.loss)
        if not all(charge.loss for charge in charges):
            raise InternalError("a process that answers gives no orders")
        return self._writer.submit(charges)

    def spent(self, analyst: str | None = None) -> PrivacyLoss:
        """The sum of all charges, or of one analyst's, by every process up to now."""
        return self._read(lambda journal: journal.read_total(EVERYBODY if analyst is None else _clean(analyst)).spent)

    def order(self, analyst: str, order: Order) -> None:
        """Write an owner's order about an analyst down: durable when this returns, and kept by what is charged after.

        Raises DataError for a share that is none, OperationalError where the ledger is busy or broken.
        """
        self._check_process()
        if order.share is not None and not 0 < order.share <= self._accountant.epsilon:
            raise DataError(
                f"a share of ε = {float(order.share):g} cannot be",
                sqlstate="22023",
                hint=f"above 0, and at most the total, ε = {float(self._accountant.epsilon):g}; pause for nothing",
            )
        who = _clean(analyst)
        charge = Charge(_new_id(), self._now(), who, PrivacyLoss(), _clean(order.statement), ())
        try:
            self._writer.submit((charge,)).result(LONGEST)
        except TimeoutError:
            raise OperationalError("the ledger did not answer; look whether it holds", sqlstate="58030") from None

    def check_paused(self, analyst: str) -> None:
        """Raise 42501 where the owner has paused this analyst."""
        if _clean(analyst) in self.orders().paused:
            raise paused()

    def orders(self) -> Orders:
        """The orders that hold by now, of every process."""

        def follow(journal: Journal) -> Orders:
            self._orders.follow(journal.read_orders)
            return self._orders

        return self._read(follow)

    def standings(
        self, analyst: str | None = None, *, least: bool = False, rows: Collection[Span] = ()
    ) -> tuple[Standing, ...]:
        """How the filters of everybody, or of one analyst, stand by now: none for who has no share.

        Filters of rows are shown for those of the period around now; of the fullest period of ``rows``, where there
        are any; or as they stand at ``least``, wherever that is.
        """
        name = EVERYBODY if analyst is None else _clean(analyst)
        filters = self.orders().limits.get(name, ())

        def stand(journal: Journal) -> tuple[Standing, ...]:
            at = self._follow(journal)
            ever = journal.read_total(name).spent if any(one.per is None for one in filters) else PrivacyLoss()
            return tuple(stood(one, ever, at) for one in filters)

        def stood(one: Accountant, ever: PrivacyLoss, at: datetime) -> Standing:
            if one.of_rows and least and self._tally.row_times is not None:
                return Standing(name, one, self._tally.row_times.least(name))
            if one.of_rows and rows:
                spent, when = self._tally.fullest(one, name, at, rows)
                return standing(name, one, spent, when)
            spent = ever if one.per is None else self._tally.standing(one, name, at)
            return standing(name, one, spent, at)

        return self._read(stand)

    def _follow(self, journal: Journal) -> datetime:
        """The time of the ledger by now, after what was charged in open windows has been counted."""
        if self._tally.follows:
            self._tally.follow(journal.read_newest, journal.read_newer)
        return self._tally.at(self._now())

    @property
    def stopped(self) -> bool:
        """Whether nothing is charged any more."""
        return self._writer.stopped

    @property
    def limits(self) -> Limits:
        """The limits of every analyst with a share, and, under the empty name, of everybody together, by now."""
        return self.orders().limits

    def extent(self) -> tuple[str, int]:
        """The ledger's identity, and how many charges it has by now."""
        return self.identity, self._read(lambda journal: journal.read_total(EVERYBODY)).charges

    def charges(self, analyst: str | None = None, limit: int = 1000) -> tuple[Charge, ...]:
        """The newest ``limit`` charges, the newest first."""
        return self._read(lambda journal: journal.read_charges(analyst, limit))

    def verify(self) -> None:
        """Read all of it again. Raises OperationalError, whose text is for the owner, where it is damaged."""
        try:
            with self._reading:
                self._journal.verify()
        except TROUBLE as cause:
            problem = OperationalError(f"the ledger {self.place} cannot be trusted: {why(cause)}", sqlstate="58030")
            problem.__cause__ = cause
        else:
            return
        raise problem

    def row_times(self) -> tuple[tuple[Span, PrivacyLoss], ...]:
        """What is spent of the rows of which times, in order; nothing where the budget is not one of rows."""

        def read(journal: Journal) -> tuple[tuple[Span, PrivacyLoss], ...]:
            self._follow(journal)
            return () if self._tally.row_times is None else tuple(self._tally.row_times.parts(EVERYBODY))

        return self._read(read)

    def holds(self, charge: str) -> bool:
        """Whether this charge is in the ledger."""
        return bool(self._read(lambda journal: journal.read_times([charge])))

    def pays_now(self, charges: Sequence[str], analyst: str) -> bool:
        """Whether charges are of the windows that are open now: those of everybody, and those of this analyst's share.

        What is read is paid in the windows in which it is read. Without windows, a charge is of all time.
        """
        names = (EVERYBODY, _clean(analyst))
        limits = self.limits
        periods = {one.window for name in names for one in limits.get(name, ()) if one.window is not None}
        if not periods:
            return True

        def compare(journal: Journal) -> bool:
            times, at = journal.read_times(charges), self._follow(journal)
            began = max(one.begin(at) for one in periods)
            return all(id_ in times and times[id_] >= began for id_ in charges)

        return self._read(compare)

    def close(self) -> None:
        """Finish the charges that wait, and give the file back."""
        if os.getpid() != self._pid:
            return
        self._writer.close()
        with self._reading:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise InterfaceError("the ledger was opened before this process was forked", sqlstate="55000")

    def _read(self, question: Callable[[Journal], _Read]) -> _Read:
        self._check_process()
        try:
            with self._reading:
                return question(self._journal)
        except TROUBLE as cause:
            _LOG.error("the ledger cannot be read: %s", why(cause))
            raise OperationalError(
                "the ledger cannot be read", sqlstate="58030", hint="its owner sees why by dpsql ledger verify"
            ) from cause


def _hand_on(durable: Future[None], answer: Future[tuple[str, ...]], ids: tuple[str, ...]) -> None:
    """The ids of charges once they are durable, or why they are not."""
    problem = durable.exception()
    if problem is None:
        answer.set_result(ids)
    else:
        answer.set_exception(problem)


def _filters(declared: Filters) -> tuple[Accountant, ...]:
    return (declared,) if isinstance(declared, Accountant) else tuple(declared)


def _path(url: str | os.PathLike[str]) -> str:
    text = os.fspath(url)
    scheme, colon, rest = text.partition(":")
    if colon and scheme == "sqlite":
        return rest.removeprefix("//") if rest.startswith("///") else rest
    if "://" in text:
        raise NotSupportedError(
            f"a ledger is not kept in {scheme}", sqlstate="0A000", hint="write sqlite:PATH or postgresql://…"
        )
    return text


def _new_id() -> str:
    """Never given before, 80 bits of it by chance; those that are made together are neighbours in an index."""
    return f"{time.time_ns() // 1_000_000 & 0xFFFFFFFFFFFF:012x}{os.urandom(10).hex()}"


def _clean(name: str) -> str:
    """Text that a file can hold: a lone surrogate, which a client may send, has no bytes."""
    return name.encode(errors="replace").decode()


def _shortened(statement: str) -> str:
    text = _clean(statement)
    if len(text) <= _LONGEST_STATEMENT:
        return text
    return f"{text[:_LONGEST_STATEMENT]} … sha256:{hashlib.sha256(text.encode()).hexdigest()}"
