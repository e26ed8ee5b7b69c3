"""A budget of the rows of each month: what is charged to which rows, and what one person's rows of one month move."""

from __future__ import annotations

import datetime
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.errors import BudgetExceeded, Error
from dpsql.interfaces.commands.commands import main
from dpsql.ledger import EVER, is_one_period
from dpsql.policy import Policy, PolicyError
from dpsql.price_text import price_line
from dpsql.proxy import Proxy, Session
from dpsql.reply import Answer
from dpsql.testing import Measurement, measured, open_policy
from rewriter.plan import Plan
from tests.new_databases import insert

POLICY = """\
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {{epsilon: 3, {budget}per: month, unit: person-month}}
statement: {{epsilon: 0.2, max_epsilon: 1}}
tables:
  patient: {{columns: {{id: {{}}, sex: {{values: [F, M]}}}}}}
  visit:
    unit: patient_id -> patient.id
    time: day
    max_rows: 5 per month, 2 per day
    closed_after: 2 days
    columns: {{patient_id: {{}}, day: {{range: [2025-01-01, 2025-12-31]}}, cost: {{range: [-50, 100]}}, ward: {{}}}}
  login:
    unit: patient_id -> patient.id
    time: made
    max_rows: 5 per month
    columns: {{patient_id: {{}}, made: {{range: [2025-01-01, 2025-12-31]}}}}
"""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Person 7 is at every place in every month, with extreme values and more rows than bounds admit."""
    folder, draw = tmp_path_factory.mktemp("clinic"), random.Random(5)
    people = range(60)
    visits, logins = [], []
    for month in range(1, 13):
        for person in people:
            many = 4 if person == 7 else draw.choice([0, 0, 1, 2, 3])
            for _ in range(many):
                day = datetime.date(2025, month, draw.randint(1, 28))
                cost = draw.choice([-50, 100]) if person == 7 else draw.randint(-50, 100)
                visits.append((person, day, cost, draw.choice("ab")))
                logins.append((person, datetime.datetime.combine(day, datetime.time(draw.randint(0, 23)))))
    with closing(duckdb.connect(str(folder / "clinic.duckdb"))) as connection:
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL)")
        connection.execute(
            "CREATE TABLE visit (patient_id INTEGER NOT NULL, day DATE NOT NULL, cost INTEGER, ward VARCHAR)"
        )
        connection.execute("CREATE TABLE login (patient_id INTEGER NOT NULL, made TIMESTAMP NOT NULL)")
        insert(connection, "patient", [(one, "FM"[one % 2]) for one in people])
        insert(connection, "visit", visits)
        insert(connection, "login", logins)
    return folder


@pytest.fixture(params=["zcdp", "pure"])
def place(request: pytest.FixtureRequest, clinic: Path, tmp_path: Path) -> Path:
    budget = "accounting: pure, " if request.param == "pure" else "delta: 1e-6, "
    shutil.copy(clinic / "clinic.duckdb", tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY.format(budget=budget), encoding="utf-8")
    return tmp_path


@pytest.fixture
def proxy(place: Path) -> Iterator[Proxy]:
    with closing(Proxy.open(place / "policy.yaml")) as opened:
        yield opened


@pytest.fixture
def session(proxy: Proxy) -> Session:
    return proxy.session()


def of_march(day: str = "day") -> str:
    return f"{day} >= '2025-03-01' AND {day} < '2025-04-01'"


MARCH = of_march()
STATEMENTS = [
    f"SELECT COUNT(*) FROM visit WHERE {MARCH}",
    f"SELECT ward, SUM(cost), COUNT(*) FROM visit WHERE {MARCH} AND ward IN ('a', 'b') GROUP BY ward",
    "SELECT COUNT(*), SUM(cost) FROM visit WHERE day >= '2025-03-10' AND day <= '2025-05-02'",
    "SELECT SUM(cost) FROM visit",
    "SELECT AVG(cost) FROM visit WHERE day < '2025-06-01'",
    "SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit GROUP BY 1",
    f"SELECT sex, COUNT(*) FROM patient JOIN visit ON id = patient_id WHERE {MARCH} GROUP BY sex",
    f"SELECT sex, COUNT(*) FROM patient LEFT JOIN visit ON id = patient_id WHERE {MARCH} GROUP BY sex",
    f"SELECT sex, COUNT(*) FROM patient LEFT JOIN visit ON id = patient_id AND {MARCH} GROUP BY sex",
    f"SELECT sex, COUNT(*) FROM patient WHERE id IN (SELECT patient_id FROM visit WHERE {MARCH}) GROUP BY sex",
    f"SELECT COUNT(*) FROM patient WHERE id NOT IN (SELECT patient_id FROM visit WHERE {MARCH})",
    f"SELECT COUNT(*) FROM patient p WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.patient_id = p.id AND {MARCH})",
    f"SELECT COUNT(*) FROM visit v WHERE {MARCH} AND patient_id IN (SELECT patient_id FROM login)",
    f"SELECT COUNT(*) FROM visit v WHERE {MARCH} AND patient_id IN (SELECT patient_id FROM login WHERE made < '2025-04-01')",
    f"SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visit WHERE {MARCH} GROUP BY patient_id) t",
    "SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id) t",
    "SELECT COUNT(*) FROM (SELECT patient_id, MIN(day) AS first FROM visit GROUP BY 1) t WHERE first >= '2025-03-01'",
    f"SELECT COUNT(DISTINCT patient_id) FROM visit WHERE {MARCH}",
    "SELECT COUNT(DISTINCT patient_id) FROM visit WHERE day >= '2025-03-01'",
    f"SELECT MAX(cost), MEDIAN(cost) FROM visit WHERE {MARCH}",
    f"SELECT COUNT(*) FROM visit s_v, (SELECT * FROM visit v) s WHERE s_v.patient_id = s.patient_id AND {of_march('s_v.day')}",
    f"SELECT COUNT(*) FROM visit a JOIN visit b ON a.patient_id = b.patient_id WHERE {of_march('a.day')} AND {of_march('b.day')}",
    f"SELECT COUNT(*) FROM visit WHERE {MARCH} OR cost > 90",
    f"SELECT COUNT(*) FROM visit WHERE NOT ({MARCH})",
    "SELECT SUM(c) FROM (SELECT day, cost AS c, LAG(cost) OVER (PARTITION BY patient_id ORDER BY day) AS before"
    f" FROM visit) t WHERE {MARCH} AND before > 0",
    f"SELECT SUM((SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id)) FROM patient p JOIN visit w ON w.patient_id = p.id"
    f" WHERE {of_march('w.day')}",
    "SELECT COUNT(*) FILTER (WHERE day >= '2025-03-01' AND day < '2025-04-01') FROM visit",
    "SELECT COUNT(*) FROM patient",
    f"SELECT CASE WHEN id IN (SELECT patient_id FROM visit WHERE {MARCH}) THEN 'a' ELSE 'b' END, COUNT(*) FROM patient"
    " GROUP BY 1",
    f"SELECT COUNT(*) FILTER (WHERE id IN (SELECT patient_id FROM visit WHERE {MARCH})), COUNT(*) FILTER (WHERE NOT id IN"
    f" (SELECT patient_id FROM visit WHERE {MARCH})) FROM patient",
    f"SELECT n, COUNT(*) FROM (SELECT p.id, COUNT(v.day) AS n FROM patient p LEFT JOIN visit v ON v.patient_id = p.id AND"
    f" {MARCH} GROUP BY p.id) t WHERE n < 4 GROUP BY n",
    f"SELECT COUNT(*) FROM patient p JOIN login l ON l.patient_id = p.id AND l.made >= '2025-03-01' AND"
    f" l.made < '2025-04-01' WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.patient_id = p.id AND {MARCH})",
    f"SELECT CASE WHEN n > 1 THEN 'a' ELSE 'b' END, COUNT(*) FROM (SELECT p.id, (SELECT COUNT(*) FROM visit v WHERE"
    f" v.patient_id = p.id AND {MARCH}) AS n FROM patient p) t GROUP BY 1",
    "SELECT EXTRACT(YEAR FROM day), EXTRACT(MONTH FROM day), COUNT(*) FROM visit GROUP BY 1, 2",
    "SELECT COUNT(*) FROM visit WHERE TO_CHAR(day, 'YYYY-MM') = '2025-03'",
]


MONTHS = (2, 3, 4, 5, 12)
MOST, SOME = 12, 11
"""Of a series with more than so many periods, each eleventh is looked at: that is no day of a month or a week."""


def _plans(sql: str, proxy: Proxy) -> list[Plan]:
    """The plans of a statement, in the norm of its accounting, and those of its periods: of all months, or some days."""
    program = proxy.questions([sql])[0].program
    series = [one.series for one in program.options if one.series is not None]
    parts = [
        found.of(0, period)
        for found in series
        for period in found.periods[:: 1 if len(found.periods) <= MOST else SOME]
    ]
    return [*(one.by_norm[0] for one in program.options), *parts]


def _moved(here: Measurement, there: Measurement, *, squared: bool) -> Fraction:
    """How far the integers of a release are apart, as a part of their sensitivity; its square under zCDP."""
    worst = Fraction(0)
    for names, sensitivity in here.blocks:
        zeros = dict.fromkeys(names, 0)
        keys = {*here.groups, *there.groups}
        apart = [
            here.groups.get(key, zeros)[name] - there.groups.get(key, zeros)[name] for key in keys for name in names
        ]
        found = sum(one * one if squared else abs(one) for one in apart)
        worst = max(worst, Fraction(found, sensitivity.l2_squared if squared else sensitivity.l1))
    return worst


def test_one_persons_rows_of_a_month_move_what_is_charged_to_it(place: Path) -> None:
    """Nothing where the month is not in the span that is charged; one sensitivity where the span is one month; else two.

    What would be charged to too few months, or as one step, is found here: the law is tried in every month.
    """
    squared = "delta" in (place / "policy.yaml").read_text(encoding="utf-8")
    seen: Counter[str] = Counter()
    with ExitStack() as stack:
        proxy = stack.enter_context(closing(Proxy.open(place / "policy.yaml")))
        without = {}
        for month in MONTHS:
            folder = place / f"without_{month}"
            folder.mkdir()
            for name in ("policy.yaml", "clinic.duckdb"):
                shutil.copy(place / name, folder)
            with closing(duckdb.connect(str(folder / "clinic.duckdb"))) as connection:
                for table, time in (("visit", "day"), ("login", "made")):
                    connection.execute(f"DELETE FROM {table} WHERE patient_id = 7 AND month({time}) = {month}")
            without[month] = stack.enter_context(closing(open_policy(folder / "policy.yaml")))
        opened = stack.enter_context(closing(open_policy(place / "policy.yaml")))
        assert opened.accountant.per is not None
        for sql in STATEMENTS:
            plans = _plans(sql, proxy)
            here = measured(sql, opened, plans=plans)
            for month, other in without.items():
                at = datetime.datetime(2025, month, 15, tzinfo=datetime.UTC)
                for plan, mine, theirs in zip(plans, here, measured(sql, other, plans=plans), strict=True):
                    span, told = opened.span(plan), f"{sql} in {month}"
                    moved = _moved(mine, theirs, squared=squared)
                    if not span.begin <= at < span.end:
                        assert moved == 0, told
                        assert mine.ranks == theirs.ranks, told
                        seen["outside"] += 1
                    elif is_one_period(span, opened.accountant.per):
                        assert moved <= 1, told
                        seen["one"] += moved > 0
                    else:
                        assert moved <= (4 if squared else 2), told
                        seen["several"] += moved > 0
    assert seen["outside"] > 40
    assert seen["one"] > 15
    assert seen["several"] > 30


def test_rows_of_several_months_are_charged_to_each(place: Path) -> None:
    """Where the text does not bound every place of every table by conditions on its own time, all months pay."""
    march = "2025-03-01T00:00:00+00:00/2025-04-01T00:00:00+00:00"
    # A person who is not among those who came goes from one number to another: all months are charged, two steps each.
    bounded = dict.fromkeys((0, 1, 6, 7, 9, 14, 17, 19, 21, 31, 34), march)
    bounded[2] = "2025-03-01T00:00:00+00:00/2025-06-01T00:00:00+00:00"
    bounded[4], bounded[13] = "/2025-06-01T00:00:00+00:00", "/2025-04-01T00:00:00+00:00"
    bounded[18] = "2025-03-01T00:00:00+00:00/"
    with closing(open_policy(place / "policy.yaml")) as opened, closing(Proxy.open(place / "policy.yaml")) as proxy:
        for number, sql in enumerate(STATEMENTS):
            program = proxy.questions([sql])[0].program
            spans = {str(opened.span(one.by_norm[0])) for one in program.options}
            assert spans == {bounded.get(number, "")}, sql


def test_each_month_has_a_budget_and_new_rows_bring_another(session: Session) -> None:
    def ask(month: int, epsilon: str = "0.4") -> Answer:
        session.execute(f"SET dpsql.epsilon = {epsilon}")
        session.execute("SET dpsql.reuse = off")
        times = f"day >= '2025-{month:02}-01' AND day < '2025-{month + 1:02}-01'"
        return session.execute(f"SELECT COUNT(*) FROM visit WHERE {times}")

    paid = 0
    with pytest.raises(BudgetExceeded, match="of the rows from 2025-03-01 to 2025-04-01") as refused:
        while True:
            ask(3)
            paid += 1
    assert paid > 1
    assert "rows of other times have budgets of their own" in (refused.value.hint or "")
    assert ask(4).price
    for several in (
        "SELECT COUNT(*) FROM visit WHERE day >= '2025-02-10' AND day < '2025-03-02'",
        "SELECT COUNT(*) FROM patient",
    ):
        with pytest.raises(BudgetExceeded):
            session.execute(several)
    assert session.execute("SELECT COUNT(*) FROM visit WHERE day >= '2025-04-02' AND day < '2025-06-01'").price


def test_months_of_a_series_do_not_share_a_price(session: Session) -> None:
    """Each month's number has the noise of one month alone, and twice that where two are read at once."""
    session.execute("SET dpsql.empty_groups = show")
    by_month = session.execute("SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit GROUP BY 1 ORDER BY 1")
    alone = session.execute(f"SELECT COUNT(*), SUM(cost) FROM visit WHERE {MARCH}")
    two = session.execute("SELECT COUNT(*), SUM(cost) FROM visit WHERE day >= '2025-03-01' AND day < '2025-05-01'")
    assert len(by_month.rows) == 12
    assert by_month.price == alone.price == two.price
    assert any("twice as wide" in one for one in two.notices)
    assert not any("twice as wide" in one for one in (*alone.notices, *by_month.notices))
    # Two months have twice the rows of one, and each step half of the price.
    assert two.margins[0][1] == pytest.approx(4 * alone.margins[0][1], rel=0.02)
    again = session.execute("SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit GROUP BY 1 ORDER BY 1")
    assert again.rows == by_month.rows
    assert not again.price


