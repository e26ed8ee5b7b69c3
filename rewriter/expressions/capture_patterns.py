"""Which regular expressions may take a text apart: those of which every engine finds the same match, and groups.

PostgreSQL takes the longest match and, within it, the longest of what stands first; RE2, by which DuckDB matches, goes
from left to right and takes of each part as many as it can, then tries with fewer. Whether there is a match at all is
the same in both; where it ends is not: of ``a|ab`` PostgreSQL takes ``ab`` and RE2 ``a``.

Guarantee: of a pattern that passes both take the same. It passes where the next character decides at each point how to
go on, or where the match ends at the text's end (``$``), so that only the first parts' lengths are to be chosen, each
one character long, or all or nothing. A part that is followed by nothing but a fixed number of characters may overlap
with them, too: its longest is the match's longest. There are no lazy quantifiers and no empty alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.dialects import refuse
from rewriter.expressions.patterns import check_pattern

_HINT = "write parts that the next character tells apart, like [^/]*/ for .*?/, and (cat|dog) but not (a|ab)"
_MANY = 1 << 30
_SAMPLES = frozenset(map(chr, range(1, 128))) | {"¤", "é", "É", "日"}
_CLASSES = {"d": r"[0-9]", "w": r"[0-9A-Za-z_]", "s": r"[ \t\n\f\r]"}


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: the characters that it may begin with, how long it can be, whether its text is plain.

    ``simple``: its length alone tells how it matched, since each repetition is as long as the others.
    ``settled``: the next character decides within it how to go on. ``last`` are characters with which it could go on
    after it might have ended.
    """

    first: frozenset[str]
    least: int
    most: int
    simple: bool
    settled: bool
    last: frozenset[str]


_EMPTY = _Part(frozenset(), 0, 0, simple=True, settled=True, last=frozenset())


@dataclass(frozen=True, slots=True)
class Capture:
    """What a pattern takes out of a text: ``groups`` says of each group whether it is in every match."""

    groups: tuple[bool, ...]
    may_be_empty: bool


def check_capture(pattern: str, *, ignore_case: bool = False) -> Capture:
    r"""Refuse a pattern of which engines could find different parts.

    >>> check_capture(r"^(?:a|b)(c)[(](d)?")
    Capture(groups=(True, False), may_be_empty=False)

    >>> patterns = (r"^https?://(?:www\.)?([^/]+)/.*$", "@(.*)$", "[a-z]+[.](com|org)", "x.*y", r"(\d+)-(\d+)")
    >>> sum(len(check_capture(fine).groups) for fine in patterns)
    5
    >>> check_capture("a|ab")
    Traceback (most recent call last):
    rewriter.refused.Refused: this regular expression could match in several ways
    """
    check_pattern(pattern)
    reader = _Reader(pattern, re.DOTALL | (re.IGNORECASE if ignore_case else 0))
    whole = reader.whole()
    if not reader.certain:
        raise refuse("this regular expression could match in several ways", _HINT, "2201B")
    return Capture(tuple(reader.groups), whole.least == 0)


