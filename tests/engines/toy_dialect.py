"""The dialect of an engine that is not there: it has other words for everything, no FILTER and no MATERIALIZED.

It takes after nobody: each of its spellings stands here, or its class could not be made.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.declared.types import Kind, Type
from rewriter.dialects.dialect import WORDS
from rewriter.dialects.ieee_doubles import IeeeDoubles
from rewriter.dialects.nodes import call, double, number, text, when, wrap
from rewriter.dialects.number_format import NumberFormat

_TYPES = {
    Kind.BOOLEAN: exp.DType.BOOLEAN,
    Kind.DOUBLE: exp.DType.DOUBLE,
    Kind.TEXT: exp.DType.TEXT,
    Kind.DATE: exp.DType.DATE,
    Kind.TIMESTAMP: exp.DType.TIMESTAMP,
    Kind.TIMESTAMPTZ: exp.DType.TIMESTAMP,
    Kind.INTERVAL: exp.DType.INTERVAL,
    Kind.TIME: exp.DType.TIME,
}
_INTEGERS = {16: exp.DType.SMALLINT, 32: exp.DType.INT, 64: exp.DType.BIGINT}


class Toy(IeeeDoubles):
    """sqlglot knows its grammar as Spark's."""

    name = "spark"
    default_schema = "default"
    decimals_may_be_nan = False
    recomputes = True
    sums_in_order = False
    windows_in_order = False
    usual_escape = "\\"
    longest_text = None
    words = {word: f"toy_{word}" for word in WORDS}  # noqa: RUF012
    own_words = frozenset(
        """date_format toy_begin toy_between toy_bits toy_bucket toy_bytes toy_capitals toy_character toy_days toy_digits toy_divide toy_double toy_epoch toy_even
        toy_field toy_find toy_first toy_instant toy_later toy_log2 toy_lower toy_match toy_matches toy_micros toy_over toy_pick toy_power toy_real toy_replace
        number_format toy_row toy_seconds toy_series toy_since toy_span toy_spread toy_upper toy_zone try_cast""".split()
    )

    own_syntax = frozenset(
        {
            *(exp.Div, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape, exp.TryCast, exp.LogicalAnd, exp.LogicalOr),
            exp.Offset,
        }
    )

    # -- types ---------------------------------------------------------------------------------------------------

    def data_type(self, type_: Type) -> exp.Expr:
        if type_.kind is Kind.DECIMAL or type_.bits > 64:
            sizes = (type_.precision, type_.scale) if type_.kind is Kind.DECIMAL else (38, 0)
            return exp.DataType(
                this=exp.DType.DECIMAL, expressions=[exp.DataTypeParam(this=number(size)) for size in sizes]
            )
        return exp.DataType(this=_INTEGERS[type_.bits] if type_.kind is Kind.INTEGER else _TYPES[type_.kind])

    def cast(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        return exp.Cast(this=sql, to=self.data_type(type_))

    def try_cast(self, sql: exp.Expr, type_: Type, source: Type | None = None) -> exp.Expr:
        return exp.TryCast(this=sql, to=self.data_type(type_))

    def parse(self, sql: exp.Expr, pattern: str, type_: Type) -> exp.Expr:
        return self.try_cast(self.extract_match(sql, pattern), type_)

    def as_real(self, sql: exp.Expr) -> exp.Expr:
        return call("toy_real", sql)

    def real_text(self, sql: exp.Expr) -> exp.Expr:
        return self.cast(call("toy_real", sql), Type(Kind.TEXT))

    def double_text(self, sql: exp.Expr) -> exp.Expr:
        return self.cast(sql, Type(Kind.TEXT))

    def shortened(self, sql: exp.Expr, digits: int) -> exp.Expr:
        return call("toy_digits", sql, number(digits))

    def double(self, value: float) -> exp.Expr:
        return call("toy_double", double(value))

    # -- guards and arithmetic -----------------------------------------------------------------------------------

    def is_finite(self, sql: exp.Expr) -> exp.Expr:
        return exp.EQ(this=exp.Paren(this=exp.Sub(this=wrap(sql), expression=wrap(sql.copy()))), expression=number(0))

    def integer_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return call("toy_divide", dividend, divisor)

    def wide_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return call("toy_divide", dividend, divisor)

    def modulo(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return exp.Mod(this=dividend, expression=divisor)

    def divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return call("toy_over", dividend, divisor)

    def log2(self, sql: exp.Expr) -> exp.Expr:
        return call("toy_log2", sql)

    def power(self, base: exp.Expr, exponent: exp.Expr) -> exp.Expr:
        return call("toy_power", base, exponent)

    def bitwise(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return call("toy_bits", text(kind.__name__), left, right)

    def round_half_even(self, sql: exp.Expr) -> exp.Expr:
        return call("toy_even", sql)

    # -- time ----------------------------------------------------------------------------------------------------

    def date_trunc(self, unit: str, sql: exp.Expr) -> exp.Expr:
        """Of months by their print, as an engine does that has no other way."""
        if unit == "month":
            return self.cast(call("date_format", sql, text("yyyy-MM-01")), Type(Kind.TIMESTAMP))
        return call("toy_begin", sql, text(unit.upper()))

    def date_part(self, unit: str, sql: exp.Expr) -> exp.Expr:
        return call("toy_field", sql, text(unit.upper()))

    def format_time(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("date_format", sql, text(pattern.replace("%Y", "yyyy").replace("%m", "MM")))

    def format_number(self, sql: exp.Expr, pattern: NumberFormat, *, exact: bool) -> exp.Expr:
        return call("number_format", sql, text(pattern.written))

    def epoch(self, sql: exp.Expr) -> exp.Expr:
        return call("toy_epoch", sql)

    def epoch_microseconds(self, sql: exp.Expr) -> exp.Expr:
        return call("toy_micros", sql)

    def moment_after_epoch(self, microseconds: exp.Expr) -> exp.Expr:
        return call("toy_since", microseconds)

    def seconds_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        return call("toy_seconds", earlier, later)

    def days_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        return call("toy_days", earlier, later)

    def add_days(self, date: exp.Expr, days: exp.Expr) -> exp.Expr:
        return call("toy_later", date, days)

    def interval(self, months: int, days: int, microseconds: int) -> exp.Expr:
        return call("toy_span", number(months), number(days), number(microseconds))

    def shift(self, moment: exp.Expr, span: tuple[int, int, int]) -> exp.Expr:
        return call("toy_later", moment, self.interval(*span))

    def add_months(self, moment: exp.Expr, months: exp.Expr) -> exp.Expr:
        return call("toy_months_later", moment, months)

    def in_zone(self, sql: exp.Expr, place: str) -> exp.Expr:
        return call("toy_zone", sql, text(place))

    # -- text ----------------------------------------------------------------------------------------------------

    def bytes_of(self, sql: exp.Expr, *, added: bool = False) -> exp.Expr:
        return call("toy_bytes", sql)

    def in_case(self, name: str, sql: exp.Expr) -> exp.Expr:
        return call(f"toy_{name}", sql)

    def like(self, kind: type[exp.Expr], sql: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        if kind is exp.ILike:
            return exp.Like(this=call("toy_lower", sql), expression=call("toy_lower", pattern))
        return exp.Like(this=sql, expression=pattern)

    def matches(self, sql: exp.Expr, pattern: str, ignore_case: bool = False) -> exp.Expr:
        return call("toy_match", sql, text(pattern), exp.Boolean(this=ignore_case))

    def extract_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("toy_find", sql, text(pattern))

    def first_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("toy_first", sql, text(pattern))

    def replace_match(
        self, sql: exp.Expr, pattern: str, new: Sequence[str | int], *, everywhere: bool, ignore_case: bool
    ) -> exp.Expr:
        return call("toy_replace", sql, text(pattern), text(repr(new)), text(f"{everywhere} {ignore_case}"))

    def count_matches(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("toy_matches", sql, text(pattern))

    def capitalised(self, sql: exp.Expr) -> exp.Expr:
        return call("toy_capitals", sql)

    def character(self, sql: exp.Expr) -> exp.Expr:
        return call("toy_character", sql)

    def split(self, sql: exp.Expr, delimiter: str, index: int) -> exp.Expr:
        return call("toy_pick", sql, text(delimiter), number(index))

    # -- aggregates and rows -------------------------------------------------------------------------------------

    def sum(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """Sums do not widen by themselves."""
        wide = Type(Kind.INTEGER, bits=128) if type_.kind is Kind.INTEGER else type_
        return exp.Sum(this=self.cast(sql, wide))

    def filtered(self, aggregate: exp.Expr, condition: exp.Expr) -> exp.Expr:
        """The argument is NULL in the other rows."""
        if isinstance(aggregate, exp.Anonymous):
            first, *rest = aggregate.expressions
            return call(aggregate.name, when(condition, first), *rest)
        argument = aggregate.this
        if isinstance(argument, exp.Distinct):
            items = [when(condition.copy(), item) for item in argument.expressions]
            return type(aggregate)(this=exp.Distinct(expressions=items))
        return type(aggregate)(this=when(condition, number(1) if isinstance(argument, exp.Star) else argument))

    def percentile(self, sql: exp.Expr, fraction: float, *, descending: bool = False) -> exp.Expr:
        return call("toy_pick", sql, number(format(fraction, "f")), exp.Boolean(this=descending))

    def percentile_between(self, sql: exp.Expr, fraction: float) -> exp.Expr:
        return call("toy_between", sql, number(format(fraction, "f")))

    def series(self, low: exp.Expr, high: exp.Expr, step: exp.Expr | None = None) -> exp.Expr:
        alias = exp.TableAlias(this=exp.to_identifier("g"), columns=[exp.to_identifier("n")])
        return exp.Table(this=call("toy_series", low, high, step or number(1)), alias=alias)

    def cte(self, name: str, query: exp.Expr, *, shared: bool = False) -> exp.CTE:
        return exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))

    def fence(self, rows: exp.Select) -> exp.Select:
        return rows

    # -- reading and measuring -----------------------------------------------------------------------------------

    def read(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        return call("toy_instant", sql) if type_.kind is Kind.TIMESTAMPTZ else sql

    def row_identity(self, alias: str, place: int, tables: int) -> exp.Expr:
        return call("toy_row", exp.column("place", alias), number(place))

    def same_key(self, one: exp.Expr, other: exp.Expr, type_: Type) -> exp.Expr:
        return exp.NullSafeEQ(this=one, expression=other)

    def spread(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        return call("toy_spread", *columns)

    def bucket(self, sql: exp.Expr, secret: str, buckets: int) -> exp.Expr:
        return call("toy_bucket", text(secret), sql, number(buckets))

    def none_among(self, column: exp.Column, table: str) -> exp.Expr:
        names = exp.select(column.name).from_(table)
        return exp.Not(this=exp.In(this=exp.column(column.name), query=exp.Subquery(this=names)))


TOY = Toy()
