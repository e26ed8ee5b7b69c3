"""Which linear queries are measured: numbers only, no SQL."""

from rewriter.strategies.conditional_sums import STEPS, WORTH, Row, Strategy, Weights, choose, total, weight
from rewriter.strategies.prefix_strategies import LONGEST, Prefix, PrefixStrategy, Toeplitz, Tree, best_tree

__all__ = [
    "LONGEST",
    "STEPS",
    "WORTH",
    "Prefix",
    "PrefixStrategy",
    "Row",
    "Strategy",
    "Toeplitz",
    "Tree",
    "Weights",
    "best_tree",
    "choose",
    "total",
    "weight",
]
