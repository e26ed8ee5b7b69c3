"""How long a median over six million rows takes, beside the engine's own exact median of the same column."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.proxy import Proxy
from tests.policies import policy_text

from .measured import by_turns
from .tpch import data

TARGET = 2.5
"""How many times the engine's own time a median may take, where each row is a person."""

SQL = "SELECT MEDIAN(l_extendedprice) FROM lineitem"

_ROWS = policy_text("""
database: duckdb:{database}; ledger: sqlite:rows.ledger; privacy_unit: row
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}; statement: {epsilon: 1, max_epsilon: 1}
tables:
  lineitem: l_extendedprice 900..105000
""")


@dataclass(frozen=True, slots=True)
class Timed:
    """Median milliseconds. ``goal``: whether the target is for it."""

    people: str
    rows: int
    raw: float
    whole: float
    goal: bool

    @property
    def ratio(self) -> float:
        return self.whole / self.raw


def timed(folder: Path, scale: float, cache: Path, repetitions: int) -> list[Timed]:
    """Each line a person of its own, and customers with all of their lines."""
    database = data.database(scale, cache)
    rows = folder / "rows.yaml"
    rows.write_text(_ROWS.format(database=database), encoding="utf-8")
    customers = data.policy(folder, database)
    return [
        _timed(rows, "each line", repetitions, goal=True),
        _timed(customers, "customers", min(repetitions, 3), goal=False),
    ]


def _timed(policy: Path, people: str, repetitions: int, *, goal: bool) -> Timed:
    with closing(Proxy.open(policy)) as proxy:
        engine = proxy._opened.engine
        if not isinstance(engine, DuckDBEngine):
            raise TypeError("this is measured on DuckDB")
        cursor = engine._now.connection.cursor()
        session = proxy.session()
        session.execute("SET dpsql.epsilon = 1")
        session.execute("SET dpsql.reuse = off")
        forms: dict[str, Callable[[], object]] = {
            "raw": lambda: cursor.execute(SQL).fetchall(),
            "whole": lambda: session.execute(SQL),
        }
        times, _ = by_turns(forms, repetitions)
        counted = cursor.execute("SELECT COUNT(*) FROM lineitem").fetchone()
        median = {form: float(np.median(taken)) * 1e3 for form, taken in times.items()}
        return Timed(people, int(counted[0]) if counted else 0, median["raw"], median["whole"], goal)
