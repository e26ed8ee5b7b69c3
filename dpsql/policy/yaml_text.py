"""YAML in which every scalar stays as it was written.

Guarantee: no number passes through a binary float, and no text is taken for something else. YAML 1.1 would read
``NO`` as False, ``12:30`` as 750, ``007`` as 7 and ``1e-6`` as text; here the reader of a key decides, knowing
what the key means. Only mappings, lists and scalars exist: aliases, tags, merge keys, duplicate keys and second
documents are refused, so a small file stays small.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

import yaml

from dpsql.policy.problem import PolicyError, Problem, join
from rewriter.declared import Scalar

MAX_BYTES = 4 * 1024 * 1024
MAX_NESTING = 20
MAX_DIGITS = 300

_NUMBER = re.compile(r"[+-]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)([eE][+-]?\d{1,6})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")
_NULLS = ("", "~", "null", "Null", "NULL")
# libyaml's parser yields the same events and is ten times as fast; not every platform has it.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BRACKETS = 200
"""libyaml reads a line ahead of what it yields, and some versions limit how many brackets may be open there. A line
with more brackets is read by Python's parser, which has no limit: how deep a policy may be is said here, with its
path."""


class Written(str):
    """A scalar as written. ``quoted`` tells ``'null'`` from ``null``.

    >>> Written("2020-01-01").scalar, Written("1e-6").scalar, Written("NO").scalar
    (datetime.date(2020, 1, 1), Decimal('0.000001'), 'NO')
    """

    __slots__ = ("quoted",)

    quoted: bool

    def __new__(cls, text: str, quoted: bool = False) -> Written:
        written = super().__new__(cls, text)
        written.quoted = quoted
        return written

    @property
    def scalar(self) -> Scalar:
        """The number, date or timestamp that an unquoted scalar spells, else its text."""
        if self.quoted:
            return str(self)
        for read in (number, date, timestamp):
            try:
                return read(self)
            except ValueError:
                continue
        return str(self)


Tree = dict[str, Any] | list[Any] | Written | None


def number(text: str) -> int | Decimal:
    """A finite decimal number, exactly. Raises ValueError.

    >>> number("0.1"), number("5_000"), number("1e3")
    (Decimal('0.1'), 5000, 1000)
    >>> number("1e999999")
    Traceback (most recent call last):
    ValueError: 1e999999 has more than 300 digits
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    try:
        value = Decimal(text.replace("_", ""))
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None
    exponent = value.as_tuple().exponent
    if len(text) > MAX_DIGITS or not isinstance(exponent, int) or abs(value.adjusted()) > MAX_DIGITS:
        raise ValueError(f"{text[:40]} has more than {MAX_DIGITS} digits")
    return int(value) if value == value.to_integral_value() else Decimal(format(value, "f"))


def date(text: str) -> datetime.date:
    """A date YYYY-MM-DD. Raises ValueError."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r} is not a date: write YYYY-MM-DD")
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a day of the calendar") from None


def timestamp(text: str) -> datetime.datetime:
    """A timestamp YYYY-MM-DD HH:MM[:SS], without time zone. Raises ValueError."""
    if not _TIMESTAMP.fullmatch(text):
        raise ValueError(f"{text!r} is not a timestamp: write 'YYYY-MM-DD HH:MM:SS'")
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a moment of the calendar") from None


def read(text: str) -> Tree:
    """The one document of ``text``. Raises :class:`PolicyError` for what is not plain YAML.

    >>> read("country: [NO, '1', null]")
    {'country': ['NO', '1', None]}
    """
    if len(text) > MAX_BYTES:
        raise _refused("", f"the file is longer than {MAX_BYTES >> 20} MiB")
    brackets = max((line.count("[") + line.count("{") for line in text.splitlines()), default=0)
    try:
        return _document(yaml.parse(text, Loader=_LOADER if brackets <= _BRACKETS else yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}" if mark else ""
        line = text.splitlines()[mark.line] if mark and mark.line < len(text.splitlines()) else ""
        raise _refused(where, f"not YAML: {_slip(line, error)}") from None
    except (yaml.YAMLError, UnicodeError, RecursionError):
        raise _refused("", "not YAML: the file holds characters that YAML does not allow") from None


def _slip(line: str, error: yaml.MarkedYAMLError) -> str:
    """What is likely to be wrong with a line that is no YAML, in an owner's words.

    >>> _slip("    max_rows: ?", yaml.MarkedYAMLError(problem="mapping keys are not allowed here"))
    'a ? waits for a value of yours: write it, or make the line a comment with #'
    """
    if line[: len(line) - len(line.lstrip())].count("\t"):
        return "a tab at the beginning of the line: write blanks"
    if re.search(r"(?<![^\s\[,])\?(?=\s*([,\]}#]|$))", line):
        return "a ? waits for a value of yours: write it, or make the line a comment with #"
    if error.problem == "mapping values are not allowed in this context":
        return (
            "a colon stands in the wrong place, or one is missing: write each key as 'key: value' on a line of its own"
        )
    if error.problem in ("did not find expected '-' indicator", "did not find expected key"):
        return (
            "the line does not go on with what is above it: give keys of one mapping the same indentation, and no '-'"
        )
    return error.problem or error.context or "it cannot be read"


def _document(events: Iterator[yaml.Event]) -> Tree:
    found: list[Tree] = []
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent) and found:
            raise _refused(_line(event), "a second document: put everything into one")
        if isinstance(event, yaml.NodeEvent):
            found.append(_node(event, events, "", 0))
    return found[0] if found else None


def _node(event: yaml.Event, events: Iterator[yaml.Event], path: str, depth: int) -> Tree:
    where = path or _line(event)
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        raise _refused(where, "anchors and aliases are not understood: write the value out")
    if getattr(event, "tag", None) is not None:
        raise _refused(where, f"the tag {event.tag} is not understood: write the plain value")  # type: ignore[attr-defined]
    if depth > MAX_NESTING:
        raise _refused(where, f"nested deeper than {MAX_NESTING}")
    if isinstance(event, yaml.ScalarEvent):
        quoted = event.style in ("'", '"', "|", ">")
        return None if not quoted and event.value in _NULLS else Written(event.value, quoted)
    if isinstance(event, yaml.SequenceStartEvent):
        return _sequence(events, path, depth)
    return _mapping(events, path, depth)


def _sequence(events: Iterator[yaml.Event], path: str, depth: int) -> list[Any]:
    items: list[Any] = []
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            break
        items.append(_node(event, events, join(path, len(items)), depth + 1))
    return items


def _mapping(events: Iterator[yaml.Event], path: str, depth: int) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        if not isinstance(event, yaml.ScalarEvent) or event.tag is not None or event.anchor is not None:
            raise _refused(path or _line(event), "a key must be a plain name")
        here = join(path, event.value)
        if event.value in mapping:
            raise _refused(here, f"given twice ({_line(event)}): keep one")
        mapping[event.value] = _node(next(events), events, here, depth + 1)
    return mapping


def _line(event: yaml.Event) -> str:
    mark = event.start_mark
    return f"line {mark.line + 1}" if mark else ""


def _refused(path: str, message: str) -> PolicyError:
    return PolicyError([Problem(path, message)])
