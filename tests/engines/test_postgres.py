"""The owner's PostgreSQL: what it enforces, what it may be told, and that it can die without a word."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlglot

import dpsql.engines.postgres.line as line_module
import dpsql.engines.postgres.postgres_engine as module
from dpsql.engines.postgres.postgres_connection import PREPARED
from dpsql.engines.postgres.postgres_engine import PostgresEngine
from dpsql.engines.schema import SchemaTable
from dpsql.errors import OperationalError
from dpsql.interfaces.commands.commands import main
from dpsql.opened import open_policy
from rewriter.declared.contribution import Norm
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import DOUBLE, TEXT, decimal
from rewriter.dialects.postgres import POSTGRES
from rewriter.plan import Block, KeyColumn, Plan, Statistic
from rewriter.planner.plan_release import plan
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.engines.postgres_server import PASSWORD, READER, Server, shared_server, start

CANARY = "alice@example.org"

SETUP = f"""
CREATE TABLE person (id int PRIMARY KEY, email text NOT NULL);
INSERT INTO person VALUES (1, '{CANARY}'), (2, 'bob');

CREATE TABLE old (id int PRIMARY KEY, person_id int NOT NULL REFERENCES person);
CREATE TABLE newer () INHERITS (old);
CREATE TABLE split (id int NOT NULL, day date NOT NULL, person_id int REFERENCES person, PRIMARY KEY (id, day))
    PARTITION BY RANGE (day);
CREATE TABLE split_2020 PARTITION OF split FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE far (id int NOT NULL) SERVER nowhere;
CREATE TABLE mixed (id int NOT NULL, day date NOT NULL) PARTITION BY RANGE (day);
CREATE FOREIGN TABLE mixed_2020 PARTITION OF mixed FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') SERVER nowhere;
CREATE MATERIALIZED VIEW kept AS SELECT id, email FROM person;
CREATE UNIQUE INDEX ON kept (id);

CREATE TABLE keys (a int, b int, c int, d int, e int, f numeric UNIQUE, g numeric(9,2) UNIQUE, h int UNIQUE DEFERRABLE,
    i int, EXCLUDE USING btree (i WITH =));
CREATE UNIQUE INDEX ON keys (a);
CREATE UNIQUE INDEX ON keys (b) WHERE c > 0;
CREATE UNIQUE INDEX ON keys (abs(c));
CREATE UNIQUE INDEX ON keys (d) INCLUDE (e);

CREATE TABLE unchecked (person_id int);
ALTER TABLE unchecked ADD FOREIGN KEY (person_id) REFERENCES person NOT VALID;
CREATE TABLE off (person_id int REFERENCES person);
ALTER TABLE off DISABLE TRIGGER ALL;
CREATE TABLE guarded (id int PRIMARY KEY, person_id int REFERENCES person);
CREATE TABLE behind (guarded_id int REFERENCES guarded);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;

CREATE DOMAIN short AS varchar(5) NOT NULL;
CREATE DOMAIN shorter AS short CHECK (length(VALUE) < 5);
CREATE TYPE pair AS (a int, b int);
CREATE TABLE kinds (a shorter, b pair, c text, d text COLLATE "C", e char(5), f bpchar, g money,
    h bytea, i json, j numeric(3,-2), k numeric(2,4), l numeric(50,2), m name, n "char", o oid, p xml, q int4range,
    r timestamp(0), s bit(3));
CREATE TABLE "Person" (id int);
CREATE TABLE columns ("Id" int, id int);
CREATE TABLE partly (open int, secret int);
CREATE TABLE secret (x int);
CREATE SCHEMA closed;
CREATE TABLE closed.hidden (x int);
"""

FOLDED = "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
"""For servers that were built with ICU."""
NEWER = """
CREATE TABLE hoped (id int, person_id int REFERENCES person NOT ENFORCED, span int4range, during int4range,
    UNIQUE (span, during WITHOUT OVERLAPS));
