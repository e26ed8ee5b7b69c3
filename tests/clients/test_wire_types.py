"""What goes over the wire is byte for byte what PostgreSQL sends for the same values, and nothing that comes can hurt."""

from __future__ import annotations

import contextlib
import datetime
import math
import random
import struct
import sys
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from psycopg import pq

from dpsql.postgresql.process import PostgresProcess
from dpsql.server.wire.copy import copy_out
from dpsql.server.wire.messages import Field, Framer, Frontend, ProtocolViolation
from dpsql.server.wire.row_encoding import ReleasedRows
from dpsql.server.wire.wire_types import Undecodable, data_rows, decode_parameter, encode_rows

NAMES = {
    114: "json",
    1000: "bool[]",
    1005: "int2[]",
    1115: "timestamp[]",
    1182: "date[]",
    1007: "int4[]",
    1009: "text[]",
    1016: "int8[]",
    1022: "float8[]",
    1231: "numeric[]",
    3802: "jsonb",
    16: "bool",
    20: "int8",
    21: "int2",
    23: "int4",
    25: "text",
    700: "float4",
    701: "float8",
    1082: "date",
    1114: "timestamp",
    1700: "numeric",
}
FLOATS = [0.0, -0.0, 1.0, 100000.0, 1e14, 123456789012345.0, 1e15, 1e16, 1.5e15, 123456789012345680.0, 0.1, 1e-4, 1e-5, 1.23e-7,
          5e-324, sys.float_info.max, -1e300, math.pi, 1 / 3, math.nan, math.inf, -math.inf, 1500000000000000.5]  # fmt: skip


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection]:
    with PostgresProcess.start() as process, psycopg.connect(process.dsn("postgres"), autocommit=True) as connection:
        yield connection


def theirs(connection: psycopg.Connection, oid: int, literal: str, binary: bool) -> bytes | None:
    """What PostgreSQL sends for a text of a type."""
    result = connection.pgconn.exec_params(
        f"SELECT CAST($1::text AS {NAMES[oid]})".encode(), [literal.encode()], result_format=pq.Format(int(binary))
    )
    assert result.status == pq.ExecStatus.TUPLES_OK, result.error_message
    return result.get_value(0, 0)


def ours(oid: int, value: object, binary: bool) -> bytes | None:
    return next(iter(encode_rows([(value,)], [oid], [int(binary)])))[0]  # type: ignore[arg-type]


CASES: list[tuple[int, object]] = [
    *((701, value) for value in FLOATS),
    *((21, value) for value in (0, -32768, 32767)),
    *((23, value) for value in (-(2**31), 2**31 - 1)),
    *((20, value) for value in (-(2**63), 2**63 - 1, 7)),
    *((1700, Decimal(text)) for text in ("0", "0.00", "1.50", "-12345678901234567890.123456789", "1E+5", "1E-9", "99999999999999999999999999999999999999")),
    *((1700, value) for value in (2**100, -(10**37), 0)),
    (16, True), (16, False),
    *((1082, datetime.date(*parts)) for parts in ((1, 1, 1), (999, 12, 31), (2000, 1, 1), (2024, 2, 29), (9999, 12, 31))),
    *((1114, datetime.datetime(*parts)) for parts in ((1, 1, 1), (2000, 1, 1, 0, 0, 0, 1), (2025, 1, 31, 10, 20, 30, 500000), (9999, 12, 31, 23, 59, 59, 999999), (1969, 12, 31, 23, 59, 59))),
    *((25, text) for text in ("", "é\"'\\", "a\tb\nc", "\U0001f600")),
]  # fmt: skip


def spelt(value: object) -> str:
    if isinstance(value, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    return format(value, "f") if isinstance(value, Decimal) else str(value)


@pytest.mark.parametrize("binary", [False, True])
def test_values_are_spelt_as_postgresql_spells_them(postgres: psycopg.Connection, binary: bool) -> None:
    for oid, value in CASES:
        expected = theirs(postgres, oid, spelt(value), binary)
        assert ours(oid, value, binary) == expected, (oid, value)
        if not (isinstance(value, float) and math.isnan(value)):
            back = decode_parameter(oid, expected or b"", binary)
            assert back == value, (oid, value, back)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("oid", "value"),
    [(1016, "{1,NULL,-9223372036854775808}"), (1007, "{}"), (1005, "{7}"), (1231, "{170141183460469231731687303715884105727,NULL}"),
     (1009, '{a,"b, c","\\"","NULL",NULL,""}'), (1022, "{1.5,NULL,NaN,-Infinity}"), (114, '{"n": [1, null]}'), (3802, '{"n": [1, null]}'),
     (1182, "{2024-02-29,NULL,0999-12-31}"), (1115, '{"2024-02-29 10:20:30.5",NULL}'), (1000, "{t,NULL,f}"),
     (3802, '{"bb":1e2,"a":[true, "é\\u0001\\n/"],"ä":-0.50,"a":-0.0,"":{}, "c":[ ]}')],
)  # fmt: skip
def test_arrays_and_documents_are_spelt_as_postgresql_spells_them(
    postgres: psycopg.Connection, oid: int, value: str, binary: bool
) -> None:
    assert ours(oid, value, binary) == theirs(postgres, oid, value, binary)


