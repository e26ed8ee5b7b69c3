"""Messages of the protocol's frontend as bytes, by its documentation. Imports nothing, so that a flood begins at once."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def framed(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def packet(body: bytes) -> bytes:
    """One without a kind, as they are before the login."""
    return struct.pack("!i", len(body) + 4) + body


def startup(user: str = "ana", minor: int = 0, **options: str) -> bytes:
    given = {"user": user, **options}
    return packet(struct.pack("!HH", 3, minor) + b"".join(text(k) + text(v) for k, v in given.items()) + b"\0")


def query(sql: str) -> bytes:
    return framed(b"Q", text(sql))


def parse(sql: str, name: str = "", types: Sequence[int] = ()) -> bytes:
    return framed(b"P", text(name) + text(sql) + struct.pack(f"!h{len(types)}I", len(types), *types))


def bind(
    values: Sequence[bytes | None] = (),
    statement: str = "",
    portal: str = "",
    formats: Sequence[int] = (),
    results: Sequence[int] = (),
) -> bytes:
    packed = b"".join(struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values)
    names = text(portal) + text(statement)
    return framed(b"B", names + _shorts(formats) + struct.pack("!h", len(values)) + packed + _shorts(results))


def _shorts(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"!h{len(numbers)}h", len(numbers), *numbers)


def describe(kind: str, name: str = "") -> bytes:
    return framed(b"D", kind.encode() + text(name))


def execute(limit: int = 0, portal: str = "") -> bytes:
    return framed(b"E", text(portal) + struct.pack("!i", limit))
