"""Arithmetic, and functions that keep a number's type, none of which raises.

Integers are widened by what their types can hold, so that nothing overflows: two BIGINTs multiply as HUGEINTs, and
beyond 128 bits as doubles. Decimals keep all their digits up to 38, beyond as doubles; a quotient of decimals is the
double next to it, and rounds as PostgreSQL's NUMERIC does (``halves_away``). Doubles that come out as NaN or ±inf,
where PostgreSQL raises, become NULL; a result too small for a double is 0, where PostgreSQL raises.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, DOUBLE, INTEGER, Interval, Kind, Type, decimal
from rewriter.dialects import ANY, Double, binary, double, duplicate, number, reaching, refuse, when, wrap
from rewriter.expressions.build import (
    Context,
    derive,
    finite,
    integer_domain,
    integer_type,
    is_literal,
    is_null,
    is_unknown,
    limits_of,
    literal,
    loose,
    scalar_of,
)
from rewriter.expressions.casts import convert_to, decimal_type, half_away, unify, widen
from rewriter.expressions.doubles import magnitude_of, operand
from rewriter.expressions.interval_length import microseconds
from rewriter.expressions.literals import interval_of, whole_literal
from rewriter.expressions.value import Limits, Value, decimals_in
from rewriter.refused import NO_FUNCTION

_EXACT = 1 << 53
"""Whole numbers up to this one are exact doubles, and so a quotient of two is the double next to it."""
_MOST_SCALE = 22
"""Powers of ten up to this one are exact doubles."""

# -- operators ---------------------------------------------------------------------------------------------------


def numbers(left: Value, right: Value, context: Context, sign: str) -> tuple[Value, Value]:
    """Both operands as numbers: quoted literals and NULL take the type of the other one."""
    for one, other in ((left, right), (right, left)):
        if is_unknown(one) or is_null(one):
            if other.type.numeric:
                converted = widen(one, other.type, context.dialect)
            elif is_null(other) or is_null(one):
                converted = widen(one, INTEGER, context.dialect) if is_null(one) else one
            else:
                continue
            left, right = (converted, right) if one is left else (left, converted)
    if not left.type.numeric or not right.type.numeric:
        raise refuse(
            f"there is no {left.type} {sign} {right.type}", "cast the operands to numbers, as in x::integer", "42883"
        )
    return left, right


def add(left: Value, right: Value, context: Context) -> Value:
    interval = left.interval + right.interval if left.interval and right.interval else None
    return _exact(
        exp.Add, left, right, interval, lambda a, b: (a[0] + b[0], a[1] + b[1]), _sum_type(left, right), context
    )


def subtract(left: Value, right: Value, context: Context) -> Value:
    interval = left.interval - right.interval if left.interval and right.interval else None
    return _exact(
        exp.Sub, left, right, interval, lambda a, b: (a[0] - b[1], a[1] - b[0]), _sum_type(left, right), context
    )


def multiply(left: Value, right: Value, context: Context) -> Value:
    interval = left.interval * right.interval if left.interval and right.interval else None
    one, other = _decimals(left, right)
    exact = one is not None and other is not None and Kind.DECIMAL in (left.type.kind, right.type.kind)
    if exact and one and other and max(one.precision, other.precision) <= 18 < one.precision + other.precision:
        # the engine multiplies decimals of up to 18 digits in 64 bits, and raises: one of them has to be wider
        left = widen(left, decimal(19, one.scale), context.dialect)
    return _exact(exp.Mul, left, right, interval, _product, _product_type(left, right), context)


def _product(a: Limits, b: Limits) -> Limits:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _sum_type(left: Value, right: Value) -> Type | None:
    one, other = _decimals(left, right)
    if one is None or other is None:
        return None
    scale = max(one.scale, other.scale)
    digits = max(one.precision - one.scale, other.precision - other.scale) + 1 + scale
    return decimal(digits, scale) if digits <= 38 else None


def _product_type(left: Value, right: Value) -> Type | None:
    one, other = _decimals(left, right)
    if one is None or other is None or one.precision + other.precision > 38:
        return None
    return decimal(one.precision + other.precision, one.scale + other.scale)


def _decimals(left: Value, right: Value) -> tuple[Type | None, Type | None]:
    if DOUBLE in (left.type, right.type):
        return None, None
    return decimal_type(left), decimal_type(right)


def _exact(
    kind: type[exp.Expr],
    left: Value,
    right: Value,
    interval: Interval | None,
    combine: Callable[[Limits, Limits], Limits],
    exact: Type | None,
    context: Context,
) -> Value:
    """An operation in the smallest type whose result cannot overflow."""
    if left.type.kind is right.type.kind is Kind.INTEGER:
        limits = combine(limits_of(left), limits_of(right))
        type_ = integer_type(limits, max(left.type.bits, right.type.bits))
        if type_ is not None:
            sql = binary(kind, *_as_integers(left, right, type_, context))
            return derive(sql, type_, left, right, interval=interval, limits=limits)
    elif exact is not None:
        # the engine derives the same type for the result
        one, other = (widen(side, decimal_type(side) or DOUBLE, context.dialect) for side in (left, right))
        return derive(binary(kind, one.sql, other.sql), exact, left, right, interval=interval)
    small = DOUBLE not in (left.type, right.type)  # below 1e39 each: no overflow
    one, other = (widen(side, DOUBLE, context.dialect) for side in (left, right))
    if small:
        interval = loose(interval)
    total = context.dialect.combined(kind, operand(one), operand(other))
    away, magnitude = one.halves_away and other.halves_away, total.magnitude
    found = derive(
        total.sql, DOUBLE, left, right, interval=interval, magnitude=magnitude, raw=not small, halves_away=away
    )
    return replace(found, decimals=_decimals_of(kind, left, right))


def _decimals_of(kind: type[exp.Expr], left: Value, right: Value) -> int | None:
    """How many decimals PostgreSQL prints of a sum or a product, where that is known of both operands."""
    one, other = left.printed_decimals, right.printed_decimals
    if one is None or other is None:
        return None
    return one + other if kind is exp.Mul else max(one, other)


def _as_integers(left: Value, right: Value, type_: Type, context: Context) -> tuple[exp.Expr, exp.Expr]:
    """Operands such that the engine computes in ``type_``: a plain literal adapts to the other side."""
    if is_literal(right) and not is_literal(left) and right.type.bits <= type_.bits:
        return widen(left, type_, context.dialect).sql, right.sql
    if is_literal(left) and not is_literal(right) and left.type.bits <= type_.bits:
        return left.sql, widen(right, type_, context.dialect).sql
    return widen(left, type_, context.dialect).sql, widen(right, type_, context.dialect).sql


def divide(left: Value, right: Value, context: Context) -> Value:
    """Of integers: truncates toward zero. NULL on zero."""
    if left.type.kind is right.type.kind is Kind.INTEGER:
        return integer_quotient(left, right, context)
    interval = _by_whole_numbers(left, right)
    is_double = DOUBLE in (left.type, right.type)
    scale = 0 if is_double else max(_scale(left), _scale(right))
    one, other = (_whole(side, scale, context) for side in (left, right))
    other = finite(other, context.dialect)
    quotient = context.dialect.quotient(operand(one), operand(other))
    exact = one.halves_away and other.halves_away
    whole = all(side.interval and side.interval.magnitude * 10**scale <= _EXACT for side in (left, right))
    interval = interval if is_double or (whole and scale <= _MOST_SCALE) else loose(interval)
    magnitude = quotient.magnitude
    return derive(
        quotient.sql, DOUBLE, left, right, interval=interval, magnitude=magnitude, raw=True, halves_away=exact
    )


def _by_whole_numbers(left: Value, right: Value) -> Interval | None:
    """Where a quotient lies. A whole number that is no 0, of which it is NULL, has a size of 1 at least."""
    if left.interval is None or right.interval is None:
        return None
    if right.type.kind is not Kind.INTEGER or Fraction(0) not in right.interval:
        return left.interval.divide(right.interval)
    low, high = math.floor(right.interval.low), math.ceil(right.interval.high)
    parts = [Interval(Fraction(a), Fraction(b)) for a, b in ((low, -1), (1, high)) if a <= b]
    found = [left.interval.divide(part) for part in parts]
    return functools.reduce(Interval.hull, [one for one in found if one is not None]) if any(found) else None


def _scale(value: Value) -> int:
    """How many decimals an integer or decimal has."""
    if is_literal(value) and isinstance(scalar := scalar_of(value), Decimal):
        return max(0, -int(scalar.normalize().as_tuple().exponent))
    return value.type.scale


def _whole(value: Value, scale: int, context: Context) -> Value:
    """As a double, times 10**scale: whole where that many decimals are all there are, and exact below 2**53.

    So 1.2 / 0.1 is 12, as in PostgreSQL, and not the 11.999… of doubles that are only near to them.
    """
    if not 0 < scale <= _MOST_SCALE:
        return widen(value, DOUBLE, context.dialect)
    scalar = scalar_of(value) if is_literal(value) else None
    if isinstance(scalar, int | Decimal):
        scaled = literal(float(Decimal(scalar).scaleb(scale)), DOUBLE, context.dialect)
        return replace(scaled, halves_away=True)
    wide = widen(value, DOUBLE, context.dialect)
    sql: exp.Expr = exp.Mul(this=wrap(wide.sql), expression=double(10.0**scale))
    if value.type.scale:
        sql = context.dialect.call("round", sql)
    magnitude = reaching((0, magnitude_of(value)[1] + math.ceil(scale * 3.33)))
    return derive(sql, DOUBLE, value, magnitude=magnitude, halves_away=True)


def integer_quotient(left: Value, right: Value, context: Context) -> Value:
    low, high = limits_of(left)
    least, most = limits_of(right)
    reach = max(abs(low), abs(high)) // max(least, -most, 1)
    limits = (-reach if low < 0 or least < 0 else 0, reach if high > 0 or least < 0 else 0)
    return _integer_division(context.dialect.integer_divide, left, right, limits, _quotient(left, right), context)


def _quotient(left: Value, right: Value) -> Interval | None:
    exact = _by_whole_numbers(left, right)
    return exact.monotone(lambda end: Fraction(math.trunc(end))) if exact else None


def _integer_division(
    spelling: Callable[[exp.Expr, exp.Expr], exp.Expr],
    left: Value,
    right: Value,
    limits: Limits,
    interval: Interval | None,
    context: Context,
) -> Value:
    """``//`` or ``%``: NULL on zero, and wide enough for the least integer over -1."""
    low, high = limits_of(left)
    least, most = limits_of(right)
    reach = (min(low, -high), max(high, -low)) if least <= -1 <= most else (low, high)
    type_ = integer_type(reach, max(left.type.bits, right.type.bits))
    if type_ is None:
        one, other = (widen(side, DOUBLE, context.dialect) for side in (left, right))
        if spelling != context.dialect.integer_divide:
            return modulo(one, other, context)
        quotient = context.dialect.call("trunc", context.dialect.quotient(operand(one), operand(other)).sql)
        return derive(quotient, DOUBLE, left, right, interval=loose(interval), raw=True)
    dividend, divisor = _as_integers(left, right, type_, context)
    if type_.bits > 64 and spelling == context.dialect.integer_divide:
        spelling = context.dialect.wide_divide
    sql = spelling(wrap(dividend), wrap(divisor))
    if not (least > 0 or most < 0):
        sql = when(exp.NEQ(this=wrap(duplicate(divisor)), expression=number(0)), sql)
    nullable = left.nullable or right.nullable or least <= 0 <= most
    return derive(sql, type_, left, right, interval=interval, limits=limits, nullable=nullable)


