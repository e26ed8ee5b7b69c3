"""Secret and released tables, and the store of those that were paid for."""

from dpsql.releases.number_text import Cell, bar, cell, down, up
from dpsql.releases.store import Entry, Facts, ReleaseStore, variance
from dpsql.releases.tables import ExactTable, Key, Noise, NoisyTable, Rank, ReleasedColumn, ReleasedTable

__all__ = [
    "Cell",
    "Entry",
    "ExactTable",
    "Facts",
    "Key",
    "Noise",
    "NoisyTable",
    "Rank",
    "ReleaseStore",
    "ReleasedColumn",
    "ReleasedTable",
    "bar",
    "cell",
    "down",
    "up",
    "variance",
]
