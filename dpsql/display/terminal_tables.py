"""How a number, an error bar, a privacy loss and a table look.

Numbers are written to the precision that their error bars give them: more digits would be noise. No value is
ever cut short, and a text from a database cannot move the cursor of a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from dpsql.releases import Cell, bar, cell


def column(values: Sequence[Cell], margins: Sequence[float | None]) -> list[str]:
    """The cells of one column, values and error bars each in line.

    >>> column([2133, 12], [24.0, 6.5])
    ['2,133 ± 24', '   12 ±  7']
    """
    texts = [cell(value, margin) for value, margin in zip(values, margins, strict=True)]
    bars = [
        "" if margin is None or value is None else bar(margin, isinstance(value, int))
        for value, margin in zip(values, margins, strict=True)
    ]
    if not any(bars):
        return texts
    wide, high = max(map(len, texts)), max(map(len, bars))
    return [
        f"{text:>{wide}} ± {margin:>{high}}" if margin else f"{text:>{wide}}   {'':>{high}}"
        for text, margin in zip(texts, bars, strict=True)
    ]


def grid(headers: Sequence[str], columns: Sequence[Sequence[str]], right: Sequence[bool]) -> Table:
    """A plain table of texts; long cells are folded, never cut."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for header, flush in zip(headers, right, strict=True):
        table.add_column(Text(header), justify="right" if flush else "left", overflow="fold")
    for row in zip(*columns, strict=True):
        table.add_row(*(Text(text) for text in row))
    return table
