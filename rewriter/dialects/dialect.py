"""Dialects: the expressions that every engine has to offer, each with the engine's spelling.

Guarantee: an engine that lacks a spelling is found when its class is made, and inherits none from another engine by
accident. Only what follows from other spellings is written here.

Why nodes and not text: a tree is put together once and generated once, and nothing that an analyst wrote is ever
pasted into it. Functions are :class:`sqlglot.exp.Anonymous`, so that the generator leaves their names alone. Which
nodes are left to the generator of sqlglot is a list: what is SQL's own, and what a dialect says that its engine has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sqlglot import exp

from rewriter.declared import BIGINT, DOUBLE, UTC, Kind, Type, decimal
from rewriter.dialects.calendar_nodes import Read, reading_of
from rewriter.dialects.double_operand import Double
from rewriter.dialects.fact import without_facts
from rewriter.dialects.grammar import plain_text
from rewriter.dialects.nested_values import NestedValues
from rewriter.dialects.nodes import call, double, named_table, number, refuse, text
from rewriter.dialects.number_format import NumberFormat, format_of
from rewriter.dialects.plain_syntax import PLAIN
from rewriter.once import once

WORDS = frozenset(
    """abs acos acosh ascii asin asinh atan atan2 atanh cbrt ceil concat concat_ws cos cosh cot cume_dist degrees
    dense_rank exp first_value floor gcd greatest lag last_value lcm lead least left length ln log10 lower lpad ltrim
    md5 nth_value ntile nullif percent_rank power radians rank regexp_replace repeat replace reverse right round
    row_number rpad rtrim sign sin sinh sqrt starts_with strpos substring tan tanh translate trim trunc""".split()
)
"""Functions that every engine has, by the names that PostgreSQL gives them."""

STANDARD = frozenset("abs bool_and bool_or cast coalesce count extract max min row_number sqrt sum".split())
"""Functions that are nodes of sqlglot in our trees, which it spells."""

_DAY = 86_400_000_000
_BEFORE_1970 = 719_163
"""``datetime.date(1970, 1, 1).toordinal()``: how far the engine's epoch lies after our day 0."""


