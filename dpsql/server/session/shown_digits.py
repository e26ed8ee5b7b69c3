"""The digits of measured numbers that mean something, on the wire: others are noise, and fill a client's screen.

A number keeps its type, and stays within a twentieth of its error bar. A column has
one number of decimal places, that of its smallest error, so that rows stay in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dpsql.releases import Cell, places
from dpsql.reply import Answer, AnswerColumn
from rewriter.declared import Kind

Row = tuple[Cell, ...]


def meaningful(answer: Answer, *, intervals: bool) -> tuple[Row, ...]:
    """The rows of an answer, rounded. With ``intervals``, the two columns after a measured one are its ends: they are
    rounded outwards."""
    rounds: dict[int, Callable[[float], float]] = {}
    for at, decimals in _decimals(answer).items():
        rounds[at] = _nearest(decimals)
        if intervals and _has_ends(answer.columns, at):
            rounds[at + 1], rounds[at + 2] = _outwards(math.floor, decimals), _outwards(math.ceil, decimals)
    if not rounds:
        return answer.rows
    usual = [rounds.get(at) for at in range(len(answer.columns))]
    return tuple(
        tuple(
            value if rounded is None or not isinstance(value, float) or not math.isfinite(value) else rounded(value)
            for value, rounded in zip(row, usual, strict=True)
        )
        for row in answer.rows
    )


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
