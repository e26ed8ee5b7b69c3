"""Series: what is measured period by period, kept when a period is closed, and paid for once."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from fractions import Fraction
from pathlib import Path
from statistics import mean, stdev

import duckdb
import pytest

import dpsql.answer
from dpsql.calibrate import Calibration
from dpsql.mechanisms.sampling import ExactSampler, Sampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy, Session
from dpsql.releases import ExactTable, NoisyTable
from dpsql.reply import Answer
from rewriter.declared import SPANS
from tests.default_run import thinned
from tests.doubles import NoNoise
from tests.foreseen_notices import foreseen
from tests.new_databases import new_database

POLICY = """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {{epsilon: 100, delta: 1e-6{budget}}}
statement: {{epsilon: 1, max_epsilon: 8}}
refresh: 1 day at 02:00
horizon: {horizon}
tables:
  patient: {{columns: {{id: {{}}, sex: {{values: [F, M]}}}}}}
  visit:
    unit: patient_id -> patient.id
    time: made
    max_rows: {most}
    {closed}
    columns: {{patient_id: {{}}, made: {{range: [2026-01-01, 2026-12-31]}}, day: {{range: [2026-01-01, 2026-12-31]}},
               cost: {{range: [0, 100]}}, late: {{}}}}
"""
BY_DAY = "SELECT DATE_TRUNC('day', made) AS d, COUNT(*) AS n FROM visit WHERE {} GROUP BY 1 ORDER BY 1"
BY_SEX = (
    "SELECT DATE_TRUNC('day', made) AS d, sex, COUNT(*) AS n FROM visit JOIN patient ON id = patient_id"
    " WHERE {} GROUP BY 1, 2 ORDER BY 1, 2"
)
PART = Fraction(1, 2) / 32  # of ρ = 1/2, for each of 28 to 32 days


class Clinic:
    """A policy over a small database, at a time that tests move. Person 7 has 30 visits a day."""

    def __init__(self, folder: Path, **changed: str) -> None:
        self.folder, self.now = folder, datetime.datetime(2026, 3, 10, 3, tzinfo=datetime.UTC)
        self.measured: list[tuple[Calibration, ExactTable]] = []
        self._open: Session | None = None
        with new_database(folder / "clinic.duckdb") as connection:
            connection.execute(
                "CREATE TABLE patient (id INTEGER PRIMARY KEY, sex ENUM ('F', 'M') NOT NULL);"
                "INSERT INTO patient SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END FROM range(40) t(i);"
                "CREATE TABLE visit (patient_id INTEGER NOT NULL REFERENCES patient (id), made TIMESTAMP NOT NULL,"
                " day DATE NOT NULL, cost INTEGER NOT NULL, late TIMESTAMP);"
                "INSERT INTO visit SELECT CASE WHEN i % 40 < 30 THEN 7 ELSE (i * 7) % 40 END, x, x::DATE, 50, x"
                " FROM (SELECT i, TIMESTAMP '2026-02-01' + to_minutes((i * 36)::INT) AS x FROM range(2000) t(i))"
            )
        known = {"budget": "", "horizon": "90 days", "most": "6 per month", "closed": "closed_after: 1 day", **changed}
        (folder / "policy.yaml").write_text(POLICY.format(**known))

    @contextmanager
    def session(self) -> Iterator[Session]:
        opened = open_here(compared(load_policy(self.folder / "policy.yaml")), read=lambda: self.now)
        with closing(Proxy(opened, ExactSampler())) as proxy:
            session = proxy.session()
            session.execute("SET dpsql.empty_groups = show")
            yield session

    @contextmanager
    def staying_open(self) -> Iterator[None]:
        """One proxy answers all that is asked, and remembers its plans; else each question has one of its own."""
        with self.session() as self._open:
            try:
                yield
            finally:
                self._open = None

    def ask(self, sql: str) -> Answer:
        """The answer, whose price was foretold."""
        with nullcontext(self._open) if self._open else self.session() as session:
            foretold = session.explain(sql)
            answer = session.execute(sql)
            assert foretold.price == answer.price
            assert foretold.notices == foreseen(answer.notices)
            return answer

    def insert(self, *rows: str) -> None:
        with duckdb.connect(str(self.folder / "clinic.duckdb")) as connection:
            for row in rows:
                connection.execute(
                    f"INSERT INTO visit SELECT 3, x, x::DATE, 50, x FROM (SELECT TIMESTAMP '{row}' AS x)"
                )

    def later(self, days: int) -> None:
        self.now += datetime.timedelta(days=days)


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clinic:
    found, perturb = Clinic(tmp_path), dpsql.answer.perturb

    def seen(exact: ExactTable, calibration: Calibration, sampler: Sampler) -> NoisyTable:
        found.measured.append((calibration, exact))
        return perturb(exact, calibration, sampler)

    monkeypatch.setattr(dpsql.answer, "perturb", seen)
    return found


def window(begin: str, end: str) -> str:
    return f"made >= '2026-{begin}' AND made < '2026-{end}'"


def measured_by(answer: Answer) -> str:
    return next((note for note in answer.notices if note.startswith("measured ")), "")


def days_of(found: Sequence[tuple[Calibration, ExactTable]]) -> list[datetime.date]:
    periods = [calibration.plan.period for calibration, _ in found]
    return [period.begin.date() for period in periods if period is not None]


def test_a_day_later_only_new_and_open_days_are_bought(clinic: Clinic) -> None:
    first = clinic.ask(BY_SEX.format(window("02-08", "03-10")))
    assert first.price.rho == 30 * PART
    assert measured_by(first) == (
        "measured day by day: 2026-02-08 to 2026-03-08 measured now and kept; 2026-03-09 measured now and open"
    )
    assert not clinic.ask(BY_SEX.format(window("02-08", "03-10"))).price
    clinic.later(1)
    second = clinic.ask(BY_SEX.format(window("02-09", "03-11")))
    assert second.price.rho == 2 * PART
    assert measured_by(second) == (
        "measured day by day: 2026-02-09 to 2026-03-08 there and kept; 2026-03-09 measured now and kept;"
        " 2026-03-10 measured now and open"
    )
    before = {row[:2]: row[2] for row in first.rows}
    same = [row for row in second.rows if str(row[0]) < "2026-03-09"]
    assert len(same) == 2 * 28
    assert all(before[row[:2]] == row[2] for row in same)


DAY = "DATE_TRUNC('day', made)"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {DAY} AS d, '' AS k, COUNT(*) AS n, LAG(COUNT(*)) OVER (ORDER BY {DAY}) AS c FROM visit WHERE {{0}} GROUP BY 1",
        f"SELECT {DAY} AS d, '' AS k, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS c FROM visit WHERE {{0}} GROUP BY 1",
        f"SELECT {DAY} AS d, '' AS k, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS c FROM visit WHERE {{0}} GROUP BY 1",
    ],
)
def test_a_closed_day_stays_as_it_was_shown(clinic: Clinic, sql: str) -> None:
    """Whichever days are asked for with it, and whatever is computed of them."""
    seen: dict[object, object] = {}
    for step in range(4):
        answer = clinic.ask(sql.format(window("02-22", f"03-{10 + step}")))
        assert measured_by(answer)
        for day, other, number, *_ in answer.rows:
            if str(day) < "2026-03-09":
                assert seen.setdefault((day, other), number) == number
        clinic.later(1)
    assert len(seen) >= 15


def test_nothing_is_bought_twice_where_all_days_are_closed(clinic: Clinic) -> None:
    clinic.ask(BY_DAY.format(window("02-05", "03-07")))
    clinic.later(1)
    assert clinic.ask(BY_DAY.format(window("02-06", "03-08"))).price.rho == PART
    clinic.later(200)
    assert not clinic.ask(BY_DAY.format(window("02-05", "03-08"))).price


def test_people_are_clipped_within_each_day(clinic: Clinic) -> None:
    clinic.ask(BY_DAY.format(window("02-08", "03-10")))
    with duckdb.connect(str(clinic.folder / "clinic.duckdb")) as connection:
        rows = connection.execute("SELECT day, patient_id, count(*) FROM visit GROUP BY 1, 2").fetchall()
    truth: Counter[datetime.date] = Counter()
    for day, _, count in rows:
        truth[day] += min(count, 6)
    for calibration, exact in clinic.measured:
        (statistic,), (key,) = calibration.plan.statistics, exact.keys
        (number,) = exact.statistics[statistic.name]
        assert isinstance(key[0], datetime.datetime)
        assert number * statistic.granularity == truth[key[0].date()]
        assert [block.sensitivity.l2_squared for block in calibration.plan.blocks] == [36]
    assert len(clinic.measured) == 30


def test_what_was_measured_while_a_day_was_open_is_not_kept(clinic: Clinic) -> None:
    asked = BY_DAY.format(window("02-09", "03-10"))
    clinic.ask(asked)
    clinic.insert(*["2026-03-09 12:00"] * 5)
    clinic.measured.clear()
    clinic.later(1)
    assert clinic.ask(asked).price.rho == PART
    assert days_of(clinic.measured) == [datetime.date(2026, 3, 9)]
    ((_, exact),) = clinic.measured
    (number,) = next(iter(exact.statistics.values()))
    clinic.later(1)
    assert not clinic.ask(asked).price
    assert number > 0


def test_an_open_day_is_measured_anew_at_each_refresh(clinic: Clinic) -> None:
    asked = BY_DAY.format(window("02-09", "03-11"))
    prices = []
    with clinic.staying_open():
        for _ in range(5):
            prices.append(clinic.ask(asked).price.rho / PART)
            clinic.later(1)
    # On the 10th two days are open, on the 11th one of them closes, and on the 12th the other.
    assert prices == [30, 2, 1, 0, 0]


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("made >= now() - INTERVAL '20 days' AND made < now()", 12),
        ("made >= now() - INTERVAL '5 days'", 6),
        ("made BETWEEN CURRENT_DATE - 7 AND CURRENT_DATE", 6),
        ("made >= DATE_TRUNC('month', now()) - INTERVAL '1 month' AND made < DATE_TRUNC('month', now())", 6),
        ("made::date >= (now() AT TIME ZONE 'Europe/Berlin')::date - 9", 6),
        ("made < CURRENT_TIMESTAMP", 18),
        ("now() - made < INTERVAL '5 days'", 6),
        ("NOT (now() - made >= INTERVAL '5 days')", 6),
        ("CURRENT_DATE - made::date <= 7", 6),
        ("made + INTERVAL '20 days' > now()", 12),
        ("made::date + 3 > CURRENT_DATE", 6),
        ("made - TIMESTAMP '2026-02-01' BETWEEN INTERVAL '0 days' AND INTERVAL '2 days'", 6),
        ("made + INTERVAL '1 month' > now()", 18),
    ],
)
def test_conditions_on_the_clock_touch_the_spans_that_dates_would(tmp_path: Path, condition: str, rows: int) -> None:
    clinic = Clinic(tmp_path)
    path = clinic.folder / "policy.yaml"
    path.write_text(path.read_text().replace("2026-12-31]}, day", "now]}, day"))
    notices = clinic.ask(f"SELECT COUNT(*) FROM visit WHERE {condition}").notices
    assert f"each person counts with at most {rows} rows (max_rows of visit)" in notices


@pytest.mark.parametrize(
    ("condition", "days"),
    [
        ("now() - made < INTERVAL '3 days'", 4),
        ("CURRENT_DATE - made::date <= 3", 4),
        ("made - INTERVAL '1 day' >= TIMESTAMP '2026-03-08' AND made <= now()", 2),
        ("made::date + 3 > CURRENT_DATE", 3),
        ("TIMESTAMP '2026-03-05' - made BETWEEN INTERVAL '0 days' AND INTERVAL '2 days'", 3),
        ("made - TIMESTAMP '2026-03-05' <= INTERVAL '36 hours' AND made > '2026-03-06'", 1),
    ],
)
def test_the_days_of_a_condition_on_the_time_since_are_those_that_have_rows(
    tmp_path: Path, condition: str, days: int
) -> None:
    clinic = Clinic(tmp_path, most="2000 per month")
    path = clinic.folder / "policy.yaml"
    path.write_text(path.read_text().replace("2026-12-31]}, day", "now]}, day"))
    opened = open_here(compared(load_policy(path)), read=lambda: clinic.now)
    with closing(Proxy(opened, NoNoise(), silent=True)) as proxy:
        rows = proxy.session().execute(BY_DAY.format(condition)).rows
    with duckdb.connect(str(clinic.folder / "clinic.duckdb")) as connection:
        now = "TIMESTAMP '2026-03-10 03:00:00'"
        there = condition.replace("now()", now).replace("CURRENT_DATE", f"{now}::date")
        truth = connection.execute(BY_DAY.format(f"{there} AND made < '2026-03-11'")).fetchall()
    assert [tuple(row) for row in rows] == truth
    assert len(truth) == days


def test_a_day_that_closes_between_two_refreshes_is_not_bought_twice(clinic: Clinic) -> None:
    """It closes at midnight, and what was bought of it at three in the morning stands until two o'clock."""
    sql = BY_DAY.format(window("02-09", "03-10"))
    with clinic.staying_open():
        assert clinic.ask(sql).price.rho == 29 * PART
        for hours in (20, 2):
            clinic.now += datetime.timedelta(hours=hours)
            assert not clinic.ask(sql).price, clinic.now
        clinic.now += datetime.timedelta(hours=2)
        assert clinic.ask(sql).price.rho == PART, "the day that has closed, once more and for good"
    clinic.later(30)
    assert not clinic.ask(sql).price


