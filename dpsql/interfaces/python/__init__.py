"""PEP 249: connections and cursors, and the constructors and type objects of its values."""

from dpsql.interfaces.python.connection import Connection, apilevel, connect, paramstyle, threadsafety
from dpsql.interfaces.python.cursor import Cursor
from dpsql.interfaces.python.dbapi_types import (
    BINARY,
    BOOLEAN,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

__all__ = [
    "BINARY",
    "BOOLEAN",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "Date",
    "DateFromTicks",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
