"""PostgreSQL's types in the rewriter's words. What is not here is not visible to analysts."""

from __future__ import annotations

import re

from rewriter.declared import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    JSON,
    JSONB,
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
    "boolean": BOOLEAN,
    "smallint": SMALLINT,
    "integer": INTEGER,
    "bigint": BIGINT,
    "real": DOUBLE,
    "double precision": DOUBLE,
    # A numeric without precision holds any number: the nearest double is what can be reasoned about.
    "numeric": DOUBLE,
    # 64 bits of hundredths, with lc_monetary C.
    "money": decimal(19, 2),
    "text": TEXT,
    "character varying": TEXT,
    "character": TEXT,
    "bpchar": TEXT,
    "uuid": TEXT,
    "date": DATE,
    "timestamp without time zone": TIMESTAMP,
    "timestamp with time zone": TIMESTAMPTZ,
    "json": JSON,
    "jsonb": JSONB,
    "text[]": TEXTS,
    "character varying[]": TEXTS,
    "smallint[]": Type(Kind.INTEGERS, bits=16),
    "integer[]": Type(Kind.INTEGERS, bits=32),
    "bigint[]": Type(Kind.INTEGERS, bits=64),
    "time without time zone": TIME,
}
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_MODIFIER = re.compile(r"\(\d+\)")
_MOST_DIGITS = 38


def column_type(engine_type: str) -> Type | None:
    """The type of a column that ``format_type`` spells ``engine_type``, or None where the rewriter has none.

    >>> str(column_type("numeric(15,2)")), str(column_type("timestamp(3) with time zone")), column_type("xml")
    ('decimal(15,2)', 'timestamptz', None)
    >>> str(column_type("numeric(3,-2)")), str(column_type("numeric(2,4)")), str(column_type("numeric(1000,2)"))
    ('decimal(5,0)', 'decimal(4,4)', 'double')
    """
    if (digits := _NUMERIC.fullmatch(engine_type)) is not None:
        precision, scale = int(digits[1]), int(digits[2])
        # 12300 fits into numeric(3,-2), 0.0012 into numeric(2,4).
        precision, scale = max(precision, scale, precision - scale), max(scale, 0)
        return decimal(precision, scale) if precision <= _MOST_DIGITS else DOUBLE
    if engine_type.startswith("ENUM(") and engine_type.endswith(")"):
        return TEXT
    return _TYPES.get(_MODIFIER.sub("", engine_type))


def keeps_apart(engine_type: str) -> bool:
    """Whether different values of a column are different as they are read.

    >>> keeps_apart("numeric(15,2)"), keeps_apart("numeric")
    (True, False)
    """
    found = column_type(engine_type)
    return not (found is not None and found.nested) and not (engine_type.startswith("numeric") and found == DOUBLE)
