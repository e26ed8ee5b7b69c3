"""What charges add up to in the windows that are open, kept up with a ledger charge by charge.

Guarantee: each charge is counted once, however it is read: the number of the last one never goes back. A window that
has ended is never counted into again, and none is opened twice. The time of a window is that
of the ledger: the latest that any charge in it has. A charge is never recorded as earlier than the one before it,
whatever the clock of its proxy says, so that a clock that goes back stays in the window that is open.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Mapping

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.ledger.row_times import BEGINNING, EVER, RowTimeSums, Span

Limits = Mapping[str, tuple[Accountant, ...]]
"""The filters of everybody together, and of every analyst who has a share: of each window, of all time, or both."""

Newest = Callable[[int], tuple[int, datetime.datetime] | None]
"""The last number, and the latest time, of the charges after a number."""
Counted = tuple[int, datetime.datetime, str, PrivacyLoss, Span]
"""Of a charge: its number, when it was made, who paid what, and for rows of which times."""
Newer = Callable[[int, datetime.datetime], Iterable[Counted]]
"""Charges after a number that were made at a time or later, in their order."""

_TOGETHER = ""


class Tally:
    """The sums of the open windows of some limits, for one thread at a time.

    >>> from fractions import Fraction
    >>> from dpsql.accounting import PURE
    >>> month = CalendarUnit("month")
    >>> tally = Tally({"": (Accountant(PURE, Fraction(1), Fraction(0), per=month),)})
    >>> days = [datetime.datetime(2026, month, 5, tzinfo=datetime.UTC) for month in (10, 11, 10)]
    >>> for number, day in enumerate(days[:2], 1):
    ...     tally.count(number, day, "ana", PrivacyLoss(epsilon=Fraction(1, 2)))
    >>> [float(tally.spent(month, "", tally.at(day)).epsilon) for day in days]
    [0.5, 0.5, 0.5]
    """

    def __init__(self, limits: Limits) -> None:
        every = [one for filters in limits.values() for one in filters]
        self.periods = frozenset(one.window for one in every if one.window is not None)
        self.row_times = RowTimeSums() if any(one.of_rows for one in every) else None
        self.number = 0
        self.latest = BEGINNING
        self._open: dict[CalendarUnit, tuple[datetime.datetime, dict[str, PrivacyLoss]]] = {}

    def follow(self, newest: Newest, newer: Newer) -> None:
        """Count what was charged since this was asked last.

        Others may charge between the two questions: the second answer then has charges that the first one lacks.
        """
        found = newest(self.number)
        if found is None:
            return
        number, latest = found
        if self.follows:
            # Of rows, whatever was charged counts for ever.
            of_rows = [] if self.row_times is None else [BEGINNING]
            since = min([*(one.begin(self.at(latest)) for one in self.periods), *of_rows])
            for charge in newer(self.number, since):
                self.count(*charge)
        self._pass(number, latest)

    @property
    def follows(self) -> bool:
        """Whether sums of windows or of rows are kept up."""
        return bool(self.periods) or self.row_times is not None

    def at(self, time: datetime.datetime) -> datetime.datetime:
        """The time of a ledger that is charged when a clock shows this one."""
        return max(time, self.latest)

    def count(self, number: int, time: datetime.datetime, analyst: str, loss: PrivacyLoss, span: Span = EVER) -> None:
        """One more charge, unless it was counted before: it counts in its window, and in no later one, and in all
        times of its span."""
        if number <= self.number:
            return
        self._pass(number, time)
        if self.row_times is not None:
            for name in (_TOGETHER, analyst):
                self.row_times.add(name, span, loss)
        for period in self.periods:
            began = period.begin(time)
            since, sums = self._open.get(period, (BEGINNING, {}))
            if began > since:
                sums = {}
                self._open[period] = began, sums
            if began >= since:
                for name in (_TOGETHER, analyst):
                    sums[name] = sums.get(name, PrivacyLoss()) + loss

    def _pass(self, number: int, time: datetime.datetime) -> None:
        self.number, self.latest = max(self.number, number), self.at(time)

    def standing(self, filter_: Accountant, name: str, at: datetime.datetime) -> PrivacyLoss:
        """What a filter of a window or of rows has spent around a time, by everybody or one analyst."""
        if filter_.rows_of is not None and self.row_times is not None:
            return self.row_times.most(name, Span(filter_.rows_of.begin(at), filter_.rows_of.end(at)))
        if filter_.per is None:
            raise ValueError("a filter of all time has no window")
        return self.spent(filter_.per, name, at)

    def fullest(
        self, filter_: Accountant, name: str, at: datetime.datetime, rows: Collection[Span]
    ) -> tuple[PrivacyLoss, datetime.datetime]:
        """The most that a filter of rows has spent at any time of ``rows``, and such a time: ``at`` where none is
        fuller."""
        if filter_.rows_of is None or self.row_times is None:
            raise ValueError("no filter of rows")
        times = [(at, self.standing(filter_, name, at))] if any(span.begin <= at < span.end for span in rows) else []
        times += [
            (span.begin, spent) for one in sorted(rows, reverse=True) for span, spent in self.row_times.parts(name, one)
        ]
        when, spent = max(times, key=lambda time: time[1].part_of(filter_.limit))
        return spent, when

    def spent(self, period: CalendarUnit, name: str, at: datetime.datetime) -> PrivacyLoss:
        """What is spent in the window around a time of the ledger, by everybody or one analyst."""
        since, sums = self._open.get(period, (BEGINNING, {}))
        return sums.get(name, PrivacyLoss()) if since >= period.begin(at) else PrivacyLoss()