INSERT INTO hoped VALUES (NULL, 99, NULL, '[1,2)');
ALTER TABLE hoped ADD CONSTRAINT later NOT NULL id NOT VALID;
GRANT SELECT ON hoped TO PUBLIC;
"""
"""What PostgreSQL 18 knows, and does not enforce."""


@pytest.fixture(scope="module")
def postgres() -> Server:
    return shared_server()


@pytest.fixture(scope="module")
def database(postgres: Server) -> str:
    name = postgres.database(SETUP)
    with postgres.owner(name) as connection:
        connection.execute(f"REVOKE ALL ON partly, secret FROM {READER}; GRANT SELECT (open) ON partly TO {READER}")
        connection.execute(f"REVOKE ALL ON SCHEMA closed FROM {READER}")
        with suppress(psycopg.errors.FeatureNotSupported):
            connection.execute(FOLDED)
            connection.execute("ALTER TABLE kinds ALTER c TYPE text COLLATE folded")
        if connection.info.server_version >= 180_000:
            connection.execute(NEWER)
    return name


@pytest.fixture
def engine(postgres: Server, database: str) -> Iterator[PostgresEngine]:
    opened = PostgresEngine.open(postgres.url(database))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def tables(postgres: Server, database: str) -> dict[str, SchemaTable]:
    opened = PostgresEngine.open(postgres.url(database))
    try:
        return dict(opened.schema().tables)
    finally:
        opened.close()


def planned(sql: str, *keys: str) -> Plan:
    block = Block((Statistic("s0", Fraction(1), 1, "s0"),), Sensitivity(1, 1))
    columns = tuple(KeyColumn(key, TEXT, key) for key in keys)
    return Plan(sql, "postgres", columns, (block,), (), selection=None, cells=None)


ONE = planned("SELECT 1 AS s0")
ENDLESS = planned("SELECT COUNT(*) AS s0 FROM generate_series(1, 10000000) a(x), generate_series(1, 10000000) b(y)")


class TestSchema:
    def test_what_the_role_may_not_read_is_not_there(self, tables: dict[str, SchemaTable]) -> None:
        assert "secret" not in tables
        assert "hidden" not in tables
        assert list(tables["partly"].columns) == ["open"]

    def test_partitions_are_their_parents(self, tables: dict[str, SchemaTable]) -> None:
        assert not {"split_2020", "mixed_2020"} & tables.keys()
        split = tables["split"]
        assert split.primary_key == ("id", "day")
        assert not split.is_unique("id")
        assert split.columns["id"].not_null
        assert [key.parent for key in split.foreign_keys] == ["person"]

    def test_nothing_is_enforced_for_rows_that_are_elsewhere(self, tables: dict[str, SchemaTable]) -> None:
        for name in ("old", "far", "mixed"):
            table = tables[name]
            assert not table.primary_key, name
            assert not table.foreign_keys, name
            assert not any(column.not_null for column in table.columns.values()), name
        assert tables["far"].view
        assert not tables["newer"].primary_key, "a child inherits no key"

    def test_a_materialized_view_has_its_unique_indexes(self, tables: dict[str, SchemaTable]) -> None:
        assert tables["kept"].view
        assert tables["kept"].is_unique("id")
        assert not tables["kept"].is_unique("email")

    def test_only_whole_unique_indexes_count(self, tables: dict[str, SchemaTable]) -> None:
        found = {name for name in tables["keys"].columns if tables["keys"].is_unique(name)}
        assert found == {"a", "d", "g", "h"}, "f is read as doubles, of which two may be one"

    def test_only_foreign_keys_that_hold_count(self, tables: dict[str, SchemaTable]) -> None:
        assert [key.parent for key in tables["guarded"].foreign_keys] == ["person"]
        for name in ("unchecked", "off", "behind"):
            assert not tables[name].foreign_keys, name

    def test_types(self, tables: dict[str, SchemaTable]) -> None:
        columns = tables["kinds"].columns
        found = {name: column.type for name, column in columns.items() if column.type is not None}
        if tables["kinds"].columns["c"].engine_type != "text":
            assert found.keys() == set("adefgijklr"), "a collation that calls two texts one"
        assert found.keys() - {"c"} == set("adefgijklr")
        assert columns["a"].engine_type == "character varying(5)"
        assert not columns["a"].not_null, "a domain lets some NULLs pass"
        assert (columns["e"].engine_type, columns["f"].engine_type) == ("character(5)", "bpchar")
        assert [found[name] for name in "gjkl"] == [decimal(19, 2), decimal(5, 0), decimal(4, 4), DOUBLE]

    def test_what_a_newer_postgresql_only_hopes_is_not_enforced(self, tables: dict[str, SchemaTable]) -> None:
        if "hoped" not in tables:
            pytest.skip("PostgreSQL 18 alone")
        assert not tables["hoped"].foreign_keys
        assert not tables["hoped"].unique
        assert not tables["hoped"].columns["id"].not_null

    def test_names_that_differ_by_case_are_both_there(self, tables: dict[str, SchemaTable]) -> None:
        assert {"Person", "person"} <= tables.keys()
        assert list(tables["columns"].columns) == ["Id", "id"]


LIVE = """
database: {database}
ledger: sqlite:live.ledger
privacy_unit: person.id
budget: {{epsilon: 10, delta: 1e-6}}
tables: {{person: {{columns: {{id: {{}}, town: {{}}}}}}, town: {{public: true}}, keyed: {{public: true}}, single: {{public: true}}}}
"""


def test_what_public_tables_hold_today_bounds_nobody_tomorrow(postgres: Server, tmp_path: Path) -> None:
    """They are written to while the proxy runs: only a key that the database enforces leaves a person one row."""
    towns = "SELECT n AS name FROM generate_series(1, 40) AS g(n)"
    name = postgres.database(
        f"CREATE TABLE town AS {towns}; CREATE TABLE keyed AS {towns}; ALTER TABLE keyed ADD PRIMARY KEY (name);"
        "CREATE TABLE single AS SELECT 1 AS factor; CREATE TABLE person (id int PRIMARY KEY, town int);"
        "INSERT INTO person SELECT n, n % 3 + 1 FROM generate_series(1, 20) AS g(n)"
    )
    (tmp_path / "live.yaml").write_text(LIVE.format(database=postgres.url(name)))
    keyed = "SELECT COUNT(*) FROM person JOIN keyed ON keyed.name = person.town"
    asked = [
        keyed,
        "SELECT COUNT(*) FROM person JOIN town ON town.name = person.town",
        "SELECT COUNT(*) FROM person CROSS JOIN single",
        "SELECT factor, COUNT(*) FROM person CROSS JOIN single GROUP BY factor",
        "SELECT town.name, COUNT(*) FROM person CROSS JOIN town GROUP BY town.name",
        "SELECT town.name, SUM(COUNT(*)) OVER (ORDER BY town.name) FROM person CROSS JOIN town GROUP BY town.name",
        "SELECT COALESCE(town.name, 0), SUM(COUNT(*)) OVER (ORDER BY COALESCE(town.name, 0)) FROM person CROSS JOIN town"
        " GROUP BY COALESCE(town.name, 0)",
        "SELECT town.name, dpsql.over_blocks(AVG(person.town), blocks => 4, low => 0, high => 9) FROM person CROSS JOIN town"
        " GROUP BY town.name",
    ]
    opened = open_policy(tmp_path / "live.yaml")
    parsed = {sql: parse(sql) for sql in asked}
    trees = {sql: one.tree for sql, one in parsed.items() if isinstance(one, Select)}
    queries = {sql: split(tree, opened.catalog, POSTGRES).groupings[0] for sql, tree in trees.items()}
    plans = {sql: plan(query, Norm.L2, POSTGRES) for sql, query in queries.items()}
    plans = {sql: one.with_block_key("key") if one.in_blocks else one for sql, one in plans.items()}
    assert any(block.prefix is not None for one in plans.values() for block in one.blocks)
    with postgres.owner(name) as connection:
        connection.execute(
            "INSERT INTO town SELECT 2 FROM generate_series(1, 60); INSERT INTO single SELECT * FROM town;"
            "INSERT INTO town SELECT n FROM generate_series(-40, 90) AS g(n)"
        )
        before = {sql: opened.engine.run(plans[sql]).statistics["s0"] for sql in asked}
        for sql, one in plans.items():
            assert len(before[sql]) <= (one.cells or 0), "no more groups than were planned for"
            for block in one.blocks:  # the strategy has a step for each group
                assert block.prefix is None or block.prefix.measured(
                    before[sql], [(n,) for n in range(len(before[sql]))]
                )
        connection.execute("DELETE FROM person WHERE id = 1")
    for sql, one in before.items():
        other = opened.engine.run(plans[sql]).statistics["s0"]
        moved = sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
        assert moved <= plans[sql].blocks[0].sensitivity.l2_squared, sql
    assert plans[keyed].blocks[0].sensitivity.l1 == 1
    opened.close()


def test_a_numeric_that_is_none_is_one_persons_matter(postgres: Server, tmp_path: Path) -> None:
    """NaN is read as NULL, though the column is NOT NULL: as a number, and as a key."""
    name = postgres.database(
        "CREATE TABLE person (id numeric(9, 0) PRIMARY KEY); INSERT INTO person SELECT * FROM generate_series(1, 9);"
        "CREATE TABLE visit (person_id numeric(9, 0) NOT NULL REFERENCES person, cost numeric(6, 2) NOT NULL);"
        "INSERT INTO person VALUES ('nan'); INSERT INTO visit SELECT 'nan', 'nan' FROM generate_series(1, 60)"
    )
    (tmp_path / "none.yaml").write_text(NONE.format(database=postgres.url(name)))
    opened = open_policy(tmp_path / "none.yaml")
    plans = [
        plan(split(sqlglot.parse_one(sql, read="postgres"), opened.catalog, POSTGRES).groupings[0], Norm.L2, POSTGRES)
        for sql in (
            "SELECT COUNT(*) FROM person p LEFT JOIN visit v ON v.person_id = p.id WHERE v.cost IS NULL",
            "SELECT COUNT(*) FROM person WHERE id NOT IN (SELECT person_id FROM visit)",
            "SELECT COUNT(*) FROM person p WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.person_id = p.id)",
        )
    ]
    before = [opened.engine.run(one).statistics["s0"][0] for one in plans]
    with postgres.owner(name) as connection:
        connection.execute("DELETE FROM visit; DELETE FROM person WHERE id = 'nan'")
    for one, integer in zip(plans, before, strict=True):
        assert abs(integer - opened.engine.run(one).statistics["s0"][0]) <= one.statistics[0].bound
    opened.close()


NONE = """
database: {database}
ledger: sqlite:none.ledger
privacy_unit: person.id
budget: {{epsilon: 10, delta: 1e-6}}
tables: {{person: {{}}, visit: {{unit: person_id -> person.id, max_rows: 3, columns: {{cost: {{}}}}}}}}
"""


@pytest.mark.quick
def test_a_constraint_that_is_dropped_ends_the_answers(postgres: Server, caplog: pytest.LogCaptureFixture) -> None:
    name = postgres.database("CREATE TABLE person (id int PRIMARY KEY); CREATE TABLE other (id int PRIMARY KEY)")
    opened = PostgresEngine.open(postgres.url(name))
    opened.rely_on(["person"])
    with postgres.owner(name) as connection:
        connection.execute("ALTER TABLE other DROP CONSTRAINT other_pkey; CREATE TABLE more (x int)")
        assert opened.run(ONE).statistics == {"s0": (1,)}
        connection.execute("ALTER TABLE person DROP CONSTRAINT person_pkey")
        for _ in range(2):
            with pytest.raises(OperationalError) as caught:
                opened.run(ONE)
            assert caught.value.sqlstate == "58000"
        assert "SchemaChanged" in caplog.text
        connection.execute("ALTER TABLE person ADD PRIMARY KEY (id)")
    assert opened.run(ONE).statistics == {"s0": (1,)}
    opened.close()


CHANGES = {
    "a key is dropped": "ALTER TABLE person DROP CONSTRAINT person_pkey CASCADE",
    "a unique column is another": "ALTER TABLE person DROP CONSTRAINT person_code_key",
    "NULL is allowed": "ALTER TABLE person ALTER code DROP NOT NULL",
    "a foreign key is dropped": "ALTER TABLE visit DROP CONSTRAINT visit_person_id_fkey",
    "a foreign key is not checked": "ALTER TABLE visit DISABLE TRIGGER ALL",
    "rows come from a child": "CREATE TABLE child () INHERITS (person)",
    "a type is another": "ALTER TABLE person ALTER code TYPE text",
    "a column is gone": "ALTER TABLE person DROP COLUMN code",
    "a table is gone": "DROP TABLE visit",
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_what_is_declared_is_seen_at_the_next_statement(postgres: Server, change: str) -> None:
    name = postgres.database(
        "CREATE TABLE person (id int PRIMARY KEY, code int UNIQUE NOT NULL);"
        "CREATE TABLE visit (person_id int NOT NULL REFERENCES person); CREATE TABLE aside (id int PRIMARY KEY)"
    )
    with closing(PostgresEngine.open(postgres.url(name))) as opened, postgres.owner(name) as connection:
        opened.rely_on(["person", "visit"])
        assert opened.run(ONE).statistics == {"s0": (1,)}
        connection.execute("INSERT INTO person SELECT i, i FROM generate_series(1, 1000) s(i); ANALYZE")
        connection.execute("DROP TABLE aside; CREATE INDEX ON visit (person_id)")
        assert opened.run(ONE).statistics == {"s0": (1,)}, "it concerns none of the tables, or nothing of them"
        connection.execute(CHANGES[change])
        with pytest.raises(OperationalError):
            opened.run(ONE)


KEYED = """
database: {database}
ledger: sqlite:keyed.ledger
privacy_unit: person.id
budget: {{epsilon: 10, delta: 1e-6}}
tables: {{person: {{}}}}
"""


def test_constraints_and_rows_are_those_of_one_moment(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constraint is dropped after it was looked up, and broken before the rows are read."""
    name = postgres.database("CREATE TABLE person (id int PRIMARY KEY); INSERT INTO person VALUES (1), (2)")
    (tmp_path / "keyed.yaml").write_text(KEYED.format(database=postgres.url(name)))
    opened = open_policy(tmp_path / "keyed.yaml")
    one = plan(
        split(sqlglot.parse_one("SELECT COUNT(*) FROM person", read="postgres"), opened.catalog, POSTGRES).groupings[0],
        Norm.L2,
        POSTGRES,
    )
    read, changed = module.read_declared, []

    def crossed(*arguments: Any) -> object:
        found = read(*arguments)
        if not changed:
            changed.append(True)
            with postgres.owner(name) as connection:
                connection.execute("ALTER TABLE person DROP CONSTRAINT person_pkey")
                connection.execute("INSERT INTO person SELECT 1 FROM generate_series(1, 1000)")
        return found

    assert opened.engine.run(one).statistics == {"s0": (2,)}
    monkeypatch.setattr(module, "read_declared", crossed)
    assert opened.engine.run(one).statistics == {"s0": (2,)}, "a person counts once, as long as the key is believed"
    assert changed
    with pytest.raises(OperationalError):
        opened.engine.run(one)
    opened.close()


