"""PEP 249, sentence by sentence, and what a client program does with it."""

import datetime
import gc
import importlib.metadata
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pytest

import dpsql
from dpsql.accounting.loss import PrivacyLoss
from dpsql.proxy import Proxy
from dpsql.reply import Answer, AnswerColumn, Budget, Explanation
from rewriter.declared.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    NULL,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    Kind,
    decimal,
)

LEFT = Budget(Fraction(10), Fraction(1, 10**6), 0.5, 9.5, 40, "zcdp", PrivacyLoss(rho=Fraction(3, 2)))
NOON = datetime.datetime(2025, 3, 1, 12, 30)
ROWS = (
    ("F", 12, 1.5, Decimal("3.25"), datetime.date(2025, 3, 1), NOON, True, 2**70, None, 7),
    ("M", 11, 2.5, Decimal("4.25"), datetime.date(2025, 4, 1), NOON, False, -(2**70), None, 8),
    (None, None, None, None, None, None, None, None, None, None),
)
TYPES = {
    "sex": TEXT,
    "n": BIGINT,
    "mean": DOUBLE,
    "cost": decimal(8, 2),
    "day": DATE,
    "at": TIMESTAMP,
    "ok": BOOLEAN,
    "huge": HUGEINT,
    "nothing": NULL,
    "small": SMALLINT,
}
ANSWER = Answer(
    columns=tuple(AnswerColumn(name, of) for name, of in TYPES.items()),
    rows=ROWS,
    margins=tuple((None, 2.0, *[None] * 8) for _ in ROWS),
    price=PrivacyLoss(rho=Fraction(1, 200)),
    epsilon=Fraction(1, 10),
    budget=lambda: LEFT,
    notices=("clipped",),
)


class FakeSession:
    """Answers SELECT with ANSWER, SET with nothing, and notices when two statements meet."""

    def __init__(self, proxy: "FakeProxy", analyst: str | None) -> None:
        self.analyst = analyst or "analyst"
        self._proxy = proxy
        self._busy = False

    def execute(self, sql: str, parameters: object = (), progress: object = None) -> Answer:
        assert not self._busy, "two statements at once in one session"
        assert not self._proxy.closed
        self._busy = True
        try:
            self._proxy.statements.append((sql, parameters))
            if "slow" in sql:
                time.sleep(0.005)
            if "broken" in sql:
                raise dpsql.ProgrammingError("no such table", sqlstate="42P01", hint="ask another", position=15)
            return Answer(tag="SET", budget=lambda: LEFT) if sql.startswith("SET") else ANSWER
        finally:
            self._busy = False

    def budget(self) -> Budget:
        return LEFT


class FakeProxy:
    def __init__(self) -> None:
        self.closed = 0
        self.statements: list[tuple[str, object]] = []

    def session(self, analyst: str | None = None) -> FakeSession:
        if analyst == "stranger":
            raise dpsql.OperationalError("unknown analyst", sqlstate="28000")
        return FakeSession(self, analyst)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def proxy() -> FakeProxy:
    return FakeProxy()


@pytest.fixture
def connection(proxy: FakeProxy) -> Iterator[dpsql.Connection]:
    with dpsql.connect(proxy) as opened:  # type: ignore[arg-type]
        yield opened


@pytest.fixture
def cursor(connection: dpsql.Connection) -> dpsql.Cursor:
    return connection.cursor()


# The module


def test_the_globals_are_declared() -> None:
    assert (dpsql.apilevel, dpsql.threadsafety, dpsql.paramstyle) == ("2.0", 2, "qmark")


def test_the_exceptions_form_the_tree_of_the_standard() -> None:
    assert issubclass(dpsql.Warning, Exception)
    assert issubclass(dpsql.Error, Exception)
    assert not issubclass(dpsql.Warning, dpsql.Error)
    assert dpsql.InterfaceError.__bases__ == dpsql.DatabaseError.__bases__ == (dpsql.Error,)
    for name in ("Data", "Operational", "Integrity", "Internal", "Programming", "NotSupported"):
        assert getattr(dpsql, f"{name}Error").__bases__ == (dpsql.DatabaseError,)
    assert issubclass(dpsql.BudgetExceeded, dpsql.OperationalError)


