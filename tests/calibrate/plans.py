"""Small plans, for tests."""

from __future__ import annotations

from fractions import Fraction

from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import TEXT
from rewriter.plan import Block, KeyColumn, Output, Plan, Selection, Statistic

KEY = KeyColumn("region", TEXT, "region")


def block(*names: str, l1: int | None = 1, l2_squared: int | None = None, step: Fraction = Fraction(1)) -> Block:
    squared = l2_squared if l2_squared is not None else (l1 or 1) ** 2
    return Block(tuple(Statistic(name, step, 1, name) for name in names), Sensitivity(l1, squared))


def plan(*blocks: Block, outputs: tuple[Output, ...] = (), selection: Selection | None = None) -> Plan:
    return Plan("SELECT …", "duckdb", (KEY,), blocks, outputs, selection, None if selection else 100_000)
