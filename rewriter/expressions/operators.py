"""Operators with two sides, each compiled from the values of its sides."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewriter.declared import Kind
from rewriter.dialects import refuse
from rewriter.expressions import arithmetic as numbers
from rewriter.expressions import bits, elapsed, logic, text, time
from rewriter.expressions.build import Context, is_literal, scalar_of
from rewriter.expressions.literals import interval_of
from rewriter.expressions.shown_times import SHOWN, joined, shifted
from rewriter.expressions.value import Value

Operator = Callable[[Value, Value, Context], Value]


def _add(left: Value, right: Value, context: Context) -> Value:
    if time.involves_time(left, right):
        return time.plus(left, right, context)
    total = numbers.add(*numbers.numbers(left, right, context, "+"), context)
    if (shown := joined(left.sql, right.sql) or joined(right.sql, left.sql)) is not None:
        SHOWN.on(total.sql, shown)
    return total


def _subtract(left: Value, right: Value, context: Context) -> Value:
    if time.involves_time(left, right):
        return time.minus(left, right, context)
    return numbers.subtract(*numbers.numbers(left, right, context, "-"), context)


def _multiply(left: Value, right: Value, context: Context) -> Value:
    for length, number in ((left, right), (right, left)):
        if length.type.kind is Kind.INTERVAL and not is_literal(number):
            return elapsed.scaled(length, number, context)
        count = scalar_of(number) if is_literal(number) else None
        if length.span is not None and type(count) is int:
            months, days, micros = length.span
            return interval_of((months * count, days * count, micros * count), context.dialect)
        if length.type.kind is Kind.INTERVAL:
            return elapsed.scaled(length, number, context)
    product = numbers.multiply(*numbers.numbers(left, right, context, "*"), context)
    for value, factor in ((left, right), (right, left)):
        scalar = scalar_of(factor) if is_literal(factor) else None
        if type(scalar) is int and (shown := shifted(value.sql, scalar)) is not None:
            SHOWN.on(product.sql, shown)
    return product


def _divide(left: Value, right: Value, context: Context) -> Value:
    if left.type.kind is Kind.INTERVAL:
        return elapsed.scaled(left, right, context, divides=True)
    return numbers.divide(*numbers.numbers(left, right, context, "/"), context)


def _arithmetic(function: Callable[[Value, Value, Context], Value], sign: str) -> Operator:
    def apply(left: Value, right: Value, context: Context) -> Value:
        return function(*numbers.numbers(left, right, context, sign), context)

    return apply


def _integer_division(left: Value, right: Value, context: Context) -> Value:
    if any(value.type.numeric and value.type.kind != "integer" for value in (left, right)):
        raise refuse("DIV is answered for integers only", "write TRUNC(a / b)")
    return numbers.integer_quotient(*numbers.numbers(left, right, context, "DIV"), context)


OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.And: lambda left, right, context: logic.connect(exp.And, left, right, context),
    exp.Or: lambda left, right, context: logic.connect(exp.Or, left, right, context),
    exp.Add: _add,
    exp.Sub: _subtract,
    exp.Mul: _multiply,
    exp.Div: _divide,
    exp.Mod: _arithmetic(numbers.modulo, "%"),
    exp.IntDiv: _integer_division,
    exp.BitwiseAnd: bits.bitwise(exp.BitwiseAnd, "&"),
    exp.BitwiseOr: bits.bitwise(exp.BitwiseOr, "|"),
    exp.BitwiseXor: bits.bitwise(exp.BitwiseXor, "#"),
    exp.BitwiseLeftShift: bits.shifted_left,
    exp.BitwiseRightShift: bits.shifted_right,
    exp.DPipe: text.concatenate,
}
"""Operators with two sides. A long chain of them is compiled without recursion."""

OPERATOR_PARTS = frozenset({"this", "expression", "safe", "typed"})
