"""What each database that dpsql opens may not do, and the attempt that shows it.

``python -m tests.operations.lockdown`` makes every attempt and prints the table of the guide's ``threat-model``. An attempt runs on the
very connection that dpsql itself uses, past everything that refuses a client's text before it gets there.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa

from dpsql.engines.deadlines import Cancellation
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.engines.postgres.postgres_connection import SETTINGS
from dpsql.engines.postgres.postgres_engine import PostgresEngine
from dpsql.errors import Error
from dpsql.sandbox.sandbox import Sandbox
from dpsql.server.shadow.shadow import Shadow
from rewriter.declared.sensitivity import Sensitivity
from rewriter.plan import Block, Plan, Statistic
from tests.engines.postgres_server import PASSWORD, Server, start
from tests.golden.pairs import clinic

ENGINE, OUTER, POSTGRES, SHADOW = (
    "DuckDB database",
    "DuckDB above releases",
    "PostgreSQL database",
    "catalog PostgreSQL",
)
SECONDS = 0.3
"""The time limit that attempts at time are given."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One promise. ``seen`` is what came of the attempt."""

    where: str
    promise: str
    by: str
    seen: str
    holds: bool


@dataclass(slots=True)
class Attempts:
    """Attempts on one connection. ``run`` executes SQL on it and returns the first value, or raises what it says."""

    where: str
    run: Callable[[str], Any]

    def refused(self, promise: str, by: str, says: str, *statements: str) -> Finding:
        """Every statement fails, with one of the words of ``says``, which | separates, in what is said."""
        seen = [self._tried(statement) for statement in statements]
        answered = [statement for statement, found in zip(statements, seen, strict=True) if found is None]
        other = [found for found in seen if found is not None and not any(word in found for word in says.split("|"))]
        told = f"answered: {answered[0]}" if answered else f"otherwise: {other[0]}" if other else f"{len(seen)} refused"
        return Finding(self.where, promise, by, told, not answered and not other)

    def is_set(self, promise: str, by: str, **settings: str) -> Finding:
        """Every setting has its value."""
        found = {name: str(self.run(self._asking(name))) for name in settings}
        # A list of words has no order.
        wrong = {name: value for name, value in found.items() if _words(value) != _words(settings[name])}
        few = ", ".join(f"{name} = {value}" for name, value in list(found.items())[:2])
        told = f"otherwise: {wrong}" if wrong else few if len(found) < 3 else f"{len(found)} settings as fixed"
        return Finding(self.where, promise, by, told, not wrong)

    def ended(self, promise: str, by: str, sqlstate: str, work: Callable[[], object], within: float = 60.0) -> Finding:
        """The work fails with the SQLSTATE, in time."""
        started = time.monotonic()
        try:
            work()
        except Error as problem:
            seconds = time.monotonic() - started
            # A busy computer notices later; that it ends at all, and long before the work would, is what counts.
            return Finding(self.where, promise, by, problem.sqlstate, problem.sqlstate == sqlstate and seconds < within)
        return Finding(self.where, promise, by, "not ended", False)

    def _asking(self, name: str) -> str:
        return f"SELECT current_setting('{name}')"

    def _tried(self, statement: str) -> str | None:
        try:
            self.run(statement)
        except (duckdb.Error, psycopg.Error, Error) as problem:
            return f"{getattr(problem, 'sqlstate', '')} {type(problem).__name__} {problem}"
        return None


def _words(value: str) -> list[str]:
    return sorted(word.strip() for word in value.split(","))


def planned(sql: str, dialect: str) -> Plan:
    """SQL of ours as a plan that measures one number."""
    block = Block((Statistic("s0", 1, 1, "s0"),), Sensitivity(1, 1))  # type: ignore[arg-type]
    return Plan(sql=sql, dialect=dialect, keys=(), blocks=(block,), outputs=(), selection=None, cells=None)


FILES = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '/etc/passwd.csv'",
    "COPY (SELECT 1) TO '/tmp/dpsql-left-behind'",
    "ATTACH '/tmp/dpsql-left-behind.duckdb'",
    "EXPORT DATABASE '/tmp/dpsql-left-behind'",
)
NETWORK = ("SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')", "SELECT * FROM 's3://bucket/x.parquet'")
SETTING = (
    "SET memory_limit = '100GB'",
    "SET enable_external_access = true",
    "SET threads = 64",
    "SET lock_configuration = false",
    "RESET disabled_optimizers",
    "SET GLOBAL allow_community_extensions = true",
    "PRAGMA temp_directory = '/tmp'",
)
EXTENSIONS = ("INSTALL httpfs", "LOAD httpfs", "INSTALL spatial FROM community", "FORCE INSTALL postgres")
leaking = pa.table({"secret": [1]})
"""A variable that a query could name, where DuckDB looks for tables among variables."""
PYTHON = ("SELECT secret FROM leaking",)
HEAVY = "SELECT CAST(COUNT(*) AS BIGINT) AS s0 FROM range(10000000) a, range(10000000) b"
LARGE = "SELECT CAST(length(string_agg(repeat('x', 1000), '')) AS BIGINT) AS s0 FROM range(2000000)"


