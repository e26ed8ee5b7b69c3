"""What a server may send whatever it was sent: whole messages of known kinds, and no words of Python or of its inside."""

from __future__ import annotations

import re
import struct

KINDS = frozenset(b"RSKZ123nTDCEINtvsHdcWG")
INSIDE = re.compile(
    rb"Traceback|File \"|\.py\b|\bline \d+, in\b|object at 0x|<class '|NoneType|struct\.error|AssertionError|KeyError"
    rb"|ValueError|TypeError|IndexError|UnicodeDecodeError|OverflowError|RecursionError|MemoryError|XX000|internal error"
)
_STARTS = (b"S", b"N")
"""Answers to a request for encryption: one byte, and no message."""


def problem_with(said: bytes, *, whole: bool = True) -> str | None:
    """What is wrong with all that a server said on one connection; None where nothing is.

    >>> problem_with(b"NN" + b"Z\\x00\\x00\\x00\\x05I")
    >>> problem_with(b"Z\\x00\\x00\\x00\\x05")
    'the last message is not whole'
    """
    found = INSIDE.search(said)
    if found is not None:
        return f"it says {found[0]!r}: {said[max(found.start() - 60, 0) : found.end() + 60]!r}"
    place = 0
    while place < len(said) and said[place : place + 1] in _STARTS and not _is_message(said, place):
        place += 1
    while place + 5 <= len(said):
        kind, length = said[place], struct.unpack_from("!i", said, place + 1)[0]
        if kind not in KINDS or length < 4:
            return f"this is no message: {said[place : place + 40]!r}"
        place += 1 + length
    return "the last message is not whole" if whole and place != len(said) else None


def _is_message(said: bytes, place: int) -> bool:
    """Whether a notice or a status begins here, rather than a one-byte answer."""
    if place + 5 > len(said):
        return False
    length = struct.unpack_from("!i", said, place + 1)[0]
    return 4 <= length < 1 << 16


def is_fatal(said: bytes) -> bool:
    return b"SFATAL\0" in said[-4096:]
