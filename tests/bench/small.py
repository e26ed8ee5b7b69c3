"""What a statement costs beside its data: ``python -m tests.bench small``, over tables of 1,000 rows.

CPU of all threads: *cold* is a text that was never seen, *cached* one whose plan is remembered and whose release is
bought again, *repeated* one that is answered by what was released before.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from dpsql.proxy import Proxy, Session
from dpsql.server.collector import settled
from tests.policies import policy_text

from .stages import shares

ROWS = 1_000

_DATA = f"""
CREATE TABLE person (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL, age INTEGER NOT NULL);
INSERT INTO person SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END, 18 + i * 37 % 70 FROM range({ROWS}) t(i);
CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person (id), kind VARCHAR NOT NULL, cost DOUBLE NOT NULL,
    ward INTEGER NOT NULL);
INSERT INTO visit SELECT i * 7 % 100, ['check', 'acute', 'chronic'][1 + i % 3], i * 13 % 400, i % 12 FROM range({ROWS}) t(i);
"""

_POLICY = policy_text("""
database: duckdb:small.duckdb; ledger: sqlite:small.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}; statement: {epsilon: 1, max_epsilon: 1}
tables:
  person: id, sex [F, M], age 18..100
  visit(person_id -> person.id, max_rows: 20): kind [check, acute, chronic], cost 0..400, ward 0..11
""")

KINDS = ("cold", "cached", "repeated")
DASHBOARD = "two keys, four aggregates, HAVING, ORDER BY, LIMIT"
GOALS = {DASHBOARD: {"cold": 8.0, "cached": 3.5, "repeated": 0.5}}

STATEMENTS = {
    "COUNT": "SELECT COUNT(*) FROM person WHERE age >= 18.{number}",
    DASHBOARD: (
        "SELECT kind, ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a, COUNT(DISTINCT person_id) AS p FROM visit "
        "WHERE cost < 400.{number} GROUP BY kind, ward HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 10"
    ),
    "a join with COUNT(DISTINCT)": (
        "SELECT kind, COUNT(*), AVG(cost), COUNT(DISTINCT ward) FROM visit JOIN person ON person_id = id "
        "WHERE cost < 400.{number} AND sex = 'F' GROUP BY kind ORDER BY kind"
    ),
}

Times = dict[str, float]
"""Milliseconds by :data:`KINDS`."""


@dataclass(frozen=True, slots=True)
class FixedCost:
    """Milliseconds of CPU of one statement, medians and 99 % quantiles; and of which stages they are."""

    name: str
    typical: Times
    worst: Times
    cold_stages: dict[str, float]
    cached_stages: dict[str, float]


def main() -> None:
    from rich.console import Console

    from .report import show_fixed_costs

    with settled(), tempfile.TemporaryDirectory() as folder:
        show_fixed_costs(fixed_costs(Path(folder), 60), Console())


def fixed_costs(folder: Path, repetitions: int) -> list[FixedCost]:
    connection = duckdb.connect(str(folder / "small.duckdb"))
    connection.execute(_DATA)
    connection.close()
    (folder / "small.yaml").write_text(_POLICY, encoding="utf-8")
    proxy = Proxy.open(folder / "small.yaml")
    try:
        buying, reusing = proxy.session(), proxy.session()
        buying.execute("SET dpsql.reuse = off")
        return [_fixed_cost(buying, reusing, name, sql, repetitions) for name, sql in STATEMENTS.items()]
    finally:
        proxy.close()


def _fixed_cost(buying: Session, reusing: Session, name: str, sql: str, repetitions: int) -> FixedCost:
    numbers = iter(range(10**6))
    known = sql.replace("{number}", "5")

    def cold() -> None:
        buying.execute(sql.replace("{number}", f"{next(numbers):06d}"))

    def cached() -> None:
        buying.execute(known)

    def repeated() -> None:
        reusing.execute(known)

    asked = dict(zip(KINDS, (cold, cached, repeated), strict=True))
    for _ in range(5):
        for ask in asked.values():
            ask()
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(repetitions):
        for kind, ask in asked.items():
            times[kind].append(_cpu(ask))
    return FixedCost(
        name,
        {kind: float(np.median(some)) for kind, some in times.items()},
        {kind: float(np.quantile(some, 0.99)) for kind, some in times.items()},
        cold_stages={stage: seconds * 1e3 for stage, seconds in shares(cold, repetitions).items()},
        cached_stages={stage: seconds * 1e3 for stage, seconds in shares(cached, repetitions).items()},
    )


def _cpu(ask: Callable[[], None]) -> float:
    """Milliseconds of CPU of all threads."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return (usage.ru_utime + usage.ru_stime) * 1e3

    before = used()
    ask()
    return used() - before
