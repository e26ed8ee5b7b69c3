"""What holds for every engine: exact integers, one text for every failure, and the same answers from the same rows."""

from __future__ import annotations

import datetime
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpsql.engines import ENGINES
from dpsql.engines.deadlines import Cancellation
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.engines.engine import Engine
from dpsql.engines.listed_files import ListedFiles
from dpsql.engines.postgres.postgres_engine import PostgresEngine
from dpsql.engines.schema import ForeignKey
from dpsql.engines.spark.spark_engine import SparkEngine
from dpsql.errors import Error, OperationalError
from rewriter.declared.interval import measure
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
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
from tests.engines.postgres_server import Server, shared_server
from tests.engines.spark_server import copy_to_spark, shared_spark

CANARY = "alice@example.org"
SETUP = f'''
CREATE SCHEMA other;
CREATE TABLE patient (id INTEGER PRIMARY KEY, email VARCHAR NOT NULL, region INTEGER, code VARCHAR UNIQUE,
    UNIQUE (region, code));
CREATE TABLE visit (patient_id INTEGER REFERENCES patient (id), day DATE, cost DECIMAL(15,2));
CREATE TABLE "Odd ""name""" ("a b" INTEGER, "select" SMALLINT);
CREATE VIEW both_of_them AS SELECT * FROM patient JOIN visit ON id = patient_id;
CREATE TABLE other.patient (x INTEGER);
CREATE TABLE other.parent (x INTEGER PRIMARY KEY);
CREATE TABLE other.child (x INTEGER REFERENCES other.parent (x));
CREATE SCHEMA third;
CREATE TABLE third.twice (x INTEGER);
CREATE TABLE other.twice (x INTEGER);
CREATE TYPE mood AS ENUM ('sad', 'it''s (ok)');
CREATE TABLE kinds (a SMALLINT, b INTEGER, c BIGINT, d REAL, e DOUBLE PRECISION, f DECIMAL(4,1), g VARCHAR, h mood,
    i UUID, j DATE, k TIMESTAMP, l TIMESTAMPTZ, m BOOLEAN, n TIME, o INTERVAL, p INTEGER[], q NUMERIC(38,10));
CREATE TABLE region (id INTEGER, name VARCHAR, since TIMESTAMP, last DATE, note VARCHAR, weight REAL);
INSERT INTO region VALUES (1, 'North', '2020-01-01 00:00:00.000001', 'infinity', NULL, 0.1),
    (2, 'South', '2020-01-01 00:00:00.000002', '2020-01-01', 'x', 0.2);
INSERT INTO patient VALUES (1, '{CANARY}', 1, 'a'), (2, 'bob', 2, 'b');
INSERT INTO visit VALUES (1, '2020-01-01', 10.5), (1, '2020-01-02', 0.25), (2, '2020-01-01', 1);
'''


FILES = ("patient", "visit", "region")
_STAGE = 500_000_000
"""Rows of a stage of Spark's that takes some seconds."""


