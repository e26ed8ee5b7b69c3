"""What is Spark's own: its client, its sessions, and what happens when it goes away."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import cast

import duckdb
import pytest

from dpsql.engines.deadlines import Cancellation
from dpsql.engines.listed_files import FilesChanged
from dpsql.engines.schema import Schema, SchemaColumn, SchemaTable
from dpsql.engines.spark.spark_engine import SparkEngine, _tables_of
from dpsql.engines.spark.spark_session import SETTINGS, NotASelect, SparkLine, connect
from dpsql.engines.spark.staged_ctes import staged
from dpsql.errors import Error, OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.policy.fields import Place
from dpsql.policy.secrets import with_secret
from dpsql.testing import measure
from rewriter.declared.types import INTEGER
from tests.engines.spark_server import SparkServer, copy_to_spark, shared_spark
from tests.engines.test_files import plan
from tests.policies import policy_text

CANARY = "alice@example.org"
POLICY = policy_text("""
database: {url}; ledger: sqlite:clinic.ledger; privacy_unit: patient.id; budget: {epsilon: 10, delta: 1e-6}
tables:
  patient: id, sex [F, M]
  visit(patient_id -> patient.id, max_rows: 5): cost 0..200
""")
SLOW = "SELECT COUNT(*) AS s0 FROM range(1, 1000000000000) AS a(x) WHERE (x * 5) % 7 = 3"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> SparkServer:
    found = shared_spark()
    session = found.session()
    folder = tmp_path_factory.mktemp("spark-clinic")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE patient AS SELECT i AS id, ['F', 'M'][1 + i % 2] AS sex FROM range(40) t(i)")
        connection.execute(
            "CREATE TABLE visit AS SELECT i % 40 AS patient_id, i::DECIMAL(9, 2) AS cost,"
            f" '{CANARY}' AS email FROM range(120) t(i)"
        )
        copy_to_spark(connection, session, ("patient", "visit"), folder)
    session.stop()
    return found


@pytest.fixture(scope="module")
def engine(server: SparkServer) -> Iterator[SparkEngine]:
    found = SparkEngine.open(server.url)
    yield found
    found.close()


@pytest.mark.spark
def test_a_policy_is_answered_from_spark(server: SparkServer, tmp_path: Path) -> None:
    path = tmp_path / "clinic.yaml"
    path.write_text(POLICY.format(url=server.url))
    [found] = measure("SELECT COUNT(*) FROM visit", path)
    [cells] = found.groups.values()
    assert sum(cells.values()) == 120
    assert main(["check", str(path)]) == 0


@pytest.mark.spark
def test_settings_are_read_back(server: SparkServer) -> None:
    line = connect(server.url.removeprefix("spark:"))
    assert {name: str(line.session.conf.get(name)).lower() for name in SETTINGS} == {
        name: value.lower() for name, value in SETTINGS.items()
    }
    line.close()


@pytest.mark.spark
def test_an_endpoint_that_may_make_tables_is_a_concern(engine: SparkEngine) -> None:
    [concern] = engine.concerns()
    assert "may make tables" in concern.text


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(email AS INT) AS s0 FROM `default`.`visit`",
        "SELECT RAISE_ERROR(email) AS s0 FROM `default`.`visit`",
    ],
)
def test_no_word_of_spark_s_is_said_or_logged(
    engine: SparkEngine, sql: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(OperationalError) as caught:
        engine.run(plan(sql))
    assert caught.value.sqlstate == "58000"
    assert caught.value.__context__ is None
    assert [record for record in caplog.records if record.name == "dpsql.engine"]
    said = "".join((str(caught.value), *(record.getMessage() for record in caplog.records), *capfd.readouterr()))
    assert CANARY not in said


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INT)",
        "SELECT 1; SELECT 2",
        "SET x = 1",
        "",
        "INSERT INTO t SELECT 1",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
    ],
)
def test_nothing_but_a_select_is_sent(sql: str) -> None:
    with pytest.raises(NotASelect):
        SparkLine(None).execute(sql)


@pytest.mark.spark
def test_cancelled_within_a_second(engine: SparkEngine) -> None:
    engine.run(plan("SELECT 1 AS s0"))
    for _ in range(3):
        cancellation = Cancellation()
        timer = threading.Timer(1.0, cancellation.cancel)
        timer.start()
        started = time.perf_counter()
        with pytest.raises(OperationalError, match="canceling statement"):
            engine.run(plan(SLOW), 60, cancellation)
        assert time.perf_counter() - started < 1.0 + 1.0
    assert engine.run(plan("SELECT CAST(1 AS BIGINT) AS s0")).statistics == {"s0": (1,)}


@pytest.mark.spark
def test_files_that_change_meanwhile_give_no_answer(
    engine: SparkEngine, server: SparkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = plan("SELECT COUNT(*) AS s0 FROM `default`.`grows`")
    session = server.session()
    session.sql("DROP TABLE IF EXISTS grows")
    session.sql("CREATE TABLE grows USING parquet AS SELECT 1 AS a")
    assert engine.run(count).statistics == {"s0": (1,)}
    execute = SparkLine.execute

    def grown(line: SparkLine, sql: str) -> object:
        found = execute(line, sql)
        if "COUNT" in sql:
            session.sql("INSERT INTO grows SELECT 2")
        return found

    monkeypatch.setattr(SparkLine, "execute", grown)
    with pytest.raises(OperationalError, match="could not answer"):
        engine.run(count)
    monkeypatch.undo()
    session.stop()


@pytest.mark.spark
def test_files_that_changed_since_an_earlier_statement_are_read_as_they_are(
    engine: SparkEngine, server: SparkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = plan("SELECT COUNT(*) AS s0 FROM `default`.`grown`")
    session = server.session()
    session.sql("DROP TABLE IF EXISTS grown")
    session.sql("CREATE TABLE grown USING parquet AS SELECT 1 AS a")
    looked: list[object] = []
    states = SparkEngine._states
    monkeypatch.setattr(SparkEngine, "_states", lambda *given: looked.append(given) or states(*given))
    assert engine.run(count).statistics == {"s0": (1,)}
    assert len(looked) == 2
    assert engine.run(count).statistics == {"s0": (1,)}
    assert len(looked) == 3
    session.sql("INSERT INTO grown SELECT 2")
    assert engine.run(count).statistics == {"s0": (2,)}
    assert engine.run(count).statistics == {"s0": (2,)}
    session.stop()


def test_what_changed_before_or_while_a_statement_ran_is_told_by_a_second_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a Spark: states as they come, one for each look at the files."""
    engine, line = SparkEngine("sc://nowhere"), SparkLine(None)
    monkeypatch.setattr("dpsql.engines.spark.spark_engine._refresh", lambda *_: None)

    def asked(*states: str) -> int | None:
        """How often the work was done; None where there is no answer."""
        left, done = list(states), []
        monkeypatch.setattr(SparkEngine, "_states", lambda *_: left.pop(0))
        with suppress(FilesChanged):
            engine._on_one_state(line, ["SELECT 1 FROM `default`.`t`"], lambda: done.append(1))
            assert not left
            return len(done)
        return None

    assert asked("a", "b") is None
    assert asked("a", "a") == 1
    assert asked("a") == 1
    assert asked("b", "b", "b") == 2
    assert asked("c", "c", "d") is None
    assert asked("b") == 1
    engine.close()


