"""Reading what was charged for: the exact tables of plans, from as few scans of people's rows as they need.

Guarantee: each table has the integers of its own plan, as if it had been read alone (:mod:`rewriter.planner.one_scan`).
Which plans share a scan follows from their SQL. Plans that are not read now, because what was released before serves,
have no part in a scan. A plan that puts people into blocks is read with a secret that is drawn for this reading alone.
Whatever is read in a window of the budget is paid in it (:mod:`dpsql.ledger.paid`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpsql.engines import Patience, Turn
from dpsql.ledger import Paid
from dpsql.mechanisms.sampling import BlockKey, Sampler
from dpsql.memory import Memory
from dpsql.opened import Opened
from dpsql.releases import ExactTable
from rewriter.front_door import OneScan, one_scans
from rewriter.plan import Plan

_REMEMBERED = 256


class Reader:
    """Reads plans in the engine of a policy. Thread-safe."""

    def __init__(self, opened: Opened, sampler: Sampler) -> None:
        self._opened = opened
        self._sampler = sampler
        self._scans: Memory[tuple[str, ...], tuple[OneScan, ...]] = opened.memories.memory("scans", _REMEMBERED)

    def reading(self, plans: Iterable[Plan]) -> PlanReading:
        """How plans are read. Nothing is read yet, and whatever can fail but the engine has been tried."""
        several = list({plan.identity: plan for plan in plans}.values())
        return PlanReading(self._opened, self._sampler, self._found(several))

    def _found(self, plans: Sequence[Plan]) -> tuple[OneScan, ...]:
        if len(plans) < 2:
            return ()
        key = tuple(plan.identity for plan in plans)
        return self._scans.get(key, lambda: one_scans(plans, self._opened.engine.dialect))


class PlanReading:
    """The secret tables of a statement: a scan is read when the first of its plans is asked for. Of one thread."""

    def __init__(self, opened: Opened, sampler: Sampler, scans: Iterable[OneScan]) -> None:
        self._engine = opened.engine
        self._sampler = sampler
        self._scans = {plan.identity: scan for scan in scans for plan in scan.plans}
        self._tables: dict[str, ExactTable] = {}

    def table(self, plan: Plan, patience: Patience, turn: Turn | None = None, paid: Paid | None = None) -> ExactTable:
        """The exact integers of a plan, which was charged for: in this window, where it is ``paid`` and not free."""
        scan = self._scans.get(plan.identity)
        if plan.in_blocks:
            plan = plan.with_block_key(self._sampler.draw(BlockKey()))
        if paid is not None and plan.identity not in self._tables:
            paid.renew()
        if scan is None:
            return self._engine.run(plan, patience.seconds, patience.cancellation, turn)
        if plan.identity not in self._tables:
            tables = self._engine.run_together(scan, patience.seconds, patience.cancellation, turn)
            self._tables |= {one.identity: table for one, table in zip(scan.plans, tables, strict=True)}
        return self._tables[plan.identity]
