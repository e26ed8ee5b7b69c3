"""``now()`` and its kin: one instant for all of a statement, and the same statement for a tick."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pytest

from dpsql.clock import Clock
from dpsql.errors import NotSupportedError
from dpsql.opened import open_policy
from dpsql.policy import Policy, PolicyError
from dpsql.proxy import Proxy
from tests.doubles import NoNoise

POLICY = """
database: duckdb:visits.duckdb
ledger: sqlite:ledger
privacy_unit: person.id
budget: {epsilon: 100000, delta: 1e-6}
statement: {epsilon: 10, max_epsilon: 10}
CLOCK
tables:
  person:
    columns:
      id: {}
      seen: {range: [2026-11-01, 2026-12-01]}
      instant: {range: [2026-11-01, 2026-12-01]}
  word: {public: true}
"""
NOON = datetime.datetime(2026, 11, 22, 12, 0, 42, tzinfo=datetime.UTC)


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> datetime.datetime:
        return self.at


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person for each minute from the first of November on, 40,000 of them."""
    folder = tmp_path_factory.mktemp("clock")
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, seen TIMESTAMP NOT NULL, instant TIMESTAMPTZ NOT NULL)"
        )
        minute = "TIMESTAMP '2026-11-01' + to_minutes(i)"
        connection.execute(f"INSERT INTO person SELECT i, {minute}, timezone('UTC', {minute}) FROM range(40000) t(i)")
        connection.execute("CREATE TABLE word (name VARCHAR, ends DATE)")
        connection.execute("INSERT INTO word VALUES ('old', DATE '2026-11-21'), ('new', DATE '2026-11-23')")
    return folder


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def proxy(folder: Path, hands: Hands, tmp_path: Path) -> Iterator[Proxy]:
    path = folder / "policy.yaml"
    path.write_text(POLICY.replace("CLOCK", "").replace("sqlite:ledger", f"sqlite:{tmp_path}/ledger"))
    opened = open_policy(path)
    proxy = Proxy(replace(opened, clock=Clock(read=hands)), NoNoise(), silent=True)
    yield proxy
    proxy.close()


HOUR = 60


@pytest.mark.quick
@pytest.mark.parametrize(
    ("condition", "minutes"),
    [
        ("instant >= now() - INTERVAL '1 hour' AND instant < now()", HOUR),
        ("seen >= CURRENT_TIMESTAMP - INTERVAL '1 hour' AND seen < CURRENT_TIMESTAMP(3)", HOUR),
        ("seen >= LOCALTIMESTAMP - INTERVAL '1 hour' AND seen < LOCALTIMESTAMP(0)", HOUR),
        ("instant >= transaction_timestamp() - INTERVAL '1 hour' AND instant < clock_timestamp()", HOUR),
        ("seen >= CURRENT_DATE AND seen < 'tomorrow'::date", 24 * HOUR),
        ("seen >= DATE 'yesterday' AND seen < TIMESTAMP 'today'", 24 * HOUR),
        ("instant >= TIMESTAMPTZ 'today' AND instant < 'now'::timestamptz", 12 * HOUR),
        ("seen >= date_trunc('week', now()) AND seen < now()::date", 6 * 24 * HOUR),
        ("seen >= CURRENT_DATE - 7 AND seen < CURRENT_DATE", 7 * 24 * HOUR),
        ("seen >= now() - 2 * INTERVAL '30 minutes' AND seen < now()", 1 * HOUR),
        ("seen >= 'yesterday' AND seen < 'today'", 24 * HOUR),
        ("seen::date = 'today' AND seen::time < LOCALTIME AND LOCALTIME = '12:00'", 12 * HOUR),
        ("instant BETWEEN 'today' AND 'now'", 12 * HOUR + 1),
        ("seen >= now() + INTERVAL '1 hour' * -3 AND seen < now() + -INTERVAL '1 hour'", 2 * HOUR),
    ],
)
def test_conditions_over_people(proxy: Proxy, condition: str, minutes: int) -> None:
    assert proxy.session().execute(f"SELECT COUNT(*) FROM person WHERE {condition}").rows == ((minutes,),)


def test_the_time_is_told(proxy: Proxy) -> None:
    answer = proxy.session().execute("SELECT COUNT(*) FROM person WHERE seen < now()")
    assert "the time of this statement is 2026-11-22 12:00:00+00:00" in answer.notices
    assert not any("time of this" in note for note in proxy.session().execute("SELECT COUNT(*) FROM person").notices)


