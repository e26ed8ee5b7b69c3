r"""JSON of people: ``attrs ->> 'plan'``, ``attrs -> 'address' ->> 'city'``, ``attrs #>> '{tags,0}'``.

A document is only ever read: what comes out of it is a text, a number of items, or a smaller document. Its keys are
literals, so that which key is read hangs on no row. What PostgreSQL raises on (the length of what is no list) is NULL.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from rewriter.declared import BOOLEAN, DOUBLE, INTEGER, TEXT
from rewriter.dialects import DocumentStep, duplicate, refuse, when, wrap
from rewriter.expressions.build import Context, Rule, derive, finite, rule
from rewriter.expressions.casts import convert_to
from rewriter.expressions.value import Value
from rewriter.refused import TYPE_MISMATCH

_MOST_ITEMS = (1 << 31) - 1
_PLACE = re.compile(r"0|-?[1-9]\d{0,8}")
_LITERAL = "write a key or a place, as in x ->> 'city' and x -> 0"


def document(node: object, context: Context, what: str) -> Value:
    """An operand that is a document."""
    value = context.held(node)
    if not value.type.document:
        raise refuse(f"{what} needs a column of type json or jsonb, not {value.type}", "name such a column",
                     TYPE_MISMATCH)  # fmt: skip
    return value


def _read(value: Value, path: Sequence[DocumentStep], context: Context, *, as_text: bool) -> Value:
    if not path:
        raise refuse("an empty path is not answered", _LITERAL)
    sql = value.sql
    for step in path[:-1]:
        sql = context.dialect.part_of_document(sql, step)
    if as_text:
        return derive(context.dialect.text_of_document(sql, path[-1]), TEXT, value, nullable=True)
    return derive(context.dialect.part_of_document(sql, path[-1]), value.type, value, nullable=True)


def _arrow(*, as_text: bool) -> Rule:
    """``->`` and ``->>``: by a key of an object, or a place in a list."""

    def compiled(node: exp.Expr, context: Context) -> Value:
        value = document(node.this, context, "->>" if as_text else "->")
        return _read(value, _steps(node.expression), context, as_text=as_text)

    return rule(compiled, "this", "expression", "only_json_types")


def _steps(node: object) -> list[DocumentStep]:
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and node.this.is_int:
        return [DocumentStep(place=-int(node.this.name))]
    if not isinstance(node, exp.JSONPath):
        raise refuse("what is read of a document is said by a literal", _LITERAL)
    steps: list[DocumentStep] = []
    for part in node.expressions[1:]:
        if isinstance(part, exp.JSONPathKey) and isinstance(part.this, str):
            steps.append(DocumentStep(key=part.this))
        elif isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int):
            steps.append(DocumentStep(place=part.this))
        else:
            raise refuse("this path into a document is not answered", _LITERAL)
    return steps


def _along(*, as_text: bool) -> Rule:
    """``#>`` and ``#>>``: a path of keys and places, where a number is a place in a list and a key of an object."""

    def compiled(node: exp.Expr, context: Context) -> Value:
        value = document(node.this, context, "#>>" if as_text else "#>")
        path = node.expression
        if not (isinstance(path, exp.Literal) and path.is_string):
            raise refuse("a path into a document is a literal", "write x #>> '{address,city}'")
        found = re.fullmatch(r"\{([^{}\"\\]*)\}", path.name.strip())
        if found is None:
            raise refuse("this path into a document is not answered", "write x #>> '{address,city}'")
        return _read(value, [_either(part.strip()) for part in found[1].split(",")], context, as_text=as_text)

    return rule(compiled, "this", "expression")


def _either(part: str) -> DocumentStep:
    return DocumentStep(key=part, place=int(part) if _PLACE.fullmatch(part) else None)


def path_function(*, as_text: bool) -> Rule:
    """JSON_EXTRACT_PATH_TEXT(x, 'a', 'b') and its kin."""

    def compiled(node: exp.Expr, context: Context) -> Value:
        first, *path = node.expressions
        value = document(first, context, node.name)
        if not all(isinstance(part, exp.Literal) and part.is_string for part in path):
            raise refuse("a path into a document is of literals", f"write {node.name}(x, 'address', 'city')")
        return _read(value, [_either(part.name) for part in path], context, as_text=as_text)

    return rule(compiled, "this", "expressions")


def length(node: exp.Expr, context: Context) -> Value:
    """JSON_ARRAY_LENGTH(x): the number of a list's items; of all else NULL."""
    value = document(node.expressions[0], context, node.name)
    sql = when(is_list(value, context), context.dialect.items_of_document(value.sql, value.type))
    return derive(sql, INTEGER, value, nullable=True, limits=(0, _MOST_ITEMS))


