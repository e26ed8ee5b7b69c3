"""Answers, explanations and refusals as a person sees them, drawn with rich.

Everything reads without colour and in 80 columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from dpsql.display.explained_plan import explanation, explanation_lines
from dpsql.display.terminal_tables import column, grid
from dpsql.errors import Error
from dpsql.price_text import price_line
from dpsql.releases import Cell, cell, list_cell

if TYPE_CHECKING:
    from dpsql.reply import Answer

__all__ = ["answer_table", "explanation", "explanation_lines", "price_line", "refusal", "rows_line", "vertical_lines"]


def answer_table(answer: Answer) -> Table:
    """The rows of an answer, each measured value with the half-width of its 95 % interval."""
    columns = []
    for position in range(len(answer.columns)):
        columns.append(_texts(answer, position))
    headers = [named.name for named in answer.columns]
    return grid(headers, columns, [named.type.numeric for named in answer.columns])


def _texts(answer: Answer, position: int) -> list[str]:
    values = [row[position] for row in answer.rows]
    if (items := answer.items.get(position)) is not None:
        return list(map(_list, values, items))
    return column(values, [row[position] for row in answer.margins])


def _list(value: Cell, widths: tuple[float, ...]) -> str:
    return list_cell(value, widths) if isinstance(value, str) else cell(value)


def rows_line(answer: Answer) -> str:
    """How many rows, as psql says it, and what ± means where there is one."""
    count = len(answer.rows)
    told = f"({count} row{'' if count == 1 else 's'}"
    measured = bool(answer.items) or any(margin is not None for row in answer.margins for margin in row)
    return f"{told}; ± is the 95 % error)" if measured else f"{told})"


def vertical_lines(answer: Answer) -> list[str]:
    """Each row as a block of lines, a line a column, as psql's expanded display has them."""
    wide = max(len(column.name) for column in answer.columns)
    found = []
    for number, (row, margins) in enumerate(zip(answer.rows, answer.margins, strict=True)):
        found.append(f"-[ {number + 1} ]".ljust(wide + 20, "-"))
        for position, (named, value, margin) in enumerate(zip(answer.columns, row, margins, strict=True)):
            items = answer.items.get(position)
            told = column([value], [margin])[0] if items is None else _list(value, items[number])
            found.append(f"{named.name:<{wide}} | {told}")
    return found


def refusal(problem: Error, sql: str = "") -> str:
    """An error as psql prints one: SQLSTATE, the line with a caret under the position, the hint.

    >>> from dpsql.errors import NotSupportedError
    >>> print(refusal(NotSupportedError("no rows of people", sqlstate="42501", hint="ask for COUNT(*)", position=8),
    ...               "SELECT * FROM patient"))
    ERROR 42501: no rows of people
    LINE 1: SELECT * FROM patient
                   ^
    HINT: ask for COUNT(*)
    """
    lines = [f"ERROR {problem.sqlstate}: {problem.message}"]
    lines += _caret(sql, problem.position)
    if problem.hint:
        lines.append(f"HINT: {problem.hint}")
    return "\n".join(lines)


def _caret(sql: str, position: int | None) -> list[str]:
    if position is None or not 1 <= position <= len(sql):
        return []
    before = sql[: position - 1]
    line = before.count("\n") + 1
    start = before.rfind("\n") + 1
    text = sql[start:].split("\n", 1)[0].expandtabs(1)
    label, offset = f"LINE {line}: ", position - 1 - start
    # A long line is shown around the position, so that the caret does not wrap.
    cut = max(0, offset - 30)
    head, tail = ("…" if cut else ""), ("…" if len(text) > cut + 60 else "")
    return [f"{label}{head}{text[cut : cut + 60]}{tail}", " " * (len(label) + len(head) + offset - cut) + "^"]
