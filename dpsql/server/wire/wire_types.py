"""Our types on the wire: OIDs, and values as PostgreSQL writes them, in text and in binary.

Guarantee: both are PostgreSQL's own output; of two shortest texts of a double it may be the other one.
What a client sends is read in :mod:`dpsql.server.wire.decoding`.
"""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy
from psycopg.adapt import PyFormat, Transformer

from dpsql.errors import Error, error
from dpsql.server.wire.decoding import ARRAYS, TEXTS, Undecodable, decode_parameter
from dpsql.server.wire.jsonb_text import jsonb_text
from dpsql.server.wire.messages import Field
from rewriter.declared import Kind, Scalar, Type

__all__ = [
    "Undecodable", "WireType", "bounded_text", "data_rows", "decode_parameter", "encode_rows", "field",
    "float_text", "wire_type",
]  # fmt: skip

BOOL, INT8, INT2, INT4, TEXT, FLOAT4, FLOAT8 = 16, 20, 21, 23, 25, 700, 701
BPCHAR, VARCHAR = 1042, 1043
JSON, JSONB = 114, 3802
FLOAT8S, BOOLS, DATES, TIMESTAMPS = 1022, 1000, 1182, 1115
TEXTS_LIST, TIMESTAMPTZS, TIMES, NUMERICS, INTERVALS = 1009, 1185, 1183, 1231, 1187
DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC = 1082, 1083, 1114, 1184, 1186, 1700


@dataclass(frozen=True, slots=True)
class WireType:
    oid: int
    size: int = -1
    modifier: int = -1


_WIRE: Mapping[Kind, WireType] = {
    Kind.NULL: WireType(TEXT),
    Kind.BOOLEAN: WireType(BOOL, 1),
    Kind.DOUBLE: WireType(FLOAT8, 8),
    Kind.TEXT: WireType(TEXT),
    Kind.DATE: WireType(DATE, 4),
    Kind.TIMESTAMP: WireType(TIMESTAMP, 8),
    Kind.TIMESTAMPTZ: WireType(TIMESTAMPTZ, 8),
    Kind.TIME: WireType(TIME, 8),
    Kind.INTERVAL: WireType(INTERVAL, 16),
    Kind.JSON: WireType(JSON),
    Kind.JSONB: WireType(JSONB),
    Kind.TEXTS: WireType(TEXTS_LIST),
    Kind.DOUBLES: WireType(FLOAT8S),
    Kind.BOOLEANS: WireType(BOOLS),
    Kind.DATES: WireType(DATES),
    Kind.TIMESTAMPS: WireType(TIMESTAMPS),
    Kind.TIMESTAMPTZS: WireType(TIMESTAMPTZS),
    Kind.TIMES: WireType(TIMES),
    Kind.INTERVALS: WireType(INTERVALS),
    Kind.DECIMALS: WireType(NUMERICS),
}
_BOUNDED_TEXT = re.compile(r"character( varying)?(?:\((\d{1,8})\))?")
"""As PostgreSQL's ``format_type`` spells them."""
_LISTS = {16: WireType(1005), 32: WireType(1007), 64: WireType(1016), 128: WireType(NUMERICS)}
_INTEGERS = {16: WireType(INT2, 2), 32: WireType(INT4, 4), 64: WireType(INT8, 8), 128: WireType(NUMERIC)}


def wire_type(type_: Type) -> WireType:
    """The PostgreSQL type that a type of ours is told as.

    >>> from rewriter.declared.types import BIGINT, decimal
    >>> wire_type(BIGINT), wire_type(decimal(10, 2))
    (WireType(oid=20, size=8, modifier=-1), WireType(oid=1700, size=-1, modifier=655366))
    """
    if type_.kind is Kind.INTEGER:
        return _INTEGERS[type_.bits]
    if type_.kind is Kind.DECIMAL:
        return WireType(NUMERIC, modifier=(type_.precision << 16 | type_.scale) + 4)
    if type_.kind is Kind.INTEGERS:
        return _LISTS[type_.bits]
    return _WIRE.get(type_.kind, WireType(TEXT))