def modulo(left: Value, right: Value, context: Context) -> Value:
    """Takes the sign of the dividend. NULL on zero."""
    interval = _remainder(left, right)
    spelling = context.dialect.modulo
    if left.type.kind is right.type.kind is Kind.INTEGER:
        low, high = limits_of(left)
        least, most = limits_of(right)
        size = max(abs(least), abs(most), 1) - 1
        limits = (max(min(low, 0), -size), min(max(high, 0), size))
        return _integer_division(spelling, left, right, limits, interval, context)
    if DOUBLE in (left.type, right.type):
        one, other = (widen(side, DOUBLE, context.dialect) for side in (left, right))
        sql = context.dialect.remainder(one.sql, finite(other, context.dialect).sql)
        exact = one.halves_away and other.halves_away
        return derive(sql, DOUBLE, left, right, interval=interval, raw=True, halves_away=exact)
    type_, (one, other) = unify((left, right), context)
    if type_ == DOUBLE:
        return modulo(one, other, context)
    sql = spelling(wrap(one.sql), wrap(other.sql))
    nonzero = exp.NEQ(this=wrap(duplicate(other.sql)), expression=number(0))
    return derive(when(nonzero, sql), type_, left, right, interval=interval, nullable=True)


def _remainder(left: Value, right: Value) -> Interval | None:
    """|a % b| is at most |a| and at most |b|, with the sign of a."""
    if left.interval is None:
        return None
    reach = left.interval.magnitude
    if right.interval is not None:
        reach = min(reach, right.interval.magnitude)
        if left.type.kind is right.type.kind is Kind.INTEGER:
            reach = min(reach, max(Fraction(0), Fraction(math.floor(right.interval.magnitude)) - 1))
    low = -reach if left.interval.low < 0 else Fraction(0)
    return Interval(low, reach if left.interval.high > 0 else Fraction(0))


