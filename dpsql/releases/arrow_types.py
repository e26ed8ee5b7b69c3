"""The rewriter's types as Arrow's, in which tables come to the sandbox."""

from __future__ import annotations

import pyarrow as pa

from rewriter.declared import Kind, Type


def arrow_type(type_: Type) -> pa.DataType:
    """Arrow's type that holds every value of ``type_``; a HUGEINT of more than 38 digits does not fit."""
    if type_.kind is Kind.INTEGER:
        return {16: pa.int16(), 32: pa.int32(), 64: pa.int64(), 128: pa.decimal128(38, 0)}[type_.bits]
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return _PLAIN[type_.kind]


_PLAIN = {
    Kind.NULL: pa.null(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DOUBLE: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
    **dict.fromkeys((Kind.JSON, Kind.JSONB, Kind.TEXTS, Kind.INTEGERS, Kind.DOUBLES), pa.string()),
    # Of an answer: PostgreSQL's text of it, whose months and days are no lengths.
    Kind.INTERVAL: pa.string(),
    Kind.TIME: pa.time64("us"),
}
