"""MEDIAN, PERCENTILE_CONT, PERCENTILE_DISC and MODE: a value is picked (:mod:`rewriter.bound.ranks`).

Medians and percentiles of one person's rows: exact, and the same on every engine.

A median is the mean of two rows, of which each is picked by PERCENTILE_DISC, from below and from above. Why not the
engine's own: DuckDB rounds the median of decimals to decimals, PostgreSQL answers doubles, and the two interpolate
with different last bits, as they do for other fractions of PERCENTILE_CONT.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates.aggregate_function import AggregateFunction, Call
from rewriter.declared import DOUBLE, ContributionBound, Kind, Type
from rewriter.dialects import Dialect, double
from rewriter.expressions import Value, text_size
from rewriter.keys import mode_of
from rewriter.refused import NO_FUNCTION, Refused, Unbounded
from rewriter.relations import missing_ranges
from rewriter.release import Aggregate, MeasuredBy
from rewriter.statement import counts_values, only, rank_of_row

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
        if down:
            fraction = -fraction if rank_of_row(call.argument.this) else 1 - fraction
        elif rank_of_row(call.argument.this):
            fraction += 1
        distinct = counts_values(call.argument.this)
        return Aggregate(self, value, call.test, distinct, call.wording, fraction=fraction, descending=down)


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
    """The literal fraction of a percentile, from 0 to 1; of a row, the number of rows before the middle of it."""
    if rank := rank_of_row(node):
        return rank - Fraction(1, 2)
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


ENDS_AND_MIDDLE = frozenset({Fraction(0), Fraction(1, 2), Fraction(1)})
"""Fractions of PERCENTILE_CONT that need no other arithmetic than the mean of two rows."""
_ORDERED = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TEXT})


def median_of_one(aggregate: Aggregate, dialect: Dialect) -> Value:
    """MEDIAN(x), and PERCENTILE_CONT of 0, 0.5 and 1, as a double. NULL where no row has a value."""
    argument, fraction = numbers_of_one(aggregate), _asked_fraction(aggregate)
    ends = [
        dialect.cast(_picked(aggregate, argument.sql, fraction, dialect, down=down), DOUBLE) for down in (False, True)
    ]
    # Integers and decimals are no less than 10⁻³⁸, or 0: their halves are doubles.
    small = argument.type.kind is Kind.DOUBLE
    halves = [dialect.half(one) if small else exp.Mul(this=one, expression=double(0.5)) for one in ends]
    # Halves first: the sum of two great doubles is no double.
    middle = exp.Paren(this=exp.Add(this=halves[0], expression=halves[1]))
    return Value(middle, DOUBLE, argument.interval, nullable=True, constant=False, domain=None)


def numbers_of_one(aggregate: Aggregate) -> Value:
    """The argument, which must be a number to have something between two of its values."""
    argument = aggregate.value
    if not argument.type.numeric:
        raise Refused(
            f"{aggregate.text} of one person's rows needs a number, not {argument.type.one}",
            hint="PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x), MIN and MAX are answered",
            sqlstate=NO_FUNCTION,
        )
    return argument


def percentile_of_one(aggregate: Aggregate, dialect: Dialect) -> Value:
    """PERCENTILE_DISC(q) WITHIN GROUP (ORDER BY x [DESC]): one of the person's own values."""
    argument = aggregate.value
    if argument.type.kind not in _ORDERED:
        raise Refused(
            f"{aggregate.text} of one person's rows needs a number, a time or a text, not {argument.type.one}",
            hint="ROW_NUMBER() OVER (PARTITION BY the person ORDER BY …) = 1 picks a row",
            sqlstate=NO_FUNCTION,
        )
    sql = _picked(aggregate, argument.sql, _asked_fraction(aggregate), dialect, down=aggregate.descending)
    size = text_size(argument.type, argument)
    return Value(sql, argument.type, argument.interval, nullable=True, constant=False, domain=None, size=size)


def _picked(aggregate: Aggregate, argument: exp.Expr, fraction: Fraction, dialect: Dialect, *, down: bool) -> exp.Expr:
    """The row at a fraction of the way up, counted from the least one; or from the greatest one ``down`` to it.

    Where the fraction falls between two rows these are the lower and the upper one.
    """
    picked = dialect.percentile(argument.copy(), float(1 - fraction if down else fraction), descending=down)
    return picked if aggregate.condition is None else dialect.filtered(picked, aggregate.condition.sql.copy())


def _asked_fraction(aggregate: Aggregate) -> Fraction:
    if aggregate.fraction is None or not 0 <= aggregate.fraction <= 1:
        raise Refused(
            f"{aggregate.text} of one person's rows needs a share of the rows",
            hint="ROW_NUMBER() OVER (PARTITION BY the person ORDER BY …) = 1 picks a row",
        )
    return aggregate.fraction