def negate(node: exp.Expr, context: Context) -> Value:
    value = context.compile(node.this)
    if is_unknown(value):
        value = widen(value, DOUBLE, context.dialect)
    if is_null(value):
        return widen(value, INTEGER, context.dialect)
    if value.span is not None:
        months, days, micros = value.span
        return interval_of((-months, -days, -micros), context.dialect)
    if value.type.kind is Kind.INTERVAL:
        nothing = literal(0, BIGINT, context.dialect)
        less = subtract(nothing, microseconds(value, context.dialect), context)
        return replace(convert_to(less, BIGINT, context.dialect), type=value.type, times=value.times)
    if not value.type.numeric:
        raise refuse(f"there is no - {value.type}", "negate a number", "42883")
    if is_literal(value):
        return _negative_literal(value, context)
    interval = -value.interval if value.interval else None
    raw = value.raw
    if value.type.kind is Kind.INTEGER:
        low, high = limits_of(value)
        type_ = integer_type((-high, -low), value.type.bits)
        if type_ is None:
            return negative(widen(value, DOUBLE, context.dialect), DOUBLE, interval, None, False)
        return negative(widen(value, type_, context.dialect), type_, interval, (-high, -low), False)
    return negative(value, value.type, interval, None, raw)


def negative(value: Value, type_: Type, interval: Interval | None, limits: Limits | None, raw: bool) -> Value:
    sql = exp.Neg(this=wrap(value.sql))
    found = derive(sql, type_, value, interval=interval, limits=limits, raw=raw, halves_away=value.halves_away)
    return replace(found, decimals=value.decimals)


