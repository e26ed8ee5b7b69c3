"""The aggregates over people, one line each, and what is said of those that are not answered."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.aggregates.counts import APPROX_COUNT_DISTINCT, COUNT, COUNT_IF
from rewriter.aggregates.debiased_calls import Supports, debiased
from rewriter.aggregates.hypothetical import PERCENT_RANK
from rewriter.aggregates.moment_functions import MOMENT_FUNCTIONS
from rewriter.aggregates.over_blocks import OVER_BLOCKS
from rewriter.aggregates.own_values import BOOL_AND, BOOL_OR, MAX, MIN
from rewriter.aggregates.quantile_functions import MEDIAN, MODE, PERCENTILE_CONT, PERCENTILE_DISC
from rewriter.aggregates.regressions import LINREGR
from rewriter.aggregates.sums import AVG, SUM
from rewriter.dialects import Dialect
from rewriter.expressions import Value, position_of, word_of
from rewriter.refused import Refused
from rewriter.relations import BlockScope, condition, reports_in
from rewriter.release import Aggregate, MeasuredBy
from rewriter.statement import function_name, only, written

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
        hint = _ORDERED if ordered else _INSTEAD.get(type(node), _HINT)
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
        f"{word}(DISTINCT) is not answered over people",
        hint=f"{word}(v) FROM (SELECT key, MAX(x) AS v … GROUP BY key) reads x once for each key of a person; "
        f"{word}(DISTINCT x) with GROUP BY the person is answered, and over people COUNT(DISTINCT x), or {word}(x)",
    )


def _word(node: exp.Expr) -> str:
    if isinstance(node, exp.WithinGroup):
        return _word(node.this)
    if (function := function_of(node)) is not None:
        return function.word
    if (word := word_of(node)) is not None:
        return word.upper()
    return function_name(type(node)).upper() if isinstance(node, exp.Func) else type(node).__name__.upper()
