"""Which aggregates may be asked of people."""

from rewriter.aggregates.aggregate_calls import PICKED, check_measured, compile_aggregate
from rewriter.aggregates.booleans_as_counts import as_counts, plain_every
from rewriter.aggregates.extremes import with_counted_maxima, with_declared_extremes
from rewriter.aggregates.figures import FIGURES
from rewriter.aggregates.grouped_select import (
    MAX_AGGREGATES,
    Grouped,
    aggregates_of,
    canonical,
    check_select,
    expanded,
    parenthesised,
    take_apart,
)

__all__ = [
    "FIGURES",
    "MAX_AGGREGATES",
    "PICKED",
    "Grouped",
    "aggregates_of",
    "as_counts",
    "canonical",
    "check_measured",
    "check_select",
    "compile_aggregate",
    "expanded",
    "parenthesised",
    "plain_every",
    "take_apart",
    "with_counted_maxima",
    "with_declared_extremes",
]
