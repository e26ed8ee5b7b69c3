"""Literal instants that are compared with a column of a grain, moved outward to it.

A dashboard of the last six hours writes another second into its text at every refresh. With ``grain: 1 hour`` the rows
that it asks for are those of whole hours around, so that the statement measures the same thing for an hour.

Guarantee: a comparison that is not negated holds on every row that it held on before, and on rows at most a grain away;
under NOT it holds on no more. What was moved is noted on the literal itself.
"""

from __future__ import annotations

import datetime

from sqlglot import exp

from rewriter.declared import DATE, TIMESTAMP, TIMESTAMPTZ, Kind, Type
from rewriter.dialects import Fact
from rewriter.expressions.build import Context, is_literal, is_unknown, literal, scalar_of
from rewriter.expressions.casts import widen
from rewriter.expressions.local_time import as_local_literal, moment_of, to_instant
from rewriter.expressions.value import Value
from rewriter.refused import Refused

MOVED: Fact[str] = Fact("moved to its grain")
"""Of a literal: what it was and what it is read as."""
_LOWER, _UPPER = (exp.GT, exp.GTE), (exp.LT, exp.LTE)


def compared(kind: type[exp.Expr], left: Value, right: Value, context: Context) -> tuple[Value, Value]:
    """The sides of a comparison, with the literal side moved where the other one has a grain."""
    if kind not in (*_LOWER, *_UPPER):
        return left, right
    if left.grain is not None:
        return left, outward(left, right, context, lower=kind in _LOWER)
    if right.grain is not None:
        return outward(right, left, context, lower=kind in _UPPER), right
    return left, right


def outward(column: Value, other: Value, context: Context, *, lower: bool) -> Value:
    """An instant as the lower or the upper end of a column's values, moved to the column's grain; else as it is."""
    if column.grain is None or (moment := _moment(other, column.type, context)) is None:
        return other
    zoned = column.type.kind is Kind.TIMESTAMPTZ
    down = lower is not context.negated
    moved = (column.grain.before if down else column.grain.after)(moment, zoned=zoned)
    if moved is None:
        return other
    found = literal(moved.date() if column.type == DATE else moved, column.type, context.dialect)
    if moved != moment:
        MOVED.on(found.sql, f"{_shown(moment, zoned)} is read as {_shown(moved, zoned)}")
    return found


def _shown(moment: datetime.datetime, zoned: bool) -> str:
    return moment.isoformat(" ") + ("+00:00" if zoned else "")


def _moment(value: Value, kind: Type, context: Context) -> datetime.datetime | None:
    """The moment that a constant is, as one of a column's type: of a zone's instants in UTC. None of no constant."""
    if is_unknown(value):
        try:
            value = widen(value, kind, context.dialect)
        except Refused:
            return None
    if not value.type.temporal or not is_literal(value) or value.interval is None:
        return None
    moment = moment_of(value.interval.low)
    if moment is None:
        return None
    here, zone = value.type.kind is Kind.TIMESTAMPTZ, context.dialect.zone
    there = kind.kind is Kind.TIMESTAMPTZ
    if here is there:
        return moment
    known = literal(moment, TIMESTAMPTZ if here else TIMESTAMP, context.dialect)
    found = as_local_literal(known, zone, context.dialect) if here else to_instant(known, zone, context.dialect)
    scalar = None if found is None or not is_literal(found) else scalar_of(found)
    return scalar if isinstance(scalar, datetime.datetime) else None


def moved_in(*trees: exp.Expr) -> dict[str, None]:
    """What was moved within trees, in order, each once."""
    found = (MOVED.of(node) for tree in trees for node in tree.walk())
    return dict.fromkeys(one for one in found if one is not None)