class TestRole:
    def test_a_role_that_only_reads_is_of_no_concern(self, engine: PostgresEngine) -> None:
        [(text, table)] = [(concern.text, concern.table) for concern in engine.concerns()]
        assert table == "guarded"
        assert text.startswith("row-level security hides rows")

    def test_a_superuser_is(self, postgres: Server, database: str) -> None:
        opened = PostgresEngine.open(postgres.owner_url(database))
        assert [concern.text.split(":")[0] for concern in opened.concerns()] == ["dpsql connects as a superuser"]
        opened.close()

    def test_rights_to_write_are(self, postgres: Server, database: str) -> None:
        with postgres.owner(database) as connection:
            connection.execute(
                "CREATE ROLE writer LOGIN PASSWORD 'w' CREATEDB BYPASSRLS; GRANT ALL ON person TO writer"
            )
            connection.execute("GRANT CREATE ON SCHEMA public TO writer")
        opened = PostgresEngine.open(postgres.url(database, "writer", "w"))
        texts = " ".join(concern.text for concern in opened.concerns())
        for words in ("more to the server than read", "bypasses row-level", "write to person:", "tables in public:"):
            assert words in texts
        with pytest.raises(OperationalError):
            opened.run(planned("INSERT INTO public.person VALUES (3, 'x') RETURNING 1 AS s0"))
        opened.close()


