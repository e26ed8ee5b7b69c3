"""What is asked in the comparison of statistics, of whom, under which policy, and how far answers may be off.

The data are drawn in the shapes that statistics are asked of: a mean near the lower end of its range, skewed wages, body
heights and weights, and interests, of which everybody has many. Ranges are what an owner writes without looking: round
numbers that hold for everybody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
PEOPLE, PANEL, TOPICS, MOST_TOPICS, TOP = 20_000, 500, 1_000, 1_000, 10

_SCHEMA = """
CREATE TABLE person (
    id INTEGER PRIMARY KEY, wage DECIMAL(9, 2) NOT NULL, bmi DECIMAL(4, 1) NOT NULL, height_cm INTEGER NOT NULL,
    weight_kg DECIMAL(5, 1) NOT NULL
);
CREATE TABLE panel (person_id INTEGER NOT NULL UNIQUE REFERENCES person (id), minutes DECIMAL(5, 2) NOT NULL);
CREATE TABLE interest (person_id INTEGER NOT NULL REFERENCES person (id), topic INTEGER NOT NULL);
"""

_POLICY = """\
database: duckdb:{database}
ledger: sqlite:{ledger}
privacy_unit: person.id
{prices}
tables:
  person:
    columns:
      id: {{}}
      wage: {{range: [0, 500000]}}
      bmi: {{range: [10, 60]}}
      height_cm: {{range: [100, 220]}}
      weight_kg: {{range: [20, 220]}}
  panel:
    unit: person_id -> person.id
    columns:
      person_id: {{}}
      minutes: {{range: [0, 100]}}
  interest:
    unit: person_id -> person.id
    max_rows: {most}
    max_rows_per_group: 1
    columns:
      person_id: {{}}
      topic: {{range: [1, {topics}]}}
"""


def policy(prices: str, database: str, ledger: str) -> str:
    """The text of a policy over the made-up people."""
    return _POLICY.format(database=database, ledger=ledger, prices=prices, most=MOST_TOPICS, topics=TOPICS)


def make_people(path: str, seed: int = 7) -> None:
    """People that are made up. A topic's share falls slowly: the ten largest are a few hundred people apart."""
    draw = np.random.default_rng(seed)
    height = np.clip(np.round(draw.normal(171, 10, PEOPLE)), 100, 220)
    bmi = np.clip(draw.lognormal(3.22, 0.17, PEOPLE), 10, 60)
    person = pa.table(
        {
            "id": np.arange(PEOPLE),
            "wage": np.round(np.minimum(draw.lognormal(10.5, 0.7, PEOPLE), 500_000), 2),
            "bmi": np.round(bmi, 1),
            "height_cm": height.astype(int),
            "weight_kg": np.round(np.clip(bmi * (height / 100) ** 2, 20, 220), 1),
        }
    )
    panel = pa.table({"id": np.arange(PANEL), "minutes": np.round(np.minimum(draw.exponential(5, PANEL), 100), 2)})
    share = 0.5 * np.arange(1, TOPICS + 1) ** -0.5
    has = draw.random((PEOPLE, TOPICS)) < share
    who, topic = np.nonzero(has)
    interest = pa.table({"id": who, "topic": draw.permutation(TOPICS)[topic] + 1})
    with duckdb.connect(path) as connection:
        connection.execute(_SCHEMA)
        for name, drawn in (("person", person), ("panel", panel), ("interest", interest)):
            connection.register("drawn", drawn)
            connection.execute(f"INSERT INTO {name} SELECT * FROM drawn")


def draw_wages_again(path: str, seed: int) -> None:
    """Others with wages of the same kind."""
    draw = np.random.default_rng(seed)
    drawn = pa.table(
        {"id": np.arange(PEOPLE), "wage": np.round(np.minimum(draw.lognormal(10.5, 0.7, PEOPLE), 500_000), 2)}
    )
    with duckdb.connect(path) as connection:
        connection.register("drawn", drawn)
        connection.execute("UPDATE person SET wage = drawn.wage FROM drawn WHERE drawn.id = person.id")


@dataclass(frozen=True, slots=True)
class Statistic:
    """A question whose answer is a few numbers, or the names of the largest groups.

    ``columns`` are what an approach has to read of ``table``, with their declared ranges; ``target`` is how many times
    larger the plain approach's error shall be, or for the largest groups the part of them that shall be found.
    """

    name: str
    sql: str
    table: str
    kind: str
    columns: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]
    target: float
    epsilon: str = "1"
    fractions: tuple[float, ...] = ()

    def truth(self, connection: duckdb.DuckDBPyConnection) -> list[float]:
        """The true numbers, or the true names."""
        return self.numbers(connection.execute(self.sql).fetchall())

    def numbers(self, rows: Sequence[Sequence[object]]) -> list[float]:
        """An answer's numbers: the first row's, or the first column's where names are asked; NULL is no number."""
        found = [row[0] for row in rows] if self.kind == "top" else rows[0]
        return [math.nan if value is None else float(value) for value in found]  # type: ignore[arg-type]

    def read(self, connection: duckdb.DuckDBPyConnection) -> list[Floats]:
        """The columns, as an approach without SQL gets them."""
        found = connection.execute(f"SELECT {', '.join(self.columns)} FROM {self.table}").fetchnumpy()
        return [np.asarray(found[name], float) for name in self.columns]


_DECILES = tuple(place / 10 for place in range(1, 10))


def _percentiles(fractions: Sequence[float], column: str) -> str:
    """The quantiles of a column, each with a name of its own."""
    calls = (f"PERCENTILE_CONT({fraction}) WITHIN GROUP (ORDER BY {column})" for fraction in fractions)
    return ", ".join(f"{call} AS q{place}" for place, call in enumerate(calls, 1))


def _one(
    name: str, call: str, table: str, column: str, ends: tuple[float, float], kind: str, target: float
) -> Statistic:
    return Statistic(name, f"SELECT {call} FROM {table}", table, kind, (column,), (ends,), target)


WAGES = (0.0, 500_000.0)
MEAN = _one("AVG near the end of its range", "AVG(minutes)", "panel", "minutes", (0, 100), "mean", 2)
DEVIATION = _one("STDDEV", "STDDEV(bmi)", "person", "bmi", (10, 60), "deviation", 3)
CORRELATION = Statistic(
    "CORR", "SELECT CORR(height_cm, weight_kg) FROM person", "person", "correlation",
    ("height_cm", "weight_kg"), ((100, 220), (20, 220)), 2.5,
)  # fmt: skip
MEDIAN = Statistic(
    "median", f"SELECT {_percentiles([0.5], 'wage')} FROM person", "person", "quantiles", ("wage",), (WAGES,), 10,
    fractions=(0.5,),
)  # fmt: skip
DECILES = Statistic(
    "deciles", f"SELECT {_percentiles(_DECILES, 'wage')} FROM person", "person", "quantiles", ("wage",), (WAGES,), 4,
    fractions=_DECILES,
)  # fmt: skip
TOPICS_OF_MOST = Statistic(
    f"the {TOP} largest of {TOPICS:,} groups",
    f"SELECT topic, COUNT(*) AS people FROM interest GROUP BY topic ORDER BY people DESC LIMIT {TOP}",
    "interest", "top", ("topic",), ((1, TOPICS),), 0.95, epsilon="0.1",
)  # fmt: skip
STATISTICS = (MEAN, DEVIATION, CORRELATION, MEDIAN, DECILES, TOPICS_OF_MOST)
