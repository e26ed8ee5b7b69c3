"""How long a text can become: bounded statically, and by a guard where the rows decide.

Guarantee: no text that an expression makes has more than ``LONGEST`` characters; a text that could be longer is NULL.
No expression may make ``MOST_GROWTH`` times as much text as is stored, through all subqueries; one that could is
refused. Why both: an engine raises when it cannot hold a text, and the error would tell that some row is so long. And
an expression that makes gigabytes of every row keeps the database busy.

The guard compares lengths before any text is put together: ``CASE WHEN strlen(a) + strlen(b) <= 65534 THEN a || ', ' ||
b END``. Lengths are compared in bytes, and the bound is stated in characters: there are never more characters than
bytes. Nested functions that make a text longer share one guard.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.declared import TEXT
from rewriter.dialects import Dialect, Fact, duplicate, number, refuse, when, wrap
from rewriter.expressions.build import Context, derive, is_literal, scalar_of
from rewriter.expressions.value import Length, TextSize, Value, growth_of
from rewriter.refused import TOO_COMPLEX

LENGTHS: Fact[tuple[int, int]] = Fact("lengths of declared values")
"""Of a column of texts whose values are declared: how long they are, at least and at most."""
LONGEST = 1 << 16
MOST_GROWTH = 1_000
PRINTED = 64
"""Characters that a number, a time or a boolean has at most."""

_SMALL = 50


def length_of(value: Value) -> Length:
    """The length of a text; a literal of a number or a time counts as it is printed."""
    if value.size is not None and value.size.length is not None:
        return value.size.length
    if is_literal(value):
        return Length(plus=len(str(scalar_of(value) or "")), checked=True)
    return Length(((duplicate(value.sql), 1, False),))


def of_length(length: Length, *inputs: Value) -> TextSize:
    """The size of a text of that length that is made of some values."""
    return TextSize(growth_of(*inputs), length)


def as_long_as(sql: exp.Expr, value: Value, *others: Value, most: int | None = None) -> Value:
    """A function's text that has no more characters than its first operand; and at most ``most``."""
    size = TextSize(growth_of(value, *others))
    if most is not None and most <= LONGEST:
        size = TextSize(length=Length(plus=most, checked=True))
    elif (value.size is not None and value.size.length is not None) or is_literal(value) or _is_small(value.sql):
        size = of_length(length_of(value), value, *others)
    return derive(sql, TEXT, value, *others, size=size)


def _is_small(sql: exp.Expr) -> bool:
    return len(list(itertools.islice(sql.walk(), _SMALL))) < _SMALL


def bare(value: Value) -> exp.Expr:
    """The text without its guard, for a longer one that has a guard of its own."""
    is_guarded = value.size is not None and value.size.guarded
    return value.sql.args["ifs"][0].args["true"] if is_guarded else value.sql


def growth(value: Value) -> int:
    """How many times as long as what is stored; 0 for what is short whatever is stored."""
    return growth_of(value) if length_of(value).texts else 0


def grown(
    sql: exp.Expr,
    length: Length,
    growth: int,
    context: Context,
    inputs: Sequence[Value],
    *,
    nullable: bool | None = None,
) -> Value:
    """A text of that length, made of the bare operands; NULL where it could have more than ``LONGEST`` characters."""
    if growth > MOST_GROWTH or length.plus > LONGEST:
        raise refuse("this makes too much text of what is stored", _HINT, TOO_COMPLEX)
    if length.texts:
        sql = when(_fits(length, LONGEST, context.dialect), sql)
        nullable = True
    size = TextSize(max(growth, 1), replace(length, checked=True), guarded=bool(length.texts))
    return derive(sql, TEXT, *inputs, nullable=nullable, size=size)


_HINT = f"a query may make {MOST_GROWTH:,} times as much text as there is, and {LONGEST:,} characters of its own"


def readable(value: Value, dialect: Dialect) -> Value:
    """The same text; NULL where the engine would raise because it cannot work with a text so long."""
    most = dialect.longest_text
    if most is None or is_literal(value) or value.type != TEXT:
        return value
    length = length_of(value)
    if length.checked or not length.texts:
        return value
    sql = when(_fits(length, most, dialect), value.sql)
    return replace(value, sql=sql, size=of_length(replace(length, checked=True), value))


def _fits(length: Length, most: int, dialect: Dialect) -> exp.Expr:
    room = most - length.plus
    if len(length.texts) == 1:
        ((text, times, missing),) = length.texts
        size = _or_none(dialect.bytes_of(duplicate(text)), missing)
        return exp.LTE(this=size, expression=number(room // times))
    sizes = [_size(*part, dialect) for part in length.texts]
    return exp.LTE(this=functools.reduce(_sum, sizes), expression=number(room))


def _size(text: exp.Expr, times: int, missing: bool, dialect: Dialect) -> exp.Expr:
    size = _or_none(dialect.bytes_of(duplicate(text), added=True), missing)
    return size if times == 1 else exp.Mul(this=wrap(size), expression=number(times))


def _or_none(size: exp.Expr, missing: bool) -> exp.Expr:
    return exp.Coalesce(this=size, expressions=[number(0)]) if missing else size


def _sum(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Add(this=one, expression=other)
