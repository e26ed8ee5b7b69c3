"""The same statements in both engines: the same integers, or a refusal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from dpsql.errors import Error
from rewriter.refused import Refused

from .statements import statement
from .world import World, integers


@dataclass(slots=True)
class Sameness:
    """How many statements had the same integers, and which had not."""

    same: int = 0
    groups: int = 0
    refused_by_both: int = 0
    refused_on_spark: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def asked(self) -> int:
        return self.same + len(self.different) + len(self.failed)


def compared(world: World, count: int, seed: int, told: Callable[[str], None]) -> Sameness:
    """Ask until ``count`` statements were answered by both."""
    chance, found, begun = Random(seed), Sameness(), time.perf_counter()
    while found.asked < count:
        _compare(world, statement(chance), found)
        told(f"{found.asked} of {count} statements, {len(found.different)} different, {len(found.failed)} failed")
    found.seconds = time.perf_counter() - begun
    return found


def _compare(world: World, sql: str, found: Sameness) -> None:
    try:
        native = world.on_duckdb(sql)
    except Refused:
        found.refused_by_both += 1
        return
    try:
        plans = world.on_spark(sql)
    except Refused as refused:
        found.refused_on_spark.append(f"{refused.message}: {sql}")
        return
    try:
        ours = [integers(world.spark.engine, plan) for plan in plans]
    except Error as problem:
        found.failed.append(f"{problem.message}: {sql}")
        return
    theirs = [integers(world.native.engine, plan) for plan in native]
    if ours == theirs:
        found.same += 1
        found.groups += sum(len(one["groups"]) for one in ours)  # type: ignore[arg-type,misc]
    else:
        found.different.append(sql)
