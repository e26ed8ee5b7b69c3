"""SUM and AVG.

Of one person's rows they are the engine's own numbers, since rows may be compared with them: nothing is clipped, and
nothing is rounded to a lattice, before what a row or a person adds to a measured sum. Doubles are added in the order of
their values, or else the engine's order of rows, which other people have a part in, would decide the last bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call, NumberFunction
from rewriter.aggregates.counts import COUNT, count_where, one_or_zero
from rewriter.columns import most_in_total
from rewriter.declared import BIGINT, DOUBLE, ContributionBound, Interval, Kind, Type, decimal
from rewriter.dialects import Dialect, double, when, wrap
from rewriter.expressions import Value, clipped_steps, lattice, limits_of
from rewriter.refused import Unbounded
from rewriter.relations import learned_ranges, missing_ranges
from rewriter.release import Aggregate, MeasuredBy

_TWO_INTEGERS = 1 << 62


@dataclass(frozen=True, slots=True)
class Sum(AggregateFunction):
    """SUM(x); of 1 where p holds and 0 elsewhere, it is a count."""

    def asked(self, call: Call) -> Aggregate:
        argument = call.argument
        counted: Aggregate | None = None
        if call.is_distinct:
            return call.of_distinct(self)
        if isinstance(argument, exp.Literal) and argument.this == "1" and not argument.is_string:
            counted = Aggregate(COUNT, None, call.test, False, call.wording)
        elif isinstance(argument, exp.Case) and (where := one_or_zero(argument)) is not None:
            counted = count_where(where, call)
        if counted is not None and call.test is None and _is_never_null(argument):
            return counted
        value = call.number(argument, self.word)
        # Of a person without such a row it is NULL; over people, where a sum of nothing is 0, it is the count.
        within = self.within(call, zero=True) if counted is None else counted
        return Aggregate(self, value, call.test, False, call.wording, within)

    def output_type(self, aggregate: Aggregate) -> Type:
        """PostgreSQL's: BIGINT of INTEGER, of BIGINT and of decimals a decimal that no sum exceeds.

        Integers are widened where they are computed (INTEGER + 1 has 64 bits), so that their limits say which they are:
        no product of two INTEGERs is beyond 2⁶².
        """
        summed = aggregate.value.type
        if summed.kind is Kind.DOUBLE:
            return DOUBLE
        if summed.kind is Kind.DECIMAL:
            return decimal(38, summed.scale)
        return BIGINT if max(map(abs, limits_of(aggregate.value))) <= _TWO_INTEGERS else decimal(38, 0)

    def of_one_person(self, aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
        argument = aggregate.value
        interval = None
        if argument.interval is not None and bound.rows is not None:
            many = Interval.of(0, 0).hull(argument.interval * Interval.of(bound.rows, bound.rows))
            interval = _within_total(many.hull(argument.interval), argument)
        total = _total(aggregate, dialect)
        if _as_doubles(argument.type):
            return _sum_of_one(total, DOUBLE, interval, halves_away=argument.exact)
        if argument.type.kind is Kind.DECIMAL:
            wide = decimal(38, argument.type.scale)
            return _sum_of_one(dialect.try_cast(total, wide), wide, interval)
        return _sum_of_one(dialect.try_cast(total, BIGINT), BIGINT, interval)


@dataclass(frozen=True, slots=True)
class Average(NumberFunction):
    """AVG(x)."""

    def asked(self, call: Call) -> Aggregate:
        return call.of_distinct(self) if call.is_distinct else NumberFunction.asked(self, call)

    def of_one_person(self, aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
        argument = aggregate.value
        total, unit = _total(aggregate, dialect), 1.0
        if not _as_doubles(argument.type):
            # Whole numbers of the last digit, so that the mean of equal decimals is the double next to them.
            unit = 10.0**argument.type.scale
            total = dialect.cast(total, DOUBLE)
        count = dialect.cast(
            aggregate.filtered(_distinct(exp.Count(this=argument.sql.copy()), aggregate), dialect), DOUBLE
        )
        if 1 < unit <= _MOST_UNIT:
            total = dialect.call("round", exp.Mul(this=total, expression=double(unit)))
            count = exp.Paren(this=exp.Mul(this=count, expression=double(unit)))
        # A person without a value: the sum is NULL then, and so is the quotient, before anything is divided by 0.
        mean: exp.Expr = exp.Paren(this=dialect.divide(total, count))
        if _as_doubles(argument.type) and not dialect.divides_to_zero:
            tiny = exp.LT(this=dialect.call("abs", total.copy()), expression=double(_TINY))
            mean = when(tiny, total.copy(), mean)
        return _sum_of_one(mean, DOUBLE, argument.interval, halves_away=argument.exact)


_GREAT, _TINY, _MOST_UNIT = 960, 2.0**-900, 1e22
"""Doubles up to 2**_GREAT are added as they are; a total below _TINY is not divided where an engine would raise; powers
of ten up to the last one are exact doubles."""

SUM = Sum("SUM", exp.Sum, MeasuredBy.SUM, in_windows=True, same_of_one=True)
AVG = Average("AVG", exp.Avg, MeasuredBy.MEAN, in_windows=True, same_of_one=True)


def _is_never_null(argument: exp.Expr) -> bool:
    """Whether every row adds a number: 1, or CASE … ELSE 0."""
    return not isinstance(argument, exp.Case) or isinstance(argument.args.get("default"), exp.Literal)


def _total(aggregate: Aggregate, dialect: Dialect) -> exp.Expr:
    """The sum of one person's values; a double where they are not added exactly."""
    argument = aggregate.value
    if not _as_doubles(argument.type):
        return aggregate.filtered(_distinct(dialect.sum(argument.sql.copy(), argument.type), aggregate), dialect)
    if dialect.sums_in_order and not aggregate.fine:
        added = _held(argument, dialect)
        values = exp.Distinct(expressions=[added]) if aggregate.distinct else added
        order = exp.Order(this=values, expressions=[exp.Ordered(this=added.copy(), desc=False, nulls_first=False)])
        return aggregate.filtered(exp.Sum(this=order), dialect)
    steps, granularity = _exact(aggregate, dialect)
    total = aggregate.filtered(_distinct(dialect.sum(steps, BIGINT), aggregate), dialect)
    return exp.Paren(this=exp.Mul(this=dialect.cast(total, DOUBLE), expression=double(float(granularity))))