def test_rows_that_come_late_are_not_in_closed_days_and_it_is_said(clinic: Clinic) -> None:
    asked = BY_DAY.format(window("02-05", "03-07"))
    before = clinic.ask(asked)
    clinic.insert(*["2026-02-20 12:00"] * 5)
    clinic.later(30)
    after = clinic.ask(asked)
    assert after.rows == before.rows
    assert not after.price
    said = "a day that is kept is as it was when it was asked first later than 1 day after its end"
    assert any(note.startswith(said) for note in after.notices)


def test_drill_downs_of_a_series_are_free(clinic: Clinic) -> None:
    some = BY_DAY.format(window("02-05", "03-07") + " AND sex = 'F'").replace(
        "visit W", "visit JOIN patient ON id = patient_id W"
    )
    with clinic.staying_open():
        clinic.ask(BY_SEX.format(window("02-05", "03-07")))
        assert not clinic.ask(some).price
    assert not clinic.ask(some.replace("sex = 'F'", "sex IN ('F')")).price


@pytest.mark.parametrize(
    "key",
    thinned(
        [
            "DATE_TRUNC('day', made)",
            "made::date",
            "CAST(DATE_TRUNC('day', made) AS date)",
            "DATE(made)",
            "CAST(made AS DATE)",
            "TO_CHAR(made, 'YYYY-MM-DD')",
            "TO_CHAR(made::date, 'Mon DD, YYYY')",
            "DATE_BIN('1 day', made, TIMESTAMP '2001-01-01')",
            "TO_TIMESTAMP(FLOOR(EXTRACT(EPOCH FROM made) / 86400) * 86400)",
            "TO_TIMESTAMP(86400 * (FLOOR(EXTRACT(EPOCH FROM made) / 86400)))",
        ],
        2,
    ),
)
def test_every_spelling_of_a_day_is_a_series(clinic: Clinic, key: str) -> None:
    answer = clinic.ask(
        f"SELECT {key} AS d, COUNT(*) FROM visit WHERE {window('02-05', '03-07')} GROUP BY {key} ORDER BY 1"
    )
    assert answer.price.rho == 30 * PART
    assert measured_by(answer).startswith("measured day by day")


