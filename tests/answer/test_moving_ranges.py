"""Ranges whose end follows the clock, and instants that are moved to a grain: what is asked again is free, as long as
nothing that was declared has moved."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import OperationalError
from dpsql.mechanisms.sampling import Sampler
from dpsql.opened import compared, load_policy, open_here
from dpsql.proxy import Proxy, Session
from tests.doubles import NoNoise

NOON = datetime.datetime(2026, 3, 10, 12, 1, 30, tzinfo=datetime.UTC)
POLICY = """
database: duckdb:clinic.duckdb
ledger: sqlite:clinic.ledger
privacy_unit: patient.id
budget: {epsilon: 100000, delta: 1e-6}
statement: {epsilon: 10, max_epsilon: 10}
clock: {zone: Europe/Berlin}
tables:
  patient: {columns: {id: {}}}
  visit:
    unit: patient_id -> patient.id
    time: day
    max_rows: 50 per month
    REFRESH
    columns:
      patient_id: {}
      day: {range: [2026-03-01, now]}
      late: {range: [2026-03-01, now - 1 day]}
      moment: {range: [2026-03-01, now], grain: 1 hour}
      instant: {range: [2026-03-01, now + 1 day], grain: 1 hour}
"""


class Hands:
    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> datetime.datetime:
        return self.at


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A visit every ten minutes from the first of March on, for 40 days."""
    folder = tmp_path_factory.mktemp("moving")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE patient (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO patient SELECT i FROM range(500) t(i)")
        connection.execute(
            "CREATE TABLE visit (patient_id INTEGER REFERENCES patient (id), day DATE NOT NULL, late DATE NOT NULL, "
            "moment TIMESTAMP NOT NULL, instant TIMESTAMPTZ NOT NULL)"
        )
        minute = "TIMESTAMP '2026-03-01' + to_minutes(10 * i)"
        connection.execute(
            f"INSERT INTO visit SELECT i % 500, ({minute})::date, ({minute})::date, {minute}, timezone('UTC', {minute}) "
            "FROM range(5760) t(i)"
        )
    return folder


Opening = Callable[[str], Session]


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def opening(folder: Path, tmp_path: Path, hands: Hands) -> Iterator[Opening]:
    opened: list[Proxy] = []

    def session(refresh: str = "") -> Session:
        text = POLICY.replace("REFRESH", refresh).replace("clinic.duckdb", str(folder / "clinic.duckdb"))
        (tmp_path / "policy.yaml").write_text(text)
        sampler: Sampler = NoNoise()
        opened.append(Proxy(open_here(compared(load_policy(tmp_path / "policy.yaml")), read=hands), sampler))
        found = opened[-1].session()
        found.execute("SET dpsql.empty_groups = 'show'")
        return found

    yield session
    for proxy in opened:
        proxy.close()


def at(*when: int) -> datetime.datetime:
    return datetime.datetime(2026, *when, tzinfo=datetime.UTC)


BY_DAY = "SELECT day, COUNT(*) AS n FROM visit GROUP BY day ORDER BY day NULLS LAST"
TOTAL = "SELECT COUNT(*) FROM visit"


@pytest.mark.parametrize(
    ("key", "last"),
    [
        ("day", datetime.date(2026, 3, 10)),
        ("late", datetime.date(2026, 3, 9)),
        ("DATE_TRUNC('month', day)", datetime.datetime(2026, 3, 1)),
        ("DATE_TRUNC('hour', moment)", datetime.datetime(2026, 3, 10, 13)),
        ("DATE_TRUNC('day', moment)", datetime.datetime(2026, 3, 10)),
        ("DATE_TRUNC('hour', instant)", at(3, 11, 12)),
        ("DATE_BIN('15 minutes', moment, TIMESTAMP '2026-03-01')", datetime.datetime(2026, 3, 10, 13, 45)),
    ],
)
def test_groups_end_with_the_present(opening: Opening, key: str, last: object) -> None:
    rows = opening("").execute(f"SELECT {key} AS k, COUNT(*) FROM visit GROUP BY 1 ORDER BY 1").rows
    assert max(row[0] for row in rows) == last


def test_what_was_asked_is_free_until_the_groups_are_others(opening: Opening, hands: Hands) -> None:
    session = opening("")
    first, total = session.execute(BY_DAY), session.execute(TOTAL)
    assert first.price
    assert total.price
    assert len(first.rows) == 10
    hands.at = at(3, 10, 22, 59)  # a minute before midnight in Berlin
    again = session.execute(BY_DAY)
    assert not again.price
    assert again.rows == first.rows
    hands.at = at(3, 10, 23, 0)
    new = session.execute(BY_DAY)
    assert new.price
    assert [row[0] for row in new.rows][-1] == datetime.date(2026, 3, 11)
    assert any("outside of 2026-03-01 to 2026-03-11" in notice for notice in new.notices)
    assert not session.execute(TOTAL).price, "the total has no groups that could have moved"


def test_a_total_is_not_made_of_the_groups_of_another_day(opening: Opening, hands: Hands) -> None:
    """The days until yesterday are not all days of today's month."""
    session = opening("")
    session.execute(BY_DAY)
    hands.at = at(3, 12)
    assert session.execute("SELECT COUNT(*) FROM visit WHERE day >= '2026-03-01'").price
    month = session.execute("SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit GROUP BY 1")
    assert month.price


def test_groups_stand_as_long_as_answers_do(opening: Opening, hands: Hands) -> None:
    session = opening("refresh: 1 day at 02:00")
    first = session.execute(BY_DAY)
    hands.at = at(3, 11, 0, 59)  # 01:59 in Berlin
    again = session.execute(BY_DAY)
    assert not again.price
    assert again.rows == first.rows
    hands.at = at(3, 11, 1, 0)
    new = session.execute(BY_DAY)
    assert new.price
    assert new.rows[-1][0] == datetime.date(2026, 3, 11)


def test_spans_that_bound_rows_end_with_the_range(opening: Opening, hands: Hands) -> None:
    session = opening("")
    said = "each person counts with at most {} rows (max_rows of visit)"
    assert said.format(50) in session.execute(TOTAL).notices
    hands.at = at(5, 10)
    more = session.execute(TOTAL)
    assert said.format(150) in more.notices
    assert more.price


def test_another_opening_finds_what_was_released(opening: Opening, hands: Hands) -> None:
    first = opening("").execute("SELECT day, COUNT(*) FROM visit GROUP BY day ORDER BY day NULLS LAST")
    hands.at = at(3, 10, 20)
    again = opening("").execute("SELECT day, COUNT(*) FROM visit GROUP BY day ORDER BY day NULLS LAST")
    assert first.price
    assert not again.price
    assert again.rows == first.rows


def test_the_clock_may_go_back_before_the_range(opening: Opening, hands: Hands) -> None:
    hands.at = at(1, 1)
    assert [row[0] for row in opening("").execute(BY_DAY).rows] == [datetime.date(2026, 3, 1)]


def test_dpsql_columns_has_the_present_end(opening: Opening) -> None:
    rows = opening("").execute("SELECT column_name, high FROM dpsql.columns WHERE table_name = 'visit'").rows
    assert dict(rows)["day"] == "2026-03-10"


LAST_HOURS = [
    "moment BETWEEN now() AT TIME ZONE 'UTC' - INTERVAL '6 hours' AND now() AT TIME ZONE 'UTC'",
    "moment >= '{0:%Y-%m-%dT%H:%M:%S}.123Z' AND moment < '{1:%Y-%m-%dT%H:%M:%S}.123Z'",
    "moment BETWEEN '{0:%Y-%m-%dT%H:%M:%S}.123Z' AND '{1:%Y-%m-%dT%H:%M:%S}.123Z'",
    "moment >= TO_TIMESTAMP('{0:%Y-%m-%d %H:%M:%S}.000000', 'YYYY-MM-DD HH24:MI:SS.US') "
    "AND moment < TO_TIMESTAMP('{1:%Y-%m-%d %H:%M:%S}.000000', 'YYYY-MM-DD HH24:MI:SS.US')",
    "NOT (moment < TIMESTAMP '{0:%Y-%m-%d %H:%M:%S}' OR moment > TIMESTAMP '{1:%Y-%m-%d %H:%M:%S}')",
    "instant > now() - INTERVAL '6 hours' AND now() > instant",
]


@pytest.mark.parametrize("condition", LAST_HOURS)
def test_a_refresh_is_the_same_release_for_a_grain(opening: Opening, hands: Hands, condition: str) -> None:
    session = opening("")

    def ask() -> tuple[bool, int, str]:
        there = condition.format(hands.at - datetime.timedelta(hours=6), hands.at)
        answer = session.execute(f"SELECT COUNT(*) FROM visit WHERE {there}")
        return bool(answer.price), answer.rows[0][0], " ".join(answer.notices)  # type: ignore[return-value]

    paid, count, notices = ask()
    # From 06:00 to 13:00, with or without the end itself.
    assert paid
    assert count in (41, 42, 43)
    assert "12:01" in notices
    assert "13:00:00" in notices
    for moment in (at(3, 10, 12, 1, 37), at(3, 10, 12, 59, 59)):
        hands.at = moment
        paid, again, notices = ask()
        assert (paid, again) == (False, count)
        assert "06:00:00" in notices
    hands.at = at(3, 10, 13, 0, 1)
    assert ask()[0]


def test_what_is_on_the_grain_or_equal_stays(opening: Opening) -> None:
    session = opening("")
    for condition, count in (
        ("moment >= TIMESTAMP '2026-03-10 06:00:00' AND moment < TIMESTAMP '2026-03-10 07:00:00'", 6),
        ("moment = TIMESTAMP '2026-03-10 06:10:00'", 1),
        ("moment > TIMESTAMP '2026-03-10 06:00:00' AND moment <= TIMESTAMP '2026-03-10 07:00:00'", 6),
        ("DATE_TRUNC('minute', moment) >= TIMESTAMP '2026-03-10 06:10:00' AND day = '2026-03-10'", 107),
    ):
        answer = session.execute(f"SELECT COUNT(*) FROM visit WHERE {condition}")
        assert answer.rows == ((count,),), condition
        assert "grain" not in " ".join(answer.notices), condition


def test_under_not_no_row_is_lost(opening: Opening) -> None:
    answer = opening("").execute(
        "SELECT COUNT(*) FROM visit WHERE day = '2026-03-10' "
        "AND moment NOT BETWEEN TIMESTAMP '2026-03-10 06:30:00' AND TIMESTAMP '2026-03-10 08:30:00'"
    )
    assert answer.rows == ((144 - 7,),)  # all but 07:00 to 08:00


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("day: {range: [now, 2026-03-01]}", "the low end does not follow the clock"),
        ("day: {range: [0, now]}", "not of one kind"),
        ("day: {range: [2026-03-01, now + 6 hours]}", "no whole number of days"),
        ("day: {range: [2026-03-01, now + a while]}", "nor now . 30 days"),
        ("day: {grain: 6 hours}", "dates have no hours"),
        ("patient_id: {grain: 1 day}", "has no grain"),
        ("moment: {grain: 7 minutes}", "not a length of time that divides a day"),
    ],
)
def test_policies_that_are_wrong_say_so(folder: Path, tmp_path: Path, column: str, problem: str) -> None:
    text = POLICY.replace("REFRESH", "").replace("    time: day\n", "").replace("50 per month", "50")
    text = text.partition("      patient_id: {}")[0] + f"      {column}\n"
    (tmp_path / "p.yaml").write_text(text.replace("clinic.duckdb", str(folder / "clinic.duckdb")))
    with pytest.raises(OperationalError, match=problem):
        compared(load_policy(tmp_path / "p.yaml"))


