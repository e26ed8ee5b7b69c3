"""The ledger: a charge is durable before :meth:`Ledger.charge` returns, and all charges together stay within the limit.

It holds for many threads and many processes on one file. The file is :mod:`dpsql.ledger.sqlite_journal`'s; here it is
decided what may be added to it. One thread per process writes: the charges that wait are decided in their order and
committed together, so that one flush to the disk serves them all.

Why a failed commit stops the ledger: whether the charge is in the file is then not known. Its statement is
refused, so that nothing was read for it, and the process serves no more until the file was opened and verified again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from types import TracebackType
from typing import Self, TypeVar

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.errors import BudgetExceeded, Error, InterfaceError, InternalError, NotSupportedError, OperationalError
from dpsql.ledger.charges import (
    ACCOUNTING,
    EVERYBODY,
    UNIT,
    Busy,
    Charge,
    Failed,
    Journal,
    Limits,
    Lost,
    Spent,
    Unsound,
    exceeded,
    now,
    recorded,
    together,
)
from dpsql.ledger.receipt import Receipt
from dpsql.ledger.sqlite_journal import SQLiteJournal
from dpsql.postgresql import without_password

__all__ = ["Charge", "Due", "Ledger", "recorded"]

_Read = TypeVar("_Read")

_LOG = logging.getLogger("dpsql.ledger")
_LONGEST_STATEMENT = 10_000
_LARGEST_GROUP = 1_000
# What SQLite says of a damaged file may not even be text.
_TROUBLE = (Busy, Failed, Lost, Unsound, sqlite3.Error, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class Due:
    """A loss that is to be charged: for which statement, reading which tables."""

    loss: PrivacyLoss
    statement: str
    tables: tuple[str, ...] = ()


OnCharge = Callable[[str, Sequence[Due], tuple[str, ...], float], None]
"""Told, by the thread that charged, who paid what, under which ids, and how many seconds it took to be durable."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Charges that wait for the writer, all of them or none, and where their caller waits for the answer."""

    ids: tuple[str, ...]
    charges: tuple[Charge, ...]
    answer: Future[tuple[str, ...]] = field(default_factory=Future)

    def refuse(self, error: Error) -> None:
        self.answer.set_exception(error)


