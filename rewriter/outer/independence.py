"""Columns of the outer SELECT whose errors follow from the released rows that they are made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rewriter.outer.provenance import OTHER, Either, Measured, Other, Running, is_moderate, slots_of
from rewriter.outer.tracing import Traced
from rewriter.plan import Linear, Plan
from rewriter.release import Along
from rewriter.strategies import Prefix


def independent(column: Measured, traced: Traced, plans: Mapping[str, Sequence[Plan]]) -> Measured:
    """The column, where its error follows from its rows alone; else :data:`OTHER`. ``plans`` are by released table.

    Groups that running sums are measured of depend on each other, and only a plan that measures a running sum says how
    far off it is. Numbers of hundreds of digits are tried on replicates.
    """
    if not is_moderate(column.form):
        return OTHER
    if isinstance(column.form, Either):
        branches = tuple(independent(branch, traced, plans) for branch in column.form.branches)
        known = not any(isinstance(branch.form, Other) for branch in branches)
        other = replace(OTHER, nonnegative=column.nonnegative, most=column.most)
        return replace(column, form=Either(branches)) if known else other
    slots = slots_of(column.form)
    behind = [plan for slot in slots for name in traced.origins[slot].tables for plan in plans[name]]
    if isinstance(column.form, Running):
        name = column.form.term[1]
        return column if all(name in running_outputs(plan, column.form.window) for plan in behind) else OTHER
    if any(traced.origins[slot].total is not None for slot in slots) and not _adds_up(slots, traced, plans):
        return OTHER
    together = len(slots) > 1 and any(block.prefix is not None for plan in behind for block in plan.blocks)
    return OTHER if together else column


def _adds_up(slots: Collection[int], traced: Traced, plans: Mapping[str, Sequence[Plan]]) -> bool:
    """Whether the noise of totals, and of rows beside them, is known.

    It is where one measurement has all rows of a table, each with noise of its own, and none is shown because its
    number came out high.
    """
    for slot in slots:
        behind = [plan for name in traced.origins[slot].tables for plan in plans[name]]
        if len(behind) != 1 or behind[0].selection is not None or any(block.prefix for block in behind[0].blocks):
            return False
        sums = {output.name for output in behind[0].outputs if output.estimator.as_sum is not None}
        if not sums <= running_outputs(behind[0], Along((), descending=False)).keys():
            return False
    return True


def running_outputs(plan: Plan, window: Along | None = None) -> Mapping[str, Linear]:
    """Outputs whose sums along a window have a known error, by name: their statistics are all measured for that order,
    or are all independent from group to group. Without a window, those that are measured for their running sums."""
    names = {
        one.name
        for block in plan.blocks
        if (block.prefix is None and window is not None)
        or (block.prefix is not None and runs_along(block.prefix, window))
        for one in block.statistics
    }
    return {
        output.name: total
        for output in plan.outputs
        if (total := output.estimator.as_sum) is not None and names.issuperset(total.statistics)
    }


def runs_along(prefix: Prefix, window: Along | None) -> bool:
    """Whether a measurement is made for the order of a window; any is, where none is named."""
    return window is None or (prefix.order, prefix.descending) == (window.order, window.descending)
