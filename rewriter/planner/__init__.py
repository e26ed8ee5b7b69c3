"""One release, planned."""

from rewriter.planner.alike import together
from rewriter.planner.bound_histogram import SMALLER, exponents, greatest, histograms
from rewriter.planner.canonical_sql import canonical
from rewriter.planner.lineage import measured_by
from rewriter.planner.plan_release import plan
from rewriter.planner.plan_top_k import plan_top

__all__ = ["SMALLER", "canonical", "exponents", "greatest", "histograms", "measured_by", "plan", "plan_top", "together"]
