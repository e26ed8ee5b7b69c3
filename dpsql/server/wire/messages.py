"""The messages of the PostgreSQL protocol 3.0: bytes to values, values to bytes. Pure.

Guarantee: any bytes give messages or :class:`ProtocolViolation`; a :class:`Framer` never holds more than one message of
its limit beside what was fed last. Only messages that carry a text or values may be long.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


class ProtocolViolation(Exception):
    """What a client of the protocol would not send."""

    def __init__(self, message: str, sqlstate: str = "08P01") -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate


# What a client sends


@dataclass(frozen=True, slots=True)
class Startup:
    major: int
    minor: int
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SSLRequest:
    pass


@dataclass(frozen=True, slots=True)
class GSSENCRequest:
    pass


@dataclass(frozen=True, slots=True)
class CancelRequest:
    pid: int
    secret: bytes


@dataclass(frozen=True, slots=True)
class Password:
    """Any answer to a request for authentication: which one it is depends on what was asked."""

    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class QueryMessage:
    sql: str


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    sql: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """``formats`` and ``result_formats``: none is text for all, one is for all, else one for each."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """``kind`` is S for a statement, P for a portal."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """``limit`` rows; 0 is all."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class Close:
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Flush:
    pass


@dataclass(frozen=True, slots=True)
class Sync:
    pass


@dataclass(frozen=True, slots=True)
class Terminate:
    pass


@dataclass(frozen=True, slots=True)
class CopyData:
    data: bytes


@dataclass(frozen=True, slots=True)
class CopyDone:
    pass


