"""Questions that are kept for as long as a statement is remembered, with their trees as flat tuples.

A node of a tree takes 400 bytes, most of them for the dictionary of its arguments: trees were most of what a statement
that is remembered took. And a node knows its parent, and FROM and WHERE of a relation are shared with all SQL that was
made of it: who keeps one node keeps every tree that it was last put into, until Python's collector of cycles looks at
what is old, which it does once in thousands of statements.

Guarantee: what is :attr:`AtRest.in_use` equals what it was made of, facts included, has trees of its own, and goes with
the last who asks.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from operator import is_
from typing import Any, Generic, TypeVar

from sqlglot import exp

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class AtRest(Generic[T]):
    """A tree, or a value with trees in it, as it is kept. What was one tree stays one.

    >>> tree = exp.select("x").from_("t")
    >>> found, again = AtRest.of((tree, tree)).in_use
    >>> found == tree, found is again, found is tree, found.args["from_"].parent is found
    (True, True, False, True)
    """

    _packed: Any

    @classmethod
    def of(cls, value: T) -> AtRest[T]:
        made: dict[int, _Tree] = {}

        def packed(one: Any) -> Any:
            if not isinstance(one, exp.Expr):
                return one
            if id(one) not in made:
                made[id(one)] = _Tree(_flat(one))
            return made[id(one)]

        return cls(_mapped(value, packed))

    @property
    def in_use(self) -> T:
        """The value, to be planned with: its nodes know their parents."""
        made: dict[int, exp.Expr] = {}

        def unpacked(one: Any) -> Any:
            if not isinstance(one, _Tree):
                return one
            if id(one) not in made:
                made[id(one)] = _built(one.flat)
            return made[id(one)]

        found: T = _mapped(self._packed, unpacked)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AtRest) and bool(self.in_use == other.in_use)

    def __hash__(self) -> int:
        return hash(self.in_use)


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """The shape of each node with the values of its arguments, breadth first: a child stands as :data:`_CHILD`."""

    flat: tuple[Any, ...]


class _List(tuple[Any, ...]):
    """A list of an argument, with :data:`_CHILD` for each node."""

    __slots__ = ()


_Shape = tuple[type[exp.Expr], tuple[str, ...], tuple[str, ...]]
"""The class of a node, the names of its arguments, and what else it has."""

_CHILD = object()
_OTHERS = ("comments", "_type", "_meta", "_hash")
_SHAPES: dict[_Shape, _Shape] = {}
"""Each shape once: there are as many as kinds of nodes and ways to call them, whatever is asked."""


def _flat(tree: exp.Expr) -> tuple[Any, ...]:
    found: list[Any] = []
    waiting = deque((tree,))

    def kept(value: Any) -> Any:
        if isinstance(value, exp.Expr):
            waiting.append(value)
            return _CHILD
        return sys.intern(value) if type(value) is str else value

    while waiting:
        node = waiting.popleft()
        others = tuple([name for name in _OTHERS if getattr(node, name) is not None])
        shape = (type(node), tuple(node.args), others)
        found.append(_SHAPES.setdefault(shape, shape))
        for value in node.args.values():
            found.append(_List(map(kept, value)) if type(value) is list else kept(value))
        found += [deepcopy(getattr(node, name)) for name in others]
    return tuple(found)


def _built(flat: tuple[Any, ...]) -> exp.Expr:
    rest: Iterator[Any] = iter(flat)
    built: list[exp.Expr] = []
    waiting: deque[tuple[exp.Expr, str, list[Any] | None, int]] = deque()
    for kind, arguments, others in rest:
        node: exp.Expr = kind()
        built.append(node)
        if waiting:
            parent, name, among, place = waiting.popleft()
            node.parent, node.arg_key = parent, name
            if among is None:
                parent.args[name] = node
            else:
                node.index, among[place] = place, node
        for name in arguments:
            value = next(rest)
            if value is _CHILD:
                waiting.append((node, name, None, 0))
            elif type(value) is _List:
                value = list(value)
                waiting.extend([(node, name, value, at) for at, one in enumerate(value) if one is _CHILD])
            # Arguments keep their order, also those whose node is to come.
            node.args[name] = value
        for name in others:
            setattr(node, name, deepcopy(next(rest)))
    return built[0]


def _mapped(value: Any, of_tree: Callable[[Any], Any]) -> Any:
    """The value with what ``of_tree`` makes of each tree in it; the very value where that is nothing else."""
    kind: Any = type(value)
    if kind is tuple:
        found = tuple([_mapped(one, of_tree) for one in value])
        return value if all(map(is_, found, value)) else found
    if (names := _fields(kind)) is None:
        return of_tree(value)
    parts = [getattr(value, name) for name in names]
    changed = [_mapped(one, of_tree) for one in parts]
    if all(map(is_, changed, parts)):
        return value
    # Without its checks, which it has passed: they may read trees.
    made = object.__new__(kind)
    for name, new in zip(names, changed, strict=True):
        object.__setattr__(made, name, new)
    return made


@cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass that is looked into; None of any other class."""
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) and kind is not _Tree else None
