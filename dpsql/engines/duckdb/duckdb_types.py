"""DuckDB's types in the rewriter's words. What is not here is not visible to analysts."""

from __future__ import annotations

import re

from rewriter.declared import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    JSON,
    SMALLINT,
    TEXT,
    TEXTS,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    Kind,
    Type,
    decimal,
)

_TYPES = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": SMALLINT,
    "SMALLINT": SMALLINT,
    "INTEGER": INTEGER,
    "BIGINT": BIGINT,
    "HUGEINT": HUGEINT,
    # Unsigned integers take the next wider signed type; nothing holds all of UHUGEINT.
    "UTINYINT": SMALLINT,
    "USMALLINT": INTEGER,
    "UINTEGER": BIGINT,
    "UBIGINT": HUGEINT,
    "FLOAT": DOUBLE,
    "DOUBLE": DOUBLE,
    "VARCHAR": TEXT,
    "UUID": TEXT,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_S": TIMESTAMP,
    "TIMESTAMP_MS": TIMESTAMP,
    "TIMESTAMP_NS": TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ,
    "JSON": JSON,
    "VARCHAR[]": TEXTS,
    "SMALLINT[]": Type(Kind.INTEGERS, bits=16),
    "INTEGER[]": Type(Kind.INTEGERS, bits=32),
    "BIGINT[]": Type(Kind.INTEGERS, bits=64),
    "TIME": TIME,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def column_type(engine_type: str) -> Type | None:
    """The type of a column that DuckDB spells ``engine_type``, or None where the rewriter has none.

    >>> str(column_type("DECIMAL(15,2)")), str(column_type("UINTEGER")), column_type("BLOB")
    ('decimal(15,2)', 'bigint', None)
    """
    if (found := _TYPES.get(engine_type)) is not None:
        return found
    if (digits := _DECIMAL.fullmatch(engine_type)) is not None:
        return decimal(int(digits[1]), int(digits[2]))
    return TEXT if engine_type.startswith("ENUM(") and engine_type.endswith(")") else None


def keeps_apart(engine_type: str) -> bool:
    """Whether different values of a column are different as they are read.

    >>> keeps_apart("TIMESTAMP"), keeps_apart("TIMESTAMP_NS")
    (True, False)
    """
    found = column_type(engine_type)
    return engine_type != "TIMESTAMP_NS" and not (found is not None and found.nested)
