"""Who asks what tables and columns there are is told what the owner declared, free, in whatever words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.errors import Error
from dpsql.interfaces.commands.demo_clinic import POLICY, build
from dpsql.proxy import Proxy, Session
from rewriter.front_door import parse
from rewriter.refused import Refused
from rewriter.split.described_tables import SUMMARIZED
from tests.clients.served import served

ASKED = (
    "DESCRIBE visit",
    "desc Visit",
    "DESCRIBE TABLE public.visit",
    'SHOW COLUMNS FROM "visit"',
    "show columns in visit;",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("there")
    build(found)
    return found


@pytest.fixture
def ana(folder: Path) -> Iterator[Session]:
    proxy = Proxy.open(folder / POLICY)
    yield proxy.session("ana")
    proxy.close()


def names_in_duckdb(statement: str) -> list[str]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visit(day DATE)")
        return [column[0] for column in connection.execute(statement).description]


@pytest.mark.parametrize(
    "text", ["DESCRIBE", "DESCRIBE SELECT 1", "SUMMARIZE SELECT * FROM patient", r"\d patient", r"\dt"]
)
def test_a_description_is_a_relation(text: str) -> None:
    with pytest.raises(Refused) as told:
        parse(text)
    assert "dpsql.columns" in told.value.hint


@pytest.mark.parametrize("text", ASKED)
def test_a_table_is_described_free(ana: Session, text: str) -> None:
    answer = ana.execute(text)
    assert [column.name for column in ana.describe(text)] == names_in_duckdb("DESCRIBE visit")
    assert answer.rows[1:] == (
        ("day", "date", None, None, None, "range: [2025-01-01, 2025-12-31]"),
        ("cost", "decimal(8,2)", None, None, None, "range: [0, 400]"),
        ("reason", "text", None, None, None, "declared values"),
    )
    assert ana.budget().spent_epsilon == 0


def test_tables_are_listed_free(ana: Session) -> None:
    assert ana.execute("SHOW TABLES").rows == (("patient",), ("region",), ("visit",))
    assert [column.name for column in ana.describe("show tables")] == names_in_duckdb("SHOW TABLES")
    assert ana.budget().spent_epsilon == 0


def test_a_summary_has_nothing_that_nobody_declared_or_released(ana: Session) -> None:
    answer = ana.execute("SUMMARIZE visit")
    assert [column.name for column in answer.columns] == names_in_duckdb("SUMMARIZE visit")
    assert [row[:4] for row in answer.rows[1:3]] == [
        ("day", "date", "2025-01-01", "2025-12-31"),
        ("cost", "decimal(8,2)", "0", "400"),
    ]
    assert {value for row in answer.rows for value in row[4:]} == {None}
    assert SUMMARIZED in answer.notices
    assert ana.budget().spent_epsilon == 0


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("DESCRIBE visits", "42P01"),
        ('DESCRIBE "Visit"', "42P01"),
        ("SHOW COLUMNS FROM other.visit", "42P01"),
        ("SUMMARIZE visit WHERE cost > 3", "42601"),
        ("DESCRIBE 'visit'", "42601"),
        ("DESCRIBE visit; DESCRIBE patient", "42601"),
        ("DESC a.b.visit", "42601"),
        ("SHOW TABLES FROM public", "42704"),
    ],
)
def test_of_no_table_there_is_no_description(ana: Session, text: str, state: str) -> None:
    with pytest.raises(Error) as refused:
        ana.execute(text)
    assert refused.value.sqlstate == state
    assert refused.value.hint


def test_a_name_as_regclass_is_that_of_a_table(ana: Session) -> None:
    answer = ana.execute(
        "SELECT 'Visit'::regclass::text, COUNT(*) FROM dpsql.columns WHERE table_name = 'VISIT'::regclass::text"
    )
    assert ([column.name for column in answer.columns], answer.rows) == (["text", "count"], (("visit", 4),))


def test_clients_of_the_wire_ask_in_the_same_words(folder: Path, tmp_path: Path) -> None:
    with served(folder, tmp_path) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        for text in (*ASKED, "SUMMARIZE visit", "SHOW TABLES"):
            by_wire = connection.execute(text)  # type: ignore[arg-type]
            columns = [column.name for column in by_wire.description or ()]
            assert columns == names_in_duckdb(
                text.replace("TABLE public.", "")
                .replace("SHOW COLUMNS FROM", "DESCRIBE")
                .replace("show columns in", "DESCRIBE")
            )
            assert len(by_wire.fetchall()) == (3 if text == "SHOW TABLES" else 4)
        assert connection.execute("SHOW dpsql.epsilon").fetchone() == ("1",)
        assert connection.execute("SELECT spent_epsilon FROM dpsql.budget").fetchone() == (0.0,)