def duckdb_engine(folder: Path) -> Iterator[Finding]:
    """The owner's file, as ``dpsql serve`` opens it under ``limits: {memory: 256MB, threads: 2}``."""
    path = folder / "owners.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE member AS SELECT * FROM range(100) t(id)")
    engine = DuckDBEngine.open(path, threads=2, memory_limit="256MiB")
    cursor = engine._now.connection.cursor()
    found = Attempts(ENGINE, lambda sql: (cursor.execute(sql).fetchone() or (None,))[0])
    try:
        yield found.refused(
            "no file but the database", "`enable_external_access = false`", "Permission|disabled", *FILES
        )
        yield found.refused("no network", "the same", "disabled by configuration", *NETWORK)
        yield found.refused(
            "no extension is installed or loaded", "the same, no autoloading", "Permission|disabled", *EXTENSIONS
        )
        yield found.refused("no setting is changed", "`lock_configuration`", "locked", *SETTING)
        yield found.refused("nothing is written", "opened read-only", "read-only", "INSERT INTO member VALUES (1)",
                            "CREATE TABLE left_behind (x INT)", "DELETE FROM member", "DROP TABLE member")  # fmt: skip
        yield found.refused("no variable of the process is a table", "`python_enable_replacements = false`",
                            "does not exist", *PYTHON)  # fmt: skip
        yield found.is_set(
            "memory and threads are bounded", "`limits: {memory, threads}`", memory_limit="256.0 MiB", threads="2"
        )
        yield found.is_set("no rewriting that was seen to be wrong", "`disabled_optimizers`",
                           disabled_optimizers="common_subplan,compressed_materialization,statistics_propagation,"
                           "type_pushdown")  # fmt: skip
        yield found.ended("a statement ends in time", "`limits: {seconds}`, interrupt", "57014",
                          lambda: engine.run(planned(HEAVY, "duckdb"), SECONDS))  # fmt: skip
        yield found.ended("a statement ends within its memory", "`limits: {memory}`", "53200",
                          lambda: engine.run(planned(LARGE, "duckdb"), 60.0), 60)  # fmt: skip
    finally:
        cursor.close()
        engine.close()


def unlocked() -> list[Finding]:
    """The same attempts on a DuckDB that is not locked, where none of the promises may hold: they can fail."""
    with duckdb.connect() as connection:
        found = Attempts("unlocked", lambda sql: (connection.execute(sql).fetchone() or (None,))[0])
        return [
            found.refused("no file but the database", "nothing", "Permission|disabled", *FILES[:3]),
            found.refused("no setting is changed", "nothing", "locked", *SETTING),
            found.refused("no variable of the process is a table", "nothing", "does not exist", *PYTHON),
            found.is_set("memory and threads are bounded", "nothing", memory_limit="256.0 MiB"),
        ]


def outer() -> Iterator[Finding]:
    """The DuckDB that computes with released numbers, where an analyst's outer SELECT runs."""
    stack = ExitStack()
    sandbox = Sandbox.open(seconds=SECONDS, cells=1000)
    # As each statement gets one.
    cursor = stack.enter_context(sandbox._cursor())
    found = Attempts(OUTER, lambda sql: (cursor.execute(sql).fetchone() or (None,))[0])

    def private() -> Finding:
        names = cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        return Finding(
            OUTER, "no private table is in it", "a database in memory of its own", f"{len(names)} tables", not names
        )

    try:
        yield private()
        yield found.refused("no file", "`enable_external_access = false`", "Permission|disabled", *FILES)
        yield found.refused("no network", "the same", "disabled by configuration", *NETWORK)
        yield found.refused(
            "no extension is installed or loaded", "the same, no autoloading", "Permission|disabled", *EXTENSIONS
        )
        yield found.refused("no setting is changed", "`lock_configuration`", "locked", *SETTING)
        yield found.refused("no variable of the process is a table", "`python_enable_replacements = false`",
                            "does not exist", *PYTHON)  # fmt: skip
        yield found.is_set(
            "one thread, no spilling to disk", "`threads`, `temp_directory`", threads="1", temp_directory=""
        )
        yield found.ended("a statement ends in time", "`max_execution_time` (10 s)", "57014",
                          lambda: sandbox.run(HEAVY, {}))  # fmt: skip
        yield found.ended("a statement ends within its memory", "`memory_limit` (512 MB)", "53200",
                          lambda: Sandbox.open(memory="64MB", seconds=60).run(LARGE, {}), 60)  # fmt: skip
        yield found.ended("an answer is bounded", "5,000,000 values", "54000",
                          lambda: sandbox.run("SELECT * FROM range(2000)", {}))  # fmt: skip
    finally:
        stack.close()
        sandbox.close()


