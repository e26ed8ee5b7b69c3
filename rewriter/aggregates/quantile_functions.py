"""MEDIAN, PERCENTILE_CONT, PERCENTILE_DISC and MODE: a value is picked (:mod:`rewriter.bound.ranks`)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.aggregates.person_quantiles import ENDS_AND_MIDDLE, median_of_one, numbers_of_one, percentile_of_one
from rewriter.declared import DOUBLE, ContributionBound, Type
from rewriter.dialects import Dialect
from rewriter.expressions import Value
from rewriter.keys import mode_of
from rewriter.refused import Refused, Unbounded
from rewriter.relations import missing_ranges
from rewriter.release import Aggregate, MeasuredBy
from rewriter.statement import only

_MOST_PARTS = 10**6


@dataclass(frozen=True, slots=True)
class Median(AggregateFunction):
    """MEDIAN(x)."""

    def asked(self, call: Call) -> Aggregate:
        if call.is_distinct:
            raise Refused("MEDIAN(DISTINCT) is not answered over people", hint="use MEDIAN(x)")
        value = call.value(call.argument)
        return Aggregate(self, value, call.test, False, call.wording, fraction=Fraction(1, 2))

    def output_type(self, aggregate: Aggregate) -> Type:
        """Of numbers a double, as in PostgreSQL; all else is a value of the column."""
        return DOUBLE if aggregate.value.type.numeric else aggregate.value.type

    def of_one_person(self, aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
        """Picked from one person's values, or by the engine between two of them."""
        if (fraction := aggregate.fraction) is None:
            raise AssertionError("a quantile has a fraction")
        if fraction in ENDS_AND_MIDDLE:
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
        between = dialect.percentile_between(value, float(fraction))
        return Value(between, DOUBLE, argument.interval, nullable=True, constant=False, domain=None)


@dataclass(frozen=True, slots=True)
class PercentileCont(Median):
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x [DESC])."""

    plain: bool = False
    ordered: bool = True

    def asked(self, call: Call) -> Aggregate:
        only(call.node, frozenset({"this", "expression"}), self.word)
        only(call.argument, frozenset({"this"}), self.word)
        hint = "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"
        order = call.ordered_by(Refused("a percentile needs one order", hint=hint))
        fraction = _fraction(call.argument.this)
        value = call.value(order.this)
        down = bool(order.args.get("desc"))
        fraction = 1 - fraction if down else fraction
        return Aggregate(self, value, call.test, False, call.wording, fraction=fraction, descending=down)


@dataclass(frozen=True, slots=True)
class PercentileDisc(PercentileCont):
    """PERCENTILE_DISC(q) WITHIN GROUP (ORDER BY x [DESC])."""

    @property
    def own_value(self) -> bool:
        return True

    def output_type(self, aggregate: Aggregate) -> Type:
        return aggregate.value.type

    def of_one_person(self, aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
        return percentile_of_one(aggregate, dialect)


@dataclass(frozen=True, slots=True)
class Mode(AggregateFunction):
    """MODE(x), MODE() WITHIN GROUP (ORDER BY x)."""

    ordered: bool = True

    def asked(self, call: Call) -> Aggregate:
        value = call.value(_ordered(call) if isinstance(call.node, exp.WithinGroup) else _argument(call))
        place, candidates = mode_of(value, call.text, call.dialect)
        return Aggregate(self, place, call.test, False, call.wording, candidates=candidates, type=value.type)

    def output_type(self, aggregate: Aggregate) -> Type:
        return aggregate.type or aggregate.value.type


MEDIAN = Median("MEDIAN", exp.Median, MeasuredBy.PICK)
PERCENTILE_CONT = PercentileCont("PERCENTILE_CONT", exp.PercentileCont, MeasuredBy.PICK)
PERCENTILE_DISC = PercentileDisc("PERCENTILE_DISC", exp.PercentileDisc, MeasuredBy.PICK)
MODE = Mode("MODE", exp.Mode, MeasuredBy.PICK)


def _argument(call: Call) -> exp.Expr:
    if call.is_distinct:
        raise Refused("of distinct values none is the most common", hint="use MODE() WITHIN GROUP (ORDER BY x)")
    return call.argument


def _ordered(call: Call) -> exp.Expr:
    only(call.node, frozenset({"this", "expression"}), "MODE")
    only(call.argument, frozenset(), "MODE")
    order = call.ordered_by(Refused("MODE needs one order", hint="write MODE() WITHIN GROUP (ORDER BY x)"))
    value: exp.Expr = order.this
    return value


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
