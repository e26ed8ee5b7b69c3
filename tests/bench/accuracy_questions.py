"""The questions that are compared for accuracy, each as SQL and as the counts that it consists of.

An approach that knows nothing of workloads pays for each count of :class:`Counts` by itself: an output of the
statement, a level of a ROLLUP, a step of a running total. The policy's numbers are the same for everybody.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import duckdb

Value = object
Cell = tuple[int, tuple[Value, ...]]
"""A number of an answer: its column behind the keys, and its keys; None where a level adds up over a key."""


@dataclass(frozen=True, slots=True)
class Key:
    """A grouping key: its name in the answer, its SQL, and the public values that it may have."""

    name: str
    sql: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows that meet a condition, counted by some keys, or under one fixed key: an output, a level, or a step."""

    column: int = 0
    where: str = "TRUE"
    by: tuple[str, ...] = ()
    at: tuple[Value, ...] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """``sql`` is asked of the product. Its answer has the ``keys`` first; ``counts`` are what it consists of.

    ``rows`` and ``rows_per_group`` are the policy's bounds on one unit of ``table``; 1 where units are unique.
    ``target``: the least factor by which the product's error shall be below the plain approach's.
    """

    name: str
    policy: str
    sql: str
    table: str
    unit: str
    counts: tuple[Counts, ...]
    keys: tuple[Key, ...] = ()
    epsilon: str = "0.1"
    rows: int = 1
    rows_per_group: int = 1
    target: float | None = None

    @property
    def unique(self) -> bool:
        """Whether every unit has one row."""
        return self.rows == 1

    def groups(self, counts: Counts) -> list[tuple[Value, ...]]:
        """The public groups of some counts: as many values as there are keys, None where a key is not used."""
        if counts.at is not None:
            return [counts.at]
        values = [key.values if key.name in counts.by else (None,) for key in self.keys]
        return list(itertools.product(*values))

    @property
    def cells(self) -> list[Cell]:
        return [(counts.column, group) for counts in self.counts for group in self.groups(counts)]

    def exact(
        self, connection: duckdb.DuckDBPyConnection, counts: Counts, rows: str | None = None
    ) -> dict[tuple[Value, ...], int]:
        """The true numbers of some counts, over the table or over other ``rows`` (SQL); every public group has one."""
        names = [key.sql if key.name in counts.by else "NULL" for key in self.keys]
        grouped = f" GROUP BY {', '.join(self.key(name).sql for name in counts.by)}" if counts.by else ""
        source = rows or self.table
        sql = f"SELECT {', '.join([*names, 'COUNT(*)'])} FROM {source} WHERE {counts.where}{grouped}"
        found = connection.execute(sql).fetchall()
        if counts.at is not None:
            return {counts.at: found[0][-1]}
        numbers = dict.fromkeys(self.groups(counts), 0)
        numbers.update({tuple(row[:-1]): row[-1] for row in found})
        return numbers

    def truth(self, connection: duckdb.DuckDBPyConnection) -> dict[Cell, int]:
        """The true value of every cell."""
        return {
            (counts.column, group): number
            for counts in self.counts
            for group, number in self.exact(connection, counts).items()
        }

    def key(self, name: str) -> Key:
        return next(key for key in self.keys if key.name == name)

    def by_cell(self, rows: Sequence[Sequence[Value]]) -> dict[Cell, float]:
        """An answer's rows, by cell."""
        width = len(self.keys)
        return {
            (column, tuple(row[:width])): float(value)  # type: ignore[arg-type]
            for row in rows
            for column, value in enumerate(row[width:])
        }


PEOPLE, DAYS = 20_000, 30
REGION = Key("region", "region", tuple(f"r{i}" for i in range(5)))
DISTRICT = Key("district", "district", tuple(f"d{i:02}" for i in range(10)))
KIND = Key("kind", "kind", tuple(f"k{i:02}" for i in range(20)))
SEX = Key("sex", "sex", ("F", "M"))
GRADE = Key("grade", "grade", tuple(range(1, 7)))
FIRST = date(2025, 6, 1)
DAY = Key("day", "day", tuple(FIRST + timedelta(days=i) for i in range(DAYS)))

