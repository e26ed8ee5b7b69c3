"""Columns of values, and rows that are made of columns: what a table has in it from an engine's answer to a client.

A column is Python's values or Arrow's, whichever it was made of, and the other as soon as somebody asks: a small table
stays in Python, and a large one in Arrow until its rows are shown.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Context, Decimal
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpsql.releases.arrow_types import arrow_type
from dpsql.releases.integer_column import IntegerColumn
from rewriter.declared import BIGINT, DOUBLE, Kind, Scalar, Type

_DIGITS = Context(prec=80)


class ValueColumn(Sequence[Any]):
    """Values of one type of SQL, None for NULL. Equal to every sequence of the same values.

    >>> column = ValueColumn(BIGINT, [1, None])
    >>> column, column.arrow.null_count, column.floats.tolist(), column == (1, None)
    ((1, None), 1, [1.0, nan], True)
    """

    __slots__ = ("__weakref__", "_arrow", "_values", "type")

    def __init__(self, type_: Type, values: Sequence[Scalar | None] | None = None, arrow: Any = None) -> None:
        """Of Python's values, or else of an Arrow array of the type's own Arrow type."""
        self.type = type_
        self._values = values
        self._arrow = arrow

    @classmethod
    def of(cls, type_: Type, values: Sequence[Scalar | None]) -> ValueColumn:
        return values if isinstance(values, cls) else cls(type_, values)

    @classmethod
    def nothing(cls, type_: Type, count: int) -> ValueColumn:
        """NULL, so many times."""
        return cls(type_, [None] * count)

    @classmethod
    def of_floats(cls, numbers: NDArray[np.float64], known: NDArray[np.bool_] | None = None) -> ValueColumn:
        """Doubles, and NULL where they are not ``known``."""
        return cls(DOUBLE, arrow=pa.array(numbers, mask=None if known is None or known.all() else ~known))

    @classmethod
    def of_integers(cls, numbers: IntegerColumn, type_: Type = BIGINT) -> ValueColumn:
        """Integers of a type that holds all of them; of a decimal, in its units."""
        if not numbers.is_narrow:
            if type_.kind is Kind.INTEGER:
                return cls(type_, numbers.array.tolist())
            return cls(type_, [Decimal(units).scaleb(-type_.scale, _DIGITS) for units in numbers])
        if type_.kind is Kind.DECIMAL or type_.bits == 128:
            # An integer of 128 bits is one of 64 bits, and 64 times its sign.
            words = np.stack([numbers.array, numbers.array >> 63], axis=1)
            return cls(type_, arrow=pa.Array.from_buffers(arrow_type(type_), len(words), [None, pa.py_buffer(words)]))
        return cls(type_, arrow=pa.array(numbers.array.astype(_WIDTHS[type_.bits], copy=False)))

    @property
    def is_arrow(self) -> bool:
        return self._arrow is not None

    @property
    def arrow(self) -> Any:
        """As an Arrow array."""
        if self._arrow is None:
            self._arrow = pa.array(_for_arrow(self._values or (), self.type), arrow_type(self.type))
        return self._arrow

    @property
    def values(self) -> Sequence[Scalar | None]:
        """As Python's values."""
        if self._values is None:
            self._values = _from_arrow(self._arrow, self.type)
        return self._values

    @property
    def floats(self) -> NDArray[np.float64]:
        """As doubles, NaN for NULL; of numbers alone."""
        if self._arrow is None:
            numbers = [np.nan if value is None else float(value) for value in self.values]  # type: ignore[arg-type]
            return np.array(numbers, dtype=np.float64)
        if self.type.kind is not Kind.DECIMAL and self.type.bits != 128:
            return np.asarray(self._arrow.to_numpy(zero_copy_only=False), dtype=np.float64)
        return np.where(self.known, self.units.over(10**self.type.scale), np.nan)

    @property
    def units(self) -> IntegerColumn:
        """As integers, 0 for NULL: whole numbers as they are, and decimals in units of their last digit."""
        if self._arrow is None:
            last = self.type.scale if self.type.kind is Kind.DECIMAL else None
            values: Sequence[Any] = self.values
            return IntegerColumn.of(
                [
                    0 if value is None else value if last is None else int(value.scaleb(last, _DIGITS))
                    for value in values
                ]
            )
        if self.type.kind is not Kind.DECIMAL and self.type.bits != 128:
            whole = self._arrow.fill_null(0) if self._arrow.null_count else self._arrow
            return IntegerColumn(whole.to_numpy().astype(np.int64))
        return IntegerColumn(np.where(self.known, units_of(self._arrow).array, 0)).narrowed()

    @property
    def codes(self) -> NDArray[np.int64]:
        """Numbers that are alike where values are."""
        encoded = self.arrow.dictionary_encode(null_encoding="encode")
        return np.asarray(encoded.indices.to_numpy(), dtype=np.int64)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where there is a value."""
        if self._arrow is None:
            return np.array([value is not None for value in self.values], dtype=np.bool_)
        if not self._arrow.null_count:
            return np.ones(len(self), dtype=np.bool_)
        return np.asarray(self._arrow.is_valid().to_numpy(zero_copy_only=False))

    def taken(self, places: NDArray[np.int64]) -> ValueColumn:
        if self._arrow is None:
            values = self.values
            return ValueColumn(self.type, [values[place] for place in places.tolist()])
        return ValueColumn(self.type, arrow=self._arrow.take(pa.array(places)))

    def where(self, known: NDArray[np.bool_]) -> ValueColumn:
        """The values of some places, and NULL in the others."""
        if known.all():
            return self
        import pyarrow.compute as pc  # Here and not above: it takes 9 MB, and few answers need it.

        return ValueColumn(self.type, arrow=pc.if_else(pa.array(known), self.arrow, pa.scalar(None, self.arrow.type)))

    def spread_out(self, known: NDArray[np.bool_]) -> ValueColumn:
        """The values where something is known, and NULL elsewhere."""
        places = pa.array(np.cumsum(known) - 1, mask=~known)
        return ValueColumn(self.type, arrow=self.arrow.take(places))

    def __len__(self) -> int:
        return len(self._values if self._values is not None else self._arrow)

    @overload
    def __getitem__(self, place: int) -> Scalar | None: ...

    @overload
    def __getitem__(self, place: slice) -> ValueColumn: ...

    def __getitem__(self, place: int | slice) -> Scalar | ValueColumn | None:
        if isinstance(place, int):
            return self.values[place]
        if self._arrow is None:
            return ValueColumn(self.type, self.values[place])
        return ValueColumn(self.type, arrow=self._arrow[place])

    def __iter__(self) -> Iterator[Scalar | None]:
        return iter(self.values)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


def concatenated(columns: Sequence[ValueColumn]) -> ValueColumn:
    """The values of columns of one type, one after the other."""
    if len(columns) == 1:
        return columns[0]
    if any(column.is_arrow for column in columns):
        return ValueColumn(columns[0].type, arrow=pa.concat_arrays([column.arrow for column in columns]))
    return ValueColumn(columns[0].type, [value for column in columns for value in column])


class ColumnarRows(Sequence[tuple[Any, ...]]):
    """Rows, held column by column: keys of groups, or an answer. Equal to every sequence of the same rows.

    >>> rows = ColumnarRows((ValueColumn(BIGINT, [1, 2]), ValueColumn(BIGINT, [3, None])), 2)
    >>> rows, rows[1], rows == [(1, 3), (2, None)], ColumnarRows((), 1)
    (((1, 3), (2, None)), (2, None), True, ((),))
    """

    __slots__ = ("_count", "columns")

    def __init__(self, columns: Sequence[ValueColumn], count: int) -> None:
        self.columns = tuple(columns)
        self._count = count

    @classmethod
    def of(cls, types: Sequence[Type], rows: Sequence[tuple[Scalar | None, ...]]) -> ColumnarRows:
        if isinstance(rows, cls):
            return rows
        return cls(
            [ValueColumn(type_, column) for type_, column in zip(types, columns_of(rows, len(types)), strict=True)],
            len(rows),
        )

    @classmethod
    def of_floats(cls, *columns: NDArray[np.float64]) -> ColumnarRows:
        return cls([ValueColumn.of_floats(column) for column in columns], len(columns[0]))

    def among(self, places: Sequence[int]) -> ColumnarRows:
        """The columns at some places."""
        return ColumnarRows([self.columns[place] for place in places], self._count)

    def codes(self) -> NDArray[np.int64]:
        """Numbers that are alike where rows are.

        >>> rows = ColumnarRows((ValueColumn(BIGINT, [1, 2, 1]), ValueColumn(BIGINT, [3, None, 3])), 3)
        >>> rows.codes().tolist()
        [0, 1, 0]
        """
        found = np.zeros(self._count, dtype=np.int64)
        for column in self.columns:
            codes = column.codes
            found = found * (int(codes.max(initial=0)) + 1) + codes
            if len(self.columns) > 1:
                found = np.unique(found, return_inverse=True)[1].astype(np.int64)
        return found

    def taken(self, places: NDArray[np.int64]) -> ColumnarRows:
        return ColumnarRows([column.taken(places) for column in self.columns], len(places))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> tuple[Any, ...]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[Any, ...]]: ...

    def __getitem__(self, place: int | slice) -> tuple[Any, ...] | Sequence[tuple[Any, ...]]:
        if isinstance(place, slice):
            return self.taken(np.arange(self._count)[place])
        if not -self._count <= place < self._count:
            raise IndexError(place)
        return tuple(column[place] for column in self.columns)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if not self.columns:
            return iter([()] * self._count)
        return zip(*(column.values for column in self.columns), strict=True)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


def columns_of(rows: Sequence[tuple[Any, ...]], width: int) -> Sequence[Sequence[Any]]:
    """The first columns of rows.

    >>> columns_of([(1, 2), (3, 4)], 2), columns_of([], 2), columns_of([()], 0)
    ([(1, 3), (2, 4)], [(), ()], [])
    """
    if isinstance(rows, ColumnarRows):
        return rows.columns[:width]
    if len(rows) < _FEW:
        return list(zip(*rows, strict=True))[:width] or [()] * width
    return [[row[place] for row in rows] for place in range(width)]


def units_of(decimals: Any) -> IntegerColumn:
    """The units of an Arrow array of decimals, or of integers of 128 bits; whatever stands where it has NULL.

    In 64 bits where all of them fit: of released numbers alone.
    """
    low, high = _words(decimals)
    return IntegerColumn(low) if np.array_equal(high, low >> 63) else wide_units_of(decimals)


def wide_units_of(decimals: Any) -> IntegerColumn:
    """The same in Python's integers, whatever they are."""
    low, high = _words(decimals)
    return IntegerColumn((high.astype(object) << 64) + low.view(np.uint64).astype(object))


