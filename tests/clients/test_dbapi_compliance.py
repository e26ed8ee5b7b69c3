"""The DB-API's own compliance suite (package dbapi-compliance, module dbapi20), over tables that are there already.

The suite makes and fills its tables. dpsql only reads, so an owner's public tables stand in for them, and what the
suite's statements do is overridden; what it asserts is not:

- ``executeDDL1`` and ``executeDDL2`` make ``booze`` and ``barflys``. Here they are a SET, which has no rows either, and
  empty tables of the same names are preloaded.
- ``_populate`` and the suite's INSERTs become a SET too, after which its queries read a preloaded table that holds those
  rows (``LOADED``).
- ``_paraminsert`` inserts with parameters and reads back: here parameters go through a SELECT, in both styles.
- ``test_executemany``: refused, with a DB-API error, as every write is.
- ``test_non_idempotent_close``: the suite wants the second ``close`` to raise; PEP 249 does not, and no pool expects it.
- ``test_nextset``, ``test_setoutputsize``: the suite asks every driver to write them.
"""

from pathlib import Path
from typing import Any, ClassVar

import dbapi20
import duckdb
import pytest

import dpsql
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:pub.duckdb; ledger: sqlite:pub.ledger; privacy_unit: person.id; budget: {epsilon: 1}
statement: {epsilon: 0.1}
tables:
  person: id
  dbapi20test_booze: public
  dbapi20test_full: public
  dbapi20test_one: public
  dbapi20test_barflys: public
  dbapi20test_null: public
""")
NO_ROWS = "SET application_name = 'compliance'"
DRINK = "thi%s :may ca%(u)se? troub:1e"


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compliance")
    with duckdb.connect(str(folder / "pub.duckdb")) as engine:
        engine.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
        for name in ("booze", "one", "full"):
            engine.execute(f"CREATE TABLE dbapi20test_{name} (name VARCHAR)")
        for name in ("barflys", "null"):
            engine.execute(f"CREATE TABLE dbapi20test_{name} (name VARCHAR, drink VARCHAR)")
        engine.executemany(
            "INSERT INTO dbapi20test_full VALUES (?)", [[name] for name in dbapi20.DatabaseAPI20Test.samples]
        )
        engine.execute("INSERT INTO dbapi20test_one VALUES ('Victoria Bitter')")
        engine.execute("INSERT INTO dbapi20test_null VALUES ('a', NULL)")
    (folder / "policy.yaml").write_text(POLICY)
    return folder / "policy.yaml"


LOADED = {
    "populate": {"booze": "full"},
    "insert into dbapi20test_booze values ('Victoria Bitter')": {"booze": "one"},
    "insert into dbapi20test_barflys values ('a', NULL)": {"barflys": "null"},
}
"""The suite's writes, and the preloaded tables that hold what they would have written."""


class Preloaded:
    """A connection on which the suite's writes choose which preloaded table its queries read."""

    def __init__(self, connection: dpsql.Connection) -> None:
        self._connection = connection
        self.chosen: dict[str, str] = {}

    def cursor(self) -> Any:
        self._connection.check_open()
        chosen = self.chosen

        class Overridden(dpsql.Cursor):
            def execute(self, operation: str, parameters: Any = None) -> Any:
                if operation in LOADED:
                    chosen.update(LOADED[operation])
                    operation = NO_ROWS
                for name, table in chosen.items():
                    operation = operation.replace(f"dbapi20test_{name}", f"dbapi20test_{table}")
                return super().execute(operation, parameters)

        return Overridden(self._connection)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class TestCompliance(dbapi20.DatabaseAPI20Test):  # type: ignore[misc]
    driver = dpsql
    ddl1 = ddl2 = NO_ROWS
    lower_func = None
    connect_kw_args: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def _over(self, preloaded: Path) -> None:
        self.connect_args = (str(preloaded),)

    def tearDown(self) -> None:
        """There is nothing to drop."""

    def _connect(self) -> Any:
        return Preloaded(super()._connect())

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

    def test_non_idempotent_close(self) -> None:
        con = self._connect()
        con.close()
        con.close()
        with pytest.raises(self.driver.Error):
            con.cursor()

    def test_nextset(self) -> None:
        """A statement has one answer, so the optional method is left out."""
        assert not hasattr(self._connect().cursor(), "nextset")

    def test_setoutputsize(self) -> None:
        cur = self._connect().cursor()
        cur.setoutputsize(1, 0)
        cur.execute("SELECT name FROM dbapi20test_full ORDER BY name")
        assert cur.fetchone() == (min(self.samples),)
