"""The bounded SQL."""

from rewriter.bound.ball import ALL_ROWS, deciding, reach_squared
from rewriter.bound.bounded_sql import bound, partial_of, rows_of
from rewriter.bound.common_factor import all_rows
from rewriter.bound.credited_values import credit_notes
from rewriter.bound.people_beside_rows import people_and_rows
from rewriter.bound.ranks import quantiles
from rewriter.bound.series import with_prefixes
from rewriter.bound.sql_size import check_expanded

__all__ = [
    "ALL_ROWS",
    "all_rows",
    "bound",
    "check_expanded",
    "credit_notes",
    "deciding",
    "partial_of",
    "people_and_rows",
    "quantiles",
    "reach_squared",
    "rows_of",
    "with_prefixes",
]
