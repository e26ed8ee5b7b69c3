"""One writer for all who charge: the charges that wait are decided in their order and committed together.

Guarantee: the answer to a charge is given after its commit, and a commit is durable when it returns. One flush to the
disk serves all charges that waited for it.

Why a failed commit stops the writer: whether the charges are in the journal is then not known. Their statements are
refused, so that nothing was read for them, and nobody is served any more until the journal was opened and verified
again.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from typing import Protocol

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.errors import BudgetExceeded, Error, InterfaceError, OperationalError
from dpsql.ledger.charges import (
    EVERYBODY,
    PAUSED,
    Busy,
    Charge,
    Failed,
    Journal,
    Lost,
    Spent,
    Standing,
    Unsound,
    exceeded,
    together,
)
from dpsql.ledger.orders import paused

_LOG = logging.getLogger("dpsql.ledger")
_LARGEST_GROUP = 1_000
_FAREWELL = 60.0
"""Seconds that closing waits for the charges that wait. Journals give up earlier."""
# What SQLite says of a damaged file may not even be text.
TROUBLE = (Busy, Failed, Lost, Unsound, sqlite3.Error, UnicodeDecodeError)


class Writer(Protocol):
    """Adds charges to a journal: in this process, or by asking the one that does."""

    def submit(self, charges: tuple[Charge, ...]) -> Future[None]:
        """All of the charges, of one analyst, or none. Nothing may be read for them before the result is there.

        Raises, now or as the result: BudgetExceeded (nothing was charged), OperationalError when the ledger is busy
        (nothing was charged) or broken (it may be charged; it must not be read for).
        """

    @property
    def stopped(self) -> bool:
        """Whether nothing is charged any more."""

    def close(self) -> None:
        """Finish the charges that wait. The journal is not asked after this."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Charges that wait for the writer, all of them or none, and where their caller waits for the answer."""

    charges: tuple[Charge, ...]
    answer: Future[None] = field(default_factory=Future)

    def refuse(self, error: Error) -> None:
        self.answer.set_exception(error)


class GroupCommit:
    """The thread that writes to a journal in this process."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._stopped: Error | None = None
        self._thread = threading.Thread(target=self._write, name="dpsql ledger", daemon=True)
        self._thread.start()

    @property
    def stopped(self) -> bool:
        return self._stopped is not None

    def submit(self, charges: tuple[Charge, ...]) -> Future[None]:
        waiting = _Waiting(charges)
        with self._changed:
            if self._stopped:
                raise again(self._stopped)
            self._waiting.append(waiting)
            if len(self._waiting) == 1:
                self._changed.notify()
        return waiting.answer

    def close(self) -> None:
        with self._changed:
            self._stopped = self._stopped or closed()
            self._changed.notify()
        self._thread.join(_FAREWELL)

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
                        waiting.answer.set_result(None)
                    else:
                        waiting.refuse(refusal)

    def _commit(self, groups: Sequence[tuple[Charge, ...]]) -> list[Error | None]:
        """Decide charges in their order; return, for each, why it was refused, after the others are durable."""
        refusals = self._journal.append(groups)
        return [
            None if spent is None else refusal(spent, together(group))
            for group, spent in zip(groups, refusals, strict=True)
        ]

    def _fail(self, group: Sequence[_Waiting], cause: BaseException) -> None:
        if isinstance(cause, Busy):
            error = OperationalError("the ledger is busy; nothing was charged", sqlstate="53300", hint="try again")
        elif isinstance(cause, Failed | Lost):
            # What is in the ledger is its server's to say, and it will: the next charge may be tried.
            error = OperationalError(
                "the ledger cannot be reached; nothing was read for this statement", sqlstate="58030", hint="try again"
            )
            _LOG.error("a charge failed: %s", why(cause))
        else:
            error = OperationalError(
                "the ledger cannot be written; nothing is answered until its owner has seen to it", sqlstate="58030"
            )
            with self._changed:
                self._stopped = error
                # Those who came meanwhile shall not be tried on a file that may be broken.
                group, self._waiting = [*group, *self._waiting], []
            _LOG.critical("the ledger stops: %s", why(cause))
        error.__cause__ = cause
        for waiting in group:
            waiting.refuse(again(error))


def again(error: Error) -> Error:
    """An error of one's own for each thread: tracebacks are written into it."""
    copy = type(error)(error.message, sqlstate=error.sqlstate, hint=error.hint)
    copy.__cause__ = error.__cause__
    return copy


