"""Closed windows: a release all of whose rows are closed is bought once, and stands for ever; no other one does."""

from __future__ import annotations

import datetime
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy
from tests.doubles import NoNoise
from tests.price.test_series import Clinic

FEBRUARY = "made >= '2026-02-01' AND made < '2026-03-01'"
BY_SEX = "SELECT sex, COUNT(*) FROM visit JOIN patient ON id = patient_id WHERE {} GROUP BY 1 ORDER BY 1"


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    return Clinic(tmp_path)


def bought_on_three_days(clinic: Clinic, sql: str) -> list[bool]:
    bought = []
    with clinic.staying_open():
        for _ in range(3):
            bought.append(bool(clinic.ask(sql).price))
            clinic.later(1)
    return bought


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*) FROM visit WHERE {FEBRUARY}",
        f"SELECT SUM(cost), AVG(cost) FROM visit WHERE {FEBRUARY}",
        f"SELECT MEDIAN(cost) FROM visit WHERE {FEBRUARY}",
        f"SELECT DATE_TRUNC('month', made), MEDIAN(cost) FROM visit WHERE {FEBRUARY} GROUP BY 1",
        BY_SEX.format(FEBRUARY),
        BY_SEX.format("DATE_TRUNC('month', made) = '2026-02-01'"),
        BY_SEX.format("made >= DATE_TRUNC('month', now()) - INTERVAL '1 month' AND made < DATE_TRUNC('month', now())"),
        BY_SEX.format("made::date BETWEEN '2026-02-01' AND '2026-02-28'"),
        "SELECT COUNT(*) FROM visit WHERE made <= '2026-02-28 23:59:59'",
        "SELECT COUNT(*) FROM visit WHERE EXTRACT(YEAR FROM made) = 2026 AND EXTRACT(MONTH FROM made) = 2",
        "SELECT MEDIAN(cost) FROM visit WHERE made >= '2026-01-01' AND made < '2027-01-01' AND EXTRACT(MONTH FROM made) IN (1, 2)",
        BY_SEX.format("TO_CHAR(made, 'YYYY-MM') = '2026-02'"),
        f"SELECT COUNT(*) FROM (SELECT patient_id FROM visit WHERE {FEBRUARY}) AS t",
        f"SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visit WHERE {FEBRUARY} GROUP BY 1) AS t WHERE n > 3",
        "SELECT COUNT(*) FROM (SELECT patient_id, made::date AS d FROM visit GROUP BY 1, 2) AS t WHERE d < '2026-03-01'",
        "SELECT COUNT(*) FROM visit AS a JOIN visit AS b ON a.patient_id = b.patient_id"
        " WHERE a.made < '2026-03-01' AND b.made < '2026-02-20'",
        f"WITH v AS (SELECT * FROM visit WHERE {FEBRUARY}) SELECT COUNT(*) FROM v WHERE cost > 20",
        f"SELECT COUNT(*) FROM patient WHERE id IN (SELECT patient_id FROM visit WHERE {FEBRUARY})"
        " AND id IN (SELECT patient_id FROM visit WHERE made < '2026-02-01')",
        "SELECT COUNT(*) FROM patient WHERE EXISTS (SELECT 1 FROM visit WHERE patient_id = id AND made < '2026-03-01')",
        f"SELECT COUNT(*) FROM patient WHERE (id, 'F') IN (SELECT patient_id, 'F' FROM visit WHERE {FEBRUARY})",
        f"SELECT COUNT(*) FROM patient WHERE id IN (SELECT patient_id FROM visit WHERE {FEBRUARY} GROUP BY 1"
        " HAVING COUNT(*) > 3)",
        f"SELECT COUNT(*) FROM visit WHERE {FEBRUARY}"
        " AND patient_id NOT IN (SELECT patient_id FROM visit WHERE made < '2026-02-01')",
        f"WITH a AS (SELECT DISTINCT patient_id FROM visit WHERE {FEBRUARY}), b AS (SELECT DISTINCT patient_id FROM visit"
        " WHERE made < '2026-02-01') SELECT COUNT(*) FROM a JOIN b ON a.patient_id = b.patient_id",
        f"SELECT COUNT(*) FROM patient JOIN visit ON id = patient_id LEFT JOIN (SELECT patient_id AS p, COUNT(*) AS n"
        " FROM visit WHERE made < '2026-02-01' GROUP BY 1) AS t ON id = p"
        f" WHERE {FEBRUARY}",
    ],
)
def test_what_is_closed_is_bought_once(clinic: Clinic, sql: str) -> None:
    with clinic.staying_open():
        first = clinic.ask(sql)
        assert first.price
        clinic.later(1)
        again = clinic.ask(sql)
        assert not again.price
        assert again.rows == first.rows
    clinic.later(8)
    again = clinic.ask(sql)
    assert not again.price
    assert again.rows == first.rows, "another proxy has it, too"
    assert any("visit before 2026-0" in note and "is closed" in note for note in again.notices)


