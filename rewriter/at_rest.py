"""Questions that are kept for as long as a statement is remembered, with trees of their own that hold no others.

A node knows its parent, and FROM and WHERE of a relation are shared with all SQL that was made of it: who keeps one
node keeps every tree that it was last put into. And a tree whose nodes know their parents is let go by Python's
collector of cycles alone, which looks at what is old once in thousands of statements.

Guarantee: trees :func:`at_rest` equal what they were made of, facts included, and go with the last who asks. They are
not to be looked at but through :func:`in_use`, whose nodes know their parents.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any, TypeVar

from sqlglot import exp

T = TypeVar("T")

_Made = dict[int, exp.Expr]
"""Copies by the tree that they are of: what was one tree stays one."""


def at_rest(value: T) -> T:
    """A tree, or a value with trees in it, as it is kept.

    >>> tree = exp.select("x").from_("t")
    >>> kept = at_rest((tree, tree))
    >>> kept[0] == tree, kept[0] is kept[1], kept[0].args["from_"].parent, tree.args["from_"].parent is tree
    (True, True, None, True)
    """
    made: _Made = {}
    found: T = _copied(value, made)
    for tree in made.values():
        for node in list(tree.walk()):
            node.parent = None
    return found


def in_use(value: T) -> T:
    """The same, to be planned with.

    >>> found = in_use(at_rest(exp.select("x").from_("t")))
    >>> found.args["from_"].parent is found
    True
    """
    found: T = _copied(value, {})
    return found


def _copied(value: Any, made: _Made) -> Any:
    if isinstance(value, exp.Expr):
        if id(value) not in made:
            made[id(value)] = value.copy()
        return made[id(value)]
    if type(value) is tuple:
        found = tuple(_copied(one, made) for one in value)
        return value if all(map(is_, found, value)) else found
    if is_dataclass(value) and not isinstance(value, type):
        parts = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        changed = {name: new for name, one in parts.items() if (new := _copied(one, made)) is not one}
        return replace(value, **changed) if changed else value
    return value
