"""Doubles of engines whose arithmetic raises on overflow, on underflow and where there is no result.

Every value is finite, and an operand that could make an operation raise is held back first: beyond ±2²⁵⁰ (10⁷⁵) it is
NULL; where a product or quotient could be too small for a double, it is rounded to a multiple of 2⁻⁴⁵² (10⁻¹³⁶). How
far an operand can reach follows from its type, never from declared ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from rewriter.dialects.dialect import Dialect
from rewriter.dialects.double_operand import ANY, Double, reaching
from rewriter.dialects.nodes import binary, double, duplicate, number, refuse, when, wrap

SETTLING = 3 * 2.0**-401
"""Added and taken off again, it rounds doubles to multiples of 2⁻⁴⁵²: those above 2⁻³⁴⁶ are left as they are."""
_TAME, _MOST, _SETTLED, _LEAST = 250, 1000, -452, -1070


class GuardedDoubles(Dialect, family=True):
    """Every operation has a guard before it, in a CASE; no result is NaN or ±inf."""

    divides_to_zero = False

    def finite(self, sql: exp.Expr) -> exp.Expr:
        return sql

    def combined(self, kind: type[exp.Expr], left: Double, right: Double) -> Double:
        if kind is exp.Mul:
            return self._product(left, right)
        one, other = (self._held(side, _MOST if side.most <= _MOST else _TAME) for side in (left, right))
        most, least = max(one.most, other.most) + 1, min(one.least, other.least)
        # a difference is a multiple of the last bit of the smaller operand
        return Double(binary(kind, one.sql, other.sql), reaching((least - 53, most)))

    def _product(self, left: Double, right: Double) -> Double:
        one, other = left, right
        if one.most + other.most > _MOST:
            one, other = (self._held(side, _TAME) if side.most > _TAME else side for side in (one, other))
            if one.most + other.most > _MOST:  # a huge literal
                one, other = (
                    side if side.literal else self._held(side, _MOST - twin.most)
                    for side, twin in ((one, other), (other, one))
                )
        if one.least + other.least < _LEAST:
            one, other = self._settled(one), self._settled(other)
        least, most = one.least + other.least, one.most + other.most
        sql = binary(exp.Mul, one.sql, other.sql)
        return Double(self._unless_tiny(sql, one, other, least), reaching((least, most)))

    def quotient(self, left: Double, right: Double) -> Double:
        """NULL on zero."""
        other = self._settled(right if right.literal else self._held(right, _TAME))
        one = self._settled(self._held(left, min(_TAME, _MOST + other.least)))
        least, most = one.least - other.most, one.most - other.least
        divisor = wrap(other.sql)
        if not right.literal or not right.scalar:
            divisor = self.call("nullif", divisor, number(0))
        sql = self.divide(wrap(one.sql), divisor)
        return Double(self._unless_tiny(sql, one, other, least), reaching((least, most)))

    def half(self, sql: exp.Expr) -> exp.Expr:
        """Of what has no bits below 2⁻⁴⁵²: half of the least double is no double. Great ones lose nothing."""
        return exp.Mul(this=self.settled(sql), expression=double(0.5))

    def share(self, distance: exp.Expr, width: float) -> exp.Expr:
        if not 1e-60 < width < 1e60:
            raise refuse("WIDTH_BUCKET is answered for bounds at a moderate distance", "scale the values first")
        return self.divide(self.settled(distance), double(width))

    def remainder(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        raise refuse(
            "% is answered for integers and decimals only", "cast the operands, as in x::numeric(20,4)", "42883"
        )

    def function_of_double(self, name: str, sql: exp.Expr) -> exp.Expr:
        guard = _GUARDS.get(name)
        return self.called(name, sql) if guard is None else guard(sql, self)

    def raised(self, base: Double, exponent: Double) -> Double:
        """NULL where PostgreSQL raises, 0 where it is too small for a double."""
        if exponent.literal and exponent.scalar == 2.0:
            return self._product(base, replace(base, sql=duplicate(base.sql)))
        base, exponent = self._held(base, _TAME), self._settled(self._held(exponent, _TAME))
        zero, x, y = number(0), base.sql, exponent.sql
        size = exp.Mul(this=wrap(duplicate(y)), expression=self.call("ln", self.call("abs", duplicate(x))))
        inside = exp.Between(this=size, low=double(-700.0), high=double(709.0))
        is_small = exp.LT(this=duplicate(size), expression=double(-700.0))
        raised = exp.Case(
            ifs=[
                exp.If(this=inside, true=self.power(x, y)),
                exp.If(this=is_small, true=self.double(0.0)),
            ]
        )
        of_zero = exp.Case(
            ifs=[
                exp.If(this=exp.GT(this=wrap(duplicate(y)), expression=zero), true=self.double(0.0)),
                exp.If(this=exp.EQ(this=wrap(duplicate(y)), expression=zero.copy()), true=self.double(1.0)),
            ]
        )
        is_zero = exp.EQ(this=wrap(duplicate(x)), expression=zero.copy())
        is_real = exp.or_(
            exp.GT(this=wrap(duplicate(x)), expression=zero.copy()),
            exp.EQ(this=wrap(duplicate(y)), expression=self.call("floor", duplicate(y))),
            copy=False,
        )
        chosen = exp.Case(ifs=[exp.If(this=is_zero, true=of_zero), exp.If(this=is_real, true=raised)])
        return Double(chosen, ANY)

    def whole(self, value: Double) -> Double:
        has_fraction = exp.LT(this=self.call("abs", duplicate(value.sql)), expression=double(2.0**52))
        half = exp.Mul(this=self.call("sign", duplicate(value.sql)), expression=double(0.5))
        whole = self.call("trunc", exp.Add(this=wrap(duplicate(value.sql)), expression=half))
        return Double(when(has_fraction, whole, value.sql), reaching((0, max(value.most, 1))))

    def to_digits(self, name: str, value: Double, digits: int) -> exp.Expr:
        held = self._settled(self._held(value, _TAME))
        power_of_ten = double(10.0 ** abs(digits))
        there, back = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
        scaled = _typed(there, wrap(held.sql), power_of_ten)
        whole: exp.Expr = duplicate(scaled)
        if name == "round":
            half = exp.Mul(this=self.call("sign", duplicate(held.sql)), expression=double(0.5))
            whole = exp.Add(this=exp.Paren(this=whole), expression=half)
        rounded = _typed(back, self.call("trunc", whole), power_of_ten.copy())
        has_fraction = exp.LT(this=self.call("abs", scaled), expression=double(2.0**52))
        return when(has_fraction, rounded, value.sql)

    # -- guards --------------------------------------------------------------------------------------------------

    def settled(self, sql: exp.Expr) -> exp.Expr:
        """A double between ±2¹⁰⁰⁰ without bits below 2⁻⁴⁵², so that no product of two is too small for a double."""
        raised = exp.Paren(this=exp.Add(this=wrap(sql), expression=double(SETTLING)))
        return exp.Paren(this=exp.Sub(this=raised, expression=double(SETTLING)))

    def _held(self, value: Double, most: int) -> Double:
        """NULL beyond ±2**most."""
        if value.most <= most:
            return value
        sql, bound = self._unguarded(value.sql), 2.0**most
        inside = exp.Between(this=wrap(duplicate(sql)), low=double(-bound), high=double(bound))
        return Double(when(inside, sql), reaching((value.least, most)))

    def _unguarded(self, sql: exp.Expr) -> exp.Expr:
        """The value inside a CASE that only guards it against being infinite: closer bounds already imply that it is
        finite."""
        if isinstance(sql, exp.Case) and sql.args.get("default") is None and len(sql.args["ifs"]) == 1:
            branch = sql.args["ifs"][0]
            held: exp.Expr = branch.args["true"]
            if branch.this == self.is_finite(held.copy()):
                return held
        return sql

    def _settled(self, value: Double) -> Double:
        """Without bits below 2⁻⁴⁵², where it can have any."""
        if value.least >= _SETTLED or value.literal:
            return value
        held = self._held(value, _MOST)
        return Double(self.settled(held.sql), (_SETTLED, min(held.most, _MOST)))

    def _unless_tiny(self, sql: exp.Expr, one: Double, other: Double, least: int) -> exp.Expr:
        """0 in place of a result that a tiny literal could make too small for a double."""
        if least >= _LEAST:
            return sql
        operand = other if one.literal else one
        size = self.call("abs", duplicate(operand.sql))
        bound = 2.0 ** min(_LEAST - least + operand.least, 1000)
        tiny = exp.If(this=exp.LT(this=size.copy(), expression=double(bound)), true=self.double(0.0))
        return exp.Case(ifs=[exp.If(this=exp.GTE(this=size, expression=double(bound)), true=sql), tiny])


def _positive(name: str) -> Callable[[exp.Expr, Dialect], exp.Expr]:
    def guarded(sql: exp.Expr, dialect: Dialect) -> exp.Expr:
        return when(exp.GT(this=wrap(duplicate(sql)), expression=number(0)), dialect.called(name, sql))

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
    "acosh": _between("acosh", 1.0, 1.7976931348623157e308),
    "atanh": _between("atanh", -0.9999999999999999, 0.9999999999999999),
    "cosh": _between("cosh", -710.0, 710.0),
    "sinh": _between("sinh", -710.0, 710.0),
    "degrees": _between("degrees", -1e306, 1e306),
    "radians": _radians,
}


def _typed(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Div(this=left, expression=right, typed=True) if kind is exp.Div else kind(this=left, expression=right)
