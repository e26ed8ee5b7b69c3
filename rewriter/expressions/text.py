"""Functions of text. What makes a text longer takes small literals, and a guard of
:mod:`rewriter.expressions.text_length`."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, INTEGER, TEXT, Interval, Kind
from rewriter.dialects import duplicate, number, refuse, text, when, wrap
from rewriter.expressions.build import (
    Context,
    Rule,
    boolean,
    derive,
    finite,
    integer_domain,
    is_literal,
    is_null,
    is_unknown,
    rule,
    scalar_of,
)
from rewriter.expressions.casts import to_text, widen
from rewriter.expressions.literals import whole_literal
from rewriter.expressions.logic import text_of
from rewriter.expressions.patterns import check_pattern
from rewriter.expressions.shown_times import still_shown_in
from rewriter.expressions.text_forms import as_integer, some_length
from rewriter.expressions.text_length import LENGTHS, as_long_as, bare, grown, growth, length_of, of_length, readable
from rewriter.expressions.text_matches import first_match
from rewriter.expressions.time_ranges import begins_in_range
from rewriter.expressions.value import Length, Value, Values
from rewriter.refused import TYPE_MISMATCH

MOST_PADDED = 1000
_LONGEST = 1 << 31


def reverse(node: exp.Expr, context: Context) -> Value:
    value = text_of(node.this, context, "REVERSE")
    return as_long_as(context.dialect.call("reverse", value.sql), value)


def in_case(name: str) -> Rule:
    """UPPER or LOWER."""

    def function(node: exp.Expr, context: Context) -> Value:
        value = readable(text_of(node.this, context, name.upper()), context.dialect)
        return as_long_as(context.dialect.in_case(name, value.sql), value)

    return rule(function)


def length(node: exp.Expr, context: Context) -> Value:
    value = text_of(node.this, context, "LENGTH")
    sql, most = context.dialect.call("length", value.sql), some_length(value)
    declared = LENGTHS.of(value.sql)
    interval = most if most is not None or declared is None else Interval.of(*declared)
    return derive(sql, INTEGER, value, interval=interval, limits=(0, _LONGEST - 1), domain=integer_domain(most))


def position(node: exp.Expr, context: Context) -> Value:
    value = text_of(node.this, context, "POSITION")
    part = text_of(node.args["substr"], context, "POSITION")
    return derive(context.dialect.call("strpos", value.sql, part.sql), INTEGER, value, part, limits=(0, _LONGEST - 1))


def starts_with(node: exp.Expr, context: Context) -> Value:
    value = text_of(node.this, context, "STARTS_WITH")
    prefix = text_of(node.args["expression"], context, "STARTS_WITH")
    begin = scalar_of(prefix) if is_literal(prefix) else None
    if isinstance(begin, str) and (found := begins_in_range(value, begin, context)) is not None:
        return found
    return boolean(context.dialect.call("starts_with", value.sql, prefix.sql), value, prefix)


def trim(node: exp.Expr, context: Context) -> Value:
    """TRIM, LTRIM, RTRIM, BTRIM: blanks, or the characters of a second text."""
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "BOTH").upper(), "trim")
    value = readable(text_of(node.this, context, name.upper()), context.dialect)
    if node.args.get("expression") is None:
        return as_long_as(context.dialect.call(name, value.sql, text(" ")), value)
    characters = readable(text_of(node.args["expression"], context, name.upper()), context.dialect)
    return as_long_as(context.dialect.call(name, value.sql, characters.sql), value, characters)


def substring(node: exp.Expr, context: Context) -> Value:
    """SUBSTRING(x FROM start [FOR length]); positions before 1 count. NULL of a length below 0."""
    start_value = context.compile(node.args.get("start"))
    if start_value.type == TEXT:
        if node.args.get("length") is not None:
            raise refuse("SUBSTRING FROM a pattern takes no length", "write SUBSTRING(x FROM '[0-9]+')")
        return first_match(node.this, start_value, context)
    value = text_of(node.this, context, "SUBSTRING")
    sized = None if node.args.get("length") is None else context.compile(node.args["length"])
    if not all(map(_is_number, [start_value] if sized is None else [start_value, sized])):
        return _computed_substring(value, start_value, sized, context)
    start = whole_literal(start_value, "the start of SUBSTRING", -_LONGEST, _LONGEST - 1)
    if sized is None:
        return as_long_as(context.dialect.call("substring", value.sql, number(max(start, 1))), value)
    size = whole_literal(sized, "the length of SUBSTRING", 0, _LONGEST - 1)
    end = max(start + size, 1)
    begin = max(start, 1)
    size = max(end - begin, 0)
    found = as_long_as(context.dialect.call("substring", value.sql, number(begin), number(size)), value, most=size)
    return still_shown_in(found, value, size) if begin == 1 else found


def _computed_substring(value: Value, start: Value, size: Value | None, context: Context) -> Value:
    """Of a start or a length that rows have: the characters at the places that there are."""
    first = _whole(start, "the start of SUBSTRING", context)
    places = [when(_is_less(first, number(1)), number(1), first.copy())]
    others = [start]
    if size is not None:
        length, others = _whole(size, "the length of SUBSTRING", context), [start, size]
        after = exp.Add(this=wrap(first.copy()), expression=wrap(length.copy()))
        missing = _case(
            [
                (_is_less(length, number(0)), exp.Null()),
                (_is_less(number(0), first), length.copy()),
                (_is_less(after, number(2)), number(0)),
            ],
            exp.Sub(this=wrap(after.copy()), expression=number(1)),
        )
        places.append(missing)
    sql = context.dialect.call("substring", value.sql, *(context.dialect.cast(place, INTEGER) for place in places))
    found = as_long_as(sql, value, *others)
    return found if size is None else dataclasses.replace(found, nullable=True)


def _computed_side(name: str, value: Value, count: Value, context: Context) -> Value:
    """LEFT or RIGHT of a count that rows have, by places from the first character on."""
    some = _whole(count, f"the length of {name.upper()}", context)
    whole = context.dialect.cast(context.dialect.call("length", duplicate(value.sql)), BIGINT)
    if name == "left":
        rest = exp.Add(this=wrap(whole), expression=wrap(some.copy()))
        size = _case([(_is_less(number(-1), some), some.copy()), (_is_less(rest, number(1)), number(0))], rest.copy())
        places = [number(1), context.dialect.cast(size, INTEGER)]
    else:
        before = exp.Sub(this=wrap(whole), expression=wrap(some.copy()))
        start = _case(
            [
                (_is_less(some, number(0)), exp.Sub(this=number(1), expression=wrap(some.copy()))),
                (_is_less(before, number(0)), number(1)),
            ],
            exp.Add(this=wrap(before.copy()), expression=number(1)),
        )
        places = [context.dialect.cast(start, INTEGER)]
    return as_long_as(context.dialect.call("substring", value.sql, *places), value, count)


def _is_number(value: Value) -> bool:
    return is_literal(value) and isinstance(scalar_of(value), int)


def _whole(value: Value, what: str, context: Context) -> exp.Expr:
    """An integer argument of a row, of 64 bits; beyond all texts it is as far as the longest."""
    value = as_integer(value, f"{what} must be an integer", context)
    sql = context.dialect.cast(value.sql, BIGINT)
    most, least = number(_LONGEST - 2), number(2 - _LONGEST)
    if value.limits is not None and value.limits[0] > -_LONGEST and value.limits[1] < _LONGEST - 1:
        return sql
    return _case([(_is_less(most, sql), most.copy()), (_is_less(sql, least), least.copy())], sql.copy())


def _case(branches: Sequence[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=test, true=value) for test, value in branches], default=otherwise)


def _is_less(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.LT(this=wrap(duplicate(one)), expression=wrap(duplicate(other)))


def side(name: str) -> Rule:
    """LEFT or RIGHT; a negative count leaves out that many characters at the other end."""

    def function(node: exp.Expr, context: Context) -> Value:
        value = text_of(node.this, context, name.upper())
        counted = context.compile(node.args["expression"])
        if not _is_number(counted):
            return _computed_side(name, value, counted, context)
        count = whole_literal(counted, f"the length of {name.upper()}", -_LONGEST, _LONGEST - 1)
        most = count if count >= 0 else None
        found = as_long_as(context.dialect.call(name, value.sql, number(max(count, 1 - _LONGEST))), value, most=most)
        return still_shown_in(found, value, count) if name == "left" and count > 0 else found

    return rule(function, "this", "expression")


def pad(node: exp.Expr, context: Context) -> Value:
    name = "lpad" if node.args.get("is_left") else "rpad"
    value = text_of(node.this, context, name.upper())
    size = whole_literal(context.compile(node.args["expression"]), f"the length of {name.upper()}", 0, MOST_PADDED)
    fill: object = " "
    if node.args.get("fill_pattern") is not None:
        pattern = text_of(node.args["fill_pattern"], context, name.upper())
        fill = scalar_of(pattern) if is_literal(pattern) else None
    if not isinstance(fill, str) or not fill:
        raise refuse(f"the fill of {name.upper()} must be a literal text", f"write {name.upper()}(x, 5, '0')")
    return as_long_as(context.dialect.call(name, value.sql, number(size), text(fill)), value, most=size)


def repeat(node: exp.Expr, context: Context) -> Value:
    value = text_of(node.this, context, "REPEAT")
    times = whole_literal(context.compile(node.args["times"]), "the count of REPEAT", 0, 100)
    return _longer(lambda sql: context.dialect.call("repeat", sql, number(times)), value, times, context)


def replace(node: exp.Expr, context: Context) -> Value:
    value = text_of(node.this, context, "REPLACE")
    old, new = (text_of(node.args.get(name), context, "REPLACE") for name in ("expression", "replacement"))
    replacement = scalar_of(new) if is_literal(new) else None
    if not is_literal(new) or len(str(replacement)) > MOST_PADDED:
        raise refuse("the new text of REPLACE must be a short literal", "write REPLACE(x, 'a', 'b')")
    least = max(len(str(scalar_of(old) or "")), 1) if is_literal(old) else 1
    times = -(-len(str(replacement)) // least)
    return _longer(lambda sql: context.dialect.call("replace", sql, old.sql, new.sql), value, times, context, old, new)


def translate(node: exp.Expr, context: Context) -> Value:
    """TRANSLATE(x, from, to) with literals: each character of one becomes that of the other at its place, or goes."""
    value = readable(text_of(node.this, context, "TRANSLATE"), context.dialect)
    old, new = (text_of(node.args.get(name), context, "TRANSLATE") for name in ("from_", "to"))
    if not all(is_literal(side) and len(str(scalar_of(side) or "")) <= MOST_PADDED for side in (old, new)):
        raise refuse("TRANSLATE needs short literals", "write TRANSLATE(x, 'äö', 'ao')")
    return as_long_as(context.dialect.call("translate", value.sql, old.sql, new.sql), value, old, new)


def _longer(
    function: Callable[[exp.Expr], exp.Expr], value: Value, times: int, context: Context, *others: Value
) -> Value:
    """A text that is up to ``times`` as long."""
    if times < 2:
        return as_long_as(function(value.sql), value, *others)
    length = length_of(value).times(times)
    return grown(function(bare(value)), length, growth(value) * times, context, (value, *others))


def split_part(node: exp.Expr, context: Context) -> Value:
    value = text_of(node.this, context, "SPLIT_PART")
    delimiter = text_of(node.args["delimiter"], context, "SPLIT_PART")
    between = scalar_of(delimiter) if is_literal(delimiter) else None
    index = whole_literal(context.compile(node.args["part_index"]), "the field of SPLIT_PART", -1000, 1000)
    if not isinstance(between, str) or not between or index == 0:
        raise refuse("SPLIT_PART needs a literal delimiter and field", "write SPLIT_PART(x, ',', 1)", "22023")
    field = exp.Coalesce(this=context.dialect.split(value.sql, between, index), expressions=[text("")])
    present = exp.Not(this=exp.Is(this=wrap(duplicate(value.sql)), expression=exp.Null()))
    return as_long_as(when(present, field), value)


# -- concatenation -------------------------------------------------------------------------------------------------


def joined(value: Value, context: Context) -> Value:
    """Anything as CONCAT prints it: booleans as t and f."""
    value = finite(value, context.dialect)
    if value.type.kind is Kind.BOOLEAN:
        sql = when(duplicate(value.sql), text("t"), when(exp.Not(this=wrap(value.sql)), text("f")))
        size = of_length(Length(plus=1, checked=True), value)
        return derive(sql, TEXT, value, domain=Values(("t", "f", None)), size=size)
    return _printed(value, context)


def _printed(value: Value, context: Context) -> Value:
    """Anything as a cast to text prints it."""
    value = finite(value, context.dialect)
    if is_unknown(value) or value.type == TEXT:
        return value
    if is_null(value):
        return widen(value, TEXT, context.dialect)
    if value.type.kind is Kind.INTERVAL:
        raise refuse("an interval has no text here", "use EXTRACT(EPOCH FROM a - b)", TYPE_MISMATCH)
    return to_text(value, TEXT, context.dialect)


def concatenate(left: Value, right: Value, context: Context) -> Value:
    """``||``: NULL when a side is."""
    if TEXT not in (left.type, right.type):
        raise refuse(f"there is no {left.type} || {right.type}", "cast a side, as in x::text", "42883")
    one, other = (_printed(value, context) for value in (left, right))
    first, second = bare(one), bare(other)
    sql = exp.DPipe(this=first if type(first) is exp.DPipe else wrap(first), expression=wrap(second))
    return grown(sql, length_of(one) + length_of(other), growth(one) + growth(other), context, (left, right))


def concat(node: exp.Expr, context: Context) -> Value:
    """CONCAT leaves NULLs out."""
    values = [joined(context.compile(item), context) for item in node.expressions]
    sql = context.dialect.call("concat", *map(bare, values))
    return grown(sql, _together(values), sum(map(growth, values)), context, values, nullable=False)


def concat_ws(node: exp.Expr, context: Context) -> Value:
    delimiter = text_of(node.expressions[0], context, "CONCAT_WS")
    values = [joined(context.compile(item), context) for item in node.expressions[1:]]
    if not values:
        raise refuse("CONCAT_WS needs a text after the separator", "write CONCAT_WS(', ', a, b)", "42883")
    sql = context.dialect.call("concat_ws", bare(delimiter), *map(bare, values))
    between = max(len(values) - 1, 1)
    length = length_of(delimiter).times(between) + _together(values)
    times = growth(delimiter) * between + sum(map(growth, values))
    return grown(sql, length, times, context, (delimiter, *values), nullable=delimiter.nullable)


def _together(values: Sequence[Value]) -> Length:
    """Of texts of which those that are NULL are left out."""
    return functools.reduce(operator.add, (length_of(value).missing() for value in values), Length())


# -- regular expressions -------------------------------------------------------------------------------------------


def regex(ignore_case: bool) -> Rule:
    def function(node: exp.Expr, context: Context) -> Value:
        value = readable(text_of(node.this, context, "~"), context.dialect)
        pattern = text_of(node.args["expression"], context, "~")
        spelt = scalar_of(pattern) if is_literal(pattern) else None
        if not isinstance(spelt, str):
            raise refuse("a regular expression must be a literal", "write x ~ '^A[0-9]+'")
        check_pattern(spelt)
        return boolean(context.dialect.matches(value.sql, spelt, ignore_case), value)

    return rule(function, "this", "expression")


def ascii_code(node: exp.Expr, context: Context) -> Value:
    value = text_of(node.this, context, "ASCII")
    interval = Interval(Fraction(0), Fraction(0x10FFFF))
    return derive(context.dialect.call("ascii", value.sql), INTEGER, value, interval=interval, limits=(0, 0x10FFFF))
