"""Parameters ``$1``, ``$2`` of a text, kept apart from what begins like them."""

from __future__ import annotations

import re

_PLACES = re.compile(
    r"""(?<![\w$])[eE]'(?:[^'\\]|\\.)*'?  # E'it\'s'
    | '[^']*'? | "[^"]*"?
    | --[^\r\n]* | (?P<comment>/\*)
    | (?<![\w$])(?:\$(?P<number>\d+)(?=\S) | (?P<quote>\$(?:[^\W\d]\w*)?\$))
    """,
    re.VERBOSE | re.DOTALL,
)


def apart(text: str) -> str:
    """The same text with a space after each parameter: the parser reads ``$1,$`` as the quotes of a text.

    >>> apart("SELECT $1,$2||'$3,$4' -- $5,$6")
    "SELECT $1 ,$2 ||'$3,$4' -- $5,$6"
    >>> apart("x IN ($1,$2) /* /* */ $3,$4 */ OR y = $q$ $5,$6 $q$ OR z = E'it\\\\'s $7,$8'")
    "x IN ($1 ,$2 ) /* /* */ $3,$4 */ OR y = $q$ $5,$6 $q$ OR z = E'it\\\\'s $7,$8'"
    """
    pieces, taken, position = [], 0, 0
    while (found := _PLACES.search(text, position)) is not None:
        position = found.end()
        if found["number"]:
            pieces.append(text[taken:position])
            taken = position
        elif found["quote"]:
            close = text.find(found["quote"], position)
            position = len(text) if close < 0 else close + len(found["quote"])
        elif found["comment"]:
            position = _comment_end(text, position)
    return " ".join([*pieces, text[taken:]])


def _comment_end(text: str, position: int) -> int:
    """Where a comment ends; PostgreSQL's comments nest."""
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)
