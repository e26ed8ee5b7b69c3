"""LINREGR: the regression of one number on several, by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.declared import DOUBLE, Type
from rewriter.expressions import Value
from rewriter.refused import Refused
from rewriter.regression import RegressionField, RegressionPart
from rewriter.release import Aggregate, MeasuredBy, Wording
from rewriter.statement import REGRESSION, number_of, written

_HINT = "write LINREGR(y, ARRAY[1, x]), where the constant 1 stands for the intercept"


@dataclass(frozen=True, slots=True)
class LinearRegression(AggregateFunction):
    """One number of ``LINREGR(y, ARRAY[…])``, as :func:`rewriter.statement.plain_regressions` spells it: the field, the
    place, y, the elements of the array, and those of the point of a prediction. Rows that lack any of them are left
    out."""

    def check(self, node: exp.Expr) -> None:
        """The spelling was ours."""

    def asked(self, call: Call) -> Aggregate:
        if str(call.node.this).lower() != REGRESSION:
            raise Refused("this function is not answered over people", hint=_HINT)
        named, place, y, *elements = call.node.expressions
        field = RegressionField(named.name)
        elements, at = _halves(elements) if field is RegressionField.PREDICTION else (elements, [])
        constants = [at for at, one in enumerate(elements) if _is_one(one)]
        regressors = [one for at, one in enumerate(elements) if at not in constants]
        if len(constants) > 1:
            raise Refused("LINREGR has two intercepts", hint="write the constant 1 once")
        values = tuple(self._number(call, one) for one in (y, *regressors))
        point = tuple(number_of(one) or Fraction(0) for one in at)
        part = RegressionPart(field, max(int(place.name) - 1, 0), next(iter(constants), None), point)
        whole = f"LINREGR({written(y)}, ARRAY[{', '.join(map(written, elements))}])"
        around = call.node.parent
        if isinstance(around, exp.Filter):
            whole = f"{whole} FILTER(WHERE {written(around.expression.this)})"
        wording = Wording(_text(whole, part), tuple(map(written, (y, *regressors))))
        return Aggregate(self, values[0], call.test, False, wording, row=values[1:], regression=part)

    def _number(self, call: Call, node: exp.Expr) -> Value:
        if isinstance(node, exp.Literal):
            raise Refused(f"{written(node)} is no regressor", hint=_HINT)
        return call.number(node, self.word)

    def output_type(self, aggregate: Aggregate) -> Type:
        return DOUBLE


def _halves(nodes: list[exp.Expr]) -> tuple[list[exp.Expr], list[exp.Expr]]:
    half = len(nodes) // 2
    return nodes[:half], nodes[half:]


def _text(whole: str, part: RegressionPart) -> str:
    """The number as it was asked for."""
    if part.point:
        return f"dpsql.predict({whole}, ARRAY[{', '.join(f'{float(one):.12g}' for one in part.point)}])"
    place = f"[{part.place + 1}]" if part.field in (RegressionField.COEFFICIENT, RegressionField.STANDARD_ERROR) else ""
    return f"({whole}).{part.field}{place}"


def _is_one(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string and Fraction(node.name) == 1


LINREGR = LinearRegression("LINREGR", exp.AnonymousAggFunc, MeasuredBy.REGRESSION)
