"""How the running sums of a release are measured: directly, group by group, or by a prefix strategy.

The strategy with the clearly smaller predicted variance of a prefix is taken, from the bounds on one person's
contribution and the number of public groups alone. A prefix strategy clips every person in the L1 norm, so it does not
pay where people have many rows in different groups and their L2 norm is much smaller.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from rewriter.bound.ball import reach_squared
from rewriter.declared import ContributionBound, Norm
from rewriter.keys import Steps
from rewriter.measure import Vector, Workload
from rewriter.release import Cumulative, aggregate_name
from rewriter.strategies import LONGEST, Prefix, PrefixStrategy, Toeplitz, best_tree

_MOST_STEPS = 1 << 26
"""Of one unit: beyond, what is measured in place of the groups would not fit into the noise that there is."""

_WORTHWHILE = 1.5
"""How often the variance of a running sum must fall: less would not pay for what the groups alone lose in accuracy."""

_WORTHWHILE_ALONE = 1.1
"""The same of windows that move, where the groups are not shown."""


_ROWS = "windows have a row for each group that the policy declares, whether or not anybody is in it"
_FRAMES = "frames of windows count each group that the policy declares as a row, whether or not anybody is in it"


def with_prefixes(
    work: Workload, cumulative: Cumulative, steps: Steps, contribution: ContributionBound, norm: Norm, *, ended: bool
) -> Workload:
    """The workload, with a prefix strategy for every vector of which running sums are made where it lowers their error.

    ``steps`` are the groups along the keys of ``cumulative``. ``ended``: empty ones at the ends are left out.
    """
    vectors: list[Vector] = []
    notes: list[str] = []
    if not ended:
        notes = [_ROWS]
    elif cumulative.frame is not None:
        notes = [_FRAMES]
    for vector in work.vectors:
        prefix = _chosen(vector, work, cumulative, steps, contribution, norm)
        vectors.append(replace(vector, prefix=prefix[0]) if prefix else vector)
        if prefix:
            strategy = prefix[0].strategy
            what = "running sums" if strategy.width is None else f"sums of {strategy.width} neighbours"
            notes.append(
                f"{what} over at most {steps.most} groups are measured as such: their error is about"
                f" {math.sqrt(prefix[1]):.2g} times smaller than that of adding up as many groups"
            )
    return replace(work, vectors=tuple(vectors), notes=(*work.notes, *dict.fromkeys(notes)))


def _chosen(
    vector: Vector, work: Workload, cumulative: Cumulative, steps: Steps, contribution: ContributionBound, norm: Norm
) -> tuple[Prefix, float] | None:
    """A prefix strategy, and by how much it lowers the variance of a prefix."""
    if not _is_wanted(vector, work, cumulative):
        return None
    direct, clipped = reach_squared(vector, norm, contribution), reach_squared(vector, Norm.L1, contribution)
    if direct is None or clipped is None or clipped > _MOST_STEPS**2:
        return None
    strategy = _strategy(steps, norm, None if cumulative.frame is None else cumulative.frame.width)
    if strategy is None:
        return None
    spread = strategy.variance * (strategy.l1**2 if norm is Norm.L1 else strategy.l2_squared)
    gain = float(Fraction(direct, clipped)) * strategy.groups / spread
    worth = _WORTHWHILE_ALONE if cumulative.alone and strategy.width is not None else _WORTHWHILE
    return (Prefix(strategy, cumulative.order, cumulative.descending), gain) if gain >= worth else None


def _strategy(steps: Steps, norm: Norm, width: int | None) -> PrefixStrategy | None:
    """The best that there is for so many groups. A tree loses where there are far fewer than it was made for."""
    width = None if width is None or width >= steps.most else width
    if norm is Norm.L2 and steps.most <= LONGEST:
        return Toeplitz(steps.most, width)
    return best_tree(steps.most, squared=norm is Norm.L2, width=width) if steps.tight else None


def _is_wanted(vector: Vector, work: Workload, cumulative: Cumulative) -> bool:
    """Whether running sums are made of it, and every part of it is one statistic, so that it can be finished alone."""
    names = {cell.name for cell in vector.cells}
    sums = set(map(aggregate_name, cumulative.aggregates))
    used = [output for output in work.outputs if names.intersection(output.estimator.statistics)]
    parts = [part for part in work.parts if names & {name for name, _ in part.estimator.terms}]
    simple = all(len(part.estimator.terms) == 1 for part in parts)
    return simple and any(output.name in sums for output in used) and all(output.parts for output in used)
