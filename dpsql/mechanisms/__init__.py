"""What hides a statistic."""

from collections.abc import Iterator

from dpsql.accounting import PrivacyLoss
from dpsql.mechanisms.gaussian import Gaussian, sqrt_at_least
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.threshold import Threshold
from dpsql.mechanisms.top_k import PICKS, TopK, part_of_picks
from rewriter.declared import Sensitivity

ADDITIVE = (Gaussian, Laplace)
"""The mechanisms that add noise to integers."""


def hiding(sensitivity: Sensitivity, loss: PrivacyLoss) -> Iterator[Gaussian | Laplace]:
    """The least noise of each mechanism that hides a vector at such a loss."""
    for mechanism in ADDITIVE:
        found = mechanism.affordable(sensitivity, loss)
        if found is not None:
            yield found


__all__ = ["ADDITIVE", "PICKS", "Gaussian", "Laplace", "Threshold", "TopK", "hiding", "part_of_picks", "sqrt_at_least"]
