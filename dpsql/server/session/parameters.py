"""Parameters of the wire as values of the checked tree."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from dpsql.errors import error
from dpsql.server.session.portals import spread
from dpsql.server.wire import Undecodable, decode_parameter
from rewriter.front_door import IntervalText

INTERVAL, INTERVALS = 1186, 1187

Reader = Callable[[int, bytes], bytes | None]
"""PostgreSQL's own input: a type and a text to the binary form."""


def check_texts(values: Sequence[bytes | None], formats: Sequence[int]) -> None:
    """Refuse a parameter in text, of whatever type, that is not UTF-8 or holds a NUL: PostgreSQL's own input, which
    reads what is not read here, would end at it. Raises :class:`dpsql.errors.Error` (22021)."""
    for value, binary in zip(values, formats, strict=True):
        if value is None or binary:
            continue
        try:
            holds_nul = "\0" in value.decode()
        except UnicodeDecodeError:
            raise error("invalid byte sequence for encoding UTF8", sqlstate="22021", hint="send UTF8") from None
        if holds_nul:
            raise error("a parameter holds a NUL character", sqlstate="22021", hint="remove it")


def decoded(
    types: Sequence[int], values: Sequence[bytes | None], formats: Sequence[int], read: Reader
) -> Mapping[str, object]:
    """Parameters as Python values by their numbers. Raises :class:`dpsql.errors.Error` for what is no value."""
    if len(types) != len(values):
        raise error(
            f"the statement has {len(types)} parameters, {len(values)} values were given",
            sqlstate="08P01",
            hint="bind one value to each",
        )
    found: dict[str, object] = {}
    for number, (oid, value, binary) in enumerate(zip(types, values, spread(formats, len(values)), strict=True), 1):
        read_value = None if value is None else _value(oid, value, bool(binary), read)
        found[str(number)] = _intervals(read_value) if oid in (INTERVAL, INTERVALS) else read_value
    return found


def _intervals(value: object) -> object:
    """A text of an interval as one, in arrays of any depth too."""
    if isinstance(value, list):
        return [_intervals(item) for item in value]
    return IntervalText(value) if isinstance(value, str) else value


def _value(oid: int, value: bytes, binary: bool, read: Reader) -> object:
    try:
        return decode_parameter(oid, value, binary)
    except Undecodable:
        if binary:
            raise
    # A form that only PostgreSQL reads: let it.
    whole = read(oid, value)
    return None if whole is None else decode_parameter(oid, whole, True)


_SAMPLES: Mapping[int, object] = {
    16: True, 20: 1, 21: 1, 23: 1, 26: 1, 700: 1.0, 701: 1.0, 1700: Decimal(1), 1082: datetime.date(2000, 1, 1),
    1114: datetime.datetime(2000, 1, 1), 1184: datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC),
    1083: datetime.time(), 1186: IntervalText("1 day"),
    1182: [datetime.date(2000, 1, 1)], 1115: [datetime.datetime(2000, 1, 1)],
    1185: [datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)], 1000: [True],
    1005: [1], 1007: [1], 1016: [1], 1009: ["a"], 1015: ["a"], 1021: [1.0], 1022: [1.0],
    1231: [Decimal(1)], 1183: [datetime.time()], 1187: [IntervalText("1 day")],
}  # fmt: skip
"""A value of each type, to plan with before the values are known: columns seldom depend on them."""

TYPE_NAMES: Mapping[str, int] = {
    "bool": 16, "boolean": 16, "smallint": 21, "int2": 21, "int": 23, "integer": 23, "int4": 23, "bigint": 20,
    "int8": 20, "real": 700, "float4": 700, "float8": 701, "double precision": 701, "float": 701, "numeric": 1700,
    "decimal": 1700, "text": 25, "varchar": 1043, "character varying": 1043, "date": 1082, "timestamp": 1114,
    "timestamptz": 1184, "timestamp without time zone": 1114, "timestamp with time zone": 1184, "time": 1083,
    "interval": 1186, "bool[]": 1000, "smallint[]": 1005, "int[]": 1007, "integer[]": 1007, "int4[]": 1007,
    "bigint[]": 1016, "int8[]": 1016, "text[]": 1009, "varchar[]": 1015, "date[]": 1182, "numeric[]": 1231,
    "float8[]": 1022, "double precision[]": 1022, "timestamp[]": 1115, "timestamptz[]": 1185, "time[]": 1183,
    "interval[]": 1187, "unknown": 0,
}  # fmt: skip


def samples(types: Sequence[int]) -> Mapping[str, object]:
    """Parameters to plan with before the values are known."""
    return {str(number): _SAMPLES.get(oid, "a") for number, oid in enumerate(types, 1)}
