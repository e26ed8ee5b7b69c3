"""Patterns of times in Spark's words: Java's letters, and what they leave to functions.

Guarantee: a field that is not on the lists here is refused, never printed as the letters that it is written with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from rewriter.dialects.nodes import call, number, refuse, text
from rewriter.dialects.time_format import FormatField, fields

_LETTERS: Mapping[str, str] = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "I": "hh", "M": "mm", "S": "ss", "j": "DDD", "L": "SSS",
    "f": "SSSSSS", "b": "MMM", "B": "MMMM", "a": "EEE", "A": "EEEE", "p": "a",
}  # fmt: skip
_NAME = 9
"""Letters of the longest name of a month or day, which others are filled up to."""


def printed(moment: exp.Expr, pattern: str) -> exp.Expr:
    """A timestamp by a pattern of :mod:`rewriter.dialects.time_format`.

    >>> printed(exp.column("t"), "%Y [%-d %b] o'clock").sql("spark")
    "DATE_FORMAT(t, 'yyyy\\\\' [\\\\'d\\\\' \\\\'MMM\\\\'] o\\\\'\\\\'clock\\\\'')"
    >>> printed(exp.column("t"), "%^a%9B").sql("spark")
    "(UPPER(DATE_FORMAT(t, 'EEE')) || RPAD(DATE_FORMAT(t, 'MMMM'), 9, ' '))"
    """
    first, *others = _parts(moment, pattern)
    whole = first
    for part in others:
        whole = exp.DPipe(this=whole, expression=part)
    return exp.Paren(this=whole) if others else whole


def _parts(moment: exp.Expr, pattern: str) -> Iterator[exp.Expr]:
    together, between = "", ""
    for field in fields(pattern):
        if not field.letter:
            between += field.text
            continue
        together, between = together + _quoted(between), ""
        if set(field.flags) <= {"-"}:
            together += _letters(field)
            continue
        if together:
            yield call("date_format", moment.copy(), text(together))
            together = ""
        yield _flagged(moment, field)
    if together or between:
        yield call("date_format", moment.copy(), text(together + _quoted(between)))


def _quoted(between: str) -> str:
    """What stands between fields: brackets, braces and letters have a meaning in Java where they are not quoted."""
    return "'" + between.replace("'", "''") + "'" if between else ""


def _letters(field: FormatField) -> str:
    if field.letter not in _LETTERS:
        raise refuse("TO_CHAR with this field is not answered on Spark", "use EXTRACT, or YYYY, MM and DD")
    letters = _LETTERS[field.letter]
    return letters[0] if "-" in field.flags else letters


def _flagged(moment: exp.Expr, field: FormatField) -> exp.Expr:
    found = call("date_format", moment.copy(), text(_letters(FormatField(field.letter, field.flags.replace("-", "")))))
    if "^" in field.flags or "_" in field.flags:
        found = call("upper" if "^" in field.flags else "lower", found)
    return call("rpad", found, number(_NAME), text(" ")) if "9" in field.flags else found
