"""Secret and released tables, and the store of those that were paid for."""

from dpsql.releases.arrow_types import arrow_type, let_copy, try_arrow, without_frames
from dpsql.releases.gaps import as_days, unbroken
from dpsql.releases.integer_column import IntegerColumn, fits, weighted
from dpsql.releases.noise import Additive, Noise, Stored, heaviest
from dpsql.releases.number_text import UNKNOWN, Cell, bar, cell, down, items_of, list_cell, places, up
from dpsql.releases.rank_columns import RankColumns
from dpsql.releases.store import BOUGHT_TOGETHER, BoughtTogether, Entry, PastReleases, ReleaseFacts, ReleaseStore
from dpsql.releases.tables import ExactTable, Key, NoisyTable, Rank, ReleasedColumn, ReleasedTable, ReportDraws
from dpsql.releases.value_column import (
    ColumnarRows,
    ValueColumn,
    columns_of,
    concatenated,
    rounded,
    units_of,
    wide_units_of,
)

__all__ = [
    "BOUGHT_TOGETHER",
    "UNKNOWN",
    "Additive",
    "BoughtTogether",
    "Cell",
    "ColumnarRows",
    "Entry",
    "ExactTable",
    "IntegerColumn",
    "Key",
    "Noise",
    "NoisyTable",
    "PastReleases",
    "Rank",
    "RankColumns",
    "ReleaseFacts",
    "ReleaseStore",
    "ReleasedColumn",
    "ReleasedTable",
    "ReportDraws",
    "Stored",
    "ValueColumn",
    "arrow_type",
    "as_days",
    "bar",
    "cell",
    "columns_of",
    "concatenated",
    "down",
    "fits",
    "heaviest",
    "items_of",
    "let_copy",
    "list_cell",
    "places",
    "rounded",
    "try_arrow",
    "unbroken",
    "units_of",
    "up",
    "weighted",
    "wide_units_of",
    "without_frames",
]
