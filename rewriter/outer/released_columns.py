"""The columns of a release's table beside its keys and outputs."""

from __future__ import annotations

ROW = "dpsql_row"
"""With a slot's number, the column that numbers the released rows."""


def row_column(slot: int) -> str:
    """The column numbered ``slot`` among those that name the released rows behind each row."""
    return f"{ROW}_{slot}"
