"""Conditions on what a time shows, as ranges of the time: ``TO_CHAR(ts, 'YYYY-MM') = '2026-04'`` is
``ts >= '2026-04-01' AND ts < '2026-05-01'``.

Guarantee: a range has PostgreSQL's value of the condition, TRUE, FALSE and NULL, for every row whose time is NULL or in
the years 1 to 9999. Both sides read the same time, which is NULL outside of these years: so is TO_CHAR of infinity in
PostgreSQL, and any other comparison with infinity is not TRUE here, where PostgreSQL may say TRUE of ``NOT`` or ``>``.

Why. A text shows a period of the calendar, one for one (:mod:`rewriter.expressions.shown_times`). So it equals a
literal exactly where the time is in the period that the literal shows. Where texts are in order, one is not below a
literal exactly where the time is not before that period. The beginning of such a text, as ``'2026-04'`` of
``'2026-04-03 10:00:00'``, is below all texts of its period and above those of earlier ones, in any collation: digits
decide it. The same holds of numbers, as EXTRACT(YEAR FROM ts), and of the begin of a period, as DATE_TRUNC has it. A
list shows several periods: they are one range where each follows another, and otherwise it is said beside the list that
times lie between the first and the last of them. What shows no period stays as it is.

A number that grows or falls with a time by a fixed amount for each microsecond (:data:`LINEAR`: ``now() - ts``, ``ts -
TIMESTAMP '…'``, ``day - DATE '…'``) is exact in PostgreSQL, and intervals are compared there as microseconds, with days
of 24 hours. So it is below a constant exactly where the time is before, or after, the one time at which it has this
value; none is said where that is no whole microsecond, or beyond the calendar. The day of a time is a period, as above.
EXTRACT(EPOCH FROM ts) is compared with whole seconds of at most 2³² alone: there a double tells a microsecond before
a second from the second, so that rounding, which keeps the order, moves no time across it. AGE is no such number: it
counts calendar months, which are compared as 30 days, so that of two times the earlier may have the lesser AGE.

A local time stands for an instant. Where no clock is set within two days of an end, local times are on the same side of
it as instants are of its instant (:func:`rewriter.declared.is_steady`), and instants are compared; else local times.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from rewriter.declared import DATE, TEXT, TIMESTAMP, Kind, decimal, instant, is_steady, local
from rewriter.dialects import MIRRORED, duplicate, field_of, is_in_order, wrap
from rewriter.expressions.build import Context, boolean, is_literal, is_unknown, literal, scalar_of
from rewriter.expressions.casts import widen
from rewriter.expressions.interval_length import DAY, whole
from rewriter.expressions.local_time import INSTANT, ZONE, moment_of
from rewriter.expressions.shown_times import BEGUN, SHOWN, UNITS, BegunPeriod, ShownTime, after, period_shown, width_of
from rewriter.expressions.time import floor_to
from rewriter.expressions.value import EPOCH, LINEAR, LinearTime, Value
from rewriter.refused import Refused


@dataclass(frozen=True, slots=True)
class _Period:
    """A period of the calendar, which may end with it. Not ``exact``, what shows it is only the beginning of a text."""

    begin: datetime.datetime
    end: datetime.datetime | None
    exact: bool = True


def compared_in_range(kind: type[exp.Expr], left: Value, right: Value, context: Context) -> Value | None:
    """A comparison as a range of the time that one side shows; None where there is no such range."""
    if kind not in (exp.EQ, *MIRRORED):
        return None
    if is_literal(left):
        left, right, kind = right, left, MIRRORED.get(kind, kind)
    if is_literal(left) or not is_literal(right):
        return None
    shown, sql = _shown(left), _month(kind, left, right, context)
    if sql is None:
        sql = _linear(kind, left, right, context)
    if sql is not None:
        return boolean(sql, left, right)
    period = None if shown is None else _period(left, shown, right, context)
    if shown is None or period is None or (kind is not exp.EQ and not _is_in_order(shown)):
        return None
    sql = _compared(kind, period, shown, context)
    return None if sql is None else boolean(sql, left, right)


def _compared(
    kind: type[exp.Expr], period: _Period, shown: ShownTime | BegunPeriod, context: Context
) -> exp.Expr | None:
    """A comparison of the period around a time with another one."""
    if kind is exp.EQ:
        return _between(period.begin, period.end, shown, context) if period.exact else None
    if kind in (exp.GTE, exp.LT):
        return _beside(kind, period.begin, shown, context)
    end = period.end if period.exact else period.begin
    sign = exp.GTE if kind is exp.GT else exp.LT
    return None if end is None else _beside(sign, end, shown, context)


def listed_in_range(value: Value, items: Sequence[Value], context: Context) -> tuple[exp.Expr | None, bool]:
    """The range of all times that show one of a list, where there is one, and whether they are all times of it."""
    shown = _shown(value)
    if shown is None or not all(map(is_literal, items)):
        return None, False
    found = [_period(value, shown, one, context) for one in items]
    periods = sorted({one.begin: one for one in found if one is not None and one.exact}.values(), key=_begin)
    if not periods or not all(one is not None and one.exact for one in found):
        return None, False
    follows = all(one.end == other.begin for one, other in pairwise(periods))
    return _between(periods[0].begin, periods[-1].end, shown, context), follows


def begins_in_range(value: Value, prefix: str, context: Context) -> Value | None:
    """Whether the text of a time begins as ``prefix`` does, as a range of the time; None where there is none."""
    shown = _shown(value)
    cut = shown.cut(len(prefix)) if isinstance(shown, ShownTime) else None
    period = None if cut is None or width_of(cut.pattern) != len(prefix) else period_shown(cut.pattern, prefix)
    if shown is None or period is None:
        return None
    return boolean(_between(*period, shown, context), value)


def without_shown_times(tree: exp.Expr) -> None:
    """Take away what was noted of times that are shown: no comparison reads it any more."""
    for node in tree.walk():
        for fact in (SHOWN, BEGUN, INSTANT, EPOCH):
            if fact.is_on(node):
                fact.off(node)


def _month(kind: type[exp.Expr], left: Value, right: Value, context: Context) -> exp.Expr | None:
    """``TO_CHAR(ts, 'MM') = '04'`` as the number of the month."""
    shown, spelt = _shown(left), scalar_of(right)
    is_text = left.type == right.type == TEXT and isinstance(spelt, str)
    if (
        not isinstance(shown, ShownTime)
        or kind is not exp.EQ
        or not is_text
        or shown.pattern != "%m"
        or not shown.whole
    ):
        return None
    if spelt not in [f"{month:02d}" for month in range(1, 13)]:
        return None
    moment = duplicate(shown.moment)
    number_ = context.dialect.cast(field_of("month", moment), decimal(5, 0))
    SHOWN.on(number_, replace(shown, moment=moment))
    return exp.EQ(this=number_, expression=literal(Decimal(int(str(spelt))), decimal(5, 0), context.dialect).sql)


def _linear(kind: type[exp.Expr], left: Value, right: Value, context: Context) -> exp.Expr | None:
    """A comparison of what grows or falls with a time as one of the time."""
    linear, number = _line(left), _number(right)
    if linear is None or number is None or sum(1 for _ in linear.moment.walk()) > _LONGEST:
        return None
    is_epoch = EPOCH.of(left.sql) is not None
    if is_epoch and (number.denominator > 1 or abs(number) > 2**32):
        return None
    days = (number - linear.offset) / linear.factor
    end = moment_of(days) if (days * DAY).denominator == 1 else None
    if end is None:
        return None
    kind = kind if linear.factor > 0 else MIRRORED.get(kind, kind)
    if abs(linear.factor) != 1:
        return kind(this=wrap(duplicate(linear.moment)), expression=literal(end, TIMESTAMP, context.dialect).sql)
    if floor_to("day", end) != end:
        return None
    begun = BEGUN.of(linear.moment)
    if begun is not None and begun.unit == "day":
        return _compared(kind, _Period(end, after("day", end)), begun, context)
    return kind(this=wrap(duplicate(linear.moment)), expression=literal(end.date(), DATE, context.dialect).sql)


def _line(value: Value) -> LinearTime | None:
    """The time that a number or an interval depends on."""
    found = LINEAR.of(value.sql) if value.type.kind in (Kind.INTEGER, Kind.INTERVAL) else None
    return EPOCH.of(value.sql) or found


def _number(value: Value) -> Fraction | None:
    """A constant number, or the microseconds of a constant interval."""
    if value.type.kind is Kind.INTERVAL:
        return None if value.span is None else Fraction(whole(value.span))
    scalar = scalar_of(value) if value.type.numeric else None
    return Fraction(scalar) if isinstance(scalar, int | Decimal) and not isinstance(scalar, bool) else None


def _begin(period: _Period) -> datetime.datetime:
    return period.begin


def _shown(value: Value) -> ShownTime | BegunPeriod | None:
    """The time that is shown, unless it is so long that it is not said twice."""
    shown = SHOWN.of(value.sql) or BEGUN.of(value.sql)
    return shown if shown is None or sum(1 for _ in shown.moment.walk()) <= _LONGEST else None


_LONGEST = 100
"""Nodes of a time."""


def _is_in_order(shown: ShownTime | BegunPeriod) -> bool:
    return isinstance(shown, BegunPeriod) or (is_in_order(shown.pattern) and width_of(shown.pattern) is not None)


def _period(value: Value, shown: ShownTime | BegunPeriod, other: Value, context: Context) -> _Period | None:
    """The period that a literal shows."""
    if is_unknown(other) and value.type != TEXT:
        try:
            other = widen(other, value.type, context.dialect)
        except Refused:
            return None
    scalar = scalar_of(other)
    if isinstance(shown, BegunPeriod):
        return _begun(value, shown, other, context)
    if value.type.numeric and other.type.numeric and isinstance(scalar, int | float | Decimal):
        digits = shown.digits
        if digits is None or shown.zeros or scalar != scalar // 1 or not 0 < scalar < 10**digits:
            return None
        scalar = f"{int(scalar):0{digits}d}"
    elif value.type != TEXT or other.type != TEXT:
        return None
    return _spelt(shown, scalar) if isinstance(scalar, str) else None


def _spelt(shown: ShownTime, spelt: str) -> _Period | None:
    """The period that a text shows, or the beginning of one."""
    width = width_of(shown.pattern)
    is_part = width is not None and (len(spelt) < width or (len(spelt) == width and not shown.whole))
    cut = shown.cut(len(spelt)) if is_part else shown if shown.whole else None
    found = None if cut is None else period_shown(cut.pattern, spelt)
    return None if found is None else _Period(*found, exact=not is_part)


def _begun(value: Value, shown: BegunPeriod, other: Value, context: Context) -> _Period | None:
    """The period that begins at a time."""
    moment = None if other.interval is None or not other.type.temporal else moment_of(other.interval.low)
    zoned = value.type.kind is Kind.TIMESTAMPTZ
    if moment is None or zoned is not (other.type.kind is Kind.TIMESTAMPTZ) or shown.unit not in UNITS:
        return None
    zone = shown.zone
    begin = local(moment, zone)
    if begin is None or instant(begin, zone) != moment or floor_to(shown.unit, begin) != begin:
        return None
    return _Period(begin, after(shown.unit, begin))


def _between(
    begin: datetime.datetime, end: datetime.datetime | None, shown: ShownTime | BegunPeriod, context: Context
) -> exp.Expr:
    """From ``begin`` up to ``end``."""
    low = _beside(exp.GTE, begin, shown, context)
    if end is None:
        return low
    return exp.Paren(this=exp.And(this=low, expression=_beside(exp.LT, end, shown, context)))


def _beside(kind: type[exp.Expr], end: datetime.datetime, shown: ShownTime | BegunPeriod, context: Context) -> exp.Expr:
    moment, type_ = shown.moment, TIMESTAMP
    scalar: datetime.date = end
    zone, there = ZONE.of(moment), INSTANT.of(moment)
    if zone is not None and there is not None and (known := _steady_instant(end, zone)) is not None:
        moment, scalar = there, known
    if shown.is_date and end == datetime.datetime.combine(end.date(), datetime.time()):
        type_, scalar = DATE, end.date()
    other = literal(scalar, type_, context.dialect)
    return kind(this=wrap(duplicate(moment)), expression=other.sql)


def _steady_instant(end: datetime.datetime, zone: str) -> datetime.datetime | None:
    """The instant of a local time, which the local times on either side of it are those of instants on the same
    side."""
    found = instant(end, zone)
    return found if found is not None and local(found, zone) == end and is_steady(found, zone) else None
