"""TPC-H on a Spark of ours, with a master and two workers, and the same rows in a DuckDB without keys.

Each line has the key of its customer, as the guide advises for Spark, whose keys nobody enforces.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from dpsql.engines import Engine
from dpsql.engines.spark.spark_session import SparkLine, connect
from dpsql.opened import Opened, open_policy
from rewriter.declared import Catalog, Norm
from rewriter.declared.catalog import Table
from rewriter.front_door import Select, parse, rewrite
from rewriter.plan import Plan
from tests.bench.tpch import data
from tests.engines.spark_server import SparkServer, copy_to_spark

TABLES = ("region", "nation", "customer", "orders", "lineitem")
POLICY = data.POLICY.replace(
    "unit: [l_orderkey -> orders.o_orderkey, o_custkey -> customer.c_custkey]", "unit: l_custkey -> customer.c_custkey"
).replace("l_orderkey: {{{{}}}}", "l_orderkey: {{{{}}}}\n      l_custkey: {{{{}}}}")


@dataclass(frozen=True, slots=True)
class World:
    """TPC-H at one scale: two policies, open, and a session of Spark's for what is asked without privacy."""

    scale: float
    folder: Path
    server: SparkServer
    native: Opened
    spark: Opened
    line: SparkLine

    def on_spark(self, sql: str) -> tuple[Plan, ...]:
        """The plans of a statement for Spark. Raises ``Refused``."""
        return _plans(sql, self.spark.catalog, self.spark.engine)

    def on_duckdb(self, sql: str) -> tuple[Plan, ...]:
        """The plans of a statement for DuckDB, which knows here no more of the rows than Spark does: no key that stays
        one. Raises ``Refused``."""
        return _plans(sql, self.duckdb_catalog, self.native.engine)

    @property
    def duckdb_catalog(self) -> Catalog:
        theirs = self.spark.catalog.tables
        tables = {name: _as_unsure(table, theirs[name]) for name, table in self.native.catalog.tables.items()}
        return replace(self.native.catalog, tables=tables)

    def close(self) -> None:
        self.line.close()
        self.native.close()
        self.spark.close()


def _plans(sql: str, catalog: Catalog, engine: Engine) -> tuple[Plan, ...]:
    statement = parse(sql)
    if not isinstance(statement, Select):
        raise TypeError("only a query has plans")
    return rewrite(statement.tree, catalog, engine.dialect, norms=(Norm.L2,)).plans


def _as_unsure(table: Table, other: Table) -> Table:
    """A table with no more facts than another."""
    columns = {
        name: replace(column, unique=other.columns[name].unique, nullable=other.columns[name].nullable)
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns, keys=other.keys, one_row_of=other.one_row_of, rows=other.rows)


def made(server: SparkServer, scale: float, folder: Path) -> World:
    """The rows of one scale, in place of those that were there before."""
    here = folder / f"sf{scale:g}"
    here.mkdir()
    database = here / "tpch.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"ATTACH '{data.database(scale, references=False)}' AS source (READ_ONLY)")
        for name in TABLES[:-1]:
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM source.{name}")
        connection.execute(
            "CREATE TABLE lineitem AS SELECT l.*, o_custkey AS l_custkey"
            " FROM source.lineitem AS l JOIN source.orders ON l_orderkey = o_orderkey"
        )
        session = server.session()
        copy_to_spark(connection, session, TABLES, here)
        session.stop()
    return World(scale, here, server, *(open_policy(path) for path in policies(here, database, server)), line(server))


def policies(folder: Path, database: Path, server: SparkServer) -> tuple[Path, Path]:
    """The same policy over both databases, with a ledger for each."""
    found = []
    for name, url in (("duckdb", f"duckdb:{database}"), ("spark", server.url)):
        found.append(folder / f"{name}.yaml")
        text = POLICY.replace("duckdb:{database}", url).replace("bench.ledger", f"{name}.ledger").format()
        found[-1].write_text(text, encoding="utf-8")
    return found[0], found[1]


def line(server: SparkServer) -> SparkLine:
    """A session of dpsql's own kind."""
    opened = connect(server.url.removeprefix("spark:"))
    opened.begin()
    return opened


def integers(engine: Engine, plan: Plan) -> Mapping[object, object]:
    """The exact integers of a release by group, each under what it counts."""
    table = engine.run(plan)
    texts = {
        one.name: " and ".join(sorted(one.text.removeprefix("rows with ").split(" and "))) for one in plan.statistics
    }
    columns = sorted((texts.get(name, name), name) for name in table.statistics)
    groups = {
        key: tuple((text, table.statistics[name][row]) for text, name in columns) for row, key in enumerate(table.keys)
    }
    return {"groups": groups, "ranks": table.ranks}


@dataclass(frozen=True, slots=True)
class Events:
    """What Spark writes about its tasks: how many bytes each run sent from worker to worker."""

    folder: Path

    def settings(self) -> dict[str, str]:
        self.folder.mkdir(exist_ok=True)
        return {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{self.folder}", "spark.eventLog.rolling.enabled": "false",
                "spark.eventLog.compress": "false"}  # fmt: skip

    def shuffled(self) -> int:
        """Bytes written for other workers, until now."""
        time.sleep(1.5)  # events are written behind
        total = 0
        for path in self.folder.iterdir():
            for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
                if '"SparkListenerTaskEnd"' not in text:
                    continue
                try:
                    metrics = json.loads(text).get("Task Metrics") or {}
                except json.JSONDecodeError:  # the last line, which is being written
                    continue
                total += (metrics.get("Shuffle Write Metrics") or {}).get("Shuffle Bytes Written", 0)
        return total
