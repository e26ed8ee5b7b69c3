"""For tests only, and reachable from no server: the exact statistics behind a query.

These functions break the promise on purpose, so that the promise can be tested: the definition of sensitivity is that
no statistic moves by more than it when one unit comes or goes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpsql.opened import Opened, open_policy
from dpsql.releases import Key
from rewriter.declared import Norm, Sensitivity
from rewriter.front_door import Parameters, Select, parse, rewrite
from rewriter.plan import Plan, Selection


@dataclass(frozen=True, slots=True)
class Measurement:
    """One release before noise. ``groups`` maps each group to its integers by name.

    ``blocks`` are (names of the statistics, joint sensitivity) pairs, ``bounds`` the most that one cell moves, and
    ``granularity`` what one step of a statistic is worth. The selection's weight is among the integers.
    """

    plan: Plan
    groups: Mapping[Key, Mapping[str, int]]

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


def measured(
    sql: str, opened: Opened, parameters: Parameters = (), norm: Norm | None = None
) -> tuple[Measurement, ...]:
    """The same over a policy that is open."""
    statement = parse(sql, parameters)
    if not isinstance(statement, Select):
        raise TypeError("only a query has statistics")
    chosen = norm or opened.accountant.accounting.norms[0]
    found = []
    for planned in rewrite(statement.tree, opened.catalog, opened.engine.dialect, norms=(chosen,)).plans:
        exact = opened.engine.run(planned)
        groups = {
            key: {name: column[row] for name, column in exact.statistics.items()} for row, key in enumerate(exact.keys)
        }
        found.append(Measurement(planned, groups))
    return tuple(found)
