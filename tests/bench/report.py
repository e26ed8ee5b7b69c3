"""The tables that a person reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from .measured import Result
from .queries import FINEST, ROLLUP, TOTALS
from .small import GOALS, KINDS, ROWS, FixedCost

GOAL = 1.3
"""Times the SQL that an expert would write, and a statement's fixed cost: no statement may take longer."""
LEVELS_GOAL = 1.2
"""Times its finest level: what totals beside it may take."""


def show_results(scale: float, results: Sequence[Result], console: Console) -> None:
    times = Table(title=f"TPC-H at scale {scale:g}: processor time of one process, forms by turns; errors at ε = 1")
    times.add_column("query")
    for heading in ("raw ms", "by hand", "bounded", "whole", f"goal: {GOAL} by hand", "beyond, ms", "error"):
        times.add_column(heading, justify="right")
    for result in results:
        ratios = {form: f"{ratio:.2f}×" for form, ratio in result.of_raw.items()}
        goal = f"{GOAL * result.of_raw['by_hand']:.2f}×"
        shown = (*ratios.values(), goal, f"{result.beyond:.1f}", f"{result.error:.2g}")
        times.add_row(result.name, f"{result.cpu['raw']:.1f}", *shown)
    console.print(times)
    whole = {result.name: result.cpu["whole"] for result in results}
    for levels in (ROLLUP, TOTALS):
        if levels.name in whole and FINEST.name in whole:
            times_finest = whole[levels.name] / whole[FINEST.name]
            console.print(f"{levels.name}: {times_finest:.2f}× its finest level; goal {LEVELS_GOAL}×")
    _show_stages("Where the time of the whole statement goes", {r.name: r.stages for r in results}, console)


def show_fixed_costs(costs: Sequence[FixedCost], console: Console) -> None:
    table = Table(title=f"Milliseconds of CPU of a statement over {ROWS:,} rows: medians, and 99 % quantiles")
    table.add_column("statement")
    for kind in KINDS:
        for heading in (kind, "p99", "goal"):
            table.add_column(heading, justify="right")
    for cost in costs:
        cells = []
        for kind in KINDS:
            goal = GOALS.get(cost.name, {}).get(kind)
            cells += [f"{cost.typical[kind]:.1f}", f"{cost.worst[kind]:.1f}", "" if goal is None else f"{goal:g}"]
        table.add_row(cost.name, *cells)
    console.print(table)
    stages = {f"{c.name}, {kind}": getattr(c, f"{kind}_stages") for c in costs for kind in ("cold", "cached")}
    _show_stages("Where those milliseconds go", stages, console)


def _show_stages(title: str, rows: Mapping[str, Mapping[str, float]], console: Console) -> None:
    table = Table(title=f"{title} (ms, means)")
    table.add_column("")
    for stage in next(iter(rows.values())):
        table.add_column(stage, justify="right")
    for name, stages in rows.items():
        table.add_row(name, *(f"{milliseconds:.2f}" for milliseconds in stages.values()))
    console.print(table)
