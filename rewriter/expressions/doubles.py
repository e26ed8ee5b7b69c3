"""Arithmetic and functions of doubles, for engines that raise on overflow and underflow as for those that do not.

Where doubles never raise, a result may be NaN or ±inf and is marked ``raw``, so that :func:`finite` makes it NULL.
Where they raise (:attr:`Dialect.raises`), every value is finite, and an operand that could make an operation raise is
held back first: beyond ±2²⁵⁰ (10⁷⁵) it is NULL; where a product or quotient could be too small for a double, it is
rounded to a multiple of 2⁻⁴⁵² (10⁻¹³⁶). How far an operand can reach follows from its type, never from declared ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.declared import DOUBLE, Kind
from rewriter.dialects import Dialect, binary, double, duplicate, number, refuse, when, wrap
from rewriter.expressions.build import Context, derive, is_literal, limits_of, scalar_of
from rewriter.expressions.value import Magnitude, Value

_ANY: Magnitude = (-1074, 1024)
_TAME, _MOST, _SETTLED, _LEAST = 250, 1000, -452, -1070


@dataclass(frozen=True, slots=True)
class Double:
    """An expression of doubles, and its reach where that is known."""

    sql: exp.Expr
    magnitude: Magnitude | None = None


def magnitude_of(value: Value) -> Magnitude:
    """How small and how large a number can be.

    >>> from rewriter.declared.types import SMALLINT
    >>> magnitude_of(Value(exp.column("x"), SMALLINT))
    (0, 16)
    """
    if is_literal(value):
        found = scalar_of(value)
        if not isinstance(found, int | float):
            return 0, 0
        exponent = math.frexp(found)[1] if found else 0
        return exponent - 1, exponent
    if value.type.kind is Kind.INTEGER:
        return 0, max(abs(end) for end in limits_of(value)).bit_length()
    if value.type.kind is Kind.DECIMAL:
        return -math.ceil(value.type.scale * 3.33), math.ceil((value.type.precision - value.type.scale) * 3.33)
    return value.magnitude or _ANY


def reaching(magnitude: Magnitude) -> Magnitude:
    """The reach of a double, which ends where doubles do."""
    return max(magnitude[0], -1074), min(magnitude[1], 1024)


def _held(value: Value, most: int, context: Context) -> Value:
    """NULL beyond ±2**most."""
    least, reach = magnitude_of(value)
    if reach <= most:
        return value
    sql = _unguarded(value.sql, context.dialect)
    bound = 2.0**most
    inside = exp.Between(this=wrap(duplicate(sql)), low=double(-bound), high=double(bound))
    return derive(when(inside, sql), DOUBLE, value, nullable=True, magnitude=reaching((least, most)))


def _unguarded(sql: exp.Expr, dialect: Dialect) -> exp.Expr:
    """What a CASE gives where it is finite, which closer bounds imply."""
    if isinstance(sql, exp.Case) and sql.args.get("default") is None and len(sql.args["ifs"]) == 1:
        branch = sql.args["ifs"][0]
        held: exp.Expr = branch.args["true"]
        if branch.this == dialect.is_finite(held.copy()):
            return held
    return sql


def _settled(value: Value, context: Context) -> Value:
    """Without bits below 2⁻⁴⁵², where it can have any."""
    least, most = magnitude_of(value)
    if least >= _SETTLED or is_literal(value):
        return value
    value = _held(value, _MOST, context)
    sql = context.dialect.settled(value.sql)
    return derive(sql, DOUBLE, value, nullable=value.nullable, magnitude=(_SETTLED, min(most, _MOST)))


# -- operators -----------------------------------------------------------------------------------------------------


def total(kind: type[exp.Expr], left: Value, right: Value, context: Context) -> Double:
    """+, - or * of doubles: raw, or guarded."""
    if not context.dialect.raises:
        return Double(binary(kind, left.sql, right.sql))
    if kind is exp.Mul:
        return _product(left, right, context)
    one, other = (_held(side, _MOST if magnitude_of(side)[1] <= _MOST else _TAME, context) for side in (left, right))
    most = max(magnitude_of(one)[1], magnitude_of(other)[1]) + 1
    least = min(magnitude_of(one)[0], magnitude_of(other)[0])
    # a difference is a multiple of the last bit of the smaller operand
    return Double(binary(kind, one.sql, other.sql), reaching((least - 53, most)))


def _product(left: Value, right: Value, context: Context) -> Double:
    one, other = left, right
    if magnitude_of(one)[1] + magnitude_of(other)[1] > _MOST:
        one, other = (_held(side, _TAME, context) if magnitude_of(side)[1] > _TAME else side for side in (one, other))
        if magnitude_of(one)[1] + magnitude_of(other)[1] > _MOST:  # a huge literal
            one, other = (
                side if is_literal(side) else _held(side, _MOST - magnitude_of(twin)[1], context)
                for side, twin in ((one, other), (other, one))
            )
    if magnitude_of(one)[0] + magnitude_of(other)[0] < _LEAST:
        one, other = _settled(one, context), _settled(other, context)
    least, most = (sum(ends) for ends in zip(magnitude_of(one), magnitude_of(other), strict=True))
    sql = binary(exp.Mul, one.sql, other.sql)
    return Double(_unless_tiny(sql, one, other, least, context), reaching((least, most)))


def _unless_tiny(sql: exp.Expr, one: Value, other: Value, least: int, context: Context) -> exp.Expr:
    """0 in place of a result that a tiny literal could make too small for a double."""
    if least >= _LEAST:
        return sql
    operand = other if is_literal(one) else one
    size = context.dialect.call("abs", duplicate(operand.sql))
    bound = 2.0 ** min(_LEAST - least + magnitude_of(operand)[0], 1000)
    tiny = exp.If(this=exp.LT(this=size.copy(), expression=double(bound)), true=context.dialect.double(0.0))
    return exp.Case(ifs=[exp.If(this=exp.GTE(this=size, expression=double(bound)), true=sql), tiny])


def quotient(left: Value, right: Value, context: Context) -> Double:
    """Of doubles. NULL on zero, or raw."""
    if not context.dialect.raises:
        return Double(context.dialect.divide(wrap(left.sql), wrap(right.sql)))
    other = _settled(_held(right, _TAME, context) if not is_literal(right) else right, context)
    smallest, largest = magnitude_of(other)
    one = _settled(_held(left, min(_TAME, _MOST + smallest), context), context)
    least, most = magnitude_of(one)[0] - largest, magnitude_of(one)[1] - smallest
    divisor = wrap(other.sql)
    if not is_literal(right) or not scalar_of(right):
        divisor = context.dialect.call("nullif", divisor, number(0))
    sql = context.dialect.divide(wrap(one.sql), divisor)
    return Double(_unless_tiny(sql, one, other, least, context), reaching((least, most)))


def remainder(left: Value, right: Value, context: Context) -> exp.Expr:
    if context.dialect.raises:
        raise refuse(
            "% is answered for integers and decimals only", "cast the operands, as in x::numeric(20,4)", "42883"
        )
    return context.dialect.modulo(wrap(left.sql), wrap(right.sql))


# -- functions -----------------------------------------------------------------------------------------------------


def function(name: str, value: Value, context: Context) -> exp.Expr:
    """A function of one double: raw, or NULL where it is not defined."""
    if not context.dialect.raises:
        return _called(name, value.sql, context.dialect)
    guard = _GUARDS.get(name)
    return _called(name, value.sql, context.dialect) if guard is None else guard(value.sql, context.dialect)


def _called(name: str, sql: exp.Expr, dialect: Dialect) -> exp.Expr:
    return dialect.log2(sql) if name == "log2" else dialect.call(name, sql)


def _positive(name: str) -> Callable[[exp.Expr, Dialect], exp.Expr]:
    def guarded(sql: exp.Expr, dialect: Dialect) -> exp.Expr:
        return when(exp.GT(this=wrap(duplicate(sql)), expression=number(0)), _called(name, sql, dialect))

    return guarded


def _between(name: str, low: float, high: float) -> Callable[[exp.Expr, Dialect], exp.Expr]:
    def guarded(sql: exp.Expr, dialect: Dialect) -> exp.Expr:
        return when(exp.Between(this=wrap(duplicate(sql)), low=double(low), high=double(high)), dialect.call(name, sql))

    return guarded


def _exponential(sql: exp.Expr, dialect: Dialect) -> exp.Expr:
    inside = exp.Between(this=wrap(duplicate(sql)), low=double(-745.0), high=double(709.78))
    small = exp.If(this=exp.LT(this=wrap(duplicate(sql)), expression=double(-745.0)), true=dialect.double(0.0))
    return exp.Case(ifs=[exp.If(this=inside, true=dialect.call("exp", sql)), small])


def _cotangent(sql: exp.Expr, dialect: Dialect) -> exp.Expr:
    away = exp.GT(this=dialect.call("abs", duplicate(sql)), expression=double(1e-300))
    return when(away, dialect.call("cot", sql))


def _radians(sql: exp.Expr, dialect: Dialect) -> exp.Expr:
    away = exp.GT(this=dialect.call("abs", duplicate(sql)), expression=double(1e-300))
    return exp.Case(
        ifs=[
            exp.If(this=away, true=dialect.call("radians", sql)),
            exp.If(this=exp.LT(this=wrap(duplicate(sql)), expression=number(1)), true=dialect.double(0.0)),
        ]
    )


_GUARDS: dict[str, Callable[[exp.Expr, Dialect], exp.Expr]] = {
    "ln": _positive("ln"),
    "log10": _positive("log10"),
    "log2": _positive("log2"),
    "sqrt": _between("sqrt", 0.0, 1.7976931348623157e308),
    "exp": _exponential,
    "cot": _cotangent,
    "asin": _between("asin", -1.0, 1.0),
    "acos": _between("acos", -1.0, 1.0),
    "degrees": _between("degrees", -1e306, 1e306),
    "radians": _radians,
}


def power(base: Value, exponent: Value, context: Context) -> Double:
    """Raw; or NULL where PostgreSQL raises, 0 where it is too small for a double."""
    dialect = context.dialect
    if not dialect.raises:
        return Double(dialect.power(base.sql, exponent.sql))
    if is_literal(exponent) and scalar_of(exponent) == 2.0:
        return _product(base, replace(base, sql=duplicate(base.sql)), context)
    base, exponent = _held(base, _TAME, context), _settled(_held(exponent, _TAME, context), context)
    zero, x, y = number(0), base.sql, exponent.sql
    size = exp.Mul(this=wrap(duplicate(y)), expression=dialect.call("ln", dialect.call("abs", duplicate(x))))
    inside = exp.Between(this=size, low=double(-700.0), high=double(709.0))
    is_small = exp.LT(this=duplicate(size), expression=double(-700.0))
    raised = exp.Case(
        ifs=[
            exp.If(this=inside, true=dialect.power(x, y)),
            exp.If(this=is_small, true=dialect.double(0.0)),
        ]
    )
    of_zero = exp.Case(
        ifs=[
            exp.If(this=exp.GT(this=wrap(duplicate(y)), expression=zero), true=dialect.double(0.0)),
            exp.If(this=exp.EQ(this=wrap(duplicate(y)), expression=zero.copy()), true=dialect.double(1.0)),
        ]
    )
    is_zero = exp.EQ(this=wrap(duplicate(x)), expression=zero.copy())
    is_real = exp.or_(
        exp.GT(this=wrap(duplicate(x)), expression=zero.copy()),
        exp.EQ(this=wrap(duplicate(y)), expression=dialect.call("floor", duplicate(y))),
        copy=False,
    )
    return Double(exp.Case(ifs=[exp.If(this=is_zero, true=of_zero), exp.If(this=is_real, true=raised)]))


def to_whole(value: Value, dialect: Dialect) -> Double:
    """The nearest whole number, halves away from zero."""
    if not dialect.raises:
        return Double(dialect.call("round", value.sql))
    has_fraction = exp.LT(this=dialect.call("abs", duplicate(value.sql)), expression=double(2.0**52))
    half = exp.Mul(this=dialect.call("sign", duplicate(value.sql)), expression=double(0.5))
    whole = dialect.call("trunc", exp.Add(this=wrap(duplicate(value.sql)), expression=half))
    return Double(when(has_fraction, whole, value.sql), reaching((0, max(magnitude_of(value)[1], 1))))


def to_digits(name: str, value: Value, digits: int, context: Context) -> exp.Expr:
    """``round`` or ``trunc`` to a number of digits: halves away from zero."""
    if not context.dialect.raises:
        return context.dialect.call(name, value.sql, number(digits))
    held = _settled(_held(value, _TAME, context), context)
    power_of_ten = double(10.0 ** abs(digits))
    there, back = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
    scaled = _typed(there, wrap(held.sql), power_of_ten)
    whole: exp.Expr = duplicate(scaled)
    if name == "round":
        half = exp.Mul(this=context.dialect.call("sign", duplicate(held.sql)), expression=double(0.5))
        whole = exp.Add(this=exp.Paren(this=whole), expression=half)
    rounded = _typed(back, context.dialect.call("trunc", whole), power_of_ten.copy())
    has_fraction = exp.LT(this=context.dialect.call("abs", scaled), expression=double(2.0**52))
    return when(has_fraction, rounded, value.sql)


def _typed(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Div(this=left, expression=right, typed=True) if kind is exp.Div else kind(this=left, expression=right)
