"""Nothing is paid for in vain: what text, files or the database's absence can tell is told before a charge."""

from __future__ import annotations

import ast
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import psycopg
import pytest

import dpsql
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.engines.postgres import postgres_engine
from dpsql.errors import Error, OperationalError
from dpsql.proxy import Proxy, Session
from rewriter.declared.contribution import Norm
from rewriter.dialects.duckdb import DUCKDB
from rewriter.outer.outer_constants import constants_sql
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.answer.errors_after_a_charge import AFTER_A_CHARGE, PLACES
from tests.engines.postgres_server import start
from tests.engines.test_files import PATIENTS, VISITS, write
from tests.golden.pairs import clinic, pairs

BY_SEX = "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex"
VISITED = "SELECT COUNT(*) FROM visit"
PEOPLE = "SELECT COUNT(*) FROM patient"


def refused(session: Session, sql: str) -> Error:
    """The error of a statement that nothing is charged for."""
    before = session.budget()
    with pytest.raises(Error) as caught:
        session.execute(sql)
    assert session.budget() == before, "charged"
    return caught.value


def paid(session: Session, sql: str) -> bool:
    """Whether a statement that is answered was charged for."""
    before = session.budget()
    session.execute(sql)
    return session.budget() != before


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.fixture
def proxy(policy: Path) -> Iterator[Proxy]:
    proxy = Proxy.open(policy)
    yield proxy
    proxy.close()


# -- the text ---------------------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        (f"{PEOPLE} LIMIT 'a'", "22P02"),
        (f"{BY_SEX} OFFSET 'a'", "22P02"),
        (f"{BY_SEX} FETCH FIRST 'a' ROWS ONLY", "22P02"),
        (f"{BY_SEX} LIMIT 99999999999999999999", "22P02"),
        (f"{BY_SEX} LIMIT SQRT(-1)", "22003"),
        (f"SELECT * FROM ({BY_SEX} LIMIT 'a') AS t", "22P02"),
        (f"WITH t AS ({BY_SEX} LIMIT 'a') SELECT SUM(n) FROM t", "22P02"),
        ("SELECT COUNT(*) + CAST('a' AS INTEGER) FROM patient", "22P02"),
        ("SELECT COUNT(*) FROM patient HAVING COUNT(*) > CAST('b' AS INTEGER)", "22P02"),
        (f"SELECT CASE WHEN n > 5 THEN LN(-1) END FROM ({BY_SEX}) AS t", "22003"),
        (f"SELECT n FROM ({BY_SEX}) AS t ORDER BY CAST('2024-13-01' AS DATE)", "22P02"),
    ],
)
def test_a_constant_without_a_result_is_refused_before_the_charge(proxy: Proxy, sql: str, sqlstate: str) -> None:
    session = proxy.session()
    assert refused(session, sql).sqlstate == sqlstate
    with pytest.raises(Error) as explained:
        session.explain(sql)
    assert explained.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    "sql",
    [
        f"{BY_SEX} LIMIT '2'",
        f"{BY_SEX} LIMIT NULL",
        f"{BY_SEX} LIMIT 1 + 1 OFFSET 0",
        f"SELECT CAST('5' AS INTEGER) + n, DATE '2024-02-29' FROM ({BY_SEX}) AS t",
        f"SELECT CASE WHEN 1 = 2 THEN LN(-1) END, n FROM ({BY_SEX}) AS t",
    ],
)
def test_a_constant_with_a_result_is_answered(proxy: Proxy, sql: str) -> None:
    assert paid(proxy.session(), sql)


def test_what_a_row_decides_is_no_constant() -> None:
    assert constants_sql("SELECT a0 + 1, SUM(a0), (SELECT 1) FROM r LIMIT (SELECT 5)") is None


# -- the files --------------------------------------------------------------------------------------------------------


