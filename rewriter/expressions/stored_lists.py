"""Lists that a row of people holds: ``'a' = ANY(tags)``, ``tags @> ARRAY['a', 'b']``, ``CARDINALITY(tags)``.

A list is only ever read: what comes out of it is an item, a number, a text, or whether something is among its items.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from sqlglot import exp

from rewriter.declared import BOOLEAN, INTEGER, TEXT, TEXTS, Kind, Type
from rewriter.dialects import Fact, duplicate, number, refuse, when
from rewriter.expressions import logic
from rewriter.expressions.build import Context, Rule, boolean, derive, is_literal, is_null, rule, scalar_of
from rewriter.expressions.documents import contains, document, is_list
from rewriter.expressions.series_of_rows import series, series_in
from rewriter.expressions.value import Value
from rewriter.refused import NOT_ANSWERED, TYPE_MISMATCH

_MOST_ITEMS = (1 << 31) - 1
PART: Fact[int] = Fact("part")
"""How many items a part of a list has at most, by its literal ends."""
_ITEMS_OF_JSON = ("JSON_ARRAY_ELEMENTS_TEXT", "JSONB_ARRAY_ELEMENTS_TEXT")
_NEGATED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}


def stored_list(node: object, context: Context, what: str) -> Value:
    """An operand that is a list."""
    value = context.held(node)
    if not value.type.listed:
        raise refuse(f"{what} needs a column that holds lists, not {value.type}", "name such a column", TYPE_MISMATCH)
    return value


def compared(kind: type[exp.Expr]) -> Rule:
    """A comparison, also with ANY or ALL items of a list. ``x < ALL (a)`` is NOT ``x >= ANY (a)``, NULLs included."""
    plain = logic.comparison(kind)

    def compiled(node: exp.Expr, context: Context) -> Value:
        among = node.args.get("expression")
        if isinstance(among, exp.Any) and not isinstance(among.this.unnest(), exp.Array):
            return _any(kind, node.this, among.this, context)
        if isinstance(among, exp.Anonymous) and among.name.upper() in ("ALL", "SOME") and len(among.expressions) == 1:
            if among.name.upper() == "SOME":
                return _any(kind, node.this, among.expressions[0], context)
            found = _any(_NEGATED[kind], node.this, among.expressions[0], context)
            return boolean(exp.Not(this=exp.Paren(this=found.sql)), found)
        return plain.function(node, context)

    return Rule(compiled, plain.parts)


def _any(kind: type[exp.Expr], left: object, among: object, context: Context) -> Value:
    value = context.held(among)
    if not value.type.listed:
        raise refuse(*logic.NO_ANY)
    return _some(kind, _item(left, value.type, context), value, context)


def _some(kind: type[exp.Expr], item: Value, value: Value, context: Context) -> Value:
    sql = context.dialect.any_item(kind, item.sql, value.sql)
    return derive(sql, BOOLEAN, item, value, nullable=True)


def _item(node: object, of: Type, context: Context) -> Value:
    """What items of a list are compared with."""
    value = context.finite(node)
    if is_null(value):
        raise refuse("items are compared with NULL", "write x IS NULL", TYPE_MISMATCH)
    if value.type.kind is not of.items.kind:
        raise refuse(f"items of {of} are compared with {value.type}", f"cast it to {of.items}", TYPE_MISMATCH)
    return value


def _holds(*, every: bool) -> Rule:
    """``a @> ARRAY['x', 'y']``, all of which are among the items; ``a && ARRAY['x', 'y']``, one of which is."""

    def compiled(node: exp.Expr, context: Context) -> Value:
        if every and (held := context.held(node.this)).type.document:
            return contains(held, node.expression, context)
        value = stored_list(node.this, context, "@>" if every else "&&")
        listed = logic_list(node.expression)
        if listed is None:
            raise refuse("lists are compared with a list of literals", "write tags @> ARRAY['a', 'b']", NOT_ANSWERED)
        if not listed:
            sql: exp.Expr = exp.Boolean(this=every)
        else:
            tests = [_among(item, replace_copy(value), context) for item in listed]
            sql = functools.reduce(lambda a, b: (exp.And if every else exp.Or)(this=a, expression=b), tests)
        told = exp.Not(this=exp.Is(this=duplicate(value.sql), expression=exp.Null()))
        return derive(when(told, exp.Paren(this=sql)), BOOLEAN, value)

    return rule(compiled, "this", "expression")


def replace_copy(value: Value) -> Value:
    """The same list, by a copy of its node."""
    return derive(duplicate(value.sql), value.type, value)


def _among(item: exp.Expr, value: Value, context: Context) -> exp.Expr:
    found = _some(exp.EQ, _item(item, value.type, context), value, context)
    return exp.Coalesce(this=found.sql, expressions=[exp.Boolean(this=False)])


def logic_list(node: object) -> list[exp.Expr] | None:
    """The literals of ``ARRAY['a', 'b']``."""
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.to.this is exp.DType.ARRAY):
        node = node.this
    if isinstance(node, exp.Array) and all(isinstance(item, exp.Literal) for item in node.expressions):
        return list(node.expressions)
    return None


def count(node: exp.Expr, context: Context) -> Value:
    """CARDINALITY(a): how many items there are."""
    value = stored_list(node.expressions[0], context, "CARDINALITY")
    return derive(context.dialect.item_count(value.sql), INTEGER, value, limits=(0, _MOST_ITEMS))


def array_length(node: exp.Expr, context: Context) -> Value:
    """ARRAY_LENGTH(a, 1): how many items there are, NULL of none."""
    value = stored_list(node.this, context, "ARRAY_LENGTH")
    axis = node.args.get("expression")
    if not (isinstance(axis, exp.Literal) and axis.name == "1"):
        raise refuse("a list has one dimension here", "write ARRAY_LENGTH(x, 1)")
    counted = context.dialect.item_count(duplicate(value.sql))
    sql = when(exp.GT(this=counted, expression=number(0)), context.dialect.item_count(value.sql))
    return derive(sql, INTEGER, value, nullable=True, limits=(1, _MOST_ITEMS))


def item_at(node: exp.Expr, context: Context) -> Value:
    """``a[1]``: the item at a place. ``a[1:3]``: those from one place to another."""
    value = context.held(node.this)
    if not value.type.listed:
        raise refuse("this subscript is not answered", "of lists, (REGEXP_MATCH(x, '…'))[1] and "
                     "(STRING_TO_ARRAY(x, ','))[1] it is", NOT_ANSWERED)  # fmt: skip
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(place, exp.Slice):
        low, high = (_whole(place.args.get(name)) for name in ("this", "expression"))
        if low is None or high is None or not 1 <= low <= high:
            raise refuse("a part of a list has literal ends", "write x[1:5]")
        part = PART.on(context.dialect.some_items(value.sql, low, high), high - low + 1)
        return derive(part, value.type, value)
    at = _whole(place)
    if at is None:
        raise refuse("the place of an item is a literal", "write x[1]")
    sql = context.dialect.item(value.sql, at)
    items = value.type.items
    return derive(sql, items, value, nullable=True, limits=items.limits if items.kind is Kind.INTEGER else None)


def _whole(node: object) -> int | None:
    found = isinstance(node, exp.Literal) and node.is_int and int(node.name) < _MOST_ITEMS
    return int(node.name) if found and isinstance(node, exp.Literal) else None


def joined(node: exp.Expr, context: Context) -> Value:
    """ARRAY_TO_STRING(a, ','): the items that are not NULL, as one text."""
    value = stored_list(node.this, context, "ARRAY_TO_STRING")
    mark = context.finite(node.expression)
    spelt = scalar_of(mark) if is_literal(mark) else None
    if not isinstance(spelt, str) or len(spelt) > 1:
        raise refuse("the mark of ARRAY_TO_STRING is one character", "write ARRAY_TO_STRING(x, ',')")
    return derive(context.dialect.joined_items(value.sql, spelt), TEXT, value)


def listed(node: exp.Expr, context: Context) -> Value:
    """What UNNEST takes: a list, a series, or the items of a document that is a list, as texts."""
    if isinstance(node, exp.GenerateSeries):
        return series(node, context)
    call = node.this if isinstance(node, exp.Explode) else node
    if isinstance(call, exp.Anonymous) and call.name.upper() in _ITEMS_OF_JSON and len(call.expressions) == 1:
        value = document(call.expressions[0], context, call.name.upper())
        some = when(is_list(value, context), value.sql)
        return derive(context.dialect.texts_of_document(some, value.type), TEXTS, value, nullable=True)
    return stored_list(call, context, "UNNEST")


def makes_rows(node: object) -> bool:
    """Whether an item of a select list makes a row of each item of a list."""
    return isinstance(node, exp.Explode | exp.GenerateSeries) or (
        isinstance(node, exp.Anonymous) and isinstance(node.this, str) and node.name.upper() in _ITEMS_OF_JSON
    )


def array(node: exp.Expr, context: Context) -> Value:
    """``ARRAY(SELECT generate_series(0, x))``, which is a list of a row's own; others are not answered."""
    found = series_in(node)
    if found is None:
        raise refuse(
            "arrays are not answered",
            'write a list as x IN (1, 2), and a name that needs quotes in double ones, as in FROM "patient"',
            NOT_ANSWERED,
        )
    return series(found, context)


LIST_SYNTAX: Mapping[type[exp.Expr], Rule] = {
    **{kind: compared(kind) for kind in _NEGATED},
    exp.Array: rule(array, "expressions"),
    exp.ArrayContainsAll: _holds(every=True),
    exp.ArrayOverlaps: _holds(every=False),
    exp.ArraySize: rule(array_length, "this", "expression"),
    exp.ArrayToString: rule(joined, "this", "expression"),
    exp.Bracket: rule(item_at, "this", "expressions", "offset"),
}
LIST_FUNCTIONS = {"CARDINALITY": rule(count, "this", "expressions")}
