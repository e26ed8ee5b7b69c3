"""Queries told by value: equal where all that a plan can follow from is equal, facts of nodes included.

Why. Trees are compared by their SQL alone, and facts are left out on purpose. What is planned follows from facts, too:
ranges, domains, the columns behind a name. So whoever remembers a plan from statement to statement asks for both.

Guarantee: two queries with one key have the same classes, fields, node arguments and facts, in the same places. An
object of a class that is not walked here is equal to itself alone, and so is a declared table: a policy that is read
anew, and a range that ends on another day, make another one. What is not found to be equal costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from sqlglot import exp

from rewriter.declared import Table
from rewriter.dialects import fact_of
from rewriter.release import Query


class SameQuery:
    """A query as a key of a memory; its hash is found once.

    >>> from rewriter.dialects import Fact
    >>> NOTED: Fact[int] = Fact("noted")
    >>> one, other = NOTED.on(exp.column("x"), 1), NOTED.on(exp.column("x"), 2)
    >>> one == other, by_value(one) == by_value(other), by_value(one) == by_value(one.copy())
    (True, False, True)
    """

    __slots__ = ("_hash", "_value")

    def __init__(self, query: Query) -> None:
        self._value = by_value(query)
        self._hash = hash(self._value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SameQuery) or self._hash != other._hash:
            return False
        if self._value is not other._value:
            if self._value != other._value:
                return False
            self._value = other._value  # whoever is compared again is told by one look
        return True


@dataclass(frozen=True, slots=True, eq=False)
class _Itself:
    """An object that is equal to itself alone, and stays alive with the key."""

    one: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.one is other.one

    def __hash__(self) -> int:
        return id(self.one)


def by_value(value: object) -> Hashable:
    """A value that can be compared, of another one of any class.

    >>> by_value((1, True)) == by_value((True, 1)), by_value([1]) == by_value((1,))
    (False, False)
    """
    match value:
        case None | str() | Enum():
            return value
        case exp.Expr():
            return (type(value), *((name, _argument(one)) for name, one in value.args.items() if one is not None))
        case tuple() | list():
            return (type(value), *map(by_value, value))
        case frozenset() | set():
            return (frozenset, frozenset(map(by_value, value)))
        case Table():
            return _Itself(value)
        case Mapping():
            return (dict, *((by_value(key), by_value(one)) for key, one in value.items()))
    class_: Any = type(value)
    if is_dataclass(class_):
        return (class_, *(by_value(getattr(value, field.name)) for field in fields(class_)))
    # 1, True and 1.0 are equal, and are not the same.
    return (class_, value) if class_.__module__ in _PLAIN else _Itself(value)


_PLAIN = frozenset({"builtins", "datetime", "decimal", "fractions"})


def _argument(value: object) -> Hashable:
    fact = fact_of(value)
    return by_value(value) if fact is None else (_FACT, by_value(fact))


_FACT = object()
