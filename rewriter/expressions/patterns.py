"""Which regular expressions may run: those that mean the same to PostgreSQL and to RE2, in linear time."""

from __future__ import annotations

import re

from rewriter.dialects import refuse

_HINT = "use literals, ., [a-z], \\d, \\w, \\s, ( | ), ^, $ and the quantifiers * + ? {m,n}"
_CLASSES = "dDwWsS"
_CONTROLS = "tnrfv"
_NAMED = ("alnum", "alpha", "blank", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit")


def check_pattern(pattern: str) -> None:
    """Refuse what RE2 does not know, reads differently, or expands beyond measure.

    >>> check_pattern("^(foo|ba[rz])+[0-9]{2,4}$")
    >>> check_pattern("(a)\\\\1")
    Traceback (most recent call last):
    rewriter.refused.Refused: \\1 is not answered in a regular expression
    """
    if len(pattern) > 1000 or "\x00" in pattern:
        raise refuse("the regular expression is too long", "use a shorter one", "54001")
    index, size = 0, 1
    repeatable = False
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            _escape(pattern[index + 1 : index + 2])
            index, repeatable = index + 2, True
        elif char == "[":
            index, repeatable = _bracket(pattern, index), True
        elif char in "*+?{":
            end, most = _quantifier(pattern, index)
            size *= most
            if not repeatable or size > 1000:
                raise refuse("a repetition in the regular expression is not answered", _HINT, "2201B")
            index, repeatable = end, False
        elif char == "(":
            if pattern[index + 1 : index + 2] in ("?", "*") and pattern[index + 1 : index + 3] != "?:":
                raise refuse("lookaround and options are not answered in a regular expression", _HINT, "2201B")
            index, repeatable = index + (3 if pattern.startswith("(?:", index) else 1), False
        else:
            index, repeatable = index + 1, char not in "|^$"
    try:
        re.compile(re.sub(r"\[:\w+:\]", "a", pattern))
    except (re.error, RecursionError, OverflowError) as error:
        raise refuse("the regular expression is not valid", _HINT, "2201B") from error


def _escape(char: str) -> None:
    if char == "" or (char.isalnum() and char not in _CLASSES + _CONTROLS) or not char.isascii():
        raise refuse(f"\\{char} is not answered in a regular expression", _HINT, "2201B")


def _quantifier(pattern: str, index: int) -> tuple[int, int]:
    """Where a quantifier ends, and how many copies of its operand it makes."""
    if pattern[index] == "{":
        found = re.compile(r"\{(\d{1,3})(?:(,)(\d{1,3})?)?\}", re.ASCII).match(pattern, index)
        if found is None:
            raise refuse("{ is not answered outside of a repetition", _HINT, "2201B")
        low, high = int(found.group(1)), int(found.group(3) or found.group(1))
        if high > 100 or high < low:
            raise refuse("a repetition is at most {0,100}", _HINT, "2201B")
        return _lazy(pattern, found.end()), max(high, 1)
    return _lazy(pattern, index + 1), 1


def _lazy(pattern: str, index: int) -> int:
    return index + 1 if pattern[index : index + 1] == "?" else index


def _bracket(pattern: str, index: int) -> int:
    index += 1
    if pattern[index : index + 1] == "^":
        index += 1
    first = True
    while index < len(pattern):
        char = pattern[index]
        if char == "]" and not first:
            return index + 1
        if char == "[":
            found = re.compile(r"\[:(\w+):\]").match(pattern, index)
            if found is None or found.group(1) not in _NAMED:
                raise refuse("[ is not answered inside of a bracket expression", _HINT, "2201B")
            index = found.end()
        elif char == "\\":
            _escape(pattern[index + 1 : index + 2])
            index += 2
        elif char in "&|~-" and pattern[index + 1 : index + 2] == char:
            raise refuse(f"{char}{char} is not answered inside of a bracket expression", _HINT, "2201B")
        else:
            index += 1
        first = False
    raise refuse("a bracket expression is not closed", _HINT, "2201B")
