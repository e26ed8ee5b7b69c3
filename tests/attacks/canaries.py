"""What stands in one person's rows and nowhere else, and the search for it in whatever leaves the proxy.

A value is looked for as it is and in the guises in which it could be carried out: other cases, reversed, in hex, in
base64 at each of its three alignments, in UTF-16, and numbers as the bytes that a binary answer would hold.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

WORDS = ("Qj7vXwRp", "kZ9pLmTs", "Hb3tRyNd")
CARD = "-".join(WORDS)
CODE = 7368142905186
SCORE = 1913757913
WEALTH = 86420.97531
BORN = "1893-11-27"


def _texts() -> Iterator[str]:
    for word in (*WORDS, str(CODE), str(SCORE), "86420.9753", BORN, "18931127"):
        yield from {word, word.lower(), word.upper(), word[::-1]}


def _encoded(text: str) -> Iterator[bytes]:
    plain = text.encode()
    yield plain
    yield plain.hex().encode()
    yield plain.hex().upper().encode()
    yield text.encode("utf-16-le")
    for before in range(3):
        # What these bytes become inside of a longer text, whatever stands beside them.
        bits = base64.b64encode(b"\0" * before + plain)
        yield bits[(0, 2, 3)[before] : len(bits) - (0, 3, 2)[(before + len(plain)) % 3]]


def _numbers() -> Iterator[bytes]:
    for order in "<>":
        yield struct.pack(f"{order}q", CODE)
        yield struct.pack(f"{order}i", SCORE)
        yield struct.pack(f"{order}d", WEALTH)
    for number in (CODE, SCORE):
        yield f"{number:x}".encode()
        yield f"{number:X}".encode()


GUISES = frozenset([form for text in _texts() for form in _encoded(text)] + list(_numbers()))


_STARTS: dict[bytes, list[bytes]] = {}
for _form in GUISES:
    _STARTS.setdefault(_form[:4], []).append(_form)


def _pairs_at(place: int) -> np.ndarray:
    """Of each two bytes, as a number, whether some guise has them at a place."""
    found = np.zeros(1 << 16, dtype=bool)
    found[[int.from_bytes(start[place : place + 2], "little") for start in _STARTS]] = True
    return found


_FIRST, _SECOND = _pairs_at(0), _pairs_at(2)


def canary_in(data: bytes) -> bytes | None:
    """A guise of a canary that the bytes hold, None where they hold none.

    >>> canary_in(b"xx" + base64.b64encode(b"card=Qj7vXwRp!")) is None
    False
    >>> canary_in(b"nothing of the kind") is None
    True
    >>> all(canary_in(form) == form and canary_in(b"Qj7 " + form + b"v") for form in GUISES)
    True
    """
    values = np.frombuffer(data, dtype=np.uint8).astype(np.uint16)
    pairs = values[:-1] | values[1:] << 8
    starts = np.flatnonzero(_FIRST[pairs[:-2]] & _SECOND[pairs[2:]]).tolist()
    return next(
        (form for at in starts for form in _STARTS.get(data[at : at + 4], ()) if data.startswith(form, at)), None
    )


def canary_in_files(folder: Path, but: str) -> list[tuple[str, bytes]]:
    """Every file of a folder, but the database, that holds a canary."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith(but) and (form := canary_in(path.read_bytes())):
            found.append((path.name, form))
    return found
