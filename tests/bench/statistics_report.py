"""The tables of the comparison of statistics that a person reads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from .promise import Promise
from .statistics_measured import APPROACHES, OURS, PURE, Accuracy, Compared
from .statistics_time import TARGET, Timed

COVERED = (0.935, 0.975)
"""What a 95 % interval should cover."""


def show(results: Sequence[Compared], promise: Promise, console: Console) -> None:
    """The factor is to the best of the other systems, not to the weakest."""
    table = Table(title=f"Root mean square error, or the part of the largest groups found, {promise}")
    table.add_column("question")
    for heading in (*APPROACHES, "best other / best of dpsql"):
        table.add_column(heading, justify="right")
    for result in results:
        top = result.question.kind == "top"
        shown = [_shown(result.by[name], top=top) for name in APPROACHES]
        table.add_row(result.question.name, *shown, _times(result.factor()))
    console.print(table)
    _show_coverage(results, console)
    for reason in sorted({found.refused for r in results for found in r.by.values() if found.refused}):
        console.print(f"refused: {reason}")


def show_times(timed: Sequence[Timed], console: Console) -> None:
    table = Table(title="A median over all lines of TPC-H: median times, by turns with the engine's own exact median")
    table.add_column("people")
    for heading in ("rows", "DuckDB ms", "dpsql ms", "ratio", "target", "met"):
        table.add_column(heading, justify="right")
    for time in timed:
        numbers = (
            f"{time.rows:,}",
            f"{time.raw:.0f}",
            f"{time.whole:.0f}",
            f"{time.ratio:.1f}×",
        )
        goal = (f"≤ {TARGET:g}", "yes" if time.ratio <= TARGET else "no") if time.goal else ("", "")
        table.add_row(time.people, *numbers, *goal)
    console.print(table)


def _show_coverage(results: Sequence[Compared], console: Console) -> None:
    table = Table(title="Part of the 95 % intervals that hold the truth; it should be 93.5 to 97 %")
    table.add_column("question")
    for heading in (OURS, "", PURE, ""):
        table.add_column(heading, justify="right")
    for result in results:
        found = [result.by[name] for name in (OURS, PURE)]
        if any(one.intervals for one in found):
            table.add_row(result.question.name, *(text for one in found for text in _coverage(one)))
    console.print(table)


def _coverage(found: Accuracy) -> tuple[str, str]:
    if not found.intervals:
        return "", ""
    low, high = COVERED
    twice = 2 * found.coverage_uncertainty
    held = low - twice <= found.coverage <= high + twice
    return f"{found.coverage:.1%} ± {twice:.1%}", "yes" if held else "no"


def _shown(found: Accuracy, *, top: bool) -> str:
    if found.refused:
        return "—"
    if top:
        return f"{found.error:.3f}"
    missing = f", {found.missing:.0%} NULL" if found.missing else ""
    return f"{found.error:.3g} ± {found.uncertainty / found.error:.0%}{missing}" if found.error else "0"


def _times(factor: float) -> str:
    return "" if math.isnan(factor) else f"{factor:.2f}×"
