"""The spellings that PostgreSQL shares with the engines that took after it; DuckDB is one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp

from rewriter.declared import TEXT, Kind, Type
from rewriter.dialects.dialect import WORDS, Dialect
from rewriter.dialects.nodes import GREATEST_DOUBLE, call, number, text

_INTEGERS = {16: exp.DType.SMALLINT, 32: exp.DType.INT, 64: exp.DType.BIGINT, 128: exp.DType.INT128}
_TYPES = {
    Kind.BOOLEAN: exp.DType.BOOLEAN,
    Kind.DOUBLE: exp.DType.DOUBLE,
    Kind.TEXT: exp.DType.TEXT,
    Kind.DATE: exp.DType.DATE,
    Kind.TIMESTAMP: exp.DType.TIMESTAMP,
    Kind.TIMESTAMPTZ: exp.DType.TIMESTAMP,
    Kind.TIME: exp.DType.TIME,
    Kind.INTERVAL: exp.DType.INTERVAL,
}


class PostgresFamily(Dialect, family=True):
    """Relied on: NaN sorts above every number; a SUM of integers is wider than they are; FILTER, ordered-set
    aggregates, MATERIALIZED and generate_series are there, and a text such as '1 months 2 days' is an interval.
    """

    words = {word: word for word in WORDS}  # noqa: RUF012
    family_syntax: ClassVar[frozenset[type[exp.Expr]]] = frozenset(
        {
            *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseRightShift),
            *(exp.Div, exp.Left, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape, exp.ILike, exp.AtTimeZone),
            *(exp.LogicalAnd, exp.LogicalOr, exp.Filter, exp.WithinGroup, exp.PercentileCont, exp.PercentileDisc),
        }
    )

    def data_type(self, type_: Type) -> exp.Expr:
        if type_.kind is Kind.DECIMAL:
            digits = [exp.DataTypeParam(this=number(size)) for size in (type_.precision, type_.scale)]
            return exp.DataType(this=exp.DType.DECIMAL, expressions=digits)
        if type_.kind is Kind.INTEGER:
            return exp.DataType(this=_INTEGERS[type_.bits])
        return exp.DataType(this=_TYPES[type_.kind])

    def is_finite(self, sql: exp.Expr) -> exp.Expr:
        return exp.Between(this=sql, low=number("-" + GREATEST_DOUBLE), high=number(GREATEST_DOUBLE))

    def real_text(self, sql: exp.Expr) -> exp.Expr:
        return self.cast(exp.Cast(this=sql, to=exp.DataType(this=exp.DType.FLOAT)), TEXT)

    def double_text(self, sql: exp.Expr) -> exp.Expr:
        return self.cast(sql, TEXT)

    def modulo(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return exp.Mod(this=dividend, expression=divisor)

    def days_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        return exp.Sub(this=later, expression=earlier)

    def interval(self, months: int, days: int, microseconds: int) -> exp.Expr:
        spelt = f"{months} months {days} days {microseconds} microseconds"
        return exp.Cast(this=text(spelt), to=exp.DataType(this=exp.DType.INTERVAL))

    def shift(self, moment: exp.Expr, span: tuple[int, int, int]) -> exp.Expr:
        return exp.Add(this=moment, expression=self.interval(*span))

    def in_zone(self, sql: exp.Expr, place: str) -> exp.Expr:
        return exp.Paren(this=exp.AtTimeZone(this=sql, zone=text(place)))

    def sum(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        return exp.Sum(this=sql)

    def filtered(self, aggregate: exp.Expr, condition: exp.Expr) -> exp.Expr:
        return exp.Filter(this=aggregate, expression=exp.Where(this=condition))

    def percentile(self, sql: exp.Expr, fraction: float, *, descending: bool = False) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=sql, desc=descending, nulls_first=descending)])
        share = exp.Literal.number(format(fraction, "f"))
        return exp.WithinGroup(this=exp.PercentileDisc(this=share), expression=order)

    def percentile_between(self, sql: exp.Expr, fraction: float) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=sql, nulls_first=False)])
        return exp.WithinGroup(this=exp.PercentileCont(this=exp.Literal.number(str(fraction))), expression=order)

    def series(self, low: exp.Expr, high: exp.Expr, step: exp.Expr | None = None) -> exp.Expr:
        alias = exp.TableAlias(this=exp.to_identifier("g"), columns=[exp.to_identifier("n")])
        return exp.Table(this=call("generate_series", low, high, *([] if step is None else [step])), alias=alias)

    def cte(self, name: str, query: exp.Expr, *, shared: bool = False) -> exp.CTE:
        alias = exp.TableAlias(this=exp.to_identifier(name))
        return exp.CTE(this=query, alias=alias, materialized=True if shared else None)

    def spread(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """The same on all of these engines, but for doubles, which each spells in its own way.

        Column by column: a row as one text could be longer than a text can be.
        """
        texts: list[exp.Expr] = []
        for column in columns:
            text = exp.Cast(this=column, to=exp.DataType(this=exp.DType.TEXT))
            texts += [exp.Literal.string(","), call("md5", text)]
        # As many characters as DuckDB sorts without following a pointer.
        return exp.Left(this=call("md5", call("concat", *texts[1:])), expression=number(12))