@pytest.mark.parametrize(
    ("sql", "unit"),
    [
        (f"SELECT DATE_TRUNC('week', made), AVG(cost) FROM visit WHERE {window('02-05', '03-07')} GROUP BY 1", "week"),
        (
            "SELECT DATE_TRUNC('month', made), SUM(cost), COUNT(*) FROM visit WHERE made < '2026-03-10' GROUP BY 1",
            "month",
        ),
        ("SELECT DATE_TRUNC('quarter', made), COUNT(DISTINCT patient_id) FROM visit GROUP BY 1", "quarter"),
        ("SELECT TO_CHAR(made, 'YYYY-\"Q\"Q'), COUNT(*) FROM visit GROUP BY 1", "quarter"),
        (
            "SELECT EXTRACT(MONTH FROM made), EXTRACT(YEAR FROM made)::int, sex, COUNT(*) FROM visit JOIN patient"
            " ON id = patient_id WHERE made < '2026-03-10' GROUP BY 1, 2, 3",
            "month",
        ),
        (f"SELECT TO_CHAR(made, 'IYYY-IW'), COUNT(*) FROM visit WHERE {window('02-05', '03-07')} GROUP BY 1", "week"),
    ],
)
def test_other_periods(clinic: Clinic, sql: str, unit: str) -> None:
    answer = clinic.ask(sql)
    assert measured_by(answer).startswith(f"measured {unit} by {unit}")
    assert all(row[0] is not None for row in answer.rows)


