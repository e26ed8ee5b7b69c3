"""Polymorphic keys: a column that holds the key of several tables, and another that says which."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from dpsql.errors import Error, OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.interfaces.commands.data_check import check_data
from dpsql.opened import open_policy
from dpsql.policy import Policy
from dpsql.proxy import Session
from tests.answer.staged_neighbours import assert_sound, two_sessions
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database

TABLES = """
CREATE TABLE patient (id INT PRIMARY KEY, sex VARCHAR(1));
CREATE TABLE stay (id INT PRIMARY KEY, patient INT NOT NULL REFERENCES patient (id));
CREATE TABLE surgery (nr INT PRIMARY KEY, patient INT NOT NULL REFERENCES patient (id), code INT);
CREATE TABLE lab (nr INT PRIMARY KEY, stay INT NOT NULL REFERENCES stay (id), item INT);
CREATE TABLE cost (nr INT PRIMARY KEY, patient INT NOT NULL REFERENCES patient (id), kind VARCHAR(20), sort INT,
    event INT, amount INT);
INSERT INTO patient SELECT i, CASE WHEN i % 2 = 0 THEN 'm' ELSE 'f' END FROM generate_series(0, 9) AS t(i);
INSERT INTO stay SELECT i, i % 10 FROM generate_series(0, 19) AS t(i);
INSERT INTO surgery SELECT i, i % 10, i % 4 FROM generate_series(0, 29) AS t(i);
INSERT INTO lab SELECT i, i % 20, i % 5 FROM generate_series(0, 39) AS t(i);
INSERT INTO cost SELECT i, i % 10, 'surgery', 1, i, i % 7 FROM generate_series(0, 29) AS t(i);
INSERT INTO cost SELECT 100 + i, i % 10, 'lab', 2, i, i % 3 FROM generate_series(0, 39) AS t(i);
INSERT INTO cost VALUES (900, 1, NULL, 1, 1, 3), (901, 1, 'surgery', 1, NULL, 3), (902, 2, 'surgery', 1, 77, 3),
    (903, 2, 'it''s', NULL, 2, 1), (904, 3, 'surgery', 1, 3, 4), (905, 3, 'surgery', 1, 3, 4);
"""
LIES = """
INSERT INTO cost VALUES (950, 1, 'surgery', 1, 2, 5), (951, 5, 'lab', 2, 7, 5), (952, 7, 'surgery', 1, 3, 5),
    (953, 3, 'surgery', 1, 7, 6), (954, 3, 'lab', 2, 17, 6), (955, 7, 'lab', 2, 7, 6), (956, 7, 'surgery', 1, 9, 9),
    (957, 8, 'surgery', 1, 7, 6), (958, 8, 'surgery', 1, 7, 6), (959, 7, 'lab', 1, 7, 5), (960, 7, NULL, 1, 8, 5),
    (961, 7, 'surgery', 1, 0, 9), (962, 7, 'surgery', 1, 1, 9), (963, 7, 'surgery', 1, 2, 9), (964, 7, 'surgery', 1, 4, 9);
"""
"""Rows that name another person's event, or another kind of event than they say."""
GONE = """
DELETE FROM cost WHERE patient = 7;
DELETE FROM lab WHERE stay IN (SELECT id FROM stay WHERE patient = 7);
DELETE FROM surgery WHERE patient = 7;
DELETE FROM stay WHERE patient = 7;
DELETE FROM patient WHERE id = 7;
"""
WAYS = (
    "[[patient -> patient.id], [event -> surgery.nr when kind = 'surgery'], [event -> lab.nr when kind = 'lab'],"
    " [event -> surgery.nr when sort = 1], [event -> surgery.nr when kind = 'it''s']]"
)
POLICY = """
database: {database}
ledger: sqlite:{ledger}
privacy_unit: patient.id
budget: {{epsilon: 100000, delta: 1e-6}}
statement: {{epsilon: 1, max_epsilon: 10}}
tables:
  patient: {{columns: {{sex: {{values: [m, f]}}}}}}
  stay: {{unit: patient -> patient.id, max_rows: 4, columns: {{}}}}
  surgery: {{unit: patient -> patient.id, max_rows: 3, columns: {{nr: {{}}, code: {{values: [0, 1, 2, 3]}}}}}}
  lab: {{unit: stay -> stay.id, max_rows: 4, columns: {{nr: {{}}, item: {{range: [0, 9]}}}}}}
  cost:
    unit: {ways}
    max_rows: 20
    columns: {{kind: {{}}, sort: {{}}, event: {{}}, amount: {{range: [0, 100]}}}}
"""

