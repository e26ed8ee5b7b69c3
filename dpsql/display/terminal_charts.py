"""Charts for a terminal: a bar a row, and the interval of each measured number on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpsql.releases import Cell, bar, cell

if TYPE_CHECKING:
    from dpsql.reply import Answer

MOST_ROWS = 60
_LABEL = 26  # an instant with its zone has 25


def chart_lines(answer: Answer, width: int = 80) -> list[str]:
    """A chart of the first measured column, or the first numeric one, over the columns before it; none for one row.

    >>> from dpsql.reply import Answer, AnswerColumn
    >>> from rewriter.declared import BIGINT, TEXT
    >>> columns = AnswerColumn("sex", TEXT), AnswerColumn("n", BIGINT)
    >>> margins, lows, highs = ([(None, of_f), (None, of_m)] for of_f, of_m in ((20, 20), (80, 30), (120, 70)))
    >>> print(*chart_lines(Answer(columns, (("F", 100), ("M", 50)), margins, lows, highs), 40), sep=chr(10))
    n, with 95 % intervals
    F ███████████████████├───┼────┤ 100 ± 20
    M ███████├────┼───┤              50 ± 20

    Instants are shown whole.

    >>> instants = ("2013-01-01 00:00:00+00:00",), ("2013-02-01 00:00:00+00:00",)
    >>> rows = [(text, 100) for text, in instants]
    >>> chart_lines(Answer(columns, rows, [(None, 20.0)] * 2, [(None, 80.0)] * 2, [(None, 120.0)] * 2))[2][:26]
    '2013-02-01 00:00:00+00:00 '
    """
    at = _charted(answer)
    rows = [row for row in range(len(answer.rows)) if at is not None and _number(answer.rows[row][at]) is not None]
    if at is None or len(rows) < 2:
        return []
    values = {row: _number(answer.rows[row][at]) or 0.0 for row in rows}
    ends = {row: pair or (values.get(row, 0.0),) * 2 for row, pair in enumerate(answer.ends(at))}
    labels = {row: _label(answer, row, at) for row in rows}
    told = {row: _told(answer, row, at) for row in rows}
    shown = rows[:MOST_ROWS]
    wide, right = max(len(labels[row]) for row in shown), max(len(told[row]) for row in shown)
    room = max(10, width - wide - right - 2)
    most = max(max(0.0, ends[row][1]) for row in shown) or 1.0
    lines = [f"{answer.columns[at].name}, with 95 % intervals"]
    for row in shown:
        low, high = ends[row]
        drawn = _bar(values[row] / most, low / most, high / most, room)
        lines.append(f"{labels[row]:<{wide}} {drawn} {told[row]:>{right}}")
    if len(rows) > len(shown):
        lines.append(f"… and {len(rows) - len(shown)} rows more")
    return lines


def _charted(answer: Answer) -> int | None:
    margins = list(answer.margins)
    measured = [at for at in range(len(answer.columns)) if any(row[at] is not None for row in margins)]
    numeric = [at for at, column in enumerate(answer.columns) if column.type.numeric]
    return next(iter([*measured, *numeric]), None)


def _number(value: Cell) -> float | None:
    if value is None or isinstance(value, str | bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except TypeError:
        return None
    return number if math.isfinite(number) else None


def _label(answer: Answer, row: int, at: int) -> str:
    texts = [cell(value) for place, value in enumerate(answer.rows[row][:at]) if place < at] or [str(row + 1)]
    text = ", ".join(texts)
    return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"


def _told(answer: Answer, row: int, at: int) -> str:
    value, margin = answer.rows[row][at], answer.margins[row][at]
    return cell(value, margin) if margin is None else f"{cell(value, margin)} ± {bar(margin, isinstance(value, int))}"


def _bar(value: float, least: float, greatest: float, room: int) -> str:
    """Full up to the value, and its interval over it; what is below 0 has no bar."""
    place, low, high = (round(one * (room - 1)) for one in (value, least, greatest))
    marks = ["█" if at < place else " " for at in range(room)]
    if greatest > least and high - low >= 2:
        for at in range(max(low, 0), min(high, room - 1) + 1):
            marks[at] = "─"
        for at, mark in ((low, "├"), (high, "┤"), (place, "┼")):
            if 0 <= at < room:
                marks[at] = mark
    elif greatest > least and 0 <= place < room:
        marks[place] = "┼"
    return "".join(marks)