@dataclass(frozen=True, slots=True)
class Backend:
    """An engine under test, and how it spells what the tests need. ``home`` is where a name without a schema is."""

    name: str
    engine: Engine
    home: str
    huge: str
    series: str
    keys: bool = True
    """Whether it declares keys and views, and has types and schemas of its own."""
    changes: bool = False
    """Whether others write to it."""

    def plan(
        self, sql: str, keys: tuple[tuple[str, Type], ...] = (), names: tuple[str, ...] = ("s0",), weight: bool = False
    ) -> Plan:
        block = Block(tuple(Statistic(name, Fraction(1), 10**38, name) for name in names), Sensitivity(1, 1))
        return Plan(
            sql=sql.replace("{home}", self.home).replace("HUGE", self.huge).replace("DOUBLE PRECISION", "DOUBLE")
            if self.name != "postgres"
            else sql.replace("{home}", self.home).replace("HUGE", self.huge),
            dialect=self.engine.dialect.name,
            keys=tuple(KeyColumn(name, type_, name) for name, type_ in keys),
            blocks=(block,),
            outputs=(),
            selection=Selection("w", Fraction(1), 1) if weight else None,
            cells=None,
        )

    def counting(self, one: int, other: int) -> Plan:
        """A release that takes its time: it looks at one · other pairs."""
        if self.name == "spark":
            # Its joins look up too seldom to be stopped, and a stage that has begun ends by itself.
            pairs = f"(SELECT 1 + id DIV {other} AS x, 1 + id % {other} AS y FROM range(0, {min(one * other, _STAGE)})) AS p"
            return self.plan(f"SELECT COUNT(*) AS s0 FROM {pairs} WHERE (x * y) % 7 = 3")
        return self.plan(
            f"SELECT COUNT(*) AS s0 FROM {self.series.format(one)} AS a(x), {self.series.format(other)} AS b(y)"
            " WHERE (CAST(x AS BIGINT) * y) % 7 = 3"
        )


@pytest.fixture(scope="module")
def postgres() -> Server:
    return shared_server()


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.spark if kind == "spark" else ()) for kind in ENGINES],
)
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    found: Backend
    if request.param == "duckdb":
        path = tmp_path_factory.mktemp("contract") / "clinic.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(SETUP)
        found = Backend("duckdb", DuckDBEngine.open(path), "main", "HUGEINT", "range(1, {} + 1)")
    elif request.param == "files":
        folder = tmp_path_factory.mktemp("contract-files")
        with duckdb.connect() as connection:
            connection.execute(SETUP)
            for name in FILES:
                connection.execute(f"COPY \"{name}\" TO '{folder}/{name}.parquet'")
        engine = DuckDBEngine.over({name: ListedFiles((f"{folder}/{name}.parquet",)) for name in FILES})
        found = Backend("files", engine, "main", "HUGEINT", "range(1, {} + 1)", keys=False)
    elif request.param == "postgresql":
        server: Server = request.getfixturevalue("postgres")
        engine = PostgresEngine.open(server.url(server.database(SETUP)))
        found = Backend("postgres", engine, "public", "NUMERIC", "generate_series(1, {})", changes=True)
    elif request.param == "spark":
        found = _spark(tmp_path_factory.mktemp("contract-spark"))
    else:
        pytest.fail(f"make a {request.param} of {SETUP}")
    assert found.engine.dialect is ENGINES[request.param].dialect
    yield found
    found.engine.close()


def _spark(folder: Path) -> Backend:
    spark = shared_spark()
    session = spark.session()
    with duckdb.connect() as connection:
        connection.execute(SETUP.replace("'infinity'", "NULL"))
        copy_to_spark(connection, session, FILES, folder, "contract")
    session.stop()
    engine = SparkEngine.open(spark.url)
    return Backend("spark", engine, "contract", "DECIMAL(38, 0)", "range(1, {} + 1)", keys=False, changes=True)


@pytest.fixture
def with_keys(backend: Backend) -> Backend:
    if not backend.keys:
        pytest.skip(f"{backend.name} has names and types alone")
    return backend


class TestSchema:
    def test_tables_views_and_keys_are_read(self, with_keys: Backend) -> None:
        tables = with_keys.engine.schema().tables
        own = {name for name in tables if "." not in name}
        assert own == {"patient", "visit", 'Odd "name"', "both_of_them", "kinds", "region"}
        others = {"other.patient", "other.parent", "other.child", "other.twice", "third.twice"}
        assert set(tables) - own == others
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

    def test_the_default_schema_hides_others_and_foreign_keys_follow_their_own(self, with_keys: Backend) -> None:
        tables = with_keys.engine.schema().tables
        assert tables["patient"].schema is None
        assert tables["other.patient"].schema == "other"
        assert tables["other.child"].schema == "other"
        assert tables["other.child"].foreign_keys == (ForeignKey(("x",), "other.parent", ("x",), schema="other"),)

    def test_types_are_mapped_to_types_that_hold_all_their_values(self, with_keys: Backend) -> None:
        columns = with_keys.engine.schema().tables["kinds"].columns
        assert [column.type for column in columns.values()] == [
            SMALLINT, INTEGER, BIGINT, DOUBLE, DOUBLE, decimal(4, 1), TEXT, TEXT, TEXT, DATE, TIMESTAMP, TIMESTAMPTZ,
            BOOLEAN, TIME, None, Type(Kind.INTEGERS, bits=32), decimal(38, 10),
        ]  # fmt: skip
        assert columns["h"].engine_type == "ENUM('sad', 'it''s (ok)')"


