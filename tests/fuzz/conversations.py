"""What a hostile client sends: conversations of well-formed messages, most of them damaged in one known way.

Why by structure: random bytes die at the first length. Here each message is built by the protocol's own description,
and then one thing about it is wrong: a length, a count, a format, an OID, a name, its order, its end. Nothing that is
sent can be charged for: statements are free, or refused, or only ever described.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.fuzz.frames import bind, describe, execute, framed, packet, parse, query, startup, text

PASSWORD = "correct horse"  # noqa: S105 - of an analyst of these tests
OPEN, LOCKED = "ana", "bob"
"""An analyst without a password, and one with :data:`PASSWORD`."""
SSL, GSS, CANCEL = 80877103, 80877104, 80877102

STATEMENTS = (
    "", ";", "SELECT 1", "SELECT name FROM region", "SHOW dpsql.epsilon", "SHOW all", "SET dpsql.epsilon = 'x'",
    "SET application_name = 'a'", "BEGIN", "ROLLBACK", "COMMIT", "SAVEPOINT a", "SELECT * FROM patient",
    "SELECT height_cm FROM patient WHERE id = $1", "EXPLAIN SELECT COUNT(*) FROM patient", "DISCARD ALL",
    "SELECT $1::int4", "SELECT $1::text, $2::int8", "SELECT $65535", "SELECT $0", "FETCH ALL FROM c1", "CLOSE ALL",
    "DECLARE c1 CURSOR FOR SELECT name FROM region", "COPY (SELECT name FROM region) TO STDOUT (FORMAT binary)",
    "COPY patient FROM STDIN", "PREPARE s1 AS SELECT 1", "EXECUTE s1", "DEALLOCATE ALL", "SELECT pg_sleep(100)",
    "SELECT count(*) FROM pg_catalog.pg_class", "SELECT '\u0000'", "SELECT 'é\U0001f600'", "SELECT (((((1",
    "SELECT 1; SELECT 2; SELECT 3", "INSERT INTO patient VALUES (1)", "SELECT E'\\x00'", "$$", "--", "/*", "'", '"',
)  # fmt: skip
NAMES = ("", "s1", "s2", "c1", "p" * 63, "n" * 5000, "ü", "a b", "'", "$1", "\x7f")
OIDS = (0, 16, 20, 21, 23, 25, 700, 701, 1043, 1082, 1114, 1184, 1700, 2249, 2950, 3802, 999999, 2**31, 2**32 - 1)
VALUES: tuple[bytes | None, ...] = (
    None, b"", b"1", b"x", b"\0", b"\xff\xfe", b"\0\0\0\1", b"\0" * 8, b"9" * 400, b"NaN", b"2024-02-30", b"{1,2}",
    b"\x7f\xff\xff\xff", b"\0\1\0\0\0\0\0\2\0\7", b"t" * 70000,
)  # fmt: skip


@dataclass(slots=True)
class Conversation:
    """The messages of one connection, in their order. ``names`` of what was done to them, for the table."""

    messages: list[bytes] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def say(self, name: str, message: bytes) -> None:
        self.messages.append(message)
        self.names.append(name)


# -- messages that are as they should be -----------------------------------------------------------------------------


def a_parse(random: Random) -> bytes:
    types = tuple(random.choice(OIDS) for _ in range(random.choice((0, 0, 1, 2, 5))))
    return parse(random.choice(STATEMENTS), random.choice(NAMES), types)


def a_bind(random: Random) -> bytes:
    values = tuple(random.choice(VALUES) for _ in range(random.choice((0, 0, 1, 2, 3))))
    formats = tuple(random.choice((0, 1)) for _ in range(random.choice((0, 1, len(values)))))
    results = tuple(random.choice((0, 1)) for _ in range(random.choice((0, 1, 2))))
    return bind(values, random.choice(NAMES), random.choice(NAMES), formats, results)


def a_describe(random: Random) -> bytes:
    return describe(random.choice("SP"), random.choice(NAMES))


def an_execute(random: Random) -> bytes:
    return execute(random.choice((0, 1, 2, 2**31 - 1, -1, -(2**31))), random.choice(NAMES))


def a_close(random: Random) -> bytes:
    return framed(b"C", random.choice((b"S", b"P")) + text(random.choice(NAMES)))


def a_query(random: Random) -> bytes:
    return query(random.choice(STATEMENTS))


def a_sync(random: Random) -> bytes:
    return framed(b"S")


def a_flush(random: Random) -> bytes:
    return framed(b"H")


def a_copy(random: Random) -> bytes:
    return random.choice(
        (framed(b"d", random.randbytes(random.choice((0, 9, 3000)))), framed(b"c"), framed(b"f", b"no\0"))
    )


def a_call(random: Random) -> bytes:
    return framed(b"F", struct.pack("!ihhih", 1598, 0, 0, 0, 0))


MESSAGES: Sequence[Callable[[Random], bytes]] = (
    a_parse, a_parse, a_bind, a_bind, a_describe, an_execute, a_close, a_query, a_query, a_sync, a_sync, a_flush, a_copy,
    a_call,
)  # fmt: skip


# -- what is wrong with the others -----------------------------------------------------------------------------------


def _resized(message: bytes, length: int) -> bytes:
    return message[:1] + struct.pack("!i", length) + message[5:]


def wrong_length(message: bytes, random: Random) -> bytes:
    length = len(message) - 1
    wrong = random.choice(
        (0, 3, 4, -1, -(2**31), 2**31 - 1, length + 1, length - 1, length + 70000, length // 2, 1 << 23)
    )
    return _resized(message, wrong)


def cut_short(message: bytes, random: Random) -> bytes:
    """Its length fits, its content ends too early."""
    body = message[5 : 5 + random.randrange(max(len(message) - 5, 1))]
    return framed(message[:1], body)


def cut_off(message: bytes, random: Random) -> bytes:
    """The connection ends in the middle of it."""
    return message[: random.randrange(1, len(message))]


def more_at_the_end(message: bytes, random: Random) -> bytes:
    return framed(message[:1], message[5:] + random.randbytes(random.choice((1, 2, 40))))


def unknown_kind(message: bytes, random: Random) -> bytes:
    return random.randbytes(1) + message[1:]


def bytes_flipped(message: bytes, random: Random) -> bytes:
    found = bytearray(message)
    for _ in range(random.choice((1, 1, 2, 8))):
        place = (
            random.randrange(5, len(found))
            if len(found) > 5 and random.random() < 0.8
            else random.randrange(len(found))
        )
        found[place] ^= 1 << random.randrange(8)
    return bytes(found)


def counts_wrong(message: bytes, random: Random) -> bytes:
    """A Bind or a Parse whose counts are not those of what follows."""
    count = struct.pack("!h", random.choice((-1, 1, 2, 300, 32767, -32768)))
    if random.random() < 0.5:
        return framed(b"P", text("") + text("SELECT $1::int4") + count + random.randbytes(random.choice((0, 4, 40))))
    parts = [count if random.random() < 0.5 else struct.pack("!h", 0) for _ in range(3)]
    return framed(b"B", text("") + text("") + parts[0] + parts[1] + random.randbytes(random.choice((0, 8))) + parts[2])


def lengths_wrong(message: bytes, random: Random) -> bytes:
    """A Bind whose parameter is said to be longer, or shorter than nothing."""
    said = random.choice((-2, -(2**31), 2**31 - 1, 5, 100000))
    return framed(b"B", text("") + text("") + struct.pack("!hhi", 0, 1, said) + b"1234" + struct.pack("!h", 0))


def formats_wrong(message: bytes, random: Random) -> bytes:
    given = tuple(random.choice((0, 1, 2, -1, 999)) for _ in range(random.choice((1, 3, 2000))))
    return bind((b"1",), formats=given, results=given[:2])


def not_text(message: bytes, random: Random) -> bytes:
    bad = random.choice((b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"))
    return framed(random.choice((b"Q", b"P", b"E", b"D", b"f")), b"S" + bad + b"\0\0\0\0\0\0")


def no_end_of_text(message: bytes, random: Random) -> bytes:
    return framed(random.choice((b"Q", b"P", b"B", b"E", b"C", b"f")), b"SELECT 1")


def out_of_order(message: bytes, random: Random) -> bytes:
    return random.choice(
        (framed(b"p", b"secret\0"), startup(OPEN), struct.pack("!ii", 8, SSL), framed(b"d", b"1\n"), framed(b"X"))
    )


def large(message: bytes, random: Random) -> bytes:
    """Up to a little more than a message may have."""
    size = random.choice((70_000, 1_000_000, (1 << 23) - 5, 1 << 23))
    return framed(random.choice((b"Q", b"P", b"d", b"z")), b"S" * size)


DAMAGE: Sequence[Callable[[bytes, Random], bytes]] = (
    wrong_length, cut_short, cut_off, more_at_the_end, unknown_kind, bytes_flipped, bytes_flipped, counts_wrong,
    lengths_wrong, formats_wrong, not_text, no_end_of_text, out_of_order,
)  # fmt: skip


# -- before login ----------------------------------------------------------------------------------------------------


def _option(random: Random) -> bytes:
    name = random.choice(
        ("user", "database", "options", "replication", "client_encoding", "_pq_.x", "DateStyle", "x" * 99)
    )
    value = random.choice(
        ("", "ana", "bob", "-c dpsql.epsilon=9", "true", "database", "UTF8", "LATIN1", "\x7f", "y" * 999)
    )
    return text(name) + text(value)


def damaged_startup(random: Random) -> bytes:
    options = b"".join(_option(random) for _ in range(random.choice((0, 1, 3, 250))))
    version = struct.pack("!HH", random.choice((0, 2, 3, 3, 3, 4, 65535)), random.choice((0, 0, 2, 9999)))
    whole = packet(version + options + random.choice((b"\0", b"\0", b"", b"user\0", b"\0\0")))
    choice = random.random()
    if choice < 0.3:
        return struct.pack("!i", random.choice((0, 3, 7, 8, 9, -1, 10241, 1 << 30))) + whole[4:]
    if choice < 0.4:
        return whole[: random.randrange(1, len(whole))]
    if choice < 0.5:
        return random.randbytes(random.randrange(1, 60))
    return b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" if choice < 0.55 else whole


def sasl_first(random: Random, nonce: str) -> bytes:
    bare = f"n={LOCKED},r={nonce}"
    first = f"n,,{bare}".encode()
    return framed(b"p", text("SCRAM-SHA-256") + struct.pack("!i", len(first)) + first)


def damaged_sasl(random: Random) -> bytes:
    first = random.choice(
        (b"n,,n=,r=abc", b"y,,n=,r=abc", b"p=tls-unique,,n=,r=x", b"", b"n,,r=", b"\xff" * 30, b"n,a=x,n=,r=a")
    )
    said = random.choice((len(first), -1, 0, len(first) + 5, 2**31 - 1))
    name = random.choice(("SCRAM-SHA-256", "SCRAM-SHA-256-PLUS", "MD5", "", "x" * 2000))
    return random.choice(
        (
            framed(b"p", text(name) + struct.pack("!i", said) + first),
            framed(b"p", text(PASSWORD)),
            framed(b"p", b"c=biws,r=abc,p=" + base64.b64encode(random.randbytes(32))),
            framed(b"p", random.randbytes(200)),
            framed(b"p"),
            query("SELECT 1"),
            _resized(framed(b"p", b"x" * 40), random.choice((-1, 0, 10_241, 1 << 29))),
        )
    )


def proof(server_first: bytes, nonce: str, password: str = PASSWORD) -> bytes:
    """What answers the server's challenge by RFC 5802."""
    fields = dict(part.split("=", 1) for part in server_first.decode().split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    without = f"c=biws,r={fields['r']}"
    whole = f"n={LOCKED},r={nonce},{server_first.decode()},{without}".encode()
    signature = hmac.digest(hashlib.sha256(key).digest(), whole, "sha256")
    signed = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return framed(b"p", f"{without},p={base64.b64encode(signed).decode()}".encode())


# -- whole conversations ---------------------------------------------------------------------------------------------


def conversation(random: Random, *, longest: int = 40, large_ones: bool = True) -> Conversation:
    """One connection's messages: what comes before the login, and often what comes after it."""
    found = Conversation()
    while random.random() < 0.15:
        code = random.choice((SSL, GSS, GSS + 1, SSL - 100))
        found.say("request", struct.pack("!ii", 8, code))
    choice = random.random()
    if choice < 0.05:
        secret = random.randbytes(random.choice((4, 4, 0, 3, 32, 2000)))
        found.say("cancel", packet(struct.pack("!ii", CANCEL, random.choice((0, 1, 2, 7, -1))) + secret))
        return found
    if choice < 0.2:
        found.say("startup", damaged_startup(random))
    elif choice < 0.35:
        found.say("locked", startup(LOCKED))
        for _ in range(random.choice((1, 1, 2, 3))):
            found.say("sasl", sasl_first(random, "abc") if random.random() < 0.3 else damaged_sasl(random))
    else:
        found.say("login", startup(OPEN, random.choice((0, 0, 0, 2)), application_name="fuzz"))
    damaged = random.choice((0.02, 0.1, 0.4))
    for _ in range(random.randrange(longest)):
        make = random.choice(MESSAGES)
        message = make(random)
        if random.random() >= damaged:
            found.say(make.__name__, message)
        elif large_ones and random.random() < 0.01:
            found.say("large", large(message, random))
        else:
            damage = random.choice(DAMAGE)
            found.say(damage.__name__, damage(message, random))
    return found