def test_explain_tells_the_error_that_a_month_of_a_series_has(session: Session) -> None:
    """The groups of all months are no release of rows of several months, which would have twice the noise."""
    session.execute("SET dpsql.empty_groups = show")
    asked = "SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit GROUP BY 1"
    told, answer = session.explain(asked), session.execute(asked)
    assert any("measured month by month" in note for note in answer.notices)
    assert {told.expected[1]} == {row[1] for row in answer.margins}
    # A quarter's rows are of three budgets: its number errs six times as far, and is three times as large.
    assert not [one.change for one in told.better if one.less[1] is not None and one.less[1] <= 0]
    assert not any("QUARTER" in one.change for one in told.better)


def test_what_is_left_is_that_of_the_rows_that_were_asked_for(session: Session) -> None:
    def of(month: int) -> str:
        return f"SELECT SUM(cost) FROM visit WHERE day >= '2025-{month:02}-01' AND day < '2025-{month + 1:02}-01'"

    told, answer = session.explain(of(3)), session.execute(of(3))
    assert told.remaining_after.rows == (
        datetime.datetime(2025, 3, 1, tzinfo=datetime.UTC),
        datetime.datetime(2025, 4, 1, tzinfo=datetime.UTC),
    )
    assert told.remaining_after == answer.remaining
    assert answer.remaining.used == answer.price.part_of(answer.remaining.limit) > 0
    assert "of each month whose rows it is about" in price_line(answer)
    assert "budget of the rows from 2025-03-01 to 2025-04-01, or" in price_line(answer)
    other = session.execute(of(4)).remaining
    session.execute("SELECT SUM(cost) FROM visit WHERE day >= '2025-04-01' AND day < '2025-06-01'")
    several = session.execute("SELECT SUM(cost) FROM visit WHERE day >= '2025-03-10' AND day < '2025-05-10'").remaining
    assert other.used < several.used
    assert several.rows == (
        datetime.datetime(2025, 4, 1, tzinfo=datetime.UTC),
        datetime.datetime(2025, 5, 1, tzinfo=datetime.UTC),
    )
    assert not session.budget().used, "of the rows of the present month"


