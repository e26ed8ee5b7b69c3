"""Comparisons, boolean logic and choices. An integer is not a boolean; types that do not go together are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BOOLEAN, DOUBLE, TEXT, TIME, Interval, Kind, Type
from rewriter.dialects import Fact, duplicate, refuse, text, when, wrap
from rewriter.expressions.build import (
    Context,
    Rule,
    boolean,
    derive,
    finite,
    hull,
    is_literal,
    is_null,
    is_unknown,
    limits_of,
    listed,
    literal,
    rule,
    scalar_of,
)
from rewriter.expressions.casts import as_length, coerce, comparable, lengths, unify
from rewriter.expressions.literal_grain import compared, outward
from rewriter.expressions.text_length import readable
from rewriter.expressions.time_ranges import begins_in_range, compared_in_range, listed_in_range
from rewriter.expressions.value import Value, common_decimals
from rewriter.refused import NO_FUNCTION, TYPE_MISMATCH, Refused


def condition(node: object, context: Context, what: str = "the condition") -> Value:
    return coerce(context.finite(node), BOOLEAN, context, what)


# -- AND, OR, NOT ------------------------------------------------------------------------------------------------


def connect(kind: type[exp.Expr], left: Value, right: Value, context: Context) -> Value:
    name = "AND" if kind is exp.And else "OR"
    one = coerce(finite(left, context.dialect), BOOLEAN, context, f"the argument of {name}")
    other = coerce(finite(right, context.dialect), BOOLEAN, context, f"the argument of {name}")
    sql = kind(this=one.sql if type(one.sql) is kind else wrap(one.sql), expression=wrap(other.sql))
    return boolean(sql, one, other)


def negation(node: exp.Expr, context: Context) -> Value:
    value = condition(node.this, replace(context, negated=not context.negated), "the argument of NOT")
    return boolean(exp.Not(this=wrap(value.sql)), value)


# -- comparisons -------------------------------------------------------------------------------------------------


def comparison(kind: type[exp.Expr]) -> Rule:
    def function(node: exp.Expr, context: Context) -> Value:
        right = node.args["expression"]
        if isinstance(right, exp.Any):
            return _any(node, right, context)
        return compare(kind, context.finite(node.this), context.finite(right), context)

    return rule(function, "this", "expression")


def compare(kind: type[exp.Expr], left: Value, right: Value, context: Context) -> Value:
    left, right = compared(kind, left, right, context)
    here, there = comparable((left, right), context)
    if (found := compared_in_range(kind, here, there, context)) is not None:
        return found
    _, (one, other) = unify((here, there), context, NO_FUNCTION)
    null_safe = kind in (exp.NullSafeEQ, exp.NullSafeNEQ)
    sql = kind(this=wrap(one.sql), expression=wrap(other.sql))
    return boolean(sql, left, right, nullable=False if null_safe else None)


NO_ANY = (
    "ANY is answered of lists and subqueries",
    "write x = ANY(ARRAY[1, 2]), or x IN (…); NOT (x < ANY (SELECT y …)) is x >= (SELECT MAX(y) …) where no y is NULL",
)
"""What is said of an ANY that stands where it is not answered, and what is answered."""


def _any(node: exp.Expr, quantified: exp.Expr, context: Context) -> Value:
    array = quantified.this
    while isinstance(array, exp.Paren):
        array = array.this
    if not isinstance(node, exp.EQ) or not isinstance(array, exp.Array):
        raise refuse(*NO_ANY)
    return membership_of_list(context.finite(node.this), array.expressions, context)


def membership(node: exp.Expr, context: Context) -> Value:
    """x IN (list); x IN (SELECT …) is the scope's."""
    if node.args.get("query") is not None:
        return _delegate(node, context)
    return membership_of_list(context.finite(node.this), node.expressions, context)


def membership_of_list(value: Value, items: Sequence[exp.Expr], context: Context) -> Value:
    if not items:
        raise refuse("an IN list cannot be empty", "name at least one value", "42601")
    if len(items) > 10_000:
        raise refuse("the IN list is too long", "list at most 10,000 values", "54001")
    values = comparable([value, *(context.finite(item) for item in items)], context)
    span, is_all = listed_in_range(values[0], values[1:], context)
    _, (needle, *rest) = unify(values, context, NO_FUNCTION)
    sql: exp.Expr = exp.In(this=wrap(needle.sql), expressions=[item.sql for item in rest])
    if span is not None:
        sql = span if is_all else exp.And(this=span, expression=wrap(sql))
    return boolean(sql, needle, *rest)


def scalar(node: exp.Expr, context: Context) -> Value:
    """(SELECT …) is the scope's."""
    return _delegate(node, context)


def exists(node: exp.Expr, context: Context) -> Value:
    return _delegate(node, context)


