"""Where the nodes of an analyst's text stood in it, as the parser noted; no other file reads the ``meta`` of nodes.

Nothing rests on it but the places that errors point to and the names of columns without an alias.
"""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp


class _Place(dict[str, Any]):
    """A note that all copies of a node share: most of the time of a copy was that of its notes."""

    def __deepcopy__(self, memo: object) -> Self:
        return self


_WORD = "dpsql_word"
"""Beside the parser's ``start`` and ``end``: unlike an argument, it makes CEILING(x) no other key than CEIL(x)."""

_NAME = "dpsql_name"


def position_of(node: exp.Expr) -> int | None:
    """The first character of the text that a node was parsed from, where one of its names tells."""
    for part in node.walk():
        start = part.meta_get("start")
        if isinstance(start, int):
            return start + 1
    return None


def keep_places(tree: exp.Expr, text: str) -> None:
    """Leave of the parser's notes and of comments where a node begins, and note the names that functions are called by
    in ``text``: CEILING and CEIL are one to the parser. A note is shared by the copies of its node, and never changed.
    """
    for node in tree.walk():
        start, end = node.meta_get("start"), node.meta_get("end")
        node._meta = node.comments = None
        if not isinstance(start, int) or not isinstance(node, _PLACED):
            continue
        place = _Place(start=start)
        if isinstance(node, exp.Func | exp.Mod) and isinstance(end, int) and text[start : end + 1].isidentifier():
            place[_WORD] = text[start : end + 1].lower()
        node._meta = place


_PLACED = (exp.Identifier, exp.Literal, exp.Star, exp.Func, exp.Mod)


def word_of(node: exp.Expr) -> str | None:
    """The name that a function is called by in its text."""
    word = node.meta_get(_WORD)
    return word if isinstance(word, str) else None


def called(node: exp.Expr, name: str) -> exp.Expr:
    """The node, with the words that the analyst has for its value: messages say them in the place of the node."""
    node._meta = _Place(node._meta or {}, **{_NAME: name})
    return node


def name_of(node: exp.Expr) -> str | None:
    """The name that :func:`called` gave to a value."""
    name = node.meta_get(_NAME)
    return name if isinstance(name, str) else None


def in_place_of(node: exp.Expr, written: exp.Expr) -> exp.Expr:
    """The node, with the place and the name in the text of the one that was written."""
    if written._meta:
        node._meta = written._meta
    return node
