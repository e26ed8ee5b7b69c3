"""SCRAM-SHA-256 and SCRAM-SHA-256-PLUS, the server's side (RFC 5802, RFC 7677, RFC 5929), as libpq speaks it.

Guarantee: a password is never known here, only its verifier; a wrong password, an unknown name and an unknown name's
repeated attempts look alike (a mock salt, the same for each name while this process lives). libpq leaves the name in
its messages empty, since the startup packet has it, and so names in messages are not looked at.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass

from dpsql.errors import Error, error
from dpsql.server.wire.messages import sasl_continue, sasl_final

PLAIN, PLUS = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
ITERATIONS = 4096
_SECRET = secrets.token_bytes(32)
_VERIFIER = re.compile(r"SCRAM-SHA-256\$(\d{1,9}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")
_FIRST = re.compile(
    r"(?P<header>(?P<flag>[ny]|p=(?P<binding>[A-Za-z0-9.-]+)),(?:a=[^,]*)?,)(?P<bare>n=[^,]*,r=(?P<nonce>[!-+\--~]+)(?:,[A-Za-z]=[^,]*)*)"
)
_FINAL = re.compile(
    r"(?P<without>c=(?P<channel>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)(?:,[A-Za-z]=[^,]*)*),p=(?P<proof>[A-Za-z0-9+/=]+)"
)


@dataclass(frozen=True, slots=True)
class Verifier:
    """What PostgreSQL keeps of a password."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @classmethod
    def read(cls, text: str) -> Verifier:
        """Raises ValueError."""
        found = _VERIFIER.fullmatch(text)
        if found is None:
            raise ValueError("not a SCRAM-SHA-256 verifier")
        iterations, *parts = found.groups()
        try:
            salt, stored, server = (base64.b64decode(part, validate=True) for part in parts)
        except ValueError:
            raise ValueError("a SCRAM-SHA-256 verifier that is not base64") from None
        if int(iterations) < 1 or not salt or len(stored) != 32 or len(server) != 32:
            raise ValueError("a broken SCRAM-SHA-256 verifier")
        return cls(int(iterations), salt, stored, server)

    def fits(self, password: str) -> bool:
        """Whether it is the verifier of a password that was sent as it is, as to a web page over TLS.

        >>> Verifier.read(make_verifier("rose")).fits("rose"), Verifier.mock("ana").fits("")
        (True, False)
        """
        salted = hashlib.pbkdf2_hmac("sha256", prepared(password), self.salt, self.iterations)
        stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
        return hmac.compare_digest(stored, self.stored_key)

    @classmethod
    def mock(cls, user: str, iterations: int = ITERATIONS) -> Verifier:
        """One that no password fits; always the same for a name."""
        salt = hmac.digest(_SECRET, user.encode("utf-8", "replace"), "sha256")[:16]
        return cls(iterations, salt, secrets.token_bytes(32), secrets.token_bytes(32))


def make_verifier(password: str, iterations: int = ITERATIONS, salt: bytes | None = None) -> str:
    """The verifier of a password, as PostgreSQL writes it into ``pg_authid``.

    >>> make_verifier("pencil", salt=base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))[:40]
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6g'
    """
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    encoded = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{encoded[0]}${encoded[1]}:{encoded[2]}"


def prepared(password: str) -> bytes:
    """SASLprep (RFC 4013); where it prohibits a password, its bytes as they are, as PostgreSQL does.

    >>> prepared("I\\u00adX"), prepared("\\u2168")
    (b'IX', b'IX')
    """
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char for char in password if not stringprep.in_table_b1(char)
    )
    found = unicodedata.normalize("NFKC", mapped)
    if not found or any(prohibits(char) for char in found for prohibits in _PROHIBITED) or not _bidi(found):
        return password.encode("utf-8", "surrogatepass")
    return found.encode()


_PROHIBITED = (
    stringprep.in_table_a1, stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3,
    stringprep.in_table_c4, stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7,
    stringprep.in_table_c8, stringprep.in_table_c9,
)  # fmt: skip


def _bidi(text: str) -> bool:
    if not any(map(stringprep.in_table_d1, text)):
        return True
    ends = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return ends and not any(map(stringprep.in_table_d2, text))


