"""The profiles of tables: what they cost, whether they are bought, and what they tell.

A profile is two releases like any other, planned by :mod:`rewriter.planner.rows_profile`, calibrated, charged, and kept
in the store, beside the ledger that paid for them, under the data version and the period of ``refresh`` that they were
read in. The owner buys it with ``dpsql profile``; a statement of an analyst reads it where it is, and never buys it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import PrivacyLoss
from dpsql.calibrate import Calibration, calibrate
from dpsql.inference.estimates import RowsProfile
from dpsql.ledger import Due
from dpsql.memory import Memory
from dpsql.opened import Opened
from dpsql.price.learn_bounds import rounded_down
from rewriter.front_door import ProfilePlans, profile_plans, profiled_tables
from rewriter.plan import Plan

BUYER = "(owner)"
"""Whose charges the owner's are: no analyst's share pays for them."""


@dataclass(frozen=True, slots=True)
class TableProfile:
    """The profile of a table as it is bought: the plans, and how each is measured."""

    plans: ProfilePlans
    calibrations: tuple[Calibration, Calibration]

    @property
    def loss(self) -> PrivacyLoss:
        return sum((one.loss for one in self.calibrations), PrivacyLoss())

    @property
    def due(self) -> Due:
        return Due(self.loss, f"profile of {self.plans.table}", (self.plans.table,))


class Profiles:
    """The profiles that a policy asks for. Reads no data; :mod:`dpsql.answer` charges and reads. Thread-safe."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._known: Memory[tuple[str, int], TableProfile] = opened.memories.memory("profiles of tables", 1024)

    @property
    def epsilon(self) -> Fraction | None:
        """The price of each table's profile; None: the policy asks for none."""
        section = self._opened.policy.profile
        return None if section is None else section.epsilon

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that have a profile, bought or not."""
        opened = self._opened
        return () if self.epsilon is None else profiled_tables(opened.catalog, opened.engine.dialect)

    def lacking(self) -> list[TableProfile]:
        """The profiles that are not bought, or not since the data changed."""
        return [self._profile(name) for name in self.tables if self._released(name) is None]

    def find(self, table: str) -> RowsProfile | None:
        """The released profile of a table, or None: a matter of what was released, and free."""
        return self._released(table) if table in self.tables else None

    def _released(self, table: str) -> RowsProfile | None:
        profile = self._profile(table)
        found = [
            self._opened.store.get(one.plan.identity, self._opened.version(one.plan), one.hidden_by)
            for one in profile.calibrations
        ]
        people, beyond = found
        return None if people is None or beyond is None else RowsProfile.of(profile.plans, people, beyond)

    def notes(self, plans: Iterable[Plan]) -> tuple[str, ...]:
        """For notices: what the ``max_rows`` of these plans cut off, by the released profiles of their tables."""
        names = dict.fromkeys(one.bounded_by for one in plans if one.bounded_by) if self.epsilon is not None else ()
        found = (self.find(name) for name in names)
        return tuple(said for one in found if one is not None and (said := one.notice))

    def _profile(self, table: str) -> TableProfile:
        most = self._opened.catalog.tables[table].max_rows or 0
        return self._known.get((table, most), lambda: self._made(table))

    def _made(self, table: str) -> TableProfile:
        opened = self._opened
        plans = profile_plans(table, opened.catalog, opened.engine.dialect)
        # No δ: no group is selected, and the noise needs none. Each half is one number of a person, in one bin.
        price = rounded_down(opened.accountant.price(self.epsilon or Fraction(0), Fraction(0)) / 2)
        people, beyond = (calibrate(one, opened.accountant.accounting, price) for one in (plans.people, plans.beyond))
        return TableProfile(plans, (people, beyond))


def loss_of(profiles: Sequence[TableProfile]) -> PrivacyLoss:
    """What these cost together."""
    return sum((one.loss for one in profiles), PrivacyLoss())