def closed() -> Error:
    return InterfaceError("the ledger is closed", sqlstate="55000")


def why(cause: BaseException) -> str:
    """Why a ledger cannot be used, for its owner."""
    if isinstance(cause, Busy):
        return "another process holds it"
    if isinstance(cause, Failed | Lost | Unsound):
        return str(cause)
    said = f"{type(cause).__name__}: {cause}"
    return f"the file is damaged, or no ledger ({said})" if _is_damage(cause) else said


def _is_damage(cause: BaseException) -> bool:
    """Whether SQLite does not find in a file what it has written, or what a ledger has."""
    code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    said = code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return isinstance(cause, UnicodeDecodeError) or (isinstance(cause, sqlite3.DatabaseError) and said)


def refusal(spent: Spent, loss: PrivacyLoss) -> Error:
    """Why the total or the analyst's own share does not admit a loss; a function of the ledger and the loss."""
    if spent == PAUSED:
        return paused()
    beyond = exceeded(spent, loss)
    if not beyond:
        raise Unsound("the ledger refused what is within its limits")
    first = beyond[-1]
    limit = first.accountant
    left = min(one.accountant.largest(one.spent) for one in spent)
    whose = "the privacy budget" if first.whose == EVERYBODY else "this analyst's share of the privacy budget"
    when = "" if limit.per is None else f" of this {limit.per}"
    if first.rows is not None:
        when = f" of the rows from {first.rows.begin:%Y-%m-%d} to {first.rows.end:%Y-%m-%d}"
    gone = limit.epsilon_of(first.spent)
    no_delta = any(one.spent.delta + loss.delta > one.accountant.limit.delta for one in beyond)
    return BudgetExceeded(
        f"this statement does not fit into {whose}{when}: "
        f"{_percent_up(first.spent.part_of(limit.limit))} of it is spent (ε = {_digits_up(gone)} of "
        f"{float(limit.epsilon):g})",
        sqlstate="53400",
        hint=_hint(left, limit, no_delta, beyond),
    )


def _hint(left: Fraction, limit: Accountant, no_delta: bool, beyond: Sequence[Standing]) -> str:
    """What would fit; and when more does, where all that is exceeded begins anew."""
    if no_delta:
        now = "not enough delta is left to select groups: group by columns whose values are declared"
    else:
        part = limit.accounting.price(left, Fraction(0)).part_of(limit.limit) if left else Fraction(0)
        fits = f"the largest price that still fits is {_percent_down(part)} of it (ε = {float(left):g})"
        now = fits if left else "nothing is left"
    if any(one.rows is not None for one in beyond):
        return f"{now}; rows of other times have budgets of their own, which dpsql budget lists"
    renewed = [(one.renews, one.accountant.per) for one in beyond if one.renews is not None]
    if len(renewed) < len(beyond):
        return now
    when, per = max(renewed, key=lambda one: one[0])
    return f"{now}; it renews on {per.shown(when)}" if per is not None else now


def _percent_up(part: Fraction) -> str:
    """A part of a budget that is gone, in per cent, rounded up.

    >>> _percent_up(Fraction(9, 10)), _percent_up(Fraction(1, 3))
    ('90 %', '33.4 %')
    """
    return f"{math.ceil(part * 1000) / 10:g} %"


def _percent_down(part: Fraction) -> str:
    """A part of a budget that is left, in per cent, rounded down to a tenth, or to two digits where that is nothing.

    >>> _percent_down(Fraction(1, 3)), _percent_down(Fraction(1, 7000))
    ('33.3 %', '0.014 %')
    """
    if part >= Fraction(1, 1000):
        return f"{math.floor(part * 1000) / 10:g} %"
    return f"{Context(prec=2, rounding=ROUND_FLOOR).create_decimal(repr(float(100 * part))):f} %"


def _digits_up(value: float) -> str:
    """Six digits, rounded up."""
    return format(Context(prec=6, rounding=ROUND_CEILING).create_decimal(repr(value)), "f")
