"""One release, planned."""

from rewriter.planner.alike import together
from rewriter.planner.bound_histogram import SMALLER, exponents, greatest, histogram_plans
from rewriter.planner.canonical_sql import canonical
from rewriter.planner.closed_windows import with_times
from rewriter.planner.family import Family, KeyMarginal, Shape, families, shapes
from rewriter.planner.key_marginals import marginals
from rewriter.planner.one_scan import OneScan, one_scans
from rewriter.planner.period_series import series_of, without_series
from rewriter.planner.picks_or_sorts import only_sorts
from rewriter.planner.plan_release import plan
from rewriter.planner.plan_top_k import plan_top
from rewriter.planner.rows_profile import (
    FURTHEST,
    MeansPlan,
    ProfilePlans,
    ValuesPlan,
    bin_ends,
    means_plan,
    profile_plans,
    profiled_columns,
    profiled_tables,
    profiled_values,
    values_plan,
)
from rewriter.planner.touched_spans import in_touched_spans
from rewriter.planner.undeclared_cells import with_undeclared_cells

__all__ = [
    "FURTHEST",
    "SMALLER",
    "Family",
    "KeyMarginal",
    "MeansPlan",
    "OneScan",
    "ProfilePlans",
    "Shape",
    "ValuesPlan",
    "bin_ends",
    "canonical",
    "exponents",
    "families",
    "greatest",
    "histogram_plans",
    "in_touched_spans",
    "marginals",
    "means_plan",
    "one_scans",
    "only_sorts",
    "plan",
    "plan_top",
    "profile_plans",
    "profiled_columns",
    "profiled_tables",
    "profiled_values",
    "series_of",
    "shapes",
    "together",
    "values_plan",
    "with_times",
    "with_undeclared_cells",
    "without_series",
]
