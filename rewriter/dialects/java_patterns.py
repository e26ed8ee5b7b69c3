"""Regular expressions for an engine that searches with backtracking: those whose time no row can make long."""

from __future__ import annotations

from rewriter.dialects.nodes import refuse

_HINT = "on Spark a pattern repeats single characters, one of them without end: write x ~ '^A[0-9]+$', or LIKE"
_PLAIN_ESCAPES = frozenset("dDwW.+*?()[]{}|^$\\/-")


def java_pattern(pattern: str) -> str:
    """A checked pattern as Java reads it.

    A repeated group can be matched in as many ways as there are numbers of so many bits, and every further ``*`` takes
    the time times the length of the text. So no group is repeated, and one character without end.

    >>> java_pattern("^a[0-9]+$")
    '^a[0-9]+\\\\z'
    >>> java_pattern("^(a+)+$")
    Traceback (most recent call last):
    rewriter.refused.Refused: this regular expression is not answered on Spark
    """
    found, index, endless = "", 0, 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            if pattern[index + 1 : index + 2] not in _PLAIN_ESCAPES:
                raise _refused()
            found, index = found + pattern[index : index + 2], index + 2
        elif char == "[":
            end = _bracket(pattern, index)
            found, index = found + pattern[index:end], end
        elif char == ")" and pattern[index + 1 : index + 2] in tuple("*+?{"):
            raise _refused()
        else:
            endless += char in "*+" or (char == "{" and ",}" in pattern[index : pattern.find("}", index) + 1])
            found, index = found + (r"\z" if char == "$" else char), index + 1
    if endless > 1:
        raise _refused()
    return found


def _bracket(pattern: str, index: int) -> int:
    """Where a plain bracket ends: without classes, brackets and signs that Java takes for more than themselves."""
    end = pattern.find("]", index + 2)
    inside = pattern[index + 1 : end]
    if end < 0 or any(sign in inside for sign in ("[", "&&", "\\", "~~", "||", "--")):
        raise _refused()
    return end + 1


def _refused() -> Exception:
    return refuse("this regular expression is not answered on Spark", _HINT, "2201B")
