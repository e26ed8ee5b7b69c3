"""The owner's DuckDB: what it tells of its schema, that its integers are exact, and that its failures say nothing."""

from __future__ import annotations

import datetime
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpsql.engines.duckdb import DuckDBEngine
from dpsql.engines.schema import ForeignKey
from dpsql.errors import Error, OperationalError
from rewriter.plan import Block, KeyColumn, Plan, Selection, Statistic
from rewriter.sensitivity import Sensitivity
from rewriter.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    Type,
    decimal,
)

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


def test_tables_views_and_keys_are_read(engine: DuckDBEngine) -> None:
    tables = engine.schema().tables
    assert set(tables) == {"patient", "visit", 'Odd "name"', "both_of_them", "parent", "child", "kinds", "region"}
    patient = tables["patient"]
    assert list(patient.columns) == ["id", "email", "region", "code"]
    assert patient.primary_key == ("id",)
    assert set(patient.unique) == {("code",), ("region", "code")}
    assert patient.is_unique("id")
    assert patient.is_unique("code")
    assert not patient.is_unique("region")
    assert {name for name, column in patient.columns.items() if column.not_null} == {"id", "email"}
    assert tables["visit"].foreign_keys == (ForeignKey(("patient_id",), "patient", ("id",)),)
    assert tables["both_of_them"].view
    assert not tables["both_of_them"].primary_key
    assert not patient.view


def test_main_hides_other_schemas_and_foreign_keys_follow_their_own(engine: DuckDBEngine) -> None:
    tables = engine.schema().tables
    assert tables["patient"].schema is None
    assert tables["child"].schema == "other"
    assert tables["child"].foreign_keys == (ForeignKey(("x",), "parent", ("x",)),)


def test_names_that_two_schemas_share_are_nobodys(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute(
            "CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (x INT); CREATE TABLE b.T (x INT); CREATE TABLE a.u (x INT);"
            "CREATE TABLE t2 (x INT PRIMARY KEY); CREATE TABLE a.t2 (x INT PRIMARY KEY);"
            "CREATE TABLE a.v (x INT REFERENCES a.t2 (x))"
        )
    opened = DuckDBEngine.open(tmp_path / "x.duckdb")
    assert set(opened.schema().tables) == {"u", "t2", "v"}
    assert opened.schema().tables["v"].foreign_keys == (), "a.t2 is hidden behind main's t2"
    opened.close()


def test_types_are_mapped_to_types_that_hold_all_their_values(engine: DuckDBEngine) -> None:
    found = [column.type for column in engine.schema().tables["kinds"].columns.values()]
    assert found == [
        SMALLINT, SMALLINT, INTEGER, BIGINT, HUGEINT, SMALLINT, INTEGER, BIGINT, HUGEINT, None, DOUBLE, DOUBLE,
        decimal(4, 1), TEXT, TEXT, TEXT, DATE, TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP, None, None, None,
        None, BOOLEAN, None, None, None, None, None,
    ]  # fmt: skip


# Running


def test_integers_are_exact_and_groups_are_in_the_order_of_their_keys(engine: DuckDBEngine) -> None:
    sql = """SELECT * FROM (VALUES
        ('b', 2, 170141183460469231731687303715884105727::HUGEINT, 3::BIGINT),
        (NULL, 1, -170141183460469231731687303715884105727::HUGEINT, -3),
        ('a', 9, 9007199254740993::HUGEINT, 0), ('b', 1, 0, 1)) AS t(k0, k1, s0, s1)"""
    table = engine.run(planned(sql, (("k0", TEXT), ("k1", INTEGER)), ("s0", "s1")))
    assert table.keys == (("a", 9), ("b", 1), ("b", 2), (None, 1))
    assert table.statistics == {
        "s0": (9007199254740993, 0, 2**127 - 1, -(2**127 - 1)),
        "s1": (0, 1, 3, -3),
    }
    assert {type(value) for column in table.statistics.values() for value in column} == {int}
    assert repr(table) == "ExactTable(secret)"


def test_decimal_sums_are_integers(engine: DuckDBEngine) -> None:
    table = engine.run(planned("SELECT SUM(v) AS s0 FROM (VALUES (99999999999999999999::DECIMAL(38,0)), (1)) t(v)"))
    assert table.statistics == {"s0": (10**20,)}
    assert table.keys == ((),)


def test_a_selected_key_set_may_be_empty(engine: DuckDBEngine) -> None:
    table = engine.run(planned("SELECT 1 AS k0, 1 AS s0, 1 AS w WHERE false", (("k0", INTEGER),), weight=True))
    assert table.keys == ()
    assert table.statistics == {"s0": (), "w": ()}


def test_keys_are_python_values_of_their_types(engine: DuckDBEngine) -> None:
    sql = """SELECT true AS a, 5::HUGEINT AS b, 1.50::DECIMAL(5,2) AS c, -0.0::DOUBLE AS d, 'x' AS e, DATE '2024-02-29' AS f,
        TIMESTAMP '2024-02-29 01:02:03.000004' AS g, NULL::DATE AS h, DATE '2024-01-01' AS i, 1.5::DECIMAL(3,1) AS j, 1 AS s0"""
    types = (BOOLEAN, HUGEINT, decimal(5, 2), DOUBLE, TEXT, DATE, TIMESTAMP, DATE, TIMESTAMP, DOUBLE)
    [key] = engine.run(planned(sql, tuple(zip("abcdefghij", types, strict=True)))).keys
    moment = datetime.datetime(2024, 2, 29, 1, 2, 3, 4)
    expected = (
        True,
        5,
        Decimal("1.50"),
        0.0,
        "x",
        datetime.date(2024, 2, 29),
        moment,
        None,
        datetime.datetime(2024, 1, 1),
        1.5,
    )
    assert key == expected
    assert [type(value) for value in key] == [type(value) for value in expected]
    assert str(key[3]) == "0.0"


WRONG = {
    "a NULL": planned("SELECT NULL::BIGINT AS s0"),
    "a float": planned("SELECT 1.0::DOUBLE AS s0"),
    "a fraction": planned("SELECT 1.5::DECIMAL(3,1) AS s0"),
    "a boolean": planned("SELECT true AS s0"),
    "a text": planned(f"SELECT '{CANARY}' AS s0"),
    "a column too few": planned("SELECT 1 AS s0", statistics=("s0", "s1")),
    "a column too many": planned("SELECT 1 AS s0, 2 AS s1"),
    "another order": planned("SELECT 1 AS s1, 2 AS s0", statistics=("s0", "s1")),
    "a missing weight": planned("SELECT 1 AS s0", weight=True),
    "a group twice": planned("SELECT 1 AS k0, 1 AS s0 UNION ALL SELECT 1, 2", (("k0", INTEGER),)),
    "NULL twice": planned("SELECT NULL::INT AS k0, 1 AS s0 UNION ALL SELECT NULL, 2", (("k0", INTEGER),)),
    "a key of another type": planned("SELECT 'x' AS k0, 1 AS s0", (("k0", INTEGER),)),
    "NaN": planned("SELECT 'nan'::DOUBLE AS k0, 1 AS s0", (("k0", DOUBLE),)),
    "an endless day": planned("SELECT DATE '10000-01-01' AS k0, 1 AS s0", (("k0", DATE),)),
}
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


@pytest.mark.parametrize("plan", (WRONG | FAILING).values(), ids=(WRONG | FAILING).keys())
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
    assert time.perf_counter() - started < 2, "nothing was fetched from a network"


SLOW = planned("SELECT COUNT(*) AS s0 FROM range(10000000) a(x), range(10000000) b(y) WHERE (x * y) % 7 = 3")


def test_a_release_that_takes_too_long_is_interrupted(engine: DuckDBEngine) -> None:
    started = time.perf_counter()
    with pytest.raises(OperationalError) as caught:
        engine.run(SLOW, timeout=0.2)
    assert caught.value.sqlstate == "57014"
    assert caught.value.__context__ is None
    assert time.perf_counter() - started < 2
    assert engine.run(planned("SELECT 1 AS s0"), timeout=0.2).statistics == {"s0": (1,)}


def test_an_interrupt_reaches_no_other_release(engine: DuckDBEngine) -> None:
    slow = planned("SELECT COUNT(*) AS s0 FROM range(30000) a(x), range(3000) b(y) WHERE (x * y) % 7 = 3")
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(engine.run(slow, timeout=60).statistics["s0"]))
    thread.start()
    with pytest.raises(OperationalError):
        engine.run(SLOW, timeout=0.1)
    thread.join(60)
    remainders = [
        (len(range(x, 30000, 7)), len(range(y, 3000, 7))) for x in range(7) for y in range(7) if x * y % 7 == 3
    ]
    assert found == [(sum(rows * columns for rows, columns in remainders),)]