RUNNING = (
    "SELECT DATE_TRUNC('day', made) AS d, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('day', made)) AS total FROM visit"
    " WHERE made >= '2026-02-01' AND made < '{}' GROUP BY 1 ORDER BY 1"
)


def test_a_running_total_without_an_end_pays_for_new_days_alone(tmp_path: Path) -> None:
    """Its numbers of closed days stand for ever; measured as one, all of them were bought at each refresh."""
    clinic = Clinic(tmp_path, most="6 per month, 1 per day", horizon="365 days")
    with clinic.session() as session:
        session.execute("SET dpsql.empty_groups = show")
        first = session.execute(RUNNING.format("2026-03-10"))
        clinic.now += datetime.timedelta(days=1)
        later = session.execute(RUNNING.format("2026-03-11"))
        session.execute("SET dpsql.reuse = off")
        joint = session.execute(RUNNING.format("2026-03-11"))
    assert len(first.rows) == 37
    assert later.price.rho * 18 < first.price.rho <= joint.price.rho
    # Counts are whole and none is below 0, and their sums agree: a day more may round others by 1.
    apart = [
        abs(float(str(two[1])) - float(str(one[1]))) for one, two in zip(first.rows[:36], later.rows, strict=False)
    ]
    assert max(apart) <= 3
    series, strategy = (sum(float(row[1] or 0) ** 2 for row in one.margins) for one in (later, joint))
    assert series < 2 * strategy, "at one price the first answer is not much less accurate"


