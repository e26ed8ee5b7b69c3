"""What is DuckDB's own: its types, its lock, and how it fails. What every engine does is in test_contract."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpsql.engines import exact_table
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.errors import OperationalError
from dpsql.releases import ExactTable
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    JSON,
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    Kind,
    Type,
    decimal,
)
from rewriter.plan import Block, KeyColumn, Plan, Selection, Statistic

CANARY = "alice@example.org"

SETUP = f'''
CREATE SCHEMA other;
CREATE TABLE patient (id INTEGER PRIMARY KEY, email VARCHAR NOT NULL, region INTEGER, code VARCHAR UNIQUE,
    UNIQUE (region, code));
CREATE TABLE visit (patient_id INTEGER REFERENCES patient (id), day DATE, cost DECIMAL(15,2));
CREATE TABLE "Odd ""name""" ("a b" INTEGER, "select" TINYINT);
CREATE VIEW both_of_them AS SELECT * FROM patient JOIN visit ON id = patient_id;
CREATE TABLE other.patient (x INTEGER);
CREATE TABLE other.parent (x INTEGER PRIMARY KEY);
CREATE TABLE other.child (x INTEGER REFERENCES other.parent (x));
CREATE TYPE mood AS ENUM ('sad', 'it''s (ok)');
CREATE TABLE kinds (a TINYINT, b SMALLINT, c INTEGER, d BIGINT, e HUGEINT, f UTINYINT, g USMALLINT, h UINTEGER,
    i UBIGINT, j UHUGEINT, k REAL, l DOUBLE, m DECIMAL(4,1), n VARCHAR, o mood, p UUID, q DATE, r TIMESTAMP,
    s TIMESTAMP_S, t TIMESTAMP_MS, u TIMESTAMP_NS, v TIMESTAMPTZ, w TIME, x INTERVAL, y BLOB, z INTEGER[], aa BOOLEAN,
    bb BIT, cc JSON, dd STRUCT(a INTEGER), ee MAP(INTEGER, INTEGER), ff BIGNUM);
CREATE TABLE region (id INTEGER, name VARCHAR, since TIMESTAMP_NS, last DATE, note VARCHAR, weight FLOAT);
INSERT INTO region VALUES (1, 'North', '2020-01-01 00:00:00.000000001', 'infinity', NULL, 0.1),
    (2, 'South', '2020-01-01 00:00:00.000000002', '2020-01-01', 'x', 0.2);
