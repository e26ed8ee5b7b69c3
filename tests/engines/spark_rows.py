"""One table of adversarial rows, in Spark and in DuckDB, and expressions over them by the dozen."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from rewriter.declared.types import DATE, Scalar, Type
from rewriter.dialects.duckdb import DUCKDB
from rewriter.dialects.spark import SPARK
from tests.engines.spark_server import SparkServer, copy_to_spark
from tests.properties.total_rows import COLUMNS, WILD, Rows

IN_DUCKDB: dict[str, tuple[Type, str]] = {name: kind for name, kind in COLUMNS.items() if name != "h"}
"""Spark has no integers of 128 bits."""
_NOT_THERE = {"'infinity'", "'-infinity'", "'290000-01-01'", "'294247-01-01'", "'5877642-06-25 (BC)'"}
"""Times that Parquet, or Spark's calendar, does not have."""
_SPARK = {"FLOAT": "float", "TIMESTAMP WITH TIME ZONE": "timestamp"}

OURS = Rows(columns={name: (type_, _SPARK.get(own, "")) for name, (type_, own) in IN_DUCKDB.items()}, dialect=SPARK)
THEIRS = Rows(columns=IN_DUCKDB, dialect=DUCKDB)


class SparkTwins:
    """The rows, numbered, in both engines."""

    def __init__(self, server: SparkServer, folder: Path) -> None:
        self.duckdb = duckdb.connect(config={"threads": 1})
        self.duckdb.execute("SET TimeZone = 'UTC'")
        declared = ", ".join(f"{name} {own}" for name, (_, own) in IN_DUCKDB.items())
        self.duckdb.execute(f"CREATE TABLE wild (id INTEGER, {declared})")
        values = ", ".join(f"({place}, {', '.join(row)})" for place, row in enumerate(_rows()))
        self.duckdb.execute(f"INSERT INTO wild VALUES {values}")
        session = server.session()
        copy_to_spark(self.duckdb, session, ("wild",), folder, "twins")
        session.stop()

    def in_duckdb(self, expressions: Sequence[exp.Expr]) -> list[tuple[Scalar | None, ...]]:
        items = ", ".join(f"{DUCKDB.sql(one)} AS c{place}" for place, one in enumerate(expressions))
        return self.duckdb.execute(f"SELECT {items} FROM wild AS r ORDER BY id").fetchall()

    @staticmethod
    def in_spark(line: Any, expressions: Sequence[exp.Expr]) -> list[tuple[Scalar | None, ...]]:
        items = ", ".join(f"{SPARK.sql(one)} AS c{place}" for place, one in enumerate(expressions))
        rows: list[tuple[Scalar | None, ...]] = line.execute(
            f"SELECT {items} FROM `twins`.`wild` AS r ORDER BY id"
        ).fetchall()
        return rows


def _rows() -> list[list[str]]:
    chance = random.Random(7)
    pairs = {name: [value for value in WILD[name] if value not in _NOT_THERE] for name in IN_DUCKDB}
    most = max(map(len, pairs.values()))
    rows = [[pairs[name][place % len(pairs[name])] for name in IN_DUCKDB] for place in range(most)]
    rows += [[chance.choice([*pairs[name], "NULL"]) for name in IN_DUCKDB] for _ in range(80)]
    assert DATE in {type_ for type_, _ in IN_DUCKDB.values()}
    return [*rows, ["NULL"] * len(IN_DUCKDB)]
