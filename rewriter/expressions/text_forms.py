"""Texts in other forms: INITCAP, MD5, CHR, and the length in bytes."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from rewriter.declared import INTEGER, TEXT, Interval, Kind
from rewriter.dialects import duplicate, number, refuse, when, wrap
from rewriter.expressions.build import Context, derive, is_null
from rewriter.expressions.casts import widen
from rewriter.expressions.logic import text_of
from rewriter.expressions.text_length import as_long_as, readable
from rewriter.expressions.value import Length, TextSize, Value
from rewriter.refused import NO_FUNCTION

_LONGEST = 1 << 31
_DIGEST = TextSize(length=Length(plus=32, checked=True))
_ONE = TextSize(length=Length(plus=1, checked=True))
_PARSERS_OWN = " \t\n\r\f\v!\"#$%&'()*+,\\-./:;<=>?@\\[\\]^_`{|}~"
"""What the parser notes of an INITCAP that names no separators."""


def initcap(node: exp.Expr, context: Context) -> Value:
    """The first letter of each word large, the others small; a word is made of letters and digits."""
    between = node.args.get("expression")
    if between is not None and between.name != _PARSERS_OWN:
        raise refuse("INITCAP takes one text", "write INITCAP(x)", "42883")
    value = readable(text_of(node.this, context, "INITCAP"), context.dialect)
    return as_long_as(context.dialect.capitalised(value.sql), value)


def md5(node: exp.Expr, context: Context) -> Value:
    """32 digits; it hides nothing, since everybody can compute it of any text."""
    value = text_of(node.this, context, "MD5")
    return derive(context.dialect.call("md5", value.sql), TEXT, value, size=_DIGEST)


def octets(node: exp.Expr, context: Context) -> Value:
    """OCTET_LENGTH(x)."""
    (argument,) = node.expressions if len(node.expressions) == 1 else (None,)
    return _bytes(argument, context, "OCTET_LENGTH", 1)


def bits(node: exp.Expr, context: Context) -> Value:
    """BIT_LENGTH(x)."""
    return _bytes(node.this, context, "BIT_LENGTH", 8)


def _bytes(argument: object, context: Context, word: str, times: int) -> Value:
    value = text_of(argument, context, word)
    size = context.dialect.cast(context.dialect.bytes_of(value.sql, added=True), INTEGER)
    if times == 1:
        return derive(size, INTEGER, value, limits=(0, _LONGEST - 1))
    short = exp.LT(this=duplicate(size), expression=number(_LONGEST // times))
    return derive(when(short, exp.Mul(this=size, expression=number(times))), INTEGER, value, nullable=True)


def as_integer(value: Value, otherwise: str, context: Context) -> Value:
    """An integer argument; of any other type it is refused with this text."""
    if is_null(value):
        return widen(value, INTEGER, context.dialect)
    if value.type.kind is not Kind.INTEGER:
        raise refuse(otherwise, "cast it, as in x::integer", NO_FUNCTION)
    return value


def character(node: exp.Expr, context: Context) -> Value:
    """CHR(n): the character of a code point; NULL where there is none."""
    arguments = node.expressions
    if len(arguments) != 1 or node.args.get("charset"):
        raise refuse("CHR takes one integer", "write CHR(65)", "42883")
    value = context.finite(arguments[0])
    value = as_integer(value, f"CHR needs an integer, not {value.type}", context)

    def within(low: int, high: int) -> exp.Expr:
        return exp.Between(this=wrap(duplicate(value.sql)), low=number(low), high=number(high))

    known = exp.Or(this=within(1, 0xD7FF), expression=within(0xE000, 0x10FFFF))
    sql = when(known, context.dialect.character(context.dialect.cast(value.sql, INTEGER)))
    return derive(sql, TEXT, value, nullable=True, size=_ONE)


def some_length(value: Value) -> Interval | None:
    """How many characters a text has, where its making says so."""
    length = value.size.length if value.size is not None else None
    if length is None or length.texts:
        return None
    return Interval(Fraction(0), Fraction(length.plus))
