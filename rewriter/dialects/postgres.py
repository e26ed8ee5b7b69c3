"""PostgreSQL's spelling of what a checked expression needs, for version 15 and later.

PostgreSQL raises where DuckDB gives NULL, NaN or an infinity: there is no TRY_CAST, and doubles overflow, underflow and
divide by zero with an error. So every conversion is guarded by a CASE, whose branches are evaluated only when they are
chosen (constants alone are folded earlier, and the guard with them); arithmetic on doubles is guarded in
:mod:`rewriter.dialects.guarded_doubles`. Texts carry the collation "C" from where they are read: they compare by code
point, as in DuckDB, whatever the database's own collation is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, DATE, DOUBLE, TEXT, TIMESTAMP, Kind, Type
from rewriter.dialects.guarded_doubles import GuardedDoubles
from rewriter.dialects.nodes import (
    GREATEST_DOUBLE,
    call,
    double,
    duplicate,
    number,
    refuse,
    text,
    when,
    wrap,
)
from rewriter.dialects.number_format import NumberFormat
from rewriter.dialects.postgres_family import PostgresFamily
from rewriter.dialects.postgres_nested import WORDS_OF_NESTED, PostgresNested
from rewriter.dialects.time_format import in_letters

_BLANKS = r"[ \t\n\f\r]*"
_YEAR = r"(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d\d\d)"
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DAY_OF_YEAR = (
    r"(?:(?:0?[13578]|1[02])-(?:0?[1-9]|[12]\d|3[01])|(?:0?[469]|11)-(?:0?[1-9]|[12]\d|30)"
    r"|0?2-(?:0?[1-9]|1\d|2[0-8]))"
)
_DATE = rf"(?:{_YEAR}-{_DAY_OF_YEAR}|{_LEAP_YEAR}-0?2-29)"
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
_DATE_TEXT = rf"^{_BLANKS}({_DATE})(?:[ T]{_CLOCK})?{_BLANKS}$"
_TIMESTAMP_TEXT = rf"^{_BLANKS}({_DATE}(?:[ T]{_CLOCK})?){_BLANKS}$"
_INTEGER_TEXT = rf"^{_BLANKS}([+-]?0*\d{{1,40}}){_BLANKS}$"
_NUMBER_TEXT = rf"^{_BLANKS}([+-]?0*(?:\d{{1,200}}\.?\d{{0,200}}|\.\d{{1,200}})(?:[eE][+-]?0*\d{{1,3}})?){_BLANKS}$"
_NUMERIC = exp.DType.DECIMAL
_DAY = 86_400_000_000


class Postgres(PostgresNested, GuardedDoubles, PostgresFamily):
    """Relied on: extended regular expressions without back references are matched in linear time; float8 to integer
    rounds half to even, numeric to integer half away from zero; NaN sorts above every number.

    >>> POSTGRES.read(exp.column("t"), TEXT, "text").sql("postgres")
    '(t COLLATE "C")'
    """

    name = "postgres"
    default_schema = "public"
    decimals_may_be_nan = True
    recomputes = True
    sums_in_order = True
    windows_in_order = False
    usual_escape = "\\"
    longest_text = 50_000_000
    own_words = (
        frozenset(
            """chr convert_to date_part date_trunc div encode generate_series initcap make_interval octet_length
        percentile_cont percentile_disc regexp_count sha256 split_part to_char trim_scale upper""".split()
        )
        | WORDS_OF_NESTED
    )

    own_syntax = PostgresFamily.family_syntax | {
        *(exp.Array, exp.BitwiseXor, exp.Collate, exp.Extract, exp.Var, exp.Offset, exp.RegexpLike, exp.RegexpILike),
        *(exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar, exp.Any),
        *(exp.Bracket, exp.Slice),
    }

    # -- types ---------------------------------------------------------------------------------------------------

    def data_type(self, type_: Type) -> exp.Expr:
        if type_.kind is Kind.INTEGER and type_.bits > 64:
            return exp.DataType(this=_NUMERIC)
        return super().data_type(type_)

    def cast(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        converted = exp.Cast(this=sql, to=self.data_type(type_))
        return _by_code_point(converted) if type_ == TEXT else converted

    def try_cast(self, sql: exp.Expr, type_: Type, source: Type | None = None) -> exp.Expr:
        """``source`` is the type of ``sql``; an exact number where it is not told."""
        if source == TEXT:
            return self.parse(sql, "", type_)
        if source == DOUBLE:
            return self._from_double(sql, type_)
        if type_.kind is Kind.INTEGER:
            low, high = type_.limits
            inside: exp.Expr = exp.Between(this=wrap(duplicate(sql)), low=number(low), high=number(high))
            if source is None or source.kind is Kind.DECIMAL:
                inside = exp.and_(
                    exp.GT(this=wrap(duplicate(sql)), expression=number(f"{low}.5")),
                    exp.LT(this=wrap(duplicate(sql)), expression=number(f"{high}.5")),
                    copy=False,
                )
            return when(inside, self.cast(sql, type_))
        if type_.kind is Kind.DECIMAL:
            return self._to_decimal(sql, type_)
        return self.cast(sql, type_)

    def _to_decimal(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """Of an exact number that may have more digits."""
        most = number(10 ** (type_.precision - type_.scale))
        rounded = call("abs", call("round", exp.Cast(this=duplicate(sql), to=self._numeric), number(type_.scale)))
        return when(exp.LT(this=rounded, expression=most), self.cast(sql, type_))

    def _from_double(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        if type_.kind is Kind.INTEGER:
            low, high = type_.limits
            # 2**63 - 1 is no double; half an integer below the least one rounds to it, as half to even
            least = exp.GTE(this=wrap(duplicate(sql)), expression=self._exact_double(Fraction(low)))
            most = exp.LT(this=wrap(duplicate(sql)), expression=self._exact_double(Fraction(high + 1)))
            if type_.bits <= 32:
                least = exp.GTE(this=wrap(duplicate(sql)), expression=number(f"{low}.5"))
                most = exp.LT(this=wrap(duplicate(sql)), expression=number(f"{high}.5"))
            return when(exp.and_(least, most, copy=False), self.cast(sql, type_))
        if type_.kind is Kind.DECIMAL:
            return self._double_to_decimal(sql, type_)
        return self.cast(sql, type_)

    def _exact_double(self, value: Fraction) -> exp.Expr:
        return double(float(value))

    def _double_to_decimal(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """As DuckDB does it: in units of the last digit, a little away from zero, rounded half away from zero."""
        digits = min(type_.scale, 18)
        reach = min(10.0 ** (type_.precision - type_.scale), 2.0**62 / 10.0**digits)
        inside = exp.Between(this=wrap(duplicate(sql)), low=double(-reach), high=double(reach))
        settled = self.settled(sql)
        units = exp.Mul(this=wrap(settled), expression=double(10.0**digits))
        sign = call("sign", duplicate(sql))
        halved = exp.Add(this=units, expression=exp.Mul(this=sign, expression=double(1e-9)))
        exact = exp.Cast(this=self.cast(exp.Paren(this=halved), BIGINT), to=self._numeric)
        shifted = exp.Div(this=exact, expression=exp.Cast(this=number(10**digits), to=self._numeric), typed=True)
        most = number(10 ** (type_.precision - type_.scale))
        fits = exp.LT(this=call("abs", duplicate(shifted)), expression=most)
        return when(inside, when(fits, self.cast(shifted, type_)))

    @property
    def _numeric(self) -> exp.Expr:
        return exp.DataType(this=_NUMERIC)

    def parse(self, sql: exp.Expr, pattern: str, type_: Type) -> exp.Expr:
        """Numbers of up to 200 digits before and after the point; NULL for what is no value of the type."""
        if type_.temporal:
            own = _DATE_TEXT if type_.kind is Kind.DATE else _TIMESTAMP_TEXT
            return self.cast(self.extract_match(sql, own), type_)
        own = _INTEGER_TEXT if type_.kind is Kind.INTEGER else _NUMBER_TEXT
        read = exp.Cast(this=self.extract_match(sql, own), to=self._numeric)
        if type_.kind is Kind.DOUBLE:
            return self._numeric_to_double(read)
        return self.try_cast(read, type_)

    def _numeric_to_double(self, sql: exp.Expr) -> exp.Expr:
        """NULL beyond the range of doubles; 0 where it is too small for one."""
        small_is_zero = call("round", sql, number(320))
        return when(self.is_finite_numeric(duplicate(sql)), self.cast(small_is_zero, DOUBLE))

    def is_finite_numeric(self, sql: exp.Expr) -> exp.Expr:
        most = exp.Cast(this=text(GREATEST_DOUBLE), to=self._numeric)
        return exp.Between(this=sql, low=exp.Neg(this=most), high=most.copy())

    def as_real(self, sql: exp.Expr) -> exp.Expr:
        real = exp.Cast(this=sql, to=exp.DataType(this=exp.DType.FLOAT))
        size = call("abs", duplicate(sql))
        inside = exp.Between(this=size, low=double(7.1e-46), high=double(3.4028234663852886e38))
        small = exp.If(this=exp.LT(this=size.copy(), expression=double(7.1e-46)), true=self.double(0.0))
        return exp.Case(ifs=[exp.If(this=inside, true=self.cast(real, DOUBLE)), small])

    def shortened(self, sql: exp.Expr, digits: int) -> exp.Expr:
        """PostgreSQL makes a numeric of a double with 15 digits, of a real with 6."""
        narrow = sql if digits > 6 else exp.Cast(this=sql, to=exp.DataType(this=exp.DType.FLOAT))
        return self._numeric_to_double(exp.Cast(this=narrow, to=self._numeric))

    def double(self, value: float) -> exp.Expr:
        """A bare literal with an exponent would be a numeric."""
        return exp.Cast(this=double(value), to=exp.DataType(this=exp.DType.DOUBLE))

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def integer_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """For integers of up to 64 bits; see :meth:`wide_divide`."""
        return exp.Div(this=dividend, expression=divisor, typed=True)

    def wide_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return call("div", dividend, divisor)

    def divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return exp.Div(this=dividend, expression=divisor, typed=True)

    def log2(self, sql: exp.Expr) -> exp.Expr:
        return self.divide(call("ln", sql), double(math.log(2)))

    def power(self, base: exp.Expr, exponent: exp.Expr) -> exp.Expr:
        return call("power", base, exponent)

    def bitwise(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return kind(this=left, expression=right)

    def round_half_even(self, sql: exp.Expr) -> exp.Expr:
        return call("round", sql)

    # -- time ----------------------------------------------------------------------------------------------------

    def date_trunc(self, unit: str, sql: exp.Expr) -> exp.Expr:
        """Of a date it would be a timestamp with time zone."""
        return call("date_trunc", text(unit), self.cast(sql, TIMESTAMP))

    def date_part(self, unit: str, sql: exp.Expr) -> exp.Expr:
        return call("date_part", text(unit), self.cast(sql, TIMESTAMP))

    def epoch(self, sql: exp.Expr) -> exp.Expr:
        return self.date_part("epoch", sql)

    def moment_after_epoch(self, microseconds: exp.Expr) -> exp.Expr:
        """By the text of an interval: a number that multiplies one is a double, which has fewer digits."""
        spelt = exp.DPipe(this=_as_text(wrap(microseconds)), expression=text(" microseconds"))
        since = exp.Cast(this=exp.Paren(this=spelt), to=exp.DataType(this=exp.DType.INTERVAL))
        return exp.Paren(this=exp.Add(this=self.cast(text("1970-01-01"), TIMESTAMP), expression=since))

    def seconds_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        return call("date_part", text("epoch"), exp.Sub(this=later, expression=earlier))

    def add_days(self, date: exp.Expr, days: exp.Expr) -> exp.Expr:
        """NULL outside of the calendar, whose first year is not PostgreSQL's."""
        first = self.cast(text("0001-01-01"), DATE)
        since = exp.Paren(this=exp.Sub(this=wrap(duplicate(date)), expression=first))
        place = exp.Paren(this=exp.Add(this=since, expression=wrap(duplicate(days))))
        inside = exp.Between(this=place, low=number(0), high=number(3_652_058))
        return when(inside, exp.Add(this=date, expression=wrap(days)))

    def add_months(self, moment: exp.Expr, months: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Add(this=moment, expression=call("make_interval", number(0), months)))

    def shift(self, moment: exp.Expr, span: tuple[int, int, int]) -> exp.Expr:
        """NULL where it could leave PostgreSQL's calendar, which begins in 4713 BC. A span is below 10,000 years."""
        months, days, micros = span
        years = [Fraction(months, 12), Fraction(days, 365), Fraction(micros, 365 * _DAY)]
        shifted = super().shift(moment, span)
        first = math.floor(-sum(min(year, Fraction(0)) for year in years)) - 2
        if first < 1000:
            return shifted
        if first > 9999:
            return self.cast(exp.Null(), TIMESTAMP)
        start = self.cast(text(f"{first}-01-01"), TIMESTAMP)
        return when(exp.GTE(this=duplicate(moment), expression=start), shifted)

    def format_time(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return _by_code_point(call("to_char", self.cast(sql, TIMESTAMP), text(in_letters(pattern))))

    def format_number(self, sql: exp.Expr, pattern: NumberFormat, *, exact: bool) -> exp.Expr:
        return _by_code_point(call("to_char", sql, text(pattern.written)))

    # -- text ----------------------------------------------------------------------------------------------------

    def bytes_of(self, sql: exp.Expr, *, added: bool = False) -> exp.Expr:
        size = call("octet_length", sql)
        return self.cast(size, BIGINT) if added else size

    def in_case(self, name: str, sql: exp.Expr) -> exp.Expr:
        """The collation "C" knows the case of ASCII letters alone; the database's own knows those of its languages."""
        return _by_code_point(call(name, _by_language(sql)))

    def like(self, kind: type[exp.Expr], sql: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        if kind is exp.ILike:
            sql, pattern = _by_language(sql), _by_language(pattern)
        return kind(this=sql, expression=pattern)

    def matches(self, sql: exp.Expr, pattern: str, ignore_case: bool = False) -> exp.Expr:
        """Linear time; a pattern without case knows ASCII letters alone, as the collation does."""
        if ignore_case and not pattern.isascii():
            raise refuse("~* knows letters of ASCII alone here", "write UPPER(x) ~ 'É'")
        kind = exp.RegexpILike if ignore_case else exp.RegexpLike
        return kind(this=wrap(sql), expression=text(pattern))

    def extract_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        """The first group of the pattern, NULL where it does not match."""
        return call("substring", sql, text(pattern))

    def first_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("substring", sql, text(pattern))

    def replace_match(
        self, sql: exp.Expr, pattern: str, new: Sequence[str | int], *, everywhere: bool, ignore_case: bool
    ) -> exp.Expr:
        if ignore_case and not pattern.isascii():
            raise refuse("the option i knows letters of ASCII alone here", "write UPPER(x), and capitals")
        marks = {0: "\\&"}
        spelt = "".join(
            marks.get(one, f"\\{one}") if isinstance(one, int) else one.replace("\\", "\\\\") for one in new
        )
        flags = "g" * everywhere + "i" * ignore_case
        return call("regexp_replace", sql, text(pattern), text(spelt), text(flags))

    def count_matches(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return call("regexp_count", sql, text(pattern))

    def capitalised(self, sql: exp.Expr) -> exp.Expr:
        """The collation "C" knows the letters of ASCII alone."""
        return _by_code_point(call("initcap", _by_language(sql)))

    def character(self, sql: exp.Expr) -> exp.Expr:
        return _by_code_point(call("chr", sql))

    def split(self, sql: exp.Expr, delimiter: str, index: int) -> exp.Expr:
        return call("split_part", sql, text(delimiter), number(index))

    # -- reading and measuring -----------------------------------------------------------------------------------

    def spread(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        return _by_code_point(super().spread(columns))

    def fence(self, rows: exp.Select) -> exp.Select:
        """Rows with an OFFSET are not pulled up: a column that several aggregates read is not copied into each."""
        rows.set("offset", exp.Offset(expression=number(0)))
        return rows

    def row_identity(self, alias: str, place: int, tables: int) -> exp.Expr:
        """The row's table and place: different in any other table, and in other partitions."""
        table, row = (_as_text(exp.column(name, alias)) for name in ("tableoid", "ctid"))
        return exp.Paren(this=exp.DPipe(this=table, expression=row))

    def person_key(self, sql: exp.Expr, type_: Type, engine_type: str = "") -> exp.Expr:
        """Numerics keep their zeros where tables of two scales are put together: 1.0 and 1.00 are equal. Money has one
        scale."""
        key = super().person_key(sql, type_, engine_type)
        scaled = type_.kind is Kind.DECIMAL and type_.scale and engine_type != "money"
        return call("trim_scale", key) if scaled else key

    def same_key(self, one: exp.Expr, other: exp.Expr, type_: Type) -> exp.Expr:
        """Arrays take NULLs as equal, and can be hashed; both must have the same type, which a number may not have."""
        sides = [self.cast(side, type_) for side in (one, other)] if type_.numeric else [one, other]
        arrays = [exp.Array(expressions=[side]) for side in sides]
        return exp.EQ(this=arrays[0], expression=arrays[1])

    def bucket(self, sql: exp.Expr, secret: str, buckets: int) -> exp.Expr:
        spelt = exp.DPipe(this=text(secret), expression=wrap(_as_text(sql)))
        hashed = call("encode", call("sha256", call("convert_to", spelt, text("UTF8"))), text("hex"))
        digits = exp.Paren(this=exp.DPipe(this=text("x"), expression=exp.Left(this=hashed, expression=number(15))))
        bits = exp.DataType(this=exp.DType.BIT, expressions=[exp.DataTypeParam(this=number(60))])
        whole = self.cast(exp.Cast(this=digits, to=bits), BIGINT)
        return exp.Paren(this=self.modulo(whole, number(buckets)))

    def read(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        spelt = engine_type.lower().partition("(")[0].strip()
        if type_ == TEXT:
            return _by_code_point(sql) if spelt == "text" else self.cast(sql, TEXT)
        if type_.kind is Kind.DECIMAL and spelt in ("numeric", "decimal"):
            return when(exp.LTE(this=sql.copy(), expression=number(10 ** (type_.precision - type_.scale))), sql)
        if type_.kind is Kind.DOUBLE and spelt in ("numeric", "decimal"):
            return self._numeric_to_double(sql)
        if spelt.startswith(("timestamp", "timestamptz")) and engine_type.lower().endswith(("with time zone", "tz")):
            return self.in_zone(sql, "UTC")
        if spelt == "" or spelt in _OWN.get((type_.kind, type_.bits), ()):
            return sql
        return self.cast(sql, type_)

    def to_steps(self, sql: exp.Expr, type_: Type, granularity: Fraction, reach: Fraction | None = None) -> exp.Expr:
        """All of its decimals are numerics: ``reach`` is of no use."""
        if granularity > 1 and type_.kind is Kind.DOUBLE:
            sql = self.settled(sql)
        return super().to_steps(sql, type_, granularity)

    def epoch_microseconds(self, sql: exp.Expr) -> exp.Expr:
        seconds = exp.Extract(this=exp.Var(this="EPOCH"), expression=sql)
        return self.cast(exp.Mul(this=seconds, expression=number(1_000_000)), BIGINT)


def _as_text(sql: exp.Expr) -> exp.Expr:
    return exp.Cast(this=sql, to=exp.DataType(this=exp.DType.TEXT))


def _by_code_point(sql: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Collate(this=wrap(sql), expression=exp.to_identifier("C", quoted=True)))


def _by_language(sql: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Collate(this=wrap(sql), expression=exp.to_identifier("default", quoted=True)))


_OWN: dict[tuple[Kind, int], tuple[str, ...]] = {
    (Kind.INTEGER, 16): ("smallint",),
    (Kind.INTEGER, 32): ("integer", "smallint"),
    (Kind.INTEGER, 64): ("bigint", "integer", "smallint"),
    (Kind.DOUBLE, 0): ("double precision",),
    (Kind.BOOLEAN, 0): ("boolean",),
    (Kind.DATE, 0): ("date",),
    (Kind.TIMESTAMP, 0): ("timestamp", "timestamp without time zone"),
}

POSTGRES = Postgres()
