"""A session's zone in answers, on both engines: the same rows, the same local days, the same types."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pytest

import dpsql
from dpsql.errors import DataError, NotSupportedError
from rewriter.declared.types import Kind
from tests.engines.postgres_server import copy_tables, shared_server
from tests.policies import policy_text

POLICY = policy_text("""
database: {database}; ledger: sqlite:{folder}/ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6}; statement: {epsilon: 100, max_epsilon: 100}
tables:
  person: id
  event(person_id -> person.id, max_rows: 24): seen 2026-03-01..2026-11-30, wall 2026-03-01..2026-11-30, x 0..23
  holiday: public
""")
TABLES = ("person", "event", "holiday")


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    """An event at each hour of 275 days, of 275 people; an hour's event lasts as long as its hour of UTC says."""
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
    connection.execute("INSERT INTO person SELECT i FROM range(275) t(i)")
    connection.execute("CREATE TABLE event (person_id INTEGER, seen TIMESTAMPTZ, wall TIMESTAMP, x INTEGER)")
    hour = "TIMESTAMP '2026-03-01' + INTERVAL (i) HOUR"
    rows = f"SELECT i // 24, timezone('UTC', {hour}), {hour}, i % 24 FROM range(6600) t(i)"
    connection.execute(f"INSERT INTO event {rows}")
    connection.execute("CREATE TABLE holiday (name VARCHAR, begins TIMESTAMPTZ)")
    connection.execute("INSERT INTO holiday VALUES ('labour', TIMESTAMPTZ '2026-05-01 00:00:00+02')")


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    with duckdb.connect(str(folder / "events.duckdb")) as connection:
        fill(connection)
        database = f"duckdb:{folder}/events.duckdb"
        if request.param == "postgres":
            server = shared_server()
            name = server.database(
                "CREATE TABLE person (id INTEGER PRIMARY KEY);"
                "CREATE TABLE event (person_id INTEGER, seen TIMESTAMPTZ, wall TIMESTAMP, x INTEGER);"
                "CREATE TABLE holiday (name TEXT, begins TIMESTAMPTZ)"
            )
            with server.owner(name) as owner:
                copy_tables(connection, owner, TABLES)
                server.grant(owner)
            database = server.url(name)
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(database=database, folder=folder))
    return path


@pytest.fixture
def berlin(policy: Path) -> Iterator[dpsql.Connection]:
    with dpsql.connect(policy) as connection:
        connection.execute("SET TIME ZONE 'Europe/Berlin'")
        yield connection


NEAR = 1
"""The noise that counts may have here."""


def close(found: object, expected: float) -> bool:
    return isinstance(found, int) and abs(found - expected) <= NEAR


def test_literals_and_days_are_local(berlin: dpsql.Connection) -> None:
    june = berlin.execute("SELECT COUNT(*) FROM event WHERE seen < '2026-06-01'").fetchall()
    assert close(june[0][0], 92 * 24 - 2)
    berlin.execute("SET TIME ZONE DEFAULT")
    in_utc = berlin.execute("SELECT COUNT(*) FROM event WHERE seen < '2026-06-01'").fetchall()
    assert close(in_utc[0][0], 92 * 24)


def test_the_days_on_which_clocks_are_set_have_23_and_25_hours(berlin: dpsql.Connection) -> None:
    rows = dict(berlin.execute("SELECT seen::date, COUNT(*) FROM event GROUP BY 1").fetchall())
    assert close(rows[datetime.date(2026, 3, 29)], 23)
    assert close(rows[datetime.date(2026, 10, 25)], 25)
    assert close(rows[datetime.date(2026, 7, 1)], 24)
    assert close(rows[datetime.date(2026, 3, 1)], 23)  # from one o'clock on


