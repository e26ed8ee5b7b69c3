"""Medians and percentiles of one person's rows: exact, and the same on every engine.

A median is the mean of two rows, of which each is picked by PERCENTILE_DISC, from below and from above. Why not the
engine's own: DuckDB rounds the median of decimals to decimals, PostgreSQL answers doubles, and the two interpolate
with different last bits, as they do for other fractions of PERCENTILE_CONT.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from rewriter.declared import DOUBLE, Kind
from rewriter.dialects import Dialect, double
from rewriter.expressions import Value, text_size
from rewriter.refused import TYPE_MISMATCH, Refused
from rewriter.release import Aggregate

ENDS_AND_MIDDLE = frozenset({Fraction(0), Fraction(1, 2), Fraction(1)})
"""Fractions of PERCENTILE_CONT that need no other arithmetic than the mean of two rows."""
_ORDERED = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TEXT})


def median_of_one(aggregate: Aggregate, dialect: Dialect) -> Value:
    """MEDIAN(x), and PERCENTILE_CONT of 0, 0.5 and 1, as a double. NULL where no row has a value."""
    argument, fraction = numbers_of_one(aggregate), _fraction(aggregate)
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
            f"{aggregate.text} of one person's rows needs a number, not a {argument.type}",
            hint="PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x), MIN and MAX are answered",
            sqlstate=TYPE_MISMATCH,
        )
    return argument


def percentile_of_one(aggregate: Aggregate, dialect: Dialect) -> Value:
    """PERCENTILE_DISC(q) WITHIN GROUP (ORDER BY x [DESC]): one of the person's own values."""
    argument = aggregate.value
    if argument.type.kind not in _ORDERED:
        raise Refused(
            f"{aggregate.text} of one person's rows needs a number, a time or a text, not a {argument.type}",
            hint="ROW_NUMBER() OVER (PARTITION BY the person ORDER BY …) = 1 picks a row",
            sqlstate=TYPE_MISMATCH,
        )
    sql = _picked(aggregate, argument.sql, _fraction(aggregate), dialect, down=aggregate.descending)
    size = text_size(argument.type, argument)
    return Value(sql, argument.type, argument.interval, nullable=True, constant=False, domain=None, size=size)


def _picked(aggregate: Aggregate, argument: exp.Expr, fraction: Fraction, dialect: Dialect, *, down: bool) -> exp.Expr:
    """The row at a fraction of the way up, counted from the least one; or from the greatest one ``down`` to it.

    Where the fraction falls between two rows these are the lower and the upper one.
    """
    picked = dialect.percentile(argument.copy(), float(1 - fraction if down else fraction), descending=down)
    return picked if aggregate.condition is None else dialect.filtered(picked, aggregate.condition.sql.copy())


def _fraction(aggregate: Aggregate) -> Fraction:
    if aggregate.fraction is None:
        raise AssertionError("a percentile has a fraction")
    return aggregate.fraction
