"""Hints for texts that the parser does not read: the slips of somebody who types, or comes from another system."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from rewriter.refused import SYNTAX, Refused

_CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "BETWEEN", "UNION", "JOIN", "DISTINCT")
_WORD_BEFORE = re.compile(r"(\w+)\W*$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*")
_PAIR = re.compile(r"\b(CORR|COVAR_POP|COVAR_SAMP|REGR_\w+)\s*\([^(),]*$", re.IGNORECASE)
"""The call of a function of two variables that has one argument so far."""
_BETWEEN = re.compile(r"\bBETWEEN\s+\S+\s*$|\bBETWEEN\s*$", re.IGNORECASE)


def syntax_hint(text: str, near: str, place: int) -> str:
    """What may be meant at a place where the parser stops, ``near`` being what stands there.

    >>> syntax_hint("SELECT COUNT(*) FORM patient", "patient", 21)
    'did you mean FROM?'
    >>> syntax_hint("SELECT age // 10", "/", 12)
    'write a / b, which is whole for whole numbers, or FLOOR(a / b)'
    """
    if near[:1] in ("`", "["):
        return 'a name that needs quotes stands in double ones, as in FROM "patient"'
    if text[place : place + 2] == "//" or text[max(place - 1, 0) : place + 1] == "//":
        return "write a / b, which is whole for whole numbers, or FLOOR(a / b)"
    before = found[1].upper() if (found := _WORD_BEFORE.search(text[:place])) else ""
    if before == "TOP":
        return f"write LIMIT {near.split()[0]} at the end" if near else "write LIMIT at the end"
    if before in ("GROUP", "ORDER", "PARTITION"):
        return f"write {before} BY {near}"
    for word in (before, near.upper()):
        if hint := mistyped(word, _CLAUSES):
            return hint
    bare = _QUOTED.sub("", text)
    opened, closed = bare.count("("), bare.count(")")
    if opened != closed:
        return f"parentheses do not match: {opened} opened, {closed} closed"
    if near[:1] == ")" and (pair := _PAIR.search(text[:place])):
        return f"write {pair[1].upper()}(y, x), with two arguments"
    if _BETWEEN.search(text[: place + len(near)]):
        return "write BETWEEN low AND high"
    return "PostgreSQL's SELECT syntax is spoken here"


def mistyped(word: str, known: Iterable[str]) -> str:
    """A hint for a word that is none, but like one; else nothing.

    >>> mistyped("SELEC", ["SELECT"]), mistyped("FROM", ["FROM"])
    ('did you mean SELECT?', '')
    """
    names = list(known)
    near = [] if word in names else difflib.get_close_matches(word, names, n=1, cutoff=0.75)
    return f"did you mean {near[0]}?" if near else ""


def not_tokens(text: str) -> Refused:
    """The refusal of a text that is not made of SQL words, with the place of a quote that is not closed."""
    for quote in ("'", '"'):
        if text.count(quote) % 2:
            return Refused(
                "a quote is not closed",
                hint=f"close it with {quote}; within quotes it is written twice",
                sqlstate=SYNTAX,
                position=text.rfind(quote) + 1,
            )
    return Refused("the text does not consist of SQL words", hint="check quotes and comments", sqlstate=SYNTAX)