def kind(node: exp.Expr, context: Context) -> Value:
    """JSON_TYPEOF(x): 'object', 'array', 'string', 'number', 'boolean' or 'null'."""
    value = document(node.expressions[0], context, node.name)
    return derive(context.dialect.kind_of_document(value.sql, value.type), TEXT, value)


def contains(value: Value, needle: object, context: Context) -> Value:
    """``x @> '{"plan": "pro", "seats": 3}'``: an object that has these values under these keys, and perhaps others."""
    try:
        wanted = json.loads(needle.name) if isinstance(needle, exp.Literal) and needle.is_string else None
    except ValueError:
        wanted = None
    tests = list(_tests(value, wanted, context)) if isinstance(wanted, dict) else []
    if not tests or len(tests) > _MOST_TESTS:
        raise refuse("what a document contains is told by a literal object of texts, numbers and truths",
                     "write x @> '{\"plan\": \"pro\"}', or x ->> 'plan' = 'pro'")  # fmt: skip
    told = exp.Not(this=exp.Is(this=duplicate(value.sql), expression=exp.Null()))
    found = functools.reduce(lambda a, b: exp.And(this=a, expression=b), tests)
    sql = when(told, exp.Coalesce(this=exp.Paren(this=found), expressions=[exp.Boolean(this=False)]))
    return derive(sql, BOOLEAN, value, nullable=True)


def _tests(value: Value, wanted: object, context: Context) -> Iterator[exp.Expr]:
    """The conditions on a part of a document, so that it has a value."""
    named = next((name for of, name in _KINDS.items() if isinstance(wanted, of)), None)
    if named is None:
        raise refuse("lists within a document are not compared", "write x -> 'tags' ->> 0 = 'a'")
    kind = context.dialect.kind_of_document(duplicate(value.sql), value.type)
    yield exp.EQ(this=kind, expression=exp.Literal.string(named))
    if isinstance(wanted, dict):
        for key, inner in wanted.items():
            part = _read(
                _copied(value), [DocumentStep(key=key)], context, as_text=isinstance(inner, str | bool | int | float)
            )
            if part.type.document:
                yield from _tests(part, inner, context)
                continue
            whole = _read(_copied(value), [DocumentStep(key=key)], context, as_text=False)
            told = context.dialect.kind_of_document(whole.sql, whole.type)
            yield exp.EQ(this=told, expression=exp.Literal.string(_kind_name(inner)))
            yield _same(part, inner, context)


def _same(part: Value, wanted: object, context: Context) -> exp.Expr:
    if isinstance(wanted, bool | str):
        spelt = wanted if isinstance(wanted, str) else str(wanted).lower()
        return exp.EQ(this=wrap(part.sql), expression=exp.Literal.string(spelt))
    number_ = finite(convert_to(part, DOUBLE, context.dialect), context.dialect)
    return exp.EQ(this=wrap(number_.sql), expression=context.dialect.double(float(wanted)))  # type: ignore[arg-type]


def _kind_name(wanted: object) -> str:
    return next(name for of, name in _KINDS.items() if isinstance(wanted, of))


def _copied(value: Value) -> Value:
    return derive(duplicate(value.sql), value.type, value)


_KINDS: Mapping[type, str] = {
    dict: "object",
    bool: "boolean",
    str: "string",
    int: "number",
    float: "number",
    type(None): "null",
}
_MOST_TESTS = 20


def is_list(value: Value, context: Context) -> exp.Expr:
    """Whether a document is a list."""
    found = context.dialect.kind_of_document(duplicate(value.sql), value.type)
    return exp.EQ(this=found, expression=exp.Literal.string("array"))


DOCUMENT_SYNTAX: Mapping[type[exp.Expr], Rule] = {
    exp.JSONExtract: _arrow(as_text=False),
    exp.JSONExtractScalar: _arrow(as_text=True),
    exp.JSONBExtract: _along(as_text=False),
    exp.JSONBExtractScalar: _along(as_text=True),
}
DOCUMENT_FUNCTIONS = {
    **dict.fromkeys(("JSON_EXTRACT_PATH_TEXT", "JSONB_EXTRACT_PATH_TEXT"), path_function(as_text=True)),
    **dict.fromkeys(("JSON_EXTRACT_PATH", "JSONB_EXTRACT_PATH"), path_function(as_text=False)),
    **dict.fromkeys(("JSON_ARRAY_LENGTH", "JSONB_ARRAY_LENGTH"), rule(length, "this", "expressions")),
    **dict.fromkeys(("JSON_TYPEOF", "JSONB_TYPEOF"), rule(kind, "this", "expressions")),
}
"""Functions of documents, by the names that PostgreSQL gives them. Over rows of people alone."""
