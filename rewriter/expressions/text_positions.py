"""Where the nodes of an analyst's text stood in it, as the parser noted; no other file reads the ``meta`` of nodes.

Nothing rests on it but the places that errors point to and the names of columns without an alias.
"""

from __future__ import annotations

from sqlglot import exp

_WORD = "dpsql_word"
"""Beside the parser's ``start`` and ``end``: unlike an argument, it makes CEILING(x) no other key than CEIL(x)."""


def position_of(node: exp.Expr) -> int | None:
    """The first character of the text that a node was parsed from, where one of its names tells."""
    for part in node.walk():
        start = part.meta.get("start") if part.meta else None
        if isinstance(start, int):
            return start + 1
    return None


def keep_places(tree: exp.Expr, text: str) -> None:
    """Leave of the parser's notes where a node begins, and note the names that functions are called by in ``text``:
    CEILING and CEIL are one to the parser. A note is copied with its node, wherever that goes."""
    for node in tree.find_all(exp.Identifier, exp.Literal, exp.Star, exp.Func, exp.Mod):
        start, end = node.meta.get("start"), node.meta.get("end")
        node.meta.clear()
        if not isinstance(start, int):
            continue
        node.meta["start"] = start
        if isinstance(node, exp.Func | exp.Mod) and isinstance(end, int) and text[start : end + 1].isidentifier():
            node.meta[_WORD] = text[start : end + 1].lower()


def word_of(node: exp.Expr) -> str | None:
    """The name that a function is called by in its text."""
    word = node.meta.get(_WORD)
    return word if isinstance(word, str) else None


def in_place_of(node: exp.Expr, written: exp.Expr) -> exp.Expr:
    """The node, with the place and the name in the text of the one that was written."""
    node.meta.update(written.meta)
    return node
