r"""JSON and arrays in PostgreSQL's words.

A ``json`` is kept as its text, and raises where a part of it is read that no text can hold (``\u0000``, half a pair of
surrogates) or that nests too deeply: such a document is NULL. A ``jsonb`` was checked when it was stored.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Kind, Type
from rewriter.dialects.nested_values import DocumentStep, NestedValues
from rewriter.dialects.nodes import call, duplicate, number, text, when, wrap

_LONGEST = 1_000_000
"""Bytes of a ``json`` that is read."""
_MOST_OPENED = 4_000
"""Objects and lists in it: PostgreSQL's parser goes into each one, on a stack of 2 MB."""
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_NO_TEXT = r"\\u(0000|[dD][89a-fA-F])"
WORDS_OF_NESTED = frozenset(
    """array_to_string cardinality json_array_elements_text json_array_length json_typeof jsonb_array_elements_text
    jsonb_array_length jsonb_typeof octet_length regexp_replace translate length unnest
    generate_series""".split()
)


class PostgresNested(NestedValues):
    """Relied on: ``->``, ``->>``, ``= ANY`` and subscripts raise for no value of ``jsonb`` or of an array."""

    def read_nested(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        """Texts compare by code point, as everywhere."""
        if type_.document:
            return _readable(sql, type_)
        if type_.kind is Kind.INTEGERS:
            return sql
        texts = exp.DataType(this=exp.DType.ARRAY, expressions=[exp.DataType(this=exp.DType.TEXT)], nested=True)
        whole = sql if engine_type.lower() == "text[]" else exp.Cast(this=sql, to=texts)
        return exp.Paren(this=exp.Collate(this=whole, expression=exp.to_identifier("C", quoted=True)))

    def part_of_document(self, sql: exp.Expr, step: DocumentStep) -> exp.Expr:
        return self._extracted(exp.JSONExtract, exp.JSONBExtract, sql, step)

    def text_of_document(self, sql: exp.Expr, step: DocumentStep) -> exp.Expr:
        return self._extracted(exp.JSONExtractScalar, exp.JSONBExtractScalar, sql, step)

    def _extracted(self, arrow: type[exp.Expr], path: type[exp.Expr], sql: exp.Expr, step: DocumentStep) -> exp.Expr:
        if step.key is not None and step.place is not None:
            return exp.Paren(this=path(this=wrap(sql), expression=text("{" + step.key + "}")))
        at = text(step.key) if step.key is not None else number(step.place or 0)
        return exp.Paren(this=arrow(this=wrap(sql), expression=at))

    def kind_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        return call(f"{type_.kind}_typeof", sql)

    def items_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        return call(f"{type_.kind}_array_length", sql)

    def texts_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        return call(f"{type_.kind}{_ELEMENTS}", sql)

    def any_item(self, kind: type[exp.Expr], sql: exp.Expr, items: exp.Expr) -> exp.Expr:
        return exp.Paren(this=kind(this=wrap(sql), expression=exp.Any(this=exp.Paren(this=items))))

    def item_count(self, items: exp.Expr) -> exp.Expr:
        return call("cardinality", items)

    def item(self, items: exp.Expr, place: int) -> exp.Expr:
        return exp.Bracket(this=exp.Paren(this=items), expressions=[number(place - 1)])

    def some_items(self, items: exp.Expr, low: int, high: int) -> exp.Expr:
        ends = exp.Slice(this=number(low), expression=number(high))
        return exp.Bracket(this=exp.Paren(this=items), expressions=[ends])

    def joined_items(self, items: exp.Expr, mark: str) -> exp.Expr:
        return call("array_to_string", items, text(mark))

    def numbers_between(self, low: exp.Expr, high: exp.Expr, step: int) -> exp.Expr:
        return exp.Array(expressions=[exp.Select(expressions=[call("generate_series", low, high, number(step))])])

    def unnested(self, items: exp.Expr) -> exp.Expr:
        if isinstance(items, exp.Anonymous) and items.name.endswith(_ELEMENTS):
            return items
        return call("unnest", items)


_ELEMENTS = "_array_elements_text"


def _readable(sql: exp.Expr, type_: Type) -> exp.Expr:
    """A column as a document that no operator raises on."""
    if type_.kind is Kind.JSONB:
        return sql
    spelt = exp.Cast(this=sql, to=exp.DataType(this=exp.DType.TEXT))
    short = exp.LTE(this=call("octet_length", spelt), expression=number(_LONGEST))
    left = call("translate", duplicate(spelt), text("[{"), text(""))
    opened = exp.Sub(this=call("length", duplicate(spelt)), expression=call("length", left))
    flat = exp.LTE(this=exp.Paren(this=opened), expression=number(_MOST_OPENED))
    paired = call("regexp_replace", duplicate(spelt), text(_PAIR), text(""), text("g"))
    whole = exp.Not(this=exp.Paren(this=exp.RegexpLike(this=paired, expression=text(_NO_TEXT))))
    return when(short, when(exp.and_(flat, whole, copy=False), duplicate(sql)))
