"""How each engine spells what a checked expression needs. Everything engine-specific of
:mod:`rewriter.expressions.compile` is here.

Why nodes and not text: a tree is put together once and generated once, and nothing that an analyst wrote is ever
pasted into it. Functions are :class:`sqlglot.exp.Anonymous`, so that the generator leaves
their names alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, DOUBLE, TEXT, TIMESTAMP, UTC, Kind, Type, decimal
from rewriter.dialects.nodes import GREATEST_DOUBLE, call, double, number, text

_DAY = 86_400_000_000
_BEFORE_1970 = 719_163
"""``datetime.date(1970, 1, 1).toordinal()``: how far the engine's epoch lies after our day 0."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """DuckDB's spelling. ``name`` is sqlglot's word for the dialect, ``default_schema`` where tables are found.

    What is relied on (DuckDB 2, ``ieee_floating_point_ops`` on, which is its default): double arithmetic and double
    functions never raise but give NaN or ±inf; ``//`` and ``%`` truncate toward zero; casts of doubles to integers
    round half to even, of decimals half away from zero; NULLIF and SPLIT_PART are macros that repeat their argument
    (never used here: nested ones take exponential time).

    >>> from rewriter.dialects.duckdb import DUCKDB
    >>> DUCKDB.is_finite(exp.column("x")).sql("duckdb")
    'x BETWEEN (-1.7976931348623157e308) AND 1.7976931348623157e308'
    """

    name: str
    default_schema: str
    zone: str = UTC
    """The session's time zone: where a ``timestamptz`` has its local time unless another place is named."""

    @property
    def raises(self) -> bool:
        """Whether arithmetic on doubles and times raises where it has no result, instead of giving NaN or ±inf."""
        return False

    @property
    def recomputes(self) -> bool:
        """Whether an expression that occurs several times is computed several times."""
        return False

    @property
    def usual_escape(self) -> str:
        """What escapes a wildcard of LIKE where no ESCAPE is said."""
        return ""

    @property
    def longest_text(self) -> int | None:
        """Bytes beyond which functions that need several times the room of a text make the engine raise."""
        return None

    # -- types ---------------------------------------------------------------------------------------------------

    def data_type(self, type_: Type) -> exp.Expr:
        if type_.kind is Kind.DECIMAL:
            digits = [exp.DataTypeParam(this=number(size)) for size in (type_.precision, type_.scale)]
            return exp.DataType(this=exp.DType.DECIMAL, expressions=digits)
        if type_.kind is Kind.INTEGER:
            return exp.DataType(this=_INTEGERS[type_.bits])
        return exp.DataType(this=_TYPES[type_.kind])

    def cast(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """A conversion that cannot fail for any value of the operand's type."""
        return exp.Cast(this=sql, to=self.data_type(type_))

    def try_cast(self, sql: exp.Expr, type_: Type, source: Type | None = None) -> exp.Expr:
        """A conversion that gives NULL where it fails. ``source`` is the operand's type."""
        return exp.TryCast(this=sql, to=self.data_type(type_))

    def parse(self, sql: exp.Expr, pattern: str, type_: Type) -> exp.Expr:
        """A text as a number or a time, NULL where it is none. The first group of ``pattern`` is what is read."""
        return self.try_cast(self.extract_match(sql, pattern), type_)

    def settled(self, sql: exp.Expr) -> exp.Expr:
        """A double, without bits that are too small to be multiplied; only asked for where the engine raises."""
        return sql

    def as_real(self, sql: exp.Expr) -> exp.Expr:
        """A double rounded to four bytes, as a double; NULL beyond their range."""
        return self.cast(exp.TryCast(this=sql, to=exp.DataType(this=exp.DType.FLOAT)), DOUBLE)

    def real_text(self, sql: exp.Expr) -> exp.Expr:
        """A double that has only four bytes, in as few digits as tell it from its neighbours of four bytes."""
        return self.cast(exp.Cast(this=sql, to=exp.DataType(this=exp.DType.FLOAT)), TEXT)

    def shortened(self, sql: exp.Expr, digits: int) -> exp.Expr:
        """A double with so many decimal digits and no more, as a double; beyond the greatest one it may be infinite."""
        return self.try_cast(call("printf", text(f"%.{digits}g"), sql), DOUBLE, TEXT)

    def double(self, value: float) -> exp.Expr:
        """A finite double as a constant of that type."""
        return double(value)

    # -- guards --------------------------------------------------------------------------------------------------

    def is_finite(self, sql: exp.Expr) -> exp.Expr:
        """True for finite doubles only: NaN sorts above every number."""
        return exp.Between(this=sql, low=number("-" + GREATEST_DOUBLE), high=number(GREATEST_DOUBLE))

    def in_calendar(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """True for dates and timestamps in the years 1 to 9999 only; their infinities lie outside."""
        last = "9999-12-31" if type_.kind is Kind.DATE else "9999-12-31 23:59:59.999999"
        return exp.Between(this=sql, low=self.cast(text("0001-01-01"), type_), high=self.cast(text(last), type_))

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def integer_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """Truncates toward zero; raises on a zero divisor and on least // -1."""
        return exp.IntDiv(this=dividend, expression=divisor)

    def wide_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """The same of integers beyond 64 bits."""
        return self.integer_divide(dividend, divisor)

    def modulo(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """Takes the sign of the dividend; raises where the division would."""
        return exp.Mod(this=dividend, expression=divisor)

    def divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """Of doubles: NaN or ±inf where there is no quotient."""
        return exp.Div(this=dividend, expression=divisor)

    def round_half_even(self, sql: exp.Expr) -> exp.Expr:
        return call("round_even", sql, number(0))

    # -- time ----------------------------------------------------------------------------------------------------

    def date_trunc(self, unit: str, sql: exp.Expr) -> exp.Expr:
        """Always a timestamp, also of a date."""
        return call("date_trunc", text(unit), sql)

    def date_part(self, unit: str, sql: exp.Expr) -> exp.Expr:
        return call("date_part", text(unit), sql)

    def epoch(self, sql: exp.Expr) -> exp.Expr:
        """Seconds since 1970 of a date or timestamp, as a double."""
        return call("epoch", sql)

    def seconds_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        """Seconds from one timestamp to another, as a double. Total for years 1 to 9999."""
        return call("epoch", exp.Sub(this=later, expression=earlier))

    def days_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        return exp.Sub(this=later, expression=earlier)

    def add_days(self, date: exp.Expr, days: exp.Expr) -> exp.Expr:
        """``days`` is an INTEGER within the calendar's length."""
        return exp.Add(this=date, expression=days)

    def interval(self, months: int, days: int, microseconds: int) -> exp.Expr:
        spelt = f"{months} months {days} days {microseconds} microseconds"
        return exp.Cast(this=text(spelt), to=exp.DataType(this=exp.DType.INTERVAL))

    def shift(self, moment: exp.Expr, span: tuple[int, int, int]) -> exp.Expr:
        """A timestamp plus months, days and microseconds; it may leave the calendar."""
        return exp.Add(this=moment, expression=self.interval(*span))

    def format_time(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("strftime", sql, text(pattern))

    # -- text ----------------------------------------------------------------------------------------------------

    def bytes_of(self, sql: exp.Expr, *, added: bool = False) -> exp.Expr:
        """The length of a text in bytes, known without reading the text; ``added``: wide enough to be added up."""
        return call("strlen", sql)

    def in_case(self, name: str, sql: exp.Expr) -> exp.Expr:
        """``upper`` or ``lower`` of a text, letter by letter."""
        return call(name, sql)

    def like(self, kind: type[exp.Expr], sql: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        """LIKE or ILIKE; a pattern must not end in its escape."""
        return kind(this=sql, expression=pattern)

    def matches(self, sql: exp.Expr, pattern: str, ignore_case: bool = False) -> exp.Expr:
        """Whether a part of the text matches; the dot matches a line end too. Linear time (RE2)."""
        return call("regexp_matches", sql, text(pattern), text("is" if ignore_case else "s"))

    def extract_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        """The first group of the pattern, '' where it does not match."""
        return call("regexp_extract", sql, text(pattern), number(1))

    def split(self, sql: exp.Expr, delimiter: str, index: int) -> exp.Expr:
        """Field ``index`` (from 1; from the end where negative), NULL where there is none."""
        return call("list_extract", call("string_split", sql, text(delimiter)), number(index))

    # -- reading and measuring -----------------------------------------------------------------------------------

    def read(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        """A column of the engine's own type as one of ``type_``, without guards for its infinities."""
        spelt = re.sub(r"\(.*", "", engine_type.upper(), flags=re.DOTALL).strip()
        if spelt in ("", _SPELT.get((type_.kind, type_.bits), "")) or type_.kind is Kind.BOOLEAN:
            return sql
        if type_.kind is Kind.DECIMAL and spelt in ("DECIMAL", "NUMERIC"):
            return sql
        if spelt in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"):
            return exp.Paren(this=exp.AtTimeZone(this=sql, zone=text("UTC")))
        if type_.temporal or spelt in ("UHUGEINT", "BIGNUM"):
            return self.try_cast(sql, type_)
        return self.cast(sql, type_)

    def row_identity(self, alias: str, place: int, tables: int) -> exp.Expr:
        """A row's own key: no other row of the ``tables`` private tables has it, of which this is number ``place``."""
        row: exp.Expr = exp.column("rowid", alias)
        if tables == 1:
            return row
        spread = exp.Mul(this=row, expression=number(tables))
        return exp.Paren(this=exp.Add(this=spread, expression=number(place)))

    def same_key(self, one: exp.Expr, other: exp.Expr, type_: Type) -> exp.Expr:
        """Equality of two values of a type that takes NULLs as equal, in a form that joins by hashing."""
        return exp.NullSafeEQ(this=one, expression=other)

    def spread(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """A text of a row's values, as good as random: equal values have the same.

        On all engines, but for doubles, which each spells in its own way. Column by column: a row as one text could be
        longer than a text can be.
        """
        texts: list[exp.Expr] = []
        for column in columns:
            text = exp.Cast(this=column, to=exp.DataType(this=exp.DType.TEXT))
            texts += [exp.Literal.string(","), call("md5", text)]
        # As many characters as DuckDB sorts without following a pointer.
        return exp.Left(this=call("md5", call("concat", *texts[1:])), expression=number(12))

    def none_among(self, column: exp.Column, table: str) -> exp.Expr:
        """Whether no row of ``table`` has the column's value in its column of that name; neither is ever NULL."""
        names = exp.select(column.name).from_(table)
        return exp.Not(this=exp.In(this=exp.column(column.name), query=exp.Subquery(this=names)))

    def to_steps(self, sql: exp.Expr, type_: Type, granularity: Fraction, reach: Fraction | None = None) -> exp.Expr:
        """A value as a BIGINT number of steps of size ``granularity``, rounded to the nearest.

        No value that it is computed of is beyond ``reach``, where that is given: decimals of as many digits as that has
        are multiplied in 64 bits, at a twelfth of the time.

        Exact for INTEGER with granularity 1/n, DECIMAL with 10**-k, and DOUBLE with a power of two (then half to
        even). Dates count days as ``date.toordinal()`` does, timestamps fractions of such days, rounded down. Total
        only for values already clipped to a range that has fewer than 2**63 steps.

        >>> from rewriter.dialects.duckdb import DUCKDB
        >>> DUCKDB.to_steps(exp.column("x"), decimal(15, 2), Fraction(1, 100)).sql("duckdb")
        'CAST(x * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)'
        >>> DUCKDB.to_steps(exp.column("x"), decimal(33, 2), Fraction(1, 100), Fraction(5000)).sql("duckdb")
        'CAST(CAST(x AS DECIMAL(6, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)'
        >>> DUCKDB.to_steps(exp.column("x"), DOUBLE, Fraction(1, 8)).sql("duckdb")
        'CAST(x * 8e0 AS BIGINT)'
        """
        if isinstance(sql, exp.Binary | exp.Unary) and not isinstance(sql, exp.Paren):
            sql = exp.Paren(this=sql)
        if type_.kind is Kind.DATE:
            type_, sql = BIGINT, self._ordinal(sql)
        if type_.clocked:
            return self._timestamp_steps(sql, granularity)
        factor = 1 / granularity
        if type_.kind is Kind.INTEGER and factor.denominator == 1:
            steps = self.cast(sql, BIGINT)
            return steps if factor == 1 else exp.Paren(this=exp.Mul(this=steps, expression=number(factor.numerator)))
        if type_.kind is Kind.DECIMAL and factor.denominator == 1:
            digits = len(str(factor.numerator))
            needed = type_.precision if reach is None else len(str(int(reach))) + type_.scale
            if type_.precision + digits > 18 >= needed + digits:
                sql = self.cast(sql, decimal(needed, type_.scale))
            elif type_.precision + digits > 38:
                sql = self.cast(sql, decimal(38 - digits, min(type_.scale, 38 - digits)))
            multiplier = self.cast(number(factor.numerator), decimal(digits, 0))
            return self.cast(exp.Mul(this=sql, expression=multiplier), BIGINT)
        if type_.kind is not Kind.DOUBLE:
            sql = self.cast(sql, DOUBLE)
        return self.cast(exp.Mul(this=sql, expression=double(float(factor))), BIGINT)

    def _ordinal(self, sql: exp.Expr) -> exp.Expr:
        days = self.days_between(sql, self.cast(text("1970-01-01"), Type(Kind.DATE)))
        return exp.Paren(this=exp.Add(this=days, expression=number(_BEFORE_1970)))

    def _timestamp_steps(self, sql: exp.Expr, granularity: Fraction) -> exp.Expr:
        step = granularity * _DAY
        if step.denominator != 1:
            raise ValueError("a step of time is a whole number of microseconds")
        since = exp.Paren(this=exp.Add(this=self._microseconds(sql), expression=number(_BEFORE_1970 * _DAY)))
        return self.integer_divide(since, number(step.numerator))

    def _microseconds(self, sql: exp.Expr) -> exp.Expr:
        """Since 1970, of a timestamp, as a BIGINT."""
        return call("epoch_us", sql)


_INTEGERS = {16: exp.DType.SMALLINT, 32: exp.DType.INT, 64: exp.DType.BIGINT, 128: exp.DType.INT128}
_TYPES = {
    Kind.BOOLEAN: exp.DType.BOOLEAN,
    Kind.DOUBLE: exp.DType.DOUBLE,
    Kind.TEXT: exp.DType.TEXT,
    Kind.DATE: exp.DType.DATE,
    Kind.TIMESTAMP: exp.DType.TIMESTAMP,
    Kind.TIMESTAMPTZ: exp.DType.TIMESTAMP,
    Kind.INTERVAL: exp.DType.INTERVAL,
}
_SPELT = {
    (Kind.INTEGER, 16): "SMALLINT",
    (Kind.INTEGER, 32): "INTEGER",
    (Kind.INTEGER, 64): "BIGINT",
    (Kind.INTEGER, 128): "HUGEINT",
    (DOUBLE.kind, 0): "DOUBLE",
    (TEXT.kind, 0): "VARCHAR",
    (Kind.DATE, 0): "DATE",
    (TIMESTAMP.kind, 0): "TIMESTAMP",
}
