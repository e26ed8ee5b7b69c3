"""Charges, and the law of what may be added to a ledger: sums that only grow, each part within its limit.

Where charges are kept is a journal's matter: :mod:`dpsql.ledger.sqlite_journal` for an SQLite file,
:mod:`dpsql.ledger.postgres_journal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import zip_longest
from typing import Protocol

from dpsql.accounting import Accountant, PrivacyLoss, admits
from dpsql.calendar_unit import CalendarUnit
from dpsql.ledger.row_times import BEGINNING, EVER, RowTimeSums, Span
from dpsql.ledger.tally import Counted, Limits

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
    """One durable entry: who paid what, when (UTC), for which statement, reading which tables, and rows of which times,
    where the budget is one of the rows of each period."""

    id: str
    time: datetime
    analyst: str
    loss: PrivacyLoss
    statement: str
    tables: tuple[str, ...]
    span: Span = EVER


@dataclass(frozen=True, slots=True)
class Total:
    """A running total: the losses of ``charges`` charges, added up exactly."""

    spent: PrivacyLoss
    charges: int


NOTHING = Total(PrivacyLoss(), 0)

Group = Sequence[Charge]
"""Charges of one analyst that are admitted all or none."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How much of a filter is spent: of everybody's, or of the analyst's whose name it has.

    ``renews`` is when the window ends that it is the filter of; None for the filter of all time. ``rows`` are the
    times of the rows, where it is the filter of these.
    """

    whose: str
    accountant: Accountant
    spent: PrivacyLoss
    renews: datetime | None = None
    rows: Span | None = None

    def counts(self, charge: Charge) -> bool:
        """Whether a charge is one of those that it has spent."""
        if self.rows is not None:
            return charge.span.begin < self.rows.end and self.rows.begin < charge.span.end
        return self.accountant.per is None or self.accountant.per.end(charge.time) == self.renews


Spent = tuple[Standing, ...]
"""The filters that a charge concerns, as they were when it was refused."""

PAUSED: Spent = ()
"""Why a paused analyst is refused: no filter is."""


class Journal(Protocol):
    """Where charges are kept, for two threads: one that appends and one that reads."""

    identity: str

    def append(self, groups: Sequence[Group]) -> list[Spent | None]:
        """Add the groups that fit, decided in their order, durably; for each that does not, what was spent before it.

        All of them have one time: the latest of theirs and of the ledger's.

        Raises Busy, Failed, Lost, Unsound, OSError or sqlite3.Error.
        """

    def read_total(self, analyst: str) -> Total: ...

    def read_charges(self, analyst: str | None, limit: int) -> tuple[Charge, ...]:
        """The newest first."""

    def read_newest(self, number: int) -> tuple[int, datetime] | None:
        """The last number, and the latest time, of the charges after a number."""

    def read_newer(self, number: int, since: datetime) -> Iterable[Counted]:
        """Charges after a number that were made at a time or later, in their order."""

    def read_orders(self, number: int) -> tuple[int, Iterable[tuple[str, str]]]:
        """The last number, and the analysts and statements of the charges of nothing after a number, in their order."""

    def read_times(self, charges: Sequence[str]) -> Mapping[str, datetime]:
        """When those of the charges were made that are there, by their ids."""

    def verify(self) -> None:
        """Read what opening does not read. Raises as :meth:`append`, where something is not as it was written."""

    def close(self) -> None: ...


class Admitted:
    """The outcome of a series of groups of charges, decided one after the other.

    Charges that wait together are admitted together: losses only grow, so that their sum decides. All of it is counted
    in whole units of 1e-40, as losses are recorded: the same decisions as :meth:`Accountant.fits`, and much faster.
    ``windowed`` says what is spent of a window at the time ``at`` which all of them have, ``row_times`` what is
    spent of the rows of each time: each charge counts where its span is.
    """

    def __init__(
        self,
        total_of: Callable[[str], Total],
        limits: Limits,
        windowed: Callable[[CalendarUnit, str], PrivacyLoss] = lambda period, name: PrivacyLoss(),
        at: datetime = BEGINNING,
        paused: Collection[str] = (),
        row_times: RowTimeSums | None = None,
    ) -> None:
        self._row_times = row_times
        self._total_of = total_of
        self._limits = limits
        self._windowed = windowed
        self._at = at
        self._paused = paused
        self._sums: dict[str, _Sums] = {}
        self.admitted: list[Charge] = []

    def decide(self, groups: Sequence[Group]) -> list[Spent | None]:
        """For each group None, and it counts from now on; or what was spent when it did not fit."""
        priced = [(group, _added([_units(charge.loss) for charge in group])) for group in groups]
        # Losses only grow: where all of them fit together, each of them fitted in its turn.
        concerned: dict[str, list[tuple[Group, _Units]]] = {EVERYBODY: priced}
        for one in priced:
            concerned.setdefault(one[0][0].analyst, []).append(one)
        more = {name: _added([units for _, units in theirs]) for name, theirs in concerned.items()}
        stopped = any(self._is_stopped(group[0].analyst, units) for group, units in priced)
        alike = self._row_times is None and not stopped
        if not alike or not all(self._sum(name).admits(units) for name, units in more.items()):
            return [self._refuses(group, units) for group, units in priced]
        for name, units in more.items():
            self._sum(name).add(units, sum(len(group) for group, _ in concerned[name]))
        self.admitted += [charge for group in groups for charge in group]
        return [None] * len(groups)

    def _refuses(self, group: Group, more: _Units) -> Spent | None:
        everybody, own = self._sum(EVERYBODY), self._sum(group[0].analyst)
        if self._is_stopped(group[0].analyst, more):
            return PAUSED
        if any(more):
            after = self._after(group)
            beyond = self._beyond(group, after)
            if beyond or not (everybody.admits(more) and own.admits(more)):
                others = (standing for name in (EVERYBODY, group[0].analyst) for standing in self._standings(name))
                return (*others, *beyond)
            self._row_times = after
        self.admitted += group
        everybody.add(more, len(group))
        own.add(more, len(group))
        return None

    def _after(self, group: Group) -> RowTimeSums | None:
        """What would be spent of the rows of each time; nothing where no budget is one of rows."""
        if self._row_times is None:
            return None
        after = self._row_times.copy()
        for charge in group:
            for name in (EVERYBODY, charge.analyst):
                after.add(name, charge.span, recorded(charge.loss))
        return after

    def _beyond(self, group: Group, after: RowTimeSums | None) -> Spent:
        """The filters of rows that do not admit what would be spent, as they stand at the first time of which."""
        found = []
        for name in (EVERYBODY, group[0].analyst):
            for one in self._limits.get(name, ()):
                if not one.of_rows:
                    continue
                if self._row_times is None or after is None:
                    raise Unsound("nobody says what is spent of rows of each time")
                parts = (part for charge in group for part in after.parts(name, charge.span))
                full = next((span for span, spent in parts if not spent.admitted_by(one.limit)), None)
                if full is not None:
                    beyond = Standing(name, one, self._row_times.most(name, full), rows=full)
                    found.append(beyond)
        return tuple(found)

    def _is_stopped(self, analyst: str, more: _Units) -> bool:
        """Whether an analyst is paused; orders about them, which are charges of nothing, are written all the same."""
        return analyst in self._paused and any(more)

    def totals(self) -> dict[str, Total]:
        """The running totals that the admitted charges lead to, of everybody whom they concern."""
        return {name: Total(one.ever.spent, one.charges) for name, one in self._sums.items()}

    def _standings(self, name: str) -> Iterator[Standing]:
        sums = self._sum(name)
        for filter_, one in sums.filtered:
            yield standing(name, filter_, one.spent, self._at)

    def _sum(self, name: str) -> _Sums:
        known = self._sums.get(name)
        if known is None:
            total = self._total_of(name)
            ever = _Sum(_units(recorded(total.spent)))
            filtered = []
            for one in self._limits.get(name, ()):
                if one.of_rows:
                    continue
                so_far = ever if one.per is None else _Sum(_units(recorded(self._windowed(one.per, name))))
                so_far.most = _units(one.limit)
                filtered.append((one, so_far))
            known = self._sums[name] = _Sums(ever, total.charges, tuple(filtered))
        return known


_Units = tuple[int, ...]
"""ε, ρ, δ and a curve, as :attr:`PrivacyLoss.parts`."""


@dataclass(slots=True)
class _Sum:
    """A running total in units, and the most that it may become."""

    units: _Units
    most: _Units | None = None

    def admits(self, more: _Units) -> bool:
        if self.most is None:
            return True
        return admits(_added((self.units, more)), self.most)

    @property
    def spent(self) -> PrivacyLoss:
        return PrivacyLoss.of_parts(Fraction(units, GRID) for units in self.units)


@dataclass(slots=True)
class _Sums:
    """All sums of one name: of all time, and those that a filter is about."""

    ever: _Sum
    charges: int
    filtered: tuple[tuple[Accountant, _Sum], ...]

    def admits(self, more: _Units) -> bool:
        return all(one.admits(more) for _, one in self.filtered)

    def add(self, more: _Units, charges: int) -> None:
        windows = [one for filter_, one in self.filtered if filter_.window is not None]
        for one in (self.ever, *windows):
            one.units = _added((one.units, more))
        self.charges += charges


def standing(name: str, filter_: Accountant, spent: PrivacyLoss, at: datetime) -> Standing:
    """How a filter stands at a time of the ledger."""
    renews = None if filter_.window is None else filter_.window.end(at)
    rows = None if filter_.rows_of is None else Span(filter_.rows_of.begin(at), filter_.rows_of.end(at))
    return Standing(name, filter_, spent, renews, rows)


def _added(units: Sequence[_Units]) -> _Units:
    if len(units) == 1:
        return units[0]
    return tuple(map(sum, zip_longest(*units, fillvalue=0)))


def _units(loss: PrivacyLoss) -> _Units:
    """Exact for what is recorded. A limit is rounded down, which admits the same: no sum lies in between."""
    return tuple(map(_unit, loss.parts))


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


def exceeded(spent: Spent, loss: PrivacyLoss) -> list[Standing]:
    """The filters that a loss would exceed: those of everybody first, those of the analyst last."""
    return [one for one in spent if not one.accountant.fits(one.spent, loss)]


def recorded(loss: PrivacyLoss) -> PrivacyLoss:
    """The loss that a ledger keeps: each part rounded up to a multiple of 1e-40, so that no sum outgrows its row.

    >>> recorded(PrivacyLoss(rho=Fraction(1, 200))).rho, recorded(PrivacyLoss(rho=Fraction(1, 3))).rho > Fraction(1, 3)
    (Fraction(1, 200), True)
    """
    if not any(GRID % part.denominator for part in loss.parts):
        return loss
    return PrivacyLoss.of_parts(Fraction(math.ceil(part * GRID), GRID) for part in loss.parts)


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