BY_SURGERY = "surgery AS s JOIN cost AS c ON c.event = s.nr"
BY_LAB = "lab AS l JOIN cost AS c ON c.event = l.nr"
JOINED = (
    f"SELECT COUNT(*), SUM(amount) FROM {BY_SURGERY} AND c.kind = 'surgery'",
    f"SELECT COUNT(*), SUM(amount) FROM {BY_SURGERY} WHERE 'surgery' = c.kind",
    f"SELECT COUNT(*), SUM(amount) FROM {BY_SURGERY} WHERE c.sort = 1",
    f"SELECT COUNT(*), SUM(amount) FROM {BY_SURGERY} AND c.kind IN ('surgery')",
    f"SELECT COUNT(*), SUM(amount) FROM {BY_SURGERY} AND c.kind = 'it''s'",
    f"SELECT code, SUM(amount) FROM {BY_SURGERY} WHERE c.kind = 'surgery' GROUP BY code ORDER BY 1",
    f"SELECT COUNT(*), SUM(amount) FROM {BY_LAB} AND c.kind = 'lab' WHERE item > 2",
    "SELECT COUNT(*), SUM(amount) FROM cost AS c, lab AS l WHERE c.event = l.nr AND c.kind = 'lab'",
    "SELECT COUNT(*), SUM(a) FROM (SELECT event AS nr, amount AS a FROM cost WHERE kind = 'surgery') AS c"
    " JOIN surgery AS s USING (nr)",
    "WITH c AS (SELECT event, amount, kind AS k FROM cost) SELECT COUNT(*), SUM(amount) FROM c JOIN surgery AS s"
    " ON c.event = s.nr AND k = 'surgery'",
    "SELECT COUNT(*), SUM(a) FROM surgery AS s JOIN (SELECT event, SUM(amount) AS a FROM cost WHERE kind = 'surgery'"
    " AND event IS NOT NULL GROUP BY event) AS c ON c.event = s.nr",
    "SELECT COUNT(*) FROM patient AS p JOIN surgery AS s ON p.id = s.patient JOIN cost AS c ON c.event = s.nr"
    " AND c.kind = 'surgery' WHERE sex = 'm'",
)
"""Each with one place for the condition that both rows are one person's."""
OUTER = (
    "SELECT COUNT(*), COUNT(c.amount) FROM surgery AS s LEFT JOIN cost AS c ON c.event = s.nr AND c.kind = 'surgery'",
    "SELECT COUNT(*), COUNT(s.code) FROM cost AS c LEFT JOIN surgery AS s ON c.event = s.nr AND c.kind = 'surgery'",
    "SELECT COUNT(*), COUNT(s.code), COUNT(l.item) FROM cost AS c LEFT JOIN surgery AS s ON c.event = s.nr"
    " AND c.kind = 'surgery' LEFT JOIN lab AS l ON c.event = l.nr AND c.kind = 'lab'",
    "SELECT COUNT(*), SUM(amount) FROM surgery AS s FULL JOIN (SELECT * FROM cost WHERE kind = 'surgery') AS c"
    " ON c.event = s.nr",
)
LISTED = (
    "SELECT COUNT(*) FROM surgery WHERE nr IN (SELECT event FROM cost WHERE kind = 'surgery' AND amount > 3)",
    "SELECT COUNT(*) FROM surgery AS s WHERE EXISTS (SELECT 1 FROM cost AS c WHERE c.event = s.nr AND c.kind = 'surgery'"
    " AND amount > 3)",
    "SELECT COUNT(*) FROM surgery AS s WHERE NOT EXISTS (SELECT 1 FROM cost AS c WHERE c.event = s.nr"
    " AND kind = 'surgery' AND amount > 3)",
    "SELECT COUNT(*), SUM(amount) FROM cost WHERE kind = 'surgery' AND event IN (SELECT nr FROM surgery WHERE code = 1)",
    "SELECT COUNT(*), SUM(amount) FROM cost WHERE event IN (SELECT nr FROM lab WHERE item > 2) AND 'lab' = kind",
    "SELECT COUNT(*) FROM surgery WHERE code = 2 OR nr = ANY (SELECT event FROM cost WHERE kind = 'surgery')",
)
ANSWERED = (*JOINED, *OUTER, *LISTED)