def test_a_truncated_instant_is_an_aware_datetime(berlin: dpsql.Connection) -> None:
    cursor = berlin.execute("SELECT DATE_TRUNC('month', seen) AS m, COUNT(*) FROM event GROUP BY 1 ORDER BY 1")
    assert cursor.description is not None
    assert cursor.description[0][1] is Kind.TIMESTAMPTZ
    rows = cursor.fetchall()
    assert rows[1][0] == datetime.datetime(2026, 4, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    assert rows[1][0].isoformat() == "2026-04-01T00:00:00+02:00"
    assert close(rows[1][1], 720)


def test_hours_are_local(berlin: dpsql.Connection) -> None:
    rows = dict(berlin.execute("SELECT EXTRACT(HOUR FROM seen)::int, AVG(x) FROM event GROUP BY 1").fetchall())
    # Until 25 October a clock there is two hours ahead of UTC, but for 28 and 36 days.
    # Chance shows an empty NULL, too, once in a hundred answers.
    assert set(rows) - {None} == set(range(24))
    assert abs(float(rows[12]) - (10 * 210 + 11 * 65) / 275) < 0.5


@pytest.mark.parametrize(
    ("condition", "hours"),
    [
        ("seen < TIMESTAMP '2026-07-01 00:00'", 122 * 24 - 2),
        ("seen < '2026-07-01 00:00Z'", 122 * 24),
        ("wall < '2026-07-01 00:00+00'::timestamptz", 122 * 24 + 2),
        ("seen = wall AT TIME ZONE 'UTC'", 6600),
        ("seen AT TIME ZONE 'Asia/Tokyo' < '2026-07-01'", 122 * 24 - 9),
        ("seen::timestamp > wall", 6600),
        ("seen + INTERVAL '1 day' < '2026-03-30'", 28 * 24 - 1),
        ("EXTRACT(EPOCH FROM seen - wall) = 7200", 210 * 24 - 1),
    ],
)
def test_conditions(berlin: dpsql.Connection, condition: str, hours: int) -> None:
    found = berlin.execute(f"SELECT COUNT(*) FROM event WHERE {condition}").fetchall()
    assert close(found[0][0], hours), (found, hours)


def test_what_is_computed_of_released_instants_is_local_too(berlin: dpsql.Connection) -> None:
    inner = "SELECT DATE_TRUNC('month', seen) AS m, COUNT(*) AS n FROM event GROUP BY 1"
    outer = "m, m::date, TO_CHAR(m, 'YYYY-MM-DD HH24'), m AT TIME ZONE 'UTC', m::text, EXTRACT(HOUR FROM m)::int"
    row = berlin.execute(f"SELECT {outer} FROM ({inner}) s WHERE m = '2026-05-01'").fetchall()
    assert row == [
        (
            datetime.datetime(2026, 5, 1, tzinfo=ZoneInfo("Europe/Berlin")),
            datetime.date(2026, 5, 1),
            "2026-05-01 00",
            datetime.datetime(2026, 4, 30, 22),
            "2026-05-01 00:00:00+02",
            0,
        )
    ]


def test_public_instants_are_instants(berlin: dpsql.Connection) -> None:
    assert berlin.execute("SELECT begins FROM holiday WHERE begins::date = '2026-05-01'").fetchall() == [
        (datetime.datetime(2026, 5, 1, tzinfo=ZoneInfo("Europe/Berlin")),)
    ]
    found = berlin.execute("SELECT COUNT(*) FROM event e JOIN holiday h ON e.seen < h.begins").fetchall()
    assert close(found[0][0], 61 * 24 - 2)


def test_picked_instants_and_their_intervals_are_in_the_zone(berlin: dpsql.Connection) -> None:
    berlin.execute("SET dpsql.intervals = on")
    median = "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY seen) AS m, MIN(seen) AS least FROM event"
    row = berlin.execute(median).fetchall()[0]
    assert all(cell is None or cell.tzinfo == ZoneInfo("Europe/Berlin") for cell in row)
    assert row[1] <= datetime.datetime(2026, 7, 16, 12, tzinfo=datetime.UTC) <= row[2]


@pytest.mark.quick
def test_the_zone_is_a_part_of_the_release(policy: Path) -> None:
    """Another zone is another question where the local time is looked at, and the same one where it is not."""
    hours = "SELECT EXTRACT(HOUR FROM seen), COUNT(*) FROM event GROUP BY 1"
    before = "SELECT COUNT(*) FROM event WHERE seen < '2026-08-01 00:00Z'"
    with dpsql.connect(policy) as connection:
        prices = {}
        for zone in ("America/New_York", "Asia/Tokyo", "America/New_York"):
            connection.execute(f"SET TIME ZONE '{zone}'")
            for text in (hours, before):
                prices[zone, text] = [*prices.get((zone, text), []), bool(connection.execute(text).price)]
    assert prices["America/New_York", hours] == [True, False]
    assert prices["Asia/Tokyo", hours] == [True]
    assert prices["Asia/Tokyo", before] == [False]


def test_what_is_no_zone_or_no_instant_is_refused(berlin: dpsql.Connection) -> None:
    with pytest.raises(DataError) as refused:
        berlin.execute("SET TIME ZONE 'Mars/Base'")
    assert refused.value.sqlstate == "22023"
    with pytest.raises((DataError, NotSupportedError)):
        berlin.execute("SELECT COUNT(*) FROM event WHERE seen < '2026-07-01 Mars/Base'")
    assert berlin.execute("SHOW TimeZone").fetchall() == [("Europe/Berlin",)]
