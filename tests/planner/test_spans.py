"""Bounds in spans of time: a statement's sensitivity is that of the spans that its conditions touch."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.policy import Policy, PolicyError
from dpsql.testing import measure
from rewriter.declared import SPANS, Spans

POLICY = """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 10, delta: 0}
tables:
  patient: {columns: {id: {}, sex: {values: [F, M]}}}
  visit:
    unit: patient_id -> patient.id
    time: made
    max_rows: 10 per month
    columns: {patient_id: {}, made: {range: [2026-01-01, 2026-12-31]}, cost: {range: [0, 100]}}
  scan:
    unit: patient_id -> patient.id
    time: day
    max_rows: 2 per week
    columns: {patient_id: {}, day: {range: [2026-01-05, 2026-02-01]}}
"""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL)")
        connection.execute(
            "INSERT INTO patient SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END FROM range(20) t(i)"
        )
        connection.execute(
            "CREATE TABLE visit (patient_id INTEGER REFERENCES patient (id), made TIMESTAMP, cost INTEGER)"
        )
        # One person has three visits every day, the others one each tenth day.
        connection.execute(
            "INSERT INTO visit SELECT CASE WHEN i % 4 < 3 THEN 7 ELSE i % 20 END,"
            " TIMESTAMP '2026-01-01' + to_hours((i * 6)::INT), 50 FROM range(1460) t(i)"
        )
        connection.execute("CREATE TABLE scan (patient_id INTEGER REFERENCES patient (id), day DATE)")
    (folder / "policy.yaml").write_text(POLICY)
    return folder / "policy.yaml"


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT COUNT(*) FROM visit", 120),
        ("SELECT COUNT(*) FROM visit WHERE made >= '2026-03-20' AND made < '2026-04-19'", 20),
        ("SELECT COUNT(*) FROM visit WHERE made BETWEEN '2026-03-01' AND '2026-03-31 23:59:59'", 10),
        ("SELECT COUNT(*) FROM visit WHERE made::date = '2026-03-07'", 10),
        ("SELECT COUNT(*) FROM visit WHERE DATE_TRUNC('month', made) = '2026-03-01'", 10),
        ("SELECT COUNT(*) FROM visit WHERE DATE_TRUNC('quarter', made) = '2026-04-01'", 30),
        ("SELECT COUNT(*) FROM visit WHERE made > '2026-11-15'", 20),
        ("SELECT COUNT(*) FROM visit WHERE made > '2027-11-15'", 10),
        ("SELECT COUNT(*) FROM visit WHERE made > '2026-11-15' OR cost > 3", 120),
        ("SELECT COUNT(*) FROM visit JOIN patient ON patient_id = id WHERE made > '2026-11-15' AND sex = 'F'", 20),
        ("SELECT COUNT(*) FROM visit v WHERE v.made >= '2026-03-20' AND v.made < '2026-04-19'", 20),
        ("SELECT COUNT(*) FROM (SELECT * FROM visit WHERE made > '2026-11-15') AS late", 20),
        ("SELECT COUNT(*) FROM (SELECT * FROM visit) AS late WHERE made > '2026-11-15'", 20),
        ("SELECT SUM(cost) FROM visit WHERE made > '2026-12-15'", 1000),
        (
            "SELECT COUNT(*) FROM visit AS a JOIN visit AS b ON a.patient_id = b.patient_id WHERE b.made > '2026-12-15'",
            14400,
        ),
        ("SELECT COUNT(*) FROM scan", 8),
        ("SELECT COUNT(*) FROM scan WHERE day >= '2026-01-11' AND day <= '2026-01-12'", 4),
        ("SELECT COUNT(*) FROM visit WHERE patient_id IN (SELECT patient_id FROM scan WHERE day > '2026-01-20')", 120),
    ],
)
def test_the_sensitivity_is_that_of_the_spans_that_are_touched(policy: Path, sql: str, rows: int) -> None:
    (measured,) = measure(sql, policy)
    ((_, sensitivity),) = measured.blocks
    (step,) = measured.granularity.values()
    assert sensitivity.l1 is not None
    assert rows <= sensitivity.l1 * step <= rows * Fraction(11, 10)


@pytest.mark.parametrize("since", ["2026-01-01", "2026-05-31", "2026-06-01", "2026-11-30"])
def test_a_person_counts_with_no_more_than_the_bound(policy: Path, since: str) -> None:
    condition = f"made >= '{since}'"
    (everybody,) = measure(f"SELECT COUNT(*) FROM visit WHERE {condition}", policy)
    (others,) = measure(f"SELECT COUNT(*) FROM visit WHERE {condition} AND patient_id <> 7", policy)
    ((_, sensitivity),) = everybody.blocks
    (one,), (rest,) = (list(found.groups[()].values()) for found in (everybody, others))
    assert one - rest == sensitivity.l1, "who has more counts with the bound"


def test_spans_are_counted_as_a_calendar_does() -> None:
    chance, first = Random(5), datetime.date(2023, 1, 1)
    begins = {
        "day": lambda day: day,
        "week": lambda day: day - datetime.timedelta(days=day.weekday()),
        "month": lambda day: day.replace(day=1),
        "quarter": lambda day: day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "year": lambda day: day.replace(month=1, day=1),
    }
    assert {*begins, "hour"} == set(SPANS)
    for _ in range(300):
        low = first + datetime.timedelta(days=chance.randrange(900))
        high = low + datetime.timedelta(days=chance.randrange(400))
        days = [low + datetime.timedelta(days=one) for one in range((high - low).days + 1)]
        for unit, begin in begins.items():
            spans = Spans("day", unit, Fraction(first.toordinal()), Fraction(first.toordinal() + 2000))
            assert spans.touched(Fraction(low.toordinal()), Fraction(high.toordinal())) == len({*map(begin, days)})
        hours = Spans("made", "hour", Fraction(low.toordinal()), Fraction(high.toordinal()))
        assert hours.count == 24 * (len(days) - 1) + 1


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("10 per month", "10 per fortnight", "is not a span of time"),
        ("10 per month", "0 per month", "is not a whole number"),
        ("    time: made\n", "", "is about spans of time: name the column of it"),
    ],
)
def test_what_is_wrong_is_told(policy: Path, before: str, after: str, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        Policy.parse(POLICY.replace(before, after, 1), policy)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("time: made", "time: cost", "no declared column of dates or times"),
        ("time: made", "time: nothing", "no declared column of dates or times"),
        ("made: {range: [2026-01-01, 2026-12-31]}", "made: {}", "made needs a range"),
    ],
)
def test_what_does_not_fit_the_database_is_told(policy: Path, before: str, after: str, told: str) -> None:
    from dpsql.errors import OperationalError
    from dpsql.opened import open_policy

    path = policy.with_name("wrong.yaml")
    path.write_text(POLICY.replace(before, after, 1))
    with pytest.raises(OperationalError, match=told):
        open_policy(path).close()
