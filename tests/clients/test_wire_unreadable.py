"""Bytes that are no text: PostgreSQL's 22021 for each, nothing is cut at a NUL, and the session goes on."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator

import pytest

from dpsql.server.session.backend import Backend
from tests.clients import test_protocol
from tests.clients.test_protocol import SYNC, Client, bind, execute, framed, kinds, parse, query

backend = test_protocol.backend
client = test_protocol.client

NOT_UTF8 = (b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf", b"\x80")
WITH_NUL = (b"\0", b"a\0b", b"{a\0b}", b"{1,2}\0", b"1\0", b"2020-01-01\0x", b"t\0")
ROUTES = (
    "SELECT $1::text AS a",
    "SELECT COUNT(*) FROM patient WHERE diagnosis = $1::text",
    "SELECT COUNT(*), $1::text AS a FROM patient",
    "SELECT nspname FROM pg_namespace WHERE nspname = $1::text",
    "SELECT name FROM region WHERE name = $1::text",
)
"""Answered by the shadow, by a release, above it, in the catalog, and of a public table."""
TYPES = (0, 16, 20, 23, 25, 701, 1009, 1007, 1015, 1043, 1082, 1114, 1184, 1186, 1700, 2950)


def states(found: list[test_protocol.Reply]) -> list[str]:
    return [one.fields["C"] for one in found if one.kind == "E"]


def lives(client: Client) -> bool:
    return client.rows("SELECT 1") == [[b"1"]] and not client.protocol.closed


@pytest.mark.parametrize("sql", ROUTES)
def test_a_text_that_is_none_is_refused_on_every_route_before_a_charge(client: Client, sql: str) -> None:
    before = client.spent()
    for value, type_, binary in itertools.product(NOT_UTF8 + WITH_NUL, (0, 25), (0, 1)):
        found = client.send(parse(sql, types=(type_,)), bind((value,), formats=(binary,)), execute(), SYNC)
        assert states(found) == ["22021"], (value, type_, binary)
    assert client.spent() == before
    assert lives(client)


@pytest.mark.parametrize("type_", TYPES)
def test_no_type_reads_a_text_up_to_its_nul(client: Client, type_: int) -> None:
    name = {0: "text"}.get(type_) or (client.rows(f"SELECT {type_}::regtype::text")[0][0] or b"").decode()
    for sql, value in itertools.product((f"SELECT $1::{name} IS NULL", f"SELECT COUNT(*), $1::{name} FROM patient"),
                                        NOT_UTF8 + WITH_NUL):  # fmt: skip
        assert states(client.send(parse(sql, types=(type_,)), bind((value,)), execute(), SYNC)) == ["22021"], value
    assert lives(client)


def unreadable() -> Iterator[tuple[bytes, bool]]:
    """Messages whose text is not UTF-8; whether they are of the extended protocol, where a Sync ends the error."""
    for bad in NOT_UTF8:
        yield framed(b"Q", b"SELECT '" + bad + b"'\0"), False
        yield framed(b"P", b"\0SELECT '" + bad + b"'\0\0\0"), True
        yield framed(b"P", bad + b"\0SELECT 1\0\0\0"), True
        yield framed(b"B", bad + b"\0\0" + bytes(6)), True
        yield framed(b"B", b"\0" + bad + b"\0" + bytes(6)), True
        yield framed(b"D", b"S" + bad + b"\0"), True
        yield framed(b"E", bad + b"\0" + bytes(4)), True
        yield framed(b"C", b"P" + bad + b"\0"), True


def test_a_statement_that_is_no_text_leaves_the_session_alive(client: Client) -> None:
    for message, extended in unreadable():
        found = client.send(message, *([parse("SELECT 1"), SYNC] if extended else []))
        assert (kinds(found), states(found)) == ("EZ", ["22021"]), message
        assert lives(client)


def test_a_transaction_fails_with_a_statement_that_is_no_text(client: Client) -> None:
    assert client.send(query("BEGIN"))[-1].body == b"T"
    assert client.send(framed(b"Q", b"\xff\0"))[-1].body == b"E"
    assert client.error("SELECT 1")["C"] == "25P02"
    client.send(query("ROLLBACK"))
    assert lives(client)


def test_the_reason_of_a_failed_copy_may_be_any_bytes(client: Client) -> None:
    assert client.send(framed(b"f", b"\xff\0")) == []
    assert lives(client)


def test_before_the_login_it_ends_the_connection(backend: Backend) -> None:
    client = Client(backend)
    fresh = type(client.protocol)(backend, client.protocol._gate, client.protocol.peer, tls=False)
    body = struct.pack("!HH", 3, 0) + b"user\0\xff\0\0"
    fresh.feed(struct.pack("!i", len(body) + 4) + body)
    assert b"22021" in b"".join(fresh.respond())
    assert fresh.closed