class ScramServer:
    """One exchange. ``respond`` takes the data of a password message; ``accepted`` is the result once ``finished``."""

    def __init__(
        self,
        verifier: Verifier | None,
        user: str,
        *,
        certificate: bytes | None = None,
        nonce: str | None = None,
        iterations: int = ITERATIONS,
    ) -> None:
        """``verifier`` is None for an unknown name; ``iterations`` is what such a name is told."""
        self.finished = False
        self.accepted = False
        self._mock = verifier is None
        self._verifier = verifier or Verifier.mock(user, iterations)
        self._certificate = certificate
        self._nonce = nonce or base64.b64encode(secrets.token_bytes(18)).decode()
        self._first: re.Match[str] | None = None
        self._plus = False
        self._server_first = ""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return (PLUS, PLAIN) if self._certificate is not None else (PLAIN,)

    def respond(self, data: bytes) -> bytes | None:
        """The message to answer with, if any. Raises :class:`dpsql.errors.Error` for what is not SCRAM."""
        if self.finished:
            raise _malformed()
        return self._on_final(_ascii(data)) if self._first is not None else self._on_initial(data)

    def _on_initial(self, data: bytes) -> bytes:
        mechanism, _, rest = data.partition(b"\0")
        name = _ascii(mechanism)
        if name not in self.mechanisms or len(rest) < 4 or int.from_bytes(rest[:4], "big") != len(rest) - 4:
            raise _malformed()
        found = _FIRST.fullmatch(_utf8(rest[4:]))
        if found is None:
            raise _malformed()
        self._plus = name == PLUS
        if self._plus and found["binding"] != "tls-server-end-point":
            raise error("unsupported SCRAM channel-binding type", sqlstate="08P01")
        if not self._plus and found["binding"] is not None:
            raise _malformed()
        if not self._plus and found["flag"] == "y" and self._certificate is not None:
            # The client can bind channels and was told that we cannot: somebody is between us.
            raise error("SCRAM channel binding negotiation error", sqlstate="28000")
        self._first = found
        nonce = found["nonce"] + self._nonce
        salt = base64.b64encode(self._verifier.salt).decode()
        self._server_first = f"r={nonce},s={salt},i={self._verifier.iterations}"
        return sasl_continue(self._server_first.encode())

    def _on_final(self, text: str) -> bytes | None:
        first, found = self._first, _FINAL.fullmatch(text)
        if first is None or found is None:
            raise _malformed()
        self.finished = True
        try:
            channel = base64.b64decode(found["channel"], validate=True)
            proof = base64.b64decode(found["proof"], validate=True)
        except (binascii.Error, ValueError):
            raise _malformed() from None
        whole = ",".join((first["bare"], self._server_first, found["without"])).encode()
        bound = hmac.compare_digest(channel, first["header"].encode() + self._channel())
        same = hmac.compare_digest(found["nonce"].encode(), (first["nonce"] + self._nonce).encode())
        signature = hmac.digest(self._verifier.stored_key, whole, "sha256")
        key = bytes(a ^ b for a, b in zip(proof.ljust(32, b"\0")[:32], signature, strict=True))
        right = hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored_key)
        self.accepted = bound and same and right and len(proof) == 32 and not self._mock
        if not self.accepted:
            return None
        server = base64.b64encode(hmac.digest(self._verifier.server_key, whole, "sha256"))
        return sasl_final(b"v=" + server)

    def _channel(self) -> bytes:
        return end_point(self._certificate) if self._plus and self._certificate is not None else b""


def end_point(certificate: bytes) -> bytes:
    """tls-server-end-point (RFC 5929): the certificate's hash by its signature's own hash, SHA-256 for MD5 and SHA-1.

    Raises ValueError for what is no certificate.
    """
    _, rest = _element(_contents(certificate, 0x30))
    oid, _ = _element(_contents(rest, 0x30))
    return hashlib.new(_SIGNATURES.get(oid, "sha256"), certificate).digest()


def _element(data: bytes) -> tuple[bytes, bytes]:
    """The first element of DER, whole, and what follows it."""
    if len(data) < 2:
        raise ValueError("not DER")
    length, head = data[1], 2
    if length & 0x80:
        size = length & 0x7F
        length, head = int.from_bytes(data[2 : 2 + size], "big"), 2 + size
    if len(data) < head + length:
        raise ValueError("not DER")
    return data[: head + length], data[head + length :]


def _contents(data: bytes, tag: int) -> bytes:
    element, _ = _element(data)
    if element[0] != tag:
        raise ValueError("not DER")
    return element[2 + (element[1] & 0x7F if element[1] & 0x80 else 0) :]


_SIGNATURES = {
    bytes.fromhex("06092a864886f70d01010c"): "sha384",
    bytes.fromhex("06092a864886f70d01010d"): "sha512",
    bytes.fromhex("06092a864886f70d01010e"): "sha224",
    bytes.fromhex("06082a8648ce3d040301"): "sha224",
    bytes.fromhex("06082a8648ce3d040303"): "sha384",
    bytes.fromhex("06082a8648ce3d040304"): "sha512",
}
"""DER of the signature algorithms whose hash is not SHA-256: RSA and ECDSA with the other members of SHA-2."""


def _ascii(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise _malformed() from None


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _malformed() from None


def _malformed() -> Error:
    return error("malformed SCRAM message", sqlstate="08P01")
