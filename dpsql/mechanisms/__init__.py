"""What hides a statistic."""

from dpsql.mechanisms.gaussian import Gaussian, sqrt_at_least
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.threshold import MOST_DELTA, Threshold
from dpsql.mechanisms.top_k import PICKS, TopK, part_of_picks

__all__ = ["MOST_DELTA", "PICKS", "Gaussian", "Laplace", "Threshold", "TopK", "part_of_picks", "sqrt_at_least"]