def test_bars_of_running_totals_hold(tmp_path: Path) -> None:
    """Of the sums of 28 days, each with a noise of its own, after every day."""
    clinic = Clinic(tmp_path, most="31 per month, 1 per day", horizon="365 days")
    asked = RUNNING.format("2026-03-01")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        # Each person counts with one row a day.
        truth = connection.execute(asked.replace("COUNT(*)", "COUNT(DISTINCT patient_id)")).fetchall()
    held = []
    for _ in range(6):
        for kept in tmp_path.glob("clinic.ledger*"):
            kept.unlink()
        with clinic.session() as session:
            session.execute("SET dpsql.empty_groups = show")
            answer = session.execute(asked)
        assert any("measured day by day" in note for note in answer.notices)
        for (_, total), (_, bar), (_, known) in zip(answer.rows, answer.margins, truth, strict=True):
            held.append(abs(float(str(total)) - known) <= float(bar or 0))
    assert sum(held) / len(held) >= 0.8  # the totals of one draw lean on each other


def test_no_mechanism_is_much_better_for_who_may_come_each_day() -> None:
    """Running totals of T days, of which each person may be in every one: by the days one by one the mean variance of
    a total is T²/2 · c²/2ρ, and no mechanism has less than T²/3 · c²/2ρ, since the total of day t moves by t·c where
    a person has come each day. So independent days are within 1.5 of whatever may be thought of, for every T.
    """
    for days in (7, 30, 365, 4000):
        ours = sum(day * days for day in range(1, days + 1)) / days
        least = sum(day**2 for day in range(1, days + 1)) / days
        assert 1 < ours / least < 1.5


def test_shares_of_filtered_counts_are_series(clinic: Clinic) -> None:
    share = "COUNT(*) FILTER (WHERE sex = 'F') * 1.0 / COUNT(*)"
    asked = BY_SEX.replace("sex, COUNT(*)", share).replace("GROUP BY 1, 2 ORDER BY 1, 2", "GROUP BY 1 ORDER BY 1")
    assert clinic.ask(asked.format(window("02-08", "03-10"))).price.rho == 30 * PART
    clinic.later(1)
    assert clinic.ask(asked.format(window("02-09", "03-11"))).price.rho == 2 * PART


