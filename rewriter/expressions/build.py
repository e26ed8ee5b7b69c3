"""How the rules of :mod:`rewriter.expressions.scalar_functions` build values: nodes with what is known about them.

A ``raw`` double may still be NaN or ±inf: :func:`finite` turns these into NULL.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BOOLEAN, DATE, TEXT, Interval, Kind, Scalar, Type, measure
from rewriter.dialects import Dialect, Fact, Magnitude, duplicate, number, text, when, wrap
from rewriter.expressions.value import (
    VARYING,
    Constant,
    Domain,
    IntegerRange,
    Limits,
    Scope,
    TextSize,
    Value,
    Values,
    text_size,
)
from rewriter.refused import TOO_COMPLEX, Refused

RISING: Fact[bool] = Fact("rising")
"""Of an expression that never falls where the number that it reads rises."""
MOST_DEPTH = 48
MOST_KEYS = 100_000


@dataclass(frozen=True, slots=True)
class Rule:
    """How one class of nodes is compiled. ``parts`` are what ``function`` looks at; the rest is refused."""

    function: Callable[[exp.Expr, Context], Value]
    parts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a rule: the compiled operands of its node, and the engine's spelling. ``negated``: it stands under
    an odd number of NOTs.
    """

    scope: Scope
    dialect: Dialect
    compile_at: Callable[[exp.Expr, Context], Value]
    depth: int = 0
    negated: bool = False

    def compile(self, node: object) -> Value:
        """An operand; a double may still be raw. Documents and lists are no values of an expression."""
        value = self._operand(node)
        if value.type.nested:
            raise no_value(value.type)
        return value

    def _operand(self, node: object) -> Value:
        if not isinstance(node, exp.Expr):
            raise Refused("an operand is missing", hint="write the whole expression", sqlstate="42601")
        if self.depth >= MOST_DEPTH:
            raise Refused(
                "the expression is nested too deeply", hint="compute a part in a subquery", sqlstate=TOO_COMPLEX
            )
        return self.compile_at(node, replace(self, depth=self.depth + 1))

    def held(self, node: object) -> Value:
        """An operand that may be a document or a list, of which only a part is read."""
        while isinstance(node, exp.Paren):
            node = node.this
        if type(node) is exp.Cast and node.to.this in _DOCUMENTS and (value := self.held(node.this)).type.document:
            return _same_document(value, node.to.this)
        return self._operand(node)

    def finite(self, node: object) -> Value:
        """An operand whose doubles are finite or NULL."""
        return finite(self.compile(node), self.dialect)


_DOCUMENTS = (exp.DType.JSON, exp.DType.JSONB)


def _same_document(value: Value, to: exp.DType) -> Value:
    """A document that is cast to json or jsonb: its parts read the same, but for those of a json as a jsonb, which
    spells numbers and lists anew."""
    if value.type.kind is Kind.JSON and to is exp.DType.JSONB:
        raise Refused(
            "a json is read as it is spelt, and not as a jsonb",
            hint="leave the cast out: x ->> 'city'; whether a document has a key is x -> 'city' IS NOT NULL",
        )
    return value


def no_value(of: Type) -> Refused:
    """A document or a list, of which only a part may be asked for."""
    if of.document:
        return Refused(f"a {of} is not a value here", hint="read a part of it, as in x ->> 'city'")
    return Refused(f"a list ({of}) is not a value here", hint="write 'a' = ANY(x), CARDINALITY(x), x[1], or UNNEST(x)")


# -- nodes -------------------------------------------------------------------------------------------------------


# -- values ------------------------------------------------------------------------------------------------------


def derive(
    sql: exp.Expr,
    type_: Type,
    *inputs: Value,
    interval: Interval | None = None,
    nullable: bool | None = None,
    domain: Domain | None = None,
    limits: Limits | None = None,
    magnitude: Magnitude | None = None,
    raw: bool = False,
    halves_away: bool = False,
    size: TextSize | None = None,
) -> Value:
    """A value computed from others: constant where they are, NULL where one can be (unless said otherwise)."""
    can_be_null = any(value.nullable for value in inputs) if nullable is None else nullable
    if type_.kind is Kind.BOOLEAN and domain is None:
        domain = Values((True, False, None) if can_be_null else (True, False))
    return Value(
        sql=sql,
        type=type_,
        interval=_representable(interval) if type_.kind is Kind.DOUBLE else interval,
        nullable=can_be_null or raw,
        constant=all(value.constant for value in inputs),
        domain=domain,
        halves_away=halves_away,
        limits=limits,
        magnitude=magnitude,
        raw=raw,
        size=size or text_size(type_, *inputs),
        decimals=VARYING if type_.kind is Kind.DECIMAL and any(one.decimals is not None for one in inputs) else None,
    )