def _words(decimals: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lower and the upper 64 bits of every number."""
    words = np.frombuffer(decimals.buffers()[1], dtype=np.int64, count=2 * (decimals.offset + len(decimals)))
    words = words[2 * decimals.offset :].reshape(-1, 2)
    return words[:, 0].copy(), words[:, 1].copy()


_FEW = 100
"""Up to so many rows are turned into columns at once."""
_WIDTHS = {16: np.int16, 32: np.int32, 64: np.int64}


def _for_arrow(values: Sequence[Scalar | None], type_: Type) -> Iterable[Scalar | None]:
    """Values as Arrow wants them for the type."""
    if type_.kind is Kind.DOUBLE:
        return [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
    if type_.kind is Kind.DECIMAL or type_.bits == 128:
        return [None if value is None else rounded(value, type_) for value in values]
    return values


def rounded(value: Scalar, type_: Type) -> Decimal:
    """A number with the digits of its type."""
    if isinstance(value, datetime.date | datetime.time | str):
        raise TypeError("not a number")
    return Decimal(value).quantize(Decimal(1).scaleb(-type_.scale), context=_DIGITS)


def _from_arrow(array: Any, type_: Type) -> list[Scalar | None]:
    if type_.kind is Kind.TIMESTAMPTZ:  # an instant is a plain timestamp of UTC
        array = array.cast(pa.timestamp("us"))
    found: list[Scalar | None] = array.to_pylist()
    convert: Callable[[Any], Scalar] | None = int if type_.bits == 128 else None
    return found if convert is None else [None if value is None else convert(value) for value in found]
