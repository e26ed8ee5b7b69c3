"""``dpsql synthesize``: made-up rows of a table, from counts that are bought as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console

from dpsql.accounting import PrivacyLoss
from dpsql.display import grid
from dpsql.errors import DataError
from dpsql.interfaces.commands.workload_command import price_of
from dpsql.price_text import left_over, loss
from dpsql.proxy import Proxy
from dpsql.releases import bar
from dpsql.synthetic import (
    AdaptiveModel,
    AdaptivePlan,
    Comparison,
    Draw,
    Marginals,
    MarginalsPlan,
    MeanCompared,
    ReleasedCounts,
    compared,
    made_table,
    means,
)

_SHOWN = 15
"""The most pairs of columns that are shown one by one."""


def synthesize(
    policy: Path,
    table: str,
    output: Path,
    draw: Draw,
    console: Console,
    tell: Callable[[str], None],
    *,
    analyst: str | None = None,
    epsilon: str | None = None,
    only: Sequence[str] = (),
    rows: int | None = None,
    price_only: bool = False,
    adaptive: Callable[[Mapping[str, int]], AdaptiveModel] | None = None,
) -> None:
    """Say what counts are bought at which price, buy them, draw rows from a model of them, write these into a new
    file, and print how well they answer. An ``adaptive`` model chooses its counts round by round, where losses add up
    as rounds need it; else all pairs are bought. Raises :class:`dpsql.errors.Error`; nothing was charged unless data
    was to be read."""
    if output.exists():
        raise DataError(f"{output} exists already", sqlstate="58P02", hint="name another file with --output")
    if not output.parent.is_dir():
        raise DataError(f"there is no folder {output.parent}", sqlstate="58P01", hint="name another one with --output")
    price = None if epsilon is None else price_of(epsilon)
    proxy = Proxy.open(policy)
    try:
        session = proxy.session(analyst)
        marginals = Marginals(proxy, session, table, only)
        way = _way(marginals, price, draw, adaptive)
        plan = way.plan
        if adaptive is not None and not isinstance(plan, AdaptivePlan):
            tell("Counts are not chosen in rounds: this policy's budget or table does not allow it.")
        for line in _told(plan, marginals.table.name):
            tell(line)
        if price_only:
            tell(f"Left after it: {left_over(session.budget_after(plan.loss))}")
            return
        measured, charged = way.bought()
        tell(f"Bought: {loss(charged)} was charged." if charged else "Bought before: nothing was charged.")
        tell(f"Left: {left_over(session.budget())}")
    finally:
        proxy.close()
    cells = way.drawn(measured, rows)
    counts = compared(plan.attributes, tuple(dict.fromkeys(one.names for one in measured)), measured, cells)
    made = made_table(marginals.table, plan.attributes, cells, counts)
    pq.write_table(made, output)
    show(counts, list(means(plan.attributes, measured, cells)), console)
    console.print(f"{made.num_rows:,} made-up rows are in {output}. None of them is of a person.", highlight=False)


@dataclass(frozen=True, slots=True)
class _Way:
    """How counts are bought for a plan, and how rows are drawn of them."""

    plan: MarginalsPlan | AdaptivePlan
    bought: Callable[[], tuple[Sequence[ReleasedCounts], PrivacyLoss]]
    drawn: Callable[[Sequence[ReleasedCounts], int | None], Mapping[str, np.ndarray]]


def _way(
    marginals: Marginals,
    price: Fraction | None,
    draw: Draw,
    adaptive: Callable[[Mapping[str, int]], AdaptiveModel] | None,
) -> _Way:
    chosen = None if adaptive is None else marginals.adaptive(price)
    if adaptive is not None and chosen is not None:
        model = adaptive({one.name: one.cells for one in chosen.attributes})
        return _Way(chosen, partial(marginals.choose, chosen, model), model.rows)
    plan = marginals.plan(price)

    def bought() -> tuple[Sequence[ReleasedCounts], PrivacyLoss]:
        charged = marginals.buy(plan, price)
        return marginals.read(plan), charged

    return _Way(plan, bought, partial(draw, {one.name: one.cells for one in plan.attributes}))


def _told(plan: MarginalsPlan | AdaptivePlan, table: str) -> list[str]:
    names = ", ".join(one.name for one in plan.attributes)
    if isinstance(plan, AdaptivePlan):
        many = sum(len(one) > 1 for one in plan.cliques)
        lines = [f"Rows of {table} are counted by {names}, and by some of {many} pairs and triples, chosen in rounds."]
    else:
        pairs = sum(len(one) == 2 for one in plan.cliques)
        lines = [f"Rows of {table} are counted by {names}, and by {pairs} pairs of them."]
    lines += [f"{one.name} is left NULL: it {one.why}." for one in plan.without]
    price = f"{loss(plan.loss)}, with one charge" if plan.loss else "nothing: they were bought before"
    return [*lines, f"The price of these counts: {price}."]


def show(counts: Sequence[Comparison], averages: Sequence[MeanCompared], console: Console) -> None:
    """Released counts and means, beside those of made-up rows: single columns, then the pairs that are worst."""
    single = [one for one in counts if len(one.names) == 1]
    pairs = sorted((one for one in counts if len(one.names) > 1), key=lambda one: one.margin - one.off)
    shown = [*single, *pairs[:_SHOWN]]
    console.print(
        grid(
            ["counts by", "groups", "error of a released count", "made-up counts differ by"],
            [
                [", ".join(one.names) for one in shown],
                [f"{one.groups:,}" for one in shown],
                [f"± {bar(one.margin)}" for one in shown],
                [bar(one.off) for one in shown],
            ],
            [False, True, True, True],
        )
    )
    if len(pairs) > _SHOWN:
        rest = pairs[_SHOWN:]
        worst = bar(max(one.off for one in rest))
        console.print(f"{len(rest)} more counts: made-up counts differ by {worst} at most.", highlight=False)
    if averages:
        console.print(
            grid(
                ["mean of", "by released counts", "of made-up rows"],
                [
                    [one.name for one in averages],
                    [f"{one.released:,.4g} ± {bar(float(np.hypot(one.margin, one.width)))}" for one in averages],
                    [f"{one.made_up:,.4g}" for one in averages],
                ],
                [False, True, True],
            )
        )
    console.print(
        "95 % of the made-up counts differ by no more than that from the released ones, which have their own error."
        " Counts by other columns were not measured: nothing is promised of those.",
        highlight=False,
    )
