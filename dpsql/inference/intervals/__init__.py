"""Half-widths of intervals."""

from dpsql.inference.intervals.conditional import chances_above, distances_above
from dpsql.inference.intervals.fieller import quotient_ends
from dpsql.inference.intervals.rank_error import reach
from dpsql.inference.intervals.widths import (
    ALPHA,
    ONE_SIDED,
    ONE_SIDED_Z,
    Floats,
    Terms,
    Z,
    count_ends,
    half_width,
    mean_reaches,
    spread,
    variance,
    widest_mean_half_width,
)

__all__ = [
    "ALPHA",
    "ONE_SIDED",
    "ONE_SIDED_Z",
    "Floats",
    "Terms",
    "Z",
    "chances_above",
    "count_ends",
    "distances_above",
    "half_width",
    "mean_reaches",
    "quotient_ends",
    "reach",
    "spread",
    "variance",
    "widest_mean_half_width",
]
