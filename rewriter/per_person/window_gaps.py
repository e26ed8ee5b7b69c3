"""The distance of two rows: ``day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day)`` is never negative.

Guarantee: the range of such a difference loses the side that its own order rules out, whatever the data: rows that
stand before a value in its order are not above it. Half a range is half the noise of a mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeGuard

from sqlglot import exp

from rewriter.declared import Interval
from rewriter.dialects import Dialect
from rewriter.expressions import Value, compile_expression
from rewriter.per_person.window_functions import Over
from rewriter.refused import Refused
from rewriter.statement import unparenthesised

_X, _NEIGHBOUR = "x", "neighbour"


@dataclass(frozen=True, slots=True)
class Gap:
    """``x - window`` or ``window - x``, or EXTRACT(EPOCH FROM …) of it; ``window`` is LAG(x) or LEAD(x).

    ``later_first``: the earlier row, in the window's order, is subtracted from the later one.
    """

    node: exp.Expr
    x: exp.Expr
    window: exp.Window
    later_first: bool


def gap_in(node: exp.Expr) -> Gap | None:
    """The difference of neighbours that an expression is, if it is one."""
    difference = unparenthesised(node.args["expression"]) if _is_epoch(node) else node
    if not isinstance(difference, exp.Sub):
        return None
    left, right = unparenthesised(difference.this), unparenthesised(difference.expression)
    for one, other, window_first in ((left, right, True), (right, left, False)):
        if _is_neighbour(one) and unparenthesised(one.this.this) == other:
            is_lead = isinstance(one.this, exp.Lead)
            return Gap(node, other, one, later_first=is_lead if window_first else not is_lead)
    return None


def _is_neighbour(node: exp.Expr) -> TypeGuard[exp.Window]:
    """LAG(x) or LEAD(x) without a value for the rows that have no neighbour."""
    return isinstance(node, exp.Window) and type(node.this) in (exp.Lag, exp.Lead) and not node.this.args.get("default")


def _is_epoch(node: exp.Expr) -> bool:
    return isinstance(node, exp.Extract) and str(node.this.name).upper() == "EPOCH"


def compile_gap(gap: Gap, x: Value, neighbour: Value, over: Over, dialect: Dialect) -> Value | None:
    """The difference, in the part of its range that the order leaves; None where another column orders the rows."""
    if not over.order or over.order[0].this != x.sql or (x.type.clocked and not _is_epoch(gap.node)):
        return None
    copy = exp.Paren(this=gap.node.copy())
    names = {_X: x, _NEIGHBOUR: neighbour}
    difference = next(found for found in copy.walk() if isinstance(found, exp.Sub))
    for side in ("this", "expression"):
        is_window = isinstance(unparenthesised(difference.args[side]), exp.Window)
        difference.set(side, exp.column(_NEIGHBOUR if is_window else _X))
    value = compile_expression(copy.this, _Pair(names), dialect)
    if value.interval is None:
        return value
    rising = gap.later_first != bool(over.order[0].args.get("desc"))
    kept = max if rising else min
    zero = Fraction(0)
    return replace(value, interval=Interval(kept(value.interval.low, zero), kept(value.interval.high, zero)))


@dataclass(frozen=True, slots=True)
class _Pair:
    """The scope of a difference: its two sides."""

    names: Mapping[str, Value]

    def column(self, node: exp.Column) -> Value:
        value = self.names[node.name]
        return replace(value, sql=value.sql.copy())

    def membership(self, node: exp.In | exp.Exists | exp.Subquery) -> Value:
        raise Refused("a subquery is not answered here", hint="compute it in a subquery in FROM")
