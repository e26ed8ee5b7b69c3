"""Aggregates and window functions above releases, each one object: over released numbers, and public ones."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.declared import Kind
from rewriter.dialects import call
from rewriter.outer import provenance_rules as rules
from rewriter.outer.construct import ORDINARY, Construct, OuterFunction, Spelling, Trait
from rewriter.outer.json_values import COPIES, json_key, json_value
from rewriter.outer.numbers import put_under
from rewriter.outer.printed_texts import check_list
from rewriter.refused import NO_FUNCTION, Refused
from rewriter.statement import function_name

# Checks


def _check_percentile(node: exp.Expr) -> None:
    literal = node.this
    if not isinstance(literal, exp.Literal) or literal.is_string or not isinstance(node.parent, exp.WithinGroup):
        raise Refused(
            "a percentile needs a fraction and an order",
            hint="write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
            sqlstate="42883",
        )


def _check_mode(node: exp.Expr) -> None:
    if not isinstance(node.parent, exp.WithinGroup):
        raise Refused("MODE needs an order", hint="write MODE() WITHIN GROUP (ORDER BY x)", sqlstate="42883")


def _check_delimiter(node: exp.Expr) -> None:
    if node.args.get("separator") is None:
        raise Refused("STRING_AGG needs a delimiter", hint="write STRING_AGG(x, ', ')", sqlstate=NO_FUNCTION)


def _check_within(node: exp.Expr) -> None:
    order = node.args.get("expression")
    if type(node.this) not in _ORDERED_SETS or not isinstance(order, exp.Order) or len(order.expressions) != 1:
        raise Refused("WITHIN GROUP goes with PERCENTILE_CONT, PERCENTILE_DISC and MODE", hint="order by one column")


# Spellings


def _widened(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """PostgreSQL's SUM of integers is BIGINT, of BIGINT it is NUMERIC; DuckDB's is always HUGEINT."""
    type_ = spelling.summed.get(id(node))
    if type_ is not None and type_.kind is Kind.INTEGER:
        to = exp.DataType.build("bigint" if type_.bits <= 32 else "decimal(38, 0)")
        put_under(_whole_call(node), exp.Cast(this=exp.Null(), to=to))
    return node


def _null_for_nan(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """NULL where there is no variance; DuckDB says NaN."""
    nothing = exp.Cast(this=exp.Literal.string("nan"), to=exp.DataType.build("double"))
    put_under(_whole_call(node), exp.Nullif(this=exp.Null(), expression=nothing))
    return node


def _whole_call(node: exp.Expr) -> exp.Expr:
    """An aggregate with its FILTER and OVER."""
    while isinstance(node.parent, exp.Filter | exp.Window) and node.parent.this is node:
        node = node.parent
    return node


def _mode(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """MODE() WITHIN GROUP (ORDER BY x) is MODE(x ORDER BY x): of several values as common, the first in this order."""
    within = node.parent
    if isinstance(within, exp.WithinGroup):
        ordered = within.expression.expressions[0]
        within.replace(exp.Mode(this=exp.Order(this=ordered.this.copy(), expressions=[ordered])))
    return node


def _json_object(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    key, value = node.expressions
    return call("JSON_GROUP_OBJECT", json_key(key, spelling), json_value(value, spelling))


def _in_doubles(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """PERCENTILE_CONT computes in doubles."""
    if isinstance(node.parent, exp.WithinGroup):
        ordered = node.parent.expression.expressions[0]
        ordered.set("this", exp.Cast(this=ordered.this.copy(), to=exp.DataType.build("double")))
    return node


def _every(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return exp.LogicalAnd(this=node.expressions[0])


def of_any_row(number: exp.Expr) -> exp.Expr:
    """The number of one of the rows that are aggregated."""
    return exp.Min(this=number)


# The table


def _aggregate(node: type[exp.Func], examples: str, construct: Construct = ORDINARY) -> OuterFunction:
    return OuterFunction((function_name(node),), node, tuple(examples.split("; ")), construct)


def _of_two(node: type[exp.Func], construct: Construct = ORDINARY) -> OuterFunction:
    return _aggregate(node, f"{function_name(node)}(x, i)", construct)


def _window(node: type[exp.Func], arguments: str = "", construct: Construct = ORDINARY) -> OuterFunction:
    return _aggregate(node, f"{function_name(node)}({arguments}) OVER (ORDER BY i)", construct)


_NEVER_NEGATIVE = Construct(nonnegative=rules.always)
_TRUTH = Construct(traits=Trait.TRUTH)
_ONE_OF_ITS_VALUES = Construct(nonnegative=rules.of_first)
_PICKED = Construct(nonnegative=rules.of_all, traits=Trait.PICK)

AGGREGATES: Sequence[OuterFunction] = (
    _aggregate(exp.Count, "COUNT(*); COUNT(DISTINCT t)", _NEVER_NEGATIVE),
    _aggregate(
        exp.Sum,
        "SUM(b); SUM(i) FILTER (WHERE i > 0); SUM(x) OVER (ORDER BY i)",
        Construct(nonnegative=rules.of_first, spelling=_widened, traits=Trait.SUM),
    ),
    _aggregate(exp.Avg, "AVG(x)", Construct(nonnegative=rules.of_first, traits=Trait.MEAN | Trait.DIVIDED)),
    _aggregate(exp.Min, "MIN(i)", _ONE_OF_ITS_VALUES),
    _aggregate(exp.Max, "MAX(t)", _ONE_OF_ITS_VALUES),
    _aggregate(exp.Stddev, "STDDEV(x)", _NEVER_NEGATIVE),
    _aggregate(exp.StddevSamp, "STDDEV_SAMP(x)", _NEVER_NEGATIVE),
    _aggregate(exp.StddevPop, "STDDEV_POP(x)", _NEVER_NEGATIVE),
    _aggregate(exp.Variance, "VARIANCE(x)", _NEVER_NEGATIVE),
    _aggregate(exp.VariancePop, "VAR_POP(x)", _NEVER_NEGATIVE),
    _of_two(exp.Corr, Construct(spelling=_null_for_nan)),
    _of_two(exp.CovarPop),
    _of_two(exp.CovarSamp),
    _of_two(exp.RegrSlope, Construct(spelling=_null_for_nan)),
    _of_two(exp.RegrIntercept, Construct(spelling=_null_for_nan)),
    _of_two(exp.RegrR2, Construct(spelling=_null_for_nan, nonnegative=rules.always)),
    _of_two(exp.RegrCount, _NEVER_NEGATIVE),
    _of_two(exp.RegrAvgx),
    _of_two(exp.RegrAvgy),
    _of_two(exp.RegrSxx),
    _of_two(exp.RegrSxy),
    _of_two(exp.RegrSyy),
    _aggregate(exp.GroupConcat, "STRING_AGG(t, ',')", Construct(check=_check_delimiter)),
    _aggregate(
        exp.ArrayAgg,
        "ARRAY_AGG(i ORDER BY t); ARRAY_AGG(i) FILTER (WHERE i > 0)",
        Construct(frozenset({"this"}), check_list, traits=Trait.LIST),
    ),
    _aggregate(
        exp.JSONObjectAgg,
        "JSON_OBJECT_AGG(t, i)",
        Construct(
            frozenset({"expressions"}), spelling=_json_object, repeated=frozenset({"expressions"}), copies=COPIES
        ),
    ),
    _aggregate(exp.LogicalAnd, "BOOL_AND(i > 0)", _TRUTH),
    _aggregate(exp.LogicalOr, "BOOL_OR(i > 0)", _TRUTH),
    OuterFunction(("every",), exp.Anonymous, ("EVERY(i > 0)",), Construct(spelling=_every), arguments=1),
    _aggregate(exp.BitwiseAndAgg, "BIT_AND(i)"),
    _aggregate(exp.BitwiseOrAgg, "BIT_OR(i)"),
    _aggregate(exp.BitwiseXorAgg, "BIT_XOR(i)"),
    _aggregate(exp.AnyValue, "ANY_VALUE(i)"),
    _aggregate(exp.Median, "MEDIAN(x)"),
    _aggregate(
        exp.Mode,
        "MODE() WITHIN GROUP (ORDER BY i)",
        Construct(frozenset(), _check_mode, spelling=_mode, traits=Trait.ORDERED_SET),
    ),
    _aggregate(
        exp.PercentileCont,
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY i)",
        Construct(check=_check_percentile, spelling=_in_doubles, traits=Trait.ORDERED_SET),
    ),
    _aggregate(
        exp.PercentileDisc,
        "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY i)",
        Construct(check=_check_percentile, traits=Trait.ORDERED_SET),
    ),
    _aggregate(exp.Grouping, "GROUPING(t)"),
    # windows alone
    _window(exp.RowNumber, construct=_NEVER_NEGATIVE),
    _window(exp.Rank, construct=_NEVER_NEGATIVE),
    _window(exp.DenseRank, construct=_NEVER_NEGATIVE),
    _window(exp.PercentRank),
    _window(exp.CumeDist),
    _window(exp.Ntile, "2", Construct(traits=Trait.FROM_ONE)),
    _window(exp.Lag, "i, 1", _PICKED),
    _window(exp.Lead, "x", _PICKED),
    _window(exp.FirstValue, "t", _PICKED),
    _window(exp.LastValue, "t", _PICKED),
    _window(exp.NthValue, "t, 2", _PICKED),
)

_ORDERED_SETS = frozenset(one.node for one in AGGREGATES if one.construct.traits & Trait.ORDERED_SET)

WITHIN_GROUP = Construct(check=_check_within)
"""The clause that ordered sets are called with."""
