"""Previews of made-up rows: marked wherever they are shown, free, and never of a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsql
from dpsql.errors import Error, OperationalError
from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.interfaces.commands.commands import main
from dpsql.made_up_rows import MADE_UP as MARK
from dpsql.made_up_rows import MOST_ROWS, mark
from dpsql.proxy import Proxy
from dpsql.synthetic import Comparison, attributes, made_table
from rewriter.front_door import MADE_UP, PREVIEWED
from tests.clients.served import served
from tests.console.conftest import ANALYST, served_console
from tests.new_databases import new_database

POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:people.ledger
privacy_unit: person.id
budget: {epsilon: 50, delta: 1e-6}
previews: PREVIEWS
tables:
  person:
    synthetic: person.parquet
    columns:
      id: {}
      plan: {values: [free, pro, old]}
      age: {range: [0, 99]}
      joined: {range: [2020-01-01, 2025-12-31]}
      price: {range: [0, 9.99]}
      name: {}
  visit: {max_rows: 3, columns: {person_id: {}, kind: {values: [a, b]}}}
  city: {public: true, columns: {name: {}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """People whose ages are below 50, and made-up ones with higher ages."""
    with new_database(tmp_path / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person AS SELECT i AS id, ['free', 'pro'][1 + i % 2] AS plan, i % 50 AS age,"
            " DATE '2020-01-01' + i::INTEGER AS joined, 1.25::DECIMAL(6, 2) AS price, 'n' || i AS name"
            " FROM range(500) t(i)"
        )
        connection.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
        connection.execute("CREATE TABLE visit (person_id BIGINT REFERENCES person (id), kind VARCHAR)")
        connection.execute("INSERT INTO visit SELECT i, 'a' FROM range(500) t(i)")
        connection.execute("CREATE TABLE city AS SELECT 'Graz' AS name")
    policy(tmp_path)
    make_up(tmp_path / "policy.yaml", "person", age=range(50, 100), plan=[2])
    policy(tmp_path, "synthetic")
    return tmp_path


def policy(folder: Path, previews: str = "empty") -> Path:
    path = folder / "policy.yaml"
    path.write_text(POLICY.replace("PREVIEWS", previews))
    return path


def make_up(policy: Path, table: str, rows: int = 300, **values: range | list[int]) -> Path:
    """A file of made-up rows beside a policy; of some columns with values of some cells alone."""
    drawn = np.random.default_rng(3)
    with opened(policy) as proxy:
        known = proxy.catalog.tables[table]
        found, _ = attributes(known, proxy.catalog)
    cells = {one.name: drawn.integers(0, one.cells, rows) for one in found}
    for one in found:
        if one.name in values and one.edges:
            low, high = (end / 100 * (one.cells - one.open) for end in (values[one.name][0], values[one.name][-1]))
            cells[one.name] = drawn.integers(round(low), round(high), rows)
        elif one.name in values:
            cells[one.name] = drawn.choice(values[one.name], rows)
    counts = [Comparison((found[0].name,), 3, 5.0, 12.0), Comparison((found[0].name, "b"), 9, 5.0, 41.0)]
    path = policy.parent / f"{table}.parquet"
    pq.write_table(made_table(known, found, cells, counts), path)
    return path


@contextmanager
def opened(policy: Path) -> Iterator[Proxy]:
    proxy = Proxy.open(policy)
    try:
        yield proxy
    finally:
        proxy.close()


SHOWN = [
    ("SELECT * FROM person LIMIT 200", 200),
    ("SELECT age, p.plan FROM public.person AS p ORDER BY p.age, 2 LIMIT 7 OFFSET 3", 7),
    ('SELECT * FROM (SELECT "person"."age" FROM "person" WHERE age < 75) AS virtual_table LIMIT 20', 20),
    (
        "WITH visit AS (SELECT * FROM person LIMIT 100) SELECT age FROM visit ORDER BY age DESC FETCH FIRST 3 ROWS ONLY",
        3,
    ),
    ("WITH person AS (SELECT age FROM person) SELECT age FROM person LIMIT 3", 3),
    ("SELECT age FROM person, city WHERE city.name = 'Graz' LIMIT 4", 4),
    ("SELECT age FROM person WHERE age < 50 LIMIT 5", 0),
    ("SELECT age FROM person WHERE id = 7 LIMIT 1", 0),
    ("SELECT age FROM person WHERE name IS NULL LIMIT 1", 1),
]
EMPTY = [
    "SELECT id FROM person GROUP BY id LIMIT 5",
    "SELECT id, age, ROW_NUMBER() OVER (PARTITION BY id ORDER BY age) AS n FROM person LIMIT 5",
    "SELECT kind FROM visit LIMIT 5",
    "SELECT age, kind FROM person JOIN visit ON person_id = id LIMIT 5",
    "SELECT age FROM person WHERE id IN (SELECT person_id FROM visit) LIMIT 5",
]


@pytest.mark.parametrize(("sql", "rows"), SHOWN)
def test_a_preview_shows_made_up_rows_and_nobody(folder: Path, sql: str, rows: int) -> None:
    path = policy(folder, "synthetic")
    with opened(path) as proxy:
        session = proxy.session()
        described = session.describe(sql)
        answer = session.execute(sql)
        assert proxy.ledger.charges(limit=10) == ()
    ages = [row[[column.name for column in answer.columns].index("age")] for row in answer.rows]
    assert len(ages) == rows
    assert all(isinstance(age, int) and age >= 50 for age in ages)
    assert all(margin is None for row in answer.margins for margin in row)
    [notice] = answer.notices
    assert notice == (
        f"{MADE_UP}no row of person is of a person. They are drawn from released counts,"
        " from which 95 % of their counts differ by one column at most 12, by two at most 41"
    )
    policy(folder, "empty")
    with opened(path) as proxy:
        empty = proxy.session().execute(sql)
    assert (empty.rows, empty.notices) == ((), (PREVIEWED,))
    assert empty.columns == answer.columns == described


@pytest.mark.parametrize("sql", EMPTY)
def test_other_previews_are_empty(folder: Path, sql: str) -> None:
    """Tables that have no made-up rows, and numbers that would be counts of nobody."""
    with opened(policy(folder, "synthetic")) as proxy:
        answer = proxy.session().execute(sql)
    assert (answer.rows, answer.notices) == ((), (PREVIEWED,))


@pytest.mark.parametrize(
    "sql",
    ["SELECT * FROM person", "SELECT 1 FROM person WHERE age > 60 LIMIT 5", 'SELECT * FROM "made-up rows of person"'],
)
def test_no_other_statement_reads_made_up_rows(folder: Path, sql: str) -> None:
    with opened(policy(folder, "synthetic")) as proxy:
        session = proxy.session()
        with pytest.raises(Error, match=r"rows of people|a row of people|there is no table"):
            session.execute(sql)
        [[many]] = session.execute("SELECT COUNT(*) FROM person WHERE age < 50").rows
        assert 300 < int(str(many)) < 700  # of people, none of whom was made up


def test_previews_are_empty_as_long_as_there_is_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = policy(folder, "synthetic")
    (folder / "person.parquet").unlink()
    with opened(path) as proxy:
        assert proxy.session().execute(SHOWN[0][0]).notices == (PREVIEWED,)
    main(["check", str(path)])
    assert "tables.person.synthetic: there is no " in capsys.readouterr().out


def real(folder: Path) -> pa.Table:
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as database:
        return database.sql("SELECT * FROM person").to_arrow_table()


def test_a_file_of_other_rows_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table itself, with the mark of made-up rows and without."""
    path, file = policy(folder, "synthetic"), folder / "person.parquet"
    with opened(path) as proxy:
        marks = mark(proxy.catalog.tables["person"])
    made, people = pq.read_table(file), real(folder)
    for rows, said in [
        (made.replace_schema_metadata(None), "is not marked as made-up rows of person"),
        (made.replace_schema_metadata({MARK: b"made-up rows of visit: no row is of a person"}), "is not marked"),
        (people.replace_schema_metadata(marks), "has values of id, which tells people or rows apart"),
        (
            people.set_column(0, "id", pa.nulls(len(people), pa.int64())).replace_schema_metadata(marks),
            "has values of name, which has neither values nor a range",
        ),
        (made.drop_columns(["age"]), "has no column age"),
        (made.set_column(2, "age", pa.array(["x"] * len(made))), "has another type of age"),
        (made.set_column(1, "plan", pa.array(["else"] * len(made))), "has other values of plan"),
    ]:
        pq.write_table(rows, file)
        with pytest.raises(OperationalError, match=said):
            Proxy.open(path)
        assert main(["check", str(path)]) == 1
        assert said in capsys.readouterr().out
    file.write_text("no Parquet")
    with pytest.raises(OperationalError, match="is no Parquet file"):
        Proxy.open(path)
    policy(folder, "empty")  # where the file is of no use, it is not read
    with opened(path) as proxy:
        assert proxy.session().execute(SHOWN[0][0]).notices == (PREVIEWED,)


