"""What bounding costs on Spark: beside the raw statement, as the data grow, and in bytes between workers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.bench.queries import QUESTIONS, Question

from .world import Events, World


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, medians by turns, and bytes written for other workers."""

    raw: float
    bounded: float
    raw_bytes: int
    bounded_bytes: int

    @property
    def ratio(self) -> float:
        return self.bounded / self.raw


def costs(world: World, events: Events, repetitions: int, told: Callable[[str], None]) -> dict[str, Cost]:
    found = {}
    for question in map(_by_person, QUESTIONS):
        told(f"{question.name} at scale {world.scale:g}")
        found[question.name] = _cost(world, events, question, repetitions)
    return found


def _by_person(question: Question) -> Question:
    """Orders and lines by the same person: no key of Spark's says that an order has one."""
    same = ("o_orderkey = l_orderkey", "o_orderkey = l_orderkey AND o_custkey = l_custkey")
    return replace(question, sql=question.sql.replace(*same), raw=question.raw.replace(*same))


def _cost(world: World, events: Events, question: Question, repetitions: int) -> Cost:
    plans = world.on_spark(question.sql)
    forms: dict[str, Callable[[], object]] = {
        "raw": lambda: world.line.execute(question.raw).fetchall(),
        "bounded": lambda: [world.spark.engine.run(plan) for plan in plans],
    }
    taken: dict[str, list[float]] = {name: [] for name in forms}
    sent = {}
    for name, form in forms.items():  # the first time warms up, and tells the bytes
        before = events.shuffled()
        form()
        sent[name] = events.shuffled() - before
    for _ in range(repetitions):
        for name, form in forms.items():
            begun = time.perf_counter()
            form()
            taken[name].append(time.perf_counter() - begun)
    raw, bounded = (statistics.median(taken[name]) for name in forms)
    return Cost(raw, bounded, sent["raw"], sent["bounded"])