class TestIntegers:
    def test_they_are_exact_and_groups_are_in_the_order_of_their_keys(self, backend: Backend) -> None:
        sql = """SELECT * FROM (VALUES
            ('b', 2, CAST('99999999999999999999999999999999999999' AS HUGE), CAST(3 AS BIGINT)),
            (NULL, 1, CAST('-99999999999999999999999999999999999999' AS HUGE), -3),
            ('a', 9, CAST('9007199254740993' AS HUGE), 0), ('b', 1, CAST(0 AS HUGE), 1)) AS t(k0, k1, s0, s1)"""
        table = backend.engine.run(backend.plan(sql, (("k0", TEXT), ("k1", INTEGER)), ("s0", "s1")))
        assert table.keys == (("a", 9), ("b", 1), ("b", 2), (None, 1))
        assert table.statistics == {"s0": (9007199254740993, 0, 10**38 - 1, -(10**38 - 1)), "s1": (0, 1, 3, -3)}
        assert {type(value) for column in table.statistics.values() for value in column} == {int}

    def test_sums_of_decimals_are_integers(self, backend: Backend) -> None:
        sql = "SELECT SUM(v) AS s0 FROM (VALUES (CAST(99999999999999999999 AS DECIMAL(38,0))), (1)) AS t(v)"
        assert backend.engine.run(backend.plan(sql)).statistics == {"s0": (10**20,)}

    def test_a_selected_key_set_may_be_empty(self, backend: Backend) -> None:
        plan = backend.plan("SELECT 1 AS k0, 1 AS s0, 1 AS w WHERE false", (("k0", INTEGER),), weight=True)
        table = backend.engine.run(plan)
        assert table.keys == ()
        assert table.statistics == {"s0": (), "w": ()}

    def test_keys_are_python_values_of_their_types(self, backend: Backend) -> None:
        sql = """SELECT true AS a, CAST(5 AS HUGE) AS b, CAST(1.50 AS DECIMAL(5,2)) AS c,
            CAST('-0.0' AS DOUBLE PRECISION) AS d, 'x' AS e, DATE '2024-02-29' AS f,
            TIMESTAMP '2024-02-29 01:02:03.000004' AS g, CAST(NULL AS DATE) AS h, DATE '2024-01-01' AS i,
            CAST(1.5 AS DECIMAL(3,1)) AS j, 1 AS s0"""
        types = (BOOLEAN, HUGEINT, decimal(5, 2), DOUBLE, TEXT, DATE, TIMESTAMP, DATE, TIMESTAMP, DOUBLE)
        [key] = backend.engine.run(backend.plan(sql, tuple(zip("abcdefghij", types, strict=True)))).keys
        day = datetime.date(2024, 2, 29)
        moment = datetime.datetime(2024, 2, 29, 1, 2, 3, 4)
        expected = (True, 5, Decimal("1.50"), 0.0, "x", day, moment, None, datetime.datetime(2024, 1, 1), 1.5)
        assert key == expected
        assert [type(value) for value in key] == [type(value) for value in expected]
        assert str(key[3]) == "0.0"

    def test_a_plan_that_comes_again_and_again_has_the_same_answer(self, backend: Backend) -> None:
        plan = backend.plan("SELECT patient_id AS k0, COUNT(*) AS s0 FROM {home}.visit GROUP BY 1", (("k0", INTEGER),))
        answers = [backend.engine.run(plan) for _ in range(5)]
        assert {(tuple(answer.keys), tuple(answer.statistics["s0"])) for answer in answers} == {(((1,), (2,)), (2, 1))}

    def test_many_plans_do_not_fill_the_server(self, backend: Backend) -> None:
        for _ in range(2):
            for number in range(150):
                assert backend.engine.run(backend.plan(f"SELECT {number} AS s0")).statistics == {"s0": (number,)}

    def test_threads_do_not_share_their_answers(self, backend: Backend) -> None:
        found: list[tuple[int, ...]] = []

        def ask(number: int) -> None:
            for _ in range(20):
                found.append((number, *backend.engine.run(backend.plan(f"SELECT {number} AS s0")).statistics["s0"]))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 240
        assert all(asked == answered for asked, answered in found)


