"""SQLAlchemy's suite makes and fills its tables. Here the owner does, in DuckDB, and declares them all public."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import sqlalchemy
from sqlalchemy import create_engine, schema, testing
from sqlalchemy.testing import config

from dpsql.interfaces.sqlalchemy import DPSQLDialect
from tests.policies import policy_text

HEAD = policy_text("""
database: duckdb:suite.duckdb; ledger: sqlite:suite.ledger; privacy_unit: person.id; budget: {epsilon: 1}
statement: {epsilon: 0.1}
tables:
  person: id
""")


def policy(folder: Path, metadata: Any = None, fill: Any = None) -> str:
    """The URL of a policy over the tables of ``metadata``, which ``fill(owner)`` has filled."""
    with duckdb.connect(str(folder / "suite.duckdb")) as engine:
        engine.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
        names = []
        for table in () if metadata is None else metadata.sorted_tables:
            engine.execute(str(schema.CreateTable(table).compile(dialect=DPSQLDialect())).replace("SERIAL", "INTEGER"))
            names.append(table.name)
        if fill is not None:
            fill(Owner(engine))
    (folder / "policy.yaml").write_text(HEAD + "".join(f"  {name}: {{public: true}}\n" for name in names))
    return f"dpsql:///{folder / 'policy.yaml'}"


class Owner:
    """The owner's connection, as far as ``insert_data`` uses one."""

    def __init__(self, engine: duckdb.DuckDBPyConnection) -> None:
        self._engine = engine

    def execute(self, statement: Any, rows: Any = None) -> None:
        dialect = DPSQLDialect(paramstyle="qmark")
        given = rows if isinstance(rows, list) else [rows or {}]
        for row in given:
            compiled = statement.compile(dialect=dialect, column_keys=list(row) or None)
            values = compiled.construct_params(row)
            processors = compiled._bind_processors
            ready = [
                processors[name](values[name]) if name in processors else values[name]
                for name in compiled.positiontup or ()
            ]
            self._engine.execute(str(compiled), ready)


class PreloadedTables:
    """Mixed into a class of the suite before its own base: its tables are there when the test begins."""

    run_deletes = None

    @classmethod
    def _setup_once_tables(cls) -> None:
        cls.define_tables(cls._tables_metadata)  # type: ignore[attr-defined]
        cls.tables.update(cls._tables_metadata.tables)  # type: ignore[attr-defined]
        cls._folder = Path(tempfile.mkdtemp(prefix="dpsql-suite-"))  # type: ignore[attr-defined]
        cls._load_fixtures = classmethod(lambda _: None)  # type: ignore[attr-defined]
        cls.bind = create_engine(policy(cls._folder, cls._tables_metadata, cls.insert_data))  # type: ignore[attr-defined]
        # Half of the suite's tests connect by this name instead of by their class's bind.
        cls._empty = config.db  # type: ignore[attr-defined]
        config.db = testing.db = cls.bind  # type: ignore[attr-defined]

    @classmethod
    def _setup_once_inserts(cls) -> None:
        """Filled by the owner."""

    def _setup_each_tables(self) -> None:
        """Made by the owner."""

    def _setup_each_inserts(self) -> None:
        """Filled by the owner."""

    def _teardown_each_tables(self) -> None:
        """Kept until the class is done."""

    @classmethod
    def _teardown_once_metadata_bind(cls) -> None:
        config.db = testing.db = cls._empty  # type: ignore[attr-defined]
        cls.bind.dispose()  # type: ignore[attr-defined]
        shutil.rmtree(cls._folder, ignore_errors=True)  # type: ignore[attr-defined]

    @config.fixture()
    def connection(self) -> Iterator[sqlalchemy.Connection]:
        with self.bind.connect() as connection:  # type: ignore[attr-defined]
            yield connection
