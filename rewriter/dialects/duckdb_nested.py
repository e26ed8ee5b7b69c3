"""JSON and lists in DuckDB's words."""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Type
from rewriter.dialects.nested_values import DocumentStep, NestedValues
from rewriter.dialects.nodes import call, duplicate, number, refuse, text, when

_KINDS = {"OBJECT": "object", "ARRAY": "array", "VARCHAR": "string", "BOOLEAN": "boolean", "NULL": "null"}
WORDS_OF_NESTED = frozenset(
    """array_to_string json_array_length json_extract json_extract_string json_type json_valid len list_contains
    list_count list_extract list_max list_min list_slice unnest""".split()
)


class DuckDBNested(NestedValues):
    """Relied on: a path in double quotes is one key, but for ``*``, ``"`` and a backslash in it."""

    def read_nested(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        return when(call("json_valid", sql), sql.copy()) if type_.document else sql

    def part_of_document(self, sql: exp.Expr, step: DocumentStep) -> exp.Expr:
        return self._extracted("json_extract", sql, step)

    def text_of_document(self, sql: exp.Expr, step: DocumentStep) -> exp.Expr:
        return self._extracted("json_extract_string", sql, step)

    def _extracted(self, word: str, sql: exp.Expr, step: DocumentStep) -> exp.Expr:
        paths = [] if step.key is None else [_of_key(step.key)]
        if step.place is not None:
            paths.append(f"$[{step.place}]" if step.place >= 0 else f"$[#{step.place}]")
        found = [call(word, sql if place == 0 else duplicate(sql), text(path)) for place, path in enumerate(paths)]
        return found[0] if len(found) == 1 else exp.Coalesce(this=found[0], expressions=found[1:])

    def kind_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        ifs = [exp.If(this=text(theirs), true=text(ours)) for theirs, ours in _KINDS.items()]
        told = exp.Not(this=exp.Is(this=duplicate(sql), expression=exp.Null()))
        return when(told, exp.Case(this=call("json_type", sql), ifs=ifs, default=text("number")))

    def items_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        return exp.Cast(this=call("json_array_length", sql), to=exp.DataType(this=exp.DType.INT))

    def texts_of_document(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        return call("json_extract_string", sql, text("$[*]"))

    def any_item(self, kind: type[exp.Expr], sql: exp.Expr, items: exp.Expr) -> exp.Expr:
        none = exp.EQ(this=call("len", duplicate(items)), expression=number(0))
        missing = exp.LT(this=call("list_count", duplicate(items)), expression=call("len", duplicate(items)))
        found = exp.Paren(this=self._test(kind, sql, items))
        return exp.Case(
            ifs=[
                exp.If(this=none, true=exp.Boolean(this=False)),
                exp.If(this=found, true=exp.Boolean(this=True)),
                exp.If(this=missing, true=exp.Null()),
            ],
            default=duplicate(found),
        )

    def _test(self, kind: type[exp.Expr], sql: exp.Expr, items: exp.Expr) -> exp.Expr:
        least, most = call("list_min", duplicate(items)), call("list_max", duplicate(items))
        if kind is exp.EQ:
            told = exp.Not(this=exp.Is(this=duplicate(sql), expression=exp.Null()))
            return when(told, call("list_contains", items, sql))
        if kind is exp.NEQ:
            return exp.Or(
                this=exp.NEQ(this=sql, expression=least), expression=exp.NEQ(this=duplicate(sql), expression=most)
            )
        return kind(this=sql, expression=most if kind in (exp.LT, exp.LTE) else least)

    def item_count(self, items: exp.Expr) -> exp.Expr:
        return exp.Cast(this=call("len", items), to=exp.DataType(this=exp.DType.INT))

    def item(self, items: exp.Expr, place: int) -> exp.Expr:
        return call("list_extract", items, number(place))

    def some_items(self, items: exp.Expr, low: int, high: int) -> exp.Expr:
        return call("list_slice", items, number(low), number(high))

    def joined_items(self, items: exp.Expr, mark: str) -> exp.Expr:
        return call("array_to_string", items, text(mark))

    def numbers_between(self, low: exp.Expr, high: exp.Expr, step: int) -> exp.Expr:
        return call("generate_series", low, high, number(step))

    def unnested(self, items: exp.Expr) -> exp.Expr:
        return call("unnest", items)


def _of_key(key: str) -> str:
    if not key or set(key) & set('*"\\'):
        raise refuse("this key of a document is not answered", "keys have letters, digits and blanks")
    return f'$."{key}"'
