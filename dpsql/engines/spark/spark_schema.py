"""Reading a catalog of Spark: names and types, never a row. Keys that it has are informational, and are not read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from dpsql.engines.schema import QualifiedName, Schema, SchemaColumn, SchemaTable
from dpsql.engines.spark.spark_session import SparkLine
from rewriter.declared import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Type,
    decimal,
)
from rewriter.dialects import SPARK

_TYPES = {
    "boolean": BOOLEAN,
    "tinyint": SMALLINT,
    "smallint": SMALLINT,
    "int": INTEGER,
    "bigint": BIGINT,
    "float": DOUBLE,
    "double": DOUBLE,
    "string": TEXT,
    "date": DATE,
    "timestamp_ntz": TIMESTAMP,
    "timestamp": TIMESTAMPTZ,
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def column_type(engine_type: str) -> Type | None:
    """The type of a column that Spark spells ``engine_type``; None where the rewriter has none.

    >>> str(column_type("decimal(12,2)")), column_type("array<int>"), column_type("string collate UTF8_LCASE")
    ('decimal(12,2)', None, None)
    """
    if (digits := _DECIMAL.fullmatch(engine_type)) is not None:
        return decimal(int(digits[1]), int(digits[2]))
    return _TYPES.get(engine_type) or (TEXT if re.fullmatch(r"(var)?char\(\d+\)", engine_type) else None)


def read_schema(line: SparkLine) -> Schema:
    """The tables and views of all schemas of the current catalog, by name."""
    found: dict[QualifiedName, SchemaTable] = {}
    for (schema,) in line.rows("SHOW SCHEMAS"):
        for table in line.session.catalog.listTables(f"`{str(schema).replace('`', '``')}`"):
            if not table.isTemporary:
                full = (str(schema), table.name)
                found[full] = _table(line, full, view=table.tableType == "VIEW")
    return Schema.of(found, SPARK.default_schema)


def _table(line: SparkLine, full: QualifiedName, *, view: bool) -> SchemaTable:
    schema, name = full
    columns = {column.name: column for column in _columns(line, full)}
    return SchemaTable(
        name, columns, schema=None if schema == SPARK.default_schema else schema, view=view, told_apart=False
    )


def _columns(line: SparkLine, full: QualifiedName) -> Iterator[SchemaColumn]:
    schema, name = full
    query = exp.select("*").from_(exp.table_(name, db=schema, quoted=True))
    for column in line.schema_of(SPARK.sql(query)):
        spelt = column.dataType.simpleString()
        yield SchemaColumn(column.name, spelt, column_type(spelt))