def replace(path: Path, sql: str) -> None:
    """Another file under a name, as a nightly job puts it there."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({sql}) TO '{path}.new' (FORMAT parquet)")
    os.replace(f"{path}.new", path)


@pytest.mark.quick
def test_a_replaced_file_is_read_anew_and_its_answers_are_others(tmp_path: Path, proxy: Proxy, policy: Path) -> None:
    session = proxy.session()
    assert paid(session, VISITED)
    assert paid(session, PEOPLE)
    assert not paid(session, VISITED)
    replace(tmp_path / "visit" / "2024.parquet", VISITS.format(300))
    assert paid(session, VISITED), "the rows are others"
    assert not paid(session, VISITED)
    assert not paid(session, PEOPLE), "of a table that is what it was"
    proxy.close()
    again = Proxy.open(policy)
    assert not paid(again.session(), VISITED), "the files are those of the last answer"
    again.close()
    replace(tmp_path / "visit" / "2024.parquet", VISITS.format(600))
    again = Proxy.open(policy)
    assert paid(again.session(), VISITED), "an old number after a restart"
    assert not paid(again.session(), PEOPLE)
    again.close()


def test_a_file_more_of_a_pattern_is_read(tmp_path: Path, proxy: Proxy) -> None:
    session = proxy.session()
    assert paid(session, VISITED)
    replace(tmp_path / "visit" / "2026.parquet", VISITS.format(300))
    assert paid(session, VISITED)
    assert not paid(session, VISITED)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("visit/2024.parquet", "SELECT 1 AS x"),
        ("visit/2024.parquet", "SELECT CAST(1 AS BIGINT) AS patient_id, 'much' AS cost"),
        ("patient.parquet", f"{PATIENTS} UNION ALL {PATIENTS}"),
    ],
    ids=["other columns", "another type", "a key that is none"],
)
def test_files_that_the_policy_does_not_agree_with_cost_nothing(
    tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, file: str, rows: str
) -> None:
    session = proxy.session()
    replace(tmp_path / file, rows)
    sql, other = (VISITED, PEOPLE) if file.startswith("visit") else (PEOPLE, VISITED)
    error = refused(session, sql)
    assert (error.sqlstate, error.hint[:19]) == ("58000", "nothing was charged")
    compared = []
    monkeypatch.setattr(proxy._opened.engine, "_fitting", compared.append)
    assert str(refused(session, sql)) == str(error)
    assert not compared, "the same files are compared once"
    monkeypatch.undo()
    if file.startswith("visit"):
        assert paid(session, other), "its tables are what they were"
    replace(tmp_path / file, VISITS.format(0) if file.startswith("visit") else PATIENTS)
    assert paid(session, sql)


def test_half_a_file_costs_nothing(tmp_path: Path, proxy: Proxy) -> None:
    path = tmp_path / "visit" / "2024.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert refused(proxy.session(), VISITED).sqlstate == "58000"
    path.write_bytes(whole)
    assert paid(proxy.session(), VISITED)
    (tmp_path / "patient.parquet").unlink()
    assert refused(proxy.session(), PEOPLE).sqlstate == "58000"


def test_public_rows_that_changed_are_not_believed(tmp_path: Path, policy: Path) -> None:
    """They list groups and are joined: what was found of them at opening lowers noise."""
    label = "SELECT * FROM (VALUES ('F', 'x'), ('M', 'y')) AS t(sex, label)"
    replace(tmp_path / "label.parquet", label)
    text = policy.read_text().replace("{values: [F, M]}", "{values_from: label.sex}")
    policy.write_text(f"{text}  label: {{public: true, files: label.parquet}}\n")
    proxy = Proxy.open(policy)
    session = proxy.session()
    assert paid(session, BY_SEX)
    replace(tmp_path / "label.parquet", label)
    assert paid(session, BY_SEX), "another file with the same rows"
    for other in (label.replace("'y'", "'z'"), f"{label} UNION ALL {label}"):
        replace(tmp_path / "label.parquet", other)
        for sql in (BY_SEX, "SELECT label, COUNT(*) FROM patient JOIN label USING (sex) GROUP BY label"):
            assert refused(session, sql).sqlstate == "58000"
    proxy.close()


def test_a_file_that_changes_between_price_and_charge_costs_nothing(
    tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, load = proxy.session(), proxy.engine_load
    take = type(load).take

    def late(*given: object) -> object:
        replace(tmp_path / "visit" / "2024.parquet", VISITS.format(300))
        return take(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(type(load), "take", late)
    assert "being replaced" in str(refused(session, VISITED))
    monkeypatch.undo()
    assert paid(session, VISITED)


def test_a_statement_goes_on_while_files_of_others_are_replaced(
    tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, run = proxy.session(), DuckDBEngine.run

    def late(*given: object) -> object:
        monkeypatch.undo()
        replace(tmp_path / "visit" / "2024.parquet", VISITS.format(300))
        with ThreadPoolExecutor(1) as other:
            assert other.submit(paid, proxy.session(), VISITED).result(60)
        return run(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckDBEngine, "run", late)
    assert paid(session, PEOPLE)
    engine = proxy._opened.engine
    assert isinstance(engine, DuckDBEngine)
    assert not engine._of_turns


def test_views_of_a_duckdb_file_over_files_are_read_anew(tmp_path: Path, policy: Path) -> None:
    with duckdb.connect(str(tmp_path / "views.duckdb")) as connection:
        connection.execute("CREATE TABLE patient (id BIGINT PRIMARY KEY, sex VARCHAR)")
        connection.execute(f"INSERT INTO patient {PATIENTS}")
        connection.execute(f"CREATE VIEW visit AS SELECT * FROM read_parquet('{tmp_path}/visit/2024.parquet')")
    text = policy.read_text().replace("database: files", "database: duckdb:views.duckdb")
    text = text.replace("    files: patient.parquet\n", "").replace("visit/*.parquet", "visit/2024.parquet")
    policy.write_text(text)
    proxy = Proxy.open(policy)
    session = proxy.session()
    assert paid(session, VISITED)
    assert paid(session, PEOPLE)
    replace(tmp_path / "visit" / "2024.parquet", VISITS.format(300))
    assert paid(session, VISITED)
    assert not paid(session, PEOPLE)
    replace(tmp_path / "visit" / "2024.parquet", "SELECT 1 AS x")
    assert refused(session, VISITED).sqlstate == "58000"
    proxy.close()


def test_the_tables_of_a_plan_are_all_that_its_sql_reads() -> None:
    """Files are compared before and after a plan by these names."""
    known, seen = clinic(), 0
    for pair in pairs():
        try:
            statement = parse(pair.sql)
            releases = split(statement.tree, known, DUCKDB).groupings if isinstance(statement, Select) else ()
            plans = [plan(query, norm, DUCKDB) for query in releases for norm in Norm]
        except Refused:
            continue
        for one in plans:
            read = {name for name in known.tables if any(f'"main"."{name}"' in sql for sql in (one.sql, one.groups))}
            assert read <= set(one.tables), pair.path.stem
            seen += len(read)
    assert seen > 100


# -- a database that does not answer ----------------------------------------------------------------------------------

SERVED = """
database: {url}
ledger: sqlite:{folder}/served.ledger
privacy_unit: person.id
budget: {{epsilon: 10, delta: 1e-6}}
tables: {{person: {{columns: {{id: {{}}}}}}}}
"""


def test_a_postgres_that_cannot_be_connected_to_costs_nothing(tmp_path: Path) -> None:
    server = start()
    name = server.database("CREATE TABLE person (id int PRIMARY KEY); INSERT INTO person VALUES (1)")
    (tmp_path / "served.yaml").write_text(SERVED.format(url=server.url(name), folder=tmp_path))
    proxy = Proxy.open(tmp_path / "served.yaml")
    try:
        session = proxy.session()
        assert paid(session, "SELECT COUNT(*) FROM person")
        with server.owner() as connection:  # what is idle has died, and a new connection takes its place
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            ).fetchall()
        assert paid(session, "SELECT COUNT(*) + 1 FROM person WHERE id > 0")
        with server.owner() as connection:
            connection.execute("ALTER ROLE reader NOLOGIN")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            ).fetchall()
        for _ in range(3):
            error = refused(session, "SELECT COUNT(*) FROM person WHERE id > 1")
            assert (error.sqlstate, error.hint[:19]) == ("58000", "nothing was charged")
        with server.owner() as connection:
            connection.execute("ALTER ROLE reader LOGIN")
        assert paid(session, "SELECT COUNT(*) FROM person WHERE id > 1")
    finally:
        proxy.close()
        server.process.close()


def test_the_connection_that_answered_is_the_turns_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who connects after the charge may fail after it."""
    server = start()
    name = server.database("CREATE TABLE person (id int PRIMARY KEY)")
    engine = postgres_engine.PostgresEngine.open(server.url(name))
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        first, second = (pool.submit(engine.load.take, 1.0).result(60) for pool in (one, other))
    assert first is not None
    assert second is not None
    try:
        with engine.ready(first, (), ""), engine.ready(second, (), ""):
            assert len({id(line) for line in engine._held.values()}) == 2

            def dead(*given: object) -> object:
                raise psycopg.OperationalError

            monkeypatch.setattr(postgres_engine, "connect", dead)
            for turn in (first, second, first):
                assert engine._call(lambda line: line.execute("SELECT 5").fetchone(), None, None, turn) == (5,)
            with pytest.raises(OperationalError):
                engine._call(lambda line: line.execute("SELECT 5").fetchone())
        assert len(engine._idle) == 2
        assert not engine._held
    finally:
        first.end()
        second.end()
        engine.close()
        server.process.close()


