"""The kinds of databases that dpsql reads by itself. Entry points of the group ``dpsql.engines`` name them."""

from __future__ import annotations

from typing import TypedDict

from dpsql.engines.engine import Engine
from dpsql.engines.engine_kind import PATH, Address, EngineKind, Files, Resources
from rewriter.dialects import DUCKDB, POSTGRES, SPARK


class DuckDBShare(TypedDict):
    """What one DuckDB may use."""

    threads: int | None
    memory_limit: str | None


_DUCKDB_PERCENT = 80
"""Of the machine's memory, which DuckDB takes by itself."""


def _duckdb(path: str, resources: Resources, files: Files) -> Engine:
    from dpsql.engines.duckdb import DuckDBEngine

    return DuckDBEngine.open(path, files=files, **_duckdb_share(resources))


def _files(target: str, resources: Resources, files: Files) -> Engine:
    from dpsql.engines.duckdb import DuckDBEngine

    return DuckDBEngine.over(files, **_duckdb_share(resources))


def _duckdb_share(resources: Resources) -> DuckDBShare:
    memory, threads, processes = None, resources.threads, resources.processes
    if resources.memory is not None:
        memory = f"{max(1, resources.memory // processes)}MiB"
    elif processes > 1:
        memory = f"{_DUCKDB_PERCENT // processes}%"
    if threads is not None:
        threads = max(1, threads // processes)
    return {"threads": threads, "memory_limit": memory}


def _postgresql(url: str, resources: Resources, files: Files) -> Engine:
    from dpsql.engines.postgres import PostgresEngine

    return PostgresEngine.open(url, work_mem=f"{resources.memory}MB" if resources.memory else None)


def _spark(url: str, resources: Resources, files: Files) -> Engine:
    from dpsql.engines.spark import SparkEngine

    return SparkEngine.open(url)


SQLITE = Address("sqlite", PATH)
POSTGRESQL = Address("postgresql", "//", also=("postgres",))
FILES = Address("files", "")

DUCKDB_FILE = EngineKind(Address("duckdb", PATH), DUCKDB, _duckdb, takes_files=True)
LISTED_FILES = EngineKind(FILES, DUCKDB, _files, takes_files=True)
POSTGRESQL_SERVER = EngineKind(POSTGRESQL, POSTGRES, _postgresql)
SPARK_CONNECT = EngineKind(Address("spark", "sc://"), SPARK, _spark)