@pytest.mark.parametrize("tick", ["1 minute", "1 hour", "1 day"])
def test_ranges_end_with_the_refresh_whatever_the_tick_is(
    folder: Path, tmp_path: Path, hands: Hands, tick: str
) -> None:
    """At midnight nothing moves where answers stand until two o'clock."""
    text = POLICY.replace("REFRESH", "refresh: 1 day at 02:00").replace(
        "zone: Europe/Berlin", f"zone: UTC, tick: {tick}"
    )
    (tmp_path / "policy.yaml").write_text(text.replace("clinic.duckdb", str(folder / "clinic.duckdb")))
    sampler: Sampler = NoNoise()
    with closing(Proxy(open_here(compared(load_policy(tmp_path / "policy.yaml")), read=hands), sampler)) as proxy:
        last: list[object] = []
        for moment in (at(3, 10, 1, 59), at(3, 10, 2, 0), at(3, 10, 23, 59), at(3, 11, 0, 1), at(3, 11, 2, 1)):
            hands.at = moment
            last.append(
                proxy.session().execute("SELECT MAX(day) FROM (SELECT day, COUNT(*) FROM visit GROUP BY 1) t").rows
            )
        assert last == [((datetime.date(2026, 3, day),),) for day in (9, 10, 10, 10, 11)]


