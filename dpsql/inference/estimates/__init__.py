"""Estimates of columns from noisy statistics."""

from dpsql.inference.estimates.columns import added_columns, infer, table_of
from dpsql.inference.estimates.estimate import Groups
from dpsql.inference.estimates.kinds_of_estimates import estimate_of
from dpsql.inference.estimates.learned_bounds import learned, threshold
from dpsql.inference.estimates.logistic_figures import points_after
from dpsql.inference.estimates.other_row import completed, named
from dpsql.inference.estimates.parts import Column, finished, measured, spread
from dpsql.inference.estimates.picked_quantiles import released_picks, value_of
from dpsql.inference.estimates.rounding import EXACT, nearest
from dpsql.inference.estimates.running_estimates import (
    RunningEstimate,
    RunningNoise,
    decoded,
    group_noise,
    running_margins,
    window_sums,
)
from dpsql.inference.estimates.told_bends import bend_notice
from dpsql.inference.estimates.told_means import MeansProfile
from dpsql.inference.estimates.told_profile import BeyondShare, RowsProfile
from dpsql.inference.estimates.told_values import NarrowerRange, ValuesProfile
from dpsql.inference.estimates.value_spread import Spread
from dpsql.inference.estimates.weighted_sums import sum_half_width, terms_of

__all__ = [
    "EXACT",
    "BeyondShare",
    "Column",
    "Groups",
    "MeansProfile",
    "NarrowerRange",
    "RowsProfile",
    "RunningEstimate",
    "RunningNoise",
    "Spread",
    "ValuesProfile",
    "added_columns",
    "bend_notice",
    "completed",
    "decoded",
    "estimate_of",
    "finished",
    "group_noise",
    "infer",
    "learned",
    "measured",
    "named",
    "nearest",
    "points_after",
    "released_picks",
    "running_margins",
    "spread",
    "sum_half_width",
    "table_of",
    "terms_of",
    "threshold",
    "value_of",
    "window_sums",
]
