"""PERCENT_RANK(v) WITHIN GROUP (ORDER BY x): which share of the rows comes before v.

It is the mean of 1 for a row that comes before and 0 for any other, NULLs among them: a number in [0, 1], which noise
hides as that of any mean. RANK, DENSE_RANK and CUME_DIST WITHIN GROUP are no means of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.aggregates.sums import AVG
from rewriter.declared import DOUBLE, Type
from rewriter.refused import Refused
from rewriter.release import Aggregate, MeasuredBy
from rewriter.statement import only, written

_HINT = "write PERCENT_RANK(180) WITHIN GROUP (ORDER BY x)"


@dataclass(frozen=True, slots=True)
class PercentRank(AggregateFunction):
    """PERCENT_RANK(v) WITHIN GROUP (ORDER BY x [DESC] [NULLS FIRST | LAST])."""

    plain: bool = False
    ordered: bool = True

    def asked(self, call: Call) -> Aggregate:
        only(call.node, frozenset({"this", "expression"}), self.word)
        only(call.argument, frozenset({"expressions"}), self.word)
        order = call.ordered_by(Refused(f"{self.word} needs one order", hint=_HINT))
        value = _literal(call.argument.expressions)
        mean = exp.Avg(this=_one_or_zero(order, value))
        within = AVG.asked(replace(call, node=mean, text=written(mean)))
        return replace(within, kind=self, wording=call.wording, within=within)

    def output_type(self, aggregate: Aggregate) -> Type:
        return DOUBLE


PERCENT_RANK = PercentRank(
    "PERCENT_RANK",
    exp.PercentRank,
    MeasuredBy.MEAN,
    note="PERCENT_RANK is NULL where there is hardly anybody; of no rows PostgreSQL says 0",
)


def _literal(arguments: list[exp.Expr]) -> exp.Expr:
    """The one value that rows are compared with; one of a column would be another one for each row."""
    inner = arguments[0] if len(arguments) == 1 else None
    while isinstance(inner, exp.Paren | exp.Cast | exp.Neg):
        inner = inner.this
    if not isinstance(inner, exp.Literal | exp.Boolean):
        raise Refused("PERCENT_RANK needs one literal value", hint=_HINT)
    return arguments[0]


def _one_or_zero(order: exp.Ordered, value: exp.Expr) -> exp.Case:
    """1 for a row that comes before the value, 0 for any other."""
    compared = exp.GT if order.args.get("desc") else exp.LT
    before: exp.Expr = compared(this=order.this.copy(), expression=value.copy())
    if order.args.get("nulls_first"):
        before = exp.Or(this=before, expression=exp.Is(this=order.this.copy(), expression=exp.Null()))
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    return exp.Case(ifs=[exp.If(this=before, true=one)], default=zero)
