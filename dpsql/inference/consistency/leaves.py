"""The finest groups that rows of people can be in, declared or not, and the cell of each measurement that they are in.

What is not declared is a group like any other, only that nobody measured it: rows whose key has no declared value are
in totals alone. So a total says something of its parts only where no such row can exist, by proof
(:attr:`rewriter.plan.KeyColumn.closed`); elsewhere it is more than they are by a number that is not known, and not
negative where rows are counted.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import combinations
from typing import Final

import numpy as np

from dpsql.inference.numeric import IntArray
from dpsql.releases import Key
from rewriter.declared import Scalar

MOST_LEAVES = 200_000
"""The most finest groups of a family that are made consistent; what would have more is answered as it was measured."""

MOST_OPEN = 12
"""The most keys that may have undeclared values: there are two cases of each, in all combinations."""


class UndeclaredLeaf:
    """All values of a key that are not declared, together."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNDECLARED"


UNDECLARED: Final = UndeclaredLeaf()

Leaf = dict[int, Scalar | UndeclaredLeaf | None]
"""A finest group: the value of each key, by the key's number."""

Groups = tuple[tuple[int, ...], Sequence[Key]]
"""A measurement: its keys, and the values of these in each of its groups."""


def leaves(measurements: Sequence[Groups], open_: Set[int]) -> list[Leaf] | None:
    """Every finest group of measurements, of which the keys ``open_`` may have undeclared values; None if too many.

    A key is undeclared where that makes a difference: where no measurement that has it has a group of such rows, its
    value is not asked for.

    >>> leaves([((0,), [("a",), ("b",)]), ((), [()])], {0})
    [{0: 'a'}, {0: 'b'}, {0: UNDECLARED}]
    """
    if len(open_) > MOST_OPEN:
        return None
    found: list[Leaf] = []
    known: set[frozenset[int]] = set()
    for count in range(len(open_) + 1):
        for some in combinations(sorted(open_), count):
            unnamed = _unnamed(some, measurements)
            if unnamed in known:
                continue
            known.add(unnamed)
            joined = _joined(measurements, unnamed, MOST_LEAVES - len(found))
            if joined is None:
                return None
            found += joined
    return found


def _unnamed(undeclared: Sequence[int], measurements: Sequence[Groups]) -> frozenset[int]:
    """Those keys, and the others that no measurement has without one of them."""
    outside = set(undeclared)
    told = {key for keys, _ in measurements if not outside & set(keys) for key in keys}
    return frozenset({key for keys, _ in measurements for key in keys} - told) if undeclared else frozenset()


def _joined(measurements: Sequence[Groups], unnamed: Set[int], most: int) -> list[Leaf] | None:
    """The natural join of all key sets, without the keys that are ``unnamed``."""
    covered: set[int] = set()
    joined: list[Leaf] = [dict.fromkeys(sorted(unnamed), UNDECLARED)]
    for keys, groups in measurements:
        if unnamed & set(keys) or set(keys) <= covered:
            continue
        shared = [key for key in keys if key in covered]
        matching: dict[tuple[object, ...], list[Leaf]] = {}
        for leaf in joined:
            matching.setdefault(tuple(leaf[key] for key in shared), []).append(leaf)
        joined = []
        for group in groups:
            named: Leaf = dict(zip(keys, group, strict=True))
            for leaf in matching.get(tuple(named[key] for key in shared), ()):
                joined.append(leaf | named)
                if len(joined) > most:
                    return None
        covered |= set(keys)
    return joined


def cells_of(leaves: Sequence[Leaf], keys: tuple[int, ...], groups: Sequence[Key]) -> tuple[IntArray, int]:
    """The cell of each leaf, and how many there are: those that were measured come first, as they are."""
    cells: dict[tuple[object, ...], int] = {group: cell for cell, group in enumerate(groups)}
    found = [cells.setdefault(tuple(leaf[key] for key in keys), len(cells)) for leaf in leaves]
    return np.array(found, dtype=np.int64), len(cells)
