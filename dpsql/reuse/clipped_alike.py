"""A release of rows as a workload measures it: people are clipped by one factor, whatever the keys are.

Guarantee: it sees plans alone. What a statement asks for is the same in both forms, sums over rows of which a person
counts with so many; only those who have more are clipped in another way. So a statement is made of what a workload
measured of the same rows, whichever norm its own plan clips people in.
"""

from __future__ import annotations

from dataclasses import replace

from rewriter.plan import Plan


def clipped_alike(plan: Plan) -> Plan | None:
    """The plan over the statistics that a workload has for it; None where its people have one row, or where a workload
    measures it by itself."""
    question = plan.question
    planned = None if question is None or not question.is_clipped else question.with_others([question])
    if planned is None:
        return None
    joint, (places,) = planned
    outputs = (
        replace(output, estimator=joint.outputs[place].estimator, parts=joint.outputs[place].parts)
        for output, place in zip(plan.outputs, places, strict=True)
    )
    return replace(
        plan,
        sql=joint.sql,
        blocks=joint.blocks,
        outputs=tuple(outputs),
        parts=joint.parts,
        orders=joint.orders,
        drill_downs=joint.drill_downs,
    )
