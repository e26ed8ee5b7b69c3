"""What a statement costs beside its data: a table of 1,000 rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from dpsql.proxy import Proxy, Session

from .stages import shares

ROWS = 1_000

_DATA = f"""
CREATE TABLE person (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL, age INTEGER NOT NULL);
INSERT INTO person SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END, 18 + i * 37 % 70 FROM range({ROWS}) t(i);
CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person (id), kind VARCHAR NOT NULL, cost DOUBLE NOT NULL);
INSERT INTO visit SELECT i * 7 % 100, ['check', 'acute', 'chronic'][1 + i % 3], i * 13 % 400 FROM range({ROWS}) t(i);
"""

_POLICY = """\
database: duckdb:small.duckdb
ledger: sqlite:small.ledger
privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}
statement: {epsilon: 1, max_epsilon: 1}
tables:
  person:
    columns:
      id: {}
      sex: {values: [F, M]}
      age: {range: [18, 100]}
  visit:
    unit: person_id -> person.id
    max_rows: 20
    columns:
      person_id: {}
      kind: {values: [check, acute, chronic]}
      cost: {range: [0, 400]}
"""

STATEMENTS = {
    "one row per person: COUNT": "SELECT COUNT(*) FROM person WHERE age >= 18.{number}",
    "one row per person: COUNT, AVG by key": (
        "SELECT sex, COUNT(*), AVG(age) FROM person WHERE age >= 18.{number} GROUP BY sex"
    ),
    "rows per person: COUNT, AVG by key, join": (
        "SELECT kind, COUNT(*), AVG(cost) FROM visit JOIN person ON person_id = id "
        "WHERE cost < 400.{number} AND sex = 'F' GROUP BY kind ORDER BY kind"
    ),
}


@dataclass(frozen=True, slots=True)
class FixedCost:
    """Milliseconds of one statement: ``cold`` with a text that was never seen, ``warm`` with its plan remembered."""

    name: str
    cold: float
    cold_worst: float
    warm: float
    warm_worst: float
    cold_stages: dict[str, float]
    warm_stages: dict[str, float]


def fixed_costs(folder: Path, repetitions: int) -> list[FixedCost]:
    connection = duckdb.connect(str(folder / "small.duckdb"))
    connection.execute(_DATA)
    connection.close()
    (folder / "small.yaml").write_text(_POLICY, encoding="utf-8")
    proxy = Proxy.open(folder / "small.yaml")
    try:
        session = proxy.session()
        session.execute("SET dpsql.epsilon = 1")
        session.execute("SET dpsql.reuse = off")
        return [_fixed_cost(session, name, sql, repetitions) for name, sql in STATEMENTS.items()]
    finally:
        proxy.close()


def _fixed_cost(session: Session, name: str, sql: str, repetitions: int) -> FixedCost:
    numbers = iter(range(10**6))

    def cold() -> None:
        session.execute(sql.replace("{number}", f"{next(numbers):06d}"))

    warm_sql = sql.replace("{number}", "5")

    def warm() -> None:
        session.execute(warm_sql)

    for _ in range(5):
        cold()
        warm()
    times: dict[str, list[float]] = {"cold": [], "warm": []}
    for _ in range(repetitions):
        for kind, statement in (("cold", cold), ("warm", warm)):
            begun = time.perf_counter()
            statement()
            times[kind].append((time.perf_counter() - begun) * 1e3)
    return FixedCost(
        name,
        cold=float(np.median(times["cold"])),
        cold_worst=float(np.quantile(times["cold"], 0.99)),
        warm=float(np.median(times["warm"])),
        warm_worst=float(np.quantile(times["warm"], 0.99)),
        cold_stages={stage: seconds * 1e3 for stage, seconds in shares(cold, repetitions).items()},
        warm_stages={stage: seconds * 1e3 for stage, seconds in shares(warm, repetitions).items()},
    )
