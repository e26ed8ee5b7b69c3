"""The plan of the total from which the row of other groups is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewriter.plan import Plan


def of_total(plan: Plan, aggregates: Sequence[int]) -> Plan:
    """The plan of a total, with no more measured than what these aggregates are made of.

    Where that is everything it is the same plan, and its release serves everybody who asks for the total.
    """
    # What decides in a row is the noise of that row, and not the total's.
    outputs = tuple(replace(plan.outputs[place], decides="") for place in sorted(aggregates))
    needed = {name for output in outputs for name in output.estimator.statistics}
    blocks = tuple(block for block in plan.blocks if needed & {one.name for one in block.statistics})
    if blocks == plan.blocks:
        return replace(plan, outputs=outputs, choices=())
    names = [statistic.name for block in blocks for statistic in block.statistics]
    kept = [place for place, part in enumerate(plan.parts) if set(part.estimator.statistics) <= set(names)]
    at = {place: number for number, place in enumerate(kept)}
    return replace(
        plan,
        sql=f"SELECT {', '.join(names)} FROM ({plan.sql}) AS part",
        blocks=blocks,
        outputs=tuple(replace(one, parts=tuple(at[place] for place in one.parts)) for one in outputs),
        parts=tuple(plan.parts[place] for place in kept),
        orders=tuple((at[low], at[high]) for low, high in plan.orders if low in at and high in at),
        exhaustive=False,
        alone=True,  # it has not all parts that other measurements of the same rows have
        choices=(),
    )
