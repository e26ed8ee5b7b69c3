"""PEP 249's types: type objects, constructors, and the description of a column."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from rewriter.declared import LISTS, Kind, Type

Description = tuple[str, Kind, None, int | None, int | None, int | None, None]


@dataclass(frozen=True, slots=True, eq=False)
class TypeObject:
    """A group of column types; equal to each :class:`~rewriter.declared.types.Kind` in it, as PEP 249 asks.

    >>> Kind.INTEGER == NUMBER, Kind.DECIMAL == NUMBER, Kind.TEXT == NUMBER
    (True, True, False)
    """

    name: str
    kinds: frozenset[Kind]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self is other
        return other in self.kinds if isinstance(other, Kind) else NotImplemented

    # Equal to several things that are not equal to each other: no hash can be right.
    __hash__ = None  # type: ignore[assignment]


STRING = TypeObject("STRING", frozenset({Kind.TEXT, Kind.JSON, Kind.JSONB, *LISTS}))
BINARY = TypeObject("BINARY", frozenset())
NUMBER = TypeObject("NUMBER", frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE}))
DATETIME = TypeObject("DATETIME", frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME, Kind.INTERVAL}))
BOOLEAN = TypeObject("BOOLEAN", frozenset({Kind.BOOLEAN}))
ROWID = TypeObject("ROWID", frozenset())

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802  (PEP 249 asks for this name)
    """The local date of a number of seconds since the epoch."""
    return datetime.datetime.fromtimestamp(ticks).date()


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802  (PEP 249 asks for this name)
    """The local time of day of a number of seconds since the epoch."""
    return datetime.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802  (PEP 249 asks for this name)
    """The local date and time of a number of seconds since the epoch."""
    return datetime.datetime.fromtimestamp(ticks)


def describe(name: str, of: Type) -> Description:
    """A column's description. Integers of 128 bits are shown as decimals: no client has room for them otherwise.

    >>> describe("n", Type(Kind.INTEGER, bits=64))[:4]
    ('n', <Kind.INTEGER: 'integer'>, None, 8)
    """
    if of.kind is Kind.INTEGER and of.bits <= 64:
        return name, of.kind, None, of.bits // 8, None, None, None
    if of.kind is Kind.INTEGER:
        return name, Kind.DECIMAL, None, None, 38, 0, None
    if of.kind is Kind.DECIMAL:
        return name, of.kind, None, None, of.precision, of.scale, None
    return name, of.kind, None, None, None, None, None


def arrow_type(of: Type) -> Any:
    """The ``pyarrow.DataType`` that holds every value of a column of this type."""
    import pyarrow

    if of.kind is Kind.INTEGER and of.bits <= 64:
        return getattr(pyarrow, f"int{of.bits}")()
    if of.kind is Kind.INTEGER:
        return pyarrow.decimal128(38, 0)
    if of.kind is Kind.DECIMAL:
        return pyarrow.decimal128(of.precision, of.scale)
    if of.kind is Kind.DECIMALS:
        return pyarrow.list_(pyarrow.decimal128(of.precision, of.scale))
    plain = {
        Kind.NULL: pyarrow.null(),
        Kind.BOOLEAN: pyarrow.bool_(),
        Kind.DOUBLE: pyarrow.float64(),
        Kind.TEXT: pyarrow.string(),
        Kind.DATE: pyarrow.date32(),
        Kind.TIMESTAMP: pyarrow.timestamp("us"),
        Kind.TIMESTAMPTZ: pyarrow.timestamp("us", tz="UTC"),
        **dict.fromkeys((Kind.JSON, Kind.JSONB), pyarrow.string()),
        Kind.TEXTS: pyarrow.list_(pyarrow.string()),
        Kind.INTEGERS: pyarrow.list_(pyarrow.int64()),
        Kind.DOUBLES: pyarrow.list_(pyarrow.float64()),
        Kind.BOOLEANS: pyarrow.list_(pyarrow.bool_()),
        Kind.DATES: pyarrow.list_(pyarrow.date32()),
        Kind.TIMESTAMPS: pyarrow.list_(pyarrow.timestamp("us")),
        Kind.TIMESTAMPTZS: pyarrow.list_(pyarrow.timestamp("us", tz="UTC")),
        Kind.TIMES: pyarrow.list_(pyarrow.time64("us")),
        Kind.INTERVALS: pyarrow.list_(pyarrow.string()),
        # PostgreSQL's text: months and days are no lengths.
        Kind.INTERVAL: pyarrow.string(),
        Kind.TIME: pyarrow.time64("us"),
    }
    return plain[of.kind]