def _delegate(node: exp.Expr, context: Context) -> Value:
    if not isinstance(node, exp.In | exp.Exists | exp.Subquery):
        raise TypeError(f"not a membership: {type(node)}")
    return context.scope.membership(node)


def is_test(node: exp.Expr, context: Context) -> Value:
    """IS [NOT] NULL, IS TRUE, IS FALSE."""
    against = node.args["expression"]
    if isinstance(against, exp.Null):
        value = finite(context.held(node.this), context.dialect)
        sql: exp.Expr = exp.Is(this=wrap(value.sql), expression=exp.Null())
    elif isinstance(against, exp.Boolean):
        value = condition(node.this, context, "the argument of IS")
        sql = exp.Is(this=wrap(value.sql), expression=exp.Boolean(this=bool(against.this)))
    else:
        raise refuse("IS is followed by NULL, TRUE, FALSE or DISTINCT FROM", "write IS NOT NULL")
    if node.args.get("negate"):
        sql = exp.Not(this=exp.Paren(this=sql))
    return boolean(sql, value, nullable=False)


def between(node: exp.Expr, context: Context) -> Value:
    value = context.finite(node.this)
    low, high = (context.finite(node.args[name]) for name in ("low", "high"))
    if not node.args.get("symmetric"):
        low, high = outward(value, low, context, lower=True), outward(value, high, context, lower=False)
    value, low, high = comparable((value, low, high), context)
    above, below = (
        None if node.args.get("symmetric") else compared_in_range(kind, value, end, context)
        for kind, end in ((exp.GTE, low), (exp.LTE, high))
    )
    if above is not None and below is not None:
        return boolean(exp.And(this=above.sql, expression=below.sql), value, low, high)
    _, (middle, one, other) = unify((value, low, high), context, NO_FUNCTION)
    if node.args.get("symmetric"):
        pairs = [
            exp.Between(this=wrap(duplicate(middle.sql)), low=wrap(duplicate(a.sql)), high=wrap(duplicate(b.sql)))
            for a, b in ((one, other), (other, one))
        ]
        return boolean(exp.Or(this=exp.Paren(this=pairs[0]), expression=exp.Paren(this=pairs[1])), value, low, high)
    sql = exp.Between(this=wrap(middle.sql), low=wrap(one.sql), high=wrap(other.sql))
    return boolean(sql, value, low, high)


# -- patterns ----------------------------------------------------------------------------------------------------


def text_of(node: object, context: Context, what: str) -> Value:
    """A text operand: nothing else is converted to text behind the analyst's back."""
    value = context.finite(node)
    if is_null(value):
        return literal(None, TEXT, context.dialect)
    if value.type != TEXT:
        raise refuse(f"{what} needs a text, not {value.type}", "cast it, as in x::text", NO_FUNCTION)
    return value


def like(node: exp.Expr, context: Context) -> Value:
    return _like(node, context, "\\")


def escaped(node: exp.Expr, context: Context) -> Value:
    """LIKE … ESCAPE 'c'."""
    inner, character = node.this, node.args["expression"]
    if type(inner) not in (exp.Like, exp.ILike) or not isinstance(character, exp.Literal) or not character.is_string:
        raise refuse("ESCAPE belongs to LIKE and takes a literal", "write x LIKE '50!%' ESCAPE '!'", "22025")
    if len(character.this) > 1 or character.this == "\x00":
        raise refuse("the escape must be one character", "write ESCAPE '!'", "22025")
    for name, part in inner.args.items():
        if part and name not in ("this", "expression", "negate"):
            raise refuse(f"LIKE with {name} is not answered", "write x LIKE 'a%'")
    return _like(inner, context, character.this)


def _like(node: exp.Expr, context: Context, escape: str) -> Value:
    value = text_of(node.this, context, "LIKE")
    pattern = text_of(node.args["expression"], context, "LIKE")
    guard: exp.Expr | None = None
    sql: exp.Expr
    if type(node) is exp.ILike:
        value = readable(value, context.dialect)
    if type(node) is exp.ILike or escape:
        pattern = readable(pattern, context.dialect)
    if is_literal(pattern):
        spelt = scalar_of(pattern)
        if (found := _of_a_time(node, value, spelt, escape, context)) is not None:
            return found
        uses_escape = isinstance(spelt, str) and bool(escape) and escape in spelt
        if isinstance(spelt, str):
            _check_pattern(spelt, escape)
    else:
        uses_escape = bool(escape)
        if escape:
            guard = context.dialect.matches(duplicate(pattern.sql), _complete(escape))
    sql = context.dialect.like(type(node), wrap(value.sql), wrap(pattern.sql))
    usual = context.dialect.usual_escape
    if uses_escape:
        said = escape != usual
    else:
        said = bool(usual) and (not is_literal(pattern) or usual in str(scalar_of(pattern)))
    if said:
        sql = exp.Escape(this=sql, expression=text(escape if uses_escape else ""))
    if node.args.get("negate"):
        sql = exp.Not(this=exp.Paren(this=sql))
    if guard is not None:
        sql = when(guard, sql)
    return boolean(sql, value, pattern, nullable=True if guard is not None else None)


