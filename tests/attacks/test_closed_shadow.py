"""Whoever asks the shadow can read it, and nothing else: not write, wait, watch others, or stay in anybody's way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from dpsql.engines.deadlines import Cancellation
from dpsql.errors import Error, OperationalError
from dpsql.postgresql.process import SUPERUSER
from dpsql.server.shadow import pool as shadow_pool
from dpsql.server.shadow.rights import verify
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.shadow.shadow_schema import tables
from tests.golden.pairs import clinic

ANALYSTS = ("ana", "bob")


@pytest.fixture(scope="module")
def shadow() -> Iterator[Shadow]:
    started = Shadow.start(clinic(), ANALYSTS, "clinic")
    yield started
    started.close()


@pytest.fixture
def owner(shadow: Shadow) -> Iterator[psycopg.Connection]:
    with psycopg.connect(shadow.process.dsn("clinic"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def role(shadow: Shadow) -> Iterator[psycopg.Connection]:
    """A connection as the analyst's own role, past everything that the proxy does, and not even read-only."""
    with psycopg.connect(shadow.process.dsn("clinic", "ana"), autocommit=True) as connection:
        yield connection


def ask(shadow: Shadow, sql: str, analyst: str = "ana", timeout: float | None = None) -> list[list[bytes | None]]:
    found = shadow.run(sql, [], [], [], [], analyst, {}, timeout, Cancellation())
    return [list(row) for row in found.rows]


WRITES = """
CREATE TABLE left_behind (x int)
CREATE TEMP TABLE left_behind (x int)
CREATE TABLE dpsql.left_behind (x int)
SELECT 1 AS x INTO left_behind
SELECT 1 AS x INTO TEMPORARY left_behind
CREATE VIEW left_behind AS SELECT 1
CREATE SCHEMA left_behind
CREATE SEQUENCE left_behind
CREATE TYPE left_behind AS (x int)
CREATE DOMAIN left_behind AS int
CREATE FUNCTION left_behind() RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE FUNCTION pg_temp.left_behind() RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE EXTENSION pageinspect
CREATE ROLE left_behind
CREATE DATABASE left_behind
CREATE PUBLICATION left_behind
CREATE STATISTICS left_behind ON id, sex FROM patient
CREATE INDEX ON patient (sex)
INSERT INTO patient (id, sex) VALUES (1, 'F')
INSERT INTO region VALUES ('north', 'FR', 1)
INSERT INTO dpsql.budget (analyst) VALUES ('ana')
WITH made AS (INSERT INTO region VALUES ('north', 'FR', 1) RETURNING *) SELECT * FROM made
UPDATE region SET population = 0
DELETE FROM region
TRUNCATE region
MERGE INTO region USING (SELECT 1) AS one ON false WHEN NOT MATCHED THEN INSERT VALUES ('north', 'FR', 1)
COPY region FROM PROGRAM 'echo north,FR,1'
COPY region TO '/tmp/left_behind'
COPY (SELECT 1) TO PROGRAM 'true'
ALTER TABLE patient ADD COLUMN left_behind int
ALTER ROLE bob PASSWORD 'x'
ALTER SYSTEM SET fsync = on
ALTER DATABASE clinic SET work_mem = '1GB'
DROP TABLE patient
COMMENT ON TABLE patient IS 'left behind'
GRANT SELECT ON patient TO bob WITH GRANT OPTION
BEGIN; LOCK TABLE patient
SELECT * FROM patient FOR UPDATE
SELECT * FROM pg_class FOR SHARE
UPDATE pg_settings SET setting = '1' WHERE name = 'work_mem'
UPDATE pg_class SET relname = 'left_behind'
DO $$ BEGIN PERFORM 1; END $$
DO LANGUAGE plpgsql 'BEGIN NULL; END'
SET ROLE bob
SET SESSION AUTHORIZATION bob
SET session_replication_role = replica
REINDEX TABLE patient
ANALYZE VERBOSE patient, pg_authid
""".strip().splitlines()
ONLY_WARNED = ("ANALYZE", "GRANT SELECT")
"""PostgreSQL answers with a warning, and does nothing."""

