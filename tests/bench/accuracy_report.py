"""The tables of the comparison that a person reads."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from .accuracy_measured import APPROACHES, OWN, PLAIN, PLAIN_GAUSSIAN, Accuracy, Compared
from .promise import Promise


def show(results: Sequence[Compared], promise: Promise, console: Console) -> None:
    """The factor is to the best of the other systems, not to the weakest."""
    table = Table(title=f"Root mean square error over all cells, {promise}", title_justify="left")
    table.add_column("question")
    for heading in (*APPROACHES, "best other / best of dpsql"):
        table.add_column(heading, justify="right")
    for result in results:
        shown = [_shown(result.by[name]) for name in APPROACHES]
        table.add_row(result.question.name, *shown, f"{result.factor():.2f}×")
    console.print(table)
    _show_levels(results, console)
    for reason in sorted({found.refused for r in results for found in r.by.values() if found.refused}):
        console.print(f"refused: {reason}")


def _show_levels(results: Sequence[Compared], console: Console) -> None:
    """Errors of totals and of groups apart, and the median error of a cell in relation to its truth."""
    table = Table(title="The same by how many keys a cell has, and the median of |error| / truth", title_justify="left")
    table.add_column("question")
    table.add_column("approach")
    for heading in ("total", "1 key", "2 keys", "3 keys", "relative"):
        table.add_column(heading, justify="right")
    for result in results:
        for name in (*OWN, PLAIN, PLAIN_GAUSSIAN):
            found = result.by[name]
            if found.levels is not None:
                levels = (found.levels.get(str(level)) for level in range(4))
                shown = ("" if error is None else f"{error:.3g}" for error in levels)
                table.add_row(result.question.name, name, *shown, f"{found.median_relative:.1%}")
    console.print(table)


def _shown(found: Accuracy) -> str:
    return "refused" if found.refused else f"{found.rmse:.3g} ± {found.uncertainty / found.rmse:.0%}"