ROLE = """
CREATE ROLE dpsql_reader LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD 'open-sesame';
GRANT CONNECT ON DATABASE {0} TO dpsql_reader;
GRANT USAGE ON SCHEMA public TO dpsql_reader;
GRANT SELECT ON member TO dpsql_reader;
ALTER ROLE dpsql_reader SET default_transaction_read_only = on;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
ALTER ROLE dpsql_reader SET temp_file_limit = '16GB';
"""
"""The role of the guide, as the owner makes it; the last line bounds what is spilled to the server's disk."""
LESS = "ALTER ROLE dpsql_reader SET temp_file_limit = '16MB'"
"""The same with less, so that an attempt gets there soon."""
POSTGRES_WRITES = (
    "INSERT INTO public.member VALUES (1)",
    "DELETE FROM public.member",
    "CREATE TABLE public.left_behind (x int)",
    "CREATE TEMP TABLE left_behind (x int)",
    "SELECT nextval('public.numbers')",
)
POSTGRES_FILES = (
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "COPY public.member TO '/tmp/dpsql-left-behind'",
    "COPY (SELECT 1) TO PROGRAM 'true'",
)
POSTGRES_LARGE = (
    "SELECT COUNT(*) AS s0 FROM (SELECT i FROM generate_series(1, 3000000) AS t(i) ORDER BY md5(i::text)) AS x"
)


def postgres_engine(server: Server) -> Iterator[Finding]:
    """The owner's PostgreSQL, under the role that the guide tells to make."""
    name = server.database()
    with server.owner(name) as owner:
        owner.execute("CREATE TABLE member AS SELECT * FROM generate_series(1, 100) AS t(id); CREATE SEQUENCE numbers;")
        owner.execute("CREATE TABLE vault AS SELECT 1 AS x; REVOKE ALL ON vault FROM reader, PUBLIC;")
        owner.execute(ROLE.format(name).encode())
        owner.execute(LESS)
        owner.execute("CREATE FUNCTION public.abs(int) RETURNS int LANGUAGE sql AS 'SELECT 42'")
    engine = PostgresEngine.open(server.url(name, "dpsql_reader", PASSWORD), work_mem="1MB")
    line = engine._idle[0]

    def run(sql: str) -> Any:
        cursor = line.connection.execute(sql.encode())
        return (cursor.fetchone() or (None,))[0] if cursor.description else None

    def times_out() -> Finding:
        line.limit(5.0)
        shown = run("SHOW statement_timeout")
        return Finding(
            POSTGRES,
            "the server itself ends what runs on",
            "`statement_timeout`, a second later",
            f"{shown} for 5s",
            shown == "6s",
        )

    def of_its_own() -> Finding:
        concerns = engine.concerns()
        return Finding(POSTGRES, "a role of its own, which may only read", "the role below",
                       "; ".join(one.text for one in concerns) or "no concerns", not concerns)  # fmt: skip

    found = Attempts(POSTGRES, run)
    try:
        yield of_its_own()
        yield found.refused("nothing is written", "the role, read-only transactions", "25006|42501", *POSTGRES_WRITES)
        run("SET default_transaction_read_only = off")
        yield found.refused("nor where transactions write", "the role's rights", "42501", *POSTGRES_WRITES[:3])
        run("SET default_transaction_read_only = on")
        yield found.refused("no table that is not granted", "the role's rights", "42501", "SELECT * FROM public.vault")
        yield found.refused("no file or program", "the role's rights", "42501", *POSTGRES_FILES)
        yield found.refused("no function but the server's own", "`search_path = pg_catalog, pg_temp`", "42883|42P01",
                            "SELECT dblink('x', 'y')", "SELECT * FROM member")  # fmt: skip
        own = run("SELECT abs(-7)")
        yield Finding(POSTGRES, "no name is taken over", "the same", f"abs(-7) is {own} beside public.abs", own == 7)
        yield found.is_set("settings that could change an answer are fixed", "set at connecting", **_normal(SETTINGS))
        yield times_out()
        yield found.ended("a statement ends in time", "`limits: {seconds}`, cancelled", "57014",
                          lambda: engine.run(planned("SELECT COUNT(*) AS s0 FROM pg_class a, pg_class b, pg_class c, pg_class d", "postgres"), SECONDS))  # fmt: skip
        yield found.ended("a statement ends within its memory and disk", "`limits: {memory}`, `temp_file_limit`", "53200",
                          lambda: engine.run(planned(POSTGRES_LARGE, "postgres"), 60.0), 60)  # fmt: skip
    finally:
        engine.close()


