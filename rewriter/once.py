"""What is asked of the same objects again, within one rewrite, is found once.

Whoever changes a tree has made it: a tree that came from another room is copied first, or built anew. So what a tree
is spelt as, or which groups its keys make, stays what it was, and is remembered by the very object that was asked.

Guarantee: nothing is remembered here from one rewrite to another, nor from thread to thread. What is found twice is
equal, as long as nobody changes an object that was asked: :func:`distrusting` finds each result again, and raises where
it is another one. So it does with what a caller remembers from rewrite to rewrite, by a key (:func:`known_by`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

_Known = dict[tuple[Hashable, ...], tuple[object, object]]
"""Results by the function and its arguments, which stay alive with them: an address is not given twice."""

_KNOWN: ContextVar[_Known | None] = ContextVar("known within a rewrite", default=None)
_DISTRUST: ContextVar[bool] = ContextVar("results are found again", default=False)


Remember = Callable[[Hashable, Callable[[], _R]], _R]
"""A memory of the caller's, from rewrite to rewrite: the value of a key, or what the function makes, which it keeps."""


def afresh(_: Hashable, find: Callable[[], _R]) -> _R:
    """No memory."""
    return find()


class Changed(AssertionError):
    """An object was changed after it was asked, or a key is that of two results."""


def known_by(key: Hashable, find: Callable[[], _R], remember: Remember[_R]) -> _R:
    """The result of a key, from a caller's memory.

    >>> kept = {}
    >>> remember = lambda key, find: kept.setdefault(key, find())
    >>> known_by("x", lambda: 1, remember), known_by("x", lambda: 2, remember)
    (1, 1)
    >>> with distrusting():
    ...     known_by("x", lambda: 2, remember)
    Traceback (most recent call last):
    rewriter.once.Changed: two results have one key: 1 and 2
    """
    found = remember(key, find)
    if _DISTRUST.get() and (again := find()) != found:
        raise Changed(f"two results have one key: {found} and {again}")
    return found


@contextmanager
def remembering() -> Iterator[None]:
    """Remember what is found once, until the end of this rewrite; within another, until the end of that."""
    if _KNOWN.get() is not None:
        yield
        return
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


@contextmanager
def distrusting() -> Iterator[None]:
    """Find each remembered result again, and raise :class:`Changed` where it is not the same."""
    token = _DISTRUST.set(True)
    try:
        yield
    finally:
        _DISTRUST.reset(token)


def once(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, which is called once for the same objects of one rewrite. Texts and whole numbers are the same
    where they are equal.

    >>> found = []
    >>> asked = once(lambda tree: found.append(tree) or len(found))
    >>> tree = ["x"]
    >>> with remembering():
    ...     asked(tree), asked(tree), asked(["x"])
    (1, 1, 2)
    >>> asked(tree)
    3
    """

    def found(*arguments: _P.args, **named: _P.kwargs) -> _R:
        known = _KNOWN.get()
        if known is None or named:
            return function(*arguments, **named)
        key = (function, *(one if isinstance(one, str | int) else id(one) for one in arguments))
        entry = known.get(key)
        if entry is None:
            entry = known[key] = (function(*arguments, **named), arguments)
        elif _DISTRUST.get() and function(*arguments, **named) != entry[0]:
            raise Changed(f"what {function.__qualname__} was asked of was changed since")
        return entry[0]  # type: ignore[return-value]

    return found
