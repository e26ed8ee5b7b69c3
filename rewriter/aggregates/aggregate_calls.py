"""The aggregates over people, one line each, and what is said of those that are not answered.

``dpsql.over_blocks`` is an expression that is answered in blocks of people. ``PERCENT_RANK(v) WITHIN GROUP (ORDER BY
x)`` says which share of the rows comes before v. It is the mean of 1 for a row that comes before and 0 for any other,
NULLs among them: a number in [0, 1], which noise hides as that of any mean. RANK, DENSE_RANK and CUME_DIST WITHIN GROUP
are no means of rows.

The aggregates that are made of moments: STDDEV, VARIANCE, CORR, COVAR and REGR_*.

LINREGR, LOGREGR and dpsql.pca: the regression of one number on several, by least squares, and of a chance on them;
and the directions along which several numbers vary most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call, NumberFunction
from rewriter.aggregates.counts import APPROX_COUNT_DISTINCT, COUNT, COUNT_IF
from rewriter.aggregates.debiased_calls import Supports, debiased
from rewriter.aggregates.own_values import BOOL_AND, BOOL_OR, MAX, MIN
from rewriter.aggregates.quantile_functions import MEDIAN, MODE, PERCENTILE_CONT, PERCENTILE_DISC
from rewriter.aggregates.sums import AVG, SUM
from rewriter.declared import DOUBLE, ContributionBound, Kind, Type
from rewriter.dialects import Dialect
from rewriter.expressions import Value, both, position_of, present, word_of
from rewriter.plan import Figure
from rewriter.refused import Refused
from rewriter.regression import ComponentField, ComponentPart, RegressionField, RegressionPart
from rewriter.relations import BlockScope, condition, reports_in
from rewriter.release import Aggregate, MeasuredBy, OverBlocks, Wording
from rewriter.statement import COMPONENTS, REGRESSIONS, function_name, number_of, only, written

_SUMS_HINT = "write {}(y, ARRAY[1, x]), where the constant 1 stands for the intercept"
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
            raise Refused("this function is not answered over people", hint=_SUMS_HINT.format("LINREGR"))
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
            raise Refused(f"{written(node)} is no regressor", hint=_SUMS_HINT.format(word))
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
        raise Refused(f"{written(node)} needs no explanation", hint=_SUMS_HINT.format("LOGREGR"))
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


_FUNCTIONS: Mapping[type[exp.Expr], AggregateFunction] = {
    function.node: function
    for function in (
        COUNT,
        COUNT_IF,
        APPROX_COUNT_DISTINCT,
        SUM,
        AVG,
        MIN,
        MAX,
        MEDIAN,
        PERCENTILE_CONT,
        PERCENTILE_DISC,
        MODE,
        PERCENT_RANK,
        BOOL_OR,
        BOOL_AND,
        *MOMENT_FUNCTIONS,
        LINREGR,
        OVER_BLOCKS,
    )
}

_HINT = (
    "over people, COUNT, SUM, AVG, MIN, MAX, MEDIAN, PERCENTILE_CONT, MODE, BOOL_OR, BOOL_AND, STDDEV, VARIANCE, CORR,"
    " COVAR, REGR_*, LINREGR and LOGREGR are answered"
)
_LISTED = "values of people are not listed; use GROUP BY with COUNT(*)"
_SOMEBODY = "it would be somebody's value; MODE() WITHIN GROUP (ORDER BY x) is the most common one, MAX(y) a large one"
_IN_BLOCKS = "in blocks of people it is: dpsql.over_blocks({}(x), low => -2, high => 10)"
_ORDERED = "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) is answered; or GROUP BY x with COUNT(*)"
_INSTEAD: Mapping[type[exp.Expr], str] = {
    exp.GroupConcat: _LISTED,
    exp.ArrayAgg: _LISTED,
    exp.JSONArrayAgg: _LISTED,
    exp.JSONObjectAgg: _LISTED,
    exp.AnyValue: "it would be somebody's value; GROUP BY x names the values there are, MEDIAN(x) one in the middle",
    exp.ArgMax: _SOMEBODY,
    exp.ArgMin: _SOMEBODY,
    exp.First: _SOMEBODY,
    exp.Last: _SOMEBODY,
    exp.Kurtosis: _IN_BLOCKS.format("KURTOSIS"),
    exp.Skewness: _IN_BLOCKS.format("SKEWNESS"),
}
_LOGARITHMS = "the mean of logarithms is answered, of numbers above 0: EXP(AVG(LN(x)))"
_INSTEAD_OF_NAMES = {
    "MAD": "where values lie evenly around their middle, it is half the distance between the quartiles: "
    "(PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY x) - PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x)) / 2",
    "ENTROPY": "of a column with declared values it is answered in blocks of people: dpsql.over_blocks(ENTROPY(x))",
    "GEOMEAN": _LOGARITHMS,
    "GEOMETRIC_MEAN": _LOGARITHMS,
}
"""What is answered in the place of aggregates that the parser knows no node of."""


def function_of(node: exp.Expr) -> AggregateFunction | None:
    """The aggregate function that a node calls; None for all that is none we know."""
    return _FUNCTIONS.get(type(node))


def compile_aggregate(node: exp.Expr, scope: BlockScope, dialect: Dialect, shared: Supports | None = None) -> Aggregate:
    """Check one aggregate call; ``shared`` is what is known of others of the same rows. Raises :class:`Refused` for
    what is not an aggregate we know."""
    try:
        return _aggregate(node, scope, dialect, shared)
    except Refused as refusal:
        if refusal.position is None:
            refusal.position = position_of(node)
        raise


def _aggregate(node: exp.Expr, scope: BlockScope, dialect: Dialect, shared: Supports | None) -> Aggregate:
    if reports := reports_in(node, scope):
        return debiased(node, reports, scope, dialect, compile_aggregate, shared)
    test: Value | None = None
    text = written(node)
    if isinstance(node, exp.Filter):
        only(node, frozenset({"this", "expression"}), "FILTER")
        test = condition(node.expression.this, scope, dialect, "FILTER")
        node = node.this
    ordered = isinstance(node, exp.WithinGroup)
    function = function_of(node.this if ordered else node)
    if function is not None and function.ordered and not ordered and not function.plain:
        fraction = "" if function is MODE else "0.5"
        hint = f"write {function.word}({fraction}) WITHIN GROUP (ORDER BY x)"
        raise Refused(f"{function.word} lacks WITHIN GROUP", hint=hint, sqlstate="42809")
    if function is None or not (function.ordered if ordered else function.plain):
        hint = _ORDERED if ordered else _INSTEAD.get(type(node)) or _INSTEAD_OF_NAMES.get(_word(node), _HINT)
        raise Refused(f"{_word(node)} is not answered over people", hint=hint)
    if not ordered:
        function.check(node)
    if isinstance(node.this, exp.Distinct) and node.find(exp.MD5) is not None and not isinstance(node, exp.Count):
        raise _distinct(function.word)  # A hash of keys as a tool writes it: what it is for is what there is to say.
    return function.asked(Call(node, test, scope, dialect, text))


def check_measured(aggregate: Aggregate) -> None:
    """Refuse an aggregate over people that only one person's rows may have."""
    if aggregate.distinct and (aggregate.kind.sums or aggregate.kind.averages):
        raise _distinct(aggregate.kind.word)
    if aggregate.kind.measured_by is MeasuredBy.NOTHING:
        raise Refused(f"{aggregate.kind.word} is not answered over people", hint=_HINT)


def _distinct(word: str) -> Refused:
    return Refused(
        f"{word}(DISTINCT) is not answered beside other aggregates over people",
        hint=f"ask it apart: SELECT (SELECT {word}(DISTINCT x) FROM …), (SELECT COUNT(*) FROM …), or of groups FROM "
        f"(SELECT k, {word}(DISTINCT x) AS s … GROUP BY k) AS a JOIN (SELECT k, COUNT(*) AS n … GROUP BY k) AS b "
        f"USING (k); {word}(v) FROM (SELECT key, MAX(x) AS v … GROUP BY key) reads x once for each key of a person",
    )


def _word(node: exp.Expr) -> str:
    if isinstance(node, exp.WithinGroup):
        return _word(node.this)
    if (function := function_of(node)) is not None:
        return function.word
    if (word := word_of(node)) is not None:
        return word.upper()
    return function_name(type(node)).upper() if isinstance(node, exp.Func) else type(node).__name__.upper()
