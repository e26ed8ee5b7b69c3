"""Plans with steps, read at numbers of ours: what a person moves is bounded whatever was released before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from dpsql.releases import ExactTable
from rewriter.declared import Scalar
from rewriter.plan import Plan, PlanStep

_MOST = 1 << 25
"""Times the most steps of a variable, 2¹⁴, this is the largest number that a step takes."""


def points(step: PlanStep, groups: int) -> dict[str, list[int]]:
    """A number for each group and name: the same ones for the same names in every database."""
    names = sorted(set(re.findall(r"dpsql_point_\d+", step.sql)))
    found = {}
    for name in names:
        chance = Random(name)
        found[name] = [chance.choice((0, 1, -1, chance.randint(-_MOST, _MOST), _MOST, -_MOST)) for _ in range(groups)]
    return found


def later_reads(plan: Plan, keys: Sequence[tuple[Scalar | None, ...]]) -> list[Plan]:
    """What is read of each step."""
    groups = len(keys) if plan.keys else 1
    return [plan.at_step(step, keys, points(step, groups)) for step in plan.steps]


def read_in_steps(run: Callable[[Plan], ExactTable], plan: Plan) -> ExactTable:
    """The exact table of a plan, with those of its steps."""
    table = run(plan.first_read)
    for later in later_reads(plan, table.keys):
        table = replace(table, statistics={**table.statistics, **run(later).statistics})
    return table
