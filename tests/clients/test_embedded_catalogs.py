"""Catalogs, and data frames in parts, for a program that asks without a server."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pandas
import pytest

import dpsql
from dpsql.interfaces.commands import demo_clinic as clinic
from tests.clients.served import Served


@pytest.fixture(scope="module")
def connection(built_clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    folder = tmp_path_factory.mktemp("embedded")
    for name in (clinic.DATABASE, clinic.POLICY):
        (folder / name).write_bytes((built_clinic / name).read_bytes())
    with dpsql.connect(folder / clinic.POLICY, "ana") as found:
        yield found


QUESTIONS = [
    "SELECT table_name, column_name, data_type, ordinal_position FROM information_schema.columns "
    "WHERE table_schema = 'public' ORDER BY 1, 4",
    "SELECT relname, relnatts, relhasindex, reltuples FROM pg_class WHERE relname IN ('patient', 'visit') ORDER BY 1",
    "SELECT conname, contype::text, conkey FROM pg_catalog.pg_constraint WHERE conrelid = 'visit'::regclass ORDER BY 1",
    "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'nothing'",
    "SELECT NULL::int FROM pg_namespace WHERE nspname = 'public'",
]


@pytest.mark.parametrize("asked", QUESTIONS)
def test_catalogs_are_answered_as_the_server_does(connection: dpsql.Connection, server: Served, asked: str) -> None:
    import psycopg

    with psycopg.connect(server.dsn, autocommit=True) as over:
        theirs = [tuple(map(str, row)) for row in over.execute(asked.encode()).fetchall()]
    cursor = connection.execute(asked)
    assert [tuple(map(str, row)) for row in cursor.fetchall()] in (theirs, [_braces(row) for row in theirs])
    assert not cursor.epsilon
    assert theirs


def _braces(row: tuple[str, ...]) -> tuple[str, ...]:
    """Arrays of other items than texts and numbers are told as PostgreSQL's text."""
    return tuple("{" + one[1:-1].replace(" ", "") + "}" if one.startswith("[") else one for one in row)


def test_parameters_are_values(connection: dpsql.Connection) -> None:
    asked = "SELECT relname FROM pg_class WHERE relname = ? AND relkind::text = :kind".replace(":kind", "?")
    assert connection.execute(asked, ["visit", "r"]).fetchall() == [("visit",)]
    assert connection.execute(asked, ["x' OR 'a' = 'a", "r"]).fetchall() == []


@pytest.mark.parametrize(
    ("asked", "sqlstate"),
    [("SELECT COUNT(*) FROM pg_class, patient", "0A000"), ("SELECT 1 FROM pg_nothing", "42P01"),
     ("SELECT pg_sleep(9) FROM pg_class", "42501"), ("SELECT * FROM patient, information_schema.tables", "0A000")],
)  # fmt: skip
def test_no_row_of_data_is_beside_them(connection: dpsql.Connection, asked: str, sqlstate: str) -> None:
    with pytest.raises(dpsql.Error) as refused:
        connection.execute(asked)
    assert refused.value.sqlstate == sqlstate


def test_a_text_that_only_looks_like_it_is_asked_of_the_data(connection: dpsql.Connection) -> None:
    assert connection.execute("SELECT COUNT(*) > 0 AS pg_any FROM patient").fetchall() == [(True,)]
    assert connection.execute("SELECT 'pg_class'").fetchall() == [("pg_class",)]


def test_an_answer_is_a_data_frame_as_often_as_it_is_asked_and_in_parts(connection: dpsql.Connection) -> None:
    cursor = connection.execute("SELECT region, COUNT(*) AS n FROM patient GROUP BY region ORDER BY region")
    whole = cursor.df()
    cursor.fetchone()
    pandas.testing.assert_frame_equal(cursor.df(), whole)
    parts = list(cursor.fetch_df_batches(4, margins=True))
    assert [len(part) for part in parts] == [4, 2]
    pandas.testing.assert_frame_equal(pandas.concat(parts, ignore_index=True), cursor.df(margins=True))
    nothing = list(connection.execute("SELECT region FROM patient LIMIT 0").fetch_df_batches())
    assert [list(part.columns) for part in nothing] == [["region"]]
    with pytest.raises(dpsql.ProgrammingError):
        cursor.fetch_df_batches(0)


def test_connections_over_one_proxy_share_what_answers(connection: dpsql.Connection) -> None:
    """What answers is a server of its own: one for each connection of a pool would be many."""
    shared = connection._open()
    with dpsql.connect(shared.proxy, "ana") as one, dpsql.connect(shared.proxy, "ana") as other:
        for each in (one, other):
            assert each.execute("SELECT COUNT(*) FROM pg_tables WHERE tablename = 'visit'").fetchall() == [(1,)]
        assert one._open().catalogs() is other._open().catalogs()


def test_questions_about_the_session_are_answered(connection: dpsql.Connection) -> None:
    asked = "SELECT current_user, current_schema(), current_database(), 'visit'::regclass::oid > 0, version()"
    *told, version = connection.execute(asked).fetchone() or ()
    assert told == ["ana", "public", "clinic", True]
    assert str(version).startswith("PostgreSQL ")
    assert connection.execute("SELECT has_table_privilege('visit', 'select')").fetchall() == [(True,)]
    assert connection.execute("SELECT conkey FROM pg_constraint WHERE conname = 'patient_pkey'").fetchall() == [([1],)]


def test_arrays_and_lengths_of_time_are_values_of_python(connection: dpsql.Connection) -> None:
    groups = "(SELECT sex, COUNT(*) AS n, AVG(height_cm) AS h FROM patient GROUP BY sex ORDER BY sex) AS g"
    asked = f"""SELECT array_agg(h) AS h, array_agg((n * 0 + 1)::numeric(5, 1)) AS numbers, array_agg(TIME '10:00') AS clocks,
        array_agg(n * 0 * INTERVAL '1 s' + INTERVAL '1 day') AS spans,
        MAX(n) * 0 * INTERVAL '1 s' + INTERVAL '-1 day 2 hours' AS length, INTERVAL '1 month' AS month FROM {groups}"""
    cursor = connection.execute(asked)
    heights, *others = cursor.fetchone() or ()
    assert isinstance(heights, list)
    assert all(isinstance(height, float) and 100 < height < 250 for height in heights)
    day = datetime.timedelta(days=1)
    assert others == [
        [Decimal("1.0")] * 2, [datetime.time(10)] * 2, [day] * 2, datetime.timedelta(days=-1, hours=2), "1 mon"
    ]  # fmt: skip
    table = cursor.arrow()
    assert table["h"].to_pylist() == [heights]
    assert table["numbers"].to_pylist() == [[Decimal("1.0")] * 2]
    assert (table["spans"].to_pylist(), table["length"].to_pylist()) == ([["1 day", "1 day"]], ["-1 days +02:00:00"])
    assert cursor.df()["h"][0] == heights
