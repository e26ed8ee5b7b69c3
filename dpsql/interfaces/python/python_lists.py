"""Arrays of an answer as lists of Python: an answer holds PostgreSQL's text of each."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.declared import Kind, Scalar

if TYPE_CHECKING:
    from dpsql.reply import AnswerColumn

Item = str | int | float | datetime.date | None
Cell = Scalar | list[Item] | None
Row = tuple[Cell, ...]

ITEMS: Mapping[Kind, Callable[[str], Item]] = {
    Kind.TEXTS: str,
    Kind.INTEGERS: int,
    Kind.DOUBLES: float,
    Kind.BOOLEANS: "t".__eq__,
    Kind.DATES: datetime.date.fromisoformat,
    Kind.TIMESTAMPS: datetime.datetime.fromisoformat,
}
"""What an item's text stands for, by the kind of array."""

_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|([^{},"]+)')


def with_lists(columns: Sequence[AnswerColumn], rows: Sequence[tuple[Scalar | None, ...]]) -> Sequence[Row]:
    """The same rows, with a list for each array. Rows of an answer without arrays are not touched."""
    of = [ITEMS.get(column.type.kind) for column in columns]
    if not any(of):
        return rows
    return [
        tuple(
            list_of(cell, item) if item and isinstance(cell, str) else cell for cell, item in zip(row, of, strict=True)
        )
        for row in rows
    ]


def list_of(array: str, item: Callable[[str], Item]) -> list[Item]:
    r"""The items of an array's text, of one dimension.

    >>> list_of('{a,"b, c","\\"",NULL,"NULL",""}', str)
    ['a', 'b, c', '"', None, 'NULL', '']
    >>> list_of("{1.5,NULL,NaN}", float), list_of("{}", int)
    ([1.5, None, nan], [])
    >>> list_of('{"2025-01-02 03:04:05.5",NULL}', ITEMS[Kind.TIMESTAMPS])
    [datetime.datetime(2025, 1, 2, 3, 4, 5, 500000), None]
    """
    return list(_items(array, item))


def _items(array: str, item: Callable[[str], Item]) -> Iterator[Item]:
    for found in _ITEM.finditer(array):
        quoted, bare = found.groups()
        if bare is None:
            yield item(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        else:
            yield None if bare == "NULL" else item(bare)
