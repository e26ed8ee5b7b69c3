"""Reading a DuckDB's schema from its own catalog: names, types and constraints, never a row."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import duckdb

from dpsql.engines.column_types import column_type, keeps_apart
from dpsql.engines.schema import ForeignKey, QualifiedName, Schema, SchemaColumn, SchemaTable
from rewriter.dialects import DUCKDB

_COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type, NOT is_nullable FROM duckdb_columns()
    WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, table_name, column_index"""
_VIEWS = "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND database_name = current_database()"
_CONSTRAINTS = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
    FROM duckdb_constraints() WHERE database_name = current_database()
    ORDER BY schema_name, table_name, constraint_index"""


def read_schema(cursor: duckdb.DuckDBPyConnection) -> Schema:
    """Tables and views by name."""
    columns: dict[QualifiedName, dict[str, SchemaColumn]] = defaultdict(dict)
    for schema, table, name, engine_type, not_null in cursor.execute(_COLUMNS).fetchall():
        columns[schema, table][name] = SchemaColumn(
            name, engine_type, column_type(engine_type), bool(not_null), keeps_apart(engine_type)
        )
    views = set(cursor.execute(_VIEWS).fetchall())
    tables = {
        (schema, name): SchemaTable(
            name, found, schema=None if schema == DUCKDB.default_schema else schema, view=(schema, name) in views
        )
        for (schema, name), found in columns.items()
    }
    for schema, table, kind, names, parent, parent_names in cursor.execute(_CONSTRAINTS).fetchall():
        tables[schema, table] = _constrained(tables[schema, table], kind, names, parent, parent_names)
    return Schema.of(tables, DUCKDB.default_schema)


def _constrained(table: SchemaTable, kind: str, names: list[str], parent: str, parents: list[str]) -> SchemaTable:
    if kind == "PRIMARY KEY":
        columns = {
            name: replace(column, not_null=column.not_null or name in names) for name, column in table.columns.items()
        }
        return replace(table, columns=columns, primary_key=tuple(names))
    if kind == "UNIQUE":
        return replace(table, unique=(*table.unique, tuple(names)))
    if kind == "FOREIGN KEY":
        key = ForeignKey(tuple(names), parent, tuple(parents))
        return replace(table, foreign_keys=(*table.foreign_keys, key))
    return table
