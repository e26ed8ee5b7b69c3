"""COPY … TO STDOUT of rows that were released: text, CSV and binary, as PostgreSQL writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dpsql.errors import error
from dpsql.server.wire import messages as m
from dpsql.server.wire.row_encoding import AnswerRows

CHUNK = 1_000
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_TRUE = frozenset({"true", "on", "1"})
_OPTIONS = frozenset({"format", "header", "delimiter", "null", "quote", "escape", "force_quote", "encoding"})


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """The options of a COPY. ``force`` is whether every value that is not NULL is quoted."""

    format: str = "text"
    header: bool = False
    delimiter: bytes = b"\t"
    null: bytes = b"\\N"
    quote: bytes = b'"'
    escape: bytes = b'"'
    force: bool = False


def options(given: Sequence[tuple[str, str]]) -> CopyOptions:
    """Checked options. Raises :class:`dpsql.errors.Error`, for what PostgreSQL refuses too.

    >>> options((("format", "csv"), ("header", "true"))).delimiter
    b','
    """
    named = dict(given)
    for name in named:
        if name not in _OPTIONS:
            raise error(
                f'option "{name[:40]}" not recognized', sqlstate="42601", hint="format, header, delimiter, null"
            )
    kind = named.get("format", "text").lower()
    if kind not in ("text", "csv", "binary"):
        raise error(f'COPY format "{kind[:40]}" not recognized', sqlstate="22023", hint="text, csv or binary")
    if kind == "binary" and set(named) - {"format", "encoding"}:
        raise error("COPY in binary takes no other options", sqlstate="42601", hint="leave them out")
    if kind != "csv" and named.keys() & {"quote", "escape", "force_quote"}:
        raise error("COPY quotes in CSV mode only", sqlstate="0A000", hint="add FORMAT csv")
    if named.get("encoding", "utf8").lower().replace("-", "") not in ("utf8", "unicode"):
        raise error("COPY is in UTF8", sqlstate="0A000", hint="leave encoding out")
    csv = kind == "csv"
    quote = _one(named.get("quote", '"'), "quote")
    chosen = CopyOptions(
        kind,
        named.get("header", "false").lower() in _TRUE,
        _one(named.get("delimiter", "," if csv else "\t"), "delimiter"),
        named.get("null", "" if csv else "\\N").encode(),
        quote,
        _one(named["escape"], "escape") if "escape" in named else quote,
        "force_quote" in named,
    )
    _check(chosen)
    return chosen


def _one(text: str, name: str) -> bytes:
    text = {"\\t": "\t", "E'\\t'": "\t", "e'\\t'": "\t"}.get(text, text)
    if len(text.encode()) != 1 or text in "\r\n":
        raise error(f"COPY {name} must be a single one-byte character", sqlstate="0A000")
    return text.encode()


def _check(chosen: CopyOptions) -> None:
    """Refuses options that would make a file that cannot be read back."""
    csv = chosen.format == "csv"
    if b"\n" in chosen.null or b"\r" in chosen.null:
        raise error("COPY null representation cannot use newline or carriage return", sqlstate="22023")
    if chosen.delimiter in chosen.null or (csv and chosen.quote in chosen.null):
        raise error("COPY null representation cannot hold the delimiter or the quote", sqlstate="22023")
    if csv and chosen.delimiter == chosen.quote:
        raise error("COPY delimiter and quote must be different", sqlstate="22023")
    if (not csv and chosen.delimiter in (b".", b"\\")) or (not csv and chosen.delimiter.isalnum()):
        raise error(f'COPY delimiter cannot be "{chosen.delimiter.decode()}"', sqlstate="22023")


def copy_out(rows: AnswerRows, given: Sequence[tuple[str, str]]) -> Iterator[bytes]:
    """CopyOutResponse, the data, CopyDone and the tag."""
    chosen = options(given)
    width = len(rows.fields)
    binary = chosen.format == "binary"
    yield m.copy_out(binary, width)
    # Clients want the header and the first tuple in one message.
    before = _SIGNATURE if binary else _header(rows, chosen)
    line: Callable[[Sequence[bytes | None]], bytes] = _tuple if binary else _line(chosen)
    for start in range(0, rows.count, CHUNK):
        places = range(start, min(start + CHUNK, rows.count))
        for row in rows.values(places, (int(binary),) * width):
            yield m.copy_data(before + line(row))
            before = b""
    end = before + (b"\xff\xff" if binary else b"")
    if end:
        yield m.copy_data(end)
    yield m.copy_done()
    yield m.command_complete(f"COPY {rows.count}")


def _header(rows: AnswerRows, chosen: CopyOptions) -> bytes:
    if not chosen.header:
        return b""
    plain = _line(replace(chosen, force=False))
    return plain([column.name.encode() for column in rows.fields])


def _tuple(row: Sequence[bytes | None]) -> bytes:
    parts = [struct.pack("!h", len(row))]
    for value in row:
        parts.append(b"\xff\xff\xff\xff" if value is None else struct.pack("!i", len(value)) + value)
    return b"".join(parts)


_ESCAPES = {
    b"\\": b"\\\\", b"\b": b"\\b", b"\f": b"\\f", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b"\v": b"\\v",
}  # fmt: skip


def _line(chosen: CopyOptions) -> Callable[[Sequence[bytes | None]], bytes]:
    value_of = _csv if chosen.format == "csv" else _plain

    def line(row: Sequence[bytes | None]) -> bytes:
        alone = len(row) == 1
        cells = [chosen.null if value is None else value_of(value, chosen, alone) for value in row]
        return chosen.delimiter.join(cells) + b"\n"

    return line


def _plain(value: bytes, chosen: CopyOptions, alone: bool) -> bytes:
    for special, spelt in _ESCAPES.items():
        value = value.replace(special, spelt)
    if chosen.delimiter not in _ESCAPES:
        value = value.replace(chosen.delimiter, b"\\" + chosen.delimiter)
    return value


def _csv(value: bytes, chosen: CopyOptions, alone: bool) -> bytes:
    special = (chosen.delimiter, chosen.quote, b"\n", b"\r")
    quoted = chosen.force or value == chosen.null or (alone and value == b"\\.") or any(one in value for one in special)
    if not quoted:
        return value
    if chosen.escape != chosen.quote:
        value = value.replace(chosen.escape, chosen.escape * 2)
    return chosen.quote + value.replace(chosen.quote, chosen.escape + chosen.quote) + chosen.quote
