"""Charges, and the law of what may be added to a ledger: sums that only grow, each part within its limit.

Where charges are kept is a journal's matter: :mod:`dpsql.journal` for an SQLite file, :mod:`dpsql.postgres_journal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Protocol

from dpsql.accountant import Accountant
from dpsql.loss import PrivacyLoss

EVERYBODY = ""
"""The name of the running total of all analysts. No analyst has an empty name."""

GRID = 10**40
"""Every recorded loss is a multiple of one part in this."""


ACCOUNTING, UNIT = "accounting", "privacy unit"
"""The facts of a policy that its ledger is bound to."""


class Busy(Exception):
    """Others wrote all the time that we were willing to wait; nothing was changed."""


class Failed(Exception):
    """The place of the ledger said no, or cannot be reached; nothing was changed."""


class Lost(Exception):
    """It went away while a charge was on its way, and did not come back in time: it may be charged."""


class Unsound(Exception):
    """It is not a ledger of this kind, or its totals are not the sums of its charges."""


class Missing(Unsound):
    """There is no ledger, and none was to be made."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One durable entry: who paid what, when (UTC), for which statement, reading which tables."""

    id: str
    time: datetime
    analyst: str
    loss: PrivacyLoss
    statement: str
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """A running total: the losses of ``charges`` charges, added up exactly."""

    spent: PrivacyLoss
    charges: int

    def plus(self, loss: PrivacyLoss) -> Total:
        return Total(self.spent + loss, self.charges + 1)


NOTHING = Total(PrivacyLoss(), 0)

Group = Sequence[Charge]
"""Charges of one analyst that are admitted all or none."""
Limits = Mapping[str, Accountant]
"""What everybody together may spend, and every analyst who has a share."""
Spent = Mapping[str, PrivacyLoss]
"""What was spent by everybody and by one analyst when that analyst's charge was refused."""


class Journal(Protocol):
    """Where charges are kept, for two threads: one that appends and one that reads."""

    identity: str

    def append(self, groups: Sequence[Group], limits: Limits) -> list[Spent | None]:
        """Add the groups that fit, decided in their order, durably; for each that does not, what was spent before it.

        Raises Busy, Failed, Lost, Unsound, OSError or sqlite3.Error.
        """

    def read_total(self, analyst: str) -> Total: ...

    def read_charges(self, analyst: str | None, limit: int) -> tuple[Charge, ...]:
        """The newest first."""

    def holds(self, charge: str) -> bool: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Admission:
    """What a series of groups comes to, decided one after the other.

    Charges that wait together are admitted together: losses only grow, so that their sum decides.
    """

    total_of: Callable[[str], Total]
    limits: Limits
    totals: dict[str, Total] = field(default_factory=dict)
    admitted: list[Charge] = field(default_factory=list)

    def refuses(self, group: Group) -> Spent | None:
        """None, and the group counts from now on; or what was spent when it did not fit."""
        concerned = (EVERYBODY, group[0].analyst)
        for name in concerned:
            if name not in self.totals:
                self.totals[name] = self.total_of(name)
        loss = together(group)
        spent = {name: self.totals[name].spent for name in concerned}
        if exceeded(self.limits, spent, loss):
            return spent
        self.admitted += group
        for name in concerned:
            self.totals[name] = Total(spent[name] + loss, self.totals[name].charges + len(group))
        return None


def check_belongs(facts: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Raise Unsound unless a ledger with ``facts`` is one of a policy that wants others.

    Why these: losses of another accounting are of another kind, and those of another privacy unit are about other
    people, so that neither adds up with what is to come. The declared total, shares, bounds and the database's address
    may change: sums stay what they are, and each charge was right when it was made.
    """
    for fact, value in wanted.items():
        if facts.get(fact) != value:
            begun = f", {facts[fact]}" if fact in facts else ""
            raise Unsound(f"the ledger was begun with another {fact}{begun}, and the policy says {value}")


def together(group: Group) -> PrivacyLoss:
    """The sum of some charges."""
    first, *others = (charge.loss for charge in group)
    return sum(others, first)


def exceeded(limits: Limits, spent: Spent, loss: PrivacyLoss) -> list[str]:
    """Whose limits do not admit a loss after what was spent: everybody's, the analyst's own, both or none."""
    return [name for name in spent if name in limits and not limits[name].fits(spent[name], loss)]


def recorded(loss: PrivacyLoss) -> PrivacyLoss:
    """The loss that a ledger keeps: each part rounded up to a multiple of 1e-40, so that no sum outgrows its row.

    >>> recorded(PrivacyLoss(rho=Fraction(1, 200))).rho, recorded(PrivacyLoss(rho=Fraction(1, 3))).rho > Fraction(1, 3)
    (Fraction(1, 200), True)
    """
    epsilon, rho, delta = (
        part if GRID % part.denominator == 0 else Fraction(math.ceil(part * GRID), GRID)
        for part in (loss.epsilon, loss.rho, loss.delta)
    )
    return PrivacyLoss(epsilon, rho, delta)


def decimal(part: Fraction) -> str:
    """All digits of a recorded loss; of anything else, what is left below a multiple of 1e-40.

    >>> decimal(Fraction(1, 8)), decimal(Fraction(12)), decimal(Fraction(1, 3))
    ('0.125', '12', '0.3333333333333333333333333333333333333333')
    """
    whole, rest = divmod(math.floor(part * GRID), GRID)
    return f"{whole}.{rest:040d}".rstrip("0").rstrip(".") if rest else str(whole)


def now() -> datetime:
    return datetime.now(UTC)
