"""Which aggregates may be asked of people."""

from rewriter.aggregates.aggregate_calls import check_measured, compile_aggregate, function_of
from rewriter.aggregates.booleans_as_counts import as_counts, plain_every
from rewriter.aggregates.counts import COUNT, COUNT_OF_ROWS
from rewriter.aggregates.debiased_calls import Supports, with_filter
from rewriter.aggregates.extremes import OF_SHARED_TEXTS, is_of_values, with_counted_maxima, with_declared_extremes
from rewriter.aggregates.grouped_select import (
    MAX_AGGREGATES,
    Grouped,
    aggregates_of,
    canonical,
    check_select,
    parenthesised,
    take_apart,
)
from rewriter.aggregates.sums import AVG, SUM

__all__ = [
    "AVG",
    "COUNT",
    "COUNT_OF_ROWS",
    "MAX_AGGREGATES",
    "OF_SHARED_TEXTS",
    "SUM",
    "Grouped",
    "Supports",
    "aggregates_of",
    "as_counts",
    "canonical",
    "check_measured",
    "check_select",
    "compile_aggregate",
    "function_of",
    "is_of_values",
    "parenthesised",
    "plain_every",
    "take_apart",
    "with_counted_maxima",
    "with_declared_extremes",
    "with_filter",
]
