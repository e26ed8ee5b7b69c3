"""COUNT, COUNT_IF and APPROX_COUNT_DISTINCT.

COUNT in all its spellings becomes one thing, the number of rows that satisfy a condition, so that the planner sees
which counts overlap: COUNT(x) counts ``x IS NOT NULL``, ``SUM(CASE WHEN p THEN 1 ELSE 0 END)`` and ``COUNT_IF(p)``
count p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.declared import BIGINT, ContributionBound, Interval, Kind, Type
from rewriter.dialects import Dialect
from rewriter.expressions import IntegerRange, Value, both, present, typed
from rewriter.refused import TYPE_MISMATCH, Refused
from rewriter.release import Aggregate, MeasuredBy, Wording
from rewriter.statement import only


@dataclass(frozen=True, slots=True)
class Count(AggregateFunction):
    """COUNT(*), COUNT(x), COUNT(DISTINCT x)."""

    def asked(self, call: Call) -> Aggregate:
        argument = call.argument
        if isinstance(argument, exp.Star):
            only(argument, frozenset(), "COUNT(*)")
            return Aggregate(COUNT, None, call.test, False, call.wording)
        if isinstance(argument, exp.Distinct):
            return distinct(argument, call)
        if isinstance(argument, exp.Case) and (counted := _counted(argument)) is not None:
            return count_where(counted, call)
        if _is_nested(argument, call):
            return count_where(exp.Not(this=exp.Is(this=argument, expression=exp.Null())), call)
        value = call.value(argument)
        return Aggregate(COUNT, value if value.nullable else None, call.test, False, call.wording)

    def output_type(self, aggregate: Aggregate) -> Type:
        return BIGINT

    def of_one_person(self, aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
        argument = aggregate.argument
        this: exp.Expr = exp.Star() if argument is None else argument.sql.copy()
        if aggregate.row:
            this = exp.Tuple(expressions=[value.sql.copy() for value in aggregate.row])
        if aggregate.distinct:
            this = exp.Distinct(expressions=[this])
        low = 1 if argument is None and aggregate.condition is None else 0
        interval = None if bound.rows is None else Interval.of(low, bound.rows)
        # What was learned says where to clip, not which counts there are.
        domain = None if bound.rows is None or bound.undeclared else IntegerRange(low, bound.rows)
        counted = aggregate.filtered(exp.Count(this=this), dialect)
        return Value(counted, BIGINT, interval, nullable=False, constant=False, domain=domain)


@dataclass(frozen=True, slots=True)
class CountIf(Count):
    """COUNT_IF(p)."""

    def asked(self, call: Call) -> Aggregate:
        return count_where(call.argument, call)


@dataclass(frozen=True, slots=True)
class ApproximateCount(Count):
    """APPROX_COUNT_DISTINCT(x): noise hides what an approximation would save."""

    def asked(self, call: Call) -> Aggregate:
        return distinct(exp.Distinct(expressions=[call.argument]), call)


COUNT = Count("COUNT", exp.Count, MeasuredBy.COUNT, in_windows=True)
COUNT_IF = CountIf("COUNT_IF", exp.CountIf, MeasuredBy.COUNT, in_windows=True)
APPROX_COUNT_DISTINCT = ApproximateCount("APPROX_COUNT_DISTINCT", exp.ApproxDistinct, MeasuredBy.COUNT)

COUNT_OF_ROWS = Aggregate(COUNT, None, None, False, Wording("COUNT(*)", ("*",)))


def distinct(node: exp.Distinct, call: Call) -> Aggregate:
    only(node, frozenset({"expressions"}), "DISTINCT")
    test, listed, row = call.test, node.expressions, _row(node.expressions)
    values = tuple(typed(call.value(one), call.dialect) for one in (listed if row is None else row))
    for value in values:
        if value.type.kind is Kind.INTERVAL:
            raise Refused("spans of time are not counted", hint="count the dates", sqlstate=TYPE_MISMATCH)
    if row is None and len(values) == 1:
        return Aggregate(COUNT, values[0], test, True, call.wording)
    if row is None:
        # Values side by side count where none of them is NULL, as where there is one of them; a row always does.
        for value in values:
            test = both(test, present(value))
    return Aggregate(COUNT, None, test, True, call.wording, row=values)


def _row(listed: Sequence[exp.Expr]) -> Sequence[exp.Expr] | None:
    """The values of (a, b) or ROW(a, b), where that is all that is listed."""
    one = listed[0]
    is_row = isinstance(one, exp.Tuple) or (isinstance(one, exp.Anonymous) and one.name.upper() == "ROW")
    return one.expressions if len(listed) == 1 and is_row and one.expressions else None


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


def _is_nested(argument: exp.Expr, call: Call) -> bool:
    """Whether it is a document or a list, of which is only known whether it is there."""
    return isinstance(argument, exp.Column) and call.scope.column(argument).type.nested


def count_where(where: exp.Expr, call: Call) -> Aggregate:
    """The number of rows on which a condition is true."""
    return Aggregate(COUNT, None, both(call.test, call.condition(where, "a count")), False, call.wording)


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
