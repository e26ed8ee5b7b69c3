"""Reading a DuckDB's schema from its own catalog: names, types and constraints, never a row.

A column of texts with a collation (``VARCHAR COLLATE NOCASE``) has no type here: groups of texts that it calls one are
named by whichever row comes first, which is somebody's. A table's definition spells the collations of its columns. A
view inherits them without a word, so that DuckDB is asked which of some texts a column without its rows calls one.

Each opening of a policy waits for this: the catalog of constraints takes as long as all else here, and is read only
where a definition has the words of a key.
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
_DEFINITIONS = """
    SELECT schema_name, table_name, upper(sql) FROM duckdb_tables()
    WHERE NOT internal AND database_name = current_database()"""
"""The CREATE TABLE of each table, as DuckDB writes it from its catalog."""
_COMPUTED = "GENERATED ALWAYS"
"""A generated column may read the clock. A default that merely has these words in it loses nothing but accuracy."""
_COLLATED = "COLLATE"
_KEYS = ("PRIMARY KEY", "UNIQUE", "FOREIGN KEY")
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
    views = set(cursor.execute(_VIEWS).fetchall())
    definitions = {(schema, name): sql for schema, name, sql in cursor.execute(_DEFINITIONS).fetchall()}
    for (schema, table), found in columns.items():
        if _COLLATED in definitions.get((schema, table), _COLLATED):
            for name in _collated(cursor, schema, table, found):
                found[name] = replace(found[name], engine_type="VARCHAR with a collation", type=None)
    tables = {
        (schema, name): SchemaTable(
            name,
            found,
            schema=None if schema == DUCKDB.default_schema else schema,
            view=(schema, name) in views,
            computed=_COMPUTED in definitions.get((schema, name), ""),
            numbered=schema == DUCKDB.default_schema and name in numbered,
        )
        for (schema, name), found in columns.items()
    }
    has_keys = any(word in sql for sql in definitions.values() for word in _KEYS)
    for schema, table, kind, names, parent, parent_names in cursor.execute(_CONSTRAINTS).fetchall() if has_keys else ():
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