@dataclass(frozen=True, slots=True)
class CopyFail:
    message: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    pass


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message of this kind whose text is not UTF-8: it is refused, and the next one is read."""

    kind: str


Frontend = (
    Startup | SSLRequest | GSSENCRequest | CancelRequest | Password | QueryMessage | Parse | Bind | Describe | Execute
    | Close | Flush | Sync | Terminate | CopyData | CopyDone | CopyFail | FunctionCall | Unreadable
)  # fmt: skip

LONGEST_TEXT = 2 * 1024 * 1024
"""Bytes of a message that carries the text of a statement; one that is longer than a statement may be is told so."""
LONGEST_OTHER = 64 * 1024
"""Bytes of a message that carries no more than names."""

_CANCEL, _SSL, _GSSENC = 80877102, 80877103, 80877104
_INT32 = struct.Struct("!i")
_INT16 = struct.Struct("!h")


class Framer:
    """Bytes in, messages out."""

    def __init__(self, limit: int = 1 << 20) -> None:
        self.started = False
        self._limit = limit
        self._data = bytearray()

    @property
    def buffered(self) -> int:
        """Bytes that are not a message yet."""
        return len(self._data)

    def set_limit(self, limit: int) -> None:
        self._limit = limit

    def feed(self, data: bytes) -> None:
        self._data += data

    @property
    def whole(self) -> bool:
        """Whether :meth:`next` has something to say: a message, or that what has come is none."""
        try:
            size = self._size()
        except ProtocolViolation:
            return True
        return size is not None and len(self._data) >= size

    def next(self) -> Frontend | None:
        """The next message, None where it is not whole yet. Raises :class:`ProtocolViolation`."""
        size = self._size()
        if size is None or len(self._data) < size:
            return None
        head, kind = (5, chr(self._data[0])) if self.started else (4, "")
        with memoryview(self._data) as view:
            body = bytes(view[head:size])
        del self._data[:size]
        reader = _Reader(body)
        try:
            message = _READERS[kind](reader) if self.started else _first(reader)
        except UnicodeDecodeError:
            if self.started:
                return Unreadable(kind)
            raise ProtocolViolation("invalid byte sequence for encoding UTF8", "22021") from None
        self.started = self.started or isinstance(message, Startup)
        if reader.left and not isinstance(message, FunctionCall):
            raise ProtocolViolation("invalid message format")
        return message

    def _size(self) -> int | None:
        """Bytes of the first message; None where they have not come yet. Raises :class:`ProtocolViolation`."""
        head = 1 if self.started else 0
        if len(self._data) < head + 4:
            return None
        (length,) = _INT32.unpack_from(self._data, head)
        least = 4 if self.started else 8
        kind = chr(self._data[0]) if self.started else ""
        if kind and kind not in _READERS:
            raise ProtocolViolation(f"invalid frontend message type {ord(kind)}")
        if length < least or length > min(self._limit, _LIMITS.get(kind, self._limit)):
            raise ProtocolViolation("invalid length of message")
        return head + int(length)


@dataclass(slots=True)
class _Reader:
    """The body of one message, read from its start."""

    body: bytes
    place: int = 0

    @property
    def left(self) -> int:
        return len(self.body) - self.place

    def take(self, size: int) -> bytes:
        if size < 0 or size > self.left:
            raise ProtocolViolation("insufficient data left in message")
        self.place += size
        return self.body[self.place - size : self.place]

    def int16(self) -> int:
        found: int = _INT16.unpack(self.take(2))[0]
        return found

    def uint16(self) -> int:
        return self.int16() & 0xFFFF

    def int32(self) -> int:
        found: int = _INT32.unpack(self.take(4))[0]
        return found

    def text(self) -> str:
        """Raises :class:`UnicodeDecodeError` too."""
        end = self.body.find(b"\0", self.place)
        if end < 0:
            raise ProtocolViolation("invalid string in message")
        found = self.take(end - self.place)
        self.take(1)
        return found.decode()

    def formats(self) -> tuple[int, ...]:
        count = self.uint16()
        found: tuple[int, ...] = struct.unpack(f"!{count}h", self.take(2 * count))
        if not set(found) <= {0, 1}:
            raise ProtocolViolation("unsupported format code")
        return found


def _first(reader: _Reader) -> Frontend:
    code = reader.int32()
    if code == _SSL:
        return SSLRequest()
    if code == _GSSENC:
        return GSSENCRequest()
    if code == _CANCEL:
        return CancelRequest(reader.int32(), reader.take(reader.left))
    options: dict[str, str] = {}
    while (name := reader.text()) and len(options) < 200:
        options[name] = reader.text()
    return Startup((code >> 16) & 0xFFFF, code & 0xFFFF, options)


def _parse(reader: _Reader) -> Parse:
    name, sql = reader.text(), reader.text()
    count = reader.uint16()
    return Parse(name, sql, struct.unpack(f"!{count}I", reader.take(4 * count)))


def _bind(reader: _Reader) -> Bind:
    portal, statement, formats = reader.text(), reader.text(), reader.formats()
    values: list[bytes | None] = []
    for _ in range(reader.uint16()):
        length = reader.int32()
        values.append(None if length == -1 else reader.take(length))
    return Bind(portal, statement, formats, tuple(values), reader.formats())


def _target(reader: _Reader) -> tuple[str, str]:
    kind = reader.take(1).decode("latin-1")
    if kind not in ("S", "P"):
        raise ProtocolViolation("invalid subtype of message")
    return kind, reader.text()


_READERS: Mapping[str, Callable[[_Reader], Frontend]] = {
    "Q": lambda reader: QueryMessage(reader.text()),
    "P": _parse,
    "B": _bind,
    "D": lambda reader: Describe(*_target(reader)),
    "E": lambda reader: Execute(reader.text(), reader.int32()),
    "C": lambda reader: Close(*_target(reader)),
    "H": lambda reader: Flush(),
    "S": lambda reader: Sync(),
    "X": lambda reader: Terminate(),
    "p": lambda reader: Password(reader.take(reader.left)),
    "d": lambda reader: CopyData(reader.take(reader.left)),
    "c": lambda reader: CopyDone(),
    "f": lambda reader: CopyFail(reader.text()),
    "F": lambda reader: FunctionCall(),
}

_LIMITS: Mapping[str, int] = {
    **dict.fromkeys("QP", LONGEST_TEXT),
    **dict.fromkeys((kind for kind in _READERS if kind not in "QPB"), LONGEST_OTHER),
}
"""The most bytes of a message by its kind; a Bind may have as many as the framer takes."""


# What a server sends


@dataclass(frozen=True, slots=True)
class Field:
    """A column of an answer: its type's OID, size (-1 varies) and modifier (-1 none)."""

    name: str
    oid: int
    size: int = -1
    modifier: int = -1


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + _INT32.pack(len(body) + 4) + body


