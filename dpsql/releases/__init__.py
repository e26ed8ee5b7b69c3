"""Secret and released tables, and the store of those that were paid for."""

from dpsql.releases.noise import Additive, Noise, Stored, heaviest
from dpsql.releases.number_text import Cell, bar, cell, down, up
from dpsql.releases.rank_columns import RankColumns
from dpsql.releases.store import Entry, ReleaseFacts, ReleaseStore
from dpsql.releases.tables import ExactTable, Key, NoisyTable, Rank, ReleasedColumn, ReleasedTable

__all__ = [
    "Additive",
    "Cell",
    "Entry",
    "ExactTable",
    "Key",
    "Noise",
    "NoisyTable",
    "Rank",
    "RankColumns",
    "ReleaseFacts",
    "ReleaseStore",
    "ReleasedColumn",
    "ReleasedTable",
    "Stored",
    "bar",
    "cell",
    "down",
    "heaviest",
    "up",
]
