"""Reading a DuckDB's schema from its own catalog: names, types and constraints, never a row.

A column of texts with a collation (``VARCHAR COLLATE NOCASE``) has no type here: groups of texts that it calls one are
named by whichever row comes first, which is somebody's. No catalog tells of collations, and a view inherits them, so
that DuckDB is asked which of some texts a column without its rows calls one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

import duckdb
from sqlglot import exp

from dpsql.engines.duckdb.duckdb_types import column_type, keeps_apart
from dpsql.engines.duckdb.file_views import ROW_NUMBER
from dpsql.engines.schema import ForeignKey, QualifiedName, Schema, SchemaColumn, SchemaTable
from rewriter.dialects import DUCKDB

_COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type, NOT is_nullable FROM duckdb_columns()
    WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, table_name, column_index"""
_VIEWS = "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND database_name = current_database()"
_COMPUTED = """
    SELECT schema_name, table_name FROM duckdb_tables()
    WHERE NOT internal AND database_name = current_database() AND contains(upper(sql), 'GENERATED ALWAYS')"""
"""A generated column may read the clock. A default that merely has these words in it loses nothing but accuracy."""
_CONSTRAINTS = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
    FROM duckdb_constraints() WHERE database_name = current_database()
    ORDER BY schema_name, table_name, constraint_index"""

_APART = ("a", "A", "e", "\u00e9", "e\u0301", "\u00df", "ss", "a\u0001", "a\u200b", "a ")
"""Texts of which every collation that is not that of bytes calls some the same."""


def read_schema(cursor: duckdb.DuckDBPyConnection, numbered: Collection[str] = ()) -> Schema:
    """Tables and views by name. The number of each row is no column of views that are ``numbered``."""
    columns: dict[QualifiedName, dict[str, SchemaColumn]] = defaultdict(dict)
    for schema, table, name, engine_type, not_null in cursor.execute(_COLUMNS).fetchall():
        columns[schema, table][name] = SchemaColumn(
            name, engine_type, column_type(engine_type), bool(not_null), keeps_apart(engine_type)
        )
    for name in numbered:
        del columns[DUCKDB.default_schema, name][ROW_NUMBER]
    for (schema, table), found in columns.items():
        for name in _collated(cursor, schema, table, found):
            found[name] = replace(found[name], engine_type="VARCHAR with a collation", type=None)
    views = set(cursor.execute(_VIEWS).fetchall())
    computed = set(cursor.execute(_COMPUTED).fetchall())
    tables = {
        (schema, name): SchemaTable(
            name,
            found,
            schema=None if schema == DUCKDB.default_schema else schema,
            view=(schema, name) in views,
            computed=(schema, name) in computed,
            numbered=schema == DUCKDB.default_schema and name in numbered,
        )
        for (schema, name), found in columns.items()
    }
    for schema, table, kind, names, parent, parent_names in cursor.execute(_CONSTRAINTS).fetchall():
        tables[schema, table] = _constrained(tables[schema, table], kind, names, parent, parent_names)
    return Schema.of(tables, DUCKDB.default_schema)


def _collated(
    cursor: duckdb.DuckDBPyConnection, schema: str, table: str, columns: Mapping[str, SchemaColumn]
) -> list[str]:
    """The columns of texts that calls different texts the same. Reads no row."""
    names = [name for name, column in columns.items() if column.engine_type == "VARCHAR"]
    if not names:
        return []
    asked = [exp.column(name, quoted=True) for name in names]
    none = exp.select(*asked).from_(exp.table_(table, db=schema, quoted=True)).where(exp.false())
    values = [exp.Tuple(expressions=[exp.Literal.string(text)] * len(names)) for text in _APART]
    given = exp.select("*").from_(exp.Values(expressions=values, alias=exp.TableAlias(this=exp.to_identifier("v"))))
    both = exp.union(none, given, distinct=False).subquery("t")
    counts = exp.select(*(exp.Count(this=exp.Distinct(expressions=[one.copy()])) for one in asked)).from_(both)
    try:
        row = cursor.execute(counts.sql("duckdb")).fetchone() or ()
    except duckdb.Error:
        return []  # A view that does not work any more is read by nobody.
    return [name for name, count in zip(names, row, strict=True) if count < len(_APART)]


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