CLOSED = """\
TO_CHAR(made, 'YYYY') = '2025'
TO_CHAR(made, 'YYYY-MM-DD') = '2026-02-03'
TO_CHAR(made, 'MM/YYYY') = '02/2026'
TO_CHAR(made, 'FMMonth YYYY') = 'February 2026'
TO_CHAR(made, 'YYYYMM')::int = 202602
TO_CHAR(made, 'YYYY-MM') IN ('2026-02', '2025-11')
TO_CHAR(made, 'YYYY-MM') BETWEEN '2026-01' AND '2026-02'
TO_CHAR(made, 'YYYY-MM') = TO_CHAR(now() - INTERVAL '1 month', 'YYYY-MM')
TO_CHAR(made, 'YYYY') = '2026' AND TO_CHAR(made, 'MM') = '02'
strftime(made, '%Y-%m') = '2026-02'
EXTRACT(YEAR FROM made) = EXTRACT(YEAR FROM now() - INTERVAL '1 month') AND EXTRACT(MONTH FROM made) = EXTRACT(MONTH FROM now() - INTERVAL '1 month')
DATE_PART('year', made) = DATE_PART('year', now() - INTERVAL '1 month') AND DATE_PART('month', made) = DATE_PART('month', now() - INTERVAL '1 month')
EXTRACT(YEAR FROM made)::integer = 2026 AND EXTRACT(MONTH FROM made)::integer = 2
EXTRACT(YEAR FROM made) * 100 + EXTRACT(MONTH FROM made) = 202602
CAST(TRUNC(EXTRACT(YEAR FROM made)) AS INTEGER) = 2025
DATE_TRUNC('month', made) = DATE_TRUNC('month', now() - INTERVAL '1 month')
DATE_TRUNC('month', CAST(made AS TIMESTAMP)) = DATE_TRUNC('month', CAST((NOW() + INTERVAL '-1 month') AS TIMESTAMP))
made::text LIKE '2026-02%'
CAST(made AS VARCHAR) LIKE '2026-02-%'
LEFT(made::text, 7) = '2026-02'
SUBSTR(made::text, 1, 7) = '2026-02'
made::text BETWEEN '2026-02-01' AND '2026-02-28'
STARTS_WITH(made::text, '2026-02')
MAKE_DATE(EXTRACT(YEAR FROM made)::int, EXTRACT(MONTH FROM made)::int, 1) = '2026-02-01'
DATE_BIN('1 day', made, '2000-01-01') = '2026-02-03'
""".splitlines()
OPEN = """\
TO_CHAR(made, 'YYYY-MM') = '2026-03'
TO_CHAR(made, 'YYYY-MM') IN ('2026-02', '2026-03')
TO_CHAR(made, 'YYYY-MM') >= '2026-02'
TO_CHAR(made, 'YYYY-MM') <> '2026-02'
TO_CHAR(made, 'MM/YYYY') <= '02/2026'
TO_CHAR(made, 'MM') = '02'
TO_CHAR(made, 'MM/YY') = '02/26'
made::text LIKE '%2026-02%'
made::text LIKE '2026%'
NOT made::text LIKE '2026-02%'
EXTRACT(MONTH FROM made) = EXTRACT(MONTH FROM now() - INTERVAL '1 month')
""".splitlines()


