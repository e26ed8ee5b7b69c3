"""One language-model agent's session: what it may ask, at which price, and how much of the budget it may spend.

Guarantee: all that the session is answered is (ε, δ)-differentially private by itself, with the ε that the owner has
set and the δ of the policy, whatever the agent asks and why. A charge beyond that is refused before it is made, and
the ledger of the policy counts each charge like those of all others. Replies are JSON: numbers with their error bars,
notices, prices, and refusals with a SQLSTATE and a hint.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpsql.accounting import ACCOUNTINGS, Accountant, PrivacyLoss
from dpsql.display import answer_data, plain
from dpsql.errors import BudgetExceeded, DataError
from dpsql.ledger import Receipt
from dpsql.price_text import left_over, part_left, percent
from dpsql.proxy import Proxy, Session
from rewriter.declared import Column, Table

MOST_VALUES = 100
"""Declared values of a column that are told; of more, how many there are."""


def limit_of(written: str) -> Fraction:
    """The ε of a session, from a command line. Raises :class:`DataError`.

    >>> limit_of("0.5")
    Fraction(1, 2)
    """
    found = Fraction(written) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,12})?", written) else Fraction(0)
    if not found:
        raise DataError(f"{written[:40]!r} is no limit: a number above 0, such as 2", sqlstate="22023")
    return found


class SessionLimit:
    """The filter of one session: how much it has paid, and whether it may pay more.

    >>> from dpsql.accounting import PURE
    >>> limit = SessionLimit(Accountant(PURE, Fraction(1), Fraction(0)))
    >>> limit.spent = PrivacyLoss(epsilon=Fraction(9, 10))
    >>> limit.check(PrivacyLoss(epsilon=Fraction(1, 10)))
    >>> limit.check(PrivacyLoss(epsilon=Fraction(2, 10)))
    Traceback (most recent call last):
    dpsql.errors.BudgetExceeded: this statement does not fit into this session: it costs ε = 0.2, and 90 % of ...
    HINT: ask at an epsilon of 0.1 or less; the owner sets the limit by --epsilon-limit
    """

    def __init__(self, accountant: Accountant) -> None:
        self._accountant = accountant
        self.spent = PrivacyLoss()

    def check(self, loss: PrivacyLoss) -> None:
        """Raise :class:`BudgetExceeded` where the session may not pay so much more."""
        limit = self._accountant
        if not loss or limit.fits(self.spent, loss):
            return
        largest = limit.largest(self.spent)
        fits = f"ask at an epsilon of {float(largest):g} or less" if largest else "nothing more fits"
        wanted, most = float(limit.accounting.statement_epsilon(loss)), float(limit.epsilon)
        spent = (
            f"{percent(float(self._part))} of its limit is spent (ε = {limit.epsilon_of(self.spent):g} of {most:g})"
            if self.spent
            else f"all of its answers together may cost ε = {most:g}"
        )
        raise BudgetExceeded(
            f"this statement does not fit into this session: it costs ε = {wanted:g}, and {spent}",
            sqlstate="53400",
            hint=f"{fits}; the owner sets the limit by --epsilon-limit",
        )

    @property
    def _part(self) -> Fraction:
        return self.spent.part_of(self._accountant.limit)

    def told(self) -> dict[str, Any]:
        limit = self._accountant
        return {
            "epsilon_limit": float(limit.epsilon),
            "spent": percent(float(self._part)),
            "left": part_left(self._part),
            "largest_price": float(limit.largest(self.spent)),
        }


class AgentSession:
    """What the four tools do. One question at a time, from any thread."""

    def __init__(self, proxy: Proxy, analyst: str | None, limit: Fraction) -> None:
        """``limit`` is the ε of the session."""
        budget = proxy.policy.budget
        accounting = ACCOUNTINGS[budget.accounting]
        self._proxy = proxy
        self._session: Session = proxy.session(analyst)
        self._limit = SessionLimit(Accountant(accounting, limit, budget.delta))
        self._lock = threading.Lock()

    def tables(self) -> dict[str, Any]:
        """All that may be asked: tables, columns, and what the owner declares of them. Free, and never from rows."""
        with self._lock:
            statement = self._proxy.policy.statement
            return {
                "tables": [_table(table) for table in self._proxy.catalog.tables.values()],
                "price": {"default": float(statement.epsilon), "most": float(statement.max_epsilon)},
            }

    def explain(self, sql: str, epsilon: float | None = None, target_error: str | None = None) -> dict[str, Any]:
        """The price of a statement and the error to expect. Free; raises :class:`dpsql.errors.Error` as :meth:`ask`."""
        with self._lock, self._priced(epsilon, target_error):
            told = self._session.explain(sql)
            (found,) = json.loads(told.json)
            try:
                self._limit.check(told.price)
                fits = True
            except BudgetExceeded:
                fits = False
            return {**found, "session": {**self._limit.told(), "fits": fits}}

    def ask(self, sql: str, epsilon: float | None = None, target_error: str | None = None) -> dict[str, Any]:
        """The answer to a SELECT. Raises :class:`dpsql.errors.Error`; beyond the session's limit before any charge."""
        with self._lock, self._priced(epsilon, target_error):
            # Settings are the owner's and these arguments: a statement that is no question is refused here.
            self._limit.check(self._session.explain(sql).price)
            receipt = Receipt(check=self._limit.check)
            try:
                answer = self._session.execute(sql, receipt=receipt)
            finally:
                self._limit.spent += receipt.loss
            return {**answer_data(answer), "session": self._limit.told()}

    def budget(self) -> dict[str, Any]:
        """What is left to this analyst, and to this session. Free."""
        with self._lock:
            left = self._session.budget()
            return {
                "left": left_over(left),
                "statements": left.statements_left,
                "renews": None if left.renews is None else left.renews.isoformat(),
                "session": self._limit.told(),
            }

    @contextmanager
    def _priced(self, epsilon: float | None, target_error: str | None) -> Iterator[None]:
        """The price of one statement alone."""
        if epsilon is not None and target_error is not None:
            raise DataError("a statement has a price or a target error, not both", sqlstate="22023")
        usual = self._session.settings
        try:
            if epsilon is not None:
                self._session.change("dpsql.epsilon", f"{Decimal(repr(float(epsilon))):f}")
            if target_error is not None:
                self._session.change("dpsql.target_error", target_error)
            yield
        finally:
            self._session.settings = usual


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "about": "public: answered exactly, for free" if table.public else "people: answered with noise, at a price",
        "columns": [_column(column) for column in table.columns.values()],
    }


def _column(column: Column) -> dict[str, Any]:
    told: dict[str, Any] = {"name": column.name, "type": str(column.type)}
    if column.range is not None:
        told["range"] = list(map(plain, column.range))
    if column.values is not None and len(column.values) <= MOST_VALUES:
        told["values"] = list(map(plain, column.values))
    elif column.values is not None:
        told["number_of_values"] = len(column.values)
    if column.values_from is not None:
        told["values_from"] = ".".join(column.values_from)
    return told
