"""The lattice that values are summed on, and the clip that is the last thing done to a row's value.

Why integers: a sum of floating-point numbers depends on the order of rows and its low bits tell about them
(Mironov 2012; Casacuberta et al. 2022). Values are clipped, rounded to a multiple of a granularity that the declared
range alone determines, and summed as integers: exactly, in any order.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import Interval, Kind, Type
from rewriter.dialects import Dialect, Read, double, number, reading_of, when, wrap
from rewriter.expressions.build import limits_of
from rewriter.expressions.time import CYCLES
from rewriter.expressions.value import LITERAL, Value
from rewriter.refused import Refused

_DOUBLE_BITS = 20
_FINE_BITS = 44
_EXACT_BITS = 40
_MOST_BITS = 60
_HELD_BITS = 48
_MOST_STEPS = 2**1000


def lattice(
    kind: Type, interval: Interval, size: Fraction | None = None, *, learned: bool = False, fine: bool = False
) -> Fraction:
    """The granularity for values of a type and range: exact for integers and decimals, 2⁻²⁰ of the range for doubles,
    and 2⁻⁴⁴ where sums are not noised but computed with: ``fine``.

    ``size`` is the largest number that is added up, where it is not the values themselves. In a range that was
    ``learned`` exact numbers are rounded to 2⁻²⁰ of it too: whatever was learned, sums of them are never too large.

    >>> lattice(Type(Kind.INTEGER, bits=32), Interval.of(0, 100)), lattice(Type(Kind.DOUBLE), Interval.of(0, 4))
    (Fraction(1, 1), Fraction(1, 262144))
    """
    magnitude = max(interval.magnitude, interval.width) or Fraction(1)
    size = size or magnitude
    exact = 1 << (_DOUBLE_BITS if learned else _EXACT_BITS)
    if kind.kind is Kind.DECIMAL:
        granularity = Fraction(1, 10**kind.scale)
        while size / granularity > exact or magnitude / granularity > 1 << _MOST_BITS:
            granularity *= 10
        return granularity
    if kind.kind is Kind.INTEGER and size <= exact and magnitude <= 1 << _MOST_BITS:
        return Fraction(1)
    # A double must hold both ends of the range, in steps, exactly.
    return Fraction(2) ** max(
        _exponent(size) - (_FINE_BITS if fine else _DOUBLE_BITS), _exponent(magnitude) - _HELD_BITS
    )


def held(interval: Interval, kind: Type, granularity: Fraction) -> Interval:
    """The part of an interval that a type can hold, with its ends on the lattice: learned powers of two can lie beyond
    it.

    >>> held(Interval.of(0, 1 << 20), Type(Kind.DECIMAL, precision=8, scale=2), Fraction(1)).high
    Fraction(999999, 1)
    """
    if kind.kind is Kind.INTEGER:
        least, most = map(Fraction, kind.limits)
    elif kind.kind is Kind.DECIMAL:
        most = Fraction(10**kind.precision - 1, 10**kind.scale)
        least = -most
    else:
        return interval
    low = max(interval.low, math.ceil(least / granularity) * granularity)
    high = min(interval.high, math.floor(most / granularity) * granularity)
    return Interval(low, high) if low < high else interval


def clip_of(declared: Interval, interval: Interval, granularity: Fraction) -> Interval:
    """The range that values are moved into: the declared one on the lattice, also where it is one point and the
    interval that the noise is scaled by is wider.

    >>> clip_of(Interval.of(3, 3), Interval.of(3, 4), Fraction(1))
    Interval(low=Fraction(3, 1), high=Fraction(3, 1))
    """
    point = declared.outward(granularity)
    return interval if point.width else point


def _exponent(number: Fraction) -> int:
    return math.frexp(float(number))[1] - 1


def clipped_steps(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
    """The row's value, clipped into ``interval`` and counted in steps: a BIGINT, or NULL where the value is NULL.

    ``interval`` must begin and end on the lattice. CASE, not LEAST/GREATEST, which take NULL for the bound. A checked
    value is never NaN; one that were would be taken for the upper bound, and still be bounded.
    """
    if 1 / granularity > _MOST_STEPS:
        raise Refused("the numbers are too small to be summed", hint="multiply them by a power of 10")
    low, high = int(interval.low / granularity), int(interval.high / granularity)
    guard = _guard(value.sql) if dialect.recomputes else None
    if guard is not None:
        # CASE WHEN guard THEN x END: the guard once, and then x itself.
        inner = replace(value, sql=guard.args["true"])
        if _is_small_decimal(inner, granularity) and isinstance(guard.this, exp.LTE) and guard.this.this == inner.sql:
            # Never NULL where a comparison with it is true, and the same cut costs less of integers.
            steps = dialect.to_steps(inner.sql.copy(), value.type, granularity)
            return when(guard.this.copy(), _within(steps, low, high, dialect))
        return when(guard.this.copy(), _clipped(inner, interval, granularity, dialect))
    return _clipped(value, interval, granularity, dialect)


def clipped_once(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
    """The same of a value that is never NULL, computed once: LEAST and GREATEST would take NULL for a bound."""
    if value.nullable:
        raise AssertionError("a value that may be NULL is clipped by CASE")
    low, high = int(interval.low / granularity), int(interval.high / granularity)
    steps = dialect.to_steps(value.sql.copy(), value.type, granularity)
    return _within(steps, low, high, dialect)


def _within(steps: exp.Expr, low: int, high: int, dialect: Dialect) -> exp.Expr:
    return dialect.call("least", dialect.call("greatest", steps, number(low)), number(high))


def _guard(sql: exp.Expr) -> exp.If | None:
    """The only branch of a CASE without ELSE."""
    if not isinstance(sql, exp.Case) or sql.this is not None or sql.args.get("default") is not None:
        return None
    branches = sql.args["ifs"]
    return branches[0] if len(branches) == 1 else None


def _is_small_decimal(value: Value, granularity: Fraction) -> bool:
    """Whether it is a column all of whose values are fewer than 2**63 steps, declared or not."""
    digits = len(str((1 / granularity).numerator))
    return (
        isinstance(value.sql, exp.Column)
        and value.type.kind is Kind.DECIMAL
        and value.type.precision + digits <= 18
        and (1 / granularity).denominator == 1
    )


def _clipped(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
    low, high = int(interval.low / granularity), int(interval.high / granularity)
    below = exp.LT(this=wrap(value.sql.copy()), expression=limit_of(interval.low, value.type))
    above = exp.GT(this=wrap(value.sql.copy()), expression=limit_of(interval.high, value.type))
    return exp.Case(
        ifs=[exp.If(this=below, true=number(low)), exp.If(this=above, true=number(high))],
        default=dialect.to_steps(value.sql.copy(), value.type, granularity, max(abs(interval.low), abs(interval.high))),
    )


def limit_of(limit: Fraction, kind: Type) -> exp.Expr:
    """A bound as a literal that compares with values of a type exactly; a multiple of a power of 10 or 2.

    >>> limit_of(Fraction(-5, 2), Type(Kind.DECIMAL, precision=4, scale=1)).sql()
    '(-2.5)'
    """
    if kind.kind is Kind.DOUBLE:
        return double(float(limit))
    digits = 0
    while 10**digits % limit.denominator:
        digits += 1
    whole = str(abs(limit.numerator) * (10**digits // limit.denominator)).rjust(digits + 1, "0")
    spelt = f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
    return number(f"-{spelt}" if limit < 0 else spelt)


# Whether there is anything to clip


def stays_within(value: Value, interval: Interval) -> bool:
    """Whether no row can have a value outside of an interval, whatever its columns hold.

    >>> from rewriter.declared.types import INTEGER, SMALLINT
    >>> x = exp.column("x")
    >>> [stays_within(Value.unknown(x, kind), Interval.of(-32768, 32767)) for kind in (INTEGER, SMALLINT)]
    [False, True]
    """
    if value.type.kind is Kind.INTEGER:
        low, high = limits_of(value)
        return low in interval and high in interval
    return _is_written(value.sql)


def _is_written(node: exp.Expr) -> bool:
    """Whether an expression is one of some literals, or a part of a time: then its range follows from text alone."""
    while isinstance(node, exp.Paren | exp.Cast) and not LITERAL.is_on(node):
        node = node.this
    if isinstance(node, exp.Case):
        results = [branch.args["true"] for branch in node.args["ifs"]]
        default = node.args.get("default")
        return all(map(_is_written, results if default is None else [*results, default]))
    if isinstance(node, exp.Coalesce):
        return all(map(_is_written, (node.this, *node.expressions)))
    if (reading := reading_of(node)) is not None:
        return reading.read is Read.FIELD and reading.unit in CYCLES
    return LITERAL.is_on(node) or isinstance(node, exp.Null)
