"""``dpsql.over_blocks``: an expression that is answered in blocks of people."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.declared import DOUBLE, Type
from rewriter.release import Aggregate, MeasuredBy, OverBlocks, Wording


@dataclass(frozen=True, slots=True)
class BlocksFunction(AggregateFunction):
    """A call as :func:`rewriter.statement.plain_blocks` spells it. What it asks of a block is checked where blocks are
    made; of one person's rows there are none."""

    def check(self, node: exp.Expr) -> None:
        """The spelling was ours."""

    def asked(self, call: Call) -> Aggregate:
        blocks, low, high, combine = call.node.expressions
        text = call.node.args["params"][0].name
        asked = OverBlocks(call.node.this, int(blocks.name), _number(low), _number(high), combine.name == "median")
        return Aggregate(self, None, None, False, Wording(text, (text,)), over_blocks=asked)

    def output_type(self, aggregate: Aggregate) -> Type:
        return DOUBLE


def _number(node: exp.Expr) -> Fraction | None:
    return None if isinstance(node, exp.Null) else Fraction(node.name)


OVER_BLOCKS = BlocksFunction("dpsql.over_blocks", exp.ParameterizedAgg, MeasuredBy.NOTHING)