def test_random_doubles_are_spelt_as_postgresql_spells_them(postgres: psycopg.Connection) -> None:
    random.seed(5)
    values = [struct.unpack("!d", random.randbytes(8))[0] for _ in range(2_000)]
    values += [random.randrange(-(10**17), 10**17) / 10 ** random.randrange(0, 18) for _ in range(2_000)]
    values = [value for value in values if math.isfinite(value)]
    found = postgres.execute(
        "SELECT x::text FROM unnest(%s::float8[]) WITH ORDINALITY u(x, n) ORDER BY n", [values]
    ).fetchall()
    different = 0
    for value, (text,) in zip(values, found, strict=True):
        mine = (ours(701, value, False) or b"").decode()
        assert float(mine) == value
        different += mine != text
    # A shortest text that lies halfway to the next double is read back as well: Python takes it, PostgreSQL does not.
    assert different <= len(values) // 200


@pytest.mark.parametrize(
    ("oid", "value", "text"),
    [(701, 3, b"3"), (1700, 2.5, b"2.5"), (1700, 1e-7, b"0.0000001"), (701, Decimal("2.50"), b"2.5"), (25, 2.5, b"2.5"),
     (25, True, b"true"), (20, Decimal("7"), b"7"), (1114, datetime.date(2025, 1, 2), b"2025-01-02 00:00:00"), (25, None, None)],
)  # fmt: skip
def test_a_value_takes_the_type_that_was_described(oid: int, value: object, text: bytes | None) -> None:
    assert ours(oid, value, False) == text


def test_a_value_beyond_its_described_type_is_an_error() -> None:
    from dpsql.errors import DataError

    with pytest.raises(DataError) as refused:
        data_rows([(2**40,)], [23], [1])
    assert refused.value.sqlstate == "22003"


def test_many_rows_are_the_same_as_one_by_one() -> None:
    rows = [(n % 3 or None, f"k{n % 5}", n / 8, n % 2 == 0) for n in range(100)]
    oids, formats = [23, 25, 701, 16], [0, 1, 0, 1]
    expected = b""
    for row in encode_rows(rows, oids, formats):
        body = struct.pack("!h", 4) + b"".join(
            struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell for cell in row
        )
        expected += b"D" + struct.pack("!i", len(body) + 4) + body
    assert data_rows(rows, oids, formats) == expected


KNOWN_OIDS = [0, 16, 17, 20, 21, 23, 25, 26, 114, 700, 701, 705, 1000, 1005, 1007, 1009, 1015, 1016, 1022, 1042, 1043, 1082, 1083, 1114, 1115,
              1182, 1184, 1186, 1231, 1700, 2950, 3802, 999999]  # fmt: skip


@settings(max_examples=1_500, deadline=None)
@given(st.sampled_from(KNOWN_OIDS), st.binary(max_size=80), st.booleans())
@example(1007, struct.pack("!iiiii", 1, 0, 23, 3, 1), True)
@example(1700, b"1e1000000", False)
@example(1009, b"{" * 70, False)
@example(23, b"", True)
@example(1700, struct.pack("!hhhh", 32767, 32767, 0, 0), True)
def test_any_bytes_are_a_value_or_undecodable(oid: int, data: bytes, binary: bool) -> None:
    try:
        found = decode_parameter(oid, data, binary)
    except Undecodable as refused:
        assert refused.sqlstate[:2] in ("22", "0A", "08")
        return
    held = (type(None), bool, int, float, Decimal, str, datetime.date, list)
    assert isinstance(found, held)
    if isinstance(found, datetime.datetime):
        assert found.tzinfo is (datetime.UTC if oid == 1184 else None)


def test_a_large_parameter_is_read_in_no_time() -> None:
    for oid in (1700, 1009, 23, 1082, 1114):
        for data in (b"9" * 1_000_000, b"{" + b"a," * 300_000 + b"b}", b"1e999999999"):
            with contextlib.suppress(Undecodable):
                decode_parameter(oid, data, False)