def bounded_text(spelt: str) -> WireType | None:
    """The type of a column of texts that a database spells so, where PostgreSQL knows it as another than ``text``.

    >>> bounded_text("character varying(16)"), bounded_text("character(2)"), bounded_text("text")
    (WireType(oid=1043, size=-1, modifier=20), WireType(oid=1042, size=-1, modifier=6), None)
    """
    found = _BOUNDED_TEXT.fullmatch(spelt.lower())
    if found is None:
        return None
    return WireType(VARCHAR if found[1] else BPCHAR, modifier=int(found[2]) + 4 if found[2] else -1)


def field(name: str, type_: WireType) -> Field:
    return Field(name, type_.oid, type_.size, type_.modifier)


# Values to bytes


def float_text(value: float) -> bytes:
    """The shortest text that reads back, as PostgreSQL spells it.

    >>> float_text(100000.0), float_text(1e15), float_text(1e-05), float_text(0.1)
    (b'100000', b'1e+15', b'1e-05', b'0.1')
    """
    spelt = repr(value)
    if spelt[-2:] == ".0":
        spelt = spelt[:-2]
    if -1e15 < value < 1e15:
        return spelt.encode()
    if "e" not in spelt and spelt not in _NOT_FINITE:
        whole, _, fraction = spelt.lstrip("-").partition(".")
        mantissa = f"{whole[0]}.{whole[1:]}{fraction}".rstrip("0").rstrip(".")
        spelt = f"{'-' if value < 0 else ''}{mantissa}e+{len(whole) - 1}"
    return _NOT_FINITE.get(spelt) or spelt.encode()


_NOT_FINITE = {"inf": b"Infinity", "-inf": b"-Infinity", "nan": b"NaN"}


def _bool_text(value: Scalar) -> bytes:
    return b"t" if value else b"f"


def _int_text(value: Scalar) -> bytes:
    return b"%d" % int(value)  # type: ignore[arg-type]


def _numeric_text(value: Scalar) -> bytes:
    if isinstance(value, float):
        return _NOT_FINITE.get(repr(value)) or format(Decimal(repr(value)), "f").encode()
    return (format(value, "f") if isinstance(value, Decimal) else str(value)).encode()


def _text(value: Scalar) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return _plain_text(value)


def _jsonb_text(value: Scalar) -> bytes:
    return _text(jsonb_text(value) if isinstance(value, str) else value)


def _plain_text(value: Scalar) -> bytes:
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, datetime.datetime):
        return _timestamp_text(value) if value.tzinfo is None else _instant_text(value)
    if isinstance(value, datetime.time):
        return _time_text(value)
    if isinstance(value, datetime.date):
        return value.isoformat().encode()
    return _numeric_text(value)


def _date_text(value: Scalar) -> bytes:
    if isinstance(value, datetime.datetime):
        value = value.date()
    return str(value).encode()


def _timestamp_text(value: Scalar) -> bytes:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    spelt = str(value)
    return (spelt.rstrip("0") if "." in spelt else spelt).encode()


def _time_text(value: Scalar) -> bytes:
    spelt = str(value)
    return (spelt.rstrip("0") if "." in spelt else spelt).encode()