@dataclass(frozen=True)
class Dialect(NestedValues, ABC):
    """The spellings of one engine, and what it can do."""

    zone: str = UTC
    """The session's time zone: where a ``timestamptz`` has its local time unless another place is named."""
    clock_zone: str = ""
    """By whose clocks the present date and time of day are told, if not by those of the session's zone."""

    name: ClassVar[str]
    """sqlglot's word for the dialect."""
    default_schema: ClassVar[str]
    """Where tables are found that are named without a schema."""
    decimals_may_be_nan: ClassVar[bool]
    """Whether a decimal that is stored may be no number, and is NULL where it is read."""
    recomputes: ClassVar[bool]
    """Whether an expression that occurs several times is computed several times."""
    sums_in_order: ClassVar[bool]
    """Whether SUM(x ORDER BY x) adds doubles one by one in that order, so that no other row decides its last bits."""
    windows_in_order: ClassVar[bool]
    """Whether such a SUM may have OVER; else the window has the order."""
    divides_to_zero: ClassVar[bool]
    """Whether a quotient that is too small for a double is 0, and no error."""
    usual_escape: ClassVar[str]
    """What escapes a wildcard of LIKE where no ESCAPE is said."""
    longest_text: ClassVar[int | None]
    """Bytes beyond which functions that need several times the room of a text make the engine raise."""
    words: ClassVar[Mapping[str, str]]
    """The engine's name for each of :data:`WORDS`, with the same arguments in the same order."""
    own_words: ClassVar[frozenset[str]]
    """The engine's other functions: those that its spellings alone call."""

    own_syntax: ClassVar[frozenset[type[exp.Expr]]]
    """The nodes beyond :data:`PLAIN` that the engine's grammar has, by sqlglot's text for it."""

    @property
    def syntax(self) -> frozenset[type[exp.Expr]]:
        """Every node that a tree of ours may have."""
        return PLAIN | self.own_syntax

    @property
    def functions(self) -> frozenset[str]:
        """Every function that a text of ours may call."""
        return STANDARD | self.own_words | frozenset(self.words.values())

    def __init_subclass__(cls, *, family: bool = False) -> None:
        """A ``family`` is what several engines share, and no dialect yet."""
        super().__init_subclass__()
        missing = [] if family else _missing(cls)
        if missing:
            raise TypeError(f"{cls.__name__} does not say {', '.join(missing)}")

    # -- text of a whole tree ------------------------------------------------------------------------------------

    @once
    def sql(self, tree: exp.Expr) -> str:
        """The engine's text of a tree, which is left as it was."""
        return plain_text(without_facts(self.spelt(tree).copy()), self.name)

    @once
    def spelt(self, tree: exp.Expr) -> exp.Expr:
        """The tree with the engine's own words for what is read off a calendar: a copy, where there is any of that."""
        if all(reading_of(node) is None for node in tree.find_all(exp.Anonymous)):
            return tree
        copy = tree.copy()
        for node in reversed(list(copy.find_all(exp.Anonymous))):  # what is inside of a reading first
            reading = reading_of(node)
            if reading is None:
                continue
            if reading.read is Read.START:
                spelt = self.date_trunc(reading.unit, reading.moment)
            elif reading.read is Read.FIELD:
                spelt = self.date_part(reading.unit, reading.moment)
            elif reading.read is Read.PRINT:
                spelt = self.format_time(reading.moment, reading.pattern)
            else:
                spelt = self._number_printed(reading.moment, reading.pattern, exact=reading.read is Read.NUMBER)
            copy = spelt if node is copy else copy
            node.replace(spelt)
        return copy

    def _number_printed(self, sql: exp.Expr, written: str, *, exact: bool) -> exp.Expr:
        pattern = format_of(written)
        if pattern is None:
            raise ValueError(f"{written!r} is no format of numbers")
        return self.format_number(sql, pattern, exact=exact)

    def call(self, word: str, *arguments: exp.Expr) -> exp.Expr:
        """A function of :data:`WORDS`."""
        return call(self.words[word], *arguments)

    # -- types ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def data_type(self, type_: Type) -> exp.Expr: ...

    @abstractmethod
    def cast(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """A conversion that cannot fail for any value of the operand's type.

        To any other type than TEXT it is the node ``exp.Cast``, which sqlglot spells: keys ask it for its type.
        """

    @abstractmethod
    def try_cast(self, sql: exp.Expr, type_: Type, source: Type | None = None) -> exp.Expr:
        """A conversion that gives NULL where it fails. ``source`` is the operand's type."""

    @abstractmethod
    def parse(self, sql: exp.Expr, pattern: str, type_: Type) -> exp.Expr:
        """A text as a number or a time, NULL where it is none. The first group of ``pattern`` is what is read."""

    @abstractmethod
    def as_real(self, sql: exp.Expr) -> exp.Expr:
        """A double rounded to four bytes, as a double; NULL beyond their range."""

    @abstractmethod
    def real_text(self, sql: exp.Expr) -> exp.Expr:
        """A double that has only four bytes, in as few digits as tell it from its neighbours of four bytes."""

    @abstractmethod
    def double_text(self, sql: exp.Expr) -> exp.Expr:
        """A double in as few digits as tell it from its neighbours."""

    @abstractmethod
    def shortened(self, sql: exp.Expr, digits: int) -> exp.Expr:
        """A double with so many decimal digits and no more, as a double; beyond the greatest one it may be infinite."""

    @abstractmethod
    def double(self, value: float) -> exp.Expr:
        """A finite double as a constant of that type."""

    # -- guards --------------------------------------------------------------------------------------------------

    @abstractmethod
    def is_finite(self, sql: exp.Expr) -> exp.Expr:
        """True for finite doubles only."""

    def in_calendar(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """True for dates and timestamps in the years 1 to 9999 only; their infinities lie outside."""
        last = "9999-12-31" if type_.kind is Kind.DATE else "9999-12-31 23:59:59.999999"
        return exp.Between(this=sql, low=self.cast(text("0001-01-01"), type_), high=self.cast(text(last), type_))

    # -- doubles -------------------------------------------------------------------------------------------------
    # None of these raises. A result may be NaN or ±inf, or NULL where the engine would raise, until it is `finite`.

    @abstractmethod
    def finite(self, sql: exp.Expr) -> exp.Expr:
        """A result of these with NULL for NaN and ±inf; the node itself where it can be neither."""

    @abstractmethod
    def combined(self, kind: type[exp.Expr], left: Double, right: Double) -> Double:
        """A sum, difference or product: ``kind`` is ``exp.Add``, ``exp.Sub`` or ``exp.Mul``."""

    @abstractmethod
    def quotient(self, left: Double, right: Double) -> Double:
        """NULL, NaN or ±inf on zero."""

    @abstractmethod
    def half(self, sql: exp.Expr) -> exp.Expr:
        """Half of a finite double."""

    @abstractmethod
    def share(self, distance: exp.Expr, width: float) -> exp.Expr:
        """A distance as a share of a width, for distances up to that width."""

    @abstractmethod
    def remainder(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """Takes the sign of the dividend. An engine without it refuses."""

    @abstractmethod
    def function_of_double(self, name: str, sql: exp.Expr) -> exp.Expr:
        """LOG2, or a function of one double of :data:`WORDS`."""

    @abstractmethod
    def raised(self, base: Double, exponent: Double) -> Double:
        """A power of a finite double; 0 where it is too small for one."""

    @abstractmethod
    def whole(self, value: Double) -> Double:
        """The nearest whole number, halves away from zero."""

    @abstractmethod
    def to_digits(self, name: str, value: Double, digits: int) -> exp.Expr:
        """``round`` or ``trunc`` to a number of digits: halves away from zero."""

    def called(self, name: str, sql: exp.Expr) -> exp.Expr:
        """A function of one double as the engine has it."""
        return self.log2(sql) if name == "log2" else self.call(name, sql)

    # -- arithmetic ----------------------------------------------------------------------------------------------

    @abstractmethod
    def integer_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """Of integers of up to 64 bits. Truncates toward zero; raises on a zero divisor and on least // -1."""

    @abstractmethod
    def wide_divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """The same of integers beyond 64 bits."""

    @abstractmethod
    def modulo(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """Takes the sign of the dividend; raises where the division would."""

    @abstractmethod
    def divide(self, dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        """Of doubles, as the engine has it."""

    @abstractmethod
    def log2(self, sql: exp.Expr) -> exp.Expr:
        """Of a double, as the engine has it."""

    @abstractmethod
    def power(self, base: exp.Expr, exponent: exp.Expr) -> exp.Expr:
        """Of doubles, as the engine has it."""

    @abstractmethod
    def bitwise(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """``exp.BitwiseAnd``, ``exp.BitwiseOr`` or ``exp.BitwiseXor`` of integers of one type, of up to 64 bits; or
        ``exp.BitwiseRightShift`` by fewer bits than there are, which rounds down."""

    @abstractmethod
    def round_half_even(self, sql: exp.Expr) -> exp.Expr: ...

    def truncate(self, sql: exp.Expr) -> exp.Expr:
        """A double within the range of BIGINT as one, rounded toward zero."""
        return self.cast(self.call("trunc", sql), BIGINT)

    # -- time ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def date_trunc(self, unit: str, sql: exp.Expr) -> exp.Expr:
        """The beginning of a unit, of a date or timestamp: always a timestamp."""

    @abstractmethod
    def date_part(self, unit: str, sql: exp.Expr) -> exp.Expr:
        """A field of a date or timestamp."""

    @abstractmethod
    def format_time(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        """A date or timestamp as a text, by a pattern of :mod:`rewriter.dialects.time_format`."""

    @abstractmethod
    def format_number(self, sql: exp.Expr, pattern: NumberFormat, *, exact: bool) -> exp.Expr:
        """A number as a text, by a format. An exact number has as many decimals as the format; a double is rounded by
        its exact value."""

    @abstractmethod
    def epoch(self, sql: exp.Expr) -> exp.Expr:
        """Seconds since 1970 of a date or timestamp, as a double."""

    @abstractmethod
    def epoch_microseconds(self, sql: exp.Expr) -> exp.Expr:
        """Since 1970, of a timestamp, as a BIGINT."""

    @abstractmethod
    def moment_after_epoch(self, microseconds: exp.Expr) -> exp.Expr:
        """The timestamp so many microseconds after 1970 began, a BIGINT; within the calendar."""

    @abstractmethod
    def seconds_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        """Seconds from one timestamp to another, as a double. Total for years 1 to 9999."""

    @abstractmethod
    def days_between(self, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
        """Days from one date to another, as an integer."""

    @abstractmethod
    def add_days(self, date: exp.Expr, days: exp.Expr) -> exp.Expr:
        """``days`` is an INTEGER within the calendar's length."""

    @abstractmethod
    def interval(self, months: int, days: int, microseconds: int) -> exp.Expr: ...

    @abstractmethod
    def shift(self, moment: exp.Expr, span: tuple[int, int, int]) -> exp.Expr:
        """A timestamp plus months, days and microseconds; it may leave the calendar."""

    @abstractmethod
    def add_months(self, moment: exp.Expr, months: exp.Expr) -> exp.Expr:
        """A timestamp plus an INTEGER of months, of which is known that it stays in the calendar."""

    @abstractmethod
    def in_zone(self, sql: exp.Expr, place: str) -> exp.Expr:
        """AT TIME ZONE: for a timestamp the instant at which clocks there show it, for an instant the time that they
        show."""

    # -- text ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def bytes_of(self, sql: exp.Expr, *, added: bool = False) -> exp.Expr:
        """The length of a text in bytes, known without reading the text; ``added``: wide enough to be added up."""

    @abstractmethod
    def in_case(self, name: str, sql: exp.Expr) -> exp.Expr:
        """``upper`` or ``lower`` of a text, letter by letter."""

    @abstractmethod
    def like(self, kind: type[exp.Expr], sql: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        """LIKE or ILIKE; a pattern must not end in its escape."""

    @abstractmethod
    def matches(self, sql: exp.Expr, pattern: str, ignore_case: bool = False) -> exp.Expr:
        """Whether a part of the text matches; the dot matches a line end too. In linear time."""

    @abstractmethod
    def extract_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        """The first group of the pattern; '' or NULL where it does not match."""

    @abstractmethod
    def first_match(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        """The first group of the pattern, which is in every match; NULL where it does not match. In linear time."""

    @abstractmethod
    def replace_match(
        self, sql: exp.Expr, pattern: str, new: Sequence[str | int], *, everywhere: bool, ignore_case: bool
    ) -> exp.Expr:
        """The text with ``new`` in the place of the first match, or of every one: texts, and groups by their number."""

    @abstractmethod
    def count_matches(self, sql: exp.Expr, pattern: str) -> exp.Expr:
        """How many matches a pattern has that is never empty, as an INTEGER."""

    @abstractmethod
    def capitalised(self, sql: exp.Expr) -> exp.Expr:
        """The first letter of each word large and the others small; a word is made of letters and digits."""

    @abstractmethod
    def character(self, sql: exp.Expr) -> exp.Expr:
        """The character of a code point that there is, which is not 0."""

    @abstractmethod
    def split(self, sql: exp.Expr, delimiter: str, index: int) -> exp.Expr:
        """Field ``index`` (from 1; from the end where negative); '' or NULL where there is none."""

    # -- aggregates and rows -------------------------------------------------------------------------------------

    @abstractmethod
    def sum(self, sql: exp.Expr, type_: Type) -> exp.Expr:
        """The exact sum of integers or decimals of a type: no number of rows makes it overflow."""

    @abstractmethod
    def filtered(self, aggregate: exp.Expr, condition: exp.Expr) -> exp.Expr:
        """An aggregate over the rows alone for which a condition is true."""

    @abstractmethod
    def percentile(self, sql: exp.Expr, fraction: float, *, descending: bool = False) -> exp.Expr:
        """The first value of which so large a fraction of the values are no greater, or no less: PERCENTILE_DISC."""

    @abstractmethod
    def percentile_between(self, sql: exp.Expr, fraction: float) -> exp.Expr:
        """PERCENTILE_CONT of doubles."""

    @abstractmethod
    def series(self, low: exp.Expr, high: exp.Expr, step: exp.Expr | None = None) -> exp.Expr:
        """A FROM item ``g`` with a column ``n``: ``low``, ``low + step``, … up to ``high``, by 1 without a step."""

    @abstractmethod
    def cte(self, name: str, query: exp.Expr, *, shared: bool = False) -> exp.CTE:
        """A part of WITH; one that is ``shared`` by several readers is computed once, where the engine can be told."""

    @abstractmethod
    def fence(self, rows: exp.Select) -> exp.Select:
        """The same rows; their columns are computed once, however often the query around reads them."""

    # -- reading and measuring -----------------------------------------------------------------------------------

    @abstractmethod
    def read(self, sql: exp.Expr, type_: Type, engine_type: str) -> exp.Expr:
        """A column of the engine's own type as one of ``type_``, without guards for its infinities."""

    @abstractmethod
    def row_identity(self, alias: str, place: int, tables: int) -> exp.Expr:
        """A row's own key: no other row of the ``tables`` private tables has it, of which this is number ``place``."""

    def person_key(self, sql: exp.Expr, type_: Type, engine_type: str = "") -> exp.Expr:
        """The key of a person: keys that the engine calls equal are one value, of which there is one text.

        Every reader of a key has this value: whoever joins, groups, hashes or prints it means the same persons. Doubles
        have two zeros and many NaN; what else is :attr:`Type.keyed` has one text for each value, unless an engine says
        otherwise. Raises :class:`Refused` for other types, which no opened policy has as a key.
        """
        if not type_.keyed:
            raise refuse(f"{type_.one} is no key of a person", "give people a key of another type")
        if type_.kind is not Kind.DOUBLE:
            return sql
        wide = self.cast(sql, DOUBLE)
        zero, nan = number(0), self.cast(text("NaN"), DOUBLE)
        ifs = [
            exp.If(this=exp.EQ(this=wide.copy(), expression=one), true=self.cast(one.copy(), DOUBLE))
            for one in (zero, nan)
        ]
        return exp.Paren(this=exp.Case(ifs=ifs, default=wide))

    @abstractmethod
    def same_key(self, one: exp.Expr, other: exp.Expr, type_: Type) -> exp.Expr:
        """Equality of two values of a type that takes NULLs as equal, in a form that joins by hashing."""

    @abstractmethod
    def spread(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """A text of a row's values, as good as random: equal values have the same."""

    @abstractmethod
    def bucket(self, sql: exp.Expr, secret: str, buckets: int) -> exp.Expr:
        """One of so many numbers from 0 on, by the SHA-256 of a secret followed by the text of a :meth:`person_key`: 60
        bits of it."""

    def none_among(self, column: exp.Column, table: str) -> exp.Expr:
        """Whether no row of ``table`` has the column's value in its column of that name; neither is ever NULL.

        In PostgreSQL NOT EXISTS becomes a hash join, NOT IN of many values a loop in a loop.
        """
        same = exp.EQ(this=exp.column(column.name, table), expression=column)
        return exp.Not(
            this=exp.Exists(this=exp.select(number(1)).from_(named_table(table), copy=False).where(same, copy=False))
        )

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
        since = exp.Paren(this=exp.Add(this=self.epoch_microseconds(sql), expression=number(_BEFORE_1970 * _DAY)))
        return self.integer_divide(since, number(step.numerator))


def _missing(cls: type[Dialect]) -> list[str]:
    """The spellings and capabilities that a class does not give."""
    spellings = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
    said = [name for name, kind in Dialect.__annotations__.items() if kind.startswith("ClassVar")]
    words = sorted(WORDS - getattr(cls, "words", {}).keys()) if hasattr(cls, "words") else []
    return [*spellings, *(name for name in said if not hasattr(cls, name)), *words]
