"""Files of made-up rows: how they are marked when they are written, and checked when previews are to show them.

Guarantee: rows are read only of a file that ``dpsql synthesize`` marked as made up of this table. No column in them has
a value that is not made up of released counts: keys, and columns without values or a range, are NULL in every row. So
the table itself, saved as such a file, is refused even with the mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dpsql.policy import Policy, Problem, join
from rewriter.declared import Catalog, Column, Kind, Table, Type

MADE_UP = b"dpsql_made_up"
"""The key of the schema's metadata that marks a file of made-up rows: it names their table."""
DIFFERS = b"dpsql_differs"
"""The key of how far counts of made-up rows are from released ones, by numbers of columns, as JSON."""
MOST_ROWS = 10_000
"""The rows of a file that previews choose from: its first."""

_TYPES = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.DOUBLE: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    Kind.TIME: pa.time64("us"),
}
_INTEGERS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


class NotMadeUp(ValueError):
    """A file holds no rows made up of a table, as its columns are declared now."""


def arrow_type(of: Type) -> pa.DataType:
    """Arrow's type of a column of made-up rows: texts where it can hold nothing but NULL."""
    if of.kind is Kind.DECIMAL:
        return pa.decimal128(of.precision, of.scale)
    if of.kind is Kind.INTEGER:
        return _INTEGERS.get(of.bits, pa.decimal128(38, 0))
    return _TYPES.get(of.kind, pa.string())


def mark(table: Table, differs: Mapping[int, float] | None = None) -> dict[bytes, bytes]:
    """What the metadata of a file says of its rows: ``differs`` by numbers of columns."""
    said = {MADE_UP: f"made-up rows of {table.name}: no row is of a person".encode()}
    return {**said, DIFFERS: json.dumps(differs).encode()} if differs else said


def why_not(column: Column, keys: frozenset[str]) -> str | None:
    """The reason for which no value of a column is made up; None where some may be. ``keys`` are the names of keys of
    people, in lower case."""
    if column.name.lower() in keys or column.unique:
        return "tells people or rows apart"
    if column.randomized is not None:
        return "holds randomized reports"
    if column.type.kind is Kind.BOOLEAN or column.values or column.values_from is not None:
        return None
    if column.range is not None and (column.type.numeric or column.type.temporal):
        return None
    return "has neither values nor a range in the policy"


def made_up_rows(path: Path, table: Table, catalog: Catalog) -> pa.Table:
    """The first rows of a file, with the columns of the ``table`` in its order and the file's metadata.

    Raises :class:`NotMadeUp` for a file of anything else, and :class:`OSError` where there is none.
    """
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            if (schema.metadata or {}).get(MADE_UP) != mark(table)[MADE_UP]:
                raise NotMadeUp(f"{path} is not marked as made-up rows of {table.name}")
            lacking = [name for name in table.columns if name not in schema.names]
            if lacking:
                raise NotMadeUp(f"{path} has no column {lacking[0]}")
            rows = next(file.iter_batches(MOST_ROWS, columns=list(table.columns)), None)
    except pa.ArrowException:
        raise NotMadeUp(f"{path} is no Parquet file") from None
    found = schema.empty_table() if rows is None else pa.Table.from_batches([rows])
    keys = catalog.keys_of_people
    for name, column in table.columns.items():
        held = found.column(name)
        if held.type != arrow_type(column.type):
            raise NotMadeUp(f"{path} has another type of {name} than {table.name}")
        if held.null_count < found.num_rows and (why := why_not(column, keys)) is not None:
            raise NotMadeUp(f"{path} has values of {name}, which {why}")
        if column.values and not set(held.to_pylist()) <= {*column.values, None}:
            raise NotMadeUp(f"{path} has other values of {name} than the policy")
    return found.select(list(table.columns)).replace_schema_metadata(schema.metadata)


def told(table: Table, rows: pa.Table) -> str:
    """What is said of made-up rows wherever they are shown."""
    said = f"no row of {table.name} is of a person. They are drawn from released counts"
    differs: Mapping[str, float] = json.loads((rows.schema.metadata or {}).get(DIFFERS, b"{}"))
    if not differs:
        return said
    by = {"1": "one column", "2": "two"}
    worst = [f"by {by[many]} at most {off:,.0f}" for many, off in sorted(differs.items()) if many in by]
    return f"{said}, from which 95 % of their counts differ {', '.join(worst)}"


def synthetic_tables(policy: Policy, catalog: Catalog) -> Iterator[tuple[Table, pa.Table]]:
    """The tables that have made-up rows by now, with these. Raises :class:`NotMadeUp`."""
    for table in catalog.tables.values():
        path = policy.synthetic_of(table.name)
        if path is not None and path.exists():
            yield table, made_up_rows(path, table, catalog)


def preview_problems(policy: Policy, catalog: Catalog) -> Iterator[Problem]:
    """What keeps made-up rows from being shown."""
    if policy.previews == "synthetic" and not any(one.synthetic for one in policy.tables.values()):
        yield Problem("previews", "no table names a file of its synthetic rows: previews are empty", "warning")
    for table in catalog.tables.values():
        path, key = policy.synthetic_of(table.name), join("tables", table.name, "synthetic")
        if path is None:
            continue
        try:
            made_up_rows(path, table, catalog)
        except FileNotFoundError:
            make = f"dpsql synthesize POLICY {table.name} --output {path.name}"
            yield Problem(key, f"there is no {path} yet: previews are empty until {make}", "warning")
        except (OSError, NotMadeUp) as problem:
            yield Problem(key, str(problem), "error")