K0: tuple[tuple[str, Type], ...] = (("k0", INTEGER),)
WRONG: dict[str, tuple[str, tuple[tuple[str, Type], ...], tuple[str, ...], bool]] = {
    "a NULL": ("SELECT CAST(NULL AS BIGINT) AS s0", (), ("s0",), False),
    "a float": ("SELECT CAST(1 AS DOUBLE PRECISION) AS s0", (), ("s0",), False),
    "a fraction": ("SELECT CAST(1.5 AS DECIMAL(3,1)) AS s0", (), ("s0",), False),
    "a boolean": ("SELECT true AS s0", (), ("s0",), False),
    "a text": ("SELECT email AS s0 FROM {home}.patient WHERE id = 1", (), ("s0",), False),
    "a column too few": ("SELECT 1 AS s0", (), ("s0", "s1"), False),
    "a column too many": ("SELECT 1 AS s0, 2 AS s1", (), ("s0",), False),
    "another order": ("SELECT 1 AS s1, 2 AS s0", (), ("s0", "s1"), False),
    "a missing weight": ("SELECT 1 AS s0", (), ("s0",), True),
    "a group twice": ("SELECT 1 AS k0, 1 AS s0 UNION ALL SELECT 1, 2", K0, ("s0",), False),
    "NULL twice": ("SELECT CAST(NULL AS INTEGER) AS k0, 1 AS s0 UNION ALL SELECT NULL, 2", K0, ("s0",), False),
    "a key of another type": ("SELECT 'x' AS k0, 1 AS s0", K0, ("s0",), False),
    "NaN": ("SELECT CAST('nan' AS DOUBLE PRECISION) AS k0, 1 AS s0", (("k0", DOUBLE),), ("s0",), False),
    "an endless day": ("SELECT CAST('10000-01-01' AS DATE) AS k0, 1 AS s0", (("k0", DATE),), ("s0",), False),
    "no row": ("DROP TABLE IF EXISTS nothing", (), ("s0",), False),
}
FAILING = {
    "a cast": "SELECT CAST(email AS INTEGER) AS s0 FROM {home}.patient",
    "an overflow": "SELECT (id + 9223372036854775807) AS s0 FROM {home}.patient",
    "no such column": "SELECT nothing AS s0 FROM {home}.patient",
    "no such table": "SELECT 1 AS s0 FROM nothing",
    "no SQL": "SELEC",
    "nothing": "",
    "a write": "INSERT INTO {home}.visit VALUES (1, NULL, 1)",
    "a table": "CREATE TABLE x AS SELECT 1 AS s0",
    "a setting": "SET TimeZone = 'Asia/Tokyo'",
    "a file": "COPY {home}.patient TO '/tmp/dpsql-contract.csv'",
}


