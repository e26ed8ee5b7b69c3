"""The sandbox: what it keeps out, that it ends, and that nothing of one statement is left for another."""

from __future__ import annotations

import datetime
import math
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dpsql.errors import Error
from dpsql.releases.tables import ReleasedColumn, ReleasedTable
from dpsql.sandbox.sandbox import Sandbox
from rewriter.declared.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    NULL,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Scalar,
    Type,
    decimal,
)

SECONDS = 3.0


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = Sandbox.open(memory="128MB", seconds=SECONDS, cells=200_000)
    opened.load_public("region", pa.table({"name": ["North", "South"], "People": [10, 20]}))
    yield opened
    opened.close()


def released(*columns: tuple[str, Type, tuple[Scalar | None, ...]]) -> ReleasedTable:
    return ReleasedTable(tuple(ReleasedColumn(name, type_, values) for name, type_, values in columns))


NUMBERS = {"r": released(("k", TEXT, ("a", "b")), ("n", BIGINT, (1, 2)))}


def failure(sandbox: Sandbox, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        sandbox.run(sql, NUMBERS)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None, "DuckDB's own words travel with the error"
    assert sandbox.run("SELECT n FROM r", NUMBERS)[1] == ((1,), (2,)), "the sandbox works afterwards"
    return caught.value


@pytest.mark.quick
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('/*')",
        "COPY r TO '{folder}/out.csv'",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/other.duckdb'",
        "ATTACH ':memory:' AS other; ATTACH '{folder}/other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('http://127.0.0.1:9/x')",
        "SET memory_limit = '100GB'",
        "SET threads = 8",
        "SET GLOBAL max_execution_time = 0",
        "SET enable_external_access = true",
        "SET integer_division = false",
        "RESET lock_configuration",
        "SET temp_directory = '{folder}'",
        "CREATE SECRET s (TYPE http)",
        "SELECT * FROM secret_of_python",
        "SELECT getenv('HOME')",
    ],
)
def test_nothing_outside_is_reached(sandbox: Sandbox, tmp_path: Path, sql: str) -> None:
    file = tmp_path / "canary.txt"
    file.write_text("canary\n1\n")
    secret_of_python = pa.table({"x": [1]})  # noqa: F841  a replacement scan would find it
    error = failure(sandbox, sql.format(file=file, folder=tmp_path))
    assert "canary" not in str(error)
    assert os.listdir(tmp_path) == ["canary.txt"]


