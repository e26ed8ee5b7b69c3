"""Made-up rows as a table, in the types of the columns that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from dpsql.made_up_rows import arrow_type, mark
from dpsql.synthetic.attributes import Attribute
from dpsql.synthetic.comparison import Comparison
from rewriter.declared import Column, Table


def made_table(
    table: Table,
    attributes: Iterable[Attribute],
    cells: Mapping[str, np.ndarray],
    counts: Iterable[Comparison] = (),
) -> pa.Table:
    """A row for each of the ``cells``, in no order, with all columns of the table: NULL in those that are no
    attributes. The metadata says how far ``counts`` by so many columns are from released ones."""
    drawn = np.random.default_rng()
    rows = len(next(iter(cells.values())))
    order = drawn.permutation(rows)
    values = {one.name: one.drawn(cells[one.name][order], drawn) for one in attributes}
    columns = [_column(column, values.get(name), rows) for name, column in table.columns.items()]
    fields = [pa.field(name, column.type) for name, column in zip(table.columns, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=mark(table, _differs(counts))))


def _differs(counts: Iterable[Comparison]) -> dict[int, float]:
    """By numbers of columns, how far 95 % of the counts are from the released ones, at the worst of them."""
    found: dict[int, float] = {}
    for one in counts:
        found[len(one.names)] = max(found.get(len(one.names), 0.0), one.off)
    return found


def _column(column: Column, values: object, rows: int) -> pa.Array:
    of = arrow_type(column.type)
    return pa.nulls(rows, of) if values is None else pa.array(values, of)
