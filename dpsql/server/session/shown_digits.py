"""The digits of measured numbers that mean something, on the wire: others are noise, and fill a client's screen.

A number keeps its type, and stays within a twentieth of its error bar. A column has
one number of decimal places, that of its smallest error, so that rows stay in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest

from dpsql.releases import Cell, places
from dpsql.reply import Answer, AnswerColumn
from rewriter.declared import Kind

Row = tuple[Cell, ...]


def meaningful(answer: Answer, *, intervals: bool) -> tuple[Row, ...]:
    """The rows of an answer, rounded. With ``intervals``, the two columns after a measured one are its ends: they are
    rounded outwards."""
    rounds: dict[int, Callable[[Cell], Cell]] = {}
    arrays = {at: _item_decimals(rows) for at, rows in answer.items.items()}
    numbers: dict[int, list[int | None]] = {at: [decimals] for at, decimals in _decimals(answer).items()}
    for at, decimals in (numbers | arrays).items():
        kinds: list[_Rounding] = [_nearest]
        if intervals and _has_ends(answer.columns, at):
            kinds += [partial(_outwards, math.floor), partial(_outwards, math.ceil)]
        for place, kind in enumerate(kinds, at):
            each = [None if one is None else kind(one) for one in decimals]
            rounds[place] = partial(_items, each) if at in arrays else partial(_number, each[0])
    if not rounds:
        return answer.rows
    usual = [rounds.get(at) for at in range(len(answer.columns))]
    return tuple(
        tuple(value if rounded is None else rounded(value) for value, rounded in zip(row, usual, strict=True))
        for row in answer.rows
    )


_Rounding = Callable[[int], Callable[[float], float]]


def _number(rounded: Callable[[float], float] | None, value: Cell) -> Cell:
    return rounded(value) if rounded is not None and isinstance(value, float) and math.isfinite(value) else value


def _items(rounds: Sequence[Callable[[float], float] | None], value: Cell) -> Cell:
    """An array, which is a text, with each of its items rounded.

    >>> _items([_nearest(1), None, _nearest(0)], "{1.234,5.678,NULL}")
    '{1.2,5.678,NULL}'
    """
    if not isinstance(value, str):
        return value
    texts = value.strip("{}").split(",")
    if len(texts) != len(rounds):
        return value
    return "{" + ",".join(map(_item, texts, rounds)) + "}"


def _item(text: str, rounded: Callable[[float], float] | None) -> str:
    if rounded is None or text == "NULL" or not math.isfinite(number := float(text)):
        return text
    return str(rounded(number)).removesuffix(".0")


def _item_decimals(rows: Sequence[tuple[float, ...]]) -> list[int | None]:
    """The decimal places of each item of a column of arrays.

    >>> _item_decimals([(0.5, math.inf), (0.02, math.inf)])
    [3, None]
    """
    found: list[int | None] = []
    for widths in zip_longest(*rows, fillvalue=0.0):
        known = [one for one in widths if one > 0 and math.isfinite(one)]
        found.append(places(min(known)) if known else None)
    return found


def _decimals(answer: Answer) -> dict[int, int]:
    """The decimal places of each measured column of doubles."""
    doubles = [at for at, column in enumerate(answer.columns) if column.type.kind is Kind.DOUBLE]
    if not doubles:
        return {}
    found = {}
    margins = list(answer.margins)
    for at in doubles:
        known = [float(row[at]) for row in margins if row[at] is not None]  # type: ignore[arg-type]
        if smallest := min((one for one in known if one > 0 and math.isfinite(one)), default=0.0):
            found[at] = places(smallest)
    return found


def _has_ends(columns: Sequence[AnswerColumn], at: int) -> bool:
    names = [column.name for column in columns[at + 1 : at + 3]]
    return names == [f"{columns[at].name}_low", f"{columns[at].name}_high"]


def _nearest(decimals: int) -> Callable[[float], float]:
    return lambda value: round(value, decimals)


def _outwards(to: Callable[[float], int], decimals: int) -> Callable[[float], float]:
    """To a shorter number that is not inside; the number itself where floating point has none.

    >>> _outwards(math.floor, 2)(1.239), _outwards(math.ceil, 2)(1.231)
    (1.23, 1.24)
    """

    def rounded(value: float) -> float:
        scaled = value * 10.0**decimals
        if not abs(scaled) < 2**53:
            return value
        found = to(scaled) / 10.0**decimals
        return found if (found <= value if to is math.floor else found >= value) else value

    return rounded