def test_days_of_instants_are_those_of_utc_and_close_by_its_clock(tmp_path: Path) -> None:
    """Nine hours after the day is over in Tokyo, rows of it still come."""
    clinic = Clinic(tmp_path)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("SET timezone = 'UTC'; ALTER TABLE visit ALTER made TYPE TIMESTAMPTZ")
    text = (tmp_path / "policy.yaml").read_text().replace("horizon:", "clock: {zone: Asia/Tokyo}\nhorizon:")
    (tmp_path / "policy.yaml").write_text(text.replace("1 day at 02:00", "1 hour"))
    asked = BY_DAY.format(window("02-09", "03-09"))
    clinic.now = datetime.datetime(2026, 3, 9, 23, tzinfo=datetime.UTC)
    first = clinic.ask(asked)
    assert measured_by(first).endswith("2026-03-08 measured now and open")
    assert first.price.rho == 28 * PART
    clinic.now = datetime.datetime(2026, 3, 10, tzinfo=datetime.UTC)
    assert measured_by(clinic.ask(asked)).endswith("2026-03-08 measured now and kept")
    assert not clinic.ask(asked).price
    by_text = asked.replace("DATE_TRUNC('day', made)", "TO_CHAR(made, 'YYYY-MM-DD')")
    assert [row[0] for row in clinic.ask(by_text).rows][-1] == "2026-03-08"


def test_a_range_that_follows_the_clock_keeps_its_days(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path)
    text = (tmp_path / "policy.yaml").read_text().replace("2026-12-31]}, day", "now], grain: 1 hour}, day")
    (tmp_path / "policy.yaml").write_text(text)
    assert clinic.ask(BY_SEX.format(window("02-08", "03-10"))).price.rho == 30 * PART
    clinic.later(1)
    assert clinic.ask(BY_SEX.format(window("02-09", "03-11"))).price.rho == 2 * PART


def test_part_of_a_day_is_no_day(clinic: Clinic) -> None:
    """A window that begins and ends within days: those are measured by themselves, and are not the days."""
    clinic.ask(BY_DAY.format(window("02-05", "03-07")))
    answer = clinic.ask(BY_DAY.format("made >= '2026-02-06 20:00' AND made < '2026-03-06 06:00'"))
    assert measured_by(answer) == (
        "measured day by day: 2026-02-06 measured now and kept; 2026-02-07 to 2026-03-05 there and kept;"
        " 2026-03-06 measured now and kept"
    )
    (first, whole, last) = (clinic.measured[place][1].statistics["s0"][0] for place in (-2, 1, -1))
    assert 0 < first < whole
    assert 0 < last < whole


def test_rows_without_a_time_are_not_lost(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path)
    text = (tmp_path / "policy.yaml").read_text()
    text = text.replace("time: made", "time: late").replace("late: {}", "late: {range: [2026-02-01, 2026-03-10]}")
    (tmp_path / "policy.yaml").write_text(text)
    by_day = "SELECT late::date AS d, COUNT(*) FROM visit{} GROUP BY 1 ORDER BY 1"
    answer = clinic.ask(by_day.format(""))
    assert not measured_by(answer)
    assert answer.rows[-1][0] is None
    told = next(note for note in answer.notices if note.startswith("visit.late may be NULL"))
    assert "add late IS NOT NULL to WHERE" in told
    for given in ("late IS NOT NULL", "late >= '2026-02-05' AND late < '2026-03-07'"):
        answer = clinic.ask(by_day.format(f" WHERE {given}"))
        assert measured_by(answer)
        assert not any("may be NULL" in note for note in answer.notices)
    by_month = "SELECT EXTRACT(YEAR FROM late), EXTRACT(MONTH FROM late), COUNT(*) FROM visit GROUP BY 1, 2"
    assert any("not measured month by month" in note for note in clinic.ask(by_month).notices)
    assert not any("may be NULL" in note for note in clinic.ask("SELECT COUNT(*) FROM visit").notices)


