"""The shadow answers what clients ask of catalogs, as a plain PostgreSQL with the same tables would."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence

import psycopg
import pytest
from psycopg import pq

from dpsql.engines.deadlines import Cancellation
from dpsql.errors import Error, OperationalError
from dpsql.postgresql.process import Binaries, PostgresProcess, machine_binaries, wheel_binaries
from dpsql.server.shadow.shadow import Shadow
from dpsql.server.shadow.shadow_rows import ShadowAnswer
from dpsql.server.shadow.shadow_schema import quoted, statements
from dpsql.server.wire.wire_types import wire_type
from rewriter.declared import VIRTUAL_COLUMNS
from rewriter.declared.catalog import Catalog, Column, Hop, Table
from rewriter.declared.types import BIGINT, INTEGER, TEXT
from tests.clients import corpus
from tests.golden.pairs import clinic

ANALYSTS = ("ana", "bob")
DATABASE = "shop"
INT4, TEXT_OID, NUMERIC, DATE = 23, 25, 1700, 1082
Rows = list[list[bytes | None]]


@pytest.fixture(scope="module", params=["wheel", pytest.param("machine", marks=pytest.mark.campaign)])
def binaries(request: pytest.FixtureRequest) -> Binaries:
    found = {"wheel": wheel_binaries, "machine": machine_binaries}[request.param]()
    if found is None:
        pytest.skip(f"there is no PostgreSQL of the {request.param}")
    return found


@pytest.fixture(scope="module")
def shadow(binaries: Binaries) -> Iterator[Shadow]:
    started = Shadow.start(corpus.shop(), ANALYSTS, DATABASE, binaries)
    yield started
    started.close()


@pytest.fixture(scope="module")
def plain(binaries: Binaries) -> Iterator[PostgresProcess]:
    """The same tables, made by the superuser of a PostgreSQL that nobody hardened."""
    with PostgresProcess.start(binaries=binaries) as process:
        with psycopg.connect(process.dsn("template1"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}".encode())
            connection.execute("DROP DATABASE postgres")
        with psycopg.connect(process.dsn(DATABASE), autocommit=True) as connection:
            for statement in statements(corpus.shop()):
                connection.execute(statement.encode())
            connection.execute("GRANT SELECT, REFERENCES ON ALL TABLES IN SCHEMA public, dpsql TO PUBLIC")
            connection.execute("GRANT USAGE ON SCHEMA dpsql TO PUBLIC")
            for name in ANALYSTS:
                connection.execute(f"CREATE ROLE {quoted(name)} LOGIN".encode())
        yield process


@pytest.fixture(scope="module")
def ward() -> Iterator[Shadow]:
    started = Shadow.start(clinic(), ("ana",), "clinic")
    yield started
    started.close()


def ask(
    shadow: Shadow,
    sql: str,
    values: Sequence[bytes | None] = (),
    types: Sequence[int] = (),
    formats: Sequence[int] = (),
    results: Sequence[int] = (),
    analyst: str = "ana",
    settings: Mapping[str, str] | None = None,
) -> ShadowAnswer:
    types = types or [0] * len(values)
    return shadow.run(sql, values, types, formats, results, analyst, settings or {}, None, Cancellation())


def rows(shadow: Shadow, sql: str) -> Rows:
    return [list(row) for row in ask(shadow, sql).rows]


def texts(shadow: Shadow, sql: str, settings: Mapping[str, str] | None = None) -> list[tuple[str | None, ...]]:
    found = ask(shadow, sql, settings=settings).rows
    return [tuple(None if value is None else value.decode() for value in row) for row in found]


def plain_rows(connection: pq.abc.PGconn, sql: str) -> Rows:
    result = connection.exec_params(sql.encode(), [])
    assert result.status == pq.ExecStatus.TUPLES_OK, result.error_message
    return [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]


IDENTITIES = "SELECT relname::text, oid::text FROM pg_class WHERE relname IN ('customers', 'orders', 'paid_orders')"
TAKEN_AWAY = ("d.datacl", "FROM pg_catalog.pg_settings s\nWHERE s.source", "pg_backend_pid()")
"""Rights of the database, settings of the server, the process: the only things that hardening changes in the corpus."""


def identities(found: Rows) -> dict[str, str]:
    return {(name or b"").decode(): (oid or b"").decode() for name, oid in found}


def test_the_whole_corpus_is_there() -> None:
    assert len(corpus.recorded()) == 373
    assert len(corpus.catalog_queries()) >= 297


def test_every_catalog_query_gives_the_rows_of_a_plain_postgres(shadow: Shadow, plain: PostgresProcess) -> None:
    connection = pq.PGconn.connect(plain.dsn(DATABASE, "ana").encode())
    ours, theirs = identities(rows(shadow, IDENTITIES)), identities(plain_rows(connection, IDENTITIES))
    queries = corpus.catalog_queries()
    different, filled, compared = [], 0, 0
    for query in queries:
        if not readable(query, shadow.process.version):
            continue
        found = rows(shadow, corpus.renumbered(query, ours))
        expected = plain_rows(connection, corpus.renumbered(query, theirs))
        filled += bool(found)
        if any(part in query for part in TAKEN_AWAY):
            continue
        compared += 1
        if sorted(map(repr, found)) != sorted(map(repr, expected)):
            different.append(query)
    connection.finish()
    assert different == []
    assert compared >= 290
    assert filled > 200


def readable(query: str, version: int) -> bool:
    """Whether a PostgreSQL of this version has the columns: psql asks others of others."""
    return version >= 16 or "daticurules" not in query


def test_a_session_is_who_and_where_it_should_be(shadow: Shadow) -> None:
    found = texts(shadow, "SELECT current_user, session_user, current_database(), current_schema()")
    assert found == [("ana", "ana", "shop", "public")]
    assert ask(shadow, "SELECT current_user", analyst="bob").rows == [[b"bob"]]


def test_the_schema_is_the_policys_and_nothing_else(ward: Shadow) -> None:
    found = texts(
        ward,
        """SELECT table_schema || '.' || table_name || '.' || column_name, data_type, is_nullable
        FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
        AND table_name IN ('visit', 'prescription') ORDER BY table_name DESC, ordinal_position""",
    )
    assert found == [
        ("public.visit.id", "integer", "NO"),
        ("public.visit.patient_id", "integer", "NO"),
        ("public.visit.day", "date", "NO"),
        ("public.visit.cost", "numeric", "YES"),
        ("public.visit.reason", "text", "YES"),
        ("public.prescription.visit_id", "integer", "YES"),
        ("public.prescription.drug", "text", "YES"),
        ("public.prescription.dose", "double precision", "YES"),
        ("public.prescription.note", "text", "YES"),
        ("public.prescription.score", "bigint", "YES"),
    ]
    tables = texts(ward, "SELECT schemaname, tablename FROM pg_tables WHERE tableowner = 'dpsql_owner' ORDER BY 1, 2")
    assert [table for table in tables if table[0] in ("public", "dpsql")] == [
        ("dpsql", "budget"), ("dpsql", "charges"), ("dpsql", "columns"),
        ("public", "diary"), ("public", "patient"), ("public", "prescription"), ("public", "referral"),
        ("public", "region"), ("public", "sample"), ("public", "survey"), ("public", "visit"),
    ]  # fmt: skip


def test_keys_are_shown_where_clients_look_for_them(ward: Shadow) -> None:
    found = texts(
        ward,
        """SELECT c.table_name, c.constraint_type, k.column_name FROM information_schema.table_constraints c
        JOIN information_schema.key_column_usage k USING (constraint_name, table_name)
        WHERE c.table_schema = 'public' ORDER BY 1, 2""",
    )
    assert found == [
        ("diary", "FOREIGN KEY", "patient_id"),
        ("patient", "FOREIGN KEY", "region"),
        ("patient", "PRIMARY KEY", "id"),
        ("prescription", "FOREIGN KEY", "visit_id"),
        ("referral", "FOREIGN KEY", "patient_id"),
        ("referral", "PRIMARY KEY", "id"),
        ("region", "PRIMARY KEY", "name"),
        ("sample", "FOREIGN KEY", "visit_id"),
        ("sample", "PRIMARY KEY", "id"),
        ("survey", "FOREIGN KEY", "patient_id"),
        ("survey", "PRIMARY KEY", "patient_id"),
        ("visit", "FOREIGN KEY", "patient_id"),
        ("visit", "PRIMARY KEY", "id"),
    ]


def test_comments_say_what_may_be_asked(ward: Shadow) -> None:
    said = dict(
        texts(
            ward,
            """SELECT c.relname || coalesce('.' || a.attname, ''), d.description FROM pg_description d
            JOIN pg_class c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass
            LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND a.attnum > 0
            WHERE c.oid > 16383""",
        )
    )
    assert said["patient"] == "private: one person per row"
    assert said["patient.id"] == "private, identifies the person"
    assert said["patient.smoker"] == "private, key set true, false, NULL, BOOL_OR, BOOL_AND and MODE are approximate"
    assert said["patient.sex"] == "private, key set F, M, MODE is approximate"
    assert said["patient.birth_year"] == "private, range 1900 to 2026, MIN, MAX and MODE are approximate"
    assert said["patient.region"] == "private, key set region.name"
    assert said["visit"] == "private: aggregates only, at most 40 rows of one person count"
    assert said["visit.cost"] == "private, range 0 to 5000, MIN and MAX are approximate"
    assert said["region"] == "public: rows are answered"


def test_names_that_need_care_survive() -> None:
    odd = {name: Column(name, INTEGER) for name in ('a"b', "Mixed", "select", "with 'quotes'", "tab\\n")}
    tables = {
        'Odd "table"': Table('Odd "table"', odd, public=True),
        "users": Table("users", {"id": Column("id", INTEGER, nullable=False, unique=True)}, max_rows=1),
        "t": Table("t", {"x": Column("x", TEXT, values=("it's", "back\\slash"))}, public=True),
    }
    shadow = Shadow.start(Catalog(tables, ("users", "id")), ("Ana O'Neil", 'x"y'), 'my "db"')
    try:
        found = ask(shadow, "SELECT attname FROM pg_attribute WHERE attrelid = '\"Odd \"\"table\"\"\"'::regclass AND attnum > 0 ORDER BY attnum", analyst="Ana O'Neil")  # fmt: skip
        assert [row[0] for row in found.rows] == [name.encode() for name in odd]
        assert ask(shadow, "SELECT current_user, current_database()", analyst='x"y').rows == [[b'x"y', b'my "db"']]
        comment = ask(shadow, "SELECT col_description('t'::regclass, 1)", analyst='x"y').rows
        assert comment == [[b"public, key set it's, back\\slash"]]
    finally:
        shadow.close()


def test_a_way_that_postgres_has_no_key_for_is_left_out() -> None:
    people = Table("people", {"id": Column("id", INTEGER), "code": Column("code", TEXT, unique=True)}, max_rows=1)
    trips = {
        name: Table(name, {"who": Column("who", type_)}, path=(Hop("who", "people", parent),), max_rows=3)
        for name, type_, parent in [("a", INTEGER, "id"), ("b", TEXT, "code"), ("c", BIGINT, "code")]
    }
    shadow = Shadow.start(Catalog({"people": people, **trips}, ("people", "id")), ("ana",), "d")
    try:
        found = texts(
            shadow,
            "SELECT conrelid::regclass, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid > 16383 ORDER BY 1, 2",
        )
        assert found == [("people", "UNIQUE (code)"), ("b", "FOREIGN KEY (who) REFERENCES people(code)")]
    finally:
        shadow.close()


def test_describe_tells_types_without_running(shadow: Shadow) -> None:
    described = shadow.describe(
        "SELECT order_id, amount, $1 + 1 AS n FROM orders WHERE ordered_at > $2 AND status = $3 LIMIT 0", [], "ana", {}
    )
    assert described.parameters == (INT4, 1114, TEXT_OID)
    assert [(column.name, column.oid, column.size, column.modifier) for column in described.columns] == [
        ("order_id", 20, 8, -1),
        ("amount", NUMERIC, -1, 655366),
        ("n", INT4, 4, -1),
    ]
    # Running this would take for ever, and longer than a catalog query may.
    started = time.monotonic()
    shadow.describe("SELECT count(*) FROM pg_class, pg_class b, pg_class c, pg_attribute d", [], "ana", {})
    assert time.monotonic() - started < 60


def test_describe_of_a_query_without_columns(shadow: Shadow) -> None:
    assert shadow.describe("SELECT FROM customers LIMIT 0", [], "ana", {}).columns == ()


def test_a_probe_gives_columns_and_no_rows(shadow: Shadow) -> None:
    found = ask(shadow, 'SELECT * FROM "shop"."public"."orders" WHERE 0 = 1')
    assert [column.name for column in found.columns] == [
        "order_id", "customer_id", "amount", "status", "ordered_at", "gift", "note",
    ]  # fmt: skip
    assert (found.rows, found.tag) == ([], "SELECT 0")


def test_values_come_in_the_format_that_was_asked_for(shadow: Shadow) -> None:
    query = "SELECT 1::int4, 'a'::text, NULL::int4, 258::int4 FROM generate_series(1, 3)"
    text, binary = [b"1", b"a", None, b"258"], [b"\0\0\0\1", b"a", None, b"\0\0\1\2"]
    assert ask(shadow, query, results=[]).rows == [text] * 3
    assert ask(shadow, query, results=[0]).rows == [text] * 3
    assert ask(shadow, query, results=[1]).rows == [binary] * 3
    mixed = ask(shadow, query, results=[1, 0, 1, 0])
    assert mixed.rows == [[b"\0\0\0\1", b"a", None, b"258"]] * 3
    assert mixed.tag == "SELECT 3"
    assert len(mixed.columns) == 4


def test_both_formats_of_a_mixed_answer_are_of_one_moment(shadow: Shadow) -> None:
    found = ask(shadow, "SELECT extract(epoch FROM now())::float8, extract(epoch FROM now())::float8", results=[0, 1])
    ((text, binary),) = found.rows
    assert ask(shadow, "SELECT $1", [binary], [701], [1]).rows == [[text]]


@pytest.mark.parametrize("results", [[0, 1], [1, 0, 1]])
def test_a_wrong_number_of_formats_is_refused_and_leaves_the_backend_usable(shadow: Shadow, results: list[int]) -> None:
    with pytest.raises(Error) as caught:
        ask(shadow, "SELECT 1", results=results)
    assert caught.value.sqlstate == "08P01"
    with pytest.raises(Error):
        ask(shadow, "SELECT 1, nope", results=results)
    assert ask(shadow, "SELECT 1").rows == [[b"1"]]


def test_parameters_go_in_both_formats(shadow: Shadow) -> None:
    found = ask(shadow, "SELECT $1 + $2, $3", [b"\0\0\0\5", b"37", None], [INT4, INT4, TEXT_OID], [1, 0, 0])
    assert found.rows == [[b"42", None]]
    assert ask(shadow, "SELECT $1", [b"2020-02-01T00:00 +00"], [DATE], [0]).rows == [[b"2020-02-01"]]


def test_errors_are_postgres_own(shadow: Shadow) -> None:
    for sql, state, position in [
        ("SELECT nope FROM pg_class", "42703", 8),
        ("SELECT * FROM pg_nope", "42P01", 15),
        ("SELECT 1 +", "42601", 11),
        ("SELECT 'x'::int", "22P02", 8),
        ("SELECT nofunction()", "42883", 8),
    ]:
        with pytest.raises(Error) as caught:
            ask(shadow, sql)
        assert (caught.value.sqlstate, caught.value.position) == (state, position)
    assert ask(shadow, "SELECT 1").rows == [[b"1"]]


def test_settings_are_each_sessions_own(shadow: Shadow) -> None:
    moment = "SELECT '2024-07-01 12:00+00'::timestamptz, 0.1::float8 + 0.2::float8, '1 day'::interval"
    there = {
        "timezone": "'Europe/Berlin'", "datestyle": "German, DMY", "extra_float_digits": "0",
        "intervalstyle": "iso_8601", "application_name": "x", "unknown.setting": "y",
    }  # fmt: skip
    assert texts(shadow, moment, there) == [("01.07.2024 14:00:00 CEST", "0.3", "P1D")]
    assert texts(shadow, moment) == [("2024-07-01 12:00:00+00", "0.30000000000000004", "1 day")]


def test_a_search_path_is_honoured_and_forgotten(shadow: Shadow) -> None:
    assert texts(shadow, "SELECT current_schemas(false)", {"search_path": 'dpsql, "$user", public'}) == [
        ("{dpsql,public}",)
    ]
    assert texts(shadow, "SELECT current_schemas(false)", {"search_path": '"public"'}) == [("{public}",)]
    assert texts(shadow, "SELECT current_schemas(false)") == [("{public}",)]


@pytest.mark.spread
@pytest.mark.parametrize("value", ["'; DROP TABLE customers; --", 'public"; SELECT 1', "a, b; c", "\\'", "1 = 1"])
@pytest.mark.parametrize("name", ["extra_float_digits", "search_path", "bytea_output", "datestyle"])
def test_a_senseless_setting_does_no_harm(shadow: Shadow, name: str, value: str) -> None:
    assert texts(shadow, "SELECT count(*) FROM pg_class WHERE relname = 'customers'", {name: value}) == [("1",)]
    assert texts(shadow, f"SHOW {name}") == texts(
        shadow, f"SELECT reset_val FROM pg_settings WHERE lower(name) = '{name}'"
    )


def test_a_query_is_cancelled_at_once(shadow: Shadow) -> None:
    cancellation = Cancellation()
    threading.Timer(0.2, cancellation.cancel).start()
    started = time.monotonic()
    with pytest.raises(OperationalError) as caught:
        shadow.run(
            "SELECT count(*) FROM pg_class, pg_class b, pg_class c", [], [], [], [], "ana", {}, None, cancellation
        )
    assert caught.value.sqlstate == "57014"
    assert time.monotonic() - started < 60
    assert ask(shadow, "SELECT 1").rows == [[b"1"]]


def test_a_query_ends_at_its_timeout(shadow: Shadow) -> None:
    started = time.monotonic()
    with pytest.raises(OperationalError) as caught:
        shadow.run(
            "SELECT count(*) FROM pg_class, pg_class b, pg_class c", [], [], [], [0, 1], "ana", {}, 0.3, Cancellation()
        )
    assert caught.value.sqlstate == "57014"
    assert time.monotonic() - started < 60


def test_many_threads_share_few_backends(shadow: Shadow) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        analyst = ANALYSTS[number % 2]
        for turn in range(20):
            zone = ("UTC", "Asia/Tokyo")[(turn + number) % 2]
            found = ask(shadow, "SELECT current_user, current_setting('timezone'), $1", [b"%d" % number], [INT4],
                        analyst=analyst, settings={"timezone": zone})  # fmt: skip
            if found.rows != [[analyst.encode(), zone.encode(), b"%d" % number]]:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_statistics_and_sizes_that_clients_ask_for_are_those_of_empty_tables(shadow: Shadow) -> None:
    found = texts(shadow, "SELECT relname, n_live_tup FROM pg_stat_user_tables WHERE schemaname = 'public' ORDER BY 1")
    assert found == [("customers", "0"), ("orders", "0"), ("paid_orders", "0")]
    assert texts(shadow, "SELECT reltuples, relpages FROM pg_class WHERE relname = 'customers'") == [("-1", "0")]
    (sizes,) = texts(
        shadow, "SELECT pg_relation_size('orders'), pg_table_size('orders'), pg_total_relation_size('orders')"
    )
    assert sizes[0] == "0"
    assert texts(shadow, "SELECT pg_size_pretty(pg_database_size(current_database())) <> ''") == [("t",)]
    assert texts(shadow, "SELECT pg_advisory_unlock_all()") == [("",)]


def test_columns_have_the_types_that_answers_have_on_the_wire(ward: Shadow) -> None:
    known = clinic()
    for table in known.tables.values():
        described = ward.describe(f"SELECT * FROM {table.name} LIMIT 0", [], "ana", {})
        assert [column.name for column in described.columns] == list(table.columns)
        for found, column in zip(described.columns, table.columns.values(), strict=True):
            wire = wire_type(column.type)
            assert (found.oid, found.size, found.modifier) == (wire.oid, wire.size, wire.modifier), column
    for name, columns in VIRTUAL_COLUMNS.items():
        described = ward.describe(f"SELECT * FROM dpsql.{name.removeprefix('dpsql_')}", [], "ana", {})
        assert [(found.name, found.oid) for found in described.columns] == [
            (column, wire_type(type_).oid) for column, type_ in columns.items()
        ]


def test_a_backend_that_was_lost_is_not_used_again(shadow: Shadow) -> None:
    assert rows(shadow, "SELECT 1") == [[b"1"]]
    with psycopg.connect(shadow.process.dsn(DATABASE), autocommit=True) as owner:
        ended = owner.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_get_activity(NULL) WHERE usesysid = 'ana'::regrole"
        ).fetchall()
    assert ended
    assert rows(shadow, "SELECT 1") == [[b"1"]]


@pytest.mark.parametrize(
    "view", ["pg_stat_activity", "pg_locks", "pg_prepared_xacts", "pg_stat_gssapi", "pg_stat_ssl", "pg_stat_replication",
             "pg_stat_wal_receiver", "pg_stat_progress_vacuum", "pg_stat_archiver", "pg_stat_bgwriter", "pg_stat_slru",
             "pg_stat_wal", "pg_stat_database_conflicts"]
)  # fmt: skip
def test_views_of_other_sessions_have_postgres_columns_and_no_row(
    shadow: Shadow, plain: PostgresProcess, view: str
) -> None:
    found = ask(shadow, f"SELECT * FROM pg_catalog.{view}")
    assert [(column.name.encode(), column.oid) for column in found.columns] == usual_columns(plain, view)
    assert found.rows == []


def usual_columns(plain: PostgresProcess, view: str) -> list[tuple[bytes | None, int]]:
    connection = pq.PGconn.connect(plain.dsn(DATABASE).encode())
    usual = connection.exec_params(f"SELECT * FROM {view} LIMIT 0".encode(), [])
    connection.finish()
    return [(usual.fname(at), usual.ftype(at)) for at in range(usual.nfields)]


def test_no_counter_tells_what_other_sessions_do(shadow: Shadow, plain: PostgresProcess) -> None:
    """Each database has its row, as of one in which nothing has happened: dashboards draw zeros."""
    found = ask(shadow, "SELECT * FROM pg_stat_database")
    assert [(column.name.encode(), column.oid) for column in found.columns] == usual_columns(plain, "pg_stat_database")
    assert DATABASE.encode() in {row[1] for row in found.rows}
    assert {value for row in found.rows for value in row[2:]} == {b"0", None}
    for function in ("pg_stat_get_db_xact_commit(1)", "pg_stat_get_db_numbackends(1)", "pg_stat_get_wal()"):
        with pytest.raises(Error, match="permission denied"):
            ask(shadow, f"SELECT {function}")


def test_the_database_is_one_that_clients_show(shadow: Shadow) -> None:
    """pgAdmin takes what initdb numbered for the system's own."""
    found = texts(shadow, "SELECT datname FROM pg_database WHERE oid > 16383 OR datname = 'postgres'")
    assert found == [(DATABASE,)]


def test_a_start_is_quick(binaries: Binaries) -> None:
    started = time.monotonic()
    Shadow.start(clinic(), ("ana",), "clinic", binaries).close()
    assert time.monotonic() - started < 60  # below one second on an idle machine