def test_days_are_those_of_the_session(proxy: Proxy, hands: Hands) -> None:
    hands.at = datetime.datetime(2026, 11, 22, 20, tzinfo=datetime.UTC)
    ana = proxy.session()
    ana.execute("SET TIME ZONE 'Asia/Tokyo'")
    ((today, here, tomorrow, now),) = ana.execute(
        "SELECT CURRENT_DATE, LOCALTIMESTAMP, TIMESTAMPTZ 'tomorrow', now()"
    ).rows
    assert today == datetime.date(2026, 11, 23)
    assert here == datetime.datetime(2026, 11, 23, 5)
    assert tomorrow == datetime.datetime(2026, 11, 24, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert now == hands.at
    # Five hours of this day are over there.
    assert ana.execute("SELECT COUNT(*) FROM person WHERE instant >= CURRENT_DATE AND instant < now()").rows == (
        (5 * HOUR,),
    )


def test_above_releases_and_in_public_tables_it_is_the_same(proxy: Proxy) -> None:
    ana = proxy.session()
    sql = "SELECT COUNT(*) AS n, CURRENT_DATE AS d FROM person HAVING COUNT(*) > EXTRACT(year FROM now())"
    assert ana.execute(sql).rows == ((40000, NOON.date()),)
    assert ana.execute("SELECT name FROM word WHERE ends > CURRENT_DATE").rows == (("new",),)


def test_columns_have_their_names(proxy: Proxy) -> None:
    columns = (
        proxy.session().execute("SELECT CURRENT_DATE, LOCALTIMESTAMP, now()::date, 'today'::date, now() AS x").columns
    )
    assert [column.name for column in columns] == ["current_date", "localtimestamp", "now", "date", "x"]


def test_a_word_is_a_time_beside_times_and_a_text_beside_texts(proxy: Proxy, hands: Hands) -> None:
    ana = proxy.session()
    assert ana.execute("SELECT name FROM word WHERE ends > 'today'").rows == (("new",),)
    assert ana.execute("SELECT COUNT(*) FROM word WHERE name > 'now'").rows == ((1,),)
    first = ana.execute("SELECT COUNT(*) FROM person WHERE seen < 'today'").rows
    hands.at = NOON + datetime.timedelta(days=1)
    assert int(str(ana.execute("SELECT COUNT(*) FROM person WHERE seen < 'today'").rows[0][0])) > int(str(first[0][0]))


def test_a_time_of_day_is_the_clocks_of_the_session(proxy: Proxy) -> None:
    ana = proxy.session()
    ana.execute("SET TIME ZONE 'Asia/Tokyo'")
    assert ana.execute("SELECT CURRENT_TIME, LOCALTIME").rows == ((datetime.time(21), datetime.time(21)),)
    assert [column.name for column in ana.describe("SELECT CURRENT_TIME, LOCALTIME")] == ["current_time", "localtime"]


def test_a_refresh_within_a_tick_is_free_and_the_next_is_not(proxy: Proxy, hands: Hands) -> None:
    ana, sql = proxy.session(), "SELECT COUNT(*) FROM person WHERE seen < now()"
    first = ana.execute(sql)
    hands.at = NOON + datetime.timedelta(seconds=17)
    again = ana.execute(sql)
    hands.at = NOON + datetime.timedelta(minutes=1)
    later = ana.execute(sql)
    hands.at = NOON
    back = ana.execute(sql)
    assert [bool(one.price) for one in (first, again, later, back)] == [True, False, True, False]
    (start,), (end,) = first.rows[0], later.rows[0]
    assert int(str(end)) == int(str(start)) + 1
    assert again.rows == back.rows == first.rows


def test_a_parameter_may_be_now(proxy: Proxy, hands: Hands) -> None:
    ana, sql = proxy.session(), "SELECT COUNT(*) FROM person WHERE instant < $1::timestamptz"
    found = []
    for minutes in (0, 5):
        hands.at = NOON + datetime.timedelta(minutes=minutes)
        found.append(int(str(ana.execute(sql, {"1": "now"}).rows[0][0])))
    assert found[1] == found[0] + 5


def test_explain_is_of_the_same_time(proxy: Proxy, hands: Hands) -> None:
    ana, sql = proxy.session(), "SELECT COUNT(*) FROM person WHERE seen < now()"
    texts = []
    for minutes in (0, 0, 3):
        hands.at = NOON + datetime.timedelta(minutes=minutes)
        texts.append("\n".join(str(row[0]) for row in ana.execute(f"EXPLAIN {sql}").rows))
    assert texts[0] == texts[1] != texts[2]
    assert "12:03:00" in texts[2]


@pytest.mark.parametrize("sql", ["SELECT COUNT(*) FROM person WHERE seen < timeofday()"])
def test_what_is_no_instant_is_refused(proxy: Proxy, sql: str) -> None:
    with pytest.raises(NotSupportedError):
        proxy.session().execute(sql)


def test_a_policy_says_how_long_a_tick_is(folder: Path) -> None:
    policy = Policy.parse(POLICY.replace("CLOCK", "clock: {tick: 1 day, zone: europe/berlin}"), folder / "policy.yaml")
    assert (policy.clock.tick, policy.clock.zone) == (datetime.timedelta(days=1), "Europe/Berlin")
    for wrong in ("tick: 7 minutes", "tick: 0 hours", "tick: soon", "zone: Mars/Base", "beat: 1 day"):
        with pytest.raises(PolicyError):
            Policy.parse(POLICY.replace("CLOCK", f"clock: {{{wrong}}}"), folder / "policy.yaml")


def test_a_tick_begins_by_the_clocks_of_its_zone() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for day in (datetime.date(2026, 3, 29), datetime.date(2026, 10, 25), datetime.date(2026, 7, 1)):
        for hour in range(1, 24):
            at = datetime.datetime.combine(day, datetime.time(hour, 30), berlin)
            days = Clock(datetime.timedelta(days=1), "Europe/Berlin", lambda at=at: at.astimezone(datetime.UTC))
            assert days.now() == datetime.datetime.combine(day, datetime.time(), berlin).astimezone(datetime.UTC)
