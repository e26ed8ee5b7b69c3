"""LINREGR, LOGREGR and dpsql.pca: the regression of one number on several, by least squares, and of a chance on them;
and the directions along which several numbers vary most."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.declared import DOUBLE, Kind, Type
from rewriter.expressions import Value
from rewriter.refused import Refused
from rewriter.regression import ComponentField, ComponentPart, RegressionField, RegressionPart
from rewriter.release import Aggregate, MeasuredBy, Wording
from rewriter.statement import COMPONENTS, REGRESSIONS, number_of, written

_HINT = "write {}(y, ARRAY[1, x]), where the constant 1 stands for the intercept"
_PCA = "dpsql.pca"


@dataclass(frozen=True, slots=True)
class RegressionFunction(AggregateFunction):
    """One number of ``LINREGR(y, ARRAY[…])`` or of ``LOGREGR``, as :func:`rewriter.statement.plain_regressions` spells
    it: the field, the place, y, the elements of the array, and those of the point of a prediction. Rows that lack any
    of them are left out."""

    def check(self, node: exp.Expr) -> None:
        """The spelling was ours."""

    def asked(self, call: Call) -> Aggregate:
        word = str(call.node.this)
        if word.lower() not in REGRESSIONS:
            raise Refused("this function is not answered over people", hint=_HINT.format("LINREGR"))
        named, place, y, *elements = call.node.expressions
        if word.lower() == COMPONENTS:
            component = ComponentPart(ComponentField(named.name), max(int(place.name) - 1, 0), int(y.name))
            return self._component(call, component, elements)
        field = RegressionField(named.name)
        elements, at = _halves(elements) if field is RegressionField.PREDICTION else (elements, [])
        constants = [at for at, one in enumerate(elements) if _is_one(one)]
        regressors = [one for at, one in enumerate(elements) if at not in constants]
        if len(constants) > 1:
            raise Refused(f"{word} has two intercepts", hint="write the constant 1 once")
        logistic = word.lower() == "logregr"
        if len(regressors) == 0 and logistic:
            raise Refused(
                "LOGREGR explains by nothing but a constant", hint="AVG of the condition as 0 and 1 does that"
            )
        values = (
            _chance(call, y) if logistic else self._number(call, y, word),
            *(self._number(call, one, word) for one in regressors),
        )
        point = tuple(number_of(one) or Fraction(0) for one in at)
        part = RegressionPart(field, max(int(place.name) - 1, 0), next(iter(constants), None), point, logistic)
        whole = _filtered(f"{word}({written(y)}, ARRAY[{', '.join(map(written, elements))}])", call)
        wording = Wording(_text(whole, part), tuple(map(written, (y, *regressors))))
        return Aggregate(self, values[0], call.test, False, wording, row=values[1:], regression=part)

    def _component(self, call: Call, part: ComponentPart, elements: list[exp.Expr]) -> Aggregate:
        """A number of a principal component: the last of the values takes the place of what regressions explain."""
        *values, last = (self._number(call, one, _PCA) for one in elements)
        place = f"[{part.place + 1}]" if part.field is ComponentField.LOADING else ""
        whole = _filtered(f"{_PCA}(ARRAY[{', '.join(map(written, elements))}], {part.component})", call)
        wording = Wording(f"({whole}).{part.field}{place}", tuple(map(written, (elements[-1], *elements[:-1]))))
        return Aggregate(self, last, call.test, False, wording, row=tuple(values), regression=part)

    def _number(self, call: Call, node: exp.Expr, word: str) -> Value:
        if isinstance(node, exp.Literal):
            if word == _PCA:
                raise Refused(f"{written(node)} does not vary", hint="leave constants out of the array")
            raise Refused(f"{written(node)} is no regressor", hint=_HINT.format(word))
        return call.number(node, word)

    def output_type(self, aggregate: Aggregate) -> Type:
        return DOUBLE


def _filtered(whole: str, call: Call) -> str:
    """The call as it was asked for, with its FILTER."""
    around = call.node.parent
    return f"{whole} FILTER(WHERE {written(around.expression.this)})" if isinstance(around, exp.Filter) else whole


def _chance(call: Call, node: exp.Expr) -> Value:
    """What a logistic regression explains: a condition as 0 and 1, or a number."""
    if isinstance(node, exp.Literal | exp.Boolean):
        raise Refused(f"{written(node)} needs no explanation", hint=_HINT.format("LOGREGR"))
    found = call.value(node)
    if found.type.kind is not Kind.BOOLEAN:
        return call.number(node, "LOGREGR")
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    test = exp.Paren(this=node.copy())
    ifs = [exp.If(this=test, true=one), exp.If(this=exp.Not(this=test.copy()), true=zero)]
    return call.value(exp.Case(ifs=ifs))


def _halves(nodes: list[exp.Expr]) -> tuple[list[exp.Expr], list[exp.Expr]]:
    half = len(nodes) // 2
    return nodes[:half], nodes[half:]


def _text(whole: str, part: RegressionPart) -> str:
    """The number as it was asked for."""
    if part.point:
        return f"dpsql.predict({whole}, ARRAY[{', '.join(f'{float(one):.12g}' for one in part.point)}])"
    place = (
        f"[{part.place + 1}]"
        if part.field in (RegressionField.COEFFICIENT, RegressionField.STANDARD_ERROR, RegressionField.ODDS)
        else ""
    )
    return f"({whole}).{part.field}{place}"


def _is_one(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string and Fraction(node.name) == 1


LINREGR = RegressionFunction("LINREGR", exp.AnonymousAggFunc, MeasuredBy.REGRESSION)