FUNCTIONS = """
pg_sleep(0)
pg_sleep_for('0 s')
pg_sleep_until(now())
set_config('statement_timeout', '0', false)
set_config('session_authorization', 'dpsql_owner', false)
setseed(0.5)
pg_notify('x', 'y')
pg_terminate_backend(1)
pg_cancel_backend(1)
pg_reload_conf()
pg_rotate_logfile()
pg_advisory_lock(1)
pg_try_advisory_lock(1)
pg_advisory_xact_lock(1)
pg_try_advisory_xact_lock_shared(1, 2)
lo_create(0)
lo_creat(-1)
lo_from_bytea(0, 'x')
lo_import('/etc/passwd')
lo_open(1, 262144)
lo_put(1, 0, 'x')
lo_unlink(1)
pg_read_file('/etc/passwd')
pg_read_binary_file('/etc/passwd')
pg_ls_dir('/')
pg_stat_file('/etc/passwd')
pg_ls_waldir()
pg_current_logfile()
query_to_xml('SELECT 1', true, true, '')
query_to_xmlschema('SELECT 1', true, true, '')
table_to_xml('patient', true, true, '')
schema_to_xml('public', true, true, '')
database_to_xml(true, true, '')
cursor_to_xml('c', 1, true, true, '')
ts_stat('SELECT to_tsvector(name) FROM region')
ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')
pg_stat_get_activity(NULL)
pg_stat_get_backend_activity(1)
pg_stat_get_backend_idset()
pg_lock_status()
pg_blocking_pids(1)
pg_prepared_xact()
pg_export_snapshot()
pg_logical_emit_message(true, 'x', 'y')
pg_create_restore_point('x')
pg_switch_wal()
pg_stat_reset()
pg_stat_reset_shared('io')
pg_log_backend_memory_contexts(1)
pg_get_backend_memory_contexts()
pg_show_all_file_settings()
pg_hba_file_rules()
nextval(0)
pg_nextoid('pg_class', 'oid', 'pg_class_oid_index')
pg_import_system_collations('public')
binary_upgrade_set_next_pg_type_oid(1)
""".strip().splitlines()


@pytest.mark.parametrize("sql", WRITES)
def test_the_role_itself_can_write_nothing(role: psycopg.Connection, sql: str) -> None:
    if sql.startswith(ONLY_WARNED):
        warned: list[str | None] = []
        role.add_notice_handler(lambda notice: warned.append(notice.severity_nonlocalized))
        role.execute(sql.encode())
        assert "WARNING" in warned
        return
    with pytest.raises(psycopg.Error) as caught:
        role.execute(sql.encode())
    assert caught.value.sqlstate in ("42501", "0A000"), caught.value


