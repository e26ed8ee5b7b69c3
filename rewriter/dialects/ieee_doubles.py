"""Doubles of engines whose arithmetic is that of IEEE 754: it never raises, and gives NaN or ±inf instead."""

from __future__ import annotations

from sqlglot import exp

from rewriter.dialects.dialect import Dialect
from rewriter.dialects.double_operand import ANY, Double
from rewriter.dialects.nodes import binary, double, duplicate, number, when, wrap


class IeeeDoubles(Dialect, family=True):
    """Results are as the engine's own; :meth:`finite` makes NULL of those that are no number."""

    divides_to_zero = True

    def finite(self, sql: exp.Expr) -> exp.Expr:
        return when(self.is_finite(wrap(duplicate(sql))), sql)

    def combined(self, kind: type[exp.Expr], left: Double, right: Double) -> Double:
        return Double(binary(kind, left.sql, right.sql), ANY)

    def quotient(self, left: Double, right: Double) -> Double:
        return Double(self.divide(wrap(left.sql), wrap(right.sql)), ANY)

    def half(self, sql: exp.Expr) -> exp.Expr:
        return exp.Mul(this=sql, expression=double(0.5))

    def share(self, distance: exp.Expr, width: float) -> exp.Expr:
        return self.divide(distance, double(width))

    def remainder(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return self.modulo(wrap(left), wrap(right))

    def function_of_double(self, name: str, sql: exp.Expr) -> exp.Expr:
        return self.called(name, sql)

    def raised(self, base: Double, exponent: Double) -> Double:
        return Double(self.power(base.sql, exponent.sql), ANY)

    def whole(self, value: Double) -> Double:
        return Double(self.call("round", value.sql), ANY)

    def to_digits(self, name: str, value: Double, digits: int) -> exp.Expr:
        return self.call(name, value.sql, number(digits))