def _of_a_time(node: exp.Expr, value: Value, pattern: object, escape: str, context: Context) -> Value | None:
    """LIKE '2026-04%' as a range of the time that the text shows; None of all else."""
    if type(node) is not exp.Like or node.args.get("negate") or not isinstance(pattern, str):
        return None
    if re.fullmatch(r"[^%_]+%", pattern) is None or (escape and escape in pattern):
        return None
    return begins_in_range(value, pattern[:-1], context)


def _complete(escape: str) -> str:
    """A regular expression for patterns that do not end in a lone escape character."""
    quoted = "".join("\\" + char if not char.isalnum() and char.isascii() else char for char in escape)
    return f"^(?:[^{quoted}]|{quoted}.)*$"


def _check_pattern(pattern: str, escape: str) -> None:
    if pattern.replace("\\%", "").count("%") > 30:
        raise refuse("the pattern has too many wildcards", "use fewer %", "54001")
    index = 0
    while escape and index < len(pattern):
        if pattern[index] == escape:
            index += 1
            if index == len(pattern):
                raise refuse("a LIKE pattern must not end with its escape character", "double it", "22025")
        index += 1


# -- choices -----------------------------------------------------------------------------------------------------


def _chosen(sql: exp.Expr, type_: Type, results: Sequence[Value], inputs: Sequence[Value], null: bool) -> Value:
    """A value that is one of ``results``, or NULL."""
    nullable = null or any(result.nullable for result in results)
    interval: Interval | None = hull(results)
    domain = listed(results, type_, nullable)
    limits = None
    if type_.kind is Kind.INTEGER:
        ends = [limits_of(result) for result in results if not (is_literal(result) and scalar_of(result) is None)]
        if ends:
            limits = min(low for low, _ in ends), max(high for _, high in ends)
    chosen = derive(sql, type_, *inputs, interval=interval, nullable=nullable, domain=domain, limits=limits)
    known = [result for result in results if not (is_literal(result) and scalar_of(result) is None)]
    away = type_ == DOUBLE and all(result.halves_away for result in known)
    return replace(chosen, halves_away=away, decimals=common_decimals(type_, known))


def case(node: exp.Expr, context: Context) -> Value:
    """CASE, searched and simple; branches that are all NULL make a text, as in PostgreSQL."""
    subject = context.finite(node.this) if node.this is not None else None
    tests: list[Value] = []
    results: list[Value] = []
    for branch in node.args["ifs"]:
        if any(part is not None and name not in ("this", "true") for name, part in branch.args.items()):
            raise refuse("a WHEN has a condition and a result", "write CASE WHEN x > 0 THEN 1 ELSE 0 END")
        if subject is None:
            tests.append(condition(branch.this, context, "the condition of WHEN"))
        else:
            copied = replace(
                subject.unowned(),
                sql=duplicate(subject.sql),
                domain=None,
                halves_away=False,
                real=False,
            )
            tests.append(compare(exp.EQ, copied, context.finite(branch.this), context))
        results.append(context.finite(branch.args.get("true")))
    default = node.args.get("default")
    if default is not None:
        results.append(context.finite(default))
    chosen, times, spans = lengths(results, context)
    type_, results = unify(chosen, context)
    branches = [exp.If(this=test.sql, true=result.sql) for test, result in zip(tests, results, strict=False)]
    sql = exp.Case(ifs=branches, default=results[-1].sql if default is not None else None)
    return as_length(_chosen(sql, type_, results, [*tests, *results], default is None), times, spans)


def coalesce(node: exp.Expr, context: Context) -> Value:
    given, times, spans = lengths([context.finite(item) for item in (node.this, *node.expressions)], context)
    type_, values = unify(given, context)
    sql = exp.Coalesce(this=values[0].sql, expressions=[value.sql for value in values[1:]])
    chosen = _chosen(sql, type_, values, values, False)
    if all(value.nullable for value in values):
        return as_length(_owned_by(chosen, values), times, spans)
    domain = listed(values, type_, False)
    if domain is not None and None in domain.values:
        domain = type(domain)(tuple(scalar for scalar in domain.values if scalar is not None))
    found = replace(chosen, nullable=False, domain=domain)
    return as_length(_owned_by(found, values), times, spans)


def _owned_by(value: Value, chosen: Sequence[Value]) -> Value:
    """One of several keys of a row's person is one: where all of them are the same key, or the unit itself."""
    if any(one.type != value.type for one in chosen):
        return value
    keys = frozenset.intersection(*(one.keys for one in chosen))
    either = frozenset.intersection(*(one.keys | one.ways for one in chosen))
    return replace(value, unit=all(one.unit for one in chosen), keys=keys, ways=either - keys)