@pytest.mark.parametrize("call", FUNCTIONS)
def test_the_role_itself_can_call_nothing_that_others_notice(role: psycopg.Connection, call: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        role.execute(f"SELECT {call}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        role.execute(f"SELECT * FROM {call} AS f".encode())


@pytest.mark.parametrize(
    "view", ["pg_authid", "pg_shadow", "pg_hba_file_rules", "pg_file_settings", "pg_largeobject", "pg_user_mapping",
             "pg_statistic"]
)  # fmt: skip
def test_views_that_show_others_are_closed(shadow: Shadow, view: str) -> None:
    with pytest.raises(Error) as caught:
        ask(shadow, f"SELECT * FROM {view}")
    assert caught.value.sqlstate == "42501"


def test_views_that_show_others_have_no_row_whatever_they_do(shadow: Shadow, role: psycopg.Connection) -> None:
    """They cannot see even the session that asks: nothing of a backend, a lock or a prepared transaction."""
    for view in ("pg_stat_activity", "pg_locks", "pg_stat_replication", "pg_prepared_xacts", "pg_stat_ssl"):
        assert ask(shadow, f"SELECT * FROM {view}") == []
        assert role.execute(f"SELECT * FROM pg_catalog.{view}".encode()).fetchall() == []


def test_no_word_of_another_session_is_seen(shadow: Shadow) -> None:
    word = "nobody_should_read_this"
    slow = f"SELECT '{word}', count(*) FROM pg_class, pg_class b, pg_class c, pg_class d"
    cancellation = Cancellation()
    answer: list[BaseException] = []

    def work() -> None:
        try:
            shadow.run(slow, [], [], [], [], "bob", {}, None, cancellation)
        except Error as error:
            answer.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    readable = [
        name.decode()
        for (name,) in ask(
            shadow,
            """SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v')
            AND has_table_privilege(c.oid, 'SELECT')""",
        )
        if name is not None
    ]
    assert len(readable) > 150
    looked = 0
    for name in readable:
        try:
            found = ask(
                shadow, f"SELECT r::text FROM {name} r WHERE r::text LIKE '%' || 'nobody' || '_should_read_this%'"
            )
        except Error as error:
            assert error.sqlstate == "42501", name
            continue
        looked += 1
        assert found == [], name
    cancellation.cancel()
    thread.join()
    assert looked > 150
    assert [error.sqlstate for error in answer if isinstance(error, Error)] == ["57014"]


@pytest.mark.parametrize(
    "sql",
    [
        "NOTIFY x", "LISTEN x", "SET statement_timeout = 0", "RESET ALL", "BEGIN", "COMMIT", "PREPARE p AS SELECT 1",
        "DEALLOCATE ALL", "DISCARD ALL", "COPY region TO STDOUT", "COPY region FROM STDIN", "EXPLAIN SELECT 1",
        "DECLARE c CURSOR FOR SELECT 1", "LOCK patient", "/* SELECT */ NOTIFY x", "-- SELECT\nNOTIFY x", "", ";",
        "EXECUTE p", "CHECKPOINT", "VACUUM", "CALL x()", "\0SELECT 1", "SELECT 1\0; NOTIFY x",
    ],
)  # fmt: skip
def test_only_queries_reach_the_shadow(shadow: Shadow, sql: str) -> None:
    with pytest.raises(Error) as caught:
        ask(shadow, sql)
    assert caught.value.sqlstate == "42601"
    with pytest.raises(Error):
        shadow.describe(sql, [], "ana", {})


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "SELECT 1; NOTIFY x", "SELECT 1;;SET timezone = 'Asia/Tokyo'"])
def test_one_call_is_one_statement(shadow: Shadow, sql: str) -> None:
    with pytest.raises(Error) as caught:
        ask(shadow, sql)
    assert caught.value.sqlstate == "42601"
    assert ask(shadow, "SHOW timezone") == [[b"UTC"]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT generate_series(1, 1000000000)",
        "SELECT * FROM generate_series(1, 1000000000)",
        "SELECT repeat('x', 1000) FROM generate_series(1, 99999)",
        "SELECT repeat('x', 1000000000)",
        "SELECT repeat('x', 90000000)",
        "SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 1000000)",
        "SELECT array_fill(0, ARRAY[10000, 10000])",
        "SELECT lpad('x', 1000000000)",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t",
        "WITH RECURSIVE t(n) AS (SELECT 'x' UNION ALL SELECT n || n FROM t) SELECT length(n) FROM t",
        "SELECT factorial(1000000)",
    ],
)
def test_what_has_no_end_is_ended(shadow: Shadow, sql: str) -> None:
    started = time.monotonic()
    with pytest.raises(Error) as caught:
        ask(shadow, sql, timeout=2)
    assert caught.value.sqlstate in ("54000", "53200", "57014", "22003", "53400")
    assert time.monotonic() - started < 60
    assert ask(shadow, "SELECT 1") == [[b"1"]]


def test_one_analyst_cannot_keep_another_waiting(shadow: Shadow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow_pool, "PATIENCE", 0.3)
    slow = "SELECT count(*) FROM pg_class, pg_class b, pg_class c, pg_class d"
    cancellation = Cancellation()

    def work() -> None:
        with pytest.raises(Error):
            shadow.run(slow, [], [], [], [], "ana", {}, None, cancellation)

    threads = [threading.Thread(target=work) for _ in range(shadow_pool.EACH)]
    for thread in threads:
        thread.start()
    end, pool = time.monotonic() + 60, shadow._pool
    while (pool._open["ana"] < shadow_pool.EACH or pool._idle.get("ana")) and time.monotonic() < end:
        time.sleep(0.02)
    with pytest.raises(OperationalError) as caught:
        ask(shadow, "SELECT 1", "ana")
    assert caught.value.sqlstate == "53300"
    assert ask(shadow, "SELECT 1", "bob") == [[b"1"]]
    cancellation.cancel()
    for thread in threads:
        thread.join()
    assert ask(shadow, "SELECT 1", "ana") == [[b"1"]]