class _Reader:
    """Reads a pattern that :func:`check_pattern` let pass, from left to right."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._text = pattern
        self._flags = flags
        self._place = 0
        self.certain = True
        self.groups: list[bool] = []

    def whole(self) -> _Part:
        return self._alternatives(top=True)

    def _alternatives(self, *, top: bool = False) -> _Part:
        before = len(self.groups)
        branches = [self._branch(top=top)]
        while self._text[self._place : self._place + 1] == "|":
            self._place += 1
            branches.append(self._branch(top=False))
        if len(branches) == 1:
            return branches[0]
        self._maybe(before)
        seen: frozenset[str] = frozenset()
        for branch in branches:
            self._require(branch.least > 0 and not seen & branch.first and branch.settled)
            seen |= branch.first
        least, most = min(one.least for one in branches), max(one.most for one in branches)
        last = frozenset().union(*(one.last for one in branches))
        return _Part(seen, least, most, simple=least == most, settled=True, last=last)

    def _branch(self, *, top: bool) -> _Part:
        parts: list[_Part] = []
        ends = False
        while self._place < len(self._text) and self._text[self._place] not in "|)":
            char = self._text[self._place]
            if char in "^$":
                self._require(top and (not parts if char == "^" else True))
                ends = char == "$"
                self._place += 1
                continue
            self._require(not ends)
            parts.append(self._quantified())
        self._require(not ends or (top and self._place == len(self._text)))
        return self._sequence(parts, ends=ends)

    def _sequence(self, parts: Sequence[_Part], *, ends: bool) -> _Part:
        """Parts one behind the other."""
        settled = True
        after = _EMPTY
        for part in reversed(parts):
            fixed_behind = after.least == after.most
            overlaps = bool(part.last & after.first)
            if overlaps and not (ends or fixed_behind):
                self._require(False)
            if overlaps:
                self._require(part.simple)
                settled = False
            elif not part.settled:
                self._require(ends or fixed_behind)
                settled = False
            first = part.first if part.least else part.first | after.first
            going_on = after.last if after.least else after.last | part.last
            least, most = part.least + after.least, min(part.most + after.most, _MANY)
            simple = part.simple and after.simple and after.least == after.most
            after = _Part(first, least, most, simple, settled, going_on)
        return after

    def _quantified(self) -> _Part:
        before = len(self.groups)
        part = self._atom()
        found = re.compile(r"[*+?]|\{(\d+)(?:(,)(\d*))?\}").match(self._text, self._place)
        if found is None:
            return part
        self._place = found.end()
        if self._text[self._place : self._place + 1] == "?":  # lazy
            self._place += 1
            self._require(False)
        least, most = {"*": (0, _MANY), "+": (1, _MANY), "?": (0, 1)}.get(found.group(), (0, 0))
        if found.group().startswith("{"):
            least = int(found[1])
            most = least if found[2] is None else int(found[3]) if found[3] else _MANY
        self._require(part.least > 0)
        if least == 0:
            self._maybe(before)
        if most > 1:
            self._require(part.settled and not part.last & part.first)
        fixed = part.least == part.most
        last = part.last if least == most == 1 else part.last | part.first
        if least == most:
            last = part.last
        return _Part(
            part.first,
            part.least * least,
            min(part.most * most, _MANY),
            simple=fixed and part.simple,
            settled=part.settled,
            last=last,
        )

    def _atom(self) -> _Part:
        char = self._text[self._place]
        if char == "(":
            if self._text.startswith("(?:", self._place):
                self._place += 3
            else:
                self._place += 1
                self.groups.append(True)
            inner = self._alternatives()
            self._place += 1
            return inner
        if char == "\\":
            end = self._place + 2
        elif char == "[":
            end = _bracket_end(self._text, self._place)
        else:
            end = self._place + 1
        spelt, self._place = self._text[self._place : end], end
        matches = re.compile(_in_python(spelt), self._flags).fullmatch
        samples = _SAMPLES | set(self._text)
        first = frozenset(one for one in samples if matches(one))
        return _Part(first, 1, 1, simple=True, settled=True, last=frozenset())

    def _maybe(self, before: int) -> None:
        """The groups since then are not in every match."""
        self.groups[before:] = [False] * (len(self.groups) - before)

    def _require(self, fine: bool) -> None:
        self.certain = self.certain and fine


def _bracket_end(text: str, place: int) -> int:
    place += 2 if text[place + 1 : place + 2] == "^" else 1
    first = True
    while first or text[place] != "]":
        named = re.compile(r"\[:\w+:\]").match(text, place)
        place = named.end() if named else place + (2 if text[place] == "\\" else 1)
        first = False
    return place + 1


_NAMED = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "space": " \\t\\n\\f\\r\\v", "xdigit": "0-9A-Fa-f", "punct": "!-/:-@\\[-`{-~", "print": " -~", "graph": "!-~",
}  # fmt: skip


def _in_python(pattern: str) -> str:
    """The same for the standard library's expressions, with the classes of ASCII that both engines have."""
    named = re.sub(r"\[:(\w+):\]", lambda found: _NAMED[found[1]], pattern)
    if named.startswith("["):
        return re.sub(r"\\([dws])", lambda found: _CLASSES[found[1]][1:-1], named)
    return re.sub(r"\\([dws])", lambda found: _CLASSES[found[1]], named) if len(named) == 2 else named
