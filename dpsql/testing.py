"""For tests only, and reachable from no server: the exact statistics behind a query.

These functions break the promise on purpose, so that the promise can be tested: the definition of sensitivity is that
no statistic moves by more than it when one unit comes or goes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpsql.calibrate import marginals_above
from dpsql.opened import Opened, open_policy
from dpsql.releases import Key, Rank
from rewriter.declared import Norm, Sensitivity
from rewriter.front_door import Parameters, Select, parse, rewrite
from rewriter.plan import Plan, PlanStep, Points, Selection


@dataclass(frozen=True, slots=True)
class Measurement:
    """One release before noise. ``groups`` maps each group to its integers by name.

    ``blocks`` are (names of the statistics, joint sensitivity) pairs, ``bounds`` the most that one cell moves, and
    ``granularity`` what one step of a statistic is worth. The selection's weight is among the integers.
    ``ranks`` are what the plan's choices are picked from, by their names.
    """

    plan: Plan
    groups: Mapping[Key, Mapping[str, int]]
    ranks: Mapping[str, Mapping[Key, Sequence[Rank]]] = field(default_factory=dict)

    @property
    def blocks(self) -> tuple[tuple[tuple[str, ...], Sensitivity], ...]:
        return tuple(
            (tuple(statistic.name for statistic in block.statistics), block.sensitivity) for block in self.plan.blocks
        )

    @property
    def bounds(self) -> Mapping[str, int]:
        return {statistic.name: statistic.bound for statistic in self.plan.statistics}

    @property
    def granularity(self) -> Mapping[str, Fraction]:
        return {statistic.name: statistic.granularity for statistic in self.plan.statistics}

    @property
    def selection(self) -> Selection | None:
        return self.plan.selection


def _points(step: PlanStep, number: int, groups: int) -> Points:
    """Numbers that a step might be asked at, the same whatever the data: neighbours are compared at the same ones."""
    names = sorted(set(re.findall(r"\bdpsql_point_\d+\b", step.sql)))
    places = [[place * 31 + number * 17 + group for group in range(groups)] for place in range(len(names))]
    return {
        name: [(one * 2654435761 % (1 << 35) - (1 << 34)) >> (one % 23) for one in some]
        for name, some in zip(names, places, strict=True)
    }


def measure(
    sql: str, policy: str | os.PathLike[str], parameters: Parameters = (), norm: Norm | None = None
) -> tuple[Measurement, ...]:
    """The exact statistics of every release of a query, with their declared sensitivities. Charges nothing.

    ``norm`` is the norm that units are clipped in; by default that of the policy's accounting.
    """
    opened = open_policy(policy)
    try:
        return measured(sql, opened, parameters, norm)
    finally:
        opened.close()


def _plans(sql: str, opened: Opened, parameters: Parameters, norm: Norm | None) -> Sequence[Plan]:
    statement = parse(sql, parameters)
    if not isinstance(statement, Select):
        raise TypeError("only a query has statistics")
    accounting = opened.accountant.accounting
    norms, above = (norm or accounting.norms[0],), marginals_above(accounting)
    return rewrite(statement.tree, opened.catalog, opened.engine.dialect, norms=norms, above=above).plans


def measured(
    sql: str,
    opened: Opened,
    parameters: Parameters = (),
    norm: Norm | None = None,
    plans: Sequence[Plan] | None = None,
) -> tuple[Measurement, ...]:
    """The same over a policy that is open. ``plans`` are those of the statement, where they are known."""
    found = []
    for planned in _plans(sql, opened, parameters, norm) if plans is None else plans:
        exact = opened.engine.run(planned.first_read)
        groups = {
            key: {name: column[row] for name, column in exact.statistics.items()} for row, key in enumerate(exact.keys)
        }
        for number, step in enumerate(planned.steps):
            later = opened.engine.run(planned.at_step(step, exact.keys, _points(step, number, len(exact.keys))))
            for row, key in enumerate(later.keys):
                groups[key] |= {name: column[row] for name, column in later.statistics.items()}
        found.append(Measurement(planned, groups, exact.ranks))
    return tuple(found)