class TestSettings:
    def test_what_the_role_or_the_database_sets_changes_nothing(self, postgres: Server, database: str) -> None:
        with postgres.owner(database) as connection:
            connection.execute("CREATE ROLE odd LOGIN PASSWORD 'o'")
            connection.execute("CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC")
            connection.execute("CREATE FUNCTION evil.abs(int) RETURNS int LANGUAGE sql AS 'SELECT 666'")
            for setting in (
                "standard_conforming_strings = off", "search_path = evil, pg_catalog", "timezone = 'Asia/Tokyo'",
                "datestyle = 'German'", "default_transaction_read_only = off", "client_min_messages = debug5",
                "client_encoding = 'LATIN1'", "jit = on",
            ):  # fmt: skip
                connection.execute(f"ALTER ROLE odd SET {setting}")  # type: ignore[arg-type]
        opened = PostgresEngine.open(postgres.url(database, "odd", "o"))
        sql = r"""SELECT 'a\' AS k0, CAST(TIMESTAMPTZ '2020-01-01 00:00:00+00' AS text) AS k1, 'é' AS k2,
            current_setting('transaction_read_only') AS k3, current_setting('transaction_isolation') AS k4,
            abs(-1) AS s0"""
        table = opened.run(planned(sql, "k0", "k1", "k2", "k3", "k4"))
        assert table.keys == (("a\\", "2020-01-01 00:00:00+00", "é", "on", "repeatable read"),)
        assert table.statistics == {"s0": (1,)}
        opened.close()

    def test_prepared_statements_are_few(self, engine: PostgresEngine) -> None:
        for number in range(PREPARED + 40):
            for _ in range(3):
                engine.run(planned(f"SELECT {number} AS s0"))
        counted = engine.run(planned("SELECT COUNT(*) AS s0 FROM pg_prepared_statements"))
        assert PREPARED / 2 < counted.statistics["s0"][0] <= PREPARED + 1

    def test_two_statements_are_none(self, engine: PostgresEngine) -> None:
        for sql in ("SELECT 1 AS s0; SELECT 1 AS s0", "SELECT 1 AS s0\0 FROM nothing", "COMMIT; SELECT 1 AS s0"):
            with pytest.raises(OperationalError) as caught:
                engine.run(planned(sql))
            assert caught.value.sqlstate == "58000"

    def test_what_a_view_raises_reaches_no_log(
        self, postgres: Server, database: str, engine: PostgresEngine, caplog: pytest.LogCaptureFixture
    ) -> None:
        with postgres.owner(database) as connection:
            connection.execute(
                "CREATE FUNCTION loud(text) RETURNS int LANGUAGE plpgsql AS $$BEGIN RAISE WARNING '%', $1; RETURN 1; END$$;"
                "CREATE VIEW noisy AS SELECT loud(email) AS x FROM person; GRANT SELECT ON noisy TO PUBLIC"
            )
        with caplog.at_level(logging.DEBUG):
            assert engine.run(planned("SELECT SUM(x) AS s0 FROM public.noisy")).statistics == {"s0": (2,)}
        assert not caplog.records


