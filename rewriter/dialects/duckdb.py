"""DuckDB's spelling."""

from __future__ import annotations

from rewriter.dialects.dialect import Dialect

DUCKDB = Dialect("duckdb", "main")