def test_the_machine_behind_it_is_not_named(shadow: Shadow) -> None:
    folder = str(shadow.process.folder)
    found = ask(shadow, "SELECT name, setting, reset_val, sourcefile FROM pg_settings")
    assert len(found) > 300
    assert not [row for row in found if any(value and folder.encode() in value for value in row)]
    for name in ("data_directory", "config_file", "hba_file", "unix_socket_directories"):
        with pytest.raises(Error) as caught:
            ask(shadow, f"SELECT current_setting('{name}')")
        assert caught.value.sqlstate == "42501"


@pytest.mark.parametrize("name", [SUPERUSER, "public", "none", "", "pg_read_all_data", "x" * 64, "a\0b"])
def test_an_analyst_cannot_be_named_like_a_role_that_may_more(name: str) -> None:
    with pytest.raises(OperationalError):
        Shadow.start(clinic(), (name,), "clinic")


@pytest.mark.parametrize("name", ["carl", SUPERUSER, "ana' host='/tmp", "ana dbname=template1"])
def test_who_was_not_named_does_not_come_in(shadow: Shadow, name: str) -> None:
    with pytest.raises(Error) as caught:
        ask(shadow, "SELECT 1", name)
    assert caught.value.sqlstate == "28000"


def test_the_other_databases_are_closed(shadow: Shadow) -> None:
    for database in ("template1", "template0", "postgres"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(shadow.process.dsn(database, "ana"))


def test_it_serves_only_when_empty_and_without_rights(shadow: Shadow, owner: psycopg.Connection) -> None:
    verify(owner, ANALYSTS, tables(clinic()))
    for change, back in [
        ("INSERT INTO region VALUES ('north', 'FR', 1)", "DELETE FROM region"),
        ("INSERT INTO dpsql.charges (analyst) VALUES ('bob')", "DELETE FROM dpsql.charges"),
        ("GRANT INSERT ON visit TO bob", "REVOKE INSERT ON visit FROM bob"),
        ("GRANT TEMP ON DATABASE clinic TO PUBLIC", "REVOKE TEMP ON DATABASE clinic FROM PUBLIC"),
        ("GRANT CREATE ON SCHEMA dpsql TO ana", "REVOKE CREATE ON SCHEMA dpsql FROM ana"),
        ("GRANT CONNECT ON DATABASE template1 TO ana", "REVOKE CONNECT ON DATABASE template1 FROM ana"),
        ("GRANT USAGE ON LANGUAGE plpgsql TO ana", "REVOKE USAGE ON LANGUAGE plpgsql FROM ana"),
        ("GRANT EXECUTE ON FUNCTION set_config TO ana", "REVOKE EXECUTE ON FUNCTION set_config FROM ana"),
        ("GRANT pg_read_all_stats TO ana", "REVOKE pg_read_all_stats FROM ana"),
        ("ALTER ROLE bob SUPERUSER", "ALTER ROLE bob NOSUPERUSER"),
    ]:
        owner.execute(change.encode())
        with pytest.raises(OperationalError):
            verify(owner, ANALYSTS, tables(clinic()))
        owner.execute(back.encode())
    verify(owner, ANALYSTS, tables(clinic()))


def test_after_all_of_it_nothing_was_left_behind(shadow: Shadow, owner: psycopg.Connection) -> None:
    """Runs last: what the tests above tried has left no row, no relation, no large object."""
    for sql in WRITES:
        if sql.startswith(("WITH", "SELECT")):
            with pytest.raises(Error):
                ask(shadow, sql)
    verify(owner, ANALYSTS, tables(clinic()))
    assert owner.execute("SELECT count(*) FROM pg_class WHERE relname LIKE '%left_behind%'").fetchone() == (0,)
    assert owner.execute("SELECT count(*) FROM pg_largeobject_metadata").fetchone() == (0,)
    assert owner.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp%'").fetchone() == (0,)
    assert owner.execute("SELECT rolname FROM pg_roles WHERE oid > 16383 ORDER BY 1").fetchall() == [("ana",), ("bob",)]
    assert owner.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (0,)
