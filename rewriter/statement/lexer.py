"""A text, cut into lexemes as PostgreSQL's scanner cuts it: enough to find where statements end.

Guarantee: total. What is not closed reaches to the end of the text; what the parser then makes of a piece is its own
affair, and it refuses a piece that it takes for two statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LEXEME = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<line>--[^\r\n]*)
    | (?P<comment>/\*)
    | (?P<text>[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|[bBxXnN]?'(?:[^']|'')*(?:'|\Z))
    | (?P<quoted>"(?:[^"]|"")*(?:"|\Z))
    | (?P<dollar>\$(?P<tag>[A-Za-z_\u0080-\uffff][\w]*|)\$)
    | (?P<number>\$?\d+(?:\.\d+)?)
    | (?P<word>[A-Za-z_\u0080-\U0010ffff][\w$]*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


_ESCAPED = re.compile(r"(?:\\|(?='))(.)(?:(?<=')')?", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A piece of text that is neither space nor comment. ``word`` is its upper-cased spelling, '' of quoted things."""

    text: str
    start: int
    word: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def name(self) -> str:
        """What it names: folded to lower case, unless it is quoted."""
        if self.text.startswith('"'):
            return self.text[1:-1].replace('""', '"')
        return self.text.lower()

    @property
    def value(self) -> str:
        """The text of a string, or the lexeme as it is written.

        >>> [one.value for one in lexemes("'it''s' E'a\\\\tb\\\\'c''d' 5")]
        ["it's", "a\\tb'c'd", '5']
        """
        if self.text.startswith("'") and self.text.endswith("'") and len(self.text) > 1:
            return self.text[1:-1].replace("''", "'")
        if self.text[:2] in ("E'", "e'") and self.text.endswith("'"):
            return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), self.text[2:-1])
        return self.text


def lexemes(text: str) -> Iterator[Lexeme]:
    """The lexemes of ``text``, without spaces and comments.

    >>> [lexeme.text for lexeme in lexemes("SELECT 'a;b', $$x;y$$ /* ; /* */ */ FROM \\"t;\\" -- ;")]
    ['SELECT', "'a;b'", ',', '$$x;y$$', 'FROM', '"t;"']
    """
    position = 0
    while position < len(text):
        found = _LEXEME.match(text, position)
        if found is None:
            raise AssertionError("every character is a lexeme at least")
        kind, end = found.lastgroup, found.end()
        if kind == "tag":
            kind = "dollar"
        if kind == "comment":
            end = _comment_end(text, end)
        elif kind == "dollar":
            close = text.find(found.group("dollar"), end)
            end = len(text) if close < 0 else close + len(found.group("dollar"))
        if kind not in ("space", "line", "comment"):
            spelt = text[position:end]
            yield Lexeme(spelt, position, spelt.upper() if kind in ("word", "number", "other") else "")
        position = end


def _comment_end(text: str, position: int) -> int:
    """Where a comment ends; PostgreSQL's comments nest."""
    depth = 1
    for mark in re.finditer(r"/\*|\*/", text[position:]):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return position + mark.end()
    return len(text)


def pieces(text: str) -> Iterator[tuple[int, str, tuple[Lexeme, ...]]]:
    """The statements of ``text``: where each starts, its text, and its lexemes at their places in it. None is empty.

    >>> [piece for _, piece, _ in pieces("BEGIN; SELECT ';' ;; COMMIT")]
    ['BEGIN', "SELECT ';'", 'COMMIT']
    """
    held: list[Lexeme] = []

    def taken() -> tuple[int, str, tuple[Lexeme, ...]]:
        start = held[0].start
        inside = tuple(Lexeme(one.text, one.start - start, one.word) for one in held)
        return start, text[start : held[-1].end], inside

    for lexeme in lexemes(text):
        if lexeme.word != ";":
            held.append(lexeme)
        elif held:
            yield taken()
            held = []
    if held:
        yield taken()