INSERT INTO patient VALUES (1, '{CANARY}', 1, 'a'), (2, 'bob', 2, 'b');
INSERT INTO visit VALUES (1, '2020-01-01', 10.5), (1, '2020-01-02', 0.25), (2, '2020-01-01', 1);
'''


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engine") / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SETUP)
    return path


@pytest.fixture(scope="module")
def engine(path: Path) -> Iterator[DuckDBEngine]:
    opened = DuckDBEngine.open(path)
    yield opened
    opened.close()


def planned(
    sql: str, keys: tuple[tuple[str, Type], ...] = (), statistics: tuple[str, ...] = ("s0",), weight: bool = False
) -> Plan:
    block = Block(tuple(Statistic(name, Fraction(1), 1, name) for name in statistics), Sensitivity(1, 1))
    return Plan(
        sql=sql,
        dialect="duckdb",
        keys=tuple(KeyColumn(name, type_, name) for name, type_ in keys),
        blocks=(block,),
        outputs=(),
        selection=Selection("w", Fraction(1), 1) if weight else None,
        cells=None,
    )


# Schema


def test_tables_of_other_schemas_are_called_after_them(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute(
            "CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (x INT); CREATE TABLE b.T (x INT); CREATE TABLE a.u (x INT);"
            "CREATE TABLE t2 (x INT PRIMARY KEY); CREATE TABLE a.t2 (x INT PRIMARY KEY);"
            "CREATE TABLE a.v (x INT REFERENCES a.t2 (x))"
        )
    opened = DuckDBEngine.open(tmp_path / "x.duckdb")
    assert set(opened.schema().tables) == {"t2", "a.t", "a.t2", "a.u", "a.v", "b.T"}
    assert [key.parent for key in opened.schema().tables["a.v"].foreign_keys] == ["a.t2"]
    opened.close()


def test_types_are_mapped_to_types_that_hold_all_their_values(engine: DuckDBEngine) -> None:
    found = [column.type for column in engine.schema().tables["kinds"].columns.values()]
    assert found == [
        SMALLINT, SMALLINT, INTEGER, BIGINT, HUGEINT, SMALLINT, INTEGER, BIGINT, HUGEINT, None, DOUBLE, DOUBLE,
        decimal(4, 1), TEXT, TEXT, TEXT, DATE, TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMPTZ, TIME, None, None,
        Type(Kind.INTEGERS, bits=32), BOOLEAN, None, JSON, None, None, None,
    ]  # fmt: skip


def test_texts_that_a_collation_calls_one_are_not_read(tmp_path: Path) -> None:
    """Their group would be named as one person spells it, whoever's row comes first."""
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t (a VARCHAR COLLATE NOCASE, b VARCHAR COLLATE NOACCENT, c VARCHAR COLLATE NFC, d VARCHAR,"
            ' "e "" x" VARCHAR COLLATE POSIX, f INT);'
            "CREATE VIEW v AS SELECT d AS plain, a AS folded, d COLLATE NOCASE AS told FROM t; CREATE TABLE gone (x TEXT);"
            "CREATE VIEW broken AS SELECT x FROM gone; DROP TABLE gone"
        )
    opened = DuckDBEngine.open(tmp_path / "x.duckdb")
    tables = opened.schema().tables
    opened.close()
    assert {name for name, column in tables["t"].columns.items() if column.type} == {"d", 'e " x', "f"}
    assert {name for name, column in tables["v"].columns.items() if column.type} == {"plain"}


def test_a_constraint_on_more_than_is_read_makes_nothing_unique(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE t (a TIMESTAMP_NS UNIQUE, b TIMESTAMP UNIQUE)")
    opened = DuckDBEngine.open(tmp_path / "x.duckdb")
    table = opened.schema().tables["t"]
    opened.close()
    assert (table.is_unique("a"), table.is_unique("b")) == (False, True), "two nanoseconds are read as one microsecond"


# Running


FAILING = {
    "a cast": planned("SELECT email::INTEGER AS s0 FROM patient"),
    "error()": planned("SELECT error(email) AS s0 FROM patient"),
    "an overflow": planned("SELECT (id + 9223372036854775807) AS s0 FROM patient"),
    "a division": planned("SELECT id // 0 AS s0 FROM patient"),
    "no such column": planned("SELECT nothing AS s0 FROM patient"),
    "no such table": planned("SELECT 1 AS s0 FROM nothing"),
    "no SQL": planned("SELEC"),
    "an extension": planned("SELECT COUNT(*) AS s0 FROM read_csv('http://127.0.0.1/x')"),
    "a file": planned("SELECT COUNT(*) AS s0 FROM read_text('/etc/passwd')"),
    "a write": planned("CREATE TABLE x AS SELECT 1 AS s0"),
    "a copy": planned("COPY patient TO '/tmp/x.csv'"),
    "a setting": planned("SET threads = 1"),
    "an attached file": planned("ATTACH '/tmp/x.duckdb'"),
    "more memory": planned("SET memory_limit = '1TB'"),
}


@pytest.mark.quick
@pytest.mark.parametrize("plan", FAILING.values(), ids=FAILING.keys())
def test_whatever_fails_says_one_thing(engine: DuckDBEngine, plan: Plan, caplog: pytest.LogCaptureFixture) -> None:
    started = time.perf_counter()
    with caplog.at_level(logging.DEBUG), pytest.raises(OperationalError) as caught:
        engine.run(plan)
    assert str(caught.value) == (
        "the database could not answer this release\n"
        "HINT: the owner's log names the kind of error; what was charged stays charged"
    )
    assert caught.value.sqlstate == "58000"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None, "the engine's own words travel with the error"
    [record] = caplog.records
    assert record.name == "dpsql.engine"
    assert CANARY not in record.getMessage()
    assert record.exc_info is None
    assert record.getMessage().removeprefix("the engine failed: ").isidentifier()
    assert time.perf_counter() - started < 30, "nothing was fetched from a network"


SELF_JOINS = {
    "left": "FROM trip t1 LEFT JOIN trip t2 ON t1.p = t2.p WHERE t2.b IS NULL AND t1.p IN (SELECT id FROM people)",
    "right": "FROM trip t2 RIGHT JOIN trip t1 ON t1.p = t2.p WHERE t2.b IS NULL AND t1.p IN (SELECT id FROM people)",
}
TWICE = {
    "side by side": "SELECT q.x AS s0, r.x AS s1 FROM (SELECT SUM(t1.a) AS x {0}) q, (SELECT SUM(t2.a) AS x {0}) r",
    "scalar": "SELECT (SELECT SUM(t1.a) {0}) AS s0, (SELECT SUM(t2.a) {0}) AS s1",
    "materialized": "WITH q AS MATERIALIZED (SELECT t1.a {0}), r AS MATERIALIZED (SELECT t2.a {0}) "
    "SELECT (SELECT SUM(a) FROM q) AS s0, (SELECT SUM(a) FROM r) AS s1",
    "union": "SELECT SUM(x) AS s0, SUM(y) AS s1 FROM "
    "(SELECT SUM(t1.a) AS x, 0 AS y {0} UNION ALL SELECT 0 AS x, SUM(t2.a) AS y {0}) u",
}
"""A join that stands twice in a statement, once for each of its sides."""

TRIPS = [(n % 7, n * n, None if n % 10 == 0 else n) for n in range(60)]
"""A person, a value, and a value that is NULL in every tenth row, and in one row of each person at least."""


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBEngine]:
    path = tmp_path_factory.mktemp("trips") / "trips.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE trip (p INT, a INT, b INT); CREATE TABLE people (id INT)")
        connection.executemany("INSERT INTO trip VALUES (?, ?, ?)", TRIPS)
        connection.execute("INSERT INTO people SELECT * FROM range(5)")
    opened = DuckDBEngine.open(path)
    yield opened
    opened.close()


@pytest.mark.parametrize("join", SELF_JOINS.values(), ids=SELF_JOINS.keys())
@pytest.mark.parametrize("form", TWICE.values(), ids=TWICE.keys())
def test_the_two_sides_of_a_self_join_are_told_apart(trips: DuckDBEngine, form: str, join: str) -> None:
    """An optimizer that computes the join once gives the columns of one side for those of the other."""
    pairs = [(a, c) for p, a, _ in TRIPS for q, c, d in TRIPS if p == q and p < 5 and d is None]
    expected = {"s0": (sum(a for a, _ in pairs),), "s1": (sum(c for _, c in pairs),)}
    assert trips.run(planned(form.format(join), statistics=("s0", "s1"))).statistics == expected


# Public tables


def test_uniqueness_is_measured_as_columns_are_read(engine: DuckDBEngine) -> None:
    profile = engine.public_profile("region")
    assert profile.rows == 2
    assert profile.unique == {"id", "name", "weight"}, "since differs by nanoseconds only; last and note have NULLs"
    assert engine.public_profile("parent").rows == 0


# Opening


def test_time_is_utc_and_the_configuration_is_locked(engine: DuckDBEngine) -> None:
    cursor = engine._now.connection.cursor()
    assert cursor.execute("SELECT current_setting('TimeZone')").fetchone() == ("UTC",)
    for setting in ("TimeZone = 'Asia/Tokyo'", "enable_external_access = true", "lock_configuration = false"):
        with pytest.raises(duckdb.Error):
            cursor.execute(f"SET {setting}")
    with pytest.raises(duckdb.Error):
        cursor.execute("INSERT INTO visit VALUES (1, NULL, 1)")


def test_the_same_database_is_opened_twice(path: Path, engine: DuckDBEngine) -> None:
    again = DuckDBEngine.open(path)
    assert again.run(planned("SELECT COUNT(*) AS s0 FROM visit")).statistics == {"s0": (3,)}
    again.close()
    assert engine.run(planned("SELECT COUNT(*) AS s0 FROM visit")).statistics == {"s0": (3,)}


def test_what_cannot_be_opened_is_told_to_the_owner(path: Path, tmp_path: Path, engine: DuckDBEngine) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database" * 1000)
    cases = [(tmp_path / "missing.duckdb", "no DuckDB file"), (tmp_path, "no DuckDB file"), (text, "not a DuckDB file")]
    for place, words in cases:
        with pytest.raises(OperationalError, match=words) as caught:
            DuckDBEngine.open(place)
        assert caught.value.hint
    with pytest.raises(OperationalError, match="this process has it open in another way"):
        DuckDBEngine.open(path, threads=7)
    other = tmp_path / "other.duckdb"
    holder = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, other], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(OperationalError, match="another process has it open"):
            DuckDBEngine.open(other)
        process.communicate()
    DuckDBEngine.open(other).close()


# Long answers, which are read as Arrow's columns

LONG = """SELECT CASE WHEN i % 7 > 0 THEN CAST(i % 900 AS VARCHAR) END AS a, i // 900 AS b, CAST(i * 0.25 AS DECIMAL(15, 2)) AS c,
    DATE '2024-01-01' + CAST(i % 60 AS INTEGER) AS d, i % 2 = 0 AS e, CASE WHEN i % 5 > 0 THEN i * 0.1E0 END AS f,
    TIMESTAMP '2024-01-01 00:00:01' + to_minutes(i) AS g, CAST(i AS HUGEINT) * 10000000000 AS h, CAST(i AS SMALLINT) AS j,
    i * 3 - 4000 AS s0, CAST(i AS HUGEINT) * {factor} - 7 AS s1
    FROM range(5000) AS t(i) ORDER BY hash(i)"""
LONG_KEYS = (
    ("a", TEXT), ("b", BIGINT), ("c", decimal(15, 2)), ("d", DATE), ("e", BOOLEAN), ("f", DOUBLE), ("g", TIMESTAMP),
    ("h", HUGEINT), ("j", INTEGER),
)  # fmt: skip


def read(engine: DuckDBEngine, plan: Plan, few: int, monkeypatch: pytest.MonkeyPatch) -> ExactTable:
    with monkeypatch.context() as patched:
        patched.setattr(exact_table, "_FEW", few)
        return engine.run(plan)


@pytest.mark.parametrize(("factor", "bound"), [(10**9, 1), (10**9, 10**10), (10**25, 10**30)])
def test_a_long_answer_is_read_as_a_short_one(
    engine: DuckDBEngine, factor: int, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(LONG.format(factor=factor), LONG_KEYS, ("s0", "s1"))
    block = plan.blocks[0]
    plan = replace(plan, blocks=(replace(block, statistics=tuple(replace(s, bound=bound) for s in block.statistics)),))
    long, short = (read(engine, plan, few, monkeypatch) for few in (2048, 10**6))
    assert long.keys == short.keys
    assert [tuple(map(type, key)) for key in long.keys] == [tuple(map(type, key)) for key in short.keys]
    assert long.statistics == short.statistics
    assert all(column.is_narrow == (bound == 1) for column in long.statistics.values())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "what",
    [
        "i % 4999 AS k0, 1 AS s0",
        "CASE WHEN i > 4990 THEN NULL ELSE i END AS k0, 1 AS s0",
        "i AS k0, CASE WHEN i < 4999 THEN 1 END AS s0",
        "i AS k0, CASE WHEN i < 4999 THEN 1 ELSE 0.5 END AS s0",
        "i AS k0, CAST(1 AS DOUBLE) AS s0",
        "i AS k0, CAST(i AS HUGEINT) * 10000000000000000000 AS s0",
        "CASE WHEN i < 4999 THEN CAST(i AS DOUBLE) ELSE CAST('nan' AS DOUBLE) END AS k0, 1 AS s0",
        "CAST(i AS VARCHAR) AS k0, 1 AS s0",
    ],
)
def test_a_long_answer_of_another_shape_is_an_error(engine: DuckDBEngine, what: str) -> None:
    type_ = DOUBLE if "DOUBLE) END" in what or "nan" in what else BIGINT
    plan = planned(f"SELECT {what} FROM range(5000) AS t(i) ORDER BY i", (("k0", type_),))
    with pytest.raises(OperationalError):
        engine.run(plan)
