"""Made-up rows as a table, in the types of the columns that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from dpsql.synthetic.attributes import Attribute
from rewriter.declared import Column, Kind, Table, Type

MADE_UP = b"dpsql_made_up"
"""The key of the schema's metadata that marks a file of made-up rows."""

_TYPES = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.DOUBLE: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    Kind.TIME: pa.time64("us"),
}
_INTEGERS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def made_table(table: Table, attributes: Iterable[Attribute], cells: Mapping[str, np.ndarray]) -> pa.Table:
    """A row for each of the ``cells``, with all columns of the table: NULL in those that are no attributes."""
    drawn = np.random.default_rng()
    values = {one.name: one.drawn(cells[one.name], drawn) for one in attributes}
    rows = len(next(iter(cells.values())))
    columns = [_column(column, values.get(name), rows) for name, column in table.columns.items()]
    fields = [pa.field(name, column.type) for name, column in zip(table.columns, columns, strict=True)]
    told = f"made-up rows of {table.name}: no row is of a person"
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata={MADE_UP: told.encode()}))


def _column(column: Column, values: object, rows: int) -> pa.Array:
    of = arrow_type(column.type)
    return pa.nulls(rows, of) if values is None else pa.array(values, of)


def arrow_type(of: Type) -> pa.DataType:
    if of.kind is Kind.DECIMAL:
        return pa.decimal128(of.precision, of.scale)
    if of.kind is Kind.INTEGER:
        return _INTEGERS.get(of.bits, pa.decimal128(38, 0))
    return _TYPES.get(of.kind, pa.string())
