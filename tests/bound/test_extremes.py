"""MIN and MAX over rows of people: each person has one value in each group, however many rows there are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpsql.opened import open_policy
from dpsql.proxy import Proxy
from dpsql.testing import measure
from tests.doubles import open_without_noise

POLICY = """
database: duckdb:clinic.duckdb
ledger: sqlite:ledger
privacy_unit: patient.id
budget: {epsilon: 10000, delta: 1e-6}
statement: {epsilon: 20, max_epsilon: 20}
tables:
  patient: {columns: {id: {}}}
  visit:
    unit: patient_id -> patient.id
    max_rows: 30
    columns: {reason: {values: [a, b]}, cost: {range: [0, 5000]}}
  note: {unit: patient_id -> patient.id, columns: {size: {range: [0, 100]}}}
"""
# The least cost of one person is 1, with thirty rows; all others have 100 and more.
FILL = """
CREATE TABLE patient (id INT PRIMARY KEY);
CREATE TABLE visit (patient_id INT REFERENCES patient (id), reason TEXT, cost INT);
CREATE TABLE note (patient_id INT REFERENCES patient (id), size INT);
INSERT INTO patient SELECT i FROM range(400) AS r(i);
INSERT INTO visit SELECT i, ['a', 'b'][1 + k % 2], 100 + i FROM range(1, 400) AS r(i), range(2) AS s(k);
INSERT INTO visit SELECT 0, ['a', 'b'][1 + k % 2], 1 FROM range(30) AS s(k);
INSERT INTO note SELECT i % 400, 10 + i % 80 FROM range(4000) AS r(i);
"""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extremes")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(FILL)
    path = folder / "policy.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture(scope="module")
def proxy(policy: Path) -> Proxy:
    return open_without_noise(policy)


@pytest.mark.parametrize(
    ("sql", "low", "high"),
    [
        ("SELECT MIN(cost) FROM visit", 1, 110),
        ("SELECT MAX(cost) FROM visit", 489, 499),
        ("SELECT MIN(cost) FROM visit WHERE reason = 'a'", 1, 110),
        ("SELECT MIN(size) FROM note", 10, 12),
    ],
)
def test_it_lies_a_few_people_inside_of_the_data(proxy: Proxy, sql: str, low: int, high: int) -> None:
    answer = proxy.session().execute(sql)
    assert low <= int(answer.rows[0][0]) <= high
    assert any(" values beyond " in notice for notice in answer.notices)
    assert not any("counts with at most" in notice for notice in answer.notices)


def test_a_person_weighs_as_one_row_in_each_group(policy: Path) -> None:
    (whole,) = measure("SELECT MIN(cost) FROM visit", policy)
    (choice,) = whole.plan.choices
    assert (choice.sensitivity.l1, choice.row) == (1, 1)
    opened = open_policy(policy)
    try:
        ranks = opened.engine.run(whole.plan).ranks[choice.name][()]
    finally:
        opened.close()
    assert [(value, weight) for value, weight, *_ in ranks][:2] == [(1, 1), (101, 1)]