def nullif(node: exp.Expr, context: Context) -> Value:
    left, right = context.finite(node.this), context.finite(node.args["expression"])
    _, (one, other) = unify((left, right), context, NO_FUNCTION)
    kept = one if is_unknown(left) or is_null(left) else left
    equal = exp.EQ(this=wrap(duplicate(one.sql)), expression=wrap(other.sql))
    sql = when(equal, literal(None, kept.type, context.dialect).sql, kept.sql if kept is not one else one.sql)
    domain = listed([kept], kept.type, True)
    limits = limits_of(kept) if kept.type.kind is Kind.INTEGER else None
    found = derive(sql, kept.type, left, right, interval=kept.interval, nullable=True, domain=domain, limits=limits)
    return replace(found, halves_away=kept.halves_away, decimals=kept.decimals)


def extreme(name: str, pick: Callable[[Interval, Interval], Interval]) -> Rule:
    """GREATEST or LEAST: both ignore NULLs, on the engines as in PostgreSQL."""

    def function(node: exp.Expr, context: Context) -> Value:
        given, times, spans = lengths([context.finite(item) for item in (node.this, *node.expressions)], context)
        type_, values = unify(given, context)
        if not (type_.numeric or type_.temporal or type_ in (TEXT, TIME)):
            raise refuse(f"{name.upper()} of {type_}", "compare numbers, texts or dates", TYPE_MISMATCH)
        sql = context.dialect.call(name, *(value.sql for value in values))
        chosen = _chosen(sql, type_, values, values, False)
        interval = chosen.interval
        if interval is not None and not any(value.nullable for value in values):
            interval = values[0].interval
            for value in values[1:]:
                interval = pick(interval, value.interval) if interval and value.interval else None
        sql = _clamped(name, sql, values)
        interval = interval or _between_ends(name, values)
        nullable = all(value.nullable for value in values)
        return as_length(replace(chosen, sql=sql, interval=interval, nullable=nullable), times, spans)

    return rule(function, "this", "expressions", "ignore_nulls")


_END: Fact[tuple[str, Fraction]] = Fact("end of a clamp")
"""Of ``GREATEST(x, 0)`` its word and the least value that it has, whatever x is; of ``LEAST(x, 9)`` the greatest."""


def _ends(name: str, values: Sequence[Value]) -> list[Fraction]:
    """What an operand that is never NULL says of GREATEST, or LEAST, whatever the others are."""
    known = [value.interval for value in values if value.interval is not None and not value.nullable]
    return [one.low if name == "greatest" else one.high for one in known]


def _clamped(name: str, sql: exp.Expr, values: Sequence[Value]) -> exp.Expr:
    found = _ends(name, values)
    return _END.on(sql, (name, max(found) if name == "greatest" else min(found))) if found else sql


def _between_ends(name: str, values: Sequence[Value]) -> Interval | None:
    """``LEAST(GREATEST(x, 0), 9)`` lies between 0 and 9, whatever x is: each bounds one side for good."""
    inner = {"least": "greatest", "greatest": "least"}[name]
    ends = _ends(name, values)
    others = [_ends_within(value) for value in values if value.interval is None]
    if not ends or len(others) != 1 or others[0] is None or others[0][0] != inner:
        return None
    end, other = min(ends) if name == "least" else max(ends), others[0][1]
    own = [value.interval for value in values if value.interval is not None]
    low, high = (min(end, other), end) if name == "least" else (end, max(end, other))
    for one in own:
        low, high = (min(low, one.low), high) if name == "least" else (low, max(high, one.high))
    return Interval(low, high)


def _ends_within(value: Value) -> tuple[str, Fraction] | None:
    if value.limits is not None and value.limits[0] >= 0:
        return "greatest", Fraction(value.limits[0])  # a length is never negative
    node, converted = value.sql, False
    while isinstance(node, exp.Paren | exp.Cast):
        node, converted = node.this, converted or isinstance(node, exp.Cast)
    end = _END.of(node)
    # A conversion may round, which moves nothing beyond a whole number.
    return None if end is None or (converted and end[1].denominator != 1) else end


def greater(one: Interval, other: Interval) -> Interval:
    return Interval(max(one.low, other.low), max(one.high, other.high))


def lesser(one: Interval, other: Interval) -> Interval:
    return Interval(min(one.low, other.low), min(one.high, other.high))


def parentheses(node: exp.Expr, context: Context) -> Value:
    return context.compile(node.this)


def if_function(node: exp.Expr, context: Context) -> Value:
    raise Refused("there is no IF function", hint="write CASE WHEN … THEN … ELSE … END", sqlstate="42883")
