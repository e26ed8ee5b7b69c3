"""Where a statement's time goes: a stopwatch around each stage of the flow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import dpsql.answer as answer
import dpsql.finish.finisher as finisher
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.ledger.ledger import Ledger
from dpsql.proxy import Proxy
from dpsql.releases.store import ReleaseStore
from dpsql.sandbox.sandbox import Sandbox

_STAGES: tuple[tuple[str, object, str], ...] = (
    ("prepare", Proxy, "prepare"),
    ("calibrate", answer.Pricing, "settled"),
    ("charge", Ledger, "charge_together"),
    ("engine", DuckDBEngine, "run"),
    ("noise", answer, "perturb"),
    ("store", ReleaseStore, "put"),
    ("infer", finisher, "pieced"),
    ("sandbox", Sandbox, "run"),
    ("bars", finisher, "exact_bars"),
)
STAGES = (*(name for name, _, _ in _STAGES), "rest")


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Seconds by stage of what runs inside. What a stage has done by another is the other's, so that they add up."""
    seconds = dict.fromkeys((name for name, _, _ in _STAGES), 0.0)
    others: list[float] = []
    with ExitStack() as stack:
        for name, owner, attribute in _STAGES:
            stack.enter_context(
                patch.object(owner, attribute, _timed(name, getattr(owner, attribute), seconds, others))
            )
        yield seconds


def shares(statement: Callable[[], object], repetitions: int) -> dict[str, float]:
    """The mean seconds of each stage of a statement; ``rest`` is what no stage accounts for."""
    with stopwatch() as seconds:
        begun = time.perf_counter()
        for _ in range(repetitions):
            statement()
        total = time.perf_counter() - begun
    seconds["rest"] = total - sum(seconds.values())
    return {name: seconds[name] / repetitions for name in STAGES}


def _timed(name: str, stage: Callable[..., Any], seconds: dict[str, float], others: list[float]) -> Callable[..., Any]:
    """``others`` has, for each stage that is running, the seconds of the stages within it."""

    def run(*arguments: Any, **named: Any) -> Any:
        others.append(0.0)
        begun = time.perf_counter()
        try:
            return stage(*arguments, **named)
        finally:
            taken = time.perf_counter() - begun
            seconds[name] += taken - others.pop()
            if others:
                others[-1] += taken

    return run
