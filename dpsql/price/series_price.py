"""Whether a release is measured period by period, and what is paid for it then.

What is charged, and why it is right. A series is not one release but one for each of its periods, and each has the
sensitivity of its own period (:mod:`rewriter.planner.period_series`). A statement that buys k of its n periods is
charged the sum of k losses. One person has rows in many periods, so nothing composes in parallel: with zCDP the ρ of
all periods that were ever bought add up, with pure ε their ε, and the filter counts each in full, whoever is in it. So
a person who is in every period pays exactly what the ledger says, and who is in one of them pays less.

How large each is. A statement's price buys all of its groups, so each of n periods gets an n-th of it: the first ask
costs what any statement costs. (It is the n-th of the next number of a few, so that the 28 days of February and the 31
of March have one noise, and what was bought for one serves for the other.) A day later n-1 of the periods are there,
with the noise that an n-th buys, and the new one costs an n-th. That is a 30th for thirty days, not since less is
released of the new day, but since the other 29 were paid yesterday, and their cells are the same numbers. Periods that
are open, and were measured at an earlier refresh, are measured anew and paid anew.

Series that are added up. Where no key holds the period, a number of a window is the sum of its periods', and so is the
variance of its noise. A period that is open, and the part of one at an end of a window that moves, is bought at each
refresh: n times until it closes. It is bought with √n times the variance of the others, at the price of that: this is
the cheapest way to one variance of the sum, where variance falls with the price (the derivative of c/x + n/y for
prices x + n·y is 0 at y = x/√n). So a refresh within a day costs what is new: that much of one day, and not the window.

When it is worth it. At the same price each period has n times the variance that its bound alone would have, in place of
that of the joint bound: often more than the joint form. So they are compared at the same error, over the time that the
owner expects dashboards to be looked at: the joint form is bought at each refresh; the series is bought once for each
closed period, and at each refresh for those that are open. A series that has begun goes on.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from dpsql.accounting import Accounting
from dpsql.calibrate import Calibration
from dpsql.closing import Closing
from rewriter.front_door import Program
from rewriter.plan import Plan, Series, SeriesPeriod

_STEP = 2**0.25

MOST_LOOKED_AT = 3
"""Closed periods, the latest, by which a series is found to have begun."""


@dataclass(frozen=True, slots=True)
class Living:
    """What the owner says of a table that grows, and how long dashboards look at it."""

    closing: Closing
    horizon: datetime.timedelta

    def length(self, series: Series) -> datetime.timedelta:
        """Of one of its periods, on average."""
        return (series.periods[-1].end - series.periods[0].begin) / len(series.periods)

    def asked(self, series: Series) -> int:
        """How often a dashboard asks over the horizon."""
        each = self.closing.refresh
        return max(1, self.horizon // (self.length(series) if each is None else each.length))

    def refreshes(self, series: Series) -> int:
        """At how many refreshes a period is bought, from its begin to its closing."""
        each = self.closing.refresh
        return 1 if each is None else (self.length(series) + self.closing.after) // each.length


@dataclass(frozen=True, slots=True)
class Portions:
    """The parts of the price of a series that adds up which its periods have: ``lasting`` where a period is bought
    once, ``passing`` where it is bought at each refresh. ``passes`` says which are, in order;
    ``opened`` of these are not closed. The sum is at most 1.

    >>> from dpsql.accounting import ZCDP
    >>> from dpsql.refresh import Refresh
    >>> from rewriter.plan import SeriesPeriod
    >>> begins = [datetime.datetime(2026, 1, 1) + datetime.timedelta(days=day) for day in range(4)]
    >>> days = tuple(SeriesPeriod(begin, end, "visit") for begin, end in zip(begins, begins[1:], strict=False))
    >>> series, hour = Series("day", days, (), lambda place, period: None, True), datetime.timedelta(hours=1)
    >>> living = Living(Closing(hour, refresh=Refresh(hour)), 90 * 24 * hour)
    >>> now = datetime.datetime(2026, 1, 3, 13, tzinfo=datetime.UTC)
    >>> [str(portion) for portion in Portions.of(series, living, now, ZCDP, 3).order]
    ['1/3', '1/3', '1/15']
    """

    lasting: Fraction
    passing: Fraction
    passes: tuple[bool, ...]
    opened: int

    @classmethod
    def of(cls, series: Series, living: Living, now: datetime.datetime, accounting: Accounting, parts: int) -> Portions:
        """Of a price that is divided in so many ``parts``."""
        closing, wider = living.closing, max(1, math.isqrt(living.refreshes(series)))
        lasting = Fraction(1, parts)
        opened = [not closing.is_closed(one.end, now, one.zone) for one in series.periods]
        passes = tuple(one in series.cut or is_open for one, is_open in zip(series.periods, opened, strict=True))
        return cls(lasting, lasting * accounting.price_of_information(Fraction(1, wider)), passes, sum(opened))

    @property
    def order(self) -> tuple[Fraction, ...]:
        return tuple(self.passing if one else self.lasting for one in self.passes)

    def variance(self, alone: Callable[[Fraction], float]) -> float:
        """Of the sum; ``alone`` is that of a period that has such a portion."""
        passing = sum(self.passes)
        lasting = len(self.passes) - passing
        return sum(many * alone(one) for many, one in ((lasting, self.lasting), (passing, self.passing)) if many)

    def is_cheaper(self, series: Series, relative: Fraction, living: Living) -> bool:
        """Whether less is paid over the horizon than for the joint form, at the same error. ``relative`` is the price
        at which the joint form has that error, where that of the series is 1.

        Where all periods are closed, the joint form is bought once and for ever.
        """
        passing = sum(self.passes)
        lasting = len(self.passes) - passing + living.horizon // living.length(series)
        asked = living.asked(series)
        return self.opened > 0 and lasting * self.lasting + passing * asked * self.passing < asked * relative


def is_cheaper(
    series: Series, relative: Fraction, living: Living, now: datetime.datetime, parts: int | None = None
) -> bool:
    """Whether a series costs less over the horizon than the joint form, at the same error. Where budgets are of rows,
    no more than so many ``parts`` are of one budget.

    ``relative`` is the price of one period, where that of all periods together in the joint form is 1.

    >>> from dpsql.refresh import Refresh
    >>> from rewriter.plan import SeriesPeriod
    >>> begins = [datetime.datetime(2026, 1, 1) + datetime.timedelta(days=day) for day in range(31)]
    >>> days = tuple(SeriesPeriod(begin, end, "visit") for begin, end in zip(begins, begins[1:], strict=False))
    >>> series, one = Series("day", days, (), lambda place, period: None), datetime.timedelta(days=1)
    >>> living = Living(Closing(one, refresh=Refresh(one)), 90 * one)
    >>> [is_cheaper(series, Fraction(1, part), living, begins[-1].replace(tzinfo=datetime.UTC)) for part in (1, 2, 4)]
    [False, False, True]
    """
    closed = sum(living.closing.is_closed(period.end, now, period.zone) for period in series.periods)
    asked = living.asked(series)
    opened = len(series.periods) - closed
    lasting = closed + living.horizon // living.length(series)
    if parts is not None and parts < len(series.periods):
        lasting, opened = min(lasting, parts), min(opened, parts)
    return (lasting + opened * asked) * relative < asked


def parts_of(periods: int) -> int:
    """In how many parts the price of so many periods is divided: no fewer.

    >>> [parts_of(periods) for periods in (1, 2, 3, 7, 12, 28, 31, 365)]
    [1, 2, 3, 7, 12, 32, 32, 431]
    """
    found = 1.0
    while math.ceil(found - 1e-9) < periods:
        found *= _STEP
    return math.ceil(found - 1e-9)


def relative_price(alone: float, joint: float, accounting: Accounting) -> Fraction:
    """The price at which one period has the variance ``joint``, if it has ``alone`` at the price 1."""
    return accounting.price_of_information(Fraction(alone) / Fraction(joint)) if joint else Fraction(1)


def alike(one: Plan, other: Plan) -> bool:
    """Whether two plans measure the same integers with the same sensitivities, so that their tables are one."""
    return _measured(one) == _measured(other)


def _measured(plan: Plan) -> object:
    return [
        (block.sensitivity, block.weight, [(one.name, one.granularity, one.bound) for one in block.statistics])
        for block in plan.blocks
    ]


@dataclass(frozen=True, slots=True)
class PricedSeries:
    """A release that is measured period by period: ``whole`` has all its groups, and is made of the parts, in order, of
    which some are ``closed``. ``adds_up``: its numbers are sums of theirs."""

    unit: str
    whole: Plan
    closing: Closing
    parts: tuple[Calibration, ...]
    closed: tuple[bool, ...]
    adds_up: bool = False

    @property
    def plans(self) -> Sequence[Plan]:
        return [one.plan for one in self.parts]

    def origin(self, fresh: Collection[str]) -> str:
        """Which of the periods are there, and which are measured now."""
        states = [
            f"{'measured now' if one.plan.identity in fresh else 'there'} and {'kept' if closed else 'open'}"
            for one, closed in zip(self.parts, self.closed, strict=True)
        ]
        pairs = list(zip(states, (plan.period for plan in self.plans), strict=True))
        runs = ((state, [period for _, period in run if period]) for state, run in groupby(pairs, lambda pair: pair[0]))
        said = "; ".join(f"{_named(some, self.unit)} {state}" for state, some in runs)
        how = " and added up" if self.adds_up else ""
        return f"measured {self.unit} by {self.unit}{how}: {said}"

    @property
    def note(self) -> str:
        """What is not in cells that are kept."""
        unit = self.unit
        return (
            f"a {unit} that is kept is as it was when it was asked first later than {self.closing} after its end:"
            " rows that came after that are not in it"
        )


def beside_series(
    program: Program, calibrations: Sequence[Calibration], series: Mapping[str, PricedSeries]
) -> tuple[str, ...]:
    """What is not said of groups that are no series beside some that are: totals over all periods."""
    found: dict[str, None] = {}
    for family in program.families:
        if family.beside is not None:
            continue
        own = [series.get(calibrations[place].plan.identity) for place in family.measurements]
        units = {one.unit for one in own if one is not None}
        if None in own and units:
            unit = units.pop()
            found[
                f"each {unit} stays as it is shown, so that totals over several {unit}s are measured by themselves:"
                f" they are not exactly the sums of the {unit}s"
            ] = None
    return tuple(found)


_PATTERNS: Mapping[str, str] = {"hour": "%Y-%m-%d %H:00", "month": "%Y-%m", "year": "%Y"}


def _named(periods: Sequence[SeriesPeriod], unit: str) -> str:
    first, last = (f"{one.begin:{_PATTERNS.get(unit, '%Y-%m-%d')}}" for one in (periods[0], periods[-1]))
    return first if len(periods) == 1 else f"{first} to {last}"
