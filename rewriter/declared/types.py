"""The column types that the rewriter reasons about.

An engine's types are mapped to these when the schema is read; anything that is not here is not
visible to analysts. Exotic widths are converted when a column is read, so that no arithmetic on
them can wrap or raise.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

Scalar = bool | int | float | Decimal | str | datetime.date | datetime.datetime | datetime.time
"""A literal: of a policy, of a query's text, or of a key set. ``None`` is SQL's NULL."""


class Kind(StrEnum):
    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    TIME = "time"
    INTERVAL = "interval"
    JSON = "json"
    JSONB = "jsonb"
    TEXTS = "text[]"
    INTEGERS = "integer[]"
    DOUBLES = "double precision[]"
    """Of answers alone, as those below: a value is the text that PostgreSQL writes for it."""
    BOOLEANS = "boolean[]"
    DATES = "date[]"
    TIMESTAMPS = "timestamp[]"
    TIMESTAMPTZS = "timestamptz[]"
    TIMES = "time[]"
    DECIMALS = "numeric[]"
    INTERVALS = "interval[]"


@dataclass(frozen=True, slots=True)
class Type:
    """A type with the facts that totality needs: the width of integers, the digits of decimals.

    ``bits`` (INTEGER, and the items of INTEGERS) is 16, 32, 64 or 128, signed; ``precision`` and ``scale`` (DECIMAL,
    and the items of DECIMALS) count decimal digits, 1 to 38.

    >>> INTEGER.limits
    (-2147483648, 2147483647)
    >>> str(decimal(15, 2))
    'decimal(15,2)'
    """

    kind: Kind
    bits: int = 0
    precision: int = 0
    scale: int = 0

    def __post_init__(self) -> None:
        if self.kind in (Kind.INTEGER, Kind.INTEGERS) and self.bits not in (16, 32, 64, 128):
            raise ValueError(f"integers have 16, 32, 64 or 128 bits, not {self.bits}")
        if self.kind in (Kind.DECIMAL, Kind.DECIMALS) and not (
            1 <= self.precision <= 38 and 0 <= self.scale <= self.precision
        ):
            raise ValueError(f"no such decimal: ({self.precision}, {self.scale})")

    @property
    def numeric(self) -> bool:
        return self.kind in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)

    @property
    def temporal(self) -> bool:
        return self.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)

    @property
    def on_axis(self) -> bool:
        """Whether values lie along an axis: numbers and times, not texts."""
        return self.numeric or self.temporal

    @property
    def nested(self) -> bool:
        """Whether a value holds others, which are read one by one: nothing else may be done with it."""
        return self.document or self.listed

    @property
    def document(self) -> bool:
        return self.kind in (Kind.JSON, Kind.JSONB)

    @property
    def listed(self) -> bool:
        return self.kind in (Kind.TEXTS, Kind.INTEGERS)

    @property
    def keyed(self) -> bool:
        """Whether it may tell people apart: every engine has one spelling for values that it calls equal.

        Not so of intervals, where '1 month' equals '30 days', and of what holds other values.
        """
        return self.kind in _KEYED

    @property
    def items(self) -> Type:
        """The type of a list's items."""
        return Type(Kind.INTEGER, bits=self.bits) if self.kind is Kind.INTEGERS else Type(Kind.TEXT)

    @property
    def clocked(self) -> bool:
        """Whether its values have a time of day."""
        return self.kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ)

    @property
    def limits(self) -> tuple[int, int]:
        """Least and greatest value of an integer type."""
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1

    def __str__(self) -> str:
        if self.kind is Kind.INTEGERS:
            return f"{self.items}[]"
        if self.kind is Kind.INTEGER:
            return {16: "smallint", 32: "integer", 64: "bigint", 128: "hugeint"}[self.bits]
        if self.kind is Kind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        return self.kind.value

    @property
    def one(self) -> str:
        """The type as a noun with its article.

        >>> [Type(Kind.INTEGER, bits=32).one, Type(Kind.TEXT).one]
        ['an integer', 'a text']
        """
        return f"{'an' if str(self)[0] in 'aeiou' else 'a'} {self}"


LISTS = frozenset(
    {
        *(Kind.TEXTS, Kind.INTEGERS, Kind.DOUBLES, Kind.BOOLEANS, Kind.DECIMALS),
        *(Kind.DATES, Kind.TIMESTAMPS, Kind.TIMESTAMPTZS, Kind.TIMES, Kind.INTERVALS),
    }
)
"""Kinds of arrays, of columns and of answers."""
_KEYED = frozenset(
    {
        *(Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.TEXT),
        *(Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME),
    }
)

NULL = Type(Kind.NULL)
BOOLEAN = Type(Kind.BOOLEAN)
SMALLINT = Type(Kind.INTEGER, bits=16)
INTEGER = Type(Kind.INTEGER, bits=32)
BIGINT = Type(Kind.INTEGER, bits=64)
HUGEINT = Type(Kind.INTEGER, bits=128)
DOUBLE = Type(Kind.DOUBLE)
TEXT = Type(Kind.TEXT)
DATE = Type(Kind.DATE)
TIMESTAMP = Type(Kind.TIMESTAMP)
TIMESTAMPTZ = Type(Kind.TIMESTAMPTZ)
"""An instant: a plain timestamp of UTC wherever it is computed with, see :mod:`rewriter.declared.time_zones`."""
TIME = Type(Kind.TIME)
"""A time of day, from 00:00 to the microsecond before 24:00; it has no zone and no date."""
INTERVAL = Type(Kind.INTERVAL)
JSON = Type(Kind.JSON)
JSONB = Type(Kind.JSONB)
TEXTS = Type(Kind.TEXTS)
BIGINTS = Type(Kind.INTEGERS, bits=64)
DOUBLES = Type(Kind.DOUBLES)


def decimal(precision: int, scale: int) -> Type:
    return Type(Kind.DECIMAL, precision=precision, scale=scale)