def test_waiting_for_a_free_slot_counts(engine: DuckDBEngine) -> None:
    taken = 0
    while engine._slots.acquire(blocking=False):
        taken += 1
    try:
        with pytest.raises(OperationalError) as caught:
            engine.run(planned("SELECT 1 AS s0"), timeout=0.1)
        assert caught.value.sqlstate == "57014"
    finally:
        for _ in range(taken):
            engine._slots.release()


# Public tables


def test_public_rows_are_read_as_the_rewriter_reads_them(engine: DuckDBEngine) -> None:
    table = engine.public_rows("Region", ["id", "name", "since", "last", "note", "weight"])
    assert table.column_names == ["id", "name", "since", "last", "note", "weight"]
    north, south = table.to_pylist()
    assert north["last"] is None, "infinity has no day"
    assert south["last"] == datetime.date(2020, 1, 1)
    assert north["since"] == south["since"] == datetime.datetime(2020, 1, 1)
    assert str(table.schema.field("weight").type) == "double"
    assert engine.public_rows('odd "NAME"', ["a b", "select"]).num_rows == 0


def test_uniqueness_is_measured_as_columns_are_read(engine: DuckDBEngine) -> None:
    profile = engine.public_profile("region")
    assert profile.rows == 2
    assert profile.unique == {"id", "name", "weight"}, "since differs by nanoseconds only; last and note have NULLs"
    assert engine.public_profile("parent").rows == 0


@pytest.mark.parametrize("name", ["nothing", "region; DROP TABLE region", 'region" --'])
def test_no_name_is_pasted_into_sql(engine: DuckDBEngine, name: str) -> None:
    with pytest.raises(Error) as caught:
        engine.public_rows(name, ["id"])
    assert caught.value.sqlstate == "42P01"
    with pytest.raises(Error) as caught:
        engine.public_rows("region", [name])
    assert caught.value.sqlstate == "42703"


# Opening


def test_time_is_utc_and_the_configuration_is_locked(engine: DuckDBEngine) -> None:
    cursor = engine._connection.cursor()
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