def boolean(sql: exp.Expr, *inputs: Value, nullable: bool | None = None) -> Value:
    return derive(sql, BOOLEAN, *inputs, nullable=nullable)


def _representable(interval: Interval | None) -> Interval | None:
    """The interval, moved outward to doubles: rounding is monotone, so the rounded results lie inside."""
    if interval is None:
        return None
    try:
        low, high = float(interval.low), float(interval.high)
    except OverflowError:
        return None
    if Fraction(low) > interval.low:
        low = math.nextafter(low, -math.inf)
    if Fraction(high) < interval.high:
        high = math.nextafter(high, math.inf)
    return Interval(Fraction(low), Fraction(high)) if math.isfinite(low) and math.isfinite(high) else None


def loose(interval: Interval | None) -> Interval | None:
    """Room for the last digits of a function that is not correctly rounded."""
    if interval is None:
        return None
    slack = interval.magnitude / (1 << 48)
    return Interval(interval.low - slack, interval.high + slack)


def limits_of(value: Value) -> Limits:
    """The integers that a value of type INTEGER can be, whatever a row holds."""
    return value.limits or value.type.limits


def is_literal(value: Value) -> bool:
    return value.literal is not None


def scalar_of(value: Value) -> Scalar | None:
    """The constant behind a literal."""
    if value.literal is None:
        raise TypeError(f"{value.sql} is no literal")
    return value.literal.scalar


def settled(value: Value, dialect: Dialect, *inputs: Value) -> Value:
    """A date or time that is computed of literals as the literal that it is, so that a condition with
    ``CURRENT_DATE - 30`` is one with a literal: bounds, periods and keys follow from it alike.

    ``value`` is not NULL where none of the ``inputs`` is and its interval is one point.
    """
    point = value.interval
    if point is None or point.low != point.high or not value.type.temporal or not all(map(is_literal, inputs)):
        return value
    days, rest = divmod(point.low, 1)
    micros = rest * 86_400_000_000
    if micros.denominator != 1 or not 1 <= days <= datetime.date.max.toordinal():
        return value
    day = datetime.date.fromordinal(int(days))
    if value.type == DATE:
        return literal(day, DATE, dialect) if not micros else value
    moment = datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(microseconds=int(micros))
    return literal(moment, value.type, dialect)


def is_unknown(value: Value) -> bool:
    """A quoted literal without a type: PostgreSQL gives it the type of its surroundings."""
    return isinstance(value.sql, exp.Literal) and value.type == TEXT and is_literal(value)


def is_null(value: Value) -> bool:
    return value.type.kind is Kind.NULL


def typed(value: Value, dialect: Dialect) -> Value:
    """The same with a type: a NULL of none is a text where it is grouped or counted, as in PostgreSQL."""
    return literal(None, TEXT, dialect) if is_null(value) else value


def finite(value: Value, dialect: Dialect) -> Value:
    """The same double with NaN and ±inf as NULL."""
    guarded = dialect.finite(value.sql) if value.raw else value.sql
    return value if guarded is value.sql else replace(value.carried_by(guarded), nullable=True)


def in_calendar(value: Value, dialect: Dialect) -> Value:
    """The same date or timestamp, NULL outside the years 1 to 9999."""
    guarded = when(dialect.in_calendar(wrap(duplicate(value.sql)), value.type), value.sql)
    return replace(value.carried_by(guarded), nullable=True)


def one_zero(sql: exp.Expr, dialect: Dialect) -> exp.Expr:
    """The same double, 0.0 for -0.0: where people's rows have both, engines keep whichever comes first as the least."""
    return exp.Paren(this=exp.Add(this=wrap(sql), expression=dialect.double(0.0)))


# -- literals ----------------------------------------------------------------------------------------------------


