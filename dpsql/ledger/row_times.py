"""What is spent of the rows of each time, where a budget is one of the rows of each period, such as each month.

Guarantee: for every instant, :class:`RowTimeSums` knows the sum of exactly the charges whose :class:`Span` holds it.
What may be added is decided by the largest sum within a span, part by part: so no instant is ever charged beyond a
limit, in whatever order charges come and however their spans overlap.

Why that is a promise about the rows of one person in one period (of a person-month, say). Let two databases differ by
these rows alone. A release that depends on no row of that period has one law in both: it costs nothing. Any other is
charged to the period, by what it loses between the two: once, where all of its rows need one of this period, since the
whole of the person's part is there or not; and otherwise as two steps, from the person's part to none, and
from none to the part without these rows (group privacy: Bun, Steinke 2016, Proposition 27, for zCDP: 2² times ρ; Dwork,
Roth 2014, Theorem 2.2, for pure ε: twice). The filter of the period adds these up, as any filter does, under adaptive
choice. The literature calls it block composition: Lécuyer, Spahn, Vodrahalli, Geambasu, Hsu 2019 (Sage).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import zip_longest

from dpsql.accounting import PrivacyLoss
from dpsql.calendar_unit import CalendarUnit

BEGINNING = datetime.min.replace(tzinfo=UTC)
END = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Times of rows, from ``begin`` up to ``end``, in UTC: of all rows that a charge is about."""

    begin: datetime = BEGINNING
    end: datetime = END

    def __post_init__(self) -> None:
        if not self.begin < self.end:
            raise ValueError("a span has a time in it")

    def __str__(self) -> str:
        """As a journal keeps it; of all times nothing.

        >>> str(Span()), str(Span(datetime(2026, 1, 1, tzinfo=UTC)))
        ('', '2026-01-01T00:00:00+00:00/')
        """
        begin = "" if self.begin == BEGINNING else self.begin.isoformat()
        end = "" if self.end == END else self.end.isoformat()
        return f"{begin}/{end}" if begin or end else ""

    @classmethod
    def of_text(cls, text: str) -> Span:
        """What :meth:`__str__` has written. Raises ValueError for any other text."""
        if not text:
            return EVER
        begin, end = text.split("/")
        found = cls(datetime.fromisoformat(begin) if begin else BEGINNING, datetime.fromisoformat(end) if end else END)
        if str(found) != text:
            raise ValueError("a span is written in one way")
        return found


EVER = Span()


def is_one_period(span: Span, per: CalendarUnit) -> bool:
    """Whether a span is one period, or a part of one: then a person has the whole of their part in it, or none.

    >>> is_one_period(Span(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)), CalendarUnit("month"))
    True
    """
    return span.end <= per.end(span.begin)


def whole_periods(begin: datetime | None, end: datetime | None, per: CalendarUnit) -> Span:
    """The periods that some times lie in: those from ``begin`` up to ``end``, by clocks of UTC."""
    first = BEGINNING if begin is None else per.begin(begin.replace(tzinfo=UTC))
    last = END if end is None else per.end(end.replace(tzinfo=UTC) - timedelta(microseconds=1))
    return Span(first, last)


class RowTimeSums:
    """What is spent at each instant, by name. For one thread at a time.

    >>> from fractions import Fraction
    >>> at = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3, 4)]
    >>> sums, loss = RowTimeSums(), PrivacyLoss(rho=Fraction(1, 2))
    >>> for begin, end in ((0, 2), (1, 3), (1, 2)):
    ...     sums.add("ana", Span(at[begin], at[end]), loss)
    >>> [float(sums.most("ana", Span(begin, end)).rho) for begin, end in zip(at, at[1:])], float(sums.most("ana").rho)
    ([0.5, 1.5, 0.5], 1.5)
    """

    def __init__(self) -> None:
        self._borders: dict[str, list[datetime]] = {}
        self._sums: dict[str, list[PrivacyLoss]] = {}

    def copy(self) -> RowTimeSums:
        """Another one with the same charges."""
        other = RowTimeSums()
        other._borders = {name: [*some] for name, some in self._borders.items()}
        other._sums = {name: [*some] for name, some in self._sums.items()}
        return other

    def add(self, name: str, span: Span, loss: PrivacyLoss) -> None:
        """One more charge."""
        first, last = self._border(name, span.begin), self._border(name, span.end)
        sums = self._sums[name]
        for place in range(first, last):
            sums[place] = sums[place] + loss

    def _border(self, name: str, at: datetime) -> int:
        """The place of the part that begins at an instant, and is cut there; the end of time is after the last one."""
        borders = self._borders.setdefault(name, [BEGINNING])
        sums = self._sums.setdefault(name, [PrivacyLoss()])
        place = bisect_left(borders, at)
        if at < END and (place == len(borders) or borders[place] != at):
            borders.insert(place, at)
            sums.insert(place, sums[place - 1])
        return place

    def parts(self, name: str, span: Span = EVER) -> Iterator[tuple[Span, PrivacyLoss]]:
        """The parts of a span on which the sum is the same, in order."""
        borders, sums = self._borders.get(name, [BEGINNING]), self._sums.get(name, [PrivacyLoss()])
        ends = [*borders[1:], END]
        for place in range(bisect_right(borders, span.begin) - 1, bisect_left(borders, span.end)):
            yield Span(max(borders[place], span.begin), min(ends[place], span.end)), sums[place]

    def most(self, name: str, span: Span = EVER) -> PrivacyLoss:
        """The largest sum at any instant of a span, part by part: no instant has more of any part."""
        return _by_parts(max, (spent for _, spent in self.parts(name, span)))

    def least(self, name: str) -> PrivacyLoss:
        """A sum that no instant is below, in any part."""
        return _by_parts(min, (spent for _, spent in self.parts(name)))


def _by_parts(choose: Callable[[Iterable[Fraction]], Fraction], losses: Iterable[PrivacyLoss]) -> PrivacyLoss:
    parts = zip_longest(*(one.parts for one in losses), fillvalue=Fraction(0))
    return PrivacyLoss.of_parts(choose(some) for some in parts)


def spent_by_time(charges: Iterable[tuple[Span, PrivacyLoss]]) -> Iterator[tuple[Span, PrivacyLoss]]:
    """The times on which the sum of some charges is the same, in order."""
    sums = RowTimeSums()
    for span, loss in charges:
        sums.add("", span, loss)
    return sums.parts("")


def most_of(charges: Iterable[tuple[Span, PrivacyLoss]]) -> PrivacyLoss:
    """What charges amount to for the rows that they charge most; of charges that are all of all times, their sum.

    >>> from fractions import Fraction
    >>> most_of([(EVER, PrivacyLoss(rho=Fraction(1))), (EVER, PrivacyLoss(rho=Fraction(2)))]).rho
    Fraction(3, 1)
    """
    some = list(charges)
    if all(span == EVER for span, _ in some):
        return sum((loss for _, loss in some), PrivacyLoss())
    return _by_parts(max, (spent for _, spent in spent_by_time(some)))
