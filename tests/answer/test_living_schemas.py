"""Tables of schemas live as their own sections say, and drill-downs over ranges that end now hold what they say."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpsql.mechanisms.sampling import Sampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy, Session
from tests.default_run import thinned
from tests.doubles import NoNoise
from tests.new_databases import new_database
from tests.policies import policy_text

ROWS = "SELECT i % 50, DATE '2026-03-01' + (i // 100)::INT, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END FROM range(6000) t(i)"
PEOPLE = ROWS.replace("i % 50", "i")
POLICY = policy_text("""
database: duckdb:clinic.duckdb; ledger: sqlite:clinic.ledger; privacy_unit: patient.id
budget: {epsilon: 100000, delta: 1e-6}; statement: {epsilon: 10, max_epsilon: 10}
tables:
  patient: id, day {range: [2026-03-01, now - 2 days]}, sex [F, M]
  analytics.visit(patient_id -> patient.id, time: day, max_rows: 5 per day, refresh: 1 day at 02:00, closed_after: 2 days):
      day 2026-03-01..now, sex [F, M]
  public.visit(patient_id -> patient.id, time: day, max_rows: 200 per day): day {range: [2026-03-01, now - 2 days]},
      sex [F, M]
""")


class Hands:
    def __init__(self) -> None:
        self.at = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.UTC)

    def __call__(self) -> datetime.datetime:
        return self.at


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def session(tmp_path: Path, hands: Hands) -> Iterator[Session]:
    """Sixty days of visits from the first of March on, the same in both schemas."""
    with new_database(tmp_path / "clinic.duckdb") as connection:
        connection.execute(
            "CREATE TABLE patient (id INTEGER PRIMARY KEY, day DATE NOT NULL, sex ENUM ('F', 'M') NOT NULL)"
        )
        connection.execute(f"INSERT INTO patient {PEOPLE}")
        connection.execute("CREATE SCHEMA analytics")
        for name in ("visit", "analytics.visit"):
            connection.execute(
                f"CREATE TABLE {name} (patient_id INTEGER NOT NULL, day DATE NOT NULL, sex VARCHAR NOT NULL)"
            )
            connection.execute(f"INSERT INTO {name} {ROWS}")
    (tmp_path / "policy.yaml").write_text(POLICY)
    sampler: Sampler = NoNoise()
    with closing(Proxy(open_here(compared(load_policy(tmp_path / "policy.yaml")), read=hands), sampler)) as proxy:
        yield proxy.session()


def at(*when: int) -> datetime.datetime:
    return datetime.datetime(2026, *when, tzinfo=datetime.UTC)


def test_each_schema_has_its_own_end_refresh_and_closing(session: Session, hands: Hands) -> None:
    ends = "SELECT table_name, high FROM dpsql.columns WHERE column_name = 'day'"
    assert dict(session.execute(ends).rows) == {
        "analytics.visit": "2026-03-10",
        "patient": "2026-03-08",
        "visit": "2026-03-08",
    }
    total = "SELECT COUNT(*) FROM {} WHERE day >= '2026-03-02' AND day < '2026-03-06'"
    assert [session.execute(total.format(name)).rows for name in ("analytics.visit", "public.visit")] == [((400,),)] * 2
    still = "SELECT COUNT(*) FROM {} WHERE day >= '2026-03-02' AND day < '2026-03-10'"
    for name in ("analytics.visit", "public.visit"):
        session.execute(still.format(name))
    hands.at = at(3, 11, 2)

    def prices(asked: str) -> list[bool]:
        return [bool(session.execute(asked.format(name)).price) for name in ("analytics.visit", "public.visit")]

    assert prices(still)[0], "it refreshes each day"
    assert prices(total) == [False, False], "days that are closed are bought once"


def test_days_of_a_schema_close_as_its_table_says(session: Session, hands: Hands) -> None:
    last_week = "SELECT day, COUNT(*) FROM {} WHERE day >= '{}' AND day < '{}' GROUP BY 1"
    session.execute("SET dpsql.empty_groups = show")
    first = session.execute(last_week.format("analytics.visit", "2026-03-03", "2026-03-10"))
    (measured,) = [note for note in first.notices if note.startswith("measured day by day")]
    assert "2026-03-03 to 2026-03-07 measured now and kept; 2026-03-08 to 2026-03-09 measured now and open" in measured
    hands.at = at(3, 11, 3)
    second = session.execute(last_week.format("analytics.visit", "2026-03-04", "2026-03-11"))
    assert second.price.rho == first.price.rho / 7 * 3
    other = session.execute(last_week.format("public.visit", "2026-03-04", "2026-03-11"))
    assert not any(note.startswith("measured day by day") for note in other.notices)


DRILLS = [
    "SELECT sex, COUNT(*) FROM patient WHERE day BETWEEN '2026-03-02' AND '2027-01-01' GROUP BY 1 ORDER BY 1",
    "SELECT COUNT(*) FROM patient WHERE sex = 'F' AND day BETWEEN '2026-03-02' AND '2027-01-01'",
    "SELECT COUNT(*) FROM patient WHERE sex = 'F'",
    "SELECT sex, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1",
    "SELECT COUNT(*) FROM patient WHERE sex = 'F' AND day < '2027-01-01'",
    "SELECT COUNT(*) FROM patient WHERE sex = 'M' AND day >= '2026-03-04'",
    "SELECT COUNT(*) FROM patient WHERE sex = 'M' AND day >= '2026-03-04' AND day <= '2026-03-20'",
    "SELECT COUNT(*) FROM patient WHERE sex = 'F' AND day BETWEEN '2026-03-02' AND '2026-03-05'",
]


@pytest.mark.parametrize("finer", ["", "WHERE day < '2026-03-20' ", "WHERE day BETWEEN '2026-03-02' AND '2027-01-01' "])
@pytest.mark.parametrize("later", [1, 40])
@pytest.mark.parametrize("sql", thinned(DRILLS, 2))
def test_a_drill_down_over_a_range_that_ends_now_is_what_it_says(
    session: Session, hands: Hands, finer: str, later: int, sql: str
) -> None:
    """The table has no refresh: what was released before stands, and its groups end with the day of its release."""
    session.execute(f"SELECT day, sex, COUNT(*) FROM patient {finer}GROUP BY 1, 2")
    hands.at += datetime.timedelta(days=later)
    with duckdb.connect() as connection:
        truth = connection.execute(sql.replace("patient", f"({PEOPLE}) AS patient (id, day, sex)")).fetchall()
    assert [tuple(row) for row in session.execute(sql).rows] == truth


OVER = "day BETWEEN '2026-03-02' AND '2026-03-07'"


def test_days_that_are_over_are_the_same_release_on_any_later_day(session: Session, hands: Hands) -> None:
    session.execute(f"SELECT day, sex, COUNT(*) FROM patient WHERE {OVER} GROUP BY 1, 2")
    hands.at += datetime.timedelta(days=40)
    session.execute("SET dpsql.epsilon = 1")
    answer = session.execute(f"SELECT sex, COUNT(*) FROM patient WHERE {OVER} GROUP BY 1 ORDER BY 1")
    assert not answer.price
    assert answer.rows == (("F", 200), ("M", 400))