def test_no_series(clinic: Clinic) -> None:
    for sql in (
        f"SELECT COUNT(*) FROM visit WHERE {window('02-05', '03-07')}",
        "SELECT EXTRACT(HOUR FROM made), COUNT(*) FROM visit GROUP BY 1",
        f"SELECT TO_CHAR(made, 'MM-DD'), COUNT(*) FROM visit WHERE {window('02-05', '03-07')} GROUP BY 1",
        f"SELECT TO_CHAR(made, 'YYYY-IW'), COUNT(*) FROM visit WHERE {window('02-05', '03-07')} GROUP BY 1",
        f"SELECT DATE_BIN('1 day', made, TIMESTAMP '2001-01-01 06:00'), COUNT(*) FROM visit WHERE {window('02-05', '03-07')} GROUP BY 1",
        f"SELECT TO_TIMESTAMP(FLOOR(EXTRACT(EPOCH FROM made) / 7200) * 7200), COUNT(*) FROM visit WHERE {window('02-05', '03-07')} GROUP BY 1",
        f"SELECT TO_TIMESTAMP(FLOOR(EXTRACT(EPOCH FROM made) / 86400) * 3600), COUNT(*) FROM visit WHERE {window('02-05', '03-07')} GROUP BY 1",
        f"SELECT DATE_BIN('2 days', made, TIMESTAMP '2001-01-01'), COUNT(*) FROM visit WHERE {window('02-05', '03-07')} GROUP BY 1",
        "SELECT DATE_TRUNC('day', late), COUNT(*) FROM visit GROUP BY 1",  # another time
        "SELECT DATE_TRUNC('month', made), MEDIAN(cost) FROM visit GROUP BY 1",  # nothing that adds up
    ):
        assert not measured_by(clinic.ask(sql)), sql


def test_a_running_total_of_empty_days_is_unbiased(tmp_path: Path) -> None:
    """Each day is a period of its own, in which nothing makes up for what was moved to 0."""
    running = "SELECT DATE_TRUNC('day', made) AS d, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('day', made)) FROM visit"
    sql = f"{running} WHERE cost > 60 AND {window('02-08', '03-10')} GROUP BY 1 ORDER BY 1"
    totals = []
    for number in range(8):
        (tmp_path / str(number)).mkdir()
        answer = Clinic(tmp_path / str(number), most="3 per day").ask(sql)
        assert measured_by(answer)
        totals.append(float(answer.rows[-1][1]))
    spread = stdev(totals)
    assert abs(mean(totals)) <= 2 * spread / len(totals) ** 0.5


ROLLUP = (
    "SELECT DATE_TRUNC('day', made) AS d, sex, COUNT(*) AS n, SUM(cost) AS c FROM visit JOIN patient ON id = patient_id"
    " WHERE {} GROUP BY {} ORDER BY 1, 2"
)


def shown_days(answer: Answer) -> dict[tuple[object, object], tuple[object, ...]]:
    return {(day.date(), sex): numbers for day, sex, *numbers in answer.rows if day is not None}


@pytest.mark.parametrize("sets", ["ROLLUP (1, 2)", "CUBE (1, 2)", "GROUPING SETS ((1), (1, 2))"])
def test_a_closed_day_of_a_family_stays_as_it_was_shown(tmp_path: Path, sets: str) -> None:
    """Days and the groups within them agree; the newest day, and days with other noise, move none of those kept."""
    clinic = Clinic(tmp_path, most="3 per day")
    kept: dict[tuple[object, object], tuple[object, ...]] = {}
    prices = []
    for begin, end in (("02-28", "03-10"), ("02-28", "03-11"), ("02-28", "03-12"), ("02-08", "03-12")):
        answer = clinic.ask(ROLLUP.format(window(begin, end), sets))
        prices.append(answer.price.rho)
        assert measured_by(answer)
        told = any("totals over several days are measured by themselves" in note for note in answer.notices)
        assert told == ("GROUPING" not in sets)
        shown = shown_days(answer)
        for (day, sex), numbers in shown.items():
            if sex is None:
                assert list(numbers) == [sum(pair) for pair in zip(shown[day, "F"], shown[day, "M"], strict=True)]
        assert {cell: shown[cell] for cell in kept} == kept
        last = clinic.now.date() - datetime.timedelta(days=2)
        kept = {cell: numbers for cell, numbers in shown.items() if cell[0] <= last}  # type: ignore[operator]
        if end != "03-12":
            clinic.later(1)
    assert len(kept) == 3 * 31
    assert prices[0] == Fraction(1, 2)
    assert max(prices[1:3]) < Fraction(2, 3) * prices[0]