class TestFailures:
    @pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
    def test_a_wrong_shape_says_one_thing(
        self,
        backend: Backend,
        wrong: tuple[str, tuple[tuple[str, Type], ...], tuple[str, ...], bool],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        assert_fixed_text(backend, backend.plan(*wrong), caplog)

    @pytest.mark.parametrize("sql", FAILING.values(), ids=FAILING.keys())
    def test_whatever_fails_says_one_thing(self, backend: Backend, sql: str, caplog: pytest.LogCaptureFixture) -> None:
        assert_fixed_text(backend, backend.plan(sql), caplog)
        assert backend.engine.run(backend.plan("SELECT COUNT(*) AS s0 FROM {home}.visit")).statistics == {"s0": (3,)}

    def test_a_setting_that_failed_changed_nothing(self, backend: Backend) -> None:
        with pytest.raises(Error):
            backend.engine.run(backend.plan("SET TimeZone = 'Asia/Tokyo'"))
        zone = "current_timezone()" if backend.name == "spark" else "current_setting('TimeZone')"
        sql = f"SELECT {zone} AS k0, 1 AS s0"
        assert backend.engine.run(backend.plan(sql, (("k0", TEXT),))).keys == (("UTC",),)


def assert_fixed_text(backend: Backend, plan: Plan, caplog: pytest.LogCaptureFixture) -> None:
    """One text, without a cause; and no word of the engine's in any log."""
    with caplog.at_level(logging.DEBUG), pytest.raises(OperationalError) as caught:
        backend.engine.run(plan)
    assert str(caught.value) == (
        "the database could not answer this release\n"
        "HINT: the owner's log names the kind of error; what was charged stays charged"
    )
    assert caught.value.sqlstate == "58000"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None, "the engine's own words travel with the error"
    [record] = [record for record in caplog.records if record.name == "dpsql.engine"]
    assert record.exc_info is None
    kind, *sqlstate = record.getMessage().removeprefix("the engine failed: ").split(" ")
    assert kind.isidentifier()
    assert all(len(state) == 5 and state.isalnum() for state in sqlstate)
    for record in caplog.records:
        assert CANARY not in record.getMessage()
        assert "patient" not in record.getMessage()


class TestTime:
    def test_a_release_that_takes_too_long_is_interrupted(self, backend: Backend) -> None:
        started = time.perf_counter()
        with pytest.raises(OperationalError) as caught:
            backend.engine.run(backend.counting(10**7, 10**7), timeout=0.2)
        assert caught.value.sqlstate == "57014"
        assert str(caught.value).startswith("the database took longer than 0.2 seconds")
        assert caught.value.__context__ is None
        assert time.perf_counter() - started < 60
        assert backend.engine.run(backend.plan("SELECT 1 AS s0"), timeout=60).statistics == {"s0": (1,)}

    def test_an_interrupt_reaches_no_other_release(self, backend: Backend) -> None:
        found: list[object] = []
        slow = backend.counting(30_000, 300)
        threads = [
            threading.Thread(target=lambda: found.append(backend.engine.run(slow, timeout=300).statistics["s0"])),
            *(threading.Thread(target=self._late, args=(backend,)) for _ in range(3)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        remainders = [
            (len(range(x or 7, 30_001, 7)), len(range(y or 7, 301, 7)))
            for x in range(7)
            for y in range(7)
            if x * y % 7 == 3
        ]
        assert found == [(sum(rows * columns for rows, columns in remainders),)]

    def _late(self, backend: Backend) -> None:
        for _ in range(3):
            with pytest.raises(OperationalError):
                backend.engine.run(backend.counting(10**7, 10**7), timeout=0.05)

    def test_a_release_is_cancelled_from_another_thread(self, backend: Backend) -> None:
        cancellation = Cancellation()
        timer = threading.Timer(0.2, cancellation.cancel)
        timer.start()
        started = time.perf_counter()
        with pytest.raises(OperationalError) as caught:
            backend.engine.run(backend.counting(10**7, 10**7), 60, cancellation)
        assert (caught.value.sqlstate, str(caught.value).splitlines()[0]) == (
            "57014",
            "canceling statement due to user request",
        )
        assert caught.value.__context__ is None
        assert time.perf_counter() - started < 60
        assert backend.engine.run(backend.plan("SELECT 1 AS s0")).statistics == {"s0": (1,)}

    def test_what_is_cancelled_before_is_not_started(self, backend: Backend) -> None:
        cancellation = Cancellation()
        cancellation.cancel()
        started = time.perf_counter()
        with pytest.raises(OperationalError) as caught:
            backend.engine.run(backend.counting(10**7, 10**7), 60, cancellation)
        assert caught.value.sqlstate == "57014"
        assert time.perf_counter() - started < 60

    def test_a_cancellation_that_comes_too_late_reaches_nobody(self, backend: Backend) -> None:
        for _ in range(50):
            cancellation = Cancellation()
            backend.engine.run(backend.plan("SELECT 1 AS s0"), 60, cancellation)
            cancellation.cancel()
            assert backend.engine.run(backend.plan("SELECT 2 AS s0"), 60).statistics == {"s0": (2,)}

    def test_waiting_for_others_counts(self, backend: Backend) -> None:
        load = backend.engine.load
        leave = threading.Event()

        def stay() -> None:
            with load.within(None):
                leave.wait(120)

        others = [threading.Thread(target=stay) for _ in range(load.most)]
        for other in others:
            other.start()
        try:
            while load.running < load.most:
                time.sleep(0.001)
            with pytest.raises(OperationalError) as caught:
                backend.engine.run(backend.plan("SELECT 1 AS s0"), timeout=0.1)
            assert caught.value.sqlstate == "57014"
        finally:
            leave.set()
            for other in others:
                other.join()


class TestPublicTables:
    def test_rows_are_read_as_the_rewriter_reads_them(self, backend: Backend) -> None:
        table = backend.engine.public_rows("Region", ["id", "name", "since", "last", "note", "weight"])
        assert table.column_names == ["id", "name", "since", "last", "note", "weight"]
        north, south = table.to_pylist()
        assert north["last"] is None, "infinity has no day"
        assert south["last"] == datetime.date(2020, 1, 1)
        assert south["since"] == datetime.datetime(2020, 1, 1, 0, 0, 0, 2)
        assert [str(field.type) for field in table.schema] == [
            "int32", "string", "timestamp[us]", "date32[day]", "string", "double",
        ]  # fmt: skip
        if backend.keys:
            assert backend.engine.public_rows('odd "NAME"', ["a b", "select"]).num_rows == 0

    def test_uniqueness_is_measured_where_nobody_writes(self, backend: Backend) -> None:
        profile = backend.engine.public_profile("region")
        live = backend.changes
        assert (profile.rows, profile.grows) == ((3, True) if live else (2, False)), "one more may come"
        assert profile.unique == (set() if live else {"id", "name", "since", "weight"}), "last and note have NULLs"
        known = backend.engine.public_rows("region", sorted(profile.seen)).to_pydict()
        assert {"id", "since", "last", "weight"} <= profile.seen.keys()
        for name, seen in profile.seen.items():
            values = [measure(value) for value in known[name] if value is not None]
            exact = (seen.low, seen.high) == (min(values), max(values))
            assert exact if not live else seen.low <= min(values) <= max(values) <= seen.high, name
        if backend.keys:
            assert backend.engine.public_profile("parent").rows == (2 if live else 0)

    @pytest.mark.parametrize("name", ["nothing", "region; DROP TABLE region", 'region" --'])
    def test_no_name_is_pasted_into_sql(self, backend: Backend, name: str) -> None:
        with pytest.raises(Error) as caught:
            backend.engine.public_rows(name, ["id"])
        assert caught.value.sqlstate == "42P01"
        with pytest.raises(Error) as caught:
            backend.engine.public_rows("region", [name])
        assert caught.value.sqlstate == "42703"
