"""Estimates of columns from noisy statistics."""

from dpsql.inference.estimates.columns import expected_half_width, infer, linear_half_width, table_of
from dpsql.inference.estimates.learned_bounds import learned, threshold
from dpsql.inference.estimates.moment_figures import expected_moment
from dpsql.inference.estimates.other_row import completed, named
from dpsql.inference.estimates.parts import Column, finished, measured, spread
from dpsql.inference.estimates.picked_quantiles import reaches_of, value_of
from dpsql.inference.estimates.rounding import EXACT, nearest
from dpsql.inference.estimates.running_estimates import decoded, group_noise, running_half_widths, running_margins

__all__ = [
    "EXACT",
    "Column",
    "completed",
    "decoded",
    "expected_half_width",
    "expected_moment",
    "finished",
    "group_noise",
    "infer",
    "learned",
    "linear_half_width",
    "measured",
    "named",
    "nearest",
    "reaches_of",
    "running_half_widths",
    "running_margins",
    "spread",
    "table_of",
    "threshold",
    "value_of",
]
