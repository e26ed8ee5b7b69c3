"""Spark's spelling of what a checked expression needs, for version 4 and later, in ANSI mode.

Spark is DuckDB's opposite in small things: casts of numbers to integers cut off what is behind the point, sums of
integers do not widen, a quotient of zero raises, FLOOR of a double is a BIGINT. So a conversion rounds first, a sum is
one of DECIMAL(38, 0), which the count of rows cannot overflow, and what raises is a ``try_…``. Its regular expressions
are searched with backtracking, whose time one row can make exponential: few are left to it.

Relied on, and read back by the engine in each session: ANSI mode, decimal products that keep their scale, TIMESTAMP
meaning a timestamp without a time zone, backslashes that escape in literals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sqlglot import exp

from rewriter.declared import BIGINT, DATE, DOUBLE, TEXT, TIMESTAMP, Kind, Type, decimal
from rewriter.dialects.dialect import WORDS
from rewriter.dialects.double_operand import ANY, Double
from rewriter.dialects.ieee_doubles import IeeeDoubles
from rewriter.dialects.java_patterns import java_pattern
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
from rewriter.dialects.spark_time_format import printed
from rewriter.refused import Refused

_INTEGERS = {16: exp.DType.SMALLINT, 32: exp.DType.INT, 64: exp.DType.BIGINT}
_TYPES = {
    Kind.BOOLEAN: exp.DType.BOOLEAN,
    Kind.DOUBLE: exp.DType.DOUBLE,
    Kind.TEXT: exp.DType.TEXT,
    Kind.DATE: exp.DType.DATE,
    Kind.TIMESTAMP: exp.DType.TIMESTAMP,
    Kind.TIMESTAMPTZ: exp.DType.TIMESTAMP,
}
_LONGEST = 2**31 - 2
_PICK = "try_element_at"
_LARGEST_WITH_FRACTION = 2.0**52
_INFINITE_REAL = 3.4028235677973366e38
_OTHER_NAMES = {"strpos": "instr", "starts_with": "startswith", "trim": "btrim"}

SIGMA = "\u03a3"
"""The one letter of which Java's LOWER depends on the letters beside it."""


