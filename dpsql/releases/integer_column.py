"""A column of exact integers: 64 bits wide where all of them fit, Python's integers beyond.

Guarantee: arithmetic is exact. It is done in 64 bits only where no result and no number on the way can be 2⁶³ or more:
``|Σ wᵢxᵢ| ≤ Σ |wᵢ|·reachᵢ``, and that is below 2⁶³. Everywhere else it is Python's own. How far a column reaches is
read off released numbers (:attr:`IntegerColumn.reach`); of secret ones it is never looked up, and what decides there is
a bound that the plan declares (:func:`fits`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_LIMIT = 1 << 63
_PEOPLE = 1 << 40
"""No database has as many people: a thousand billion, each with a row at least."""
_FEW = 100
"""Fewer numbers than these are sooner looked through in Python."""
_EXACT = 1 << 53
"""Up to here, doubles hold every integer."""

IntegerArray = NDArray[np.int64] | NDArray[np.object_]


def fits(bound: int) -> bool:
    """Whether a sum of all people's numbers, none of which is above the bound, stays below 2⁶²: a public fact.

    >>> fits(1000), fits(1 << 22)
    (True, False)
    """
    return bound * _PEOPLE < _LIMIT // 2


class IntegerColumn(Sequence[int]):
    """Exact integers, in an order. Equal to every sequence of the same integers.

    >>> IntegerColumn.of([1, -2]), IntegerColumn.of([1, 2**70]).array.dtype, IntegerColumn.of([1, -2])[1]
    ((1, -2), dtype('O'), -2)
    """

    __slots__ = ("array",)

    def __init__(self, array: IntegerArray) -> None:
        """``array`` is of 64-bit integers or of Python's, and belongs to the column from now on."""
        array.flags.writeable = False
        self.array: Any = array

    @classmethod
    def of(cls, numbers: Iterable[int]) -> IntegerColumn:
        """The column of released integers, or of public ones, as narrow as they are. Raises TypeError for all else."""
        if isinstance(numbers, cls):
            return numbers
        if isinstance(numbers, np.ndarray) and numbers.dtype == np.int64:
            return cls(numbers.view())
        return cls(_narrow(numbers if isinstance(numbers, list) else list(numbers)))

    @classmethod
    def wide(cls, numbers: Iterable[int]) -> IntegerColumn:
        """The column in Python's integers, whatever they are."""
        return cls(np.array(list(numbers), dtype=object))

    @classmethod
    def nearest_to(cls, numbers: NDArray[np.float64]) -> IntegerColumn:
        """The integers nearest to doubles, halves to even."""
        if len(numbers) and not np.abs(numbers).max() < float(_LIMIT):
            return cls.of([round(number) for number in numbers.tolist()])
        return cls(np.rint(numbers).astype(np.int64))

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> IntegerColumn: ...

    def __getitem__(self, place: int | slice) -> int | IntegerColumn:
        return IntegerColumn(self.array[place]) if isinstance(place, slice) else int(self.array[place])

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, IntegerColumn):
            return bool(np.array_equal(self.array, other.array))
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))

    @property
    def is_narrow(self) -> bool:
        return bool(self.array.dtype == np.int64)

    @property
    def reach(self) -> int:
        """The largest magnitude. Of released numbers alone."""
        if len(self.array) < _FEW:
            return max(map(abs, self.array.tolist()), default=0)
        return max(int(self.array.max()), -int(self.array.min()))

    def taken(self, places: NDArray[np.int64]) -> IntegerColumn:
        return IntegerColumn(self.array[places])

    @property
    def floats(self) -> NDArray[np.float64]:
        """As the nearest doubles."""
        if self.is_narrow:
            return np.asarray(self.array, dtype=np.float64)
        return np.array([float(number) for number in self], dtype=np.float64)

    def at_most(self, others: IntegerColumn) -> IntegerColumn:
        """The smaller number of each pair."""
        return self._paired(np.minimum, others)

    def at_least(self, others: IntegerColumn) -> IntegerColumn:
        """The larger number of each pair."""
        return self._paired(np.maximum, others)

    def _paired(self, choose: np.ufunc, others: IntegerColumn) -> IntegerColumn:
        narrow = self.is_narrow and others.is_narrow
        one, other = (column if narrow else column.widened() for column in (self, others))
        return IntegerColumn(choose(one.array, other.array)).narrowed()

    def summed(self, groups: NDArray[np.int64], size: int) -> IntegerColumn:
        """For each of ``size`` groups, the sum of the numbers that are in it.

        >>> IntegerColumn.of([1, 2, 2**63 - 1]).summed(np.array([1, 0, 0]), 3)
        (9223372036854775809, 1, 0)
        """
        narrow = self.is_narrow and self.reach * len(self) < _LIMIT
        sums = np.zeros(size, dtype=np.int64 if narrow else object)
        np.add.at(sums, groups, (self if narrow else self.widened()).array)
        return IntegerColumn(sums).narrowed()

    def with_(self, places: NDArray[np.int64], others: IntegerColumn) -> IntegerColumn:
        """Other numbers in some places."""
        if not len(places):
            return self
        narrow = self.is_narrow and others.is_narrow
        found = (self if narrow else self.widened()).array.copy()
        found[places] = (others if narrow else others.widened()).array
        return IntegerColumn(found)

    def widened(self) -> IntegerColumn:
        return IntegerColumn(self.array.astype(object)) if self.is_narrow else self

    def narrowed(self) -> IntegerColumn:
        """In 64 bits where all numbers fit. Of released numbers alone."""
        return self if self.is_narrow else IntegerColumn(_narrow(self.array.tolist()))

    def plus(self, more: IntegerColumn) -> IntegerColumn:
        """The sums of secret numbers that fit, by their declared bound, and of noise: its size decides, not theirs."""
        if len(self) != len(more):
            raise ValueError("every number has noise of its own")
        if self.is_narrow and more.is_narrow and more.reach < _LIMIT // 2:
            return IntegerColumn(self.array + more.array)
        return IntegerColumn(self.widened().array + more.widened().array)

    def quotients(self, below: int | IntegerColumn) -> IntegerColumn:
        """The integers nearest to quotients by what is positive, halves to even.

        >>> IntegerColumn.of([-3, -1, 0, 1, 3, 5]).quotients(2)
        (-2, 0, 0, 0, 2, 2)
        """
        if isinstance(below, int) and below == 1:
            return self
        above, under = self._with(below)
        whole, rest = above // under, above % under
        found = whole + (2 * rest + whole % 2 > under)
        return IntegerColumn(found).narrowed()

    def over(self, below: int | IntegerColumn) -> list[float] | NDArray[np.float64]:
        """The doubles nearest to quotients; of a quotient beyond them, OverflowError."""
        above, under = self._with(below)
        reaches = (self.reach, below if isinstance(below, int) else below.reach)
        if above.dtype == np.int64 and max(reaches) <= _EXACT:
            return np.asarray(above / under)  # doubles hold both, and a division rounds once
        unders = [below] * len(self) if isinstance(below, int) else list(below)
        return [one / other for one, other in zip(self, unders, strict=True)]

    def clipped(self, low: int | None, high: int | None) -> IntegerColumn:
        """No number below ``low`` or above ``high``."""
        found = self
        for end, turned in ((low, np.maximum), (high, np.minimum)):
            if end is None:
                continue
            if found.is_narrow and not -_LIMIT <= end < _LIMIT:
                if (end < 0) == (turned is np.maximum):
                    continue  # no number of 64 bits is beyond it
                found = found.widened()
            found = IntegerColumn(turned(found.array, end))
        return found.narrowed()

    def _with(self, below: int | IntegerColumn) -> tuple[Any, Any]:
        """Both sides of a division in one type, so narrow that twice a rest fits."""
        size = below if isinstance(below, int) else below.reach
        narrow = self.is_narrow and size < _LIMIT // 4 and (isinstance(below, int) or below.is_narrow)
        one = self if narrow else self.widened()
        if isinstance(below, int):
            return one.array, below
        return one.array, (below if narrow else below.widened()).array


