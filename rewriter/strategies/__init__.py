"""Which linear queries are measured: numbers only, no SQL."""

from rewriter.strategies.conditional_sums import STEPS, WORTH, Row, Strategy, Weights, choose, total, weight
from rewriter.strategies.prefix_strategies import LONGEST, Prefix, PrefixStrategy, Toeplitz, Tree, best_tree
from rewriter.strategies.residual_basis import AskedMarginal, Attributes, Components, Shares, apart, best, components

__all__ = [
    "LONGEST",
    "STEPS",
    "WORTH",
    "AskedMarginal",
    "Attributes",
    "Components",
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
    "components",
    "total",
    "weight",
]