# -- every other error ------------------------------------------------------------------------------------------------


def raised() -> dict[str, Counter[str]]:
    """How many ``raise`` statements each definition has that a statement may pass after a charge, by module."""
    root, found = Path(dpsql.__file__).parent, dict[str, Counter[str]]()

    def walk(node: ast.AST, names: tuple[str, ...], counted: Counter[str]) -> None:
        for part in ast.iter_child_nodes(node):
            named = isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            inside = (*names, part.name) if named else names  # type: ignore[attr-defined]
            if isinstance(part, ast.Raise) and part.exc is not None:
                counted[".".join(inside)] += 1
            walk(part, inside, counted)

    for place in AFTER_A_CHARGE:
        paths = [root / place] if place.endswith(".py") else sorted((root / place).rglob("*.py"))
        for path in paths:
            module = ".".join(("dpsql", *path.relative_to(root).with_suffix("").parts))
            walk(ast.parse(path.read_text(encoding="utf-8")), (), found.setdefault(module, Counter()))
    return {module: counted for module, counted in found.items() if counted}


@pytest.mark.quick
def test_every_error_that_may_follow_a_charge_has_a_reason_why_it_does_not_come_before() -> None:
    listed: dict[str, Counter[str]] = {}
    for places in PLACES.values():
        for module, texts in places.items():
            for text in texts.split():
                definition, _, count = text.rpartition(":")
                assert definition not in listed.setdefault(module, Counter()), f"{module}: {definition} is listed twice"
                listed[module][definition] = int(count)
    assert listed == raised(), "say in errors_after_a_charge.py why it cannot come before the charge"


def test_what_is_raised_before_a_charge_says_so(tmp_path: Path, proxy: Proxy) -> None:
    session = proxy.session()
    shutil.rmtree(tmp_path / "visit")
    assert "nothing was charged" in refused(session, VISITED).hint
