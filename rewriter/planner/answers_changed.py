"""How far one person moves a release over blocks, planned as one in which a block owns a row of each group."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rewriter.declared import Sensitivity
from rewriter.plan import Block, Choice
from rewriter.refused import Refused
from rewriter.release import Query


@dataclass(frozen=True, slots=True)
class AnswersChanged:
    """One block's row becomes another, comes or goes in at most ``groups`` groups. None: people own the rows.

    A row that becomes another is one that goes and one that comes: twice what one row adds, in each group. Groups are
    cells of their own, so their squares add up; running sums over groups overlap, and there the norms add up.

    >>> AnswersChanged(3).sensitivity(Sensitivity(l1=5, l2_squared=25))
    Sensitivity(l1=30, l2_squared=300)
    >>> AnswersChanged(3).sensitivity(Sensitivity(l1=5, l2_squared=25), overlap=True)
    Sensitivity(l1=30, l2_squared=900)
    """

    groups: int | None

    def sensitivity(self, one: Sensitivity, *, overlap: bool = False) -> Sensitivity:
        if self.groups is None:
            return one
        l1 = None if one.l1 is None else 2 * self.groups * one.l1
        return Sensitivity(l1, 4 * one.l2_squared * self.groups ** (2 if overlap else 1))

    def block(self, one: Block) -> Block:
        if self.groups is None:
            return one
        statistics = tuple(replace(statistic, bound=2 * statistic.bound) for statistic in one.statistics)
        moved = self.sensitivity(one.sensitivity, overlap=one.prefix is not None)
        return replace(one, statistics=statistics, sensitivity=moved)

    def choice(self, one: Choice) -> Choice:
        return one if self.groups is None else replace(one, sensitivity=self.sensitivity(one.sensitivity))


def answers_changed(query: Query, cells: int | None) -> AnswersChanged:
    """Of a release over blocks, in how many groups answers change: of a public key set, or where there is no key."""
    if not query.blocks:
        return AnswersChanged(None)
    if cells is None:
        raise Refused(
            "blocks are answered by groups that are declared",
            hint="declare values or a range for the column in the policy, or list the groups with CASE",
        )
    return AnswersChanged(query.changed or cells)
