"""The aggregates over people: how each is checked.

COUNT in all its spellings becomes one thing, the number of rows that satisfy a condition, so that the planner sees
which counts overlap: COUNT(x) counts ``x IS NOT NULL``, ``SUM(CASE WHEN p THEN 1 ELSE 0 END)`` and ``COUNT_IF(p)``
count p.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.figures import FIGURES
from rewriter.declared import Kind
from rewriter.dialects import Dialect
from rewriter.expressions import Value, both, compile_expression, present
from rewriter.keys import mode
from rewriter.refused import TYPE_MISMATCH, Refused
from rewriter.relations import BlockScope, condition
from rewriter.release import Aggregate
from rewriter.statement import only, written

_HINT = (
    "over people, COUNT, SUM, AVG, MIN, MAX, MEDIAN, PERCENTILE_CONT, MODE, BOOL_OR, BOOL_AND, STDDEV, VARIANCE, CORR,"
    " COVAR and REGR_* are answered"
)
_LISTED = "values of people are not listed; use GROUP BY with COUNT(*)"
_SOMEBODY = "it would be somebody's value; MODE() WITHIN GROUP (ORDER BY x) is the most common one, MAX(y) a large one"
_SHAPE = "VARIANCE(x) and quantiles, PERCENTILE_CONT(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY x), tell its shape"
_INSTEAD: dict[type[exp.Expr], str] = {
    exp.WithinGroup: "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) is answered; or GROUP BY x with COUNT(*)",
    exp.GroupConcat: _LISTED,
    exp.ArrayAgg: _LISTED,
    exp.JSONArrayAgg: _LISTED,
    exp.JSONObjectAgg: _LISTED,
    exp.AnyValue: "it would be somebody's value; GROUP BY x names the values there are, MEDIAN(x) one in the middle",
    exp.ArgMax: _SOMEBODY,
    exp.ArgMin: _SOMEBODY,
    exp.First: _SOMEBODY,
    exp.Last: _SOMEBODY,
    exp.Kurtosis: _SHAPE,
    exp.Skewness: _SHAPE,
}


def compile_aggregate(node: exp.Expr, scope: BlockScope, dialect: Dialect) -> Aggregate:
    """Check one aggregate call. Raises :class:`Refused` for what is not an aggregate we know."""
    test: Value | None = None
    text = written(node)
    if isinstance(node, exp.Filter):
        only(node, frozenset({"this", "expression"}), "FILTER")
        test = condition(node.expression.this, scope, dialect, "FILTER")
        node = node.this
    compile_ = _COMPILE.get(type(node))
    if compile_ is None:
        hint = _INSTEAD.get(type(node), _HINT)
        raise Refused(f"{_word(node)} is not answered over people", hint=hint)
    if not isinstance(node, exp.WithinGroup):
        only(node, _PARTS | {"expression"} if type(node) in _OF_TWO else _PARTS, _word(node))
    if type(node) in _OF_TWO and (node.this is None or node.args.get("expression") is None):
        raise Refused(f"{_word(node)} needs two arguments", hint=f"write {_word(node)}(y, x)", sqlstate="42883")
    if node.this is None:
        raise Refused(f"{_word(node)} needs an argument", hint=f"write {_word(node)}(x), or COUNT(*)", sqlstate="42883")
    return compile_(node, test, scope, dialect, text)


_PARTS = frozenset({"this", "big_int"})

_WORDS: dict[type[exp.Expr], str] = {
    exp.GroupConcat: "STRING_AGG",
    exp.LogicalOr: "BOOL_OR",
    exp.LogicalAnd: "BOOL_AND",
    exp.ApproxDistinct: "APPROX_COUNT_DISTINCT",
    exp.PercentileCont: "PERCENTILE_CONT",
    exp.PercentileDisc: "PERCENTILE_DISC",
    exp.VariancePop: "VAR_POP",
    exp.JSONArrayAgg: "JSON_AGG",
    exp.JSONObjectAgg: "JSON_OBJECT_AGG",
    exp.BitwiseAndAgg: "BIT_AND",
    exp.BitwiseOrAgg: "BIT_OR",
    exp.BitwiseXorAgg: "BIT_XOR",
}


def _word(node: exp.Expr) -> str:
    if isinstance(node, exp.WithinGroup):
        return _word(node.this)
    if type(node) in _WORDS:
        return _WORDS[type(node)]
    return node.sql_name() if isinstance(node, exp.Func) else type(node).__name__.upper()


def _count(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    argument = node.this
    if isinstance(argument, exp.Star):
        only(argument, frozenset(), "COUNT(*)")
        return Aggregate(exp.Count, None, test, False, text)
    if isinstance(argument, exp.Distinct):
        return _count_distinct(argument, test, scope, dialect, text)
    if isinstance(argument, exp.Case) and (counted := _counted(argument)) is not None:
        return _count_where(counted, test, scope, dialect, text)
    value = compile_expression(argument, scope, dialect)
    return Aggregate(exp.Count, value if value.nullable else None, test, False, text)


def _count_distinct(
    node: exp.Distinct, test: Value | None, scope: BlockScope, dialect: Dialect, text: str
) -> Aggregate:
    only(node, frozenset({"expressions"}), "DISTINCT")
    listed, row = node.expressions, _row(node.expressions)
    values = tuple(compile_expression(one, scope, dialect) for one in (listed if row is None else row))
    for value in values:
        if value.type.kind is Kind.INTERVAL:
            raise Refused("spans of time are not counted", hint="count the dates", sqlstate=TYPE_MISMATCH)
    if row is None and len(values) == 1:
        return Aggregate(exp.Count, values[0], test, True, text)
    if row is None:
        # Values side by side count where none of them is NULL, as where there is one of them; a row always does.
        for value in values:
            test = both(test, present(value))
    return Aggregate(exp.Count, None, test, True, text, row=values)


def _row(listed: Sequence[exp.Expr]) -> Sequence[exp.Expr] | None:
    """The values of (a, b) or ROW(a, b), where that is all that is listed."""
    one = listed[0]
    is_row = isinstance(one, exp.Tuple) or (isinstance(one, exp.Anonymous) and one.name.upper() == "ROW")
    return one.expressions if len(listed) == 1 and is_row and one.expressions else None


def _approximate(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    return _count_distinct(exp.Distinct(expressions=[node.this]), test, scope, dialect, text)


def _counted(case: exp.Case) -> exp.Expr | None:
    """The condition p of CASE WHEN p THEN constant END or CASE WHEN p THEN 1 ELSE NULL END."""
    ifs = case.args.get("ifs") or []
    default = case.args.get("default")
    if case.this is not None or len(ifs) != 1 or not isinstance(ifs[0].args["true"], exp.Literal):
        return None
    if default is not None and not isinstance(default, exp.Null):
        return None
    condition: exp.Expr = ifs[0].this
    return condition


def _count_where(where: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    counted = condition(where, scope, dialect, "a count")
    return Aggregate(exp.Count, None, both(test, counted), False, text)


def _count_if(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    return _count_where(node.this, test, scope, dialect, text)


def _sum(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    argument = node.this
    counted: Aggregate | None = None
    if isinstance(argument, exp.Literal) and argument.this == "1" and not argument.is_string:
        counted = Aggregate(exp.Count, None, test, False, text)
    elif isinstance(argument, exp.Case) and (where := one_or_zero(argument)) is not None:
        counted = _count_where(where, test, scope, dialect, text)
    if counted is not None and test is None and _is_never_null(argument):
        return counted
    value = _number(argument, scope, dialect, "SUM")
    if counted is not None:
        # Of a person without such a row it is NULL; over people, where a sum of nothing is 0, it is the count.
        return Aggregate(exp.Sum, value, test, False, text, counted)
    return Aggregate(exp.Sum, value, test, False, text, _within(node, test, scope, dialect))


def _is_never_null(argument: exp.Expr) -> bool:
    """Whether every row adds a number: 1, or CASE … ELSE 0."""
    return not isinstance(argument, exp.Case) or isinstance(argument.args.get("default"), exp.Literal)


def _within(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect) -> Aggregate | None:
    """SUM(x) FILTER (WHERE p) for SUM(CASE WHEN p THEN x [ELSE 0] END), AVG(x) for AVG of it without ELSE.

    Where no row satisfies p, the sum is 0 and not NULL: over people it is 0 in any case, for one person it is not.
    """
    case = node.this
    if not isinstance(case, exp.Case) or case.this is not None or len(case.args.get("ifs") or []) != 1:
        return None
    default = case.args.get("default")
    is_zero = isinstance(default, exp.Literal) and not default.is_string and default.this == "0"
    if not (default is None or isinstance(default, exp.Null) or (is_zero and isinstance(node, exp.Sum))):
        return None
    branch = case.args["ifs"][0]
    inner = compile_expression(branch.args["true"], scope, dialect)
    if not inner.type.numeric:
        return None
    where = both(test, condition(branch.this, scope, dialect, "CASE"))
    around = node.parent
    filtered = f" FILTER(WHERE {written(around.expression.this)})" if isinstance(around, exp.Filter) else ""
    spelt = f"{_word(node)}({written(branch.args['true'])}) FILTER(WHERE {written(branch.this)}){filtered}"
    return Aggregate(type(node), inner, where, False, spelt)


def one_or_zero(case: exp.Case) -> exp.Expr | None:
    """The condition p of CASE WHEN p THEN 1 [ELSE 0 | NULL] END."""
    ifs = case.args.get("ifs") or []
    default = case.args.get("default")
    if case.this is not None or len(ifs) != 1:
        return None
    then = ifs[0].args["true"]
    is_one = isinstance(then, exp.Literal) and not then.is_string and then.this == "1"
    is_zero = (
        default is None
        or isinstance(default, exp.Null)
        or (isinstance(default, exp.Literal) and not default.is_string and default.this == "0")
    )
    condition: exp.Expr = ifs[0].this
    return condition if is_one and is_zero else None


def _avg(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    value = _number(node.this, scope, dialect, "AVG")
    return Aggregate(exp.Avg, value, test, False, text, _within(node, test, scope, dialect))


def _moment(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    value = _number(node.this, scope, dialect, _word(node))
    return Aggregate(type(node), value, test, False, text, _within(node, test, scope, dialect))


def _moment_of_two(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    """Of (y, x), over the rows that have both. What is of one of them alone is that aggregate of these rows."""
    y, x = (_number(part, scope, dialect, _word(node)) for part in (node.this, node.expression))
    if type(node) not in _OF_ONE_OF_TWO:
        return Aggregate(type(node), y, test, False, text, second=x)
    function, subject = _OF_ONE_OF_TWO[type(node)]
    names = written(node.this), written(node.expression)
    kept, other = (0, 1) if subject == "y" else (1, 0)
    value = (y, x)[kept]
    test = both(test, present((y, x)[other]))
    if function is exp.Count:
        return Aggregate(exp.Count, None, both(test, present(value)), False, text)
    spelt = f"{_word(node)}({names[kept]})"
    within = Aggregate(function, value, test, False, spelt)
    return replace(within, text=text, within=within)


_OF_ONE_OF_TWO: dict[type[exp.Expr], tuple[type[exp.Expr], str]] = {
    exp.RegrCount: (exp.Count, ""),
    exp.RegrAvgx: (exp.Avg, "x"),
    exp.RegrAvgy: (exp.Avg, "y"),
    exp.RegrSxx: (exp.RegrSxx, "x"),
    exp.RegrSyy: (exp.RegrSyy, "y"),
}

_OF_TWO = frozenset(_OF_ONE_OF_TWO) | {function for function, figure in FIGURES.items() if figure.degrees[1]}


def _number(node: exp.Expr, scope: BlockScope, dialect: Dialect, word: str) -> Value:
    if isinstance(node, exp.Distinct):
        raise Refused(f"{word}(DISTINCT) is not answered over people", hint=f"use {word}(x)")
    value = compile_expression(node, scope, dialect)
    if not value.type.numeric:
        raise Refused(f"{word} needs a number, not a {value.type}", hint="cast it", sqlstate=TYPE_MISMATCH)
    return value


def _extreme(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    if isinstance(node.this, exp.Distinct):
        raise Refused("DISTINCT changes nothing here", hint="leave DISTINCT out")
    fraction = Fraction(0 if isinstance(node, exp.Min) else 1)
    return Aggregate(type(node), compile_expression(node.this, scope, dialect), test, False, text, fraction=fraction)


def _logical(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    return Aggregate(type(node), condition(node.this, scope, dialect, _word(node)), test, False, text)


def _median(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    if isinstance(node.this, exp.Distinct):
        raise Refused("MEDIAN(DISTINCT) is not answered over people", hint="use MEDIAN(x)")
    value = compile_expression(node.this, scope, dialect)
    return Aggregate(exp.Median, value, test, False, text, fraction=Fraction(1, 2))


def _percentile(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    """PERCENTILE_CONT(q) or PERCENTILE_DISC(q) WITHIN GROUP (ORDER BY x [DESC])."""
    if type(node.this) is exp.Mode:
        return _ordered_mode(node, test, scope, dialect, text)
    if type(node.this) not in (exp.PercentileCont, exp.PercentileDisc):
        raise Refused(f"{_word(node)} is not answered over people", hint=_INSTEAD[exp.WithinGroup])
    only(node, frozenset({"this", "expression"}), _word(node))
    only(node.this, frozenset({"this"}), _word(node))
    order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if len(order) != 1 or order[0].args.get("with_fill"):
        raise Refused("a percentile needs one order", hint="write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)")
    fraction = _fraction(node.this.this)
    value = compile_expression(order[0].this, scope, dialect)
    down = bool(order[0].args.get("desc"))
    fraction = 1 - fraction if down else fraction
    return Aggregate(type(node.this), value, test, False, text, fraction=fraction, descending=down)


def _ordered_mode(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    """MODE() WITHIN GROUP (ORDER BY x)."""
    only(node, frozenset({"this", "expression"}), "MODE")
    only(node.this, frozenset(), "MODE")
    order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if len(order) != 1 or order[0].args.get("with_fill"):
        raise Refused("MODE needs one order", hint="write MODE() WITHIN GROUP (ORDER BY x)")
    return mode(compile_expression(order[0].this, scope, dialect), test, text, dialect)


def _mode(node: exp.Expr, test: Value | None, scope: BlockScope, dialect: Dialect, text: str) -> Aggregate:
    if isinstance(node.this, exp.Distinct):
        raise Refused("of distinct values none is the most common", hint="use MODE() WITHIN GROUP (ORDER BY x)")
    return mode(compile_expression(node.this, scope, dialect), test, text, dialect)


_MOST_PARTS = 10**6


def _fraction(node: exp.Expr) -> Fraction:
    """The literal fraction of a percentile, from 0 to 1."""
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    if isinstance(node, exp.Array | exp.Tuple):
        raise Refused(
            "a percentile of several fractions at once is not answered",
            hint="write one PERCENTILE_CONT(…) WITHIN GROUP (ORDER BY x) for each: they are read together",
        )
    if not isinstance(node, exp.Literal):
        raise Refused("a percentile needs a literal fraction", hint="write PERCENTILE_CONT(0.5)")
    try:
        fraction = Fraction(node.this)
    except (ValueError, ZeroDivisionError):
        raise Refused("a percentile needs a fraction", hint="write PERCENTILE_CONT(0.5)", sqlstate="22P02") from None
    if not 0 <= fraction <= 1:
        raise Refused("a percentile's fraction is from 0 to 1", hint="write PERCENTILE_CONT(0.5)", sqlstate="22003")
    if fraction.denominator > _MOST_PARTS:
        raise Refused("a percentile's fraction has at most six digits", hint="write PERCENTILE_CONT(0.5)")
    return fraction


_COMPILE: dict[type[exp.Expr], Callable[[exp.Expr, Value | None, BlockScope, Dialect, str], Aggregate]] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.ApproxDistinct: _approximate,
    exp.Sum: _sum,
    exp.Avg: _avg,
    exp.Min: _extreme,
    exp.Max: _extreme,
    exp.Median: _median,
    exp.WithinGroup: _percentile,
    exp.Mode: _mode,
    exp.LogicalOr: _logical,
    exp.LogicalAnd: _logical,
}
_COMPILE |= {function: _moment_of_two if function in _OF_TWO else _moment for function in (*FIGURES, *_OF_TWO)}

PICKED = frozenset({exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Mode, exp.Min, exp.Max})
"""Of which a value is picked, see :mod:`rewriter.bound.ranks`."""

MEASURED = frozenset({exp.Count, exp.Sum, exp.Avg, *FIGURES}) | PICKED
"""What can be measured over people; the others are for one person's rows only."""


def check_measured(aggregate: Aggregate) -> None:
    """Refuse an aggregate over people that only one person's rows may have."""
    if aggregate.function not in MEASURED:
        name = _WORDS.get(aggregate.function, aggregate.function.__name__.upper())
        raise Refused(f"{name} is not answered over people", hint=_INSTEAD.get(aggregate.function, _HINT))
