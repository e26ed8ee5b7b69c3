"""Words that the parser would read in its own way: names after AS or a dot that it takes for keywords, TO_CHAR, and
intervals.

The parser translates the format of TO_CHAR, and its translation cannot be undone. So the function is parsed under a
name that it does not know, of the same length: places in the text stay what they were. Of an interval's text it reads
one quantity and drops the rest: one of several is a cast of that text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.refused import Refused

_LABELS = frozenset({"SELECT", "NOT"})
"""The words that PostgreSQL takes after AS and after a dot, and the parser does not."""
_UNKNOWN = "to_cha_"
_QUANTITY = re.compile(r"\s*[-+]?\d+\s*[A-Za-z]*\s*")
_UNITS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})


def told_apart(text: str, tokens: Sequence[Token]) -> str:
    """The text, with such words in words that the parser leaves alone.

    >>> import sqlglot
    >>> text = "SELECT to_char(a, x) AS select, b AS not, t.select"
    >>> told_apart(text, sqlglot.tokenize(text, read="postgres"))
    'SELECT to_cha_(a, x) AS"select", b AS"not", t."select"'
    """
    pieces: list[str] = []
    position = 0
    for before, token, following, after_that in zip(
        [None, *tokens], tokens, [*tokens[1:], None], [*tokens[2:], None, None], strict=False
    ):
        word, after = token.text.upper(), None if following is None else following.text.upper()
        if token.token_type is TokenType.IDENTIFIER or token.token_type is TokenType.STRING:
            continue
        if word == _UNKNOWN.upper():
            raise Refused(f"function {_UNKNOWN} is not answered", hint="write TO_CHAR", sqlstate="42883")
        if word == "TO_CHAR" and after == "(":
            pieces += [text[position : token.start], _UNKNOWN]
            position = token.end + 1
        elif following is not None and _has_several(before, token, following, after_that):
            pieces += [text[position : token.start], f"{text[following.start : following.end + 1]}::interval"]
            position = following.end + 1
        elif before is not None and word in _LABELS and _is_label(before, after):
            pieces += [text[position : before.end + 1], f'"{token.text.lower()}"']
            position = token.end + 1
    return "".join([*pieces, text[position:]])


def _is_label(before: Token, after: str | None) -> bool:
    """Whether a word behind this can only be a name."""
    if before.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return False
    return before.text == "." or (before.text.upper() == "AS" and after != "MATERIALIZED")


def _has_several(before: Token | None, token: Token, spelt: Token, following: Token | None) -> bool:
    """Whether an interval's text is more than one whole number of a unit, which does not stand behind it."""
    if token.token_type is not TokenType.INTERVAL or (before is not None and before.text.upper() == "ZONE"):
        return False
    if spelt.token_type is not TokenType.STRING or _QUANTITY.fullmatch(spelt.text):
        return False
    return following is None or following.text.upper() not in _UNITS


def name_functions(tree: exp.Query) -> None:
    """Give functions the name that they were parsed without, in place."""
    for node in list(tree.find_all(exp.Anonymous)):
        if node.this == _UNKNOWN:
            if len(node.expressions) != 2:
                raise Refused(
                    "TO_CHAR takes a value and a format", hint="write TO_CHAR(day, 'YYYY-MM')", sqlstate="42883"
                )
            value, pattern = node.expressions
            node.replace(exp.ToChar(this=value, format=pattern))
