"""Rows that are nobody's do not count, and a statement that would count them in SQL says so."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.doubles import open_without_noise
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:clinic.duckdb; ledger: sqlite:clinic.ledger; privacy_unit: patient.id
budget: {epsilon: 100, delta: 1e-6}; statement: {epsilon: 1}
tables:
  patient: id
  visit(pid -> patient.id, max_rows: 5): ward [A, B]
""")
NULL = "rows of visit whose pid is NULL belong to nobody and are not counted"
EITHER = "rows of visit whose pid is NULL or refers to no row of patient belong to nobody and are not counted"
DANGLING = "rows of visit whose pid refers to no row of patient belong to nobody and are not counted"
COUNT = "SELECT COUNT(*) FROM visit"


@pytest.mark.parametrize(
    ("column", "asked", "said"),
    [
        ("BIGINT", COUNT, EITHER),
        ("BIGINT NOT NULL", COUNT, DANGLING),
        ("BIGINT REFERENCES patient (id)", COUNT, NULL),
        ("BIGINT NOT NULL REFERENCES patient (id)", COUNT, ""),
        ("BIGINT REFERENCES patient (id)", f"{COUNT} WHERE pid IS NOT NULL", ""),
        ("BIGINT REFERENCES patient (id)", f"{COUNT} v WHERE ward = 'A' AND NOT v.pid IS NULL", ""),
        ("BIGINT", f"{COUNT} JOIN patient ON patient.id = visit.pid", ""),
        ("BIGINT REFERENCES patient (id)", "SELECT ward, COUNT(*) FROM visit GROUP BY ward", NULL),
        (
            "BIGINT REFERENCES patient (id)",
            "SELECT AVG(n) FROM (SELECT pid, COUNT(*) n FROM visit GROUP BY pid) x",
            NULL,
        ),
        ("BIGINT", "SELECT COUNT(*) FROM patient", ""),
        ("BIGINT", f"SELECT COUNT(*) FROM patient p WHERE ({COUNT} v WHERE v.pid = p.id) > 0", ""),
        ("BIGINT", "SELECT COUNT(*) FROM patient p WHERE EXISTS (SELECT 1 FROM visit v WHERE v.pid = p.id)", ""),
        ("BIGINT", "SELECT COUNT(*) FROM patient WHERE id IN (SELECT pid FROM visit WHERE ward = 'A')", ""),
        ("BIGINT", "SELECT COUNT(*) FROM patient WHERE id NOT IN (SELECT pid FROM visit WHERE ward = 'A')", EITHER),
    ],
)
def test_it_is_told_which_rows_have_no_person(tmp_path: Path, column: str, asked: str, said: str) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE patient AS SELECT range AS id FROM range(50)")
        connection.execute("ALTER TABLE patient ADD PRIMARY KEY (id)")
        connection.execute(f"CREATE TABLE visit (pid {column}, ward VARCHAR)")
        connection.execute(
            "INSERT INTO visit SELECT range % 50, CASE WHEN range % 2 = 0 THEN 'A' ELSE 'B' END FROM range(100)"
        )
        if "NOT NULL" not in column:
            connection.execute("INSERT INTO visit VALUES (NULL, 'A')")
        if "REFERENCES" not in column:
            connection.execute("INSERT INTO visit VALUES (77, 'A')")
        truth = {row[-1] for row in connection.execute(asked).fetchall()}
    (tmp_path / "policy.yaml").write_text(POLICY)
    proxy = open_without_noise(tmp_path / "policy.yaml")
    answer = proxy.session().execute(asked)
    told = [one for one in answer.notices if "belong to nobody" in one]
    assert told == ([said] if said else [])
    if not said:
        assert {row[-1] for row in answer.rows} == truth
    proxy.close()