BOMBS = {
    "a cross join": ("SELECT COUNT(*) FROM " + ", ".join(f"range(1000) a{i}(x)" for i in range(6)), "53200|57014"),
    "a function that takes time": ("SELECT SUM(LENGTH(MD5(x::text))) FROM range(100000000) a(x)", "57014"),
    "a sort": ("SELECT x FROM (SELECT MD5(x::text) AS x FROM range(100000000) a(x)) ORDER BY x", "53200|57014"),
    "a text of all rows": (
        "SELECT STRING_AGG('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', '') FROM range(100000000) a(x)",
        "53200",
    ),
    "many groups": ("SELECT COUNT(*) FROM (SELECT x FROM range(100000000) a(x) GROUP BY x) t", "53200|57014"),
    "many rows": ("SELECT x FROM range(100000000) a(x)", "54000|57014"),
    "many wide rows": ("SELECT x, x, x, x, x, x, x, x, x, x FROM range(30000) a(x)", "54000"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_within_the_limits(sandbox: Sandbox, name: str) -> None:
    sql, sqlstate = BOMBS[name]
    started = time.perf_counter()
    error = failure(sandbox, sql)
    assert error.sqlstate in sqlstate.split("|")
    assert error.hint
    assert time.perf_counter() - started < SECONDS + 60


def test_the_engine_has_the_limit_that_was_asked_for(sandbox: Sandbox) -> None:
    sandbox.run("SELECT 1", {})
    (found,) = sandbox._connection.execute("SELECT current_setting('max_execution_time')").fetchall()
    assert found == (SECONDS * 1000,)


def test_a_bomb_does_not_spill_to_disk(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failure(sandbox, BOMBS["a sort"][0])
    assert os.listdir(tmp_path) == []


def test_tables_of_one_statement_are_not_seen_by_another(sandbox: Sandbox) -> None:
    inside, leave = threading.Event(), threading.Event()
    original = sandbox._fetch

    def paused(cursor: object, columns: object) -> object:
        inside.set()
        assert leave.wait(60)
        return original(cursor, columns)  # type: ignore[arg-type]

    sandbox._fetch = paused  # type: ignore[method-assign, assignment]
    try:
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(sandbox.run, "SELECT v FROM mine", {"mine": released(("v", TEXT, ("secret",)))})
            assert inside.wait(60)
            sandbox._fetch = original  # type: ignore[method-assign]
            for name in ("mine", "temp.mine", "temp.main.mine"):
                with pytest.raises(Error) as caught:
                    sandbox.run(f"SELECT * FROM {name}", {})
                assert caught.value.sqlstate == "42P01"
            other = sandbox.run("SELECT v FROM mine", {"mine": released(("v", TEXT, ("other",)))})
            assert other[1] == (("other",),)
            assert sandbox.run("SELECT view_name FROM duckdb_views() WHERE NOT internal", {})[1] == ()
            leave.set()
            assert running.result(60)[1] == (("secret",),)
    finally:
        sandbox._fetch = original  # type: ignore[method-assign]
    with pytest.raises(Error):
        sandbox.run("SELECT * FROM mine", {})


def test_a_select_that_comes_again_reads_the_tables_that_come_with_it(sandbox: Sandbox) -> None:
    """The first run plans it, the second prepares it, the others do neither; other types are another SELECT."""
    sql = "SELECT v, w / 2 AS half FROM mine WHERE v > 1 ORDER BY w DESC LIMIT 3"
    for number in range(6):
        values = tuple(range(number, number + 4))
        found = sandbox.run(sql, {"mine": released(("v", BIGINT, values), ("w", BIGINT, values))})
        expected = [(v, v // 2) for v in sorted(values, reverse=True) if v > 1][:3]
        assert list(found[1]) == expected
        doubles = sandbox.run(sql, {"mine": released(("v", BIGINT, values), ("w", DOUBLE, tuple(map(float, values))))})
        assert list(doubles[1]) == [(v, v / 2) for v, _ in expected]
    for rows in (0, 1, 5_000):
        values = tuple(range(2, 2 + rows))
        for _ in range(2):
            assert len(sandbox.run("SELECT v FROM mine", {"mine": released(("v", BIGINT, values))})[1]) == rows


def test_a_select_that_failed_or_was_cancelled_answers_when_it_comes_again(sandbox: Sandbox) -> None:
    sql = "SELECT CAST(v AS INTEGER) AS v FROM mine"
    for value, fails in [(1, False), (2**40, True), (2, False), (3, False), (2**40, True), (2**40, True), (4, False)]:
        table = {"mine": released(("v", BIGINT, (value,)))}
        if fails:
            with pytest.raises(Error):
                sandbox.run(sql, table)
        else:
            assert sandbox.run(sql, table)[1] == ((value,),)


def test_a_select_that_is_kept_holds_no_table(sandbox: Sandbox) -> None:
    for _ in range(3):
        sandbox.run("SELECT v FROM mine", {"mine": released(("v", TEXT, ("secret",)))})
        kept = list(sandbox._prepared._idle.values())[-1]
        assert [place.table for place in kept.places.values()] == [None]
        with pytest.raises(duckdb.Error):
            kept.cursor.execute("SELECT * FROM mine").fetchall()


def test_a_select_in_another_zone_is_another_one(sandbox: Sandbox) -> None:
    table = {"mine": released(("v", TIMESTAMPTZ, (datetime.datetime(2026, 1, 1, 12),)))}
    for _ in range(3):
        for zone, hour in (("UTC", 12), ("Asia/Tokyo", 21)):
            assert sandbox.run("SELECT EXTRACT(hour FROM v) AS h FROM mine", table, zone=zone)[1] == ((hour,),)


def test_statements_at_the_same_time_get_their_own_answers(sandbox: Sandbox) -> None:
    def one(number: int) -> tuple[int, object]:
        table = released(("v", BIGINT, tuple(range(number, number + 5))))
        return number, sandbox.run("SELECT SUM(v) - 10 FROM dpsql_release_0", {"dpsql_release_0": table})[1]

    with ThreadPoolExecutor(8) as pool:
        for number, rows in pool.map(one, range(200)):
            assert rows == ((5 * number,),)


VALUES: list[tuple[Type, tuple[Scalar | None, ...]]] = [
    (BOOLEAN, (True, False, None)),
    (SMALLINT, (-32768, 32767, None)),
    (INTEGER, (-(2**31), 2**31 - 1, None)),
    (BIGINT, (-(2**63), 2**63 - 1, None)),
    (decimal(5, 2), (Decimal("-999.99"), Decimal("0.01"), None)),
    (decimal(38, 0), (Decimal(10**38 - 1), Decimal(1 - 10**38), None)),
    (DOUBLE, (0.1, -1e308, math.inf, None)),
    (TEXT, ("", "O'Brien; --", "\u00e9\U0001f600", None)),
    (DATE, (datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None)),
    (TIMESTAMP, (datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), None)),
]


@pytest.mark.parametrize(("type_", "values"), VALUES, ids=lambda value: str(value) if isinstance(value, Type) else "")
def test_types_and_values_pass_through(sandbox: Sandbox, type_: Type, values: tuple[Scalar | None, ...]) -> None:
    columns, rows = sandbox.run("SELECT v, v FROM t", {"t": released(("v", type_, values))})
    assert columns == (("v", type_), ("v", type_))
    assert rows == tuple((value, value) for value in values)
    assert [type(row[0]) for row in rows] == [type(value) for value in values]
    assert sandbox.describe("SELECT v, v FROM t", {"t": [("v", type_)]}) == columns


def test_wide_integers_are_decimals_and_their_sums_stay_exact(sandbox: Sandbox) -> None:
    table = {"t": released(("v", HUGEINT, (10**37, None)), ("n", BIGINT, (2**63 - 1, 2**63 - 1)))}
    columns, rows = sandbox.run("SELECT MAX(v), SUM(n) FROM t", table)
    assert [type_ for _, type_ in columns] == [decimal(38, 0), HUGEINT]
    assert rows == ((10**37, 2**64 - 2),)


def test_empty_tables_and_nulls_have_types(sandbox: Sandbox) -> None:
    assert sandbox.run("SELECT k FROM t", {"t": released(("k", TEXT, ()))}) == ((("k", TEXT),), ())
    assert sandbox.run("SELECT k FROM t", {"t": released(("k", NULL, (None,)))})[1] == ((None,),)
    assert sandbox.describe("SELECT NULL AS x", {}) == (("x", TEXT),)


def test_decimals_are_rounded_to_their_digits(sandbox: Sandbox) -> None:
    table = {"t": released(("v", decimal(4, 1), (Decimal("1.25"), 1.5, 2)))}
    assert sandbox.run("SELECT v FROM t", table)[1] == ((Decimal("1.2"),), (Decimal("1.5"),), (Decimal("2.0"),))


def test_output_names_may_repeat(sandbox: Sandbox) -> None:
    sql = 'SELECT COUNT(*) AS count, COUNT(*) AS count, MIN(k) AS "COUNT" FROM r'
    columns, rows = sandbox.run(sql, NUMBERS)
    assert columns == (("count", BIGINT), ("count", BIGINT), ("COUNT", TEXT))
    assert rows == ((2, 2, "a"),)
    assert sandbox.describe(sql, {"r": [("k", TEXT), ("n", BIGINT)]}) == columns


def test_public_tables_are_there_in_any_case_and_cannot_be_changed_by_a_statement(sandbox: Sandbox) -> None:
    assert sandbox.run('SELECT name, people FROM region ORDER BY "People" DESC', {})[1] == (
        ("South", 20),
        ("North", 10),
    )
    assert sandbox.run("SELECT n, name FROM r JOIN region ON n * 10 = people", NUMBERS)[1] == (
        (1, "North"),
        (2, "South"),
    )


MISTAKES = [
    ("SELECT nothing FROM r", "42703", "nothing"),
    ("SELECT nothing", "42703", "nothing"),
    ("SELECT s.k FROM r", "42P01", "s"),
    ("SELECT * FROM nothing", "42P01", "nothing"),
    ("SELECT k FROM r a JOIN r b ON true", "42702", "k"),
    ("SELECT k, COUNT(*) FROM r", "42803", "k"),
    ("SELECT k FROM r WHERE COUNT(*) > 1", "42803", ""),
    ("SELECT k FROM r WHERE ROW_NUMBER() OVER () > 1", "42P20", ""),
    ("SELECT nothing(k) FROM r", "42883", ""),
    ("SELECT k + DATE '2020-01-01' FROM r", "42883", ""),
    ("SELECT k FROM r UNION SELECT k, n FROM r", "42601", ""),
    ("SELECT CAST(k AS INTEGER) FROM r", "22P02", ""),
    ("SELECT n * 9223372036854775807 * 9223372036854775807 * 9223372036854775807 FROM r", "22003", ""),
    ("SELECT LN(n - 1) FROM r", "22003", ""),
    ("SELECT k ~ '(' FROM r", "22000", ""),
    ("SELECT (SELECT n FROM r)", "22000|21000", ""),
    ("SELECT {'a': n} FROM r", "0A000", ""),
    ("SELECT DATE '9999-12-31' + n::int FROM r", "22008", ""),
]


@pytest.mark.parametrize(("sql", "sqlstate", "name"), MISTAKES)
def test_mistakes_are_told_in_our_own_words(sandbox: Sandbox, sql: str, sqlstate: str, name: str) -> None:
    error = failure(sandbox, sql)
    assert error.sqlstate in sqlstate.split("|")
    assert error.hint
    assert name in error.message
    for word in ("Binder", "Candidate", "Did you mean", "DuckDB", "LINE 1", "TRY("):
        assert word not in str(error)


def test_an_answer_is_the_same_every_time(sandbox: Sandbox) -> None:
    table = {
        "t": released(
            ("g", INTEGER, tuple(i * 7919 % 100 for i in range(5000))), ("v", DOUBLE, tuple(i / 7 for i in range(5000)))
        )
    }
    sql = "SELECT g, SUM(v), STRING_AGG(v::text, ',') FROM t GROUP BY g"
    first = sandbox.run(sql, table)
    assert all(sandbox.run(sql, table) == first for _ in range(5))


def test_a_public_table_that_does_not_fit_is_told_to_the_owner() -> None:
    small = Sandbox.open(memory="8MB")
    with pytest.raises(Error) as caught:
        small.load_public("huge", pa.table({"x": [f"{i:0200d}" for i in range(200_000)]}))
    assert caught.value.sqlstate == "53200"
    assert "huge" in caught.value.message
    small.close()


def test_the_time_of_a_statement_does_not_limit_what_is_copied_before_the_first() -> None:
    hurried = Sandbox.open(seconds=0.001)
    hurried.load_public("large", pa.table({"x": [f"{i:0100d}" for i in range(300_000)]}))
    with pytest.raises(Error) as caught:
        hurried.run("SELECT COUNT(*) FROM large AS a, large AS b, large AS c WHERE a.x < b.x", {})
    assert caught.value.sqlstate == "57014"
    with pytest.raises(RuntimeError, match="before statements"):
        hurried.load_public("late", pa.table({"x": [1]}))
    hurried.close()


def test_what_cannot_be_copied_is_told_without_the_engines_words() -> None:
    twice = Sandbox.open()
    twice.load_public("region", pa.table({"name": ["secret"]}))
    with pytest.raises(Error) as caught:
        twice.load_public("region", pa.table({"name": ["secret"]}))
    assert str(caught.value).startswith("the public table region cannot be copied: CatalogException")
    twice.close()


@pytest.mark.filterwarnings("error:Arrow output")
def test_a_long_answer_is_fetched_as_a_short_one(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """As columns from the second thousand on, with values of the same types."""
    numbers = tuple(range(5000))
    tables = {"r": released(("n", BIGINT, numbers))}
    cells = """n, CASE WHEN n % 3 > 0 THEN n END, n * 0.25, n * 0.5E0, CAST(n AS SMALLINT), CAST(n AS FLOAT) / 3,
        CAST(n AS VARCHAR), CASE WHEN n % 2 = 0 THEN n % 5 = 0 END, SUM(n) OVER (ORDER BY n), CAST(n AS HUGEINT) << 70"""
    for sql in (
        f"SELECT {cells} FROM r ORDER BY n",
        f"SELECT {cells}, DATE '2024-01-01' + CAST(n AS INT) FROM r ORDER BY n",
    ):
        found = {}
        for batch in (1000, 10**6):
            monkeypatch.setattr("dpsql.sandbox.sandbox._BATCH", batch)
            columns, rows = sandbox.run(sql, tables)
            found[batch] = columns, list(rows), [tuple(map(type, row)) for row in rows]
        assert found[1000] == found[10**6]
        assert len(found[1000][1]) == 5000