FOUR_COUNTS = Question(
    "4 counts by sex and BMI",
    "people",
    "SELECT COUNT(*) FILTER (WHERE sex = 'M' AND bmi < 25) AS males_25, COUNT(*) FILTER (WHERE sex = 'M') AS males, "
    "COUNT(*) FILTER (WHERE sex = 'F' AND bmi < 25) AS females_25, COUNT(*) FILTER (WHERE sex = 'F') AS females "
    "FROM person",
    "person",
    "id",
    (
        Counts(0, "sex = 'M' AND bmi < 25"),
        Counts(1, "sex = 'M'"),
        Counts(2, "sex = 'F' AND bmi < 25"),
        Counts(3, "sex = 'F'"),
    ),
)

_AGES = (20, 30, 40, 50, 60)
NESTED = Question(
    "5 nested filters",
    "people",
    "SELECT " + ", ".join(f"COUNT(*) FILTER (WHERE age > {age}) AS over_{age}" for age in _AGES) + " FROM person",
    "person",
    "id",
    tuple(Counts(place, f"age > {age}") for place, age in enumerate(_AGES)),
    target=2.5,
)

CUMULATIVE = Question(
    f"running count over {DAYS} days",
    "people",
    "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS so_far FROM person GROUP BY day ORDER BY day",
    "person",
    "id",
    tuple(Counts(0, f"day <= DATE '{day}'", at=(day,)) for day in DAY.values),
    (DAY,),
    target=15,
)


def _levels(keys: tuple[Key, ...], cube: bool) -> tuple[Counts, ...]:
    names = tuple(key.name for key in keys)
    if not cube:
        return tuple(Counts(by=names[:used]) for used in range(len(names), -1, -1))
    return tuple(
        Counts(by=chosen) for used in range(len(names), -1, -1) for chosen in itertools.combinations(names, used)
    )


def _grouped(name: str, form: str, keys: tuple[Key, ...], epsilon: str, target: float | None) -> Question:
    names = ", ".join(key.name for key in keys)
    sql = f"SELECT {names}, COUNT(*) AS people FROM person GROUP BY {form} ({names})"
    return Question(name, "people", sql, "person", "id", _levels(keys, form == "CUBE"), keys, epsilon, target=target)


ROLLUP_KEYS = (REGION, DISTRICT, KIND)
QUESTIONS_OF_PEOPLE = (
    FOUR_COUNTS,
    NESTED,
    CUMULATIVE,
    _grouped("ROLLUP 5×10×20, ε = 0.1", "ROLLUP", ROLLUP_KEYS, "0.1", 4),
    _grouped("ROLLUP 5×10×20, ε = 1", "ROLLUP", ROLLUP_KEYS, "1", None),
    _grouped("CUBE 5×6×2", "CUBE", (REGION, GRADE, SEX), "0.1", 3),
)

MONTH = Key(
    "month",
    "CAST(date_trunc('month', o_orderdate) AS DATE)",
    tuple(date(1992 + i // 12, i % 12 + 1, 1) for i in range(80)),
)
PRIORITY = Key("priority", "o_orderpriority", ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"))
# As in the benchmark of time: 15 orders on average, over 80 months and 5 priorities (TPC-H 3.0, 4.2.3). More than 3 in a
# month is one month of a person in 2,000.
MOST_ORDERS, MOST_IN_A_MONTH, MOST_OF_A_PRIORITY = 45, 3, 20


def _orders(name: str, policy: str, key: Key, rows_per_group: int, target: float | None) -> Question:
    return Question(
        name,
        policy,
        f"SELECT {key.sql} AS {key.name}, COUNT(*) AS orders FROM orders GROUP BY 1 ORDER BY 1",
        "orders",
        "o_custkey",
        (Counts(by=(key.name,)),),
        (key,),
        epsilon="1",
        rows=MOST_ORDERS,
        rows_per_group=rows_per_group,
        target=target,
    )


QUESTIONS_OF_ORDERS = (
    _orders("orders per month", "months", MONTH, MOST_IN_A_MONTH, 5),
    _orders("orders per priority", "priorities", PRIORITY, MOST_OF_A_PRIORITY, None),
)
QUESTIONS = QUESTIONS_OF_PEOPLE + QUESTIONS_OF_ORDERS
