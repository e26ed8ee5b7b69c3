"""The data and the policies of the comparison: people that are made up, and the orders of TPC-H."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import numpy as np
import pyarrow as pa

from .accuracy_questions import (
    DAY,
    DAYS,
    KIND,
    MOST_IN_A_MONTH,
    MOST_OF_A_PRIORITY,
    MOST_ORDERS,
    PEOPLE,
    ROLLUP_KEYS,
    Value,
)

_PEOPLE = """\
database: duckdb:{database}
ledger: sqlite:{ledger}
privacy_unit: person.id
{prices}
tables:
  person:
    columns:
      id: {{}}
      sex: {{values: [F, M]}}
      bmi: {{range: [10, 60]}}
      age: {{range: [0, 99]}}
      day: {{range: [2025-06-01, 2025-06-30]}}
      region: {{values: [r0, r1, r2, r3, r4]}}
      district: {{values: [d00, d01, d02, d03, d04, d05, d06, d07, d08, d09]}}
      kind: {{values: [{kinds}]}}
      grade: {{range: [1, 6]}}
"""

_ORDERS = """\
database: duckdb:{database}
ledger: sqlite:{ledger}
privacy_unit: customer.c_custkey
{prices}
tables:
  customer:
    columns:
      c_custkey: {{}}
  orders:
    unit: o_custkey -> customer.c_custkey
{bounds}
    columns:
      o_custkey: {{}}
      o_orderdate: {{range: [1992-01-01, 1998-08-02]}}
      o_orderpriority: {{values: [1-URGENT, 2-HIGH, 3-MEDIUM, 4-NOT SPECIFIED, 5-LOW]}}
"""

_BOUNDS = "    max_rows: {rows}\n    max_rows_per_group: {per_group}"


def policy(name: str, prices: str, database: str, ledger: str) -> str:
    """The text of a policy: the same bounds and domains that the other approaches are given."""
    if name == "people":
        kinds = ", ".join(str(kind) for kind in KIND.values)
        return _PEOPLE.format(database=database, ledger=ledger, prices=prices, kinds=kinds)
    per_group = {"months": MOST_IN_A_MONTH, "priorities": MOST_OF_A_PRIORITY}[name]
    bounds = _BOUNDS.format(rows=MOST_ORDERS, per_group=per_group)
    return _ORDERS.format(database=database, ledger=ledger, prices=prices, bounds=bounds)


_PERSON = """
CREATE TABLE person (
    id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL, bmi DOUBLE NOT NULL, age INTEGER NOT NULL, day DATE NOT NULL,
    region VARCHAR NOT NULL, district VARCHAR NOT NULL, kind VARCHAR NOT NULL, grade INTEGER NOT NULL
)
"""


def make_people(path: str, seed: int = 5) -> None:
    """20,000 made-up people. How many live in a cell of region, district and kind differs widely: many are near 0."""
    draw = np.random.default_rng(seed)
    cells = draw.gamma(0.5, size=1000)
    cell = draw.choice(1000, PEOPLE, p=cells / cells.sum())
    names: Mapping[str, tuple[Value, ...]] = {key.name: key.values for key in ROLLUP_KEYS}
    regions, districts, kinds = cell // 200, cell // 20 % 10, cell % 20
    columns = {
        "id": np.arange(PEOPLE),
        "sex": draw.choice(["F", "M"], PEOPLE),
        "bmi": np.clip(draw.normal(25.5, 4.5, PEOPLE), 10, 60).round(1),
        "age": draw.integers(0, 91, PEOPLE),
        "day": [DAY.values[i] for i in draw.integers(0, DAYS, PEOPLE)],
        "region": [names["region"][i] for i in regions],
        "district": [names["district"][i] for i in districts],
        "kind": [names["kind"][i] for i in kinds],
        "grade": draw.choice(6, PEOPLE, p=[0.3, 0.25, 0.2, 0.15, 0.08, 0.02]) + 1,
    }
    with duckdb.connect(path) as connection:
        connection.execute(_PERSON)
        connection.register("drawn", pa.table(columns))
        connection.execute("INSERT INTO person SELECT * FROM drawn")
