"""Which linear queries are measured: numbers only, no SQL."""

from rewriter.strategies.conditional_sums import STEPS, WORTH, Row, Strategy, Weights, choose, total, weight
from rewriter.strategies.prefix_strategies import LONGEST, Prefix, PrefixStrategy, Toeplitz, Tree, best_tree
from rewriter.strategies.residual_basis import (
    AskedMarginal,
    Attributes,
    Components,
    EstimatedMarginal,
    Marginal,
    MeasuredMarginal,
    Shares,
    apart,
    best,
    combined,
    components,
    largest_variance,
    sum_variance,
)

__all__ = [
    "LONGEST",
    "STEPS",
    "WORTH",
    "AskedMarginal",
    "Attributes",
    "Components",
    "EstimatedMarginal",
    "Marginal",
    "MeasuredMarginal",
    "Prefix",
    "PrefixStrategy",
    "Row",
    "Shares",
    "Strategy",
    "Toeplitz",
    "Tree",
    "Weights",
    "apart",
    "best",
    "best_tree",
    "choose",
    "combined",
    "components",
    "largest_variance",
    "sum_variance",
    "total",
    "weight",
]
