"""The row of other groups among those of the shown ones: its name, and the columns that it lacks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dpsql.releases import ReleasedColumn, ReleasedTable, ValueColumn
from rewriter.declared import Kind, Scalar
from rewriter.front_door import label


def completed(left: ReleasedTable, groups: ReleasedTable, keys: int) -> ReleasedTable:
    """The row of other groups, with every output of the groups: NULL where an output does not add up over groups."""
    known = {column.name: column for column in left.columns}
    columns = tuple(known.get(column.name) or _unknown(column) for column in groups.columns[keys:])
    return replace(left, columns=columns)


def _unknown(column: ReleasedColumn) -> ReleasedColumn:
    """One cell of which nothing is known."""
    nothing = math.inf
    return replace(
        column,
        values=(None,),
        margins=None if column.margins is None else (nothing,),
        reaches=None if column.reaches is None else ((nothing, nothing),),
    )


def named(column: ReleasedColumn) -> ReleasedColumn:
    """A key column whose last row is that of the other groups: named there by a text that no shown group has.

    >>> from rewriter.declared.types import TEXT
    >>> named(ReleasedColumn("k0", TEXT, ("flu", None, None))).values
    ('flu', None, '(other)')
    """
    if column.type.kind is not Kind.TEXT:
        return column
    shown: Sequence[Scalar | None] = column.values[:-1]
    return replace(column, values=ValueColumn(column.type, [*shown, label(shown)]))
