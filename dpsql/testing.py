"""For tests only, and reachable from no server: the exact statistics behind a query, and answers without noise.

What is here breaks the promise on purpose, so that the promise can be tested: the definition of sensitivity is that no
statistic moves by more than it when one unit comes or goes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.answer import Proxy
from dpsql.mechanisms.chain import Chain
from dpsql.mechanisms.product import Product
from dpsql.mechanisms.walks import Candidate
from dpsql.opening import open_policy
from dpsql.problem import Kind
from dpsql.table import Key
from rewriter.contribution import Norm
from rewriter.parse import Parameters, Select, parse
from rewriter.plan import Plan, Selection
from rewriter.planner import plan
from rewriter.sensitivity import Sensitivity
from rewriter.split import split


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
        statement = parse(sql, parameters)
        if not isinstance(statement, Select):
            raise TypeError("only a query has statistics")
        chosen = norm or (Norm.L2 if opened.policy.budget.accounting == "zcdp" else Norm.L1)
        measured = []
        dialect = opened.engine.dialect
        for query in split(statement.tree, opened.catalog, dialect).groupings:
            planned = plan(query, chosen, dialect)
            exact = opened.engine.run(planned)
            groups = {
                key: {name: column[row] for name, column in exact.statistics.items()}
                for row, key in enumerate(exact.keys)
            }
            measured.append(Measurement(planned, groups))
        return tuple(measured)
    finally:
        opened.close()


class NoNoise:
    """A sampler that hides nothing."""

    def laplace(self, scale: Fraction, count: int) -> list[int]:
        return [0] * count

    def gaussian(self, sigma: Fraction, count: int) -> list[int]:
        return [0] * count

    def pick(self, counts: Sequence[int], distances: Sequence[int], rate: Fraction) -> tuple[int, int]:
        """The first of the nearest; where all are as near, the last, which is NULL: there is nobody."""
        if len(set(distances)) == 1:
            return len(distances) - 1, 0
        return min(range(len(counts)), key=distances.__getitem__), 0

    def vector(self, chain: Chain) -> tuple[Candidate, ...] | None:
        return chain.nearest()

    def product(self, product: Product) -> tuple[int, ...]:
        return product.nearest()

    def permute_and_flip(self, distances: Sequence[int], rate: Fraction) -> int:
        return min(range(len(distances)), key=distances.__getitem__)


_LET_PASS: tuple[Kind, ...] = ("two people",)


def open_without_noise(policy: str | os.PathLike[str]) -> Proxy:
    """A proxy whose answers are exact but for clipping and rounding; charges are made as ever.

    It opens a table about two people, too, which is protected for one of them: without noise nobody is protected.
    """
    return Proxy(open_policy(policy, let_pass=_LET_PASS), NoNoise(), silent=True)
