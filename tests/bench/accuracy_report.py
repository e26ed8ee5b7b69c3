"""The tables of the comparison that a person reads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from .accuracy_measured import APPROACHES, OURS, PLAIN, PURE, Accuracy, Compared
from .promise import Promise


def show(results: Sequence[Compared], console: Console) -> None:
    table = Table(title="Root mean square error over all cells, at the same price", title_justify="left")
    table.add_column("question")
    for heading in (*APPROACHES, "factor, zcdp", "pure", "target"):
        table.add_column(heading, justify="right")
    for result in results:
        shown = [_shown(result.by[name]) for name in APPROACHES]
        factors = [_factor(result, OURS), _factor(result, PURE)]
        target = result.question.target
        table.add_row(result.question.name, *shown, *factors, "" if target is None else f"≥ {target:g}")
    console.print(table)
    _show_levels(results, console)
    for reason in sorted({found.refused for r in results for found in r.by.values() if found.refused}):
        console.print(f"refused: {reason}")


def show_promised(results: Sequence[Compared], promise: Promise, console: Console) -> None:
    """At one promise: the factor is to the best of the other systems, not to the weakest."""
    table = Table(title=f"Root mean square error over all cells, {promise}", title_justify="left")
    table.add_column("question")
    names = list(results[0].by) if results else []
    for heading in (*names, "best other / best of dpsql"):
        table.add_column(heading, justify="right")
    for result in results:
        shown = [_shown(result.by[name]) for name in names]
        table.add_row(result.question.name, *shown, f"{result.best_other() / result.best_own():.2f}×")
    console.print(table)


def _show_levels(results: Sequence[Compared], console: Console) -> None:
    """Errors of totals and of groups apart, and the median error of a cell in relation to its truth."""
    table = Table(title="The same by how many keys a cell has, and the median of |error| / truth", title_justify="left")
    table.add_column("question")
    table.add_column("approach")
    for heading in ("total", "1 key", "2 keys", "3 keys", "relative"):
        table.add_column(heading, justify="right")
    for result in results:
        for name in (OURS, PURE, PLAIN):
            found = result.by[name]
            if found.levels is not None:
                levels = (found.levels.get(str(level)) for level in range(4))
                shown = ("" if error is None else f"{error:.3g}" for error in levels)
                table.add_row(result.question.name, name, *shown, f"{found.median_relative:.1%}")
    console.print(table)


def _shown(found: Accuracy) -> str:
    return "refused" if found.refused else f"{found.rmse:.3g} ± {found.uncertainty / found.rmse:.0%}"


def _factor(result: Compared, approach: str) -> str:
    factor = result.factor(approach)
    return "" if math.isnan(factor) else f"{factor:.1f}×"
