"""Words that the parser would read in its own way: names after AS that it takes for keywords, and TO_CHAR.

The parser translates the format of TO_CHAR, and its translation cannot be undone. So the function is parsed under a
name that it does not know, of the same length: places in the text stay what they were.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.refused import Refused

_LABELS = frozenset({"SELECT", "NOT"})
"""The words that PostgreSQL takes after AS, and the parser does not."""
_UNKNOWN = "to_cha_"


def told_apart(text: str, tokens: Sequence[Token]) -> str:
    """The text, with such words in words that the parser leaves alone.

    >>> import sqlglot
    >>> text = "SELECT to_char(a, x) AS select, b AS not"
    >>> told_apart(text, sqlglot.tokenize(text, read="postgres"))
    'SELECT to_cha_(a, x) AS"select", b AS"not"'
    """
    pieces: list[str] = []
    position = 0
    for before, token, following in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        word, after = token.text.upper(), None if following is None else following.text.upper()
        if token.token_type is TokenType.IDENTIFIER or token.token_type is TokenType.STRING:
            continue
        if word == _UNKNOWN.upper():
            raise Refused(f"function {_UNKNOWN} is not answered", hint="write TO_CHAR", sqlstate="42883")
        if word == "TO_CHAR" and after == "(":
            pieces += [text[position : token.start], _UNKNOWN]
            position = token.end + 1
        elif before is not None and before.text.upper() == "AS" and word in _LABELS and after != "MATERIALIZED":
            pieces += [text[position : before.end + 1], f'"{token.text.lower()}"']
            position = token.end + 1
    return "".join([*pieces, text[position:]])


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