def test_the_exceptions_are_attributes_of_a_connection(connection: dpsql.Connection) -> None:
    names = [name for name in dpsql.__all__ if name.endswith("Error") or name in ("Warning", "BudgetExceeded")]
    assert len(names) == 11
    for name in names:
        assert getattr(connection, name) is getattr(dpsql, name)


def test_exactly_the_public_names_are_exported() -> None:
    assert len(dpsql.__all__) == len(set(dpsql.__all__))
    assert all(hasattr(dpsql, name) for name in dpsql.__all__)
    public = {name for name in vars(dpsql) if not name.startswith("_") and not _is_module(getattr(dpsql, name))}
    assert public == {name for name in dpsql.__all__ if not name.startswith("_")}


def _is_module(thing: object) -> bool:
    return type(thing).__name__ == "module"


def test_the_version_is_the_version_of_the_package() -> None:
    assert dpsql.__version__ == importlib.metadata.version("dpsql")


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "duckdb sqlglot opendp pyarrow numpy scipy pydantic yaml rich pandas polars sqlite3"
    program = f"import sys, dpsql; print([name for name in '{heavy}'.split() if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["query", "--help"], ["--version"], []], ids=str)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    heavy = "duckdb sqlglot opendp pyarrow numpy scipy pydantic yaml rich pandas polars sqlite3 psycopg rewriter.plan"
    program = f"""
import atexit, sys
atexit.register(lambda: print([name for name in {heavy.split()} if name in sys.modules], file=sys.stderr))
from dpsql.interfaces.commands import main
sys.argv = ["dpsql", *{arguments}]
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "dpsql" in done.stdout


def test_a_command_loads_no_data_frames_and_a_program_of_its_users_does(tmp_path: Path) -> None:
    """Arrow looks for pandas with the first array that it makes, and never again."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE patient AS SELECT range AS id FROM range(50); ALTER TABLE patient ADD PRIMARY KEY (id)"
        )
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "database: duckdb:clinic.duckdb\nledger: sqlite:clinic.ledger\nprivacy_unit: patient.id\n"
        "budget: {epsilon: 10, delta: 1e-6}\ntables: {patient: {columns: {id: {}}}}\n"
    )
    asked = "SELECT COUNT(*) AS n FROM patient"
    command = f"""
import atexit, sys
atexit.register(lambda: print("pandas" in sys.modules, file=sys.stderr))
from dpsql.interfaces.commands import main
sys.argv = ["dpsql", "query", {str(policy)!r}, {asked!r}, "--format", "csv"]
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("n\n")
    assert done.stderr.splitlines()[-1] == "False"
    program = f"""