def opened_at(folder: Path, *changes: str, ways: str = WAYS, postgres: bool = False) -> Path:
    """The policy of a database, after changes, each of which is a transaction of its own."""
    folder.mkdir(exist_ok=True)
    if postgres:
        url = shared_server().url(shared_server().database(TABLES + "".join(changes)))
    else:
        url = f"duckdb:{folder / 'rows.duckdb'}"
        with new_database(folder / "rows.duckdb") as connection:
            connection.execute(TABLES)
        for change in (part for one in changes for part in one.split(";\n") if part.strip()):
            with duckdb.connect(str(folder / "rows.duckdb")) as connection:
                connection.execute(change)
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(database=url, ledger=folder / "rows.ledger", ways=ways))
    return path


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = opened_at(tmp_path_factory.mktemp("ways"), postgres=request.param == "postgres")
    with closing(open_without_noise(path)) as proxy:
        yield proxy.session()


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def lied_to(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = opened_at(tmp_path_factory.mktemp("lies"), LIES, postgres=request.param == "postgres")
    with closing(open_without_noise(path)) as proxy:
        yield proxy.session()


def truth(sql: str, *changes: str) -> list[list[int]]:
    with duckdb.connect() as beside:
        beside.execute(TABLES + "".join(changes))
        return [[int(value or 0) for value in row] for row in beside.execute(sql).fetchall()]


def answer(session: Session, sql: str) -> list[list[int]]:
    return [[int(value or 0) for value in row] for row in session.execute(sql).rows]


@pytest.mark.parametrize("sql", ANSWERED)
def test_rows_meet_by_the_key_that_their_kind_names(session: Session, sql: str) -> None:
    assert answer(session, sql) == truth(sql)
    assert any("they do not meet" in notice for notice in session.execute(sql).notices)


def test_statements_that_read_no_such_key_say_nothing_of_it(session: Session) -> None:
    told = session.execute("SELECT COUNT(*) FROM cost WHERE kind = 'surgery'").notices
    assert not any("meet" in notice for notice in told)


REFUSED = (
    (f"SELECT COUNT(*) FROM {BY_SURGERY}", "c.kind = 'surgery'"),
    (f"SELECT COUNT(*) FROM {BY_SURGERY} AND c.kind <> 'surgery'", "c.kind = 'surgery'"),
    (f"SELECT COUNT(*) FROM {BY_SURGERY} AND c.kind IN ('surgery', 'lab')", "c.kind = 'surgery'"),
    (f"SELECT COUNT(*) FROM {BY_SURGERY} AND (c.kind = 'surgery' OR c.amount > 2)", "c.kind = 'surgery'"),
    (f"SELECT COUNT(*) FROM {BY_LAB} AND c.kind = 'surgery'", "c.kind = 'lab'"),
    (f"SELECT COUNT(*) FROM {BY_LAB} AND c.sort = 2", "c.kind = 'lab'"),
    (f"SELECT COUNT(*) FROM {BY_LAB} AND c.kind = UPPER('lab')", "c.kind = 'lab'"),
    (f"SELECT COUNT(*) FROM {BY_LAB.replace('JOIN', 'LEFT JOIN')} AND c.kind > 'lab'", "c.kind = 'lab'"),
    (
        "SELECT COUNT(*) FROM (SELECT c.event, c.kind FROM cost AS c) AS c JOIN lab AS l ON l.nr = c.event",
        "c.kind = 'lab'",
    ),
)


@pytest.mark.parametrize(("sql", "missing"), REFUSED)
def test_without_the_condition_nobody_meets_and_the_hint_names_it(session: Session, sql: str, missing: str) -> None:
    with pytest.raises(Error, match="not by the same person") as told:
        session.execute(sql)
    assert told.value.hint == f"add the condition {missing}"
    followed = f"{sql} AND {missing}"
    assert answer(session, followed) == truth(followed)


@pytest.mark.parametrize(
    "sql",
    [
        # The kind of another row, of one that is not kept, and of one of two.
        "SELECT COUNT(*) FROM (SELECT a.event, b.kind, b.amount FROM cost AS a JOIN cost AS b ON a.patient = b.patient"
        " LIMIT ALL) AS z JOIN surgery AS s ON z.event = s.nr AND z.kind = 'surgery'",
        "SELECT COUNT(*), COUNT(z.amount) FROM surgery AS s LEFT JOIN (SELECT a.event, b.kind, b.amount FROM cost AS a"
        " JOIN cost AS b ON a.patient = b.patient) AS z ON z.event = s.nr AND z.kind = 'surgery'",
        "SELECT COUNT(*) FROM surgery AS s JOIN (SELECT event, MAX(kind) AS kind FROM cost GROUP BY patient, event) AS c"
        " ON c.event = s.nr AND c.kind = 'surgery'",
        "WITH x AS (SELECT event, kind, patient FROM cost) SELECT COUNT(*) FROM x AS a JOIN x AS b ON a.patient = b.patient"
        " JOIN lab AS l ON a.event = l.nr AND b.kind = 'lab' JOIN surgery AS s ON s.nr = a.event",
        "SELECT COUNT(*) FROM cost AS a JOIN cost AS b ON a.event = b.event AND a.kind = 'surgery' AND b.kind = 'lab'",
        "SELECT COUNT(*) FROM surgery WHERE nr IN (SELECT event FROM cost)",
        "SELECT COUNT(*) FROM surgery WHERE nr NOT IN (SELECT event FROM cost WHERE kind = 'surgery')",
        "SELECT COUNT(*) FROM cost WHERE kind = 'lab' OR event IN (SELECT nr FROM lab)",
    ],
)
def test_the_kind_of_another_row_ties_nobody(session: Session, sql: str) -> None:
    with pytest.raises(Error, match=r"not by the same person|with each other"):
        session.execute(sql)


OWNERS = {
    "surgery": "c.patient = s.patient",
    "lab": "c.patient = (SELECT y.patient FROM stay AS y WHERE y.id = l.stay)",
}


@pytest.mark.parametrize("sql", [sql for sql in (*JOINED, *OUTER[:3]) if "AS c ON c.event" in sql])
def test_rows_of_two_people_do_not_meet(lied_to: Session, sql: str) -> None:
    """Though the policy says that there are none."""
    told = sql.replace("c.event = s.nr", f"c.event = s.nr AND {OWNERS['surgery']}")
    told = told.replace("c.event = l.nr", f"c.event = l.nr AND {OWNERS['lab']}")
    told = told.replace("SELECT event, SUM(amount)", "SELECT event, patient, SUM(amount)")
    told = told.replace("GROUP BY event)", "GROUP BY event, patient)")
    assert told != sql
    assert answer(lied_to, sql) == truth(told, LIES)


@pytest.mark.parametrize("sql", LISTED[:3])
def test_what_somebody_else_lists_is_not_found(lied_to: Session, sql: str) -> None:
    inner = sql.replace("kind = 'surgery'", "kind = 'surgery' AND cost.patient = surgery.patient")
    inner = inner.replace(" AS s ", " ").replace(" AS c ", " ").replace("c.event = s.nr", "event = surgery.nr")
    assert answer(lied_to, sql) == truth(inner.replace("c.kind", "kind"), LIES) != truth(sql, LIES)


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_nobody_moves_a_statement_further_whatever_events_are_named(tmp_path: Path, engine: str) -> None:
    postgres = engine == "postgres"
    policies = (
        opened_at(tmp_path / "here", LIES, postgres=postgres),
        opened_at(tmp_path / "there", LIES, GONE, postgres=postgres),
    )
    with two_sessions(policies) as (here, there):
        assert_sound(here, there, ANSWERED, 1)


# The policy


def refusal(policy: Path) -> str:
    with pytest.raises(OperationalError) as told:
        open_policy(policy).close()
    return str(told.value)


OWN = "[patient -> patient.id]"


@pytest.mark.parametrize(
    ("ways", "told"),
    [
        ("event -> surgery.nr when kind = 'surgery'", "holds on some rows only"),
        ("[patient -> patient.id, event -> surgery.nr when kind = 'surgery']", "holds on some rows only"),
        (f"[{OWN}, [event -> surgery.nr when kind = surgery]]", "is no value of a condition"),
        (f"[{OWN}, [event -> surgery.nr when kind = 'a', event -> lab.nr when kind = 'b']]", "holds on some rows only"),
        (f"[{OWN}, [event -> surgery.nr when kind = 'a'], [event -> lab.nr when kind = 'a']]", "say each once"),
        (f"[{OWN}, ['(event, sort) -> surgery(nr, code) when kind = ''x''']]", "several columns, and a condition"),
        (f"[{OWN}, [event -> surgery.nr when sort = 'a']]", "sort is INTEGER, and 'a' is not"),
        (f"[{OWN}, [event -> surgery.nr when kind = 7]]", "kind is VARCHAR, and 7 is not"),
        (f"[{OWN}, [event -> surgery.nr when sex = 'm']]", "cost has no column sex"),
        (f"[{OWN}, [nr -> surgery.nr when kind = 'x']]", "name nr under columns, too"),
        (f"[{OWN}, [event -> surgery.number when kind = 'x']]", "surgery has no column number"),
    ],
)
def test_what_is_wrong_in_a_way_of_some_rows_is_told(tmp_path: Path, ways: str, told: str) -> None:
    assert told in refusal(opened_at(tmp_path, ways=ways))


def test_rows_that_can_change_are_believed_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = opened_at(tmp_path, LIES, postgres=True)
    assert main(["check", str(policy)]) == 0
    assert "info: tables.cost.unit: 'event -> lab.nr when kind = 'lab'' is believed" in capsys.readouterr().out
    page = io.StringIO()
    check_data(Policy.load(policy), Console(file=page, force_terminal=True, color_system=None, width=200))
    for way, kind, when in (("surgery.nr", "s", "kind = 'surgery'"), ("lab.nr", "l", "kind = 'lab'")):
        table = {"s": "surgery AS s", "l": "(SELECT nr, y.patient FROM lab JOIN stay AS y ON y.id = stay) AS l"}[kind]
        ((count,),) = truth(
            f"SELECT COUNT(*) FROM cost AS c JOIN {table} ON event = {kind}.nr AND {when}"
            f" WHERE c.patient <> {kind}.patient",
            LIES,
        )
        assert count
        assert f"{count} rows lead to somebody else by event -> {way} when {when}" in page.getvalue()


def test_a_way_to_what_is_no_key_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ways = f"[{OWN}, [event -> surgery.code when kind = 'surgery']]"
    policy = opened_at(tmp_path, LIES, ways=ways, postgres=True)
    assert main(["check", str(policy)]) == 0
    assert "nothing says that surgery.code is a key" in capsys.readouterr().out
    with closing(open_without_noise(policy)) as proxy, pytest.raises(Error, match="not by the same person"):
        proxy.session().execute(
            "SELECT COUNT(*) FROM surgery AS s JOIN cost AS c ON c.event = s.code AND c.kind = 'surgery'"
        )


def test_rows_that_cannot_change_are_looked_at(tmp_path: Path) -> None:
    open_policy(opened_at(tmp_path / "true")).close()
    told = refusal(opened_at(tmp_path / "lies", LIES))
    for when in ("kind = 'surgery'", "kind = 'lab'", "sort = 1"):
        assert f"when {when}': remove this way" in told
    assert "it''s" not in told
