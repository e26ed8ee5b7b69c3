"""The profiles of tables, of means and of values: what they cost, whether they are bought, and what they tell.

A profile is one or two releases like any other, planned by :mod:`rewriter.planner.rows_profile`, calibrated, charged,
and kept in the store, beside the ledger that paid for them, under the data version and the period of ``refresh`` that
they were read in. The owner buys it with ``dpsql profile``; a statement of an analyst reads it where it is, and never
buys it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import cast

from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import Calibration, calibrate
from dpsql.inference.estimates import MeansProfile, RowsProfile, ValuesProfile, bend_notice
from dpsql.ledger import Due
from dpsql.memory import Memory
from dpsql.opened import Opened
from dpsql.price.learn_bounds import rounded_down
from dpsql.releases import NoisyTable
from rewriter.front_door import (
    MeansPlan,
    ProfilePlans,
    ValuesPlan,
    means_plan,
    profile_plans,
    profiled_columns,
    profiled_tables,
    profiled_values,
    values_plan,
)
from rewriter.plan import Plan

BUYER = "(owner)"
"""Whose charges the owner's are: no analyst's share pays for them."""


_Plans = ProfilePlans | MeansPlan | ValuesPlan
_Planner = Callable[..., _Plans]


@dataclass(frozen=True, slots=True)
class WantedProfile:
    """A profile as it is bought: the plans, and how each is measured."""

    plans: _Plans
    calibrations: tuple[Calibration, ...]

    @property
    def loss(self) -> PrivacyLoss:
        return sum((one.loss for one in self.calibrations), PrivacyLoss())

    @property
    def due(self) -> Due:
        return Due(self.loss, f"profile of {self.plans.name}", (self.plans.table,))


class Profiles:
    """The profiles that a policy asks for. Reads no data; :mod:`dpsql.answer` charges and reads. Thread-safe."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._known: Memory[tuple[str, tuple[str, ...], int], WantedProfile] = opened.memories.memory(
            "profiles of tables", 1024
        )

    @property
    def epsilon(self) -> Fraction | None:
        """The price of each profile; None: the policy asks for none."""
        section = self._opened.policy.profile
        return None if section is None else section.epsilon

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that have a profile, bought or not."""
        opened = self._opened
        return () if self.epsilon is None else profiled_tables(opened.catalog, opened.engine.dialect)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The columns whose means have a profile, with their tables, bought or not."""
        opened, section = self._opened, self._opened.policy.profile
        asked = () if section is None else section.means
        return _asked(asked, lambda: profiled_columns(opened.catalog, opened.engine.dialect))

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The columns whose values have a profile, with their tables, bought or not."""
        section = self._opened.policy.profile
        return _asked(() if section is None else section.values, lambda: profiled_values(self._opened.catalog))

    @property
    def known_values(self) -> tuple[tuple[str, str], ...]:
        """The columns whose values may have a profile, with their tables, whether the policy asks for it or not."""
        return profiled_values(self._opened.catalog)

    def lacking(self) -> list[WantedProfile]:
        """The profiles that are not bought, or not since the data changed."""
        every = [
            *(self._profile(profile_plans, table) for table in self.tables),
            *(self._profile(means_plan, *column) for column in self.columns),
            *(self._profile(values_plan, *column) for column in self.values),
        ]
        return [one for one in every if self._released(one) is None]

    def find(self, table: str) -> RowsProfile | None:
        """The released profile of a table, or None: a matter of what was released, and free."""
        found = self._bought(profile_plans, table) if table in self.tables else None
        return None if found is None else RowsProfile.of(cast("ProfilePlans", found[0]), *found[1])

    def find_means(self, table: str, column: str) -> MeansProfile | None:
        """The released profile of a column's means, or None."""
        found = self._bought(means_plan, table, column) if (table, column) in self.columns else None
        return None if found is None else MeansProfile.of(cast("MeansPlan", found[0]), *found[1])

    def find_values(self, table: str, column: str) -> ValuesProfile | None:
        """The released profile of a column's values, or None."""
        found = self._bought(values_plan, table, column) if (table, column) in self.values else None
        return None if found is None else ValuesProfile.of(cast("ValuesPlan", found[0]), *found[1])

    def notes(self, plans: Iterable[Plan]) -> tuple[str, ...]:
        """For notices: what the ``max_rows`` of these plans cut off, by the released profiles of their tables."""
        if self.epsilon is None:
            return ()
        plans = tuple(plans)
        cut = [one for one in plans if one.bounded_by]
        tables = {name: self.find(name) for name in dict.fromkeys(one.bounded_by for one in cut)}
        means = dict.fromkeys(column for one in cut for column in one.averaged if column[0] == one.bounded_by)
        said = [rows.notice for rows in tables.values() if rows is not None]
        counted = dict.fromkeys(chain.from_iterable(one.counted for one in plans if one.clips))
        said += [rows.notice_of_counts for rows in map(self.find, counted) if rows is not None]
        for table, column in means:
            rows, found = tables[table], self.find_means(table, column)
            said += [found.notice(rows)] if rows is not None and found is not None else []
        clipped = dict.fromkeys(column for one in plans if one.clips for column in one.clipped)
        values = {column: self.find_values(*column) for column in dict.fromkeys(one[:2] for one in clipped)}
        said += [one.notice for one in values.values() if one is not None]
        for table, column, bend in clipped:
            told = values[table, column]
            said += [bend_notice(told, bend)] if told is not None and bend is not None else []
        return tuple(one for one in said if one)

    def _bought(self, planner: _Planner, *of: str) -> tuple[_Plans, tuple[NoisyTable, ...]] | None:
        """What a profile measures, and its released tables, where they are there."""
        profile = self._profile(planner, *of)
        found = self._released(profile)
        return None if found is None else (profile.plans, found)

    def _released(self, profile: WantedProfile) -> tuple[NoisyTable, ...] | None:
        """The released tables of a profile, where all of them are there."""
        opened = self._opened
        found = [
            opened.store.get(one.plan.identity, opened.version(one.plan), one.hidden_by) for one in profile.calibrations
        ]
        known = tuple(one for one in found if one is not None)
        return known if len(known) == len(found) else None

    def _profile(self, planner: _Planner, *of: str) -> WantedProfile:
        most = self._opened.catalog.tables[of[0]].max_rows or 0
        return self._known.get((planner.__name__, of, most), lambda: self._made(planner, of))

    def _made(self, planner: _Planner, of: Sequence[str]) -> WantedProfile:
        plans = planner(*of, self._opened.catalog, self._opened.engine.dialect)
        # No δ: no group is selected, and the noise needs none. Of each release a person is one in all groups together.
        accountant, parts = self._opened.accountant, len(plans.plans)
        price = rounded_down(accountant.price(self.epsilon or Fraction(0), Fraction(0)) / parts)
        return WantedProfile(plans, tuple(calibrate(one, accountant.accounting, price) for one in plans.plans))


_Columns = Iterable[tuple[str, str]]


def _asked(columns: _Columns, known: Callable[[], _Columns]) -> tuple[tuple[str, str], ...]:
    """The known columns that a policy asks for; without any, what is known is not looked for."""
    asked = {(table.lower(), column.lower()) for table, column in columns}
    return tuple(one for one in known() if (one[0].lower(), one[1].lower()) in asked) if asked else ()


def loss_of(profiles: Sequence[WantedProfile]) -> PrivacyLoss:
    """What these cost together."""
    return sum((one.loss for one in profiles), PrivacyLoss())
