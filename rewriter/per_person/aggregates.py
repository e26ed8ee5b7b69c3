"""The aggregates over the rows of one person: exact, within the person's own rows; people are added up later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates import FIGURES
from rewriter.columns import most_in_total
from rewriter.declared import BIGINT, DOUBLE, ContributionBound, Interval, Kind, Type, decimal
from rewriter.dialects import Dialect, double
from rewriter.expressions import IntegerRange, Value, clipped_steps, lattice
from rewriter.per_person.person_quantiles import ENDS_AND_MIDDLE, median_of_one, numbers_of_one, percentile_of_one
from rewriter.refused import Refused, Unbounded
from rewriter.relations import learned_ranges, missing_ranges
from rewriter.release import Aggregate


def per_unit(aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
    """An aggregate over the rows of one person and group, as a total value. Its ``sql`` stands beside a GROUP BY."""
    if aggregate.function in FIGURES:
        name = aggregate.text.split("(")[0]
        hint = f"ask for the {name} over people, or for AVG(x) and AVG(x * x) of each person"
        raise Refused(f"{name} of one person's rows is not answered", hint=hint)
    if aggregate.function not in _PER_UNIT:
        raise Refused(
            f"{aggregate.text} of one person's rows is not answered", hint="MIN, MAX, AVG, SUM and MEDIAN are"
        )
    return _PER_UNIT[aggregate.function](aggregate, bound, dialect)


def _filtered(node: exp.Expr, test: Value | None, dialect: Dialect) -> exp.Expr:
    return node if test is None else dialect.filtered(node, test.sql.copy())


def _unit_count(aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
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
    return Value(
        _filtered(exp.Count(this=this), aggregate.condition, dialect), BIGINT, interval, nullable=False, domain=domain
    )


def _unit_sum(aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
    argument = _argument(aggregate)
    interval = None
    if argument.interval is not None and bound.rows is not None:
        many = Interval.of(0, 0).hull(argument.interval * Interval.of(bound.rows, bound.rows))
        interval = _within_total(many.hull(argument.interval), argument)
    if _needs_lattice(argument.type):
        steps, granularity = _exact(aggregate, dialect)
        total = _scaled(_filtered(dialect.sum(steps, BIGINT), aggregate.condition, dialect), granularity, dialect)
        return Value(total, DOUBLE, interval, halves_away=argument.exact)
    total = _filtered(dialect.sum(argument.sql.copy(), argument.type), aggregate.condition, dialect)
    if argument.type.kind is Kind.DECIMAL:
        wide = decimal(38, argument.type.scale)
        return Value(dialect.try_cast(total, wide), wide, interval)
    return Value(dialect.try_cast(total, BIGINT), BIGINT, interval)


def _within_total(interval: Interval, argument: Value) -> Interval:
    """Where a person's sum lies by the owner's word about totals."""
    most = most_in_total(argument.sql)
    if most is None or most < interval.low or -most > interval.high:
        return interval
    return Interval(max(interval.low, -most), min(interval.high, most))


def _unit_avg(aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
    argument = _argument(aggregate)
    if _needs_lattice(argument.type):
        steps, granularity = _exact(aggregate, dialect)
        total = _scaled(_filtered(dialect.sum(steps, BIGINT), aggregate.condition, dialect), granularity, dialect)
    else:
        total = dialect.cast(
            _filtered(dialect.sum(argument.sql.copy(), argument.type), aggregate.condition, dialect), DOUBLE
        )
    count = _filtered(exp.Count(this=argument.sql.copy()), aggregate.condition, dialect)
    # A person without a value: the sum is NULL then, and so is the quotient, before anything is divided by 0.
    mean = exp.Paren(this=dialect.divide(total, dialect.cast(count, DOUBLE)))
    return Value(mean, DOUBLE, argument.interval, halves_away=argument.exact)


def _scaled(steps: exp.Expr, granularity: Fraction, dialect: Dialect) -> exp.Expr:
    return exp.Paren(this=exp.Mul(this=dialect.cast(steps, DOUBLE), expression=double(float(granularity))))


def _needs_lattice(kind: Type) -> bool:
    """Doubles add up to different bits in different orders, and very wide numbers can overflow; steps do neither."""
    return kind.kind is Kind.DOUBLE or kind.bits > 64 or kind.precision > 24


def _exact(aggregate: Aggregate, dialect: Dialect) -> tuple[exp.Expr, Fraction]:
    argument = _argument(aggregate)
    if argument.interval is None:
        raise Unbounded(
            f"{aggregate.text} per person adds numbers without a declared range",
            hint="declare a range for the column in the policy",
            missing=missing_ranges(argument.sql),
        )
    granularity = lattice(argument.type, argument.interval, learned=learned_ranges(argument.sql))
    return clipped_steps(argument, argument.interval, granularity, dialect), granularity


def _argument(aggregate: Aggregate) -> Value:
    if aggregate.argument is None:
        raise AssertionError("SUM, AVG, MIN and MAX have an argument")
    return aggregate.argument


def _unit_quantile(aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
    """A quantile of one person's values: picked from them, or by the engine between two of them."""
    if aggregate.function is exp.PercentileDisc:
        return percentile_of_one(aggregate, dialect)
    if _fraction_of(aggregate) in ENDS_AND_MIDDLE:
        return median_of_one(aggregate, dialect)
    argument = numbers_of_one(aggregate)
    if argument.interval is None or argument.interval.magnitude > 2**500:
        raise Unbounded(
            f"{aggregate.text} per person needs a declared range",
            hint="declare a range for the column in the policy",
            missing=missing_ranges(argument.sql),
        )
    value = dialect.cast(argument.sql.copy(), DOUBLE)
    if aggregate.condition is not None:
        value = exp.Case(ifs=[exp.If(this=aggregate.condition.sql.copy(), true=value)])
    between = dialect.percentile_between(value, float(_fraction_of(aggregate)))
    return Value(between, DOUBLE, argument.interval)


def _fraction_of(aggregate: Aggregate) -> Fraction:
    if aggregate.fraction is None:
        raise AssertionError("a quantile has a fraction")
    return aggregate.fraction


def _unit_same(aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
    argument = _argument(aggregate)
    sql = _filtered(aggregate.function(this=argument.sql.copy()), aggregate.condition, dialect)
    one = argument.carried_by(sql)
    return replace(one, nullable=True, constant=False, unit=False, identifies=False, domain=None)


_PER_UNIT: dict[type[exp.Expr], Callable[[Aggregate, ContributionBound, Dialect], Value]] = {
    exp.Count: _unit_count,
    exp.Sum: _unit_sum,
    exp.Avg: _unit_avg,
    exp.Median: _unit_quantile,
    exp.PercentileCont: _unit_quantile,
    exp.PercentileDisc: _unit_quantile,
    exp.Min: _unit_same,
    exp.Max: _unit_same,
    exp.LogicalOr: _unit_same,
    exp.LogicalAnd: _unit_same,
}
