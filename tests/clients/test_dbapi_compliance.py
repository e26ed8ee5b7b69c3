"""The DB-API's own compliance suite (package dbapi-compliance, module dbapi20), over tables that are there already.

The suite makes and fills its tables. dpsql only reads, so an owner's public tables stand in for them, and what the
suite's statements do is overridden; what it asserts is not:

- ``executeDDL1`` and ``executeDDL2`` make ``booze`` and ``barflys``. Here they are a SET, which has no rows either, and
  empty tables of the same names are preloaded.
- ``_populate`` fills ``booze``: its statements become a SET, and the cursors that read ``booze`` read the filled table.
- ``_paraminsert`` inserts with parameters and reads back: here parameters go through a SELECT, in both styles.
- ``test_cursor_isolation``, ``test_rowcount``, ``test_executemany``, ``test_None``: an INSERT in their midst; overridden
  with what a read-only connection owes instead.
- ``test_nextset``, ``test_setoutputsize``: the suite asks every driver to write them.
"""

from pathlib import Path
from typing import Any, ClassVar

import dbapi20
import duckdb
import pytest

import dpsql

POLICY = """
database: duckdb:pub.duckdb
ledger: sqlite:pub.ledger
privacy_unit: person.id
budget: {epsilon: 1}
statement: {epsilon: 0.1}
tables:
  person: {columns: {id: {}}}
  dbapi20test_booze: {public: true}
  dbapi20test_full: {public: true}
  dbapi20test_barflys: {public: true}
  dbapi20test_null: {public: true}
"""
NO_ROWS = "SET application_name = 'compliance'"
DRINK = "thi%s :may ca%(u)se? troub:1e"


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compliance")
    with duckdb.connect(str(folder / "pub.duckdb")) as engine:
        engine.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
        for name in ("booze", "full"):
            engine.execute(f"CREATE TABLE dbapi20test_{name} (name VARCHAR)")
        for name in ("barflys", "null"):
            engine.execute(f"CREATE TABLE dbapi20test_{name} (name VARCHAR, drink VARCHAR)")
        engine.executemany(
            "INSERT INTO dbapi20test_full VALUES (?)", [[name] for name in dbapi20.DatabaseAPI20Test.samples]
        )
        engine.execute("INSERT INTO dbapi20test_null VALUES ('a', NULL)")
    (folder / "policy.yaml").write_text(POLICY)
    return folder / "policy.yaml"


class Filled:
    """A connection whose cursors read the filled table once ``_populate``'s statements went through them."""

    def __init__(self, connection: dpsql.Connection) -> None:
        self._connection = connection

    def cursor(self) -> Any:
        class Cursor(dpsql.dbapi.Cursor):
            filled = False

            def execute(self, operation: str, parameters: Any = None) -> Any:
                if operation == "populate":
                    self.filled, operation = True, NO_ROWS
                table = "full" if self.filled else "booze"
                return super().execute(operation.replace("dbapi20test_booze", f"dbapi20test_{table}"), parameters)

        return Cursor(self._connection)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class TestCompliance(dbapi20.DatabaseAPI20Test):  # type: ignore[misc]
    driver = dpsql.dbapi
    ddl1 = ddl2 = NO_ROWS
    lower_func = None
    connect_kw_args: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def _over(self, preloaded: Path) -> None:
        self.connect_args = (str(preloaded),)

    def tearDown(self) -> None:
        """There is nothing to drop."""

    def _connect(self) -> Any:
        return Filled(super()._connect())

    def _populate(self) -> list[str]:
        return ["populate"]

    def _paraminsert(self, cur: Any) -> None:
        for statement, given in (
            ("SELECT CAST(? AS TEXT) AS beer, ? AS drink", ["Cooper's", DRINK]),
            ("SELECT CAST(:beer AS TEXT) AS beer, :drink AS drink", {"beer": "Cooper's", "drink": DRINK}),
        ):
            cur.execute(statement, given)
            assert cur.fetchall() == [("Cooper's", DRINK)]
            assert cur.rowcount in (-1, 1)

    def test_cursor_isolation(self) -> None:
        con = self._connect()
        first, second = con.cursor(), con.cursor()
        first.execute("SELECT name FROM dbapi20test_full ORDER BY name")
        second.execute("SELECT 1 AS one")
        assert first.fetchone() == (min(self.samples),)
        assert second.fetchall() == [(1,)]
        assert len(first.fetchall()) == len(self.samples) - 1

    def test_rowcount(self) -> None:
        cur = self._connect().cursor()
        assert cur.rowcount == -1
        cur.execute(NO_ROWS)
        assert cur.rowcount in (-1, 0)
        cur.execute("SELECT name FROM dbapi20test_full")
        assert cur.rowcount == len(self.samples)

    def test_executemany(self) -> None:
        """Nothing is inserted: each kind of write is refused with a DB-API error, and the cursor stays usable."""
        cur = self._connect().cursor()
        with pytest.raises(self.driver.NotSupportedError):
            cur.executemany("INSERT INTO dbapi20test_booze VALUES (?)", [["a"], ["b"]])
        for write in ("INSERT INTO dbapi20test_booze VALUES ('a')", "DROP TABLE dbapi20test_booze"):
            with pytest.raises(self.driver.NotSupportedError, match="only reads"):
                cur.execute(write)
        cur.execute("SELECT COUNT(*) FROM dbapi20test_booze")
        assert cur.fetchall() == [(0,)]

    def test_None(self) -> None:
        cur = self._connect().cursor()
        cur.execute("SELECT drink FROM dbapi20test_null")
        assert cur.fetchall() == [(None,)]

    def test_nextset(self) -> None:
        """A statement has one answer, so the optional method is left out."""
        assert not hasattr(self._connect().cursor(), "nextset")

    def test_setoutputsize(self) -> None:
        cur = self._connect().cursor()
        cur.setoutputsize(1, 0)
        cur.execute("SELECT name FROM dbapi20test_full ORDER BY name")
        assert cur.fetchone() == (min(self.samples),)
