"""Where a statement's time goes: a stopwatch around each stage of the flow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import dpsql.answer as answer
from dpsql.engines.duckdb import DuckDBEngine
from dpsql.ledger import Ledger
from dpsql.sandbox import Sandbox
from dpsql.store import ReleaseStore

_STAGES: tuple[tuple[str, object, str], ...] = (
    ("prepare", answer.Proxy, "prepare"),
    ("calibrate", answer.Session, "_price"),
    ("charge", Ledger, "charge"),
    ("engine", DuckDBEngine, "run"),
    ("noise", answer, "perturb"),
    ("store", ReleaseStore, "put"),
    ("infer", answer, "infer_all"),
    ("sandbox", Sandbox, "run"),
)
STAGES = (*(name for name, _, _ in _STAGES), "rest")


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Seconds by stage of what runs inside. No stage calls another, so that they add up."""
    seconds = dict.fromkeys((name for name, _, _ in _STAGES), 0.0)
    with ExitStack() as stack:
        for name, owner, attribute in _STAGES:
            stack.enter_context(patch.object(owner, attribute, _timed(name, getattr(owner, attribute), seconds)))
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


def _timed(name: str, stage: Callable[..., Any], seconds: dict[str, float]) -> Callable[..., Any]:
    def run(*arguments: Any, **named: Any) -> Any:
        begun = time.perf_counter()
        try:
            return stage(*arguments, **named)
        finally:
            seconds[name] += time.perf_counter() - begun

    return run
