"""Answers and explanations for a notebook: HTML that stands alone, with every text escaped."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from dpsql.price_text import left_over, price_line, price_lines
from dpsql.releases import bar, cell, list_cell

if TYPE_CHECKING:
    from dpsql.reply import Answer, Explanation

MOST_ROWS = 200


def answer_html(answer: Answer) -> str:
    """A table; beside each measured number its error, and a bar of its size with its interval."""
    if not answer.columns:
        return f"<p>{escape(answer.tag)}</p>"
    margins = list(answer.margins)
    ends = [_end(answer, margins, at) for at in range(len(answer.columns))]
    head = "".join(f"<th>{escape(column.name)}</th>" for column in answer.columns)
    body = []
    for number, (row, margin) in enumerate(list(zip(answer.rows, margins, strict=True))[:MOST_ROWS]):
        cells = []
        for at, (value, width, column, end) in enumerate(zip(row, margin, answer.columns, ends, strict=True)):
            items = answer.items.get(at)
            told = escape(cell(value, width))
            if items is not None and isinstance(value, str):
                told = escape(list_cell(value, items[number]))
            if width is not None and value is not None:
                told += f" ± {bar(width, isinstance(value, int))}"
                if math.isfinite(width):
                    told += f" {_drawn(float(value), width, end)}"  # type: ignore[arg-type]
            side = "right" if column.type.numeric else "left"
            cells.append(f'<td style="text-align:{side}">{told}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    more = f"<p>{len(answer.rows) - MOST_ROWS} rows more</p>" if len(answer.rows) > MOST_ROWS else ""
    notes = "".join(f"<li>{escape(notice)}</li>" for notice in answer.notices)
    said = f"<details><summary>notes</summary><ul>{notes}</ul></details>" if notes else ""
    price = escape(price_line(answer)).replace("\n", " ")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{more}<p>{price}</p>{said}"


def explanation_html(told: Explanation) -> str:
    """The columns with their expected errors, and the price."""
    rows = "".join(
        f"<tr><td>{escape(column.name)}</td><td>{escape(str(column.type))}</td>"
        f"<td>{'' if error is None else f'± {bar(error)}'}</td></tr>"
        for column, error in zip(told.columns, told.expected, strict=True)
    )
    left = told.remaining_after
    price = [*(price_lines(told.price, told.epsilon, left, "Price") or ["Price: nothing."])]
    price.append(f"It would leave {left_over(left)}.")
    head = "<tr><th>column</th><th>type</th><th>expected 95 % error</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table><p>{escape(' '.join(price))}</p>"


def _end(answer: Answer, margins: list[tuple[float | None, ...]], at: int) -> float:
    """The largest number that a bar of a column has to show."""
    found = [
        abs(float(row[at])) + width  # type: ignore[arg-type]
        for row, margin in zip(answer.rows, margins, strict=True)
        if (width := margin[at]) is not None and row[at] is not None and math.isfinite(width)
    ]
    return max(found, default=0.0) or 1.0


def _drawn(value: float, width: float, end: float) -> str:
    """A bar with its interval, as SVG."""
    long, low, high = (80 * max(0.0, one) / end for one in (value, value - width, value + width))
    return (
        '<svg width="82" height="12" role="img" aria-label="interval">'
        f'<rect x="0" y="2" width="{long:.1f}" height="8" fill="#6f9fdc"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="6" y2="6" stroke="currentColor" stroke-width="2"/></svg>'
    )