# COPY


ROWS = ReleasedRows(
    (Field("k", 25), Field("n", 20), Field("x", 701)),
    (("plain", 1, 0.5), ("tab\t new\nline \\ back", None, None), ('quote " , comma', -3, 1e300), ("", 0, 0.0), ("\\.", 5, 1.0), (None, 2, 2.0)),
)  # fmt: skip


@pytest.mark.parametrize(
    "options",
    ["", "(FORMAT csv)", "(FORMAT csv, HEADER)", "(FORMAT csv, DELIMITER ';', QUOTE '''')", "(DELIMITER '|', NULL 'nil')",
     "(FORMAT csv, FORCE_QUOTE *)", "(FORMAT csv, NULL 'plain')", "(FORMAT csv, ESCAPE '\\')", "(FORMAT binary)", "(HEADER)"],
)  # fmt: skip
def test_copies_are_those_of_postgresql(postgres: psycopg.Connection, options: str) -> None:
    from dpsql.server.session.statements import Copy, statements

    kind = statements(f"COPY (SELECT 1) TO STDOUT {options}")[0].kind
    assert isinstance(kind, Copy)
    sent = b"".join(copy_out(ROWS, kind.options))
    place, mine = 0, b""
    while place < len(sent):
        (length,) = struct.unpack_from("!i", sent, place + 1)
        if sent[place : place + 1] == b"d":
            mine += sent[place + 5 : place + 1 + length]
        place += 1 + length
    with postgres.transaction(), postgres.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE copied (place int, k text, n int8, x float8) ON COMMIT DROP")
        cursor.executemany("INSERT INTO copied VALUES (%s, %s, %s, %s)", [(n, *row) for n, row in enumerate(ROWS.rows)])
        with cursor.copy(f"COPY (SELECT k, n, x FROM copied ORDER BY place) TO STDOUT {options}".encode()) as copy:
            theirs = b"".join(bytes(block) for block in copy)
    assert mine == theirs


@pytest.mark.parametrize(
    "options",
    ["(FORMAT csv, DELIMITER '\"')", "(DELIMITER 'a')", "(NULL E'a\\nb')", "(QUOTE 'x')", "(FORMAT nonsense)", "(FORMAT binary, HEADER)", "(NONSENSE)", "(DELIMITER 'ab')"],
)  # fmt: skip
def test_options_that_postgresql_refuses_are_refused(postgres: psycopg.Connection, options: str) -> None:
    from dpsql.errors import Error
    from dpsql.server.session.statements import Copy, statements
    from dpsql.server.wire.copy import options as checked

    kind = statements(f"COPY (SELECT 1) TO STDOUT {options}")[0].kind
    assert isinstance(kind, Copy)
    with pytest.raises(Error):
        checked(kind.options)
    with pytest.raises(psycopg.Error), postgres.cursor().copy(f"COPY (SELECT 1) TO STDOUT {options}".encode()):
        pass


# Frames


def messages(framer: Framer) -> Iterator[Frontend]:
    while (message := framer.next()) is not None:
        yield message


@settings(max_examples=500, deadline=None)
@given(st.booleans(), st.lists(st.binary(max_size=40), max_size=6))
def test_any_bytes_are_messages_or_a_violation(started: bool, chunks: list[bytes]) -> None:
    framer = Framer(1000)
    framer.started = started
    try:
        for chunk in chunks:
            framer.feed(chunk)
            said = True
            while said:
                whole = framer.whole
                said = framer.next() is not None
                assert said == whole
            assert framer.buffered <= 1005
    except ProtocolViolation as violation:
        assert whole
        assert violation.sqlstate in ("08P01", "22021")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 60), st.lists(st.integers(1, 7), min_size=1))
def test_messages_do_not_depend_on_how_bytes_are_cut(extra: int, sizes: list[int]) -> None:
    parse = b"P" + struct.pack("!i", 4 + 2 + 9 + 2 + 4) + b"s\0SELECT 1\0" + struct.pack("!hI", 1, 23)
    query = b"Q" + struct.pack("!i", 4 + extra + 1) + b"x" * extra + b"\0"
    data, found = parse + query + parse, []
    framer = Framer(10_000)
    framer.started = True
    place = 0
    while place < len(data):
        size = sizes[place % len(sizes)]
        framer.feed(data[place : place + size])
        place += size
        found += list(messages(framer))
    assert [type(one).__name__ for one in found] == ["Parse", "QueryMessage", "Parse"]