def _normal(settings: dict[str, str]) -> dict[str, str]:
    """Settings as PostgreSQL shows them."""
    return settings | {"timezone": "UTC", "search_path": "pg_catalog, pg_temp"}


WATCHING = ("SELECT * FROM pg_stat_get_activity(NULL)", "SELECT pg_stat_get_backend_activity(1)")
DISTURBING = (
    "SELECT pg_terminate_backend(pg_backend_pid())", "SELECT pg_sleep(1)", "SELECT pg_advisory_lock(1)",
    "SELECT pg_notify('a', 'b')", "SELECT set_config('statement_timeout', '0', false)", "SELECT pg_reload_conf()",
)  # fmt: skip
SHADOW_WRITES = (
    "CREATE TABLE left_behind (x int)", "CREATE TEMP TABLE left_behind (x int)", "INSERT INTO region VALUES ('n', 'F', 1)",
    "SELECT lo_create(0)", "DO 'BEGIN END'",
)  # fmt: skip


def shadow() -> Iterator[Finding]:
    """The PostgreSQL that answers catalogs, as an analyst's own role."""
    started = Shadow.start(clinic(), ("ana", "bob"), "clinic")
    try:
        with psycopg.connect(started.process.dsn("clinic", "ana"), autocommit=True) as connection:

            def run(sql: str) -> Any:
                cursor = connection.execute(sql.encode())
                return (cursor.fetchone() or (None,))[0] if cursor.description else None

            found = Attempts(SHADOW, run)
            empty = [run(f"SELECT COUNT(*) FROM {name}") for name in ("patient", "visit", "region", "dpsql.charges")]
            yield Finding(
                SHADOW,
                "no row of anybody",
                "made of the policy, looked at before serving",
                f"{sum(empty)} rows",
                not any(empty),
            )
            yield found.refused("nothing is written", "the role's rights", "42501", *SHADOW_WRITES)
            yield found.refused("no file or program", "the role's rights", "42501", *POSTGRES_FILES[:2],
                                "COPY region TO '/tmp/dpsql-left-behind'", POSTGRES_FILES[3])  # fmt: skip
            yield found.refused("nobody else is seen", "functions taken away", "42501", *WATCHING)
            yield found.refused("nobody else is disturbed", "functions taken away", "42501", *DISTURBING)
            yield found.is_set("nothing is tracked or logged of what is asked", "the server's settings",
                               track_activities="off", track_counts="off", log_min_error_statement="panic")  # fmt: skip
        yield _reached(started)
        cancellation = Cancellation()

        def ask(sql: str, seconds: float) -> object:
            return started.run(sql, [], [], [], [], "ana", {}, seconds, cancellation)

        found = Attempts(SHADOW, lambda sql: ask(sql, 10.0))
        yield found.ended("a statement ends in time", "`statement_timeout` (10 s), cancelled", "57014",
                          lambda: ask("SELECT COUNT(*) FROM pg_class a, pg_class b, pg_class c, pg_class d", SECONDS))  # fmt: skip
        yield found.ended("a statement ends within its memory", "384 MB of address space each", "53200",
                          lambda: ask("SELECT length(repeat('x', 500000000))", 60.0), 60)  # fmt: skip
        yield found.refused(
            "only a query reaches it", "its first word", "42601", "SET ROLE bob", "VACUUM", "COPY region TO STDOUT"
        )
    finally:
        started.close()


def _reached(started: Shadow) -> Finding:
    """Only who may enter its folder reaches it."""
    mode = started.process.folder.stat().st_mode & 0o777
    with psycopg.connect(started.process.dsn("clinic")) as owner:
        (listening,) = owner.execute("SHOW listen_addresses").fetchone() or ("?",)
    seen = f"folder {mode:o}, {listening or 'no'} addresses"
    return Finding(
        SHADOW, "only the proxy reaches it", "a socket in a folder of its own", seen, mode == 0o700 and not listening
    )


def findings() -> list[Finding]:
    """Every attempt; servers and files that it takes are made and gone."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = start()
        stack.callback(server.process.close)
        return [*duckdb_engine(folder), *outer(), *postgres_engine(server), *shadow()]


def table(found: Sequence[Finding]) -> str:
    """Markdown, as the guide has it."""
    lines = ["| database | what holds | by | attempt |", "|---|---|---|---|"]
    lines += [
        f"| {one.where} | {one.promise} | {one.by} | {one.seen}{'' if one.holds else ' **FAILS**'} |" for one in found
    ]
    return "\n".join(lines)


def main() -> int:
    found = findings()
    print(table(found))
    held = sum(one.holds for one in found)
    print(f"\n{held} of {len(found)} hold")
    return 0 if held == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
