"""The aggregates that are made of moments: STDDEV, VARIANCE, CORR, COVAR and REGR_*."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates.aggregate_function import Call, NumberFunction
from rewriter.aggregates.counts import COUNT
from rewriter.aggregates.sums import AVG
from rewriter.declared import ContributionBound
from rewriter.dialects import Dialect
from rewriter.expressions import Value, both, present
from rewriter.plan import Figure
from rewriter.refused import Refused
from rewriter.release import Aggregate, MeasuredBy, Wording
from rewriter.statement import written


@dataclass(frozen=True, slots=True)
class OfOne(NumberFunction):
    """A figure of x."""

    def of_one_person(self, aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
        name = aggregate.text.split("(")[0]
        hint = f"ask for the {name} over people, or for AVG(x) and AVG(x * x) of each person"
        raise Refused(f"{name} of one person's rows is not answered", hint=hint)


@dataclass(frozen=True, slots=True)
class OfTwo(OfOne):
    """A figure of y and x, over the rows that have both, called with y first, as CORR(y, x)."""

    arguments: int = 2

    def asked(self, call: Call) -> Aggregate:
        y, x = (call.number(part, self.word) for part in (call.node.this, call.node.expression))
        return Aggregate(self, y, call.test, False, call.wording, second=x)


@dataclass(frozen=True, slots=True)
class OfOneOfTwo(OfTwo):
    """An aggregate of y alone or x alone, over the rows that have both."""

    of_x: bool = False

    def asked(self, call: Call) -> Aggregate:
        node = call.node
        y, x = (call.number(part, self.word) for part in (node.this, node.expression))
        value, other, name = (x, y, node.expression) if self.of_x else (y, x, node.this)
        test = both(call.test, present(other))
        if self.measured_by is MeasuredBy.COUNT:
            return Aggregate(COUNT, None, both(test, present(value)), False, call.wording)
        kind = AVG if self.measured_by is MeasuredBy.MEAN else self
        within = Aggregate(kind, value, test, False, Wording(f"{self.word}({written(name)})", (written(name),)))
        return replace(within, wording=call.wording, within=within)


def _of_one(word: str, node: type[exp.Expr], figure: Figure) -> OfOne:
    return OfOne(word, node, MeasuredBy.MOMENTS, figure)


def _of_two(word: str, node: type[exp.Expr], figure: Figure) -> OfTwo:
    return OfTwo(word, node, MeasuredBy.MOMENTS, figure)


MOMENT_FUNCTIONS = (
    _of_one("VAR_POP", exp.VariancePop, Figure.VARIANCE_POP),
    _of_one("VARIANCE", exp.Variance, Figure.VARIANCE_SAMP),
    _of_one("STDDEV_POP", exp.StddevPop, Figure.DEVIATION_POP),
    _of_one("STDDEV", exp.Stddev, Figure.DEVIATION_SAMP),
    _of_one("STDDEV_SAMP", exp.StddevSamp, Figure.DEVIATION_SAMP),
    _of_two("COVAR_POP", exp.CovarPop, Figure.COVARIANCE_POP),
    _of_two("COVAR_SAMP", exp.CovarSamp, Figure.COVARIANCE_SAMP),
    _of_two("CORR", exp.Corr, Figure.CORRELATION),
    _of_two("REGR_SXY", exp.RegrSxy, Figure.PRODUCTS),
    _of_two("REGR_R2", exp.RegrR2, Figure.DETERMINATION),
    _of_two("REGR_SLOPE", exp.RegrSlope, Figure.SLOPE),
    _of_two("REGR_INTERCEPT", exp.RegrIntercept, Figure.INTERCEPT),
    OfOneOfTwo("REGR_SXX", exp.RegrSxx, MeasuredBy.MOMENTS, Figure.SQUARES, of_x=True),
    OfOneOfTwo("REGR_SYY", exp.RegrSyy, MeasuredBy.MOMENTS, Figure.SQUARES),
    OfOneOfTwo("REGR_COUNT", exp.RegrCount, MeasuredBy.COUNT, of_x=True),
    OfOneOfTwo("REGR_AVGX", exp.RegrAvgx, MeasuredBy.MEAN, of_x=True),
    OfOneOfTwo("REGR_AVGY", exp.RegrAvgy, MeasuredBy.MEAN),
)