@pytest.mark.parametrize(
    ("condition", "spans"),
    [
        ("day >= CURRENT_DATE - 1", 2),
        ("day >= now() - INTERVAL '1 day'", 1),
        ("day > CURRENT_DATE - 8", 8),
        ("NOT (day < CURRENT_DATE - 1)", 2),
        ("day >= DATE_TRUNC('week', now())", 2),
        ("DATE_TRUNC('day', day) >= CURRENT_DATE - INTERVAL '2 days'", 3),
        ("day BETWEEN CURRENT_DATE - 1 AND CURRENT_DATE + 90", 2),
        ("day >= '2026-03-09' AND NOT (day >= '2026-03-10')", 1),
    ],
)
def test_a_window_without_an_end_touches_the_spans_until_now(
    folder: Path, tmp_path: Path, hands: Hands, condition: str, spans: int
) -> None:
    text = (
        POLICY.replace("REFRESH", "").replace("50 per month", "50 per day").replace("clinic", str(folder / "clinic"), 1)
    )
    (tmp_path / "policy.yaml").write_text(text)
    sampler: Sampler = NoNoise()
    with closing(Proxy(open_here(compared(load_policy(tmp_path / "policy.yaml")), read=hands), sampler)) as proxy:
        notices = proxy.session().explain(f"SELECT COUNT(*) FROM visit WHERE {condition}").notices
    assert f"each person counts with at most {50 * spans} rows (max_rows of visit)" in notices
