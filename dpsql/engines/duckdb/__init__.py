"""DuckDB as the owner's database."""

from dpsql.engines.duckdb.duckdb_engine import LOCKED, DuckDBEngine
from dpsql.engines.duckdb.duckdb_types import column_type

__all__ = ["LOCKED", "DuckDBEngine", "column_type"]
