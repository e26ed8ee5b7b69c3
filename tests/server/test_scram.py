"""SCRAM-SHA-256 against the RFC's own exchange, PostgreSQL's own verifiers, and those who have no password."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct

import psycopg
import psycopg.sql
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import Error
from dpsql.postgresql.process import PostgresProcess
from dpsql.server.wire.scram import PLAIN, PLUS, ScramServer, Verifier, make_verifier, prepared

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"


def initial(first: str, mechanism: str = PLAIN) -> bytes:
    return mechanism.encode() + b"\0" + struct.pack("!i", len(first)) + first.encode()


def data(message: bytes | None) -> str:
    assert message is not None
    return message[9:].decode()


def answer(
    server: ScramServer,
    password: str,
    *,
    header: str = "n,,",
    binding: bytes = b"",
    mechanism: str = PLAIN,
    nonce: str = "",
) -> bytes | None:
    """What an honest client sends, computed here from the RFC and not by the server's code."""
    bare = f"n=,r={CLIENT_NONCE}"
    first = data(server.respond(initial(header + bare, mechanism)))
    parts = dict(part.split("=", 1) for part in first.split(","))
    channel = base64.b64encode(header.encode() + binding).decode()
    without = f"c={channel},r={nonce or parts['r']}"
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password), base64.b64decode(parts["s"]), int(parts["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    whole = f"{bare},{first},{without}".encode()
    signature = hmac.digest(hashlib.sha256(key).digest(), whole, "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    return server.respond(f"{without},p={proof}".encode())


def test_the_exchange_of_rfc_7677() -> None:
    verifier = Verifier.read(make_verifier("pencil", salt=SALT))
    server = ScramServer(verifier, "user", nonce=SERVER_NONCE)
    first = server.respond(initial(f"n,,n=user,r={CLIENT_NONCE}"))
    assert data(first) == f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = server.respond(
        f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    )
    assert data(final) == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert server.accepted


@pytest.mark.parametrize(
    "password", ["pencil", "é", "e\u0301", "\u2168", "I\u00adX", "a\u00a0b", "\u0007", "\u06271", "'\"\\"]
)
def test_the_verifier_is_postgresqls_own(password: str) -> None:
    with _server() as connection:
        connection.execute("SET password_encryption = 'scram-sha-256'")
        escaped = psycopg.sql.Literal(password).as_string(connection)
        connection.execute(f"CREATE ROLE analyst PASSWORD {escaped}".encode())
        row = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'analyst'").fetchone()
        connection.execute("DROP ROLE analyst")
    assert row is not None
    theirs = Verifier.read(row[0])
    assert make_verifier(password, theirs.iterations, theirs.salt) == row[0]


_STARTED: list[PostgresProcess] = []


def _server() -> psycopg.Connection:
    if not _STARTED:
        _STARTED.append(PostgresProcess.start())
    return psycopg.connect(_STARTED[0].dsn("postgres"), autocommit=True)


def test_a_right_password_and_wrong_ones() -> None:
    verifier = Verifier.read(make_verifier("pencil"))
    right = ScramServer(verifier, "ana")
    assert answer(right, "pencil") is not None
    assert right.accepted
    wrong = ScramServer(verifier, "ana")
    assert answer(wrong, "pencils") is None
    assert wrong.finished
    assert not wrong.accepted


def test_an_unknown_name_looks_like_a_wrong_password() -> None:
    salts = set()
    for _ in range(2):
        server = ScramServer(None, "mallory", iterations=5000)
        first = data(server.respond(initial(f"n,,n=,r={CLIENT_NONCE}")))
        parts = dict(part.split("=", 1) for part in first.split(","))
        assert parts["i"] == "5000"
        assert len(base64.b64decode(parts["s"])) == 16
        salts.add(parts["s"])
    assert len(salts) == 1
    other = ScramServer(None, "eve")
    assert data(other.respond(initial(f"n,,n=,r={CLIENT_NONCE}"))).split(",")[1][2:] not in salts
    server = ScramServer(None, "mallory")
    assert answer(server, "anything") is None
    assert not server.accepted


def test_tampering_is_noticed() -> None:
    verifier = Verifier.read(make_verifier("pencil"))
    nonce = ScramServer(verifier, "ana")
    assert answer(nonce, "pencil", nonce="somebody-elses") is None
    assert not nonce.accepted
    certificate = _certificate()
    bound = ScramServer(verifier, "ana", certificate=certificate)
    header = "p=tls-server-end-point,,"
    assert (
        answer(bound, "pencil", header=header, binding=hashlib.sha256(certificate).digest(), mechanism=PLUS) is not None
    )
    assert bound.accepted
    elsewhere = ScramServer(verifier, "ana", certificate=certificate)
    assert answer(elsewhere, "pencil", header=header, binding=b"\0" * 32, mechanism=PLUS) is None
    assert not elsewhere.accepted


def _certificate() -> bytes:
    """As much DER as channel binding reads: a body, and sha256WithRSAEncryption."""
    oid = bytes.fromhex("06092a864886f70d01010b")
    algorithm = b"\x30" + bytes([len(oid) + 2]) + oid + b"\x05\x00"
    body = b"\x30\x02\x05\x00"
    inner = body + algorithm + b"\x03\x02\x00\x01"
    return b"\x30" + bytes([len(inner)]) + inner


@pytest.mark.quick
@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        (None, initial("p=tls-server-end-point,,n=,r=abc", PLUS)),
        (None, initial("p=tls-server-end-point,,n=,r=abc")),
        (b"x", initial("y,,n=,r=abc")),
        (b"x", initial("p=tls-unique,,n=,r=abc", PLUS)),
        (None, initial("n,,n=,r=")),
        (None, initial("n,,m=x,n=,r=abc")),
        (None, b"SCRAM-SHA-1\0\0\0\0\x05n,,n="),
        (None, b"SCRAM-SHA-256\0\0\0\0\x7fn,,n=,r=abc"),
        (None, b""),
        (None, b"\xff\xfe"),
    ],
)
def test_what_is_not_allowed_is_an_error(certificate: bytes | None, message: bytes) -> None:
    server = ScramServer(Verifier.read(make_verifier("x", 1)), "ana", certificate=certificate)
    with pytest.raises(Error) as refused:
        server.respond(message)
    assert refused.value.sqlstate in ("08P01", "28000")
    assert not server.accepted


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.just(initial(f"n,,n=,r={CLIENT_NONCE}"))), max_size=3))
def test_any_messages_are_refused_and_never_accepted(messages: list[bytes]) -> None:
    server = ScramServer(Verifier.read(make_verifier("x", 1)), "ana")
    try:
        for message in messages:
            server.respond(message)
    except Error:
        pass
    assert not server.accepted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SCRAM-SHA-256$0:QQ==$QQ==:QQ==",
        "SCRAM-SHA-256$1:QQ==$QQ==:QQ==",
        "md5abc",
        "SCRAM-SHA-256$1:$:",
        "SCRAM-SHA-256$1:Q$Q:Q",
    ],
)
def test_a_broken_verifier_is_no_verifier(text: str) -> None:
    with pytest.raises(ValueError, match="verifier"):
        Verifier.read(text)