def test_what_is_more_accurate_of_some_days_moves_no_other(tmp_path: Path) -> None:
    """Days whose totals were bought at a higher price weigh these more, also beside a day of the usual price."""
    clinic = Clinic(tmp_path, most="3 per day")
    with clinic.staying_open():
        assert clinic._open is not None
        clinic._open.execute("SET dpsql.epsilon = 8")
        days = ROLLUP.replace("sex,", "NULL,").format(window("03-01", "03-10"), "GROUPING SETS ((1), ())")
        assert measured_by(clinic.ask(days))
        clinic._open.execute("SET dpsql.epsilon = 1")
        before = shown_days(clinic.ask(ROLLUP.format(window("03-01", "03-09"), "ROLLUP (1, 2)")))
        clinic.later(1)
        after = shown_days(clinic.ask(ROLLUP.format(window("03-01", "03-11"), "ROLLUP (1, 2)")))
    assert {cell: after[cell] for cell in before} == before
    alone = clinic.ask(ROLLUP.format(window("03-08", "03-09"), "ROLLUP (1, 2)"))
    assert measured_by(alone)  # of one day at a higher price, and beside its total
    assert len(alone.rows) == 4


def test_pure_families_are_measured_as_one(tmp_path: Path) -> None:
    """The finest groups have nearly all of the price there, and totals are their sums."""
    clinic = Clinic(tmp_path, most="3 per day", budget=", accounting: pure")
    text = (tmp_path / "policy.yaml").read_text().replace("delta: 1e-6, ", "")
    (tmp_path / "policy.yaml").write_text(text)
    answer = clinic.ask(ROLLUP.format(window("02-28", "03-10"), "ROLLUP (1, 2)"))
    assert not measured_by(answer)
    total = next(row[2] for row in answer.rows if row[0] is None)
    assert total == sum(row[2] for row in answer.rows if row[0] is not None and row[1] is not None)


def test_the_joint_form_where_it_costs_less(tmp_path: Path) -> None:
    for number, changed in enumerate(({"horizon": "1 day"}, {"closed": "closed_after: 60 days"}, {"closed": ""})):
        folder = tmp_path / str(number)
        folder.mkdir()
        clinic = Clinic(folder, **changed)
        answer = clinic.ask(BY_DAY.format(window("02-05", "03-07")))
        assert not measured_by(answer)
        assert answer.price.rho == Fraction(1, 2)


def test_a_series_that_has_begun_goes_on(clinic: Clinic) -> None:
    clinic.ask(BY_DAY.format(window("02-05", "03-07")))
    text = (clinic.folder / "policy.yaml").read_text().replace("horizon: 90 days", "horizon: 1 day")
    (clinic.folder / "policy.yaml").write_text(text)
    assert not clinic.ask(BY_DAY.format(window("02-05", "03-07"))).price


@pytest.mark.parametrize("accounting", ["pure", "approx"])
def test_every_accounting_has_series(tmp_path: Path, accounting: str) -> None:
    clinic = Clinic(tmp_path, budget=f", accounting: {accounting}", most="3 per day")
    if accounting == "pure":
        text = (tmp_path / "policy.yaml").read_text().replace("delta: 1e-6, ", "")
        (tmp_path / "policy.yaml").write_text(text)
    first = clinic.ask(BY_DAY.format(window("02-08", "03-10")))
    clinic.later(1)
    second = clinic.ask(BY_DAY.format(window("02-09", "03-11")))
    assert measured_by(first)
    assert second.price.epsilon * 15 == first.price.epsilon


@pytest.mark.parametrize("period", SPANS)
@pytest.mark.parametrize("span", SPANS)
def test_no_period_touches_more_spans_than_is_said(period: str, span: str) -> None:
    from rewriter.declared.spans import _number, touched_by_one
    from rewriter.expressions import floor_to

    def number(at: datetime.datetime, unit: str) -> int:
        rest = Fraction(at.hour * 3600 + at.minute * 60 + at.second, 86400)
        return _number(at.toordinal() + rest, unit)

    longest = {"hour": 1 / 24, "day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}[period]
    begin, most = floor_to(period, datetime.datetime(2023, 1, 1)), 0
    while begin.year < (2024 if period == "hour" else 2033):
        end = floor_to(period, begin + datetime.timedelta(days=longest))
        most = max(most, number(end - datetime.timedelta(seconds=1), span) - number(begin, span) + 1)
        begin = end
    assert most <= touched_by_one(period, span) <= most + 1