def test_a_window_that_is_spelt_otherwise_is_closed_as_well(clinic: Clinic) -> None:
    """Each of them has an end, and is found to be over; each of the others may have rows tomorrow."""
    with clinic.staying_open():
        found = {}
        for condition in (*CLOSED, *OPEN):
            answer = clinic.ask(f"SELECT COUNT(*) FROM visit WHERE {condition}")
            found[condition] = any("is closed" in note for note in answer.notices)
    assert found == {**dict.fromkeys(CLOSED, True), **dict.fromkeys(OPEN, False)}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visit WHERE made >= '2026-02-01'",
        "SELECT COUNT(*) FROM visit WHERE made < '2026-03-20'",
        "SELECT COUNT(*) FROM visit WHERE day < '2026-03-01'",
        "SELECT COUNT(*) FROM visit WHERE EXTRACT(MONTH FROM made) = 2",
        "SELECT COUNT(*) FROM visit WHERE made >= '2025-01-01' AND made < '2027-01-01' AND EXTRACT(MONTH FROM made) = 2",
        "SELECT COUNT(*) FROM visit WHERE EXTRACT(YEAR FROM made) = 2026 AND EXTRACT(MONTH FROM made) IN (2, 3)",
        "SELECT COUNT(*) FROM visit WHERE EXTRACT(YEAR FROM made) = 2026 AND NOT EXTRACT(MONTH FROM made) > 3",
        "SELECT COUNT(*) FROM visit WHERE late < '2026-03-01'",
        "SELECT COUNT(*) FROM visit WHERE made < '2026-03-01' OR cost > 50",
        "SELECT COUNT(*) FROM visit WHERE NOT made < '2026-03-01'",
        "SELECT COUNT(*) FILTER (WHERE made < '2026-03-01') FROM visit",
        "SELECT COUNT(*) FROM patient",
        "SELECT COUNT(*) FROM patient WHERE NOT EXISTS (SELECT 1 FROM visit WHERE patient_id = id AND made < '2026-03-01')",
        f"SELECT COUNT(*) FROM patient WHERE id NOT IN (SELECT patient_id FROM visit WHERE {FEBRUARY})",
        f"SELECT COUNT(*) FROM patient WHERE sex = 'F' OR id IN (SELECT patient_id FROM visit WHERE {FEBRUARY})",
        "SELECT COUNT(*) FROM patient WHERE id IN (SELECT patient_id FROM visit WHERE made < '2026-02-01')"
        " AND id IN (SELECT patient_id FROM visit WHERE made >= '2026-02-01')",
        "SELECT COUNT(*) FROM visit AS v WHERE made < '2026-03-01'"
        " AND EXISTS (SELECT 1 FROM visit AS w WHERE w.patient_id = v.patient_id AND w.made < v.made)",
        "SELECT COUNT(*) FROM visit AS v WHERE EXISTS (SELECT 1 FROM visit AS w WHERE w.patient_id = v.patient_id"
        " AND v.made < '2026-03-01')",
        f"SELECT COUNT(*) FROM patient LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visit WHERE {FEBRUARY} GROUP BY 1)"
        " AS t ON id = patient_id",
        "SELECT COUNT(*) FROM patient LEFT JOIN visit ON patient_id = id AND made < '2026-03-01'",
        "SELECT COUNT(*) FROM (SELECT id AS p FROM patient UNION ALL SELECT patient_id FROM visit"
        " WHERE made < '2026-03-01') AS t",
        "SELECT COUNT(*) FROM visit AS a JOIN visit AS b ON a.patient_id = b.patient_id WHERE a.made < '2026-03-01'",
        "WITH v AS (SELECT * FROM visit) SELECT COUNT(*) FROM v AS a JOIN v AS b ON a.patient_id = b.patient_id"
        " WHERE a.made < '2026-03-01'",
        "SELECT COUNT(*) FROM (SELECT made, COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visit) AS t"
        " WHERE made < '2026-03-01' AND n > 3",
        "SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id) patient_id, made FROM visit"
        " ORDER BY patient_id, made DESC) AS t WHERE made < '2026-03-01'",
        "SELECT COUNT(*) FROM (SELECT patient_id, MAX(made) AS last FROM visit GROUP BY 1) AS t WHERE last < '2026-03-01'",
        "SELECT COUNT(*) FROM visit WHERE made < '2026-03-01'"
        " AND cost > (SELECT AVG(cost) FROM visit AS w WHERE w.patient_id = visit.patient_id)",
    ],
)
def test_what_may_still_change_is_bought_at_each_refresh(clinic: Clinic, sql: str) -> None:
    assert bought_on_three_days(clinic, sql) == [True, True, True]


