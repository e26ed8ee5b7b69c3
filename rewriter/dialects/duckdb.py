"""DuckDB's spelling of what a checked expression needs, for version 2 and later.

JSON and lists in DuckDB's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from rewriter.declared import BIGINT, DOUBLE, TEXT, TIMESTAMP, Kind, Type
from rewriter.dialects.ieee_doubles import IeeeDoubles
from rewriter.dialects.nested_values import DocumentStep, NestedValues
from rewriter.dialects.nodes import call, double, duplicate, named_table, number, refuse, text, when, wrap
from rewriter.dialects.number_format import NumberFormat
from rewriter.dialects.number_print import number_printed
from rewriter.dialects.postgres_family import PostgresFamily
from rewriter.dialects.strftime import printed

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


class DuckDB(DuckDBNested, IeeeDoubles, PostgresFamily):
    """Relied on, with ``ieee_floating_point_ops`` on, its default: double arithmetic and double functions never raise
    but give NaN or ±inf; ``//`` and ``%`` truncate toward zero; casts of doubles to integers round half to even, of
    decimals half away from zero; NULLIF and SPLIT_PART are macros that repeat their argument (never used here: nested
    ones take exponential time).

    >>> DUCKDB.is_finite(exp.column("x")).sql("duckdb")
    'x BETWEEN (-1.7976931348623157e308) AND 1.7976931348623157e308'
    """

    name = "duckdb"
    default_schema = "main"
    decimals_may_be_nan = False
    recomputes = False
    sums_in_order = True
    windows_in_order = True
    usual_escape = ""
    longest_text = None
    own_words = (
        frozenset(
            """array_to_string chr date_part date_trunc epoch epoch_us generate_series len list_extract list_transform
        log2 make_timestamp md5 pow printf quantile_cont quantile_disc regexp_extract regexp_extract_all regexp_matches
        round_even rpad sha256 strftime string_split strlen substring to_months try_cast upper xor""".split()
        )
        | WORDS_OF_NESTED
    )

    own_syntax = PostgresFamily.family_syntax | {exp.Array, exp.IntDiv, exp.Lambda, exp.Offset, exp.TryCast}

    # -- types ---------------------------------------------------------------------------------------------------

    def cast(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        return exp.Cast(this=sql, to=self.data_type(type_))

    def try_cast(self, sql: exp.Expr, type_: Type, source: Type | None = None) -> exp.Expr:
        return exp.TryCast(this=sql, to=self.data_type(type_))

    def parse(self, sql: exp.Expr, pattern: str, type_: Type) -> exp.Expr:
        return self.try_cast(self.extract_match(sql, pattern), type_)

    def as_real(self, sql: exp.Expr) -> exp.Expr:
        return self.cast(exp.TryCast(this=sql, to=exp.DataType(this=exp.DType.FLOAT)), DOUBLE)

    def shortened(self, sql: exp.Expr, digits: int) -> exp.Expr:
        return self.try_cast(call("printf", text(f"%.{digits}g"), sql), DOUBLE, TEXT)

    def double(self, value: float) -> exp.Expr:
        return double(value)

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def integer_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return exp.IntDiv(this=dividend, expression=divisor)

    def wide_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return self.integer_divide(dividend, divisor)

    def divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return exp.Div(this=dividend, expression=divisor)

    def log2(self, sql: exp.Expr) -> exp.Expr:
        return call("log2", sql)

    def power(self, base: exp.Expr, exponent: exp.Expr) -> exp.Expr:
        return call("pow", base, exponent)

    def bitwise(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return call("xor", left, right) if kind is exp.BitwiseXor else kind(this=left, expression=right)

    def round_half_even(self, sql: exp.Expr) -> exp.Expr:
        return call("round_even", sql, number(0))

    # -- time ----------------------------------------------------------------------------------------------------

    def date_trunc(self, unit: str, sql: exp.Expr) -> exp.Expr:
        return call("date_trunc", text(unit), sql)

    def date_part(self, unit: str, sql: exp.Expr) -> exp.Expr:
        return call("date_part", text(unit), sql)

    def format_time(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return printed(sql, pattern)

    def format_number(self, sql: exp.Expr, pattern: NumberFormat, *, exact: bool) -> exp.Expr:
        shown = self.cast(sql, TEXT) if exact else call("printf", text(f"%.{len(pattern.decimals)}f"), sql)
        return number_printed(shown, pattern)

    def epoch(self, sql: exp.Expr) -> exp.Expr:
        return call("epoch", sql)

    def epoch_microseconds(self, sql: exp.Expr) -> exp.Expr:
        return call("epoch_us", sql)

    def moment_after_epoch(self, microseconds: exp.Expr) -> exp.Expr:
        return call("make_timestamp", microseconds)

    def seconds_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        return call("epoch", exp.Sub(this=later, expression=earlier))

    def add_days(self, date: exp.Expr, days: exp.Expr) -> exp.Expr:
        return exp.Add(this=date, expression=days)

    def add_months(self, moment: exp.Expr, months: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Add(this=moment, expression=call("to_months", months)))

    # -- text ----------------------------------------------------------------------------------------------------

    def bytes_of(self, sql: exp.Expr, *, added: bool = False) -> exp.Expr:
        return call("strlen", sql)

    def in_case(self, name: str, sql: exp.Expr) -> exp.Expr:
        return call(name, sql)

    def like(self, kind: type[exp.Expr], sql: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        return kind(this=sql, expression=pattern)

    def matches(self, sql: exp.Expr, pattern: str, ignore_case: bool = False) -> exp.Expr:
        """By RE2."""
        return call("regexp_matches", sql, text(pattern), text("is" if ignore_case else "s"))

    def extract_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("regexp_extract", sql, text(pattern), number(1))

    def first_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("list_extract", call("regexp_extract_all", sql, text(pattern), number(1), text("s")), number(1))

    def replace_match(
        self, sql: exp.Expr, pattern: str, new: Sequence[str | int], *, everywhere: bool, ignore_case: bool
    ) -> exp.Expr:
        spelt = "".join(f"\\{one}" if isinstance(one, int) else one.replace("\\", "\\\\") for one in new)
        flags = "s" + "g" * everywhere + "i" * ignore_case
        return call("regexp_replace", sql, text(pattern), text(spelt), text(flags))

    def count_matches(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        found = call("regexp_extract_all", sql, text(pattern), number(0), text("s"))
        return exp.Cast(this=call("len", found), to=exp.DataType(this=exp.DType.INT))

    def capitalised(self, sql: exp.Expr) -> exp.Expr:
        """Words and what is between them, one by one."""
        parts = call("regexp_extract_all", sql, text(r"[\p{L}\p{N}]+|[^\p{L}\p{N}]+"))
        word = exp.to_identifier("w")
        first = call("upper", call("left", exp.Column(this=word.copy()), number(1)))
        rest = call("lower", call("substring", exp.Column(this=word.copy()), number(2)))
        changed = exp.Lambda(this=exp.DPipe(this=first, expression=rest), expressions=[word])
        return call("array_to_string", call("list_transform", parts, changed), text(""))

    def character(self, sql: exp.Expr) -> exp.Expr:
        return call("chr", sql)

    def split(self, sql: exp.Expr, delimiter: str, index: int) -> exp.Expr:
        return call("list_extract", call("string_split", sql, text(delimiter)), number(index))

    # -- reading and measuring -----------------------------------------------------------------------------------

    def fence(self, rows: exp.Select) -> exp.Select:
        return rows

    def read(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        spelt = re.sub(r"\(.*", "", engine_type.upper(), flags=re.DOTALL).strip()
        if spelt in ("", _OWN.get((type_.kind, type_.bits), "")) or type_.kind is Kind.BOOLEAN:
            return sql
        if type_.kind is Kind.DECIMAL and spelt in ("DECIMAL", "NUMERIC"):
            return sql
        if spelt in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"):
            return self.in_zone(sql, "UTC")
        if type_.temporal or spelt in ("UHUGEINT", "BIGNUM"):
            return self.try_cast(sql, type_)
        return self.cast(sql, type_)

    def row_identity(self, alias: str, place: int, tables: int) -> exp.Expr:
        row: exp.Expr = exp.column("rowid", alias)
        if tables == 1:
            return row
        spread = exp.Mul(this=row, expression=number(tables))
        return exp.Paren(this=exp.Add(this=spread, expression=number(place)))

    def same_key(self, one: exp.Expr, other: exp.Expr, type_: Type) -> exp.Expr:
        return exp.NullSafeEQ(this=one, expression=other)

    def bucket(self, sql: exp.Expr, secret: str, buckets: int) -> exp.Expr:
        spelt = exp.DPipe(this=text(secret), expression=wrap(self.cast(sql, TEXT)))
        digits = call("concat", text("0x"), exp.Left(this=call("sha256", spelt), expression=number(15)))
        return exp.Paren(this=self.modulo(self.cast(digits, BIGINT), number(buckets)))

    def none_among(self, column: exp.Column, table: str) -> exp.Expr:
        names = exp.Select(expressions=[exp.column(column.name)]).from_(named_table(table), copy=False)
        return exp.Not(this=exp.In(this=exp.column(column.name), query=exp.Subquery(this=names)))


_OWN = {
    (Kind.INTEGER, 16): "SMALLINT",
    (Kind.INTEGER, 32): "INTEGER",
    (Kind.INTEGER, 64): "BIGINT",
    (Kind.INTEGER, 128): "HUGEINT",
    (DOUBLE.kind, 0): "DOUBLE",
    (TEXT.kind, 0): "VARCHAR",
    (Kind.DATE, 0): "DATE",
    (TIMESTAMP.kind, 0): "TIMESTAMP",
}

DUCKDB = DuckDB()