def _negative_literal(value: Value, context: Context) -> Value:
    scalar = scalar_of(value)
    if scalar is None or isinstance(scalar, bool | str):
        return value
    if isinstance(scalar, int):
        type_ = integer_type((-scalar, -scalar))
        return (
            literal(-scalar, type_ or DOUBLE, context.dialect)
            if type_
            else literal(float(-scalar), DOUBLE, context.dialect)
        )
    less = literal(-scalar, value.type, context.dialect)  # type: ignore[operator]
    return replace(less, halves_away=value.halves_away, decimals=value.decimals)


# -- functions that keep the type ----------------------------------------------------------------------------------


def numeric(node: object, context: Context, what: str) -> Value:
    """A number operand; a double may be raw."""
    value = context.compile(node)
    if is_unknown(value) or is_null(value):
        value = widen(value, DOUBLE, context.dialect)
    if not value.type.numeric:
        raise refuse(f"{what} needs a number, not {value.type}", "cast it, as in x::double precision", NO_FUNCTION)
    return value


def absolute(node: exp.Expr, context: Context) -> Value:
    value = numeric(node.this, context, "ABS")
    interval = None
    if value.interval is not None:
        low = Fraction(0) if Fraction(0) in value.interval else min(abs(value.interval.low), abs(value.interval.high))
        interval = Interval(low, value.interval.magnitude)
    if value.type.kind is not Kind.INTEGER:
        raw = value.raw
        size = context.dialect.call("abs", value.sql)
        found = derive(size, value.type, value, interval=interval, raw=raw, halves_away=value.halves_away)
        return replace(found, decimals=value.decimals)
    low_limit, high_limit = limits_of(value)
    limits = (0, max(abs(low_limit), abs(high_limit)))
    type_ = integer_type(limits, value.type.bits) or DOUBLE
    sql = context.dialect.call("abs", widen(value, type_, context.dialect).sql)
    if type_ == DOUBLE:
        return derive(sql, DOUBLE, value, interval=interval)
    return derive(sql, type_, value, interval=interval, limits=limits)


