"""Results that are remembered instead of computed again: bounded, thread-safe, forgotten in one place.

Guarantee: a remembered result is a function of its key. So forgetting it costs time, and changes no answer, no price
and no privacy. Whoever opens a policy anew, or closes it, may forget everything (:class:`Memories`).

Results of :func:`by_identity` are small, and of plans and noise alone: they are forgotten with their plan, or as others
come.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, ParamSpec, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

_Result = TypeVar("_Result")
_Asked = ParamSpec("_Asked")

_LARGEST = 10
"""One value may take one part in so many of a memory whose values have sizes."""


class Memory(Generic[_Key, _Value]):
    """The values of the latest keys that were asked for. Two threads may find the same at once; the first stays.

    ``most`` values are kept; or values of so much ``size`` together, of which a large one is not kept at all.

    >>> squares: Memory[int, int] = Memory("squares", 2)
    >>> [squares.get(n, lambda n=n: n * n) for n in (2, 3, 2, 4)], squares.known(3), squares.known(2)
    ([4, 9, 4, 16], None, 4)
    """

    def __init__(self, name: str, most: int, size: Callable[[_Value], int] | None = None) -> None:
        self.name = name
        self._most = most
        self._size = size
        self._total = 0
        self._kept: OrderedDict[_Key, _Value] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: _Key, find: Callable[[], _Value]) -> _Value:
        """The value of a key: the very object that is remembered, else what ``find`` makes. An error is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        return self._kept_first(key, find())

    def known(self, key: _Key) -> _Value | None:
        """The value of a key, if it is remembered."""
        with self._lock:
            return self._kept.get(key)

    def keep(self, key: _Key, value: _Value) -> None:
        """Remember a value in the place of the one before."""
        with self._lock:
            if key in self._kept:
                self._total -= self._weight(self._kept.pop(key))
        self._kept_first(key, value)

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()
            self._total = 0

    def _kept_first(self, key: _Key, value: _Value) -> _Value:
        weight = self._weight(value)
        if self._size is not None and weight > self._most // _LARGEST:
            return value
        with self._lock:
            if key in self._kept:
                return self._kept[key]
            self._kept[key] = value
            self._total += weight
            while self._total > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._total -= self._weight(oldest)
        return value

    def _weight(self, value: _Value) -> int:
        return 1 if self._size is None else self._size(value)


class Memories:
    """All that is remembered of one opened policy."""

    def __init__(self, known: Iterable[Memory] = ()) -> None:  # type: ignore[type-arg]
        self._all = list(known)

    def memory(self, name: str, most: int, size: Callable[[_Value], int] | None = None) -> Memory[_Key, _Value]:
        """One more, which is forgotten with the others."""
        found: Memory[_Key, _Value] = Memory(name, most, size)
        self._all.append(found)
        return found

    def forget(self) -> None:
        for one in self._all:
            one.forget()

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many values are remembered, by what they are."""
        found: Counter[str] = Counter()
        for one in self._all:
            found[one.name] += len(one)
        return found


_PLAIN = frozenset({bool, int, float, str, type(None)})


def by_identity(most: int) -> Callable[[Callable[_Asked, _Result]], Callable[_Asked, _Result]]:
    """Remembers ``most`` results of a function of values that nobody changes, such as plans and their noise.

    Numbers and texts are told apart by what they are, all else by being the very same object: no exact fraction is
    hashed or compared. No plan is kept alive by its results: they go with it. Arguments that cannot be referred to
    weakly are small, and kept with their result.

    >>> calls = []
    >>> @by_identity(2)
    ... def total(terms, factor=1):
    ...     calls.append(terms)
    ...     return factor * sum(terms)
    >>> terms = (1, 2)
    >>> total(terms), total(terms), total(terms, 2), total(tuple([1, 2])), len(calls)
    (3, 3, 6, 3, 3)
    """

    def remembering(function: Callable[_Asked, _Result]) -> Callable[_Asked, _Result]:
        kept: dict[tuple[object, ...], tuple[list[object], _Result]] = {}
        # Keys in their order, apart from the results, which also go by themselves.
        latest: deque[tuple[object, ...]] = deque()

        @functools.wraps(function)
        def remembered(*arguments: _Asked.args, **named: _Asked.kwargs) -> _Result:
            every = (*arguments, *named.values())
            key = (*named, *[(type(one), one) if type(one) in _PLAIN else id(one) for one in every])
            known = kept.get(key)
            if known is None:
                result = function(*arguments, **named)
                kept[key] = known = [_reference(one, kept, key) for one in every if type(one) not in _PLAIN], result
                latest.append(key)
                if len(latest) > most:
                    kept.pop(latest.popleft(), None)
            return known[1]

        return remembered

    return remembering


def _reference(value: object, kept: dict[_Key, _Value], key: _Key) -> object:
    """A reference that does not keep the value alive, where there can be one: the result of ``key`` goes with it."""
    try:
        return weakref.ref(value, lambda _: kept.pop(key, None))
    except TypeError:
        return value
