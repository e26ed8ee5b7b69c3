"""Arrays and intervals of an answer as Python's own values: an answer holds PostgreSQL's text of each."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from rewriter.declared import Kind, Scalar

if TYPE_CHECKING:
    from dpsql.reply import AnswerColumn

Item = str | int | float | Decimal | datetime.date | datetime.time | datetime.timedelta | None
Cell = Scalar | datetime.timedelta | list[Item] | None
Row = tuple[Cell, ...]

ITEMS: Mapping[Kind, Callable[[str], Item]] = {
    Kind.TEXTS: str,
    Kind.INTEGERS: int,
    Kind.DOUBLES: float,
    Kind.BOOLEANS: "t".__eq__,
    Kind.DATES: datetime.date.fromisoformat,
    Kind.TIMESTAMPS: datetime.datetime.fromisoformat,
    Kind.TIMESTAMPTZS: datetime.datetime.fromisoformat,
    Kind.TIMES: datetime.time.fromisoformat,
    Kind.DECIMALS: Decimal,
    Kind.INTERVALS: str,
}
"""What an item's text stands for, by the kind of array."""

_LENGTH = re.compile(r"(?:([+-]?\d+) days?)? ?(?:([+-]?)(\d+):(\d\d):(\d\d(?:\.\d{1,6})?))?")


def span(text: str) -> datetime.timedelta | str:
    """An interval as the length of time that it is; its text where it has months, which have no length, or is longer
    than Python holds.

    >>> span("1 day 02:00:00"), span("-1 days +00:00:00.5"), span("1 mon 00:00:01")
    (datetime.timedelta(days=1, seconds=7200), datetime.timedelta(days=-1, microseconds=500000), '1 mon 00:00:01')
    """
    found = _LENGTH.fullmatch(text)
    if found is None:
        return text
    days, sign, hours, minutes, seconds = found.groups()
    clock = datetime.timedelta()
    try:
        if hours is not None:
            micros = int(Decimal(seconds) * 1_000_000)
            clock = datetime.timedelta(hours=int(hours), minutes=int(minutes), microseconds=micros)
        return datetime.timedelta(days=int(days or 0)) + (-clock if sign == "-" else clock)
    except OverflowError:
        return text


_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|([^{},"]+)')


def with_lists(columns: Sequence[AnswerColumn], rows: Sequence[tuple[Scalar | None, ...]]) -> Sequence[Row]:
    """The same rows, with a list for each array. Rows of an answer without arrays are not touched."""
    return _converted(columns, rows, _LISTS)


def with_python_values(columns: Sequence[AnswerColumn], rows: Sequence[tuple[Scalar | None, ...]]) -> Sequence[Row]:
    """The same rows, with a list for each array, and a ``timedelta`` for each interval that is a length of time."""
    return _converted(columns, rows, _VALUES)


def _converted(
    columns: Sequence[AnswerColumn],
    rows: Sequence[tuple[Scalar | None, ...]],
    readers: Mapping[Kind, Callable[[str], Cell]],
) -> Sequence[Row]:
    of = [readers.get(column.type.kind) for column in columns]
    if not any(of):
        return rows
    return [
        tuple(read(cell) if read and isinstance(cell, str) else cell for cell, read in zip(row, of, strict=True))
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


_LISTS: Mapping[Kind, Callable[[str], Cell]] = {kind: partial(list_of, item=item) for kind, item in ITEMS.items()}
_VALUES: Mapping[Kind, Callable[[str], Cell]] = {
    **_LISTS,
    Kind.INTERVAL: span,
    Kind.INTERVALS: partial(list_of, item=span),
}
