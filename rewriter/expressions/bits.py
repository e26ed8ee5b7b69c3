"""Integers as bits: & | # ~ << >>, and GCD and LCM. Of integers of up to 64 bits; nothing overflows.

``x << n`` is x·2ⁿ in a type that holds it, where PostgreSQL would drop the highest bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, HUGEINT, INTEGER, Interval, Kind
from rewriter.dialects import number, refuse, wrap
from rewriter.expressions.arithmetic import multiply, subtract
from rewriter.expressions.build import (
    Context,
    derive,
    integer_domain,
    integer_type,
    is_null,
    is_unknown,
    limits_of,
    literal,
)
from rewriter.expressions.casts import widen
from rewriter.expressions.literals import whole_literal
from rewriter.expressions.value import Limits, Value


def whole(value: Value, context: Context, what: str) -> Value:
    """An operand of up to 64 bits."""
    if is_unknown(value) or is_null(value):
        value = widen(value, INTEGER, context.dialect)
    if value.type.kind is not Kind.INTEGER or value.type.bits > 64:
        raise refuse(f"{what} needs integers, not {value.type}", "cast the operand, as in x::bigint", "42883")
    return value


def bitwise(kind: type[exp.Expr], sign: str) -> Callable[[Value, Value, Context], Value]:
    """``&``, ``|`` or ``#``."""

    def apply(left: Value, right: Value, context: Context) -> Value:
        one, other = whole(left, context, sign), whole(right, context, sign)
        type_ = max((one.type, other.type), key=lambda each: each.bits)
        limits = _combined(kind, limits_of(one), limits_of(other)) or type_.limits
        interval = None
        if one.interval is not None and other.interval is not None:
            ends = _combined(kind, _ends(one.interval), _ends(other.interval))
            interval = None if ends is None else Interval.of(*ends)
        sides = (wrap(widen(side, type_, context.dialect).sql) for side in (one, other))
        sql = context.dialect.bitwise(kind, *sides)
        return derive(sql, type_, one, other, interval=interval, limits=limits, domain=integer_domain(interval))

    return apply


def _ends(interval: Interval) -> Limits:
    return math.floor(interval.low), math.ceil(interval.high)


def _combined(kind: type[exp.Expr], one: Limits, other: Limits) -> Limits | None:
    """How far bits reach: those of a number that is not negative never lie above it."""
    if kind is exp.BitwiseAnd and (one[0] >= 0 or other[0] >= 0):
        return 0, min(side[1] for side in (one, other) if side[0] >= 0)
    if one[0] >= 0 and other[0] >= 0:
        return 0, (1 << max(one[1], other[1]).bit_length()) - 1
    if kind is exp.BitwiseAnd:
        return min(_below(one[0]), _below(other[0])), max(one[1], other[1])
    size = max(abs(end) for end in (*one, *other)).bit_length()
    return -(1 << size), (1 << size) - 1


def _below(number_: int) -> int:
    """The least number of as many bits."""
    return -(1 << (-number_ - 1).bit_length()) if number_ < 0 else 0


def inverted(node: exp.Expr, context: Context) -> Value:
    """``~x`` is -1 - x."""
    value = whole(context.finite(node.this), context, "~")
    return subtract(literal(-1, INTEGER, context.dialect), value, context)


def shifted_left(left: Value, right: Value, context: Context) -> Value:
    """``x << n`` with a literal n."""
    by = whole_literal(right, "the number of bits of <<", 0, 62)
    value = whole(left, context, "<<")
    type_ = integer_type((1 << by, 1 << by)) or BIGINT
    return multiply(value, literal(1 << by, type_, context.dialect), context)


def shifted_right(left: Value, right: Value, context: Context) -> Value:
    """``x >> n`` with a literal n: x / 2ⁿ, rounded down."""
    value = whole(left, context, ">>")
    by = whole_literal(right, "the number of bits of >>", 0, value.type.bits - 1)
    low, high = (end >> by for end in limits_of(value))
    interval = value.interval and value.interval.monotone(lambda end: Fraction(math.floor(end) >> by))
    sql = context.dialect.bitwise(exp.BitwiseRightShift, wrap(value.sql), number(by))
    return derive(sql, value.type, value, interval=interval, limits=(low, high), domain=integer_domain(interval))


def common(word: str) -> Callable[[exp.Expr, Context], Value]:
    """GCD or LCM: never negative; 0 where both, or one, is 0."""

    def function(node: exp.Expr, context: Context) -> Value:
        if len(node.expressions) != 2:
            raise refuse(f"{word.upper()} takes two integers", f"write {word.upper()}(a, b)", "42883")
        one, other = (whole(context.finite(side), context, word.upper()) for side in node.expressions)
        reaches = [max(map(abs, limits_of(side))) for side in (one, other)]
        most = max(reaches) if word == "gcd" else reaches[0] * reaches[1]
        type_ = BIGINT if max(one.type.bits, other.type.bits) <= 32 else HUGEINT
        interval = None
        if one.interval is not None and other.interval is not None:
            ends = [one.interval.magnitude, other.interval.magnitude]
            interval = Interval(Fraction(0), max(ends) if word == "gcd" else ends[0] * ends[1])
        sides = (widen(side, type_, context.dialect).sql for side in (one, other))
        sql = context.dialect.call(word, *sides)
        return derive(sql, type_, one, other, interval=interval, limits=(0, most))

    return function
