"""Charges, and the law of what may be added to a ledger: sums that only grow, each part within its limit.

Where charges are kept is a journal's matter: :mod:`dpsql.ledger.sqlite_journal` for an SQLite file,
:mod:`dpsql.ledger.postgres_journal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Protocol

from dpsql.accounting import Accountant, PrivacyLoss

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
    """The ledger went away during a charge, and did not come back in time: the charge may be in it."""


class Unsound(Exception):
    """A ledger that is not of this kind, or whose totals are not the sums of its charges."""


class NoLedger(Unsound):
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


class Admitted:
    """The outcome of a series of groups of charges, decided one after the other.

    Charges that wait together are admitted together: losses only grow, so that their sum decides. All of it is counted
    in whole units of 1e-40, as losses are recorded: the same decisions as :meth:`Accountant.fits`, and much faster.
    """

    def __init__(self, total_of: Callable[[str], Total], limits: Limits) -> None:
        self._total_of = total_of
        self._limits = limits
        self._sums: dict[str, _Sum] = {}
        self.admitted: list[Charge] = []

    def decide(self, groups: Sequence[Group]) -> list[Spent | None]:
        """For each group None, and it counts from now on; or what was spent when it did not fit."""
        priced = [(group, _added([_units(charge.loss) for charge in group])) for group in groups]
        # Losses only grow: where all of them fit together, each of them fitted in its turn.
        concerned: dict[str, list[tuple[Group, _Units]]] = {EVERYBODY: priced}
        for one in priced:
            concerned.setdefault(one[0][0].analyst, []).append(one)
        more = {name: _added([units for _, units in theirs]) for name, theirs in concerned.items()}
        if not all(self._sum(name).admits(units) for name, units in more.items()):
            return [self._refuses(group, units) for group, units in priced]
        for name, units in more.items():
            self._sum(name).add(units, sum(len(group) for group, _ in concerned[name]))
        self.admitted += [charge for group in groups for charge in group]
        return [None] * len(groups)

    def _refuses(self, group: Group, more: _Units) -> Spent | None:
        everybody, own = self._sum(EVERYBODY), self._sum(group[0].analyst)
        if not (everybody.admits(more) and own.admits(more)):
            return {EVERYBODY: everybody.spent, group[0].analyst: own.spent}
        self.admitted += group
        everybody.add(more, len(group))
        own.add(more, len(group))
        return None

    def totals(self) -> dict[str, Total]:
        """The running totals that the admitted charges lead to, of everybody whom they concern."""
        return {name: Total(one.spent, one.charges) for name, one in self._sums.items()}

    def _sum(self, name: str) -> _Sum:
        known = self._sums.get(name)
        if known is None:
            total, limit = self._total_of(name), self._limits.get(name)
            most = None if limit is None else _units(limit.limit)
            known = self._sums[name] = _Sum(_units(recorded(total.spent)), total.charges, most)
        return known


_Units = tuple[int, int, int]


@dataclass(slots=True)
class _Sum:
    """A running total in units, and the most that it may become."""

    units: _Units
    charges: int
    most: _Units | None

    def admits(self, more: _Units) -> bool:
        if self.most is None:
            return True
        return all(spent + one <= most for spent, one, most in zip(self.units, more, self.most, strict=True))

    def add(self, more: _Units, charges: int) -> None:
        self.units = _added((self.units, more))
        self.charges += charges

    @property
    def spent(self) -> PrivacyLoss:
        epsilon, rho, delta = (Fraction(units, GRID) for units in self.units)
        return PrivacyLoss(epsilon, rho, delta)


def _added(units: Sequence[_Units]) -> _Units:
    if len(units) == 1:
        return units[0]
    epsilons, rhos, deltas = zip(*units, strict=True)
    return sum(epsilons), sum(rhos), sum(deltas)


def _units(loss: PrivacyLoss) -> _Units:
    """Exact for what is recorded. A limit is rounded down, which admits the same: no sum lies in between."""
    epsilon, rho, delta = map(_unit, loss.parts)
    return epsilon, rho, delta


def _unit(part: Fraction) -> int:
    above = part.numerator
    return above and above * GRID // part.denominator


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
    """The names whose limits a loss would exceed after the spent ones: everybody, the analyst, both or none."""
    return [name for name in spent if name in limits and not limits[name].fits(spent[name], loss)]


def recorded(loss: PrivacyLoss) -> PrivacyLoss:
    """The loss that a ledger keeps: each part rounded up to a multiple of 1e-40, so that no sum outgrows its row.

    >>> recorded(PrivacyLoss(rho=Fraction(1, 200))).rho, recorded(PrivacyLoss(rho=Fraction(1, 3))).rho > Fraction(1, 3)
    (Fraction(1, 200), True)
    """
    if not any(GRID % part.denominator for part in loss.parts):
        return loss
    return PrivacyLoss(*(Fraction(math.ceil(part * GRID), GRID) for part in loss.parts))


def decimal(part: Fraction) -> str:
    """All digits of a recorded loss; of anything else, what is left below a multiple of 1e-40.

    >>> decimal(Fraction(1, 8)), decimal(Fraction(12)), decimal(Fraction(1, 3))
    ('0.125', '12', '0.3333333333333333333333333333333333333333')
    """
    if not part:
        return "0"
    whole, rest = divmod(_unit(part), GRID)
    return f"{whole}.{rest:040d}".rstrip("0").rstrip(".") if rest else str(whole)


def now() -> datetime:
    return datetime.now(UTC)