class Spark(IeeeDoubles):
    """Sums widen here and not there, and no row has an identity.

    >>> SPARK.sql(SPARK.sum(exp.column("n"), BIGINT))
    'SUM(CAST(n AS DECIMAL(38, 0)))'
    >>> SPARK.sql(SPARK.to_steps(exp.column("x"), DOUBLE, Fraction(1, 8)))
    'CAST(RINT(x * 8e0) AS BIGINT)'
    """

    name = "spark"
    default_schema = "default"
    decimals_may_be_nan = False
    recomputes = True
    sums_in_order = False
    windows_in_order = False
    usual_escape = "\\"
    longest_text = 50_000_000
    words: ClassVar[Mapping[str, str]] = {word: _OTHER_NAMES.get(word, word) for word in WORDS}
    own_words = frozenset(
        """collect_list conv convert_timezone date_add date_format date_trunc datediff day dayofmonth dayofweek
        dayofyear explode extract format_string hour log2 lower make_date make_interval md5 minute month octet_length
        percentile pow quarter regexp_extract regexp_like rint second sequence sha2 sort_array split split_part try_cast
        try_divide try_element_at try_mod unix_micros upper weekday weekofyear year yearofweek btrim""".split()
    )
    own_syntax = frozenset(
        {
            *(exp.Div, exp.IntDiv, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape, exp.ILike, exp.TryCast),
            *(exp.LogicalAnd, exp.LogicalOr, exp.Filter, exp.Left, exp.Extract, exp.Offset, exp.Var),
        }
    )

    def call(self, word: str, *arguments: exp.Expr) -> exp.Expr:
        """A function by PostgreSQL's name and with its arguments: some have theirs in another order."""
        if word in ("gcd", "lcm"):
            raise _not_yet(word.upper())
        if word == "concat":  # leaves NULLs out
            return call("concat_ws", text(""), *arguments)
        if word == "trunc":
            below = exp.LT(this=wrap(duplicate(arguments[0])), expression=number(0))
            up = call("ceil", *(duplicate(one) for one in arguments))
            return when(below, up, call("floor", *arguments))
        if word in ("ltrim", "rtrim") and len(arguments) > 1:
            return call(word, arguments[1], arguments[0])
        if word in ("left", "right") and (count := _negative(arguments[1])) is not None:
            return self._but_for(word, arguments[0], count)
        return super().call(word, *arguments)

    def _but_for(self, side: str, sql: exp.Expr, count: int) -> exp.Expr:
        """All but so many characters at the other end."""
        if side == "right":
            return call("substring", sql, number(min(count, _LONGEST) + 1))
        left = exp.Sub(this=call("length", duplicate(sql)), expression=number(count))
        return call("substring", sql, number(1), call("greatest", left, number(0)))

    # -- text of a whole tree ------------------------------------------------------------------------------------

    def spelt(self, tree: exp.Expr) -> exp.Expr:
        """Patterns of LIKE with backslashes before what is meant as it is: no other sign may follow one."""
        tree = super().spelt(tree)
        if all(not isinstance(node, exp.Like | exp.ILike) for node in tree.walk()):
            return tree
        tree = tree.copy()
        for node in list(tree.find_all(exp.Like, exp.ILike)):
            around = node.parent if isinstance(node.parent, exp.Escape) else None
            escape = self.usual_escape if around is None else around.expression.name
            node.set("expression", text(_escaped(node.expression.name, escape)))
            if around is not None:
                plain = node.copy()
                tree = plain if around is tree else tree
                around.replace(plain)
        return tree

    # -- types ---------------------------------------------------------------------------------------------------

    def data_type(self, type_: Type) -> exp.Expr:
        if type_.kind is Kind.DECIMAL or type_.bits > 64:
            sizes = (type_.precision, type_.scale) if type_.kind is Kind.DECIMAL else (38, 0)
            digits = [exp.DataTypeParam(this=number(size)) for size in sizes]
            return exp.DataType(this=exp.DType.DECIMAL, expressions=digits)
        if type_.kind is Kind.TIME:
            raise _not_yet("TIME")
        return exp.DataType(this=_INTEGERS[type_.bits] if type_.kind is Kind.INTEGER else _TYPES[type_.kind])

    def cast(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """Of a number with a fraction, to an integer: cut off. Nothing converts one so that has not rounded it."""
        return exp.Cast(this=sql, to=self.data_type(type_))

    def try_cast(self, sql: exp.Expr, type_: Type, source: Type | None = None) -> exp.Expr:
        if type_.kind is Kind.INTEGER and source != TEXT:
            sql = self._rounded(sql, source)
        return exp.TryCast(this=sql, to=self.data_type(type_), safe=True)

    def _rounded(self, sql: exp.Expr, source: Type | None) -> exp.Expr:
        """Doubles half to even, decimals half away from zero, as DuckDB converts them."""
        if source == DOUBLE:
            return call("rint", sql)
        if source is not None and source.kind is Kind.INTEGER:
            return sql
        return call("round", sql, number(0))

    def parse(self, sql: exp.Expr, pattern: str, type_: Type) -> exp.Expr:
        return self.try_cast(self.extract_match(sql, pattern), type_, TEXT)

    def as_real(self, sql: exp.Expr) -> exp.Expr:
        real = exp.Cast(this=sql, to=exp.DataType(this=exp.DType.FLOAT))
        inside = exp.LT(this=call("abs", duplicate(sql)), expression=double(_INFINITE_REAL))
        return when(inside, self.cast(real, DOUBLE))

    def real_text(self, sql: exp.Expr) -> exp.Expr:
        return self.double_text(sql)

    def double_text(self, sql: exp.Expr) -> exp.Expr:
        raise refuse("a double has another text in Spark", "cast it to numeric first, as in x::numeric(20,4)::text")

    def shortened(self, sql: exp.Expr, digits: int) -> exp.Expr:
        return self.parse(call("format_string", text(f"%.{digits - 1}e"), sql), r"^(.*)$", DOUBLE)

    def double(self, value: float) -> exp.Expr:
        return double(value)

    # -- doubles and arithmetic ----------------------------------------------------------------------------------

    def is_finite(self, sql: exp.Expr) -> exp.Expr:
        return exp.Between(this=sql, low=number("-" + GREATEST_DOUBLE), high=number(GREATEST_DOUBLE))

    def called(self, name: str, sql: exp.Expr) -> exp.Expr:
        if name in ("floor", "ceil", "trunc"):
            return self._cut(name, sql)
        return super().called(name, sql)

    def _cut(self, name: str, sql: exp.Expr) -> exp.Expr:
        """FLOOR and its like give a BIGINT; a double beyond 2⁵² has no fraction to cut off."""
        has_fraction = exp.LT(this=call("abs", duplicate(sql)), expression=double(_LARGEST_WITH_FRACTION))
        whole = (
            exp.Cast(this=duplicate(sql), to=self.data_type(BIGINT)) if name == "trunc" else call(name, duplicate(sql))
        )
        return when(has_fraction, self.cast(whole, DOUBLE), sql)

    def truncate(self, sql: exp.Expr) -> exp.Expr:
        return self.cast(sql, BIGINT)

    def to_digits(self, name: str, value: Double, digits: int) -> exp.Expr:
        """By DuckDB's arithmetic: scaled, made whole, scaled back; a value that cannot be scaled is whole."""
        there = double(10.0 ** abs(digits))
        scaled = (
            exp.Mul(this=wrap(duplicate(value.sql)), expression=there)
            if digits >= 0
            else self.divide(duplicate(value.sql), there)
        )
        whole = self.called(name, scaled)
        back = self.divide(whole, there) if digits >= 0 else exp.Mul(this=wrap(whole), expression=there.copy())
        return when(self.is_finite(wrap(duplicate(scaled))), back, value.sql)

    def whole(self, value: Double) -> Double:
        return Double(call("round", value.sql), ANY)

    def remainder(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return call("try_mod", left, right)

    def integer_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return exp.IntDiv(this=wrap(dividend), expression=wrap(divisor))

    def wide_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        raise refuse("integers beyond 64 bits are not divided in Spark", "cast a side, as in x::double precision")

    def bitwise(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        raise _not_yet("an operator of bits")

    def modulo(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return exp.Mod(this=dividend, expression=divisor)

    def divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        return call("try_divide", dividend, divisor)

    def log2(self, sql: exp.Expr) -> exp.Expr:
        return call("log2", sql)

    def power(self, base: exp.Expr, exponent: exp.Expr) -> exp.Expr:
        return call("pow", base, exponent)

    def round_half_even(self, sql: exp.Expr) -> exp.Expr:
        return call("rint", sql)

    def to_steps(self, sql: exp.Expr, type_: Type, granularity: Fraction, reach: Fraction | None = None) -> exp.Expr:
        """As everywhere, with what has a fraction rounded before it is made an integer."""
        steps = super().to_steps(sql, type_, granularity, reach)
        if (type_.kind in (Kind.DATE, Kind.INTEGER) and (1 / granularity).denominator == 1) or type_.clocked:
            return steps
        if not isinstance(steps, exp.Cast):
            return steps
        is_decimal = type_.kind is Kind.DECIMAL and (1 / granularity).denominator == 1
        steps.set("this", self._rounded(steps.this, decimal(38, 0) if is_decimal else DOUBLE))
        return steps

    # -- time ----------------------------------------------------------------------------------------------------

    def date_trunc(self, unit: str, sql: exp.Expr) -> exp.Expr:
        if unit == "decade":
            first = exp.Mul(
                this=exp.Paren(this=self.integer_divide(call("year", sql), number(10))), expression=number(10)
            )
            return self.cast(call("make_date", first, number(1), number(1)), TIMESTAMP)
        return self.cast(call("date_trunc", text(unit.removesuffix("s")), sql), TIMESTAMP)

    def date_part(self, unit: str, sql: exp.Expr) -> exp.Expr:
        unit = unit.removesuffix("s")
        if unit in _PARTS:
            return call(_PARTS[unit], sql)
        if unit in _SCALED:
            year: exp.Expr = call("year", sql)
            added, size = _SCALED[unit]
            year = exp.Paren(this=exp.Add(this=year, expression=number(added)))
            return exp.Paren(this=self.integer_divide(year, number(size)))
        if unit in _OF_SECOND:
            moment = self.cast(sql, TIMESTAMP)
            seconds = exp.Extract(this=exp.Var(this="SECOND"), expression=moment)
            scaled = exp.Mul(this=seconds, expression=number(_OF_SECOND[unit]))
            return self.cast(scaled, BIGINT)
        if unit == "dow":
            return exp.Paren(this=exp.Sub(this=call("dayofweek", sql), expression=number(1)))
        if unit == "isodow":
            return exp.Paren(this=exp.Add(this=call("weekday", sql), expression=number(1)))
        if unit in ("isoyear", "yearofweek"):
            return exp.Extract(this=exp.Var(this="YEAROFWEEK"), expression=sql)
        if unit == "epoch":
            return self.epoch(sql)
        raise refuse(
            f"EXTRACT of {unit} is not answered on Spark", "use year, month, day, hour, minute, second or epoch"
        )

    def format_time(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        return printed(self.cast(sql, TIMESTAMP), pattern)

    def format_number(self, sql: exp.Expr, pattern: NumberFormat, *, exact: bool) -> exp.Expr:
        raise _not_yet("TO_CHAR of a number")

    def epoch(self, sql: exp.Expr) -> exp.Expr:
        return self.divide(self.cast(self.epoch_microseconds(sql), DOUBLE), double(1e6))

    def epoch_microseconds(self, sql: exp.Expr) -> exp.Expr:
        return call("unix_micros", exp.Cast(this=sql, to=exp.DataType(this=exp.DType.TIMESTAMPLTZ)))

    def moment_after_epoch(self, microseconds: exp.Expr) -> exp.Expr:
        raise _not_yet("this function of times")

    def seconds_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        between = exp.Sub(this=self.epoch_microseconds(later), expression=self.epoch_microseconds(earlier))
        return self.divide(self.cast(exp.Paren(this=between), DOUBLE), double(1e6))

    def days_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        return call("datediff", later, earlier)

    def add_days(self, date: exp.Expr, days: exp.Expr) -> exp.Expr:
        return call("date_add", date, exp.Cast(this=days, to=exp.DataType(this=exp.DType.INT)))

    def interval(self, months: int, days: int, microseconds: int) -> exp.Expr:
        seconds = self.cast(text(f"{Decimal(microseconds).scaleb(-6):f}"), decimal(18, 6))
        zero = number(0)
        return call("make_interval", zero, number(months), zero.copy(), number(days), zero.copy(), zero.copy(), seconds)

    def add_months(self, moment: exp.Expr, months: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Add(this=moment, expression=call("make_interval", number(0), months)))

    def shift(self, moment: exp.Expr, span: tuple[int, int, int]) -> exp.Expr:
        return exp.Add(this=moment, expression=self.interval(*span))

    def in_zone(self, sql: exp.Expr, place: str) -> exp.Expr:
        """Between local times and instants, which have types of their own: the node tells which of the two it is."""
        instant = sql.this if isinstance(sql, exp.Paren) else sql
        if isinstance(instant, exp.Cast) and instant.to.this == exp.DType.TIMESTAMPLTZ:
            return call("convert_timezone", text("UTC"), text(place), self.cast(instant, TIMESTAMP))
        there = sql if place == "UTC" else call("convert_timezone", text(place), text("UTC"), sql)
        return exp.Cast(this=there, to=exp.DataType(this=exp.DType.TIMESTAMPLTZ))

    # -- text ----------------------------------------------------------------------------------------------------

    def bytes_of(self, sql: exp.Expr, *, added: bool = False) -> exp.Expr:
        size = call("octet_length", sql)
        return self.cast(size, BIGINT) if added else size

    def in_case(self, name: str, sql: exp.Expr) -> exp.Expr:
        """Letter by letter: Java has two letters for some, such as ß, and these stay what they are."""
        if name == "lower":
            return call("lower", call("translate", sql, text(SIGMA + "İ"), text("σi")))
        return call(
            "translate",
            call("upper", call("translate", sql, text("ßŉ"), text("\ue0df\ue149"))),
            text("\ue0df\ue149"),
            text("ẞŉ"),
        )

    def like(self, kind: type[exp.Expr], sql: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        """A pattern in which something else than a wildcard is escaped raises: it has to be known."""
        if not isinstance(pattern, exp.Literal):
            raise refuse("a pattern of LIKE must be a literal on Spark", "write x LIKE 'a%'")
        return kind(this=sql, expression=pattern)

    def matches(self, sql: exp.Expr, pattern: str, ignore_case: bool = False) -> exp.Expr:
        return call("regexp_like", sql, text(("(?isu)" if ignore_case else "(?s)") + java_pattern(pattern)))

    def extract_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        """Of patterns of our own, which are anchored."""
        return call(
            "regexp_extract",
            sql,
            text("(?s)" + pattern.removesuffix("$") + (r"\z" if pattern.endswith("$") else "")),
            number(1),
        )

    def first_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        raise _not_yet("SUBSTRING with a pattern")

    def replace_match(
        self, sql: exp.Expr, pattern: str, new: Sequence[str | int], *, everywhere: bool, ignore_case: bool
    ) -> exp.Expr:
        raise _not_yet("REGEXP_REPLACE")

    def count_matches(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        raise _not_yet("REGEXP_COUNT")

    def capitalised(self, sql: exp.Expr) -> exp.Expr:
        raise _not_yet("INITCAP")

    def character(self, sql: exp.Expr) -> exp.Expr:
        raise _not_yet("CHR")

    def split(self, sql: exp.Expr, delimiter: str, index: int) -> exp.Expr:
        return call("split_part", sql, text(delimiter), number(index))

    # -- aggregates and rows -------------------------------------------------------------------------------------

    def sum(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """A sum of BIGINTs is one: it would raise, or wrap. No count of rows there can be fills 38 digits."""
        wide = Type(Kind.INTEGER, bits=128) if type_.kind is Kind.INTEGER else type_
        return exp.Sum(this=self.cast(sql, wide))

    def filtered(self, aggregate: exp.Expr, condition: exp.Expr) -> exp.Expr:
        """Of a value that is picked from a list, what the list and its length are made of is filtered."""
        if not isinstance(aggregate, exp.Anonymous) or aggregate.name != _PICK:
            return exp.Filter(this=aggregate, expression=exp.Where(this=condition))
        made = [one for one in aggregate.walk() if isinstance(one, exp.Count) or one.name == "collect_list"]
        for one in made:
            one.replace(exp.Filter(this=one.copy(), expression=exp.Where(this=condition.copy())))
        return aggregate

    def percentile(self, sql: exp.Expr, fraction: float, *, descending: bool = False) -> exp.Expr:
        """PERCENTILE_DISC of any number is a double in Spark: here the value is picked from the sorted list."""
        values = call("sort_array", call("collect_list", sql), exp.Boolean(this=not descending))
        count = self.cast(exp.Count(this=duplicate(sql)), DOUBLE)
        place = call("ceil", exp.Mul(this=count, expression=double(fraction)))
        first = call("greatest", exp.Cast(this=place, to=exp.DataType(this=exp.DType.INT)), number(1))
        return call(_PICK, values, first)

    def percentile_between(self, sql: exp.Expr, fraction: float) -> exp.Expr:
        return call("percentile", sql, double(fraction))

    def series(self, low: exp.Expr, high: exp.Expr, step: exp.Expr | None = None) -> exp.Expr:
        """A sequence runs downwards where its ends do: there it is none."""
        ends = exp.LTE(this=wrap(low.copy()), expression=wrap(high.copy()))
        listed = call("sequence", low, high, *([] if step is None else [step]))
        rows = exp.select(exp.alias_(call("explode", when(ends, listed)), "n"))
        return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("g")))

    def cte(self, name: str, query: exp.Expr, *, shared: bool = False) -> exp.CTE:
        """The engine computes once what several read: there is no word for it."""
        return exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))

    def fence(self, rows: exp.Select) -> exp.Select:
        return rows

    # -- reading and measuring -----------------------------------------------------------------------------------

    def read(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        spelt = engine_type.lower().partition("(")[0].strip()
        if type_.kind is Kind.TIMESTAMPTZ and spelt == "timestamp_ntz":
            return sql
        if spelt in ("", _OWN.get((type_.kind, type_.bits), "")) or type_.kind in (Kind.BOOLEAN, Kind.DECIMAL):
            return sql
        return self.cast(sql, type_)

    def row_identity(self, alias: str, place: int, tables: int) -> exp.Expr:
        raise refuse(
            "rows of Spark have no identity of their own", "declare a key of the table, and name it in the query"
        )

    def same_key(self, one: exp.Expr, other: exp.Expr, type_: Type) -> exp.Expr:
        return exp.NullSafeEQ(this=one, expression=other)

    def spread(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        texts: list[exp.Expr] = []
        for column in columns:
            texts += [text(","), call("md5", self.cast(column, TEXT))]
        return exp.Left(this=call("md5", self.call("concat", *texts[1:])), expression=number(12))

    def bucket(self, sql: exp.Expr, secret: str, buckets: int) -> exp.Expr:
        spelt = self.call("concat", text(secret), self.cast(sql, TEXT))
        digits = exp.Left(this=call("sha2", spelt, number(256)), expression=number(15))
        whole = self.cast(call("conv", digits, number(16), number(10)), BIGINT)
        return exp.Paren(this=self.modulo(whole, number(buckets)))


_PARTS = {
    "year": "year", "quarter": "quarter", "month": "month", "week": "weekofyear", "day": "day", "doy": "dayofyear",
    "hour": "hour", "minute": "minute",
}  # fmt: skip
_SCALED = {"decade": (0, 10), "century": (99, 100), "millennium": (999, 1000)}
_OF_SECOND = {"second": 1, "millisecond": 1000, "microsecond": 1_000_000}
_OWN = {
    (Kind.INTEGER, 16): "smallint",
    (Kind.INTEGER, 32): "int",
    (Kind.INTEGER, 64): "bigint",
    (Kind.DOUBLE, 0): "double",
    (Kind.TEXT, 0): "string",
    (DATE.kind, 0): "date",
    (Kind.TIMESTAMP, 0): "timestamp_ntz",
}


def _not_yet(what: str) -> Refused:
    """What nobody has compared with DuckDB, row by row, is not answered."""
    return refuse(f"{what} is not answered on Spark", "ask for it without, or of another engine")


def _escaped(pattern: str, escape: str) -> str:
    """A pattern of LIKE in which a backslash escapes, whatever did.

    >>> print(_escaped("10!%!a%", "!"))
    10\\%a%
    """
    found, signs = "", iter(pattern)
    for sign in signs:
        meant = sign if sign != escape else next(signs, "\\")
        is_plain = sign == escape or sign == "\\"
        found += f"\\{meant}" if is_plain and meant in "%_\\" else meant
    return found


def _negative(count: exp.Expr) -> int | None:
    """How much a negative literal is below zero."""
    inner = count.this if isinstance(count, exp.Paren) else count
    return int(inner.this.name) if isinstance(inner, exp.Neg) and isinstance(inner.this, exp.Literal) else None


SPARK = Spark()
