"""People in the steps of a list of times: ``v.ts >= g.d AND v.ts < g.d + INTERVAL '1 month'``, as one equality.

The list is a series whose step is that interval. So a time lies in one step at most, and its beginning is computed of
the time: ``DATE_TRUNC('month', v.ts) = g.d``.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from sqlglot import exp

from rewriter.declared import local
from rewriter.dialects import Dialect
from rewriter.expressions import constant_span, floor_to
from rewriter.statement import from_items, unparenthesised

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.LT: exp.GT, exp.GT: exp.LT}
_DAY = 86_400_000_000
_UNITS = {
    (0, 0, 60_000_000): "minute", (0, 0, 3_600_000_000): "hour", (0, 1, 0): "day", (0, 7, 0): "week",
    (1, 0, 0): "month", (3, 0, 0): "quarter", (12, 0, 0): "year",
}  # fmt: skip


def as_bins(
    tests: Sequence[exp.Expr], public: exp.Select, side: Callable[[exp.Expr], str], dialect: Dialect
) -> list[exp.Expr]:
    """The conditions, with such a pair as one equality, where the list is a series of that step; else as they were."""
    plain = [unparenthesised(test) for test in tests]
    for place, low in enumerate(plain):
        first = _ordered(low, side, exp.GTE)
        for other, high in enumerate(plain) if first is not None else ():
            last = _ordered(high, side, exp.LT)
            if first is None or last is None or first[0] != last[0] or not isinstance(first[1], exp.Column):
                continue
            own, listed = first
            end = unparenthesised(last[1])
            if not isinstance(end, exp.Add) or end.this != listed:
                continue
            span = constant_span(end.expression, dialect)
            begins = None if span is None else _beginning(own, span, _values(public), dialect)
            if begins is not None:
                rest = [test for number, test in enumerate(tests) if number not in (place, other)]
                return [exp.EQ(this=listed.copy(), expression=begins), *rest]
    return list(tests)


def _ordered(test: exp.Expr, side: Callable[[exp.Expr], str], kind: type[exp.Expr]) -> tuple[exp.Expr, exp.Expr] | None:
    """The two sides of ``people >= list`` or ``people < list``, whichever way it is written."""
    if type(test) not in _FLIPPED:
        return None
    left, right = test.this, test.args["expression"]
    found = type(test)
    if (side(left), side(right)) == ("public", "people"):
        left, right, found = right, left, _FLIPPED[type(test)]
    return (left, right) if found is kind and (side(left), side(right)) == ("people", "public") else None


def _values(public: exp.Select) -> list[exp.Expr]:
    """The values of a list that is one series of times."""
    values = public.find(exp.Values)
    if len(from_items(public)) != 1 or values is None:
        return []
    rows = [row.expressions[0] for row in values.expressions]
    return rows if all(isinstance(row, exp.Cast) for row in rows) else []


def _beginning(
    own: exp.Expr, span: tuple[int, int, int], values: Sequence[exp.Expr], dialect: Dialect
) -> exp.Expr | None:
    """When the step around a time of people begins; None where the series has other steps."""
    moments = [_moment(value, dialect) for value in values]
    unit = _UNITS.get(span)
    known = [moment for moment in moments if moment is not None]
    if unit is None or not known or len(known) != len(moments):
        return None
    if any(floor_to(unit, moment) != moment for moment in known):
        return None
    return exp.TimestampTrunc(this=own.copy(), unit=exp.Var(this=unit.upper()))


def _moment(value: exp.Expr, dialect: Dialect) -> datetime.datetime | None:
    """A listed time as clocks of the session's zone show it."""
    moment = datetime.datetime.fromisoformat(value.this.name)
    if moment.tzinfo is None:
        return moment
    return local(moment.astimezone(datetime.UTC).replace(tzinfo=None), dialect.zone)