def _instant_text(value: Scalar) -> bytes:
    """As PostgreSQL prints it: the local time, and how far it is from UTC.

    >>> _instant_text(datetime.datetime.fromisoformat("2026-07-01T02:00:00.5+05:30"))
    b'2026-07-01 02:00:00.5+05:30'
    """
    east = value.utcoffset() if isinstance(value, datetime.datetime) else None
    if not isinstance(value, datetime.datetime) or east is None:
        return _timestamp_text(value) + b"+00"
    sign, away = ("-", -east) if east < datetime.timedelta(0) else ("+", east)
    parts = [f"{part:02d}" for part in (away.seconds // 3600, away.seconds // 60 % 60, away.seconds % 60)]
    while len(parts) > 1 and parts[-1] == "00":
        parts.pop()
    return _timestamp_text(value.replace(tzinfo=None)) + (sign + ":".join(parts)).encode()


def _float4_text(value: Scalar) -> bytes:
    """The same for a float of 32 bits, whose exponents begin at 1e+06."""
    single = numpy.float32(value)  # type: ignore[arg-type]
    if numpy.isfinite(single) and (single == 0 or 1e-4 <= abs(single) < 1e6):
        return numpy.format_float_positional(single, trim="-").encode()
    spelt = repr(float(single))
    return _NOT_FINITE.get(spelt) or numpy.format_float_scientific(single, trim="-").encode()


_TEXTS: Mapping[int, Callable[[Scalar], bytes]] = {
    BOOL: _bool_text, INT2: _int_text, INT4: _int_text, INT8: _int_text, NUMERIC: _numeric_text,
    FLOAT4: _float4_text,
    FLOAT8: lambda value: float_text(float(value)),  # type: ignore[arg-type]
    DATE: _date_text, TIMESTAMP: _timestamp_text, TEXT: _text,
    TIMESTAMPTZ: _instant_text,
    TIME: _time_text, JSONB: _jsonb_text,
}  # fmt: skip

_SINCE = datetime.date(2000, 1, 1).toordinal()
_EPOCH = datetime.datetime(2000, 1, 1)
_NUMERIC_DUMPER = Transformer()
_MICROSECOND = datetime.timedelta(microseconds=1)


def _numeric_binary(value: Scalar) -> bytes:
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)  # type: ignore[arg-type]
    return bytes(_NUMERIC_DUMPER.get_dumper(exact, PyFormat.BINARY).dump(exact) or b"")


def _timestamp_binary(value: Scalar) -> bytes:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.fromisoformat(str(value))
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return struct.pack("!q", (value - _EPOCH) // _MICROSECOND)


def _time_binary(value: Scalar) -> bytes:
    if not isinstance(value, datetime.time):
        raise TypeError("not a time of day")
    return struct.pack("!q", (datetime.datetime.combine(_EPOCH, value) - _EPOCH) // _MICROSECOND)


_SPAN = re.compile(r"([+-]?\d+) (year|mon|day)s?")
_CLOCK = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?$")


def _interval_binary(value: Scalar) -> bytes:
    """Microseconds, days and months, from PostgreSQL's text of an interval.

    >>> struct.unpack("!qii", _interval_binary("-1 years -2 mons +3 days -00:00:04.5"))
    (-4500000, 3, -14)
    """
    parts = {unit: int(amount) for amount, unit in _SPAN.findall(str(value))}
    micros = 0
    if (clock := _CLOCK.search(str(value))) is not None:
        seconds = (int(clock[2]) * 60 + int(clock[3])) * 60 + int(clock[4])
        micros = seconds * 1_000_000 + int((clock[5] or "").ljust(6, "0"))
        micros = -micros if clock[1] == "-" else micros
    return struct.pack("!qii", micros, parts.get("day", 0), 12 * parts.get("year", 0) + parts.get("mon", 0))


_NULL = b"\xff\xff\xff\xff"
_LENGTH = struct.Struct("!i")


def _array_binary(oid: int, value: Scalar) -> bytes:
    """An array of one dimension, from its text.

    >>> _array_binary(FLOAT8S, "{1.5,NULL}").hex(" ", 4)
    '00000001 00000001 000002bd 00000002 00000001 00000008 3ff80000 00000000 ffffffff'
    """
    # An interval's own encoder reads its text.
    items = decode_parameter(TEXTS_LIST if oid == INTERVALS else oid, str(value).encode(), False)
    of = ARRAYS[oid]
    if not isinstance(items, list) or not items:
        return struct.pack("!iiI", 0, 0, of)
    encode = _BINARIES[of]
    head = struct.pack("!iiIii", 1, None in items, of, len(items), 1)
    return head + b"".join(_NULL if one is None else _prefix(len(data := encode(one))) + data for one in items)


def _date_binary(value: Scalar) -> bytes:
    if not isinstance(value, datetime.date):
        raise TypeError("not a date")
    return struct.pack("!i", value.toordinal() - _SINCE)


_BINARIES: Mapping[int, Callable[[Scalar], bytes]] = {
    BOOL: lambda value: b"\1" if value else b"\0",
    INT2: lambda value: struct.pack("!h", int(value)),  # type: ignore[arg-type]
    INT4: lambda value: struct.pack("!i", int(value)),  # type: ignore[arg-type]
    INT8: lambda value: struct.pack("!q", int(value)),  # type: ignore[arg-type]
    FLOAT4: lambda value: struct.pack("!f", float(value)),  # type: ignore[arg-type]
    FLOAT8: lambda value: struct.pack("!d", float(value)),  # type: ignore[arg-type]
    NUMERIC: _numeric_binary, DATE: _date_binary, TIMESTAMP: _timestamp_binary, TEXT: _text,
    TIMESTAMPTZ: _timestamp_binary,
    TIME: _time_binary, INTERVAL: _interval_binary,
    JSON: _text, JSONB: lambda value: b"\1" + _jsonb_text(value),
    **{oid: partial(_array_binary, oid) for oid in (1005, 1007, 1016, TEXTS_LIST, NUMERICS, FLOAT8S, BOOLS)},
    **{oid: partial(_array_binary, oid) for oid in (DATES, TIMESTAMPS, TIMESTAMPTZS, TIMES, INTERVALS)},
}  # fmt: skip


def _encoder(oid: int, format_: int) -> Callable[[Scalar], bytes]:
    if format_ and oid not in _BINARIES and oid not in TEXTS:
        raise error("this column has no binary form here", sqlstate="0A000", hint="ask for it as text")
    return (_BINARIES if format_ else _TEXTS).get(oid, _text)


def encode_rows(
    rows: Sequence[Sequence[Scalar | None]], oids: Sequence[int], formats: Sequence[int]
) -> Iterator[list[bytes | None]]:
    """Each value in its declared type and format."""
    encoders = [_encoder(oid, format_) for oid, format_ in zip(oids, formats, strict=True)]
    for row in rows:
        try:
            yield [None if value is None else encode(value) for encode, value in zip(encoders, row, strict=True)]
        except (struct.error, OverflowError):
            raise _out_of_range() from None


def _out_of_range() -> Error:
    """A released number does not fit into the type that its column was described with."""
    return error("a value is out of range of its column's type", sqlstate="22003", hint="cast it to a wider type")


def data_rows(rows: Sequence[Sequence[Scalar | None]], oids: Sequence[int], formats: Sequence[int]) -> bytes:
    """DataRow messages of many rows, column by column: values that repeat are encoded once."""
    if not rows:
        return b""
    width = len(oids)
    if not width:
        return (b"D" + _LENGTH.pack(6) + b"\0\0") * len(rows)
    try:
        columns = [
            _column(column, _encoder(oid, format_))
            for column, oid, format_ in zip(zip(*rows, strict=True), oids, formats, strict=True)
        ]
    except (struct.error, OverflowError):
        raise _out_of_range() from None
    count = struct.pack("!h", width)
    pack = _LENGTH.pack
    parts: list[bytes] = []
    for cells in zip(*columns, strict=True):
        body = b"".join(cells)
        parts.append(b"D" + pack(len(body) + 6) + count + body)
    return b"".join(parts)


_PLAIN = {str, type(None)}
"""Values of other types may be equal and be written differently: 1, True and 1.0."""


def _column(column: Sequence[Scalar | None], encode: Callable[[Scalar], bytes]) -> list[bytes]:
    """Values with their lengths before them. A text that repeats, as keys do, is encoded once."""
    if encode is _text and set(map(type, column)) <= _PLAIN:
        known: dict[Scalar | None, bytes] = {None: _NULL}
        for value in set(column):
            if value is not None:
                encoded = encode(value)
                known[value] = _prefix(len(encoded)) + encoded
        return [known[value] for value in column]
    return [_NULL if value is None else _prefix(len(encoded := encode(value))) + encoded for value in column]


_PREFIXES = [_LENGTH.pack(length) for length in range(256)]


def _prefix(length: int) -> bytes:
    return _PREFIXES[length] if length < 256 else _LENGTH.pack(length)