class TestCommands:
    def test_a_first_policy_holds_no_password_and_loads(
        self, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        url = postgres.url(
            postgres.database("""
            CREATE TYPE sex AS ENUM ('F', 'M');
            CREATE TABLE patient (id int PRIMARY KEY, sex sex NOT NULL, weight float8);
            CREATE TABLE visit (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patient, day date);""")
        )
        assert main(["init", url, "--output", "policy.yaml"]) == 0
        text = Path("policy.yaml").read_text()
        assert PASSWORD not in text
        assert f"postgresql://{READER}@127.0.0.1:" in text
        assert "sex: {values: [F, M]}" in text
        assert "unit: patient_id -> patient.id" in text
        assert "PGPASSWORD" in capsys.readouterr().err
        assert main(["check", "policy.yaml"]) == 1, "without a password it cannot be opened"
        assert "password" in capsys.readouterr().err
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        assert main(["check", "policy.yaml"]) == 0
        found = capsys.readouterr().out
        assert "no max_rows" in found
        assert "error" not in found

    def test_a_role_that_may_write_is_warned_of(
        self, postgres: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        url = postgres.owner_url(postgres.database("CREATE TABLE patient (id int PRIMARY KEY)"))
        policy = tmp_path / "policy.yaml"
        policy.write_text(
            f"database: {url}\nledger: sqlite:x.ledger\nprivacy_unit: patient.id\n"
            "budget: {epsilon: 1, delta: 1e-6}\ntables: {patient: {columns: {}}}\n"
        )
        policy.chmod(0o644)
        assert main(["check", str(policy)]) == 0
        found = capsys.readouterr().out
        assert "warning: database: dpsql connects as a superuser" in found
        assert "warning: database: the URL holds a password and everybody on this machine can read it" in found
        assert postgres.process.password not in found


class TestLosses:
    def test_a_connection_that_died_idle_is_replaced(
        self, postgres: Server, database: str, engine: PostgresEngine
    ) -> None:
        assert engine.run(ONE).statistics == {"s0": (1,)}
        with postgres.owner() as connection:
            killed = connection.execute(
                "SELECT COUNT(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE datname = %s", (database,)
            ).fetchone()
        assert killed is not None
        assert killed[0] >= 1, "they have ended: this waits for it"
        assert engine.run(ONE).statistics == {"s0": (1,)}

    def test_a_connection_that_dies_in_a_release_says_nothing(
        self, postgres: Server, database: str, engine: PostgresEngine, caplog: pytest.LogCaptureFixture
    ) -> None:
        sql = "SELECT COUNT(*) AS s0 FROM pg_sleep(0.3), pg_terminate_backend(pg_backend_pid())"
        with caplog.at_level(logging.DEBUG), pytest.raises(OperationalError) as caught:
            engine.run(planned(sql))
        assert caught.value.sqlstate == "58000"
        assert caught.value.__context__ is None
        assert engine.run(ONE).statistics == {"s0": (1,)}

    def test_a_server_that_answers_nothing_is_cut_off(
        self, postgres: Server, engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(line_module, "PATIENCE", 0.3)
        [backend] = engine.run(planned("SELECT pg_backend_pid() AS s0")).statistics["s0"]
        os.kill(backend, signal.SIGSTOP)
        try:
            started = time.perf_counter()
            with pytest.raises(OperationalError) as caught:
                engine.run(ONE, timeout=0.2)
            assert caught.value.sqlstate == "57014"
            assert time.perf_counter() - started < 60
        finally:
            os.kill(backend, signal.SIGCONT)
        assert engine.run(ONE).statistics == {"s0": (1,)}

    def test_the_server_stops_what_outlives_us(self, postgres: Server, database: str, engine: PostgresEngine) -> None:
        engine.run(ONE, timeout=2.5)
        line = engine._idle[-1]
        assert line.connection.execute("SHOW statement_timeout").fetchall() == [("4s",)]
        engine.run(ONE)
        assert engine._idle[-1].connection.execute("SHOW statement_timeout").fetchall() == [("0",)]

    def test_a_server_that_is_gone_says_one_thing(self, caplog: pytest.LogCaptureFixture) -> None:
        server = start()
        name = server.database(SETUP)
        opened = PostgresEngine.open(server.url(name))
        assert opened.run(ONE).statistics == {"s0": (1,)}
        server.process.close()
        for _ in range(2):
            with caplog.at_level(logging.DEBUG), pytest.raises(OperationalError) as caught:
                opened.run(ONE, timeout=20)
            assert caught.value.sqlstate == "58000"
            assert str(caught.value).startswith("the database could not answer this release")
            assert caught.value.__context__ is None
        assert PASSWORD not in caplog.text
        opened.close()


class TestOpening:
    def test_what_cannot_be_opened_is_told_to_the_owner(self, postgres: Server, database: str) -> None:
        port = postgres.process.port
        cases = {
            postgres.url(database, password="wr0ng"): "password authentication failed",  # noqa: S106
            postgres.url("nowhere"): 'database "nowhere" does not exist',
            f"postgresql://{READER}:s3cret@127.0.0.1:1/x": "refused",
            f"postgresql://{READER}:s3cret@127.0.0.1:{port}x/x": "invalid integer value",
            f"postgresql://{READER}:s3cret%zz@127.0.0.1:{port}/x": "not understood",
        }
        for url, words in cases.items():
            with pytest.raises(OperationalError, match=words) as caught:
                PostgresEngine.open(url)
            assert caught.value.__context__ is None
            for secret in ("wr0ng", "s3cret", PASSWORD):
                assert secret not in str(caught.value)
            assert caught.value.hint

    def test_a_password_may_come_from_the_environment(
        self, postgres: Server, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        opened = PostgresEngine.open(postgres.url(database, password=""))
        assert opened.run(ONE).statistics == {"s0": (1,)}
        opened.close()

    def test_other_encodings_are_refused(self, postgres: Server) -> None:
        with postgres.owner() as connection:
            connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        with pytest.raises(OperationalError, match="encoded in LATIN1"):
            PostgresEngine.open(postgres.url("latin"))

    def test_no_connection_is_left_behind(self, postgres: Server, database: str) -> None:
        opened = PostgresEngine.open(postgres.url(database))
        opened.schema()
        running = threading.Thread(target=lambda: opened.run(planned("SELECT COUNT(pg_sleep(0.3)) AS s0")))
        running.start()
        time.sleep(0.1)
        opened.close()
        running.join()
        with pytest.raises(OperationalError):
            opened.run(ONE)
        with postgres.owner() as connection:
            sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = %s AND usename = %s"
            for _ in range(1200):
                [left] = connection.execute(sql, (database, READER)).fetchone() or (None,)
                if left == 0:
                    break
                time.sleep(0.05)
        assert left == 0
