"""What clients take for granted at the door of a PostgreSQL: whether there is a row, oids of documents and arrays, sessions."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from tests.clients.served import Served, served

MONTHS = "(SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visit GROUP BY 1) AS t"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    built, folder = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("doors")
    clinic.build(Path(built))
    with served(built, folder) as found:
        yield found


@pytest.fixture
def ana(server: Served) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("binary", [False, True])
def test_exists_has_a_row_where_there_are_people(ana: psycopg.Connection, binary: bool) -> None:
    """As Django sends it: with a parameter for each literal."""
    asked = "SELECT %s AS a FROM patient WHERE sex = %s LIMIT 1"
    told: list[str] = []
    ana.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    assert ana.execute(asked, (1, "F"), binary=binary).fetchall() == [(1,)]
    assert any("noisy count" in one for one in told)
    assert ana.execute("SELECT EXISTS (SELECT 1 FROM patient WHERE sex = %s)", ("F",)).fetchone() == (True,)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("item", "oid", "value"),
    [
        ("ARRAY_AGG(m::date ORDER BY m)", 1182, [datetime.date(2025, 1, 1), datetime.date(2025, 2, 1)]),
        ("ARRAY_AGG(m ORDER BY m)", 1115, [datetime.datetime(2025, 1, 1), datetime.datetime(2025, 2, 1)]),
        ("ARRAY_AGG(n > 0 ORDER BY m)", 1000, [True, True]),
        ("JSONB_AGG(m ORDER BY m)", 3802, ["2025-01-01T00:00:00", "2025-02-01T00:00:00"]),
        ("JSON_AGG(m ORDER BY m)", 114, ["2025-01-01T00:00:00", "2025-02-01T00:00:00"]),
    ],
)
def test_documents_and_arrays_have_their_own_oids(
    ana: psycopg.Connection, item: str, oid: int, value: list[object], binary: bool
) -> None:
    cursor = ana.execute(f"SELECT {item} AS x FROM {MONTHS} WHERE m < '2025-03-01'", binary=binary)
    assert cursor.description is not None
    assert (cursor.description[0].type_code, cursor.fetchall()) == (oid, [(value,)])


@pytest.mark.parametrize(
    ("item", "oid"),
    [
        ("JSONB_BUILD_OBJECT('bb', 1, 'a', COUNT(*) * 0)", 3802),
        ("JSON_BUILD_OBJECT('bb', 1, 'a', COUNT(*) * 0)", 114),
        ("TO_JSONB(COUNT(*) * 0)", 3802),
        ("'[1,  2]'::jsonb", 3802),
    ],
)
def test_a_jsonb_is_one_where_the_text_says_so(ana: psycopg.Connection, item: str, oid: int) -> None:
    for asked in (f"SELECT {item} AS x FROM region", f"SELECT s.x FROM (SELECT {item} AS x FROM region) AS s"):
        cursor = ana.execute(asked)
        assert cursor.description is not None
        assert cursor.description[0].type_code == oid
    if oid == 3802 and "bb" in item:
        raw = cursor.pgresult.get_value(0, 0) if cursor.pgresult is not None else b""
        assert raw == b'{"a": 0, "bb": 1}'
