"""The options of EXPLAIN, as PostgreSQL writes them.

Guarantee: no option makes EXPLAIN run its statement. Options about an engine's plan (COSTS, VERBOSE, BUFFERS, …) are
accepted with any value and change nothing, since the plan that is shown names no engine's steps; ANALYZE is refused
unless it is off.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from rewriter.refused import NOT_ANSWERED, SYNTAX, Refused

_OF_PLANS = frozenset({"VERBOSE", "COSTS", "SETTINGS", "GENERIC_PLAN", "BUFFERS", "WAL", "TIMING", "SUMMARY", "MEMORY"})
_OFF = frozenset({"FALSE", "OFF", "0"})
_ON = frozenset({"TRUE", "ON", "1"})
_SERIALIZED = frozenset({"", "NONE", "TEXT", "BINARY"})
_FORMATS = {"TEXT": False, "JSON": True}


def explain_options(tokens: Sequence[Token]) -> tuple[bool, int]:
    """Whether EXPLAIN answers in JSON, and how many of the tokens after its word are options.

    Raises :class:`Refused` (42601 as PostgreSQL does; 0A000 for ANALYZE and for other formats).

    >>> import sqlglot
    >>> explain_options(sqlglot.tokenize("(FORMAT JSON, COSTS off) SELECT 1", read="postgres"))
    (True, 7)
    >>> explain_options(sqlglot.tokenize("VERBOSE SELECT 1", read="postgres"))
    (False, 1)
    """
    words = [token.text.upper() for token in tokens]
    if words[:1] == ["("] and {"ANALYZE", "FORMAT", "SERIALIZE", *_OF_PLANS}.intersection(words[1:2]):
        return _listed(tokens)
    used = 0
    while words[used : used + 1] in (["ANALYZE"], ["VERBOSE"]):
        if words[used] == "ANALYZE":
            raise _runs(tokens[used])
        used += 1
    return False, used


def _listed(tokens: Sequence[Token]) -> tuple[bool, int]:
    """The options of a list in parentheses, the last of each name."""
    as_json, place = False, 1
    while True:
        name, value = tokens[place], ""
        place += 1
        while place < len(tokens) and tokens[place].token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            value += tokens[place].text.upper()
            place += 1
        if place == len(tokens):
            raise _malformed("the options of EXPLAIN have no closing parenthesis", name)
        as_json = _option(name, value, as_json)
        place += 1
        if tokens[place - 1].token_type is TokenType.R_PAREN:
            return as_json, place
        if place == len(tokens):
            raise _malformed("the options of EXPLAIN have no closing parenthesis", name)


def _option(name: Token, value: str, as_json: bool) -> bool:
    """Whether the answer is JSON, once this option is read."""
    word = name.text.upper()
    if word == "FORMAT":
        if value not in _FORMATS:
            hint = "write FORMAT JSON or FORMAT TEXT"
            raise Refused(f"EXPLAIN has no format {value[:40]!r}", hint=hint, sqlstate=NOT_ANSWERED)
        return _FORMATS[value]
    if word == "SERIALIZE":
        if value not in _SERIALIZED:
            raise _malformed("SERIALIZE of EXPLAIN is NONE, TEXT or BINARY", name)
        if value != "NONE":  # PostgreSQL wants ANALYZE for it, which pgAdmin sends after it or before
            raise _runs(name)
        return as_json
    if word != "ANALYZE" and word not in _OF_PLANS:
        raise _malformed(f"EXPLAIN has no option {name.text[:40]!r}", name)
    if value and value not in _ON | _OFF:
        raise _malformed(f"{word} of EXPLAIN is on or off", name)
    if word == "ANALYZE" and value not in _OFF:
        raise _runs(name)
    return as_json


def _runs(token: Token) -> Refused:
    return Refused(
        "EXPLAIN ANALYZE is not answered: it would run the statement, which is paid for",
        hint="EXPLAIN without ANALYZE is free, and shows expected error, price and plan",
        sqlstate=NOT_ANSWERED,
        position=token.start + 1,
    )


def _malformed(text: str, token: Token) -> Refused:
    hint = "write EXPLAIN (FORMAT JSON) SELECT … or EXPLAIN SELECT …"
    return Refused(text, hint=hint, sqlstate=SYNTAX, position=token.start + 1)
