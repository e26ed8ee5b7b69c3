"""Parameters: any bytes are a value or an error, and what a driver writes is read as what it meant."""

from __future__ import annotations

import datetime
import struct
import uuid
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer

from dpsql.server.wire.decoding import ARRAYS, TEXTS, Undecodable, decode_parameter

SCALARS = (16, 20, 21, 23, 26, 700, 701, 1082, 1114, 1184, 1700, 2950)
KNOWN = (*SCALARS, *sorted(TEXTS), *sorted(ARRAYS), 114, 99_999)
LIKE_TEXT = st.text('0123456789-+.eE:TZ {}",\\nulNaif', max_size=40).map(str.encode)


def checked(oid: int, data: bytes, binary: bool) -> object:
    try:
        return decode_parameter(oid, data, binary)
    except Undecodable as undecodable:
        assert undecodable.sqlstate in ("22P02", "22P03", "22003", "22008", "22021")
        return None


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(KNOWN), st.binary(max_size=60) | LIKE_TEXT, st.booleans())
def test_any_bytes_are_a_value_or_undecodable(oid: int, data: bytes, binary: bool) -> None:
    checked(oid, data, binary)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(ARRAYS)), st.lists(st.integers(-3, 9), max_size=10), st.integers(0, 7))
def test_arrays_that_lie_about_their_lengths(oid: int, words: list[int], cut: int) -> None:
    data = struct.pack(f"!{len(words) + 3}i", len(words) % 4, 0, ARRAYS[oid], *words)
    checked(oid, data[: len(data) - cut], True)


@pytest.mark.parametrize(
    ("oid", "size"), [(16, 1), (21, 2), (23, 4), (20, 8), (700, 4), (701, 8), (1082, 4), (1114, 8)]
)
def test_a_binary_value_has_exactly_its_length(oid: int, size: int) -> None:
    decode_parameter(oid, b"\0" * size, True)
    for wrong in {*range(size + 3)} - {size}:
        with pytest.raises(Undecodable):
            decode_parameter(oid, b"\0" * wrong, True)


VALUES = (
    st.integers(-(2**63), 2**63 - 1)
    | st.decimals(allow_nan=False, allow_infinity=False, places=7, min_value=-(10**30), max_value=10**30)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
    | st.dates()
    | st.datetimes()
    | st.booleans()
    | st.floats(allow_nan=False)
)


@settings(max_examples=500, deadline=None)
@given(VALUES | st.lists(st.integers(-5, 5), min_size=1) | st.lists(st.text('a b"\\,{}é', min_size=1), min_size=1))
def test_what_a_driver_writes_is_read_as_what_it_meant(value: object) -> None:
    for format_ in (PyFormat.TEXT, PyFormat.BINARY):
        dumper = Transformer().get_dumper(value, format_)
        if isinstance(value, list):
            dumper = dumper.upgrade(value, format_)
        oid = dumper.oid or _written_as(value)
        assert decode_parameter(oid, bytes(dumper.dump(value) or b""), format_ is PyFormat.BINARY) == value


def _written_as(value: object) -> int:
    """psycopg leaves a text's type to the server."""
    return 1009 if isinstance(value, list) else 25


@pytest.mark.parametrize(
    ("oid", "data", "value"),
    [
        (1700, b"1.50", Decimal("1.50")),
        (1184, b"2020-02-01 10:00:00+02", datetime.datetime(2020, 2, 1, 8, tzinfo=datetime.UTC)),
        (1184, b"2020-02-01 10:00:00.5-03:30", datetime.datetime(2020, 2, 1, 13, 30, 0, 500_000, datetime.UTC)),
        (1114, b"2020-02-01 10:00:00.25", datetime.datetime(2020, 2, 1, 10, 0, 0, 250_000)),
        (1114, b"2020-02-01", datetime.datetime(2020, 2, 1)),
        (2950, b"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", str(uuid.UUID("a0eebc999c0b4ef8bb6d6bb9bd380a11"))),
        (16, b" TRUE ", True),
        (16, b"of", False),
        (1007, b"{}", []),
        (1007, b"{1, NULL ,3}", [1, None, 3]),
        (1009, b'{"a\\"b", c d ,"NULL",""}', ['a"b', "c d", "NULL", ""]),
    ],
)
def test_texts(oid: int, data: bytes, value: object) -> None:
    found = decode_parameter(oid, data, False)
    assert found == value
    assert str(found) == str(value)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("oid", "data", "binary", "sqlstate"),
    [
        (23, b"2147483648", False, "22003"),
        (23, b"1_0", False, "22P02"),
        (23, "٣".encode(), False, "22P02"),
        (20, b"9" * 5000, False, "22003"),
        (701, b"1e400", False, "22003"),
        (701, b"1_0", False, "22P02"),
        (1700, b"1e99999", False, "22003"),
        (16, b"o", False, "22P02"),
        (16, b"", False, "22P02"),
        (1082, b"2020-02-30", False, "22P02"),
        (1082, b"0044-03-15 BC", False, "22P02"),
        (1114, b"infinity", False, "22P02"),
        (1184, b"2020-02-01 10:00:00", False, "22P02"),
        (1082, struct.pack("!i", 0x7FFFFFFF), True, "22008"),
        (1114, struct.pack("!q", 0x7FFFFFFFFFFFFFFF), True, "22008"),
        (25, b"\xff", False, "22021"),
        (25, b"a\0b", False, "22021"),
        (1007, b"{{1},{2}}", False, "22P02"),
        (1007, b"{1,}", False, "22P02"),
        (1009, b'{"a', False, "22P02"),
        (114, b"{}", False, "22P02"),
    ],
)
def test_what_is_no_value_has_a_sqlstate(oid: int, data: bytes, binary: bool, sqlstate: str) -> None:
    with pytest.raises(Undecodable) as raised:
        decode_parameter(oid, data, binary)
    assert raised.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    "data", [b'{"' + b"\\" * 400_000, b"{" + b" " * 400_000 + b"{}", b'{"a"' + b" " * 400_000 + b"x}"]
)
def test_no_array_takes_long(data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_parameter(1009, data, False)