@pytest.mark.parametrize("change", ["closed_after: 1 day", "time: made"])
def test_nothing_is_closed_without_the_owners_word(tmp_path: Path, change: str) -> None:
    clinic = Clinic(tmp_path, closed="", **({} if change.startswith("closed") else {"most": "60"}))
    if change == "time: made":
        path = tmp_path / "policy.yaml"
        path.write_text(path.read_text().replace("    time: made\n", ""))
    assert bought_on_three_days(clinic, f"SELECT COUNT(*) FROM visit WHERE {FEBRUARY}") == [True, True, True]


def test_a_window_is_closed_by_the_clock_and_the_refresh(clinic: Clinic) -> None:
    """The window ends at the tenth's midnight, rows come for a day, and answers are bought anew at two o'clock."""
    sql = "SELECT COUNT(*) FROM visit WHERE made < '2026-03-10'"
    assert clinic.ask(sql).price
    clinic.now = datetime.datetime(2026, 3, 11, 1, 59, tzinfo=datetime.UTC)
    assert not clinic.ask(sql).price, "what was bought while it was open stands until the refresh"
    clinic.now += datetime.timedelta(minutes=1)
    assert clinic.ask(sql).price, "once more when it is closed"
    clinic.later(100)
    assert not clinic.ask(sql).price


def test_late_rows_are_not_in_it_and_the_truth_before_is(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path, most="2000 per month")
    sql = f"SELECT COUNT(*) FROM visit WHERE {FEBRUARY}"
    found = []
    for _ in range(2):
        opened = open_here(compared(load_policy(tmp_path / "policy.yaml")), read=lambda: clinic.now)
        with closing(Proxy(opened, NoNoise(), silent=True)) as proxy:
            found.append(proxy.session().execute(sql).rows[0][0])
        clinic.insert("2026-02-20 12:00")
        clinic.later(1)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        (now,) = connection.execute(sql).fetchone() or ()
    assert found == [now - 2, now - 2]


def test_a_range_that_ends_now_moves_no_closed_window(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path)
    path = tmp_path / "policy.yaml"
    path.write_text(path.read_text().replace("2026-12-31]}, day", "now]}, day"))
    for sql in (f"SELECT COUNT(*) FROM visit WHERE {FEBRUARY}", BY_SEX.format("made < '2026-03-01'")):
        assert bought_on_three_days(clinic, sql) == [True, False, False]


def test_it_is_charged_to_the_window_of_the_budget_in_which_it_was_read(tmp_path: Path) -> None:
    clinic, sql = Clinic(tmp_path, budget=", per: month"), f"SELECT COUNT(*) FROM visit WHERE {FEBRUARY}"
    spent = []
    for _ in range(2):
        price = clinic.ask(sql).price
        opened = open_here(compared(load_policy(tmp_path / "policy.yaml")), read=lambda: clinic.now)
        with closing(Proxy(opened, NoNoise(), silent=True)) as proxy:
            spent.append((price.rho, proxy.ledger.standings()[0].spent.rho))
        clinic.later(40)
    assert spent == [(Fraction(1, 2), Fraction(1, 2)), (0, 0)]