def weighted(terms: Sequence[tuple[IntegerColumn, int]], size: int) -> IntegerColumn:
    """Σ weight · number, of ``size`` released numbers each.

    >>> weighted([(IntegerColumn.of([1, 2]), 3), (IntegerColumn.of([2**62, 0]), 2)], 2)
    (9223372036854775811, 6)
    """
    if len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0].narrowed()
    if sum(abs(weight) * max(column.reach, 1) for column, weight in terms) < _LIMIT:
        return IntegerColumn(_summed([column.narrowed() for column, _ in terms], terms, np.zeros(size, dtype=np.int64)))
    return IntegerColumn(
        _summed([column.widened() for column, _ in terms], terms, np.zeros(size, dtype=object))
    ).narrowed()


def _summed(columns: list[IntegerColumn], terms: Sequence[tuple[IntegerColumn, int]], nothing: Any) -> Any:
    total = nothing
    for column, (_, weight) in zip(columns, terms, strict=True):
        if weight:
            part = column.array if weight == 1 else column.array * weight
            total = part if total is nothing else total + part
    return total.view()


def _narrow(numbers: list[int]) -> IntegerArray:
    found = np.array(numbers)
    if found.dtype == np.int64 and found.ndim == 1:
        return found
    # index: an integer of another library is one of ours, anything else is an error
    exact = [operator.index(number) for number in numbers]
    if all(-_LIMIT <= number < _LIMIT for number in exact):
        return np.array(exact, dtype=np.int64)
    return np.array(exact, dtype=object)