class Ledger:
    """The durable, append-only list of charges of one policy. Thread-safe; not to be used in a forked child.

    >>> import tempfile
    >>> from dpsql.accounting import PURE
    >>> total = Accountant(PURE, epsilon=Fraction(1), delta=Fraction(0))
    >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(f"sqlite:{folder}/ledger", total) as ledger:
    ...     paid = ledger.charge("ana", PrivacyLoss(epsilon=Fraction(9, 10)), "SELECT count(*) FROM patient")
    ...     ledger.charge("ana", PrivacyLoss(epsilon=Fraction(2, 10)), "SELECT count(*) FROM visit")
    Traceback (most recent call last):
    dpsql.errors.BudgetExceeded: this statement does not fit into the privacy budget: of epsilon 1, 0.9 is spent
    HINT: the largest epsilon that still fits is 0.1
    """

    def __init__(self, journal: Journal, place: str, accountant: Accountant, shares: Mapping[str, Accountant]) -> None:
        self.place = place
        self.identity = journal.identity
        self._journal = journal
        self._accountant = accountant
        self._limits = {EVERYBODY: accountant} | {_clean(name): share for name, share in shares.items()}
        self._pid = os.getpid()
        self._reading = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._stopped: Error | None = None
        self.on_charge: OnCharge | None = None
        self._writer = threading.Thread(target=self._write, name="dpsql ledger", daemon=True)
        self._writer.start()

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        accountant: Accountant,
        shares: Mapping[str, Accountant] | None = None,
        *,
        unit: str = "",
        timeout: float = 10.0,
        create: bool = True,
    ) -> Self:
        """The ledger at ``sqlite:PATH`` (or PATH) or ``postgresql://…``, made if there is none, and verified.

        ``shares`` caps what single analysts may cause to be released, in addition to the total. ``unit`` is whom the
        policy protects: a ledger is of one accounting and one privacy unit for ever. ``timeout`` bounds the
        wait in seconds for other processes, and for a server to come back. Raises OperationalError when the ledger
        cannot be used, cannot be trusted, belongs to another policy, or is not there and not to be made.
        """
        shares = shares or {}
        if any(share.accounting is not accountant.accounting for share in shares.values()):
            raise ValueError("an analyst's share is counted as the total is")
        facts = {ACCOUNTING: str(accountant.accounting)} | ({UNIT: unit} if unit else {})
        place = os.fspath(url)
        try:
            if place.startswith(("postgresql://", "postgres://")):
                from dpsql.ledger.postgres_journal import PostgresJournal

                journal: Journal = PostgresJournal(place, facts, timeout, create=create)
                return cls(journal, without_password(place), accountant, shares)
            place = os.path.abspath(_path(place))
            return cls(SQLiteJournal(place, facts, timeout, create=create), place, accountant, shares)
        except (*_TROUBLE, OSError) as cause:
            problem = OperationalError(
                f"the ledger {without_password(place)} cannot be used: {_reason(cause)}", sqlstate="58030"
            )
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
        """The same for several charges that are admitted all or none, and durable together.

        They are written on the ``receipt`` before anybody is told of them.
        """
        started = time.monotonic()
        ids = self.begin(analyst, dues).result()
        if receipt is not None:
            receipt.add((due.loss for due in dues), ids)
        if self.on_charge is not None:
            self.on_charge(_clean(analyst), dues, ids, time.monotonic() - started)
        return ids

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
        who, when = _clean(analyst), now()
        ids = tuple(_new_id() if due.loss else "" for due in dues)
        waiting = _Waiting(
            ids,
            tuple(
                Charge(id_, when, who, recorded(due.loss), _shortened(due.statement), due.tables)
                for id_, due in zip(ids, dues, strict=True)
                if id_
            ),
        )
        if not waiting.charges:
            waiting.answer.set_result(ids)
            return waiting.answer
        with self._changed:
            if self._stopped:
                raise _again(self._stopped)
            self._waiting.append(waiting)
            if len(self._waiting) == 1:
                self._changed.notify()
        return waiting.answer

    def spent(self, analyst: str | None = None) -> PrivacyLoss:
        """The sum of all charges, or of one analyst's, by every process up to now."""
        return self._read(lambda journal: journal.read_total(EVERYBODY if analyst is None else _clean(analyst)).spent)

    @property
    def stopped(self) -> bool:
        """Whether nothing is charged any more."""
        return self._stopped is not None

    @property
    def limits(self) -> Limits:
        """What everybody together, under the empty name, and every analyst with a share may spend."""
        return self._limits

    def extent(self) -> tuple[str, int]:
        """The ledger's identity, and how many charges it has by now."""
        return self.identity, self._read(lambda journal: journal.read_total(EVERYBODY)).charges

    def charges(self, analyst: str | None = None, limit: int = 1000) -> tuple[Charge, ...]:
        """The newest ``limit`` charges, the newest first."""
        return self._read(lambda journal: journal.read_charges(analyst, limit))

    def holds(self, charge: str) -> bool:
        """Whether this charge is in the ledger."""
        return self._read(lambda journal: journal.holds(charge))

    def close(self) -> None:
        """Finish the charges that wait, and give the file back."""
        if os.getpid() != self._pid:
            return
        with self._changed:
            self._stopped = self._stopped or InterfaceError("the ledger is closed", sqlstate="55000")
            self._changed.notify()
        self._writer.join()
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

    def _write(self) -> None:
        """The writer thread: until the ledger stops, and then until nobody waits."""
        while True:
            with self._changed:
                while not self._waiting and not self._stopped:
                    self._changed.wait()
                group, self._waiting = self._waiting[:_LARGEST_GROUP], self._waiting[_LARGEST_GROUP:]
            if not group:
                return
            try:
                answers = self._commit([waiting.charges for waiting in group])
            except BaseException as cause:
                self._fail(group, cause)
            else:
                for waiting, refusal in zip(group, answers, strict=True):
                    if refusal is None:
                        waiting.answer.set_result(waiting.ids)
                    else:
                        waiting.refuse(refusal)

    def _commit(self, groups: Sequence[tuple[Charge, ...]]) -> list[Error | None]:
        """Decide charges in their order; return, for each, why it was refused, after the others are durable."""
        refusals = self._journal.append(groups, self._limits)
        return [
            None if spent is None else self._refusal(group, spent)
            for group, spent in zip(groups, refusals, strict=True)
        ]

    def _refusal(self, group: Sequence[Charge], spent: Spent) -> BudgetExceeded:
        """Why the total or the analyst's own share does not admit charges; a function of the ledger and the loss."""
        loss = together(group)
        limits = {name: limit for name, limit in self._limits.items() if name in spent}
        beyond = exceeded(limits, spent, loss)
        if not beyond:
            raise Unsound("the ledger refused what is within its limits")
        name = beyond[-1]
        limit = limits[name]
        left = min(one.largest(spent[whom]) for whom, one in limits.items())
        whose = "the privacy budget" if name == EVERYBODY else "this analyst's share of the privacy budget"
        gone = limit.epsilon_of(spent[name])
        no_delta = any(spent[whom].delta + loss.delta > limits[whom].limit.delta for whom in beyond)
        return BudgetExceeded(
            f"this statement does not fit into {whose}: "
            f"of epsilon {float(limit.epsilon):g}, {_digits_up(gone)} is spent",
            sqlstate="53400",
            hint=_hint(left, no_delta),
        )

    def _fail(self, group: Sequence[_Waiting], cause: BaseException) -> None:
        if isinstance(cause, Busy):
            error = OperationalError("the ledger is busy; nothing was charged", sqlstate="53300", hint="try again")
        elif isinstance(cause, Failed | Lost):
            # What is in the ledger is its server's to say, and it will: the next charge may be tried.
            error = OperationalError(
                "the ledger cannot be reached; nothing was read for this statement", sqlstate="58030", hint="try again"
            )
            _LOG.error("a charge failed: %s", _reason(cause))
        else:
            error = OperationalError(
                "the ledger cannot be written; nothing is answered until its owner has seen to it", sqlstate="58030"
            )
            with self._changed:
                self._stopped = error
                # Those who came meanwhile shall not be tried on a file that may be broken.
                group, self._waiting = [*group, *self._waiting], []
            _LOG.critical("the ledger stops: %s", _reason(cause))
        error.__cause__ = cause
        for waiting in group:
            waiting.refuse(_again(error))

    def _read(self, question: Callable[[Journal], _Read]) -> _Read:
        self._check_process()
        try:
            with self._reading:
                return question(self._journal)
        except _TROUBLE as cause:
            raise OperationalError("the ledger cannot be read", sqlstate="58030") from cause


def _again(error: Error) -> Error:
    """An error of one's own for each thread: tracebacks are written into it."""
    copy = type(error)(error.message, sqlstate=error.sqlstate, hint=error.hint)
    copy.__cause__ = error.__cause__
    return copy


def _hint(left: Fraction, no_delta: bool) -> str:
    if no_delta:
        return "not enough delta is left to select groups: group by columns whose values are declared"
    return f"the largest epsilon that still fits is {float(left):g}" if left else "nothing is left"


def _digits_up(value: float) -> str:
    """Six digits, rounded up."""
    return format(Context(prec=6, rounding=ROUND_CEILING).create_decimal(repr(value)), "f")


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


def _reason(cause: BaseException) -> str:
    if isinstance(cause, Busy):
        return "another process holds it"
    return str(cause) if isinstance(cause, Failed | Lost | Unsound) else f"{type(cause).__name__}: {cause}"