def test_of_a_large_file_the_first_rows_are_shown(folder: Path) -> None:
    make_up(policy(folder, "empty"), "person", rows=MOST_ROWS + 1000)
    with opened(policy(folder, "synthetic")) as proxy:
        answer = proxy.session().execute(f"SELECT age FROM person LIMIT {10 * MOST_ROWS}")
    assert len(answer.rows) == MOST_ROWS


def test_made_up_rows_are_marked_in_the_db_api(folder: Path) -> None:
    with dpsql.connect(str(policy(folder, "synthetic"))) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT age FROM person WHERE age > ? LIMIT 2", [60])
        assert len(cursor.fetchall()) == 2
        assert any(notice.startswith(MADE_UP) for notice in cursor.notices)


@pytest.fixture(scope="module")
def clinics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("clinic")
    clinic.build(built)
    with_made_up(built)
    return built


def with_made_up(folder: Path) -> None:
    path = folder / clinic.POLICY
    file = make_up(path, "patient")
    text = path.read_text().replace("\n  patient:\n", f"\n  patient:\n    synthetic: {file}\n")
    path.write_text(f"{text}\npreviews: synthetic\n")


def test_made_up_rows_are_marked_over_the_wire(clinics: Path, tmp_path: Path) -> None:
    """With a LIMIT, and where a client takes so many rows of a table at a time."""
    with served(clinics, tmp_path) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        told: list[str] = []
        connection.add_notice_handler(lambda one: told.append(one.message_primary or ""))
        assert len(connection.execute("SELECT * FROM patient LIMIT 200").fetchall()) == 200
        assert any(one.startswith(MADE_UP) for one in told)
        told.clear()
        with connection.transaction(), connection.cursor("table_of_people") as cursor:
            cursor.execute("SELECT id, sex FROM patient")
            found = cursor.fetchmany(50)
        assert len(found) == 50
        assert {key for key, _ in found} == {None}
        assert any(one.startswith(MADE_UP) for one in told)
        assert connection.execute("SELECT * FROM visit LIMIT 200").fetchall() == []


def test_made_up_rows_have_a_caption_in_the_console(tmp_path: Path) -> None:
    with served_console(tmp_path, with_made_up) as console, console.signed_in(ANALYST) as browser:
        asked = {"sql": "SELECT sex, birth_year FROM patient LIMIT 30", "epsilon": "0.25"}
        page = browser.post("/answer", data=asked).text
    assert re.search(r'<table class="rows">\s*<caption class="made-up">Made up: no row of patient is of a person', page)
    assert 'download="made-up-rows.csv"' in page
    assert page.count("<tr>") == 31
    assert "<svg" not in page
