"""How long a text can become: bounded statically, and by a guard where the rows decide.

Guarantee: no text that an expression makes has more than ``LONGEST`` characters; what could be longer is NULL. No
expression may make ``MOST_GROWTH`` times as much text as is stored, through all subqueries; what could is refused.
Why both: a text that an engine cannot hold makes it raise, which would tell that some row is so long, and an
expression that makes gigabytes of every row keeps the database busy.

The guard is of lengths that are read before anything is put together: ``CASE WHEN strlen(a) + strlen(b) <= 65534 THEN
a || ', ' || b END``. Lengths are compared as bytes where they are read, and taken for characters where they are
written, which never says less. Functions that make a text longer share one guard when they are nested.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.declared import TEXT
from rewriter.dialects import Dialect, duplicate, number, refuse, when, wrap
from rewriter.expressions.build import Context, derive, is_literal, scalar_of
from rewriter.expressions.value import GROWTH, Value, growth_of
from rewriter.refused import TOO_COMPLEX

LONGEST = 1 << 16
MOST_GROWTH = 1_000
PRINTED = 64
"""Characters that a number, a time or a boolean has at most."""

LENGTH, GUARDED = "length", "guarded"
_SMALL = 50


@dataclass(frozen=True, slots=True)
class Length:
    """At most ``plus`` characters and, of each of ``texts``, ``times`` its bytes; a missing one may count as none.

    ``checked``: a guard has seen to it that the whole is no longer than an engine can work with.
    """

    texts: tuple[tuple[exp.Expr, int, bool], ...] = ()
    plus: int = 0
    checked: bool = False

    def __deepcopy__(self, memo: object) -> Length:
        """Copies of a node share its facts; the trees in them are copied where they are used."""
        return self

    def times(self, factor: int) -> Length:
        """``factor`` copies, of which there is at least one."""
        return Length(tuple((text, times * factor, missing) for text, times, missing in self.texts), self.plus * factor)

    def __add__(self, other: Length) -> Length:
        found: dict[exp.Expr, tuple[int, bool]] = {}
        for text, times, missing in (*self.texts, *other.texts):
            before, missed = found.get(text, (0, False))
            found[text] = before + times, missed or missing
        return Length(tuple((text, *facts) for text, facts in found.items()), self.plus + other.plus)

    def missing(self) -> Length:
        """The same where NULL counts as an empty text."""
        return replace(self, texts=tuple((text, times, True) for text, times, _ in self.texts))


def length_of(value: Value) -> Length:
    found = value.sql.meta.get(LENGTH)
    if isinstance(found, Length):
        return found
    if is_literal(value):
        return Length(plus=len(str(scalar_of(value) or "")), checked=True)
    return Length(((duplicate(value.sql), 1, False),))


def of_length(sql: exp.Expr, length: Length) -> exp.Expr:
    sql.meta[LENGTH] = length
    return sql


def as_long_as(sql: exp.Expr, value: Value, most: int | None = None) -> exp.Expr:
    """A function's text that has no more characters than its operand; and at most ``most``."""
    if most is not None and most <= LONGEST:
        sql.meta[GROWTH] = 1
        return of_length(sql, Length(plus=most, checked=True))
    if LENGTH in value.sql.meta or is_literal(value) or _is_small(value.sql):
        return of_length(sql, length_of(value))
    return sql


def _is_small(sql: exp.Expr) -> bool:
    return len(list(itertools.islice(sql.walk(), _SMALL))) < _SMALL


def bare(value: Value) -> exp.Expr:
    """The text without its guard, for a longer one that has a guard of its own."""
    return value.sql.args["ifs"][0].args["true"] if GUARDED in value.sql.meta else value.sql


def growth(value: Value) -> int:
    """How many times as long as what is stored; 0 for what is short whatever is stored."""
    return growth_of(value.sql) if length_of(value).texts else 0


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
        sql.meta[GUARDED] = True
        nullable = True
    sql.meta[GROWTH] = max(growth, 1)
    return derive(of_length(sql, replace(length, checked=True)), TEXT, *inputs, nullable=nullable)


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
    sql.meta[GROWTH] = growth_of(value.sql)
    return replace(value, sql=of_length(sql, replace(length, checked=True)))


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