import dpsql
from dpsql.interfaces.commands import main
assert main(["explain", {str(policy)!r}, {asked!r}]) == 0
with dpsql.connect({str(policy)!r}) as connection:
    cursor = connection.cursor()
    cursor.execute({asked!r})
    print(len(cursor.df()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("1\n")


def test_a_command_looks_for_garbage_a_few_times(tmp_path: Path) -> None:
    """Python looks every 700 objects, hundreds of times before a first answer, at imports that stay."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE patient AS SELECT range AS id FROM range(50)")
        connection.execute("ALTER TABLE patient ADD PRIMARY KEY (id)")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "database: duckdb:clinic.duckdb\nledger: sqlite:clinic.ledger\nprivacy_unit: patient.id\n"
        "budget: {epsilon: 10, delta: 1e-6}\ntables: {patient: {columns: {id: {}}}}\n"
    )
    command = f"""
import atexit, gc, sys
atexit.register(lambda: print(sum(one["collections"] for one in gc.get_stats()), file=sys.stderr))
from dpsql.interfaces.commands import main
sys.argv = ["dpsql", "explain", {str(policy)!r}, "SELECT COUNT(*) FROM patient"]
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert int(done.stderr.splitlines()[-1]) < 60


def test_constructors_make_the_values_of_the_standard() -> None:
    assert dpsql.Date(2025, 3, 1) == datetime.date(2025, 3, 1)
    assert dpsql.Time(1, 2, 3) == datetime.time(1, 2, 3)
    assert dpsql.Timestamp(2025, 3, 1, 1, 2, 3) == datetime.datetime(2025, 3, 1, 1, 2, 3)
    ticks = time.mktime((2025, 3, 1, 1, 2, 3, 0, 0, -1))
    assert dpsql.DateFromTicks(ticks) == datetime.date(2025, 3, 1)
    assert dpsql.TimeFromTicks(ticks) == datetime.time(1, 2, 3)
    assert dpsql.TimestampFromTicks(ticks) == datetime.datetime(2025, 3, 1, 1, 2, 3)
    assert dpsql.Binary(b"\x00") == b"\x00"


def test_every_kind_equals_at_most_one_type_object() -> None:
    objects = (dpsql.STRING, dpsql.BINARY, dpsql.NUMBER, dpsql.DATETIME, dpsql.BOOLEAN, dpsql.ROWID)
    for kind in Kind:
        equal = [one for one in objects if kind == one and one == kind]
        assert len(equal) == (0 if kind is Kind.NULL else 1)
    assert all((one == other) == (one is other) for one in objects for other in objects)
    assert dpsql.STRING != "text"  # a plain text is no type code


# Connections


def test_a_closed_connection_refuses_everything_but_closing(connection: dpsql.Connection) -> None:
    cursor = connection.cursor()
    connection.close()
    connection.close()
    assert connection.closed
    uses: list[Callable[[], object]] = [
        connection.cursor,
        connection.commit,
        connection.rollback,
        connection.budget,
        connection.__enter__,
        lambda: connection.set("epsilon", 1),
        lambda: connection.explain("SELECT 1"),
        lambda: cursor.execute("SELECT 1"),
        lambda: cursor.fetchall(),
        lambda: cursor.executemany("SELECT 1", []),
    ]
    for use in uses:
        with pytest.raises(dpsql.InterfaceError, match="closed"):
            use()


def test_commit_and_rollback_do_nothing_and_do_not_raise(connection: dpsql.Connection, proxy: FakeProxy) -> None:
    connection.commit()
    connection.rollback()
    assert proxy.statements == []


def test_a_connection_closes_at_the_end_of_its_block(proxy: FakeProxy) -> None:
    with pytest.raises(KeyError), dpsql.connect(proxy) as connection:  # type: ignore[arg-type]
        raise KeyError
    assert connection.closed
    assert proxy.closed == 0, "a proxy that was handed in belongs to somebody else"


def test_settings_are_set_before_the_first_statement(proxy: FakeProxy) -> None:
    dpsql.connect(proxy, analyst="ana", epsilon=0.5, reuse=False, intervals=True)  # type: ignore[arg-type]
    assert [sql for sql, _ in proxy.statements] == [
        "SET dpsql.epsilon = '0.5'",
        "SET dpsql.reuse = 'off'",
        "SET dpsql.intervals = 'on'",
    ]


def test_a_setting_cannot_smuggle_sql(proxy: FakeProxy) -> None:
    with pytest.raises(dpsql.DataError):
        dpsql.connect(proxy, **{"epsilon = 1; SET x": 1})  # type: ignore[arg-type]
    dpsql.connect(proxy, epsilon="1'; SELECT '")  # type: ignore[arg-type]
    assert proxy.statements == [("SET dpsql.epsilon = '1''; SELECT '''", ())]


def test_threads_may_share_a_connection(connection: dpsql.Connection, proxy: FakeProxy) -> None:
    def ask(number: int) -> int:
        return len(connection.cursor().execute(f"SELECT slow {number}").fetchall())

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(40))) == [3] * 40
    assert len(proxy.statements) == 40