def literal(scalar: Scalar | None, type_: Type, dialect: Dialect, sql: exp.Expr | None = None) -> Value:
    """A constant of a given type, spelt so that the engine gives it that type or a wider one."""
    node = sql if sql is not None else _spell(scalar, type_, dialect)
    interval = None
    if scalar is not None and (type_.numeric or type_.temporal):
        interval = Interval(measure(scalar), measure(scalar))
    return Value(
        sql=node,
        type=type_,
        interval=interval,
        nullable=scalar is None,
        constant=True,
        domain=Values((scalar,)),
        literal=Constant(scalar),
        limits=(scalar, scalar) if type_.kind is Kind.INTEGER and isinstance(scalar, int) else None,
        size=text_size(type_),
    )


def _spell(scalar: Scalar | None, type_: Type, dialect: Dialect) -> exp.Expr:
    if scalar is None:
        return exp.Null() if type_.kind is Kind.NULL else dialect.cast(exp.Null(), type_)
    if isinstance(scalar, bool):
        return exp.Boolean(this=scalar)
    if isinstance(scalar, str):
        return dialect.cast(text(scalar), TEXT)
    if isinstance(scalar, float):
        return dialect.double(scalar)
    if isinstance(scalar, int):
        return number(scalar) if type_.bits == _bits(scalar) else dialect.cast(number(scalar), type_)
    if isinstance(scalar, Decimal):
        return dialect.cast(number(format(scalar, "f")), type_)
    if isinstance(scalar, datetime.datetime):
        return dialect.cast(text(scalar.isoformat(sep=" ")), type_)
    return dialect.cast(text(scalar.isoformat()), type_)


def _bits(value: int) -> int:
    return next(bits for bits in (32, 64, 128) if -(1 << (bits - 1)) <= value < 1 << (bits - 1))


def integer_type(limits: Limits, at_least: int = 32) -> Type | None:
    """The smallest integer type that holds the limits; None beyond 128 bits."""
    low, high = limits
    for bits in (16, 32, 64, 128):
        if bits >= at_least and -(1 << (bits - 1)) <= low and high < 1 << (bits - 1):
            return Type(Kind.INTEGER, bits=bits)
    return None


def digits_of(limits: Limits) -> int:
    """Decimal digits that the limits need.

    >>> digits_of((-1000, 999))
    4
    """
    return len(str(max(abs(limits[0]), abs(limits[1]))))


# -- domains -----------------------------------------------------------------------------------------------------


def integer_domain(interval: Interval | None) -> IntegerRange | None:
    """Every integer of an interval, where they are not too many to list."""
    if interval is None:
        return None
    low, high = math.ceil(interval.low), math.floor(interval.high)
    return IntegerRange(low, high) if 0 <= high - low < MOST_KEYS else None


def hull(values: Sequence[Value]) -> Interval | None:
    """Where the values lie together; NULLs lie nowhere."""
    found: Interval | None = None
    for value in values:
        if is_literal(value) and scalar_of(value) is None:
            continue
        if value.interval is None:
            return None
        found = value.interval if found is None else found.hull(value.interval)
    return found


def listed(values: Sequence[Value], type_: Type, plus_null: bool) -> Values | None:
    """The union of listed domains, where all are listed."""
    found: dict[tuple[type, Scalar | None], Scalar | None] = {}
    for value in values:
        if not isinstance(value.domain, Values):
            return None
        for scalar in value.domain.values:
            converted = convert(scalar, type_)
            found[type(converted), converted] = converted
    if plus_null:
        found[type(None), None] = None
    return Values(tuple(found.values())) if len(found) <= MOST_KEYS else None


def convert(scalar: Scalar | None, type_: Type) -> Scalar | None:
    """A literal of one type as a literal of the type that it is widened to.

    >>> convert(2, Type(Kind.DOUBLE))
    2.0
    """
    if scalar is None or isinstance(scalar, bool | str):
        return scalar
    if type_.kind is Kind.DOUBLE and isinstance(scalar, int | Decimal):
        return float(scalar)
    if type_.kind is Kind.DECIMAL and isinstance(scalar, int):
        return Decimal(scalar)
    if type_.kind is Kind.TIMESTAMP and not isinstance(scalar, datetime.datetime) and isinstance(scalar, datetime.date):
        return datetime.datetime.combine(scalar, datetime.time())
    return scalar


def rule(function: Callable[[exp.Expr, Context], Value], *parts: str) -> Rule:
    return Rule(function, frozenset(parts or ("this",)))
