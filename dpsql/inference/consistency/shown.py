"""The groups that a reader sees of a measurement: all but the cells of undeclared values.

Such cells are measured and made to agree with all others, so that parts and cells add up to their totals. Whoever reads
a table has the groups that were asked for, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpsql.inference.numeric import IntArray
from dpsql.releases import ColumnarRows, IntegerColumn, NoisyTable, ReleasedColumn, ReleasedTable, ValueColumn
from rewriter.declared import DOUBLE
from rewriter.plan import UNDECLARED, Plan


def shown_rows(table: NoisyTable, plan: Plan) -> IntArray | None:
    """The places of the groups that are shown; None where all are."""
    cells = [place for place, key in enumerate(plan.keys) if key.celled]
    if not cells:
        return None
    kept = [at for at, key in enumerate(table.keys) if all(key[place] != UNDECLARED for place in cells)]
    return np.array(kept, dtype=np.int64)


def released_rows(table: ReleasedTable, rows: IntArray | None) -> ReleasedTable:
    """Those rows of a finished table."""
    if rows is None:
        return table
    shrunk = None if table.shrunk is None else ValueColumn.of(DOUBLE, table.shrunk).taken(rows)
    return ReleasedTable(tuple(_taken(column, rows) for column in table.columns), shrunk)


def _taken(column: ReleasedColumn, rows: IntArray) -> ReleasedColumn:
    margins, reaches, estimates = column.margins, column.reaches, column.estimates
    return replace(
        column,
        values=column.column.taken(rows),
        margins=None if margins is None else ValueColumn.of(DOUBLE, margins).taken(rows),
        reaches=None if reaches is None else ColumnarRows.of((DOUBLE, DOUBLE), reaches).taken(rows),
        estimates=None if estimates is None else ValueColumn.of(DOUBLE, estimates).taken(rows),
    )


def shown_tables(tables: Sequence[NoisyTable], plans: Sequence[Plan]) -> list[NoisyTable]:
    """The measurements without such cells, for what is told of each group alone."""
    found = []
    for table, plan in zip(tables, plans, strict=True):
        rows = shown_rows(table, plan)
        if rows is not None:
            statistics = {name: IntegerColumn.of(column).taken(rows) for name, column in table.statistics.items()}
            table = replace(table, keys=tuple(table.keys[at] for at in rows.tolist()), statistics=statistics)
        found.append(table)
    return found
