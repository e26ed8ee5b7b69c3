"""What object-relational mappers write around subqueries: answered as plain SQL means it, or refused where no row is an answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error
from dpsql.interfaces.commands.demo_clinic import POLICY
from dpsql.proxy import Proxy, Session

EXISTS = (
    'SELECT COUNT(*) AS "__count" FROM "patient" WHERE {}EXISTS(SELECT 1 AS "a" FROM "visit" U0 WHERE '
    '(U0."patient_id" = ("patient"."id") AND U0."reason" = \'surgery\') {})'
)
OF_EACH = (
    'SELECT SUM("t"), COUNT("t") FROM (SELECT (SELECT {} AS "s" FROM "visit" U0 WHERE U0."patient_id" = ("patient"."id") '
    'AND U0."reason" = \'surgery\' {}) AS "t" FROM "patient") subquery'
)
GROUPED = 'GROUP BY U0."patient_id"'


@pytest.mark.parametrize("limit", ["", "LIMIT 1", "LIMIT 21", "FETCH FIRST 1 ROWS ONLY", 'ORDER BY U0."day" LIMIT 1'])
@pytest.mark.parametrize("negated", ["", "NOT "])
def test_a_limit_within_exists_changes_nothing(
    ana: Session, data: duckdb.DuckDBPyConnection, negated: str, limit: str
) -> None:
    true = data.execute(EXISTS.format(negated, "")).fetchall()
    assert ana.execute(EXISTS.format(negated, limit)).rows == tuple(true)


@pytest.mark.parametrize("limit", ["LIMIT 0", "LIMIT 1 OFFSET 1"])
def test_a_limit_that_takes_rows_away_is_refused(ana: Session, limit: str) -> None:
    with pytest.raises(Error, match="LIMIT"):
        ana.execute(EXISTS.format("", limit))


@pytest.mark.parametrize("item", ["COUNT(*)", 'SUM(LEAST(U0."cost", 400))'])
@pytest.mark.parametrize("group", ["", GROUPED])
def test_a_subquery_for_one_value_may_be_grouped_by_what_ties_it(
    ana: Session, data: duckdb.DuckDBPyConnection, item: str, group: str
) -> None:
    """Without a row a COUNT is 0, and NULL with GROUP BY."""
    sql = OF_EACH.format(item, group)
    (row,), (true,) = ana.execute(sql).rows, data.execute(sql).fetchall()
    assert [float(str(value)) for value in row] == pytest.approx([float(value) for value in true], rel=0.002)


def test_a_subquery_for_one_value_of_another_group_is_refused(ana: Session) -> None:
    with pytest.raises(Error):
        ana.execute(OF_EACH.format("COUNT(*)", 'GROUP BY U0."day"'))


ANY_ROW = {
    "Rails": "SELECT 1 AS one FROM patient WHERE {} LIMIT 1",
    "Django": 'SELECT (1) AS "a" FROM "patient" WHERE {} LIMIT 1',
    "peewee": 'SELECT 1 FROM "patient" AS "t1" WHERE {} LIMIT 1 OFFSET 0',
    "Hibernate": "select 1 from patient p1_0 where {} order by id fetch first 1 rows only",
    "several": "SELECT TRUE AS a, 'x' FROM patient WHERE {} LIMIT 1",
    "WITH": "WITH p AS (SELECT * FROM patient WHERE {}) SELECT 1 FROM p LIMIT 1",
    "SQLAlchemy": "SELECT EXISTS (SELECT * FROM patient WHERE {}) AS anon_1",
    "limited": "SELECT NOT EXISTS (SELECT 1 FROM patient WHERE {} ORDER BY id LIMIT 1)",
    "CASE": "SELECT CASE WHEN EXISTS (SELECT id FROM patient WHERE {}) THEN 1 ELSE 0 END AS value",
    "TypeORM": """SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS
        (SELECT 1 FROM "patient" "patient" WHERE {}) LIMIT 1""",
    "visits": "SELECT 1 FROM visit v JOIN patient ON v.patient_id = patient.id WHERE {} LIMIT 1",
}


@pytest.mark.parametrize("where", ["sex = 'F'", "sex = 'F' AND smoker", "sex = 'F' AND birth_year > 2024"])
@pytest.mark.parametrize("asked", ANY_ROW.values(), ids=ANY_ROW)
def test_whether_there_is_a_row_is_told_by_a_noisy_count(
    ana: Session, data: duckdb.DuckDBPyConnection, asked: str, where: str
) -> None:
    answer = ana.execute(asked.format(where))
    assert answer.rows == tuple(data.execute(asked.format(where)).fetchall())
    assert any(note.startswith("whether there is a row is told by a noisy count") for note in answer.notices)


def test_a_row_is_paid_for_as_its_count_is(ana: Session) -> None:
    """Who has the count has the answer; who has neither pays, and pays once."""
    paid = ana.execute("SELECT 1 FROM patient WHERE birth_year > 1931 LIMIT 1")
    assert paid.price == ana.execute("SELECT COUNT(*) FROM patient WHERE birth_year > 1932").price
    assert paid.price
    assert not ana.execute("SELECT EXISTS (SELECT 1 FROM patient WHERE birth_year > 1931)").price
    assert not ana.execute("SELECT 1 FROM patient WHERE birth_year > 1932 LIMIT 1").price


def test_no_noise_makes_a_row_of_nobody_often(folder: Path, tmp_path: Path) -> None:
    """The threshold is the half-width of the 95 % interval: 2.5 % of such answers are wrong, and 9 of 80 once in 10,000
    runs. One person moves the number of those who have a row by 1, and the number of visits by 24."""
    policy = folder / "noisy.yaml"
    text = (folder / POLICY).read_text(encoding="utf-8")
    policy.write_text(text.replace("epsilon: 10,", "epsilon: 1000,").replace("clinic.ledger", "noisy.ledger"), "utf-8")
    proxy = Proxy.open(policy)
    try:
        analyst = proxy.session("ana")
        analyst.execute("SET dpsql.reuse = off")
        nobody = "SELECT 1 FROM visit WHERE reason = 'surgery' AND cost > 399.99 AND day = DATE '2025-01-07' LIMIT 1"
        with duckdb.connect(shutil.copy(folder / "clinic.duckdb", tmp_path)) as truth:
            assert not truth.execute(nobody).fetchall()
        answers = [analyst.execute(nobody) for _ in range(80)]
        assert all(answer.price for answer in answers)
        assert sum(bool(answer.rows) for answer in answers) < 9
        assert any("people who have a row: from 9 on" in note for note in answers[0].notices)
        assert analyst.execute("SELECT 1 FROM visit WHERE cost > 10 LIMIT 1").rows == ((1,),)
    finally:
        proxy.close()


@pytest.mark.parametrize("asked", ["SELECT 1 FROM patient LIMIT 5", "SELECT 1 FROM patient LIMIT 1 OFFSET 7"])
def test_several_rows_of_nothing_are_no_preview(ana: Session, asked: str) -> None:
    """An empty answer would say that there is no row."""
    with pytest.raises(Error, match="asks whether there is a row") as refused:
        ana.execute(asked)
    assert "LIMIT 1 is answered" in (refused.value.hint or "")


def test_times_that_are_made_of_numbers_are_literals(ana: Session) -> None:
    made = "MAKE_TIMESTAMP(CAST(2025 AS INT), CAST(1 AS INT), 6, 0, 0, 0)"
    sql = "SELECT DATE_BIN(INTERVAL '7 DAY', day::timestamp, {}) AS k, COUNT(*) FROM visit GROUP BY 1 ORDER BY 1"
    assert ana.execute(sql.format(made)).rows == ana.execute(sql.format("TIMESTAMP '2025-01-06'")).rows


@pytest.mark.parametrize("parts", ["2025, 2, 30, 0, 0, 0", "2025, 1, 1, 0, 0, 0.5", "0, 1, 1, 0, 0, 0"])
def test_what_no_time_is_stays(ana: Session, parts: str) -> None:
    with pytest.raises(Error):
        ana.execute(
            f"SELECT DATE_BIN(INTERVAL '7 DAY', day::timestamp, MAKE_TIMESTAMP({parts})), COUNT(*) FROM visit GROUP BY 1"
        )
