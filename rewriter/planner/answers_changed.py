"""How far one person moves a release whose units are not people: blocks of them, or rows that several of them share."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rewriter.declared import Sensitivity
from rewriter.plan import Block, Choice, Selection
from rewriter.refused import Refused
from rewriter.release import Query


@dataclass(frozen=True, slots=True)
class AnswersChanged:
    """One block's row becomes another, comes or goes in at most ``groups`` groups. None: no blocks are asked.

    A row that becomes another is one that goes and one that comes: twice what one row adds, in each group. Groups are
    cells of their own, so their squares add up; running sums over groups overlap, and there the norms add up.

    Or at most ``units`` units come or go, wherever they are: so many times what one of them adds, in any norm. Only
    where units are ``people`` does one person more take none of them away.

    >>> AnswersChanged(3).sensitivity(Sensitivity(l1=5, l2_squared=25))
    Sensitivity(l1=30, l2_squared=300)
    >>> AnswersChanged(3).sensitivity(Sensitivity(l1=5, l2_squared=25), overlap=True)
    Sensitivity(l1=30, l2_squared=900)
    >>> AnswersChanged(None, units=26).sensitivity(Sensitivity(l1=5, l2_squared=25))
    Sensitivity(l1=130, l2_squared=16900)
    """

    groups: int | None
    units: int = 1
    people: bool = False

    def sensitivity(self, one: Sensitivity, *, overlap: bool = False) -> Sensitivity:
        if self.groups is None:
            return one.scaled(self.units)
        l1 = None if one.l1 is None else 2 * self.groups * one.l1
        return Sensitivity(l1, 4 * one.l2_squared * self.groups ** (2 if overlap else 1))

    def block(self, one: Block) -> Block:
        most = self.units if self.groups is None else 2
        statistics = tuple(replace(statistic, bound=most * statistic.bound) for statistic in one.statistics)
        moved = self.sensitivity(one.sensitivity, overlap=one.prefix is not None)
        return replace(one, statistics=statistics, sensitivity=moved, rises=one.rises and self.people)

    def selection(self, one: Selection | None) -> Selection | None:
        return one if one is None else replace(one, units=self.units)

    def choice(self, one: Choice) -> Choice:
        return replace(one, sensitivity=self.sensitivity(one.sensitivity))


def answers_changed(query: Query, cells: int | None) -> AnswersChanged:
    """Of a release over blocks, in how many groups answers change: of a public key set, or where there is no key. Of
    one over rows that people share, how many of them do. Raises :class:`Refused` for blocks in groups that are not
    declared."""
    shared = query.bound.shared
    if not query.blocks:
        return AnswersChanged(None, people=True) if shared is None else AnswersChanged(None, shared.changes)
    if cells is None:
        raise Refused(
            "blocks are answered by groups that are declared",
            hint="declare values or a range for the column in the policy, or list the groups with CASE",
        )
    return AnswersChanged(query.changed or cells)