def _held(argument: Value, dialect: Dialect) -> exp.Expr:
    """A number as a double so small that no sum of a person's rows is infinite."""
    if argument.type.kind is not Kind.DOUBLE:
        return dialect.cast(argument.sql.copy(), DOUBLE)
    if argument.magnitude is not None and argument.magnitude[1] <= _GREAT:
        return argument.sql.copy()
    above = exp.GT(this=wrap(argument.sql.copy()), expression=double(2.0**_GREAT))
    below = exp.LT(this=wrap(argument.sql.copy()), expression=double(-(2.0**_GREAT)))
    limits = [exp.If(this=above, true=double(2.0**_GREAT)), exp.If(this=below, true=double(-(2.0**_GREAT)))]
    return exp.Case(ifs=limits, default=argument.sql.copy())


def _distinct(call: exp.Expr, aggregate: Aggregate) -> exp.Expr:
    """A sum or a count of a person's different values, where they are asked for."""
    if aggregate.distinct:
        for node in call.find_all(exp.AggFunc):
            node.set("this", exp.Distinct(expressions=[node.this]))
    return call


def _sum_of_one(sql: exp.Expr, type_: Type, interval: Interval | None, *, halves_away: bool = False) -> Value:
    """NULL for a person without a value."""
    return Value(sql, type_, interval, nullable=True, constant=False, domain=None, halves_away=halves_away)


def _within_total(interval: Interval, argument: Value) -> Interval:
    """Where a person's sum lies by the owner's word about totals."""
    most = most_in_total(argument.sql)
    if most is None or most < interval.low or -most > interval.high:
        return interval
    return Interval(max(interval.low, -most), min(interval.high, most))


def _as_doubles(kind: Type) -> bool:
    """Whether a sum is one of doubles: of very wide numbers too, whose exact sum could overflow."""
    return kind.kind is Kind.DOUBLE or kind.bits > 64 or kind.precision > 24


def _exact(aggregate: Aggregate, dialect: Dialect) -> tuple[exp.Expr, Fraction]:
    argument = aggregate.value
    if argument.interval is None:
        raise Unbounded(
            f"{aggregate.text} per person adds numbers without a declared range",
            hint="declare a range for the column in the policy",
            missing=missing_ranges(argument.sql),
        )
    learned = learned_ranges(argument.sql)
    granularity = lattice(argument.type, argument.interval, learned=learned, fine=aggregate.fine)
    return clipped_steps(argument, argument.interval, granularity, dialect), granularity
