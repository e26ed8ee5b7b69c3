"""Where a column of an earlier answer lies, by what its query says: the bounds of what is later computed with it.

``AVG(ABS(cost - (SELECT AVG(cost) FROM visit)))`` has bounds, because costs have, and so their mean.

Guarantee: a range follows from the text and the policy, and is the same before anything is released and after.
"""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

from sqlglot import exp

from dpsql.prepare.prepared import Prepared
from rewriter.declared import Interval, Kind, Type, measure
from rewriter.front_door import Mean
from rewriter.plan import Plan


def released_range(prepared: Prepared, place: int) -> Interval | None:
    """The least and the greatest that a column can be, dates in days; None where nothing says so."""
    written = _written(prepared.program.outer.tree, place, prepared.columns[place][1])
    if written is not None:
        return Interval(written, written)
    measured = prepared.outer.measured[place]
    form = measured.loose
    plans = [one.first for one in prepared.program.asked]
    if not isinstance(form, Mean) or len(plans) != 1:
        return None
    _, name = form.term
    found = next((_of_output(plan, name) for plan in plans if any(one.name == name for one in plan.outputs)), None)
    if found is None:
        return None
    moved = found * Interval(form.factor, form.factor)
    return Interval(moved.low + form.constant - form.slack, moved.high + form.constant + form.slack)


def _of_output(plan: Plan, name: str) -> Interval | None:
    low, high = plan.limits_of(next(one for one in plan.outputs if one.name == name))
    return Interval(Fraction(low), Fraction(high)) if math.isfinite(low) and math.isfinite(high) else None


def _written(tree: exp.Query, place: int, type_: Type) -> Fraction | None:
    """The value of a column that is a constant of its query, such as the end of a declared range."""
    items = tree.expressions if isinstance(tree, exp.Select) else []
    if len(items) <= place or any(isinstance(item, exp.Star) for item in items):
        return None
    node, sign = items[place].unalias(), 1
    if isinstance(node, exp.Cast):
        node = node.this
    while isinstance(node, exp.Neg | exp.Paren):
        node, sign = node.this, -sign if isinstance(node, exp.Neg) else sign
    if not isinstance(node, exp.Literal):
        return None
    try:
        if type_.kind is Kind.DATE:
            return measure(datetime.date.fromisoformat(node.name))
        if type_.kind is Kind.TIMESTAMP:
            return measure(datetime.datetime.fromisoformat(node.name))
        number = sign * Fraction(node.name) if type_.numeric else None
    except ValueError:
        return None
    rounded = number is not None and type_.kind is not Kind.DOUBLE and (number * 10**type_.scale).denominator != 1
    return None if rounded else number