def test_closing_waits_for_the_statement_that_runs(proxy: FakeProxy) -> None:
    connection = dpsql.connect(proxy)  # type: ignore[arg-type]
    entered, go = threading.Event(), threading.Event()
    seen_closed = []

    def execute(sql: str, parameters: object = (), progress: object = None) -> Answer:
        entered.set()
        assert go.wait(60)
        seen_closed.append(connection.closed)
        return ANSWER

    connection._session.execute = execute  # type: ignore[method-assign, assignment]
    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(connection.answer, "SELECT 1")
        assert entered.wait(60)
        closed = threads.submit(connection.close)
        time.sleep(0.05)
        go.set()
        closed.result(60)
        assert asked.result(60) == ANSWER
    assert seen_closed == [False]
    assert connection.closed


# One proxy per policy file


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[FakeProxy]:
    proxies: list[FakeProxy] = []

    def open_fake(path: object) -> FakeProxy:
        time.sleep(0.02)
        proxies.append(FakeProxy())
        return proxies[-1]

    monkeypatch.setattr(Proxy, "open", open_fake)
    return proxies


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text("first")
    return path


def test_connections_to_one_policy_share_a_proxy_that_closes_with_the_last(
    opened: list[FakeProxy], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    link = path.with_name("link.yaml")
    link.symlink_to(path)
    connections = [dpsql.connect(path), dpsql.connect(str(path)), dpsql.connect("policy.yaml"), dpsql.connect(link)]
    assert len(opened) == 1
    for connection in connections:
        assert opened[0].closed == 0
        connection.close()
    assert opened[0].closed == 1
    dpsql.connect(path).close()
    assert len(opened) == 2


def test_threads_that_connect_together_open_one_proxy(opened: list[FakeProxy], path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        connections = list(threads.map(lambda _: dpsql.connect(path), range(16)))
    assert len(opened) == 1
    for connection in connections:
        connection.close()
    assert opened[0].closed == 1


def test_a_forgotten_connection_lets_go_of_its_proxy(opened: list[FakeProxy], path: Path) -> None:
    dpsql.connect(path).cursor().execute("SELECT 1")
    gc.collect()
    assert opened[0].closed == 1


def test_a_changed_policy_is_read_anew(opened: list[FakeProxy], path: Path) -> None:
    with dpsql.connect(path):
        path.write_text("a stricter one")
        with dpsql.connect(path):
            assert [proxy.closed for proxy in opened] == [0, 0]
        assert [proxy.closed for proxy in opened] == [0, 1]


@pytest.mark.parametrize("bad", [{"analyst": "stranger"}, {"no setting": 1}])
def test_a_connection_that_fails_leaves_no_proxy_behind(
    opened: list[FakeProxy], path: Path, bad: dict[str, str]
) -> None:
    with pytest.raises(dpsql.DatabaseError):
        dpsql.connect(path, **bad)
    gc.collect()
    assert [proxy.closed for proxy in opened] == [1]


def test_a_policy_that_is_not_there_is_an_operational_error(tmp_path: Path) -> None:
    with pytest.raises(dpsql.OperationalError, match="No such file") as caught:
        dpsql.connect(tmp_path / "none.yaml")
    assert caught.value.sqlstate == "58P01"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_its_own_proxy(opened: list[FakeProxy], path: Path) -> None:
    with dpsql.connect(path):
        child = os.fork()
        if child == 0:
            dpsql.connect(path)
            os._exit(len(opened))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


# Cursors


def test_a_new_cursor_has_nothing(cursor: dpsql.Cursor, connection: dpsql.Connection) -> None:
    assert cursor.description is None
    assert cursor.rowcount == -1
    assert cursor.rownumber is None
    assert cursor.arraysize == 1
    assert cursor.lastrowid is None
    assert cursor.connection is connection
    for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.arrow, lambda: list(cursor)):
        with pytest.raises(dpsql.ProgrammingError):
            fetch()
    for extra in ("price", "epsilon", "margins", "notices", "remaining"):
        with pytest.raises(dpsql.ProgrammingError):
            getattr(cursor, extra)


def test_the_description_has_seven_items_per_column(cursor: dpsql.Cursor) -> None:
    description = cursor.execute("SELECT 1").description
    assert description is not None
    assert [column[0] for column in description] == list(TYPES)
    assert all(len(column) == 7 for column in description)
    codes = {column[0]: column[1] for column in description}
    assert codes["sex"] == dpsql.STRING
    assert all(codes[name] == dpsql.NUMBER for name in ("n", "mean", "cost", "huge", "small"))
    assert all(codes[name] == dpsql.DATETIME for name in ("day", "at"))
    assert codes["ok"] == dpsql.BOOLEAN
    assert codes["ok"] != dpsql.NUMBER
    sized = {column[0]: column[4:6] for column in description}
    assert sized["cost"] == (8, 2)


def test_fetching_hands_out_every_row_once(cursor: dpsql.Cursor) -> None:
    assert cursor.execute("SELECT 1") is cursor
    assert cursor.rowcount == 3
    assert cursor.fetchone() == ROWS[0]
    assert cursor.rownumber == 1
    assert cursor.fetchmany() == [ROWS[1]]
    assert cursor.fetchmany(5) == [ROWS[2]]
    assert cursor.fetchone() is None
    assert cursor.fetchmany(5) == []
    assert cursor.fetchall() == []
    assert cursor.rowcount == 3


def test_arraysize_is_what_fetchmany_takes(cursor: dpsql.Cursor) -> None:
    cursor.arraysize = 2
    cursor.execute("SELECT 1")
    assert cursor.fetchmany() == list(ROWS[:2])
    assert cursor.fetchmany(0) == []
    assert cursor.fetchmany() == list(ROWS[2:])


def test_a_cursor_is_its_own_iterator(cursor: dpsql.Cursor) -> None:
    cursor.execute("SELECT 1")
    assert next(cursor) == ROWS[0]
    assert list(cursor) == list(ROWS[1:])


def test_two_cursors_of_a_connection_do_not_share_rows(connection: dpsql.Connection) -> None:
    one, other = connection.cursor().execute("SELECT 1"), connection.cursor().execute("SELECT 1")
    assert one.fetchall() == other.fetchall() == list(ROWS)


def test_a_statement_without_rows_has_no_description(cursor: dpsql.Cursor) -> None:
    cursor.execute("SELECT 1").execute("SET dpsql.epsilon = 1")
    assert cursor.description is None
    assert cursor.rowcount == -1
    with pytest.raises(dpsql.ProgrammingError, match="SET has no rows"):
        cursor.fetchall()


def test_a_failed_statement_leaves_no_earlier_rows(cursor: dpsql.Cursor) -> None:
    cursor.execute("SELECT 1")
    with pytest.raises(dpsql.ProgrammingError) as caught:
        cursor.execute("SELECT * FROM broken")
    assert (caught.value.sqlstate, caught.value.hint, caught.value.position) == ("42P01", "ask another", 15)
    assert cursor.description is None
    with pytest.raises(dpsql.ProgrammingError):
        cursor.fetchone()
    assert cursor.execute("SELECT 1").rowcount == 3


@pytest.mark.parametrize("given", [(), (1, "x"), [1, None], {"name": 1}, None])
def test_parameters_reach_the_session(cursor: dpsql.Cursor, proxy: FakeProxy, given: object) -> None:
    cursor.execute("SELECT ?", given)  # type: ignore[arg-type]
    assert proxy.statements == [("SELECT ?", () if given is None else given)]


@pytest.mark.parametrize("given", ["ab", b"ab", 3, iter([1])])
def test_what_is_no_sequence_of_parameters_is_refused(cursor: dpsql.Cursor, proxy: FakeProxy, given: object) -> None:
    with pytest.raises(dpsql.InterfaceError):
        cursor.execute("SELECT ?", given)  # type: ignore[arg-type]
    assert proxy.statements == []


def test_a_statement_that_is_no_text_is_refused(cursor: dpsql.Cursor) -> None:
    with pytest.raises(dpsql.InterfaceError, match="bytes"):
        cursor.execute(b"SELECT 1")  # type: ignore[arg-type]


def test_executemany_is_refused_before_anything_is_paid(cursor: dpsql.Cursor, proxy: FakeProxy) -> None:
    with pytest.raises(dpsql.NotSupportedError) as caught:
        cursor.executemany("SELECT ?", [(1,), (2,)])
    assert "execute" in caught.value.hint
    assert proxy.statements == []


def test_a_closed_cursor_refuses_everything_but_closing(cursor: dpsql.Cursor) -> None:
    with cursor:
        cursor.execute("SELECT 1")
    cursor.close()
    assert cursor.description is None
    for use in (cursor.fetchone, cursor.fetchall, lambda: cursor.execute("SELECT 1"), cursor.__enter__, cursor.arrow):
        with pytest.raises(dpsql.InterfaceError, match="closed"):
            use()


def test_sizes_may_be_set_without_effect(cursor: dpsql.Cursor) -> None:
    cursor.setinputsizes([25])
    cursor.setoutputsize(1000)
    cursor.setoutputsize(2000, 0)


def test_a_cursor_tells_price_and_error_bars(cursor: dpsql.Cursor) -> None:
    cursor.execute("SELECT 1")
    cursor.fetchall()
    assert cursor.epsilon == Fraction(1, 10)
    assert cursor.price == PrivacyLoss(rho=Fraction(1, 200))
    assert [row[1] for row in cursor.margins] == [2.0, 2.0, 2.0]
    assert cursor.notices == ("clipped",)
    assert cursor.remaining == LEFT


# Frames


def test_arrow_keeps_types_and_values(cursor: dpsql.Cursor) -> None:
    table = cursor.execute("SELECT 1").arrow()
    assert table.schema.names == list(TYPES)
    assert table.schema.types == [
        pyarrow.string(),
        pyarrow.int64(),
        pyarrow.float64(),
        pyarrow.decimal128(8, 2),
        pyarrow.date32(),
        pyarrow.timestamp("us"),
        pyarrow.bool_(),
        pyarrow.decimal128(38, 0),
        pyarrow.null(),
        pyarrow.int16(),
    ]
    assert [tuple(row.values()) for row in table.to_pylist()] == list(ROWS)


def test_frames_hold_the_whole_answer_and_fetch_nothing(cursor: dpsql.Cursor) -> None:
    cursor.execute("SELECT 1")
    cursor.fetchone()
    for _ in range(2):
        assert cursor.arrow()["sex"].to_pylist() == ["F", "M", None]
    assert [row[0] for row in cursor.fetchall()] == ["M", None]
    assert cursor.execute("SELECT 1").df()["sex"].tolist()[:2] == ["F", "M"]
    assert cursor.execute("SELECT 1").pl()["n"].to_list() == [12, 11, None]


def test_polars_infers_every_type_from_the_description(connection: dpsql.Connection) -> None:
    frame = polars.read_database("SELECT 1", connection)
    assert frame.rows() == list(ROWS)
    assert frame.schema["huge"] == polars.Decimal(38, 0)
    assert frame.schema["small"] == polars.Int16
    assert frame.schema["cost"] == polars.Decimal(8, 2)
    assert frame.schema["at"] == polars.Datetime("us")


# The real thing

FOUR_COUNTS = """
    SELECT sex,
           COUNT(*) FILTER (WHERE weight_kg / ((height_cm/100.0)*(height_cm/100.0)) < ?) AS slim,
           COUNT(*) AS everyone
    FROM patient GROUP BY sex ORDER BY sex
"""


def test_a_program_asks_and_reads_its_error_bars(policy: Path) -> None:
    with dpsql.connect(policy, "ana", epsilon=1) as connection, connection.cursor() as cursor:
        cursor.execute(FOUR_COUNTS, [25])
        rows = cursor.fetchall()
        assert [row[0] for row in rows] == ["F", "M"]
        assert abs(sum(row[2] for row in rows) - 10_000) < 60  # type: ignore[operator]
        assert cursor.epsilon == 1
        assert cursor.price.rho == Fraction(1, 2)
        assert [len(row) for row in cursor.margins] == [3, 3]
        assert all(margin is not None and 0 < margin < 30 for row in cursor.margins for margin in row[1:])
        assert connection.budget().spent_epsilon > 0


def test_named_parameters_mean_the_same(policy: Path) -> None:
    with dpsql.connect(policy, "ana") as connection:
        first = connection.cursor().execute(FOUR_COUNTS, (25,))
        second = connection.cursor().execute(FOUR_COUNTS.replace("?", ":limit"), {"limit": 25})
        assert second.fetchall() == first.fetchall()
        assert (first.epsilon, second.epsilon) == (Fraction(1, 4), 0)


def test_a_rollback_gives_nothing_back(policy: Path) -> None:
    with dpsql.connect(policy, "ana") as connection:
        connection.cursor().execute("SELECT COUNT(*) FROM patient")
        before = connection.budget()
        connection.rollback()
        assert connection.budget() == before
        assert before.spent_epsilon > 0


def test_a_refusal_has_its_fields_as_data(policy: Path) -> None:
    with dpsql.connect(policy, "ana") as connection, pytest.raises(dpsql.Error) as caught:
        connection.cursor().execute("SELECT * FROM patient")
    assert isinstance(caught.value, dpsql.NotSupportedError)
    assert caught.value.sqlstate in ("42501", "0A000")
    assert caught.value.hint
    assert "HINT" in str(caught.value)


def test_explaining_is_free(policy: Path) -> None:
    with dpsql.connect(policy, "ana") as connection:
        told = connection.cursor().explain(FOUR_COUNTS, [25])
        assert isinstance(told, Explanation)
        assert told.price
        rows = connection.execute("EXPLAIN SELECT COUNT(*) FROM patient").fetchall()
        shown = repr(connection.explain("SELECT COUNT(*) FROM patient"))
        assert re.fullmatch(r"<Explanation of count ± [\d.,]+ at ε = [\d.]+>", shown), shown
        assert str(connection.cursor().explain("SELECT COUNT(*) FROM patient")).split("\n") == [
            line for (line,) in rows
        ]
        assert connection.budget().spent_epsilon == 0


def test_an_unknown_analyst_does_not_connect(policy: Path) -> None:
    with pytest.raises(dpsql.OperationalError) as caught:
        dpsql.connect(policy, "stranger")
    assert caught.value.sqlstate == "28000"


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_pandas_reads_a_query(policy: Path) -> None:
    with dpsql.connect(policy, "ana") as connection:
        frame = pandas.read_sql(FOUR_COUNTS, connection, params=(25,))
        assert list(frame.columns) == ["sex", "slim", "everyone"]
        assert frame["everyone"].dtype == "int64"
        assert abs(frame["everyone"].sum() - 10_000) < 300


def test_polars_reads_a_query(policy: Path) -> None:
    with dpsql.connect(policy, "ana") as connection:
        frame = polars.read_database("SELECT sex, AVG(height_cm) AS h FROM patient GROUP BY sex", connection)
        assert frame.schema == {"sex": polars.String, "h": polars.Float64}
        assert frame["h"].is_between(150, 200).all()


def test_many_threads_on_one_real_connection(policy: Path) -> None:
    with dpsql.connect(policy, "ana", epsilon=0.1) as connection:
        sql = "SELECT COUNT(*) FROM patient WHERE birth_year < ?"
        with ThreadPoolExecutor(8) as threads:
            cursors = list(threads.map(lambda year: connection.cursor().execute(sql, (year,)), range(1950, 1966)))
        spent = connection.budget().spent_epsilon
        assert all(cursor.rowcount == 1 and cursor.epsilon == Fraction(1, 10) for cursor in cursors)
    with dpsql.connect(policy, "ana") as again:
        assert again.budget().spent_epsilon == spent


def test_a_connection_executes_on_a_cursor_of_its_own(policy: Path) -> None:
    with dpsql.connect(policy, analyst="ana") as connection:
        first = connection.execute("SELECT 1 AS x")
        assert connection.execute("SELECT ?", [2]).fetchall() == [(2,)]
        assert first.fetchall() == [(1,)]