def test_the_owner_sees_tables_and_days_of_all_charges(
    place: Path, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """No row of 2025 is of the present month. Two months that are charged once each are no more than one."""
    for month in (3, 5):
        session.execute(f"SELECT SUM(cost) FROM visit WHERE day >= '2025-0{month}-01' AND day < '2025-0{month + 1}-01'")
    assert main(["budget", str(place / "policy.yaml")]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    (used,) = {line[-2] for line in shown if line[:3] == ["from", "2025-03-01", "before"]}
    assert ["visit", "2", used, "%"] in shown


@pytest.mark.parametrize(
    "month", ["EXTRACT(YEAR FROM day), EXTRACT(MONTH FROM day)", "DATE_PART('year', day)::int, DATE_PART('month', day)"]
)
def test_fields_that_tell_a_month_are_charged_as_the_month_is(proxy: Proxy, session: Session, month: str) -> None:
    session.execute("SET dpsql.empty_groups = show")
    truncated = session.explain("SELECT DATE_TRUNC('month', day), SUM(cost) FROM visit GROUP BY 1")
    answer = session.execute(f"SELECT {month}, SUM(cost) FROM visit GROUP BY 1, 2 ORDER BY 1, 2")
    assert [(int(row[0]), int(row[1])) for row in answer.rows] == [(2025, month) for month in range(1, 13)]
    assert answer.price == truncated.price
    assert not any("twice as wide" in one for one in answer.notices)
    paid = [span for span, loss in proxy.ledger.row_times() if loss]
    year = [datetime.datetime(2025 + end // 12, end % 12 + 1, 1, tzinfo=datetime.UTC) for end in range(13)]
    assert (paid[0].begin, paid[-1].end) == (year[0], year[-1])


def test_what_is_said_is_what_is_charged(proxy: Proxy, session: Session) -> None:
    for sql in STATEMENTS[:8]:
        told = session.explain(sql).price
        before = dict(proxy.ledger.row_times())
        answer = session.execute(sql)
        after = proxy.ledger.row_times()
        more = [
            loss - next(known for one, known in before.items() if one.begin <= span.begin < one.end)
            for span, loss in after
        ]
        assert max(more, key=lambda loss: loss.parts) == answer.price == told, sql


@pytest.mark.parametrize(
    "sql", ["SELECT ward, COUNT(*) FROM visit GROUP BY ward", "SELECT COUNT(DISTINCT ward) FROM visit"]
)
def test_groups_are_selected_within_one_month_alone(proxy: Proxy, session: Session, sql: str) -> None:
    if proxy.ledger.limits[""][0].accounting.takes_delta:
        answer = session.execute(sql.replace("visit", f"visit WHERE {MARCH}", 1).replace(" GROUP BY", " GROUP BY"))
        assert answer.price
    if "GROUP" in sql:
        with pytest.raises(Error, match=r"selected|delta|δ"):
            session.execute(sql)


def test_what_is_of_all_times_is_refused_before_a_charge(proxy: Proxy, session: Session) -> None:
    session.execute("SET dpsql.watch = 'few'")
    with pytest.raises(Error, match="a watch is of rows of all times"):
        session.execute(f"SELECT COUNT(*) < 10 FROM visit WHERE {MARCH}")
    session.execute("SET dpsql.watch = off")
    with pytest.raises(Error, match="a workload is of rows of all times"):
        session.workload([STATEMENTS[0]])
    assert proxy.ledger.extent()[1] == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("unit: person-month", "unit: person-week", "another length than per"),
        ("unit: person-month", "unit: month", "is not one of person-"),
        ("delta: 1e-6, ", "delta: 1e-6, accounting: rdp, ", "knows no budget of rows"),
        ("max_rows: 5 per month, 2 per day", "max_rows: 5", "needs a bound of spans"),
        ("tables:", "profile: {epsilon: 0.1}\ntables:", "leave one out"),
        ("    time: day\n", "", "spans of time"),
    ],
)
def test_a_policy_says_what_is_wrong(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = POLICY.format(budget="delta: 1e-6, ")
    assert old in text
    with pytest.raises(PolicyError, match=said):
        Policy.parse(text.replace(old, new, 1).replace("    closed_after: 2 days\n", ""), tmp_path / "policy.yaml")


def test_a_ledger_of_rows_is_no_ledger_of_people(place: Path) -> None:
    """What was charged to the rows of a month says nothing of what was charged in it."""
    path = place / "policy.yaml"
    dpsql.connect(str(path)).close()
    path.write_text(path.read_text(encoding="utf-8").replace(", unit: person-month", ""), encoding="utf-8")
    with pytest.raises(Error, match="another privacy unit"):
        dpsql.connect(str(path))


def test_sums_of_the_future_count_what_is_charged_to_all_times(proxy: Proxy, session: Session) -> None:
    session.execute("SELECT COUNT(*) FROM patient")
    ((span, loss),) = proxy.ledger.row_times()
    assert span == EVER
    assert loss
