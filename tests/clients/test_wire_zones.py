"""Instants over the wire: the session's zone, however a client sets it, and ``timestamptz`` as drivers read it."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg
import pytest
from test_psql import psql

from dpsql.policy import Policy
from dpsql.server.start import database_name
from tests.clients.served import Served
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database
from tests.policies import policy_text

BERLIN = ZoneInfo("Europe/Berlin")
POLICY = policy_text("""
database: {database}; ledger: sqlite:events.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6}; statement: {epsilon: 50, max_epsilon: 50}
tables:
  person: id
  event(person_id -> person.id, max_rows: 10): seen 2026-01-01..2026-12-31
""")


SCHEMA = """
CREATE TABLE person (id INTEGER PRIMARY KEY);
INSERT INTO person SELECT i FROM generate_series(0, 875) AS t(i);
CREATE TABLE event (person_id INTEGER NOT NULL, seen TIMESTAMPTZ NOT NULL);
INSERT INTO event SELECT i % 876, timezone('UTC', TIMESTAMP '2026-01-01' + i * INTERVAL '1 hour')
FROM generate_series(0, 8759) AS t(i);
"""


def in_duckdb(folder: Path) -> str:
    with new_database(folder / "events.duckdb") as connection:
        connection.execute(SCHEMA)
    return "duckdb:events.duckdb"


def in_postgres(folder: Path) -> str:
    server = shared_server()
    return server.url(server.database(SCHEMA))


@pytest.fixture(scope="module", params=[in_duckdb, in_postgres], ids=["duckdb", "postgres"])
def events(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """8,760 events, one at each hour of a year, of 876 people."""
    folder = tmp_path_factory.mktemp("events")
    (folder / "policy.yaml").write_text(POLICY.format(database=request.param(folder)))
    command = [sys.executable, "-m", "dpsql", "serve", str(folder / "policy.yaml"), "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    try:
        line = server.stderr.readline() if server.stderr is not None else ""
        found = re.search(r"port (\d+)", line)
        assert found is not None, line
        yield Served(int(found[1]), database=database_name(Policy.load(folder / "policy.yaml")))
    finally:
        server.terminate()
        server.wait(30)


def connect(events: Served, **options: str) -> psycopg.Connection:
    return psycopg.connect(events.dsn, autocommit=True, **options)  # type: ignore[arg-type]


def shown(connection: psycopg.Connection) -> str:
    row = connection.execute("SHOW TimeZone").fetchone()
    assert row is not None
    assert connection.info.parameter_status("TimeZone") == row[0]
    return str(row[0])


BY_MONTH = "SELECT DATE_TRUNC('month', seen) AS month, COUNT(*) FROM event GROUP BY 1 ORDER BY 1"


@pytest.mark.spread
@pytest.mark.parametrize("binary", [False, True])
def test_an_instant_is_a_timestamptz_in_the_sessions_zone(events: Served, binary: bool) -> None:
    with connect(events, options="-c timezone=europe/berlin") as connection:
        assert shown(connection) == "Europe/Berlin"
        cursor = connection.cursor(binary=binary)
        rows = cursor.execute(BY_MONTH).fetchall()
        assert cursor.description is not None
        assert cursor.description[0].type_code == 1184
        months = [row[0] for row in rows]
        assert months[:12] == [datetime.datetime(2026, month, 1, tzinfo=BERLIN) for month in range(1, 13)]
        # March lacks an hour there, and October has one more.
        assert [abs(row[1] - size) <= 3 for row, size in zip(rows[1:10], (672, 743, 720, 744), strict=False)] == [
            True
        ] * 4


def test_a_parameter_is_an_instant_whatever_its_zone(events: Served) -> None:
    noon = datetime.datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Asia/Tokyo"))
    with connect(events) as connection:
        for format_ in ("%s", "%b", "%t"):
            found = connection.execute(f"SELECT COUNT(*) FROM event WHERE seen < {format_}", [noon]).fetchone()  # type: ignore[arg-type]
            assert found is not None
            assert abs(found[0] - 181 * 24 - 3) <= 3


@pytest.mark.spread
@pytest.mark.parametrize(
    ("command", "zone"),
    [
        ("SET TIME ZONE 'Europe/Berlin'", "Europe/Berlin"),
        ("SET timezone TO 'america/new_york'", "America/New_York"),
        ("SET TimeZone = 'Asia/Kolkata'", "Asia/Kolkata"),
        ("SET SESSION TIME ZONE 'UTC'", "UTC"),
        ("SET TIME ZONE -3", "Etc/GMT+3"),
        ("SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE", "Etc/GMT-2"),
        ("SET TIME ZONE LOCAL", "Europe/Paris"),
        ("SET TIME ZONE DEFAULT", "Europe/Paris"),
        ("RESET timezone", "Europe/Paris"),
        ("RESET ALL", "Europe/Paris"),
        ("DISCARD ALL", "Europe/Paris"),
        ("SELECT set_config('timezone', 'Asia/Tokyo', false)", "Asia/Tokyo"),
    ],
)
def test_each_spelling_sets_the_zone(events: Served, command: str, zone: str) -> None:
    with connect(events, options="-c TimeZone=Europe/Paris") as connection:
        connection.execute("SET TIME ZONE 'Asia/Seoul'")
        connection.execute(command)  # type: ignore[arg-type]
        assert shown(connection) == zone


def test_a_zone_that_is_local_to_a_transaction_ends_with_it(events: Served) -> None:
    with connect(events) as connection:
        for end in ("COMMIT", "ROLLBACK"):
            connection.execute("BEGIN")
            connection.execute("SET LOCAL TIME ZONE 'Europe/Berlin'")
            row = connection.execute(BY_MONTH).fetchone()
            assert row is not None
            assert row[0].tzinfo.key == "Europe/Berlin"
            connection.execute(end)
            assert shown(connection) == "UTC"


@pytest.mark.spread
@pytest.mark.parametrize(
    "zone", ["'Mars/Base'", "25", "INTERVAL '+05:30' HOUR TO MINUTE", "'localtime'", "'../passwd'"]
)
def test_an_unknown_zone_is_22023_and_changes_nothing(events: Served, zone: str) -> None:
    with connect(events) as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute(f"SET TIME ZONE {zone}")  # type: ignore[arg-type]
        assert shown(connection) == "UTC"


def test_psql_shows_instants_with_their_offsets(events: Served) -> None:
    text = psql(
        events, f"SET TIME ZONE 'Asia/Kolkata';\n{BY_MONTH} LIMIT 2;\nSET TIME ZONE 'America/Lima';\n{BY_MONTH};\n"
    )
    assert re.search(r"^ 2026-01-01 00:00:00\+05:30 \| +7\d\d$", text, re.MULTILINE)
    assert re.search(r"^ 2026-03-01 00:00:00-05 \| +7\d\d$", text, re.MULTILINE)


def test_the_catalog_has_the_type(events: Served) -> None:
    assert re.search(r"seen +\| timestamp with time zone", psql(events, "\\d event\n"))


def test_sequelize_connects_and_asks(events: Served) -> None:
    """All that it sends when it connects is one simple query of several statements; then it binds ``$1``."""
    opening = (
        b"SET standard_conforming_strings=on;SET client_min_messages TO warning;"
        b"SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE;"
    )
    with connect(events, options="-c timezone=Asia/Tokyo") as connection:
        result = connection.pgconn.exec_(opening)
        assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message
        assert shown(connection) in ("UTC", "Etc/UTC")
        sql = 'SELECT count(*) AS "count" FROM "event" AS "event" WHERE "event"."seen" >= $1::timestamptz;'
        found = connection.pgconn.exec_params(sql.encode(), [b"2026-07-01 00:00:00.000 +00:00"])
        assert found.status == psycopg.pq.ExecStatus.TUPLES_OK, found.error_message
        assert abs(int(found.get_value(0, 0) or 0) - 184 * 24) <= 3


def test_times_of_day_are_their_own_type(events: Served) -> None:
    sql = "SELECT DATE_TRUNC('hour', seen)::time AS t, COUNT(*) FROM event GROUP BY 1 ORDER BY 1"
    with connect(events) as connection:
        for binary in (False, True):
            cursor = connection.cursor(binary=binary)
            rows = cursor.execute(sql).fetchall()
            assert cursor.description is not None
            assert cursor.description[0].type_code == 1083
            assert [row[0] for row in rows] == [datetime.time(hour) for hour in range(24)]
        nine = datetime.time(9, 30)
        for format_ in ("%s", "%b", "%t"):
            found = connection.execute(f"SELECT COUNT(*) FROM event WHERE seen::time < {format_}", [nine]).fetchone()  # type: ignore[arg-type]
            assert found is not None
            assert abs(found[0] - 3650) <= 3


def test_eight_equal_tiles_that_open_at_once_are_one_purchase(events: Served) -> None:
    """Eight connections of a dashboard ask the same, new thing in the same moment, twice."""
    charges = "SELECT COUNT(*) FROM dpsql.charges"
    together = threading.Barrier(8)

    def open_tile(days: int) -> list[tuple[object, ...]]:
        with connect(events) as connection:
            together.wait()
            sql = f"SELECT DATE_TRUNC('week', seen) AS w, COUNT(*) FROM event WHERE seen < DATE '2026-05-01' + {days} GROUP BY 1"
            return sorted(connection.execute(sql).fetchall())

    with connect(events) as connection, ThreadPoolExecutor(8) as pool:
        for days in (1, 2):
            before = connection.execute(charges).fetchone()
            tiles = list(pool.map(open_tile, [days] * 8))
            after = connection.execute(charges).fetchone()
            assert before is not None
            assert after is not None
            assert after[0] == before[0] + 1
            assert all(tile == tiles[0] for tile in tiles)
