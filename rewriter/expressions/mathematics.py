"""Mathematical functions of doubles: what they are defined for, and where their results lie.

A result that is NaN or ±inf, where PostgreSQL raises, becomes NULL; one too small for a double is 0. The logarithms,
roots and powers of a number of any other type are those of the nearest double.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import DOUBLE, INTEGER, Interval
from rewriter.dialects import double, duplicate, number, refuse, wrap
from rewriter.expressions.arithmetic import divide, numeric
from rewriter.expressions.build import (
    RISING,
    Context,
    Rule,
    derive,
    finite,
    integer_domain,
    is_literal,
    literal,
    loose,
    one_zero,
    rule,
    scalar_of,
)
from rewriter.expressions.casts import coerce
from rewriter.expressions.doubles import operand
from rewriter.expressions.literals import whole_literal
from rewriter.expressions.value import Value


def as_double(node: object, context: Context, what: str) -> Value:
    return coerce(numeric(node, context, what), DOUBLE, context, what)


Bounds = Callable[[Interval], "tuple[float, float] | None"]


def real(name: str, bounds: Bounds | None = None) -> Rule:
    """A function of one double that gives NaN or ±inf where it is not defined, and for NaN and ±inf."""

    def function(node: exp.Expr, context: Context) -> Value:
        value = as_double(node.this, context, name.upper())
        interval = _image(bounds, value.interval) if bounds else None
        return derive(context.dialect.function_of_double(name, value.sql), DOUBLE, value, interval=interval, raw=True)

    return rule(function)


def bounded(name: str, bounds: Bounds) -> Rule:
    """A function that is finite also for ±inf, which therefore have to become NULL before it."""

    def function(node: exp.Expr, context: Context) -> Value:
        value = finite(as_double(node.this, context, name.upper()), context.dialect)
        ends = _image(bounds, value.interval or Interval(Fraction(-(10**308)), Fraction(10**308)))
        return derive(context.dialect.function_of_double(name, value.sql), DOUBLE, value, interval=ends, raw=True)

    return rule(function)


def _image(bounds: Bounds, interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    try:
        ends = bounds(interval)
    except (ValueError, OverflowError):
        return None
    if ends is None or not all(map(math.isfinite, ends)):
        return None
    return loose(Interval(Fraction(ends[0]), Fraction(ends[1])))


def increasing(function: Callable[[float], float]) -> Bounds:
    return lambda interval: (function(float(interval.low)), function(float(interval.high)))


def between(low: float, high: float) -> Bounds:
    return lambda _: (low, high)


def square_root_ends(interval: Interval) -> tuple[float, float]:
    return math.sqrt(max(0.0, float(interval.low))), math.sqrt(max(0.0, float(interval.high)))


def hyperbolic_cosine_ends(interval: Interval) -> tuple[float, float]:
    least = 0.0 if Fraction(0) in interval else min(abs(float(interval.low)), abs(float(interval.high)))
    return math.cosh(least), math.cosh(float(interval.magnitude))


def pi(_: exp.Expr, context: Context) -> Value:
    return literal(math.pi, DOUBLE, context.dialect)


def logarithm(node: exp.Expr, context: Context) -> Value:
    """LOG(x) and LOG10(x) to base 10, LOG2(x), LOG(b, x)."""
    if node.args.get("expression") is None:
        return real("log10", increasing(math.log10)).function(node, context)
    base = as_double(node.this, context, "LOG")
    value = as_double(node.args["expression"], context, "LOG")
    scalar = scalar_of(base) if is_literal(base) else None
    if scalar in (2.0, 10.0):
        name, function = ("log2", math.log2) if scalar == 2.0 else ("log10", math.log10)
        interval = _image(increasing(function), value.interval)
        return derive(context.dialect.function_of_double(name, value.sql), DOUBLE, value, interval=interval, raw=True)
    return divide(_ln(value, context), _ln(base, context), context)


def _ln(value: Value, context: Context) -> Value:
    interval = _image(increasing(math.log), value.interval)
    return derive(context.dialect.function_of_double("ln", value.sql), DOUBLE, value, interval=interval, raw=True)


def power(node: exp.Expr, context: Context) -> Value:
    """POWER(x, y) and x ^ y, always a double."""
    base = finite(as_double(node.this, context, "POWER"), context.dialect)
    exponent = finite(as_double(node.args["expression"], context, "POWER"), context.dialect)
    interval = None
    if base.interval and exponent.interval and base.interval.low >= 1:
        interval = _image(_power_ends(exponent.interval), base.interval)
    elif base.interval and is_literal(exponent) and scalar_of(exponent) == 2.0:
        square = base.interval * base.interval
        low = Fraction(0) if Fraction(0) in base.interval else min(base.interval.low**2, base.interval.high**2)
        interval = loose(Interval(low, square.high))
    raised = context.dialect.raised(operand(base), operand(exponent))
    return derive(raised.sql, DOUBLE, base, exponent, interval=interval, magnitude=raised.magnitude, raw=True)


def _power_ends(exponents: Interval) -> Bounds:
    """From 1 on, powers grow or shrink in each argument alone: the extremes are at the corners."""

    def ends(bases: Interval) -> tuple[float, float]:
        corners = [
            float(base) ** float(exponent)
            for base in (bases.low, bases.high)
            for exponent in (exponents.low, exponents.high)
        ]
        return min(corners), max(corners)

    return ends


def arctangent2(node: exp.Expr, context: Context) -> Value:
    one = finite(as_double(node.this, context, "ATAN2"), context.dialect)
    other = finite(as_double(node.args["expression"], context, "ATAN2"), context.dialect)
    interval = loose(Interval(Fraction(-math.pi), Fraction(math.pi)))
    sides = (one_zero(value.sql, context.dialect) for value in (one, other))
    return derive(context.dialect.call("atan2", *sides), DOUBLE, one, other, interval=interval)


def _bucket(x: float, low: float, high: float, count: int) -> int:
    """The bucket of a double, by the arithmetic of the engine."""
    if x < low:
        return 0
    return count + 1 if x >= high else min(count, math.floor((x - low) / (high - low) * count) + 1)


def width_bucket(node: exp.Expr, context: Context) -> Value:
    """WIDTH_BUCKET(x, low, high, n) with literal bounds: 0 below, n + 1 from ``high`` on."""
    value = finite(as_double(node.this, context, "WIDTH_BUCKET"), context.dialect)
    ends = [as_double(node.args.get(name), context, "WIDTH_BUCKET") for name in ("min_value", "max_value")]
    count = whole_literal(
        context.compile(node.args.get("num_buckets")), "the number of buckets of WIDTH_BUCKET", 1, 100_000
    )
    low, high = (scalar_of(end) if is_literal(end) else None for end in ends)
    if not isinstance(low, float) or not isinstance(high, float) or not low < high or math.isinf(high - low):
        raise refuse("WIDTH_BUCKET needs literal bounds, the lower one first", "write WIDTH_BUCKET(x, 0, 100, 10)")
    above: exp.Expr = exp.Paren(this=exp.Sub(this=wrap(value.sql), expression=double(low)))
    share = context.dialect.share(above, high - low)
    scaled = context.dialect.call("floor", exp.Mul(this=exp.Paren(this=share), expression=double(float(count))))
    inner = context.dialect.call(
        "least", exp.Add(this=context.dialect.cast(scaled, INTEGER), expression=number(1)), number(count)
    )
    sql = exp.Case(
        ifs=[
            exp.If(this=exp.LT(this=wrap(duplicate(value.sql)), expression=double(low)), true=number(0)),
            exp.If(this=exp.GTE(this=wrap(duplicate(value.sql)), expression=double(high)), true=number(count + 1)),
            exp.If(this=exp.LT(this=wrap(duplicate(value.sql)), expression=double(high)), true=inner),
        ]
    )
    interval = Interval(Fraction(0), Fraction(count + 1))
    if value.interval is not None:
        interval = value.interval.monotone(lambda end: Fraction(_bucket(float(end), low, high, count)))
    RISING.on(sql, True)
    return derive(sql, INTEGER, value, interval=interval, domain=integer_domain(interval), limits=(0, count + 1))