def sign(node: exp.Expr, context: Context) -> Value:
    """-1, 0 or 1, of the type that PostgreSQL gives: a double, or a decimal of one digit."""
    value = finite(numeric(node.this, context, "SIGN"), context.dialect)
    interval = Interval(Fraction(-1), Fraction(1))
    if value.interval is not None:
        interval = value.interval.monotone(lambda end: Fraction((end > 0) - (end < 0)))
    type_ = DOUBLE if value.type == DOUBLE else decimal(1, 0)
    sql = context.dialect.cast(context.dialect.call("sign", value.sql), type_)
    return derive(sql, type_, value, interval=interval, domain=integer_domain(interval))


def floor(node: exp.Expr, context: Context) -> Value:
    return _to_whole(node, context, "floor", lambda end: Fraction(math.floor(end)))


def ceiling(node: exp.Expr, context: Context) -> Value:
    return _to_whole(node, context, "ceil", lambda end: Fraction(math.ceil(end)))


def _to_whole(node: exp.Expr, context: Context, name: str, function: Callable[[Fraction], Fraction]) -> Value:
    """A whole number: double of a double, decimal without fraction of integers and decimals."""
    value = numeric(node.this, context, name.upper())
    interval = value.interval.monotone(function) if value.interval else None
    if value.type == DOUBLE:
        raw, away = value.raw, value.halves_away
        if name != "round":
            whole = Double(context.dialect.called(name, value.sql), ANY)
        elif away:
            whole = context.dialect.whole(operand(value))
        else:
            whole = Double(context.dialect.round_half_even(value.sql), ANY)
        domain, magnitude = integer_domain(interval), whole.magnitude
        found = derive(
            whole.sql, DOUBLE, value, interval=interval, domain=domain, magnitude=magnitude, raw=raw, halves_away=away
        )
        return replace(found, decimals=0 if away else None)
    exact = decimal_type(value)
    if exact is None:
        wide = widen(value, DOUBLE, context.dialect)
        return derive(wide.sql, DOUBLE, value, interval=loose(interval), magnitude=wide.magnitude)
    wide, domain = widen(value, exact, context.dialect), integer_domain(interval)
    if exact.scale == 0:
        return replace(wide, interval=interval, domain=domain, decimals=None)
    found = derive(
        context.dialect.call(name, wide.sql), decimal(exact.precision, 0), value, interval=interval, domain=domain
    )
    return replace(found, decimals=None)


def round_(node: exp.Expr, context: Context) -> Value:
    """ROUND(x): doubles half to even; decimals, their quotients, and ROUND(x, n): half away from zero."""
    return _to_digits(node, context, "round", half_away)


def truncate(node: exp.Expr, context: Context) -> Value:
    return _to_digits(node, context, "trunc", lambda end: Fraction(math.trunc(end)))


def _to_digits(node: exp.Expr, context: Context, name: str, function: Callable[[Fraction], Fraction]) -> Value:
    if node.args.get("decimals") is None:
        value = context.compile(node.this)
        even = name == "round" and value.type == DOUBLE and not value.halves_away
        return _to_whole(node, context, name, (lambda end: Fraction(round(end))) if even else function)
    digits = whole_literal(context.compile(node.args["decimals"]), f"the digits of {name.upper()}", -30, 30)
    value = numeric(node.this, context, name.upper())
    step = Fraction(10) ** -digits
    interval = value.interval.monotone(lambda end: function(end / step) * step) if value.interval else None
    exact = decimal_type(value) if value.type != DOUBLE else None
    if exact is not None and digits >= exact.scale:
        return replace(
            widen(value, exact, context.dialect), interval=interval, domain=None, decimals=decimals_in(exact, digits)
        )
    wider = exact
    if exact is not None and digits < 0:
        # one digit for the carry; and the engine forgets NULL where it drops every digit that the type has
        needed = max(exact.precision + 1, exact.scale - digits + 1)
        wider = decimal(needed, exact.scale) if needed <= 38 else None
    if wider is None:
        value = widen(value, DOUBLE, context.dialect)
        sql = context.dialect.to_digits(name, operand(value), digits)
        if value.interval is not None:
            # scaling by a power of ten is not exact in doubles: a value near a half can go the other way
            interval = loose(Interval(value.interval.low - step, value.interval.high + step))
        found = derive(sql, DOUBLE, value, interval=interval, raw=True, halves_away=True)
        return replace(found, decimals=max(digits, 0))
    sql = context.dialect.call(name, widen(value, wider, context.dialect).sql, number(digits))
    found = derive(sql, decimal(wider.precision, max(digits, 0)), value, interval=interval)
    return replace(found, decimals=None)