class _Unknown(Exception):
    """As Spark says that there is no such column."""

    def getSqlState(self) -> str:
        return "42703"


class _WithoutFiles:
    """A session whose tables have columns and no files."""

    stopped = threading.Event()

    def schema_of(self, sql: str) -> object:
        if "_metadata" in sql:
            raise _Unknown
        return sql

    def execute(self, sql: str) -> object:
        return self.schema_of(sql)


def test_a_table_that_does_not_show_its_files_is_refused_before_it_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a Spark: it could be written to between two parts of one statement, and nobody would know."""
    engine, session = SparkEngine("sc://nowhere"), cast("SparkLine", _WithoutFiles())
    table = SchemaTable("t", {"a": SchemaColumn("a", "int", INTEGER)})
    monkeypatch.setattr(SparkEngine, "schema", lambda _: Schema.of({("default", "t"): table}, "default"))
    assert "does not show its files" in str(engine._unreadable(session, "t", ["a"]))
    with pytest.raises(FilesChanged):
        engine._every_file(session, ("default", "t"))
    monkeypatch.setattr(_WithoutFiles, "schema_of", lambda *_: None)
    assert engine._unreadable(session, "t", ["a"]) is None
    engine.close()


@pytest.mark.spark
def test_a_view_over_two_tables_is_refused_and_a_table_of_files_is_not(
    engine: SparkEngine, server: SparkServer
) -> None:
    session = server.session()
    for name in ("one", "two"):
        session.sql(f"DROP TABLE IF EXISTS {name}")
        session.sql(f"CREATE TABLE {name} USING parquet AS SELECT 1 AS a")
    session.sql("CREATE OR REPLACE VIEW both AS SELECT one.a FROM one JOIN two ON one.a = two.a")
    with closing(SparkEngine.open(server.url)) as opened:
        found = opened.unreadable({"one": ["a"], "both": ["a"]})
        assert [one.table for one in found] == ["both"]
        assert "does not show its files" in found[0].text
        with pytest.raises(OperationalError):
            opened.run(plan("SELECT COUNT(*) AS s0 FROM `default`.`both`"))
    session.stop()


@pytest.mark.spark
def test_a_column_of_another_type_than_before_gives_no_answer(server: SparkServer) -> None:
    session = server.session()
    session.sql("DROP TABLE IF EXISTS turns")
    session.sql("CREATE TABLE turns USING parquet AS SELECT 1 AS a, 2 AS b")
    found = SparkEngine.open(server.url)
    found.rely_on(["turns"])
    count = plan("SELECT COUNT(*) AS s0 FROM `default`.`turns`")
    assert found.run(count).statistics == {"s0": (1,)}
    session.sql("DROP TABLE turns")
    session.sql("CREATE TABLE turns USING parquet AS SELECT CAST(1 AS DECIMAL(38, 0)) AS a, 2 AS b")
    with pytest.raises(OperationalError, match="could not answer"):
        found.run(count)
    session.sql("DROP TABLE turns")
    session.sql("CREATE TABLE turns USING parquet AS SELECT 1 AS a, 2 AS b, 3 AS c")
    assert found.run(count).statistics == {"s0": (1,)}
    found.close()
    session.stop()


def test_what_several_read_is_computed_once() -> None:
    text = "WITH a AS (SELECT ')' AS x), b AS (SELECT x FROM a), c AS (SELECT b.x FROM b, b AS d) SELECT c.x FROM c"
    found = staged(text)
    assert [(view.name, view.kept) for view in found.views] == [("a", False), ("b", True), ("c", False)]
    assert [view.sql for view in found.views[:2]] == ["SELECT ')' AS x", "SELECT x FROM a"]
    assert found.sql == "SELECT c.x FROM c"
    assert staged("SELECT 1").views == ()


def test_a_column_of_a_part_is_no_reader_of_it() -> None:
    parts = "a AS (SELECT 1 AS x, 2 AS y), b AS (SELECT 1 AS x)"
    once = f"WITH {parts} SELECT a.x, a.y FROM a LEFT JOIN b ON a.x IS NOT DISTINCT FROM b.x"
    assert staged(once).views == ()
    twice = staged(f"{once} WHERE EXISTS (SELECT 1 FROM b)")
    assert [view.name for view in twice.views if view.kept] == ["b"]


def test_tables_are_found_by_their_quoted_names() -> None:
    text = "SELECT a.x FROM `default`.`visit` AS a JOIN `odd``s`.`t` ON 1 = 1, partial WHERE 'FROM `x`.`y`' = 'z'"
    assert _tables_of([text]) == [("default", "visit"), ("odd`s", "t")]


def test_a_token_is_written_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_DATABASE_PASSWORD", "open sesame")
    url = with_secret("spark:sc://h:15002/;catalog=lake", "DPSQL_DATABASE_PASSWORD")
    assert url == "spark:sc://h:15002/;token=open%20sesame;catalog=lake"
    assert Place.of("spark:sc://h/;token=x", Path()).holds_password
    assert not Place.of("spark:sc://h/;catalog=x", Path()).holds_password


def test_a_server_that_is_not_there_is_said_at_once() -> None:
    started = time.perf_counter()
    with pytest.raises(
        OperationalError, match=r"the Spark at sc://127\.0\.0\.1:9/ cannot be opened|client is not installed"
    ):
        SparkEngine.open("spark:sc://127.0.0.1:9/;token=secret")
    assert time.perf_counter() - started < 30


@pytest.mark.spark
def test_a_driver_that_is_started_anew_is_found_again() -> None:
    shared_spark()
    server = SparkServer().start()
    try:
        engine = SparkEngine.open(server.url)
        one = plan("SELECT CAST(1 AS BIGINT) AS s0")
        assert engine.run(one).statistics == {"s0": (1,)}
        server.stop_driver()
        with pytest.raises(Error):
            engine.run(one)
        server.connect()
        assert engine.run(one).statistics == {"s0": (1,)}
        engine.close()
    finally:
        server.stop()