def _text(value: str) -> bytes:
    return value.replace("\0", "").encode("utf-8", "replace") + b"\0"


def authentication_ok() -> bytes:
    return _message(b"R", _INT32.pack(0))


def sasl(mechanisms: Sequence[str]) -> bytes:
    return _message(b"R", _INT32.pack(10) + b"".join(_text(name) for name in mechanisms) + b"\0")


def sasl_continue(data: bytes) -> bytes:
    return _message(b"R", _INT32.pack(11) + data)


def sasl_final(data: bytes) -> bytes:
    return _message(b"R", _INT32.pack(12) + data)


def parameter_status(name: str, value: str) -> bytes:
    return _message(b"S", _text(name) + _text(value))


def backend_key(pid: int, secret: bytes) -> bytes:
    return _message(b"K", _INT32.pack(pid) + secret)


def ready(status: str) -> bytes:
    return _message(b"Z", status.encode())


def negotiate(minor: int, unknown: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: the newest version that is spoken, in full, and the options that are not known."""
    return _message(b"v", struct.pack("!ii", 3 << 16 | minor, len(unknown)) + b"".join(_text(name) for name in unknown))


def row_description(columns: Sequence[Field], formats: Sequence[int]) -> bytes:
    parts = [_INT16.pack(len(columns))]
    for column, format_ in zip(columns, formats, strict=True):
        parts.append(_text(column.name))
        parts.append(struct.pack("!ihIhih", 0, 0, column.oid, column.size, column.modifier, format_))
    return _message(b"T", b"".join(parts))


def no_data() -> bytes:
    return _message(b"n")


def parameter_description(oids: Sequence[int]) -> bytes:
    return _message(b"t", _INT16.pack(len(oids)) + b"".join(struct.pack("!I", oid) for oid in oids))


def parse_complete() -> bytes:
    return _message(b"1")


def bind_complete() -> bytes:
    return _message(b"2")


def close_complete() -> bytes:
    return _message(b"3")


def command_complete(tag: str) -> bytes:
    return _message(b"C", _text(tag))


def empty_query() -> bytes:
    return _message(b"I")


def portal_suspended() -> bytes:
    return _message(b"s")


def error(
    severity: str, sqlstate: str, message: str, hint: str = "", detail: str = "", position: int | None = None
) -> bytes:
    return _message(b"E", _fields(severity, sqlstate, message, hint, detail, position))


def notice(
    severity: str, sqlstate: str, message: str, hint: str = "", detail: str = "", position: int | None = None
) -> bytes:
    return _message(b"N", _fields(severity, sqlstate, message, hint, detail, position))


def _fields(severity: str, sqlstate: str, message: str, hint: str, detail: str, position: int | None) -> bytes:
    given = {"S": severity, "V": severity, "C": sqlstate, "M": message or "error"}
    given |= {kind: value for kind, value in (("D", detail), ("H", hint)) if value}
    if position is not None:
        given["P"] = str(position)
    return b"".join(kind.encode() + _text(value) for kind, value in given.items()) + b"\0"


def copy_out(binary: bool, columns: int) -> bytes:
    formats = _INT16.pack(int(binary)) * columns
    return _message(b"H", bytes([int(binary)]) + _INT16.pack(columns) + formats)


def copy_data(data: bytes) -> bytes:
    return _message(b"d", data)


def copy_done() -> bytes:
    return _message(b"c")


def data_row(values: Sequence[bytes | None]) -> bytes:
    parts = [_INT16.pack(len(values))]
    for value in values:
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            parts.append(_INT32.pack(len(value)))
            parts.append(value)
    return _message(b"D", b"".join(parts))
